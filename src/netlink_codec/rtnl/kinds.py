"""What some kinds of interface add: IFLA_INFO_DATA of veth, netkit, VLANs, macvlan, ipvlan, VRF, tun and their like.

Bridges, bonds and VXLANs have files of their own.
"""

from enum import IntFlag
from typing import TYPE_CHECKING

from ..records import (
    MAC,
    S32,
    U8,
    U16,
    U16BE,
    U32,
    OpenEnum,
    Struct,
    array,
    as_enum,
    as_flags,
    attr,
    fixed,
    nested,
)
from .info import LinkData, PortData

if TYPE_CHECKING:
    from .link import Link


def _link() -> "type[Link]":
    from .link import Link

    return Link


class Dummy(LinkData, kind="dummy"):
    """An interface that drops what it is to send. It adds nothing."""


class Ifb(LinkData, kind="ifb"):
    """An interface to redirect packets to, for their queue. It adds nothing."""


class Veth(LinkData, kind="veth"):
    """A pair of interfaces, what goes into one comes out of the other: VETH_INFO_*. The kernel does not send it."""

    peer: "Link | None" = attr(1, nested(_link))
    """The other one, as it is to be made: its name, MTU, namespace."""


class NETKIT_MODE(OpenEnum):
    L2 = 0
    """Ethernet frames."""
    L3 = 1
    """IP packets."""


class NETKIT_POLICY(OpenEnum):
    """What becomes of packets where no program decides."""

    PASS = 0
    DROP = 2

    @classmethod
    def words(cls) -> dict[str, str]:
        return {"PASS": "forward", "DROP": "blackhole"}


class NETKIT_SCRUB(OpenEnum):
    """What is cleared of a packet that goes to another namespace."""

    NONE = 0
    DEFAULT = 1
    """Mark and priority."""


class Netkit(LinkData, kind="netkit"):
    """A pair of interfaces with BPF programs between them: IFLA_NETKIT_*."""

    peer_info: "Link | None" = attr(1, nested(_link))
    """The other one, as it is to be made."""
    primary: int | None = attr(2, U8)
    """1 of the one that was made, 0 of its peer."""
    policy: NETKIT_POLICY | None = attr(3, as_enum(U32, NETKIT_POLICY))
    peer_policy: NETKIT_POLICY | None = attr(4, as_enum(U32, NETKIT_POLICY))
    mode: NETKIT_MODE | None = attr(5, as_enum(U32, NETKIT_MODE))
    scrub: NETKIT_SCRUB | None = attr(6, as_enum(U32, NETKIT_SCRUB))
    peer_scrub: NETKIT_SCRUB | None = attr(7, as_enum(U32, NETKIT_SCRUB))
    headroom: int | None = attr(8, U16)
    """In bytes."""
    tailroom: int | None = attr(9, U16)


# VLAN ----------------------------------------------------------------------------------------------------------------


class VLAN_FLAG(IntFlag):
    REORDER_HDR = 0x1
    """Programs see frames without their tag."""
    GVRP = 0x2
    """Tell switches of the VLAN."""
    LOOSE_BINDING = 0x4
    """Stay up where the interface below goes down."""
    MVRP = 0x8
    BRIDGE_BINDING = 0x10
    """Up while one of the bridge's ports in this VLAN is."""


class VlanFlags(Struct):
    """struct ifla_vlan_flags."""

    flags: VLAN_FLAG = fixed(as_flags(U32, VLAN_FLAG), default=VLAN_FLAG(0))
    mask: VLAN_FLAG = fixed(as_flags(U32, VLAN_FLAG), default=VLAN_FLAG(0))
    """Which of them a request sets; from the kernel, all bits."""


class VlanQos(Struct):
    """struct ifla_vlan_qos_mapping: one number becomes another."""

    from_: int = fixed(U32, default=0)
    to: int = fixed(U32, default=0)


class Vlan(LinkData, kind="vlan"):
    """One VLAN of another interface, which is the `link`: IFLA_VLAN_*."""

    id: int | None = attr(1, U16)
    """1 to 4094."""
    flags: VlanFlags | None = attr(2, nested(VlanFlags))
    egress_qos: tuple[VlanQos, ...] | None = attr(3, array(nested(VlanQos), code=1))
    """From a packet's priority to that in its tag."""
    ingress_qos: tuple[VlanQos, ...] | None = attr(4, array(nested(VlanQos), code=1))
    """From the priority in a tag to the packet's."""
    protocol: int | None = attr(5, U16BE)
    """0x8100 for 802.1Q, 0x88a8 for 802.1ad."""


# macvlan, ipvlan -----------------------------------------------------------------------------------------------------


class MACVLAN_MODE(OpenEnum):
    """With whom a macvlan may talk."""

    PRIVATE = 1
    """Not with others on the same link."""
    VEPA = 2
    """With those by way of the switch outside."""
    BRIDGE = 4
    """With those directly."""
    PASSTHRU = 8
    """There are no others: it takes the whole link."""
    SOURCE = 16
    """With those hardware addresses that are listed."""


class MACVLAN_FLAG(IntFlag):
    NOPROMISC = 0x1
    """In passthru, the link below is not made promiscuous."""
    NODST = 0x2
    """In source mode, do not look whose hardware address it is for."""


class MACVLAN_MACADDR(OpenEnum):
    """What a request does with the list of hardware addresses."""

    ADD = 0
    DEL = 1
    FLUSH = 2
    SET = 3


class Macvlan(LinkData, kind="macvlan"):
    """An interface with a hardware address of its own on another one, which is the `link`: IFLA_MACVLAN_*."""

    mode: MACVLAN_MODE | None = attr(1, as_enum(U32, MACVLAN_MODE))
    flags: MACVLAN_FLAG | None = attr(2, as_flags(U16, MACVLAN_FLAG))
    macaddr_mode: MACVLAN_MACADDR | None = attr(3, as_enum(U32, MACVLAN_MACADDR))
    macaddr: str | None = attr(4, MAC)
    """One to add or delete."""
    macaddr_data: tuple[str, ...] | None = attr(5, array(MAC, code=4))
    """Those that there are, or that are to be set."""
    macaddr_count: int | None = attr(6, U32)
    bc_queue_len: int | None = attr(7, U32)
    """How many broadcast packets may wait, as this one asks for."""
    bc_queue_len_used: int | None = attr(8, U32)
    """How many may, as the link below does it."""
    bc_cutoff: int | None = attr(9, S32)
    """Multicast addresses with more receivers than this wait; -1: none does."""


class Macvtap(Macvlan, kind="macvtap"):
    """A macvlan whose packets go to a program, by a tap device."""


class IPVLAN_MODE(OpenEnum):
    L2 = 0
    L3 = 1
    L3S = 2
    """As L3, and netfilter sees it."""


class IPVLAN_F(IntFlag):
    PRIVATE = 0x1
    """They do not talk with each other."""
    VEPA = 0x2
    """They do, by way of the switch outside."""


class Ipvlan(LinkData, kind="ipvlan"):
    """An interface with the hardware address of another one, which is the `link`: IFLA_IPVLAN_*."""

    mode: IPVLAN_MODE | None = attr(1, as_enum(U16, IPVLAN_MODE))
    flags: IPVLAN_F | None = attr(2, as_flags(U16, IPVLAN_F))


class Ipvtap(Ipvlan, kind="ipvtap"):
    """An ipvlan whose packets go to a program, by a tap device."""


# VRF, tun ------------------------------------------------------------------------------------------------------------


class Vrf(LinkData, kind="vrf"):
    """A routing table of its own for those whose master it is: IFLA_VRF_*."""

    table: int | None = attr(1, U32)


class VrfPort(PortData, kind="vrf"):
    """What an interface has as part of a VRF: IFLA_VRF_PORT_*."""

    table: int | None = attr(1, U32)


class TUN_TYPE(OpenEnum):
    TUN = 1
    """IP packets (IFF_TUN)."""
    TAP = 2
    """Ethernet frames (IFF_TAP)."""


class Tun(LinkData, kind="tun"):
    """An interface whose other end is a program, which makes it by /dev/net/tun: IFLA_TUN_*."""

    owner: int | None = attr(1, U32)
    """Who may open it, a user id."""
    group: int | None = attr(2, U32)
    """Who may open it, a group id."""
    type: TUN_TYPE | None = attr(3, as_enum(U8, TUN_TYPE))
    pi: int | None = attr(4, U8)
    """1: the program gets four bytes about each packet before it."""
    vnet_hdr: int | None = attr(5, U8)
    """1: the program gets a struct virtio_net_hdr."""
    persist: int | None = attr(6, U8)
    """1: it stays when the program is gone."""
    multi_queue: int | None = attr(7, U8)
    num_queues: int | None = attr(8, U32)
    num_disabled_queues: int | None = attr(9, U32)
