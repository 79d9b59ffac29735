"""Many names of one link, and many links, on the real kernel."""

import pytest

import netlink_codec as nl
from namespaces import network
from netlink_codec import NetNS, rtnl

pytestmark = pytest.mark.kernel


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=30) as conn:
        yield conn


def test_other_names(conn):
    conn.do(rtnl.add_link("i0", "ifb"))
    conn.do(rtnl.add_altnames("i0", "one", "two", "three"))
    assert conn.do(rtnl.link("two")).altnames == ("one", "two", "three")
    conn.do(rtnl.delete_altnames("one", "two", "one"))
    assert conn.do(rtnl.link("i0")).altnames == ("three",)
    with pytest.raises(nl.Exists):
        conn.do(rtnl.add_altnames("i0", "three"))
    with pytest.raises(nl.NotFound):
        conn.do(rtnl.delete_altnames("i0", "two"))
    with pytest.raises(nl.NotFound):
        conn.do(rtnl.add_altnames("i1", "four"))
    with pytest.raises(TypeError):
        rtnl.add_altnames("i0")


def test_a_link_of_489_names(conn):
    """Its message has 66,048 bytes; without an IFLA_EXT_MASK, a dump would leave it out."""
    conn.do(rtnl.add_link("i0", "ifb"))
    many = [f"{number:0125}" for number in range(489)]
    for start in range(0, 489, 100):
        conn.do(rtnl.add_altnames("i0", *many[start : start + 100]))
    assert list(conn.do(rtnl.link(many[-1])).altnames) == many
    (link,) = conn.collect(rtnl.links(kind="ifb"))
    assert list(link.altnames) == many
    assert len(bytes(link)) > 65535
    assert link.replace(mtu=1300).altnames == link.altnames


@pytest.mark.exhaustive
def test_four_thousand_links(conn):
    with NetNS.current() as here:
        conn.batch([rtnl.add_link(f"i{number}", "ifb", netns=here) for number in range(4000)])
    with conn.dump(rtnl.links()) as links:
        found = {link.name: link.index for link in links}
    assert found.keys() == {"lo", *[f"i{number}" for number in range(4000)]}
    assert len(set(found.values())) == 4001
    conn.batch([rtnl.set_link(name, mtu=1300) for name in found if name != "lo"])
    assert {link.mtu for link in conn.collect(rtnl.links(kind="ifb"))} == {1300}
    assert all(link.stats64.rx_packets == 0 for link in conn.collect(rtnl.links(kind="ifb", stats=True)))
