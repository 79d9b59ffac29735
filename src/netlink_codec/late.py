"""Values that only a connection can know: it finds them out before it sends the request that holds them."""

import errno
import os
import struct
from typing import TYPE_CHECKING, ClassVar

from ._core import AttributeEncoder, Message
from .constants import NETLINK_GENERIC, NETLINK_ROUTE
from .errors import DecodeError

if TYPE_CHECKING:
    from .netns import NetNS

# From linux/if_link.h, linux/rtnetlink.h and linux/genetlink.h.
_RTM_GETLINK = 18
_IFLA_IFNAME, _IFLA_EXT_MASK, _IFLA_ALT_IFNAME = 3, 29, 53
_RTEXT_FILTER_SKIP_STATS = 8
_IFINFOMSG = struct.Struct("=BxHiII")
_IFNAMSIZ = 16
_GENL_ID_CTRL = 16
_GENLMSGHDR = struct.Struct("=BBH")
_CTRL_CMD_GETFAMILY = 3
_CTRL_ATTR_FAMILY_ID, _CTRL_ATTR_FAMILY_NAME = 1, 2


class Late:
    """Something by its name. Equal to every other one of the same kind and name."""

    __slots__ = ("name",)
    __match_args__ = ("name",)

    what: ClassVar[str]
    """What it is, in an error message."""
    longest: ClassVar[int]
    """So many bytes a name has at most."""

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a {self.what} is a str, not {type(name).__name__}")
        if not 0 < len(os.fsencode(name)) <= self.longest or "\0" in name:
            raise ValueError(f"{name!r} cannot be the name of a {self.what}")
        self.name = name

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.name == self.name

    def __hash__(self) -> int:
        return hash((type(self), self.name))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __str__(self) -> str:
        return f"{self.what} {self.name!r}"


class Asked(Late):
    """A number that the kernel knows. `missing` is the errno with which it says that there is none."""

    __slots__ = ()

    protocol: ClassVar[int]
    missing: ClassVar[int]
    record: ClassVar[type | None] = None
    """As a Request has it."""

    def question(self) -> Message:
        """What to ask; exactly one message answers."""
        raise NotImplementedError

    def value(self, answer: Message) -> int:
        """The number, out of that."""
        raise NotImplementedError


class Device(Asked):
    """The index of the network device of this name, or of this alternative name."""

    __slots__ = ()

    what = "device"
    longest = 127  # ALTIFNAMSIZ, without the NUL
    protocol = NETLINK_ROUTE
    missing = errno.ENODEV

    def question(self) -> Message:
        encoder = AttributeEncoder(_IFINFOMSG.pack(0, 0, 0, 0, 0))
        # Either finds names of both kinds; but the first takes no long one, and the second came with Linux 5.5.
        short = len(os.fsencode(self.name)) < _IFNAMSIZ
        encoder.string(_IFLA_IFNAME if short else _IFLA_ALT_IFNAME, self.name)
        encoder.u32(_IFLA_EXT_MASK, _RTEXT_FILTER_SKIP_STATS)
        return Message(_RTM_GETLINK, 0, encoder)

    def value(self, answer: Message) -> int:
        if len(answer.view) < _IFINFOMSG.size:
            raise DecodeError(f"a link of {len(answer.view)} bytes is too short for its header", 0)
        index: int = _IFINFOMSG.unpack_from(answer.view)[2]
        return index


class Family(Asked):
    """The number of the generic netlink family of this name, which is the type of its messages."""

    __slots__ = ()

    what = "generic netlink family"
    longest = 15  # GENL_NAMSIZ, without the NUL
    protocol = NETLINK_GENERIC
    missing = errno.ENOENT

    def question(self) -> Message:
        encoder = AttributeEncoder(_GENLMSGHDR.pack(_CTRL_CMD_GETFAMILY, 1, 0))
        encoder.string(_CTRL_ATTR_FAMILY_NAME, self.name)
        return Message(_GENL_ID_CTRL, 0, encoder)

    def value(self, answer: Message) -> int:
        number = answer.attributes(_GENLMSGHDR.size).find(_CTRL_ATTR_FAMILY_ID)
        if number is None:
            raise DecodeError("a generic netlink family has no number", 0)
        return number.u16()


class Namespace(Late):
    """A descriptor of the network namespace of this name, as `NetNS.name` opens it; it is closed when it was sent."""

    __slots__ = ()

    what = "network namespace"
    longest = 255

    def open(self) -> "NetNS":
        from .netns import NetNS

        return NetNS.name(self.name)
