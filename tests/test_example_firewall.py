"""examples/firewall.py on the real kernel, as it stands."""

import importlib.util
from ipaddress import IPv4Network
from pathlib import Path

import pytest

import netlink_codec as nl
from namespaces import network
from netlink_codec import nft

pytestmark = pytest.mark.kernel

PATH = Path(__file__).parent.parent / "examples" / "firewall.py"


@pytest.fixture(scope="module")
def program():
    specification = importlib.util.spec_from_file_location("example_firewall", PATH)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_NETFILTER, timeout=10) as conn:
        blocked = nft.add_set("inet", "fw", "blocked", "ipv4_addr", interval=True)
        conn.do(nft.Transaction([nft.add_table("inet", "fw"), blocked]))
        yield conn


def networks(count):
    return {IPv4Network((0x0A000000 + 512 * number, 24)) for number in range(count)}


def keys(conn):
    return {element.key for element in conn.dump(nft.elements("inet", "fw", "blocked"))}


def test_what_is_missing_comes_and_what_is_too_much_goes(program, conn):
    wanted = {*networks(1000), IPv4Network("192.0.2.1/32"), IPv4Network("255.255.255.0/24")}
    assert program.sync(conn, wanted) == 1002
    assert keys(conn) == wanted
    assert program.sync(conn, wanted) == 0
    other = networks(1003) - networks(10)
    assert program.sync(conn, other) == 12 + 3
    assert keys(conn) == other


def test_who_is_overtaken_looks_again(program, conn):
    class Racing(nl.Conn):
        overtaken = 0

        def do(self, request, **options):
            if isinstance(request, nft.Transaction) and self.overtaken < 3:
                self.overtaken += 1
                super().do(nft.add_table("ip", f"other{self.overtaken}"))
            return super().do(request, **options)

    with Racing(nl.NETLINK_NETFILTER, timeout=10) as racing:
        assert program.sync(racing, networks(3)) == 3
        assert racing.overtaken == 3
    assert keys(conn) == networks(3)


@pytest.mark.exhaustive
def test_fifty_thousand_networks(program, conn):
    wanted = networks(50_000)
    assert program.sync(conn, wanted) == 50_000
    other = {
        IPv4Network((int(one.network_address) + 256, 24)) if one.network_address.packed[2] == 2 else one
        for one in wanted
    }
    assert program.sync(conn, other) == 2 * len(other - wanted)
    assert keys(conn) == other
