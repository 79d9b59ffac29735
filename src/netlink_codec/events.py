"""Notifications, as they arrive on a blocking socket of their own."""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Generic, Self, TypeVar

from ._core import Message, iter_messages
from ._socket import Socket, Wake
from .constants import NETLINK_ADD_MEMBERSHIP
from .errors import Closed, Overrun, Timeout
from .pool import Pool
from .requests import Lost, Watch

E_co = TypeVar("E_co", covariant=True)


def listen(pool: Pool, watch: Watch[object]) -> Socket:
    """A socket that hears the groups of the watch."""
    socket = pool.open(listens=True, wake=Wake(pool.wake))
    try:
        for group in watch.groups:
            socket.set_option(NETLINK_ADD_MEMBERSHIP, group)
    except BaseException:
        pool.drop(socket)
        raise
    return socket


class Listener(Generic[E_co]):
    """A socket that hears what is watched, and the events that it brought. How to wait is a subclass's."""

    _socket: Socket | None = None

    def __init__(self, pool: Pool, watch: Watch[E_co]) -> None:
        self._pool = pool
        self._watch = watch
        self._queue: deque[E_co | Lost] = deque()
        self._messages: Iterator[Message] = iter(())  # of the last datagram, those that are not decoded yet
        self._group = 0
        self._lost: int | None = None
        self._held: int | None = None  # of what came before a loss; None if there is none to be told
        self._socket = listen(pool, watch)

    def ready(self) -> list[E_co | Lost]:
        """All that is there, which may be nothing; never waits."""
        while self._fill():
            pass
        events: list[E_co | Lost] = []
        with suppress(IndexError):
            while True:
                events.append(self._queue.popleft())
        return events

    def fileno(self) -> int:
        """Readable whenever `ready()` would return something that it has not returned before."""
        return self._open().fileno()

    def _fill(self) -> bool:
        """Take in the next datagram; False if there is none yet."""
        socket = self._open()
        # Threads may share this: one reads at a time, so that the order is the kernel's.
        with socket.lock:
            return self._fill_from(socket)

    def _fill_from(self, socket: Socket) -> bool:
        self._decode()
        try:
            datagram = socket.receive_datagram()
        except Overrun as overrun:
            self._pool.stats.overruns += 1
            self._tell_loss()
            self._lost = overrun.lost
            self._held = socket.held()
            if not self._held:
                self._tell_loss()
            return True
        if datagram is not None:
            if datagram.sender:
                self._pool.stats.foreign += 1
            else:
                self._messages, self._group = iter_messages(datagram.data), datagram.group
                self._decode()
        elif self._held is None:
            return False
        if self._held is not None:
            # The kernel reports an overrun before what it holds from the time before, and drops
            # everything until that has been read: only then is it known what was lost, and where.
            before, self._held = self._held, socket.held()
            if not 0 < self._held < before or datagram is None:
                self._tell_loss()
        return True

    def _decode(self) -> None:
        """Make events of what was received; where the decoder raises, the rest is for the next call."""
        messages, self._messages = self._messages, iter(())
        for message in messages:
            try:
                event = self._watch.decode(message, self._group)
            except BaseException:
                self._messages = messages
                raise
            if event is not None:
                self._queue.append(event)

    def _tell_loss(self) -> None:
        if self._held is not None:
            self._held = None
            more = self._open().drops()
            self._queue.append(Lost(None if self._lost is None or more is None else self._lost + more))

    def _open(self) -> Socket:
        if self._socket is None:
            raise Closed
        return self._socket

    def close(self) -> None:
        """Stop listening. Again is harmless."""
        socket, self._socket = self._socket, None
        if socket is not None:
            socket.wake.close()
            self._pool.drop(socket)

    # Bound here: when the interpreter ends, modules may be gone before what they made.
    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if not finalizing():
            self.close()


class Events(Listener[E_co], Iterator[E_co | Lost]):
    """What happens, from the moment this was made, in the kernel's order.

    Iterating waits for ever. A loss does not end it: `Lost` is yielded where events
    were dropped because they came faster than they were read, after all that is older
    and before all that is newer. Ends with Closed when
    the connection is closed. Made before a fork, it raises Closed in the child.
    """

    def __next__(self) -> E_co | Lost:
        return self._next(None)

    def next(self, timeout: float | None = None) -> E_co | Lost | None:
        """The next event; None if none comes within so many seconds."""
        try:
            return self._next(None if timeout is None else self._pool.clock() + timeout)
        except Timeout:
            return None

    def _next(self, deadline: float | None) -> E_co | Lost:
        while True:
            if self._queue:
                with suppress(IndexError):  # another thread took it
                    return self._queue.popleft()
            elif not self._fill():
                self._open().wait(deadline)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
