"""What the error of a transaction says, on the real kernel: which of many elements and expressions it is."""

from ipaddress import IPv4Address

import pytest

import netlink_codec as nl
from namespaces import network
from netlink_codec import nft

pytestmark = pytest.mark.kernel


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_NETFILTER, timeout=30) as conn:
        conn.do(nft.Transaction([nft.add_table("inet", "t"), nft.add_chain("inet", "t", "c")]))
        yield conn


ADDRESSES = [IPv4Address(0x0A000000 + number) for number in range(5000)]
THERE = [
    ("ipv4_addr", {}, ["10.0.0.77"], ADDRESSES, "10.0.0.77"),
    ("ipv4_addr", {}, ["10.0.17.1"], ADDRESSES, "10.0.17.1"),  # in the second message
    ("ipv4_addr", {"interval": True}, ["10.0.0.77"], ["10.0.0.0/30", "10.0.0.64/26"], "10.0.0.64/26"),
    ("ipv4_addr", {"interval": True}, ["255.0.0.0/9"], ["10.0.0.0/30", "255.0.0.0/8"], "255.0.0.0/8"),
    ("mark . ifname", {}, [(7, "lo")], [(6, "lo"), (7, "lo")], "7 . lo"),
    (
        "ipv4_addr . inet_service",
        {"interval": True},
        [("10.0.0.0/8", 80)],
        [("11.0.0.0/8", 80), ("10.0.0.0/8", nft.Range(80, 90))],
        "10.0.0.0/8 . 80-90",
    ),
]


@pytest.mark.parametrize(("key", "settings", "there", "given", "name"), THERE, ids=[str(one[-1]) for one in THERE])
def test_which_element_is_there_already(conn, key, settings, there, given, name):
    conn.do(nft.add_set("inet", "t", "s", key, there, **settings))
    with pytest.raises(nl.Exists) as caught:
        conn.do(nft.add_elements("inet", "t", "s", given))
    assert caught.value.hint == f"element {name}"
    assert str(caught.value).endswith(f"(attribute elements.1; element {name})")
    known = conn.do(nft.set_("inet", "t", "s"))
    with pytest.raises(nl.BatchError, match="1 of 2") as several:
        conn.do(nft.Transaction([nft.add_chain("inet", "t", "d"), nft.add_elements("inet", "t", known, given)]))
    assert several.value.exceptions[0].hint == f"element {name}"


def test_which_element_is_not_there(conn):
    conn.do(nft.add_set("inet", "t", "s", "inet_service", [22, 80], interval=True))
    with pytest.raises(nl.NotFound, match="element 443"):
        conn.do(nft.delete_elements("inet", "t", "s", [22, 443, 80]))
    assert len(conn.collect(nft.elements("inet", "t", "s"))) == 2


def test_which_element_leads_nowhere(conn):
    with pytest.raises(nl.NotFound, match="element 80"):
        conn.do(nft.add_map("inet", "t", "m", "inet_service", "verdict", {22: "drop", 80: "jump x"}))
    assert conn.collect(nft.sets()) == []


def test_which_element_of_a_rule_s_own_map(conn):
    verdicts = {("10.0.0.1", 80): "accept", ("10.0.0.0/9", nft.Range(1, 9)): "jump x"}
    with pytest.raises(nl.NotFound, match=r"element 10\.0\.0\.0/9 \. 1-9"):
        conn.do(nft.add_rule("inet", "t", "c", nft.vmap(["ip saddr", "tcp dport"], verdicts)))


def test_which_expression_it_is(conn):
    with pytest.raises(nl.NotFound, match="expression 6, immediate") as caught:
        conn.do(nft.add_rule("inet", "t", "c", nft.counter(), nft.match("tcp dport", 5), nft.jump("x")))
    assert caught.value.attribute == "expressions.1"
    handle = one_rule(conn)
    raw = nft.counter(), nft.counter(), nft.Meta(key=nft.META.MARK, dreg=1), nft.Lookup(set="x", sreg=1)
    with pytest.raises(nl.NotFound, match="expression 4, lookup"):
        conn.do(nft.replace_rule("inet", "t", "c", handle, *raw))
    with pytest.raises(nl.NotFound, match="set 'inet t x'"):
        conn.do(nft.replace_rule("inet", "t", "c", handle, nft.match("ip saddr", "@x", "!=")))


def one_rule(conn):
    rule = nft.add_rule("inet", "t", "c")
    return conn.do(rule).handles[rule]


def test_what_else_is_refused_has_no_such_part(conn):
    with pytest.raises(nl.Exists) as caught:
        conn.do(nft.add_chain("inet", "t", "c"))
    assert (caught.value.attribute, caught.value.hint) == ("name", None)
    assert caught.value.offset > 16
    with pytest.raises(nl.NotFound) as caught:
        conn.do(nft.add_rule("inet", "t", "x", nft.accept()))
    assert (caught.value.attribute, caught.value.hint) == ("chain", None)
