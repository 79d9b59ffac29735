"""Traffic with a kernel, to a file and from it.

    pcap   | magic u32 | version | zone | figures | snaplen u32 | link type u32, LINKTYPE_NETLINK | records
    record | seconds u32 | microseconds u32 | captured u32 | original u32 | packet
    packet | packet type u16 | ARPHRD_NETLINK u16 | length u16 of: port id u32, group u32 | protocol u16 | datagram

The file is in the order of the machine that wrote it, a packet's header big-endian. The
address, which readers of this link type pass over, is our socket's.
"""

import _socket as socket
import difflib
import os
import struct
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Final, NamedTuple

from .._core import Message, marshal_messages
from .._socket import Datagram, Socket
from ..capture import ARPHRD_NETLINK, LINKTYPE_NETLINK
from ..conn import Conn
from ..constants import NETLINK_USERSOCK, NLMSG_ERROR, NLMSG_HDRLEN
from ..debug import format_datagram
from .checks import difference
from .clock import Clock
from .kernel import FakeKernel
from .seam import opening

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ..aio import AsyncConn

_FILE: Final = struct.Struct("=IHHiIII")
_RECORD: Final = struct.Struct("=IIII")
_PACKET: Final = struct.Struct(">HHHIIH")
_MAGIC: Final = 0xA1B2C3D4
_ADDRESS_SIZE: Final = 8
_TO_USER, _TO_KERNEL = 6, 7  # PACKET_USER, PACKET_KERNEL
_SNAPLEN: Final = 262_144  # more, readers refuse
_LONGEST: Final = _SNAPLEN - _PACKET.size
_NUMBERS: Final = struct.Struct("=II")  # sequence number and port id, 8 bytes into a nlmsghdr


@contextmanager
def record(path: "str | os.PathLike[str]") -> Iterator[None]:
    """For a `with` block: connections that are opened in it, in any thread, write all they say and hear to a pcap file.

    What this thread's kernel, and its network, are like is then in that file: addresses,
    names, rules. Losses are not. Wireshark opens it, and so does
    `python -m netlink_codec decode`; `Replay` answers from it.

    >>> import tempfile
    >>> from netlink_codec import Conn, Message, NETLINK_ROUTE
    >>> with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
    ...     with record(file.name), Conn(NETLINK_ROUTE) as conn:
    ...         recorded = conn.execute(Message(18, 0, bytes([0, 0, 0, 0, 1]) + bytes(11)))
    ...     with Replay(file.name).installed(), Conn(NETLINK_ROUTE) as conn:
    ...         replayed = conn.execute(Message(18, 0, bytes([0, 0, 0, 0, 1]) + bytes(11)))
    >>> [message.data for message in replayed] == [message.data for message in recorded]
    True
    """
    with open(path, "wb") as file:
        writer = _Writer(file)
        with opening(lambda protocol, usual: type("Recorded", (_Recorded, usual), {"writer": writer})):
            yield
        writer.close()


class _Packet(NamedTuple):
    to_kernel: bool
    port: int
    group: int
    protocol: int
    data: bytes


class _Writer:
    def __init__(self, file: BinaryIO) -> None:
        self._file: BinaryIO | None = file
        self._lock = threading.Lock()
        file.write(_FILE.pack(_MAGIC, 2, 4, 0, 0, _SNAPLEN, LINKTYPE_NETLINK))

    def write(self, packet: _Packet) -> None:
        seconds, rest = divmod(time.time_ns(), 10**9)
        captured = packet.data[:_LONGEST]
        header = _PACKET.pack(
            _TO_KERNEL if packet.to_kernel else _TO_USER,
            ARPHRD_NETLINK,
            _ADDRESS_SIZE,
            packet.port,
            packet.group,
            packet.protocol,
        )
        sizes = (_PACKET.size + len(captured), _PACKET.size + len(packet.data))
        with self._lock:
            # Connections may outlive the block.
            if self._file is not None:
                self._file.write(_RECORD.pack(seconds, rest // 1000, *sizes) + header + captured)

    def close(self) -> None:
        with self._lock:
            self._file = None


class _Recorded(Socket):
    """A socket whose traffic is written down."""

    writer: ClassVar[_Writer]
    _protocol = 0

    def open(self, protocol: int) -> socket.socket:
        self._protocol = protocol
        return super().open(protocol)

    def _write(self, to_kernel: bool, group: int, data: bytes) -> None:
        self.writer.write(_Packet(to_kernel, self.port, group, self._protocol, data))

    def send(self, data: "Buffer") -> None:
        self.send_parts([data])

    def send_parts(self, parts: "Sequence[Buffer]") -> None:
        super().send_parts(parts)
        self._write(True, 0, b"".join(parts))

    def receive_now(self) -> tuple[bytes, bytes | None] | None:
        data = super().receive_now()
        for datagram in data or ():
            if datagram is not None:
                self._write(False, 0, datagram)
        return data

    def receive_datagram(self) -> Datagram | None:
        datagram = super().receive_datagram()
        if datagram is not None and (not datagram.sender or self._protocol == NETLINK_USERSOCK):
            self._write(False, datagram.group, datagram.data)
        return datagram


def _packets(path: "str | os.PathLike[str]") -> Iterator[_Packet]:
    """What `record` wrote."""
    with open(path, "rb") as file:
        head = file.read(_FILE.size)
        if len(head) < _FILE.size or (fields := _FILE.unpack(head))[0] != _MAGIC or fields[-1] != LINKTYPE_NETLINK:
            raise ValueError(f"{os.fspath(path)} is not a recording of this machine's kind")
        while len(head := file.read(_RECORD.size)) == _RECORD.size:
            packet = file.read(_RECORD.unpack(head)[2])
            kind, hardware, size, port, group, protocol = _PACKET.unpack_from(packet)
            if hardware != ARPHRD_NETLINK or size != _ADDRESS_SIZE:
                raise ValueError(f"{os.fspath(path)} was not made by record(): it does not tell sockets apart")
            yield _Packet(kind == _TO_KERNEL, port, group, protocol, packet[_PACKET.size :])


class UnknownRequest(AssertionError):
    """A request to which a recording has no answer. Its text shows it, and the one that is most like it."""


class _Exchange(NamedTuple):
    sent: bytes
    answers: list[bytes]


class Replay:
    """Answers from a recording: to each request what the kernel said to the same one.

    The same are those whose bytes are, but for sequence numbers and port ids, which are
    put right in the answers. If one was recorded several times, its answers come in that
    order, and the last stays. UnknownRequest is raised for one that was not.

    `conn()`, `async_conn()` and `installed()` are as those of FakeKernel, and `kernels` are the fake
    kernels behind them, by protocol. `play()` sends the recorded notifications.

    >>> import tempfile
    >>> from netlink_codec import Conn, Message, NETLINK_ROUTE
    >>> with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
    ...     with record(file.name), Conn(NETLINK_ROUTE) as conn:
    ...         recorded = conn.execute(Message(18, 0, bytes([0, 0, 0, 0, 1]) + bytes(11)))
    ...     with Replay(file.name).conn() as conn:
    ...         conn.execute(Message(18, 0, bytes([0, 0, 0, 0, 2]) + bytes(11)))
    Traceback (most recent call last):
    netlink_codec.testing.recordings.UnknownRequest: the recording has no answer to this request; the most like it is
    --- expected
    +++ sent
    @@ -1,2 +1,2 @@
     RTM_GETLINK (18), 32 bytes, flags 0x5 (REQUEST|ACK), seq 0, pid 0
    -  ifinfomsg 00 00 00 00 01 00 00 00 00 00 00 00 00 00 00 00
    +  ifinfomsg 00 00 00 00 02 00 00 00 00 00 00 00 00 00 00 00
    """

    def __init__(self, path: "str | os.PathLike[str]", *, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.kernels: dict[int, FakeKernel] = {}
        self._notifications: list[_Packet] = []
        exchanges: dict[int, list[_Exchange]] = {}
        open_: dict[tuple[int, int], _Exchange] = {}
        for packet in _packets(path):
            socket_ = (packet.protocol, packet.port)
            known = exchanges.setdefault(packet.protocol, [])
            if packet.to_kernel:
                open_[socket_] = _Exchange(packet.data, [])
                known.append(open_[socket_])
            elif packet.group:
                self._notifications.append(packet)
            elif socket_ in open_:
                open_[socket_].answers.append(packet.data)
        for protocol, known in exchanges.items():
            self.kernels[protocol] = FakeKernel(protocol, _Answers(protocol, known), clock=self.clock)

    def conn(self, protocol: int | None = None, **options: Any) -> Conn:
        """A `Conn` that is answered; the protocol may be left out where but one was recorded."""
        return self._kernel(protocol).conn(**options)

    def async_conn(self, protocol: int | None = None, **options: Any) -> "AsyncConn":
        """As `conn`, for asyncio."""
        return self._kernel(protocol).async_conn(**options)

    def _kernel(self, protocol: int | None) -> FakeKernel:
        if protocol is None:
            if len(self.kernels) != 1:
                raise ValueError(f"of which protocol? several protocols were recorded, or none: {sorted(self.kernels)}")
            (protocol,) = self.kernels
        if protocol not in self.kernels:
            raise LookupError(f"nothing of protocol {protocol} was recorded")
        return self.kernels[protocol]

    def installed(self) -> AbstractContextManager[None]:
        """For a `with` block: every connection that is opened in it, of a protocol that was recorded, is answered."""

        def choose(protocol: int, usual: type[Socket]) -> type[Socket]:
            return self.kernels[protocol].socket_type if protocol in self.kernels else usual

        return opening(choose)

    def play(self) -> None:
        """Send all notifications that were recorded, in their order, to who has joined their groups now."""
        for packet in self._notifications:
            self.kernels[packet.protocol].multicast(Datagram(packet.data, 0, packet.group, None))


class _Answers:
    """A fake kernel's handler."""

    def __init__(self, protocol: int, known: Iterable[_Exchange]) -> None:
        self._protocol = protocol
        self._known: dict[bytes, list[_Exchange]] = {}
        for exchange in known:
            self._known.setdefault(_key(exchange.sent), []).append(exchange)

    def __call__(self, requests: list[Message]) -> list[bytes]:
        data = marshal_messages(requests)
        exchanges = self._known.get(_key(data))
        if exchanges is None:
            raise UnknownRequest(self._unknown(requests))
        exchange = exchanges.pop(0) if len(exchanges) > 1 else exchanges[0]
        pairs = list(zip(_numbers(exchange.sent), _numbers(data), strict=False))
        sequences = {old: new for (old, _), (new, _) in pairs}
        ports = {old: new for (_, old), (_, new) in pairs}
        return [_renumbered(answer, sequences, ports) for answer in exchange.answers]

    def _unknown(self, requests: Sequence[Message]) -> str:
        """The request beside the recorded one that is most like it."""
        asked = format_datagram(_key(marshal_messages(requests)), self._protocol)
        recorded = [format_datagram(key, self._protocol) for key in self._known]
        if not recorded:
            return f"nothing was asked in the recording, and now this is\n{asked}"
        nearest = max(recorded, key=lambda text: difflib.SequenceMatcher(None, text, asked).ratio())
        return f"the recording has no answer to this request; the most like it is\n{difference(nearest, asked)}"


def _headers(data: "bytes | bytearray") -> Iterator[tuple[int, int]]:
    """(offset, type) of each nlmsghdr."""
    at = 0
    while at + NLMSG_HDRLEN <= len(data):
        length, kind = struct.unpack_from("=IH", data, at)
        yield at, kind
        at += max(length, NLMSG_HDRLEN) + 3 & ~3


def _numbers(data: bytes) -> list[tuple[int, int]]:
    """(sequence number, port id) of each message."""
    return [_NUMBERS.unpack_from(data, at + 8) for at, _ in _headers(data)]


def _key(sent: bytes) -> bytes:
    """The request without what differs each time, as far as recordings go."""
    key = bytearray((sent + bytes(-len(sent) % 4))[:_LONGEST])
    for at, _ in _headers(key):
        _NUMBERS.pack_into(key, at + 8, 0, 0)
    return bytes(key)


def _renumbered(answer: bytes, sequences: dict[int, int], ports: dict[int, int]) -> bytes:
    """The answer as if to the other request, and so the header of that in an NLMSG_ERROR."""
    data = bytearray(answer)
    for at, kind in _headers(answer):
        inner = at + NLMSG_HDRLEN + 4
        for header in (at, inner) if kind == NLMSG_ERROR and inner + NLMSG_HDRLEN <= len(data) else (at,):
            seq, pid = _NUMBERS.unpack_from(data, header + 8)
            _NUMBERS.pack_into(data, header + 8, sequences.get(seq, seq), ports.get(pid, pid))
    return bytes(data)
