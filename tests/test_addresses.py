"""Addresses on the real kernel, beside what `ip` says of them."""

import errno
import threading
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, ip_interface

import pytest

import netlink_codec as nl
from iproute import ip, ip_json, needs_ip
from namespaces import network
from netlink_codec import rtnl

pytestmark = pytest.mark.kernel

FOR_EVER = 0xFFFFFFFF
NODAD = rtnl.IFA_F.NODAD


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=10) as conn:
        yield conn


def make(conn, *names):
    """Interfaces that are up; their indexes."""
    return [conn.do(rtnl.add_link(name, "ifb", up=True)).index for name in names]


def plain(address):
    """An address as `ip -j -d address` has it."""
    flags = {
        rtnl.IFA_F.SECONDARY: "secondary" if address.family == 2 else "temporary",
        rtnl.IFA_F.NODAD: "nodad",
        rtnl.IFA_F.DEPRECATED: "deprecated",
        rtnl.IFA_F.NOPREFIXROUTE: "noprefixroute",
        rtnl.IFA_F.TENTATIVE: "tentative",
        rtnl.IFA_F.MANAGETEMPADDR: "mngtmpaddr",
    }
    life = address.cacheinfo
    found = {
        "family": "inet" if address.family == 2 else "inet6",
        "local": str(address.ip),
        "prefixlen": address.prefixlen,
        "scope": address.scope.word,
        "valid_life_time": FOR_EVER if life.valid is None else life.valid,
        "preferred_life_time": FOR_EVER if life.preferred is None else life.preferred,
        "address": None if address.peer is None else str(address.peer),
        "broadcast": None if address.broadcast is None else str(address.broadcast),
        "label": address.label,
        "metric": address.metric,
        "protocol": None if address.proto is None else address.proto.word,
    }
    found |= {word: True for flag, word in flags.items() if address.flags & flag}
    if life.valid is not None:
        found["dynamic"] = True
    return {name: value for name, value in found.items() if value is not None}


@needs_ip
def test_every_field_is_what_ip_says(conn):
    indexes = dict(zip(make(conn, "red", "blue"), ("red", "blue"), strict=True)) | {1: "lo"}
    ip(
        "link set lo up",
        "address add 10.0.0.1/24 dev red",
        "address add 10.0.0.2/24 brd 10.0.0.255 dev red",
        "address add 10.9.0.1 peer 10.9.0.2/32 dev red label red:x metric 77 scope link",
        "address add 10.1.0.1/16 dev blue valid_lft 5000 preferred_lft 4000 noprefixroute",
        "-6 address add 2001:db8::1/64 dev red nodad",
        "-6 address add 2001:db8:1::1 peer 2001:db8:1::2/128 dev red nodad metric 5",
        "-6 address add 2001:db8::2/64 dev blue nodad preferred_lft 0",
    )
    ours = {name: [] for name in indexes.values()}
    for address in conn.collect(rtnl.addresses()):
        address.check()
        assert address.unknown == ()
        ours[indexes[address.index]].append(plain(address))
    said = {link["ifname"]: link["addr_info"] for link in ip_json("address")}
    for name in ours:
        mine, its = (sorted(side[name], key=lambda one: (one["local"], one["prefixlen"])) for side in (ours, said))
        for one, other in zip(mine, its, strict=True):
            if "protocol" not in other:  # an older `ip` does not know it
                one.pop("protocol", None)
            assert one == other


def test_add_and_what_the_kernel_made_of_it(conn):
    (red,) = make(conn, "red")
    made = conn.do(rtnl.add_address("10.0.0.1/24", "red"))
    assert (made.index, made.interface, made.label) == (red, IPv4Interface("10.0.0.1/24"), "red")
    assert rtnl.IFA_F.PERMANENT in made.flags
    assert made.scope is rtnl.RT_SCOPE.UNIVERSE
    # IPv6 does not echo.
    assert conn.do(rtnl.add_address("2001:db8::1/64", red, flags=NODAD)) is None
    assert [str(one.interface) for one in conn.dump(rtnl.addresses(dev=red)) if one.scope == 0] == [
        "10.0.0.1/24",
        "2001:db8::1/64",
    ]


@pytest.mark.parametrize(
    ("spelling", "interface"),
    [
        ("10.0.0.1/24", "10.0.0.1/24"),
        ("10.0.0.1", "10.0.0.1/32"),
        (IPv4Address("10.0.0.1"), "10.0.0.1/32"),
        (IPv4Interface("10.0.0.1/8"), "10.0.0.1/8"),
        ("127.0.0.3/8", "127.0.0.3/8"),
        ("2001:db8::1", "2001:db8::1/128"),
        (IPv6Address("2001:db8::1"), "2001:db8::1/128"),
        (ip_interface("2001:db8::1/64"), "2001:db8::1/64"),
    ],
)
def test_addresses_as_one_writes_them(conn, spelling, interface):
    (red,) = make(conn, "red")
    conn.do(rtnl.add_address(spelling, "red", flags=NODAD))
    (made,) = [one for one in conn.dump(rtnl.addresses(dev=red)) if str(one.interface) == interface]
    conn.do(rtnl.delete_address(made))
    assert interface not in [str(one.interface) for one in conn.dump(rtnl.addresses(dev=red))]
    assert made.scope == (rtnl.RT_SCOPE.HOST if interface.startswith("127.") else rtnl.RT_SCOPE.UNIVERSE)


def test_everything_that_can_be_said(conn):
    make(conn, "red")
    made = conn.do(
        rtnl.add_address(
            "10.9.0.1",
            "red",
            peer="10.9.0.2/30",
            broadcast="10.9.0.3",
            label="red:x",
            scope="link",
            valid=5000,
            preferred=4000,
            flags=rtnl.IFA_F.NOPREFIXROUTE,
            metric=7,
            proto=77,
        )
    )
    assert (str(made.ip), str(made.peer), made.prefixlen) == ("10.9.0.1", "10.9.0.2", 30)
    assert (str(made.broadcast), made.label, made.scope.word, made.metric) == ("10.9.0.3", "red:x", "link", 7)
    assert (made.cacheinfo.valid, made.cacheinfo.preferred) == (5000, 4000)
    assert made.flags == rtnl.IFA_F.NOPREFIXROUTE
    assert made.proto == 77


def test_what_is_there_already(conn):
    (red,) = make(conn, "red")
    request = rtnl.add_address("10.0.0.1/24", "red")
    conn.do(request)
    with pytest.raises(nl.Exists, match=r"add address 10\.0\.0\.1/24 on red") as caught:
        conn.do(request)
    assert caught.value.errno == errno.EEXIST
    assert conn.do(rtnl.add_address("10.0.0.1/24", red, exist_ok=True)) is None
    conn.do(rtnl.replace_address("10.0.0.1/24", red, valid=500))
    (address,) = conn.collect(rtnl.addresses(dev=red, family=2))
    assert address.cacheinfo.valid == address.cacheinfo.preferred == 500
    conn.do(rtnl.replace_address("10.0.0.1/24", red))
    (address,) = conn.collect(rtnl.addresses(dev=red, family=2))
    assert address.cacheinfo.valid is None
    conn.do(rtnl.replace_address("2001:db8::1/64", red, flags=NODAD, preferred=0))
    (six,) = [one for one in conn.dump(rtnl.addresses(dev=red, family=10)) if one.scope == 0]
    assert six.cacheinfo.preferred == 0
    assert rtnl.IFA_F.DEPRECATED in six.flags


@pytest.mark.parametrize("address", ["10.7.0.1/24", "2001:db8:7::1/64"])
@pytest.mark.parametrize(("dev", "number"), [("red", errno.EADDRNOTAVAIL), (4711, errno.ENODEV), ("no", errno.ENODEV)])
def test_what_is_not_there(conn, address, dev, number):
    make(conn, "red")
    with pytest.raises(nl.NotFound) as caught:
        conn.do(rtnl.delete_address(address, dev))
    assert caught.value.errno == number
    assert conn.do(rtnl.delete_address(address, dev, missing_ok=True)) is None


def test_delete(conn):
    (red,) = make(conn, "red")
    for address in ("10.0.0.1/24", "10.0.0.1/25", "10.1.0.1/24"):
        conn.do(rtnl.add_address(address, red))
    for peer in ("10.9.0.2", "10.9.0.3"):
        conn.do(rtnl.add_address("10.9.0.1", red, peer=peer))
    conn.do(rtnl.delete_address("10.0.0.1/25", red))
    conn.do(rtnl.delete_address("10.9.0.1", red, peer="10.9.0.3/32"))
    conn.do(rtnl.delete_address("10.1.0.1", red))  # whatever its prefix is
    left = {(str(one.interface), str(one.peer)) for one in conn.dump(rtnl.addresses(dev=red, family=2))}
    assert left == {("10.0.0.1/24", "None"), ("10.9.0.1/32", "10.9.0.2")}
    for one in conn.collect(rtnl.addresses(dev=red)):
        conn.do(rtnl.delete_address(one))
    assert conn.collect(rtnl.addresses(dev=red)) == []


def test_filters(conn):
    red, blue = make(conn, "red", "blue")
    conn.batch(
        [
            rtnl.add_address("10.0.0.1/24", red),
            rtnl.add_address("10.0.1.1/24", "red", label="red:x"),
            rtnl.add_address("10.0.2.1/24", blue, scope="link"),
            rtnl.add_address("2001:db8::1/64", "blue", flags=NODAD),
        ]
    )

    def found(**what):
        return {str(one.ip) for one in conn.dump(rtnl.addresses(**what)) if not one.ip.is_link_local}

    assert found(dev="red") == found(dev=red) == {"10.0.0.1", "10.0.1.1"}
    assert found(dev="blue", family=2) == {"10.0.2.1"}
    assert found(family=10) == {"2001:db8::1"}
    assert found(label="red:x") == {"10.0.1.1"}
    assert found(family=2, scope="link") == found(family=2, scope=253) == {"10.0.2.1"}
    # What the kernel has not left out is left out here.
    with nl.Conn(nl.NETLINK_ROUTE, strict=False) as lax:
        everything = lax.execute(rtnl.addresses(dev=blue).message)
        assert (
            len(everything) > len(lax.collect(rtnl.addresses(dev=blue))) == len(conn.collect(rtnl.addresses(dev=blue)))
        )
        assert {one.index for one in lax.dump(rtnl.addresses(dev="blue"))} == {blue}
    with pytest.raises(nl.NotFound):
        conn.collect(rtnl.addresses(dev="no"))


def test_flush(conn):
    (red,) = make(conn, "red")
    conn.batch([rtnl.add_address(f"10.0.{number}.{host}/24", red) for number in range(50) for host in (1, 2, 3)])
    conn.do(rtnl.add_address("2001:db8::1/64", red, flags=NODAD))
    assert conn.do(rtnl.flush_addresses("red", family=2)) == 150
    assert {one.family for one in conn.dump(rtnl.addresses(dev=red))} == {10}
    assert conn.do(rtnl.flush_addresses(red, scope="global")) == 1
    assert conn.do(rtnl.flush_addresses(red)) == 1  # the link-local one
    assert conn.collect(rtnl.addresses(dev=red)) == []
    assert conn.do(rtnl.flush_addresses("red")) == 0
    with pytest.raises(nl.NotFound):
        conn.do(rtnl.flush_addresses("no"))


def refused(error, address, dev, **settings):
    with pytest.raises(error):
        rtnl.add_address(address, dev, **settings)


def test_what_makes_no_request():
    refused(ValueError, "10.0.0.300/24", 1)
    refused(ValueError, "10.0.0.1/24", 0)
    refused(ValueError, "10.0.0.1/24", "")
    refused(ValueError, "10.0.0.1/24", 1, scope="far")
    refused(TypeError, "10.0.0.1/24", 1, colour=3)
    refused(TypeError, None, 1)
    refused(nl.EncodeError, "10.0.0.1/24", 1, valid=-1)
    with pytest.raises(TypeError, match="interface"):
        rtnl.delete_address("10.0.0.1/24")


def test_a_dump_of_what_changes_meanwhile(conn):
    (red,) = make(conn, "red")
    steady = {f"10.0.{number}.1" for number in range(200)}
    conn.batch([rtnl.add_address(f"{address}/24", red) for address in steady])
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            conn.do(rtnl.add_address("10.200.0.1/24", red))
            conn.do(rtnl.delete_address("10.200.0.1/24", red))

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(50):
            try:
                addresses = conn.collect(rtnl.addresses(dev="red", family=2), retries=3)
            except nl.DumpInterrupted as interrupted:
                assert {one.family for one in interrupted.results} <= {2}
                continue
            found = {str(one.ip) for one in addresses}
            assert steady <= found <= steady | {"10.200.0.1"}
    finally:
        stop.set()
        thread.join()


@pytest.mark.kernel
def test_both_families_and_what_only_one_has(conn):
    red = conn.do(rtnl.add_link("red", "ifb", up=True)).index
    conn.do(rtnl.add_address("10.0.0.1/24", "red"))
    # The kernel passes over what is of IPv4 alone, so the functions refuse it.
    record = rtnl.Address(
        index=red,
        prefixlen=64,
        address=IPv6Address("2001:db8::1"),
        flags=NODAD,
        scope=rtnl.RT_SCOPE.HOST,
        label="red:x",
        broadcast=IPv4Address("10.0.0.255"),
        family=10,
    )
    conn.do(nl.Request(nl.Message(rtnl.RTM_NEWADDR, nl.NLM_F_CREATE, record)))
    (made,) = [one for one in conn.dump(rtnl.addresses(dev=red, family=10)) if str(one.ip) == "2001:db8::1"]
    assert (made.scope, made.label, made.broadcast) == (rtnl.RT_SCOPE.UNIVERSE, None, None)
    for family in (0, None):
        assert {one.family for one in conn.dump(rtnl.addresses(dev=red, family=family))} == {2, 10}
