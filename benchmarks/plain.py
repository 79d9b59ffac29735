"""The same work in plain Python with `struct`, written to be fast: what one would do without the codec."""

from collections.abc import Iterable, Iterator
from struct import Struct

MESSAGE = Struct("=IHHII")
ATTRIBUTE = Struct("=HH")
U32 = Struct("=I")
U32_ATTRIBUTE = Struct("=HHI")
TYPE_MASK = 0x3FFF


def marshal_messages(payloads: Iterable[bytes]) -> bytes:
    parts = []
    for payload in payloads:
        length = 16 + len(payload)
        parts += (MESSAGE.pack(length, 1, 1, 0, 0), payload, b"\0" * (-length & 3))
    return b"".join(parts)


def marshal_into(payloads: Iterable[bytes], buffer: bytearray) -> int:
    at = 0
    for payload in payloads:
        length = 16 + len(payload)
        MESSAGE.pack_into(buffer, at, length, 1, 1, 0, 0)
        buffer[at + 16 : at + length] = payload
        at += (length + 3) & ~3
    return at


def walk_messages(buffer: bytes) -> Iterator[tuple[int, int, int]]:
    """(type, payload's begin, payload's end) of each message."""
    at, end, unpack = 0, len(buffer), MESSAGE.unpack_from
    while end - at >= 16:
        length, kind, _flags, _seq, _pid = unpack(buffer, at)
        if length < 16 or length > end - at:
            raise ValueError(at)
        yield kind, at + 16, at + length
        at += (length + 3) & ~3


def marshal_attributes(attributes: Iterable[tuple[int, bytes]]) -> bytes:
    parts, pack = [], ATTRIBUTE.pack
    for kind, payload in attributes:
        length = 4 + len(payload)
        parts += (pack(length, kind), payload, b"\0" * (-length & 3))
    return b"".join(parts)


def walk_attributes(buffer: bytes, at: int = 0, end: int | None = None) -> Iterator[tuple[int, int, int]]:
    """(type, payload's begin, payload's end) of each attribute."""
    end, unpack = len(buffer) if end is None else end, ATTRIBUTE.unpack_from
    while end - at >= 4:
        length, kind = unpack(buffer, at)
        if length < 4 or length > end - at:
            raise ValueError(at)
        yield kind & TYPE_MASK, at + 4, at + length
        at += (length + 3) & ~3


def unmarshal_attributes(buffer: bytes) -> list[tuple[int, bytes]]:
    return [(kind, buffer[begin:end]) for kind, begin, end in walk_attributes(buffer)]


def exhaust(iterator: Iterator[object]) -> None:
    for _item in iterator:
        pass


def find(buffer: bytes, wanted: int) -> bytes | None:
    for kind, begin, end in walk_attributes(buffer):
        if kind == wanted:
            return buffer[begin:end]
    return None


def read_u32(buffer: bytes) -> int:
    value, unpack = 0, U32.unpack_from
    for _kind, begin, _end in walk_attributes(buffer):
        (value,) = unpack(buffer, begin)
    return value


def write_u32(values: Iterable[int]) -> bytes:
    pack = U32_ATTRIBUTE.pack
    return b"".join([pack(8, kind, value) for kind, value in enumerate(values)])


def walk_dump(buffer: bytes, header: int) -> int:
    """How many attributes the messages of a dump have."""
    count = 0
    for kind, begin, end in walk_messages(buffer):
        if kind != 3:
            for _attribute in walk_attributes(buffer, begin + header, end):
                count += 1
    return count
