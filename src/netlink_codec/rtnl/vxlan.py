"""VXLAN: IFLA_VXLAN_* of <linux/if_link.h>."""

from ipaddress import IPv4Address, IPv6Address

from ..records import (
    IP4,
    IP6,
    U8,
    U16BE,
    U32,
    U32BE,
    OpenEnum,
    Struct,
    as_enum,
    attr,
    custom,
    fixed,
    nested,
    present,
)
from .info import LinkData


class VXLAN_DF(OpenEnum):
    """Whether the packets outside may be fragmented."""

    UNSET = 0
    """They may."""
    SET = 1
    INHERIT = 2
    """As the packet inside says."""


class VXLAN_LABEL(OpenEnum):
    """Where the flow label of IPv6 comes from."""

    FIXED = 0
    """`label`."""
    INHERIT = 1
    """The packet inside."""


class VxlanPorts(Struct):
    """struct ifla_vxlan_port_range; in network order."""

    low: int = fixed(U16BE, default=0)
    high: int = fixed(U16BE, default=0)


class VxlanHeader(Struct):
    """struct vxlanhdr: bits of the header, in network order."""

    flags: int = fixed(U32BE, default=0)
    vni: int = fixed(U32BE, default=0)


def _switch(data: bytes) -> bool:
    return any(data) or not data


def _on(value: bool) -> bytes:
    # The kernel sends a u8, and takes a flag.
    return b"" if value else b"\0"


class Vxlan(LinkData, kind="vxlan"):
    """Ethernet in UDP: IFLA_VXLAN_*. Ports and `label` are in network order on the wire, the rest is not."""

    id: int | None = attr(1, U32)
    """The VNI, 24 bits."""
    group: IPv4Address | None = attr(2, IP4)
    """Where to, a multicast group or the other end."""
    link: int | None = attr(3, U32)
    """The interface to send by."""
    local: IPv4Address | None = attr(4, IP4)
    """The source address."""
    ttl: int | None = attr(5, U8)
    """0: the default, which of multicast is 1."""
    tos: int | None = attr(6, U8)
    """1: that of the packet inside."""
    learning: int | None = attr(7, U8)
    """1: learn where hardware addresses are from what arrives."""
    ageing: int | None = attr(8, U32)
    """Seconds after which what was learnt is forgotten."""
    limit: int | None = attr(9, U32)
    """The most that is learnt; 0 is no limit."""
    port_range: VxlanPorts | None = attr(10, nested(VxlanPorts))
    """Source ports of UDP."""
    proxy: int | None = attr(11, U8)
    """1: answer ARP for those behind it."""
    rsc: int | None = attr(12, U8)
    """1: short-circuit routes."""
    l2miss: int | None = attr(13, U8)
    """1: tell of unknown hardware addresses, by netlink."""
    l3miss: int | None = attr(14, U8)
    """1: tell of unknown IP addresses."""
    port: int | None = attr(15, U16BE)
    """Destination port of UDP: 4789, or the kernel's own default, 8472."""
    group6: IPv6Address | None = attr(16, IP6)
    local6: IPv6Address | None = attr(17, IP6)
    udp_csum: int | None = attr(18, U8)
    udp_zero_csum6_tx: int | None = attr(19, U8)
    udp_zero_csum6_rx: int | None = attr(20, U8)
    remcsum_tx: int | None = attr(21, U8)
    """1: remote checksum offload."""
    remcsum_rx: int | None = attr(22, U8)
    gbp: bool = present(23)
    """With the extension for group policies."""
    remcsum_nopartial: bool = present(24)
    collect_metadata: int | None = attr(25, U8)
    """1: routes say where to and with which VNI ("external")."""
    label: int | None = attr(26, U32BE)
    """The flow label of IPv6."""
    gpe: bool = present(27)
    """With the extension for other protocols than Ethernet."""
    ttl_inherit: bool | None = attr(28, custom(_switch, _on))
    """Whether the TTL is that of the packet inside. The kernel takes True alone: it does not switch it off."""
    df: VXLAN_DF | None = attr(29, as_enum(U8, VXLAN_DF))
    vnifilter: int | None = attr(30, U8)
    """1: with a list of VNIs; since Linux 5.18."""
    localbypass: int | None = attr(31, U8)
    """1: packets to this host's own VXLANs do not go by UDP."""
    label_policy: VXLAN_LABEL | None = attr(32, as_enum(U32, VXLAN_LABEL))
    reserved_bits: VxlanHeader | None = attr(33, nested(VxlanHeader))
    """Bits with which packets are dropped; since Linux 6.14."""
    mc_route: int | None = attr(34, U8)
    """1: multicast is routed as this host's own; since Linux 6.17."""
