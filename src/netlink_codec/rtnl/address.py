"""Addresses of interfaces: RTM_NEWADDR, struct ifaddrmsg and IFA_* of <linux/if_addr.h>."""

from enum import IntFlag
from ipaddress import IPv4Address, IPv4Interface, IPv6Interface
from typing import Any

from ..errors import DecodeError
from ..records import (
    IP,
    IP4,
    S32,
    STRING,
    U8,
    U32,
    IPAddress,
    Record,
    Struct,
    as_enum,
    as_flags,
    attr,
    fixed,
    merged,
    nested,
    scaled,
    sentinel,
)
from .enums import IFAPROT, RT_SCOPE


class IFA:
    ADDRESS = 1
    LOCAL = 2
    LABEL = 3
    BROADCAST = 4
    ANYCAST = 5
    CACHEINFO = 6
    MULTICAST = 7
    FLAGS = 8
    RT_PRIORITY = 9
    TARGET_NETNSID = 10
    PROTO = 11


class IFA_F(IntFlag):
    """Flags of an address."""

    SECONDARY = 0x01
    """IPv4: not the first of its network. IPv6: temporary (`TEMPORARY`)."""
    NODAD = 0x02
    """Do not look whether another host has it."""
    OPTIMISTIC = 0x04
    """Use it while that is not known yet."""
    DADFAILED = 0x08
    """Another host has it."""
    HOMEADDRESS = 0x10
    DEPRECATED = 0x20
    """Its preferred lifetime is over."""
    TENTATIVE = 0x40
    """Not known yet whether another host has it."""
    PERMANENT = 0x80
    """Its lifetime does not end."""
    MANAGETEMPADDR = 0x100
    NOPREFIXROUTE = 0x200
    """Without a route to its network."""
    MCAUTOJOIN = 0x400
    STABLE_PRIVACY = 0x800
    TEMPORARY = SECONDARY


class AddressLifetime(Struct):
    """IFA_CACHEINFO: struct ifa_cacheinfo."""

    preferred: int | None = fixed(sentinel(U32, 0xFFFFFFFF), default=None)
    """Seconds until it is deprecated; None is for ever."""
    valid: int | None = fixed(sentinel(U32, 0xFFFFFFFF), default=None)
    """Seconds until it is removed; None is for ever."""
    created: float = fixed(scaled(U32, 0.01), default=0.0)
    """When it was made, in seconds since the system started (cstamp)."""
    updated: float = fixed(scaled(U32, 0.01), default=0.0)
    """When it was changed last, in seconds since the system started (tstamp)."""


class Address(Record, family="family"):
    """An address of an interface: RTM_NEWADDR, struct ifaddrmsg, IFA_*.

    On the wire, the address is in `local`, or else in `address`, which on
    point-to-point links is the other end. `ip`, `interface` and `peer` are these as
    one means them.
    """

    family: int = fixed(U8, default=0)
    """AF_INET (2) or AF_INET6 (10)."""
    prefixlen: int = fixed(U8, default=0)
    ifa_flags: int = fixed(U8, default=0)
    """The lower eight of `flags`."""
    scope: RT_SCOPE = fixed(as_enum(U8, RT_SCOPE), default=RT_SCOPE.UNIVERSE)
    index: int = fixed(U32, default=0)
    """Of the interface."""
    address: IPAddress | None = attr(IFA.ADDRESS, IP)
    """The address of the network: that of the other end on a point-to-point link, else the interface's own."""
    local: IPAddress | None = attr(IFA.LOCAL, IP)
    """The interface's own address; IPv6 has it only where there is another end."""
    label: str | None = attr(IFA.LABEL, STRING)
    """IPv4: the name of the interface, or that with a colon and more."""
    broadcast: IPv4Address | None = attr(IFA.BROADCAST, IP4)
    anycast: IPAddress | None = attr(IFA.ANYCAST, IP)
    cacheinfo: AddressLifetime | None = attr(IFA.CACHEINFO, nested(AddressLifetime))
    multicast: IPAddress | None = attr(IFA.MULTICAST, IP)
    flags: IFA_F = merged(IFA.FLAGS, as_flags(U32, IFA_F), over="ifa_flags")
    metric: int | None = attr(IFA.RT_PRIORITY, U32)
    """Of the route to its network (IFA_RT_PRIORITY)."""
    target_netnsid: int | None = attr(IFA.TARGET_NETNSID, S32)
    """Which namespace it is in, or is to be looked for in, as this one numbers it."""
    proto: IFAPROT | None = attr(IFA.PROTO, as_enum(U8, IFAPROT))
    """Who made it; since Linux 5.18."""

    @property
    def ip(self) -> IPAddress | None:
        """The interface's own address."""
        local = self.local
        return self.address if local is None else local

    @property
    def interface(self) -> IPv4Interface | IPv6Interface | None:
        """The interface's own address with its prefix length: 10.1.2.3/24."""
        ip = self.ip
        if ip is None:
            return None
        if self.prefixlen > ip.max_prefixlen:
            raise DecodeError(f"Address.prefixlen: {self.prefixlen} bits are more than {ip} has", 1)
        return (IPv4Interface if ip.version == 4 else IPv6Interface)((ip, self.prefixlen))

    @property
    def peer(self) -> IPAddress | None:
        """The address of the other end of a point-to-point link, None where there is none; the prefix is its own."""
        local = self.local
        if local is None:
            return None
        address = self.address
        return None if address == local else address

    @property
    def identity(self) -> tuple[Any, ...]:
        """Interface, address, prefix length and peer: what one address of an interface differs in from another."""
        return (self.index, self.ip, self.prefixlen, self.peer)
