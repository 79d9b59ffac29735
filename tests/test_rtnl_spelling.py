"""What a person writes to the functions of the route family: what is refused before anything is sent, and how."""

from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface, IPv6Network

import pytest

import netlink_codec as nl
from netlink_codec import rtnl

V4, V6 = IPv4Address("10.0.0.1"), IPv6Address("2001:db8::5")


# Families -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [rtnl.add_address, rtnl.replace_address])
@pytest.mark.parametrize(
    ("address", "settings", "other"),
    [
        ("10.17.0.1/24", {"peer": "2001:db8::5"}, "peer 2001:db8::5 is IPv6"),
        ("10.17.0.1/24", {"peer": IPv6Interface("2001:db8::5/64")}, "peer 2001:db8::5 is IPv6"),
        (IPv4Interface("10.17.0.1/24"), {"peer": V6}, "peer 2001:db8::5 is IPv6"),
        ("2001:db8::1/64", {"peer": "10.0.0.1"}, "peer 10.0.0.1 is IPv4"),
        ("10.17.0.1/24", {"broadcast": "2001:db8::5"}, "broadcast 2001:db8::5 is IPv6"),
        ("10.17.0.1/24", {"broadcast": V6}, "broadcast 2001:db8::5 is IPv6"),
        ("2001:db8::1/64", {"broadcast": "10.0.0.1"}, "broadcast 10.0.0.1 is IPv4"),
    ],
)
def test_an_address_is_of_one_family(verb, address, settings, other):
    ip = str(address).partition("/")[0]
    with pytest.raises(ValueError, match=f"^{ip} is IPv[46], and {other}$"):
        verb(address, "lan0", **settings)


def test_an_address_that_is_deleted_is_of_one_family():
    with pytest.raises(ValueError, match=r"^10\.17\.0\.1 is IPv4, and peer 2001:db8::5 is IPv6$"):
        rtnl.delete_address("10.17.0.1/24", "lan0", peer="2001:db8::5")
    with pytest.raises(ValueError, match=r"10.0.0.1 is IPv4, and address 2001:db8::5 is IPv6"):
        rtnl.delete_address(rtnl.Address(index=2, prefixlen=24, local=V4, address=V6))


VERBS = [rtnl.add_route, rtnl.append_route, rtnl.replace_route, rtnl.change_route, rtnl.delete_route]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("dst", "settings", "other"),
    [
        ("2001:db8:4::/48", {"from_": "10.0.0.0/8"}, "from_ 10.0.0.0/8 is IPv4"),
        ("10.4.0.0/16", {"from_": "2001:db8::/32"}, "from_ 2001:db8::/32 is IPv6"),
        ("10.4.0.0/16", {"src": "2001:db8::5"}, "src 2001:db8::5 is IPv6"),
        ("2001:db8:4::/48", {"src": V4}, "src 10.0.0.1 is IPv4"),
        ("2001:db8:4::/48", {"via": "10.0.0.1"}, "via 10.0.0.1 is IPv4"),
        ("2001:db8:4::/48", {"nexthops": [rtnl.Hop(V6), rtnl.Hop(V4)]}, "via 10.0.0.1 is IPv4"),
        ("10.4.0.0/16", {"family": 10}, "address 10.4.0.0/16 is IPv4"),
        ("default", {"from_": "2001:db8::/32", "via": V4}, "via 10.0.0.1 is IPv4"),
        ("default", {"family": 2, "src": V6}, "address 2001:db8::5 is IPv6"),
        ("default", {"family": 10, "via": V4}, "via 10.0.0.1 is IPv4"),
        ("default", {"src": V4, "from_": "2001:db8::/32"}, "src 10.0.0.1 is IPv4"),
    ],
)
def test_a_route_is_of_one_family(verb, dst, settings, other):
    with pytest.raises(ValueError, match=f"^the route to {dst}.* is IPv[46], and {other}$"):
        verb(dst, dev="lan0", **settings)


def test_a_record_of_a_route_that_is_deleted_is_of_one_family():
    dst = IPv6Network("2001:db8::/32")
    for fields, name in (
        ({"prefsrc": V4}, "src"),
        ({"gateway": V4}, "via"),
        ({"rta_via": V4}, "via"),
        ({"multipath": (rtnl.NextHop(gateway=V4),)}, "via"),
    ):
        with pytest.raises(ValueError, match=f"^the route to 2001:db8::/32 is IPv6, and {name} 10.0.0.1 is IPv4$"):
            rtnl.delete_route(rtnl.Route(family=10, dst=dst, **fields))


@pytest.mark.parametrize(
    ("settings", "family"),
    [
        ({}, 2),
        ({"via": V4}, 2),
        ({"via": V6}, 10),
        ({"src": V6}, 10),
        ({"src": V4, "via": V6}, 2),
        ({"from_": "2001:db8::/32"}, 10),
        ({"nexthops": [rtnl.Hop(V6), rtnl.Hop(V6)]}, 10),
        ({"nexthops": [rtnl.Hop(V6), rtnl.Hop(V4)]}, 2),
        ({"family": 2, "via": V6}, 2),
    ],
)
def test_the_family_of_a_default_route(settings, family):
    route = rtnl.Route.from_message(rtnl.add_route("default", **settings).message)
    assert (route.family, route.dst.version) == (family, 4 if family == 2 else 6)
    assert route.dst.prefixlen == 0


@pytest.mark.parametrize("family", [7, 28, -1, "inet"])
def test_a_family_that_is_not_known(family):
    for make in (
        lambda: rtnl.addresses(family=family),
        lambda: rtnl.routes(family=family),
        lambda: rtnl.flush_addresses("lan0", family=family),
        lambda: rtnl.flush_routes(family=family),
        lambda: rtnl.add_route("default", family=family),
        lambda: rtnl.watch(rtnl.Route, family=family),
    ):
        with pytest.raises(ValueError, match=rf"AF_INET \(2\), AF_INET6 \(10\) .*, not {family!r}$"):
            make()


def test_a_destination_of_another_family_than_is_asked_for():
    with pytest.raises(ValueError, match=r"the family 10 is IPv6, and dst 10\.0\.0\.0/8 is IPv4"):
        rtnl.routes(dst="10.0.0.0/8", family=10)


@pytest.mark.parametrize("setting", [{"pref": "low"}, {"expires": 100}, {"from_": "10.0.0.0/8"}])
def test_settings_of_ipv6_routes(setting):
    (name,) = setting
    with pytest.raises(ValueError, match=rf"^{name} is for IPv6, and the route to 10\.4\.0\.0/16 is not$"):
        rtnl.add_route("10.4.0.0/16", dev="lan0", **setting)


@pytest.mark.parametrize("setting", [{"scope": "link"}, {"label": "lan0:1"}])
def test_settings_of_ipv4_addresses(setting):
    (name,) = setting
    with pytest.raises(ValueError, match=f"^{name} is for IPv4, and 2001:db8::1 is not$"):
        rtnl.add_address("2001:db8::1/64", "lan0", **setting)


def test_the_scope_of_an_ipv6_route():
    with pytest.raises(ValueError, match=r"^scope is for IPv4, and the route to 2001:db8::/32 is not$"):
        rtnl.add_route("2001:db8::/32", dev="lan0", scope="link")


# Scopes of addresses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: rtnl.add_address("fe80::9%blue/64", "red"),
        lambda: rtnl.add_address(IPv6Interface("fe80::9%blue/64"), "red"),
        lambda: rtnl.add_address("2001:db8::1", "red", peer="fe80::9%blue"),
        lambda: rtnl.delete_address("fe80::9%blue", "red"),
        lambda: rtnl.add_route("fe80::9%blue", dev="red"),
        lambda: rtnl.add_route("2001:db8::/32", dev="red", src="fe80::9%blue"),
        lambda: rtnl.add_route("2001:db8::/32", dev="red", from_="fe80::9%blue/128"),
        lambda: rtnl.routes(dst="fe80::9%blue"),
    ],
    ids=range(8),
)
def test_an_address_has_no_scope(make):
    with pytest.raises(ValueError, match=r"fe80::9%blue.*: the kernel takes addresses without a scope; `dev` says"):
        make()


def test_a_gateway_says_its_interface():
    plain = IPv6Address("fe80::9")

    def route(*arguments, **settings):
        request = rtnl.add_route("2001:db8::/32", *arguments, **settings)
        return request, rtnl.Route.from_message(request.make(7) if request.late else request.message)

    for via in ("fe80::9%blue", IPv6Address("fe80::9%blue")):
        for dev in ({}, {"dev": "blue"}):
            request, made = route(via=via, **dev)
            assert (request.late, made.gateway, made.oif) == ((nl.Device("blue"),), plain, 7)
    for dev in (3, rtnl.Link(index=3, name="blue")):
        _, made = route(via="fe80::9%3", dev=dev)
        assert (made.gateway, made.oif) == (plain, 3)
    _, made = route(via="fe80::9%blue", dev=rtnl.Link(index=3, name="blue"))
    assert made.oif == 3
    _, made = route(via="fe80::9%3")
    assert made.oif == 3
    _, made = route(nexthops=[rtnl.Hop("fe80::9%3"), rtnl.Hop("fe80::9%4", weight=2)])
    assert [(way.gateway, way.ifindex) for way in made.multipath] == [(plain, 3), (plain, 4)]
    made = rtnl.Route.from_message(rtnl.add_route("10.0.0.0/8", via="fe80::9%3").message)
    assert (made.rta_via, made.oif) == (plain, 3)


@pytest.mark.parametrize("dev", ["red", 3, rtnl.Link(index=3, name="red")])
def test_a_gateway_that_says_another_interface(dev):
    with pytest.raises(ValueError, match=r"^the gateway fe80::9%blue is on blue, and dev is (red|interface 3)$"):
        rtnl.add_route("2001:db8::/32", via="fe80::9%blue", dev=dev)
    with pytest.raises(ValueError, match=r"^the gateway fe80::9%blue is on blue"):
        rtnl.add_route("2001:db8::/32", nexthops=[rtnl.Hop("fe80::9%blue", dev)])


def test_a_record_does_not_drop_a_scope():
    with pytest.raises(nl.EncodeError, match=r"fe80::9%blue has a scope"):
        rtnl.Route(rta_via=IPv6Address("fe80::9%blue"))


# Words and types ------------------------------------------------------------------------------------------------------


def test_words_in_any_case():
    def type_of(word):
        return rtnl.Route.from_message(rtnl.add_route("10.0.0.0/8", type=word).message).type

    assert {type_of(word) for word in ("blackhole", "Blackhole", "BLACKHOLE", "6", 6)} == {rtnl.RTN.BLACKHOLE}
    for word in ("up", "UP", "Up"):
        assert rtnl.Link.from_message(rtnl.set_link(3, operstate=word).message).operstate == rtnl.IF_OPER.UP
    route = rtnl.Route.from_message(rtnl.add_route("Default", table="Local", scope="GLOBAL").message)
    assert (route.dst.prefixlen, route.table, route.scope) == (0, 255, rtnl.RT_SCOPE.UNIVERSE)
    with pytest.raises(ValueError, match=r"'blackholes' is none of unspec, unicast"):
        rtnl.RTN.of("blackholes")
    with pytest.raises(TypeError, match=r"RTN: a member, a number or a word, not 1.5"):
        rtnl.RTN.of(1.5)


@pytest.mark.parametrize("dev", [None, 1.5, True, b"lan0"])
def test_what_is_no_interface(dev):
    for make in (
        lambda: rtnl.set_link(dev, up=True),
        lambda: rtnl.link(dev),
        lambda: rtnl.delete_link(dev),
        lambda: rtnl.add_address("10.0.0.1", dev),
    ):
        with pytest.raises(TypeError, match=r"an interface is its index, its name or a Link, not "):
            make()


@pytest.mark.parametrize("hops", [["10.0.0.2"], rtnl.Hop("10.0.0.2"), 5, [rtnl.NextHop()], "10.0.0.2"])
def test_what_are_no_next_hops(hops):
    with pytest.raises(TypeError, match=r"^nexthops are a sequence of Hop, "):
        rtnl.add_route("10.0.0.0/8", nexthops=hops)


@pytest.mark.parametrize("info", [None, 5, rtnl.Link(name="x")])
def test_what_is_no_kind(info):
    with pytest.raises(TypeError, match=r"what a kind adds is a LinkData"):
        rtnl.add_link("x", info)


@pytest.mark.parametrize("dst", [None, 5, 1.5])
def test_what_is_no_network(dst):
    with pytest.raises(TypeError, match=r"a network is wanted"):
        rtnl.add_route(dst)


def test_a_record_says_all_there_is_to_delete():
    route = rtnl.Route(family=2, type=rtnl.RTN.UNICAST)
    with pytest.raises(TypeError, match=r"a record says all, and here is metric, dev beside it"):
        rtnl.delete_route(route, metric=5, dev="lan0")
    with pytest.raises(TypeError, match=r"a record says itself what its peer is"):
        rtnl.delete_address(rtnl.Address(index=2, local=V4), peer="10.0.0.2")


def test_what_cannot_be_watched():
    with pytest.raises(TypeError, match=r"dev is an index or a Link, not a name"):
        rtnl.watch(rtnl.Address, dev="lan0")
    with pytest.raises(TypeError, match=r"an interface is its index, its name or a Link, not 1.5"):
        rtnl.watch(rtnl.Address, dev=1.5)
    with pytest.raises(ValueError, match=r"table is for routes"):
        rtnl.watch(rtnl.Link, rtnl.Address, table="main")
    with pytest.raises(ValueError, match=r"family is for addresses and routes"):
        rtnl.watch(rtnl.Link, family=2)
    assert set(rtnl.watch(rtnl.Address, family=0).groups) == {5, 9}


def test_what_settings_are_is_there_to_be_named():
    assert "mtu" in rtnl.LinkSettings.__annotations__
    assert rtnl.NewLinkSettings.__annotations__.keys() > rtnl.LinkSettings.__annotations__.keys()
    assert "peer" in rtnl.AddressSettings.__annotations__
    assert "via" in rtnl.RouteSettings.__annotations__
    assert isinstance("lan0", rtnl.Dev)
    assert isinstance(V4, rtnl.Destination)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (rtnl.add_route, ["10.0.0.0/8"]),
        (rtnl.delete_route, ["10.0.0.0/8"]),
        (rtnl.replace_route, ["10.0.0.0/8"]),
        (rtnl.add_address, ["10.0.0.1/24", "lo"]),
        (rtnl.replace_address, ["10.0.0.1/24", "lo"]),
    ],
)
def test_a_setting_that_there_is_not(function, arguments):
    with pytest.raises(TypeError, match=rf"^{function.__name__}\(\) got an unexpected keyword argument 'metrik'$"):
        function(*arguments, metrik=1)
