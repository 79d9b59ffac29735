"""How addresses are forwarded and filtered, by interface: RTM_NEWNETCONF, NETCONFA_* of <linux/netconf.h>."""

from .._core import Message
from ..constants import NLM_F_DUMP
from ..records import S32, U8, Record, always, attr, fixed, reader
from ..requests import Dump
from .constants import RTM_GETNETCONF, RTM_NEWNETCONF


class NETCONFA:
    IFINDEX = 1
    FORWARDING = 2
    RP_FILTER = 3
    MC_FORWARDING = 4
    PROXY_NEIGH = 5
    IGNORE_ROUTES_WITH_LINKDOWN = 6
    INPUT = 7
    BC_FORWARDING = 8
    FORCE_FORWARDING = 9


NETCONFA_IFINDEX_ALL = -1
NETCONFA_IFINDEX_DEFAULT = -2


class NetConf(Record, identity=("family", "index")):
    """Settings of one address family on an interface, as in /proc/sys/net: struct netconfmsg, NETCONFA_*.

    Those that the family does not have are None.
    """

    family: int = fixed(U8, default=0)
    """AF_INET (2), AF_INET6 (10), AF_MPLS (28)."""
    index: int = always(NETCONFA.IFINDEX, S32)
    """Of the interface; -1 is "all", -2 what new ones get ("default")."""
    forwarding: int | None = attr(NETCONFA.FORWARDING, S32)
    """Whether packets are forwarded."""
    rp_filter: int | None = attr(NETCONFA.RP_FILTER, S32)
    """Whether a packet must come from where its answer would go: 0 no, 1 exactly, 2 from anywhere that is reachable."""
    mc_forwarding: int | None = attr(NETCONFA.MC_FORWARDING, S32)
    """Whether multicast packets are forwarded: a daemon does that."""
    proxy_neigh: int | None = attr(NETCONFA.PROXY_NEIGH, S32)
    """Whether it answers for others (proxy_arp, proxy_ndp)."""
    ignore_routes_with_linkdown: int | None = attr(NETCONFA.IGNORE_ROUTES_WITH_LINKDOWN, S32)
    input: int | None = attr(NETCONFA.INPUT, S32)
    """MPLS: whether packets are taken in."""
    bc_forwarding: int | None = attr(NETCONFA.BC_FORWARDING, S32)
    """IPv4: whether broadcasts to a network are forwarded."""
    force_forwarding: int | None = attr(NETCONFA.FORCE_FORWARDING, S32)
    """IPv6: whether packets are forwarded, whatever `forwarding` of "all" says; since Linux 6.17."""


def netconf(*, family: int = 2) -> Dump[NetConf]:
    """The settings of all interfaces, of AF_INET or another family."""
    message = Message(RTM_GETNETCONF, NLM_F_DUMP, NetConf(family=family))
    return Dump(message, reader(NetConf, RTM_NEWNETCONF, family=family), doing="list settings")
