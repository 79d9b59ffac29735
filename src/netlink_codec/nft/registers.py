"""What is in the registers while a rule is read, and which words of it are known so far."""

from dataclasses import dataclass, field, replace
from typing import Any

from .datatypes import TYPES, DataType
from .enums import EXTHDR_F, NFPROTO, PAYLOAD
from .exprs import Ct, Exthdr, Meta, Payload
from .fields import FIELDS, OF_ONE_NETWORK, Field
from .words import Unsaid

Need = tuple[str, Any]

_OWN: dict[NFPROTO, tuple[Need, ...]] = {
    NFPROTO.IPV4: (("network", 4),),
    NFPROTO.IPV6: (("network", 6),),
    NFPROTO.ARP: (("network", "arp"),),
    NFPROTO.BRIDGE: (("iiftype", 1),),
}
"""What is so for all packets of a family."""
_NETWORKS = {"meta nfproto": {2: 4, 10: 6}, "meta protocol": {0x0800: 4, 0x86DD: 6}}
_NETWORKS["ether type"] = _NETWORKS["meta protocol"]
_VLAN = 0x8100
_PROTOCOL = ("meta l4proto", "ip protocol", "ip6 nexthdr")
_NAMES_OF_NETWORK = {
    NFPROTO.INET: "meta nfproto",
    NFPROTO.BRIDGE: "meta protocol",
    NFPROTO.NETDEV: "meta protocol",
}
"""What `nft` compares for a network in tables of a family."""
_RAW_BASES = {
    PAYLOAD.LL_HEADER: "@ll",
    PAYLOAD.NETWORK_HEADER: "@nh",
    PAYLOAD.TRANSPORT_HEADER: "@th",
    PAYLOAD.INNER_HEADER: "@ih",
}
_MOST_RAW = 16
_ADDRESSES = ("ipv4_addr", "ipv6_addr", "ether_addr")


@dataclass(frozen=True, slots=True)
class Value:
    """What a register holds: a field, bytes, or what a map leads to. Without `types`, there are no words for it."""

    cells: tuple[int, ...]
    """Which expressions made it."""
    size: int
    words: str = ""
    types: tuple[DataType, ...] = ()
    needs: tuple[Need, ...] = ()
    payload: Payload | None = None
    data: bytes | None = None
    mask: bytes | None = None
    xor: bytes | None = None
    swapped: bool = False
    """From the host's order to the network's."""
    computed: bool = False
    """Neither a field nor bytes."""
    name: str = ""
    exists: bool = False
    """Whether it says whether something is there."""

    @property
    def type(self) -> DataType:
        if len(self.types) != 1:
            raise Unsaid
        return self.types[0].ordered("big") if self.swapped else self.types[0]

    @property
    def bare(self) -> bool:
        return self.mask is None and not self.swapped

    def made(self, cell: int, **changes: Any) -> "Value":
        return replace(self, cells=(*self.cells, cell), **changes)


class Registers:
    """Sixteen of four bytes, under both numbers that they have."""

    def __init__(self) -> None:
        self._values: dict[int, Value] = {}

    @staticmethod
    def slot(register: int | None) -> int:
        if register is not None and 1 <= register <= 4:
            return 4 * register - 4
        if register is not None and 8 <= register < 24:
            return register - 8
        raise Unsaid

    def put(self, register: int | None, value: Value) -> None:
        first = self.slot(register)
        self.forget(first, value.size)
        self._values[first] = value

    def forget(self, first: int, size: int) -> None:
        end = first + (size + 3) // 4
        for slot, value in list(self._values.items()):
            if slot < end and first < slot + (value.size + 3) // 4:
                del self._values[slot]

    def at(self, register: int | None, size: int | None = None) -> Value:
        value = self._values.get(self.slot(register))
        if value is None or not value.types or (size is not None and value.size != size):
            raise Unsaid
        return value

    def several(self, register: int | None, size: int) -> list[Value]:
        """One after another, so many bytes."""
        slot = self.slot(register)
        first = self._values.get(slot)
        if first is not None and first.size == size:
            return [self.at(register)]
        found: list[Value] = []
        while size > 0:
            value = self._values.get(slot)
            if value is None or not value.types:
                raise Unsaid
            found.append(value)
            step = (value.size + 3) // 4
            slot += step
            size -= 4 * step
        if size or len(found) == 1:
            raise Unsaid
        return found

    def cells(self, register: int | None = None) -> set[int]:
        """Which expressions made what may be read from this register, or from all."""
        first = 0 if register is None else self.slot(register)
        return {cell for slot, value in self._values.items() if slot + 4 > first for cell in value.cells}

    def clear(self, register: int | None = None) -> None:
        self.forget(0 if register is None else self.slot(register), 64)


@dataclass
class Facts:
    """What is known of the packet, and by which cell."""

    family: NFPROTO
    found: list[tuple[int, Need, bool]] = field(default_factory=list)
    """Cell, fact, and whether `nft` would say it just so, if it were needed."""

    def before(self, cell: int) -> set[Need]:
        return {*_OWN.get(self.family, ()), *(need for at, need, _ in self.found if at < cell)}

    def protocol_before(self, cell: int) -> bool:
        return any(what == "l4proto" for what, _ in self.before(cell))

    def learn(self, cell: int, value: Value, number: Any) -> None:
        """That this value is this number."""
        name = value.name
        usual = False
        if name in _NETWORKS:
            expected = _NAMES_OF_NETWORK.get(self.family)
            usual = name == expected
            network = _NETWORKS[name].get(number)
            if network and (usual or name == "ether type"):
                self.found.append((cell, ("network", network), usual))
            elif name == "ether type" and number == _VLAN:
                self.found.append((cell, (name, number), True))
        elif name in _PROTOCOL:
            self.found.append((cell, ("l4proto", getattr(number, "word", None)), name == "meta l4proto"))
        elif name in ("icmp type", "icmpv6 type"):
            self.found.append((cell, (name, number), True))
        elif name == "meta iiftype" and number == 1:
            self.found.append((cell, ("iiftype", 1), True))

    @staticmethod
    def wanted(needs: tuple[Need, ...], known: set[Need]) -> list[Need]:
        """Those that are not known, each with what it needs itself."""
        found: list[Need] = []
        for need in needs:
            for one in (("network", OF_ONE_NETWORK.get(need[1])), need):
                if one[1] is not None and one not in known and one not in found:
                    found.append(one)
        return found


def _by_source() -> dict[Any, list[Field]]:
    found: dict[Any, list[Field]] = {}
    for one in FIELDS.values():
        # What else there is has words where it is told.
        if isinstance(one.source, Payload | Meta | Ct) and one.mask is None:
            found.setdefault(_place(one.source), []).append(one)
    return found


def _place(source: Any) -> Any:
    if isinstance(source, Payload):
        return source.base, source.offset
    return type(source), source.key, getattr(source, "direction", None)


def _header(source: Exthdr) -> Any:
    return source.op, source.type, source.offset, source.len, source.flags or EXTHDR_F(0)


_SOURCES = _by_source()
_BITS: dict[Any, list[Field]] = {}
_HEADERS: dict[Any, Field] = {}
for _one in FIELDS.values():
    if _one.mask is not None and isinstance(_one.source, Payload):
        _BITS.setdefault((_place(_one.source), _one.mask), []).append(_one)
    elif _one.mask is None and isinstance(_one.source, Exthdr):
        _HEADERS[_header(_one.source)] = _one
_UNLIKE_NFT = frozenset({"ct expiration", "meta time", "meta hour"})
"""Whose numbers `nft` writes otherwise."""


def field_of(source: Meta | Ct) -> Field:
    """The field that this loads, or sets."""
    found = _SOURCES.get(_place(source), ())
    if not found or found[0].name in _UNLIKE_NFT:
        raise Unsaid
    return found[0]


def header_field(source: Exthdr) -> Field:
    """The field of an extension header, or an option, that this loads."""
    found = _HEADERS.get(_header(source))
    if found is None:
        raise Unsaid
    return found


def payload_fields(base: Any, offset: int, facts: set[Need]) -> list[Field]:
    """Those that begin there, and are known to."""
    found = [one for one in _SOURCES.get((base, offset), ()) if not Facts.wanted(_needs(one), facts)]
    if any(map(_needs, found)):
        return list(filter(_needs, found))
    if base is PAYLOAD.TRANSPORT_HEADER and any(what == "l4proto" for what, _ in facts):
        return []
    return found


def _needs(one: Field) -> tuple[Need, ...]:
    if one.name.startswith("arp "):
        return (("network", "arp"),)
    return () if one.needs is None else (one.needs,)


def named(cell: int, one: Field, **more: Any) -> Value:
    return Value((cell,), one.type.size, one.name, (one.type,), _needs(one), name=one.name, **more)


def loaded(cell: int, source: Payload, facts: set[Need]) -> Value:
    """Bytes of the packet."""
    size, offset, base = source.len or 0, source.offset or 0, source.base
    for one in payload_fields(base, offset, facts):
        if one.type.size == size:
            return named(cell, one, payload=source)
        if one.type.size > size and one.type.name in _ADDRESSES:
            return replace(named(cell, one, payload=source), size=size)
    if base is None or base not in _RAW_BASES or not 0 < size <= _MOST_RAW:
        raise Unsaid
    kind = TYPES["integer"].ordered("big", size)
    return Value((cell,), size, f"{_RAW_BASES[base]},{8 * offset},{8 * size}", (kind,), payload=source)


def bit_field(value: Value, facts: set[Need]) -> Value | None:
    """Bytes of the packet under a mask, as the field that has these bits, and is known to."""
    source = value.payload
    if source is None or value.mask is None or value.swapped or any(value.xor or b""):
        return None
    for one in _BITS.get((_place(source), value.mask), ()):
        if not Facts.wanted(_needs(one), facts):
            made: dict[str, Any] = {"mask": None, "xor": None, "payload": None}
            return replace(value, words=one.name, name=one.name, types=(one.loaded,), needs=_needs(one), **made)
    return None


def split(value: Value, facts: set[Need]) -> list[Value]:
    """The fields side by side that were loaded as one."""
    source = value.payload
    if source is None or value.name or not value.bare:
        raise Unsaid
    offset, end = source.offset or 0, (source.offset or 0) + (source.len or 0)
    found = []
    while offset < end:
        fitting = [one for one in payload_fields(source.base, offset, facts) if one.type.size <= end - offset]
        if not fitting:
            raise Unsaid
        found.append(replace(named(0, fitting[0]), cells=value.cells))
        offset += fitting[0].type.size
    return found
