"""Records out of values, and out of other records."""

import struct
import tracemalloc
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Network

import pytest

from netlink_codec import DecodeError, EncodeError
from netlink_codec import records as r
from record_classes import Data, Flags, Hop, Info, Link, Other, Pair, Route, Scope, Stats, Tree, Veth, Vlan
from support import stream

HEADER = bytes(Link())


def test_attributes_stand_in_the_order_of_declaration():
    link = Link(quiet=True, mtu=1500, name="a", address="01:02", index=3)
    assert bytes(link) == struct.pack("=BxHiII", 0, 0, 3, 0, 0) + stream(
        (1, b"\1\2"), (3, b"a\0"), (4, struct.pack("=I", 1500)), (6, b"")
    )
    assert bytes(link) == bytes(Link(index=3, address="01:02", name="a", mtu=1500, quiet=True))


def test_nests_are_marked_and_structs_are_not():
    link = Link(info=Info(data=Vlan(id=5)), stats=Stats(rx=1), names=("a",), alias=("b", "c"))
    assert bytes(link) == HEADER + stream(
        (0x8012, stream((1, b"vlan\0"), (0x8002, stream((1, struct.pack("=H", 5)))))),
        (23, struct.pack("=QQ", 1, 0)),
        (0x8034, stream((53, b"a\0"))),
        (54, b"b\0"),
        (54, b"c\0"),
    )


def test_none_leaves_out():
    given = dict.fromkeys(("address", "name", "mtu", "info", "stats", "names", "alias", "flags", "index"))
    assert bytes(Link(**given, quiet=False)) == HEADER
    assert bytes(Link(quiet=0)) == bytes(Link(quiet=None)) == HEADER
    assert bytes(Link(alias=())) == HEADER
    assert bytes(Link(names=())) == HEADER + stream((0x8034, b""))
    assert Link(names=()).names == ()


def test_required_fields_must_be_given():
    for make in (Other, lambda: Other(number=None), lambda: Other(four=IPv4Address(1))):
        with pytest.raises(TypeError, match=r"^Other\.number is missing$"):
            make()
    for make in (Pair, lambda: Pair(second=1), lambda: Pair(first=None)):
        with pytest.raises(TypeError, match=r"^Pair\.first is missing$"):
            make()


def test_fields_are_given_by_name():
    with pytest.raises(TypeError, match=r"^Link takes its fields by name$"):
        Link(1)
    with pytest.raises(TypeError, match=r"^Link has no field 'mut'$"):
        Link(mut=1)
    with pytest.raises(TypeError, match=r"^Link has no field 'unknown'$"):
        Link(unknown=())
    for cls in (r.Record, r.Record.__base__):
        with pytest.raises(TypeError):
            cls()
        with pytest.raises(TypeError):
            cls.from_bytes(b"")
    assert bytes(r.Struct()) == b""


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("info", Vlan(id=1), "a Info is wanted, not Vlan"),
        ("info", {"kind": "vlan"}, "a Info is wanted"),
        ("info", Info, "a Info is wanted"),
        ("stats", Pair(first=1), "a Stats is wanted"),
        ("names", "abc", "a tuple is wanted, not 'abc'"),
        ("names", (1,), "text is wanted, not 1"),
        ("alias", "abc", "a tuple is wanted"),
        ("alias", (b"a",), "text is wanted"),
        ("flags", "UP", "a number is wanted"),
        ("mtu", 1.5, "a number is wanted, not 1.5"),
    ],
)
def test_values_of_the_wrong_type_name_the_field(name, value, text):
    for make in (lambda: Link(**{name: value}), lambda: Link().replace(**{name: value})):
        with pytest.raises(TypeError, match=rf"^Link\.{name}: {text}"):
            make()


def test_errors_name_the_class_that_declares_the_field():
    class More(Link):
        pass

    with pytest.raises(TypeError, match=r"^Link\.mtu: a number is wanted"):
        More(mtu="x")
    with pytest.raises(EncodeError, match=r"^Vlan\.id: 65536 is out of range for 16 bits$"):
        Link(info=Info(data=Vlan(id=65536)))


def test_errors_are_short():
    for value in ("x" * 10**6, [0] * 10**6):
        with pytest.raises(TypeError) as caught:
            Link(mtu=value)
        assert len(str(caught.value)) < 300


def test_attributes_hold_65531_bytes():
    longest = "x" * 65530
    assert Link(name=longest).name == longest
    with pytest.raises(EncodeError, match=r"^Link\.name: 65532 bytes, and an attribute holds 65531$") as caught:
        Link(name=longest + "x")
    assert caught.value.attribute == 3
    with pytest.raises(EncodeError, match=r"^Link\.names: .* bytes, and an attribute holds 65531$"):
        Link(names=("x" * 30000,) * 3)
    assert len(bytes(Link(alias=("x" * 60000,) * 20))) > 1_200_000


# What follows from other values ---------------------------------------------------------------------------------------


def test_what_is_chosen_fills_in_what_chooses_it():
    assert Info(data=Vlan(id=5)) == Info(kind="vlan", data=Vlan(id=5))
    assert Info(data=Veth(peer="a")).kind == "veth"
    assert Info(data=Data()).kind is None
    assert Info(kind="other", data=Data.from_bytes(stream((1, b"x")))).data.unknown == ((1, b"x"),)
    with pytest.raises(EncodeError, match=r"^Info\.data: a Vlan is for 'vlan', not for 'veth'$"):
        Info(kind="veth", data=Vlan(id=5))
    given = {"data": Vlan(id=5)}
    Info(**given)
    assert given == {"data": Vlan(id=5)}


class Options(r.Record):
    """Chosen by a number, or by a member of an enum."""


class SiteOptions(Options, kind=Scope.SITE):
    site: int | None = r.attr(1, r.U32)


class ByNumber(r.Record):
    scope: Scope = r.fixed(r.as_enum(r.U8, Scope), default=Scope.UNIVERSE)
    options: Options | None = r.attr(1, r.chosen(Options, by="scope"))
    several: tuple[Options, ...] | None = r.attr(2, r.array(r.chosen(Options, by="scope")))


def test_numbers_choose_too():
    record = ByNumber(options=SiteOptions(site=4))
    assert (record.scope, record.options.site) == (Scope.SITE, 4)
    assert type(record.replace(scope=Scope(9)).options) is Options
    assert record.replace(scope=200).options.site == 4
    assert [one.site for one in ByNumber(scope=200, several=(SiteOptions(site=1), SiteOptions())).several] == [1, None]


def test_data_may_stand_before_its_kind():
    data = stream((1, struct.pack("=H", 5)))
    info = Info.from_bytes(stream((0x8002, data), (1, b"vlan\0")))
    assert info.data.id == 5
    assert info == Info(data=Vlan(id=5))
    assert info.replace(kind="veth").data is not None
    assert bytes(info.replace(kind="vlan")) == bytes(info)


def test_the_family_follows_from_the_addresses():
    assert Route(gateway=IPv4Address("10.0.0.1")).family == 2
    assert Route(gateway=IPv6Address("::1")).family == 10
    assert Route(family=0, gateway=IPv6Address("::1")).family == 0
    assert Route(family=10, dst=IPv4Network("10.0.0.0/8")).family == 10
    assert Route(oif=1).family == 0
    assert Route(dst=IPv6Network("::/0")).family == 10
    assert Route(family=2).replace(gateway=IPv6Address("::1")).family == 10
    assert Route(family=2).replace(oif=5).family == 2


def test_the_length_of_a_record_is_filled_in():
    wrong = Hop.from_bytes(struct.pack("=HBBi", 99, 1, 2, 3))
    hops = (Hop(index=1, gateway=IPv4Address("10.0.0.1")), Hop(index=2), wrong)
    assert (hops[0].length, hops[1].length) == (16, 8)
    route = Route(hops=hops)
    assert [hop.length for hop in route.hops] == [16, 8, 8]
    assert [hop.index for hop in route.hops] == [1, 2, 3]
    assert route.hops[0].gateway == IPv4Address("10.0.0.1")
    assert bytes(route)[8:] == stream((9, b"".join(bytes(hop) for hop in route.hops)))
    assert Route(hops=()).hops == ()
    assert hops[1].replace(gateway=IPv4Address("10.0.0.1")).length == 16


def test_a_sequence_whose_lengths_are_wrong():
    def hops(*lengths):
        return Route.from_bytes(bytes(8) + stream((9, b"".join(struct.pack("=HBBi", n, 0, 0, n) for n in lengths))))

    assert [hop.index for hop in hops(8, 8).hops] == [8, 8]
    assert Route.from_bytes(bytes(8) + stream((9, struct.pack("=HBBi", 8, 0, 0, 1) + b"\0"))).hops[0].index == 1
    for lengths in ((0,), (1,), (7,), (9,), (8, 0), (8, 65535), (8, 8, 3)):
        broken = hops(*lengths)
        offset = 4 + 8 * len(lengths)
        with pytest.raises(DecodeError, match=rf"^Route\.hops at offset {offset} has .* says {lengths[-1]}$") as caught:
            _ = broken.hops
        assert caught.value.offset == offset
    with pytest.raises(TypeError, match=r"^Route\.hops: a Hop is wanted, not 'Hop'$"):
        Route(hops=("Hop",))
    with pytest.raises(EncodeError, match="takes 80016 bytes, and its length counts from 2 to 65535"):
        Route(hops=(Hop.from_bytes(bytes(80016)),))


class Bare(r.Struct):
    length: int = r.fixed(r.LENGTH, default=0)


def test_a_sequence_of_structs_too_short_for_a_length():
    class Holder(r.Record):
        bares: tuple[Bare, ...] | None = r.attr(1, r.sequence(Bare))

    assert Holder(bares=(Bare(), Bare.from_bytes(bytes(7)))).bares[1].length == 7
    for size in (0, 1):
        with pytest.raises(EncodeError, match=f"takes {size} bytes"):
            Holder(bares=(Bare.from_bytes(bytes(size)),))
    with pytest.raises(DecodeError):
        _ = Holder.from_bytes(stream((1, b"\1\0\0\0"))).bares


def test_networks_are_networks():
    for wrong in ("10.0.0.0/8", IPv4Address("10.0.0.1"), IPv4Interface("10.0.0.1/8"), 5):
        with pytest.raises(TypeError, match=r"^Route\.dst: an IPv4Network or IPv6Network is wanted, not "):
            Route(dst=wrong)


def test_an_interface_is_an_address_too():
    assert Route(gateway=IPv4Interface("10.0.0.1/8")).gateway == IPv4Address("10.0.0.1")


# Records that contain themselves --------------------------------------------------------------------------------------


def test_trees():
    tree = Tree(value=1, child=Tree(value=2, child=Tree(value=3)), leaves=(Tree(value=4), Tree()))
    assert tree.child.child.value == 3
    assert [leaf.value for leaf in tree.leaves] == [4, None]
    assert tree.to_dict() == {
        "value": 1,
        "child": {"value": 2, "child": {"value": 3}},
        "leaves": [{"value": 4}, {}],
    }
    assert tree.replace(child=tree).child == tree
    with pytest.raises(TypeError, match=r"^Tree\.child: a Tree is wanted, not Pair"):
        Tree(child=Pair(first=1))


def test_a_function_that_returns_no_record_class():
    class Wrong(r.Record):
        value: object = r.attr(1, r.nested(lambda: 5))
        other: object = r.attr(2, r.nested(lambda: r.Record))

    for name in ("value", "other"):
        with pytest.raises(TypeError, match="is no class of records with fields"):
            Wrong(**{name: Tree()})
        with pytest.raises(TypeError, match="is no class of records with fields"):
            getattr(Wrong.from_bytes(stream((1, b""), (2, b""))), name)


def test_32_levels_are_read():
    def nest(levels):
        wire = b""
        for _ in range(levels):
            wire = stream((2, wire))
        return wire

    def walk(tree):
        levels = 0
        while tree is not None:
            tree, levels = tree.child, levels + 1
        return levels

    allowed = Tree.from_bytes(nest(31))
    assert walk(allowed) == 32
    allowed.check()
    assert hash(allowed) == hash(Tree.from_bytes(nest(31)))
    for levels in (32, 33, 5000):
        deep = Tree.from_bytes(nest(levels))
        for fails in (walk, Tree.check, Tree.to_dict):
            with pytest.raises(DecodeError, match="records nest deeper than 32 levels") as caught:
                fails(deep)
            assert caught.value.offset == 4 * 32
        assert "<DecodeError>" in repr(deep)
        assert deep == Tree.from_bytes(bytes(deep))
        assert hash(deep) == hash(Tree.from_bytes(bytes(deep)))
        assert deep != allowed
        assert deep.replace(value=1).value == 1


# Changes --------------------------------------------------------------------------------------------------------------


def test_replacing_keeps_the_rest_as_it_is_on_the_wire():
    wire = HEADER + stream((99, b"a"), (4, b"\5\0\0\0"), (0x4063, b"bc"), (3, b"lan0\0\0"), (4, b"\6\0\0\0"), (98, b""))
    link = Link.from_bytes(wire)
    assert bytes(link.replace()) == wire
    assert bytes(link.replace(mtu=7)) == HEADER + stream(
        (99, b"a"), (4, struct.pack("=I", 7)), (0x4063, b"bc"), (3, b"lan0\0\0"), (98, b"")
    )
    assert bytes(link.replace(mtu=None)) == HEADER + stream((99, b"a"), (0x4063, b"bc"), (3, b"lan0\0\0"), (98, b""))
    assert bytes(link.replace(quiet=True, address="01:02")) == wire + stream((1, b"\1\2"), (6, b""))
    assert bytes(link.replace(index=5))[16:] == wire[16:]
    assert link.replace(index=5, flags=Flags.UP, type=None).index == 5
    assert bytes(link) == wire
    assert link.replace(mtu=None).replace(mtu=5) == Link.from_bytes(
        HEADER + stream((99, b"a"), (0x4063, b"bc"), (3, b"lan0\0\0"), (98, b""), (4, struct.pack("=I", 5)))
    )


def test_what_is_replaced_by_none_goes():
    link = Link(index=4, flags=Flags.UP, name="a", quiet=True, alias=("x", "y"), names=("b",), mtu=3)
    assert (
        link.replace(quiet=False)
        == link.replace(quiet=None)
        == Link(**{"index": 4, "flags": Flags.UP, "name": "a", "alias": ("x", "y"), "names": ("b",), "mtu": 3})
    )
    assert link.replace(alias=None).alias == link.replace(alias=()).alias == ()
    assert link.replace(alias=("z",)).alias == ("z",)
    assert link.replace(index=None, flags=None).index == 0
    assert Route(dst=IPv4Network("10.0.0.0/8")).replace(dst=None).dst_len == 0
    assert Route(dst=IPv4Network("10.0.0.0/8")).replace(dst=IPv4Network("0.0.0.0/0")) == Route(family=2)
    assert Route(dst=IPv4Network("10.0.0.0/8")).replace(dst=IPv4Network("11.0.0.0/9")) == Route(
        dst=IPv4Network("11.0.0.0/9")
    )
    assert Route(table=1000).replace(table=5) == Route(table=5)
    assert Route(table=5).replace(table=1000) == Route(table=1000)
    assert Route(table=1000).replace(table=None) == Route()
    assert Route(all_flags=Flags.HIGH | 1).replace(all_flags=Flags.UP) == Route(all_flags=Flags.UP)
    assert Info(data=Vlan(id=1)).replace(data=Veth()).kind == "veth"


def test_replacing_in_a_part_makes_a_whole():
    link = Link(info=Info(data=Vlan(id=5)))
    info = link.info.replace(data=link.info.data.replace(id=6))
    del link
    assert info.data.id == 6
    assert info == Info(data=Vlan(id=6))


def test_replacing_refuses_what_building_refuses():
    with pytest.raises(TypeError, match=r"^Link has no field 'mut'$"):
        Link().replace(mut=1)
    with pytest.raises(EncodeError, match=r"^Link\.mtu: -1 is out of range"):
        Link().replace(mtu=-1)
    with pytest.raises(TypeError):
        Link().replace(5)
    with pytest.raises(DecodeError, match="the attribute at offset 16 says 3 bytes"):
        Link.from_bytes(HEADER + b"\3\0\0\0").replace(mtu=1)


def test_bytes_that_do_not_make_an_attribute_are_passed_over():
    link = Link.from_bytes(bytes(Link(mtu=5)) + b"\1\2\3")
    assert (link.mtu, link.unknown) == (5, ())
    link.check()
    assert link == Link(mtu=5)
    assert link.replace(mtu=6) == Link(mtu=6)
    assert len(bytes(link)) == 27


def test_building_lets_go_of_what_it_takes():
    def rounds():
        for _ in range(300):
            link = Link(name="x" * 3000, info=Info(data=Vlan(id=5)), alias=("a",) * 50)
            link.replace(mtu=5, alias=None)
            for bad in ({"name": "x" * 3000, "alias": ("a" * 2000, 1)}, {"name": "x" * 70000}, {"mtu": -1}):
                with pytest.raises((TypeError, EncodeError)):
                    Link(**bad)
                with pytest.raises((TypeError, EncodeError)):
                    link.replace(**bad)

    rounds()
    tracemalloc.start()
    try:
        rounds()
        before = tracemalloc.get_traced_memory()[0]
        rounds()
        assert tracemalloc.get_traced_memory()[0] - before < 20000
    finally:
        tracemalloc.stop()
