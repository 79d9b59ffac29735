"""One element out of a set, on the real kernel: whatever lies beside it, and only if all that is asked for is in it."""

import random
from ipaddress import IPv4Address, IPv4Network, IPv6Address

import pytest

import netlink_codec as nl
from namespaces import network
from netlink_codec import nft

pytestmark = pytest.mark.kernel
Range = nft.Range


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_NETFILTER, timeout=30) as conn:
        conn.do(nft.add_table("inet", "t"))
        yield conn


def got(conn, name, key):
    try:
        return conn.do(nft.element("inet", "t", name, key)).key
    except nl.NotFound:
        return None


def test_intervals_side_by_side(conn):
    """Where one begins, the kernel's nearest end is that of the one before."""
    keys = ["10.0.0.0/24", "10.0.1.0/32", Range("10.0.1.1", "10.0.1.9"), "254.0.0.0/8", "255.0.0.0/8", nft.CATCHALL]
    conn.do(nft.add_set("inet", "t", "s", "ipv4_addr", keys, interval=True))
    assert got(conn, "s", "10.0.1.0") == IPv4Network("10.0.1.0/32")
    assert got(conn, "s", "10.0.1.1") == Range("10.0.1.1", "10.0.1.9")
    assert got(conn, "s", "10.0.0.0") == IPv4Network("10.0.0.0/24")
    assert got(conn, "s", "254.0.0.0") == IPv4Network("254.0.0.0/8")
    for key in ("255.0.0.0", "255.255.255.255"):
        assert got(conn, "s", key) == IPv4Network("255.0.0.0/8")
    assert got(conn, "s", "10.0.1.10") is None
    assert got(conn, "s", nft.CATCHALL) is nft.CATCHALL


def test_the_last_value_alone_behind_its_neighbour(conn):
    conn.do(nft.add_set("inet", "t", "s", "inet_service", [65534, 65535], interval=True))
    assert [got(conn, "s", key) for key in (65533, 65534, 65535)] == [None, 65534, 65535]


def test_the_counter_of_one_is_reset_once(conn):
    elements = [nft.Element(number, expressions=[nft.counter(number, 0)]) for number in (5, 6, 7)]
    conn.do(nft.add_set("inet", "t", "s", "inet_service", elements, interval=True, expressions=[nft.counter()]))
    found = conn.do(nft.element("inet", "t", "s", 6, reset=True))
    assert (found.key, found.expressions) == (6, (nft.counter(6, 0),))
    left = {one.key: one.expressions[0].packets for one in conn.dump(nft.elements("inet", "t", "s"))}
    assert left == {5: 5, 6: 0, 7: 7}


def test_what_is_asked_for_is_all_in_there(conn):
    """The kernel looks at where it begins."""
    conn.do(nft.add_set("inet", "t", "s", "ipv4_addr", ["10.0.0.0/9", "11.0.0.0/8"], interval=True))
    for inside in ("10.0.0.0/9", "10.1.0.0/16", Range("10.0.0.5", "10.127.255.255")):
        assert got(conn, "s", inside) == IPv4Network("10.0.0.0/9")
    for beyond in ("10.0.0.0/8", Range("10.0.0.5", "10.128.0.0"), "10.0.0.0/7"):
        assert got(conn, "s", beyond) is None
    pair = ("10.0.0.0/9", Range(80, 90))
    conn.do(nft.add_set("inet", "t", "c", "ipv4_addr . inet_service", [pair], interval=True))
    stored = (IPv4Network("10.0.0.0/9"), Range(80, 90))
    for inside in (pair, ("10.1.0.0/16", 80), ("10.0.0.1", Range(81, 90))):
        assert got(conn, "c", inside) == stored
    for beyond in (("10.0.0.0/8", 80), ("10.0.0.1", Range(80, 91)), ("10.0.0.1", 91)):
        assert got(conn, "c", beyond) is None


def bounds(key):
    if isinstance(key, Range):
        return int(key.first), int(key.last)
    return (key, key) if isinstance(key, int) else (int(key[0]), int(key[-1]))


@pytest.mark.parametrize(
    ("kind", "make", "most"),
    [("ipv4_addr", IPv4Address, 2**32 - 1), ("ipv6_addr", IPv6Address, 2**128 - 1), ("inet_service", int, 65535)],
)
def test_any_intervals(conn, kind, make, most):
    for seed in range(8):
        chance = random.Random(f"{kind} {seed}")
        points = sorted({0, most, *(chance.randrange(most) for _ in range(12))})
        # Some end where the next begins, some are one value.
        limits = [
            (low, low if chance.random() < 0.3 else high - 1 if chance.random() < 0.5 else (low + high) // 2)
            for low, high in zip(points, [*points[1:], most + 1], strict=True)
        ]
        wanted = [one for one in limits if chance.random() < 0.8]
        conn.do(nft.add_set("inet", "t", "s", kind, [Range(make(a), make(b)) for a, b in wanted], interval=True))
        known = conn.do(nft.set_("inet", "t", "s"))
        for value in sorted({near for a, b in limits for near in (a, a + 1, b, b + 1) if near <= most}):
            found = got(conn, known, make(value))
            expected = [one for one in wanted if one[0] <= value <= one[1]]
            assert ([] if found is None else [bounds(found)]) == expected, (wanted, value)
        conn.do(nft.delete_set("inet", "t", "s"))
