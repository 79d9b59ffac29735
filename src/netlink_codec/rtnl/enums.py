"""Numbers with names, of addresses and routes: <linux/rtnetlink.h>, <linux/icmpv6.h>. Words are those of `ip`."""

from enum import IntFlag

from ..records import OpenEnum


class RT_SCOPE(OpenEnum):
    """How far away: of a destination, or how far an address is of use."""

    UNIVERSE = 0
    """Everywhere; `ip` says "global"."""
    SITE = 200
    LINK = 253
    """On the link."""
    HOST = 254
    """On this host."""
    NOWHERE = 255
    """Nowhere; in a request to delete a route: whichever."""

    @classmethod
    def words(cls) -> dict[str, str]:
        return {"UNIVERSE": "global"}


class RTN(OpenEnum):
    """What a route does."""

    UNSPEC = 0
    UNICAST = 1
    LOCAL = 2
    """Deliver here."""
    BROADCAST = 3
    ANYCAST = 4
    MULTICAST = 5
    BLACKHOLE = 6
    """Drop in silence; senders on this host get EINVAL."""
    UNREACHABLE = 7
    """Drop and say so: EHOSTUNREACH."""
    PROHIBIT = 8
    """Drop and say so: EACCES."""
    THROW = 9
    """Go on with the next rule, as if this table had no route."""
    NAT = 10
    XRESOLVE = 11


class RTPROT(OpenEnum):
    """Who made a route; from `STATIC` on, the kernel does not care."""

    UNSPEC = 0
    REDIRECT = 1
    KERNEL = 2
    BOOT = 3
    STATIC = 4
    GATED = 8
    RA = 9
    MRT = 10
    ZEBRA = 11
    BIRD = 12
    DNROUTED = 13
    XORP = 14
    NTK = 15
    DHCP = 16
    MROUTED = 17
    KEEPALIVED = 18
    BABEL = 42
    OPENR = 99
    BGP = 186
    ISIS = 187
    OSPF = 188
    RIP = 189
    EIGRP = 192


class RT_TABLE(OpenEnum):
    """Tables that every system has. Others are numbers, up to 2³²-1."""

    UNSPEC = 0
    COMPAT = 252
    DEFAULT = 253
    MAIN = 254
    LOCAL = 255


class RTM_F(IntFlag):
    """Flags of a route."""

    DEAD = 0x1
    """RTNH_F_*, of the route's only next hop: the device is down."""
    PERVASIVE = 0x2
    ONLINK = 0x4
    """The gateway is on the link, whatever the addresses say."""
    NEXTHOP_OFFLOAD = 0x8
    LINKDOWN = 0x10
    """The device has no carrier."""
    UNRESOLVED = 0x20
    NEXTHOP_TRAP = 0x40
    NOTIFY = 0x100
    CLONED = 0x200
    """Not a route, but an entry of the cache, or the answer to a lookup."""
    EQUALIZE = 0x400
    PREFIX = 0x800
    LOOKUP_TABLE = 0x1000
    FIB_MATCH = 0x2000
    OFFLOAD = 0x4000
    TRAP = 0x8000
    OFFLOAD_FAILED = 0x20000000


class RTNH_F(IntFlag):
    """Flags of a next hop."""

    DEAD = 0x1
    PERVASIVE = 0x2
    ONLINK = 0x4
    """The gateway is on the link, whatever the addresses say."""
    OFFLOAD = 0x8
    LINKDOWN = 0x10
    UNRESOLVED = 0x20
    TRAP = 0x40


class RTAX_FEATURE(IntFlag):
    """What TCP is to do on a route."""

    ECN = 0x1
    SACK = 0x2
    TIMESTAMP = 0x4
    ALLFRAG = 0x8
    TCP_USEC_TS = 0x10
    """Timestamps in microseconds; since Linux 6.7."""


class ICMPV6_ROUTER_PREF(OpenEnum):
    """Which default router is preferred (RFC 4191)."""

    MEDIUM = 0
    HIGH = 1
    INVALID = 2
    LOW = 3


class LWTUNNEL_ENCAP(OpenEnum):
    """How a route encapsulates."""

    NONE = 0
    MPLS = 1
    IP = 2
    ILA = 3
    IP6 = 4
    SEG6 = 5
    BPF = 6
    SEG6_LOCAL = 7
    RPL = 8
    IOAM6 = 9
    XFRM = 10

    @classmethod
    def words(cls) -> dict[str, str]:
        return {"SEG6_LOCAL": "seg6local"}


class IFAPROT(OpenEnum):
    """Who made an address."""

    UNSPEC = 0
    KERNEL_LO = 1
    """The loopback interface's."""
    KERNEL_RA = 2
    """From a router's announcement."""
    KERNEL_LL = 3
    """The link-local one that the kernel made."""

    @classmethod
    def words(cls) -> dict[str, str]:
        return {"KERNEL_LO": "kernel_lo", "KERNEL_RA": "kernel_ra", "KERNEL_LL": "kernel_ll"}
