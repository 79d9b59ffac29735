"""Counters and settings of interfaces: RTM_GETSTATS and RTM_GETNETCONF, on the real kernel and from bytes."""

import errno
import socket
import struct

import pytest

import netlink_codec as nl
from iproute import ip_json, needs_ip
from namespaces import network
from netlink_codec import rtnl
from support import stream


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=10) as conn:
        conn.do(rtnl.set_link("lo", up=True))
        yield conn


def exchange_something():
    """Have the loopback interface count."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        one.sendto(b"x" * 1000, one.getsockname())
        one.recv(2000)


def counters(**numbers):
    return rtnl.IfStats(index=3, link=rtnl.Counters(**numbers))


@pytest.mark.kernel
@needs_ip
def test_every_counter_is_what_ip_says(conn):
    for name in ("red", "blue"):
        conn.do(rtnl.add_link(name, "ifb"))  # not up, where IPv6 would send of its own accord
    exchange_something()
    ours = {one.index: one.link for one in conn.dump(rtnl.stats())}
    said = {link["ifindex"]: link["stats64"] for link in ip_json("-s -s link")}
    assert ours.keys() == said.keys() == {1, 2, 3}
    assert ours[1].rx_bytes >= 1028
    for index, link in ours.items():
        rx, tx = said[index]["rx"], said[index]["tx"]
        for name in ("bytes", "packets", "errors"):
            assert (getattr(link, f"rx_{name}"), getattr(link, f"tx_{name}")) == (rx[name], tx[name])
        assert (link.tx_dropped, link.multicast, link.collisions) == (tx["dropped"], rx["multicast"], tx["collisions"])


@pytest.mark.kernel
def test_the_counters_of_one(conn):
    exchange_something()
    by_name, by_index = conn.batch([rtnl.stats(dev="lo"), rtnl.stats(dev=1)])
    (of_all,) = conn.collect(rtnl.stats())
    assert by_name == by_index == of_all
    assert of_all.link.rx_bytes == of_all.link.tx_bytes > 1000
    assert of_all.link.rx_otherhost_dropped == 0
    assert of_all.identity == (1,)
    for dev in ("no", 4711):
        with pytest.raises(nl.NotFound) as caught:
            conn.do(rtnl.stats(dev=dev))
        assert caught.value.errno == errno.ENODEV


@pytest.mark.kernel
def test_what_a_bridge_counts(conn):
    conn.do(rtnl.add_link("br", "bridge", up=True))
    conn.do(rtnl.add_link("port", "ifb", up=True, master="br"))
    every = rtnl.STATS.LINK_64 | rtnl.STATS.LINK_XSTATS | rtnl.STATS.LINK_XSTATS_SLAVE
    bridge = conn.do(rtnl.stats(dev="br", what=every))
    assert bridge.filter_mask == every
    assert bridge.xstats.bridge is not None
    port = conn.do(rtnl.stats(dev="port", what=every))
    assert port.xstats is None
    assert port.xstats_slave.bridge.stp.transition_fwd >= 0
    for one in conn.collect(rtnl.stats(what=rtnl.STATS(31))):
        one.check()
        assert one.unknown == ()
    # Counters of a kind, without those that all have.
    alone = conn.do(rtnl.stats(dev="br", what=rtnl.STATS.LINK_XSTATS))
    with pytest.raises(nl.DecodeError, match="link"):
        _ = alone.link


def test_counters_of_a_kernel_that_counts_less():
    for words, known in ((23, False), (24, True), (25, True), (27, True)):
        payload = struct.pack(f"={words}Q", *range(1, words + 1))
        record = rtnl.IfStats.from_bytes(struct.pack("=BxHII", 0, 0, 3, 1) + stream((1, payload)))
        assert (record.index, record.filter_mask) == (3, rtnl.STATS.LINK_64)
        assert (record.link.rx_packets, record.link.tx_compressed) == (1, 23)
        assert record.link.rx_nohandler == (24 if known else None)
        assert record.link.rx_otherhost_dropped == (25 if words >= 25 else None)
        assert bytes(record.link) == payload


def test_vlans_of_a_bridge():
    vlans = [struct.pack("=QQQQHHI", number, 2, 3, 4, number, 6, 0) for number in (1, 2)]
    payload = stream((1, stream((1, vlans[0]), (1, vlans[1]), (4, struct.pack("=6Q", *range(6))))))
    record = rtnl.IfStats.from_bytes(struct.pack("=BxHII", 0, 0, 3, 2) + stream((2, payload)))
    assert [(vlan.vid, vlan.rx_bytes, vlan.flags) for vlan in record.xstats.bridge.vlans] == [(1, 1, 6), (2, 2, 6)]
    assert record.xstats.bridge.stp.tx_tcn == 5


def test_what_the_hardware_forwards():
    hardware = struct.pack("=9Q", *range(1, 10))
    record = rtnl.IfStats.from_bytes(struct.pack("=BxHII", 0, 0, 3, 8) + stream((4, stream((3, hardware), (99, b"?")))))
    assert (record.offload_xstats.l3_stats.rx_packets, record.offload_xstats.l3_stats.multicast) == (1, 9)
    assert record.offload_xstats.unknown == ((99, b"?"),)


def test_counters_are_built():
    record = counters(rx_bytes=5, tx_dropped=1 << 40)
    assert (record.link.rx_bytes, record.link.tx_dropped, record.link.rx_packets) == (5, 1 << 40, 0)
    with pytest.raises(nl.EncodeError, match="rx_bytes"):
        counters(rx_bytes=1 << 64)


# Settings -------------------------------------------------------------------------------------------------------------


@pytest.mark.kernel
@needs_ip
def test_settings_are_what_ip_says(conn):
    conn.do(rtnl.add_link("red", "ifb"))
    names = {1: "lo", 2: "red", -1: "all", -2: "default"}
    words = {0: "off", 1: "strict", 2: "loose"}
    for family, option in ((2, "-4"), (10, "-6")):
        ours = {names[one.index]: one for one in conn.dump(rtnl.netconf(family=family))}
        said = {one["interface"]: one for one in ip_json(f"{option} netconf")}
        assert ours.keys() == said.keys() == set(names.values())
        for name, one in ours.items():
            assert one.unknown == ()
            assert bool(one.forwarding) == said[name]["forwarding"]
            assert bool(one.mc_forwarding) == said[name]["mc_forwarding"]
            assert bool(one.proxy_neigh) == said[name]["proxy_neigh"]
            assert bool(one.ignore_routes_with_linkdown) == said[name]["ignore_routes_with_linkdown"]
            assert (None if one.rp_filter is None else words[one.rp_filter]) == said[name].get("rp_filter")


def test_settings_from_bytes():
    record = rtnl.NetConf.from_bytes(b"\x02\0\0\0" + stream((1, struct.pack("=i", -2)), (9, struct.pack("=i", 1))))
    assert (record.family, record.index, record.force_forwarding, record.forwarding) == (2, -2, 1, None)
    assert record.identity == (2, -2)
    assert bytes(rtnl.NetConf(family=2, index=-2, force_forwarding=1)) == bytes(record)
