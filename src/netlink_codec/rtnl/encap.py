"""What a route puts around packets: RTA_ENCAP of <linux/lwtunnel.h>, <linux/mpls_iptunnel.h>, <linux/seg6_local.h>."""

from ipaddress import IPv4Address, IPv6Address

from ..records import BYTES, IP4, IP6, U8, U16BE, U32, U64BE, Record, attr, custom, nested
from .enums import LWTUNNEL_ENCAP


def _labels(data: bytes) -> tuple[int, ...]:
    if len(data) % 4:
        raise ValueError(f"a stack of labels has 4 bytes each, not {len(data)} in all")
    return tuple(int.from_bytes(data[at : at + 4], "big") >> 12 for at in range(0, len(data), 4))


def _stack(labels: tuple[int, ...]) -> bytes:
    for label in labels:
        if not 0 <= label < 1 << 20:
            raise ValueError(f"{label} is out of range for 20 bits")
    # The last one says that it is the last (RFC 3032).
    words = [label << 12 | (at == len(labels) - 1) << 8 for at, label in enumerate(labels)]
    return b"".join([word.to_bytes(4, "big") for word in words])


LABELS = custom(_labels, _stack)
"""A stack of MPLS labels, the outermost first."""


class Inner(Record):
    """Attributes that have no fields yet: all of them are in `unknown`."""


class Encap(Record):
    """What a route puts around a packet; of a type that is not known here, everything is in `unknown`."""


class MplsEncap(Encap, kind=LWTUNNEL_ENCAP.MPLS):
    """MPLS labels: MPLS_IPTUNNEL_*."""

    labels: tuple[int, ...] | None = attr(1, LABELS)
    """The outermost first (MPLS_IPTUNNEL_DST)."""
    ttl: int | None = attr(2, U8)


class IpEncap(Encap, kind=LWTUNNEL_ENCAP.IP):
    """What a tunnel over IPv4 is told about each packet: LWTUNNEL_IP_*."""

    id: int | None = attr(1, U64BE)
    dst: IPv4Address | None = attr(2, IP4)
    src: IPv4Address | None = attr(3, IP4)
    ttl: int | None = attr(4, U8)
    tos: int | None = attr(5, U8)
    flags: int | None = attr(6, U16BE)
    """TUNNEL_*: 0x1 checksum, 0x4 key, 0x8 sequence."""
    opts: Inner | None = attr(8, nested(Inner))


class Ip6Encap(Encap, kind=LWTUNNEL_ENCAP.IP6):
    """What a tunnel over IPv6 is told about each packet: LWTUNNEL_IP6_*."""

    id: int | None = attr(1, U64BE)
    dst: IPv6Address | None = attr(2, IP6)
    src: IPv6Address | None = attr(3, IP6)
    hoplimit: int | None = attr(4, U8)
    tc: int | None = attr(5, U8)
    """Traffic class."""
    flags: int | None = attr(6, U16BE)
    """As of `IpEncap`."""
    opts: Inner | None = attr(8, nested(Inner))


class Seg6Encap(Encap, kind=LWTUNNEL_ENCAP.SEG6):
    """Segment routing: SEG6_IPTUNNEL_*."""

    srh: bytes | None = attr(1, BYTES)
    """struct seg6_iptunnel_encap: the mode in an int (0 inline, 1 encap, 2 l2encap), and the routing header."""


class Seg6LocalEncap(Encap, kind=LWTUNNEL_ENCAP.SEG6_LOCAL):
    """What is done with a segment that ends here: SEG6_LOCAL_*."""

    action: int | None = attr(1, U32)
    """SEG6_LOCAL_ACTION_*: 1 End, 2 End.X, 3 End.T, …"""
    srh: bytes | None = attr(2, BYTES)
    """struct ipv6_sr_hdr."""
    table: int | None = attr(3, U32)
    nh4: IPv4Address | None = attr(4, IP4)
    nh6: IPv6Address | None = attr(5, IP6)
    iif: int | None = attr(6, U32)
    oif: int | None = attr(7, U32)
    bpf: Inner | None = attr(8, nested(Inner))
    vrftable: int | None = attr(9, U32)
    counters: Inner | None = attr(10, nested(Inner))
    flavors: Inner | None = attr(11, nested(Inner))


class XfrmEncap(Encap, kind=LWTUNNEL_ENCAP.XFRM):
    """LWT_XFRM_*."""

    if_id: int | None = attr(1, U32)
    link: int | None = attr(2, U32)
