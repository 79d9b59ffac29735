"""Small and large things of nftables: elements of sets, all with their keys, or one more; a few rules."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv4Network

import namespaces
import netlink_codec as nl
from benchmarks import networks
from benchmarks.conversation import RULES, Floor, Work
from benchmarks.measure import timed
from benchmarks.records import rules
from benchmarks.workloads import Call
from netlink_codec import nft

PLACE = "ip", "table", "set"
COUNT = 32_768  # elements of the kernel, of which an interval is two


def _addresses(count: int) -> list[IPv4Address]:
    return [IPv4Address(networks.address(number)) for number in range(count)]


def _networks(count: int) -> list[IPv4Network]:
    return [IPv4Network((0x0A000000 + 8 * number, 30)) for number in range(count)]


SETS = {
    "addresses": ("ipv4_addr", _addresses(COUNT), {"size": COUNT}),
    "networks": ("ipv4_addr", _networks(COUNT // 2), {"interval": True}),
    "addresses and ports": (
        "ipv4_addr . inet_service",
        [(address, 1 + number) for number, address in enumerate(_addresses(COUNT))],
        {"size": COUNT},
    ),
}


def _make(conn: nl.Conn, kind: str, keys: list[object], settings: dict[str, object]) -> nft.Set:
    conn.do(nft.Transaction([nft.add_table(*PLACE[:2]), nft.add_set(*PLACE, kind, keys, **settings)]))
    return conn.do(nft.set_(*PLACE))


def _keys(conn: nl.Conn, dump: nl.Dump[nft.Element]) -> tuple[int, object]:
    count = 0
    for element in conn.dump(dump):
        key = element.key
        count += 1
    return count, key


@contextmanager
def dumps(name: str) -> Iterator[Work]:
    """What to measure, while this thread is in a network with such a set."""
    kind, keys, settings = SETS[name]
    with namespaces.network(), nl.Conn(nl.NETLINK_NETFILTER, timeout=60) as conn:
        dump = nft.elements(*PLACE[:2], _make(conn, kind, keys, settings))
        codec = Call(_keys, (conn, dump), len(keys), lambda result: result[0])
        floor = Floor(nl.NETLINK_NETFILTER, dump.message)

        def check() -> None:
            codec.check()
            if {element.key for element in conn.dump(dump)} != set(keys):
                raise AssertionError(f"{name}: wrong keys")
            if floor.result()[2] < 16 * len(keys):  # what a key takes
                raise AssertionError(f"{name}: the floor did other work")

        yield Work(f"{len(keys):,} elements of a set, {name}", len(keys), codec, floor, 2.5, check)


# One more -------------------------------------------------------------------------------------------------------------

KEY = IPv4Address("192.0.2.1")


def _wire(kind: int, flags: int) -> bytes:
    """Begin, one element of the set, end; as one that knows the bytes would keep it."""

    def message(number: int, kind: int, flags: int, resource: int, attributes: bytes = b"") -> bytes:
        header = struct.pack("=IHHII", 20 + len(attributes), kind, flags, number, 0)
        return header + struct.pack(">BBH", networks.rtnl.AF_INET, 0, resource) + attributes

    element = struct.pack("=HHHHHHHH4s", 20, 3 | 0x8000, 16, 1 | 0x8000, 12, 1 | 0x8000, 8, 1, KEY.packed)
    names = struct.pack("=HH8sHH4s", 10, 1, b"table", 8, 2, b"set")
    return b"".join(
        (
            message(1, networks.NFNL_MSG_BATCH_BEGIN, nl.NLM_F_REQUEST, networks.NFNL_SUBSYS_NFTABLES),
            message(2, kind, nl.NLM_F_REQUEST | nl.NLM_F_ACK | flags, 0, names + element),
            message(3, networks.NFNL_MSG_BATCH_END, nl.NLM_F_REQUEST, networks.NFNL_SUBSYS_NFTABLES),
        )
    )


ADD = _wire(nft.MSG.NEWSETELEM, nl.NLM_F_CREATE | nl.NLM_F_EXCL)
DELETE = _wire(nft.MSG.DELSETELEM, 0)


def _bare() -> socket.socket:
    bare = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, nl.NETLINK_NETFILTER)
    bare.bind((0, 0))
    return bare


def raw(bare: socket.socket, buffer: bytearray) -> tuple[int, int]:
    """In and out again: the errnos."""
    bare.send(ADD)
    bare.recv_into(buffer)
    added = struct.unpack_from("=i", buffer, 16)[0]
    bare.send(DELETE)
    bare.recv_into(buffer)
    return added, struct.unpack_from("=i", buffer, 16)[0]


def changed(conn: nl.Conn, known: str | nft.Set) -> tuple[int, int]:
    """The same."""
    conn.do(nft.add_elements(*PLACE[:2], known, [KEY]))
    conn.do(nft.delete_elements(*PLACE[:2], known, [KEY]))
    return 0, 0


@contextmanager
def changes(count: int) -> Iterator[list[Work]]:
    """What to measure, while this thread is in a network with a set of so many."""
    with namespaces.network(), nl.Conn(nl.NETLINK_NETFILTER, timeout=60) as conn:
        known = _make(conn, "ipv4_addr", _addresses(count), {"size": 2 * count})
        with _bare() as bare:
            floor = timed(raw, bare, bytearray(65536))

            def check() -> None:
                if raw(bare, bytearray(65536)) != (0, 0):
                    raise AssertionError("bare sockets were refused")
                conn.do(nft.add_elements(*PLACE[:2], known, [KEY]))
                if conn.do(nft.element(*PLACE[:2], known, KEY)).key != KEY:
                    raise AssertionError("nothing was added")
                conn.do(nft.delete_elements(*PLACE[:2], known, [KEY]))

            what = f"one element in and out of a set of {count:,}"
            yield [
                Work(f"{what}, by its record", 1, Call(changed, (conn, known), (0, 0)), floor, 2, check),
                Work(f"{what}, by its name", 1, Call(changed, (conn, PLACE[2]), (0, 0)), floor, 2, check),
            ]


# A few rules ----------------------------------------------------------------------------------------------------------


def _sizes(bare: socket.socket, wire: bytes) -> list[int]:
    """Of the datagrams of a dump."""
    bare.send(wire)
    sizes, done = [], False
    while not done:
        datagram = bare.recv(131072)
        sizes.append(len(datagram))
        done = any(message.type == nl.NLMSG_DONE for message in nl.iter_messages(datagram))
    return sizes


def received(bare: socket.socket, wire: bytes, datagrams: int, buffer: bytearray) -> int:
    bare.send(wire)
    return sum(bare.recv_into(buffer) for _ in range(datagrams))


def listed(conn: nl.Conn) -> tuple[object, ...]:
    return rules(conn.dump(nft.rules()))


@contextmanager
def few_rules(count: int) -> Iterator[Work]:
    """What to measure, while this thread is in a network with so many."""
    with namespaces.network(), nl.Conn(nl.NETLINK_NETFILTER, timeout=60) as conn, _bare() as bare:
        RULES.make(count)
        message = nft.rules().message
        wire = bytes(message.sent(1, 0, nl.NLM_F_REQUEST))
        # The second time, since the kernel fills the room that it has seen.
        sizes = [_sizes(bare, wire) for _ in range(2)][-1]
        codec = Call(listed, (conn,), count, lambda result: result[0])

        def check() -> None:
            codec.check()
            if received(bare, wire, len(sizes), bytearray(131072)) != sum(sizes):
                raise AssertionError("bare sockets did other work")

        floor = timed(received, bare, wire, len(sizes), bytearray(131072))
        yield Work(f"{count} nft rules (table, handle)", count, codec, floor, float("inf"), check)
