"""Numbers of conntrack: <linux/netfilter/nfnetlink_conntrack.h>, nf_conntrack_common.h, nf_conntrack_tcp.h."""

from enum import IntFlag

from ..records import OpenEnum


class CTA:
    TUPLE_ORIG = 1
    TUPLE_REPLY = 2
    STATUS = 3
    PROTOINFO = 4
    HELP = 5
    NAT_SRC = 6
    TIMEOUT = 7
    MARK = 8
    COUNTERS_ORIG = 9
    COUNTERS_REPLY = 10
    USE = 11
    ID = 12
    NAT_DST = 13
    TUPLE_MASTER = 14
    SEQ_ADJ_ORIG = 15
    SEQ_ADJ_REPLY = 16
    SECMARK = 17
    ZONE = 18
    SECCTX = 19
    TIMESTAMP = 20
    MARK_MASK = 21
    LABELS = 22
    LABELS_MASK = 23
    SYNPROXY = 24
    FILTER = 25
    STATUS_MASK = 26
    TIMESTAMP_EVENT = 27


class IPS(IntFlag):
    """How far a connection is: enum ip_conntrack_status."""

    EXPECTED = 1 << 0
    """Another connection announced it."""
    SEEN_REPLY = 1 << 1
    """There were packets both ways."""
    ASSURED = 1 << 2
    """It is not dropped early where room runs out."""
    CONFIRMED = 1 << 3
    """Its first packet has left."""
    SRC_NAT = 1 << 4
    DST_NAT = 1 << 5
    SEQ_ADJUST = 1 << 6
    SRC_NAT_DONE = 1 << 7
    DST_NAT_DONE = 1 << 8
    DYING = 1 << 9
    FIXED_TIMEOUT = 1 << 10
    TEMPLATE = 1 << 11
    NAT_CLASH = 1 << 12
    HELPER = 1 << 13
    OFFLOAD = 1 << 14
    HW_OFFLOAD = 1 << 15


class IPPROTO(OpenEnum):
    """The protocol of a connection."""

    ICMP = 1
    IGMP = 2
    TCP = 6
    UDP = 17
    DCCP = 33
    GRE = 47
    ESP = 50
    AH = 51
    ICMPV6 = 58
    COMP = 108
    SCTP = 132
    UDPLITE = 136


class TCP_CONNTRACK(OpenEnum):
    """How far a TCP connection is."""

    NONE = 0
    SYN_SENT = 1
    SYN_RECV = 2
    ESTABLISHED = 3
    FIN_WAIT = 4
    CLOSE_WAIT = 5
    LAST_ACK = 6
    TIME_WAIT = 7
    CLOSE = 8
    SYN_SENT2 = 9


class DCCP_CONNTRACK(OpenEnum):
    NONE = 0
    REQUEST = 1
    RESPOND = 2
    PARTOPEN = 3
    OPEN = 4
    CLOSEREQ = 5
    CLOSING = 6
    TIMEWAIT = 7
    IGNORE = 8
    INVALID = 9


class SCTP_CONNTRACK(OpenEnum):
    NONE = 0
    CLOSED = 1
    COOKIE_WAIT = 2
    COOKIE_ECHOED = 3
    ESTABLISHED = 4
    SHUTDOWN_SENT = 5
    SHUTDOWN_RECD = 6
    SHUTDOWN_ACK_SENT = 7
    HEARTBEAT_SENT = 8


class CTA_FILTER_F(IntFlag):
    """Which parts of a tuple a filter looks at: CTA_FILTER_FLAG_*."""

    IP_SRC = 1 << 0
    IP_DST = 1 << 1
    ZONE = 1 << 2
    PROTO_NUM = 1 << 3
    PROTO_SRC_PORT = 1 << 4
    PROTO_DST_PORT = 1 << 5
    PROTO_ICMP_TYPE = 1 << 6
    PROTO_ICMP_CODE = 1 << 7
    PROTO_ICMP_ID = 1 << 8
    PROTO_ICMPV6_TYPE = 1 << 9
    PROTO_ICMPV6_CODE = 1 << 10
    PROTO_ICMPV6_ID = 1 << 11
