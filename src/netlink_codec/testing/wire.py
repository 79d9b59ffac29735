"""Sockets that a fake kernel serves: one end of a pair, with the manners of netlink.

So there is a descriptor that can be waited for, and datagrams that are cut where a buffer
is too small. What the pair holds is kept to two datagrams; the rest of the script is
played as they are read.
"""

import _socket as socket
import contextlib
import errno
import fcntl
import os
import select
import struct
import sys
import termios
from collections import deque
from collections.abc import Iterator, Sequence
from types import GeneratorType
from typing import TYPE_CHECKING, Any, ClassVar

from .._socket import Datagram, Socket
from ..constants import (
    NETLINK_ADD_MEMBERSHIP,
    NETLINK_BROADCAST_ERROR,
    NETLINK_CAP_ACK,
    NETLINK_DROP_MEMBERSHIP,
    NETLINK_EXT_ACK,
    NETLINK_GET_STRICT_CHK,
    NETLINK_LISTEN_ALL_NSID,
    NETLINK_NO_ENOBUFS,
    NETLINK_PKTINFO,
    SOL_NETLINK,
)
from ..errors import Closed, Timeout
from .script import Answer, Fault, Item, Pause, datagram_of, items_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from .kernel import FakeKernel

_OPTIONS = frozenset(
    (
        NETLINK_PKTINFO,
        NETLINK_BROADCAST_ERROR,
        NETLINK_NO_ENOBUFS,
        NETLINK_LISTEN_ALL_NSID,
        NETLINK_CAP_ACK,
        NETLINK_EXT_ACK,
        NETLINK_GET_STRICT_CHK,
    )
)
_MEMINFO = struct.Struct("=9I")
_SO_MEMINFO = 55
_SO_SNDBUFFORCE = 32
_MOST_HELD = 2  # as many as one receive takes
_MOST_BYTES = 100_000
_PAIR_SIZE = 1 << 20
_TURNS = 20


class WouldHang(AssertionError):
    """Somebody waits, without a deadline, for what a fake kernel will never send."""


class Wire(socket.socket):
    """The system's side of a socket: what `setsockopt` and its like do. The kernel's lock protects all of it."""

    def __init__(self, kernel: "FakeKernel") -> None:
        ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        super().__init__(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK, 0, ours.detach())
        try:
            self._theirs.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _PAIR_SIZE)
        except PermissionError:
            self._theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _PAIR_SIZE)
        self._kernel = kernel
        self._options: dict[int, int] = {}
        self._connected = False
        self._drops = 0
        self._script: deque[Iterator[Item]] = deque()
        self._next: Item | None = None  # of the script, but its time has not come
        self._held: deque[Datagram] = deque()  # in the pair
        self._failing: OSError | None = None  # what receiving raises next; the pair then holds an empty datagram
        self.resumes: float | None = None  # when a pause is over
        self.port = 0
        self.groups: set[int] = set()
        self.nudge = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC) if kernel.clock.manual else -1

    # The script ---------------------------------------------------------------------------------------------------

    def play(self, answer: Answer) -> None:
        """Let this arrive, after all else."""
        self._script.append(items_of(answer))
        self.pump()

    def pump(self, *, reading: bool = False) -> None:
        """Let arrive what is due."""
        while self.fileno() >= 0 and self._failing is None and not self._full():
            if self.resumes is not None:
                if self._kernel.clock() < self.resumes:
                    return
                self.resumes = None
            item = self._item()
            if item is None:
                return
            if isinstance(item, Pause):
                self.resumes = self._kernel.clock() + item.seconds
            elif isinstance(item, Fault):
                if self._held:
                    self._next = item
                    return
                self._drops += item.lost
                self._failing = OSError(item.errno, os.strerror(item.errno))
                self._theirs.send(b"")
            elif callable(item):
                if self._held or not reading:
                    self._next = item
                    return
                item()
            else:
                if isinstance(item, Datagram) and item.group:
                    self._kernel.multicast(item, but=self)
                self._arrive(datagram_of(item))

    def _item(self) -> Item | None:
        item, self._next = self._next, None
        while item is None and self._script:
            item = next(self._script[0], None)
            if item is None:
                self._script.popleft()
        return item

    def _full(self) -> bool:
        return len(self._held) == _MOST_HELD or sum(len(datagram.data) for datagram in self._held) > _MOST_BYTES

    def _arrive(self, datagram: Datagram) -> None:
        if datagram.sender and self._connected:
            self._kernel.refused += 1
            return
        if datagram.group and not self.hears(datagram):
            return
        before = self._unread()
        try:
            self._theirs.send(datagram.data)
        except OSError as error:
            raise ValueError(
                f"a datagram of {len(datagram.data)} bytes does not fit into a socket of this system"
            ) from error
        if self._unread() > before:  # else it was filtered
            self._held.append(datagram)

    def _unread(self) -> int:
        return int.from_bytes(fcntl.ioctl(self._theirs, termios.TIOCOUTQ, bytes(4)), sys.byteorder)

    def hears(self, datagram: Datagram) -> bool:
        """Whether this socket is to get what was sent to a group."""
        if datagram.nsid is not None and not self._options.get(NETLINK_LISTEN_ALL_NSID):
            return False
        return datagram.group in self.groups

    def ready(self) -> bool:
        """Whether there is something to receive, an error included."""
        self.pump(reading=True)
        return bool(self._held) or self._failing is not None

    def check(self) -> None:
        """About to receive: raise what is to be raised."""
        self.pump(reading=True)
        error, self._failing = self._failing, None
        if error is not None:
            self.recv(1)  # 0 would not ask the system
            self.pump()
            raise error

    def received(self) -> None:
        """All that was held has been received."""
        self._held.clear()
        self.pump()

    # What a socket does -------------------------------------------------------------------------------------------

    def bind(self, address: Any) -> None:
        with self._kernel.lock:
            self._kernel.failing("bind")
            self.port = self._kernel.port(address[0])

    def connect(self, address: Any) -> None:
        with self._kernel.lock:
            self._kernel.failing("connect")
            self._connected = True

    def getsockname(self) -> tuple[int, int]:
        return self.port, sum(1 << group - 1 for group in self.groups if group <= 32)

    def setsockopt(self, level: int, option: int, value: Any, *rest: Any) -> None:
        with self._kernel.lock:
            self._kernel.failing("setsockopt")
            if level != SOL_NETLINK:
                super().setsockopt(level, option, value, *rest)
            elif option in (NETLINK_ADD_MEMBERSHIP, NETLINK_DROP_MEMBERSHIP):
                if value < 1:
                    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
                (self.groups.add if option == NETLINK_ADD_MEMBERSHIP else self.groups.discard)(value)
            elif option in _OPTIONS and option not in self._kernel.without:
                self._options[option] = value
            else:
                raise OSError(errno.ENOPROTOOPT, os.strerror(errno.ENOPROTOOPT))

    def getsockopt(self, level: int, option: int, *size: int) -> Any:
        with self._kernel.lock:
            if level != SOL_NETLINK:
                if option == _SO_MEMINFO:
                    return _MEMINFO.pack(*bytes(8), self._drops)
                return super().getsockopt(level, option, *size)
            if option in _OPTIONS and option not in self._kernel.without:
                return self._options.get(option, 0)
            raise OSError(errno.ENOPROTOOPT, os.strerror(errno.ENOPROTOOPT))

    def send(self, data: "Buffer", flags: int = 0) -> int:
        return self.sendmsg([data])

    def sendmsg(self, parts: Any, *rest: Any) -> int:
        data = b"".join(parts)
        with self._kernel.lock:
            self._kernel.failing("send")
            if len(data) > super().getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) - 32:
                raise OSError(errno.EMSGSIZE, os.strerror(errno.EMSGSIZE))
            self.play(self._kernel.asked(data))
        return len(data)

    def recvmsg_into(self, buffers: Any, ancbufsize: int = 0, flags: int = 0) -> Any:
        with self._kernel.lock:
            self.check()
            size, _, flags, _ = super().recvmsg_into(buffers, ancbufsize, flags)
            datagram = self._held.popleft()
            self.pump()
        control = []
        if self._options.get(NETLINK_PKTINFO):
            control.append((SOL_NETLINK, NETLINK_PKTINFO, struct.pack("=I", datagram.group)))
        if datagram.nsid is not None:
            control.append((SOL_NETLINK, NETLINK_LISTEN_ALL_NSID, struct.pack("=i", datagram.nsid)))
        group = datagram.group
        return size, control, flags, (datagram.sender, 1 << group - 1 if 1 <= group <= 32 else 0)

    def close(self) -> None:
        with self._kernel.lock:
            self._kernel.closed(self)
            scripts = list(self._script)
            self._script.clear()
            super().close()
            self._theirs.close()
            if self.nudge >= 0:
                os.close(self.nudge)
                self.nudge = -1
        for script in scripts:
            # A generator learns that nobody asks any more.
            if isinstance(script, GeneratorType) and not script.gi_running:
                script.close()


class FakeSocket(Socket):
    """The package's side of a socket. A subclass says of which kernel."""

    kernel: ClassVar["FakeKernel"]
    _socket: Wire
    _turns = 0

    def open(self, protocol: int) -> Wire:
        if protocol != self.kernel.protocol:
            raise OSError(errno.EPROTONOSUPPORT, os.strerror(errno.EPROTONOSUPPORT))
        return self.kernel.open()

    def cookie(self) -> int:
        return 1

    def receive_now(self) -> tuple[bytes, bytes | None] | None:
        with self.kernel.lock:
            if self.wake.closed:
                raise Closed
            try:
                self._socket.check()
            except OSError as error:
                raise self._failure(error) from error
            try:
                return super().receive_now()
            finally:
                # As many as the pair holds, or none.
                self._socket.received()

    def wait(self, deadline: float | None) -> None:
        self._check_deadline(deadline)
        if self.kernel.clock.manual:
            self._wait_for_others(deadline)
        else:
            self._let_pass(deadline)
        if self.wake.closed:
            raise Closed

    def waits_for(self, deadline: float | None) -> tuple[Sequence[int], float | None]:
        """As tasks ask. They are many in a thread, so time passes only when all have had several turns."""
        descriptors: tuple[int, ...] = (self._fd, self.wake.fileno())
        with self.kernel.lock:
            if self._socket.nudge >= 0:
                self._calm()
                descriptors += (self._socket.nudge,)
            self._check_deadline(deadline)
            if self._socket.ready() or self.kernel.clock.manual:
                return descriptors, None
            then = self._socket.resumes
            times = [time for time in (then, deadline) if time is not None]
            if not times:
                return descriptors, None
            self._turns += 1
            if self._turns > _TURNS:
                self._turns = 0
                self.kernel.clock.advance_to(min(times))
            return descriptors, 0.0

    def _check_deadline(self, deadline: float | None) -> None:
        if deadline is not None and deadline <= self.kernel.clock():
            raise Timeout

    def _calm(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._socket.nudge)

    def _let_pass(self, deadline: float | None) -> None:
        with self.kernel.lock:
            while not self._socket.ready() and not self.wake.closed:
                then = self._socket.resumes
                if then is not None and (deadline is None or then <= deadline):
                    self.kernel.clock.advance_to(then)
                elif deadline is not None:
                    self.kernel.clock.advance_to(deadline)
                    raise Timeout
                else:
                    raise WouldHang(self.kernel.silence(self._socket.port))

    def _wait_for_others(self, deadline: float | None) -> None:
        poll = select.poll()
        for descriptor in (self._fd, self.wake.fileno(), self._socket.nudge):
            poll.register(descriptor, select.POLLIN)
        while True:
            with self.kernel.lock:
                if self.wake.closed or self._socket.ready():
                    return
                self._check_deadline(deadline)
            with self.kernel.waiter():
                poll.poll()
            self._calm()
