"""Logs: a socket to which the kernel sends copies of packets."""

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from .._core import AttributeEncoder, Message, iter_messages
from .._socket import Socket
from ..constants import NLM_F_ACK, NLM_F_REQUEST, NLMSG_ERROR
from ..nfpackets import Blocking, Source
from ..pool import Pool
from ..records import reader
from ..requests import Lost
from .message import CONFIG, PACKET, Logged

if TYPE_CHECKING:
    from ..netns import NetNS

P = TypeVar("P", bound=Pool)

_CMD, _MODE, _NLBUFSIZ, _TIMEOUT, _QTHRESH, _FLAGS = range(1, 7)
_BIND = 1
_COPY_META, _COPY_PACKET = 1, 2
_F_SEQ = 1
_READ = reader(Logged, PACKET)


def bind(group: int, *, copy_range: int, threshold: int | None, delay: float | None, count: bool) -> Message:
    """All at once."""
    if not 0 <= group <= 0xFFFF:
        raise ValueError(f"{group} is no group: these are 0 to 65535")
    encoder = AttributeEncoder(struct.pack(">BBH", 0, 0, group), byteorder="big")
    encoder.data(_CMD, struct.pack(">B", _BIND))
    encoder.data(_MODE, struct.pack(">IBB", copy_range, _COPY_PACKET if copy_range else _COPY_META, 0))
    if threshold is not None:
        encoder.u32(_QTHRESH, threshold)
    if delay is not None:
        encoder.u32(_TIMEOUT, round(delay * 100))
    if count:
        encoder.u16(_FLAGS, _F_SEQ)
    return Message(CONFIG, NLM_F_REQUEST | NLM_F_ACK, encoder, seq=1)


class BaseLog(Source[P, Logged]):
    """What the blocking log and its asyncio twin have in common: all that does not wait."""

    def __init__(
        self,
        group: int,
        *,
        copy_range: int = 0xFFFF,
        threshold: int | None = None,
        delay: float | None = None,
        count: bool = False,
        rcvbuf: int | None = None,
        notice: Callable[[Lost], object] | None = None,
        netns: "NetNS | str | None" = None,
        debug: bool | None = None,
    ) -> None:
        self.group = group
        self._name = f"log {group}"
        binding = bind(group, copy_range=copy_range, threshold=threshold, delay=delay, count=count)
        super().__init__(binding, rcvbuf=rcvbuf, notice=notice, netns=netns, debug=debug)

    def _receive(self, socket: Socket) -> bool:
        received = socket.receive_now()
        for datagram in received or ():
            for message in iter_messages(datagram or b""):
                logged = _READ(message)
                if logged is not None:
                    self._packets.append(logged)
                elif message.type == NLMSG_ERROR:
                    self._answered(message)
        return received is not None


class Log(BaseLog[Pool], Blocking[Logged]):
    """A group of the log, by its number: iterate over the packets.

    `copy_range` is how many bytes of a packet come along, 0 for none. The kernel sends packets together: when there
    are `threshold` of them, after `delay` seconds at the latest, and whenever its buffer is full. A rule
    may have a threshold of its own. `count` numbers them (`seq`), so that gaps can be seen.

    What does not fit into the receive buffer (`rcvbuf`, in bytes) is lost, and the loop goes on: `lost` counts the
    datagrams, and `notice` is called with `Lost`; without it, that is a warning of the logger `netlink_codec`.

    A group has one owner, and needs CAP_NET_ADMIN. Any thread may close it, which ends the loop.
    """
