"""What is loaded into registers, compared and looked up, in words."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network
from typing import Any

from . import words
from .datatypes import TYPES, DataType
from .elements import Element
from .enums import BITWISE, BYTEORDER, CMP, CT, FIB, FIB_F, HASH, INV, NG, RANGE, RT, SET_F, SOCKET
from .exprs import (
    Bitwise,
    Byteorder,
    Cmp,
    Ct,
    Data,
    Exthdr,
    Fib,
    Hash,
    Immediate,
    Lookup,
    Meta,
    Numgen,
    Payload,
    RangeExpr,
    Rt,
    Socket,
)
from .registers import Value, bit_field, field_of, header_field, loaded, named, split
from .sets import Set, Shape
from .telling import Telling, says
from .wordlists import BITS
from .words import Unsaid

_NUMBER = TYPES["integer"].ordered(TYPES["integer"].order, 4)
_ADDRESSES = ("ipv4_addr", "ipv6_addr")


def octets(data: Data | None) -> bytes:
    if data is None or data.value is None or data.verdict is not None:
        raise Unsaid
    return data.value


def number_of(kind: DataType, data: bytes) -> int:
    return int.from_bytes(data, kind.order)


# Loads ----------------------------------------------------------------------------------------------------------------


def _put(telling: Telling, register: int | None, value: Value) -> None:
    telling.registers.put(register, value)


def load_meta(telling: Telling, cell: int, data: Meta) -> None:
    if data.key is None:
        raise Unsaid
    _put(telling, data.dreg, named(cell, field_of(data)))


def load_ct(telling: Telling, cell: int, data: Ct) -> None:
    if data.key is None:
        raise Unsaid
    if data.key in (CT.PROTO_SRC, CT.PROTO_DST) and not telling.facts.protocol_before(cell):
        raise Unsaid  # nft would not know what numbers they are
    _put(telling, data.dreg, named(cell, field_of(data)))


@says(Exthdr, "dreg type offset len flags op")
def _exthdr(telling: Telling, cell: int, data: Exthdr) -> None:
    one = header_field(data)
    _put(telling, data.dreg, named(cell, one, exists=one.type.name == "boolean"))


def load_payload(telling: Telling, cell: int, data: Payload) -> None:
    _put(telling, data.dreg, loaded(cell, data, telling.facts.before(cell)))


def _computed(telling: Telling, cell: int, register: int | None, text: str, kind: DataType, **more: Any) -> None:
    _put(telling, register, Value((cell,), kind.size, text, (kind,), name=text, **more))


_FIB_RESULTS = {
    FIB.OIF: ("oif", "iface_index"),
    FIB.OIFNAME: ("oifname", "ifname"),
    FIB.ADDRTYPE: ("type", "fib_addrtype"),
}
_FIB_INPUTS = {FIB_F.SADDR: "saddr", FIB_F.DADDR: "daddr", FIB_F.MARK: "mark", FIB_F.IIF: "iif", FIB_F.OIF: "oif"}


@says(Fib, "dreg result flags")
def _fib(telling: Telling, cell: int, data: Fib) -> None:
    flags = words.flags_within(data.flags, sum(_FIB_INPUTS) | FIB_F.PRESENT)
    looked_up = " . ".join(word for bit, word in _FIB_INPUTS.items() if flags & bit)
    if data.result not in _FIB_RESULTS or not looked_up:
        raise Unsaid
    word, kind = _FIB_RESULTS[data.result]
    if flags & FIB_F.PRESENT:
        if data.result is not FIB.OIF:
            raise Unsaid
        _computed(telling, cell, data.dreg, f"fib {looked_up} {word}", _NUMBER, exists=True)
        return
    _computed(telling, cell, data.dreg, f"fib {looked_up} {word}", TYPES[kind])


def _of(modulus: int | None, seed: int | None, offset: int | None) -> str:
    if not modulus:
        raise Unsaid
    return f"mod {modulus}{'' if seed is None else f' seed {seed:#x}'}{f' offset {offset}' if offset else ''}"


@says(Numgen, "dreg modulus type offset")
def _numgen(telling: Telling, cell: int, data: Numgen) -> None:
    how = {NG.INCREMENTAL: "inc", NG.RANDOM: "random"}.get(data.type or NG.INCREMENTAL)
    if how is None or data.type is None:
        raise Unsaid
    _computed(telling, cell, data.dreg, f"numgen {how} {_of(data.modulus, None, data.offset)}", _NUMBER)


@says(Hash, "sreg dreg len modulus seed offset type")
def _hash(telling: Telling, cell: int, data: Hash) -> None:
    if data.type is HASH.SYM:
        if data.sreg is not None or data.seed is not None or data.len is not None:
            raise Unsaid
        _computed(telling, cell, data.dreg, f"symhash {_of(data.modulus, None, data.offset)}", _NUMBER)
        return
    if data.type is not HASH.JENKINS or not data.len:
        raise Unsaid
    values = _fields(telling.registers.several(data.sreg, -(-data.len // 4) * 4))
    text = f"jhash {_joined(values)} {_of(data.modulus, data.seed, data.offset)}"
    cells = tuple(one for value in values for one in value.cells)
    needs = tuple(dict.fromkeys(need for value in values for need in value.needs))
    _put(telling, data.dreg, Value((*cells, cell), 4, text, (_NUMBER,), needs, name=text))


_RT = {
    RT.CLASSID: ("rt classid", "realm", 4),
    RT.NEXTHOP4: ("rt ip nexthop", "ipv4_addr", 4),
    RT.NEXTHOP6: ("rt ip6 nexthop", "ipv6_addr", 16),
    RT.TCPMSS: ("rt mtu", "integer", 2),
}
_SOCKET = {
    SOCKET.TRANSPARENT: ("socket transparent", "integer", 1),
    SOCKET.MARK: ("socket mark", "mark", 4),
    SOCKET.WILDCARD: ("socket wildcard", "integer", 1),
}


@says(Rt, "dreg key")
def _rt(telling: Telling, cell: int, data: Rt) -> None:
    if data.key not in _RT:
        raise Unsaid
    text, kind, size = _RT[data.key]
    _computed(telling, cell, data.dreg, text, TYPES[kind].ordered(TYPES[kind].order, size))


@says(Socket, "dreg key level")
def _socket(telling: Telling, cell: int, data: Socket) -> None:
    if data.key not in _SOCKET or data.level:
        raise Unsaid
    text, kind, size = _SOCKET[data.key]
    _computed(telling, cell, data.dreg, text, TYPES[kind].ordered(TYPES[kind].order, size))


@says(Immediate, "dreg data")
def _immediate(telling: Telling, cell: int, data: Immediate) -> None:
    if data.dreg == 0:
        telling.tell(cell, words.verdict(None if data.data is None else data.data.verdict))
        return
    value = octets(data.data)
    _put(telling, data.dreg, Value((cell,), len(value), types=(_NUMBER,), data=value))


@says(Bitwise, "sreg dreg len mask xor op")
def _bitwise(telling: Telling, cell: int, data: Bitwise) -> None:
    value = telling.registers.at(data.sreg, data.len)
    if data.op not in (None, BITWISE.MASK_XOR) or not value.bare or value.data is not None:
        raise Unsaid
    mask, xor = octets(data.mask), octets(data.xor)
    if not len(mask) == len(xor) == value.size:
        raise Unsaid
    _put(telling, data.dreg, value.made(cell, mask=mask, xor=xor))


@says(Byteorder, "sreg dreg op len size")
def _byteorder(telling: Telling, cell: int, data: Byteorder) -> None:
    value = telling.registers.at(data.sreg, data.len)
    kind = value.type
    if (
        data.op is not BYTEORDER.HTON
        or data.size != value.size
        or not value.bare
        or value.data is not None
        or kind.order == "big"
        or kind.ordered("big") is kind
    ):
        raise Unsaid
    _put(telling, data.dreg, value.made(cell, swapped=True))


# Comparisons ----------------------------------------------------------------------------------------------------------


def _field(value: Value) -> Value:
    if value.data is not None or value.computed:
        raise Unsaid
    return value


def _fields(values: Sequence[Value]) -> list[Value]:
    """As they are, whole."""
    for value in values:
        if _field(value).mask is not None or value.type.size != value.size:
            raise Unsaid
    return list(values)


def _joined(values: Sequence[Value]) -> str:
    return " . ".join(value.words for value in values)


def _read(value: Value, data: bytes, say: Callable[[DataType, Any], str] = words.said) -> str:
    if value.exists:
        return {0: "missing", 1: "exists"}.get(number_of(value.type, data)) or _unsaid()
    if value.payload is not None and not value.name:
        return hex(int.from_bytes(data, "big")) if len(data) == value.size else _unsaid()
    return words.read(value.type, data, say)


def _unsaid() -> str:
    raise Unsaid


@says(Cmp, "sreg op data")
def _cmp(telling: Telling, cell: int, data: Cmp) -> None:
    value, wanted, op = _field(telling.registers.at(data.sreg)), octets(data.data), data.op
    if op is None or op > CMP.GTE:
        raise Unsaid
    bits = bit_field(value, telling.facts.before(cell))
    if op not in (CMP.EQ, CMP.NEQ):
        _ordered(telling, cell, value, op, wanted)
    elif bits is not None:
        if len(wanted) != bits.size:
            raise Unsaid
        telling.tell(cell, f"{bits.words} {'' if op is CMP.EQ else '!= '}{words.read(bits.type, wanted)}", [bits])
    elif value.mask is not None:
        telling.tell(cell, _masked(value, op, wanted), [value])
    elif value.swapped:
        raise Unsaid
    else:
        _equal(telling, cell, value, op, wanted)


def _equal(telling: Telling, cell: int, value: Value, op: CMP, wanted: bytes) -> None:
    kind, sign = value.type, "" if op is CMP.EQ else "!= "
    if kind.name in _ADDRESSES and len(wanted) < kind.size and (value.size == kind.size or value.size == len(wanted)):
        # The first bytes are all that is compared.
        network = IPv4Network if kind.size == 4 else IPv6Network
        text = network((wanted.ljust(kind.size, b"\0"), 8 * len(wanted)))
        telling.tell(cell, f"{value.words} {sign}{text}", [value])
        return
    if value.size != kind.size:
        raise Unsaid
    if kind.name == "ifname" and 0 < len(wanted) < kind.size and b"\0" not in wanted:
        text = kind.read(wanted)
        if "*" in text:
            raise Unsaid
        telling.tell(cell, f"{value.words} {sign}{words.quoted(text + '*')}", [value])
        return
    if len(wanted) != value.size:
        raise Unsaid
    if op is CMP.EQ and value.payload is not None and not value.name:
        try:
            parts = split(value, telling.facts.before(cell))
        except Unsaid:
            pass
        else:
            telling.tell(cell, _side_by_side(parts, wanted), parts)
            return
    if kind.name in BITS and not value.exists:
        sign = "== " if op is CMP.EQ else sign
    telling.tell(cell, f"{value.words} {sign}{_read(value, wanted)}", [value])
    if op is CMP.EQ:
        telling.facts.learn(cell, value, kind.read(wanted))


def _side_by_side(parts: Sequence[Value], wanted: bytes) -> str:
    found, offset = [], 0
    for part in parts:
        if part.type.name in BITS:
            raise Unsaid
        found.append(f"{part.words} {words.read(part.type, wanted[offset : offset + part.size])}")
        offset += part.size
    return " ".join(found)


def _ordered(telling: Telling, cell: int, value: Value, op: CMP, wanted: bytes) -> None:
    """Compared as numbers: what is so in the order of their bytes."""
    kind = value.type
    if not _has_order(value) or len(wanted) != value.size:
        raise Unsaid
    text, low = _read(value, wanted), telling.low
    if op is CMP.LTE and low is not None and low[:2] == (cell - 1, value) and low[2] <= wanted:
        first, last = (_read(value, data, words.bound) for data in (low[2], wanted))
        telling.join(cell, f"{value.words} {first}-{last}")
        return
    telling.tell(cell, f"{value.words} {op.word} {text}", [value])
    telling.low = (cell, value, wanted) if op is CMP.GTE and kind.size == value.size else None


def _has_order(value: Value) -> bool:
    kind = value.type
    return (
        value.mask is None
        and value.size == kind.size
        and (kind.order == "big" or kind.size == 1)
        and (kind.plain or kind.make is not None or kind.name == "inet_proto")
        and kind.name not in BITS
    )


def _masked(value: Value, op: CMP, wanted: bytes) -> str:
    kind, mask = value.type, value.mask or b""
    if value.xor is None or any(value.xor) or len(wanted) != value.size or kind.size != value.size or value.exists:
        raise Unsaid
    sign = "" if op is CMP.EQ else "!= "
    if kind.name in BITS:
        bits = number_of(kind, mask)
        if not any(wanted):
            return f"{value.words} {'' if sign else '! '}{words.bits(kind, bits, ',')}"
        return f"{value.words} & {_bits(kind, bits)} {op.word} {_bits(kind, number_of(kind, wanted))}"
    if kind.make is not None:
        length = words.prefix_length(mask)
        inside = all(not byte & ~part & 0xFF for byte, part in zip(wanted, mask, strict=True))
        if length is not None and inside:
            return f"{value.words} {sign}{kind.make(wanted)}/{length}"
        return f"{value.words} & {kind.make(mask)} {op.word} {kind.make(wanted)}"
    if not (kind.plain or kind.name == "inet_proto"):
        raise Unsaid
    width = 2 + 2 * kind.size if kind.name == "mark" else 0
    return f"{value.words} & {number_of(kind, mask):#0{width}x} {op.word} {number_of(kind, wanted):#0{width}x}"


def _bits(kind: DataType, value: int) -> str:
    text = words.bits(kind, value, " | ")
    return f"({text})" if "|" in text else text


@says(RangeExpr, "sreg op from_data to_data")
def _range(telling: Telling, cell: int, data: RangeExpr) -> None:
    value = _field(telling.registers.at(data.sreg))
    first, last = octets(data.from_data), octets(data.to_data)
    if not _has_order(value) or not len(first) == len(last) == value.size or data.op is None or data.op > RANGE.NEQ:
        raise Unsaid
    if first > last:
        raise Unsaid
    sign = "" if data.op is RANGE.EQ else "!= "
    telling.tell(
        cell, f"{value.words} {sign}{_read(value, first, words.bound)}-{_read(value, last, words.bound)}", [value]
    )


# Sets -----------------------------------------------------------------------------------------------------------------


def keys(telling: Telling, register: int | None, one: Set) -> list[Value]:
    """What is looked up."""
    if one.key_len is None:
        raise Unsaid
    values = _fields(telling.registers.several(register, one.key_len))
    interval = bool((one.flags or SET_F(0)) & SET_F.INTERVAL)
    for value in values:
        if not value.name and len(values) > 1:
            raise Unsaid
        kind = replace(value, swapped=False).type
        swaps = kind.order != "big" and kind.size > 1 and kind.ordered("big") is not kind
        if value.swapped != (swaps and interval):
            raise Unsaid
    return values


def inside(values: Sequence[Value], one: Set, elements: Iterator[Element]) -> str:
    """What is in a set without a name."""
    types = tuple(value.type for value in values)
    data = one.shape.data
    found = []
    for element in elements:
        if element.expressions or element.timeout is not None or element.expiration is not None:
            raise Unsaid
        text = words.key(types, element.key)
        if element.comment is not None:
            text += f" comment {words.quoted(element.comment)}"
        if element.value is not None:
            text += f" : {words.led_to(data, element.value)}"
        found.append(text)
    if not found:
        raise Unsaid
    return f"{{ {', '.join(found)} }}"


def reference(telling: Telling, name: str | None, register: int | None) -> tuple[list[Value], str, Set]:
    """What is looked up, and where."""
    known = telling.known_set(name or "")
    if known is None:
        raise Unsaid
    one = known.set
    values, flags = keys(telling, register, one), one.flags or SET_F(0)
    if not flags & SET_F.ANONYMOUS:
        return values, f"@{words.name(name)}", one
    shape = one.shape
    read_as = Shape(flags, tuple(value.type for value in values), shape.data, verdicts=shape.verdicts)
    read_as.objects, read_as.ranges = shape.objects, shape.ranges
    elements = list(known.elements(read_as))
    try:
        elements.sort(key=lambda element: element.key)
    except TypeError:
        elements.sort(key=lambda element: str(element.key))
    return values, inside(values, one, iter(elements)), one


@says(Lookup, "set set_id sreg dreg flags")
def _lookup(telling: Telling, cell: int, data: Lookup) -> None:
    values, where, one = reference(telling, data.set, data.sreg)
    inverted = bool(words.flags_within(data.flags, INV.INV))
    if data.dreg is None:
        telling.tell(cell, f"{_joined(values)} {'!= ' if inverted else ''}{where}", values)
        return
    if inverted:
        raise Unsaid
    if data.dreg == 0:
        telling.tell(cell, f"{_joined(values)} vmap {where}", values)
        return
    shape, cells = one.shape, tuple(at for value in values for at in value.cells)
    if not shape.data or shape.ranges or one.data_len is None:
        raise Unsaid
    needs = tuple(dict.fromkeys(need for value in values for need in value.needs))
    text = f"{_joined(values)} map {where}"
    _put(telling, data.dreg, Value((*cells, cell), one.data_len, text, shape.data, needs, computed=True))
