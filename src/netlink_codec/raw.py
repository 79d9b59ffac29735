"""A connection's own socket, for those who speak the protocol themselves."""

import threading
from collections.abc import Callable, Iterator
from typing import Self, TypeVar

from ._core import Message
from ._socket import Socket
from ._sys import Turn
from .constants import NETLINK_USERSOCK
from .errors import Closed, Overrun
from .exchange import Reply
from .pool import Pool

T = TypeVar("T")


class Shared:
    """A socket that any thread may use at any time; who closes it closes it when the last has left."""

    def __init__(self, pool: Pool, *, port: int = 0) -> None:
        self._pool = pool
        self._socket = pool.open(listens=True, port=port)
        self.port = self._socket.port
        # Reentrant: a signal handler may close what it interrupts.
        self._lock = threading.RLock()
        self._reading = threading.RLock()
        self._users = 0
        self._closed = False

    def __enter__(self) -> Socket:
        """Use the socket, which stays open until `__exit__`."""
        with self._lock:
            if self._closed:
                raise Closed
            self._users += 1
        return self._socket

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            last = self._closed and not self._users
        if last:
            self._pool.drop(self._socket)

    def use(self, call: Callable[[Socket], T]) -> T:
        """`call(socket)`, during which it stays open."""
        with self as socket:
            return call(socket)

    def close(self) -> None:
        """Close it now, or when the last call has ended; `pool.close()` ends those that wait."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            last = not self._users
        if last:
            self._pool.drop(self._socket)

    def forked(self) -> None:
        """In the child of a fork: locks that other threads held are held for ever."""
        self._lock = threading.RLock()
        self._reading = threading.RLock()

    def fileno(self) -> int:
        return self._socket.fileno()

    def sequence(self) -> int:
        """A sequence number that no other message of this socket has."""
        with self._lock:
            return self._socket.sequence()

    def reading(self, deadline: float | None) -> Turn:
        """One at a time, for who reads several datagrams that belong together."""
        return Turn(self._reading, None if deadline is None else deadline - self._pool.clock())

    def receive_now(self) -> bytes | None:
        """The next datagram from the kernel, or from anybody where users talk to each other; None if there is none."""
        while True:
            try:
                datagram = self._socket.receive_datagram()
            except Overrun:
                self._pool.stats.overruns += 1
                raise
            if datagram is None:
                return None
            if not datagram.sender or self._pool.protocol == NETLINK_USERSOCK:
                return datagram.data
            self._pool.stats.foreign += 1


class Incoming:
    """One reply on a connection's own socket. How to wait is a subclass's."""

    _finish: Callable[[], None] | None = None

    def __init__(self, own: Shared, reply: Reply, deadline: float | None, finish: Callable[[], None]) -> None:
        self._own = own
        self._reply = reply
        self._deadline = deadline
        self._finish = finish
        self._datagram: Iterator[Message] = iter(())

    def take(self) -> Message | None:
        """The next message that has arrived; None if there is none, or the reply is over."""
        try:
            for message in self._datagram:
                return message
        except BaseException:
            self.close()
            raise
        if self._reply.done:
            self.close()
        return None

    def fill(self) -> bool:
        """Take in what has arrived; False if nothing has."""
        data = self._own.receive_now()
        if data is None:
            return False
        self._datagram = self._reply.feed(data)
        return True

    def close(self) -> None:
        """End the reply here. Again is harmless."""
        finish, self._finish = self._finish, None
        if finish is not None:
            self._datagram = iter(())
            finish()

    def __del__(self) -> None:
        self.close()


class Messages(Incoming, Iterator[Message]):
    """One reply on a connection's own socket, received as it is asked for.

    Leave it whenever you like: what is left of a series is passed over by the next.
    After an Overrun it goes on. One thread at a time.
    """

    def __next__(self) -> Message:
        while (message := self.take()) is None:
            if self._finish is None:
                raise StopIteration
            try:
                with self._own as socket:
                    if not self.fill():
                        socket.wait(self._deadline)
            except Overrun:
                raise
            except BaseException:
                self.close()
                raise
        return message

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
