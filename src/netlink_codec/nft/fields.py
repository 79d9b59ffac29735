"""What rules can look at, by the words of the `nft` tool: where it is, and what it means."""

from typing import Any, NamedTuple

from .datatypes import TYPES, DataType, Order
from .enums import CT, META, PAYLOAD
from .exprs import Ct, Expr, Meta, Payload

NETWORK, TRANSPORT, LINK = PAYLOAD.NETWORK_HEADER, PAYLOAD.TRANSPORT_HEADER, PAYLOAD.LL_HEADER


class Field(NamedTuple):
    """Something that can be loaded into a register. `needs` is what must be so for it to be there."""

    name: str
    type: DataType
    source: Expr
    """Loads it, but for the register."""
    needs: tuple[str, object] | None = None


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
    ("th sport", TRANSPORT, 0, 2, "inet_service", None),
    ("th dport", TRANSPORT, 2, 2, "inet_service", None),
    *(
        (f"{protocol} {port}", TRANSPORT, offset, 2, "inet_service", ("l4proto", protocol))
        for protocol in ("tcp", "udp", "sctp", "dccp", "udplite")
        for offset, port in ((0, "sport"), (2, "dport"))
    ),
)

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
        raise ValueError(f"{name!r} is no field; there are {', '.join(FIELDS)}")
    return found
