"""What the `nft` tool shows of what was made here, and what is read here of what it made."""

from ipaddress import IPv4Address, IPv4Network

import pytest

import netlink_codec as nl
from namespaces import network
from netlink_codec import nft
from nft_tool import needs_nft, nft_json, nft_run, nft_text

pytestmark = [pytest.mark.kernel, needs_nft]


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_NETFILTER, timeout=30) as conn:
        yield conn


def kinds(kind):
    return [one[kind] for one in nft_json() if kind in one]


RULES = [
    (["ct state new accept"], [nft.match("ct state", "new"), nft.accept()]),
    (
        ["ct state established,related accept"],
        [nft.match("ct state", "established,related"), nft.accept()],
    ),
    (["ip saddr 10.0.0.0/8 drop"], [nft.match("ip saddr", "10.0.0.0/8"), nft.drop()]),
    (["ip saddr != 10.0.0.0/9 drop"], [nft.match("ip saddr", IPv4Network("10.0.0.0/9"), "!="), nft.drop()]),
    (["ip daddr 10.0.0.1 drop"], [nft.match("ip daddr", IPv4Address("10.0.0.1")), nft.drop()]),
    (
        ["ip saddr 10.0.0.1-10.0.0.9 drop"],
        [nft.match("ip saddr", nft.Range("10.0.0.1", "10.0.0.9")), nft.drop()],
    ),
    (["ip6 saddr fe80::/10 accept"], [nft.match("ip6 saddr", "fe80::/10"), nft.accept()]),
    (["tcp dport 22 accept"], [nft.match("tcp dport", 22), nft.accept()]),
    (["tcp dport 1024-65535 accept"], [nft.match("tcp dport", nft.Range(1024, 65535)), nft.accept()]),
    (["udp sport != 53 drop"], [nft.match("udp sport", 53, "!="), nft.drop()]),
    (["tcp dport > 1023 drop"], [nft.match("tcp dport", 1023, ">"), nft.drop()]),
    (["tcp dport { 22, 80-90 } accept"], [nft.match("tcp dport", {22, nft.Range(80, 90)}), nft.accept()]),
    (["ip saddr != { 10.0.0.1, 10.0.0.2 } drop"], [nft.match("ip saddr", ["10.0.0.1", "10.0.0.2"], "!="), nft.drop()]),
    (
        ["ip saddr . tcp dport { 10.0.0.0/8 . 80-90 } accept"],
        [nft.match(["ip saddr", "tcp dport"], {(IPv4Network("10.0.0.0/8"), nft.Range(80, 90))}), nft.accept()],
    ),
    (["iifname \"eth0\" accept"], [nft.match("iifname", "eth0"), nft.accept()]),
    (["iifname \"eth*\" accept"], [nft.match("iifname", "eth*"), nft.accept()]),
    (["meta mark 0x00000007 accept"], [nft.match("meta mark", 7), nft.accept()]),
    (["meta mark 0x00000001-0x00000100 accept"], [nft.match("meta mark", nft.Range(1, 0x100)), nft.accept()]),
    (["meta mark & 0x000000ff == 0x00000007 accept"], [nft.match("meta mark", 7, mask=0xFF), nft.accept()]),
    (["meta l4proto tcp accept"], [nft.match("l4proto", "tcp"), nft.accept()]),
    (["icmp type echo-request accept"], [nft.match("icmp type", 8), nft.accept()]),
    (["icmpv6 type nd-neighbor-solicit accept"], [nft.match("icmpv6 type", 135), nft.accept()]),
    (["ether saddr 02:00:00:00:00:01 drop"], [nft.match("ether saddr", "02:00:00:00:00:01"), nft.drop()]),
    (["tcp flags & (syn | ack) == syn drop", "tcp flags syn / syn,ack drop"],
     [nft.match("tcp flags", 2, mask=0x12), nft.drop()]),
    (["tcp dport vmap { 22 : accept, 80 : jump other }"],
     [nft.vmap("tcp dport", {22: nft.accept(), 80: "jump other"})]),
    (["ip saddr @plain drop"], [nft.match("ip saddr", "@plain"), nft.drop()]),
    (["meta mark @marks drop"], [nft.match("meta mark", "@marks"), nft.drop()]),
    (["ip saddr . tcp dport @pairs accept"], [nft.match(["ip saddr", "tcp dport"], "@pairs"), nft.accept()]),
    (["tcp dport vmap @verdicts"], [nft.vmap("tcp dport", "@verdicts")]),
    (["counter packets 0 bytes 0"], [nft.counter()]),
    (["limit rate 10/second", "limit rate 10/second burst 5 packets"], [nft.limit("10/second")]),
    (["limit rate over 1 mbytes/minute"], [nft.limit("1 mbytes/minute", over=True)]),
    (["quota over 1000 bytes"], [nft.quota(1000, over=True)]),
    (["ct count over 10"], [nft.connlimit(10, over=True)]),
    (['log prefix "abc " level info'], [nft.log("abc ", level="info")]),
    (['log prefix "abc" group 3'], [nft.log("abc", group=3)]),
    (["reject"], [nft.reject()]),
    (["meta l4proto tcp reject with tcp reset"], [nft.reject("tcp reset")]),
    (["reject with icmpx admin-prohibited", "reject with icmpx type admin-prohibited"],
     [nft.reject("admin-prohibited")]),
    (["meta mark set 0x00000007"], [nft.set_meta("mark", 7)]),
    (["ct mark set 0x00000008"], [nft.set_ct("mark", 8)]),
    (["counter name \"hits\""], [nft.named("counter", "hits")]),
    (["update @seen { ip saddr timeout 30s limit rate 10/second }",
      "update @seen { ip saddr timeout 30s limit rate 10/second burst 5 packets }"],
     [nft.add_to_set("seen", "ip saddr", nft.limit("10/second"), timeout=30, update=True)]),
    (["jump other"], [nft.jump("other")]),
    (["goto other"], [nft.goto("other")]),
    (["return"], [nft.return_()]),
    (["continue"], [nft.continue_()]),
    (["synproxy mss 1460 wscale 7 timestamp sack-perm"],
     [nft.match("l4proto", "tcp"), nft.synproxy(1460, 7, nft.SYNPROXY_F(15))]),
]  # fmt: skip


@pytest.mark.parametrize(("shown", "built"), RULES, ids=[shown[0] for shown, _ in RULES])
def test_a_rule_as_nft_shows_it(conn, shown, built):
    conn.do(
        nft.Transaction(
            [
                nft.add_table("inet", "t"),
                nft.add_chain("inet", "t", "other"),
                nft.add_chain("inet", "t", "c", hook="input"),
                nft.add_set("inet", "t", "plain", "ipv4_addr", interval=True),
                nft.add_set("inet", "t", "marks", "mark", [nft.Range(1, 9)], interval=True),
                nft.add_set("inet", "t", "pairs", "ipv4_addr . inet_service"),
                nft.add_map("inet", "t", "verdicts", "inet_service", "verdict"),
                nft.add_object("inet", "t", "hits", nft.CounterObj()),
                nft.add_set("inet", "t", "seen", "ipv4_addr", timeouts=True, dynamic=True, size=100),
            ]
        )
    )
    conn.do(nft.add_rule("inet", "t", "c", *built, comment="mine"))
    lines = [line.strip() for line in nft_text("list chain inet t c").splitlines()]
    assert any(f'{text} comment "mine"' in lines[-3] for text in shown), lines[-3]
    # And what nft makes of its own words is what was built.
    (mine,) = conn.collect(nft.rules("inet", "t", "c"))
    nft_run(f'flush chain inet t c\nadd rule inet t c {shown[0]} comment "mine"')
    (its,) = conn.collect(nft.rules("inet", "t", "c"))
    assert its.comment == mine.comment
    its.check()
    if not any(word in shown[0] for word in ("{", "-65535", "-0x", "-10.0", "/8", "mbytes", "log", "synproxy")):
        assert [one.to_dict() for one in mine.expressions] == [one.to_dict() for one in its.expressions]


NAT = [
    ("snat ip to 192.0.2.1", "srcnat", [nft.snat("192.0.2.1")]),
    ("snat ip to 192.0.2.1-192.0.2.9", "srcnat", [nft.snat(nft.Range("192.0.2.1", "192.0.2.9"))]),
    ("snat ip6 to 2001:db8::1", "srcnat", [nft.snat("2001:db8::1")]),
    ("masquerade", "srcnat", [nft.masquerade()]),
    ("masquerade random,persistent", "srcnat", [nft.masquerade(flags=nft.NAT_RANGE(12))]),
    ("tcp dport 80 dnat ip to 192.0.2.1:8080", "dstnat", [nft.match("tcp dport", 80), nft.dnat("192.0.2.1", 8080)]),
    ("tcp dport 80 redirect to :8080", "dstnat", [nft.match("tcp dport", 80), nft.redirect(8080)]),
]


@pytest.mark.parametrize(("shown", "priority", "built"), NAT, ids=[one[0] for one in NAT])
def test_translation_as_nft_shows_it(conn, shown, priority, built):
    hook = "postrouting" if priority == "srcnat" else "prerouting"
    chain = nft.add_chain("inet", "t", "c", type="nat", hook=hook, priority=priority)
    conn.do(nft.Transaction([nft.add_table("inet", "t"), chain, nft.add_rule("inet", "t", "c", *built)]))
    assert shown in nft_text("list chain inet t c")
    (chain,) = kinds("chain")
    assert (chain["hook"], chain["type"]) == (hook, "nat")


@pytest.mark.parametrize(
    ("family", "shown"), [("ip", "reject"), ("ip6", "reject"), ("bridge", "ether type ip ip saddr")]
)
def test_each_family(conn, family, shown):
    conn.do(nft.Transaction([nft.add_table(family, "t"), nft.add_chain(family, "t", "c", hook="input")]))
    address = "2001:db8::1" if family == "ip6" else "10.0.0.1"
    field = "ip6 saddr" if family == "ip6" else "ip saddr"
    conn.do(nft.add_rule(family, "t", "c", nft.match(field, address), *([nft.reject()] if family != "bridge" else [])))
    text = nft_text("list chain " + family + " t c")
    assert f"{field} {address}" in text
    assert family == "bridge" or "reject" in text
    (rule,) = conn.collect(nft.rules())
    assert len(rule.expressions) == (4 if family == "bridge" else 3)
    with pytest.raises(ValueError, match="IPv") if family != "bridge" else pytest.raises(nl.NotFound):
        wrong = "ip saddr" if family == "ip6" else "ip6 saddr"
        conn.do(
            nft.add_rule(
                family,
                "t",
                "c" if family != "bridge" else "x",
                nft.match(wrong, "::1" if family != "ip6" else "1.1.1.1"),
            )
        )


def test_ingress(conn):
    chain = nft.add_chain("netdev", "t", "c", hook="ingress", dev="lo", priority=-500)
    conn.do(nft.Transaction([nft.add_table("netdev", "t"), chain]))
    (shown,) = kinds("chain")
    assert (shown["hook"], shown["prio"]) == ("ingress", -500)
    assert '"lo"' in nft_text()
    found = conn.do(nft.chain("netdev", "t", "c"))
    assert found.hook.dev == "lo" or found.hook.devs == ("lo",)


# google/nftables#123, #177, #225, #226, #355
def test_sets_as_nft_shows_them(conn):
    add = nft.add_set
    conn.do(
        nft.Transaction(
            [
                nft.add_table("inet", "t", comment="whose"),
                add("inet", "t", "a", "ipv4_addr", ["192.0.2.1"]),
                add("inet", "t", "b", "mark", [1]),
                add("inet", "t", "c", "ifname", ["eth0"]),
                add(
                    "inet",
                    "t",
                    "d",
                    "ipv4_addr",
                    ["192.0.2.0/24", nft.Range("1.0.0.1", "1.0.0.3"), "255.0.0.0/8"],
                    interval=True,
                ),
                add("inet", "t", "e", "ipv4_addr . inet_service", [("10.0.0.0/8", nft.Range(80, 90))], interval=True),
                add("inet", "t", "f", "ipv6_addr", ["2001:db8::1"], timeout=60, comment="mine", size=9),
                add("inet", "t", "g", "inet_service", [nft.Range(1024, 65535), 0], interval=True),
                add("inet", "t", "h", "ipv4_addr", ["0.0.0.0/0"], interval=True),
                add("inet", "t", "i", "ifname", ["eth*"], interval=True),
            ]
        )
    )
    shown = {one["name"]: one for one in kinds("set")}
    elements = {name: one.get("elem") for name, one in shown.items()}
    assert elements["a"] == ["192.0.2.1"]
    assert elements["b"] == [1]
    assert elements["c"] == ["eth0"]
    assert elements["d"] == [
        {"range": ["1.0.0.1", "1.0.0.3"]},
        {"prefix": {"addr": "192.0.2.0", "len": 24}},
        {"prefix": {"addr": "255.0.0.0", "len": 8}},
    ]
    assert elements["e"] == [{"concat": [{"prefix": {"addr": "10.0.0.0", "len": 8}}, {"range": [80, 90]}]}]
    assert elements["g"] == [0, {"range": [1024, 65535]}]
    assert elements["h"] == [{"prefix": {"addr": "0.0.0.0", "len": 0}}]
    assert elements["i"] == ["eth*"]
    assert (shown["f"]["comment"], shown["f"]["timeout"], shown["f"]["size"]) == ("mine", 60, 9)
    assert shown["d"]["flags"] == ["interval"]
    assert 'comment "whose"' in nft_text()


RULESET = """
table inet t {
 comment "whose"
 set a { typeof ip saddr . tcp dport; elements = { 192.0.2.1 . 22 } }
 set b {
  type ipv4_addr; flags interval
  elements = { 192.0.2.0/24, 198.51.100.10-198.51.100.20, 255.255.255.0/24, 10.0.0.1 }
 }
 set c { type ipv4_addr . inet_service; flags interval; elements = { 10.0.0.0/8 . 80-90, 1.2.3.4 . 22 } }
 set d { type mark; flags interval; elements = { 0x10-0x20, 0x100 } }
 set e { typeof ip length; elements = { 22 } }
 set f { type ipv4_addr; flags timeout; timeout 5m; elements = { 1.2.3.4 comment "hi" timeout 1m } }
 set g { type ifname; flags interval; elements = { "eth*" } }
 set h { type ct_state; elements = { new, established } }
 map m { type ipv4_addr : verdict; elements = { 1.2.3.4 : accept, 1.2.3.5: jump x } }
 map n { type ipv4_addr : inet_service; flags interval; elements = { 1.2.3.0/24 : 80, 1.2.4.0/24: 81 } }
 map o { type inet_service : interval ipv4_addr; elements = { 80 : 1.2.3.0/24 } }
 chain x { }
}
"""


def test_what_nft_made_is_read_and_written_back(conn):
    nft_run(RULESET)
    assert conn.do(nft.table("inet", "t")).comment == "whose"
    Net, Ip, Range = IPv4Network, IPv4Address, nft.Range
    wanted = {
        "a": [(Ip("192.0.2.1"), 22)],
        "b": [
            Net("10.0.0.1/32"),
            Net("192.0.2.0/24"),
            Range(Ip("198.51.100.10"), Ip("198.51.100.20")),
            Net("255.255.255.0/24"),
        ],
        "c": [(Net("1.2.3.4/32"), 22), (Net("10.0.0.0/8"), Range(80, 90))],
        "d": [Range(0x10, 0x20), 0x100],
        "e": [22],
        "f": [Ip("1.2.3.4")],
        "g": ["eth*"],
        "h": [nft.CT_STATE.NEW, nft.CT_STATE.ESTABLISHED],
        "m": [Ip("1.2.3.4"), Ip("1.2.3.5")],
        "n": [Net("1.2.3.0/24"), Net("1.2.4.0/24")],
        "o": [80],
    }
    before = nft_json()
    sets = conn.collect(nft.sets())
    elements = {one.name: conn.collect(nft.elements("inet", "t", one)) for one in sets}
    for name, keys in wanted.items():
        assert {one.key for one in elements[name]} == set(keys)
    assert [(one.comment, one.timeout) for one in elements["f"]] == [("hi", 60)]
    assert [one.value for one in elements["n"]] == [80, 81]
    assert [one.value for one in elements["o"]] == [Net("1.2.3.0/24")]
    changes = [
        change
        for one in sets
        for change in (
            nft.flush_set("inet", "t", one),
            nft.add_elements(
                "inet",
                "t",
                one,
                [nft.Element(e.key, e.value, timeout=e.timeout, comment=e.comment) for e in elements[one.name]],
            ),
        )
    ]
    conn.do(nft.Transaction(changes))
    assert ignoring_time(nft_json()) == ignoring_time(before)


def ignoring_time(value):
    if isinstance(value, dict):
        return {name: ignoring_time(one) for name, one in value.items() if name != "expires"}
    return sorted(map(ignoring_time, value), key=repr) if isinstance(value, list) else value
