"""Speak netlink, Linux's way to talk about its network, fast.

`Message`, `Attribute` and what walks and builds them are the codec (compiled);
`Conn` carries messages to the kernel and back.
"""

from typing import TYPE_CHECKING

from ._core import Attribute as Attribute
from ._core import AttributeDecoder as AttributeDecoder
from ._core import AttributeEncoder as AttributeEncoder
from ._core import Message as Message
from ._core import iter_messages as iter_messages
from ._core import marshal_attributes as marshal_attributes
from ._core import marshal_into as marshal_into
from ._core import marshal_messages as marshal_messages
from ._core import message_size as message_size
from ._core import unmarshal_attributes as unmarshal_attributes
from ._core import unmarshal_messages as unmarshal_messages
from .conn import Conn as Conn
from .constants import *  # noqa: F403
from .errors import BatchError as BatchError
from .errors import Closed as Closed
from .errors import DecodeError as DecodeError
from .errors import DumpInterrupted as DumpInterrupted
from .errors import EncodeError as EncodeError
from .errors import Exists as Exists
from .errors import NetlinkError as NetlinkError
from .errors import NotFound as NotFound
from .errors import NotPermitted as NotPermitted
from .errors import Overrun as Overrun
from .errors import Timeout as Timeout
from .requests import Changed as Changed
from .requests import Deleted as Deleted
from .requests import Device as Device
from .requests import Dump as Dump
from .requests import Family as Family
from .requests import Lost as Lost
from .requests import Namespace as Namespace
from .requests import New as New
from .requests import Procedure as Procedure
from .requests import Request as Request
from .requests import Sync as Sync
from .requests import Watch as Watch

if TYPE_CHECKING:
    from .aio import AsyncConn as AsyncConn
    from .netns import NetNS as NetNS
else:
    _LATER = {"AsyncConn": "aio", "NetNS": "netns"}

    def __getattr__(name):
        # asyncio takes longer to import than all of this package, and few programs cross namespaces.
        if name in _LATER:
            from importlib import import_module

            return getattr(import_module(f".{_LATER[name]}", __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
