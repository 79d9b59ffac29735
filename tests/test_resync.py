"""Watches that tell the state: at the beginning, and anew after a loss."""

import gc
import random
import socket

import pytest

import netlink_codec as nl
import rtnl
import trouble
from namespaces import descriptors, network
from netlink_codec import Changed, Deleted, Dump, Lost, New, Sync, Watch, _socket
from peers import KINDS, Peer
from states import (
    ADDRESS_EVENT,
    BEGIN,
    END,
    LINK_EVENT,
    LINKS,
    RTNLGRP_IPV4_IFADDR,
    RTNLGRP_LINK,
    Record,
    address,
    addresses,
    flood,
    ip,
    link,
    links,
    three_addresses,
    told,
)

pytestmark = pytest.mark.kernel


TINY = 4096  # the kernel doubles it: a few events


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


@pytest.fixture
def tiny(monkeypatch):
    """Sockets that listen have a receive buffer that is hardly enough."""
    init = _socket.Socket.__init__

    def tiny_init(self, *arguments, listens=False, **options):
        init(self, *arguments, listens=listens, **options)
        if listens:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, TINY)

    monkeypatch.setattr(_socket.Socket, "__init__", tiny_init)


class Follower:
    """What is there, as a program learns it from a watch."""

    def __init__(self, *, tracked=False):
        self.state = {}
        self.tracked = tracked
        self.seen = set()

    def hear(self, events):
        for event in events:
            match event:
                case Sync("begin"):
                    self.seen.clear()
                case Sync("end") if not self.tracked:
                    for key in self.state.keys() - self.seen:
                        del self.state[key]
                case New(record) | Changed(record):
                    self.state[record.identity] = record
                    self.seen.add(record.identity)
                case Deleted(record):
                    self.state.pop(record.identity, None)


# The beginning ---------------------------------------------------------------------------------------------------


def test_the_state_comes_first(conn, other, ifb):
    before = descriptors()
    with conn.watch(addresses()) as events:
        assert events.take(5) == [BEGIN, *told(1, 2, 3), END]
        assert events.next(0) is None
        other.do(trouble.add_address(ifb, ip(4)))
        other.do(trouble.delete_address(ifb, ip(1)))
        assert events.take(2) == [*told(4), *told(1, kind=Deleted)]
    with conn.watch(addresses()) as events:
        assert events.ready() == [BEGIN, *told(2, 3, 4), END]
        assert events.ready() == []
    with conn.watch(addresses(initial=False)) as events:
        assert events.next(0) is None
        assert events.ready() == []
    with conn.watch(addresses()) as events:
        assert [events.next(0) for _ in range(6)] == [BEGIN, *told(2, 3, 4), END, None]
    gc.collect()
    assert descriptors() <= before + 2  # a socket of the pool, a descriptor of the namespace


def test_several_dumps(conn, ifb):
    groups = [RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR]

    def event(message, group):
        return (LINK_EVENT if group == RTNLGRP_LINK else ADDRESS_EVENT)(message, group)

    watch = Watch(groups, event, resync=[Dump(rtnl.addresses(), address), LINKS], initial=True)
    with conn.watch(watch) as events:
        heard = events.ready()
        assert heard[:4] == [BEGIN, *told(1, 2, 3)]
        assert {event.record[0] for event in heard[4:-1]} == {"lo", "ifb0"}
        assert heard[-1] == END


def test_what_happens_before_one_asks(conn, other, ifb):
    """The dump knows it already; it comes again, after it, in the kernel's order."""
    with conn.watch(addresses()) as events:
        other.do(trouble.add_address(ifb, ip(4)))
        other.do(trouble.delete_address(ifb, ip(4)))
        other.do(trouble.delete_address(ifb, ip(1)))
        assert events.ready() == [
            BEGIN, *told(2, 3), END, *told(4), *told(4, kind=Deleted), *told(1, kind=Deleted)
        ]  # fmt: skip


def test_what_is_deleted_during_the_dump_stays_deleted(conn, other, ifb):
    """The dump has told it, or will; the deletion comes later."""
    for number in range(4, 1500):
        other.do(trouble.add_address(ifb, ip(number)))
    gone = [1, 700, 1499]
    follower = Follower()

    def decode(message):
        if gone:
            for number in gone:
                other.do(trouble.delete_address(ifb, ip(number)))
            del gone[:]
        return address(message)

    with conn.watch(addresses(decode)) as events:
        heard = events.ready()
        follower.hear(heard)
        assert heard[-3:] == told(1, 700, 1499, kind=Deleted)
        assert follower.state.keys() == {ip(number) for number in range(1, 1500)} - {ip(1), ip(700), ip(1499)}


# Losses ----------------------------------------------------------------------------------------------------------


def test_after_a_loss_the_state_comes_again(conn, other, ifb):
    with conn.watch(links()) as events:
        assert len(events.ready()) == 4
        for _ in range(3):
            mtu = flood(other)
            heard = events.ready()
            (position,) = [position for position, event in enumerate(heard) if isinstance(event, Lost)]
            lost = heard[position]
            assert position + lost.count == 2000
            assert set(heard[:position]) <= {New(Record(("lo", size))) for size in range(1000, 3000)}
            assert heard[position + 1] == Sync("begin", lost.count)
            state = heard[position + 2 : position + 4]
            assert {event.record[0]: event.record[1] for event in state} == {"lo": mtu, "ifb0": 1500}
            assert heard[position + 4 :] == [Sync("end", lost.count)]
            other.do(trouble.set_mtu(1111))
            assert events.next(30) == New(Record(("lo", 1111)))
    with conn.watch(links(resync=[LINKS], initial=False)) as events:
        flood(other)
        seen = [event for event in events.ready() if isinstance(event, Lost | Sync)]
        assert [type(event) for event in seen] == [Lost, Sync, Sync]


def test_a_loss_during_the_dump_starts_it_over(conn, other, ifb):
    floods = iter(range(2))
    sizes = []

    def decode(message):
        record = link(message)
        if record.identity == "ifb0" and next(floods, None) is not None:
            sizes.append(flood(other))
        return record

    with conn.watch(links(resync=[Dump(rtnl.links(), decode)])) as events:
        heard = events.ready()
    marks = [event for event in heard if isinstance(event, Lost | Sync)]
    first, second = marks[1].count, marks[3].count
    assert marks == [
        BEGIN, Lost(first), Sync("begin", first), Lost(second), Sync("begin", second), Sync("end", second)
    ]  # fmt: skip
    # Of a dump that is older than the loss nothing is told.
    assert heard[1] == New(Record(("lo", 1000)))
    assert {event.record for event in heard[-3:-1]} == {Record(("lo", sizes[-1])), Record(("ifb0", 1500))}


def test_a_loss_while_the_state_is_told(conn, other, ifb):
    """Of the old state no more is told."""
    for number in range(4, 1000):
        other.do(trouble.add_address(ifb, ip(number)))
    watch = Watch(
        [RTNLGRP_LINK],
        LINK_EVENT,
        resync=[Dump(rtnl.addresses(), address)],
        initial=True,
    )
    with conn.watch(watch) as events:
        assert events.take(2) == [BEGIN, *told(1)]
        flood(other)
        heard = events.ready()
        marks = [position for position, event in enumerate(heard) if isinstance(event, Lost | Sync)]
        assert [type(heard[position]) for position in marks] == [Lost, Sync, Sync]
        assert marks[2] - marks[1] == 1000
        assert sum(event in told(*range(1000)) for event in heard[: marks[0]]) < 200


def test_nothing_is_lost_while_a_long_state_is_read(conn, other, ifb):
    """What happens meanwhile is read ahead."""
    for number in range(4, 2000):
        other.do(trouble.add_address(ifb, ip(number)))
    with conn.watch(addresses()) as events:
        heard = [events.next(30)]
        for number in range(2000):
            heard.append(events.next(30))
            other.do(trouble.add_address(ifb, ip(2000 + number)))
        while (event := events.next(0)) is not None:
            heard.append(event)
        assert conn.conn.stats.overruns == 0
        assert heard == [BEGIN, *told(*range(1, 2000)), END, *told(*range(2000, 4000))]


def test_how_much_is_read_ahead_is_bounded(conn, other, ifb, monkeypatch):
    monkeypatch.setattr(nl.events, "_MOST_AHEAD", 100)
    for number in range(4, 2000):
        other.do(trouble.add_address(ifb, ip(number)))
    with conn.watch(addresses()) as events:
        heard = [events.next(30)]
        for number in range(1000):
            heard.append(events.next(30))
            other.do(trouble.add_address(ifb, ip(2000 + number)))
            assert len(events.events._arrived) <= 100
        heard += events.ready()
        marks = [event for event in heard if isinstance(event, Lost | Sync)]
        assert len(marks) > 3
        assert marks[-1].phase == "end"


def test_a_dump_that_changes_each_time(conn, other, ifb):
    """It begins anew, and whoever waits gets his turn."""
    for number in range(4, 1500):
        other.do(trouble.add_address(ifb, ip(number)))
    runs = []
    disturbing = True

    def decode(message):
        if message.seq not in runs:
            runs.append(message.seq)
            if disturbing:
                other.do(trouble.add_address(ifb, ip(2000 + len(runs))))
        return address(message)

    with conn.watch(addresses(decode)) as events:
        assert events.ready() == [BEGIN]
        assert len(runs) == 11
        assert events.next(30) == BEGIN
        assert events.next(0) is None
        assert len(runs) == 22
        assert events.next(30) == BEGIN
        disturbing = False
        heard = events.until(END)
        assert len(runs) == 23
        assert len(heard) == 1499 + 22 + 1
        assert {event.record[0] for event in heard[:-1]} == {event.record[0] for event in told(*range(1, 1500))} | {
            ip(2000 + number) for number in range(1, 23)
        }


# In the end it is right ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("track", [False, True], ids=["", "track"])
@pytest.mark.parametrize("seed", range(4))
def test_the_state_is_right_in_the_end(tiny, conn, other, seed, track):
    """Whatever is lost: small buffers, changes at any moment, and dumps that change while they run."""
    chance = random.Random(seed)
    index = rtnl.add_link(other, "ifb0")
    there = set()

    def change(most):
        requests = []
        for _ in range(chance.randrange(most)):
            number = chance.randrange(1, 400)
            requests.append((trouble.delete_address if number in there else trouble.add_address)(index, ip(number)))
            there.symmetric_difference_update([number])
        other.batch(requests)

    def decode(message):
        if chance.random() < 0.003:
            change(30)
        return address(message)

    change(400)
    follower = Follower(tracked=track)
    heard = []
    with conn.watch(addresses(decode, track=track)) as events:
        for _ in range(300):
            if chance.random() < 0.2:
                change(40)
            for _ in range(chance.randrange(20)):
                event = events.next(0)
                heard += [] if event is None else [event]
        while (event := events.next(0)) is not None:
            heard.append(event)
    follower.hear(heard)
    assert follower.state.keys() == {ip(number) for number in there}
    assert conn.conn.stats.overruns > 3
    kinds = {type(event) for event in heard}
    assert kinds == {New, Deleted, Lost, Sync}
    if track:
        known = set()
        for event in heard:
            if isinstance(event, New):
                assert event.record not in known
                known.add(event.record)
            elif isinstance(event, Deleted) and event.old is not None:
                known.remove(event.record)
