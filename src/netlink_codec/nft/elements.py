"""Elements of sets as a person means them, and how the kernel has them.

In an interval set of the kernel, an interval is two elements: its first value, and the first one behind it, flagged
INTERVAL_END, which is not there if nothing is behind it. In one of concatenations it is one element, with a second
key, the last value of each part, that belongs to it.
"""

import struct
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple, Self

from .._elements import BareElement, ElementReader
from ..constants import NLA_F_NESTED
from . import userdata
from .datatypes import HOST, DataType, Range
from .enums import ELEM_F, VERDICT
from .exprs import Data, Expr, Expression, Immediate, Verdict
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

    def __init__(self, data: bytes, shape: Shape) -> None:
        self._raw = RawElement.from_bytes(data)
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


class Element(BareElement):
    """An element of a set or a map.

    `key` is an address, a number, a str, …; a tuple of such in a concatenation; in an interval set a
    network, or a `Range` where an interval is none, or CATCHALL. `value` is what a map
    leads to: a Verdict, the name of an object, or a value like a key. `timeout` is in
    seconds, as is `expiration`, which is what is left of it. `expressions` are counters, limits and so on of
    this element. `userdata` is what the `nft` tool keeps with it, the comment
    aside.
    """

    __slots__ = ()
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
        self._rest = _Given(value, timeout, expiration, comment, tuple(expressions), userdata)

    def _told(self) -> "_Given | _Read | None":
        rest: Any = self._rest
        if isinstance(rest, bytes):
            rest = self._rest = _Read(rest, self._shape)
        return rest  # type: ignore[no-any-return]

    @property
    def value(self) -> Any:
        told = self._told()
        return None if told is None else told.value

    @property
    def timeout(self) -> float | None:
        told = self._told()
        return None if told is None else told.timeout

    @property
    def expiration(self) -> float | None:
        told = self._told()
        return None if told is None else told.expiration

    @property
    def comment(self) -> str | None:
        told = self._told()
        return None if told is None else told.comment

    @property
    def expressions(self) -> tuple[Any, ...]:
        told = self._told()
        return () if told is None else told.expressions

    @property
    def userdata(self) -> bytes | None:
        told = self._told()
        return None if told is None else told.userdata

    def with_key(self, key: Any) -> "Element":
        """The same with another key."""
        return _rebuilt(key, *self.__reduce__()[1][1:])

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


# Reading ----------------------------------------------------------------------------------------------------------


class Reading(ElementReader):
    """Makes elements of a set of what a dump of them brings: `feed` each message, and then ask for the `rest`."""

    def __new__(cls, shape: Shape) -> Self:
        return super().__new__(cls, Element, shape, Range, CATCHALL)


def read_elements(set: Set, *lists: RawElements) -> list[Element]:
    """The elements of a set that the kernel told of in events.

    Each end of an interval comes in a list of its own: all that are New in a Commit are read together, all that
    are Deleted likewise. One that has no end here is one that nothing is behind.
    """
    return elements_in(set.shape, lists)


def elements_in(shape: Shape, lists: Iterable[RawElements]) -> list[Element]:
    """As `read_elements`, of a set of this shape."""
    reading = Reading(shape)
    found: list[Element] = [one for some in lists for one in reading.take(bytes(some))]
    return [*found, *reading.rest()]


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

_NOT_SIMPLE = (Element, _CatchAll)


def written(shape: Shape, items: Iterable[Any], *, keys_alone: bool = False) -> Iterator[bytes]:
    """What goes into NFTA_SET_ELEM_LIST_ELEMENTS, in pieces that fit; items are Elements, or keys.

    `keys_alone` is for deleting and getting, where what else there is does not count.
    """
    pieces: list[bytes] = []
    size = 0
    simple = shape.keys_alone and not shape.concatenated
    write = shape.key[0].write
    before, after = _around(shape.key[0].size)
    length = len(before) + shape.key[0].size + len(after)
    for item in items:
        if simple and not isinstance(item, _NOT_SIMPLE):
            piece = before + write(item) + after
            if len(piece) != length:
                raise ValueError(f"{item!r} is not of the {shape.key[0].size} bytes that the keys of its set have")
        else:
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
        if item is CATCHALL or not shape.keys_alone:
            return _full(shape, Element(item), keys_alone)
        first, last = _key(shape, item)
        if last is None:
            before, after = _around(len(first))
            return before + first + after
        return _wrapped(RawElement(key=Data(value=first), key_end=Data(value=last)))
    return _full(shape, item, keys_alone)


@lru_cache(64)
def _around(size: int) -> tuple[bytes, bytes]:
    """What stands before and behind a key of so many bytes, of an element that is nothing else."""
    padded = size + 3 & ~3
    return _PLAIN.pack(12 + padded, _ELEM, 8 + padded, _KEY, 4 + size, _VALUE), bytes(padded - size)


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
