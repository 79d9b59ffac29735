"""Notifications, as they arrive on a blocking socket of their own."""

import math
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from ._core import Message, iter_messages
from ._socket import Datagram, Socket, Wake
from .changes import Again
from .constants import NETLINK_ADD_MEMBERSHIP
from .errors import Closed, Overrun, Timeout
from .lookups import Filling
from .pool import Pool
from .requests import Lost, Watch

if TYPE_CHECKING:
    from .resync import Resync

E_co = TypeVar("E_co", covariant=True)

# While the state is told, so many datagrams are read ahead at once, and in all.
_BURST = 16
_MOST_AHEAD = 16_384
# The state is told again, where that is due, when nothing more has arrived, or after so many datagrams.
_MOST_BEFORE = 1024
# A thread looks again so often, in seconds, whether another has received what it waits for.
_HEARTBEAT = 1.0


def listen(pool: Pool, watch: Watch[object]) -> Socket:
    """A socket that hears the groups of the watch."""
    socket = pool.open(listens=True, wake=Wake(pool.wake))
    try:
        if watch.receive_buffer is not None:
            socket.set_receive_buffer(watch.receive_buffer)
        for group in watch.groups:
            socket.set_option(NETLINK_ADD_MEMBERSHIP, group)
    except BaseException:
        pool.drop(socket)
        raise
    return socket


class Listener(Generic[E_co]):
    """A socket that hears what is watched, and the events that it brought. How to wait is a subclass's."""

    _socket: Socket | None = None
    _sync: "Resync | None" = None

    def __init__(self, pool: Pool, watch: Watch[E_co]) -> None:
        self._pool = pool
        self._watch = watch
        self._decoder = watch.decoder()
        self._queue: deque[E_co | Lost] = deque()
        self._arrived: deque[Datagram | Lost] = deque()  # in the kernel's order, and not decoded yet
        self._messages: Iterator[Message] | None = None  # of the last datagram, those that are not decoded yet
        self._group = 0
        self._lost: int | None = None
        self._held: int | None = None  # of what came before a loss; None if there is none to be told
        self._again = 0  # the state is due after so many datagrams, if more come; 0 if it is not due
        self._socket = listen(pool, watch)
        if watch.resync:
            from .resync import Resync  # which most watches do without

            self._sync = Resync(pool, watch)

    def ready(self) -> list[E_co | Lost]:
        """All that is there, which may be nothing; never waits."""
        while self._fill() or self._go_on():
            pass
        events: list[E_co | Lost] = []
        with suppress(IndexError):
            while True:
                events.append(self._queue.popleft())
        return events

    def fileno(self) -> int:
        """Readable whenever `ready()` would return something that it has not returned before.

        But for what a watch begins with (`initial`), which comes when it is asked for.
        """
        return self._open().fileno()

    def _go_on(self) -> bool:
        """Do what need not wait before more can be taken in; False if that is nothing."""
        return False

    def _fill(self) -> bool:
        """Take in what comes next; False if nothing has come yet."""
        socket = self._open()
        # Threads may share this: one reads at a time, so that the order is the kernel's.
        with socket.lock:
            return self._fill_from(socket)

    def _fill_from(self, socket: Socket) -> bool:
        if self._messages is not None:
            self._decode(self._messages, self._group)
        sync = self._sync
        if sync is not None and sync.under_way:
            if socket.wake.closed:
                raise Closed
            # What comes meanwhile must not be dropped, or it would never end.
            self._read_ahead(socket, sync)
            if sync.under_way:
                return sync.step(self._queue)
        if self._again == 1 or not (self._arrived or self._receive(socket)):
            return self._begin_again()
        if self._arrived:
            self._again -= self._again > 0
            self._tell(self._arrived.popleft())
        return True

    def _begin_again(self) -> bool:
        """Tell the state again, if it is due."""
        due, self._again = self._again, 0
        if due and self._sync is not None:
            self._sync.begin(0)
        return due > 0

    def _read_ahead(self, socket: Socket, sync: "Resync") -> None:
        for _ in range(_BURST):
            if len(self._arrived) >= _MOST_AHEAD or not self._receive(socket):
                return
            if self._held is not None or (self._arrived and isinstance(self._arrived[-1], Lost)):
                sync.cancel()  # its dumps are older than what was lost
                return

    def _tell(self, arrived: Datagram | Lost) -> None:
        if isinstance(arrived, Lost):
            self._queue.append(arrived)
            if self._sync is not None:
                self._again = 0
                self._sync.begin(arrived.count)
        else:
            self._decode(iter_messages(arrived.data), arrived.group)

    def _receive(self, socket: Socket) -> bool:
        """Take in the next datagram; False if there is none yet."""
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
                self._arrived.append(datagram)
        elif self._held is None:
            return False
        if self._held is not None:
            # The kernel reports an overrun before what it holds from the time before, and drops
            # everything until that has been read: only then is it known what was lost, and where.
            before, self._held = self._held, socket.held()
            if not 0 < self._held < before or datagram is None:
                self._tell_loss()
        return True

    def _decode(self, messages: Iterator[Message], group: int) -> None:
        """Make events of what was received; where the decoder raises, the rest is for the next call."""
        self._messages = None
        known = None if self._sync is None else self._sync.known
        for message in messages:
            try:
                event: Any = self._decoder(message, group)
                if isinstance(event, Again):
                    event, self._again = event.event, self._again or _MOST_BEFORE
                if known is not None and event is not None:
                    event = known.tell(event)
            except BaseException:
                self._messages, self._group = messages, group
                raise
            if event is not None:
                self._queue.append(event)

    def _tell_loss(self) -> None:
        if self._held is not None:
            self._held = None
            more = self._open().drops()
            self._arrived.append(Lost(None if self._lost is None or more is None else self._lost + more))

    def _open(self) -> Socket:
        if self._socket is None:
            raise Closed
        return self._socket

    def close(self) -> None:
        """Stop listening. Again is harmless."""
        socket, self._socket = self._socket, None
        if socket is not None:
            socket.wake.close()
            # Who is at work on it notices that by itself.
            if self._sync is not None and socket.lock.acquire(blocking=False):
                try:
                    self._sync.cancel()
                finally:
                    socket.lock.release()
            self._pool.drop(socket)

    def _waits_for(self, deadline: float | None) -> Filling | Socket | None:
        """What must happen before it can go on: something to look up, or to receive, or nothing at all."""
        socket, sync = self._open(), self._sync
        if sync is None or not sync.under_way:
            return socket
        if sync.unfilled is None and sync.socket is None and deadline is not None and self._pool.clock() >= deadline:
            raise Timeout
        return sync.socket if sync.unfilled is None else sync.unfilled

    def _found_out(self, filling: Filling) -> None:
        """Its late values are known now."""
        with self._open().lock:
            if self._sync is not None:
                self._sync.fill(filling)

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

    What a watch with `resync` begins with, or tells after a loss, is asked for when it is
    due, by who asks for an event; what happens meanwhile is read ahead. If that fails, the
    error is raised, and it begins again with the next call.
    """

    def __init__(
        self, pool: Pool, watch: Watch[E_co], look_up: Callable[[Filling, float | None], None] | None = None
    ) -> None:
        self._look_up = look_up
        super().__init__(pool, watch)

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
                self._wait(deadline)

    def _wait(self, deadline: float | None) -> None:
        what = self._waits_for(deadline)
        if isinstance(what, Filling):
            self._find_out(what, math.inf if deadline is None else deadline)
        elif what is not None and what is self._socket:
            what.wait(deadline)
        elif what is not None:
            self._wait_for_dump(what, deadline)

    def _wait_for_dump(self, socket: Socket, deadline: float | None) -> None:
        """As `socket.wait`; but another thread may come to the end of the dump, and then nothing comes here."""
        soon = self._pool.clock() + _HEARTBEAT
        try:
            socket.wait(soon if deadline is None else min(soon, deadline))
        except Timeout:
            if deadline is not None and deadline <= soon:
                raise
        except Closed:
            pass  # the dump's: if it is this watch's too, the next call tells

    def _go_on(self) -> bool:
        what = self._waits_for(None)
        if not isinstance(what, Filling):
            return False
        try:
            self._find_out(what, self._pool.clock())
        except Timeout:
            return False
        return True

    def _find_out(self, filling: Filling, deadline: float) -> None:
        if self._look_up is not None:
            self._look_up(filling, deadline)
        self._found_out(filling)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
