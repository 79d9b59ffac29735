"""The asyncio connection: the same conversation, in which tasks wait instead of threads."""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from . import batch as _batch
from ._core import Message
from ._socket import Socket
from .aiopool import AsyncPool
from .aioreplies import AsyncReplies, AsyncResults, AsyncUnfolded, Closes, LateResults
from .atonce import AtOnce
from .connection import Connection
from .errors import DumpInterrupted, NetlinkError, NotFound, Overrun, Timeout
from .events import Listener
from .exchange import Reply
from .lookups import Filling
from .procedures import Running, method
from .raw import Incoming, Shared
from .replies import Nothing
from .requests import Atomic, Dump, Folded, Lost, Procedure, Request, Unfolding, Watch, refused

if TYPE_CHECKING:
    from .resync import Resync

T = TypeVar("T")
E_co = TypeVar("E_co", covariant=True)


class AsyncEvents(Listener[E_co], Closes, AsyncIterator[E_co | Lost]):
    """What happens, from the moment this was made, in the kernel's order.

    What nobody has asked for yet waits in the kernel, whose receive buffer is the
    only queue: when it is full, events are dropped, and `Lost` is yielded in their
    place, after all that is older; the iteration goes on. It ends with Closed when this or the connection is
    closed. Made before a fork, it raises Closed in the child. Tasks that share one
    each get some of the events.

    What a watch with `resync` begins with, or tells after a loss, is asked for when it is
    due, by who asks for an event; what happens meanwhile is read ahead. If that fails, the
    error is raised, and it begins again with the next call. Where the dumps have late
    values, `ready` cannot ask, and returns what is there.
    """

    _pool: AsyncPool

    def __init__(
        self,
        pool: AsyncPool,
        watch: Watch[E_co],
        look_up: Callable[[Filling, float | None], Awaitable[None]] | None = None,
    ) -> None:
        self._look_up = look_up
        super().__init__(pool, watch)

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
                await self._wait(deadline)
        return self._queue.popleft()

    def _read_ahead(self, socket: Socket, sync: "Resync") -> None:
        super()._read_ahead(socket, sync)
        self._pool.has_worked()

    async def _wait(self, deadline: float | None) -> None:
        what = self._waits_for(deadline)
        if isinstance(what, Filling):
            if self._look_up is not None:
                await self._look_up(what, math.inf if deadline is None else deadline)
            self._found_out(what)
        elif what is not None:
            await self._pool.wait(what, deadline)


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
        try:
            plain = request.final and not request.many
        except AttributeError:
            raise refused(request) from None
        if not plain:
            return await self._do_in_steps(request, self._deadline(timeout), offload)
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

    async def _do_in_steps(self, request: Request[T], deadline: float | None, offload: bool) -> T:
        if request.many:
            raise refused(request)
        try:
            if isinstance(request, Atomic) and not request.late:
                return await self._do_at_once(request, (), deadline, offload)
            if isinstance(request, Procedure):
                return await self._run(request, deadline, offload)
            with await self._fill([request], deadline, offload) as filling:
                if isinstance(request, Atomic):
                    known = filling.values(request)
                    return await self._do_at_once(request, known, deadline, offload)
                filled = filling.filled(request)
                try:
                    return await self.do(filled, timeout=self._left_until(deadline), offload=offload)
                except NetlinkError as error:
                    error.request = request
                    raise
        except NetlinkError as error:
            if error.errno not in request.tolerated:
                raise
            return None  # type: ignore[return-value]

    async def _do_at_once(self, request: Atomic[T], known: Sequence[Any], deadline: float | None, offload: bool) -> T:
        pool, plan = self._open(), request.plan(*known)
        if not plan.messages:
            return plan.result()
        with AtOnce(pool, plan) as under_way:
            await pool.step(under_way.send, under_way.socket if offload else None)
            while not under_way.done:
                if not await pool.step(under_way.fill):
                    await pool.wait(under_way.socket, deadline)
        return under_way.result()

    async def _run(self, procedure: Procedure[T], deadline: float | None, offload: bool) -> T:
        with Running(procedure) as running:
            running.answered(None)
            while not running.over:
                try:
                    step: Any = running.step
                    call = getattr(self, method(step))
                    result = await call(step, timeout=self._left_for(running, deadline), offload=offload)
                except Exception as error:
                    running.failed(error)
                else:
                    running.answered(result)
        return running.result

    async def _fill(self, requests: Sequence[Request[Any]], deadline: float | None, offload: bool) -> Filling:
        filling = Filling(requests)
        if filling:
            try:
                await self._look_up(filling, deadline, offload)
            except NetlinkError as error:
                error.request = requests[0]
                raise
        return filling

    async def _look_up(self, filling: Filling, deadline: float | None, offload: bool = False) -> None:
        for protocol, values, requests in filling.lookups():
            conn, left = self._speaking(protocol), self._left_until(deadline)
            results: list[Any]
            if len(requests) > 1:
                results = await conn.batch(requests, errors="return", timeout=left, offload=offload)
            else:
                try:
                    results = [await conn.do(requests[0], timeout=left, offload=offload)]
                except NotFound as error:
                    results = [error]
            filling.learn(values, results)

    def dump(self, dump: Dump[T], *, timeout: float | None = None, offload: bool = False) -> AsyncResults[T]:
        """Run a dump and stream its results.

        Raises DumpInterrupted after the last, if what was dumped changed meanwhile.
        """
        deadline = self._deadline(timeout)
        if isinstance(dump, Folded):
            return AsyncUnfolded(lambda: self._unfold(dump, deadline, offload), dump)
        if dump.final:
            return self._dump(dump, deadline, offload)
        return LateResults(lambda: self._start(dump, deadline, offload), dump)

    def _dump(self, dump: Dump[T], deadline: float | None, offload: bool) -> AsyncResults[T]:
        return AsyncResults(AsyncReplies(self._open(), dump.message, dump, deadline, offload), dump)

    async def _unfold(
        self, dump: Folded[T], deadline: float | None, offload: bool
    ) -> tuple[AsyncResults[Iterable[T]], Unfolding[T]]:
        with await self._fill([dump], deadline, offload) as filling:
            try:
                opened, unfolding = dump.opened(filling.values(dump))
            except NetlinkError as error:
                if error.errno not in dump.tolerated:
                    raise
                nothing: Request[Iterable[T]] = Request(Message(0))
                return AsyncResults(Nothing(), nothing), Unfolding()
            return self._dump(opened, deadline, offload), unfolding

    async def _start(
        self, dump: Dump[T], deadline: float | None, offload: bool
    ) -> tuple[AsyncReplies | Nothing, Dump[T]]:
        with await self._fill([dump], deadline, offload) as filling:
            try:
                filled = filling.filled(dump)
            except NetlinkError as error:
                if error.errno not in dump.tolerated:
                    raise
                return Nothing(), dump
            replies = AsyncReplies(self._open(), filled.message, dump, deadline, offload)
            if offload:
                await replies._more()  # it is sent while namespaces are open
            return replies, filled

    async def collect(
        self, dump: Dump[T], *, retries: int = 10, timeout: float | None = None, offload: bool = False
    ) -> list[T]:
        """Run a dump and list its results; run it again, up to so many times, if it was interrupted.

        DumpInterrupted if the last was too; its `results` are what that brought.
        """
        deadline = self._deadline(timeout)
        if not dump.final and not isinstance(dump, Folded):
            return await self._collect_late(dump, retries, deadline, offload)
        while True:
            results: list[T] = []
            try:
                if isinstance(dump, Folded):
                    replies: AsyncResults[T] = AsyncUnfolded(partial(self._unfold, dump, deadline, offload), dump)
                else:
                    replies = self._dump(dump, deadline, offload)
                async for result in replies:
                    results.append(result)
                return results
            except DumpInterrupted as interrupted:
                if not retries:
                    interrupted.results = results
                    raise
                retries -= 1

    async def _collect_late(self, dump: Dump[T], retries: int, deadline: float | None, offload: bool) -> list[T]:
        with await self._fill([dump], deadline, offload) as filling:
            try:
                filled, left = filling.filled(dump), self._left_until(deadline)
                return await self.collect(filled, retries=retries, timeout=left, offload=offload)
            except NetlinkError as error:
                if error.errno in dump.tolerated and not isinstance(error, DumpInterrupted):
                    return []
                error.request = dump
                raise

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
        with await self._fill(_batch.late(requests, errors), deadline, offload) as filling:
            filled = _batch.filled(requests, filling, results)
            for positions in _batch.parts(filled):
                with _batch.Part(pool, requests, filled, positions, acknowledge, results) as part:
                    await pool.step(part.send, part.socket if offload else None)
                    while not part.done:
                        if not await pool.step(part.fill):
                            await pool.wait(part.socket, deadline)
        return _batch.conclude(requests, results, errors)

    def watch(self, watch: Watch[T]) -> AsyncEvents[T]:
        """Listen, from now on."""
        if not isinstance(watch, Watch):
            raise TypeError(f"a Watch is wanted, not {watch!r}")
        late = any(not dump.final for dump in watch.resync)
        return AsyncEvents(self._open(), watch, self._look_up if late else None)

    def _made_with(self, pool: AsyncPool) -> "AsyncConn":
        return AsyncConn(pool.protocol, _pool=pool)

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
