"""Bonds and their ports: IFLA_BOND_* of <linux/if_link.h>, <linux/if_bonding.h>. Times are in milliseconds."""

from enum import IntFlag
from ipaddress import IPv4Address, IPv6Address

from ..records import (
    IP4,
    IP6,
    MAC,
    S32,
    U8,
    U16,
    U32,
    OpenEnum,
    Record,
    array,
    as_enum,
    as_flags,
    attr,
    nested,
)
from .info import LinkData, PortData


class BOND_MODE(OpenEnum):
    """Which port a packet takes."""

    ROUNDROBIN = 0
    """One after the other."""
    ACTIVEBACKUP = 1
    """The active one; where that fails, another."""
    XOR = 2
    """By the packet's addresses."""
    BROADCAST = 3
    """All."""
    LACP = 4
    """By the packet's addresses, and the switch knows (BOND_MODE_8023AD)."""
    TLB = 5
    """By load."""
    ALB = 6
    """By load, receiving too."""

    @classmethod
    def words(cls) -> dict[str, str]:
        return {
            "ROUNDROBIN": "balance-rr",
            "ACTIVEBACKUP": "active-backup",
            "XOR": "balance-xor",
            "LACP": "802.3ad",
            "TLB": "balance-tlb",
            "ALB": "balance-alb",
        }


class BOND_XMIT_POLICY(OpenEnum):
    """By what of a packet a port is chosen."""

    LAYER2 = 0
    """Hardware addresses."""
    LAYER34 = 1
    """IP addresses and ports."""
    LAYER23 = 2
    """Hardware and IP addresses."""
    ENCAP23 = 3
    """The same, of the packet inside."""
    ENCAP34 = 4
    VLAN_SRCMAC = 5
    """VLAN and source."""

    @classmethod
    def words(cls) -> dict[str, str]:
        return {
            "LAYER34": "layer3+4",
            "LAYER23": "layer2+3",
            "ENCAP23": "encap2+3",
            "ENCAP34": "encap3+4",
            "VLAN_SRCMAC": "vlan+srcmac",
        }


class BOND_ARP_VALIDATE(OpenEnum):
    """Which ports' ARP packets are looked at."""

    NONE = 0
    ACTIVE = 1
    BACKUP = 2
    ALL = 3
    FILTER = 4
    """Other packets than ARP do not count as traffic."""
    FILTER_ACTIVE = 5
    FILTER_BACKUP = 6

    @classmethod
    def words(cls) -> dict[str, str]:
        return {"FILTER_ACTIVE": "filter_active", "FILTER_BACKUP": "filter_backup"}


class BOND_ARP_TARGETS(OpenEnum):
    """How many targets of ARP must answer."""

    ANY = 0
    ALL = 1


class BOND_PRI_RESELECT(OpenEnum):
    """When the primary port becomes active again."""

    ALWAYS = 0
    """As soon as it is back."""
    BETTER = 1
    """If it is faster than the active one."""
    FAILURE = 2
    """When that fails."""


class BOND_FOM(OpenEnum):
    """Which hardware address is used where another port becomes active (fail_over_mac)."""

    NONE = 0
    """The same."""
    ACTIVE = 1
    """The bond takes the port's."""
    FOLLOW = 2
    """The port takes the bond's when it becomes active."""


class AD_LACP_RATE(OpenEnum):
    """How often the switch is to send."""

    SLOW = 0
    """Every 30 seconds."""
    FAST = 1
    """Each second."""


class AD_SELECT(OpenEnum):
    """Which aggregator is used."""

    STABLE = 0
    BANDWIDTH = 1
    COUNT = 2
    """That with the most ports."""
    ACTOR_PORT_PRIO = 3

    @classmethod
    def words(cls) -> dict[str, str]:
        return {"ACTOR_PORT_PRIO": "actor_port_prio"}


class BOND_STATE(OpenEnum):
    ACTIVE = 0
    BACKUP = 1

    @property
    def word(self) -> str:
        return self.name


class BOND_LINK(OpenEnum):
    """What is known of a port's carrier."""

    UP = 0
    FAIL = 1
    """Down since less than `downdelay`."""
    DOWN = 2
    BACK = 3
    """Up since less than `updelay`."""

    @classmethod
    def words(cls) -> dict[str, str]:
        return {"UP": "UP", "FAIL": "GOING_DOWN", "DOWN": "DOWN", "BACK": "GOING_BACK"}


class LACP_STATE(IntFlag):
    """What one side says of a port (802.3ad)."""

    LACP_ACTIVITY = 0x1
    LACP_TIMEOUT = 0x2
    AGGREGATION = 0x4
    SYNCHRONIZATION = 0x8
    COLLECTING = 0x10
    DISTRIBUTING = 0x20
    DEFAULTED = 0x40
    EXPIRED = 0x80


class BondAdInfo(Record):
    """What 802.3ad has agreed on: IFLA_BOND_AD_INFO_*."""

    aggregator: int | None = attr(1, U16)
    num_ports: int | None = attr(2, U16)
    actor_key: int | None = attr(3, U16)
    partner_key: int | None = attr(4, U16)
    partner_mac: str | None = attr(5, MAC)


class Bond(LinkData, kind="bond"):
    """Several interfaces as one: IFLA_BOND_*."""

    mode: BOND_MODE | None = attr(1, as_enum(U8, BOND_MODE))
    active_slave: int | None = attr(2, U32)
    """Index of the active port; 0 in requests: none."""
    miimon: int | None = attr(3, U32)
    """Milliseconds between looks at the ports' carriers; 0: never."""
    updelay: int | None = attr(4, U32)
    downdelay: int | None = attr(5, U32)
    use_carrier: int | None = attr(6, U8)
    arp_interval: int | None = attr(7, U32)
    """Milliseconds between ARP requests; 0: none."""
    arp_ip_target: tuple[IPv4Address, ...] | None = attr(8, array(IP4))
    arp_validate: BOND_ARP_VALIDATE | None = attr(9, as_enum(U32, BOND_ARP_VALIDATE))
    arp_all_targets: BOND_ARP_TARGETS | None = attr(10, as_enum(U32, BOND_ARP_TARGETS))
    primary: int | None = attr(11, U32)
    """Index of the port that is used where it can be."""
    primary_reselect: BOND_PRI_RESELECT | None = attr(12, as_enum(U8, BOND_PRI_RESELECT))
    fail_over_mac: BOND_FOM | None = attr(13, as_enum(U8, BOND_FOM))
    xmit_hash_policy: BOND_XMIT_POLICY | None = attr(14, as_enum(U8, BOND_XMIT_POLICY))
    resend_igmp: int | None = attr(15, U32)
    num_peer_notif: int | None = attr(16, U8)
    all_slaves_active: int | None = attr(17, U8)
    min_links: int | None = attr(18, U32)
    """Ports that must be up for the bond to be."""
    lp_interval: int | None = attr(19, U32)
    """Seconds between learning packets."""
    packets_per_slave: int | None = attr(20, U32)
    ad_lacp_rate: AD_LACP_RATE | None = attr(21, as_enum(U8, AD_LACP_RATE))
    ad_select: AD_SELECT | None = attr(22, as_enum(U8, AD_SELECT))
    ad_info: BondAdInfo | None = attr(23, nested(BondAdInfo))
    ad_actor_sys_prio: int | None = attr(24, U16)
    ad_user_port_key: int | None = attr(25, U16)
    ad_actor_system: str | None = attr(26, MAC)
    tlb_dynamic_lb: int | None = attr(27, U8)
    peer_notif_delay: int | None = attr(28, U32)
    ad_lacp_active: int | None = attr(29, U8)
    """1: send to the switch, whether it does or not."""
    missed_max: int | None = attr(30, U8)
    """ARP answers that may be missing."""
    ns_ip6_target: tuple[IPv6Address, ...] | None = attr(31, array(IP6))
    """As `arp_ip_target`, by neighbour discovery; since Linux 5.18."""
    coupled_control: int | None = attr(32, U8)
    """1: collecting and distributing go together; since Linux 6.9."""
    broadcast_neigh: int | None = attr(33, U8)
    """1: ARP and neighbour discovery go by all ports; since Linux 6.17."""


class BondPort(PortData, kind="bond"):
    """What an interface has as a port of a bond: IFLA_BOND_SLAVE_*."""

    state: BOND_STATE | None = attr(1, as_enum(U8, BOND_STATE))
    mii_status: BOND_LINK | None = attr(2, as_enum(U8, BOND_LINK))
    link_failure_count: int | None = attr(3, U32)
    perm_hwaddr: str | None = attr(4, MAC)
    """The hardware address that it had before."""
    queue_id: int | None = attr(5, U16)
    ad_aggregator_id: int | None = attr(6, U16)
    ad_actor_oper_port_state: LACP_STATE | None = attr(7, as_flags(U8, LACP_STATE))
    ad_partner_oper_port_state: LACP_STATE | None = attr(8, as_flags(U16, LACP_STATE))
    prio: int | None = attr(9, S32)
    """The highest becomes active where the primary fails."""
    actor_port_prio: int | None = attr(10, U16)
    """Of 802.3ad; since Linux 6.18."""
