"""Queues: a socket to which the kernel hands packets, and which tells it the verdicts."""

import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from .._core import Message, iter_messages
from .._nfqueue import Receiver
from .._socket import BUFFER_SIZE, Socket
from ..acks import Acknowledgement
from ..constants import NLMSG_ERROR
from ..errors import Closed, NetlinkError
from ..nfpackets import Blocking, Source
from ..pool import Pool, at_fork
from ..requests import Lost, Request
from .config import CONNTRACK, FAIL_OPEN, GSO, MOST, SECCTX, UID_GID, bind
from .packet import SET_VERDICT_BATCH, VERDICT, Packet, VerdictError, decision

if TYPE_CHECKING:
    from ..netns import NetNS

P = TypeVar("P", bound=Pool)

Notice = Callable[[Lost | VerdictError], object]

_GATHERED = 64  # verdicts that are sent together at most, and their bytes
_GATHERED_BYTES = 1 << 16
_SEQ_OF_BIND = 1


class BaseQueue(Source[P, Packet]):
    """What the blocking queue and its asyncio twin have in common: all that does not wait."""

    def __init__(
        self,
        number: int,
        *,
        copy_range: int = MOST,
        maxlen: int | None = None,
        fail_open: bool = False,
        gso: bool = False,
        uid_gid: bool = False,
        secctx: bool = False,
        conntrack: bool = False,
        rcvbuf: int | None = None,
        gather: bool = False,
        notice: Notice | None = None,
        netns: "NetNS | str | None" = None,
        debug: bool | None = None,
    ) -> None:
        options = (fail_open, FAIL_OPEN), (conntrack, CONNTRACK), (gso, GSO), (uid_gid, UID_GID), (secctx, SECCTX)
        flags = sum(flag for wanted, flag in options if wanted)
        binding = bind(number, copy_range=copy_range, maxlen=maxlen, flags=flags, seq=_SEQ_OF_BIND)
        self.number = number
        self._name = f"queue {number}"
        self.refused = 0
        """Verdicts that came too late, after the end even, or twice, or otherwise did not please the kernel."""
        self._gather = gather
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        # Reentrant: a signal handler may give a verdict inside another.
        self._sending = threading.RLock()
        self._receiver = Receiver(BUFFER_SIZE)
        at_fork(self)
        super().__init__(binding, rcvbuf=rcvbuf, notice=notice, netns=netns, debug=debug)

    def forked(self) -> None:
        """In the child of a fork: the queue is the parent's, and so are the verdicts."""
        self._sending = threading.RLock()
        self._gathered = []

    def _fill(self) -> bool:
        if self._gathered:
            self.flush()
        return super()._fill()

    def _receive(self, socket: Socket) -> bool:
        try:
            received = self._receiver.receive(socket.fileno(), self, Packet)
        except OSError as error:
            raise socket._failure(error) from error
        if received is None:
            return False
        packets, others = received
        if self._trace is not None:
            for datagram in [packet.datagram for packet in packets] + others:
                self._trace("receive", datagram)
        self._packets += packets
        for datagram in others:
            for message in iter_messages(datagram):
                if message.type == NLMSG_ERROR:
                    self._answered(message)
        return True

    def _failed(self, message: Message, ack: Acknowledgement) -> None:
        if ack.errno:
            self.refused += 1
            error = VerdictError(ack.errno)
            error.message = ack.message
            error.packet = int.from_bytes(struct.pack("=I", message.seq), "big")
            error.request = Request(message, doing=f"verdict of packet {error.packet} in {self._name}")
            self._tell(error, str(error))

    def verdict(self, message: bytes) -> None:
        """Send a verdict, or keep it until the next packets are received."""
        if not self._gather:
            self._send(message, 1)
            return
        with self._sending:
            self._gathered.append(message + bytes(-len(message) % 4))
            self._gathered_bytes += len(message)
            full = len(self._gathered) >= _GATHERED or self._gathered_bytes >= _GATHERED_BYTES
        if full or self._socket is None:
            self.flush()

    def flush(self) -> None:
        """Send the verdicts that were gathered: where they are given in other threads than the one that receives."""
        with self._sending:
            gathered, self._gathered, self._gathered_bytes = self._gathered, [], 0
        if gathered:
            self._send(b"".join(gathered), len(gathered))

    def _send(self, messages: bytes, count: int) -> None:
        try:
            self._open().send(messages)
        except Closed:
            # By another thread: what waited was dropped, and the loop that gave this verdict is about to end.
            self.refused += count

    def accept_until(self, packet: Packet | int, *, mark: int | None = None) -> None:
        """Let all packets up to this one go on that wait; VerdictError by `notice` if none does."""
        self._until(VERDICT.ACCEPT, packet, mark)

    def drop_until(self, packet: Packet | int) -> None:
        """Make all packets up to this one vanish that wait."""
        self._until(VERDICT.DROP, packet, None)

    def _until(self, verdict: int, packet: Packet | int, mark: int | None) -> None:
        number = packet if isinstance(packet, int) else packet.id
        self.verdict(decision(SET_VERDICT_BATCH, self.number, verdict, number, mark))

    def close(self) -> None:
        """End it; the kernel drops what waits, and loops over it end, in all threads. Again is harmless."""
        with suppress(NetlinkError):  # who closes wants nothing else
            if self._socket is not None:
                self.flush()
        super().close()


class Queue(BaseQueue[Pool], Blocking[Packet]):
    """A queue, by its number: iterate over the packets, and give each a verdict.

    `copy_range` is how many bytes of a packet come along, 0 for none; `maxlen` how many packets may wait in the
    kernel (1024), which drops what comes then, or, with `fail_open`, lets it pass. `gso` takes
    packets that are not cut yet, up to 64 KiB each, which is much faster. `uid_gid` and `secctx` ask who
    sent it, `conntrack` for its connection (where the kernel can tell). `rcvbuf` is the receive buffer in bytes.

    `gather` sends the verdicts that a loop gives together: before it receives more, or waits.

    What does not fit into the receive buffer is lost, and the loop goes on. `notice` is called with `Lost`, and
    with a `VerdictError` for each verdict that the kernel refused; without it, these are logged. Both
    are counted: `lost`, `refused`.

    A queue has one owner, and needs CAP_NET_ADMIN. Any thread may give verdicts and close it, which ends the loop.
    """
