"""What a person writes, turned into what goes on the wire: devices, addresses, networks, words.

For the functions that make requests; records take final values only.
"""

from collections.abc import Callable, Mapping
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv6Address,
    IPv6Interface,
    ip_address,
    ip_interface,
    ip_network,
)
from typing import Any, TypeAlias, TypeVar

from .._core import Message
from ..records import IPAddress, IPNetwork, OpenEnum
from ..requests import Device
from .constants import AF_INET, AF_INET6, AF_UNSPEC
from .enums import RT_TABLE
from .link import Link

E = TypeVar("E", bound=OpenEnum)

IPInterface: TypeAlias = IPv4Interface | IPv6Interface

Dev: TypeAlias = int | str | Link
"""An interface: its index, its name (or an alternative one), or itself."""

Destination: TypeAlias = str | IPAddress | IPNetwork
"""A network, a single address, or "default"."""

FAMILIES = {AF_INET: "IPv4", AF_INET6: "IPv6"}
"""What an address family is called."""


def device(dev: Dev) -> int | Device:
    """The index of an interface, or its name, which the connection looks up in its own namespace."""
    if isinstance(dev, str):
        return Device(dev)
    index = index_of(dev)
    if index <= 0:
        raise ValueError(f"{index} is no index of an interface")
    return index


def index_of(dev: int | Link) -> int:
    """The index of an interface."""
    if isinstance(dev, Link):
        return dev.index
    if isinstance(dev, int) and not isinstance(dev, bool):
        return dev
    raise TypeError(f"an interface is its index, its name or a Link, not {dev!r}")


def called(dev: Dev) -> str:
    """How an error message calls it."""
    if isinstance(dev, str):
        return dev
    return f"interface {dev}" if isinstance(dev, int) else dev.name


def address(value: str | IPAddress) -> IPAddress:
    """An address; "10.1.2.3"."""
    return unscoped(ip_address(value) if isinstance(value, str) else plain(value))


def interface(value: str | IPAddress | IPInterface) -> tuple[IPAddress, int | None]:
    """An address, and the length of its prefix if it was given; "10.1.2.3/24"."""
    if isinstance(value, str):
        both = ip_interface(value)
        return unscoped(plain(both)), both.network.prefixlen if "/" in value else None
    return unscoped(plain(value)), value.network.prefixlen if isinstance(value, IPInterface) else None


def gateway(value: str | IPAddress, dev: Dev | None) -> tuple[IPAddress, Dev | None]:
    """The address of a gateway, and the interface that it is behind; "fe80::9%lan0" names that too."""
    ip = ip_address(value) if isinstance(value, str) else plain(value)
    scope = scope_of(ip)
    if scope is None:
        return ip, dev
    named: Dev = int(scope) if scope.isdecimal() else scope
    names = (dev.index, dev.name, *dev.altnames) if isinstance(dev, Link) else (dev,)
    if dev is not None and named not in names:
        raise ValueError(f"the gateway {ip} is on {called(named)}, and dev is {called(dev)}")
    return IPv6Address(int(ip)), named if dev is None else dev


def scope_of(ip: IPAddress) -> str | None:
    """The interface that an IPv6 address names: fe80::9%lan0."""
    return ip.scope_id if isinstance(ip, IPv6Address) else None


def unscoped(ip: IPAddress) -> IPAddress:
    """An address that names no interface, as it is."""
    if scope_of(ip) is not None:
        raise ValueError(f"{ip}: the kernel takes addresses without a scope; `dev` says which interface is meant")
    return ip


def plain(value: IPAddress) -> IPAddress:
    """The address of what may be an address with a prefix."""
    if isinstance(value, IPInterface):
        scope = scope_of(value)
        return value.ip if scope is None else IPv6Address(f"{value.ip}%{scope}")
    if isinstance(value, IPv4Address | IPv6Address):
        return value
    raise TypeError(f"an address is wanted, not {value!r}")


def network(value: Destination) -> IPNetwork | None:
    """A network, an address being one of its own; None for "default"."""
    if not isinstance(value, str | IPAddress | IPNetwork):
        raise TypeError(f"a network is wanted, not {value!r}")
    if isinstance(value, str) and value.casefold() == "default":
        return None
    found = ip_network(value)
    unscoped(found.network_address)
    return found


def word(enum: type[E], value: int | str) -> E:
    """A member of the enum, by number or by the word that `ip` uses."""
    return enum.of(value)


def table(value: int | str) -> int:
    """A routing table; "main"."""
    return RT_TABLE.of(value) if isinstance(value, str) else value


def family_of(value: IPAddress | IPNetwork) -> int:
    """AF_INET or AF_INET6."""
    return AF_INET if value.version == 4 else AF_INET6


def alike(what: str, family: int, **others: IPAddress | IPNetwork | None) -> None:
    """ValueError where one of these is of another family: the kernel would take its bytes for something else."""
    for name, other in others.items():
        if other is not None and family_of(other) != family:
            raise ValueError(f"{what} is {FAMILIES[family]}, and {name} {other} is {FAMILIES[family_of(other)]}")


def asked_family(family: int | None, *others: int) -> int | None:
    """The address family that is asked for, None for IPv4 and IPv6; ValueError for one that is not known here."""
    if family is None or family == AF_UNSPEC:
        return None
    if family in FAMILIES or family in others:
        return family
    raise ValueError(f"the family is AF_INET (2), AF_INET6 (10) or AF_UNSPEC (0) for both, not {family!r}")


def only(family: int, what: str, **settings: Any) -> None:
    """ValueError where one of these is set, which the kernel passes over for all but this family."""
    for name, value in settings.items():
        if value is not None:
            raise ValueError(f"{name} is for {FAMILIES[family]}, and {what} is not")


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


def known(function: str, settings: Mapping[str, object], kind: type) -> None:
    """TypeError, as Python would raise it of `function`, if there is a setting that the TypedDict `kind` has not."""
    for name in settings:
        if name not in kind.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
