"""The same networks again, read by records: fields by name, everything by `to_dict`, and all of them held."""

import gc
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

import namespaces
import netlink_codec as nl
from benchmarks import networks, streaming
from benchmarks.conversation import ADDRESSES, FLOWS, LINKS, ROUTES, RULES, Floor, Network, Work, untouched
from benchmarks.workloads import Call
from netlink_codec import conntrack, nft, rtnl
from netlink_codec.records import Record

Dump = nl.Dump[Record]
Loop = Callable[[Iterator[Record]], tuple[object, ...]]  # how many, and the fields of the last one


def links(records):
    count = 0
    for link in records:
        name = link.name
        mtu = link.mtu
        count += 1
    return count, name, mtu


def addresses(records):
    count = 0
    for address in records:
        index = address.index
        local = address.local
        count += 1
    return count, index, local


def routes(records):
    count = 0
    for route in records:
        interface = route.oif
        table = route.table
        count += 1
    return count, interface, table


def destinations(records):
    count = 0
    for route in records:
        destination = route.dst
        interface = route.oif
        count += 1
    return count, destination, interface


def counters(records):
    count = 0
    for stats in records:
        link = stats.link
        received = link.rx_bytes
        sent = link.tx_bytes
        dropped = link.rx_dropped
        count += 1
    return count, received, sent, dropped


def rules(records):
    count = 0
    for rule in records:
        table = rule.table
        handle = rule.handle
        count += 1
    return count, table, handle


def flows(records):
    count = 0
    for flow in records:
        there = flow.orig
        target = there.dst
        port = there.dport
        count += 1
    return count, target, port


def everything(records):
    count = 0
    for record in records:
        told = record.to_dict()
        count += 1
    return count, len(told) > 2


def _address(packed: bytes) -> IPv4Address:
    return IPv4Address(packed)


@dataclass(frozen=True)
class Reading:
    """What is dumped in a network, and how it is read; `limit` is in times of the floor."""

    what: str
    network: Network
    dump: Dump
    reads: tuple[tuple[str, Loop, Callable[[int], set[tuple[object, ...]]] | None, float], ...]


def _networks(count: int) -> set[tuple[object, ...]]:
    return {(IPv4Network((destination, 32)), index) for destination, index in networks.route_destinations(count)}


def _addresses(count: int) -> set[tuple[object, ...]]:
    return {(index, _address(local)) for index, local in networks.address_fields(count)}


def _flows(count: int) -> set[tuple[object, ...]]:
    return {(_address(target), port) for target, port in networks.flow_fields(count)}


_LINKS = Reading(
    "links",
    LINKS,
    rtnl.links(),
    (("name, mtu", links, networks.link_fields, 1.15), ("everything", everything, None, 2)),
)
_STATS = Reading("stats", LINKS, rtnl.stats(), (("three counters", counters, None, 1.3),))
_ADDRESSES = Reading("addresses", ADDRESSES, rtnl.addresses(), (("index, local", addresses, _addresses, 1.3),))
_ROUTES = Reading(
    "routes",
    ROUTES,
    rtnl.routes(family=2, table=254),
    (
        ("oif, table", routes, networks.route_fields, 1.2),
        ("dst, oif", destinations, _networks, 1.5),
        ("everything", everything, None, 3),
    ),
)
_RULES = Reading(
    "nft rules",
    RULES,
    nft.rules(),
    (("table, handle", rules, networks.rule_fields, 1.15), ("everything", everything, None, 2.5)),
)
_FLOWS = Reading(
    "conntrack entries",
    FLOWS,
    conntrack.flows(),
    (("orig dst, port", flows, _flows, 1.15), ("everything", everything, None, 2.5)),
)
READINGS = {
    "links_1k": (_LINKS, 1000),
    "links_4k": (_LINKS, 4000),
    "stats_1k": (_STATS, 1000),
    "addresses_2k": (_ADDRESSES, 2000),
    "routes_10k": (_ROUTES, 10_000),
    "routes_100k": (_ROUTES, 100_000),
    "routes_1m": (_ROUTES, 1_000_000),
    "rules_512": (_RULES, 512),
    "rules_4k": (_RULES, 4096),
    "rules_32k": (_RULES, 32_768),
    "flows_10k": (_FLOWS, 10_000),
    "flows_100k": (_FLOWS, 100_000),
    "flows_250k": (_FLOWS, 250_000),
}


def _dump(conn: nl.Conn, dump: Dump, loop: Loop) -> tuple[object, ...]:
    return loop(conn.dump(dump))


def _work(conn: nl.Conn, reading: Reading, count: int, read) -> Work:
    what, loop, fields, limit = read
    name = f"{count:,} {reading.what} as records ({what})"
    codec = Call(_dump, (conn, reading.dump, loop), count, lambda result: result[0])
    floor = Floor(reading.network.protocol, reading.dump.message)

    def check() -> None:
        """Of every record the loop that is timed reads the right fields."""
        codec.check()
        if fields is not None:
            seen = [loop(iter([record]))[1:] for record in conn.dump(reading.dump)]
            if len(seen) != count or set(seen) != fields(count):
                raise AssertionError(f"{name}: a wrong result")
        if floor.result()[0] != count:
            raise AssertionError(f"{name}: the floor did other work")

    return Work(name, count, codec, floor, limit, check)


@contextmanager
def dumps(name: str) -> Iterator[list[Work]]:
    """What to measure in a network of that name, while this thread is in it."""
    reading, count = READINGS[name]
    with namespaces.network():
        reading.network.make(count)
        with nl.Conn(reading.network.protocol, timeout=60) as conn:
            yield [_work(conn, reading, count, read) for read in reading.reads]


def many_flows(count: int) -> tuple[float, float, int]:
    """Seconds in user space to dump them, untouched and read, and the growth in KiB over the start."""
    with namespaces.network():
        FLOWS.make(count)
        with nl.Conn(nl.NETLINK_NETFILTER, timeout=60) as conn:
            seconds = []
            for loop in (untouched, flows):
                best = float("inf")
                for _ in range(3):
                    before = resource.getrusage(resource.RUSAGE_THREAD).ru_utime
                    found = loop(conn.dump(_FLOWS.dump))[0]
                    best = min(best, resource.getrusage(resource.RUSAGE_THREAD).ru_utime - before)
                    if found != count:
                        raise AssertionError(f"{found} entries")
                seconds.append(best)
        streamed, kibibytes = streaming.growth(1, "flows")
        if streamed != count:
            raise AssertionError(f"{streamed} entries")
    return seconds[0], seconds[1], kibibytes


def held(count: int) -> float:
    """Bytes that a route takes which is held in a list, its place there included."""
    with namespaces.network():
        ROUTES.make(min(count, 100_000))
        with nl.Conn(nl.NETLINK_ROUTE, timeout=60) as conn:
            dump = rtnl.routes(family=2, table=254)
            routes: list[Record] = []
            gc.collect()
            before = _resident()
            while len(routes) < count:
                routes.extend(conn.dump(dump))
            grown = _resident() - before
            if len({type(route) for route in routes}) != 1 or len(routes) != count:
                raise AssertionError("other routes")
    return grown / count


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
