"""Class statements: where a compiler puts the fields, what is refused, what subclasses may add."""

import ctypes
import gc
import itertools
import sys

import pytest

from netlink_codec import DecodeError
from netlink_codec import records as r
from record_classes import Data, Info, Link, Pair, Route, Stats, Vlan
from support import stream

CTYPES = {
    **{"U8": ctypes.c_uint8, "U16": ctypes.c_uint16, "U32": ctypes.c_uint32, "U64": ctypes.c_uint64},
    **{"S8": ctypes.c_int8, "S16": ctypes.c_int16, "S32": ctypes.c_int32, "S64": ctypes.c_int64},
}


def test_structs_are_laid_out_as_a_compiler_does():
    for length in (1, 2, 3, 4):
        for names in itertools.product(("U8", "S16", "U32", "S64", "U64"), repeat=length):
            kinds = [(f"f{i}", getattr(r, name)) for i, name in enumerate(names)]
            cls = type(r.Struct)("Made", (r.Struct,), {name: r.fixed(kind, default=0) for name, kind in kinds})
            fields = [(f"f{i}", CTYPES[name]) for i, name in enumerate(names)]
            native = type("Native", (ctypes.Structure,), {"_fields_": fields})
            values = {f"f{i}": 0x7A - i for i in range(length)}
            assert bytes(cls(**values)) == bytes(native(**values))
            record = cls.from_bytes(bytes(native(**values)))
            assert {name: getattr(record, name) for name in values} == values


def test_a_struct_in_a_struct_has_its_alignment():
    class Wide(r.Struct):
        number: int = r.fixed(r.U64)
        small: int = r.fixed(r.U8, default=3)

    class Outer(r.Struct):
        before: int = r.fixed(r.U8, default=1)
        wide: Wide = r.fixed(r.nested(Wide))
        name: str = r.fixed(r.characters(3), default="ab")
        after: int = r.fixed(r.U16, default=2)

    class NativeWide(ctypes.Structure):
        _fields_ = [("number", ctypes.c_uint64), ("small", ctypes.c_uint8)]

    class Native(ctypes.Structure):
        _fields_ = [
            ("before", ctypes.c_uint8),
            ("wide", NativeWide),
            ("name", ctypes.c_char * 3),
            ("after", ctypes.c_uint16),
        ]

    outer = Outer(wide=Wide(number=2**63))
    assert bytes(outer) == bytes(Native(1, NativeWide(2**63, 3), b"ab", 2))
    assert (outer.wide.number, outer.wide.small, outer.name, outer.after) == (2**63, 3, "ab", 2)
    assert outer.wide == Wide(number=2**63)
    assert outer.replace(wide=Wide(number=1)).wide.number == 1
    assert outer.wide.message_flags == 0


def test_attributes_begin_after_the_struct_and_its_padding():
    for size in range(1, 10):

        class Some(r.Record):
            header: bytes = r.fixed(r.blob(size), default=bytes(size))
            value: int | None = r.attr(1, r.U8)

        whole = b"h" * size + bytes(-size % 4) + stream((1, b"\x05"))
        assert Some.from_bytes(whole).value == 5
        assert bytes(Some(header=b"h" * size, value=5)) == whole
        assert Some.from_bytes(b"h" * size).value is None
        assert Some.from_bytes(b"h" * size) == Some(header=b"h" * size)


# Structs that grow ----------------------------------------------------------------------------------------------------


def test_structs_may_be_shorter_or_longer_than_declared():
    for size in range(50):
        stats = Stats.from_bytes(bytes(range(1, size + 1)))
        values = [int.from_bytes(bytes(range(i + 1, i + 9)), sys.byteorder) for i in (0, 8, 16, 24)]
        assert stats.rx == (values[0] if size >= 8 else 0)
        assert stats.tx == (values[1] if size >= 16 else 0)
        assert stats.lost == (values[2] if size >= 24 else None)
        assert stats.late == (values[3] if size >= 32 else None)
        assert bytes(stats) == bytes(range(1, size + 1))
        assert len(bytes(stats.replace(tx=1))) == max(size, 16)
        assert stats.replace() == stats


def test_what_a_struct_has_grown_by_is_left_out_when_it_is_not_given():
    assert (len(bytes(Stats())), Stats().lost, Stats().late) == (16, None, None)
    assert (len(bytes(Stats(lost=0))), Stats(lost=0).lost, Stats(lost=0).late) == (24, 0, None)
    assert (len(bytes(Stats(late=1))), Stats(late=1).lost, Stats(late=1).late) == (32, 0, 1)
    whole = Stats(rx=1, tx=2, lost=3, late=4)
    assert whole.replace(late=None) == Stats(rx=1, tx=2, lost=3)
    assert whole.replace(late=None, lost=None) == Stats(rx=1, tx=2)
    assert whole.replace(lost=None) == Stats(rx=1, tx=2, lost=0, late=4)
    assert Stats().replace(late=None) == Stats()
    assert Stats().replace(lost=3) == Stats(lost=3)


def test_a_record_whose_struct_grows():
    class Grown(r.Record):
        family: int = r.fixed(r.U8, default=0)
        new: int | None = r.grown(r.U32)
        value: int | None = r.attr(1, r.U8)

    assert (bytes(Grown()), Grown().new) == (b"\0" * 4, None)
    assert (len(bytes(Grown(new=0))), Grown(new=0).new) == (8, 0)
    assert (Grown(value=3).value, Grown(value=3).new) == (3, 0)
    assert Grown.from_bytes(b"\2").family == 2
    assert Grown.from_bytes(b"\2").new is None
    assert bytes(Grown.from_bytes(b"\2").replace(family=3)) == b"\3"
    assert Grown.from_bytes(b"\2").replace(value=3).value == 3
    assert Grown.from_bytes(b"\2").to_dict() == {"family": 2}
    with pytest.raises(DecodeError):
        Grown.from_bytes(b"")


# What is refused ------------------------------------------------------------------------------------------------------


def declared(bases=(r.Record,), options=None, **namespace):
    return type(r.Record)("Made", bases, namespace, **(options or {}))


NAMES = ["message_type", "message_flags", "from_bytes", "from_message", "unknown", "replace", "to_dict", "check"]


@pytest.mark.parametrize("name", [*NAMES, "path_names", "identity", "_private", "_schema", "__class__", "__len__"])
def test_names_that_records_have_already(name):
    with pytest.raises(TypeError):
        declared(**{name: r.attr(1, r.U8)})


@pytest.mark.parametrize(
    ("namespace", "options", "text"),
    [
        ({"a": lambda: r.fixed(r.STRING, default="")}, {}, "Made.a: in a struct, values have one width"),
        ({"a": lambda: r.fixed(r.nested(Link))}, {}, "Made.a: in a struct"),
        ({"a": lambda: r.grown(r.U8), "b": lambda: r.fixed(r.U8)}, {}, "Made.b: a struct grows at its end"),
        ({"a": lambda: r.attr(1, r.U8), "b": lambda: r.attr(1, r.U8)}, {}, "a and b are both attribute 1"),
        ({"a": lambda: r.attr(1, r.U8)}, {"identity": ("b",)}, "Made has no field 'b'"),
        ({"a": lambda: r.attr(1, r.U8)}, {"identity": "ab"}, "Made has no field 'b'"),
        ({"a": lambda: r.attr(1, r.U8)}, {"family": "b"}, "Made has no field 'b'"),
        ({"a": lambda: r.attr(1, r.U8)}, {"family": "a"}, "Made.a: an address family is a number in the struct"),
        ({"a": lambda: r.prefix(1, length="b")}, {}, "Made has no field 'b'"),
        ({"b": lambda: r.attr(2, r.U8), "a": lambda: r.prefix(1, length="b")}, {}, "b is no number in the struct"),
        ({"b": lambda: r.fixed(r.U16), "a": lambda: r.prefix(1, length="b")}, {}, "or too wide"),
        ({"b": lambda: r.fixed(r.blob(1)), "a": lambda: r.prefix(1, length="b")}, {}, "b is no number"),
        ({"b": lambda: r.grown(r.U8), "a": lambda: r.prefix(1, length="b")}, {}, "b is no number"),
        ({"b": lambda: r.fixed(r.U8), "a": lambda: r.network(1, length="b")}, {}, "does not say which field"),
        ({"b": lambda: r.fixed(r.U32), "a": lambda: r.merged(1, r.U32, over="b")}, {}, "b is not narrower"),
        ({"b": lambda: r.fixed(r.U64), "a": lambda: r.merged(1, r.U32, over="b")}, {}, "b is not narrower"),
        ({"b": lambda: r.fixed(r.U8), "a": lambda: r.merged(1, r.STRING, over="b")}, {}, "an unsigned number"),
        ({"b": lambda: r.fixed(r.U8), "a": lambda: r.merged(1, r.S32, over="b")}, {}, "an unsigned number"),
        ({"a": lambda: r.merged(1, r.U32, over="a")}, {}, "a is no number in the struct"),
        ({"a": lambda: r.attr(1, r.chosen(Data, by="b"))}, {}, "Made has no field 'b'"),
        ({"a": lambda: r.attr(1, r.chosen(Data, by="a"))}, {}, "a is chosen itself"),
        ({"a": lambda: r.fixed(r.U8, default=256)}, {}, "Made.a: 256 is out of range"),
        ({"a": lambda: r.fixed(r.U8, default="x")}, {}, "Made.a: a number is wanted"),
        ({}, {"kind": []}, "unhashable"),
        ({}, {"other": 1}, "other"),
    ],
)
def test_declarations_that_make_no_sense(namespace, options, text):
    bases = (Data,) if "kind" in options else (r.Record,)
    with pytest.raises((TypeError, ValueError), match=text):
        declared(bases, options, **{name: make() for name, make in namespace.items()})


def test_what_a_struct_and_a_sequence_are_made_of():
    with pytest.raises(TypeError, match=r"Made\.a: a struct has no attributes"):
        declared((r.Struct,), a=r.attr(1, r.U8))
    for record in (Link, Pair, r.Struct, Data):
        with pytest.raises(TypeError, match=f"{record.__name__} does not begin with its length"):
            r.sequence(record)
    for wrong in (Link(), 5, "Link", r.Record):
        with pytest.raises(TypeError):
            r.sequence(wrong)
    for wrong in (5, "Link", r.Record, int):
        with pytest.raises(TypeError):
            r.nested(wrong)
        with pytest.raises(TypeError):
            r.chosen(wrong, by="a")


def test_codes_are_those_of_attributes():
    for code in (-1, 0x4000, 2**31, 2**70):
        with pytest.raises((ValueError, OverflowError)):
            r.attr(code, r.U8)
    with pytest.raises(TypeError):
        r.attr("1", r.U8)
    with pytest.raises(TypeError):
        r.attr(1.0, r.U8)
    with pytest.raises(TypeError):
        r.attr(1, int)
    assert declared(a=r.attr(0x3FFF, r.U8))(a=5).a == 5


def test_a_field_belongs_to_one_class():
    # Before 3.12, what __set_name__ raises is the cause of a RuntimeError.
    field = r.attr(1, r.U8)
    declared(a=field)
    with pytest.raises((TypeError, RuntimeError)) as caught:
        declared(b=field)
    assert "belongs to one class, and this is Made.a" in f"{caught.value} {caught.value.__cause__}"
    field = r.attr(1, r.U8)
    with pytest.raises((TypeError, RuntimeError)):
        declared(a=field, b=field)


def test_one_kind_may_be_in_many_classes():
    first, second = declared(a=r.attr(1, Info.data.kind), kind=r.attr(2, r.STRING)), Info
    assert type(first(a=Vlan(id=1)).a) is Vlan
    assert type(second(data=Vlan(id=1)).data) is Vlan


def test_a_choice_is_one_classs():
    with pytest.raises(TypeError, match="'vlan' is Vlan already"):
        declared((Data,), {"kind": "vlan"})

    class Base(r.Record):
        pass

    made = declared((Base,), {"kind": "vlan"})
    user = declared(kind=r.attr(1, r.STRING), data=r.attr(2, r.chosen(Base, by="kind")))
    assert type(user.from_bytes(stream((1, b"vlan"), (2, b""))).data) is made


# Subclasses -----------------------------------------------------------------------------------------------------------


def test_subclasses_add_attributes_and_replace_fields():
    class More(Link):
        extra: int | None = r.attr(77, r.U32)
        mtu: str | None = r.attr(4, r.STRING)

    more = More(index=3, mtu="large", extra=5, name="a")
    assert (more.index, more.mtu, more.extra, more.name, more.identity) == (3, "large", 5, "a", (3,))
    assert more != Link(index=3, name="a")
    assert Link.from_bytes(bytes(more)).unknown[0][0] == 77
    assert more.to_dict()["mtu"] == "large"
    assert isinstance(more, Link)
    assert [name for name in more.to_dict() if name in ("name", "mtu", "extra")] == ["name", "extra", "mtu"]
    assert bytes(Link(name="x", mtu=1)) == bytes(Link(mtu=1, name="x"))
    for wrong in ({"new": r.fixed(r.U32)}, {"index": r.fixed(r.U8)}):
        with pytest.raises(TypeError, match="the struct of Link cannot be added to"):
            declared((Link,), None, **wrong)


def test_a_replaced_field_leaves_its_code():
    class Moved(Link):
        mtu: int | None = r.attr(78, r.U32)
        old: int | None = r.attr(4, r.U32)

    moved = Moved(mtu=5, old=6)
    assert (moved.mtu, moved.old) == (5, 6)
    assert (moved.to_dict()["mtu"], moved.to_dict()["old"]) == (5, 6)
    assert moved.replace(mtu=None).mtu is None
    assert Link(mtu=9).mtu == 9


def test_subclasses_of_a_chosen_class_fill_in_its_kind():
    class Special(Vlan):
        def double(self):
            return 2 * self.id

    info = Info(data=Special(id=4))
    assert info.kind == "vlan"
    assert type(info.data) is Vlan


def test_two_parents_may_have_one_in_common():
    class Left(Data):
        left: int | None = r.attr(50, r.U8)

    class Right(Data):
        right: int | None = r.attr(51, r.U8)

    class Both(Left, Right):
        pass

    both = Both(left=1, right=2)
    assert (both.left, both.right) == (1, 2)
    assert both.to_dict() == {"left": 1, "right": 2}


def test_subclasses_may_hold_more_than_the_bytes():
    class Noted(Link):
        __slots__ = ("note",)

    class Open(Link):
        __slots__ = ("__dict__", "__weakref__")

    for cls in (Noted, Open):
        record = cls(index=4, mtu=1500, info=Info(data=Vlan(id=3)))
        record.note = [record]
        assert (record.index, record.mtu, record.info.data.id, record.note) == (4, 1500, 3, [record])
        assert gc.is_tracked(record)
        assert record.replace(mtu=4).mtu == 4
        with pytest.raises(AttributeError, match="cannot be set"):
            record.mtu = 5
        broken = cls.from_bytes(bytes(16) + stream((9, b"123"), (18, stream((1, b"vlan"), (2, stream((1, b"")))))))
        with pytest.raises(DecodeError, match=r"^Vlan\.id at offset 44 "):
            _ = broken.info.data.id
    record = Open(index=4)
    vars(record)["index"] = 9
    assert record.index == 4
    assert type(Info(data=Vlan(id=3)).data) is Vlan


def test_records_with_a_finalizer():
    seen = []

    class Counted(Link):
        def __del__(self):
            seen.append(self.index)

    class Below(Counted):
        pass

    class Apart(Counted):
        __slots__ = ("note",)

    class Late(Link):
        pass

    Late.__del__ = lambda self: seen.append(self.mtu)
    for cls in (Counted, Below, Apart):
        record = cls(index=5)
        del record
        gc.collect()
        assert seen == [5]
        seen.clear()
    record = Late(mtu=6)
    del record
    gc.collect()
    assert seen == [6]


def test_a_finalizer_may_bring_the_record_back():
    kept = []

    class Undead(Link):
        def __del__(self):
            kept.append(self)

    Undead(mtu=7)
    assert kept[0].mtu == 7
    del Undead.__del__
    kept.clear()


def test_a_property_beside_the_fields():
    class Named(Route):
        @property
        def where(self):
            return f"{self.dst} by {self.oif}"

    assert Named(family=2, oif=3).where == "0.0.0.0/0 by 3"
