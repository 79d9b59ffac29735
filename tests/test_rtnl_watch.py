"""Events of links, addresses and routes, on the real kernel."""

import struct

import pytest

import netlink_codec as nl
from iproute import ip_json, needs_ip
from namespaces import network
from netlink_codec import rtnl
from support import stream

NODAD = rtnl.IFA_F.NODAD


@pytest.fixture
def conn():
    """In a namespace with an interface, red."""
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=10) as conn:
        conn.do(rtnl.set_link("lo", up=True))
        conn.do(rtnl.add_link("red", "ifb", up=True))
        conn.do(rtnl.add_address("10.0.0.1/24", "red"))
        conn.do(rtnl.add_address("2001:db8::1/64", "red", flags=NODAD))
        yield conn


def short(event):
    """What an event says, as text."""
    if isinstance(event, nl.Sync):
        return event.phase
    record = event.record
    name = {rtnl.Link: "name", rtnl.Address: "ip", rtnl.Route: "dst"}[type(record)]
    return f"{type(event).__name__} {getattr(record, name)}"


def state(events):
    """The initial state, before its end."""
    found = []
    while (event := events.next(timeout=10)) != nl.Sync("end"):
        assert event is not None
        found.append(event)
    return found


def until(events, text):
    """What happens, to this event."""
    found = []
    while not found or found[-1] != text:
        event = events.next(timeout=10)
        assert event is not None
        found.append(short(event))
    return found


@pytest.mark.kernel
def test_each_kind_of_event(conn):
    red = conn.do(rtnl.link("red")).index
    with conn.watch(rtnl.watch(rtnl.Link, rtnl.Address, rtnl.Route)) as events:
        conn.do(rtnl.add_address("10.7.0.1/24", "red"))
        conn.do(rtnl.add_route("10.8.0.0/16", via="10.0.0.2", metric=7))
        conn.do(rtnl.delete_route("10.8.0.0/16"))
        conn.do(rtnl.delete_address("10.7.0.1/24", "red"))
        conn.do(rtnl.set_link("red", mtu=1400))
        conn.do(rtnl.add_link("blue", "ifb"))
        conn.do(rtnl.delete_link("red"))
        found = until(events, "Deleted red")
    wanted = [
        "New 10.7.0.1",
        "New 10.8.0.0/16",
        "Deleted 10.8.0.0/16",
        "Deleted 10.7.0.1",
        "New red",
        "New blue",
        "Deleted red",
    ]
    assert [text for text in found if text in wanted][: len(wanted) - 1] == wanted[:-1]
    assert found[-1] == wanted[-1]
    assert "New 10.7.0.0/24" in found  # the route that comes with the address
    assert red


@pytest.mark.kernel
def test_the_initial_state(conn):
    what = rtnl.watch(rtnl.Address, rtnl.Route, initial=True)
    with conn.watch(what) as events:
        begin, *there = state(events)
        assert begin == nl.Sync("begin")
        addresses = [event.record for event in there if isinstance(event.record, rtnl.Address)]
        routes = [event.record for event in there if isinstance(event.record, rtnl.Route)]
        assert {one.identity for one in addresses} == {one.identity for one in conn.dump(rtnl.addresses())}
        assert {one.identity for one in routes} == {one.identity for one in conn.dump(rtnl.routes())}
        assert len({one.identity for one in routes}) == len(routes)
        assert events.next(timeout=0) is None


@pytest.mark.kernel
def test_filters(conn):
    red = conn.do(rtnl.add_link("blue", "ifb", up=True))
    watches = {
        "table": rtnl.watch(rtnl.Route, table=1000),
        "main": rtnl.watch(rtnl.Route, table="main", family=2),
        "six": rtnl.watch(rtnl.Address, rtnl.Route, family=10),
        "blue": rtnl.watch(rtnl.Link, rtnl.Address, rtnl.Route, dev=red),
        "index": rtnl.watch(rtnl.Address, dev=red.index, family=2),  # of IPv6, one comes by itself
    }
    listeners = {name: conn.watch(watch) for name, watch in watches.items()}
    conn.do(rtnl.add_route("10.6.0.0/16", dev="red", table=1000))
    conn.do(rtnl.add_route("10.7.0.0/16", via="10.0.0.2"))
    conn.do(rtnl.add_address("10.5.0.1", "blue"))
    conn.do(rtnl.add_address("2001:db8:5::1", "red", flags=NODAD))
    conn.do(rtnl.add_route("2001:db8:6::/48", dev="red"))
    conn.do(rtnl.add_route("10.8.0.0/16", nexthops=[rtnl.Hop("10.0.0.2"), rtnl.Hop(dev="blue")]))
    conn.do(rtnl.set_link("red", mtu=1400))
    found = {name: set(map(short, events.ready())) for name, events in listeners.items()}
    for events in listeners.values():
        events.close()
    assert found["table"] == {"New 10.6.0.0/16"}
    assert found["main"] == {"New 10.7.0.0/16", "New 10.8.0.0/16"}
    assert found["six"] >= {"New 2001:db8:5::1", "New 2001:db8:6::/48"}
    assert not any("10." in text for text in found["six"])
    assert found["blue"] >= {"New 10.5.0.1", "New 10.8.0.0/16"}
    assert not found["blue"] & {"New red", "New 10.7.0.0/16", "New 2001:db8:5::1"}
    assert found["index"] == {"New 10.5.0.1"}


@pytest.mark.kernel
def test_a_port_that_leaves_its_bridge_is_not_gone(conn):
    conn.do(rtnl.add_link("br", "bridge", up=True))
    conn.do(rtnl.set_link("red", master="br"))
    with conn.watch(rtnl.watch(rtnl.Link)) as events:
        conn.do(rtnl.set_link("red", master=0))
        conn.do(rtnl.delete_link("br"))
        found = until(events, "Deleted br")
    assert "Deleted red" not in found
    assert "New red" in found


@pytest.mark.kernel
def test_what_changes_is_told_from_what_is_new(conn):
    with conn.watch(rtnl.watch(rtnl.Route, rtnl.Address, initial=True, track=True, family=2)) as events:
        state(events)
        conn.do(rtnl.add_route("10.8.0.0/16", via="10.0.0.2"))
        conn.do(rtnl.replace_route("10.8.0.0/16", via="10.0.0.3"))
        conn.do(rtnl.delete_route("10.8.0.0/16"))
        conn.do(rtnl.replace_address("10.0.0.1/24", "red", valid=5000))
        new, changed, deleted, address = events.ready()
    assert list(map(short, (new, changed, deleted))) == [
        "New 10.8.0.0/16",
        "Changed 10.8.0.0/16",
        "Deleted 10.8.0.0/16",
    ]
    assert (str(changed.old.via), str(changed.record.via)) == ("10.0.0.2", "10.0.0.3")
    assert changed.record.message_flags & nl.NLM_F_REPLACE
    assert short(address) == "Changed 10.0.0.1"
    assert address.old.cacheinfo.valid is None


# thom311/libnl#288, #293; FRRouting/frr#1463: what a monitor must not get wrong.
@pytest.mark.kernel
@needs_ip
@pytest.mark.parametrize("family", [2, 10])
def test_a_table_that_is_followed_is_what_ip_shows(conn, family):
    dst = [f"10.{number}.0.0/16" for number in range(20, 30)]
    first, second = "10.0.0.2", "10.0.0.3"
    if family == 10:
        dst = [f"2001:db8:{number}::/48" for number in range(20, 30)]
        first, second = "2001:db8::2", "2001:db8::3"
    fib = {}
    with conn.watch(rtnl.watch(rtnl.Route, initial=True, table="main", family=family)) as events:
        for one in dst:
            conn.do(rtnl.add_route(one, via=first))
        conn.do(rtnl.replace_route(dst[0], via=second))
        conn.do(rtnl.change_route(dst[1], via=second))
        conn.do(rtnl.add_route(dst[2], via=second, metric=77))
        conn.do(rtnl.delete_route(dst[3]))
        conn.do(rtnl.replace_route(dst[4], nexthops=[rtnl.Hop(first), rtnl.Hop(second)]))
        if family == 2:  # of IPv6, another identity replaces the one that was: see Route.identity
            conn.do(rtnl.replace_route(dst[5], type="unreachable"))
            conn.do(rtnl.replace_route(dst[6], dev="red"))
        conn.do(rtnl.flush_routes(dst=dst[7], family=family))
        while (event := events.next(timeout=0)) is not None:
            match event:
                case nl.New(route) | nl.Changed(route):
                    fib[route.identity] = route
                case nl.Deleted(route):
                    fib.pop(route.identity, None)
    routes = {route.identity: route for route in conn.dump(rtnl.routes(table="main", family=family))}
    assert routes.keys() == fib.keys()
    said = ip_json(f"-{4 if family == 2 else 6} route show table main")
    mine = [
        (str(route.dst), sorted(str(hop.via) for hop in route.multipath or (route,)), route.metric or 0)
        for route in fib.values()
    ]
    its = [
        (
            one["dst"],
            sorted(str(hop.get("gateway")) for hop in one.get("nexthops", [one])),
            one.get("metric", 0),
        )
        for one in said
    ]
    assert sorted(mine) == sorted(its)


# What the flags of an event say, and what IPv6 tells of one of several ways.
@pytest.mark.kernel
def test_the_flags_of_an_event_say_what_was_asked(conn):
    with conn.watch(rtnl.watch(rtnl.Route, table=1000)) as events:
        for dst, first, second in (
            ("10.8.0.0/16", "10.0.0.2", "10.0.0.3"),
            ("2001:db8:8::/48", "2001:db8::2", "2001:db8::3"),
        ):
            conn.do(rtnl.add_route(dst, via=first, table=1000))
            conn.do(rtnl.append_route(dst, via=second, table=1000))
            new, more = events.ready()
            assert (new.record.message_flags, more.record.message_flags) == (
                nl.NLM_F_CREATE | nl.NLM_F_EXCL,
                nl.NLM_F_CREATE | nl.NLM_F_APPEND,
            )
            assert new.record.identity == more.record.identity
            conn.do(rtnl.delete_route(dst, via=first, table=1000))
            (gone,) = events.ready()
            assert str(gone.record.via) == first
            # IPv4 has two routes, and tells of each; IPv6 has one of two ways, and tells of all of it, or of one way.
            ways = sorted(str(hop.via) for hop in more.record.multipath or (more.record,))
            assert ways == ([second] if new.record.family == 2 else [first, second])
            conn.do(rtnl.replace_route(dst, via=first, table=1000))
            (replaced,) = events.ready()
            assert replaced.record.message_flags & nl.NLM_F_REPLACE


def message(type, payload, flags=0):
    return nl.Message(type, flags, payload)


def route_payload(family, flags=0, table=254):
    return struct.pack("=8BI", family, 0, 0, 0, table, 4, 0, 1, flags)


def test_what_is_decoded_and_what_is_not():
    decode = rtnl.watch(rtnl.Link, rtnl.Address, rtnl.Route).decode
    link = struct.pack("=BxHiII", 0, 1, 3, 1, 0) + stream((3, b"red\0"))
    bridge_port = struct.pack("=BxHiII", 7, 1, 3, 1, 0) + stream((3, b"red\0"))
    assert decode(message(rtnl.RTM_NEWLINK, link), 1).record.name == "red"
    assert isinstance(decode(message(rtnl.RTM_DELLINK, link), 1), nl.Deleted)
    assert decode(message(rtnl.RTM_DELLINK, bridge_port), 1) is None
    assert decode(message(rtnl.RTM_NEWROUTE, route_payload(2)), 7).record.family == 2
    assert decode(message(rtnl.RTM_NEWROUTE, route_payload(28)), 7) is None
    assert decode(message(rtnl.RTM_NEWROUTE, route_payload(2, flags=0x200)), 7) is None
    assert decode(message(rtnl.RTM_NEWNETCONF, b"\2"), 24) is None


def test_groups():
    assert set(rtnl.watch(rtnl.Link).groups) == {1}
    assert set(rtnl.watch(rtnl.Address).groups) == {5, 9}
    assert set(rtnl.watch(rtnl.Route, family=10).groups) == {11}
    assert set(rtnl.watch(rtnl.Link, rtnl.Route, family=2).groups) == {1, 7}


@pytest.mark.parametrize("what", [(), (rtnl.Counters,), ("link",)])
def test_what_cannot_be_watched(what):
    with pytest.raises(TypeError, match="Link, Address, Route"):
        rtnl.watch(*what)
