"""Records against a slow model, and against bytes that are nearly right."""

import json
import pickle
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import oracle
from netlink_codec import DecodeError, EncodeError
from netlink_codec import records as r
from netlink_codec.records import IPAddress, IPNetwork
from record_classes import Data, Hop, Info, Link, Other, Pair, Route, Stats, Tree, Veth, Vlan
from record_oracle import declarations
from strategies import edits, tree_bytes, trees
from support import EDITS, FAMILY_HEADER, edited, random_seed, recorded_messages, recorded_on_little_endian

CLASSES = [Data, Hop, Info, Link, Other, Pair, Route, Stats, Tree, Veth, Vlan]
slowly = settings(suppress_health_check=[HealthCheck.too_slow], max_examples=400)


@slowly
@given(declarations())
def test_records_stand_as_the_model_writes_them(drawn):
    record = drawn.cls(**drawn.given)
    assert bytes(record) == drawn.wire
    for again in (record, drawn.cls.from_bytes(drawn.wire), pickle_through(record)):
        for name, value in drawn.read.items():
            assert getattr(again, name) == value
        assert again == record
        assert hash(again) == hash(record)
        assert again.unknown == ()
        again.check()
        json.dumps(again.to_dict())
    assert set(record.to_dict()) <= set(drawn.read) | set(drawn.given)
    assert {name for name, value in drawn.given.items() if value not in (False, ())} <= set(record.to_dict())
    assert bytes(record.replace()) == drawn.wire


def pickle_through(record):
    made, arguments = record.__reduce__()
    return made(arguments[0], *pickle.loads(pickle.dumps(arguments[1:])))


@slowly
@given(declarations(), st.data())
def test_replacing_is_building_with_other_values(drawn, data):
    record = drawn.cls(**drawn.given)
    names = data.draw(st.lists(st.sampled_from(sorted(drawn.given)), unique=True)) if drawn.given else []
    others = dict(drawn.given)
    for name in names:
        others[name] = None
    try:
        wanted = drawn.cls(**others)
    except TypeError:  # it is required
        return
    taken = record.replace(**dict.fromkeys(names))
    assert taken == wanted
    assert taken.replace(**{name: drawn.given[name] for name in names}) == record
    assert record.replace(**drawn.given) == record


@slowly
@given(declarations(), st.randoms())
def test_the_order_of_attributes_does_not_count(drawn, shuffler):
    parts = [
        (raw & 0x3FFF, drawn.wire[at : at + length]) for at, length, raw in oracle.frames(drawn.wire, header_of(drawn))
    ]
    codes = list(dict.fromkeys(code for code, _ in parts))
    shuffler.shuffle(codes)
    order = oracle.padded(part for code in codes for other, part in parts if other == code)
    again = drawn.cls.from_bytes(drawn.wire[: header_of(drawn)] + order)
    record = drawn.cls(**drawn.given)
    assert again == record
    assert hash(again) == hash(record)


def header_of(drawn) -> int:
    """Bytes before the first attribute."""
    only = {name: value for name, value in drawn.given.items() if name.startswith("fixed")}
    bare = type(r.Record)(
        "Bare",
        (r.Record,),
        {
            name: r.fixed(field.kind, default=drawn.read[name])
            for name, field in vars(drawn.cls).items()
            if name.startswith("fixed")
        },
    )
    return len(bytes(bare(**only)))


def use(record, whole=None):
    """Everything that can be done with a record, whatever its bytes are: values, or DecodeError."""
    size = len(bytes(record))
    whole = whole or size  # of the outermost record, where offsets count from
    fields = {name for cls in type(record).__mro__ for name, one in vars(cls).items() if isinstance(one, r.Field)}
    fails = False
    for name in fields:
        try:
            value = getattr(record, name)
        except DecodeError as error:
            assert 0 <= error.offset <= whole
            assert name in str(error) or "attribute at offset" in str(error)
            continue
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, r.Record):
                use(one, whole)
    for method in (record.check, record.to_dict, record.replace, lambda: record.unknown):
        try:
            method()
        except DecodeError:
            fails = True
    text = repr(record)
    assert text.startswith(type(record).__name__ + "(")
    again = type(record).from_bytes(bytes(record))
    assert again == record
    assert hash(again) == hash(record)
    if not fails:
        json.dumps(record.to_dict())
        assert isinstance(record, Hop) or record.replace() == record  # a wrong length is put right
    for changes in ({"mtu": 5}, {"value": 1}, {"kind": "x"}, {"oif": 1}, {"rx": 1, "late": None}):
        # What a struct has grown by cannot go where more follows that has no field.
        if changes.keys() <= fields and ("late" not in changes or size <= 32):
            try:
                changed = record.replace(**changes)
            except (DecodeError, EncodeError):
                continue
            assert all(getattr(changed, name) == value for name, value in changes.items())


def tried(cls, data):
    try:
        record = cls.from_bytes(data)
    except DecodeError as error:
        assert (error.offset, "takes" in str(error)) == (0, True)
        return
    assert bytes(record) == data
    use(record)


@settings(max_examples=1000)
@given(st.sampled_from(CLASSES), st.binary(max_size=20), trees.map(tree_bytes), edits)
def test_any_bytes(cls, header, attributes, changes):
    tried(cls, edited(header + bytes(-len(header) % 4) + attributes, changes))


def some_edits(chance):
    return [
        (chance.choice(EDITS), chance.randrange(5000), chance.randrange(65536)) for _ in range(chance.randint(1, 3))
    ]


WHOLE = [
    Link(
        **{"index": 3, "address": "02:00:00:00:00:01", "name": "lan0", "mtu": 5, "quiet": True, "alias": ("a", "b")},
        **{"info": Info(data=Vlan(id=5)), "stats": Stats(rx=1, lost=2), "names": ("a", "b")},
    ),
    Info(data=Veth(index=3, peer="a")),
    Route.from_bytes(
        bytes(Route(family=2, dst_len=9, table=70000, oif=3)) + bytes(Route(hops=(Hop(index=1), Hop(index=2))))[8:]
    ),
    Tree(value=1, child=Tree(child=Tree(value=5)), leaves=(Tree(), Tree(value=6))),
    Other(number=1, pair=Pair(first=2), pairs=(Pair(first=3),) * 2, numbers=(4, 5), words=["a", "b"], valid=None),
]


@pytest.mark.parametrize("record", WHOLE, ids=lambda record: type(record).__name__)
def test_hundreds_of_mutations(record):
    chance = random.Random(random_seed())
    for _ in range(600):
        tried(type(record), edited(bytes(record), some_edits(chance)))


class RealRoute(r.Record, family="family"):
    family: int = r.fixed(r.U8, default=0)
    dst_len: int = r.fixed(r.U8, default=0)
    src_len: int = r.fixed(r.U8, default=0)
    tos: int = r.fixed(r.U8, default=0)
    rtm_table: int = r.fixed(r.U8, default=0)
    protocol: int = r.fixed(r.blob(3), default=bytes(3))
    flags: int = r.fixed(r.U32, default=0)
    dst: IPNetwork = r.network(1, length="dst_len")
    src: IPNetwork | None = r.prefix(2, length="src_len")
    oif: int | None = r.attr(4, r.U32)
    gateway: IPAddress | None = r.attr(5, r.IP)
    hops: tuple[Hop, ...] | None = r.attr(9, r.sequence(Hop))
    table: int = r.merged(15, r.U32, over="rtm_table")


@recorded_on_little_endian
@pytest.mark.parametrize(
    ("name", "cls"),
    [("links_1", Link), ("links_200", Link), ("routes_4", RealRoute), ("routes_10k", RealRoute)],
)
def test_recorded_messages_and_mutations_of_them(name, cls):
    messages = [message for message in recorded_messages(name) if len(message) > 16 + FAMILY_HEADER[name]]
    chance = random.Random(random_seed())
    for message in messages if len(messages) < 300 else chance.sample(messages, 300):
        record = cls.from_bytes(message[16:])
        assert bytes(record) == message[16:]
        use(record)
        record.check()
        assert {code for code, _ in record.unknown} <= {
            attribute.type for attribute in oracle.attributes(message[16:], FAMILY_HEADER[name])
        }
        for _ in range(3):
            tried(cls, edited(message[16:], some_edits(chance)))
