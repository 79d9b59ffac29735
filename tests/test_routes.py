"""Routes on the real kernel, beside what `ip` says of them."""

import errno
import sys
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest

import netlink_codec as nl
from iproute import ip, ip_json, needs_ip
from namespaces import network
from netlink_codec import rtnl

pytestmark = pytest.mark.kernel

NODAD = rtnl.IFA_F.NODAD


@pytest.fixture
def conn():
    """In a namespace with two interfaces, red and blue, each with addresses of its own."""
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=30) as conn:
        conn.do(rtnl.set_link("lo", up=True))
        for number, name in enumerate(("red", "blue")):
            conn.do(rtnl.add_link(name, "ifb", up=True))
            conn.do(rtnl.add_address(f"10.0.{number}.1/24", name))
            conn.do(rtnl.add_address(f"2001:db8:{number}::1/64", name, flags=NODAD))
        yield conn


def index(conn, name):
    return conn.do(rtnl.link(name)).index


def the(conn, dst, **what):
    """The only route to there."""
    (route,) = conn.collect(rtnl.routes(dst=dst, **what))
    route.check()
    assert route.unknown == ()
    return route


# Beside ip ------------------------------------------------------------------------------------------------------------

TABLES = {254: "main", 255: "local", 253: "default"}
NAMES = {"cc_algo": "congestion", "rttvar": "rttvar", "fastopen_no_cookie": "fastopen_no_cookie"}


def way(hop, names):
    """A next hop as `ip -j -d route` has it."""
    found = {"dev": names[hop.ifindex], "weight": hop.weight, "flags": flag_names(hop.flags)}
    return found | gateway(hop)


def gateway(hop):
    if hop.gateway is not None:
        return {"gateway": str(hop.gateway)}
    if hop.via is not None:
        return {"via": {"family": "inet6" if hop.via.version == 6 else "inet", "host": str(hop.via)}}
    return {}


def flag_names(flags):
    return [word for flag, word in ((1, "dead"), (4, "onlink"), (2, "pervasive"), (16, "linkdown")) if flags & flag]


def as_ip_says(route, names):
    """A route as `ip -j -d route` has it."""
    found = {"type": route.type.word, "protocol": route.proto.word, "scope": route.scope.word}
    found["dst"] = "default" if route.dst.prefixlen == 0 else str(route.dst).removesuffix("/32").removesuffix("/128")
    found["table"] = TABLES.get(route.table, str(route.table))
    found["flags"] = flag_names(route.flags)
    found |= gateway(route)
    if route.src is not None:
        found["from"] = str(route.src)
    if route.oif is not None:
        found["dev"] = names[route.oif]
    if route.prefsrc is not None:
        found["prefsrc"] = str(route.prefsrc)
    if route.metric is not None:
        found["metric"] = route.metric
    if route.tos:
        found["tos"] = f"0x{route.tos:02x}"
    if route.nh_id is not None:
        found["nhid"] = route.nh_id
    if route.pref is not None:
        found["pref"] = route.pref.word
    if route.cacheinfo is not None and route.cacheinfo.expires:
        found["expires"] = int(route.cacheinfo.expires)
    if route.metrics is not None:
        values = {name: value for name, value in route.metrics.to_dict().items() if name not in ("features", "lock")}
        found["metrics"] = [{NAMES.get(name, name): value for name, value in values.items()}]
    if route.multipath is not None:
        found["nexthops"] = [way(hop, names) for hop in route.multipath]
    return found


SPECIAL = ("blackhole", "unreachable", "prohibit", "throw")


@needs_ip
def test_every_field_is_what_ip_says(conn):
    names = {link.index: link.name for link in conn.dump(rtnl.links())}
    ip(
        "route add 10.5.0.0/16 via 10.0.0.2 proto static",
        "route add 10.6.0.0/16 dev red table 1000 metric 5 mtu 1400 advmss 1300 congctl cubic initcwnd 10 proto bird",
        "route add 10.7.0.0/16 via inet6 2001:db8::2 dev red",
        "route add 10.8.0.0/16 nexthop via 10.0.0.2 dev red weight 3 nexthop via 10.1.1.1 dev blue onlink",
        "route add 10.9.0.0/16 via 10.0.0.3 src 10.0.1.1 tos 0x10",
        "route add 10.10.0.1 dev blue scope host",
        "nexthop add id 7 via 10.0.0.2 dev red",
        "route add 10.11.0.0/16 nhid 7",
        "route add unreachable default table 100",
        "route add default via 10.0.0.2",
        "-6 route add 2001:db8:5::/48 via 2001:db8::2 expires 5000",
        "-6 route add 2001:db8:6::/48 nexthop via 2001:db8::2 dev red nexthop via 2001:db8:1::2 dev blue weight 4",
        "-6 route add 2001:db8:7::/48 via 2001:db8::2 pref high metric 7 hoplimit 9",
        "-6 route add default via fe80::1 dev red",
        *[f"route add {type} 10.20.0.0/16 metric {metric}" for metric, type in enumerate(SPECIAL)],
        *[f"-6 route add {type} 2001:db8:20::/48 metric {metric + 1}" for metric, type in enumerate(SPECIAL)],
    )
    for family, option in ((2, "-4"), (10, "-6")):
        ours = []
        for route in conn.dump(rtnl.routes(family=family)):
            route.check()
            assert route.unknown == ()
            ours.append(as_ip_says(route, names))
        said = ip_json(f"{option} route show table all")
        for one in said:
            one.setdefault("table", "main")
            one.pop("nh_info", None)
            one["metrics"] = one.get("metrics") or None
            if one["metrics"] is None:
                del one["metrics"]
        key = lambda one: (one["dst"], one["table"], one.get("metric", 0), one.get("dev", ""), one["type"])  # noqa: E731
        ours.sort(key=key)
        said.sort(key=key)
        for mine, its in zip(ours, said, strict=True):
            if "expires" in its:
                assert abs(mine.pop("expires") - its.pop("expires")) <= 1
            assert mine == its


# Writing --------------------------------------------------------------------------------------------------------------


def test_a_gateway_of_either_family(conn):
    conn.do(rtnl.add_route("10.5.0.0/16", via="10.0.0.2"))
    route = the(conn, "10.5.0.0/16")
    assert (route.via, route.oif, route.table) == (IPv4Address("10.0.0.2"), index(conn, "red"), 254)
    assert (route.proto, route.scope, route.type) == (
        rtnl.RTPROT.STATIC,
        rtnl.RT_SCOPE.UNIVERSE,
        rtnl.RTN.UNICAST,
    )
    conn.do(rtnl.add_route("10.6.0.0/16", via="2001:db8::2", dev="red"))
    route = the(conn, IPv4Network("10.6.0.0/16"))
    assert (route.gateway, route.via) == (None, IPv6Address("2001:db8::2"))
    conn.do(rtnl.add_route("2001:db8:5::/48", via="2001:db8::2"))
    assert the(conn, "2001:db8:5::/48").via == IPv6Address("2001:db8::2")


@pytest.mark.parametrize(
    ("dst", "settings", "scope"),
    [
        ("10.5.0.0/16", {"dev": "red"}, "link"),
        ("10.5.0.0/16", {"via": "10.0.0.2"}, "global"),
        ("10.5.0.0/16", {"dev": "red", "scope": "host"}, "host"),
        ("10.5.0.1", {"dev": "red", "type": "local", "table": "local"}, "host"),
        ("10.5.0.255", {"dev": "red", "type": "broadcast", "table": 255}, "link"),
        ("10.5.0.0/16", {"type": "blackhole"}, "global"),
        ("2001:db8:5::/48", {"dev": "red"}, "global"),
    ],
)
def test_the_scope_is_that_which_ip_would_take(conn, dst, settings, scope):
    conn.do(rtnl.add_route(dst, **settings))
    assert the(conn, dst).scope.word == scope


def test_everything_that_can_be_said(conn):
    red = index(conn, "red")
    conn.do(
        rtnl.add_route(
            "10.5.0.0/16",
            via="10.99.0.1",
            dev=conn.do(rtnl.link("red")),
            src="10.0.1.1",
            metric=77,
            table=100_000,
            type="unicast",
            proto="bird",
            tos=0x10,
            mtu=1400,
            metrics=rtnl.Metrics(lock=1 << rtnl.RTAX.MTU, advmss=1300, cc_algo="cubic"),
            onlink=True,
        )
    )
    route = the(conn, "10.5.0.0/16", table=100_000)
    assert (route.via, route.oif, route.prefsrc) == (IPv4Address("10.99.0.1"), red, IPv4Address("10.0.1.1"))
    assert (route.metric, route.table, route.proto, route.tos) == (77, 100_000, rtnl.RTPROT.BIRD, 0x10)
    assert (route.metrics.mtu, route.metrics.advmss, route.metrics.cc_algo) == (1400, 1300, "cubic")
    assert route.metrics.lock == 1 << rtnl.RTAX.MTU
    assert route.flags == rtnl.RTM_F.ONLINK
    conn.do(
        rtnl.add_route(
            "2001:db8:5::/48", via="2001:db8::2", from_="2001:db8:9::/48", metric=5, pref="low", expires=5000
        )
    )
    route = the(conn, "2001:db8:5::/48")
    assert (route.src, route.metric, route.pref) == (IPv6Network("2001:db8:9::/48"), 5, rtnl.ICMPV6_ROUTER_PREF.LOW)
    assert 4000 < route.cacheinfo.expires <= 5000


@pytest.mark.parametrize("type", SPECIAL)
@pytest.mark.parametrize("family", [2, 10])
def test_special_routes(conn, family, type):
    dst = "10.5.0.0/16" if family == 2 else "2001:db8:5::/48"
    conn.do(rtnl.add_route(dst, type=type))
    route = the(conn, dst, type=type)
    assert (route.type.word, route.via) == (type, None)
    # IPv6 names the loopback interface, IPv4 none.
    assert route.oif == (None if family == 2 else 1)
    conn.do(rtnl.add_route("default", type=type, table=100, family=family))
    default = the(conn, "default", table=100, family=family)
    assert (default.type.word, default.dst.prefixlen) == (type, 0)
    conn.do(rtnl.delete_route(route))
    conn.do(rtnl.delete_route("default", type=type, table=100, family=family))
    assert conn.collect(rtnl.routes(type=type)) == []


def test_the_default_route_is_of_the_gateways_family(conn):
    conn.do(rtnl.add_route("default", via="2001:db8::2"))
    assert the(conn, "default", family=10, table="main").via == IPv6Address("2001:db8::2")
    assert conn.collect(rtnl.routes(dst="default", family=2)) == []
    conn.do(rtnl.add_route("default", via="2001:db8::2", dev="red", family=2))
    assert the(conn, "default", family=2).via == IPv6Address("2001:db8::2")


def test_default_routes_of_both_families(conn):
    conn.do(rtnl.add_route("default", via="10.0.0.2"))
    conn.do(rtnl.add_route("default", via="2001:db8::2"))
    for family, versions in ((None, [4, 6]), (0, [4, 6]), (2, [4]), (10, [6])):
        found = conn.collect(rtnl.routes(dst="default", table="main", family=family))
        assert [route.dst.version for route in found] == versions
    assert {route.family for route in conn.dump(rtnl.routes(family=0))} == {2, 10}
    assert conn.do(rtnl.flush_routes(dst="default")) == 2


def test_the_destination_says_the_family(conn):
    conn.do(rtnl.add_route("2001:db8:5::/48", via="2001:db8::2"))
    dump = rtnl.routes(dst="2001:db8:5::/48")
    assert rtnl.Route.from_message(dump.message).family == 10
    assert len(conn.collect(dump)) == 1


def test_what_ipv4_passes_over(conn):
    red = index(conn, "red")
    record = rtnl.Route(
        dst=IPv4Network("10.5.0.0/16"),
        oif=red,
        table=254,
        type=rtnl.RTN.UNICAST,
        scope=rtnl.RT_SCOPE.LINK,
        expires=100,
        pref=rtnl.ICMPV6_ROUTER_PREF.LOW,
        src=IPv4Network("10.9.0.0/16"),
    )
    conn.do(nl.Request(nl.Message(rtnl.RTM_NEWROUTE, nl.NLM_F_CREATE, record)))
    route = the(conn, "10.5.0.0/16")
    assert (route.expires, route.cacheinfo, route.pref, route.src) == (None, None, None, None)


def test_what_ipv6_passes_over(conn):
    red, dst = index(conn, "red"), IPv6Network("2001:db8:5::/48")
    record = rtnl.Route(dst=dst, oif=red, table=254, type=rtnl.RTN.UNICAST, scope=rtnl.RT_SCOPE.LINK)
    conn.do(nl.Request(nl.Message(rtnl.RTM_NEWROUTE, nl.NLM_F_CREATE, record)))
    assert the(conn, "2001:db8:5::/48").scope == rtnl.RT_SCOPE.UNIVERSE


def test_a_gateway_that_names_its_interface(conn):
    conn.do(rtnl.add_route("2001:db8:5::/48", via="fe80::9%blue"))
    route = the(conn, "2001:db8:5::/48")
    assert (str(route.via), route.oif) == ("fe80::9", index(conn, "blue"))
    conn.do(rtnl.add_route("2001:db8:6::/48", nexthops=[rtnl.Hop("fe80::9%blue"), rtnl.Hop("fe80::9%red")]))
    route = the(conn, "2001:db8:6::/48")
    assert sorted(way.ifindex for way in route.multipath) == sorted((index(conn, "red"), index(conn, "blue")))


def test_several_ways(conn):
    red, blue = index(conn, "red"), index(conn, "blue")
    hops = [
        rtnl.Hop("10.0.0.2", "red", weight=3),
        rtnl.Hop("2001:db8:1::2", "blue"),
        rtnl.Hop("10.1.1.1", blue, weight=256, onlink=True),
    ]
    conn.do(rtnl.add_route("10.5.0.0/16", nexthops=hops))
    route = the(conn, "10.5.0.0/16")
    assert (route.oif, route.via) == (None, None)
    assert [(hop.ifindex, str(hop.via), hop.weight) for hop in route.multipath] == [
        (red, "10.0.0.2", 3),
        (blue, "2001:db8:1::2", 1),
        (blue, "10.1.1.1", 256),
    ]
    assert route.multipath[2].flags & rtnl.RTNH_F.ONLINK
    for dev in ("red", "blue", red, blue):
        assert conn.collect(rtnl.routes(oif=dev, dst="10.5.0.0/16")) == [route]
    conn.do(rtnl.delete_route(route))
    assert conn.collect(rtnl.routes(dst="10.5.0.0/16")) == []


@pytest.mark.parametrize(
    "encap",
    [
        rtnl.IpEncap(id=5, dst=IPv4Address("192.0.2.1"), src=IPv4Address("0.0.0.0"), ttl=7, tos=0, flags=0),
        rtnl.Ip6Encap(id=6, dst=IPv6Address("2001:db8::9"), src=IPv6Address("::"), hoplimit=7, tc=0, flags=0),
    ],
)
def test_encapsulation(conn, encap):
    conn.do(rtnl.add_route("10.5.0.0/16", via="10.0.0.2", encap=encap))
    route = the(conn, "10.5.0.0/16")
    assert route.encap == encap
    conn.do(rtnl.add_route("10.6.0.0/16", nexthops=[rtnl.Hop("10.0.0.2", encap=encap), rtnl.Hop("10.0.1.2")]))
    first, second = the(conn, "10.6.0.0/16").multipath
    assert (first.encap, second.encap) == (encap, None)


@needs_ip
def test_a_next_hop_object(conn):
    ip("nexthop add id 7 via 10.0.0.2 dev red", "nexthop add id 8 blackhole")
    conn.do(rtnl.add_route("10.5.0.0/16", nhid=7))
    route = the(conn, "10.5.0.0/16")
    assert (route.nh_id, route.via, route.oif) == (7, IPv4Address("10.0.0.2"), index(conn, "red"))
    conn.do(rtnl.replace_route("10.5.0.0/16", nhid=8))
    route = the(conn, "10.5.0.0/16")
    assert route.nh_id == 8
    conn.do(rtnl.delete_route(route))
    assert conn.collect(rtnl.routes(dst="10.5.0.0/16")) == []


@pytest.mark.parametrize("dst", ["10.5.0.0/16", "2001:db8:5::/48"])
def test_add_append_replace_change_delete(conn, dst):
    first, second, third = ("10.0.0.2", "10.0.0.3", "10.0.1.4")
    if ":" in dst:
        first, second, third = ("2001:db8::2", "2001:db8::3", "2001:db8:1::4")

    def gateways():
        found = conn.collect(rtnl.routes(dst=dst))
        return sorted(str(hop.via) for route in found for hop in (route.multipath or (route,)))

    with pytest.raises(nl.NotFound) as caught:
        conn.do(rtnl.change_route(dst, via=first))
    assert caught.value.errno == errno.ENOENT
    conn.do(rtnl.add_route(dst, via=first))
    with pytest.raises(nl.Exists, match=f"add route {dst} via {first}"):
        conn.do(rtnl.add_route(dst, via=first))
    assert conn.do(rtnl.add_route(dst, via=first, exist_ok=True)) is None
    conn.do(rtnl.append_route(dst, via=second))
    assert gateways() == [first, second]
    conn.do(rtnl.delete_route(dst, via=first))
    assert gateways() == [second]
    conn.do(rtnl.replace_route(dst, via=third))
    assert gateways() == [third]
    conn.do(rtnl.change_route(dst, via=first))
    assert gateways() == [first]
    with pytest.raises(nl.NotFound) as caught:
        conn.do(rtnl.delete_route(dst, via=third))
    assert caught.value.errno == errno.ESRCH
    assert conn.do(rtnl.delete_route(dst, via=third, missing_ok=True)) is None
    conn.do(rtnl.delete_route(dst))
    assert gateways() == []
    for table in (254, 4711):
        with pytest.raises(nl.NotFound):
            conn.do(rtnl.delete_route(dst, table=table))
        conn.do(rtnl.delete_route(dst, table=table, missing_ok=True))
    conn.do(rtnl.delete_route(dst, dev="no", missing_ok=True))


def test_a_route_is_deleted_by_its_record(conn):
    ways = [{"via": "10.0.0.2"}, {"via": "10.0.0.3"}, {"dev": "blue"}, {"via": "2001:db8::2", "dev": "red"}]
    conn.do(rtnl.add_route("10.5.0.0/16", metric=9, mtu=1400, **ways[0]))
    for one in ways[1:]:
        conn.do(rtnl.append_route("10.5.0.0/16", metric=9, **one))
    conn.do(rtnl.add_route("10.5.0.0/16", table=1000, via="10.0.0.2"))
    *_, last = conn.collect(rtnl.routes(dst="10.5.0.0/16", table="main"))
    conn.do(rtnl.delete_route(last))
    left = conn.collect(rtnl.routes(dst="10.5.0.0/16"))
    assert len(left) == 4
    assert last not in left
    with pytest.raises(nl.NotFound):
        conn.do(rtnl.delete_route(last))
    for metric in (1, 2, 3):
        conn.do(rtnl.add_route("2001:db8:5::/48", via="2001:db8::2", metric=metric))
    (second,) = (one for one in conn.dump(rtnl.routes(dst="2001:db8:5::/48")) if one.metric == 2)
    conn.do(rtnl.delete_route(second))
    assert [one.metric for one in conn.dump(rtnl.routes(dst="2001:db8:5::/48"))] == [1, 3]
    for family in (2, 10):
        for route in conn.collect(rtnl.routes(family=family)):
            conn.do(rtnl.delete_route(route, missing_ok=True))
        assert conn.collect(rtnl.routes(family=family)) == []


def test_flush(conn):
    conn.batch([rtnl.add_route(f"10.{number}.0.0/16", via="10.0.0.2", table=1000) for number in range(1, 251)])
    conn.do(rtnl.add_route("2001:db8:5::/48", dev="red", table=1000))
    conn.do(rtnl.add_route("10.5.0.0/16", dev="blue", proto="bird"))
    before = len(conn.collect(rtnl.routes(table="main")))
    assert conn.do(rtnl.flush_routes(table=1000, family=2)) == 250
    assert conn.do(rtnl.flush_routes(table=1000)) == 1
    assert conn.do(rtnl.flush_routes(table=4711, family=10)) == 0
    assert conn.do(rtnl.flush_routes(proto="bird")) == 1
    assert len(conn.collect(rtnl.routes(table="main"))) == before - 1
    assert conn.do(rtnl.flush_routes(oif="red")) > 0
    assert conn.collect(rtnl.routes(table="main", oif="red")) == []
    with pytest.raises(nl.NotFound):
        conn.do(rtnl.flush_routes(oif="no"))


# Reading --------------------------------------------------------------------------------------------------------------


def test_filters(conn):
    red, blue = index(conn, "red"), index(conn, "blue")
    conn.batch(
        [
            rtnl.add_route("10.5.0.0/16", via="10.0.0.2"),
            rtnl.add_route("10.6.0.0/16", dev="blue", table=1000, proto="bird"),
            rtnl.add_route("10.7.0.0/16", type="blackhole", table=1000),
            rtnl.add_route("2001:db8:5::/48", dev="red", table=1000, proto=77),
        ]
    )

    def found(**what):
        both = []
        for one in (conn, lax):
            both.append({str(route.dst) for route in one.dump(rtnl.routes(**what))})
        strictly, laxly = both
        assert strictly == laxly
        return strictly

    with nl.Conn(nl.NETLINK_ROUTE, strict=False) as lax:
        assert found(table=1000) == {"10.6.0.0/16", "10.7.0.0/16", "2001:db8:5::/48"}
        assert found(table=1000, family=10) == {"2001:db8:5::/48"}
        assert found(table=1000, family=2) == {"10.6.0.0/16", "10.7.0.0/16"}
        assert found(oif="blue", table=1000) == found(oif=blue, table=1000) == {"10.6.0.0/16"}
        assert found(oif=red, family=2, table="main") == {"10.0.0.0/24", "10.5.0.0/16"}
        assert found(proto="bird") == {"10.6.0.0/16"}
        assert found(proto=77) == {"2001:db8:5::/48"}
        assert found(type="blackhole") == {"10.7.0.0/16"}
        assert found(dst="10.5.0.0/16") == {"10.5.0.0/16"}
        assert found(dst=IPv6Network("2001:db8:5::/48")) == {"2001:db8:5::/48"}
        assert "10.0.0.1/32" in found(table="local", type="local")
        assert found(table=4711) == found(table=4711, family=2) == found(table=4711, family=10) == set()
        # A kernel that is not strict sends everything.
        assert len(lax.execute(rtnl.routes(table=1000).message)) > 10
    with pytest.raises(nl.NotFound):
        conn.collect(rtnl.routes(oif="no"))


# google/gvisor#998; firedancer-io/firedancer#5376: of a family without routes, the kernel sends those of all.
def test_foreign_families(conn):
    assert conn.collect(rtnl.mpls_routes()) == []
    assert {route.family for route in conn.dump(rtnl.routes())} == {2, 10}


def route_message(family, flags=0, dst_len=0):
    header = bytes([family, dst_len, 0, 0, 254, 4, 0, 1]) + flags.to_bytes(4, sys.byteorder)
    return nl.Message(rtnl.RTM_NEWROUTE, 0, header)


def test_what_is_no_route_of_the_table_is_left_out():
    decode = rtnl.routes().decode
    assert decode(route_message(2)).dst == IPv4Network("0.0.0.0/0")
    assert decode(route_message(10)).dst == IPv6Network("::/0")
    assert decode(route_message(2, flags=0x200)) is None  # an entry of the cache
    assert decode(route_message(28, dst_len=20)) is None
    assert decode(route_message(128)) is None
    assert rtnl.mpls_routes().decode(route_message(28, dst_len=20)).family == 28
    assert rtnl.mpls_routes().decode(route_message(2)) is None


def refused(error, dst, **settings):
    with pytest.raises(error):
        rtnl.add_route(dst, **settings)


def test_what_makes_no_request():
    refused(ValueError, "10.0.0.1/8", via="10.0.0.2")
    refused(ValueError, "everywhere")
    refused(ValueError, "10.0.0.0/8", via="10.0.0")
    refused(ValueError, "10.0.0.0/8", type="black")
    refused(ValueError, "10.0.0.0/8", table="mine")
    refused(ValueError, "10.0.0.0/8", nexthops=[rtnl.Hop("10.0.0.2", weight=0)])
    refused(ValueError, "10.0.0.0/8", dev=0)
    refused(nl.EncodeError, "10.0.0.0/8", metric=-1)
    refused(TypeError, "10.0.0.0/8", colour=3)
    refused(TypeError, 5)
