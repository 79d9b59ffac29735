"""What a record holds, for how long, and that nothing a program may do reaches past it."""

import ctypes
import gc
import sys
import sysconfig
import threading
import weakref
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from netlink_codec import DecodeError, EncodeError, Message, _records
from netlink_codec import records as r
from record_classes import Data, Flags, Hop, Info, Link, Other, Pair, Route, Stats, Tree, Vlan
from support import shares_between_threads, stream

Base = _records.Base
BASE = Base.__basicsize__
# A build for comparison leaves Python's garbage collection as it is.
TRACKED = gc.is_tracked(Stats())


def test_a_record_is_one_small_block():
    if TRACKED:
        pytest.skip("this build keeps each record's bytes in an object of their own")
    route = Route.from_bytes(bytes(44))
    assert sys.getsizeof(route) == BASE - 8 + 44
    assert sys.getsizeof(Stats.from_bytes(b"")) == BASE
    assert sys.getsizeof(Link(info=Info(kind="x" * 99)).info) == BASE
    for record in (route, Link(), Link(info=Info()).info, Stats(), Pair.from_bytes(b"")):
        assert not gc.is_tracked(record)


@pytest.mark.exhaustive
def test_a_million_of_them():
    data = bytes(Route(family=2, table=254, oif=3)) + bytes(28)
    tracked = len(gc.get_objects())
    records = [Route.from_bytes(data) for _ in range(1_000_000)]
    assert len(gc.get_objects()) - tracked < 100 or TRACKED
    assert records[0] == records[-1]
    assert sum(sys.getsizeof(record) for record in records[:100]) <= 100 * (BASE + len(data)) or TRACKED


def test_parts_keep_what_they_are_a_part_of():
    if TRACKED:
        pytest.skip("this build keeps the bytes, not the record")
    gone = []

    class Watched(Link):
        def __del__(self):
            gone.append(True)

    record = Watched(info=Info(data=Vlan(id=5)), stats=Stats(rx=3))
    data, stats = record.info.data, record.stats
    del record
    gc.collect()
    assert not gone
    assert (data.id, stats.rx) == (5, 3)
    del data
    assert not gone
    del stats
    assert gone == [True]


def test_parts_outlive_what_they_are_a_part_of():
    data = Link(info=Info(data=Vlan(id=5)), name="x" * 5000).info.data
    hops = Route(hops=(Hop(index=4),)).hops
    for _ in range(100):
        Link(name="y" * 5000)
    assert (data.id, hops[0].index, bytes(data)) == (5, 4, bytes(Vlan(id=5)))


def test_a_view_outlives_its_record():
    view = memoryview(Link(name="lan0", index=7))
    part = memoryview(Link(info=Info(data=Vlan(id=5))).info.data)
    for _ in range(100):
        Link(name="y" * 100)
    assert Link.from_bytes(view) == Link(name="lan0", index=7)
    assert bytes(part) == bytes(Vlan(id=5))
    assert (view.readonly, view.format, view.ndim, view.nbytes) == (True, "B", 1, len(bytes(Link(name="lan0"))))
    assert memoryview(Stats.from_bytes(b"")).nbytes == 0
    with pytest.raises((BufferError, TypeError)):
        ctypes.c_char.from_buffer(Link())


def test_a_view_keeps_its_record():
    gone = []

    class Watched(Link):
        def __del__(self):
            gone.append(True)

    view = memoryview(Watched(name="a"))
    assert not gone
    view.release()
    assert gone == [True]


def test_a_message_takes_a_record():
    record = Link(name="lan0")
    message = Message(16, 5, record)
    del record
    assert Link.from_message(message) == Link(name="lan0")
    assert bytes(message)[16:] == bytes(Link(name="lan0"))


# Nothing is kept that should go ---------------------------------------------------------------------------------------

BROKEN = Link.from_bytes(bytes(16) + stream((4, b"1"), (18, b"\3\0\0\0"), (52, b"\xff\0\0\0")) + b"\3\0\0\0")
WHOLE = Link(
    name="a", info=Info(data=Vlan(id=1)), stats=Stats(), names=("a",), alias=("b",), flags=Flags.UP, address="01:02"
)
ROUTE = Route(dst=IPv6Network("2001:db8::/61"), gateway=IPv6Address("::1"), hops=(Hop(),), table=1000)


def fails(function, *arguments, **named):
    with pytest.raises((TypeError, ValueError, AttributeError)):
        function(*arguments, **named)


OPERATIONS = {
    "build": lambda: Link(name="a", info=Info(data=Vlan(id=1)), names=("a",), alias=("b",), stats=Stats(rx=1)),
    "build wrongly": lambda: fails(Link, name="a", alias=("b", 5)),
    "build too much": lambda: fails(Link, name="a" * 70000),
    "build from nothing": lambda: fails(Link, 5),
    "read": lambda: [getattr(WHOLE, name) for name in WHOLE.to_dict()],
    "read a route": lambda: [ROUTE.dst, ROUTE.gateway, ROUTE.hops, ROUTE.table, ROUTE.src],
    "read wrongly": lambda: [fails(getattr, BROKEN, name) for name in ("mtu", "names", "name")],
    "from_bytes": lambda: Link.from_bytes(bytearray(bytes(WHOLE))),
    "from too few": lambda: fails(Link.from_bytes, bytes(15)),
    "from_message": lambda: Link.from_message(Message(16, 0, WHOLE)),
    "replace": lambda: WHOLE.replace(name="b", stats=None, quiet=True),
    "replace wrongly": lambda: fails(WHOLE.replace, name="b" * 3000, mtu=-1),
    "replace broken": lambda: fails(BROKEN.replace, name="b"),
    "tell": lambda: (WHOLE.to_dict(), ROUTE.to_dict(), repr(WHOLE), repr(ROUTE), repr(BROKEN), WHOLE.unknown),
    "tell broken": lambda: (fails(BROKEN.to_dict), fails(BROKEN.check), fails(lambda: BROKEN.unknown)),
    "compare": lambda: (WHOLE.replace(mtu=1) == WHOLE, hash(WHOLE), hash(ROUTE), hash(BROKEN), WHOLE.check()),
    "deep": lambda: hash(Tree(child=Tree(child=Tree(leaves=(Tree(), Tree()))))),
    "pickle": lambda: WHOLE.__reduce__(),
    "buffer": lambda: memoryview(WHOLE),
    "names": lambda: Link.path_names((18, 2, 1)),
    "choose": lambda: WHOLE.info.data,
    "set": lambda: fails(setattr, WHOLE, "mtu", 5),
    "foreign": lambda: fails(Link.mtu.__get__, 5, int),
    "identity": lambda: WHOLE.identity,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_nothing_is_kept(name):
    operation = OPERATIONS[name]
    watched = [WHOLE, ROUTE, BROKEN, Link, Info, Vlan, Route, Hop, Tree, Stats, None, True, (), b"", IPv6Address]
    for _ in range(50):
        operation()
    gc.collect()
    blocks, counts = sys.getallocatedblocks(), [sys.getrefcount(one) for one in watched]
    for _ in range(1000):
        operation()
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 300
    grown = [sys.getrefcount(one) - count for one, count in zip(watched, counts, strict=True)]
    assert max(grown) < 300, dict(zip(map(str, watched), grown, strict=True))


@pytest.mark.skipif(
    sys.version_info < (3, 14) and sysconfig.get_config_var("Py_GIL_DISABLED") == 1,
    reason="Python 3.13t keeps every class for ever once there was a second thread",
)
def test_classes_are_let_go():
    def make():
        class Base_(r.Record):
            kind: str | None = r.attr(1, r.STRING)

        class Chosen(Base_, kind="one"):
            data: Base_ | None = r.attr(2, r.chosen(Base_, by="kind"))
            again: object = r.attr(3, r.nested(lambda: Chosen))

        Chosen(data=Chosen(kind="one"), again=Chosen()).to_dict()
        return weakref.ref(Chosen)

    gone = make()
    gc.collect()
    assert gone() is None


# What a program may try -----------------------------------------------------------------------------------------------


class Foreign:
    """No record, though it has the schema of one, and its size."""

    _schema = Link._schema
    __slots__ = ("a", "b", "c")


def test_classes_of_no_records_are_refused():
    stolen = type("Stolen", (Base,), {"_schema": Link._schema})
    for cls in (Foreign, stolen, int, type("Bare", (Base,), {})):
        for function in ("from_bytes", "from_message", "path_names"):
            with pytest.raises(TypeError):
                vars(Base)[function].__get__(None, cls)(bytes(16))
        for make in (r.nested, lambda cls: r.chosen(cls, by="a"), r.reader):
            with pytest.raises(TypeError):
                make(cls)
    for cls in (stolen, type("Bare", (Base,), {})):
        with pytest.raises(TypeError):
            cls()
        with pytest.raises(TypeError):
            Base.__new__(cls)
    for cls in (Foreign, int, Link, 5, None):
        with pytest.raises(TypeError):
            _records.declare(cls, struct=False, kind=None, identity=(), family=None)
    for cls in (Link, Base, r.Record):
        with pytest.raises(TypeError):
            object.__new__(cls)


def test_a_class_that_takes_anothers_fields_is_none():
    class Taken(r.Record):
        value: int | None = r.attr(1, r.U32)

    record = Taken(value=5)
    for schema in (Route._schema, None, 5):
        Taken._schema = schema
        for use in (Taken, lambda: Taken.from_bytes(bytes(16)), record.to_dict, lambda: repr(record), record.replace):
            with pytest.raises(TypeError, match="is no class of records with fields"):
                use()
    del Taken._schema
    with pytest.raises(TypeError):
        Taken()
    assert record.value == 5


def test_a_class_statement_that_failed_leaves_no_class():
    for namespace in ({"bad": r.merged(90, r.U32, over="what")}, {"bad": r.fixed(r.U8)}):
        try:
            type(r.Record)("Failed", (Link,), namespace)
        except TypeError as error:
            trace = error.__traceback__
            while "cls" not in trace.tb_frame.f_locals:
                trace = trace.tb_next
            failed = trace.tb_frame.f_locals["cls"]
        with pytest.raises(TypeError, match="is no class of records with fields"):
            failed()
        with pytest.raises(TypeError, match="is a field of no class"):
            failed.bad.__get__(Link(), Link)
        del trace


def test_subclasses_that_do_not_call_up_are_no_classes_of_records():
    class Silent(Link):
        def __init_subclass__(cls, **options):
            pass

    class Below(Silent):
        pass

    assert Silent(mtu=5).mtu == 5
    with pytest.raises(TypeError):
        Below(mtu=5)


def test_a_field_reads_records_of_other_classes_within_their_bytes():
    records = [Link(), WHOLE, ROUTE, Stats.from_bytes(b""), Pair.from_bytes(b"abc"), Other(number=1), Tree(), BROKEN]
    records += [cls.from_bytes(bytes(size)) for cls in (Stats, Pair) for size in range(20)]
    for cls in (Link, Route, Stats, Pair, Other, Tree, Hop, Info):
        for field in [field for field in vars(cls).values() if isinstance(field, r.Field)]:
            for record in records:
                try:
                    field.__get__(record, type(record))
                except DecodeError as error:
                    assert 0 <= error.offset <= len(bytes(record))
    for foreign in (5, Foreign(), object(), Link, None.__class__):
        with pytest.raises(TypeError):
            Link.mtu.__get__(foreign, Link)
    with pytest.raises(TypeError, match="is a field of no class"):
        _records.Field("network", r.IP, 1, over="x").__get__(Link(), Link)
    Data.later = r.attr(1, r.U8)
    with pytest.raises(TypeError, match="is a field of no class"):
        _ = Data().later
    del Data.later


def test_a_field_beside_which_there_is_nothing():
    class Far(r.Record, family="family"):
        before: bytes = r.fixed(r.blob(192), default=bytes(192))
        small: int = r.fixed(r.U8, default=0)
        family: int = r.fixed(r.U8, default=0)
        table: int = r.merged(1, r.U32, over="small")
        dst: object = r.network(2, length="small")

    # Whatever is past the end would show: these are next to one another.
    for record in [Stats.from_bytes(b"\xff" * 8) for _ in range(200)]:
        assert Far.table.__get__(record, Stats) == 0
        with pytest.raises(DecodeError, match="is missing"):
            Far.dst.__get__(record, Stats)


def test_a_records_class_may_be_exchanged_within_its_bytes():
    for wire in (bytes(Route(table=1000)), bytes(8)):
        record = Route.from_bytes(wire)
        try:
            record.__class__ = Link
        except TypeError:
            continue
        assert record.mtu is None
        for use in (record.to_dict, record.check, lambda record=record: hash(record), record.replace):
            with suppress(DecodeError):
                use()
        repr(record)


def test_fields_and_readers_are_made_once():
    Link.mtu.__init__("network", r.IP, 1)
    assert Link(mtu=5).mtu == 5
    for cls in (_records.Field, _records.Reader):
        with pytest.raises(TypeError):
            cls.__new__(cls)
    for kind in (r.U32, r.STRING, r.MAC, r.IP, r.nested(Link), r.packed(r.U8), r.array(r.U8), Link._schema):
        cls = type(kind)
        for make in (cls, lambda cls=cls: cls.__new__(cls), lambda cls=cls: object.__new__(cls)):
            with pytest.raises(TypeError):
                make()
    with pytest.raises(TypeError):
        r.Kind()
    with pytest.raises(TypeError):
        type("Mine", (r.Kind,), {})()
    for width in (0, 3, 9, 16):
        with pytest.raises(ValueError, match="no integer has"):
            _records.integer(width)


def test_values_that_pretend_to_be_records():
    pretender = type("Pretender", (), {"__class__": property(lambda self: Info)})()
    for value in (Mock(spec=Info), Mock(spec=Hop), pretender, SimpleNamespace()):
        for make in (
            lambda value: Link(info=value),
            lambda value: Route(hops=(value,)),
            lambda value: Info(data=value),
            lambda value: Other(number=1, pairs=(value,)),
        ):
            with pytest.raises(TypeError):
                make(value)


def test_addresses_that_lie():
    class Lying(IPv6Address):
        packed = b"\1"

    class Odd(IPv4Address):
        packed = None

    class Four(r.Struct):
        four: object = r.fixed(r.IP4, default=IPv4Address(0))
        six: object = r.fixed(r.IP6, default=IPv6Address("::"))

    class Bytes(bytes):
        def __len__(self):
            return 4

    class Longer(IPv4Address):
        packed = Bytes(b"1")

    four = IPv4Address("10.0.0.1")
    for value in (Lying("::"), Odd(1), Longer(1), Mock(spec=IPv4Address)):
        for make in (
            lambda value: Route(gateway=value),
            lambda value: Four(four=value),
            lambda value: Four(six=value),
            lambda value: Other(number=1, four=value),
        ):
            with pytest.raises((TypeError, EncodeError)):
                make(value)
    for length in (256, 900, -1, "8"):
        network = type("Network", (IPv6Network,), {"prefixlen": length})("::/8")
        with pytest.raises((TypeError, EncodeError), match=r"^Route\.dst_len: "):
            Route(dst=network)
    assert Four(four=four).four == four


def test_values_that_run_code_while_a_record_is_built():
    sizes = []

    class Reentrant:
        def __index__(self):
            sizes.append(len(bytes(Link(name="x" * 5000, alias=("y",) * 500))))
            WHOLE.replace(name="z" * 4000)
            return 7

    assert Link(mtu=Reentrant(), change=Reentrant(), name="a" * 3000).mtu == 7
    assert Other(number=Reentrant(), numbers=(Reentrant(),) * 600).numbers == (7,) * 600
    assert len(sizes) == 603

    values = [1, 2, 3]

    class Shrinking:
        def __index__(self):
            values.clear()
            return 5

    values[1] = Shrinking()
    assert Other(number=1, numbers=values).numbers == (1, 5)

    class Resizing(bytearray):
        pass

    data = Resizing(b"abc" * 1000)

    class Grows:
        def __index__(self):
            data.extend(bytes(100000))
            return 1

    class Two(r.Record):
        first: bytes | None = r.attr(1, r.BYTES)
        second: int | None = r.attr(2, r.U8)

    assert Two(first=data, second=Grows()).first == b"abc" * 1000


def test_names_that_change_the_arguments():
    given = {}

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            if given and len(given) < 300:
                given[Name(f"f{len(given)}")] = 1
            return str.__eq__(self, other)

    given[Name("mtu")] = 5
    new = Base.__new__
    for make in (lambda: Link(**given), lambda: new(Link, **given), lambda: Link().replace(**given)):
        with suppress(TypeError, RuntimeError, KeyError):
            make()


def test_more_fields_at_once_than_there_is_room_for():
    names = {f"f{i}": r.attr(i, r.U8) for i in range(330)}
    many = type(r.Record)("Many", (r.Record,), names)
    given = {f"f{i}": i % 256 for i in reversed(range(200))}
    assert [many(**given).to_dict()[f"f{i}"] for i in range(200)] == list(range(200))
    with pytest.raises(TypeError, match="more than 200 fields at once"):
        many(**given, f329=1)
    assert many(**given).replace(f329=1).f329 == 1


def test_buffers_that_are_no_bytes():
    for wrong in (5, "x", None, [1], Link):
        with pytest.raises(TypeError):
            Link.from_bytes(wrong)
    with pytest.raises(BufferError):
        Link.from_bytes(memoryview(bytes(64))[::2])
    released = memoryview(bytes(64))
    released.release()
    with pytest.raises(ValueError, match="released"):
        Link.from_bytes(released)


# Threads --------------------------------------------------------------------------------------------------------------


@shares_between_threads
def test_threads_share_records_and_classes():
    class Shared(r.Record):
        value: int | None = r.attr(1, r.U32)
        flags: Flags | None = r.attr(3, r.as_flags(r.U32, Flags))
        child: "Shared | None" = r.attr(2, r.nested(lambda: Shared))

    record = Shared(value=1, child=Shared.from_bytes(stream((1, bytes(4)))))
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        assert not sys._is_gil_enabled()
    barrier = threading.Barrier(4)
    failures = []

    def work():
        barrier.wait()
        try:
            for number in range(500):
                one = record.child.replace(value=number, flags=Flags(number), child=record)
                assert (one.child.child.value, one.value, one.flags) == (0, number, number)
                assert record == record.replace()
                assert hash(one) == hash(Shared.from_bytes(bytes(one)))
                repr(one), one.to_dict(), one.check()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
