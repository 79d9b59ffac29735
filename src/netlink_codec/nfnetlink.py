"""What all of netfilter shares: message types, groups and address families of <linux/netfilter/nfnetlink.h>."""

from .records import OpenEnum

NFNL_SUBSYS_CTNETLINK = 1
NFNL_SUBSYS_CTNETLINK_EXP = 2
NFNL_SUBSYS_QUEUE = 3
NFNL_SUBSYS_ULOG = 4
NFNL_SUBSYS_NFTABLES = 10


class NFPROTO(OpenEnum):
    """A family: nfgen_family of a message, and what a table is for; in the words of nft."""

    UNSPEC = 0
    INET = 1
    IPV4 = 2
    ARP = 3
    NETDEV = 5
    BRIDGE = 7
    IPV6 = 10

    @classmethod
    def words(cls) -> dict[str, str]:
        return {"IPV4": "ip", "IPV6": "ip6"}


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
