"""What rules compare, as the `nft` tool shows it, in the cases where the first thought is wrong."""

import socket

import pytest

import netlink_codec as nl
from namespaces import network
from netlink_codec import nft, rtnl
from nft_tool import needs_nft, nft_run, nft_text

pytestmark = pytest.mark.kernel


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_NETFILTER, timeout=30) as conn:
        chain = nft.add_chain("inet", "t", "c", hook="input", policy="accept")
        conn.do(nft.Transaction([nft.add_table("inet", "t"), chain, nft.add_chain("inet", "t", "other")]))
        yield conn


SHOWN = [
    ("ip saddr { 10.0.0.0/8, 192.168.0.1 }", nft.match("ip saddr", {"10.0.0.0/8", "192.168.0.1"})),
    ("ip6 daddr != { fe80::/10, ff00::/8 }", nft.match("ip6 daddr", ["fe80::/10", "ff00::/8"], "!=")),
    (
        "ip saddr . tcp dport { 10.0.0.0/8 . 22 }",
        nft.match(["ip saddr", "tcp dport"], {("10.0.0.0/8", 22)}),
    ),
    ("ip saddr vmap { 10.0.0.0/8 : drop }", nft.vmap("ip saddr", {"10.0.0.0/8": nft.drop()})),
    ("ip saddr != 0.0.0.0/0", nft.match("ip saddr", "0.0.0.0/0", "!=")),
    ("ip6 saddr != ::/0", nft.match("ip6 saddr", "::/0", "!=")),
    ("ct id 5", nft.match("ct id", 5)),
    ("ct id > 5", nft.match("ct id", 5, ">")),
    (
        "meta l4proto tcp synproxy mss 1460 wscale 7",
        (nft.match("l4proto", "tcp"), nft.synproxy(1460, 7)),
    ),
    # What is compared already is not compared once more.
    ("meta l4proto tcp reject with tcp reset", (nft.match("l4proto", "tcp"), nft.reject("tcp reset"))),
    ("meta l4proto udp udp dport 53", (nft.match("meta l4proto", 17), nft.match("udp dport", 53))),
]


@needs_nft
@pytest.mark.parametrize(("text", "built"), SHOWN, ids=[text for text, _ in SHOWN])
def test_as_nft_has_it(conn, text, built):
    conn.do(nft.add_rule("inet", "t", "c", built))
    (shown,) = (line.strip() for line in nft_text("list chain inet t c").splitlines()[3:-2])
    nft_run(f"flush chain inet t c\nadd rule inet t c {text}")
    (its,) = (line.strip() for line in nft_text("list chain inet t c").splitlines()[3:-2])
    assert shown == its


IN_FAMILIES = [
    ("arp", "arp operation request", nft.match("arp operation", 1)),
    ("arp", "arp saddr ip 192.0.2.1", nft.match("arp saddr ip", "192.0.2.1")),
    ("bridge", "arp operation request", nft.match("arp operation", 1)),
    ("bridge", "arp daddr ether 02:00:00:00:00:01", nft.match("arp daddr ether", "02:00:00:00:00:01")),
    ("netdev", "arp htype 1", nft.match("arp htype", 1)),
    ("inet", "tcp sequence 5", nft.match("tcp sequence", 5)),
    ("inet", "tcp window > 100", nft.match("tcp window", 100, ">")),
    ("ip6", "udp length 8-20", nft.match("udp length", nft.Range(8, 20))),
    ("ip", "ip checksum != 0", nft.match("ip checksum", 0, "!=")),
]


@needs_nft
@pytest.mark.parametrize(("family", "text", "built"), IN_FAMILIES, ids=[" ".join(one[:2]) for one in IN_FAMILIES])
def test_what_a_field_needs(conn, family, text, built):
    conn.do(nft.Transaction([nft.add_table(family, "n"), nft.add_chain(family, "n", "c")]))
    conn.do(nft.add_rule(family, "n", "c", built))
    nft_run(f"add rule {family} n c {text}")
    mine, its = conn.dump(nft.rules(family, "n", "c"))
    shown = [line.strip() for line in nft_text(f"list chain {family} n c").splitlines()[2:-2]]
    assert shown == [text, text]
    # In a bridge, nft looks into the frame for what the kernel has said of it already.
    assert "-" in text or mine.expressions[-2:] == its.expressions[-2:]


def test_who_sees_no_arp(conn):
    for family in ("inet", "ip"):
        with pytest.raises(ValueError, match=f"family {family} sees no packets of ARP"):
            conn.do(nft.add_rule(family, "t", "c", nft.match("arp operation", 1)))


@needs_nft
@pytest.mark.parametrize("family", ["inet", "ip", "ip6"])
def test_other_ports_alone(conn, family):
    chain = nft.add_chain(family, "n", "c", type="nat", hook="prerouting", priority="dstnat")
    conn.do(nft.Transaction([nft.add_table(family, "n"), chain]))
    conn.do(nft.add_rule(family, "n", "c", nft.match("tcp dport", 80), nft.dnat(None, nft.Range(8080, 8090))))
    assert "tcp dport 80 dnat to :8080-8090" in nft_text(f"list chain {family} n c")


SIZED = [
    ("ip saddr . ip length { 10.0.0.1 . 22 }", ["ip saddr", "ip length"], ("10.0.0.1", 22)),
    ("ip saddr . meta cpu { 10.0.0.1 . 1 }", ["ip saddr", "meta cpu"], ("10.0.0.1", 1)),
    ("ct zone . ip saddr { 3 . 10.0.0.1 }", ["ct zone", "ip saddr"], (3, "10.0.0.1")),
    ("meta mark . ct zone { 1-4 . 3 }", ["meta mark", "ct zone"], (nft.Range(1, 4), 3)),
    ("ip ttl . ip saddr { 1-4 . 10.0.0.1 }", ["ip ttl", "ip saddr"], (nft.Range(1, 4), "10.0.0.1")),
]


@needs_nft
@pytest.mark.parametrize(("text", "fields", "key"), SIZED, ids=[text for text, _, _ in SIZED])
def test_numbers_of_any_size_in_concatenations(conn, text, fields, key):
    """Their type does not say of how many bytes they are; a rule's own set has the bytes that nft writes."""

    def keys():
        (own,) = conn.collect(nft.sets("inet", "t"))
        dump = nl.Dump(
            nl.Message(nft.MSG.GETSETELEM, nl.NLM_F_DUMP, nft.RawElements(family=1, table="t", set=own.name)),
            nft.RawElements.from_message,
        )
        return [(one.key, one.key_end) for some in conn.dump(dump) for one in some.elements or ()]

    conn.do(nft.add_rule("inet", "t", "c", nft.match(fields, [key])))
    built = keys()
    nft_run(f"flush chain inet t c\nadd rule inet t c {text}")
    assert built == keys()


def dropped(*expressions, conn):
    """Whether a datagram over lo meets this rule."""
    conn.do(nft.flush_chain("inet", "t", "c"))
    conn.do(nft.add_rule("inet", "t", "c", *expressions, nft.drop()))
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        receiver.bind(("127.0.0.1", 0))
        receiver.setblocking(False)
        sender.sendto(b"x", receiver.getsockname())
        try:
            receiver.recv(10)
        except BlockingIOError:
            return True
        return False


MEETS = [
    (True, nft.match("ip saddr", "0.0.0.0/0")),
    (False, nft.match("ip saddr", "0.0.0.0/0", "!=")),
    (True, nft.match("ip saddr", {"127.0.0.0/8", "10.0.0.1"})),
    (False, nft.match("ip saddr", {"127.0.0.0/8", "10.0.0.1"}, "!=")),
    (True, nft.match(["ip saddr", "ip length"], {("127.0.0.1", 29)})),
    (False, nft.match(["ip saddr", "ip length"], {("127.0.0.1", 30)})),
    (True, nft.match(["ip ttl", "ip saddr", "ip length"], {(nft.Range(1, 255), "127.0.0.0/8", nft.Range(20, 40))})),
    (True, nft.match("iifname", {"l*", "eth0"})),
    (True, nft.match(["iifname", "ip saddr"], {("l*", "127.0.0.0/8")})),
    (False, nft.match(["iifname", "ip saddr"], {("e*", "127.0.0.0/8")})),
    (True, nft.match("iifname", "l*")),
    (False, nft.match("iifname", "l*", "!=")),
    (False, nft.match("iifname", "\udcff*")),
    (True, nft.match("meta length", nft.Range(20, 40))),
    (True, nft.match("meta length", {nft.Range(20, 40)})),
    (False, nft.match("meta length", 29, ">")),
    (True, nft.match("ip length", 29, ">=")),
    (True, (nft.set_meta("mark", 0x102), nft.match("meta mark", nft.Range(0x101, 0x103)))),
    (True, (nft.set_meta("mark", 0x102), nft.match("meta mark", {nft.Range(0x101, 0x103)}))),
    (False, (nft.set_meta("mark", 0x102), nft.match("meta mark", {nft.Range(0x201, 0x203)}))),
    (True, (nft.set_meta("mark", 0x102), nft.match("meta mark", 2, mask=0xFF))),
    (True, (nft.set_meta("mark", 0x102), nft.match(["meta mark", "udp dport"], {(0x102, nft.Range(1, 65535))}))),
]


@pytest.mark.parametrize(("meets", "built"), MEETS, ids=range(len(MEETS)))
def test_what_packets_meet(conn, meets, built):
    with nl.Conn(nl.NETLINK_ROUTE) as route:
        route.do(rtnl.set_link("lo", up=True))
    assert dropped(built, conn=conn) is meets


def test_the_policy_of_a_chain_that_is_there(conn):
    conn.do(nft.add_chain("inet", "t", "c", policy="drop", exist_ok=True))
    assert conn.do(nft.chain("inet", "t", "c")).policy is nft.VERDICT.DROP
    for name in ("other", "new"):
        with pytest.raises(nl.NetlinkError, match="attribute policy"):
            conn.do(nft.add_chain("inet", "t", name, policy="drop", exist_ok=True))


def test_the_set_that_is_missing_is_told(conn):
    with pytest.raises(nl.NotFound, match=r"list elements of t x: .*set 'inet t x'.*attribute name"):
        conn.collect(nft.elements("inet", "t", "x"))
