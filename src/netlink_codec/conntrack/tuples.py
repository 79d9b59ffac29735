"""What names a connection: addresses, protocol and ports of one direction."""

from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from ..nfnetlink import NFPROTO
from ..records import IPAddress
from .enums import CTA_FILTER_F, IPPROTO
from .flow import Addresses, Flow, Protocol, Tuple

Address = str | IPAddress
"""An address as a person writes it."""

_ICMP = {IPPROTO.ICMP: "icmp", IPPROTO.ICMPV6: "icmpv6"}
# What answers what: echo, timestamp, information, address mask; echo and node information.
_ANSWERS = {
    IPPROTO.ICMP: {8: 0, 0: 8, 13: 14, 14: 13, 15: 16, 16: 15, 17: 18, 18: 17},
    IPPROTO.ICMPV6: {128: 129, 129: 128, 139: 140, 140: 139},
}


def direction(
    proto: int | str | None = None,
    src: Address | None = None,
    dst: Address | None = None,
    sport: int | None = None,
    dport: int | None = None,
    *,
    icmp_type: int | None = None,
    icmp_code: int | None = None,
    icmp_id: int | None = None,
    zone: int | None = None,
) -> Tuple:
    """One direction of a connection; or parts of one, for `flows` and `flush` to compare with.

    Of icmp and icmpv6, `icmp_type`, `icmp_code` and `icmp_id` stand for the ports. `zone` is for a connection of which
    this direction alone is in one.
    """
    addresses = {name: ip_address(text) for name, text in (("src", src), ("dst", dst)) if text is not None}
    ends: dict[str, Any] = {f"v{address.version}_{name}": address for name, address in addresses.items()}
    if len({name[:2] for name in ends}) > 1:
        raise ValueError(f"{src} and {dst} are not of one family")
    protocol = None if proto is None else IPPROTO.of(proto)
    prefix = None if protocol is None else _ICMP.get(protocol)
    number = {"type": icmp_type, "code": icmp_code, "id": icmp_id}
    given = {name: value for name, value in number.items() if value is not None}
    ports = sport is not None or dport is not None
    if protocol is None and (given or ports):
        raise ValueError("ports, types and ids are those of a protocol: say which")
    if protocol is not None and prefix is None and given:
        raise ValueError(f"{protocol.word} has no type, code and id: these are of icmp and icmpv6")
    if protocol is not None and prefix is not None and ports:
        raise ValueError(f"{protocol.word} has no ports")
    if prefix is not None and len(ends) == 2:  # the kernel wants all three of a whole one
        given = {name: value or 0 for name, value in number.items()}
    fields: dict[str, Any] = {f"{prefix}_{name}": value for name, value in given.items()}
    return Tuple(
        addresses=Addresses(**ends) if ends else None,
        protocol=Protocol(number=protocol, src_port=sport, dst_port=dport, **fields) if protocol is not None else None,
        zone=zone,
    )


def answering(direction: Tuple) -> Tuple:
    """The other direction, where nothing is translated."""
    ends, protocol = direction.addresses or Addresses(), direction.protocol or Protocol()
    answers = _ANSWERS.get(protocol.number, {}) if protocol.number is not None else {}
    kind, kind6 = protocol.icmp_type, protocol.icmpv6_type
    return Tuple(
        addresses=Addresses(v4_src=ends.v4_dst, v4_dst=ends.v4_src, v6_src=ends.v6_dst, v6_dst=ends.v6_src),
        protocol=protocol.replace(
            src_port=protocol.dst_port,
            dst_port=protocol.src_port,
            icmp_type=None if kind is None else answers.get(kind, kind),
            icmpv6_type=None if kind6 is None else answers.get(kind6, kind6),
        ),
    )


def family_of(direction: Tuple | None) -> int:
    """That of its addresses; ValueError if it has none."""
    address = None if direction is None else direction.src or direction.dst
    if address is None:
        raise ValueError("a family is needed, since there is no address")
    return NFPROTO.IPV4 if isinstance(address, IPv4Address) else NFPROTO.IPV6


class About:
    """What is done, and to which connection, in words that are made when they are wanted."""

    __slots__ = ("doing", "which")

    def __init__(self, doing: str, which: Flow | Tuple | None) -> None:
        self.doing = doing
        self.which = which

    def __str__(self) -> str:
        which = self.which
        if isinstance(which, Flow):
            which = which.orig or which.reply
        return f"{self.doing} {which}"


def named(flow: Flow | Tuple, zone: int | None, *, reply: bool = False) -> Flow:
    """What names a connection in a request: of a Tuple, the direction that it is of.

    ValueError if that is not there: without one, the kernel would take a request to delete for one to flush.
    """
    if isinstance(flow, Tuple):
        if reply:
            return Flow(family=family_of(flow), reply=flow, zone=zone)
        return Flow(family=family_of(flow), orig=flow, zone=zone)
    zone = flow.zone if zone is None else zone
    if (flow.reply if reply else flow.orig) is None:
        raise ValueError(f"the connection has no {'reply' if reply else 'orig'}, by which it would be named")
    if reply:
        return Flow(family=flow.family, reply=flow.reply, zone=zone, id=flow.id)
    return Flow(family=flow.family, orig=flow.orig, zone=zone, id=flow.id)


_PARTS = {
    "v4_src": CTA_FILTER_F.IP_SRC,
    "v4_dst": CTA_FILTER_F.IP_DST,
    "v6_src": CTA_FILTER_F.IP_SRC,
    "v6_dst": CTA_FILTER_F.IP_DST,
    "number": CTA_FILTER_F.PROTO_NUM,
    "src_port": CTA_FILTER_F.PROTO_SRC_PORT,
    "dst_port": CTA_FILTER_F.PROTO_DST_PORT,
    "icmp_type": CTA_FILTER_F.PROTO_ICMP_TYPE,
    "icmp_code": CTA_FILTER_F.PROTO_ICMP_CODE,
    "icmp_id": CTA_FILTER_F.PROTO_ICMP_ID,
    "icmpv6_type": CTA_FILTER_F.PROTO_ICMPV6_TYPE,
    "icmpv6_code": CTA_FILTER_F.PROTO_ICMPV6_CODE,
    "icmpv6_id": CTA_FILTER_F.PROTO_ICMPV6_ID,
}


class Like:
    """In the place of a Tuple for `records.reader`: any that has what this one has."""

    def __init__(self, direction: Tuple) -> None:
        self.parts = CTA_FILTER_F(0)
        """What of it the kernel is asked to compare."""
        self.wanted: list[tuple[str, str, int | IPv4Address | IPv6Address]] = []
        for inside in ("addresses", "protocol"):
            record = getattr(direction, inside)
            for name in _PARTS:
                value = getattr(record, name, None)
                if value is not None:
                    self.wanted.append((inside, name, value))
                    # Kernels, 6.18 among them, take an IPv6 address for one that must differ: left to this side.
                    if not name.startswith("v6_"):
                        self.parts |= _PARTS[name]
        if not self.wanted:
            raise ValueError("a direction to compare with has addresses, or a protocol")
        if CTA_FILTER_F.PROTO_NUM not in self.parts and self.parts > CTA_FILTER_F.IP_SRC | CTA_FILTER_F.IP_DST:
            raise ValueError("ports, types and ids are those of a protocol: give its number too")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tuple) and all(
            getattr(getattr(other, inside), name, None) == value for inside, name, value in self.wanted
        )

    def __hash__(self) -> int:
        return hash(tuple(self.wanted))
