"""What type checkers know of connections and of queued packets."""

from ipaddress import IPv4Address, IPv6Address
from typing import assert_type

import netlink_codec as nl
from netlink_codec import conntrack as ct
from netlink_codec import nfqueue


def connections(conn: nl.Conn) -> None:
    flow = conn.do(ct.get(ct.direction("udp", "10.0.0.1", "10.0.0.2", 1, 2)))
    assert_type(flow, ct.Flow)
    assert_type(flow.mark, int | None)
    assert_type(flow.status, ct.IPS | None)
    assert_type(flow.counters, tuple[ct.Counters, ct.Counters] | None)
    if flow.orig is not None:
        assert_type(flow.orig.src, IPv4Address | IPv6Address | None)
        assert_type(flow.orig.proto, ct.IPPROTO | None)
        assert_type(flow.orig.dport, int | None)
    assert_type(conn.collect(ct.flows(zone=5)), list[ct.Flow])
    assert_type(conn.do(ct.update(flow, mark=1)), None)
    assert_type(conn.do(ct.flush(status=ct.IPS.ASSURED)), None)
    assert_type(conn.do(ct.stats()).entries, int)
    assert_type(conn.collect(ct.expectations()), list[ct.Expectation])
    for event in conn.watch(ct.watch("new", "destroy")):
        match event:
            case nl.Lost(count):
                assert_type(count, int | None)
            case nl.New(new):
                assert_type(new, ct.Flow)
            case nl.Changed() | nl.Deleted():
                pass


def packets(queue: nfqueue.Queue) -> None:
    for packet in queue:
        assert_type(packet, nfqueue.Packet)
        assert_type(packet.id, int)
        assert_type(packet.payload, memoryview)
        assert_type(packet.hook, nfqueue.HOOK)
        assert_type(packet.timestamp, float | None)
        assert_type(packet.record, nfqueue.Queued)
        packet.accept(payload=b"", mark=1)
    assert_type(queue.next(timeout=1), nfqueue.Packet | None)
    assert_type(queue.batch(), list[nfqueue.Packet])
    assert_type(queue.lost, int)


async def packets_async() -> None:
    async with nfqueue.AsyncQueue(7, netns="lab", gather=True) as queue:
        async for packet in queue:
            assert_type(packet, nfqueue.Packet)
            packet.drop()
        assert_type(await queue.batch(1), list[nfqueue.Packet])


def notice(what: nl.Lost | nfqueue.VerdictError) -> None:
    match what:
        case nl.Lost():
            assert_type(what.count, int | None)
        case _:
            assert_type(what.packet, int | None)


nfqueue.Queue(7, notice=notice)
nfqueue.Queue("7")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
ct.watch("renew")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
