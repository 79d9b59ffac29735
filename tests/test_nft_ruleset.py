"""What there is, on the real kernel: list, get one, reset; objects, sets of all kinds."""

from ipaddress import IPv4Address, IPv4Network, IPv6Network

import pytest

import netlink_codec as nl
from namespaces import network
from netlink_codec import nft, rtnl

pytestmark = pytest.mark.kernel


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_NETFILTER, timeout=30) as conn:
        conn.do(
            nft.Transaction([nft.add_table("inet", "t"), nft.add_chain("inet", "t", "c"), nft.add_table("ip", "u")])
        )
        yield conn


def test_tables_and_chains(conn):
    base = nft.add_chain("ip", "u", "in", hook="input", priority="mangle + 5", policy="drop", comment="why")
    conn.do(base)
    assert [(one.family.word, one.name) for one in conn.dump(nft.tables())] == [("inet", "t"), ("ip", "u")]
    assert [one.name for one in conn.dump(nft.tables("ip"))] == ["u"]
    assert [one.name for one in conn.dump(nft.chains())] == ["c", "in"]
    assert [one.name for one in conn.dump(nft.chains(table="t"))] == ["c"]
    chain = conn.do(nft.chain("ip", "u", "in"))
    chain.check()
    assert (chain.hook.hooknum, chain.hook.priority) == (nft.HOOK.INPUT, -145)
    assert (chain.policy, chain.type, chain.comment) == (nft.VERDICT.DROP, "filter", "why")
    assert chain.identity == (nft.NFPROTO.IPV4, "u", "in")
    conn.do(nft.add_chain("ip", "u", "in", hook="input", priority=-145, policy="accept", exist_ok=True))
    assert conn.do(nft.chain("ip", "u", "in")).policy is nft.VERDICT.ACCEPT
    conn.do(nft.rename_chain("inet", "t", conn.do(nft.chain("inet", "t", "c")).handle, "d"))
    assert [one.name for one in conn.dump(nft.chains("inet"))] == ["d"]


def test_what_is_not_there(conn):
    for request in (
        nft.table("inet", "x"),
        nft.chain("inet", "t", "x"),
        nft.rule("inet", "t", "c", 99),
        nft.set_("inet", "t", "x"),
        nft.object_("inet", "t", "x", "counter"),
        nft.element("inet", "t", "x", "10.0.0.1"),
    ):
        with pytest.raises(nl.NotFound):
            conn.do(request)
    assert conn.collect(nft.rules("inet", "x")) == []
    assert conn.collect(nft.sets("inet", "x")) == []


def test_rules(conn):
    rules = [nft.add_rule("inet", "t", "c", nft.match("tcp dport", port), nft.counter(7, 700)) for port in (22, 80)]
    conn.do(nft.Transaction([*rules, nft.add_chain("ip", "u", "c"), nft.add_rule("ip", "u", "c", nft.accept())]))
    assert len(conn.collect(nft.rules())) == 3
    assert len(conn.collect(nft.rules("inet", "t", "c"))) == 2
    one = conn.collect(nft.rules("inet", "t", "c"))[1]
    assert conn.do(nft.rule("inet", "t", "c", one.handle)).expressions == one.expressions
    meta, _, payload, compare, counter = one.exprs
    assert (meta.key, payload.offset, compare.data.value) == (nft.META.L4PROTO, 2, b"\0\x50")
    assert (counter.packets, counter.bytes) == (7, 700)
    assert bytes(nft.Rule.from_bytes(bytes(one))) == bytes(one)
    assert [list(rule.exprs)[-1].packets for rule in conn.dump(nft.rules("inet", "t", "c", reset=True))] == [7, 7]
    assert [list(rule.exprs)[-1].packets for rule in conn.dump(nft.rules("inet", "t", "c"))] == [0, 0]


def test_a_rule_that_was_read_can_be_added(conn):
    conn.do(nft.add_rule("inet", "t", "c", nft.match("ip saddr", "10.0.0.0/9"), nft.limit("5/minute"), nft.reject()))
    (rule,) = conn.collect(nft.rules("inet", "t", "c"))
    conn.do(nft.add_rule("inet", "t", "c", *rule.expressions))
    one, other = conn.collect(nft.rules("inet", "t", "c"))
    assert one.expressions == other.expressions


OBJECTS = [
    (nft.CounterObj(packets=5, bytes=50), "counter"),
    (nft.QuotaObj(bytes=1000, flags=nft.QUOTA_F.INV), "quota"),
    (nft.LimitObj(rate=10, unit=1, burst=5, type=nft.LIMIT.PKTS, flags=nft.INV(0)), "limit"),
    (nft.CtHelperObj(name="ftp", l4proto=6), "ct-helper"),
    (nft.CtTimeoutObj(l3proto=2, l4proto=6, data=nft.CtTimeoutPolicy(established=100, close=4)), "ct-timeout"),
    (nft.CtExpectObj(l3proto=2, l4proto=6, dport=9876, timeout=60_000, size=12), "ct-expect"),
    (nft.SynproxyObj(mss=1460, wscale=7, flags=nft.SYNPROXY_F.MSS | nft.SYNPROXY_F.WSCALE), "synproxy"),
    (nft.ConnlimitObj(count=10, flags=nft.INV.INV), "connlimit"),
]


@pytest.mark.parametrize(("data", "type"), OBJECTS, ids=[type for _, type in OBJECTS])
def test_objects(conn, data, type):
    try:
        conn.do(nft.add_object("ip", "u", "one", data, comment="mine"))
    except nl.NotFound:
        # The kernel has no such type, or no such helper.
        assert type in ("ct-helper", "ct-timeout")
        return
    found = conn.do(nft.object_("ip", "u", "one", type))
    found.check()
    assert (found.name, found.type.word, found.comment) == ("one", type, "mine")
    for name, value in data.to_dict().items():
        assert value == found.data.to_dict()[name] or value.items() <= found.data.to_dict()[name].items()
    assert [one.name for one in conn.dump(nft.objects("ip", "u", type))] == ["one"]
    assert conn.collect(nft.objects("inet")) == []
    conn.do(nft.delete_object("ip", "u", "one", type))
    conn.do(nft.delete_object("ip", "u", "one", type, missing_ok=True))
    assert conn.collect(nft.objects()) == []


def test_counters_of_objects_are_reset(conn):
    conn.do(nft.add_object("inet", "t", "n", nft.CounterObj(packets=5, bytes=50)))
    assert conn.do(nft.object_("inet", "t", "n", "counter", reset=True)).data.packets == 5
    assert conn.do(nft.object_("inet", "t", "n", "counter")).data.packets == 0
    assert [one.data.packets for one in conn.dump(nft.objects(reset=True))] == [0]


def test_an_object_that_is_not_known_is_kept():
    raw = nft.Object(name="x", type=99)
    assert raw.type.name == "99"
    assert raw.data is None


SETS = [
    ("ipv4_addr", {}, [IPv4Address("10.0.0.1"), IPv4Address("10.0.0.2")]),
    ("ipv6_addr", {"interval": True}, [IPv6Network("2001:db8::/33"), IPv6Network("ff00::/8")]),
    (
        "ipv4_addr",
        {"interval": True},
        [nft.Range(IPv4Address("1.0.0.1"), IPv4Address("1.0.0.2")), IPv4Network("255.0.0.0/8")],
    ),
    ("inet_service", {"interval": True}, [22, nft.Range(80, 90), nft.Range(1024, 65535)]),
    ("mark", {"interval": True}, [nft.Range(1, 0x100)]),
    ("mark", {}, [1, 0x100]),
    ("ifname", {}, ["eth0", "eth1"]),
    ("ifname", {"interval": True}, ["eth*", "lo"]),
    ("ipv4_addr . inet_service", {}, [(IPv4Address("10.0.0.1"), 80)]),
    ("ipv4_addr . inet_service", {"interval": True}, [(IPv4Network("10.0.0.0/8"), nft.Range(80, 90))]),
    ("ifname . mark", {"interval": True}, [("eth0", nft.Range(1, 9))]),
    ("ether_addr . ipv4_addr . inet_proto", {}, [("02:00:00:00:00:01", IPv4Address("10.0.0.1"), 6)]),
]


@pytest.mark.parametrize("number", range(len(SETS)))
def test_sets_of_each_kind(conn, number):
    key, settings, keys = SETS[number]
    conn.do(nft.add_set("inet", "t", "s", key, keys, size=100, comment="mine", **settings))
    known = conn.do(nft.set_("inet", "t", "s"))
    known.check()
    assert (known.key, known.comment, known.desc.size, known.value) == (key, "mine", 100, None)
    assert known.unknown == ()
    assert set(keys) == {one.key for one in conn.dump(nft.elements("inet", "t", "s"))}
    for one in keys:
        assert conn.do(nft.element("inet", "t", "s", one)).key == one
    conn.do(nft.delete_elements("inet", "t", known, keys))
    assert conn.collect(nft.elements("inet", "t", known)) == []
    conn.do(nft.delete_set("inet", "t", "s"))
    conn.do(nft.delete_set("inet", "t", "s", missing_ok=True))


def test_neighbouring_intervals(conn):
    networks = [IPv4Network((0x0A000000 + 256 * number, 24)) for number in range(8)]
    conn.do(
        nft.add_map(
            "inet",
            "t",
            "m",
            "ipv4_addr",
            "inet_service",
            dict(zip(networks, range(80, 88), strict=True)),
            interval=True,
        )
    )
    found = conn.collect(nft.elements("inet", "t", "m"))
    assert [(one.key, one.value) for one in found] == list(zip(networks, range(80, 88), strict=True))
    assert conn.do(nft.element("inet", "t", "m", "10.0.3.77")).key == networks[3]
    with pytest.raises(nl.NotFound):
        conn.do(nft.element("inet", "t", "m", "10.0.8.1"))


# google/nftables#96, #98; crowdsecurity/cs-firewall-bouncer#82
def test_timeouts(conn):
    given = [nft.Element("10.0.0.1", timeout=600, comment="why"), nft.Element("10.0.0.2")]
    conn.do(nft.add_set("inet", "t", "s", "ipv4_addr", given, timeout=60, expressions=[nft.counter()]))
    known = conn.do(nft.set_("inet", "t", "s"))
    assert known.timeout == 60
    assert nft.SET_F.TIMEOUT in known.flags
    one, other = sorted(conn.dump(nft.elements("inet", "t", "s")), key=lambda element: element.key)
    assert (one.timeout, one.comment, other.timeout) == (600, "why", None)
    assert 0 < one.expiration <= 600
    assert 0 < other.expiration <= 60
    assert one.expressions == (nft.counter(),)
    assert conn.do(nft.element("inet", "t", "s", "10.0.0.1", reset=True)).comment == "why"
    assert len(list(conn.dump(nft.elements("inet", "t", "s", reset=True)))) == 2


def test_maps(conn):
    verdicts = {22: nft.accept(), 80: "jump c", nft.Range(100, 200): nft.drop()}
    conn.do(
        nft.Transaction(
            [
                nft.add_object("inet", "t", "n", nft.CounterObj()),
                nft.add_map("inet", "t", "v", "inet_service", "verdict", verdicts, interval=True),
                nft.add_map("inet", "t", "o", "ipv4_addr", "counter", {"10.0.0.1": "n"}),
                nft.add_map("inet", "t", "d", "inet_service", "ipv4_addr . inet_service", {80: ("10.0.0.1", 8080)}),
            ]
        )
    )
    found = {one.key: one.value for one in conn.dump(nft.elements("inet", "t", "v"))}
    assert found[80] == nft.Verdict(code=nft.VERDICT.JUMP, chain="c")
    assert found[nft.Range(100, 200)].code is nft.VERDICT.DROP
    assert [one.value for one in conn.dump(nft.elements("inet", "t", "o"))] == ["n"]
    assert [one.value for one in conn.dump(nft.elements("inet", "t", "d"))] == [(IPv4Address("10.0.0.1"), 8080)]
    assert [conn.do(nft.set_("inet", "t", name)).value for name in "vod"] == [
        "verdict",
        "counter",
        "ipv4_addr . inet_service",
    ]


def test_the_element_for_all_others(conn):
    conn.do(nft.add_map("inet", "t", "v", "ipv4_addr", "verdict", {"10.0.0.1": "drop", nft.CATCHALL: "accept"}))
    found = {str(one.key): one.value.code for one in conn.dump(nft.elements("inet", "t", "v"))}
    assert found == {"10.0.0.1": nft.VERDICT.DROP, "*": nft.VERDICT.ACCEPT}
    conn.do(nft.delete_elements("inet", "t", "v", [nft.CATCHALL]))
    assert len(conn.collect(nft.elements("inet", "t", "v"))) == 1


def test_flowtables(conn):
    assert conn.collect(nft.flowtables()) == []
    (message,) = nft.add_flowtable("inet", "t", "f", ["eth0", "eth1"], priority="filter").messages(None, None)
    record = nft.Flowtable.from_message(message)
    assert (record.name, record.hook.devs, record.hook.priority) == ("f", ("eth0", "eth1"), 0)
    (message,) = nft.add_flowtable("inet", "t", "f", "eth0").messages(None, None)
    assert nft.Flowtable.from_message(message).hook.devs == ("eth0",)
    (message,) = nft.delete_flowtable("inet", "t", "f", ["eth1"]).messages(None, None)
    assert nft.Flowtable.from_message(message).hook == nft.FlowtableHook(devs=("eth1",))


def test_the_interfaces_of_a_chain(conn):
    with nl.Conn(nl.NETLINK_ROUTE) as route:
        for name in ("v0", "v1"):
            route.do(rtnl.add_link(name, "bridge"))
    chain = nft.add_chain("netdev", "n", "c", hook="ingress", dev=["v0", "v1"])
    conn.do(nft.Transaction([nft.add_table("netdev", "n"), chain]))
    conn.do(nft.add_chain("netdev", "n", "c", hook="ingress", dev="lo", exist_ok=True))
    assert conn.do(nft.chain("netdev", "n", "c")).hook.devs == ("lo", "v0", "v1")
    conn.do(nft.delete_chain("netdev", "n", "c", dev=["v1", "lo"]))
    assert conn.do(nft.chain("netdev", "n", "c")).hook.devs == ("v0",)
    with pytest.raises(nl.NotFound):
        conn.do(nft.delete_chain("netdev", "n", "c", dev="v1"))
