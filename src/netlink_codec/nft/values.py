"""Values that only the packet tells: of a field, of a map, counted or drawn.

They stand where a value does (`set_meta("mark", load("ct mark"))`, `dnat(lookup("tcp dport", {80: "10.0.0.1"}))`), and
where a field does (`vmap(numgen(2), {0: jump("a"), 1: jump("b")})`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from .datatypes import HOST, DataType
from .devices import device_named, devices_among, with_indices
from .elements import Element
from .enums import HASH, NG, REG
from .exprs import Data, Expr, Hash, Immediate, Numgen
from .fields import field
from .match import (
    Context,
    Deferred,
    Source,
    compared,
    finds,
    first_register,
    look_up,
    masked,
    named_by,
    same_kinds,
    sets_among,
    to_network_order,
)
from .sets import Set


def load(name: str, *, mask: Any = None, xor: Any = 0) -> Source:
    """A field: `load("ct mark")`. With `mask`, those bits of it alone, and then of these the other that `xor` has."""
    return _Load(name, mask, xor)


class _Load(Source):
    def __init__(self, name: str, mask: Any, xor: Any) -> None:
        self.fields = (field(name),)
        kind = self.fields[0].type
        self._bits: tuple[bytes, bytes] | None = None
        if mask is not None or xor:
            kept = b"\xff" * kind.size if mask is None else kind.write(mask)
            self._bits = kept, kind.write(xor) if xor else b""

    def __repr__(self) -> str:
        return f"load({self.fields[0].name!r})"

    def into(self, context: Context, kinds: Sequence[DataType], register: int) -> Iterator[Expr]:
        own = self.fields[0].type
        if len(kinds) != 1 or kinds[0].size != own.size:
            sizes = sum(kind.size for kind in kinds)
            raise ValueError(f"{self!r} has {own.size} bytes, where {sizes} are wanted")
        yield from context.load(self.fields, register, shifted=True)
        if self._bits is not None:
            yield masked(register, *self._bits)
        if own.order != kinds[0].order:
            yield from to_network_order(own if own.order == HOST else kinds[0], register)


def lookup(fields: Any, values: Mapping[Any, Any] | str) -> Source:
    """What a map has for a field, or for several: `lookup("ip saddr", {"10.0.0.0/8": 1})`, or "@name"."""
    return Lookup(fields, values)


class Lookup(Source):
    """What a map has."""

    def __init__(self, fields: Any, values: Mapping[Any, Any] | str) -> None:
        self.fields = compared(fields)
        self._name = named_by(values)
        self.names = (*sets_among(self.fields), *devices_among(self.fields, values))
        if self._name is not None:
            self.names += (self._name,)
        elif not isinstance(values, Mapping) or not values:
            raise TypeError(f'lookup: the values are a dict, or "@name", not {values!r}')
        self._values = values

    def __repr__(self) -> str:
        return f"lookup({' . '.join(one.name for one in self.fields)!r}, {self._values!r})"

    def parts(self, context: Context) -> int:
        """How many values there are together: of a concatenation, several."""
        if isinstance(self._values, Mapping):
            value = next(iter(self._values.values()))
            return len(value) if isinstance(value, tuple) else 1
        known = context.known(self._name or "")
        return 1 if known is None else len(known.shape.data)

    def into(self, context: Context, kinds: Sequence[DataType], register: int) -> Iterator[Expr]:
        known: Set | None
        if isinstance(self._values, Mapping):
            values = with_indices(context, self.fields, self._values)
            elements = [Element(key, value) for key, value in values.items()]
            known = context.anonymous(self.fields, elements, tuple(kinds))
        else:
            known = context.known(self._name or "")
            if known is not None and not (known.shape.data and same_kinds(kinds, known.shape.data)):
                wanted = " . ".join(kind.name for kind in kinds)
                raise ValueError(f"{self!r}: what the map leads to is {known.value}, and not {wanted}")
        yield from look_up(context, self.fields, known, self._name, register, dreg=register)


def numgen(modulus: int, *, random: bool = False, offset: int = 0, register: int = REG.R1) -> Numgen:
    """A number below `modulus`, and `offset` more: one after another, or at random."""
    return Numgen(dreg=register, modulus=modulus, type=NG.RANDOM if random else NG.INCREMENTAL, offset=offset)


def symhash(modulus: int, *, offset: int = 0) -> Hash:
    """A number below `modulus`, and `offset` more: the same in both directions of a connection."""
    return Hash(dreg=REG.R1, modulus=modulus, offset=offset, type=HASH.SYM)


def jhash(fields: str | Sequence[str], modulus: int, *, seed: int | None = None, offset: int = 0) -> Source:
    """A number below `modulus`, and `offset` more: the same where the fields are. Without `seed`, by chance."""
    return _JHash(fields, Hash(modulus=modulus, seed=seed, offset=offset, type=HASH.JENKINS))


class _JHash(Source):
    def __init__(self, fields: str | Sequence[str], settings: Hash) -> None:
        self.fields = compared(fields)
        self._settings = settings
        self.names = sets_among(self.fields)

    def __repr__(self) -> str:
        return f"jhash({' . '.join(one.name for one in self.fields)!r}, {self._settings.modulus})"

    def into(self, context: Context, kinds: Sequence[DataType], register: int) -> Iterator[Expr]:
        number(self, kinds)
        fields = self.fields
        size = fields[0].type.size if len(fields) == 1 else sum(one.type.padded for one in fields)
        yield from context.load(fields, register, shifted=True)
        yield self._settings.replace(sreg=first_register(fields, register), dreg=register, len=size)


def number(what: Any, kinds: Sequence[DataType]) -> None:
    """Make sure that a number of the host is wanted."""
    if len(kinds) != 1 or kinds[0].size != 4 or kinds[0].order != HOST:
        raise ValueError(f"{what!r} is a number of 4 bytes, where {' . '.join(kind.name for kind in kinds)} is wanted")


class _Given(Source):
    """A value that is there, or is the index of a device."""

    def __init__(self, value: Any, kinds: Sequence[DataType]) -> None:
        values = (value,) if len(kinds) == 1 else value
        if not isinstance(values, tuple) or len(values) != len(kinds):
            raise TypeError(f"{value!r}: {' . '.join(kind.name for kind in kinds)} is wanted")
        self._device = device_named(kinds[0], value)
        if self._device is not None:
            self.names = (self._device,)
            return
        parts = [kind.write(one) for kind, one in zip(kinds, values, strict=True)]
        self._data = parts[0] if len(parts) == 1 else b"".join(part + bytes(-len(part) % 4) for part in parts)

    def into(self, context: Context, kinds: Sequence[DataType], register: int) -> Iterator[Expr]:
        data = self._data if self._device is None else kinds[0].write(context.index(self._device))
        yield Immediate(dreg=register, data=Data(value=data))


class _Computed(Source):
    def __init__(self, expression: Any) -> None:
        self._expression = expression

    def into(self, context: Context, kinds: Sequence[DataType], register: int) -> Iterator[Expr]:
        number(self._expression, kinds)
        yield self._expression.replace(dreg=register)


def source(value: Any, *kinds: DataType) -> Source:
    """The value itself, or what finds it."""
    if isinstance(value, Source):
        return value
    if isinstance(value, Expr) and not finds(value):
        raise TypeError(f"{value!r} finds no value")
    return _Computed(value) if isinstance(value, Expr) else _Given(value, kinds)


class Load(NamedTuple):
    """Something that goes into a register before it is used."""

    what: Source
    kind: DataType
    register: int


class Using(Deferred):
    """Values into registers, and the expression that takes them from there."""

    def __init__(self, loads: Iterable[Load], then: Expr) -> None:
        self.loads = tuple(loads)
        self.then = then
        self.names = tuple(name for one in self.loads for name in one.what.names)

    def expand(self, context: Context) -> Iterator[Expr]:
        for what, _, _ in self.loads:
            yield from context.need(what.fields)
        # In the order of their registers, for a Source may use those behind its own.
        for what, kind, register in sorted(self.loads, key=attrgetter("register")):
            yield from what.into(context, (kind,), register)
        yield self.finish(context)

    def finish(self, context: Context) -> Expr:
        return self.then
