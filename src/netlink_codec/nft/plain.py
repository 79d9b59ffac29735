"""Lists of elements that are nothing but keys, many at once: the usual case, and the one where speed matters."""

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..constants import NLA_F_NESTED
from ..records import IP, U8, IPNetwork, Record, array, attr, fixed, prefix

if TYPE_CHECKING:
    from .datatypes import DataType

_HEADER = struct.Struct("=HH")
_U16 = struct.Struct("=H")
_NESTED = b"(?:" + b"|".join(re.escape(_U16.pack(1 | flag)) for flag in (0, NLA_F_NESTED)) + b")"
"""The kernel does not flag what is nested here; others may."""
_MOST_ADDRESSES = 3000
"""In one attribute, with a header each."""
_LONGEST = 64
"""NFT_DATA_VALUE_MAXLEN, the bytes of a key"""
_INTEGERS = {1: "B", 2: "H", 4: "I", 8: "Q"}
_END = _HEADER.pack(8, 3) + b"\0\0\0\1"
"""NFTA_SET_ELEM_FLAGS, INTERVAL_END"""


class _Addresses(Record):
    all: tuple[Any, ...] | None = attr(1, array(IP))


class _Network(Record):
    length: int = fixed(U8, default=0)
    network: IPNetwork | None = prefix(1, length="length")


@lru_cache(64)
def _pattern(size: int) -> "tuple[re.Pattern[bytes], re.Pattern[bytes], int]":
    """Of elements with a key of this size: alone, or with ends of intervals among them; and how long one is."""
    padded = size + 3 & ~3

    def headers(more: int) -> bytes:
        nests = [re.escape(_U16.pack(length)) + _NESTED for length in (12 + padded + more, 8 + padded)]
        return b"".join(nests) + re.escape(_HEADER.pack(4 + size, 1))

    key = b"(" + b"." * size + b")" + b"." * (padded - size)
    alone = headers(0) + key
    end = headers(len(_END)) + key + re.escape(_END)
    return re.compile(alone, re.DOTALL), re.compile(alone + b"|" + end, re.DOTALL), 12 + padded


def keys(data: bytes, size: int) -> list[bytes] | None:
    """The keys of these elements; None if there is more to them."""
    if size > _LONGEST:
        return None
    pattern, _, length = _pattern(size)
    found = pattern.findall(data)
    # Where that is all of it, each begins where the one before it ends.
    return found if len(found) * length == len(data) else None


def ends(data: bytes, size: int) -> list[tuple[bytes, bool, None]] | None:
    """The ends of these intervals, and whether it is where one begins; None if there is more to them."""
    if size > _LONGEST:
        return None
    _, pattern, length = _pattern(size)
    found = [(begin or end, not end, None) for begin, end in pattern.findall(data)]
    expected = sum(length if begins else length + len(_END) for _, begins, _ in found)
    return found if expected == len(data) else None


def values(parts: "Sequence[DataType]", found: list[bytes]) -> Iterable[Any]:
    """What these keys are."""
    if len(parts) == 1:
        return _column(parts[0], found)
    columns = []
    position = 0
    for part in parts:
        columns.append(_column(part, [key[position : position + part.size] for key in found]))
        position += part.padded
    return zip(*columns, strict=True)


def _column(part: "DataType", found: list[bytes]) -> Iterable[Any]:
    if part.make is not None:
        return _addresses(found, part.size)
    if part.plain and part.size in _INTEGERS:
        order = ">" if part.order == "big" else "<"
        return struct.unpack(f"{order}{len(found)}{_INTEGERS[part.size]}", b"".join(found))
    read: Callable[[bytes], Any] = part.read
    return map(read, found)


def _addresses(found: list[bytes], size: int) -> list[Any]:
    made: list[Any] = []
    header = _HEADER.pack(4 + size, 1)
    for start in range(0, len(found), _MOST_ADDRESSES):
        some = found[start : start + _MOST_ADDRESSES]
        data = header + header.join(some)
        made += _Addresses.from_bytes(_HEADER.pack(4 + len(data), 1) + data).all or ()
    return made


_NETWORKS = {
    (size, length): bytes((length, 0, 0, 0)) + _HEADER.pack(4 + size, 1)
    for size in (4, 16)
    for length in range(8 * size + 1)
}


def network_of(first: bytes, length: int) -> IPNetwork | None:
    """The network that begins there."""
    return _Network.from_bytes(_NETWORKS[len(first), length] + first).network
