"""The events of a watch, and a watch that keeps track."""

import itertools
import pickle

import pytest

import netlink_codec as nl
import rtnl
import trouble
from namespaces import network
from netlink_codec import Changed, Deleted, Dump, Lost, New, Sync, Watch
from peers import KINDS, Peer
from states import (
    BEGIN,
    END,
    LINK_EVENT,
    LINKS,
    RTNLGRP_LINK,
    Record,
    addresses,
    flood,
    ip,
    links,
    three_addresses,
    told,
)

pytestmark = pytest.mark.kernel


@pytest.fixture
def other():
    """Changes what is watched, on a connection of its own."""
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=30) as other:
        other.do(trouble.set_mtu(2000))
        yield other


@pytest.fixture(params=KINDS)
def conn(request, other):
    with Peer(request.param, timeout=30) as conn:
        yield conn


@pytest.fixture
def ifb(other):
    """The index of a link that has addresses 10.0.0.1 to 10.0.0.3."""
    return three_addresses(other)


# The events ------------------------------------------------------------------------------------------------------


def test_events_are_values():
    events = [New(1), Changed(1), Changed(1, 2), Deleted(1), Deleted(1, 2), Lost(1), Lost(None), BEGIN, Sync("end", 3)]
    assert len(set(events)) == len(events)
    for event in events:
        copy = pickle.loads(pickle.dumps(event))
        assert copy == event
        assert hash(copy) == hash(event)
        assert type(copy) is type(event)
    assert list(map(repr, events)) == [
        "New(1)", "Changed(1)", "Changed(1, 2)", "Deleted(1)", "Deleted(1, 2)", "Lost(1)", "Lost(None)",
        "Sync('begin', 0)", "Sync('end', 3)",
    ]  # fmt: skip
    assert New(1) != Changed(1)
    assert New(1) != 1
    match Sync("end", 3):
        case Sync("begin"):
            pytest.fail("that is the end")
        case Sync("end", lost):
            assert lost == 3
    match Changed(1, 2):
        case New(_) | Deleted(_):
            pytest.fail("it has changed")
        case Changed(record, old):
            assert (record, old) == (1, 2)


@pytest.mark.parametrize("option", ["initial", "track"])
def test_a_state_takes_dumps(option):
    with pytest.raises(ValueError, match="is given dumps, `resync`"):
        Watch([1], LINK_EVENT, **{option: True})


# Keeping track ---------------------------------------------------------------------------------------------------


def test_what_was_before(conn, other):
    with conn.watch(links(track=True)) as events:
        assert events.ready() == [BEGIN, New(Record(("lo", 2000))), END]
        other.do(trouble.set_mtu(1400))
        assert events.ready() == [Changed(Record(("lo", 1400)), Record(("lo", 2000)))]
        index = rtnl.add_link(other, "ifb0")
        assert events.ready() == [New(Record(("ifb0", 1500)))]  # however often the kernel says so
        other.do(trouble.set_up(index))
        assert events.ready() == []  # nothing that the record holds
        other.do(trouble.set_mtu(1300, index))
        other.do(nl.Request(rtnl.link(rtnl.RTM_DELLINK, index)))
        old = Record(("ifb0", 1300))
        heard = events.ready()
        assert heard[0] == Changed(old, Record(("ifb0", 1500)))
        assert heard[-1] == Deleted(old, old)


def test_differences_after_a_loss(conn, other, ifb):
    (second,) = [rtnl.add_link(other, "ifb1")]
    with conn.watch(links(track=True)) as events:
        assert len(events.ready()) == 5
        # The buffer is full of the first of these; the rest is lost.
        mtu = flood(other)
        other.do(nl.Request(rtnl.link(rtnl.RTM_DELLINK, ifb)))
        other.do(trouble.set_mtu(1400, second))
        rtnl.add_link(other, "ifb2")
        heard = events.ready()
        begin = next(position for position, event in enumerate(heard) if isinstance(event, Sync))
        lost = heard[begin - 1].count
        before = [Record(("lo", size)) for size in (2000, *range(1000, 1000 + begin - 1))]
        assert heard[: begin - 1] == [Changed(new, old) for old, new in itertools.pairwise(before)]
        assert heard[begin:] == [
            Sync("begin", lost),
            Changed(Record(("lo", mtu)), before[-1]),
            Changed(Record(("ifb1", 1400)), Record(("ifb1", 1500))),
            New(Record(("ifb2", 1500))),
            Deleted(Record(("ifb0", 1500)), Record(("ifb0", 1500))),
            Sync("end", lost),
        ]


def test_without_initial_what_was_never_seen_is_new(conn, other, ifb):
    with conn.watch(addresses(track=True, initial=False)) as events:
        other.do(trouble.delete_address(ifb, ip(1)))
        other.do(trouble.add_address(ifb, ip(1)))
        assert events.ready() == [*told(1, kind=Deleted), *told(1)]


def test_what_makes_it_the_same(conn, other, ifb):
    watch = links(track=True, resync=[Dump(rtnl.links(), lambda message: [trouble.name(message)])], identity=len)
    watch.decode = lambda message, group: New([trouble.name(message)])
    with conn.watch(watch) as events:
        assert events.ready() == [BEGIN, New(["lo"]), Changed(["ifb0"], ["lo"]), END]
        other.do(trouble.set_mtu(1400))
        assert events.ready() == [Changed(["lo"], ["ifb0"])]


def test_other_events_pass(conn, other):
    watch = Watch([RTNLGRP_LINK], lambda *_: "something", resync=[LINKS], initial=True, track=True)
    with conn.watch(watch) as events:
        assert len(events.ready()) == 3
        other.do(trouble.set_mtu(1400))
        assert events.ready() == ["something"]
