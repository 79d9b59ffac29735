"""What a record is and does: its bytes, typed, read when they are touched."""

import copy
import json
import pickle
import sys
from ipaddress import IPv4Address, IPv4Network, IPv6Network

import pytest

from netlink_codec import DecodeError, Message
from netlink_codec import records as r
from record_classes import Data, Flags, Hop, Info, Link, Noted, Other, Pair, Route, Scope, Stats, Tree, Veth, Vlan
from support import stream

HEADER = bytes(Link())
LINK = Link(
    type=1,
    index=7,
    flags=Flags.UP | Flags.RUNNING,
    address="02:00:00:00:00:01",
    name="lan0",
    mtu=1500,
    quiet=True,
    info=Info(data=Vlan(id=5, protocol=0x8100)),
    stats=Stats(rx=1, tx=2, lost=3),
    names=("a", "b"),
    alias=("x", "y"),
)


def test_a_record_is_its_bytes():
    assert LINK == Link.from_bytes(bytes(LINK)) == Link.from_message(Message(16, 0, LINK))
    data = bytearray(bytes(LINK))
    record = Link.from_bytes(memoryview(data))
    data[:] = bytes(len(data))
    assert record == LINK
    data.append(0)
    assert bytes(Message(16, 5, LINK)) == bytes(Message(16, 5, bytes(LINK)))


def test_fields_read_as_they_were_given():
    assert (LINK.family, LINK.type, LINK.index, LINK.flags, LINK.change) == (0, 1, 7, Flags.UP | Flags.RUNNING, 0)
    assert (LINK.address, LINK.name, LINK.mtu, LINK.quiet) == ("02:00:00:00:00:01", "lan0", 1500, True)
    assert (LINK.info.kind, LINK.info.data.id, LINK.info.data.protocol) == ("vlan", 5, 0x8100)
    assert (LINK.stats.rx, LINK.stats.tx, LINK.stats.lost, LINK.stats.late) == (1, 2, 3, None)
    assert (LINK.names, LINK.alias) == (("a", "b"), ("x", "y"))


def test_what_is_not_there_is_none():
    link = Link.from_bytes(HEADER)
    assert (link.address, link.mtu, link.quiet, link.info, link.stats, link.names, link.alias) == (
        *(None, None, False, None, None, None),
        (),
    )
    with pytest.raises(DecodeError, match=r"^Link\.name \(attribute 3\) is missing$") as caught:
        _ = link.name
    assert caught.value.offset == 16
    with pytest.raises(DecodeError, match=r"^Other\.number \(attribute 1\) is missing$") as caught:
        _ = Broken.from_bytes(stream((9, b"12345"), (4, stream((8, b"word"))))).other.number
    assert caught.value.offset == 24


def test_of_attributes_with_one_code_the_first_counts():
    link = Link.from_bytes(HEADER + stream((4, b"\1\0\0\0"), (4, b"\2\0\0\0"), (0x8004, b"\3\0\0\0")))
    assert link.mtu == int.from_bytes(b"\1\0\0\0", sys.byteorder)
    assert link.to_dict()["mtu"] == link.mtu
    route = Route.from_bytes(bytes(Route()) + stream((15, b"\1\0\0\1"), (15, b"\2\0\0\2")))
    assert route.to_dict()["table"] == route.table == int.from_bytes(b"\1\0\0\1", sys.byteorder)


def test_messages_give_their_type_and_flags():
    record = Link.from_message(Message(17, 0x302, LINK, seq=5))
    assert (record.message_type, record.message_flags) == (17, 0x302)
    assert (LINK.message_type, LINK.message_flags) == (0, 0)
    assert (record.info.message_type, record.info.message_flags) == (0, 0)
    assert (record.info.data.message_type, record.info.data.message_flags) == (0, 0)
    assert (record.replace(mtu=1).message_type, record.replace(mtu=1).message_flags) == (17, 0x302)
    assert record == LINK
    assert hash(record) == hash(LINK)
    with pytest.raises(TypeError):
        Link.from_message(bytes(LINK))
    with pytest.raises(TypeError):
        Link.from_bytes("text")


def test_records_too_short_for_their_struct_are_refused():
    for size in range(16):
        with pytest.raises(DecodeError, match=rf"^Link takes 16 bytes, and there are {size}$") as caught:
            Link.from_bytes(bytes(size))
        assert caught.value.offset == 0
        with pytest.raises(DecodeError, match="Link takes 16"):
            Link.from_message(Message(16, 0, bytes(size)))
    assert Link.from_bytes(bytes(17)).mtu is None
    broken = Info.from_bytes(stream((1, b"veth\0"), (2, b"\1\2")))
    assert type(broken.data) is Data
    with pytest.raises(DecodeError, match=r"^Broken\.hop at offset 8 has 7 bytes, and Hop takes 8$") as caught:
        _ = Broken.from_bytes(stream((9, b""), (1, bytes(7)))).hop
    assert caught.value.offset == 8


class Broken(r.Record):
    hop: Hop | None = r.attr(1, r.nested(Hop))
    link: Link | None = r.attr(2, r.nested(Link))
    info: Info | None = r.attr(3, r.nested(Info))
    other: Other | None = r.attr(4, r.nested(Other))


def test_offsets_count_from_the_outermost_record():
    inner = stream((2, stream((1, b"\1"))), (1, b"vlan\0"))
    record = Broken.from_bytes(stream((9, b"12345"), (3, inner)))
    assert type(record.info.data) is Vlan
    with pytest.raises(DecodeError, match=r"^Vlan\.id at offset 24 has 1 bytes, and it takes 2$") as caught:
        _ = record.info.data.id
    assert caught.value.offset == 24
    with pytest.raises(DecodeError, match=r"^Vlan\.id at offset 24"):
        record.check()
    with pytest.raises(DecodeError, match="the attribute at offset 20 says 3 bytes, and 4 are left"):
        _ = Broken.from_bytes(stream((9, b"12345"), (3, stream((7, b"")) + b"\3\0\0\0"))).info.kind


# Unknown --------------------------------------------------------------------------------------------------------------


def test_unknown_attributes_are_listed_and_kept():
    unknown = stream((99, b"abc"), (0x8063, b""), (0x4064, b"x" * 9))
    link = Link.from_bytes(bytes(LINK) + unknown)
    assert link.unknown == ((99, b"abc"), (99, b""), (100, b"x" * 9))
    assert LINK.unknown == ()
    assert bytes(link) == bytes(LINK) + unknown
    assert bytes(link.replace(mtu=9)).endswith(unknown)
    assert link.to_dict()["unknown"] == [[99, "616263"], [99, ""], [100, "78" * 9]]
    assert "unknown" not in LINK.to_dict()
    assert repr(link).endswith("attribute 99=0x616263, attribute 99=0x, attribute 100=0x787878787878787878)")
    assert Stats.from_bytes(bytes(100)).unknown == Pair.from_bytes(b"").unknown == ()


def test_choices_that_are_unknown_keep_what_they_hold():
    inner = stream((1, b"abcd"), (0x8002, stream((1, b"x"))))
    info = Info.from_bytes(stream((1, b"wireguard\0"), (0x8002, inner)))
    assert type(info.data) is Data
    assert info.data.unknown == ((1, b"abcd"), (2, stream((1, b"x"))))
    assert bytes(info.data) == inner
    again = Info(kind="wireguard", data=info.data)
    assert again == info
    assert bytes(again) == bytes(info)


# As a whole -----------------------------------------------------------------------------------------------------------


def test_to_dict_is_ready_for_json():
    told = LINK.to_dict()
    assert told == {
        "family": 0,
        "type": 1,
        "index": 7,
        "flags": ["UP", "RUNNING"],
        "change": 0,
        "address": "02:00:00:00:00:01",
        "name": "lan0",
        "mtu": 1500,
        "quiet": True,
        "info": {"kind": "vlan", "data": {"id": 5, "protocol": 0x8100}},
        "stats": {"rx": 1, "tx": 2, "lost": 3},
        "names": ["a", "b"],
        "alias": ["x", "y"],
    }
    assert json.loads(json.dumps(told)) == told
    route = Route(
        dst=IPv4Network("10.0.0.0/8"),
        scope=Scope.UNIVERSE,
        table=1000,
        hops=(Hop(index=1, gateway=IPv4Address("10.0.0.9")), Hop(index=2)),
    )
    told = route.to_dict()
    assert told["dst"] == "10.0.0.0/8"
    assert told["scope"] == "global"
    assert told["table"] == 1000
    assert [hop.get("gateway") for hop in told["hops"]] == ["10.0.0.9", None]
    assert "src" not in told
    assert json.loads(json.dumps(told)) == told


def test_to_dict_says_the_network_that_no_attribute_means():
    assert Route(family=2).to_dict()["dst"] == "0.0.0.0/0"
    assert Route(family=10).to_dict()["dst"] == "::/0"
    assert Route(family=2, dst_len=9).to_dict()["dst"] == "0.0.0.0/9"
    assert "dst" not in Route(family=28).to_dict()
    assert Route(family=28).to_dict()["table"] == 0


def test_to_dict_takes_the_first_of_each_code():
    class High(r.Record):
        small: int = r.fixed(r.U8, default=9)
        low: int | None = r.attr(5, r.U8)
        high: int | None = r.attr(0x3FFF, r.U8)
        other: int | None = r.attr(5 + 1024, r.U8)
        lows: tuple[int, ...] = r.repeated(6, r.U8)
        highs: tuple[int, ...] = r.repeated(6 + 1024, r.U8)
        table: int = r.merged(2000, r.U16, over="small")

    for _ in range(1018):  # so many fields lie between those of one class
        type(r.Record)("Between", (r.Record,), {"value": r.attr(1, r.U8)})

    class Later(High):
        last: int | None = r.attr(7, r.U8)

    wire = stream(*((code, bytes([value])) for value in (1, 2) for code in (5, 0x3FFF, 1029, 6, 1030, 7)))
    for cls in (High, Later):
        told = cls.from_bytes(bytes(4) + wire).to_dict()
        assert [told[name] for name in ("low", "high", "other", "lows", "highs", "table")] == [
            1,
            1,
            1,
            [1, 2],
            [1, 2],
            0,
        ]
        assert told.get("last", 1) == 1
    assert High(table=1000).to_dict()["table"] == 1000


def test_repr_shows_what_is_there():
    assert repr(Link()) == "Link()"
    assert repr(LINK) == (
        "Link(type=1, index=7, flags=Flags(UP|RUNNING), address='02:00:00:00:00:01', name='lan0', mtu=1500, "
        "quiet=True, info=Info(kind='vlan', data=Vlan(id=5, protocol=33024)), stats=Stats(rx=1, tx=2, lost=3), "
        "names=('a', 'b'), alias=('x', 'y'))"
    )
    assert repr(Route(scope=Scope.SITE)) == "Route(scope=Scope.SITE, table=0, all_flags=Flags(0))"
    assert repr(Route(scope=Scope(7))) == "Route(scope=Scope.7, table=0, all_flags=Flags(0))"
    assert repr(Link(names=("a",))) == "Link(names=('a',))"
    assert repr(Link.from_bytes(HEADER + stream((4, b"1")))) == "Link(mtu=<DecodeError>)"
    assert repr(Link.from_bytes(HEADER + b"\3\0\0\0")) == "Link(<broken>)"


class Rude:
    def __repr__(self):
        raise RuntimeError


def test_repr_does_not_raise_what_a_value_does():
    class Cursed(r.Record):
        value: object = r.attr(1, r.custom(lambda data: Rude(), bytes))

    assert repr(Cursed(value=b"")) == "Cursed(value=<RuntimeError>)"


def test_check_decodes_everything():
    LINK.check()
    Link().check()
    for code, payload, name in ((4, b"1", "mtu"), (52, stream((1, b"a")) + b"\1\0\0\0", "attribute at offset 28")):
        with pytest.raises(DecodeError, match=name):
            Link.from_bytes(HEADER + stream((code, payload))).check()
    with pytest.raises(DecodeError, match="the attribute at offset 16 says 3 bytes"):
        Link.from_bytes(HEADER + b"\3\0\0\0").check()
    with pytest.raises(DecodeError, match=r"Vlan\.id"):
        Link.from_bytes(HEADER + stream((18, stream((1, b"vlan"), (2, stream((1, b"x"))))))).check()
    with pytest.raises(DecodeError, match=r"Tree\.value"):
        Tree.from_bytes(stream((3, stream((1, b""), (1, stream((1, b"x"))))))).check()
    Route(family=28).check()
    Route(family=2).check()


def test_identity_is_what_the_class_says():
    assert LINK.identity == (7,)
    assert Route(dst=IPv4Network("10.0.0.0/8"), table=5).identity == (5, IPv4Network("10.0.0.0/8"))
    with pytest.raises(TypeError, match="Pair has no identity"):
        _ = Pair(first=1).identity


def test_paths_of_codes_have_names():
    assert Link.path_names((18, 2)) == "info.data"
    assert Link.path_names([18, 2, 1]) == "info.data.1"
    vlan = Message(16, 0, Link(info=Info(data=Vlan(id=7))))
    assert Link.path_names([18, 2, 1], vlan) == "info.data.id"
    assert Link.path_names([18, 2, 99], vlan) == "info.data.99"
    assert Link.path_names([18, 2, 1], Message(16, 0, b"too short")) == "info.data.1"
    assert Link.path_names((18, 77, 1)) == "info.77.1"
    assert Link.path_names((52, 1)) == "names.1"
    assert Link.path_names((99, 3)) == "99.3"
    assert Link.path_names((4, 1)) == "mtu.1"
    assert Link.path_names(()) == ""
    assert Tree.path_names((2, 2, 3, 1, 1)) == "child.child.leaves.1.value"
    assert Vlan.path_names((1,)) == "id"


# Records among other objects ------------------------------------------------------------------------------------------


def test_copies_are_the_record_itself():
    assert copy.copy(LINK) is LINK
    assert copy.deepcopy(LINK) is LINK
    assert copy.deepcopy([LINK])[0] is LINK
    if hasattr(copy, "replace"):
        assert copy.replace(LINK, mtu=9) == LINK.replace(mtu=9)
    assert LINK.__replace__(mtu=9).mtu == 9


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_keep_bytes_type_and_flags(protocol):
    record = Link.from_message(Message(17, 0x302, LINK))
    for one in (record, LINK, record.info, record.info.data, record.stats, Pair.from_bytes(b""), Route()):
        again = pickle.loads(pickle.dumps(one, protocol))
        assert again == one
        assert bytes(again) == bytes(one)
        assert type(again) is type(one)
        assert (again.message_type, again.message_flags) == (one.message_type, one.message_flags)


def test_pickles_keep_what_a_subclass_adds():
    noted = Noted(name="a")
    noted.note = ["mine"]
    again = pickle.loads(pickle.dumps(noted))
    assert (again, again.note) == (noted, ["mine"])


def test_records_match_patterns():
    match LINK:
        case Link(info=Info(data=Vlan(id=int(number)))):
            assert number == 5
        case _:
            pytest.fail("no match")
    match LINK:
        case Link(mtu=None) | Link(info=Info(data=Veth())):
            pytest.fail("a match")
    with pytest.raises(TypeError, match="accepts 0 positional sub-patterns"):
        by_position(LINK)


def by_position(record):
    match record:
        case Link(7):
            pass


def test_records_cannot_be_changed():
    for record in (LINK, LINK.info, LINK.stats):
        for name in ("mtu", "kind", "rx", "anything", "message_type", "unknown", "identity"):
            with pytest.raises(AttributeError):
                setattr(record, name, 1)
            with pytest.raises(AttributeError):
                delattr(record, name)
    with pytest.raises(AttributeError, match=r"Link\.mtu cannot be set"):
        object.__setattr__(LINK, "mtu", 1)
    with pytest.raises(TypeError):
        memoryview(LINK)[0] = 1
    with pytest.raises(TypeError):
        _ = LINK < LINK


def test_fields_describe_themselves():
    assert repr(Link.mtu) == "<Field Link.mtu>"
    assert (Link.mtu.name, Link.mtu.code, Link.type.code) == ("mtu", 4, -1)
    assert Link.mtu.__doc__ == "attribute 4, integer"
    assert Link.type.__doc__ == "in the struct, integer"


# Networks and merged fields -------------------------------------------------------------------------------------------


def test_a_network_is_an_address_and_a_length():
    route = Route(dst=IPv4Network("10.1.0.0/16"), src=IPv4Network("10.2.3.4"))
    assert (route.family, route.dst_len, route.src_len) == (2, 16, 32)
    assert bytes(route)[-16:] == stream((1, b"\x0a\1\0\0"), (2, b"\x0a\2\3\4"))
    assert (route.dst, route.src) == (IPv4Network("10.1.0.0/16"), IPv4Network("10.2.3.4/32"))
    six = Route(dst=IPv6Network("2001:db8::/61"))
    assert (six.family, six.dst_len, six.dst, six.src) == (10, 61, IPv6Network("2001:db8::/61"), None)


def test_the_network_of_all_has_no_attribute():
    for text, family in (("0.0.0.0/0", 2), ("::/0", 10)):
        network = IPv4Network(text) if family == 2 else IPv6Network(text)
        assert bytes(Route(dst=network)) == bytes(Route(family=family))
        assert Route(family=family).dst == network
        assert Route(family=family).src is None
    assert Route(family=128).dst == IPv4Network("0.0.0.0/0")
    assert Route(family=129).dst == IPv6Network("::/0")


def test_bits_past_the_length_are_not_looked_at():
    def route(family, length, wire):
        return Route.from_bytes(bytes(Route(family=family, dst_len=length)) + stream((1, wire)))

    assert route(2, 9, b"\x0a\xff\xff\xff").dst == IPv4Network("10.128.0.0/9")
    assert route(2, 0, b"\x0a\xff\xff\xff").dst == IPv4Network("0.0.0.0/0")
    assert route(2, 9, b"\x0a\xff\xff\xff").to_dict()["dst"] == "10.128.0.0/9"
    assert route(10, 3, b"\xff" * 16).dst == IPv6Network("e000::/3")
    assert route(0, 32, bytes(4)).dst == IPv4Network("0.0.0.0")
    wrong = ((2, 33, 4), (10, 129, 16), (2, 8, 16), (10, 8, 4), (2, 8, 3), (28, 20, 4), (28, 20, 16))
    for family, length, size in wrong:
        record = route(family, length, bytes(size))
        with pytest.raises(DecodeError, match=rf"^Route\.dst at offset 12 has {size} bytes") as caught:
            _ = record.dst
        assert caught.value.offset == 12
        assert record.to_dict()["dst"] == "00" * size


def test_what_has_no_network_says_so():
    with pytest.raises(DecodeError, match=r"^Route\.dst \(attribute 1\) is missing$"):
        _ = Route(family=28).dst
    assert repr(Route(family=28)) == "Route(family=28, table=0, all_flags=Flags(0))"


def test_a_merged_field_is_in_the_struct_or_in_an_attribute():
    assert (bytes(Route(table=254)), Route(table=254).table) == (bytes(Route(rtm_table=254)), 254)
    for table in (256, 1000, 2**32 - 1):
        route = Route(table=table)
        assert (route.table, route.rtm_table, len(bytes(route))) == (table, 0, 16)
    both = Route.from_bytes(bytes(Route(rtm_table=254)) + stream((15, bytes(4))))
    assert (both.table, both.rtm_table) == (0, 254)
    with pytest.raises(DecodeError, match=r"Route\.table at offset 12 has 3 bytes"):
        _ = Route.from_bytes(bytes(Route()) + stream((15, bytes(3)))).table


def test_merged_flags_keep_their_low_bits_in_the_struct():
    route = Route(all_flags=Flags.HIGH | Flags.RUNNING)
    assert (route.all_flags, route.low) == (Flags.HIGH | Flags.RUNNING, 64)
    low = Route(all_flags=Flags.UP)
    assert (low.all_flags, low.low, len(bytes(low))) == (Flags.UP, 1, 8)
    assert type(low.all_flags) is Flags


def test_what_is_chosen_and_unknown_may_be_no_attributes():
    """It is told as it is, so that one odd kind does not keep a whole list from being told."""
    wire = stream((1, b"foo\0"), (2, b"12345678"))
    assert Info.from_bytes(wire).to_dict() == {"kind": "foo", "data": b"12345678".hex()}
    assert bytes(Info.from_bytes(wire)) == wire
    with pytest.raises(DecodeError):
        Info.from_bytes(stream((1, b"vlan\0"), (2, b"12345678"))).to_dict()
