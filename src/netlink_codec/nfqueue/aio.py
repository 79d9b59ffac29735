"""The asyncio twin of the queue."""

from ..aiopool import AsyncPool
from ..nfpacketsaio import Waiting
from .packet import Packet
from .queue import BaseQueue


class AsyncQueue(BaseQueue[AsyncPool], Waiting[Packet]):
    """As `Queue`, iterated over with `async for`; verdicts are plain calls."""
