"""Packets that a rule hands to a program (NFQUEUE), and what becomes of them; see the modules.

from netlink_codec import nfqueue

with nfqueue.Queue(7) as queue:
    for packet in queue:
        packet.accept()
"""

from typing import TYPE_CHECKING

from .counters import Counters as Counters
from .counters import counters as counters
from .message import HOOK as HOOK
from .message import NFQA as NFQA
from .message import SKB as SKB
from .message import Hardware as Hardware
from .message import Header as Header
from .message import Queued as Queued
from .message import Timestamp as Timestamp
from .message import Vlan as Vlan
from .packet import VERDICT as VERDICT
from .packet import Packet as Packet
from .packet import VerdictError as VerdictError
from .queue import Queue as Queue

if TYPE_CHECKING:
    from .aio import AsyncQueue as AsyncQueue
else:

    def __getattr__(name):
        # asyncio takes longer to import than all of this package.
        if name == "AsyncQueue":
            from .aio import AsyncQueue

            return AsyncQueue
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
