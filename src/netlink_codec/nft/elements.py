"""Elements of sets as a person means them, and how the kernel has them.

In an interval set of the kernel, an interval is two elements: its first value, and the first one behind it, flagged
INTERVAL_END, which is not there if nothing is behind it. In one of concatenations it is one element, with a second
key, the last value of each part, that belongs to it.
"""

import struct
from collections.abc import Iterable, Iterator
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final, NamedTuple

from .._core import Message
from ..constants import NLA_F_NESTED
from ..errors import DecodeError
from ..records import BYTES, attr
from . import plain, userdata
from .datatypes import HOST, DataType, size_of
from .enums import ELEM_F, VERDICT
from .exprs import Data, Expr, Expression, Immediate, Verdict
from .ruleset import Named
from .sets import RawElement, RawElements, Set, Shape

_HEADER = struct.Struct("=HH")
_PLAIN = struct.Struct("=HHHHHH")
_ELEM, _KEY, _VALUE = 1 | NLA_F_NESTED, 1 | NLA_F_NESTED, 1
_MOST_BYTES = 65_531
"""In one attribute."""
_OPEN = userdata.write({userdata.ELEM_FLAGS: (1).to_bytes(4, HOST)})
"""How `nft` marks an interval that nothing is behind."""


class _CatchAll:
    """The key of the element that all match which match no other."""

    def __repr__(self) -> str:
        return "CATCHALL"

    def __str__(self) -> str:
        return "*"

    def __reduce__(self) -> str:
        return "CATCHALL"


CATCHALL: Final = _CatchAll()


class _Given(NamedTuple):
    """What somebody said of an element."""

    value: Any
    timeout: float | None
    expiration: float | None
    comment: str | None
    expressions: tuple[Any, ...]
    userdata: bytes | None


class _Read:
    """What the kernel says of one, decoded when it is asked for."""

    __slots__ = ("_raw", "_shape")

    def __init__(self, raw: RawElement, shape: Shape) -> None:
        self._raw = raw
        self._shape = shape

    @property
    def value(self) -> Any:
        return read_value(self._shape, self._raw)

    @property
    def timeout(self) -> float | None:
        return self._raw.timeout

    @property
    def expiration(self) -> float | None:
        return self._raw.expiration

    @property
    def comment(self) -> str | None:
        return userdata.comment(self._raw.userdata, userdata.ELEM_COMMENT)

    @property
    def expressions(self) -> tuple[Any, ...]:
        raw = self._raw
        several = raw.expressions or (() if raw.expr is None else (raw.expr,))
        return tuple(one if one.data is None else one.data for one in several)

    @property
    def userdata(self) -> bytes | None:
        return self._raw.userdata


class Element:
    """An element of a set or a map.

    `key` is an address, a number, a str, …; a tuple of such in a concatenation; in an interval set a
    network, or a `Range` where an interval is none, or CATCHALL. `value` is what a map
    leads to: a Verdict, the name of an object, or a value like a key. `timeout` is in
    seconds, as is `expiration`, which is what is left of it. `expressions` are counters, limits and so on of
    this element. `userdata` is what the `nft` tool keeps with it, the comment
    aside.
    """

    __slots__ = ("_rest", "key")
    __match_args__ = ("key", "value")

    def __init__(
        self,
        key: Any,
        value: Any = None,
        *,
        timeout: float | None = None,
        expiration: float | None = None,
        comment: str | None = None,
        expressions: Iterable[Expr] = (),
        userdata: bytes | None = None,
    ) -> None:
        self.key = key
        self._rest: _Given | _Read | None = _Given(value, timeout, expiration, comment, tuple(expressions), userdata)

    @property
    def value(self) -> Any:
        return None if self._rest is None else self._rest.value

    @property
    def timeout(self) -> float | None:
        return None if self._rest is None else self._rest.timeout

    @property
    def expiration(self) -> float | None:
        return None if self._rest is None else self._rest.expiration

    @property
    def comment(self) -> str | None:
        return None if self._rest is None else self._rest.comment

    @property
    def expressions(self) -> tuple[Any, ...]:
        return () if self._rest is None else self._rest.expressions

    @property
    def userdata(self) -> bytes | None:
        return None if self._rest is None else self._rest.userdata

    def _fields(self) -> tuple[Any, ...]:
        return self.key, self.value, self.timeout, self.comment, self.expressions

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Element) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        parts = [repr(self.key)]
        if self.value is not None:
            parts.append(repr(self.value))
        for name in ("timeout", "expiration", "comment", "expressions"):
            value = getattr(self, name)
            if value not in (None, ()):
                parts.append(f"{name}={value!r}")
        return f"Element({', '.join(parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (
            self.key,
            self.value,
            self.timeout,
            self.expiration,
            self.comment,
            self.expressions,
            self.userdata,
        )


def _rebuilt(key: Any, value: Any, timeout: Any, expiration: Any, comment: Any, expressions: Any, data: Any) -> Element:
    return Element(
        key, value, timeout=timeout, expiration=expiration, comment=comment, expressions=expressions, userdata=data
    )


def _element(key: Any, raw: RawElement | None, shape: Shape) -> Element:
    made = _new(Element)
    made.key = key
    made._rest = None if raw is None else _Read(raw, shape)
    return made


_new = Element.__new__


def _alone(keys: Iterable[Any]) -> list[Element]:
    """Elements that are nothing but these keys."""
    new, found = _new, []
    for key in keys:
        made = new(Element)
        made.key = key
        made._rest = None
        found.append(made)
    return found


# Reading ----------------------------------------------------------------------------------------------------------


class _Packed(Named):
    """RawElements, whose elements are not looked into."""

    elements: bytes | None = attr(3, BYTES)


class Reading:
    """Makes elements of a set of what a dump of them brings: `feed` each message, and then ask for the `rest`."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._ends: list[tuple[bytes, bool, RawElement | None]] = []
        self._size = size_of(shape.key)

    def feed(self, message: Message) -> list[Element]:
        data = _Packed.from_message(message).elements or b""
        shape = self._shape
        if shape.split:
            ends = plain.ends(data, self._size)
            if ends is not None:
                self._ends += ends
                return []
        elif not shape.interval:
            keys = plain.keys(data, self._size)
            if keys is not None:
                return _alone(plain.values(shape.key, keys))
        return self.take(RawElements.from_message(message))

    def take(self, some: RawElements) -> list[Element]:
        raws = some.elements or ()
        shape = self._shape
        if not shape.split:
            return list(_single(shape, raws))
        found = []
        for raw in raws:
            flags = raw.flags
            if flags is not None and flags & ELEM_F.CATCHALL:
                found.append(_element(CATCHALL, raw, shape))
            else:
                self._ends.append((_bytes(raw.key), flags is None or not flags & ELEM_F.INTERVAL_END, raw))
        return found

    def rest(self) -> Iterator[Element]:
        """Of intervals, which the kernel tells in an order of its own: the elements, from low to high."""
        if not self._shape.split:
            return iter(())
        # Where one interval begins behind another, the end of that comes first.
        self._ends.sort(key=itemgetter(0, 1))
        return _intervals(self._shape, self._ends)


def read_elements(set: Set, *lists: RawElements) -> list[Element]:
    """The elements of a set that the kernel told of in events.

    Each end of an interval comes in a list of its own: all that are New in a Commit are read together, all that
    are Deleted likewise. One that has no end here is one that nothing is behind.
    """
    reading = Reading(set.shape)
    found = [one for some in lists for one in reading.take(some)]
    return [*found, *reading.rest()]


def _single(shape: Shape, raws: Iterable[RawElement]) -> Iterator[Element]:
    read = shape.key[0].read
    simple = not shape.concatenated
    for raw in raws:
        key = raw.key
        if key is None:
            yield _element(CATCHALL, raw, shape)
        elif simple:
            yield _element(read(_bytes(key)), raw, shape)
        else:
            yield _element(_concatenation(shape, _bytes(key), raw.key_end), raw, shape)


def _intervals(shape: Shape, ends: list[tuple[bytes, bool, RawElement | None]]) -> Iterator[Element]:
    span = shape.key[0].span
    number = int.from_bytes
    behind_all = 1 << 8 * shape.key[0].size
    for (first, begins, raw), (after, _, _) in pairwise([*ends, (b"", False, None)]):
        if begins:
            yield _element(
                span(first, number(first, "big"), (number(after, "big") if after else behind_all) - 1), raw, shape
            )


def _bytes(data: Data | None) -> bytes:
    value = None if data is None else data.value
    if value is None:
        raise DecodeError("an element of a set has no key")
    return value


def _concatenation(shape: Shape, key: bytes, end: Data | None) -> tuple[Any, ...]:
    if not shape.interval:
        return tuple(part.read(piece) for part, piece in _pieces(shape.key, key))
    last = key if end is None else _bytes(end)
    return tuple(
        part.between(low, high)
        for (part, low), (_, high) in zip(_pieces(shape.key, key), _pieces(shape.key, last), strict=True)
    )


def _pieces(parts: tuple[DataType, ...], data: bytes) -> Iterator[tuple[DataType, bytes]]:
    position = 0
    for part in parts:
        yield part, data[position : position + part.size]
        position += part.padded


def read_value(shape: Shape, raw: RawElement) -> Any:
    """What the element of a map leads to."""
    data = raw.data
    if data is None:
        return raw.objref
    if data.verdict is not None:
        return data.verdict
    value = data.value
    if value is None or not shape.data:
        return value
    if shape.ranges:
        half = len(value) // 2
        return _joined(
            [
                part.between(low, high)
                for (part, low), (_, high) in zip(
                    _pieces(shape.data, value[:half]), _pieces(shape.data, value[half:]), strict=True
                )
            ]
        )
    return _joined([part.read(piece) for part, piece in _pieces(shape.data, value)])


def _joined(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else tuple(values)


# Writing ----------------------------------------------------------------------------------------------------------


def written(shape: Shape, items: Iterable[Any], *, keys_alone: bool = False) -> Iterator[bytes]:
    """What goes into NFTA_SET_ELEM_LIST_ELEMENTS, in pieces that fit; items are Elements, or keys.

    `keys_alone` is for deleting and getting, where what else there is does not count.
    """
    pieces: list[bytes] = []
    size = 0
    for item in items:
        piece = _item(shape, item, keys_alone)
        if size + len(piece) > _MOST_BYTES:
            yield b"".join(pieces)
            pieces, size = [], 0
        pieces.append(piece)
        size += len(piece)
    if pieces:
        yield b"".join(pieces)


def asked(shape: Shape, key: Any) -> bytes:
    """What goes there to get the element that has this key, or whose interval it is in; see `getting`."""
    if not shape.split or key is CATCHALL:
        return _full(shape, Element(key), True)
    return both_ends(shape.key[0].bounds(key)[0])


def both_ends(value: bytes) -> bytes:
    """The same for the interval of this value."""
    return _wrapped(RawElement(key=Data(value=value))) + _wrapped(
        RawElement(key=Data(value=value), flags=ELEM_F.INTERVAL_END)
    )


def _item(shape: Shape, item: Any, keys_alone: bool) -> bytes:
    if not isinstance(item, Element):
        if shape.split or item is CATCHALL or shape.verdicts or shape.data or shape.objects is not None:
            return _full(shape, Element(item), keys_alone)
        first, last = _key(shape, item)
        return _plain(first) if last is None else _wrapped(RawElement(key=Data(value=first), key_end=Data(value=last)))
    return _full(shape, item, keys_alone)


def _plain(key: bytes) -> bytes:
    length = len(key)
    padded = length + 3 & ~3
    return _PLAIN.pack(12 + padded, _ELEM, 8 + padded, _KEY, 4 + length, _VALUE) + key + bytes(padded - length)


def _full(shape: Shape, element: Element, keys_alone: bool) -> bytes:
    settings: dict[str, Any] = {} if keys_alone else _settings(shape, element)
    if element.key is CATCHALL:
        return _wrapped(RawElement(flags=ELEM_F.CATCHALL, **settings))
    first, last = _key(shape, element.key)
    if not shape.split:
        end = None if last is None else Data(value=last)
        return _wrapped(RawElement(key=Data(value=first), key_end=end, **settings))
    if last is None:
        last = first
    number = int.from_bytes(last, "big") + 1
    if number >> 8 * len(last):
        if not keys_alone:
            settings["userdata"] = (settings.get("userdata") or b"") + (_OPEN or b"")
        return _wrapped(RawElement(key=Data(value=first), **settings))
    behind = Data(value=number.to_bytes(len(last), "big"))
    return _wrapped(RawElement(key=Data(value=first), **settings)) + _wrapped(
        RawElement(key=behind, flags=ELEM_F.INTERVAL_END)
    )


def _wrapped(raw: RawElement) -> bytes:
    data = bytes(raw)
    return _HEADER.pack(4 + len(data), _ELEM) + data


def _key(shape: Shape, key: Any) -> tuple[bytes, bytes | None]:
    """The first, and the last if there are intervals."""
    if not shape.concatenated:
        if shape.split:
            return shape.key[0].bounds(key)
        return shape.key[0].write(key), None
    if not isinstance(key, tuple) or len(key) != len(shape.key):
        raise TypeError(f"{key!r}: a key is a tuple, {' . '.join(part.name for part in shape.key)}")
    if not shape.interval:
        return b"".join(
            part.write(value).ljust(part.padded, b"\0") for part, value in zip(shape.key, key, strict=True)
        ), None
    bounds = [(part.padded, *part.bounds(value)) for part, value in zip(shape.key, key, strict=True)]
    return (
        b"".join(first.ljust(padded, b"\0") for padded, first, _ in bounds),
        b"".join(last.ljust(padded, b"\0") for padded, _, last in bounds),
    )


def _settings(shape: Shape, element: Element) -> dict[str, Any]:
    """What an element has beside its key."""
    settings: dict[str, Any] = {"timeout": element.timeout, "expiration": element.expiration}
    told = userdata.read(element.userdata)
    if element.comment is not None:
        told[userdata.ELEM_COMMENT] = userdata.text(element.comment)
    # That nothing is behind it is found out anew.
    told.pop(userdata.ELEM_FLAGS, None)
    settings["userdata"] = userdata.write(told)
    expressions = [one if isinstance(one, Expression) else Expression(data=one) for one in element.expressions]
    if len(expressions) == 1:
        settings["expr"] = expressions[0]
    elif expressions:
        settings["expressions"] = tuple(expressions)
    value = element.value
    if shape.verdicts:
        settings["data"] = Data(verdict=verdict_of(value))
    elif shape.objects is not None:
        if not isinstance(value, str):
            raise TypeError(f"{element!r}: the map leads to the name of an object, not to {value!r}")
        settings["objref"] = value
    elif shape.data:
        settings["data"] = Data(value=written_value(shape, value))
    elif value is not None:
        raise TypeError(f"{element!r}: a set has no values, a map has")
    return {name: setting for name, setting in settings.items() if setting is not None}


def written_value(shape: Shape, value: Any) -> bytes:
    values = (value,) if len(shape.data) == 1 else value
    if not isinstance(values, tuple) or len(values) != len(shape.data):
        raise TypeError(f"{value!r}: the map leads to {' . '.join(part.name for part in shape.data)}")
    if shape.ranges:
        bounds = [(part.padded, *part.bounds(one)) for part, one in zip(shape.data, values, strict=True)]
        if len(bounds) == 1:
            return bounds[0][1] + bounds[0][2]
        firsts = [first.ljust(padded, b"\0") for padded, first, _ in bounds]
        return b"".join(firsts + [last.ljust(padded, b"\0") for padded, _, last in bounds])
    if len(shape.data) == 1:
        return shape.data[0].write(value)
    return b"".join(part.write(one).ljust(part.padded, b"\0") for part, one in zip(shape.data, values, strict=True))


def verdict_of(value: Any) -> Verdict:
    """A verdict as a record, as the expression that gives it, or as text: "accept", "jump chain"."""
    if isinstance(value, Verdict):
        return value
    if isinstance(value, Immediate) and value.data is not None and value.data.verdict is not None:
        return value.data.verdict
    if isinstance(value, str):
        word, _, chain = value.partition(" ")
        code = VERDICT.of(word)
        if (code in (VERDICT.JUMP, VERDICT.GOTO)) != bool(chain):
            raise ValueError(f"{value!r}: jump and goto name a chain, and others do not")
        return Verdict(code=code, chain=chain or None)
    raise TypeError(f"{value!r} is no verdict")
