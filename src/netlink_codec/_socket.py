"""One netlink socket: opened with the options that make it honest, read whole, closed once."""

import errno
import os
import select
import socket
import threading
import time

from .constants import NETLINK_CAP_ACK, NETLINK_EXT_ACK, NETLINK_GET_STRICT_CHK, SOL_NETLINK
from .errors import Closed, NetlinkError, Overrun, Timeout

# The longest message seen from a kernel is 66 KiB (a link with hundreds of names);
# dumps come in datagrams of at most 32 KiB, if the buffer offers as much.
BUFFER_SIZE = 128 * 1024

# What is receiving takes a buffer from here and puts it back: zeroing a new one costs more than most reads.
_buffers: list[bytearray] = []


class Socket:
    """An open, non-blocking AF_NETLINK socket, bound and connected to the kernel.

    Connected, so that the kernel refuses what other processes send to it.
    Any thread may use it; `close()` wakes those that wait, and the descriptor is
    given back when the last has left.
    """

    def __init__(self, protocol: int, *, strict: bool) -> None:
        try:
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, protocol)
        except OSError as error:
            raise NetlinkError(error.errno or errno.EIO) from error
        try:
            for option in (NETLINK_CAP_ACK, NETLINK_EXT_ACK, *([NETLINK_GET_STRICT_CHK] if strict else [])):
                self._set(option)
            self._socket.bind((0, 0))
            self._socket.connect((0, 0))
            self.port: int = self._socket.getsockname()[0]
            self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        except OSError as error:
            self._socket.close()
            raise NetlinkError(error.errno or errno.EIO) from error
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)
        self._lock = threading.Lock()
        self._users = 0
        self._closed = False

    def _set(self, option: int) -> None:
        try:
            self._socket.setsockopt(SOL_NETLINK, option, 1)
        except OSError as error:
            # Older than the option (CAP_ACK 4.3, EXT_ACK 4.12, GET_STRICT_CHK 4.20): do without.
            if error.errno != errno.ENOPROTOOPT:
                raise

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, data: bytes) -> None:
        """Send one datagram to the kernel, which works on it before this returns."""
        self._enter()
        try:
            self._socket.send(data)
        except OSError as error:
            raise NetlinkError(error.errno or errno.EIO) from error
        finally:
            self._leave()

    def receive(self, deadline: float | None) -> bytes:
        """The next datagram. `deadline` (time.monotonic()) bounds the waiting; what is there already is read."""
        self._enter()
        try:
            buffer = _buffers.pop()
        except IndexError:
            buffer = bytearray(BUFFER_SIZE)
        try:
            size = self._read(buffer, deadline)
            if size > BUFFER_SIZE:
                raise NetlinkError(errno.EMSGSIZE, f"a datagram of {size} bytes was cut to {BUFFER_SIZE}")
            with memoryview(buffer) as view:
                return bytes(view[:size])
        finally:
            _buffers.append(buffer)
            self._leave()

    def _read(self, buffer: bytearray, deadline: float | None) -> int:
        while not self._closed:
            try:
                return self._socket.recv_into(buffer, 0, socket.MSG_DONTWAIT | socket.MSG_TRUNC)
            except BlockingIOError:
                pass
            except OSError as error:
                if error.errno == errno.ENOBUFS:
                    raise Overrun from error
                raise NetlinkError(error.errno or errno.EIO) from error
            wait = None if deadline is None else (deadline - time.monotonic()) * 1000
            if wait is not None and wait <= 0:
                raise Timeout
            self._poll.poll(wait)
        raise Closed

    def close(self) -> None:
        """Give the descriptor back, now or when the last call in another thread has ended."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            os.eventfd_write(self._wake, 1)
            last = not self._users
        if last:
            self._release()

    def _enter(self) -> None:
        with self._lock:
            if self._closed:
                raise Closed
            self._users += 1

    def _leave(self) -> None:
        with self._lock:
            self._users -= 1
            last = self._closed and not self._users
        if last:
            self._release()

    def _release(self) -> None:
        self._socket.close()
        os.close(self._wake)
