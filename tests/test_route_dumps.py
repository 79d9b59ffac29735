"""Large dumps of routes, and dumps of what changes meanwhile, on the real kernel."""

import sys
import threading
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

import netlink_codec as nl
from namespaces import network
from netlink_codec import rtnl

pytestmark = pytest.mark.kernel


@pytest.fixture
def conn():
    """In a namespace with an interface, red."""
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=30) as conn:
        conn.do(rtnl.add_link("red", "ifb", up=True))
        conn.do(rtnl.add_address("10.0.0.1/24", "red"))
        yield conn


def test_a_dump_of_what_changes_meanwhile(conn):
    steady = {f"10.5.{number}.0/24" for number in range(200)}
    conn.batch([rtnl.add_route(dst, via="10.0.0.2", table=1000) for dst in steady])
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            conn.do(rtnl.add_route("10.200.0.0/24", dev="red", table=1000))
            conn.do(rtnl.delete_route("10.200.0.0/24", table=1000))

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(50):
            try:
                routes = conn.collect(rtnl.routes(table=1000), retries=3)
            except nl.DumpInterrupted as interrupted:
                routes = interrupted.results
            assert {str(route.dst) for route in routes} <= steady | {"10.200.0.0/24"}
    finally:
        stop.set()
        thread.join()
    assert {str(route.dst) for route in conn.dump(rtnl.routes(table=1000))} == steady


def resident():
    """Bytes of memory that this process occupies."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


# svinota/pyroute2#354: 200,000 routes took gigabytes.
@pytest.mark.exhaustive
def test_many_routes_are_streamed_in_flat_memory(conn):
    count = 200_000
    message = rtnl.add_route("10.100.0.0/32", via="10.0.0.2", table=1000).message
    route = rtnl.Route.from_message(message)
    first = int(route.dst.network_address)
    for start in range(0, count, 10_000):
        conn.batch(
            [
                nl.Request(
                    nl.Message(message.type, message.flags, route.replace(dst=IPv4Network((first + number, 32))))
                )
                for number in range(start, start + 10_000)
            ],
            acknowledge="last",
        )
    dump = rtnl.routes(table=1000)
    for _ in zip(range(1000), conn.dump(dump), strict=False):
        pass  # what is allocated once is
    start, blocks = resident(), sys.getallocatedblocks()
    seen, most = 0, 0
    gateway = IPv4Address("10.0.0.2")
    for route in conn.dump(dump):
        seen += 1
        if route.table == 1000 and not seen % 1000:
            assert route.via == gateway
            most = max(most, sys.getallocatedblocks() - blocks)
    assert seen == count
    assert most < 2000
    assert resident() - start < 1 << 20
