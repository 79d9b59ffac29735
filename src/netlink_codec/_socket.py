"""One netlink socket: opened with the options that make it honest, written and read whole."""

# Not socket: what that adds is not used here and costs time, and eventlet and gevent replace it.
import _socket as socket
import errno
import os
import select
import struct
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ._core import Message
from ._sys import receive
from .constants import (
    NETLINK_CAP_ACK,
    NETLINK_EXT_ACK,
    NETLINK_GET_STRICT_CHK,
    NETLINK_LISTEN_ALL_NSID,
    NETLINK_PKTINFO,
    SOL_NETLINK,
)
from .errors import Closed, NetlinkError, Overrun, Timeout

if TYPE_CHECKING:
    from typing_extensions import Buffer

# The longest message seen from a kernel is 66 KiB (a link with hundreds of names);
# dumps come in datagrams of at most 32 KiB, if the buffer offers as much.
BUFFER_SIZE = 128 * 1024

# Who receives takes a buffer from here and puts it back: zeroing a new one costs more than most reads.
_buffers: deque[bytearray] = deque(maxlen=16)

_RECEIVE = socket.MSG_DONTWAIT | socket.MSG_TRUNC
_CONTROL_SIZE = 2 * socket.CMSG_SPACE(4)
_IOV_MAX = 1024  # how many parts Linux takes in one sendmsg
# What Python's socket module does not name, from asm-generic/socket.h.
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_SO_ATTACH_FILTER, _SO_DETACH_FILTER = 26, 27
_SOCK_FILTER = struct.Struct("=HBBI")
_SO_MEMINFO = 55
_SO_NETNS_COOKIE = 71
_MEMINFO = struct.Struct("=9I")  # SK_MEMINFO_*: the first is what is held, the last the drops

Trace = Callable[[str, "Buffer"], None]


class Datagram(NamedTuple):
    """What arrived on a socket that listens."""

    data: bytes
    sender: int  # its port id, 0 for the kernel
    group: int  # the multicast group it was sent to, 0 for this socket alone
    nsid: int | None  # the namespace it speaks of, if another (NETLINK_LISTEN_ALL_NSID)


def failure(error: OSError) -> NetlinkError:
    """The same error, as one of this package's."""
    number = error.errno or errno.EIO
    if number == errno.EBADF:
        return Closed()  # under our feet: by a fork, or by who closed the descriptor
    return NetlinkError(number, error.strerror)


class _Descriptor(socket.socket):
    """A socket that is closed with its last reference and without a ResourceWarning.

    What a signal handler raises may come between any two steps, so that nobody remembers to close it.
    """

    __slots__ = ()

    def __del__(self) -> None:
        self.close()


def _size(parts: Sequence["Buffer"]) -> int:
    return sum(memoryview(part).nbytes for part in parts)


def _check_sent(sent: int, parts: Sequence["Buffer"]) -> None:
    size = _size(parts)
    if sent != size:
        raise NetlinkError(errno.EIO, f"{sent} of {size} bytes were sent")


class Wake:
    """Wakes all who wait on a connection, for good; its eventfd is made when somebody first waits.

    One with a parent wakes those of one socket, and with all others where the parent does.
    """

    closed = False
    _fd = -1

    def __init__(self, parent: "Wake | None" = None) -> None:
        # A signal handler may close what it interrupts.
        self._lock = threading.RLock()
        self._children: set[weakref.ref[Wake]] = set()
        if parent is not None:
            parent._children.add(weakref.ref(self, parent._children.discard))
            self.closed = parent.closed

    def close(self) -> None:
        """Wake everybody."""
        with self._lock:
            self.closed = True
            if self._fd >= 0:
                os.eventfd_write(self._fd, 1)
        for reference in list(self._children):
            child = reference()
            if child is not None:
                child.close()

    def fileno(self) -> int:
        """Readable once closed."""
        with self._lock:
            if self._fd < 0:
                self._fd = os.eventfd(int(self.closed), os.EFD_NONBLOCK | os.EFD_CLOEXEC)
            return self._fd

    def dispose(self) -> None:
        """Give the descriptor back: nobody waits, nor will."""
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1

    # Bound here, for what is still there when the interpreter clears this module.
    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        # Of garbage, others may come after this one and still close it.
        fd, self._fd = self._fd, -1
        if fd >= 0:
            close(fd)


class Socket:
    """An open, non-blocking AF_NETLINK socket, bound; connected to the kernel unless it listens.

    Connected, the kernel refuses what other processes send to it. Who listens is told
    of each datagram who sent it, and for which group. One thread at a time, but for
    `wake.close()`, which ends all waiting with Closed.
    """

    clock = staticmethod(time.monotonic)  # of deadlines

    def __init__(
        self,
        protocol: int,
        wake: Wake,
        *,
        strict: bool = True,
        port: int = 0,
        listens: bool = False,
        trace: Trace | None = None,
    ) -> None:
        self.wake = wake
        self._trace = trace
        # For who receives, where several may. Reentrant: a signal handler may use what it interrupts.
        self.lock = threading.RLock()
        self._drops = 0
        self.last_seq = time.monotonic_ns() % 0xFFFFFFFF
        try:
            self._socket = self.open(protocol)
        except OSError as error:
            raise failure(error) from error
        try:
            options = [NETLINK_CAP_ACK, NETLINK_EXT_ACK]
            options += [NETLINK_GET_STRICT_CHK] if strict else []
            options += [NETLINK_PKTINFO] if listens else []
            for option in options:
                self._try_option(option)
            self._socket.bind((port, 0))
            if not listens:
                self._socket.connect((0, 0))
            self.port: int = self._socket.getsockname()[0]
            self._fd: int = self._socket.fileno()
        except OSError as error:
            self._socket.close()
            raise failure(error) from error

    def open(self, protocol: int) -> socket.socket:
        """socket(2): what a fake kernel replaces."""
        return _Descriptor(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC, protocol)

    def _try_option(self, option: int) -> None:
        try:
            self._socket.setsockopt(SOL_NETLINK, option, 1)
        except OSError as error:
            # Older than the option (CAP_ACK 4.3, EXT_ACK 4.12, GET_STRICT_CHK 4.20): do without.
            if error.errno != errno.ENOPROTOOPT:
                raise

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        """Give the descriptor back; who still receives gets Closed."""
        self._fd = -1
        with suppress(OSError):  # somebody closed the descriptor
            self._socket.close()

    def forked(self) -> None:
        """In the child of a fork: close what is the parent's; who used it gets Closed."""
        self.lock = threading.RLock()
        self.wake = Wake()
        self.wake.close()
        self.close()

    def sequence(self, count: int = 1) -> int:
        """The first of so many consecutive sequence numbers; never 0, which marks notifications."""
        first = self.last_seq + 1
        if first + count > 2**32:
            first = 1
        self.last_seq = first + count - 1
        return first

    def cookie(self) -> int | None:
        """The number of its network namespace (Linux 5.14); None if the kernel does not say."""
        try:
            return int.from_bytes(self._socket.getsockopt(socket.SOL_SOCKET, _SO_NETNS_COOKIE, 8), sys.byteorder)
        except OSError:
            return None

    def set_option(self, option: int, value: int) -> None:
        """setsockopt(SOL_NETLINK) with an integer."""
        try:
            self._socket.setsockopt(SOL_NETLINK, option, value)
        except OSError as error:
            raise failure(error) from error

    def get_option(self, option: int) -> int:
        """getsockopt(SOL_NETLINK) of an integer."""
        try:
            return self._socket.getsockopt(SOL_NETLINK, option)
        except OSError as error:
            raise failure(error) from error

    def attach_filter(self, program: Sequence[tuple[int, int, int, int]]) -> None:
        """SO_ATTACH_FILTER: struct sock_fprog, which points to the program."""
        # ctypes takes longer to import than all of this package, and filters are rare.
        import ctypes

        code = b"".join(_SOCK_FILTER.pack(*step) for step in program)
        buffer = ctypes.create_string_buffer(code, len(code))
        fprog = struct.pack("@HP", len(program), ctypes.addressof(buffer))
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, fprog)
        except OSError as error:
            raise failure(error) from error

    def detach_filter(self) -> None:
        """SO_DETACH_FILTER."""
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)
        except OSError as error:
            raise failure(error) from error

    def set_send_buffer(self, size: int) -> int:
        """Set SO_SNDBUF, beyond the system's limit where that is allowed; returns what it is."""
        return self._set_buffer(socket.SO_SNDBUF, _SO_SNDBUFFORCE, size)

    def set_receive_buffer(self, size: int) -> int:
        """Set SO_RCVBUF, beyond the system's limit where that is allowed; returns what it is."""
        return self._set_buffer(socket.SO_RCVBUF, _SO_RCVBUFFORCE, size)

    def _set_buffer(self, option: int, force: int, size: int) -> int:
        if not 0 <= size < 1 << 31:
            raise ValueError(f"{size} bytes are no buffer: its size is 0 to 2147483647")
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, force, size)
        except OSError as error:
            if error.errno != errno.EPERM:
                raise failure(error) from error
            force = option
        try:
            if force == option:
                self._socket.setsockopt(socket.SOL_SOCKET, option, size)
            return self._socket.getsockopt(socket.SOL_SOCKET, option)
        except OSError as error:
            raise failure(error) from error

    # Sending ------------------------------------------------------------------------------------------------------

    def send(self, data: Message | bytes) -> None:
        """Send one datagram to the kernel, which works on it before this returns."""
        if self._trace is not None:
            self._trace("send", data)
        try:
            sent = self._socket.send(data)
        except OSError as error:
            if error.errno != errno.EMSGSIZE:
                raise failure(error) from error
            self._send_large([data])
        else:
            if sent != len(data):  # the check in one step: every request passes here
                _check_sent(sent, [data])

    def send_parts(self, parts: Sequence["Buffer"]) -> None:
        """Send the parts as one datagram, without joining them first; the send buffer grows if it must.

        NetlinkError (EMSGSIZE) that says how large it is, and may be, if it cannot.
        """
        if len(parts) > _IOV_MAX:
            parts = [b"".join(parts)]
        if self._trace is not None:
            self._trace("send", b"".join(parts))
        try:
            sent = self._socket.sendmsg(parts)
        except OSError as error:
            if error.errno != errno.EMSGSIZE:
                raise failure(error) from error
            self._send_large(parts)
        else:
            _check_sent(sent, parts)

    def _send_large(self, parts: Sequence["Buffer"]) -> None:
        size = _size(parts)
        # The kernel doubles what it is told, and counts its own overhead.
        room = self.set_send_buffer(size + 4096)
        try:
            _check_sent(self._socket.sendmsg(parts), parts)
        except NetlinkError:
            raise
        except OSError as error:
            if error.errno != errno.EMSGSIZE:
                raise failure(error) from error
            raise NetlinkError(
                errno.EMSGSIZE,
                f"{size} bytes do not fit into a send buffer of {room}"
                " (net.core.wmem_max bounds it, but for CAP_NET_ADMIN)",
            ) from error

    # Receiving ----------------------------------------------------------------------------------------------------

    def receive(self, deadline: float | None) -> tuple[bytes, bytes | None]:
        """The next datagram, and the one after it if it is there.

        `deadline` (of `clock`) bounds the waiting; what is there already is read.
        """
        while (data := self.receive_now()) is None:
            self.wait(deadline)
        return data

    def receive_now(self) -> tuple[bytes, bytes | None] | None:
        """As `receive`; None if there is nothing yet."""
        if self.wake.closed:
            raise Closed
        try:
            data = receive(self._fd, BUFFER_SIZE)
        except OSError as error:
            raise self._failure(error) from error
        if self._trace is not None and data is not None:
            for datagram in data:
                if datagram is not None:
                    self._trace("receive", datagram)
        return data

    def receive_datagram(self) -> Datagram | None:
        """As `receive_now`, with what is known of the sender; for a socket that listens."""
        if self.wake.closed:
            raise Closed
        try:
            buffer = _buffers.pop()
        except IndexError:
            buffer = bytearray(BUFFER_SIZE)
        try:
            size, control, _, (sender, _) = self._socket.recvmsg_into([buffer], _CONTROL_SIZE, _RECEIVE)
            if size > len(buffer):
                raise NetlinkError(errno.EMSGSIZE, f"a datagram of {size} bytes was cut to {len(buffer)}")
            with memoryview(buffer) as view:
                data = bytes(view[:size])
        except BlockingIOError:
            return None
        except NetlinkError:
            raise
        except OSError as error:
            raise self._failure(error) from error
        finally:
            _buffers.append(buffer)
        if self._trace is not None:
            self._trace("receive", data)
        group, nsid = 0, None
        for level, kind, value in control:
            if level == SOL_NETLINK and kind == NETLINK_PKTINFO:
                (group,) = struct.unpack("=I", value)
            elif level == SOL_NETLINK and kind == NETLINK_LISTEN_ALL_NSID:
                (nsid,) = struct.unpack("=i", value)
        return Datagram(data, sender, group, nsid)

    def _failure(self, error: OSError) -> NetlinkError:
        """Of receiving, where ENOBUFS is the kernel's way to say that it dropped something."""
        if error.errno != errno.ENOBUFS:
            return failure(error)
        overrun = Overrun()
        overrun.lost = self.drops()
        return overrun

    def drops(self) -> int | None:
        """How many datagrams the kernel dropped since this was last asked; None if it does not say."""
        memory = self._memory()
        if memory is None:
            return None
        before, self._drops = self._drops, memory[-1]
        return (memory[-1] - before) % 2**32

    def held(self) -> int:
        """How much of the receive buffer is in use; 0 if the kernel does not say."""
        memory = self._memory()
        return 0 if memory is None else memory[0]

    def _memory(self) -> tuple[int, ...] | None:
        try:
            return _MEMINFO.unpack(self._socket.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO.size))
        except (OSError, struct.error):
            return None  # older than Linux 4.12

    def waits_for(self, deadline: float | None) -> tuple[Sequence[int], float | None]:
        """What is readable when waiting may be over, and how many seconds are left to wait; Timeout if none."""
        seconds = None
        if deadline is not None:
            seconds = deadline - self.clock()
            if seconds <= 0:
                raise Timeout
            # Who calls asks again; poll(2) does not take more than some 24 days.
            seconds = min(seconds, 86400.0)
        if self._fd < 0:
            raise Closed
        try:
            return (self._fd, self.wake.fileno()), seconds
        except OSError as error:
            raise failure(error) from error

    def wait(self, deadline: float | None) -> None:
        """Wait until there is something to receive; Timeout, or Closed."""
        descriptors, seconds = self.waits_for(deadline)
        try:
            if hasattr(select, "poll"):
                # A new one each time: several threads may wait, and one poll object serves one at a time.
                poll = select.poll()
                for descriptor in descriptors:
                    poll.register(descriptor, select.POLLIN)
                poll.poll(None if seconds is None else seconds * 1000)
            else:
                # eventlet takes poll away, and leaves a select that lets its other threads run.
                select.select(descriptors, [], [], seconds)
        except OSError as error:
            raise failure(error) from error
        if self.wake.closed:
            raise Closed
