"""Elements of nftables' sets, out of the lists that the kernel tells: a set has tens of thousands of them.

What keys and intervals mean is said in `netlink_codec.nft.elements`; here is how that is read fast.
"""

from ipaddress import IPv4Network, IPv6Network
from typing import Any, Self

from typing_extensions import disjoint_base

from ._core import Message

def network_between(first: bytes, last: bytes) -> IPv4Network | IPv6Network | None:
    """The network from this address to that, or None; ValueError if they are not of 4 or 16 bytes."""

@disjoint_base
class BareElement:
    """The key of an element; what else there is to it, as a subclass likes; the shape of its set, if it was read."""

    key: Any
    _rest: Any
    _shape: Any

@disjoint_base
class ElementReader:
    """Makes elements of a set of what a dump of them brings: `feed` each message, then ask for the `rest`.

    `element` is a subclass of BareElement, `range` the class of what is no network, and `catchall` the key of the
    element for all others.
    """

    def __new__(cls, element: type[BareElement], shape: object, range: type, catchall: object) -> Self: ...
    def feed(self, message: Message) -> list[Any]:
        """The elements that are in it. Those of intervals are not whole before the last."""
    def take(self, data: bytes) -> list[Any]:
        """As `feed`, of what stands in such a message behind its header."""
    def rest(self) -> list[Any]:
        """Of intervals, which the kernel tells in an order of its own: the elements, from low to high."""
