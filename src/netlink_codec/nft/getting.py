"""What the kernel's answer says where it is asked for one element, of which it keeps each end for itself.

It is asked for the nearest beginning of an interval up to a value, and for the nearest end behind it. But where
an end is at the value itself, which is that of the interval before, it is that one that comes.
"""

from collections.abc import Sequence
from typing import Any

from .elements import CATCHALL
from .enums import ELEM_F
from .exprs import Data
from .sets import RawElement, Shape


def of_another(raws: Sequence[RawElement], value: bytes) -> bytes | None:
    """What is asked for next where the end that came is that of the interval before: the value behind this one.

    None if it is not, or if nothing is behind the value.
    """
    if len(raws) < 2 or key_of(raws[1]) != value:
        return None
    number = int.from_bytes(value, "big") + 1
    return None if number >> 8 * len(value) else number.to_bytes(len(value), "big")


def corrected(raws: Sequence[RawElement], behind: bytes, told: Sequence[RawElement]) -> list[RawElement]:
    """Both ends, by what was told of the value behind."""
    begin = raws[0]
    if told and key_of(told[0]) == key_of(begin):
        return [begin, *told[1:]]
    return [begin, RawElement(key=Data(value=behind), flags=ELEM_F.INTERVAL_END)]


def holds(shape: Shape, raws: Sequence[RawElement], key: Any) -> bool:
    """Whether all of what was asked for is in there: the kernel looks at where it begins."""
    if key is CATCHALL or not shape.interval:
        return True
    if shape.split:
        last = shape.key[0].bounds(key)[1]
        return len(raws) < 2 or last < key_of(raws[1])
    end = raws[0].key_end
    there = key_of(raws[0]) if end is None or end.value is None else end.value
    position = 0
    for part, value in zip(shape.key, key, strict=True):
        if there[position : position + part.size] < part.bounds(value)[1]:
            return False
        position += part.padded
    return True


def key_of(raw: RawElement) -> bytes:
    return b"" if raw.key is None or raw.key.value is None else raw.key.value
