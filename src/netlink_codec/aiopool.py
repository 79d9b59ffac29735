"""The sockets of an asyncio connection, and how tasks wait for them."""

import asyncio
import select
import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from ._socket import Socket
from .errors import Closed
from .pool import Pool

T = TypeVar("T")

# So many datagrams are read at most before other tasks get their turn.
_BURST = 16


class AsyncPool(Pool):
    """A pool whose sockets tasks wait for, each in the loop that it runs in: the pool belongs to none.

    Who waits for a socket that is given back or dropped is woken. A socket that a thread
    works on is dropped when that has ended.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._burst = _BURST
        # Weak: a loop may end under its tasks, and these are garbage then.
        self._waiting: dict[Socket, weakref.WeakSet[asyncio.Future[None]]] = {}
        # Reentrant: a garbage collection inside may drop a socket.
        self._guard = threading.RLock()
        self._lent: dict[Socket, int] = {}  # to how many threads
        self._unwanted: set[Socket] = set()  # of those, what is dropped when they have ended

    async def step(self, call: Callable[[], T], thread: Socket | None = None) -> T:
        """`call()`, which reads a datagram or two; with `thread`, in a thread that works on that socket."""
        if self._burst <= 0:
            self._burst = _BURST
            await asyncio.sleep(0)
        self._burst -= 2
        return call() if thread is None else await self._in_thread(call, thread)

    def has_worked(self) -> None:
        """Other tasks get their turn at the next step."""
        self._burst = 0

    async def wait(self, socket: Socket, deadline: float | None) -> None:
        """Wait until there may be something to receive; Timeout once the deadline (of `clock`) has passed."""
        descriptors, seconds = socket.waits_for(deadline)
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = loop.create_future()
        timer = None if seconds is None else loop.call_later(seconds, _wake, woken)
        others = self._waiting.setdefault(socket, weakref.WeakSet())
        others.add(woken)
        try:
            # A loop has one reader for a descriptor, but several tasks may wait for a socket, and all for the end. And
            # uvloop forgets, without a word, a descriptor that once reported an error, as a socket does an overrun.
            with select.epoll(len(descriptors)) as readable:
                for descriptor in descriptors:
                    readable.register(descriptor, select.EPOLLIN)
                loop.add_reader(readable.fileno(), _wake, woken)
                try:
                    await woken
                finally:
                    loop.remove_reader(readable.fileno())
        finally:
            if timer is not None:
                timer.cancel()
            others.discard(woken)
            if not others:
                self._waiting.pop(socket, None)
        self._burst = _BURST

    def give(self, taken: Socket) -> None:
        if taken in self._lent:
            self.drop(taken)
            return
        self._wake_all(taken)
        super().give(taken)

    def drop(self, taken: Socket) -> None:
        with self._guard:
            if taken in self._lent:
                self._unwanted.add(taken)
                return
        self._wake_all(taken)
        super().drop(taken)

    def forked(self) -> None:
        self._guard = threading.RLock()
        self._lent.clear()
        self._unwanted.clear()
        self._waiting.clear()
        super().forked()

    def _wake_all(self, socket: Socket) -> None:
        for woken in list(self._waiting.get(socket, ())):
            if not woken.get_loop().is_closed():
                _wake(woken)

    # Threads ------------------------------------------------------------------------------------------------------

    async def _in_thread(self, call: Callable[[], T], socket: Socket) -> T:
        with self._guard:
            self._lent[socket] = self._lent.get(socket, 0) + 1
        try:
            job = asyncio.get_running_loop().run_in_executor(None, self._job, call, socket)
        except BaseException:
            self._returned(socket)
            raise
        # Whoever is cancelled leaves socket and thread to each other.
        result, error = await asyncio.shield(job)
        if error is not None:
            raise error
        return result  # type: ignore[return-value]

    def _job(self, call: Callable[[], T], socket: Socket) -> tuple[T | None, BaseException | None]:
        try:
            if socket in self._unwanted:
                return None, Closed()
            return call(), None
        except BaseException as error:
            return None, error
        finally:
            self._returned(socket)

    def _returned(self, socket: Socket) -> None:
        with self._guard:
            self._lent[socket] -= 1
            if self._lent[socket]:
                return
            del self._lent[socket]
            if socket not in self._unwanted:
                return
            self._unwanted.discard(socket)
        super().drop(socket)


def _wake(waiting: "asyncio.Future[None]") -> None:
    if not waiting.done():
        waiting.set_result(None)
