"""Dumps of the real kernel, each in a network of its own: by the connection, read attribute by attribute, and by C."""

import ctypes
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import namespaces
import netlink_codec as nl
import rtnl
from benchmarks import networks
from benchmarks.floor import library
from benchmarks.measure import Timed
from benchmarks.workloads import Call

Messages = Iterable[nl.Message]
Loop = Callable[[Messages], tuple[object, ...]]  # how many, and the fields of the last one


def untouched(messages: Messages) -> tuple[object, ...]:
    count = 0
    for _message in messages:
        count += 1
    return (count,)


def links(messages: Messages) -> tuple[object, ...]:
    count = 0
    for message in messages:
        attributes = message.attributes(16)
        name = attributes.find(rtnl.IFLA_IFNAME).string()
        mtu = attributes.find(rtnl.IFLA_MTU).u32()
        count += 1
    return count, name, mtu


def addresses(messages: Messages) -> tuple[object, ...]:
    count = 0
    for message in messages:
        index = rtnl.IFADDRMSG.unpack_from(message.view)[4]
        local = message.attributes(8).find(rtnl.IFA_LOCAL).data
        count += 1
    return count, index, local


def routes(messages: Messages) -> tuple[object, ...]:
    count = 0
    for message in messages:
        attributes = message.attributes(12)
        interface = attributes.find(networks.RTA_OIF).u32()
        table = attributes.find(networks.RTA_TABLE).u32()
        count += 1
    return count, interface, table


def destinations(messages: Messages) -> tuple[object, ...]:
    count = 0
    for message in messages:
        attributes = message.attributes(12)
        destination = attributes.find(networks.RTA_DST).data
        interface = attributes.find(networks.RTA_OIF).u32()
        count += 1
    return count, destination, interface


def rules(messages: Messages) -> tuple[object, ...]:
    count = 0
    for message in messages:
        attributes = message.attributes(4)
        table = attributes.find(networks.NFTA_RULE_TABLE).string()
        handle = attributes.find(networks.NFTA_RULE_HANDLE).u64be()
        count += 1
    return count, table, handle


def flows(messages: Messages) -> tuple[object, ...]:
    count = 0
    for message in messages:
        attributes = message.attributes(4)
        target = attributes.find(networks.CTA_TUPLE_ORIG, networks.CTA_TUPLE_IP, networks.CTA_IP_V4_DST).data
        port = attributes.find(networks.CTA_TUPLE_ORIG, networks.CTA_TUPLE_PROTO, networks.CTA_PROTO_DST_PORT).u16be()
        count += 1
    return count, target, port


Read = tuple[str, Loop, Callable[[int], set[tuple[object, ...]]], float]  # what, loop, its fields, times floor


@dataclass(frozen=True)
class Network:
    """What to make, what to ask, and how the answers are read."""

    what: str
    protocol: int
    make: Callable[[int], None]
    request: nl.Message
    reads: tuple[Read, ...]

    @property
    def untouched(self) -> Read:
        return "untouched", untouched, lambda _count: {()}, self.reads[0][-1]


LINKS = Network(
    "links",
    nl.NETLINK_ROUTE,
    networks.make_links,
    rtnl.link(rtnl.RTM_GETLINK, flags=nl.NLM_F_DUMP, mask=1),
    (("name, mtu", links, networks.link_fields, 1.15),),
)
ADDRESSES = Network(
    "addresses",
    nl.NETLINK_ROUTE,
    networks.make_addresses,
    rtnl.addresses(),
    (("index, local", addresses, networks.address_fields, 1.3),),
)
ROUTES = Network(
    "routes",
    nl.NETLINK_ROUTE,
    networks.make_routes,
    rtnl.routes(),
    (
        ("oif, table", routes, networks.route_fields, 1.2),
        ("dst, oif", destinations, networks.route_destinations, 1.5),
    ),
)
RULES = Network(
    "nft rules",
    nl.NETLINK_NETFILTER,
    networks.make_rules,
    networks.netfilter(networks.NFNL_SUBSYS_NFTABLES, networks.NFT_MSG_GETRULE, nl.NLM_F_DUMP),
    (("table, handle", rules, networks.rule_fields, 1.15),),
)
FLOWS = Network(
    "conntrack entries",
    nl.NETLINK_NETFILTER,
    networks.make_flows,
    networks.netfilter(networks.NFNL_SUBSYS_CTNETLINK, networks.IPCTNL_MSG_CT_GET, nl.NLM_F_DUMP),
    (("orig dst, port", flows, networks.flow_fields, 1.15),),
)
NETWORKS = {
    "links_1k": (LINKS, 1000),
    "addresses_2k": (ADDRESSES, 2000),
    "routes_10k": (ROUTES, 10_000),
    "routes_100k": (ROUTES, 100_000),
    "rules_4k": (RULES, 4096),
    "flows_10k": (FLOWS, 10_000),
}


class _Conversation(ctypes.Structure):
    """struct conversation"""

    _fields_ = [
        ("protocol", ctypes.c_int),
        ("request", ctypes.c_char_p),
        ("length", ctypes.c_size_t),
        ("messages", ctypes.c_uint64),
        ("datagrams", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
    ]


class Floor:
    """conversation.c: `floor(count)` is the nanoseconds that one dump takes."""

    def __init__(self, protocol: int, request: nl.Message) -> None:
        self._function = library("conversation").converse
        self._function.restype = ctypes.c_double
        self._function.argtypes = [ctypes.POINTER(_Conversation), ctypes.c_long]
        self._request = bytes(request.sent(1, 0, nl.NLM_F_REQUEST | nl.NLM_F_ACK))
        self._conversation = _Conversation(protocol=protocol, request=self._request, length=len(self._request))

    def __call__(self, count: int) -> float:
        elapsed = float(self._function(self._conversation, count))
        if elapsed < 0:
            raise OSError(-int(elapsed), os.strerror(-int(elapsed)))
        return elapsed

    def result(self) -> tuple[int, int, int]:
        """Messages, datagrams and bytes of one dump."""
        self(1)
        return self._conversation.messages, self._conversation.datagrams, self._conversation.bytes


@dataclass(frozen=True)
class Work:
    """As workloads.Work, but for `plain`: what is measured beside `floor`, and may take `limit` times as long."""

    name: str
    items: int
    codec: Call
    floor: Timed
    limit: float
    check: Callable[[], None]

    def __str__(self) -> str:
        return self.name


def _dump(conn: nl.Conn, request: nl.Message, loop: Loop) -> tuple[object, ...]:
    return loop(conn.execute_iter(request))


def _work(conn: nl.Conn, network: Network, count: int, read: Read) -> Work:
    what, loop, fields, limit = read
    name = f"{count:,} {network.what} ({what})"
    codec = Call(_dump, (conn, network.request, loop), count, lambda result: result[0])
    floor = Floor(network.protocol, network.request)

    def check() -> None:
        """Of every message the loop that is timed reads the right fields."""
        codec.check()
        seen = [loop([message])[1:] for message in conn.execute_iter(network.request)]
        if len(seen) != count or set(seen) != fields(count):
            raise AssertionError(f"{name}: a wrong result")
        if floor.result()[0] != count:
            raise AssertionError(f"{name}: the floor did other work")

    return Work(name, count, codec, floor, limit, check)


@contextmanager
def dumps(network: Network, count: int) -> Iterator[list[Work]]:
    """What to measure in a network of so many, while this thread is in it."""
    with namespaces.network():
        try:
            network.make(count)
        except (nl.NetlinkError, nl.BatchError) as error:
            if os.environ.get("NETLINK_CODEC_REQUIRE_KERNEL"):
                raise
            raise networks.Unavailable(str(error)) from error
        with nl.Conn(network.protocol, timeout=60) as conn:
            yield [_work(conn, network, count, read) for read in (network.untouched, *network.reads)]
