"""A socket to which the kernel hands packets: what queues and logs have in common."""

import struct
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from . import log
from ._core import Message
from ._socket import Socket, Wake
from .acks import Acknowledgement, error_of
from .connection import held, trace_for
from .constants import NETLINK_NETFILTER, NLMSG_HDRLEN
from .errors import Closed, NetlinkError, Overrun, Timeout
from .pool import Pool
from .requests import Lost, Request

if TYPE_CHECKING:
    from .netns import NetNS

P = TypeVar("P", bound=Pool)
T = TypeVar("T")

_PATIENCE = 10.0  # seconds, for an answer that the kernel gives at once


class Source(Generic[P, T]):
    """What the blocking one and its asyncio twin have in common: all that does not wait."""

    _socket: Socket | None = None
    _bound = False
    _pool: P
    _pool_type: type[P]
    _name: str
    """What it is called in errors: "queue 7"."""

    def __init__(
        self,
        binding: Message,
        *,
        rcvbuf: int | None,
        notice: Callable[[Any], object] | None,
        netns: "NetNS | str | None",
        debug: bool | None,
    ) -> None:
        self._binding = binding
        self._notice = notice
        self.lost = 0
        """How many datagrams did not fit into the receive buffer."""
        self._packets: deque[T] = deque()
        self._trace = trace_for(NETLINK_NETFILTER, debug)
        self._pool = self._pool_type(NETLINK_NETFILTER, netns=held(netns), trace=self._trace)
        try:
            self._socket = self._pool.open(wake=Wake(self._pool.wake))
            if rcvbuf is not None:
                self._socket.set_receive_buffer(rcvbuf)
            self._bind(self._socket)
        except BaseException:
            self.close()
            raise

    def _bind(self, socket: Socket) -> None:
        socket.send(self._binding)
        deadline = self._pool.clock() + _PATIENCE
        while not self._bound:
            if not self._fill():
                socket.wait(deadline)

    def ready(self) -> list[T]:
        """The packets that are there, which may be none; never waits."""
        while self._fill():
            pass
        return self._taken()

    def _taken(self) -> list[T]:
        take = self._packets.popleft
        packets: list[T] = []
        with suppress(IndexError):  # another thread may take some
            for _ in range(len(self._packets)):
                packets.append(take())
        return packets

    def fileno(self) -> int:
        """Readable when there are packets."""
        return self._open().fileno()

    def _open(self) -> Socket:
        if self._socket is None:
            raise Closed
        return self._socket

    def _fill(self) -> bool:
        """Take in what comes next; False if nothing has come yet."""
        socket = self._open()
        # Threads may share this: one reads at a time, so that the order is the kernel's.
        with socket.lock:
            if socket.wake.closed:
                raise Closed
            try:
                return self._receive(socket)
            except Overrun as overrun:
                self._pool.stats.overruns += 1
                self.lost += overrun.lost or 0
                lost = Lost(overrun.lost)
        self._tell(lost, f"{self._name}: the receive buffer was full, {lost.count} packets are lost")
        return True

    def _receive(self, socket: Socket) -> bool:
        raise NotImplementedError

    def _answered(self, message: Message) -> None:
        """An NLMSG_ERROR. The kernel tells of binding, and of what it refuses, and acknowledges nothing else."""
        ack = Acknowledgement(message)
        # Of the request, its nlmsghdr at least is there.
        (kind,) = struct.unpack_from("=H", message, NLMSG_HDRLEN + 8)
        if kind != self._binding.type:
            self._failed(message, ack)
            return
        self._bound = not ack.errno
        if not self._bound:
            error = error_of(ack, request=Request(self._binding, doing=f"bind {self._name}"))
            if error.hint is not None:
                error.hint += f"; or another socket has this {self._name.partition(' ')[0]}"
            raise error

    def _failed(self, message: Message, ack: Acknowledgement) -> None:
        """Of something that is not acknowledged."""

    def _tell(self, what: "Lost | NetlinkError", text: str) -> None:
        if self._notice is not None:
            self._notice(what)
        else:
            log.warning("%s", text)

    def close(self) -> None:
        """End it; loops over it end, in all threads. Again is harmless."""
        socket, self._socket = self._socket, None
        if socket is not None:
            socket.wake.close()
            self._pool.drop(socket)
        if hasattr(self, "_pool"):
            self._pool.close()

    def __repr__(self) -> str:
        name, _, number = self._name.partition(" ")
        return f"<{name.capitalize()} {number}{' closed' if self._socket is None else ''}>"


class Blocking(Source[Pool, T], Iterator[T]):
    """Iterated over; waits."""

    _pool_type = Pool

    def __next__(self) -> T:
        try:
            return self._next(None)
        except Closed:
            raise StopIteration from None

    def next(self, timeout: float | None = None) -> T | None:
        """The next packet; None if none comes within so many seconds. Closed at the end."""
        if self._packets:
            timeout = None  # without a look at the clock
        try:
            return self._next(None if timeout is None else self._pool.clock() + timeout)
        except Timeout:
            return None

    def batch(self, timeout: float | None = None) -> list[T]:
        """The packets that come next, up to 32 together; none if none comes within so many seconds."""
        deadline = None if timeout is None else self._pool.clock() + timeout
        while not self._packets:
            if not self._fill():
                try:
                    self._open().wait(deadline)
                except Timeout:
                    break
        return self._taken()

    def _next(self, deadline: float | None) -> T:
        while True:
            try:
                return self._packets.popleft()
            except IndexError:
                pass
            if not self._fill():
                self._open().wait(deadline)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
