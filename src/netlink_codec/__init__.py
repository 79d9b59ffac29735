"""Speak netlink, Linux's way to talk about its network, fast.

`Message`, `Attribute` and what walks and builds them are the codec (compiled);
`Conn` carries messages to the kernel and back.
"""

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
from .errors import Closed as Closed
from .errors import DecodeError as DecodeError
from .errors import DumpInterrupted as DumpInterrupted
from .errors import EncodeError as EncodeError
from .errors import NetlinkError as NetlinkError
from .errors import Overrun as Overrun
from .errors import Timeout as Timeout
