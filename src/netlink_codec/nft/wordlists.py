"""What the `nft` tool calls numbers and bits, by data type."""

from ..conntrack.enums import IPPROTO, IPS
from .enums import CT_STATE


def _counted(first: int, text: str) -> dict[int, str]:
    """Words for numbers one after another; - is for one that has none."""
    return {number: word for number, word in enumerate(text.split(), first) if word != "-"}


def _bits(text: str) -> dict[int, str]:
    return {1 << bit: word for bit, word in _counted(0, text).items()}


WORDS: dict[str, dict[int, str]] = {
    "inet_proto": {int(member): member.word for member in IPPROTO if member is not IPPROTO.GRE},
    "ether_type": {0x0800: "ip", 0x0806: "arp", 0x86DD: "ip6", 0x8100: "vlan", 0x88A8: "8021ad"},
    "iface_type": {1: "ether", 512: "ppp", 768: "ipip", 769: "ipip6", 772: "loopback", 776: "sit", 778: "ipgre"},
    "nf_proto": {2: "ipv4", 10: "ipv6"},
    "arp_op": _counted(1, "request reply rrequest rreply - - - inrequest inreply nak"),
    "icmp_type": _counted(
        0,
        "echo-reply - - destination-unreachable source-quench redirect - - echo-request router-advertisement "
        "router-solicitation time-exceeded parameter-problem timestamp-request timestamp-reply info-request "
        "info-reply address-mask-request address-mask-reply",
    ),
    "icmp_code": _counted(
        0,
        "net-unreachable host-unreachable prot-unreachable port-unreachable frag-needed - - - - net-prohibited "
        "host-prohibited - - admin-prohibited",
    ),
    "icmpv6_type": _counted(1, "destination-unreachable packet-too-big time-exceeded parameter-problem")
    | _counted(
        128,
        "echo-request echo-reply mld-listener-query mld-listener-report mld-listener-done nd-router-solicit "
        "nd-router-advert nd-neighbor-solicit nd-neighbor-advert nd-redirect router-renumbering - - "
        "ind-neighbor-solicit ind-neighbor-advert mld2-listener-report",
    ),
    "icmpv6_code": _counted(
        0, "no-route admin-prohibited - addr-unreachable port-unreachable policy-fail reject-route"
    ),
    "icmpx_code": _counted(0, "no-route port-unreachable host-unreachable admin-prohibited"),
    "ct_dir": _counted(0, "original reply"),
    "pkt_type": _counted(0, "host broadcast multicast other"),
    "fib_addrtype": _counted(0, "unspec unicast local broadcast anycast multicast blackhole unreachable prohibit"),
    "dscp": {8 * number: f"cs{number}" for number in range(8)}
    | {8 * number + 2 * drop: f"af{number}{drop}" for number in range(1, 5) for drop in range(1, 4)}
    | {46: "ef"},
    "ecn": _counted(0, "not-ect ect1 ect0 ce"),
    "igmp_type": {
        0x11: "membership-query",
        0x12: "membership-report-v1",
        0x16: "membership-report-v2",
        0x17: "leave-group",
        0x22: "membership-report-v3",
    },
    "dccp_pkttype": _counted(0, "request response data ack dataack closereq close reset sync syncack"),
    "mh_type": _counted(
        0,
        "binding-refresh-request home-test-init careof-test-init home-test careof-test binding-update "
        "binding-acknowledgement binding-error fast-binding-update fast-binding-acknowledgement "
        "fast-binding-advertisement experimental-mobility-header home-agent-switch-message",
    ),
    "day": _counted(0, "sunday monday tuesday wednesday thursday friday saturday"),
}
"""By data type, what numbers are called."""

ALIASES: dict[str, dict[str, int]] = {
    "dscp": {"be": 0, "df": 0, "lephb": 1, "va": 44},
    "pkt_type": {"unicast": 0},
    "fib_addrtype": {"unknown": 0},
}
"""By data type, other words that may be written."""

BITS: dict[str, dict[int, str]] = {
    "ct_state": {int(bit): str(bit.name).lower() for bit in CT_STATE},
    "ct_status": {
        int(IPS.EXPECTED): "expected",
        int(IPS.SEEN_REPLY): "seen-reply",
        int(IPS.ASSURED): "assured",
        int(IPS.CONFIRMED): "confirmed",
        int(IPS.SRC_NAT): "snat",
        int(IPS.DST_NAT): "dnat",
        int(IPS.DYING): "dying",
    },
    "tcp_flag": _bits("fin syn rst psh ack urg ecn cwr"),
    "ct_event": _bits("new related destroy reply assured protoinfo helper mark seqadj secmark label synproxy"),
}
"""By data type, what bits are called."""
