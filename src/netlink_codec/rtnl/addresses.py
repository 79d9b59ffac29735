"""Requests about the addresses of interfaces."""

import errno
from collections.abc import Generator
from ipaddress import IPv4Address
from typing import Any, TypedDict, Unpack

from .._core import Message
from ..constants import NLM_F_CREATE, NLM_F_DUMP, NLM_F_ECHO, NLM_F_EXCL, NLM_F_REPLACE
from ..records import IPAddress, reader
from ..requests import Dump, Procedure, Request
from .address import IFA_F, Address, AddressLifetime
from .constants import AF_INET, RTM_DELADDR, RTM_GETADDR, RTM_NEWADDR
from .enums import IFAPROT, RT_SCOPE
from .filters import INTERNET, Filtered, given
from .spelling import (
    Dev,
    IPInterface,
    alike,
    asked_family,
    called,
    device,
    family_of,
    interface,
    known,
    only,
    resolved,
    word,
)
from .spelling import (
    address as address_of,
)

GONE = (errno.EADDRNOTAVAIL, errno.ENODEV)


class AddressSettings(TypedDict, total=False):
    """What an address may be given, in the words of `ip address`. None is as if nothing were said."""

    peer: str | IPAddress | IPInterface | None
    """The address of the other end of a point-to-point link; the prefix length is its own."""
    broadcast: str | IPv4Address | None
    """IPv4."""
    label: str | None
    """IPv4: the name of the interface, or that, a colon, and more."""
    scope: int | str | None
    """IPv4: RT_SCOPE, "global", "link", "host"; host for loopback addresses, else global."""
    valid: int | None
    """Seconds until it is removed; None is for ever."""
    preferred: int | None
    """Seconds until it is deprecated; None is as long as it is valid."""
    flags: IFA_F | None
    """NODAD, NOPREFIXROUTE, …"""
    metric: int | None
    """Of the route to its network."""
    proto: int | str | None
    """IFAPROT: who makes it."""


def addresses(
    *,
    dev: Dev | None = None,
    family: int | None = None,
    scope: int | str | None = None,
    label: str | None = None,
) -> Dump[Address]:
    """The addresses of all interfaces, or of one; IPv4 first.

    `dev` and `family` are for the kernel to look at, so that it sends no others.
    """
    family = asked_family(family)
    where = given(scope=None if scope is None else word(RT_SCOPE, scope), label=label)
    where["family"] = INTERNET if family is None else family
    asked = Address(family=family or 0)
    message, late = resolved(
        lambda index: Message(RTM_GETADDR, NLM_F_DUMP, asked if index is None else asked.replace(index=index)),
        None if dev is None else device(dev),
    )
    return Filtered(
        message,
        lambda sent: reader(Address, RTM_NEWADDR, **where, **given(index=Address.from_message(sent).index or None)),
        late=late,
        not_found=[errno.ENODEV],
        doing="list addresses" if dev is None else f"list addresses of {called(dev)}",
    )


def add_address(
    address: str | IPAddress | IPInterface,
    dev: Dev,
    *,
    exist_ok: bool = False,
    **settings: Unpack[AddressSettings],
) -> Request[Address | None]:
    """Give an interface an address: "10.1.2.3/24", a single one without a prefix length.

    The result is the address as the kernel has made it, where it says so: of IPv4. If
    the interface has it already, that is `Exists`, or, with `exist_ok`, left as it is;
    the result is None then.
    """
    request = _new("add", NLM_F_CREATE | NLM_F_EXCL, address, dev, settings)
    return request.tolerate(errno.EEXIST) if exist_ok else request


def replace_address(
    address: str | IPAddress | IPInterface, dev: Dev, **settings: Unpack[AddressSettings]
) -> Request[Address | None]:
    """Give an interface an address, or other lifetimes, flags and metric if it has it already."""
    return _new("replace", NLM_F_CREATE | NLM_F_REPLACE, address, dev, settings)


def delete_address(
    address: str | IPAddress | IPInterface | Address,
    dev: Dev | None = None,
    *,
    peer: str | IPAddress | IPInterface | None = None,
    missing_ok: bool = False,
) -> Request[None]:
    """Take an address from an interface, which a record of one names itself.

    Without a prefix length, an IPv4 address goes whatever its prefix is; of IPv6, it is that of a single one.
    """
    if isinstance(address, Address):
        if peer is not None:
            raise TypeError("delete_address: a record says itself what its peer is")
        text = str(address.interface)
        if address.ip is None:
            raise ValueError(f"delete_address: {address!r} has no address")
        alike(str(address.ip), family_of(address.ip), address=address.address)
        dev = address.index if dev is None else dev
        record = Address(prefixlen=address.prefixlen, local=address.ip, address=address.address)
    else:
        ip, length = interface(address)
        text = str(address)
        other, length = _other_end(ip, length, peer)
        # Without IFA_ADDRESS, the kernel does not compare the prefix of IPv4.
        record = Address(
            prefixlen=ip.max_prefixlen if length is None else length,
            local=ip,
            address=None if length is None and ip.version == 4 else other,
        )
    if dev is None:
        raise TypeError("delete_address: which interface's address?")
    message, late = resolved(lambda index: Message(RTM_DELADDR, 0, record.replace(index=index)), device(dev))
    request: Request[None] = Request(
        message, late=late, not_found=GONE, doing=f"delete address {text} on {called(dev)}", record=Address
    )
    return request.tolerate(*GONE) if missing_ok else request


def flush_addresses(
    dev: Dev,
    *,
    family: int | None = None,
    scope: int | str | None = None,
    label: str | None = None,
) -> Procedure[int]:
    """Take all addresses from an interface, or those that are so; returns how many there were."""

    dump = addresses(dev=dev, family=family, scope=scope, label=label)

    def steps() -> Generator[Any, Any, int]:
        found: list[Address] = yield dump
        # With the first address of a network, the kernel may take the others.
        yield [delete_address(one, missing_ok=True) for one in found]
        return len(found)

    return Procedure(steps, doing=f"flush addresses of {called(dev)}")


def _other_end(
    ip: IPAddress, length: int | None, peer: str | IPAddress | IPInterface | None
) -> tuple[IPAddress, int | None]:
    """IFA_ADDRESS, and the prefix length, which is the peer's if that has one."""
    if peer is None:
        return ip, length
    other, others_length = interface(peer)
    alike(str(ip), family_of(ip), peer=other)
    return other, length if others_length is None else others_length


def _new(
    verb: str, flags: int, address: str | IPAddress | IPInterface, dev: Dev, settings: AddressSettings
) -> Request[Address | None]:
    known(f"{verb}_address", settings, AddressSettings)
    record = _made(address, **settings)
    message, late = resolved(
        lambda index: Message(RTM_NEWADDR, flags | NLM_F_ECHO, record.replace(index=index)), device(dev)
    )
    return Request(
        message,
        reader(Address, RTM_NEWADDR),
        late=late,
        not_found=[errno.ENODEV],
        exists=[errno.EEXIST],
        doing=f"{verb} address {address} on {called(dev)}",
        record=Address,
    )


def _made(
    address: str | IPAddress | IPInterface,
    *,
    peer: str | IPAddress | IPInterface | None = None,
    broadcast: str | IPv4Address | None = None,
    label: str | None = None,
    scope: int | str | None = None,
    valid: int | None = None,
    preferred: int | None = None,
    flags: IFA_F | None = None,
    metric: int | None = None,
    proto: int | str | None = None,
) -> Address:
    ip, length = interface(address)
    other, length = _other_end(ip, length, peer)
    across = None if broadcast is None else address_of(broadcast)
    alike(str(ip), family_of(ip), broadcast=across)
    if ip.version == 6:
        only(AF_INET, str(ip), broadcast=broadcast, label=label, scope=scope)
    lifetime = None
    if valid is not None or preferred is not None:
        lifetime = AddressLifetime(valid=valid, preferred=valid if preferred is None else preferred)
    if scope is None and ip.version == 4:
        scope = RT_SCOPE.HOST if ip.is_loopback else RT_SCOPE.UNIVERSE
    return Address(
        prefixlen=ip.max_prefixlen if length is None else length,
        scope=RT_SCOPE.UNIVERSE if scope is None else word(RT_SCOPE, scope),
        local=ip,
        address=other,
        broadcast=across if isinstance(across, IPv4Address) else None,
        label=label,
        flags=IFA_F(0) if flags is None else flags,
        cacheinfo=lifetime,
        metric=metric,
        proto=None if proto is None else word(IFAPROT, proto),
    )
