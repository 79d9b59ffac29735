"""The codec once more, slow and obvious: `struct`, copies, no cleverness. Tests compare the real one with it.

Decoding raises `OracleError` at the offset where `DecodeError` is due, encoding `OracleRefusal` where `EncodeError` is.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

NLA_F_NESTED, NLA_F_NET_BYTEORDER, NLA_TYPE_MASK = 0x8000, 0x4000, 0x3FFF
MAX_PAYLOAD = 65531
MAX_DEPTH = 32

# Integer kinds -> struct codes: the first that holds the value is written, the one of the payload's size is read.
INTEGERS = {
    **{"u8": "B", "s8": "b", "u16": "H", "s16": "h", "u32": "I", "s32": "i", "u64": "Q", "s64": "q"},
    **{"uint": "IQ", "sint": "iq"},
}
NLMSGHDR = struct.Struct("=IHHII")
NLATTR = struct.Struct("=HH")
PREFIX = {"native": "=", "little": "<", "big": ">"}
# Every integer reader and writer: (name, struct codes, the order in its name).
INTEGER_METHODS = [(name, codes, None) for name, codes in INTEGERS.items()] + [
    (name + suffix, INTEGERS[name], order)
    for name in ("u16", "s16", "u32", "s32", "u64", "s64")
    for suffix, order in (("be", "big"), ("le", "little"))
]
INTEGER_METHOD = {name: (codes, order) for name, codes, order in INTEGER_METHODS}
READERS = [*INTEGER_METHOD, "string", "flag"]


def integer_prefix(name: str, raw_type: int, order: str) -> str:
    """The order in the method's name wins, then that of decoder or encoder, then the attribute's flag."""
    order = INTEGER_METHOD[name][1] or order
    return ">" if order == "native" and raw_type & NLA_F_NET_BYTEORDER else PREFIX[order]


class OracleError(Exception):
    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


class OracleRefusal(Exception):
    """`attribute` is the type, without flags, of what could not be written; None if the type itself is impossible."""

    def __init__(self, attribute: int | None) -> None:
        super().__init__(attribute)
        self.attribute = attribute


def aligned(length: int) -> int:
    return (length + 3) // 4 * 4


# --- messages ---------------------------------------------------------------------------------------------------------


class Message(NamedTuple):
    offset: int  # of its nlmsghdr in the buffer
    type: int
    flags: int
    seq: int
    pid: int
    data: bytes


def messages(buffer, offset: int = 0, strict: bool = False) -> Iterator[Message]:
    data = bytes(buffer)
    if offset > len(data):
        raise OracleError(len(data))
    at = offset
    while at < len(data):
        rest = len(data) - at
        if rest < 16:
            if at > offset and not strict:
                return
            raise OracleError(at)
        length, type, flags, seq, pid = NLMSGHDR.unpack_from(data, at)
        if length < 16 or length > rest:
            raise OracleError(at)
        yield Message(at, type, flags, seq, pid, data[at + 16 : at + length])
        at += aligned(length)


def message_bytes(type: int, flags: int = 0, data: bytes = b"", seq: int = 0, pid: int = 0) -> bytes:
    """One message without padding."""
    return NLMSGHDR.pack(16 + len(data), type, flags, seq, pid) + data


def padded(parts) -> bytes:
    """Messages or attributes one after another."""
    return b"".join(part + bytes(aligned(len(part)) - len(part)) for part in parts)


# --- reading attributes -----------------------------------------------------------------------------------------------


class Attribute(NamedTuple):
    offset: int  # of its nlattr, from the start of the outermost buffer
    raw_type: int  # flags included
    data: bytes
    order: str = "native"
    strict: bool = False
    depth: int = 1

    @property
    def type(self) -> int:
        return self.raw_type & NLA_TYPE_MASK


def frames(data: bytes, offset: int = 0, strict: bool = False) -> Iterator[tuple[int, int, int]]:
    """(offset, nla_len, nla_type) of each attribute."""
    if offset > len(data):
        raise OracleError(len(data))
    at = offset
    while at < len(data):
        rest = len(data) - at
        if rest < 4:
            if not strict:
                return
            raise OracleError(at)
        length, raw_type = NLATTR.unpack_from(data, at)
        if length < 4 or length > rest:
            raise OracleError(at)
        yield at, length, raw_type
        at += aligned(length)


def attributes(
    buffer, offset: int = 0, order: str = "native", strict: bool = False, *, base: int = 0, depth: int = 1
) -> Iterator[Attribute]:
    """`base` is where the buffer begins in the outermost one."""
    data = bytes(buffer)
    try:
        for at, length, raw_type in frames(data, offset, strict):
            yield Attribute(base + at, raw_type, data[at + 4 : at + length], order, strict, depth)
    except OracleError as error:
        raise OracleError(base + error.offset) from None


def nested(attribute: Attribute, offset: int = 0) -> Iterator[Attribute]:
    """The flag of the container asks for nothing: its children have the parent's order, or their own flag's."""
    if attribute.depth == MAX_DEPTH:
        raise OracleError(attribute.offset)
    return attributes(
        attribute.data,
        offset,
        attribute.order,
        attribute.strict,
        base=attribute.offset + 4,
        depth=attribute.depth + 1,
    )


def find(walk: Iterator[Attribute], type: int, *path: int) -> Attribute | None:
    for attribute in walk:
        if attribute.type == type:
            return find(nested(attribute), *path) if path else attribute
    return None


def read(attribute: Attribute, name: str):
    """What the reader of this name returns."""
    if name == "string":
        return attribute.data.rstrip(b"\0").decode("utf-8", "surrogateescape")
    if name == "flag":
        if attribute.data:
            raise OracleError(attribute.offset)
        return True
    for code in INTEGER_METHOD[name][0]:
        if struct.calcsize(code) == len(attribute.data):
            return struct.unpack(integer_prefix(name, attribute.raw_type, attribute.order) + code, attribute.data)[0]
    raise OracleError(attribute.offset)


# --- writing attributes -----------------------------------------------------------------------------------------------


def attribute_bytes(raw_type: int, payload: bytes) -> bytes:
    """One attribute without padding."""
    if len(payload) > MAX_PAYLOAD:
        raise OracleRefusal(raw_type & NLA_TYPE_MASK)
    return NLATTR.pack(4 + len(payload), raw_type) + payload


def integer_bytes(name: str, raw_type: int, value: int, order: str) -> bytes:
    for code in INTEGER_METHOD[name][0]:
        try:
            return struct.pack(integer_prefix(name, raw_type, order) + code, value)
        except struct.error:
            pass
    raise OracleRefusal(raw_type & NLA_TYPE_MASK)


def call_bytes(call: tuple, order: str = "native", depth: int = 0) -> bytes:
    """One encoder call, padded. A call is (name, type, value); the value of "nested" is a list of calls."""
    name, raw_type, value = call
    if not 0 <= raw_type <= 0xFFFF:
        raise OracleRefusal(None)
    if name == "flag":
        payload = b"" if value else None
    elif name == "data":
        payload = value
    elif name == "string":
        if "\0" in value:
            raise OracleRefusal(raw_type & NLA_TYPE_MASK)
        try:
            payload = value.encode("utf-8", "surrogateescape") + b"\0"
        except UnicodeEncodeError:
            raise OracleRefusal(raw_type & NLA_TYPE_MASK) from None
    elif name == "nested":
        if depth == MAX_DEPTH:
            raise OracleRefusal(raw_type & NLA_TYPE_MASK)
        payload = b"".join(call_bytes(inner, order, depth + 1) for inner in value)
        raw_type |= NLA_F_NESTED
    else:
        payload = integer_bytes(name, raw_type, value, order)
    return b"" if payload is None else padded([attribute_bytes(raw_type, payload)])
