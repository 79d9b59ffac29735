"""A watch of routes as a state, whatever the kernel does without telling it."""

from pathlib import Path

import pytest

import netlink_codec as nl
from iproute import ip, needs_ip
from namespaces import network
from netlink_codec import events as events_module
from netlink_codec import rtnl
from netlink_codec.changes import Again
from peers import KINDS, Peer

pytestmark = [pytest.mark.kernel, needs_ip]

FIRST, SECOND = "10.1.0.0/16 via 10.0.0.2", "10.1.0.0/16 via 10.0.1.2"
WAYS = "nexthop via 2001:db8::2 nexthop via 2001:db8:1::2"

STORIES = {
    "a link goes down and comes up": [
        "route add 10.2.0.0/16 via 10.0.1.2",
        "route add 10.3.0.0/16 nexthop via 10.0.0.2 nexthop via 10.0.1.2",
        "link set dev blue down",
        "link set dev blue up",
    ],
    "a link goes": ["route add 10.2.0.0/16 via 10.0.1.2", "link del blue"],
    "a link that is down goes": [
        "route add 10.3.0.0/16 nexthop via 10.0.0.2 nexthop via 10.0.1.2",
        f"-6 route add 2001:db8:7::/48 {WAYS}",
        "link set dev blue down",
        "link del blue",
    ],
    "an address goes, and comes again": [
        "route add 10.2.0.0/16 dev red src 10.0.1.1",
        "route add 10.3.0.0/16 nexthop via 10.0.0.2 nexthop via 10.0.1.2",
        "addr del 10.0.1.1/24 dev blue",
        "addr add 10.0.1.1/24 dev blue",
    ],
    "a source address of IPv6 goes": [
        "-6 route add 2001:db8:7::/48 dev red src 2001:db8:1::1",
        "addr del 2001:db8:1::1/64 dev blue",
    ],
    "a next hop object goes": [
        "nexthop add id 7 via 10.0.0.9 dev red",
        "route add 10.2.0.0/16 nhid 7",
        "nexthop del id 7",
    ],
    "one is appended, and the first goes": [f"route add {FIRST}", f"route append {SECOND}", f"route del {FIRST}"],
    "one is appended, and goes": [f"route add {FIRST}", f"route append {SECOND}", f"route del {SECOND}"],
    "one is put before another, and goes": [f"route add {FIRST}", f"route prepend {SECOND}", f"route del {SECOND}"],
    "two links are of one network": ["addr add 10.0.0.5/24 dev blue", "addr del 10.0.0.1/24 dev red"],
    "a way of IPv6 goes": [
        f"-6 route add 2001:db8:7::/48 {WAYS}",
        "-6 route del 2001:db8:7::/48 via 2001:db8::2",
        "-6 route del 2001:db8:7::/48 via 2001:db8:1::2",
    ],
    "a route of several ways goes": [f"-6 route add 2001:db8:7::/48 {WAYS}", "-6 route del 2001:db8:7::/48"],
    "a way of IPv6 is appended, and goes": [
        "-6 route add 2001:db8:7::/48 via 2001:db8::2",
        "-6 route append 2001:db8:7::/48 via 2001:db8:1::2",
        "-6 route del 2001:db8:7::/48 via 2001:db8:1::2",
    ],
    "an IPv6 route takes the place of another": [
        "-6 route add 2001:db8:7::/48 via 2001:db8::2",
        "-6 route replace 2001:db8:7::/48 dev red",
        "-6 route replace 2001:db8:7::/48 dev blue",
        "-6 route replace 2001:db8:7::/48 via 2001:db8::2",
    ],
}


@pytest.fixture
def other():
    """In a namespace with two interfaces, red and blue, each with addresses of its own."""
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=10) as other:
        for number, name in enumerate(("red", "blue")):
            other.do(rtnl.add_link(name, "ifb"))
            other.do(rtnl.set_link(name, addr_gen_mode="none"))
            other.do(rtnl.set_link(name, up=True))
            other.do(rtnl.add_address(f"10.0.{number}.1/24", name))
            other.do(rtnl.add_address(f"2001:db8:{number}::1/64", name, flags=rtnl.IFA_F.NODAD))
        yield other


class Table:
    """What a program knows, of what a watch tells it."""

    def __init__(self, events, track):
        self.events, self.track = events, track
        self.routes, self.seen, self.syncs = {}, set(), 0

    def follow(self):
        """What has happened; as text."""
        for event in self.events.ready():
            match event:
                case nl.Sync("begin"):
                    self.syncs += 1
                    self.seen.clear()
                case nl.Sync("end"):
                    for key in () if self.track else self.routes.keys() - self.seen:
                        del self.routes[key]
                case nl.New(route) | nl.Changed(route):
                    self.routes[route.identity] = route
                    self.seen.add(route.identity)
                case nl.Deleted(route):
                    self.routes.pop(route.identity, None)
        return described(self.routes)


def described(routes):
    ways = {key: route.multipath or (route,) for key, route in routes.items()}
    return {
        key: (
            sorted((str(way.via), getattr(way, "ifindex", 0), int(way.flags)) for way in ways[key]),
            route.prefsrc,
            route.oif,
        )
        for key, route in routes.items()
    }


def there(conn, **what):
    """What there is; the first of those with one identity."""
    routes = {}
    for route in conn.collect(rtnl.routes(**what)):
        routes.setdefault(route.identity, route)
    return described(routes)


@pytest.mark.parametrize("story", STORIES)
@pytest.mark.parametrize("track", [False, True])
@pytest.mark.parametrize("begun", [0, -1], ids=["before", "during"])
def test_the_state_is_right(other, story, track, begun):
    steps = STORIES[story]
    ip(*steps[:begun])  # what has happened before it begins
    with other.watch(rtnl.watch(rtnl.Route, initial=True, track=track, table="main")) as events:
        table = Table(events, track)
        assert table.follow() == there(other, table="main")
        for step in steps[begun:]:
            ip(step)
            assert table.follow() == there(other, table="main"), step


def test_where_ipv6_is_told_not_to_tell(other):
    Path("/proc/sys/net/ipv6/route/skip_notify_on_dev_down").write_text("1")
    with other.watch(rtnl.watch(rtnl.Route, initial=True, table="main")) as events:
        table = Table(events, False)
        for step in (
            "addr flush dev blue",
            "-6 route add 2001:db8:7::/48 nexthop via 2001:db8::2 nexthop via fe80::9 dev blue",
            "link set dev blue down",
            "link del blue",
        ):
            ip(step)
            assert table.follow() == there(other, table="main"), step


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", [2, 10])
def test_of_one_family(other, kind, family):
    watch = rtnl.watch(rtnl.Route, initial=True, family=family, table="main")
    with Peer(kind, timeout=10) as conn, conn.watch(watch) as events:
        table = Table(events, False)
        table.follow()
        for step in ("addr del 2001:db8:1::1/64 dev blue", "addr del 10.0.1.1/24 dev blue", "link del red"):
            ip(step)
            assert table.follow() == there(other, table="main", family=family)


def test_of_one_interface(other):
    red = other.do(rtnl.link("red"))
    with other.watch(rtnl.watch(rtnl.Route, initial=True, dev=red, table="main")) as events:
        table = Table(events, False)
        for step in ("route add 10.2.0.0/16 via 10.0.0.2", "route replace 10.2.0.0/16 via 10.0.1.2"):
            ip(step)
            assert table.follow() == there(other, oif="red", table="main")


def test_what_is_no_reason_to_tell_it_again(other):
    with other.watch(rtnl.watch(rtnl.Route, initial=True, table="main")) as events:
        table = Table(events, False)
        table.follow()
        ip(
            "route add 10.2.0.0/16 via 10.0.0.2",
            "route replace 10.2.0.0/16 via 10.0.0.3",
            "route del 10.2.0.0/16",
            "-6 route add 2001:db8:7::/48 via 2001:db8::2",
            "-6 route replace 2001:db8:7::/48 via 2001:db8::3",
            "-6 route del 2001:db8:7::/48",
            f"-6 route add 2001:db8:8::/48 {WAYS}",
            "-6 route del 2001:db8:8::/48",
            "link set dev red mtu 1400",
            "link add green type ifb",
            "addr add 10.0.2.1/24 dev red",
        )
        table.follow()
    assert table.syncs == 1


def test_many_reasons_are_one(other):
    with other.watch(rtnl.watch(rtnl.Route, initial=True, table="main")) as events:
        table = Table(events, False)
        table.follow()
        for _ in range(10):
            ip("link set dev red down", "link set dev red up")
        assert table.follow() == there(other, table="main")
    assert table.syncs == 2


def test_other_events_are_told_too(other):
    what = rtnl.watch(rtnl.Link, rtnl.Address, rtnl.Route, initial=True)
    with other.watch(what) as events:
        events.ready()
        ip("addr del 10.0.1.1/24 dev blue", "link del blue")
        found = events.ready()
    gone = [event.record for event in found if isinstance(event, nl.Deleted)]
    assert [str(record.ip) for record in gone if isinstance(record, rtnl.Address)][:1] == ["10.0.1.1"]
    assert [record.name for record in gone if isinstance(record, rtnl.Link)] == ["blue"]
    assert found[-1] == nl.Sync("end")


def test_without_a_state_routes_are_told_as_the_kernel_tells_them(other):
    watch = rtnl.watch(rtnl.Route, table="main", family=2)
    assert watch.groups == (rtnl.RTNLGRP.IPV4_ROUTE,)
    with other.watch(watch) as events:
        ip(f"route add {FIRST}", f"route append {SECOND}", f"route del {FIRST}", "link set dev red down")
        assert [type(event) for event in events.ready()] == [nl.New, nl.New, nl.Deleted]


@pytest.mark.parametrize("kind", KINDS)
def test_the_state_does_not_wait_for_ever(other, kind, monkeypatch):
    """Where more comes all the time, it is told after so many datagrams."""
    monkeypatch.setattr(events_module, "_MOST_BEFORE", 8)
    red = other.do(rtnl.link("red")).index

    def decode(message, group):
        return Again(nl.New(message.type))

    dump = nl.Dump(rtnl.link(red).message, lambda message: "state")
    with Peer(kind, timeout=10) as conn, conn.watch(nl.Watch([rtnl.RTNLGRP.LINK], decode, resync=[dump])) as events:
        other.batch([rtnl.set_link(red, mtu=1300 + number % 2) for number in range(20)])
        found = events.ready()
    begins = [number for number, event in enumerate(found) if event == nl.Sync("begin")]
    assert begins[0] == 8
    assert begins[1] == 8 + 3 + 8
    assert len(begins) == 3
    assert found[-2:] == [nl.New("state"), nl.Sync("end")]


def test_without_dumps_there_is_only_the_event(other):
    with other.watch(nl.Watch([rtnl.RTNLGRP.LINK], lambda message, group: Again(message.type))) as events:
        ip("link set dev red mtu 1400")
        assert set(events.ready()) == {rtnl.RTM_NEWLINK}
