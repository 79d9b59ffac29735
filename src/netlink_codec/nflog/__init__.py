"""Packets that a rule logs (NFLOG, `log group`): copies, to be read; see the modules.

from netlink_codec import nflog

with nflog.Log(5) as log:
    for logged in log:
        print(logged.prefix, logged.payload)
"""

from typing import TYPE_CHECKING

from .log import Log as Log
from .message import NFULA as NFULA
from .message import Header as Header
from .message import Logged as Logged

if TYPE_CHECKING:
    from .aio import AsyncLog as AsyncLog
else:

    def __getattr__(name):
        # asyncio takes longer to import than all of this package.
        if name == "AsyncLog":
            from .aio import AsyncLog

            return AsyncLog
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
