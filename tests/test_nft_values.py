"""Words for values, fields of some bits, values that the packet tells, and what rules write: as `nft` has them."""

import socket
from ipaddress import IPv4Network

import pytest

import netlink_codec as nl
from namespaces import network
from netlink_codec import nft, rtnl
from nft_tool import needs_nft, nft_run, nft_text

SETS = """
table inet t {
 set words { type icmp_type; }
 set marked { type dscp; }
 map ports { type inet_service : ipv4_addr . inet_service; }
 map marks { type ipv4_addr : mark; }
 map wide { type mark : mark; flags interval; }
 map hits { type ipv4_addr : counter; }
 map verdicts { type ipv4_addr : verdict; }
 chain a { }
 chain b { }
}
"""
HOOKS = {
    "dstnat": "type nat hook prerouting priority dstnat",
    "srcnat": "type nat hook postrouting priority srcnat",
    "filter": "type filter hook prerouting priority mangle",
    "out": "type route hook output priority mangle",
    "input": "type filter hook input priority 0",
    "post": "type filter hook postrouting priority 0",
    "ingress": "type filter hook ingress device lo priority 0",
}


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_NETFILTER, timeout=30) as conn:
        yield conn


SHOWN = [
    # Words.
    ("inet", "filter", "icmp type echo-request", nft.match("icmp type", "echo-request")),
    ("inet", "filter", "icmp type { echo-reply, redirect }", nft.match("icmp type", {"echo-reply", "redirect"})),
    ("inet", "filter", "icmp type @words", nft.match("icmp type", "@words")),
    ("inet", "filter", "tcp flags == syn", nft.match("tcp flags", "syn")),
    ("inet", "filter", "tcp flags & (syn | ack) == syn", nft.match("tcp flags", "syn", mask="syn,ack")),
    ("inet", "filter", "tcp flags { syn, fin | ack }", nft.match("tcp flags", {"syn", "fin|ack"})),
    ("inet", "filter", "ct status dnat", nft.match("ct status", "dnat")),
    ("inet", "filter", "ct status dnat,snat", nft.match("ct status", "snat, dnat")),
    ("inet", "filter", "ct status & 0x20 == 0x20", nft.match("ct status", "dnat", mask="dnat")),
    ("inet", "filter", "meta pkttype multicast", nft.match("pkttype", "multicast")),
    ("inet", "filter", "meta protocol arp", nft.match("meta protocol", "arp")),
    ("inet", "filter", "ct direction reply", nft.match("ct direction", "reply")),
    ("inet", "filter", "meta l4proto esp", nft.match("l4proto", "esp")),
    ("inet", "filter", "meta day \"Friday\"", nft.match("meta day", "friday")),
    ("inet", "filter", "igmp type membership-query", nft.match("igmp type", "membership-query")),
    ("arp", "input", "arp operation request", nft.match("arp operation", "request")),
    ("bridge", "input", "ether type vlan", nft.match("ether type", "vlan")),
    ("inet", "filter", "icmp type 3-5", nft.match("icmp type", nft.Range(3, 5))),
    ("inet", "filter", "icmp type { 3-5, echo-request }", nft.match("icmp type", {nft.Range(3, 5), 8})),
    ("inet", "filter", "icmpv6 code != 1-3", nft.match("icmpv6 code", nft.Range(1, 3), "!=")),
    ("inet", "filter", "icmp type < redirect", nft.match("icmp type", "redirect", "<")),
    ("inet", "filter", "meta l4proto 6-17", nft.match("l4proto", nft.Range(6, 17))),
    ("inet", "filter", "meta pkttype . tcp dport { 1-2 . 5 }",
     nft.match(["pkttype", "tcp dport"], {(nft.Range(1, 2), 5)})),
    ("inet", "filter", "tcp flags & (syn | ack) { syn, ack }",
     nft.match("tcp flags", {"syn", "ack"}, mask="syn,ack")),
    # Some bits.
    ("inet", "filter", "ip dscp cs1", nft.match("ip dscp", "cs1")),
    ("inet", "filter", "ip dscp != af21", nft.match("ip dscp", "af21", "!=")),
    ("inet", "filter", "ip dscp { cs1, ef }", nft.match("ip dscp", {8, "ef"})),
    ("inet", "filter", "ip dscp @marked", nft.match("ip dscp", "@marked")),
    ("inet", "filter", "ip dscp vmap { cs1 : accept, cs2 : jump a }", nft.vmap("ip dscp", {8: "accept", 16: "jump a"})),
    ("inet", "filter", "ip6 dscp cs1", nft.match("ip6 dscp", "cs1")),
    ("inet", "filter", "ip6 dscp { cs1, cs2 }", nft.match("ip6 dscp", {"cs1", "cs2"})),
    ("inet", "filter", "ip ecn ce", nft.match("ip ecn", "ce")),
    ("inet", "filter", "ip hdrlength > 5", nft.match("ip hdrlength", 5, ">")),
    ("inet", "filter", "ip6 flowlabel 5", nft.match("ip6 flowlabel", 5)),
    ("inet", "filter", "tcp doff 8", nft.match("tcp doff", 8)),
    ("bridge", "input", "vlan id 5", nft.match("vlan id", 5)),
    ("bridge", "input", "vlan id 5 vlan pcp 3", (nft.match("vlan id", 5), nft.match("vlan pcp", 3))),
    ("bridge", "input", "vlan id { 5, 6 }", nft.match("vlan id", {5, 6})),
    ("bridge", "input", "ether saddr 02:00:00:00:00:01", nft.match("ether saddr", "02:00:00:00:00:01")),
    ("inet", "filter", "icmp mtu 1400", nft.match("icmp mtu", 1400)),
    ("inet", "filter", "icmpv6 id 5", nft.match("icmpv6 id", 5)),
    # What the kernel finds out.
    ("inet", "filter", "fib daddr type local", nft.match("fib daddr type", "local")),
    ("inet", "filter", "fib saddr . iif oif missing", nft.match("fib saddr . iif check", False)),
    ("inet", "filter", 'fib saddr . iif oifname "lo"', nft.match("fib saddr . iif oifname", "lo")),
    ("inet", "filter", "socket transparent 1", nft.match("socket transparent", True)),
    ("inet", "filter", "tcp option maxseg size 1-500", nft.match("tcp option maxseg size", nft.Range(1, 500))),
    ("inet", "filter", "tcp option sack-perm missing", nft.match("tcp option sack-perm", False)),
    ("inet", "filter", "exthdr frag exists", nft.match("exthdr frag", True)),
    ("inet", "filter", "frag more-fragments 1", nft.match("frag more-fragments", 1)),
    ("inet", "filter", 'meta iifkind "veth"', nft.match("iifkind", "veth")),
    ("inet", "filter", "numgen random mod 10 0", nft.match(nft.numgen(10, random=True), 0)),
    ("inet", "filter", "numgen inc mod 2 vmap { 0 : jump a, 1 : jump b }",
     nft.vmap(nft.numgen(2), {0: "jump a", 1: nft.jump("b")})),
    ("inet", "filter", "jhash ip saddr . tcp dport mod 2 seed 0x7 vmap { 0 : jump a, 1 : jump b }",
     nft.vmap(nft.jhash(["ip saddr", "tcp dport"], 2, seed=7), {0: "jump a", 1: "jump b"})),
    ("inet", "filter", "symhash mod 4 offset 1 3", nft.match(nft.symhash(4, offset=1), 3)),
    # What rules set.
    ("inet", "filter", "meta mark set ct mark", nft.set_meta("mark", nft.load("ct mark"))),
    ("inet", "filter", "ct mark set meta mark", nft.set_ct("mark", nft.load("meta mark"))),
    ("inet", "filter", "meta mark set meta mark & 0x000000ff | 0x00000100",
     nft.set_meta("mark", nft.load("meta mark", mask=0xFF, xor=0x100))),
    ("inet", "filter", "meta mark set numgen inc mod 3 offset 5", nft.set_meta("mark", nft.numgen(3, offset=5))),
    ("inet", "filter", "meta mark set jhash ip saddr mod 3 seed 0x1",
     nft.set_meta("mark", nft.jhash("ip saddr", 3, seed=1))),
    ("inet", "filter", "meta mark set ip saddr map @marks", nft.set_meta("mark", nft.lookup("ip saddr", "@marks"))),
    ("inet", "filter", "meta mark set meta mark map @wide", nft.set_meta("mark", nft.lookup("mark", "@wide"))),
    ("inet", "filter", "meta mark set ip saddr . tcp dport map { 10.0.0.1 . 22 : 0x00000001 }",
     nft.set_meta("mark", nft.lookup(["ip saddr", "tcp dport"], {("10.0.0.1", 22): 1}))),
    ("inet", "filter", "meta priority set tcp dport map { 22 : 1:2 }",
     nft.set_meta("priority", nft.lookup("tcp dport", {22: 0x10002}))),
    ("inet", "filter", "ct event set new,destroy", nft.set_ct("event", "new,destroy")),
    ("inet", "filter", "ip dscp set cs1", nft.set_field("ip dscp", "cs1")),
    ("inet", "filter", "ip6 dscp set cs1", nft.set_field("ip6 dscp", "cs1")),
    ("inet", "filter", "ip ttl set 64", nft.set_field("ip ttl", 64)),
    ("inet", "filter", "ip6 hoplimit set 64", nft.set_field("ip6 hoplimit", 64)),
    ("inet", "filter", "ip daddr set 10.0.0.1", nft.set_field("ip daddr", "10.0.0.1")),
    ("inet", "filter", "ip length set 100", nft.set_field("ip length", 100)),
    ("inet", "filter", "tcp sport set 53", nft.set_field("tcp sport", 53)),
    ("inet", "filter", "icmp code set 3", nft.set_field("icmp code", 3)),
    ("inet", "filter", "icmpv6 id set 3", nft.set_field("icmpv6 id", 3)),
    ("inet", "filter", "sctp dport set 3", nft.set_field("sctp dport", 3)),
    ("inet", "filter", "ip6 daddr set ::1", nft.set_field("ip6 daddr", "::1")),
    ("inet", "filter", "ip6 flowlabel set 5", nft.set_field("ip6 flowlabel", 5)),
    ("inet", "filter", "udp dport set 53", nft.set_field("udp dport", 53)),
    ("inet", "filter", "udp dport set udp sport map { 1 : 2 }",
     nft.set_field("udp dport", nft.lookup("udp sport", {1: 2}))),
    ("inet", "filter", "tcp option maxseg size set 1400", nft.set_field("tcp option maxseg size", 1400)),
    ("inet", "post", "tcp option maxseg size set rt mtu",
     nft.set_field("tcp option maxseg size", nft.load("rt mtu"))),
    ("inet", "filter", "reset tcp option timestamp", nft.strip_tcp_option("timestamp")),
    ("inet", "filter", "counter name ip saddr map @hits", nft.named("counter", "@hits", by="ip saddr")),
    ("inet", "filter", "queue to numgen inc mod 4", nft.queue(nft.numgen(4))),
    # Where packets go instead.
    ("inet", "dstnat", "dnat ip to tcp dport map { 80 : 10.0.0.1, 443 : 10.0.0.2 }",
     nft.dnat(nft.lookup("tcp dport", {80: "10.0.0.1", 443: "10.0.0.2"}), family="ip")),
    ("inet", "dstnat", "dnat ip to tcp dport map @ports", nft.dnat(nft.lookup("tcp dport", "@ports"), family="ip")),
    ("ip", "dstnat", "meta l4proto tcp dnat to numgen inc mod 2 map { 0 : 10.0.0.1 . 80, 1 : 10.0.0.2 . 8080 }",
     (nft.match("l4proto", "tcp"), nft.dnat(nft.lookup(nft.numgen(2), {0: ("10.0.0.1", 80), 1: ("10.0.0.2", 8080)})))),
    ("ip6", "dstnat", "dnat to jhash ip6 saddr mod 2 seed 0x1 map { 0 : ::1, 1 : ::2 }",
     nft.dnat(nft.lookup(nft.jhash("ip6 saddr", 2, seed=1), {0: "::1", 1: "::2"}))),
    ("ip", "srcnat", 'snat to oifname map { "lo" : 10.0.0.1 }', nft.snat(nft.lookup("oifname", {"lo": "10.0.0.1"}))),
    ("inet", "dstnat", "meta l4proto tcp redirect to :tcp dport map { 80 : 8080 }",
     (nft.match("l4proto", "tcp"), nft.redirect(nft.lookup("tcp dport", {80: 8080})))),
    ("inet", "filter", "meta l4proto tcp tproxy to :50080", (nft.match("l4proto", "tcp"), nft.tproxy(port=50080))),
    ("ip", "filter", "meta l4proto udp tproxy to 127.0.0.1:53",
     (nft.match("l4proto", "udp"), nft.tproxy("127.0.0.1", 53))),
    ("ip", "filter", 'dup to 10.0.0.1 device "lo"', nft.dup("10.0.0.1", 1)),
    ("netdev", "ingress", 'fwd to "lo"', nft.fwd(1)),
    ("netdev", "ingress", 'fwd ip to 10.0.0.1 device "lo"', nft.fwd(1, "10.0.0.1")),
    ("netdev", "ingress", 'dup to "lo"', nft.dup(device=1)),
]  # fmt: skip


@pytest.mark.kernel
@needs_nft
@pytest.mark.parametrize(("family", "hook", "text", "built"), SHOWN, ids=[" ".join(one[:3]) for one in SHOWN])
def test_as_nft_has_it(conn, family, hook, text, built):
    def shown():
        return [line.strip() for line in nft_text(f"list chain {family} t c").splitlines()[3:-2]]

    nft_run(
        SETS.replace("table inet", f"table {family}")
        if family in ("inet", "ip")
        else f"table {family} t {{ chain a {{ }}; }}"
    )
    nft_run(f"table {family} t {{ chain c {{ {HOOKS[hook]}; }}; }}")
    try:
        conn.do(nft.add_rule(family, "t", "c", built))
    except nl.NotFound as error:
        assert "attribute expressions" in str(error)
        pytest.skip(f"this kernel has no such expression: {error}")
    (mine,) = shown()
    rule, told = last_rule(conn, family)
    # As nft's own words, and as those that it is told in here, where there are such.
    for words in (text, told) if "[" not in told else (text,):
        nft_run(f"flush chain {family} t c\nadd rule {family} t c {words}")
        assert [mine] == shown()
        if rule.expressions[-1].name in ("payload", "exthdr"):  # of which it does not show all
            again, _ = last_rule(conn, family)
            assert rule.expressions[-1].data == again.expressions[-1].data


def last_rule(conn, family):
    """The only one, and how it is told."""
    (rule,) = conn.collect(nft.rules(family, "t", "c"))
    return rule, conn.do(nft.describe(rule))


WRONG = [
    (lambda: nft.match("icmp type", "ping"), "'ping' is not a word of icmp_type, as echo-reply"),
    (lambda: nft.match("tcp flags", "syn,xyz"), "is not a word of tcp_flag, as fin, syn"),
    (lambda: nft.match("ip dscp", 64), "64 does not fit into the 6 bits of dscp"),
    (lambda: nft.match("vlan id", 4096), "4096 does not fit into the 12 bits"),
    (lambda: nft.match(["ip6 dscp", "tcp dport"], {(8, 1)}), "ip6 dscp can be compared with values alone"),
    (lambda: nft.match("ip6 dscp", "@s"), "ip6 dscp can be compared with values alone"),
    (lambda: nft.match("tcp dport", "10.0.0.0/8"), "'10.0.0.0/8' is not a number"),
    (lambda: nft.match("tcp dport", IPv4Network("10.0.0.0/8")), "not a number"),
    (lambda: nft.match("iifname", IPv4Network("10.0.0.0/8")), "not a str"),
    (lambda: nft.match("ip saddr", "fe80::/10"), "4 octets"),
    (lambda: nft.match("ip saddr", nft.load("ip daddr")), "compared with a value"),
    (lambda: nft.match(["ip saddr", "tcp dport"], 5), "a tuple, a set of such"),
    (lambda: nft.match(["ip saddr", "tcp dport"], "10.0.0.1"), "a tuple, a set of such"),
    (lambda: nft.match(["mark", "tcp dport"], {(1, 2)}, mask=3), "a mask is for one field"),
    (lambda: nft.match(["iif", "tcp dport"], {("lo",)}), "a key is a tuple"),
    (lambda: nft.match(nft.accept(), 5), "finds no value"),
    (lambda: nft.match("ether saddr", "zz"), "'zz' is not a hardware address of 6 bytes"),
    (lambda: nft.match("ether saddr", "2:0:0:0:0:1"), "'2:0:0:0:0:1' is not a hardware address of 6 bytes"),
    (lambda: nft.match("socket transparent", 5), "5 does not fit"),
    (lambda: (nft.match("tcp dport", 5), nft.match("udp dport", 5)), "no packet is both of tcp and of udp"),
    (lambda: nft.match(["icmp type", "tcp dport"], {(8, 1)}), "no packet is both"),
    (lambda: nft.set_meta("mark", nft.counter()), "finds no value"),
    (lambda: nft.named("counter", 5, by="ip saddr"), "is a str"),
    (lambda: nft.named("counter", None), "is a str"),
    (lambda: nft.snat(None), "an address, or a port"),
    (lambda: nft.dnat("10.0.0.1", family="arp"), "family is ip or ip6"),
    (lambda: nft.dnat(nft.lookup("tcp dport", {1: ("10.0.0.1", 2)}), 3, family="ip"), "has the port already"),
    (lambda: nft.dup("10.0.0.1"), "dup to an address of ip: the table is of family inet"),
    (lambda: nft.dup(nft.lookup("tcp dport", {1: "10.0.0.1"})), "an address is wanted"),
    (lambda: nft.queue(5, 3), "5 is after 3"),
    (lambda: nft.strip_tcp_option("maxseg size"), "a part of an option"),
    (lambda: nft.match("ip sadr", 1), "'ip sadr' is no field; .*ip saddr"),
    (lambda: nft.set_meta("mark", nft.load("ip saddr")), None),
    (lambda: nft.set_meta("mark", nft.load("iifname")), r"load\('meta iifname'\) has 16 bytes, where 4"),
    (lambda: nft.set_meta("priority", "high"), "'high' is not a number of classid"),
    (lambda: nft.set_ct("zone", nft.numgen(3)), "a number of 4 bytes"),
    (lambda: nft.set_field("th dport", 1), "th dport cannot be set"),
    (lambda: nft.set_field("tcp option sack-perm", True), "cannot be set"),
    (lambda: nft.set_field("exthdr frag", True), "cannot be set"),
    (lambda: nft.set_field("meta mark", 1), "cannot be set"),
    (lambda: nft.set_field("ip ttl", nft.load("meta cpu")), "ip ttl is a part of what is written"),
    (lambda: nft.set_field("ip ttl", 256), "256 does not fit"),
    (lambda: nft.dnat(nft.lookup("tcp dport", {80: "10.0.0.1"})), "family inet has both"),
    (lambda: nft.dnat(nft.lookup("tcp dport", {80: "::1"}), family="ip"), "::1"),
    (lambda: nft.dnat("10.0.0.1", family="ip6"), "not of one family"),
    (lambda: nft.dnat(nft.Range("10.0.0.1", "::1")), "not values of one kind"),
    (lambda: nft.lookup("tcp dport", {}), "a dict, or"),
    (lambda: nft.lookup("tcp dport", [80]), "a dict, or"),
    (lambda: nft.tproxy(), "an address, or a port"),
    (lambda: nft.dup(), "an address, or a device"),
    (lambda: nft.queue(nft.numgen(2), 7), "is alone"),
    (lambda: nft.strip_tcp_option("xyz"), "no field"),
]


@pytest.mark.parametrize(("make", "text"), WRONG, ids=range(len(WRONG)))
def test_what_is_refused(make, text):
    def built():
        made = nft.add_rule("inet", "t", "c", make())
        return made.plan().messages

    if text is None:
        built()
        return
    with pytest.raises((ValueError, TypeError), match=text):
        built()


def carried(conn, *rules, after=()):
    """What arrives at a socket, its TOS byte and its TTL, of a datagram over lo that meets these rules as it leaves."""
    out = nft.add_chain("inet", "t", "c", type="route", hook="output", priority="mangle")
    conn.do(nft.Transaction([nft.add_table("inet", "t"), out]))
    for rule in rules:
        conn.do(nft.add_rule("inet", "t", "c", rule))
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        receiver.bind(("127.0.0.1", 5353))
        receiver.settimeout(5)
        receiver.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        receiver.setsockopt(socket.IPPROTO_IP, IP_RECVTTL, 1)
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x20)
        sender.sendto(b"x", ("127.0.0.1", 5300))
        _, ancillary, _, _ = receiver.recvmsg(10, 100)
        told = {kind: data for _, kind, data in ancillary}
        return told[socket.IP_TOS][0], told[socket.IP_TTL][0]


KINDS = [
    (lambda: nft.match("udp dport", "@words"), "udp dport cannot be among the keys of words, which are icmp_type"),
    (lambda: nft.match(["ip saddr", "tcp dport"], "@marked"), "cannot be among the keys of marked"),
    (lambda: nft.match("mark", "@marks"), "cannot be among the keys"),
    (lambda: nft.vmap("mark", "@verdicts"), "cannot be among the keys"),
    (
        lambda: nft.set_meta("mark", nft.lookup("udp dport", "@ports")),
        "map leads to is ipv4_addr . inet_service, and not mark",
    ),
    (lambda: nft.set_meta("mark", nft.lookup("ip saddr", "@hits")), "map leads to is counter, and not mark"),
    (lambda: nft.add_to_set("marks", "udp dport", value=7), "cannot be among the keys"),
    (lambda: nft.add_to_set("marks", ["ip saddr", "udp dport"], value=7), "cannot be among the keys"),
    (lambda: nft.delete_from_set("marks", "udp dport"), "cannot be among the keys"),
    (lambda: nft.named("quota", "@hits", by="ip saddr"), "not lead to objects of type quota, but to counter"),
]


@pytest.mark.kernel
@needs_nft
def test_what_sets_are_of(conn):
    nft_run(SETS + "table inet t { chain c { }; }")
    for make, text in KINDS:
        with pytest.raises(ValueError, match=text):
            conn.do(nft.add_rule("inet", "t", "c", make()))
    assert conn.collect(nft.rules()) == []


IP_RECVTTL = 12  # linux/in.h
TO_RECEIVER = nft.set_field("udp dport", 5353)


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("rules", "arrives"),
    [
        ([], (0x20, 64)),
        # Checksums are right, or the datagram would not arrive.
        ([nft.set_field("ip dscp", "ef"), nft.set_field("ip ttl", 9)], (46 << 2, 9)),
        ([nft.set_field("ip ecn", "ce")], (0x23, 64)),
        # What is matched is what is there.
        ([(nft.match("ip dscp", "cs1"), nft.set_field("ip ttl", 7))], (0x20, 7)),
        ([(nft.match("ip dscp", {"cs1", "cs2"}), nft.set_field("ip ttl", 7))], (0x20, 7)),
        ([(nft.match("ip dscp", nft.Range("cs1", "cs2")), nft.set_field("ip ttl", 7))], (0x20, 7)),
        ([(nft.match("ip dscp", {nft.Range(1, 9)}), nft.set_field("ip ttl", 7))], (0x20, 7)),
        ([(nft.match(["ip dscp", "udp dport"], {(8, 5300)}), nft.set_field("ip ttl", 7))], (0x20, 7)),
        ([(nft.match("ip dscp", "cs2"), nft.set_field("ip ttl", 7))], (0x20, 64)),
        ([(nft.match("ip version", 4), nft.match("ip hdrlength", 5), nft.set_field("ip ttl", 7))], (0x20, 7)),
        ([(nft.match("fib daddr type", "local"), nft.set_field("ip ttl", 7))], (0x20, 7)),
        ([(nft.match(nft.numgen(1), 0), nft.set_field("ip ttl", 7))], (0x20, 7)),
        ([nft.set_meta("mark", nft.lookup("udp dport", {5300: 5})),
          (nft.match("mark", 5), nft.set_field("ip ttl", 7))], (0x20, 7)),
        ([nft.set_ct("mark", 6), nft.set_meta("mark", nft.load("ct mark", mask=0xFE, xor=1)),
          (nft.match("mark", 7), nft.set_field("ip ttl", 7))], (0x20, 7)),
        ([nft.set_meta("mark", 0x105), (nft.match("mark", {5, 6}, mask=0xFF), nft.set_field("ip ttl", 7))], (0x20, 7)),
        ([nft.set_meta("mark", 0x105), (nft.match("mark", {5, 6}), nft.set_field("ip ttl", 7))], (0x20, 64)),
        ([(nft.match(["ip daddr", nft.jhash("udp dport", 1, seed=1)], {("127.0.0.1", 0)}), nft.set_field("ip ttl", 7))],
         (0x20, 7)),
        ([(nft.match(["udp dport", nft.lookup("ip daddr", {"127.0.0.1": 99})], {(5300, 99)}),
           nft.set_field("ip ttl", 7))], (0x20, 7)),
        ([nft.vmap(nft.numgen(1), {0: nft.accept()}), nft.set_field("ip ttl", 7)], (0x20, 64)),
    ],
)  # fmt: skip
def test_what_arrives(conn, rules, arrives):
    with nl.Conn(nl.NETLINK_ROUTE) as route:
        route.do(rtnl.set_link("lo", up=True))
    conn.do(
        nft.Transaction(
            [
                nft.add_table("ip", "last"),
                nft.add_chain("ip", "last", "c", type="route", hook="output", priority="mangle + 1"),
                nft.add_rule("ip", "last", "c", TO_RECEIVER),
            ]
        )
    )
    assert carried(conn, *rules) == arrives


@pytest.mark.kernel
def test_a_named_set_of_bits(conn):
    with nl.Conn(nl.NETLINK_ROUTE) as route:
        route.do(rtnl.set_link("lo", up=True))
    conn.do(
        nft.Transaction(
            [
                nft.add_table("ip", "last"),
                nft.add_chain("ip", "last", "c", type="route", hook="output", priority="mangle - 1"),
                nft.add_set("ip", "last", "s", "dscp", ["cs1", "ef"]),
                nft.add_map("ip", "last", "m", "dscp", "mark", {"cs1": 5}),
                nft.add_set("ip", "last", "seen", "dscp", dynamic=True, size=10),
                nft.add_rule("ip", "last", "c", nft.match("ip dscp", "@s"), nft.set_field("ip ttl", 7)),
                nft.add_rule("ip", "last", "c", nft.set_meta("mark", nft.lookup("ip dscp", "@m"))),
                nft.add_rule("ip", "last", "c", nft.add_to_set("seen", "ip dscp")),
                nft.add_rule("ip", "last", "c", nft.match("mark", 5), TO_RECEIVER),
            ]
        )
    )
    assert carried(conn) == (0x20, 7)
    assert [element.key for element in conn.dump(nft.elements("ip", "last", "seen"))] == [8]


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("to", "port"),
    [
        (nft.lookup("udp dport", "@m"), None),
        (nft.lookup("udp dport", {5300: ("127.0.0.1", 5353)}), None),
        ("127.0.0.1", nft.lookup("udp dport", {5300: 5353})),
        (
            nft.lookup("udp dport", {5300: "127.0.0.1"}),
            nft.lookup(["udp dport", "ip saddr"], {(5300, "127.0.0.1"): 5353}),
        ),
        (nft.lookup(nft.jhash(["ip saddr", "udp dport"], 1), {0: "127.0.0.1"}), 5353),
        (nft.lookup("oif", {"lo": "127.0.0.1"}), 5353),
        (nft.Range("127.0.0.1", "127.0.0.2"), nft.lookup("meta oif", {"lo": 5353})),
    ],
    ids=range(7),
)
def test_translation_by_a_map(conn, to, port):
    with nl.Conn(nl.NETLINK_ROUTE) as route:
        route.do(rtnl.set_link("lo", up=True))
    conn.do(
        nft.Transaction(
            [
                nft.add_table("ip", "n"),
                nft.add_chain("ip", "n", "c", type="nat", hook="output", priority="dstnat"),
                nft.add_map("ip", "n", "m", "inet_service", "ipv4_addr . inet_service", {5300: ("127.0.0.1", 5353)}),
                nft.add_rule("ip", "n", "c", nft.dnat(to, port)),
            ]
        )
    )
    assert carried(conn) == (0x20, 64)


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("meets", "built"),
    [
        (True, nft.match("iif", "lo")),
        (False, nft.match("iif", "lo", "!=")),
        (True, nft.match("iif", {"lo", 77})),
        (True, nft.match("iif", {nft.Element("lo", comment="this")})),
        (False, nft.match("iif", {nft.Element("lo", comment="this")}, "!=")),
        (True, (nft.set_meta("mark", nft.lookup("iif", {"lo": 5})), nft.match("mark", 5))),
        (True, nft.match(["iif", "udp dport"], {("lo", 5300)})),
        (True, nft.match("fib daddr . iif oif", {"lo", 0})),
        (False, nft.vmap("meta iif", {"lo": nft.accept()})),
    ],
    ids=range(9),
)
def test_devices_by_their_names(conn, meets, built):
    with nl.Conn(nl.NETLINK_ROUTE) as route:
        route.do(rtnl.set_link("lo", up=True))
    changes = [
        nft.add_table("ip", "t"),
        nft.add_chain("ip", "t", "c", hook="input"),
        nft.add_rule("ip", "t", "c", built, nft.counter()),
    ]
    conn.do(nft.Transaction(changes))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", 5300))
    ((*_, counter),) = (rule.exprs for rule in conn.dump(nft.rules("ip", "t", "c")))
    assert bool(counter.packets) is meets


@pytest.mark.kernel
def test_a_device_that_is_not_there(conn):
    conn.do(nft.Transaction([nft.add_table("ip", "t"), nft.add_chain("ip", "t", "c")]))
    for made, name in ((nft.match("oif", "77"), "77"), (nft.dup("10.0.0.1", "nowhere"), "nowhere")):
        with pytest.raises(nl.NetlinkError, match=f"device '{name}'"):
            conn.do(nft.add_rule("ip", "t", "c", made))
    assert conn.collect(nft.rules()) == []


@pytest.mark.kernel
@pytest.mark.parametrize("port", [nft.Range(40000, 40010), 40005, nft.lookup("udp dport", {5353: 40007})], ids=range(3))
def test_masquerading_by_other_ports(conn, port):
    with nl.Conn(nl.NETLINK_ROUTE) as route:
        route.do(rtnl.set_link("lo", up=True))
        route.do(rtnl.add_address("10.9.9.9/32", dev="lo"))
    chain = nft.add_chain("ip", "t", "c", type="nat", hook="postrouting", priority="srcnat")
    rule = nft.add_rule("ip", "t", "c", nft.match("udp dport", 5353), nft.masquerade(port))
    conn.do(nft.Transaction([nft.add_table("ip", "t"), chain, rule]))
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        receiver.bind(("127.0.0.1", 5353))
        receiver.settimeout(5)
        sender.bind(("127.0.0.1", 33001))
        sender.sendto(b"x", ("127.0.0.1", 5353))
        assert 40000 <= receiver.recvfrom(9)[1][1] <= 40010


@pytest.mark.kernel
def test_what_is_put_into_a_map_is_found_last(conn):
    """What the value needs is compared before the key is there."""
    with nl.Conn(nl.NETLINK_ROUTE) as route:
        route.do(rtnl.set_link("lo", up=True))
    made = nft.add_to_set("m", "ip saddr", value=nft.load("udp dport"))
    conn.do(
        nft.Transaction(
            [
                nft.add_table("ip", "t"),
                nft.add_chain("ip", "t", "c", hook="input"),
                nft.add_map("ip", "t", "m", "ipv4_addr", "inet_service", dynamic=True, size=9),
                nft.add_rule("ip", "t", "c", made),
            ]
        )
    )
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", 5300))
    assert [(str(one.key), one.value) for one in conn.dump(nft.elements("ip", "t", "m"))] == [("127.0.0.1", 5300)]


@pytest.mark.kernel
def test_many_registers(conn):
    """What is loaded stays while what is behind it is found."""
    with nl.Conn(nl.NETLINK_ROUTE) as route:
        route.do(rtnl.set_link("lo", up=True))
    fields = ["ip6 saddr", "ip6 daddr", nft.jhash(["ip6 saddr", "udp dport"], 1, offset=3)]
    mark = nft.lookup(["ip6 saddr", "udp dport"], {("::1", 5300): 7})
    conn.do(
        nft.Transaction(
            [
                nft.add_table("ip6", "t"),
                nft.add_chain("ip6", "t", "c", hook="input"),
                nft.add_map("ip6", "t", "m", "ipv6_addr . ipv6_addr . mark", "mark", dynamic=True, size=9),
                nft.add_rule("ip6", "t", "c", nft.add_to_set("m", fields, value=mark)),
            ]
        )
    )
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("::1", 5300))
    (one,) = conn.dump(nft.elements("ip6", "t", "m"))
    assert ([*map(str, one.key)], one.value) == (["::1", "::1", "3"], 7)


@pytest.mark.kernel
def test_what_rules_put_into_a_map(conn):
    with nl.Conn(nl.NETLINK_ROUTE) as route:
        route.do(rtnl.set_link("lo", up=True))
    given, found = nft.set_meta("mark", 5), nft.add_to_set("m", "ip saddr", value=nft.load("meta mark"))
    conn.do(
        nft.Transaction(
            [
                nft.add_table("ip", "t"),
                nft.add_chain("ip", "t", "c", hook="input"),
                nft.add_map("ip", "t", "m", "ipv4_addr", "mark", dynamic=True, size=9),
                nft.add_map("ip", "t", "n", "ipv4_addr . inet_service", "inet_service", dynamic=True, size=9),
                nft.add_set("ip", "t", "gone", "inet_service", [5300, 5301], dynamic=True, size=9),
                nft.add_rule("ip", "t", "c", given, found),
                nft.add_rule("ip", "t", "c", nft.add_to_set("n", ["ip saddr", "udp dport"], value=7)),
                nft.add_rule("ip", "t", "c", nft.delete_from_set("gone", "udp dport")),
            ]
        )
    )
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", 5300))
    assert [(str(one.key), one.value) for one in conn.dump(nft.elements("ip", "t", "m"))] == [("127.0.0.1", 5)]
    (one,) = conn.dump(nft.elements("ip", "t", "n"))
    assert (str(one.key[0]), one.key[1], one.value) == ("127.0.0.1", 5300, 7)
    assert [one.key for one in conn.dump(nft.elements("ip", "t", "gone"))] == [5301]
    with pytest.raises(ValueError, match="no map of values"):
        conn.do(nft.add_rule("ip", "t", "c", nft.add_to_set("gone", "udp dport", value=7)))
