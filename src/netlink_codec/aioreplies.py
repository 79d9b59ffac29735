"""Answers as tasks receive them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Any, Generic, Self, TypeVar

from ._core import Message
from .aiopool import AsyncPool
from .errors import DumpInterrupted
from .replies import Answer, Nothing
from .requests import Dump, Request, Unfolding

T = TypeVar("T")


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

    def __init__(self, replies: AsyncReplies | Nothing, request: Request[T]) -> None:
        self._replies = replies
        self._decode = request.decode

    async def __anext__(self) -> T:
        replies, decode = self._replies, self._decode
        while True:
            while (message := replies.take()) is None:
                if isinstance(replies, Nothing) or not await replies._more():
                    raise StopAsyncIteration
            result = message if decode is None else decode(message)
            if result is not None:
                return result  # type: ignore[return-value]

    def close(self) -> None:
        """End the dump here. Again is harmless."""
        self._replies.close()


class LateResults(AsyncResults[T]):
    """As AsyncResults; what must be found out before the dump can be sent is when the first is asked for."""

    def __init__(self, start: Callable[[], Awaitable[tuple[AsyncReplies | Nothing, Dump[T]]]], dump: Dump[T]) -> None:
        super().__init__(Nothing(), dump)
        self._start: Callable[[], Awaitable[tuple[AsyncReplies | Nothing, Dump[T]]]] | None = start
        self._starting = self._closed = False

    async def __anext__(self) -> T:
        if self._starting:
            raise RuntimeError("another task receives this answer")
        start, self._start = self._start, None
        if start is not None:
            self._starting = True
            try:
                replies, filled = await start()
            finally:
                self._starting = False
            if self._closed:
                replies.close()
            else:
                self._replies, self._decode = replies, filled.decode
        return await super().__anext__()

    def close(self) -> None:
        """End the dump here. Again is harmless."""
        self._closed = True
        self._start = None
        super().close()


class AsyncUnfolded(AsyncResults[T]):
    """The results of a dump that are not one a message; what must be found out first is when the first is asked for."""

    def __init__(
        self, start: Callable[[], Awaitable[tuple[AsyncResults[Iterable[T]], Unfolding[T]]]], dump: Dump[T]
    ) -> None:
        super().__init__(Nothing(), dump)
        self._start = start
        self._parts: AsyncResults[Iterable[T]] | None = None
        self._unfolding: Unfolding[T] | None = None
        self._items: Iterator[T] = iter(())
        self._interrupted: DumpInterrupted | None = None
        self._starting = self._closed = False

    async def __anext__(self) -> T:
        if self._starting:
            raise RuntimeError("another task receives this answer")
        if self._parts is None and not self._closed:
            self._starting = True
            try:
                self._parts, self._unfolding = await self._start()
            finally:
                self._starting = False
        while True:
            for item in self._items:
                return item
            if self._parts is None or self._closed:
                raise StopAsyncIteration
            if self._unfolding is None:
                interrupted, self._interrupted = self._interrupted, None
                raise StopAsyncIteration if interrupted is None else interrupted
            await self._advance(self._parts, self._unfolding)

    async def _advance(self, parts: AsyncResults[Iterable[T]], unfolding: Unfolding[T]) -> None:
        try:
            self._items = iter(await anext(parts))
            return
        except StopAsyncIteration:
            pass
        except DumpInterrupted as interrupted:
            self._interrupted = interrupted
        self._unfolding = None
        self._items = iter(unfolding.rest())

    def close(self) -> None:
        """End the dump here. Again is harmless."""
        self._closed = True
        self._items = iter(())
        if self._parts is not None:
            self._parts.close()
