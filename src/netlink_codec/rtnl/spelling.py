"""What a person writes, turned into what goes on the wire: devices, addresses, networks, words.

For the functions that make requests; records take final values only.
"""

from collections.abc import Callable
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv6Address,
    IPv6Interface,
    ip_address,
    ip_interface,
    ip_network,
)
from typing import TypeVar

from .._core import Message
from ..records import IPAddress, IPNetwork, OpenEnum
from ..requests import Device
from .enums import RT_TABLE
from .link import Link

E = TypeVar("E", bound=OpenEnum)

IPInterface = IPv4Interface | IPv6Interface

Dev = int | str | Link
"""An interface: its index, its name (or an alternative one), or itself."""


def device(dev: Dev) -> int | Device:
    """The index of an interface, or its name, which the connection looks up in its own namespace."""
    if isinstance(dev, str):
        return Device(dev)
    index = dev if isinstance(dev, int) else dev.index
    if index <= 0:
        raise ValueError(f"{index} is no index of an interface")
    return index


def called(dev: Dev) -> str:
    """How an error message calls it."""
    if isinstance(dev, str):
        return dev
    return f"interface {dev}" if isinstance(dev, int) else dev.name


def address(value: str | IPAddress) -> IPAddress:
    """An address; "10.1.2.3"."""
    return ip_address(value) if isinstance(value, str) else plain(value)


def interface(value: str | IPAddress | IPInterface) -> tuple[IPAddress, int | None]:
    """An address, and the length of its prefix if it was given; "10.1.2.3/24"."""
    if isinstance(value, str):
        both = ip_interface(value)
        return both.ip, both.network.prefixlen if "/" in value else None
    return plain(value), value.network.prefixlen if isinstance(value, IPInterface) else None


def plain(value: IPAddress) -> IPAddress:
    """The address of what may be an address with a prefix."""
    if isinstance(value, IPInterface):
        return value.ip
    if isinstance(value, IPv4Address | IPv6Address):
        return value
    raise TypeError(f"an address is wanted, not {value!r}")


def network(value: str | IPAddress | IPNetwork) -> IPNetwork | None:
    """A network, an address being one of its own; None for "default"."""
    if isinstance(value, int):
        raise TypeError(f"a network is wanted, not {value!r}")
    return None if value == "default" else ip_network(value)


def word(enum: type[E], value: int | str) -> E:
    """A member of the enum, by number or by the word that `ip` uses."""
    return enum.of(value)


def table(value: int | str) -> int:
    """A routing table; "main"."""
    return RT_TABLE.of(value) if isinstance(value, str) else value


def family_of(value: IPAddress | IPNetwork) -> int:
    """AF_INET or AF_INET6."""
    return 2 if value.version == 4 else 10


def resolved(
    make: Callable[..., Message], *devs: int | Device | None
) -> tuple[Message | Callable[..., Message], tuple[Device, ...]]:
    """The message made with the index of each device; if there are names among them, a function that makes it of
    their indexes, and these names."""
    names = tuple(dev for dev in devs if isinstance(dev, Device))
    if not names:
        return make(*devs), names

    def message(*indexes: int) -> Message:
        found = iter(indexes)
        return make(*[next(found) if isinstance(dev, Device) else dev for dev in devs])

    return message, names
