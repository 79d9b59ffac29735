"""Changes to sets and maps, and to what is in them."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from .._core import Message
from ..constants import NLM_F_CREATE, NLM_F_ECHO, NLM_F_EXCL
from . import userdata
from .datatypes import HOST, VERDICT_TYPE, DataType, named, number_of, size_of
from .elements import Element, written
from .enums import MSG, NFPROTO, OBJECT, SET_F, SET_POL
from .exprs import Expr, Expression
from .sets import RawElements, Set, SetDescription, SetField, Shape, element_list, listed
from .spelling import Family, NamedSet, family_of, found, name_of, set_name
from .transaction import Assembly, Change

_PLAIN = (list, tuple, set, frozenset)
_MOST_PARTS = 5
"""Six bits each."""


def add_set(
    family: Family,
    table: str,
    name: str,
    key: str,
    elements: Iterable[Any] = (),
    *,
    value: str | None = None,
    interval: bool = False,
    dynamic: bool = False,
    constant: bool = False,
    timeout: float | None = None,
    timeouts: bool = False,
    gc_interval: int | None = None,
    size: int | None = None,
    policy: str | int | None = None,
    expressions: Sequence[Expr] = (),
    comment: str | None = None,
    exist_ok: bool = False,
) -> Change:
    """A set, and what is in it at first; a map if there is a `value`.

    `key` is a data type, as `nft` calls it, or a concatenation: "ipv4_addr . inet_service". `value`
    is one too, or "verdict", or the word of an object: "counter". `elements` are keys, Elements, or of a map a dict.

    `interval` lets networks and ranges be elements; `dynamic` lets rules add some. Those
    may have timeouts if the set has `timeouts`, or a `timeout` for all (seconds); `gc_interval` (milliseconds) is how
    often the kernel looks for those that are over. `size` is
    how many there may be at most; without it, the kernel makes more room when it must, and a
    dump that meets it at that may miss elements. `expressions`, a counter as a rule, are what each element gets.
    """
    record = set_record(
        family_of(family),
        table,
        name,
        named(key),
        value,
        flags=(SET_F.INTERVAL if interval else SET_F(0))
        | (SET_F.EVAL if dynamic else SET_F(0))
        | (SET_F.CONSTANT if constant else SET_F(0))
        | (SET_F.TIMEOUT if timeouts or timeout is not None else SET_F(0)),
        timeout=timeout,
        gc_interval=gc_interval,
        size=size,
        policy=None if policy is None else SET_POL.of(policy),
        expressions=expressions,
        comment=comment,
    )
    flags = NLM_F_CREATE | NLM_F_ECHO | (0 if exist_ok else NLM_F_EXCL)
    items = _items(elements)

    def messages(assembly: Assembly, change: Change) -> Iterator[Message]:
        yield Message(MSG.NEWSET, flags, record.replace(id=assembly.number(change)))
        yield from element_messages(MSG.NEWSETELEM, flags & ~NLM_F_ECHO, record, items)

    what = "set" if value is None else "map"
    return Change(f"add {what} {record.family.word} {table} {name}", messages, record=Set, sets=[record])


def add_map(
    family: Family, table: str, name: str, key: str, value: str, elements: Iterable[Any] = (), **settings: Any
) -> Change:
    """A map: `add_set` with a `value`. Its elements are a dict, or Elements."""
    if value is None:
        raise TypeError(f"map {name}: what it leads to is a data type, verdict, or the word of an object, not None")
    return add_set(family, table, name, key, elements, value=value, **settings)


def _items(elements: Iterable[Any]) -> list[Any]:
    if type(elements) in _PLAIN:  # whatever else there is takes longer to rule out
        return list(elements)
    if isinstance(elements, dict):
        return [Element(key, value) for key, value in elements.items()]
    if isinstance(elements, str | bytes | Element) or not isinstance(elements, Iterable):
        raise TypeError(f"elements are given as a list or the like, not {elements!r}")
    return list(elements)


def set_record(
    family: NFPROTO,
    table: str,
    name: str,
    key: tuple[DataType, ...],
    value: str | tuple[DataType, ...] | None = None,
    *,
    flags: SET_F,
    size: int | None = None,
    expressions: Sequence[Expr] = (),
    comment: str | None = None,
    **fields: Any,
) -> Set:
    """A set or a map as `nft` would make it, with what it keeps there for itself."""
    _sized(key)
    if not isinstance(expressions, Sequence):
        raise TypeError(f"the expressions of a set are given as a list, not {expressions!r}")
    interval = bool(flags & SET_F.INTERVAL)
    order = userdata.BIG_ENDIAN if interval or key[0].order == "big" else userdata.HOST_ORDER
    told = {userdata.SET_KEYBYTEORDER: (order if len(key) == 1 else 0).to_bytes(4, HOST)}
    if len(key) > 1:
        flags |= SET_F.CONCAT if interval else SET_F(0)
        if interval:
            fields["desc"] = SetDescription(size=size, concat=tuple(SetField(len=part.size) for part in key))
    if size is not None and "desc" not in fields:
        fields["desc"] = SetDescription(size=size)
    if value == "verdict":
        flags |= SET_F.MAP
        fields |= {"data_type": VERDICT_TYPE, "data_len": 16}
        told[userdata.SET_DATABYTEORDER] = (0).to_bytes(4, HOST)
    elif value is not None:
        kind = OBJECT.named(value) if isinstance(value, str) else None
        if kind is not None:
            flags |= SET_F.OBJECT
            fields["obj_type"] = kind
        else:
            data = _sized(named(value) if isinstance(value, str) else value)
            flags |= SET_F.MAP
            fields |= {"data_type": number_of(data), "data_len": size_of(data)}
            its = userdata.BIG_ENDIAN if data[0].order == "big" else userdata.HOST_ORDER
            told[userdata.SET_DATABYTEORDER] = (its if len(data) == 1 else 0).to_bytes(4, HOST)
    if comment is not None:
        told[userdata.SET_COMMENT] = userdata.text(comment)
    if len(expressions) == 1:
        fields["expr"] = Expression(data=expressions[0])
    elif expressions:
        flags |= SET_F.EXPR
        fields["expressions"] = tuple(Expression(data=one) for one in expressions)
    return Set(
        family=family,
        table=name_of("table", table),
        name=name_of("set", name),
        flags=flags,
        key_type=number_of(key),
        key_len=size_of(key),
        userdata=userdata.write(told),
        **fields,
    )


def _sized(parts: tuple[DataType, ...]) -> tuple[DataType, ...]:
    """The same, if a set can be of them."""
    for part in parts:
        if not part.size:
            raise ValueError(f"{part.name} is of no size of its own, and so nothing that a set can be of")
    if len(parts) > _MOST_PARTS:
        raise ValueError(f"{' . '.join(part.name for part in parts)}: a concatenation has at most {_MOST_PARTS} parts")
    return parts


def delete_set(family: Family, table: str, name: str, *, missing_ok: bool = False) -> Change:
    """A set or a map, which no rule refers to any more."""
    record = Set(family=family_of(family), table=name_of("table", table), name=name_of("set", name))
    message = Message(MSG.DESTROYSET if missing_ok else MSG.DELSET, 0, record)
    return Change(f"delete set {record.family.word} {table} {name}", lambda assembly, change: (message,), record=Set)


def element_messages(
    kind: int, flags: int, known: Set, items: Iterable[Any], *, keys_alone: bool = False, shape: Shape | None = None
) -> Iterator[Message]:
    """As many as it takes: one holds 64 KiB. `shape` is for a set whose record does not say what its keys are."""
    _, own, around = _place(bytes(known))
    for piece in written(shape or own, items, keys_alone=keys_alone):
        yield Message(kind, flags, around + element_list(piece))


@lru_cache(64)
def _place(record: bytes) -> tuple[tuple[NFPROTO, str, str], Shape, bytes]:
    """Of a set: where it is, what it is of, and what stands before its elements."""
    one = Set.from_bytes(record)
    place = one.family, one.table or "", one.name or ""
    return place, one.shape, listed(*place, None, one.id)


def _elements(
    doing: str, kind: int, flags: int, family: Family, table: str, set: str | Set, items: Iterable[Any], alone: bool
) -> Change:
    which = found(family, table, set)
    table, name = name_of("table", table), set_name(set)
    wanted = _items(items)
    place = family_of(family), table, name

    def messages(assembly: Assembly, change: Change) -> Iterator[Message]:
        if not wanted:
            return iter(())
        known = which if isinstance(which, Set) else assembly.sets[place]
        if _place(bytes(known))[0] != place:
            known = known.replace(family=place[0], table=table)
        assembly.given.append(known)
        return element_messages(kind, flags, known, wanted, keys_alone=alone)

    sets: Sequence[NamedSet | Set] = (which,) if wanted and isinstance(which, NamedSet) else ()
    return Change(_doing(doing, *place), messages, sets=sets, record=RawElements)


@lru_cache(64)
def _doing(doing: str, family: NFPROTO, table: str, name: str) -> str:
    return f"{doing} {family.word} {table} {name}"


def add_elements(family: Family, table: str, set: str | Set, keys: Iterable[Any], *, exist_ok: bool = False) -> Change:
    """Elements of a set or a map: keys, Elements, or for a map a dict.

    Any number goes, and a set of intervals takes networks, `Range`s and single values. What
    its keys are is looked up; not if `set` is its record, or is added in the same
    transaction. With `exist_ok`, one that is there already stays as it is.
    """
    flags = NLM_F_CREATE | (0 if exist_ok else NLM_F_EXCL)
    return _elements("add elements to", MSG.NEWSETELEM, flags, family, table, set, keys, False)


def delete_elements(
    family: Family, table: str, set: str | Set, keys: Iterable[Any], *, missing_ok: bool = False
) -> Change:
    """Elements of a set or a map, by their keys; Elements do too."""
    kind = MSG.DESTROYSETELEM if missing_ok else MSG.DELSETELEM
    return _elements("delete elements of", kind, 0, family, table, set, keys, True)


def flush_set(family: Family, table: str, set: str | Set) -> Change:
    """Delete all elements."""
    table, name = name_of("table", table), set_name(set)
    message = Message(MSG.DELSETELEM, 0, listed(family_of(family), table, name, None))
    return Change(f"flush set {table} {name}", lambda assembly, change: (message,))
