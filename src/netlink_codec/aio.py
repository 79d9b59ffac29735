"""The asyncio connection: the same conversation, in which tasks wait instead of threads."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Generic, Literal, Self, TypeVar

from . import batch as _batch
from ._core import Message
from .aiopool import AsyncPool
from .conn import Connection
from .errors import DumpInterrupted, NetlinkError, Overrun, Timeout
from .events import Listener
from .exchange import Reply
from .raw import Incoming, Shared
from .replies import Answer
from .requests import Dump, Lost, Request, Watch

T = TypeVar("T")
E_co = TypeVar("E_co", covariant=True)


class Closes:
    """`async with`, for what has a `close` that waits for nothing."""

    __slots__ = ()

    def close(self) -> None:
        raise NotImplementedError

    async def aclose(self) -> None:
        """As `close`."""
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


class AsyncReplies(Answer, Closes):
    """The messages that answer one request, received as they are asked for: `async for`.

    Leave it whenever you like: `break`, cancellation, `close()` and losing the last
    reference cost nothing and wait for nothing. One task at a time.

    After an Overrun it goes on as long as something is there; what the request did,
    if its outcome was among what was lost, is unknown.
    """

    __slots__ = ("_offload", "_receiving", "_unsent")

    _pool: AsyncPool
    __iter__ = None  # type: ignore[assignment]

    def __init__(
        self, pool: AsyncPool, message: Message, request: Request[Any] | None, deadline: float | None, offload: bool
    ) -> None:
        self._offload = self._unsent = offload
        self._receiving = False
        super().__init__(pool, message, request, deadline, send=not offload)

    def __aiter__(self) -> Self:
        return self

    # A coroutine that has nothing to wait for is cheaper than any other awaitable that Python code can make.
    async def __anext__(self) -> Message:
        while (message := self.take()) is None:
            if not await self._more():
                raise StopAsyncIteration
        return message

    async def _more(self) -> bool:
        """Let `take()` have more; False at the end."""
        if self._receiving:
            raise RuntimeError("another task receives this answer")
        if self.done and not self._unsent:
            self.close()
            return False
        pool = self._pool
        self._receiving = True
        try:
            thread = self._socket if self._offload else None
            if self._unsent:
                self._unsent = False
                await pool.step(self._send, thread)
            # None: it was closed meanwhile.
            elif not await pool.step(self._fill, thread) and self._socket is not None:
                await pool.wait(self._socket, self._deadline)
        except BaseException as error:
            self.failed(error)
            raise
        finally:
            self._receiving = False
        return True

    def more(self) -> None:
        raise TypeError("an asynchronous answer is iterated over with `async for`")

    def _send(self) -> None:
        if self._socket is not None:
            self._socket.send(self.sent)

    def _fill(self) -> bool:
        socket = self._socket
        return socket is None or self.fill(socket)


class AsyncResults(Closes, AsyncIterator[T], Generic[T]):
    """The results of a dump, decoded as they are asked for; leave it whenever you like, as `AsyncReplies`."""

    def __init__(self, replies: AsyncReplies, request: Request[T]) -> None:
        self._replies = replies
        self._decode = request.decode

    async def __anext__(self) -> T:
        replies, decode = self._replies, self._decode
        while True:
            while (message := replies.take()) is None:
                if not await replies._more():
                    raise StopAsyncIteration
            result = message if decode is None else decode(message)
            if result is not None:
                return result  # type: ignore[return-value]

    def close(self) -> None:
        """End the dump here. Again is harmless."""
        self._replies.close()


class AsyncEvents(Listener[E_co], Closes, AsyncIterator[E_co | Lost]):
    """What happens, from the moment this was made, in the kernel's order.

    What nobody has asked for yet waits in the kernel, whose receive buffer is the
    only queue: when it is full, events are dropped, and `Lost` is yielded in their
    place, after all that is older; the iteration goes on. It ends with Closed when this or the connection is
    closed. Made before a fork, it raises Closed in the child. Tasks that share one
    each get some of the events.
    """

    _pool: AsyncPool

    async def __anext__(self) -> E_co | Lost:
        if self._queue:
            return self._queue.popleft()
        return await self._next(None)

    async def next(self, timeout: float | None = None) -> E_co | Lost | None:
        """The next event; None if none comes within so many seconds."""
        try:
            return await self._next(None if timeout is None else self._pool.clock() + timeout)
        except Timeout:
            return None

    async def _next(self, deadline: float | None) -> E_co | Lost:
        while not self._queue:
            if not await self._pool.step(self._fill):
                await self._pool.wait(self._open(), deadline)
        return self._queue.popleft()


class AsyncMessages(Incoming, Closes, AsyncIterator[Message]):
    """One reply on a connection's own socket, received as it is asked for.

    Leave it whenever you like: what is left of a series is passed over by the next.
    After an Overrun it goes on. One task at a time.
    """

    def __init__(
        self, pool: AsyncPool, own: Shared, reply: Reply, deadline: float | None, finish: Callable[[], None]
    ) -> None:
        self._pool = pool
        super().__init__(own, reply, deadline, finish)

    async def __anext__(self) -> Message:
        while (message := self.take()) is None:
            if self._finish is None:
                raise StopAsyncIteration
            try:
                with self._own as socket:
                    if not await self._pool.step(self.fill):
                        await self._pool.wait(socket, self._deadline)
            except Overrun:
                raise
            except BaseException:
                self.close()
                raise
        return message


class AsyncConn(Connection[AsyncPool], Closes):
    """A connection to one netlink protocol of the kernel, under asyncio: `AsyncConn(NETLINK_ROUTE)`.

    The surface is that of `Conn`: what may wait there is awaited here, or iterated over
    with `async for`; what cannot, `send`, `join_group` or `close`, is a plain call. The
    options are those of `Conn` too.

    Requests each have a socket to themselves: any number may be under way at once, in
    any tasks, and each may be left or cancelled at any time, which closes its socket and
    disturbs nothing else. What the kernel did of a request that was cancelled is
    unknown, as for one that timed out.

    What has arrived is read at once, and the loop gets its turn every 16 datagrams at
    the latest; no thread is started (but for a moment, to open a socket in another
    namespace). The kernel works on a request inside the call that sends it or receives
    from it, and the loop stands still meanwhile, for microseconds as a rule. Where it
    takes long, a batch of many changes or a huge dump, `offload=True` lets a thread of
    the loop's executor make these calls.

    It belongs to no loop: when the one where it was used has ended, another goes on.
    `close` may be called from any thread; the rest is for one loop at a time.
    """

    _pool_type = AsyncPool
    _turns: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None  # of who receives

    # Messages -----------------------------------------------------------------------------------------------------

    def execute_iter(self, message: Message, *, timeout: float | None = None, offload: bool = False) -> AsyncReplies:
        """Send a request and stream its answer, until the kernel says that it is complete.

        It is sent by this call, or, with `offload`, when the first message is asked for.
        See `Conn.execute_iter`.
        """
        return AsyncReplies(self._open(), message, None, self._deadline(timeout), offload)

    async def execute(self, message: Message, *, timeout: float | None = None, offload: bool = False) -> list[Message]:
        """As `execute_iter`, all at once."""
        return [message async for message in self.execute_iter(message, timeout=timeout, offload=offload)]

    # Requests -----------------------------------------------------------------------------------------------------

    async def do(self, request: Request[T], *, timeout: float | None = None, offload: bool = False) -> T:
        """Run a request and return its result."""
        result: Any = None
        decode = request.decode
        answered = False
        try:
            async for message in AsyncReplies(self._open(), request.message, request, self._deadline(timeout), offload):
                if decode is not None and not answered:
                    result = decode(message)
                    answered = True
        except NetlinkError as error:
            if error.errno not in request.tolerated:
                raise
        return result  # type: ignore[no-any-return]

    def dump(self, dump: Dump[T], *, timeout: float | None = None, offload: bool = False) -> AsyncResults[T]:
        """Run a dump and stream its results.

        Raises DumpInterrupted after the last, if what was dumped changed meanwhile.
        """
        return self._dump(dump, self._deadline(timeout), offload)

    def _dump(self, dump: Dump[T], deadline: float | None, offload: bool) -> AsyncResults[T]:
        return AsyncResults(AsyncReplies(self._open(), dump.message, dump, deadline, offload), dump)

    async def collect(
        self, dump: Dump[T], *, retries: int = 10, timeout: float | None = None, offload: bool = False
    ) -> list[T]:
        """Run a dump and list its results; run it again, up to so many times, if it was interrupted.

        DumpInterrupted if the last was too; its `results` are what that brought.
        """
        deadline = self._deadline(timeout)
        while True:
            results: list[T] = []
            try:
                async for result in self._dump(dump, deadline, offload):
                    results.append(result)
                return results
            except DumpInterrupted as interrupted:
                if not retries:
                    interrupted.results = results
                    raise
                retries -= 1

    async def batch(
        self,
        requests: Iterable[Request[Any]],
        *,
        errors: Literal["raise", "return"] = "raise",
        acknowledge: _batch.Acknowledge = "each",
        timeout: float | None = None,
        offload: bool = False,
    ) -> list[Any]:
        """Run many requests, a hundred a system call; returns their results in order.

        All are run, whatever fails. See `Conn.batch`.
        """
        requests = list(requests)
        results: list[Any] = [None] * len(requests)
        deadline = self._deadline(timeout)
        pool = self._open()
        for positions in _batch.parts(requests):
            with _batch.Part(pool, requests, positions, acknowledge, results) as part:
                await pool.step(part.send, part.socket if offload else None)
                while not part.done:
                    if not await pool.step(part.fill):
                        await pool.wait(part.socket, deadline)
        return _batch.conclude(requests, results, errors)

    def watch(self, watch: Watch[T]) -> AsyncEvents[T]:
        """Listen, from now on."""
        return AsyncEvents(self._open(), watch)

    # The raw calls ------------------------------------------------------------------------------------------------

    def receive_iter(self, *, timeout: float | None = None) -> AsyncMessages:
        """Receive what comes next: a datagram's messages, or a multipart series up to its end.

        See `Conn.receive_iter`.
        """
        return self._messages(self._deadline(timeout))

    async def receive(self, *, timeout: float | None = None) -> list[Message]:
        """As `receive_iter`, all at once. Of tasks that call this together, each gets a reply of its own, whole."""
        deadline = self._deadline(timeout)
        turn = self._turn()
        try:
            async with asyncio.timeout(None if deadline is None else deadline - self._open().clock()):
                await turn.acquire()
        except TimeoutError:
            raise Timeout from None
        try:
            return [message async for message in self._messages(deadline)]
        finally:
            turn.release()

    def _messages(self, deadline: float | None) -> AsyncMessages:
        pool = self._open()
        return self._receive_with(lambda *arguments: AsyncMessages(pool, *arguments), deadline)

    def _turn(self) -> asyncio.Lock:
        loop = asyncio.get_running_loop()
        if self._turns is None or self._turns[0] is not loop:
            self._turns = loop, asyncio.Lock()
        return self._turns[1]
