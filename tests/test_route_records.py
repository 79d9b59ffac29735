"""Routes as records: from bytes, and from values."""

import contextlib
import random
import struct
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from operator import attrgetter

import pytest

import netlink_codec as nl
from netlink_codec import rtnl
from support import EDITS, edited, random_seed, recorded_messages, recorded_on_little_endian, stream

HEADER = struct.Struct("=8BI")
NESTED = 0x8000


def read(*attributes, family=2, dst_len=0, tos=0, table=254, type=1, flags=0):
    return rtnl.Route.from_bytes(HEADER.pack(family, dst_len, 0, tos, table, 4, 0, type, flags) + stream(*attributes))


def u16(number):
    return struct.pack("=H", number)


def u32(number):
    return struct.pack("=I", number)


def hop(*attributes, index, hops=0, flags=0):
    inside = stream(*attributes)
    return struct.pack("=HBBi", 8 + len(inside), flags, hops, index) + inside


def recorded(name):
    """The routes of a recording: bytes after the nlmsghdr, and the record."""
    for data in recorded_messages(name):
        (message,) = nl.unmarshal_messages(data)
        if message.type == rtnl.RTM_NEWROUTE:
            yield message.data, rtnl.Route.from_message(message)


@recorded_on_little_endian
@pytest.mark.parametrize("name", ["routes_4", "routes_10k"])
def test_a_recorded_route_gives_its_own_bytes_back(name):
    for data, route in recorded(name):
        route.check()
        assert bytes(route) == data
        assert route.unknown == ()
        assert route.message_type == rtnl.RTM_NEWROUTE


@recorded_on_little_endian
def test_the_routes_of_an_empty_system():
    first, second, *_ = (route for _, route in recorded("routes_4"))
    assert (first.dst, first.oif, first.table, first.via) == (IPv4Network("10.1.0.0/24"), 1, 254, None)
    assert (first.proto, first.scope, first.type) == (rtnl.RTPROT.BOOT, rtnl.RT_SCOPE.LINK, rtnl.RTN.UNICAST)
    assert (second.type, second.prefsrc) == (rtnl.RTN.LOCAL, IPv4Address("127.0.0.1"))


@recorded_on_little_endian
def test_many_routes():
    routes = [route for _, route in recorded("routes_10k")]
    assert len({route.identity for route in routes}) == len(routes) > 1000
    assert {route.via for route in routes} == {IPv4Address("192.168.0.2")}


# mdlayher/netlink#80; systemd/systemd#333: the kernel does not mark its containers as such.
@recorded_on_little_endian
def test_metrics_are_metrics_without_the_nested_bit():
    data = HEADER.pack(2, 0, 0, 0, 254, 4, 0, 1, 0) + bytes.fromhex("0c0008000800020078050000")
    assert rtnl.Route.from_bytes(data).metrics.mtu == 1400
    assert rtnl.Route.from_bytes(data[:-9] + b"\x80" + data[-8:]).metrics.mtu == 1400


def test_what_is_built_has_the_nested_bit():
    route = rtnl.Route(metrics=rtnl.Metrics(mtu=1400))
    assert bytes(route)[HEADER.size :] == stream((8 | NESTED, stream((2, u32(1400)))))


def test_every_metric():
    names = [
        "lock",
        "mtu",
        "window",
        "rtt",
        "rttvar",
        "ssthresh",
        "cwnd",
        "advmss",
        "reordering",
        "hoplimit",
        "initcwnd",
        "features",
        "rto_min",
        "initrwnd",
        "quickack",
    ]
    payload = stream(*[(code, u32(code)) for code in range(1, 16)], (16, b"cubic\0"), (17, u32(1)))
    metrics = read((8, payload)).metrics
    assert [getattr(metrics, name) for name in names] == list(range(1, 16))
    assert metrics.features == rtnl.RTAX_FEATURE.TIMESTAMP | rtnl.RTAX_FEATURE.ALLFRAG
    assert (metrics.cc_algo, metrics.fastopen_no_cookie) == ("cubic", 1)
    built = rtnl.Metrics(**dict(zip(names, range(1, 16), strict=True)), cc_algo="cubic", fastopen_no_cookie=1)
    assert built == metrics


# svinota/pyroute2#204, #409; rust-netlink/rtnetlink#8: the table is in the attribute, whatever the header says.
@pytest.mark.parametrize(("header", "attribute", "table"), [(252, 1000, 1000), (232, 1000, 1000), (254, None, 254)])
def test_the_table(header, attribute, table):
    attributes = [] if attribute is None else [(15, u32(attribute))]
    assert read(*attributes, table=header).table == table


@pytest.mark.parametrize("table", [0, 1, 254, 255])
def test_a_small_table_is_in_the_header(table):
    assert bytes(rtnl.Route(table=table)) == HEADER.pack(0, 0, 0, 0, table, 0, 0, 0, 0)


@pytest.mark.parametrize("table", [256, 1000, 0xFFFFFFFF])
def test_a_large_table_is_in_an_attribute(table):
    route = rtnl.Route(table=table)
    assert bytes(route)[4] in (0, 252)
    assert bytes(route)[HEADER.size :] == stream((15, u32(table)))
    assert route.table == table


# cloudfoundry/bosh-agent#230; vishvananda/netlink#1183, #326: no device, no gateway, no destination.
@pytest.mark.parametrize("type", ["blackhole", "unreachable", "prohibit", "throw"])
@pytest.mark.parametrize("family", [2, 10])
def test_a_special_default_route(type, family):
    kind = rtnl.RTN.of(type)
    route = read(family=family, type=kind)
    assert (route.type, route.type.word) == (kind, type)
    assert route.dst == (IPv4Network("0.0.0.0/0") if family == 2 else IPv6Network("::/0"))
    assert (route.oif, route.via, route.src, route.multipath) == (None, None, None, None)


@pytest.mark.parametrize("network", [IPv4Network("0.0.0.0/0"), IPv6Network("::/0")])
def test_a_default_route_is_built_without_a_destination(network):
    route = rtnl.Route(dst=network)
    assert len(bytes(route)) == HEADER.size
    assert (route.dst, route.family) == (network, 2 if network.version == 4 else 10)


def test_where_to_and_from_where():
    route = rtnl.Route(dst=IPv6Network("2001:db8::/32"), src=IPv6Network("2001:db8:1::/48"))
    assert (route.family, route.dst_len, route.src_len) == (10, 32, 48)
    assert (route.dst, route.src) == (IPv6Network("2001:db8::/32"), IPv6Network("2001:db8:1::/48"))


def test_gateways():
    four, six = IPv4Address("10.0.0.1"), IPv6Address("fe80::1")
    assert read((5, four.packed)).via == four
    other = read((18, u16(10) + six.packed))
    assert (other.gateway, other.rta_via, other.via) == (None, six, six)
    assert rtnl.Route(family=2, rta_via=six, table=254, proto=rtnl.RTPROT.STATIC, type=rtnl.RTN.UNICAST) == other
    assert read().via is None
    hardware = read((18, u16(17) + bytes.fromhex("020000000001")), family=28)
    assert (hardware.rta_via, hardware.via) == ("02:00:00:00:00:01", None)
    strange = read((18, u16(99) + b"abc"))
    with pytest.raises(nl.DecodeError, match="rta_via"):
        _ = strange.via


def test_several_ways():
    one = hop((5, bytes([10, 0, 0, 1])), index=3, hops=1, flags=4)
    two = hop((18, u16(10) + IPv6Address("fe80::1").packed), (99, b"new"), index=4)
    route = read((9, one + two))
    first, second = route.multipath
    assert (first.ifindex, first.weight, first.via, first.flags) == (3, 2, IPv4Address("10.0.0.1"), rtnl.RTNH_F.ONLINK)
    assert (second.ifindex, second.weight, second.via) == (4, 1, IPv6Address("fe80::1"))
    assert second.unknown == ((99, b"new"),)
    assert route.via is route.oif is None
    built = rtnl.Route(
        family=2,
        multipath=(
            rtnl.NextHop(ifindex=3, hops=1, flags=rtnl.RTNH_F.ONLINK, gateway=IPv4Address("10.0.0.1")),
            second,
        ),
    )
    assert bytes(built)[HEADER.size :] == stream((9, one + two))


# vishvananda/netlink#494; BIRD/bird#8: what encapsulates is said of each way.
def test_each_way_encapsulates_for_itself():
    labels = struct.pack(">I", 100 << 12 | 1 << 8)
    encap = stream((1, labels))
    assert len(encap) == 8
    ways = hop((21, u16(1)), (22, encap), index=3) + hop((21, u16(1)), (22 | NESTED, encap), (77, b"?"), index=4)
    first, second = read((9, ways)).multipath
    for way in first, second:
        assert (way.encap_type, way.encap) == (rtnl.LWTUNNEL_ENCAP.MPLS, rtnl.MplsEncap(labels=(100,)))
    assert second.unknown == ((77, b"?"),)


@pytest.mark.parametrize(
    ("encap", "wire"),
    [
        (rtnl.MplsEncap(labels=(100, 200), ttl=3), [(1, struct.pack(">II", 100 << 12, 200 << 12 | 256)), (2, b"\x03")]),
        (
            rtnl.IpEncap(id=5, dst=IPv4Address("10.0.0.1"), ttl=64, flags=4),
            [(1, struct.pack(">Q", 5)), (2, bytes([10, 0, 0, 1])), (4, b"\x40"), (6, struct.pack(">H", 4))],
        ),
        (
            rtnl.Ip6Encap(src=IPv6Address("fe80::1"), hoplimit=9, tc=1),
            [(3, IPv6Address("fe80::1").packed), (4, b"\x09"), (5, b"\x01")],
        ),
        (rtnl.Seg6Encap(srh=b"12345678"), [(1, b"12345678")]),
        (rtnl.Seg6LocalEncap(action=1, table=1000), [(1, u32(1)), (3, u32(1000))]),
        (rtnl.XfrmEncap(if_id=7), [(1, u32(7))]),
    ],
)
def test_encapsulations(encap, wire):
    route = rtnl.Route(encap=encap)
    kind = route.encap_type
    assert kind.word in ("mpls", "ip", "ip6", "seg6", "seg6local", "xfrm")
    assert bytes(route)[HEADER.size :] == stream((21, u16(kind)), (22 | NESTED, stream(*wire)))
    assert (type(route.encap), route.encap) == (type(encap), encap)
    assert rtnl.Route.from_bytes(bytes(route)).to_dict()["encap_type"] == kind.word


def test_an_encapsulation_that_is_not_known_is_kept():
    route = read((21, u16(99)), (22, stream((1, b"abcd"))))
    assert type(route.encap) is rtnl.Encap
    assert route.encap.unknown == ((1, b"abcd"),)
    assert route.encap_type == 99


def test_an_mpls_route():
    attributes = (
        (1, struct.pack(">I", 100 << 12 | 256)),
        (19, struct.pack(">I", 200 << 12 | 256)),
        (18, u16(17) + bytes.fromhex("020000000001")),
        (4, u32(3)),
        (26, b"\x01"),
    )
    data = HEADER.pack(28, 20, 0, 0, 254, 4, 0, 1, 0) + stream(*attributes)
    route = rtnl.MplsRoute.from_bytes(data)
    assert (route.label, route.newdst, route.oif) == ((100,), (200,), 3)
    assert (route.rta_via, route.ttl_propagate, route.table) == ("02:00:00:00:00:01", 1, 254)
    assert route.unknown == ()
    route.check()
    built = rtnl.MplsRoute(
        label=(100,),
        newdst=(200,),
        rta_via="02:00:00:00:00:01",
        oif=3,
        ttl_propagate=1,
        table=254,
        proto=rtnl.RTPROT(4),
    )
    assert built == route
    assert built.identity == (254, (100,))


def test_the_rest_of_the_attributes():
    route = read(
        (3, u32(7)),
        (11, u32(0x10002)),
        (12, struct.pack("=IIiiIIII", 1, 200, 3000, -113, 5, 6, 7, 8)),
        (16, u32(9)),
        (17, struct.pack("=QQQ", 1, 2, 3)),
        (20, b"\x03"),
        (23, u32(60)),
        (25, u32(1000)),
        (26, b"\x01"),
        (27, b"\x06"),
        (28, struct.pack(">H", 443)),
        (29, struct.pack(">H", 80)),
        (30, u32(42)),
        (31, struct.pack(">I", 0x12345)),
        family=10,
    )
    assert (route.iif, route.flow, route.mark, route.expires, route.uid) == (7, 0x10002, 9, 60, 1000)
    assert (route.ttl_propagate, route.ip_proto, route.sport, route.dport) == (1, 6, 443, 80)
    assert (route.nh_id, route.flowlabel) == (42, 0x12345)
    assert route.pref is rtnl.ICMPV6_ROUTER_PREF.LOW
    cache = route.cacheinfo
    assert (cache.clntref, cache.lastuse, cache.expires, cache.error, cache.used) == (1, 2.0, 30.0, -113, 5)
    assert (route.mfc_stats.packets, route.mfc_stats.bytes, route.mfc_stats.wrong_if) == (1, 2, 3)
    assert route.unknown == ()
    route.check()


def test_flags_keep_bits_without_a_name():
    route = read(flags=0x200 | 0x4 | 0x40000000)
    assert rtnl.RTM_F.CLONED in route.flags
    assert rtnl.RTM_F.ONLINK in route.flags
    assert route.flags == 0x40000204


def test_words():
    assert rtnl.RT_SCOPE.UNIVERSE.word == "global"
    assert rtnl.RT_SCOPE.of("global") is rtnl.RT_SCOPE.UNIVERSE
    assert rtnl.RTPROT.of("bird") is rtnl.RTPROT.BIRD
    assert rtnl.RTPROT.of("77").word == "77"
    with pytest.raises(ValueError, match="blackhole"):
        rtnl.RTN.of("black")


def test_what_makes_a_route_the_same():
    usual = {"dst": IPv4Network("10.0.0.0/8"), "table": 254, "metric": 5}
    one = rtnl.Route(**usual, oif=3)
    assert one.identity == rtnl.Route(**usual, oif=4, gateway=IPv4Address("10.0.0.1")).identity
    assert one.identity == rtnl.Route(**usual, multipath=(rtnl.NextHop(ifindex=3),)).identity
    for change in ({"metric": 6}, {"table": 1000}, {"tos": 8}, {"dst": IPv4Network("10.0.0.0/9")}):
        assert one.replace(**change).identity != one.identity
    local = rtnl.Route(dst=IPv6Network("fe80::/64"), table=254, metric=256, oif=3)
    assert local.identity != local.replace(oif=4).identity
    default = rtnl.Route(dst=IPv6Network("::/0"), table=254, metric=1024, gateway=IPv6Address("fe80::1"), oif=3)
    assert default.identity == default.replace(oif=4).identity


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"metric": -1}, nl.EncodeError),
        ({"tos": 256}, nl.EncodeError),
        ({"dst": "10.0.0.0/8"}, TypeError),
        ({"gateway": "10.0.0.1"}, TypeError),
        ({"multipath": (rtnl.Route(),)}, TypeError),
        ({"newdst": (1 << 20,)}, nl.EncodeError),
        ({"encap": rtnl.Metrics()}, TypeError),
        ({"via": IPv4Address("10.0.0.1")}, TypeError),
    ],
)
def test_what_is_refused_names_the_field(fields, error):
    with pytest.raises(error, match=next(iter(fields))):
        rtnl.Route(**fields)


@pytest.mark.parametrize("length", [0, 7, 5, 40])
def test_ways_with_a_wrong_length(length):
    route = read((9, struct.pack("=HBBi", length, 0, 0, 3)))
    with pytest.raises(nl.DecodeError, match="multipath"):
        _ = route.multipath
    assert "DecodeError" in repr(route)


REAL = [
    rtnl.Route(
        family=2,
        dst=IPv4Network("10.0.0.0/8"),
        table=1000,
        metrics=rtnl.Metrics(mtu=1400, cc_algo="cubic"),
        multipath=(
            rtnl.NextHop(ifindex=3, gateway=IPv4Address("10.0.0.1"), encap=rtnl.MplsEncap(labels=(1, 2))),
            rtnl.NextHop(ifindex=4, rta_via=IPv6Address("fe80::1")),
        ),
    ),
    rtnl.Route(
        dst=IPv6Network("2001:db8::/32"),
        oif=3,
        encap=rtnl.Ip6Encap(id=1),
        cacheinfo=rtnl.RouteCache(expires=3.0),
        newdst=(1, 2),
    ),
]


LOOKS = (
    rtnl.Route.check,
    rtnl.Route.to_dict,
    attrgetter("identity"),
    attrgetter("via"),
    attrgetter("multipath"),
)


@recorded_on_little_endian
def test_mutated_routes_are_read_or_refused():
    chance = random.Random(random_seed())
    real = [*map(bytes, REAL), *(data for data, _ in list(recorded("routes_4")))]
    for _ in range(1000):
        edits = [
            (chance.choice(EDITS), chance.randrange(999), chance.randrange(1 << 16))
            for _ in range(chance.randrange(1, 4))
        ]
        mutated = edited(chance.choice(real), edits)
        try:
            route = rtnl.Route.from_bytes(mutated)
        except nl.DecodeError:
            continue
        assert bytes(route) == mutated
        repr(route)
        for look in LOOKS:
            with contextlib.suppress(nl.DecodeError):
                look(route)
