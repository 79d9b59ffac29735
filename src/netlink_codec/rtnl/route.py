"""Routes: RTM_NEWROUTE, struct rtmsg, RTA_*, RTAX_* and struct rtnexthop of <linux/rtnetlink.h>."""

from ipaddress import IPv4Address, IPv6Address
from sys import byteorder
from typing import Any

from ..records import (
    IP,
    LENGTH,
    S32,
    STRING,
    U8,
    U16,
    U16BE,
    U32,
    U32BE,
    U64,
    IPAddress,
    IPNetwork,
    Record,
    Struct,
    always,
    as_enum,
    as_flags,
    attr,
    chosen,
    custom,
    fixed,
    merged,
    nested,
    network,
    prefix,
    scaled,
    sequence,
)
from .constants import AF_INET, AF_INET6, AF_MPLS
from .encap import LABELS, Encap
from .enums import ICMPV6_ROUTER_PREF, LWTUNNEL_ENCAP, RT_SCOPE, RTAX_FEATURE, RTM_F, RTN, RTNH_F, RTPROT

AF_PACKET = 17


class RTA:
    DST = 1
    SRC = 2
    IIF = 3
    OIF = 4
    GATEWAY = 5
    PRIORITY = 6
    PREFSRC = 7
    METRICS = 8
    MULTIPATH = 9
    PROTOINFO = 10
    FLOW = 11
    CACHEINFO = 12
    SESSION = 13
    MP_ALGO = 14
    TABLE = 15
    MARK = 16
    MFC_STATS = 17
    VIA = 18
    NEWDST = 19
    PREF = 20
    ENCAP_TYPE = 21
    ENCAP = 22
    EXPIRES = 23
    PAD = 24
    UID = 25
    TTL_PROPAGATE = 26
    IP_PROTO = 27
    SPORT = 28
    DPORT = 29
    NH_ID = 30
    FLOWLABEL = 31


class RTAX:
    LOCK = 1
    MTU = 2
    WINDOW = 3
    RTT = 4
    RTTVAR = 5
    SSTHRESH = 6
    CWND = 7
    ADVMSS = 8
    REORDERING = 9
    HOPLIMIT = 10
    INITCWND = 11
    FEATURES = 12
    RTO_MIN = 13
    INITRWND = 14
    QUICKACK = 15
    CC_ALGO = 16
    FASTOPEN_NO_COOKIE = 17


def _via(data: bytes) -> IPAddress | str:
    family, address = int.from_bytes(data[:2], byteorder), data[2:]
    if family == AF_INET and len(address) == 4:
        return IPv4Address(address)
    if family == AF_INET6 and len(address) == 16:
        return IPv6Address(address)
    if family == AF_PACKET:
        return address.hex(":")
    raise ValueError(f"{len(address)} bytes are no address of family {family}")


def _rtvia(address: IPAddress | str) -> bytes:
    if isinstance(address, str):
        return AF_PACKET.to_bytes(2, byteorder) + bytes.fromhex(address.replace(":", ""))
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        raise ValueError(f"{address} has a scope, which is no part of its bytes")
    return (AF_INET if address.version == 4 else AF_INET6).to_bytes(2, byteorder) + address.packed


VIA = custom(_via, _rtvia)
"""struct rtvia: an address of whatever family; a hardware address is text."""


class Metrics(Record):
    """RTA_METRICS: what is known of the path, or set for it (RTAX_*)."""

    lock: int | None = attr(RTAX.LOCK, U32)
    """Which of these are not to be changed by what is learnt: bit n is that of code n (`1 << RTAX.MTU`)."""
    mtu: int | None = attr(RTAX.MTU, U32)
    """In bytes."""
    window: int | None = attr(RTAX.WINDOW, U32)
    """Most that is offered to TCP peers, in bytes."""
    rtt: int | None = attr(RTAX.RTT, U32)
    """Round trip, in eighths of a millisecond."""
    rttvar: int | None = attr(RTAX.RTTVAR, U32)
    """Its variance, in quarters of a millisecond."""
    ssthresh: int | None = attr(RTAX.SSTHRESH, U32)
    cwnd: int | None = attr(RTAX.CWND, U32)
    """Most that is under way, in packets; only if it is locked."""
    advmss: int | None = attr(RTAX.ADVMSS, U32)
    """Segment size that is told to TCP peers, in bytes."""
    reordering: int | None = attr(RTAX.REORDERING, U32)
    hoplimit: int | None = attr(RTAX.HOPLIMIT, U32)
    initcwnd: int | None = attr(RTAX.INITCWND, U32)
    """In packets."""
    features: RTAX_FEATURE | None = attr(RTAX.FEATURES, as_flags(U32, RTAX_FEATURE))
    rto_min: int | None = attr(RTAX.RTO_MIN, U32)
    """Least time until TCP sends again, in milliseconds."""
    initrwnd: int | None = attr(RTAX.INITRWND, U32)
    """In packets."""
    quickack: int | None = attr(RTAX.QUICKACK, U32)
    cc_algo: str | None = attr(RTAX.CC_ALGO, STRING)
    """TCP's congestion control: "cubic"."""
    fastopen_no_cookie: int | None = attr(RTAX.FASTOPEN_NO_COOKIE, U32)


class RouteCache(Struct):
    """RTA_CACHEINFO: struct rta_cacheinfo."""

    clntref: int = fixed(U32, default=0)
    lastuse: float = fixed(scaled(U32, 0.01), default=0.0)
    """Seconds since it was used."""
    expires: float = fixed(scaled(S32, 0.01), default=0.0)
    """Seconds until it goes; 0 is never."""
    error: int = fixed(S32, default=0)
    """What senders get: a negative errno, as -113 (EHOSTUNREACH) of an unreachable route."""
    used: int = fixed(U32, default=0)
    id: int = fixed(U32, default=0)
    ts: int = fixed(U32, default=0)
    tsage: int = fixed(U32, default=0)


class MfcStats(Struct):
    """RTA_MFC_STATS: struct rta_mfc_stats, of a multicast route."""

    packets: int = fixed(U64, default=0)
    bytes: int = fixed(U64, default=0)
    wrong_if: int = fixed(U64, default=0)
    """Packets that came from another interface than the route's."""


class NextHop(Record):
    """One way of several: struct rtnexthop and RTA_* in it."""

    len: int = fixed(LENGTH, default=0)
    """In bytes; filled in."""
    flags: RTNH_F = fixed(as_flags(U8, RTNH_F), default=RTNH_F(0))
    hops: int = fixed(U8, default=0)
    """Its weight, less one."""
    ifindex: int = fixed(S32, default=0)
    """Of the interface."""
    gateway: IPAddress | None = attr(RTA.GATEWAY, IP)
    rta_via: IPAddress | str | None = attr(RTA.VIA, VIA)
    """RTA_VIA: a gateway of another family than the route's; `via` is either."""
    newdst: tuple[int, ...] | None = attr(RTA.NEWDST, LABELS)
    """Of an MPLS route: the labels that it puts in the place of its own."""
    flow: int | None = attr(RTA.FLOW, U32)
    encap_type: LWTUNNEL_ENCAP | None = attr(RTA.ENCAP_TYPE, as_enum(U16, LWTUNNEL_ENCAP))
    encap: Encap | None = attr(RTA.ENCAP, chosen(Encap, by="encap_type"))

    @property
    def weight(self) -> int:
        """Its part of the traffic, in proportion to the others'."""
        return self.hops + 1

    @property
    def via(self) -> IPAddress | None:
        """The gateway, of whichever family; None where there is none."""
        return _gateway(self.gateway, self)


class Route(Record, family="family"):
    """A route: RTM_NEWROUTE, struct rtmsg, RTA_*.

    Where there is one way, it is in `oif` and `gateway`; where there are several, in `multipath`.
    """

    family: int = fixed(U8, default=0)
    """AF_INET (2), AF_INET6 (10); RTNL_FAMILY_IPMR (128) and IP6MR (129) of multicast. MPLS has `MplsRoute`."""
    dst_len: int = fixed(U8, default=0)
    src_len: int = fixed(U8, default=0)
    tos: int = fixed(U8, default=0)
    """Type of service that packets must have; 0 is any."""
    rtm_table: int = fixed(U8, default=0)
    """`table` where it fits."""
    proto: RTPROT = fixed(as_enum(U8, RTPROT), default=RTPROT.UNSPEC)
    """Who made it."""
    scope: RT_SCOPE = fixed(as_enum(U8, RT_SCOPE), default=RT_SCOPE.UNIVERSE)
    type: RTN = fixed(as_enum(U8, RTN), default=RTN.UNSPEC)
    flags: RTM_F = fixed(as_flags(U32, RTM_F), default=RTM_F(0))
    dst: IPNetwork = network(RTA.DST, length="dst_len")
    """Where to; 0.0.0.0/0 or ::/0 of a default route."""
    src: IPNetwork | None = prefix(RTA.SRC, length="src_len")
    """IPv6: only of packets from there."""
    iif: int | None = attr(RTA.IIF, U32)
    oif: int | None = attr(RTA.OIF, U32)
    """The interface to leave by."""
    gateway: IPAddress | None = attr(RTA.GATEWAY, IP)
    metric: int | None = attr(RTA.PRIORITY, U32)
    """Of routes to one destination, the one with the lowest is used (RTA_PRIORITY). None is 0."""
    prefsrc: IPAddress | None = attr(RTA.PREFSRC, IP)
    """The source address for packets that have none yet."""
    metrics: Metrics | None = attr(RTA.METRICS, nested(Metrics))
    multipath: tuple[NextHop, ...] | None = attr(RTA.MULTIPATH, sequence(NextHop))
    flow: int | None = attr(RTA.FLOW, U32)
    """Realms: from << 16 | to."""
    cacheinfo: RouteCache | None = attr(RTA.CACHEINFO, nested(RouteCache))
    table: int = merged(RTA.TABLE, U32, over="rtm_table")
    """RT_TABLE_*: 254 is main, 255 local."""
    mark: int | None = attr(RTA.MARK, U32)
    mfc_stats: MfcStats | None = attr(RTA.MFC_STATS, nested(MfcStats))
    rta_via: IPAddress | str | None = attr(RTA.VIA, VIA)
    """RTA_VIA: a gateway of another family than the route's; `via` is either."""
    newdst: tuple[int, ...] | None = attr(RTA.NEWDST, LABELS)
    """Of an MPLS route: the labels that it puts in the place of its own."""
    pref: ICMPV6_ROUTER_PREF | None = attr(RTA.PREF, as_enum(U8, ICMPV6_ROUTER_PREF))
    encap_type: LWTUNNEL_ENCAP | None = attr(RTA.ENCAP_TYPE, as_enum(U16, LWTUNNEL_ENCAP))
    encap: Encap | None = attr(RTA.ENCAP, chosen(Encap, by="encap_type"))
    """What it puts around packets; read and written by `encap_type`, which writing it fills in."""
    expires: int | None = attr(RTA.EXPIRES, U32)
    """IPv6, in requests: seconds until it goes. What is left is in `cacheinfo.expires`."""
    uid: int | None = attr(RTA.UID, U32)
    ttl_propagate: int | None = attr(RTA.TTL_PROPAGATE, U8)
    ip_proto: int | None = attr(RTA.IP_PROTO, U8)
    sport: int | None = attr(RTA.SPORT, U16BE)
    dport: int | None = attr(RTA.DPORT, U16BE)
    nh_id: int | None = attr(RTA.NH_ID, U32)
    """The next hop object that it uses; the kernel adds what that stands for."""
    flowlabel: int | None = attr(RTA.FLOWLABEL, U32BE)
    """In lookups; since Linux 6.14."""

    @property
    def via(self) -> IPAddress | None:
        """The gateway, of whichever family; None where there is none, or several."""
        return _gateway(self.gateway, self)

    @property
    def identity(self) -> tuple[Any, ...]:
        """Family, table, destination, source, type of service and metric: a table has one of that.

        Of IPv6, there may be one to each interface where there is no gateway, as fe80::/64:
        the interface is part of it then, and otherwise None.

        Three things escape it; `message_flags` help to tell, and a watch with `initial` or `track`
        sees to them. An IPv4 route that was appended has the identity of the one before it,
        which is the one in use. When one of several ways of an IPv6 route is deleted, the event
        has the identity of the route, and that way alone. And an IPv6 route with a gateway and
        one without may replace each other.
        """
        direct = self.family == AF_INET6 and self.gateway is None and self.multipath is None
        oif = self.oif if direct else None
        return (self.family, self.table, self.dst, self.src, self.tos, self.metric, oif)


class MplsRoute(Record, identity=("table", "label")):
    """A route of MPLS: where packets with a label go. RTM_NEWROUTE of the family AF_MPLS."""

    family: int = fixed(U8, default=AF_MPLS)
    dst_len: int = fixed(U8, default=20)
    src_len: int = fixed(U8, default=0)
    tos: int = fixed(U8, default=0)
    rtm_table: int = fixed(U8, default=0)
    proto: RTPROT = fixed(as_enum(U8, RTPROT), default=RTPROT.UNSPEC)
    scope: RT_SCOPE = fixed(as_enum(U8, RT_SCOPE), default=RT_SCOPE.UNIVERSE)
    type: RTN = fixed(as_enum(U8, RTN), default=RTN.UNICAST)
    flags: RTM_F = fixed(as_flags(U32, RTM_F), default=RTM_F(0))
    label: tuple[int, ...] = always(RTA.DST, LABELS)
    """The one label that it is for."""
    oif: int | None = attr(RTA.OIF, U32)
    rta_via: IPAddress | str | None = attr(RTA.VIA, VIA)
    """The gateway; a hardware address is text."""
    newdst: tuple[int, ...] | None = attr(RTA.NEWDST, LABELS)
    """The labels that it puts in the place of that one; None takes it away."""
    multipath: tuple[NextHop, ...] | None = attr(RTA.MULTIPATH, sequence(NextHop))
    table: int = merged(RTA.TABLE, U32, over="rtm_table")
    ttl_propagate: int | None = attr(RTA.TTL_PROPAGATE, U8)


def _gateway(gateway: IPAddress | None, hop: Route | NextHop) -> IPAddress | None:
    if gateway is not None:
        return gateway
    other = hop.rta_via
    return None if isinstance(other, str) else other
