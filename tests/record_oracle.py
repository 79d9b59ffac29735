"""Records once more, slow and obvious: what a declaration's values look like in bytes, and strategies that make them.

A kind is (what the record class declares, a strategy of values, value -> bytes, whether it is written as a nest).
"""

import struct
from ipaddress import IPv4Address, IPv6Address
from typing import Any, NamedTuple

from hypothesis import strategies as st

import oracle
from netlink_codec import records as r
from record_classes import Flags, Pair, Scope, Stats, Tree


class Shape(NamedTuple):
    kind: Any
    values: Any
    encode: Any
    nest: bool = False
    zero: Any = None  # what reads where there is none; a kind that has it may stand in a struct
    alignment: int = 0


def number(name: str, code: str) -> Shape:
    width = struct.calcsize(code)
    low, high = (-(1 << 8 * width - 1), (1 << 8 * width - 1) - 1) if code[1].islower() else (0, (1 << 8 * width) - 1)
    return Shape(getattr(r, name), st.integers(low, high), lambda v: struct.pack(code, v), False, 0, width)


letters = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
texts = st.text(st.one_of(letters, st.just("\udcff")), max_size=9)
lists_of_trees = st.deferred(lambda: st.lists(trees, max_size=3).map(tuple))
addresses4, addresses6 = (
    st.deferred(lambda: st.builds(IPv4Address, numbers)),
    st.builds(IPv6Address, st.integers(0, 2**128 - 1)),
)
macs = st.binary(max_size=40).filter(lambda data: len(data) not in (4, 16)).map(lambda data: data.hex(":"))
numbers = st.integers(0, 2**32 - 1)
pairs = st.builds(lambda first, second: Pair(first=first, second=second), numbers, st.integers(0, 65535))
stats = st.builds(lambda **given: Stats(**given), rx=st.integers(0, 2**64 - 1), lost=st.none() | numbers)
trees = st.recursive(
    st.builds(lambda value: Tree(value=value), st.none() | numbers),
    lambda inner: st.builds(
        lambda value, child, leaves: Tree(value=value, child=child, leaves=leaves),
        st.none() | numbers,
        st.none() | inner,
        st.none() | st.lists(inner, max_size=3).map(tuple),
    ),
    max_leaves=6,
)


def text(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape") + b"\0"


def variable(value: int, code: str) -> bytes:
    for letter in code:
        try:
            return struct.pack("=" + letter, value)
        except struct.error:
            pass
    raise AssertionError


def several(encode, code=None, nest=False):
    def encoded(values):
        flag = 0x8000 if nest else 0
        return oracle.padded(
            oracle.attribute_bytes((code or i + 1) | flag, encode(value)) for i, value in enumerate(values)
        )

    return encoded


scopes = st.integers(0, 65535).map(Scope)
SHAPES = {
    **{
        name: number(name, code)
        for name, code in {
            **{"U8": "=B", "U16": "=H", "U32": "=I", "U64": "=Q", "S8": "=b", "S16": "=h", "S32": "=i", "S64": "=q"},
            **{"U16BE": ">H", "U32BE": ">I", "U64BE": ">Q", "S16BE": ">h", "S32BE": ">i", "S64BE": ">q"},
            **{"U16LE": "<H", "U32LE": "<I", "U64LE": "<Q"},
        }.items()
    },
    "UINT": Shape(r.UINT, st.integers(0, 2**64 - 1) | numbers, lambda v: variable(v, "IQ")),
    "SINT": Shape(r.SINT, st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9), lambda v: variable(v, "iq")),
    "STRING": Shape(r.STRING, texts, text),
    "BYTES": Shape(r.BYTES, st.binary(max_size=30), bytes),
    "MAC": Shape(r.MAC, macs, lambda v: bytes.fromhex(v.replace(":", ""))),
    "IP4": Shape(r.IP4, addresses4, lambda v: v.packed, False, IPv4Address(0), 4),
    "IP6": Shape(r.IP6, addresses6, lambda v: v.packed, False, IPv6Address(0), 4),
    "enum": Shape(r.as_enum(r.U16, Scope), scopes, lambda v: struct.pack("=H", v), False, 0, 2),
    "flags": Shape(r.as_flags(r.U32BE, Flags), numbers, lambda v: struct.pack(">I", v), False, 0, 4),
    "sentinel": Shape(r.sentinel(r.U32, -1), st.integers(0, 2**32 - 2), lambda v: struct.pack("=I", v)),
    "scaled": Shape(
        r.scaled(r.S32, 0.001),
        st.integers(-(2**31), 2**31 - 1).map(lambda count: count / 1000),
        lambda v: struct.pack("=i", round(v * 1000)),
        *(False, 0.0, 4),
    ),
    "characters": Shape(
        r.characters(7),
        st.text(st.characters(max_codepoint=126, min_codepoint=1), max_size=6),
        lambda v: v.encode().ljust(7, b"\0"),
        False,
        "",
        1,
    ),
    "blob": Shape(r.blob(5), st.binary(min_size=5, max_size=5), bytes, False, bytes(5), 1),
    "pair": Shape(r.nested(Pair), pairs, bytes, False, Pair(first=0, second=0), 4),
    "stats": Shape(r.nested(Stats), stats, bytes),
    "tree": Shape(r.nested(lambda: Tree), trees, bytes, True),
    "packed": Shape(
        r.packed(r.S16BE),
        st.lists(st.integers(-9, 9), max_size=5).map(tuple),
        lambda v: b"".join(struct.pack(">h", one) for one in v),
    ),
    "array": Shape(r.array(r.STRING, code=9), st.lists(texts, max_size=4).map(tuple), several(text, 9), True),
    "trees": Shape(r.array(r.nested(lambda: Tree)), lists_of_trees, several(bytes, None, True), True),
    "custom": Shape(r.custom(bytes.decode, str.encode), texts.filter(lambda v: "\udcff" not in v), str.encode),
}
IN_STRUCT = [name for name, shape in SHAPES.items() if shape.zero is not None]
HOWS = {"attr": r.attr, "always": r.always, "required": r.required}


def attribute(code: int, shape: Shape, value) -> bytes:
    return oracle.padded([oracle.attribute_bytes(code | (0x8000 if shape.nest else 0), shape.encode(value))])


class Declared(NamedTuple):
    cls: Any
    given: dict  # name -> value
    read: dict  # name -> what it reads as
    wire: bytes


@st.composite
def declarations(draw) -> Declared:
    """A class, values of its fields, and their bytes."""
    namespace, given, read = {}, {}, {}
    header, alignment = b"", 1
    for i, name in enumerate(draw(st.lists(st.sampled_from(IN_STRUCT), max_size=5))):
        shape = SHAPES[name]
        namespace[f"fixed{i}"] = r.fixed(shape.kind, default=shape.zero)
        value = draw(st.none() | shape.values)
        read[f"fixed{i}"] = shape.zero if value is None else value
        if value is not None:
            given[f"fixed{i}"] = value
        header += bytes(-len(header) % shape.alignment) + shape.encode(read[f"fixed{i}"])
        alignment = max(alignment, shape.alignment)
    header += bytes(-len(header) % alignment)
    header += bytes(-len(header) % 4)
    wire = header
    codes = draw(st.lists(st.integers(0, 0x3FFF) | st.integers(0, 30), max_size=8, unique=True))
    for code in codes:
        name = f"a{code}"
        shape = SHAPES[draw(st.sampled_from(list(SHAPES)))]
        how = draw(st.sampled_from([*HOWS, "repeated", "present"]))
        if how == "present":
            namespace[name] = r.present(code)
            read[name] = given[name] = draw(st.booleans())
            wire += oracle.padded([oracle.attribute_bytes(code, b"")]) if read[name] else b""
        elif how == "repeated":
            namespace[name] = r.repeated(code, shape.kind)
            read[name] = given[name] = draw(st.lists(shape.values, max_size=3).map(tuple))
            wire += b"".join(attribute(code, shape, value) for value in given[name])
        else:
            namespace[name] = HOWS[how](code, shape.kind)
            value = draw(shape.values if how == "required" else st.none() | shape.values)
            if how != "always" or value is not None:
                read[name] = value
            if value is not None:
                given[name] = value
                wire += attribute(code, shape, value)
    return Declared(type(r.Record)("Drawn", (r.Record,), namespace), given, read, wire)
