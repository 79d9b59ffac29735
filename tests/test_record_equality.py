"""Records are equal if they are of one class and say the same."""

import itertools
import struct

import pytest

from netlink_codec import records as r
from record_classes import Data, Info, Link, Other, Pair, Route, Scope, Stats, Tree, Vlan
from support import stream

HEADER = bytes(Link())


def same(first, second):
    """Equal, in both directions, and with one hash."""
    assert (first == second) is (second == first)
    assert (first != second) is not (first == second)
    if first == second:
        assert hash(first) == hash(second)
        assert len({first, second}) == 1
    return first == second


def link(*attributes):
    return Link.from_bytes(HEADER + stream(*attributes))


def test_the_order_of_different_codes_does_not_count():
    parts = [(1, b"\1\2"), (3, b"lan0\0"), (4, bytes(4)), (99, b"what")]
    for order in itertools.permutations(parts):
        assert same(link(*order), link(*parts))
    assert not same(link(*parts), link(*parts[1:]))
    assert not same(link(*parts), link(*parts, (4, bytes(4))))


def test_the_order_within_one_code_counts():
    for code in (54, 99, 4):
        assert not same(link((code, b"a\0\0\1"), (code, b"b\0\0\1")), link((code, b"b\0\0\1"), (code, b"a\0\0\1")))
        assert same(link((code, b"aaaa"), (7, b""), (code, b"b")), link((code, b"aaaa"), (code, b"b"), (7, b"")))


def test_flags_of_attributes_do_not_count():
    for code in (4, 18, 52, 99):
        assert same(link((code, b"")), link((code | 0x8000, b"")))
        assert same(link((code, b"")), link((code | 0xC000, b"")))
        assert not same(link((code, b"")), link((code ^ 1, b"")))


def test_padding_does_not_count():
    whole = HEADER + stream((99, b"abcde"))
    filled = whole[:-3] + b"xyz"
    for other in (whole[:-3], whole[:-2], filled, whole + b"\1", whole + b"\1\2\3"):
        assert same(Link.from_bytes(whole), Link.from_bytes(other))
    assert same(Link.from_bytes(HEADER), Link.from_bytes(HEADER + b"ab"))


def test_holes_in_a_struct_do_not_count():
    filled = bytearray(bytes(Link(type=5)))
    filled[1] = 99  # between the family and the type
    assert same(Link.from_bytes(filled), Link(type=5))
    assert bytes(Link.from_bytes(filled)) == bytes(filled)
    filled[0] = 1
    assert not same(Link.from_bytes(filled), Link(type=5))
    assert same(Pair.from_bytes(bytes(Pair(first=1))[:6] + b"ab"), Pair(first=1))
    assert same(Pair.from_bytes(bytes(Pair(first=1)) + b"ab"), Pair.from_bytes(bytes(Pair(first=1)) + b"ab"))
    assert not same(Pair.from_bytes(bytes(Pair(first=1)) + b"ab"), Pair(first=1))
    assert not same(Stats(), Stats(lost=0))


def test_nuls_at_the_end_of_text_do_not_count():
    assert same(link((3, b"lan0")), link((3, b"lan0\0\0\0")))
    assert same(link((52, stream((53, b"a")))), link((52, stream((53, b"a\0")))))
    assert same(link((54, b"a"), (54, b"b\0")), link((54, b"a\0"), (54, b"b")))
    assert not same(link((3, b"a\0b")), link((3, b"a")))
    assert not same(link((1, b"a")), link((1, b"a\0")))
    assert not same(link((99, b"a")), link((99, b"a\0")))


def test_all_of_this_holds_inside_too():
    def nested(*attributes):
        return link((18, stream((2, stream(*attributes)), (1, b"vlan"))))

    five, protocol = struct.pack("=H", 5), b"\x81\0"
    assert same(nested((1, five), (5, protocol)), nested((0x4005, protocol), (1, five)))
    assert same(nested((1, five)), Link(info=Info(kind="vlan", data=Vlan(id=5))))
    assert not same(nested((1, five)), nested((1, protocol)))

    def leaves(*wires):
        return Tree.from_bytes(stream((3, stream(*((i + 1, wire) for i, wire in enumerate(wires))))))

    one, two = stream((1, bytes(4)), (9, b"")), stream((9, b""), (1, bytes(4)))
    assert same(leaves(one, two), leaves(two, one))
    assert not same(leaves(one, b""), leaves(b"", one))

    def hop(*attributes):
        inner = stream(*attributes)
        return struct.pack("=HBBi", 8 + len(inner), 0, 0, 1) + inner

    def route(*hops):
        return Route.from_bytes(bytes(8) + stream((9, b"".join(hops))))

    assert same(route(hop((5, bytes(4)), (8, b""))), route(hop((8, b""), (5, bytes(4)))))
    assert not same(route(hop((5, bytes(4))), hop()), route(hop(), hop((5, bytes(4)))))


def test_a_variable_integer_is_its_number():
    class Variable(r.Record):
        value: int | None = r.attr(1, r.UINT)
        other: int | None = r.attr(2, r.SINT)

    def wire(value, other):
        return Variable.from_bytes(stream((1, value), (2, other)))

    assert same(wire(struct.pack("=I", 5), struct.pack("=i", -5)), wire(struct.pack("=Q", 5), struct.pack("=q", -5)))
    assert not same(wire(struct.pack("=I", 5), b""), wire(struct.pack("=I", 6), b""))
    assert not same(wire(bytes(4), b""), wire(bytes(3), b""))


def test_broken_records_are_equal_if_their_bytes_are():
    for broken in (HEADER + b"\3\0\0\0", HEADER + stream((18, b"\3\0\0\0")), HEADER + stream((52, b"\xff\0\0\0"))):
        record = Link.from_bytes(broken)
        assert same(record, Link.from_bytes(broken))
        assert not same(record, Link.from_bytes(broken + stream((99, b""))))
        assert not same(record, Link())


def test_classes_differ():
    class More(Link):
        pass

    assert not same(More(index=1), Link(index=1))
    assert not same(Data(), Vlan())
    assert Link() != bytes(Link())
    assert Link() != 5
    assert (Link() == object()) is False
    assert Link().__eq__(5) is NotImplemented


def test_parts_are_equal_to_wholes():
    info = Info(data=Vlan(id=5))
    assert same(Link(info=info, name="a").info, info)
    assert same(Link(info=info, name="a").info.data, Vlan(id=5))
    assert {info: 1}[Link(info=info).info] == 1


def test_values_that_are_read_alike_are_written_alike():
    assert same(Route(scope=Scope.SITE), Route(scope=200))
    assert same(Other(number=1, numbers=[1, 2]), Other(number=1, numbers=(1, 2)))
    with pytest.raises(TypeError):
        {Link(): 1}[[]]
