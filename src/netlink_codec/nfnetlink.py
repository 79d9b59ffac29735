"""What all of netfilter shares: message types, groups and address families of <linux/netfilter/nfnetlink.h>."""

NFNL_SUBSYS_CTNETLINK = 1
NFNL_SUBSYS_CTNETLINK_EXP = 2
NFNL_SUBSYS_QUEUE = 3
NFNL_SUBSYS_ULOG = 4
NFNL_SUBSYS_NFTABLES = 10

NFPROTO_UNSPEC = 0
NFPROTO_INET = 1
NFPROTO_IPV4 = 2
NFPROTO_ARP = 3
NFPROTO_NETDEV = 5
NFPROTO_BRIDGE = 7
NFPROTO_IPV6 = 10


class NFNLGRP:
    """Multicast groups."""

    CONNTRACK_NEW = 1
    CONNTRACK_UPDATE = 2
    CONNTRACK_DESTROY = 3
    CONNTRACK_EXP_NEW = 4
    CONNTRACK_EXP_UPDATE = 5
    CONNTRACK_EXP_DESTROY = 6
    NFTABLES = 7
    NFTRACE = 9


def message_type(subsystem: int, number: int) -> int:
    """nlmsg_type of a subsystem's message."""
    return subsystem << 8 | number
