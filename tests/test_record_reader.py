"""Records out of messages: which ones, and when."""

import struct
from ipaddress import IPv4Network

import pytest

from netlink_codec import DecodeError, Message, _core
from netlink_codec import records as r
from record_classes import Flags, Info, Link, Other, Route, Scope
from support import stream
from testing_scan import results

NEW, DEL = 16, 17


def test_a_reader_takes_messages_of_its_type():
    read = r.reader(Link, NEW)
    record = read(Message(NEW, 2, Link(name="lan0")))
    assert (type(record), record.name, record.message_type, record.message_flags) == (Link, "lan0", NEW, 2)
    assert read(Message(DEL, 0, Link())) is None
    assert r.reader(Link)(Message(DEL, 0, Link())).message_type == DEL
    assert r.reader(Link, 0)(Message(0, 0, Link())) == Link()
    assert read(Message(NEW, 0, Link()), 5) == Link()
    assert repr(read) == "<Reader of Link>"
    assert type(read)[Link] is type(read)
    for wrong in (None, b"", 5, Link()):
        with pytest.raises(TypeError):
            read(wrong)
    with pytest.raises(DecodeError, match="Link takes 16 bytes, and there are 3"):
        read(Message(NEW, 0, b"123"))


@pytest.mark.parametrize(
    ("where", "taken"),
    [
        ({}, True),
        ({"table": 254}, True),
        ({"table": 255}, False),
        ({"table": 254, "oif": 3}, True),
        ({"table": 254, "oif": 4}, False),
        ({"oif": None}, False),
        ({"gateway": None}, True),
        ({"scope": Scope.SITE}, True),
        ({"scope": 200}, True),
        ({"scope": frozenset({0, 200})}, True),
        ({"scope": frozenset({0, 1})}, False),
        ({"scope": frozenset()}, False),
        ({"scope": r.Without(0x37)}, True),
        ({"scope": r.Without(0x3F)}, False),
        ({"table": r.Without(1)}, True),
        ({"table": r.Without(2)}, False),
        ({"oif": r.Without(0xFC)}, True),
        ({"oif": r.Without(2)}, False),
        ({"gateway": r.Without(0)}, False),
        ({"dst": r.Without(0)}, False),
        ({"dst": IPv4Network("10.0.0.0/8")}, True),
        ({"dst": "10.0.0.0/8"}, False),
    ],
)
def test_a_reader_leaves_out_what_differs(where, taken):
    route = Route(table=254, oif=3, scope=Scope.SITE, dst=IPv4Network("10.0.0.0/8"))
    read = r.reader(Route, 24, **where)
    assert read(Message(24, 0, route)) == (route if taken else None)
    assert read(Message(25, 0, route)) is None


def test_what_cannot_be_read_is_not_what_is_wanted():
    read = r.reader(Link, None, name="a", mtu=5)
    assert read(Message(1, 0, Link(name="a", mtu=5))) is not None
    assert read(Message(1, 0, Link(mtu=5))) is None
    assert read(Message(1, 0, bytes(16) + stream((3, b"a"), (4, b"1")))) is None
    assert read(Message(1, 0, bytes(16) + b"\3\0\0\0")) is None


def test_fields_that_are_not_there():
    with pytest.raises(TypeError, match="Link has no field 'mut'"):
        r.reader(Link, None, mut=1)
    with pytest.raises(TypeError):
        r.reader(r.Record)
    with pytest.raises(TypeError):
        r.reader(5)


def test_bits_that_are_not_wanted():
    assert r.Without(5) == r.Without(5) != r.Without(4)
    assert len({r.Without(5), r.Without(5)}) == 1
    assert repr(r.Without(0x200)) == "Without(0x200)"
    assert r.Without(5) != 5
    for wrong in (-1, 2**64):
        with pytest.raises(OverflowError):
            r.Without(wrong)
    with pytest.raises(TypeError):
        r.Without("1")


def test_the_same_reader_of_another_class():
    class Mine(Link):
        @property
        def up(self):
            return bool(self.flags & Flags.UP)

    read = r.reader(Link, NEW, name="a").of(Mine)
    record = read(Message(NEW, 0, Link(name="a", flags=Flags.UP)))
    assert type(record) is Mine
    assert record.up
    assert read(Message(NEW, 0, Link(name="b"))) is None
    assert read(Message(DEL, 0, Link(name="a"))) is None
    with pytest.raises(TypeError, match="Other has no field 'name'"):
        r.reader(Link, NEW, name="a").of(Other)


def test_what_raises_while_it_is_compared():
    class Cursed:
        def __ne__(self, other):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        r.reader(Link, None, mtu=Cursed())(Message(1, 0, Link(mtu=1)))


MESSAGES = [
    Message(NEW, 2, Link(name="a", index=1), seq=7),
    Message(DEL, 2, Link(name="b", index=2), seq=7),
    Message(NEW, 2, Link(name="c", index=3), seq=7),
    Message(NEW, 2, Link(name="a", index=4), seq=8),
    Message(NEW, 2, Link(name="a", index=5), seq=7),
]


def test_results_are_decoded_as_they_are_asked_for():
    assert [one.index for one in results(MESSAGES, r.reader(Link, NEW))] == [1, 3, 5]
    assert [one.index for one in results(MESSAGES, r.reader(Link, NEW, name="a"))] == [1, 5]
    assert [one.index for one in results(MESSAGES, r.reader(Link))] == [1, 2, 3, 5]
    kept = list(results(MESSAGES, r.reader(Link)))
    assert [one.name for one in kept] == ["a", "b", "c", "a"]
    assert [one.type for one in results(MESSAGES, None)] == [NEW, DEL, NEW, NEW]
    only = results(MESSAGES, lambda message: message.type if message.type == DEL else None)
    assert list(only) == [DEL]
    assert list(only) == []


def test_results_raise_where_a_message_is_no_record():
    bad = [MESSAGES[0], Message(NEW, 2, b"123", seq=7), MESSAGES[2]]
    reading = results(bad, r.reader(Link, NEW))
    assert next(reading).index == 1
    with pytest.raises(DecodeError, match="Link takes 16 bytes"):
        next(reading)
    assert [one.index for one in reading] == [3]


def test_results_are_closed_by_leaving_them():
    with results(MESSAGES, r.reader(Link)) as reading:
        assert next(reading).index == 1
    assert reading.scan_closed() == 1
    reading.close()
    assert reading.scan_closed() == 2
    assert _core.Results[Link] is _core.Results


def test_records_of_a_dump_do_not_change_as_it_goes_on():
    datagram = bytearray(b"".join(bytes(message) for message in MESSAGES))
    kept = list(results([bytes(datagram)], r.reader(Link), raw=True))
    assert kept == [Link(name=name, index=index) for name, index in (("a", 1), ("b", 2), ("c", 3), ("a", 5))]
    assert struct.pack("=i", 5) in bytes(kept[-1])
    assert Info().message_type == 0
