"""What rules can look at, by the words of the `nft` tool: where it is, and what it means."""

from difflib import get_close_matches
from functools import cached_property
from typing import Any

from .datatypes import TYPES, DataType, Order
from .enums import CT, EXTHDR, EXTHDR_F, FIB, FIB_F, META, PAYLOAD, RT, SOCKET, XFRM
from .exprs import Ct, Exthdr, Fib, Meta, Osf, Payload, Rt, Socket, Xfrm

OF_ONE_NETWORK = {"icmp": 4, "icmpv6": 6, "igmp": 4}
"""Protocols that are of one version of IP."""

NETWORK, TRANSPORT, LINK = PAYLOAD.NETWORK_HEADER, PAYLOAD.TRANSPORT_HEADER, PAYLOAD.LL_HEADER


class Field:
    """Something that can be loaded into a register."""

    def __init__(
        self,
        name: str,
        type: DataType,
        source: Any,
        needs: tuple[str, object] | None = None,
        mask: bytes | None = None,
    ) -> None:
        self.name = name
        self.type = type
        self.source = source
        """Loads it, but for the register: an Expr, or a Source."""
        self.needs = needs
        """What must be so for it to be there: a field, and its value, or several."""
        self.mask = mask
        """Which bits of what is loaded it is, if not all."""

    @cached_property
    def loaded(self) -> DataType:
        """Its values as they are loaded: of some bits, where these stand."""
        return self.type if self.mask is None else self.type.shifted(self.mask)

    @property
    def shift(self) -> int:
        """By how many bits they stand higher."""
        number = int.from_bytes(self.mask or b"", "big")
        return (number & -number).bit_length() - 1 if number else 0

    def __repr__(self) -> str:
        return f"<Field {self.name}>"


_PAYLOAD: tuple[tuple[str, PAYLOAD, int, int, str, tuple[str, object] | None], ...] = (
    ("ether daddr", LINK, 0, 6, "ether_addr", ("iiftype", 1)),
    ("ether saddr", LINK, 6, 6, "ether_addr", ("iiftype", 1)),
    ("ether type", LINK, 12, 2, "ether_type", ("iiftype", 1)),
    ("ip length", NETWORK, 2, 2, "integer", ("network", 4)),
    ("ip id", NETWORK, 4, 2, "integer", ("network", 4)),
    ("ip ttl", NETWORK, 8, 1, "integer", ("network", 4)),
    ("ip frag-off", NETWORK, 6, 2, "integer", ("network", 4)),
    ("ip checksum", NETWORK, 10, 2, "integer", ("network", 4)),
    ("ip protocol", NETWORK, 9, 1, "inet_proto", ("network", 4)),
    ("ip saddr", NETWORK, 12, 4, "ipv4_addr", ("network", 4)),
    ("ip daddr", NETWORK, 16, 4, "ipv4_addr", ("network", 4)),
    ("ip6 length", NETWORK, 4, 2, "integer", ("network", 6)),
    ("ip6 nexthdr", NETWORK, 6, 1, "inet_proto", ("network", 6)),
    ("ip6 hoplimit", NETWORK, 7, 1, "integer", ("network", 6)),
    ("ip6 saddr", NETWORK, 8, 16, "ipv6_addr", ("network", 6)),
    ("ip6 daddr", NETWORK, 24, 16, "ipv6_addr", ("network", 6)),
    ("arp htype", NETWORK, 0, 2, "integer", ("network", "arp")),
    ("arp ptype", NETWORK, 2, 2, "ether_type", ("network", "arp")),
    ("arp hlen", NETWORK, 4, 1, "integer", ("network", "arp")),
    ("arp plen", NETWORK, 5, 1, "integer", ("network", "arp")),
    ("arp operation", NETWORK, 6, 2, "arp_op", ("network", "arp")),
    ("arp saddr ether", NETWORK, 8, 6, "ether_addr", ("network", "arp")),
    ("arp saddr ip", NETWORK, 14, 4, "ipv4_addr", ("network", "arp")),
    ("arp daddr ether", NETWORK, 18, 6, "ether_addr", ("network", "arp")),
    ("arp daddr ip", NETWORK, 24, 4, "ipv4_addr", ("network", "arp")),
    ("icmp type", TRANSPORT, 0, 1, "icmp_type", ("l4proto", "icmp")),
    ("icmp code", TRANSPORT, 1, 1, "icmp_code", ("l4proto", "icmp")),
    ("icmpv6 type", TRANSPORT, 0, 1, "icmpv6_type", ("l4proto", "icmpv6")),
    ("icmpv6 code", TRANSPORT, 1, 1, "icmpv6_code", ("l4proto", "icmpv6")),
    ("tcp sequence", TRANSPORT, 4, 4, "integer", ("l4proto", "tcp")),
    ("tcp ackseq", TRANSPORT, 8, 4, "integer", ("l4proto", "tcp")),
    ("tcp window", TRANSPORT, 14, 2, "integer", ("l4proto", "tcp")),
    ("tcp checksum", TRANSPORT, 16, 2, "integer", ("l4proto", "tcp")),
    ("tcp urgptr", TRANSPORT, 18, 2, "integer", ("l4proto", "tcp")),
    ("udp length", TRANSPORT, 4, 2, "integer", ("l4proto", "udp")),
    ("udp checksum", TRANSPORT, 6, 2, "integer", ("l4proto", "udp")),
    ("tcp flags", TRANSPORT, 13, 1, "tcp_flag", ("l4proto", "tcp")),
    ("icmp id", TRANSPORT, 4, 2, "integer", ("icmp type", frozenset({0, 8}))),
    ("icmp sequence", TRANSPORT, 6, 2, "integer", ("icmp type", frozenset({0, 8}))),
    ("icmp mtu", TRANSPORT, 6, 2, "integer", ("icmp type", 3)),
    ("icmpv6 id", TRANSPORT, 4, 2, "integer", ("icmpv6 type", frozenset({128, 129}))),
    ("icmpv6 sequence", TRANSPORT, 6, 2, "integer", ("icmpv6 type", frozenset({128, 129}))),
    ("icmpv6 mtu", TRANSPORT, 4, 4, "integer", ("icmpv6 type", 2)),
    ("igmp type", TRANSPORT, 0, 1, "igmp_type", ("l4proto", "igmp")),
    ("esp spi", TRANSPORT, 0, 4, "integer", ("l4proto", "esp")),
    ("esp sequence", TRANSPORT, 4, 4, "integer", ("l4proto", "esp")),
    ("ah spi", TRANSPORT, 4, 4, "integer", ("l4proto", "ah")),
    ("comp cpi", TRANSPORT, 2, 2, "integer", ("l4proto", "comp")),
    ("sctp vtag", TRANSPORT, 4, 4, "integer", ("l4proto", "sctp")),
    ("udplite csumcov", TRANSPORT, 4, 2, "integer", ("l4proto", "udplite")),
    ("udplite checksum", TRANSPORT, 6, 2, "integer", ("l4proto", "udplite")),
    ("vlan type", LINK, 16, 2, "ether_type", ("ether type", 0x8100)),
    ("th sport", TRANSPORT, 0, 2, "inet_service", None),
    ("th dport", TRANSPORT, 2, 2, "inet_service", None),
    *(
        (f"{protocol} {port}", TRANSPORT, offset, 2, "inet_service", ("l4proto", protocol))
        for protocol in ("tcp", "udp", "sctp", "dccp", "udplite")
        for offset, port in ((0, "sport"), (2, "dport"))
    ),
)

_BITS: tuple[tuple[str, PAYLOAD, int, int, int, str, tuple[str, object]], ...] = (
    ("ip version", NETWORK, 0, 0xF0, 1, "integer", ("network", 4)),
    ("ip hdrlength", NETWORK, 0, 0x0F, 1, "integer", ("network", 4)),
    ("ip dscp", NETWORK, 1, 0xFC, 1, "dscp", ("network", 4)),
    ("ip ecn", NETWORK, 1, 0x03, 1, "ecn", ("network", 4)),
    ("ip6 version", NETWORK, 0, 0xF0, 1, "integer", ("network", 6)),
    ("ip6 dscp", NETWORK, 0, 0x0FC0, 2, "dscp", ("network", 6)),
    ("ip6 ecn", NETWORK, 1, 0x30, 1, "ecn", ("network", 6)),
    ("ip6 flowlabel", NETWORK, 1, 0x0FFFFF, 3, "integer", ("network", 6)),
    ("tcp doff", TRANSPORT, 12, 0xF0, 1, "integer", ("l4proto", "tcp")),
    ("dccp type", TRANSPORT, 8, 0x1E, 1, "dccp_pkttype", ("l4proto", "dccp")),
    ("vlan id", LINK, 14, 0x0FFF, 2, "integer", ("ether type", 0x8100)),
    ("vlan dei", LINK, 14, 0x10, 1, "integer", ("ether type", 0x8100)),
    ("vlan pcp", LINK, 14, 0xE0, 1, "integer", ("ether type", 0x8100)),
)
"""Those that are some bits of what is loaded."""

_META: tuple[tuple[Any, ...], ...] = (
    ("length", META.LEN, "integer", 4),
    ("protocol", META.PROTOCOL, "ether_type", 0),
    ("priority", META.PRIORITY, "classid", 0),
    ("mark", META.MARK, "mark", 0),
    ("iif", META.IIF, "iface_index", 0),
    ("oif", META.OIF, "iface_index", 0),
    ("iifname", META.IIFNAME, "ifname", 0),
    ("oifname", META.OIFNAME, "ifname", 0),
    ("iiftype", META.IIFTYPE, "iface_type", 0),
    ("oiftype", META.OIFTYPE, "iface_type", 0),
    ("skuid", META.SKUID, "uid", 0),
    ("skgid", META.SKGID, "gid", 0),
    ("nftrace", META.NFTRACE, "integer", 1),
    ("rtclassid", META.RTCLASSID, "realm", 0),
    ("nfproto", META.NFPROTO, "nf_proto", 0),
    ("l4proto", META.L4PROTO, "inet_proto", 0),
    ("ibrname", META.BRI_IIFNAME, "ifname", 0),
    ("obrname", META.BRI_OIFNAME, "ifname", 0),
    ("pkttype", META.PKTTYPE, "pkt_type", 0),
    ("cpu", META.CPU, "integer", 4),
    ("iifgroup", META.IIFGROUP, "devgroup", 0),
    ("oifgroup", META.OIFGROUP, "devgroup", 0),
    ("cgroup", META.CGROUP, "integer", 4),
    ("random", META.PRANDOM, "integer", 4, "big"),
    ("ipsec", META.SECPATH, "integer", 1),
    ("iifkind", META.IIFKIND, "ifname", 0),
    ("oifkind", META.OIFKIND, "ifname", 0),
    ("sdif", META.SDIF, "iface_index", 0),
    ("sdifname", META.SDIFNAME, "ifname", 0),
    ("time", META.TIME_NS, "date", 0),
    ("day", META.TIME_DAY, "day", 0),
    ("hour", META.TIME_HOUR, "integer", 4),
)

_CT: tuple[tuple[Any, ...], ...] = (
    ("state", CT.STATE, "ct_state", 0),
    ("direction", CT.DIRECTION, "ct_dir", 0),
    ("status", CT.STATUS, "ct_status", 0),
    ("mark", CT.MARK, "mark", 0),
    ("expiration", CT.EXPIRATION, "integer", 4),
    ("helper", CT.HELPER, "string", 0),
    ("zone", CT.ZONE, "integer", 2),
    ("id", CT.ID, "integer", 4, "big"),
    ("label", CT.LABELS, "ct_label", 0),
    ("event", CT.EVENTMASK, "ct_event", 0),
    ("l3proto", CT.L3PROTOCOL, "nf_proto", 0),
    ("protocol", CT.PROTOCOL, "inet_proto", 0),
)

_CT_COUNTS: tuple[tuple[Any, ...], ...] = (
    ("packets", CT.PKTS, "integer", 8),
    ("bytes", CT.BYTES, "integer", 8),
    ("avgpkt", CT.AVGPKT, "integer", 8),
)
"""Of both directions, or of one."""

_CT_ENDS: tuple[tuple[Any, ...], ...] = (
    ("ip saddr", CT.SRC_IP, "ipv4_addr", 0),
    ("ip daddr", CT.DST_IP, "ipv4_addr", 0),
    ("ip6 saddr", CT.SRC_IP6, "ipv6_addr", 0),
    ("ip6 daddr", CT.DST_IP6, "ipv6_addr", 0),
    ("proto-src", CT.PROTO_SRC, "inet_service", 0),
    ("proto-dst", CT.PROTO_DST, "inet_service", 0),
)
"""Of one direction."""


_COMPUTED: tuple[tuple[Any, ...], ...] = (
    *(
        (
            f"fib {inputs} {what}",
            Fib(result=result, flags=sum(map(FIB_F.__getitem__, inputs.upper().split(" . ")), more)),
            *how,
        )
        for ends in ("saddr", "daddr")
        for inputs in (ends, *(f"{ends} . {one}" for one in ("iif", "oif", "mark", "mark . iif", "mark . oif")))
        for what, result, more, *how in (
            ("oif", FIB.OIF, FIB_F(0), "iface_index", 0),
            ("oifname", FIB.OIFNAME, FIB_F(0), "ifname", 0),
            ("type", FIB.ADDRTYPE, FIB_F(0), "fib_addrtype", 0),
            ("check", FIB.OIF, FIB_F.PRESENT, "integer", 4),
        )
        if what == "type" or ". oif" not in inputs
    ),
    ("socket transparent", Socket(key=SOCKET.TRANSPARENT), "boolean", 0),
    ("socket mark", Socket(key=SOCKET.MARK), "mark", 0),
    ("socket wildcard", Socket(key=SOCKET.WILDCARD), "boolean", 0),
    ("rt classid", Rt(key=RT.CLASSID), "realm", 0),
    ("rt ip nexthop", Rt(key=RT.NEXTHOP4), "ipv4_addr", 0),
    ("rt ip6 nexthop", Rt(key=RT.NEXTHOP6), "ipv6_addr", 0),
    ("rt mtu", Rt(key=RT.TCPMSS), "integer", 2),
    ("rt ipsec", Rt(key=RT.XFRM), "boolean", 0),
    *(
        (f"ipsec {way} {word}", Xfrm(key=key, dir=number), "integer", 4, *order)
        for number, way in enumerate(("in", "out"))
        for word, key, *order in (("reqid", XFRM.REQID), ("spi", XFRM.SPI, "big"))
    ),
    ("osf name", Osf(), "string", 0),
)
"""What the kernel finds out: of routes, of sockets, of who sent it. `check`: whether there is one."""

_HEADERS: tuple[tuple[str, EXTHDR, int, int, int, str, int], ...] = (
    ("hbh nexthdr", EXTHDR.IPV6, 0, 0, 1, "inet_proto", 0),
    ("rt nexthdr", EXTHDR.IPV6, 43, 0, 1, "inet_proto", 0),
    ("rt type", EXTHDR.IPV6, 43, 2, 1, "integer", 0),
    ("rt seg-left", EXTHDR.IPV6, 43, 3, 1, "integer", 0),
    ("frag nexthdr", EXTHDR.IPV6, 44, 0, 1, "inet_proto", 0),
    ("frag frag-off", EXTHDR.IPV6, 44, 2, 2, "integer", 0xFFF8),
    ("frag more-fragments", EXTHDR.IPV6, 44, 3, 1, "integer", 0x01),
    ("frag id", EXTHDR.IPV6, 44, 4, 4, "integer", 0),
    ("dst nexthdr", EXTHDR.IPV6, 60, 0, 1, "inet_proto", 0),
    ("mh type", EXTHDR.IPV6, 135, 2, 1, "mh_type", 0),
    ("tcp option maxseg size", EXTHDR.TCPOPT, 2, 2, 2, "integer", 0),
    ("tcp option window count", EXTHDR.TCPOPT, 3, 2, 1, "integer", 0),
    ("tcp option timestamp tsval", EXTHDR.TCPOPT, 8, 2, 4, "integer", 0),
    ("tcp option timestamp tsecr", EXTHDR.TCPOPT, 8, 6, 4, "integer", 0),
    ("tcp option mptcp subtype", EXTHDR.TCPOPT, 30, 2, 1, "integer", 0xF0),
)
_PRESENT: tuple[tuple[str, EXTHDR, int], ...] = (
    ("exthdr hbh", EXTHDR.IPV6, 0),
    ("exthdr rt", EXTHDR.IPV6, 43),
    ("exthdr frag", EXTHDR.IPV6, 44),
    ("exthdr dst", EXTHDR.IPV6, 60),
    ("exthdr mh", EXTHDR.IPV6, 135),
    ("tcp option maxseg", EXTHDR.TCPOPT, 2),
    ("tcp option window", EXTHDR.TCPOPT, 3),
    ("tcp option sack-perm", EXTHDR.TCPOPT, 4),
    ("tcp option sack", EXTHDR.TCPOPT, 5),
    ("tcp option timestamp", EXTHDR.TCPOPT, 8),
    ("tcp option md5sig", EXTHDR.TCPOPT, 19),
    ("tcp option mptcp", EXTHDR.TCPOPT, 30),
    ("tcp option fastopen", EXTHDR.TCPOPT, 34),
    ("ip option rr", EXTHDR.IPV4, 7),
    ("ip option lsrr", EXTHDR.IPV4, 131),
    ("ip option ssrr", EXTHDR.IPV4, 137),
    ("ip option ra", EXTHDR.IPV4, 148),
)
"""Whether there is one: True or False."""
_OF_HEADER: dict[EXTHDR, tuple[str, object] | None] = {
    EXTHDR.IPV6: ("network", 6),
    EXTHDR.IPV4: ("network", 4),
    EXTHDR.TCPOPT: None,
}


def _typed(name: str, size: int, order: Order | None = None) -> DataType:
    one = TYPES[name]
    return one.ordered(order or one.order, size)


FIELDS: dict[str, Field] = {
    field.name: field
    for field in (
        *(
            Field(name, _typed(type, size, "big"), Payload(base=base, offset=offset, len=size), needs)
            for name, base, offset, size, type, needs in _PAYLOAD
        ),
        *(
            Field(
                name,
                _typed(type, TYPES[type].size or size, "big"),
                Payload(base=base, offset=offset, len=size),
                needs,
                mask.to_bytes(size, "big"),
            )
            for name, base, offset, mask, size, type, needs in _BITS
        ),
        *(Field(name, _typed(*how), source) for name, source, *how in _COMPUTED),
        *(
            Field(
                name,
                _typed(type, TYPES[type].size or size, "big"),
                Exthdr(op=op, type=header, offset=offset, len=size),
                _OF_HEADER[op],
                mask.to_bytes(size, "big") if mask else None,
            )
            for name, op, header, offset, size, type, mask in _HEADERS
        ),
        *(
            Field(
                name,
                TYPES["boolean"],
                Exthdr(op=op, type=header, offset=0, len=1, flags=EXTHDR_F.PRESENT),
                _OF_HEADER[op],
            )
            for name, op, header in _PRESENT
        ),
        *(Field(f"meta {name}", _typed(*how), Meta(key=key)) for name, key, *how in _META),
        *(Field(f"ct {name}", _typed(*how), Ct(key=key)) for name, key, *how in _CT),
        *(
            Field(f"ct {direction}{name}", _typed(*how), Ct(key=key, direction=number))
            for direction, number in (("", None), ("original ", 0), ("reply ", 1))
            for name, key, *how in _CT_COUNTS
        ),
        *(
            Field(f"ct {direction} {name}", _typed(*how), Ct(key=key, direction=number))
            for direction, number in (("original", 0), ("reply", 1))
            for name, key, *how in _CT_ENDS
        ),
    )
}
"""By name. Those of `meta` go without that word too."""


def field(name: str) -> Field:
    """One of them: "ip saddr", "tcp dport", "iifname", "ct state"."""
    if not isinstance(name, str):
        raise TypeError(f"a field is named by a str, not {name!r}")
    found = FIELDS.get(name) or FIELDS.get(f"meta {name}")
    if found is None:
        like = get_close_matches(name, FIELDS, 8, 0.4)
        raise ValueError(
            f"{name!r} is no field; there are {len(FIELDS)}, {', '.join(like) or 'as ip saddr'} among them"
        )
    return found
