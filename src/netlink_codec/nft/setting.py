"""What rules change: of the packet, of its connection, of what else is known of it."""

from collections.abc import Iterator
from typing import Any

from .enums import EXTHDR, PAYLOAD_CSUM, PAYLOAD_CSUM_F, REG
from .exprs import Ct, Expr, Exthdr, Meta, Payload
from .fields import Field, field
from .match import Context, Deferred, Source, masked
from .values import Load, Using, source


def set_meta(key: str, value: Any) -> Deferred:
    """Give the packet a mark, a priority, `nftrace`, …: `set_meta("mark", 7)`, `set_meta("mark", load("ct mark"))`."""
    one = field(f"meta {key}")
    return Using([Load(source(value, one.type), one.type, REG.R1)], Meta(key=one.source.key, sreg=REG.R1))


def set_ct(key: str, value: Any) -> Deferred:
    """Give the connection a mark, a zone, …: `set_ct("mark", 7)`, `set_ct("mark", load("meta mark"))`."""
    one = field(f"ct {key}")
    return Using([Load(source(value, one.type), one.type, REG.R1)], Ct(key=one.source.key, sreg=REG.R1))


_CHECKSUMS = {"ip": 10, "tcp": 16, "udp": 6, "udplite": 6, "dccp": 6, "icmp": 2, "icmpv6": 2, "igmp": 2, "sctp": 8}
"""Where they are in a header."""
_IN_OTHER_CHECKSUMS = {
    *("ip saddr", "ip daddr", "ip protocol", "ip length"),
    *("ip6 saddr", "ip6 daddr", "ip6 nexthdr", "ip6 length"),
}
_WITHOUT = {"ip6", "arp", "ether", "vlan", "esp", "ah", "comp"}


def set_field(name: str, value: Any) -> Deferred:
    """Write into the packet: `set_field("ip dscp", "cs1")`, `set_field("tcp option maxseg size", load("rt mtu"))`.

    Checksums are set right.
    """
    one = field(name)
    protocol = name.partition(" ")[0]
    if isinstance(one.source, Exthdr) and one.source.op is EXTHDR.TCPOPT and one.mask is None and not one.source.flags:
        into = one.source.replace(sreg=REG.R1)
        return Using([Load(source(value, one.type), one.type, REG.R1)], into)
    if not isinstance(one.source, Payload) or not (protocol in _CHECKSUMS or protocol in _WITHOUT):
        raise ValueError(f"{name} cannot be set: that is a field of a header that is known, or an option of TCP")
    return _Written(one, protocol, source(value, one.type), value)


class _Written(Deferred):
    """Whole where that is possible; checksums are of two bytes each, of which then those around it are kept."""

    def __init__(self, one: Field, protocol: str, what: Source, value: Any) -> None:
        self._field = one
        self._what = what
        self.names = what.names
        place = one.source
        checksum = _CHECKSUMS.get(protocol)
        start, end = place.offset, place.offset + place.len
        if checksum is not None:
            start, end = start & ~1, end + 1 & ~1
        kind = PAYLOAD_CSUM.NONE if checksum is None else PAYLOAD_CSUM.SCTP if protocol == "sctp" else PAYLOAD_CSUM.INET
        inside = PAYLOAD_CSUM_F.L4CSUM_PSEUDOHDR if one.name in _IN_OTHER_CHECKSUMS else PAYLOAD_CSUM_F(0)
        self._around = Payload(base=place.base, offset=start, len=end - start)
        self._write = self._around.replace(sreg=REG.R1, csum_type=kind, csum_offset=checksum or 0, csum_flags=inside)
        self._bits: tuple[bytes, bytes] | None = None
        if one.mask is not None or (start, end) != (place.offset, place.offset + place.len):
            if isinstance(value, Source | Expr):
                raise ValueError(f"{one.name} is a part of what is written, and can be set to nothing but a value")
            before, after = place.offset - start, end - place.offset - place.len
            kept = bytes(~byte & 0xFF for byte in one.mask or b"\xff" * place.len)
            data = bytes(before) + one.loaded.write(value) + bytes(after)
            self._bits = b"\xff" * before + kept + b"\xff" * after, data

    def expand(self, context: Context) -> Iterator[Expr]:
        yield from context.require(self._field.needs)
        if self._bits is None:
            yield from self._what.into(context, (self._field.type,), REG.R1)
        else:
            yield self._around.replace(dreg=REG.R1)
            yield masked(REG.R1, *self._bits)
        yield self._write


def strip_tcp_option(name: str) -> Expr:
    """Take an option of TCP away, by overwriting it: `strip_tcp_option("timestamp")`."""
    one: Any = field(f"tcp option {name}").source
    if not one.flags:
        raise ValueError(f"{name} is a part of an option, and goes with it")
    return Exthdr(op=EXTHDR.TCPOPT, type=one.type)
