"""Sets and maps, and what is in them, as the kernel has it: NFTA_SET_* and NFTA_SET_ELEM_*."""

import struct
from functools import lru_cache
from typing import Any

from ..constants import NLA_F_NESTED
from ..records import (
    BYTES,
    STRING,
    U32BE,
    U64BE,
    Record,
    array,
    as_enum,
    as_flags,
    attr,
    nested,
    required,
)
from . import userdata
from .datatypes import HOST, VERDICT_TYPE, DataType, Order, types_of
from .enums import ELEM_F, NFPROTO, OBJECT, SET_F, SET_POL
from .exprs import DATA, EXPRESSION, SECONDS, Data, Expression
from .ruleset import Named

_HEADER = struct.Struct("=HH")


class SetField(Record):
    """One part of a concatenation: NFTA_SET_FIELD_*."""

    len: int | None = attr(1, U32BE)


class SetDescription(Record):
    """NFTA_SET_DESC_*"""

    size: int | None = attr(1, U32BE)
    """So many elements it has at most."""
    concat: tuple[SetField, ...] | None = attr(2, array(nested(SetField), code=1))


class Set(Named, identity=("family", "table", "name")):
    """A set or a map: NFTA_SET_*."""

    table: str | None = attr(1, STRING)
    name: str | None = attr(2, STRING)
    flags: SET_F | None = attr(3, as_flags(U32BE, SET_F))
    key_type: int | None = attr(4, U32BE)
    key_len: int | None = attr(5, U32BE)
    data_type: int | None = attr(6, U32BE)
    data_len: int | None = attr(7, U32BE)
    policy: SET_POL | None = attr(8, as_enum(U32BE, SET_POL))
    desc: SetDescription | None = attr(9, nested(SetDescription))
    id: int | None = attr(10, U32BE)
    timeout: float | None = attr(11, SECONDS)
    """Seconds that an element stays which has no timeout of its own."""
    gc_interval: int | None = attr(12, U32BE)
    """Milliseconds."""
    userdata: bytes | None = attr(13, BYTES)
    obj_type: OBJECT | None = attr(15, as_enum(U32BE, OBJECT))
    """Of a map of objects."""
    handle: int | None = attr(16, U64BE)
    expr: Expression | None = attr(17, EXPRESSION)
    """What each new element gets: a counter, as a rule."""
    expressions: tuple[Expression, ...] | None = attr(18, array(EXPRESSION, code=1))
    type: str | None = attr(19, STRING)
    """How the kernel keeps it; since Linux 6.16."""
    count: int | None = attr(20, U32BE)
    """How many elements it has, an interval being one; since Linux 6.16."""

    @property
    def comment(self) -> str | None:
        return userdata.comment(self.userdata, userdata.SET_COMMENT)

    @property
    def key(self) -> str:
        """What its keys are, as `nft` calls it: "ipv4_addr . inet_service"."""
        return " . ".join(part.name for part in self.shape.key)

    @property
    def value(self) -> str | None:
        """What a map leads to: a data type, "verdict", or the type of an object; None of a set."""
        shape = self.shape
        if shape.verdicts:
            return "verdict"
        if shape.objects is not None:
            return shape.objects.word
        return " . ".join(part.name for part in shape.data) if shape.data else None

    @property
    def shape(self) -> "Shape":
        return _shape_of(bytes(self))

    def _shaped(self) -> "Shape":
        told = userdata.read(self.userdata)
        return _shape(
            int(self.flags or 0),
            self.key_type or 0,
            self.key_len or 0,
            self.data_type,
            self.data_len or 0,
            self.obj_type,
            told.get(userdata.SET_KEYBYTEORDER, b""),
            told.get(userdata.SET_DATABYTEORDER, b""),
            any(told.get(userdata.SET_DATA_INTERVAL, b"")),
        )


class Shape:
    """What must be known of a set to read its elements and to write them."""

    def __init__(
        self,
        flags: SET_F,
        key: tuple[DataType, ...],
        data: tuple[DataType, ...] = (),
        *,
        verdicts: bool = False,
        objects: OBJECT | None = None,
        ranges: bool = False,
    ) -> None:
        self.interval = bool(flags & SET_F.INTERVAL)
        self.key = key
        self.concatenated = len(key) > 1
        self.split = self.interval and not self.concatenated
        """Whether an interval is two elements of the kernel: where it begins, and the first behind it."""
        self.data = data
        self.verdicts = verdicts
        self.objects = objects
        self.ranges = ranges
        """Whether what a map leads to is from one value to another."""
        self.keys_alone = not (self.split or verdicts or data or objects is not None)
        """Whether an element may be nothing but a key, which is one of the kernel's."""


@lru_cache(64)
def _shape_of(record: bytes) -> Shape:
    return Set.from_bytes(record)._shaped()


@lru_cache(64)
def _shape(
    flags: int,
    key: int,
    key_len: int,
    data: int | None,
    data_len: int,
    objects: Any,
    order: bytes,
    data_order: bytes,
    ranges: bool,
) -> Shape:
    flag = SET_F(flags)
    verdicts = bool(flag & SET_F.MAP) and data == VERDICT_TYPE
    values: tuple[DataType, ...] = ()
    if flag & SET_F.MAP and data is not None and not verdicts:
        length = data_len // 2 if ranges else data_len
        values = types_of(data, length, _order(data_order), interval=ranges)
    keys = types_of(key, key_len, _order(order), interval=bool(flag & SET_F.INTERVAL))
    objects = objects if flag & SET_F.OBJECT else None
    return Shape(flag, keys, values, verdicts=verdicts, objects=objects, ranges=ranges)


def _order(told: bytes) -> Order | None:
    """What userdata says; "integer" is the only type that leaves it open, but anything goes."""
    if len(told) != 4:
        return None
    number = int.from_bytes(told, HOST)
    if number == userdata.BIG_ENDIAN:
        return "big"
    return HOST if number == userdata.HOST_ORDER else None


class RawElement(Record):
    """An element as the kernel has it: NFTA_SET_ELEM_*."""

    key: Data | None = attr(1, DATA)
    data: Data | None = attr(2, DATA)
    flags: ELEM_F | None = attr(3, as_flags(U32BE, ELEM_F))
    timeout: float | None = attr(4, SECONDS)
    expiration: float | None = attr(5, SECONDS)
    userdata: bytes | None = attr(6, BYTES)
    expr: Expression | None = attr(7, EXPRESSION)
    objref: str | None = attr(9, STRING)
    key_end: Data | None = attr(10, DATA)
    expressions: tuple[Expression, ...] | None = attr(11, array(EXPRESSION, code=1))


class RawElements(Named):
    """Elements of one set: NFTA_SET_ELEM_LIST_*."""

    table: str = required(1, STRING)
    set: str = required(2, STRING)
    elements: tuple[RawElement, ...] | None = attr(3, array(nested(RawElement), code=1))
    set_id: int | None = attr(4, U32BE)


def listed(family: int, table: str, set: str, elements: bytes | None, id: int | None = None) -> bytes:
    """RawElements of elements that are bytes already; None is all."""
    around = _around(family, table, set, id)
    if elements is None:
        return around
    return around + element_list(elements)


def element_list(elements: bytes) -> bytes:
    """NFTA_SET_ELEM_LIST_ELEMENTS of these."""
    return _HEADER.pack(4 + len(elements), 3 | NLA_F_NESTED) + elements


@lru_cache(64)
def _around(family: int, table: str, set: str, id: int | None) -> bytes:
    return bytes(RawElements(family=NFPROTO(family), table=table, set=set, set_id=id))
