"""The asyncio twin of the log."""

from ..aiopool import AsyncPool
from ..nfpacketsaio import Waiting
from .log import BaseLog
from .message import Logged


class AsyncLog(BaseLog[AsyncPool], Waiting[Logged]):
    """As `Log`, iterated over with `async for`."""
