"""A packet that waits for its verdict."""

import struct
from typing import TYPE_CHECKING

from .._core import AttributeEncoder, Message, iter_messages
from .._nfqueue import Waiting
from ..constants import NLM_F_REQUEST
from ..errors import NetlinkError
from ..nfnetlink import NFNL_SUBSYS_QUEUE, message_type
from ..records import OpenEnum
from .message import HOOK, NFQA, SKB, Header, Queued

if TYPE_CHECKING:
    from typing_extensions import Buffer

PACKET, SET_VERDICT, CONFIG, SET_VERDICT_BATCH = (message_type(NFNL_SUBSYS_QUEUE, number) for number in range(4))

_BYPASS = 0x8000  # NF_VERDICT_FLAG_QUEUE_BYPASS
_TO_NATIVE = struct.Struct("=I")


class VERDICT(OpenEnum):
    """What becomes of a packet: NF_*."""

    DROP = 0
    ACCEPT = 1
    QUEUE = 3
    REPEAT = 4
    """It goes through the rules of this hook again; mark it, or they queue it for ever."""


class VerdictError(NetlinkError):
    """The kernel refused a verdict: ENOENT, it holds no such packet (any longer). `packet` is its number."""

    packet: int | None = None


class Packet(Waiting):
    """A packet that waits. It is held by the kernel until its verdict, in whatever order and from whatever thread.

    `id` is its number, by which the kernel knows it; they count up. What the kernel says of it is decoded when
    it is touched; all of that is in `record`. What is not there is None.
    """

    __slots__ = ("_record",)

    _record: Queued

    @property
    def record(self) -> Queued:
        """All that the kernel says, as a record."""
        try:
            return self._record
        except AttributeError:
            self._record = Queued.from_message(self.message)
            return self._record

    @property
    def message(self) -> Message:
        """As it was received."""
        return next(iter_messages(self.datagram))

    def _header(self) -> Header:
        return self.record.header or Header()

    @property
    def payload(self) -> memoryview:
        """The packet from its network header on, or so much of it as `copy_range` allows: a read-only view.

        It is not copied: it shows what was received, and holds that for as long as it lives.
        """
        place = self.place(NFQA.PAYLOAD)
        return memoryview(b"" if place is None else self.datagram)[slice(*place or (0,))]

    @property
    def length(self) -> int:
        """The packet's true length; more than that of the payload where that was cut."""
        cut = self.record.cap_len
        if cut is not None:
            return cut
        start, end = self.place(NFQA.PAYLOAD) or (0, 0)
        return end - start

    @property
    def queue(self) -> int:
        """The number of its queue."""
        return self.record.queue

    @property
    def family(self) -> int:
        """AF_INET, AF_INET6, AF_BRIDGE."""
        return self.record.family

    @property
    def hook(self) -> HOOK:
        return self._header().hook

    @property
    def hw_protocol(self) -> int:
        """ETH_P_*: 0x0800 is IPv4, 0x86DD is IPv6."""
        return self._header().hw_protocol

    @property
    def mark(self) -> int | None:
        return self.record.mark

    @property
    def indev(self) -> int | None:
        """The index of the interface where it came in."""
        return self.record.indev

    @property
    def outdev(self) -> int | None:
        """The index of the interface where it will go out."""
        return self.record.outdev

    @property
    def physindev(self) -> int | None:
        """The index of the port of a bridge where it came in."""
        return self.record.physindev

    @property
    def physoutdev(self) -> int | None:
        """The index of the port of a bridge where it will go out."""
        return self.record.physoutdev

    @property
    def hwaddr(self) -> str | None:
        """The hardware address that sent it."""
        hardware = self.record.hardware
        return None if hardware is None else hardware.address

    @property
    def timestamp(self) -> float | None:
        """When it came in, in seconds since 1970. Of packets of this machine, there is none."""
        stamp = self.record.timestamp
        return None if stamp is None else stamp.sec + stamp.usec / 1e6

    @property
    def gso(self) -> bool:
        """Whether it is several packets in one, not yet cut: only in a queue that allows it."""
        return bool((self.record.skb_info or 0) & SKB.GSO)

    @property
    def checksum_ready(self) -> bool:
        """Whether its checksum is there; if not, it will be filled in later, and is not to be looked at."""
        return not (self.record.skb_info or 0) & SKB.CSUMNOTREADY

    @property
    def checksum_verified(self) -> bool:
        """Whether the kernel has looked at the checksum of a packet that came."""
        return not (self.record.skb_info or 0) & SKB.CSUM_NOTVERIFIED

    @property
    def uid(self) -> int | None:
        """Whose socket sent it: only in a queue that asks."""
        return self.record.uid

    @property
    def gid(self) -> int | None:
        """Whose socket sent it: only in a queue that asks."""
        return self.record.gid

    @property
    def secctx(self) -> str | None:
        """The security context of who sent it: only in a queue that asks."""
        return self.record.secctx

    # Verdicts -----------------------------------------------------------------------------------------------------

    def accept(self, *, mark: int | None = None, payload: "Buffer | None" = None) -> None:
        """Let it go on, with another mark, or with another payload, of any length.

        The kernel takes a payload as it is: lengths and checksums in its headers must be right.
        """
        if mark is None and payload is None:
            owner = self.owner
            owner.verdict(self.plain(owner.number, 1))
        else:
            self._decide(VERDICT.ACCEPT, mark, payload)

    def drop(self) -> None:
        """Make it vanish."""
        owner = self.owner
        owner.verdict(self.plain(owner.number, 0))

    def repeat(self, *, mark: int | None = None, payload: "Buffer | None" = None) -> None:
        """Send it through the rules of this hook again; mark it, or they queue it for ever."""
        self._decide(VERDICT.REPEAT, mark, payload)

    def requeue(
        self, number: int, *, bypass: bool = False, mark: int | None = None, payload: "Buffer | None" = None
    ) -> None:
        """Hand it to another queue; with `bypass` it goes on where nobody has that, and is dropped otherwise."""
        if not 0 <= number <= 0xFFFF:
            raise ValueError(f"{number} is no queue")
        self._decide(VERDICT.QUEUE | (_BYPASS if bypass else 0) | number << 16, mark, payload)

    def _decide(self, verdict: int, mark: int | None, payload: "Buffer | None") -> None:
        self.owner.verdict(decision(SET_VERDICT, self.owner.number, verdict, self.id, mark, payload))

    def __repr__(self) -> str:
        return f"<Packet {self.id}>"


def decision(
    type: int, queue: int, verdict: int, id: int, mark: int | None = None, payload: "Buffer | None" = None
) -> bytes:
    """The message. Its sequence number is the packet's number, so that an error tells of which it speaks."""
    encoder = AttributeEncoder(struct.pack(">BBH", 0, 0, queue), byteorder="big")
    key = id.to_bytes(4, "big")
    encoder.data(NFQA.VERDICT_HDR, verdict.to_bytes(4, "big") + key)
    if mark is not None:
        encoder.u32(NFQA.MARK, mark)
    if payload is not None:
        encoder.data(NFQA.PAYLOAD, payload)
    (seq,) = _TO_NATIVE.unpack(key)
    return bytes(Message(type, NLM_F_REQUEST, encoder, seq=seq))
