"""The asyncio twin of what waits for packets."""

from collections.abc import AsyncIterator
from typing import Self, TypeVar

from .aiopool import AsyncPool
from .errors import Closed, Timeout
from .nfpackets import Source

T = TypeVar("T")


class Waiting(Source[AsyncPool, T], AsyncIterator[T]):
    """Iterated over with `async for`; what may wait is awaited."""

    _pool_type = AsyncPool

    async def __anext__(self) -> T:
        try:
            return await self._next(None)
        except Closed:
            raise StopAsyncIteration from None

    async def next(self, timeout: float | None = None) -> T | None:
        """The next packet; None if none comes within so many seconds. Closed at the end."""
        if self._packets:
            timeout = None  # without a look at the clock
        try:
            return await self._next(None if timeout is None else self._pool.clock() + timeout)
        except Timeout:
            return None

    async def batch(self, timeout: float | None = None) -> list[T]:
        """The packets that come next, up to 32 together; none if none comes within so many seconds."""
        deadline = None if timeout is None else self._pool.clock() + timeout
        while not self._packets:
            if not await self._pool.step(self._fill):
                try:
                    await self._pool.wait(self._open(), deadline)
                except Timeout:
                    break
        return self._taken()

    async def _next(self, deadline: float | None) -> T:
        while True:
            try:
                return self._packets.popleft()
            except IndexError:
                pass
            if not await self._pool.step(self._fill):
                await self._pool.wait(self._open(), deadline)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
