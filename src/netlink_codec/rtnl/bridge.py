"""Bridges and their ports: IFLA_BR_* and IFLA_BRPORT_* of <linux/if_link.h>, IFLA_BRIDGE_* of <linux/if_bridge.h>.

Times are in seconds; the kernel counts hundredths. What is an int and described as a
statement is 1 where that is so, 0 where not.
"""

from enum import IntFlag
from ipaddress import IPv4Address, IPv6Address

from ..records import (
    IP4,
    IP6,
    MAC,
    S32,
    U8,
    U16,
    U16BE,
    U32,
    U64,
    OpenEnum,
    Record,
    Struct,
    as_enum,
    as_flags,
    attr,
    blob,
    fixed,
    nested,
    present,
    scaled,
)
from .info import LinkData, PortData

TICKS32 = scaled(U32, 0.01)
TICKS64 = scaled(U64, 0.01)


class BR_STATE(OpenEnum):
    """What a port does, as the spanning tree has it."""

    DISABLED = 0
    LISTENING = 1
    LEARNING = 2
    FORWARDING = 3
    BLOCKING = 4


class BR_BOOLOPT(IntFlag):
    """Switches of a bridge."""

    NO_LL_LEARN = 0x1
    """Learn nothing from frames to 01:80:c2:00:00:0X."""
    MCAST_VLAN_SNOOPING = 0x2
    MST_ENABLE = 0x4
    MDB_OFFLOAD_FAIL_NOTIFICATION = 0x8
    FDB_LOCAL_VLAN_0 = 0x10


class BRIDGE_FLAGS(IntFlag):
    """Whom a request of AF_BRIDGE is for: the port's bridge, or the interface itself."""

    MASTER = 0x1
    SELF = 0x2


class BRIDGE_VLAN_INFO(IntFlag):
    MASTER = 0x1
    """Of the bridge, too."""
    PVID = 0x2
    """What arrives untagged is in this VLAN."""
    UNTAGGED = 0x4
    """What leaves in this VLAN is untagged."""
    RANGE_BEGIN = 0x8
    """The first of a range; the last is in the next one."""
    RANGE_END = 0x10
    BRENTRY = 0x20
    """Of the bridge itself."""
    ONLY_OPTS = 0x40
    """Change options, do not make it."""


class BridgeId(Struct):
    """struct ifla_bridge_id."""

    priority: int = fixed(U16BE, default=0)
    addr: bytes = fixed(blob(6), default=bytes(6))

    @property
    def address(self) -> str:
        """The hardware address."""
        return self.addr.hex(":")

    def __str__(self) -> str:
        return f"{self.priority:04x}.{self.address}"


class BridgeOptions(Struct):
    """struct br_boolopt_multi."""

    optval: BR_BOOLOPT = fixed(as_flags(U32, BR_BOOLOPT), default=BR_BOOLOPT(0))
    optmask: BR_BOOLOPT = fixed(as_flags(U32, BR_BOOLOPT), default=BR_BOOLOPT(0))
    """Which of them a request sets, and which the kernel knows."""


class BridgeQuerier(Record):
    """Who asks for multicast members: BRIDGE_QUERIER_*."""

    ip_address: IPv4Address | None = attr(1, IP4)
    ip_port: int | None = attr(2, U32)
    """Index of the port; none where it is the bridge itself."""
    ip_other_timer: float | None = attr(3, TICKS64)
    pad: bool = present(4)
    ipv6_address: IPv6Address | None = attr(5, IP6)
    ipv6_port: int | None = attr(6, U32)
    ipv6_other_timer: float | None = attr(7, TICKS64)


class Bridge(LinkData, kind="bridge"):
    """A bridge: IFLA_BR_*."""

    forward_delay: float | None = attr(1, TICKS32)
    """Seconds in each of the states listening and learning."""
    hello_time: float | None = attr(2, TICKS32)
    max_age: float | None = attr(3, TICKS32)
    ageing_time: float | None = attr(4, TICKS32)
    """Seconds that a hardware address is remembered; 0 is for ever."""
    stp_state: int | None = attr(5, U32)
    """0: no spanning tree. 1: the kernel's. 2: a program's."""
    priority: int | None = attr(6, U16)
    """Of the spanning tree; the lowest is the root."""
    vlan_filtering: int | None = attr(7, U8)
    """VLANs are kept apart."""
    vlan_protocol: int | None = attr(8, U16BE)
    """0x8100 or 0x88a8; in network order."""
    group_fwd_mask: int | None = attr(9, U16)
    """Bit n: frames to 01:80:c2:00:00:0n are forwarded."""
    root_id: BridgeId | None = attr(10, nested(BridgeId))
    bridge_id: BridgeId | None = attr(11, nested(BridgeId))
    root_port: int | None = attr(12, U16)
    root_path_cost: int | None = attr(13, U32)
    topology_change: int | None = attr(14, U8)
    topology_change_detected: int | None = attr(15, U8)
    hello_timer: float | None = attr(16, TICKS64)
    """What is left of it, in seconds; as of all timers."""
    tcn_timer: float | None = attr(17, TICKS64)
    topology_change_timer: float | None = attr(18, TICKS64)
    gc_timer: float | None = attr(19, TICKS64)
    group_addr: str | None = attr(20, MAC)
    """Where frames of the spanning tree go to."""
    fdb_flush: bool = present(21)
    """In requests: forget what was learnt."""
    mcast_router: int | None = attr(22, U8)
    """Are multicast routers behind it? 0: no. 1: look for them. 2: yes."""
    mcast_snooping: int | None = attr(23, U8)
    mcast_query_use_ifaddr: int | None = attr(24, U8)
    mcast_querier: int | None = attr(25, U8)
    mcast_hash_elasticity: int | None = attr(26, U32)
    mcast_hash_max: int | None = attr(27, U32)
    mcast_last_member_cnt: int | None = attr(28, U32)
    mcast_startup_query_cnt: int | None = attr(29, U32)
    mcast_last_member_intvl: float | None = attr(30, TICKS64)
    mcast_membership_intvl: float | None = attr(31, TICKS64)
    mcast_querier_intvl: float | None = attr(32, TICKS64)
    mcast_query_intvl: float | None = attr(33, TICKS64)
    mcast_query_response_intvl: float | None = attr(34, TICKS64)
    mcast_startup_query_intvl: float | None = attr(35, TICKS64)
    nf_call_iptables: int | None = attr(36, U8)
    nf_call_ip6tables: int | None = attr(37, U8)
    nf_call_arptables: int | None = attr(38, U8)
    vlan_default_pvid: int | None = attr(39, U16)
    """The VLAN that new ports are in untagged; 0: none."""
    pad: bool = present(40)
    vlan_stats_enabled: int | None = attr(41, U8)
    mcast_stats_enabled: int | None = attr(42, U8)
    mcast_igmp_version: int | None = attr(43, U8)
    mcast_mld_version: int | None = attr(44, U8)
    vlan_stats_per_port: int | None = attr(45, U8)
    multi_boolopt: BridgeOptions | None = attr(46, nested(BridgeOptions))
    mcast_querier_state: BridgeQuerier | None = attr(47, nested(BridgeQuerier))
    fdb_n_learned: int | None = attr(48, U32)
    """How many hardware addresses are learnt; since Linux 6.7."""
    fdb_max_learned: int | None = attr(49, U32)
    """How many may be; 0 is no limit."""


class BridgePort(PortData, kind="bridge"):
    """What an interface has as a port of a bridge: IFLA_BRPORT_*."""

    state: BR_STATE | None = attr(1, as_enum(U8, BR_STATE))
    priority: int | None = attr(2, U16)
    cost: int | None = attr(3, U32)
    mode: int | None = attr(4, U8)
    """Frames may leave by the port that they came by ("hairpin")."""
    guard: int | None = attr(5, U8)
    """Frames of the spanning tree that arrive here switch the port off ("BPDU guard")."""
    protect: int | None = attr(6, U8)
    """The root of the tree is not to be behind it ("root block")."""
    fast_leave: int | None = attr(7, U8)
    learning: int | None = attr(8, U8)
    unicast_flood: int | None = attr(9, U8)
    """Frames to an address that is not known go there, too."""
    proxyarp: int | None = attr(10, U8)
    learning_sync: int | None = attr(11, U8)
    proxyarp_wifi: int | None = attr(12, U8)
    root_id: BridgeId | None = attr(13, nested(BridgeId))
    bridge_id: BridgeId | None = attr(14, nested(BridgeId))
    designated_port: int | None = attr(15, U16)
    designated_cost: int | None = attr(16, U16)
    id: int | None = attr(17, U16)
    no: int | None = attr(18, U16)
    topology_change_ack: int | None = attr(19, U8)
    config_pending: int | None = attr(20, U8)
    message_age_timer: float | None = attr(21, TICKS64)
    forward_delay_timer: float | None = attr(22, TICKS64)
    hold_timer: float | None = attr(23, TICKS64)
    flush: bool = present(24)
    """In requests: forget what was learnt here."""
    multicast_router: int | None = attr(25, U8)
    """Is a multicast router behind it? 0: no. 1: look for one. 2: yes. 3: yes, for the time being."""
    pad: bool = present(26)
    mcast_flood: int | None = attr(27, U8)
    mcast_to_ucast: int | None = attr(28, U8)
    vlan_tunnel: int | None = attr(29, U8)
    bcast_flood: int | None = attr(30, U8)
    group_fwd_mask: int | None = attr(31, U16)
    neigh_suppress: int | None = attr(32, U8)
    """ARP and neighbour discovery are answered here, and do not go there."""
    isolated: int | None = attr(33, U8)
    """It talks to ports alone that are not isolated."""
    backup_port: int | None = attr(34, U32)
    """Index of the port to use where this one has no carrier; 0 in requests: none."""
    mrp_ring_open: int | None = attr(35, U8)
    mrp_in_open: int | None = attr(36, U8)
    mcast_eht_hosts_limit: int | None = attr(37, U32)
    mcast_eht_hosts_cnt: int | None = attr(38, U32)
    locked: int | None = attr(39, U8)
    """What is behind it is heard if it is known alone (802.1X)."""
    mab: int | None = attr(40, U8)
    """Who is behind a locked port is told, by netlink."""
    mcast_n_groups: int | None = attr(41, U32)
    mcast_max_groups: int | None = attr(42, U32)
    neigh_vlan_suppress: int | None = attr(43, U8)
    backup_nhid: int | None = attr(44, U32)
    """The nexthop object to use on the backup port."""


# IFLA_AF_SPEC of AF_BRIDGE -------------------------------------------------------------------------------------------


class BridgeVlan(Struct):
    """struct bridge_vlan_info."""

    flags: BRIDGE_VLAN_INFO = fixed(as_flags(U16, BRIDGE_VLAN_INFO), default=BRIDGE_VLAN_INFO(0))
    vid: int = fixed(U16, default=0)


class BridgeVlanTunnel(Record):
    """Which tunnel a VLAN goes by: IFLA_BRIDGE_VLAN_TUNNEL_*."""

    id: int | None = attr(1, U32)
    vid: int | None = attr(2, U16)
    flags: BRIDGE_VLAN_INFO | None = attr(3, as_flags(U16, BRIDGE_VLAN_INFO))


class BridgeMstEntry(Record):
    """One tree of several: IFLA_BRIDGE_MST_ENTRY_*."""

    msti: int | None = attr(1, U16)
    state: BR_STATE | None = attr(2, as_enum(U8, BR_STATE))


class BridgeMrp(Record):
    """A ring of the Media Redundancy Protocol: IFLA_BRIDGE_MRP_INFO_*."""

    ring_id: int | None = attr(1, U32)
    p_ifindex: int | None = attr(2, U32)
    s_ifindex: int | None = attr(3, U32)
    prio: int | None = attr(4, U16)
    ring_state: int | None = attr(5, U32)
    ring_role: int | None = attr(6, U32)
    test_interval: int | None = attr(7, U32)
    test_max_miss: int | None = attr(8, U32)
    test_monitor: int | None = attr(9, U32)
    i_ifindex: int | None = attr(10, S32)
    in_state: int | None = attr(11, U32)
    in_role: int | None = attr(12, U32)
    in_test_interval: int | None = attr(13, U32)
    in_test_max_miss: int | None = attr(14, U32)
