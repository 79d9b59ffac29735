"""Requests about links, on the real kernel; what they say is compared with `ip`."""

import asyncio
import errno
import os
import shutil
import subprocess
from ipaddress import IPv4Address

import pytest

import netlink_codec as nl
from ip_link import differences, shown
from namespaces import empty_run, in_thread, network, unshare
from netlink_codec import NetNS, netns, rtnl
from netlink_codec.rtnl import Bridge, BridgePort, Ifb, Link, Macvlan, Macvtap, Veth, Vxlan
from test_link_records import inside, rebuilt

pytestmark = pytest.mark.kernel

CLONE_NEWNET = 0x40000000


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=30) as conn:
        yield conn


def other():
    """Another namespace."""

    def work():
        unshare(CLONE_NEWNET)
        return NetNS.current()

    return in_thread(work)


def names(conn, **filters):
    return sorted(link.name for link in conn.collect(rtnl.links(**filters)))


def tap(name):
    if shutil.which("ip") is None or not os.access("/dev/net/tun", os.W_OK):
        return False
    return subprocess.run(["ip", "tuntap", "add", name, "mode", "tap"], timeout=30).returncode == 0


def settled(conn):
    """Our links and what `ip` shows, where nothing has changed meanwhile but counters."""
    counters = {"stats": None, "stats64": None, "af_spec": None}
    while True:
        before, theirs, after = conn.collect(rtnl.links(stats=True)), shown(), conn.collect(rtnl.links(stats=True))
        if [link.replace(**counters) for link in before] == [link.replace(**counters) for link in after]:
            return {link.name: link for link in after}, theirs


# Every kind ------------------------------------------------------------------------------------------------------


def test_every_kind_as_ip_shows_it(conn):
    v0 = conn.do(rtnl.add_link("v0", Veth(peer=Link(name="v1", mtu=1400)), mtu=1300, address="02:00:00:00:00:01"))
    br0 = conn.do(rtnl.add_link("br0", Bridge(forward_delay=4, ageing_time=60, priority=4096, mcast_snooping=0)))
    conn.do(rtnl.add_link("ifb0", Ifb(), txqlen=7, alias="of no use", group=3, master=br0))
    conn.do(
        rtnl.add_link(
            "vx0",
            Vxlan(
                id=42,
                link=v0.index,
                group=IPv4Address("239.1.1.1"),
                port=4789,
                port_range=rtnl.VxlanPorts(low=5000, high=6000),
                ageing=60,
                ttl=8,
                udp_csum=0,
                df=rtnl.VXLAN_DF.SET,
            ),
        )
    )
    conn.do(rtnl.add_link("mv0", Macvlan(mode=rtnl.MACVLAN_MODE.BRIDGE), link="v1"))
    conn.do(rtnl.add_link("mt0", Macvtap(mode=rtnl.MACVLAN_MODE.VEPA), link="v1"))
    conn.do(rtnl.set_link("ifb0", up=True, info=BridgePort(cost=77, mode=1, learning=0, isolated=1)))
    conn.do(rtnl.add_altnames("br0", "the-bridge-of-many-names", "br-alt"))
    with_tap = tap("tap0")

    ours, theirs = settled(conn)
    assert ours.keys() == theirs.keys() >= {"lo", "v0", "v1", "br0", "ifb0", "vx0", "mv0", "mt0"}
    by_index = {link.index: link.name for link in ours.values()}
    compared = {}
    for name, link in ours.items():
        found, compared[name] = differences(link, theirs[name], by_index)
        assert found == [], name
    assert min(compared.values()) > 25
    assert compared["br0"] > 55
    assert compared["ifb0"] > 50

    assert ours["vx0"].info.data.port_range.high == 6000
    assert ours["mv0"].info.data.mode is rtnl.MACVLAN_MODE.BRIDGE
    assert type(ours["mt0"].info.data) is Macvtap
    assert ours["br0"].info.data.ageing_time == 60
    assert ours["ifb0"].info.slave_data.cost == 77
    assert ours["ifb0"].master == br0.index
    assert ours["v1"].mtu == 1400
    if with_tap:
        assert ours["tap0"].info.data.type is rtnl.TUN_TYPE.TAP


def test_nothing_is_unknown_and_nothing_is_lost(conn):
    conn.do(rtnl.add_link("v0", Veth(peer=Link(name="v1"))))
    conn.do(rtnl.add_link("br0", "bridge"))
    conn.do(rtnl.add_link("vx0", Vxlan(id=1, collect_metadata=1, gbp=True, port=4789)))
    conn.do(rtnl.add_link("mv0", Macvlan(mode=rtnl.MACVLAN_MODE.SOURCE, macaddr_data=("02:00:00:00:00:09",),
                                         macaddr_mode=rtnl.MACVLAN_MACADDR.SET), link="v1"))  # fmt: skip
    conn.do(rtnl.set_link("v0", master="br0", up=True))
    for dump in (
        rtnl.links(stats=True, vfs=True),
        rtnl.links(family=rtnl.AF_BRIDGE, ext_mask=rtnl.RTEXT_FILTER.BRVLAN),
        rtnl.links(family=rtnl.AF_INET6),
    ):
        records = conn.collect(dump)
        assert len(records) >= 2
        for link in records:
            link.check()
            assert [(type(one), one.unknown) for one in inside(link) if one.unknown] == []
            assert rebuilt(link) == link
            assert isinstance(link.to_dict()["name"], str)


def test_settings_of_ip_are_named_right(conn):
    """The order of the kernel's arrays, by the files that hold the same numbers."""
    link = conn.do(rtnl.link("lo"))
    for family, settings, least in (("ipv4", link.inet.conf, 25), ("ipv6", link.inet6.conf, 40)):
        compared = 0
        for name, value in settings.to_dict().items():
            path = f"/proc/sys/net/{family}/conf/lo/{'arp_filter' if name == 'arpfilter' else name}"
            # The files of some have other units, and one has a text.
            if name == "stable_secret" or name.startswith("rtr_") or not os.path.exists(path):
                continue
            with open(path) as file:
                there = int(file.read())
            # 64 bits there, the lower 32 here.
            assert (name, there & 0xFFFFFFFF) == (name, value & 0xFFFFFFFF)
            compared += 1
        assert compared >= least


# Getting one -----------------------------------------------------------------------------------------------------


def test_one_link_by_whatever_it_is_called(conn):
    made = conn.do(rtnl.add_link("i0", "ifb"))
    long = "a-name-of-more-than-fifteen-bytes-" + "x" * 93
    conn.do(rtnl.add_altnames("i0", "short", long, "naïve-ñame"))
    for dev in (made.index, made, "i0", "short", long, "naïve-ñame"):
        found = conn.do(rtnl.link(dev))
        assert (found.index, found.name) == (made.index, "i0")
        assert found.identity == made.identity
        assert found.inet6.stats is None
    assert found.altnames == ("short", long, "naïve-ñame")
    assert conn.do(rtnl.link("i0", stats=True)).stats64.rx_packets == 0
    assert conn.do(rtnl.link("i0", vfs=True)).num_vf in (None, 0)
    for dev in ("i1", 4711, "no-such-name-of-more-than-fifteen-bytes"):
        with pytest.raises(nl.NotFound, match="get link") as caught:
            conn.do(rtnl.link(dev))
        assert caught.value.errno == errno.ENODEV
    assert conn.do(rtnl.link("i1").tolerate(errno.ENODEV)) is None
    for dev in (0, -1, "", "x" * 200):
        with pytest.raises(ValueError, match=r"no index|cannot be the name"):
            rtnl.link(dev)


@pytest.mark.parametrize("strict", [True, False])
def test_filters(strict):
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=30, strict=strict) as conn:
        br0 = conn.do(rtnl.add_link("br0", "bridge"))
        conn.do(rtnl.add_link("br1", "bridge"))
        conn.do(rtnl.add_link("v0", Veth(peer=Link(name="v1")), master="br0"))
        conn.do(rtnl.add_link("i0", "ifb", master=br0.index))
        assert names(conn) == ["br0", "br1", "i0", "lo", "v0", "v1"]
        assert names(conn, kind="veth") == ["v0", "v1"]
        assert names(conn, kind="bridge") == ["br0", "br1"]
        assert names(conn, kind="vlan") == []  # not here; the kernel then sends all
        assert names(conn, kind="no such kind") == []
        for master in ("br0", br0.index, br0):
            assert names(conn, master=master) == ["i0", "v0"]
            assert names(conn, master=master, kind="ifb") == ["i0"]
            assert sorted(link.name for link in conn.dump(rtnl.links(master=master))) == ["i0", "v0"]
        assert names(conn, master="br1") == []
        with pytest.raises(nl.NotFound):
            names(conn, master="br2")


def test_filters_on_this_side():
    """As for a kernel that sends all."""
    dump = rtnl.links(master=5, kind="veth")
    veth = rtnl.LinkInfo(kind="veth")
    for link, passes in (
        (Link(index=2, master=5, info=veth), True),
        (Link(index=2, master=4, info=veth), False),
        (Link(index=2, info=veth), False),
        (Link(index=2, master=5, info=rtnl.LinkInfo(kind="ifb")), False),
        (Link(index=2, master=5), False),
    ):
        assert (dump.decode(nl.Message(rtnl.RTM_NEWLINK, 0, link)) == link) is passes
    assert dump.decode(nl.Message(rtnl.RTM_DELLINK, 0, Link(index=2, master=5, info=veth))) is None


def test_families(conn):
    conn.do(rtnl.add_link("br0", "bridge"))
    conn.do(rtnl.add_link("i0", "ifb", master="br0"))
    ports = conn.collect(rtnl.links(family=rtnl.AF_BRIDGE, ext_mask=rtnl.RTEXT_FILTER.BRVLAN))
    (port,) = [link for link in ports if link.name == "i0"]
    assert isinstance(port.protinfo, BridgePort)
    assert port.protinfo.state is rtnl.BR_STATE.DISABLED
    six = {link.name: link for link in conn.collect(rtnl.links(family=rtnl.AF_INET6))}
    assert six["i0"].inet6.conf.mtu6 == 1500
    for filters in ({"family": rtnl.AF_BRIDGE, "kind": "ifb"}, {"family": rtnl.AF_INET6, "master": 1}, {"family": 2}):
        with pytest.raises((TypeError, ValueError)):
            rtnl.links(**filters)


# Making ----------------------------------------------------------------------------------------------------------


def test_what_is_made_is_returned(conn):
    v0 = conn.do(
        rtnl.add_link(
            "v0",
            Veth(peer=Link(name="v1", address="02:00:00:00:00:02")),
            up=True,
            mtu=1400,
            address="02:00:00:00:00:01",
        )
    )
    assert (v0.name, v0.mtu, v0.address, v0.up, v0.kind) == ("v0", 1400, "02:00:00:00:00:01", True, "veth")
    assert conn.do(rtnl.link(v0)).index == v0.index
    assert conn.do(rtnl.link("v1")).address == "02:00:00:00:00:02"
    br0 = conn.do(rtnl.add_link("br0", "bridge", index=77))
    assert br0.index == 77
    i0 = conn.do(rtnl.add_link("i0", "ifb", master="br0", num_tx_queues=3))
    assert (i0.master, i0.num_tx_queues, i0.info.slave_kind) == (77, 3, "bridge")
    vx0 = conn.do(rtnl.add_link("vx0", Vxlan(id=1)))  # is not echoed
    assert (vx0.name, vx0.kind) == ("vx0", "vxlan")
    i1 = conn.do(rtnl.add_link("i%d", "ifb"))
    assert i1.name == "i1"


def test_what_exists(conn):
    first = conn.do(rtnl.add_link("i0", "ifb"))
    with pytest.raises(nl.Exists, match="add link i0") as caught:
        conn.do(rtnl.add_link("i0", "ifb"))
    assert caught.value.errno == errno.EEXIST
    again = conn.do(rtnl.add_link("i0", "ifb", exist_ok=True))
    assert again.index == first.index
    assert conn.do(rtnl.add_link("i1", "ifb", exist_ok=True)).name == "i1"
    with pytest.raises(nl.NetlinkError) as caught:
        conn.do(rtnl.add_link("x0", "no such kind"))
    assert caught.value.errno == errno.EOPNOTSUPP


def test_make_or_change(conn):
    first = conn.do(rtnl.replace_link("br0", Bridge(forward_delay=4), mtu=1400))
    assert first.kind == "bridge"
    second = conn.do(rtnl.replace_link("br0", Bridge(forward_delay=5), up=True))
    assert (second.index, second.info.data.forward_delay, second.up, second.mtu) == (first.index, 5, True, 1400)


def test_errors_name_the_field(conn):
    with pytest.raises(nl.NetlinkError) as caught:
        conn.do(rtnl.add_link("vx0", Vxlan(id=2**24)))
    assert caught.value.attribute == "info.data.id"
    with pytest.raises(nl.NetlinkError) as caught:
        conn.do(rtnl.add_link("x" * 16, "ifb"))
    assert caught.value.attribute == "name"


def test_in_another_namespace(conn):
    away = other()
    v0 = conn.do(rtnl.add_link("v0", Veth(peer=Link(name="eth0", mtu=1400, netns=away)), up=True))
    assert conn.do(rtnl.add_link("i0", "ifb", netns=away, mtu=1200)) is None
    with nl.Conn(nl.NETLINK_ROUTE, netns=away, timeout=30) as there:
        assert names(there) == ["eth0", "i0", "lo"]
        eth0 = there.do(rtnl.link("eth0"))
        assert eth0.mtu == 1400
        # Where the other end is, each says in its own numbers.
        found = conn.do(rtnl.link("v0"))
        assert (found.link, eth0.link) == (eth0.index, v0.index)
        assert found.link_netnsid is not None
        assert eth0.link_netnsid is not None
        with pytest.raises(nl.Exists):
            conn.do(rtnl.add_link("i0", "ifb", netns=away))
        assert conn.do(rtnl.add_link("i0", "ifb", netns=away, exist_ok=True)) is None
    assert names(conn) == ["lo", "v0"]


def test_a_batch(conn):
    conn.do(rtnl.add_link("br0", "bridge"))
    links = [conn.do(rtnl.add_link(f"i{number}", "ifb", master="br0")) for number in range(20)]
    conn.batch([rtnl.set_link(link.name, up=True, mtu=1000 + link.index) for link in links])
    assert all(link.up and link.mtu == 1000 + link.index for link in conn.collect(rtnl.links(master="br0")))
    conn.batch([rtnl.delete_link(link) for link in links])
    assert names(conn) == ["br0", "lo"]


def test_a_namespace_stays_open_in_a_request(conn):
    ns = NetNS.current()
    requests = [rtnl.add_link("i0", "ifb", netns=NetNS.current()), rtnl.add_link("i1", "ifb", netns=ns, exist_ok=True)]
    ns.close()
    conn.batch(requests)
    assert names(conn) == ["i0", "i1", "lo"]


# Changing --------------------------------------------------------------------------------------------------------


def test_settings(conn):
    conn.do(rtnl.add_link("v0", Veth(peer=Link(name="v1"))))
    before = conn.do(rtnl.link("v0"))
    conn.do(
        rtnl.set_link(
            "v0",
            up=True,
            arp=False,
            multicast=False,
            promisc=True,
            allmulti=True,
            mtu=1300,
            address="02:00:00:00:00:77",
            broadcast="02:ff:ff:ff:ff:ff",
            txqlen=7,
            alias="a text",
            group=9,
            gso_max_size=30000,
            gso_max_segs=10,
            gro_max_size=40000,
            linkmode="DORMANT",
            addr_gen_mode="none",
        )
    )
    link = conn.do(rtnl.link("v0"))
    changed = rtnl.IFF.UP | rtnl.IFF.NOARP | rtnl.IFF.PROMISC | rtnl.IFF.ALLMULTI
    assert (before.flags ^ link.flags) & ~rtnl.IFF.LOWER_UP & ~rtnl.IFF.RUNNING == changed | rtnl.IFF.MULTICAST
    assert link.flags & changed == changed
    assert not link.flags & rtnl.IFF.MULTICAST
    assert (link.mtu, link.address, link.broadcast, link.txqlen) == (1300, "02:00:00:00:00:77", "02:ff:ff:ff:ff:ff", 7)
    assert (link.alias, link.group, link.gso_max_size, link.gso_max_segs) == ("a text", 9, 30000, 10)
    assert link.gro_max_size == 40000
    assert link.linkmode is rtnl.IF_LINK_MODE.DORMANT
    assert link.inet6.addr_gen_mode is rtnl.IN6_ADDR_GEN_MODE.NONE
    assert (link.promiscuity, link.allmulti) == (1, 1)
    # One is changed, and nothing else.
    conn.do(rtnl.set_link("v0", promisc=False))
    assert conn.do(rtnl.link("v0")).flags == link.flags & ~rtnl.IFF.PROMISC
    conn.do(rtnl.set_link("v0", up=None, mtu=None, alias=""))
    again = conn.do(rtnl.link("v0"))
    assert (again.up, again.mtu, again.alias) == (True, 1300, None)


def test_master_and_none(conn):
    br0 = conn.do(rtnl.add_link("br0", "bridge"))
    conn.do(rtnl.add_link("i0", "ifb"))
    for master in ("br0", br0.index, br0):
        conn.do(rtnl.set_link("i0", master=master))
        assert conn.do(rtnl.link("i0")).master == br0.index
        conn.do(rtnl.set_link("i0", up=True))
        assert conn.do(rtnl.link("i0")).master == br0.index
        conn.do(rtnl.set_link("i0", nomaster=True))
        assert conn.do(rtnl.link("i0")).master is None
    with pytest.raises(TypeError):
        rtnl.set_link("i0", master="br0", nomaster=True)
    with pytest.raises(nl.NotFound):
        conn.do(rtnl.set_link("i0", master="br1"))


def test_what_a_kind_adds_is_changed(conn):
    conn.do(rtnl.add_link("br0", "bridge"))
    conn.do(rtnl.add_link("i0", "ifb", master="br0"))
    for dev in ("br0", conn.do(rtnl.link("br0"))):
        conn.do(rtnl.set_link(dev, info=Bridge(max_age=11.5, stp_state=1), up=True))
    br0 = conn.do(rtnl.link("br0"))
    assert (br0.info.data.max_age, br0.info.data.stp_state, br0.up) == (11.5, 1, True)
    conn.do(rtnl.set_link("i0", info=BridgePort(priority=3, unicast_flood=0)))
    data = conn.do(rtnl.link("i0")).info.slave_data
    assert (data.priority, data.unicast_flood, data.bcast_flood) == (3, 0, 1)


def test_rename(conn):
    made = conn.do(rtnl.add_link("i0", "ifb"))
    conn.do(rtnl.set_link("i0", name="j0"))
    assert conn.do(rtnl.link(made)).name == "j0"
    conn.do(rtnl.set_link(made, name="k0", mtu=1300))
    assert conn.do(rtnl.link("k0")).mtu == 1300
    assert names(conn) == ["k0", "lo"]
    conn.do(rtnl.add_link("i0", "ifb"))
    with pytest.raises(nl.Exists):
        conn.do(rtnl.set_link("i0", name="k0"))
    with pytest.raises(nl.NotFound):
        conn.do(rtnl.set_link("j0", name="l0"))


def test_move(conn):
    away = other()
    conn.do(rtnl.add_link("i0", "ifb"))
    conn.do(rtnl.add_link("i1", "ifb"))
    conn.do(rtnl.set_link("i0", netns=away))
    conn.do(rtnl.set_link("i1", netns=away, name="eth1", up=True))
    assert names(conn) == ["lo"]
    with nl.Conn(nl.NETLINK_ROUTE, netns=away, timeout=30) as there:
        assert names(there) == ["eth1", "i0", "lo"]
        assert there.do(rtnl.link("eth1")).up


def test_move_by_name():
    with empty_run(), network(), netns.create("blue") as blue, nl.Conn(nl.NETLINK_ROUTE, timeout=30) as conn:
        conn.do(rtnl.add_link("i0", "ifb"))
        conn.do(rtnl.set_link("i0", netns="blue"))
        assert conn.do(rtnl.add_link("i1", "ifb", netns="blue")) is None
        conn.do(rtnl.add_link("br0", "bridge"))
        conn.do(rtnl.add_link("i2", "ifb"))
        conn.do(rtnl.set_link("i2", master="br0"))
        conn.do(rtnl.set_link("i2", netns="blue", name="eth2"))
        with nl.Conn(nl.NETLINK_ROUTE, netns=blue, timeout=30) as there:
            assert names(there) == ["eth2", "i0", "i1", "lo"]
        with pytest.raises(nl.NotFound):
            conn.do(rtnl.set_link("br0", netns="green"))
        assert names(conn) == ["br0", "lo"]


def test_delete(conn):
    conn.do(rtnl.add_link("v0", Veth(peer=Link(name="v1"))))
    conn.do(rtnl.add_altnames("v0", "a-name-of-more-than-fifteen-bytes"))
    conn.do(rtnl.delete_link("a-name-of-more-than-fifteen-bytes"))
    assert names(conn) == ["lo"]
    with pytest.raises(nl.NotFound, match="delete link v1"):
        conn.do(rtnl.delete_link("v1"))
    assert conn.do(rtnl.delete_link("v1", missing_ok=True)) is None
    made = conn.do(rtnl.add_link("i0", "ifb"))
    conn.do(rtnl.delete_link(made))
    with pytest.raises(nl.NotFound, match="delete link i0"):
        conn.do(rtnl.delete_link(made))
    with pytest.raises(nl.NetlinkError) as caught:
        conn.do(rtnl.delete_link("lo", missing_ok=True))
    assert caught.value.errno == errno.EOPNOTSUPP


def test_a_link_of_another_kind_is_not_replaced(conn):
    conn.do(rtnl.add_link("v0", Veth(peer=Link(name="v1"))))
    for info in ("bridge", Bridge(forward_delay=4), rtnl.LinkInfo(kind="bridge")):
        with pytest.raises(nl.Exists, match=r"replace link v0: .*it exists, and is a veth, not a bridge"):
            conn.do(rtnl.replace_link("v0", info, mtu=1400))
    assert conn.do(rtnl.link("v0")).mtu == 1500
    conn.do(rtnl.add_altnames("v0", "pod"))
    with pytest.raises(nl.Exists, match="is a veth"):
        conn.do(rtnl.replace_link("pod", "bridge"))
    with pytest.raises(nl.Exists, match="is a link without a kind"):
        conn.do(rtnl.replace_link("lo", "ifb"))
    assert conn.do(rtnl.replace_link("v0", "veth", mtu=1400)).mtu == 1400


# asyncio ---------------------------------------------------------------------------------------------------------


def test_asyncio():
    async def main():
        async with nl.AsyncConn(nl.NETLINK_ROUTE, timeout=30) as conn:
            made = await conn.do(rtnl.add_link("v0", Veth(peer=Link(name="v1")), up=True))
            await conn.do(rtnl.add_link("br0", "bridge"))
            await conn.do(rtnl.set_link("v0", master="br0"))
            assert [link.index async for link in conn.dump(rtnl.links(master="br0"))] == [made.index]
            await conn.do(rtnl.delete_link("v1"))
            with pytest.raises(nl.NotFound):
                await conn.do(rtnl.link(made))

    with network():
        asyncio.run(main())


def test_how_addresses_are_made_is_set_once_the_link_is_there(conn):
    made = conn.do(rtnl.add_link("i0", "ifb", addr_gen_mode="none"))
    assert made.name == "i0"
    assert made.inet6.addr_gen_mode is rtnl.IN6_ADDR_GEN_MODE.NONE
    with pytest.raises(TypeError, match="addr_gen_mode is for set_link"):
        rtnl.add_link("i1", "ifb", netns="blue", addr_gen_mode="none")
