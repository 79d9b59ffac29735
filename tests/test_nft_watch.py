"""What is told of changes to the ruleset, on the real kernel."""

import asyncio
from ipaddress import IPv4Address, IPv4Network

import pytest

import netlink_codec as nl
from namespaces import network
from netlink_codec import nft

TYPES = (nft.Table, nft.Chain, nft.Rule, nft.Set)


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_NETFILTER, timeout=30) as conn:
        yield conn


def make():
    return nft.Transaction(
        [
            nft.add_table("inet", "t"),
            nft.add_chain("inet", "t", "c"),
            nft.add_rule("inet", "t", "c", nft.accept()),
            nft.add_set("inet", "t", "s", "ipv4_addr", ["10.0.0.0/8"], interval=True),
        ]
    )


@pytest.mark.kernel
def test_a_transaction_is_one_event(conn):
    with conn.watch(nft.watch()) as events:
        result = conn.do(make())
        known = conn.do(nft.set_("inet", "t", "s"))
        conn.do(
            nft.Transaction(
                [
                    nft.add_elements("inet", "t", known, ["1.1.1.1"]),
                    nft.delete_elements("inet", "t", known, ["10.0.0.0/8"]),
                ]
            )
        )
        conn.do(nft.delete_table("inet", "t"))
        made, changed, gone = events.ready()
    assert made.generation.id == result.generation
    assert made.generation.process
    assert [type(event) for event in made.changes[:4]] == [nl.New] * 4
    assert [type(event.record) for event in made.changes[:4]] == [*TYPES]
    elements = [event.record for event in made.changes if isinstance(event.record, nft.RawElements)]
    assert [one.key for one in nft.read_elements(known, *elements)] == [IPv4Network("10.0.0.0/8")]
    assert {type(event) for event in changed.changes} == {nl.New, nl.Deleted}
    new = [event.record for event in changed.changes if isinstance(event, nl.New)]
    assert [one.key for one in nft.read_elements(known, *new)] == [IPv4Network("1.1.1.1/32")]
    assert {type(event) for event in gone.changes} == {nl.Deleted}
    assert {type(event.record) for event in gone.changes} >= {*TYPES}
    assert repr(gone).startswith("Commit(Generation(")


@pytest.mark.kernel
def test_each_listener_groups_for_itself(conn):
    watch = nft.watch()
    with conn.watch(watch) as one:
        conn.do(make())
        with conn.watch(watch) as other:
            conn.do(nft.delete_table("inet", "t"))
            assert [len(events.ready()) for events in (one, other)] == [2, 1]


@pytest.mark.kernel
def test_under_asyncio(conn):
    async def main():
        async with nl.AsyncConn(nl.NETLINK_NETFILTER, timeout=30) as conn, conn.watch(nft.watch()) as events:
            await conn.do(make())
            commit = await events.next(timeout=10)
            assert len(commit.changes) >= 5

    asyncio.run(main())


@pytest.mark.kernel
def test_one_by_one_with_the_state_first(conn):
    conn.do(make())
    with conn.watch(nft.watch_each(initial=True, track=True)) as events:
        begin, *state, end = until(events, nl.Sync("end"))
        assert begin == nl.Sync("begin")
        assert {type(event.record) for event in state} == set(TYPES)
        assert end == nl.Sync("end")
        conn.do(nft.add_rule("inet", "t", "c", nft.drop()))
        (event,) = events.ready()
        assert isinstance(event, nl.New)
        assert event.record.verdict.code is nft.VERDICT.DROP
        conn.do(nft.delete_rule(event.record))
        (event,) = events.ready()
        assert isinstance(event, nl.Deleted)
        assert event.old.identity == event.record.identity


@pytest.mark.kernel
def test_rules_that_come_again_have_not_changed(conn):
    """The first rule of each datagram of a dump does not tell which one is before it."""
    conn.do(nft.Transaction([nft.add_table("inet", "t"), nft.add_chain("inet", "t", "c")]))
    with conn.watch(nft.watch_each(nft.Rule, initial=True, track=True, receive_buffer=1 << 17)) as events:
        until(events, nl.Sync("end"))
        conn.do(nft.Transaction([nft.add_rule("inet", "t", "c", nft.accept()) for _ in range(100)]))
        assert len(events.ready()) == 100
        conn.do(nft.Transaction([nft.add_rule("inet", "t", "c", nft.accept()) for _ in range(3000)]))
        found = [events.next(timeout=10)]
        while not isinstance(found[-1], nl.Sync) or found[-1].phase != "end":
            found.append(events.next(timeout=10))
        assert any(isinstance(event, nl.Lost) for event in found)
        assert not any(isinstance(event, nl.Changed) for event in found)


def until(events, last):
    found = [events.next(timeout=10)]
    while found[-1] != last:
        found.append(events.next(timeout=10))
        assert found[-1] is not None
    return found


@pytest.mark.kernel
def test_only_what_is_asked_for(conn):
    with conn.watch(nft.watch_each(nft.Chain)) as events:
        conn.do(make())
        assert [event.record.name for event in events.ready()] == ["c"]
    with pytest.raises(TypeError, match="Table, Chain"):
        nft.watch_each(nft.Generation)


@pytest.mark.kernel
def test_what_packets_meet(conn):
    import socket

    from netlink_codec import rtnl

    conn.do(
        nft.Transaction(
            [
                nft.add_table("ip", "t"),
                nft.add_chain("ip", "t", "c", hook="output"),
                nft.add_rule("ip", "t", "c", nft.match("udp dport", 9), nft.set_meta("nftrace", 1)),
                nft.add_rule("ip", "t", "c", nft.drop()),
            ]
        )
    )
    with nl.Conn(nl.NETLINK_ROUTE) as route:
        route.do(rtnl.set_link("lo", up=True))
    with conn.watch(nft.trace()) as events, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        with pytest.raises(PermissionError):
            sender.sendto(b"x", ("127.0.0.1", 9))
        found = []
        while not found or found[-1].verdict is None or found[-1].verdict.code is not nft.VERDICT.DROP:
            found.append(events.next(timeout=10))
    last = found[-1]
    last.check()
    assert (last.table, last.chain, last.type) == ("t", "c", nft.TRACE.RULE)
    assert any(one.network_header and IPv4Address(one.network_header[16:20]).is_loopback for one in found)


def test_what_was_lost_is_seen():
    """Changes whose end was lost come when those of another transaction do."""
    decode = nft.watch().decoder()

    def message(kind, generation, record=nft.Chain):
        return nl.Message(kind, 0, record(res_id=generation))

    assert decode(message(nft.MSG.NEWCHAIN, 1), 7) is None
    assert decode(message(nft.MSG.DESTROYCHAIN, 1), 7) is None
    lost = decode(message(nft.MSG.NEWCHAIN, 2), 7)
    assert lost.generation is None
    assert [type(one) for one in lost.changes] == [nl.New, nl.Deleted]
    whole = decode(message(nft.MSG.NEWGEN, 2, nft.Generation), 7)
    assert len(whole.changes) == 1
    assert decode(nl.Message(99), 7) is None
