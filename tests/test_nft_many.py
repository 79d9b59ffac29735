"""Rulesets of a size that people have, on the real kernel."""

from ipaddress import IPv4Address, IPv4Network

import pytest

import netlink_codec as nl
from namespaces import network
from netlink_codec import nft

pytestmark = [pytest.mark.kernel, pytest.mark.exhaustive]


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_NETFILTER, timeout=60) as conn:
        conn.do(nft.Transaction([nft.add_table("ip", "t"), nft.add_chain("ip", "t", "c")]))
        yield conn


def count(conn, name="s"):
    return sum(1 for _ in conn.dump(nft.elements("ip", "t", name)))


# google/nftables#303; leshniak/nft-blacklist#2; dcos/dcos-net#173
def test_a_hundred_thousand_elements(conn):
    addresses = [IPv4Address(0x0A000000 + number) for number in range(100_000)]
    conn.do(nft.add_set("ip", "t", "s", "ipv4_addr", addresses, size=100_000))
    assert {one.key for one in conn.dump(nft.elements("ip", "t", "s"))} == set(addresses)
    conn.do(nft.delete_elements("ip", "t", "s", addresses[:50_000]))
    assert count(conn) == 50_000
    both = [
        nft.add_elements("ip", "t", "s", addresses[:50_000]),
        nft.delete_elements("ip", "t", "s", [IPv4Address("192.0.2.1")]),
    ]
    with pytest.raises(nl.BatchError):
        conn.do(nft.Transaction(both))
    assert count(conn) == 50_000


@pytest.mark.parametrize(("key", "settings"), [("ipv4_addr", {"timeouts": True}), ("ipv4_addr . inet_service", {})])
def test_65536_elements(conn, key, settings):
    addresses = [IPv4Address(0x0A000000 + number) for number in range(65_536)]
    keys = addresses if "." not in key else [(address, int(address) & 0xFFFF) for address in addresses]
    items = [nft.Element(one, timeout=3600, comment=str(one)) for one in keys] if settings else keys
    conn.do(nft.add_set("ip", "t", "s", key, items, size=65_536, **settings))
    # While the kernel arranges its table anew, a dump may bring some twice and others not, and it does not say so.
    for _ in range(100):
        found = {one.key: one for one in conn.dump(nft.elements("ip", "t", "s"))}
        if len(found) == len(keys):
            break
    assert found.keys() == set(keys)
    assert not settings or all(str(one.key) == one.comment and one.timeout == 3600 for one in found.values())
    conn.do(nft.flush_set("ip", "t", "s"))
    assert count(conn) == 0


def test_65536_intervals(conn):
    networks = [IPv4Network((number << 16, 17)) for number in range(65_536)]
    conn.do(nft.add_set("ip", "t", "s", "ipv4_addr", networks, interval=True))
    assert [one.key for one in conn.dump(nft.elements("ip", "t", "s"))] == networks
    conn.do(nft.delete_elements("ip", "t", "s", networks[::2]))
    assert [one.key for one in conn.dump(nft.elements("ip", "t", "s"))] == networks[1::2]


def test_a_batch_of_ten_thousand_rules(conn):
    rules = [
        nft.add_rule("ip", "t", "c", nft.match("ip saddr", IPv4Address(number)), nft.drop()) for number in range(10_000)
    ]
    result = conn.do(nft.Transaction(rules))
    assert [rule.handle for rule in conn.dump(nft.rules("ip", "t", "c"))] == [result.handles[rule] for rule in rules]
    conn.do(nft.Transaction([nft.delete_rule("ip", "t", "c", result.handles[rule]) for rule in rules]))
    assert conn.collect(nft.rules()) == []
    assert conn.stats.overruns == 0


def test_32768_rules(conn):
    conn.do(nft.Transaction([nft.add_rule("ip", "t", "c", nft.accept()) for _ in range(32_768)], handles=False))
    total = 0
    for rule in conn.dump(nft.rules("ip", "t", "c")):
        assert rule.verdict.code is nft.VERDICT.ACCEPT
        total += 1
    assert total == 32_768
    conn.do(nft.flush_table("ip", "t"))
    assert conn.collect(nft.rules()) == []
