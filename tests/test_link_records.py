"""Links as records: what `ip` sends, what kernels sent, and what people have stumbled over."""

import json
import pickle
import random
import struct

import pytest

from link_vectors import SENT
from netlink_codec import DecodeError, EncodeError, Message, iter_messages, rtnl
from netlink_codec.records import U32, Field, Record, attr
from netlink_codec.rtnl import BridgePort, Link, LinkData, LinkInfo, PortData, Veth, Vlan, Vxlan
from support import EDITS, edited, random_seed, recorded_on_little_endian, recording

pytestmark = recorded_on_little_endian


def read(*attributes):
    """A Link of attributes alone, in hex."""
    return Link.from_bytes(bytes(16) + bytes.fromhex("".join(attributes)))


def attributes(record):
    """The bytes of a Link's attributes, in hex."""
    return bytes(record)[16:].hex()


def values(record):
    """What is there, by field."""
    fields = [name for kind in type(record).__mro__ for name, field in vars(kind).items() if isinstance(field, Field)]
    missing = {"name"} if isinstance(record, Link) and not record.to_dict().get("name") else set()
    found = {name: getattr(record, name) for name in fields if name not in missing}
    return {name: value for name, value in found.items() if value is not None and value != ()}


def inside(record):
    """The record, and all that are inside it."""
    yield record
    for value in values(record).values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Record):
                yield from inside(item)


def rebuilt(value):
    """The same, built from the values of its fields."""
    if isinstance(value, tuple):
        return tuple(rebuilt(item) for item in value)
    if isinstance(value, Record) and not value.unknown:
        return type(value)(**{name: rebuilt(item) for name, item in values(value).items()})
    return value


# What others send ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", SENT)
def test_what_ip_sends(command):
    wire, record = SENT[command]
    sent = Link.from_bytes(bytes.fromhex(wire))
    sent.check()
    assert sent.to_dict() == record.to_dict()
    assert bytes(sent).hex() == wire
    assert [one for one in inside(sent) if one.unknown] == [one for one in inside(record) if one.unknown]
    assert rebuilt(sent).to_dict() == record.to_dict()
    if "arp_ip_target" not in command:  # whose members `ip` numbers from 0
        assert sent == record == rebuilt(sent)
    assert Link.from_bytes(bytes(record)) == record


def test_netkit():
    """By hand, after <linux/if_link.h>: this kernel does not have it."""
    record = Link(
        name="nk0",
        info=LinkInfo(
            data=rtnl.Netkit(
                peer_info=Link(name="nk1"),
                policy=rtnl.NETKIT_POLICY.DROP,
                mode=rtnl.NETKIT_MODE.L3,
                scrub=rtnl.NETKIT_SCRUB.NONE,
                headroom=64,
            )
        ),
    )
    peer = "1c000180" + "00" * 16 + "080003006e6b3100"
    data = peer + "0800030002000000" + "0800050001000000" + "0800060000000000" + "0600080040000000"
    info = "0b0001006e65746b69740000" + "40000280" + data
    assert attributes(record) == "080003006e6b3000" + "50001280" + info
    assert read(attributes(record)).info.data.peer_info.name == "nk1"


@pytest.mark.parametrize("name", ["links_1", "links_200"])
def test_recorded_dumps(name):
    count = 0
    for datagram in recording(name):
        for message in iter_messages(datagram):
            if message.type != rtnl.RTM_NEWLINK:
                continue
            count += 1
            link = Link.from_message(message)
            link.check()
            assert bytes(link) == message.data
            assert [one.unknown for one in inside(link) if one.unknown] == []
            assert rebuilt(link) == link
            assert link.replace() == link
            assert pickle.loads(pickle.dumps(link)) == link
            assert json.loads(json.dumps(link.to_dict()))["name"] == link.name
            assert link.message_type == rtnl.RTM_NEWLINK
    assert count >= (1 if name == "links_1" else 20)


def test_loopback_as_recorded():
    (datagram, *_) = recording("links_1")
    link = Link.from_message(next(iter_messages(datagram)))
    assert (link.index, link.name, link.type, link.mtu) == (1, "lo", rtnl.ARPHRD.LOOPBACK, 65536)
    assert link.up
    assert link.running
    assert link.kind is None
    assert link.altnames == ()
    assert link.identity == (1,)
    assert link.operstate is rtnl.IF_OPER.UNKNOWN
    assert link.address == link.broadcast == "00:00:00:00:00:00"
    assert link.link_netnsid is link.master is link.link is link.info is None
    assert link.stats64.rx_otherhost_dropped == link.stats.rx_nohandler == 0
    assert link.inet.conf.medium_id == 0
    assert link.inet.conf.arp_evict_nocarrier == 1
    assert link.inet6.conf.hoplimit == 64
    assert link.inet6.conf.force_forwarding == 0
    assert link.inet6.stats[0] == len(link.inet6.stats)
    assert link.inet6.icmp6stats[0] == len(link.inet6.icmp6stats)
    assert link.inet6.addr_gen_mode is rtnl.IN6_ADDR_GEN_MODE.EUI64
    assert link.devlink_port.unknown == link.dpll_pin.unknown == ()
    assert "name='lo'" in repr(link)


@pytest.mark.parametrize("name", ["links_1", "links_200"])
def test_damaged_messages(name):
    """Whatever the bytes, there is a value or a DecodeError, and repr always says something."""
    choose = random.Random(random_seed())
    messages = [
        message.data
        for datagram in recording(name)
        for message in iter_messages(datagram)
        if message.type == rtnl.RTM_NEWLINK
    ]
    read = 0
    for _ in range(400):
        edits = [(choose.choice(EDITS), choose.randrange(2**16), choose.randrange(2**16)) for _ in range(3)]
        data = edited(choose.choice(messages), edits)
        try:
            link = Link.from_bytes(data)
        except DecodeError:
            assert len(data) < 16
            continue
        repr(link)
        for call in (Link.check, Link.to_dict, hash, rebuilt):
            try:
                call(link)
                read += 1
            except (DecodeError, EncodeError):  # a value may be readable, and not be what one would write
                pass
        assert bytes(link) == data
        assert Link.from_bytes(data) == link
    assert read


# What people have stumbled over ----------------------------------------------------------------------------------


def test_empty_attributes_at_the_end():
    """vishvananda/netlink#1034"""
    link = read("08000400dc050000", "04003e80", "04004180")
    assert link.mtu == 1500
    assert isinstance(link.devlink_port, rtnl.DevlinkPort)
    assert isinstance(link.dpll_pin, rtnl.DpllPin)


def test_flag_bits_of_types():
    """jbaublitz/neli#84, FRRouting/frr#15892: the same attribute, with the bit for nesting and without."""
    info = "0800010069666200"
    assert read("0c001200" + info).kind == read("0c001280" + info).kind == "ifb"
    assert read("0c001200" + info) == read("0c001280" + info)
    assert attributes(Link(info=LinkInfo(kind="ifb"))) == "0c001280" + info
    assert read("08000480dc050000").mtu == read("08000400dc050000").mtu == 1500


def test_nesting_is_known_without_its_bit():
    """mdlayher/netlink#80"""
    link = read("24001200" + "09000100766c616e00000000" + "14000200" + "0600010005000000" + "0600050088a80000")
    assert link.info.data == Vlan(id=5, protocol=0x88A8)


@pytest.mark.parametrize("size", [0, 8, 184, 192, 200, 208, 216])
def test_counters_that_grew(size):
    """thom311/libnl#116, prometheus/node_exporter#2502, rust-netlink/netlink-packet-route#332"""
    numbers = range(1, size // 8 + 1)
    payload = struct.pack(f"={len(numbers)}Q", *numbers)
    link = read(struct.pack("=HH", 4 + size, 23).hex() + payload.hex())
    link.check()
    assert link.stats64.rx_packets == (1 if size else 0)
    assert link.stats64.rx_bytes == (3 if size >= 24 else 0)
    assert link.stats64.tx_compressed == (23 if size >= 184 else 0)
    assert link.stats64.rx_nohandler == (24 if size >= 192 else None)
    assert link.stats64.rx_otherhost_dropped == (25 if size >= 200 else None)
    assert bytes(link.stats64) == payload


@pytest.mark.parametrize("size", [92, 96, 100, 116])
def test_short_counters_that_grew(size):
    payload = struct.pack(f"={size // 4}I", *range(1, size // 4 + 1))
    link = read(struct.pack("=HH", 4 + size, 7).hex() + payload.hex())
    link.check()
    assert link.stats.tx_compressed == 23
    assert link.stats.rx_nohandler == (24 if size >= 96 else None)


@pytest.mark.parametrize(
    ("wire", "text"),
    [
        ("04000100", ""),
        ("08000100c0000201", "192.0.2.1"),
        ("0a0001000200000000010000", "02:00:00:00:00:01"),
        ("0c0001000011223344556677", "00:11:22:33:44:55:66:77"),
        ("1400010020010db8000000000000000000000001", "2001:db8::1"),
        (
            "18000100000102030405060708090a0b0c0d0e0f10111213",
            "00:01:02:03:04:05:06:07:08:09:0a:0b:0c:0d:0e:0f:10:11:12:13",
        ),
        ("24000100" + "ab" * 32, ":".join(["ab"] * 32)),
    ],
)
def test_hardware_addresses_of_every_length(wire, text):
    """jsimonetti/rtnetlink#8, CumulusNetworks/ifupdown2#61"""
    assert read(wire).address == text
    assert attributes(Link(address=text)) == wire


def test_the_namespace_of_a_link():
    """vishvananda/netlink#705, rust-netlink/netlink-packet-route#103: 0 is one, and missing is another matter."""
    assert read("0800050002000000", "0800250000000000").link_netnsid == 0
    assert read("0800050002000000").link_netnsid is None
    assert read("08002500ffffffff").link_netnsid == -1
    assert read("08002e0003000000").link_netnsid is None
    assert attributes(Link(link_netnsid=0)) == "0800250000000000"


def test_ports_of_vxlan_in_network_order():
    """rust-netlink/netlink-packet-route#28, flannel-io/flannel#421"""
    data = Vxlan(id=42, port=4789, port_range=rtnl.VxlanPorts(low=5000, high=6000))
    assert bytes(data).hex() == "080001002a000000" + "08000a0013881770" + "06000f0012b50000"
    assert Vxlan.from_bytes(bytes.fromhex("06000f0012b50000")).port == 4789


def test_protocols_in_network_order():
    """little-dude/netlink#81, GNS3/ubridge#113"""
    assert bytes(Vlan(id=5, protocol=0x88A8)).hex() == "0600010005000000" + "0600050088a80000"
    assert bytes(rtnl.Bridge(vlan_protocol=0x8100)).hex() == "0600080081000000"


def test_kinds_that_nobody_knows():
    """CumulusNetworks/ifupdown2#139, rust-netlink/netlink-packet-route#54"""
    link = read("18001200" + "08000100666f6f00" + "0c000200" + "0800070001020304")
    assert link.kind == "foo"
    assert type(link.info.data) is LinkData
    assert link.info.data.unknown == ((7, b"\1\2\3\4"),)
    assert link.to_dict()["info"] == {"kind": "foo", "data": {"unknown": [[7, "01020304"]]}}
    odd = read("18001200" + "08000100666f6f00" + "0c000200" + "0102030405060708")
    assert odd.kind == "foo"
    assert bytes(odd.info.data) == bytes(range(1, 9))
    assert "data=" in repr(odd)


def test_data_before_its_kind():
    link = read("1c001200" + "0c000200" + "0600010005000000" + "09000100766c616e00000000")
    assert link.info.data == Vlan(id=5)


def test_a_port_has_two_kinds():
    info = LinkInfo(kind="veth", slave_data=BridgePort(state=rtnl.BR_STATE.FORWARDING))
    assert (info.kind, info.slave_kind, info.data) == ("veth", "bridge", None)
    assert LinkInfo.from_bytes(bytes(info)).slave_data.state is rtnl.BR_STATE.FORWARDING
    foreign = LinkInfo(kind="veth", slave_kind="team", slave_data=PortData())
    assert type(foreign.slave_data) is PortData


# Choices by family -----------------------------------------------------------------------------------------------


def test_af_spec_by_family():
    spec = rtnl.BridgeAfSpec(
        mode=0,
        vlan_info=(
            rtnl.BridgeVlan(vid=1, flags=rtnl.BRIDGE_VLAN_INFO.PVID | rtnl.BRIDGE_VLAN_INFO.UNTAGGED),
            rtnl.BridgeVlan(vid=7),
        ),
        mst=(rtnl.BridgeMstEntry(msti=3, state=rtnl.BR_STATE.LEARNING),),
    )
    link = Link(index=2, af_spec=spec)
    assert link.family == rtnl.AF_BRIDGE
    assert bytes(spec).hex() == (
        "0600010000000000"
        + "0800020006000100"
        + "0800020000000700"
        + "18000680"
        + "14000180"
        + "0600010003000000"
        + "0500020002000000"
    )
    assert [vlan.vid for vlan in link.af_spec.vlan_info] == [1, 7]
    assert link.inet is link.inet6 is None
    other = Link.from_bytes(b"\x63" + bytes(15) + bytes.fromhex("0c001a000800020004000100"))
    assert type(other.af_spec) is rtnl.AfSpec
    assert other.af_spec.unknown == ((2, b"\4\0\1\0"),)


def test_protinfo_by_family():
    port = Link(family=rtnl.AF_BRIDGE, protinfo=rtnl.BridgeProtInfo(state=rtnl.BR_STATE.BLOCKING, cost=4))
    assert isinstance(port.protinfo, BridgePort)
    assert port.protinfo.cost == 4
    six = Link(protinfo=rtnl.Inet6ProtInfo(flags=rtnl.IF6_FLAGS.READY))
    assert six.family == rtnl.AF_INET6
    assert six.inet6.flags == rtnl.IF6_FLAGS.READY
    assert type(Link.from_bytes(bytes(16) + bytes.fromhex("0c000c80" + "0800010001000000")).protinfo) is rtnl.ProtInfo


def test_statistics_of_virtual_functions():
    stats = rtnl.VfStats(rx_packets=1, tx_dropped=2)
    assert bytes(stats).hex() == "0c000000" + "0100000000000000" + "0c000800" + "0200000000000000"
    ports = Link(vf_ports=rtnl.VfPorts(port=(rtnl.VfPort(vf=0, profile="x"), rtnl.VfPort(vf=1))))
    assert [port.vf for port in ports.vf_ports.port] == [0, 1]


# Building --------------------------------------------------------------------------------------------------------


def test_errors_name_the_field():
    with pytest.raises(EncodeError, match=r"Link\.mtu: 8589934592 is out of range"):
        Link(mtu=2**33)
    with pytest.raises(TypeError, match=r"Link\.address"):
        Link(address=b"\2\0\0\0\0\1")
    with pytest.raises(TypeError, match=r"LinkInfo\.data"):
        LinkInfo(data=BridgePort())
    with pytest.raises(EncodeError, match="is for 'vlan', not for 'veth'"):
        LinkInfo(kind="veth", data=Vlan(id=5))
    with pytest.raises(TypeError, match="has no field 'ifname'"):
        Link(ifname="lan0")
    with pytest.raises(DecodeError, match=r"Link\.name"):
        _ = Link(index=1).name
    assert Link.path_names((18, 2, 1)) == "info.data.1"


def test_a_descriptor_stands_for_a_namespace():
    link = Link(netns=7)
    assert attributes(link) == "08001c0007000000"
    assert link.netns == 7
    with pytest.raises(TypeError, match=r"Link\.netns"):
        Link(netns="blue")
    with pytest.raises(EncodeError, match=r"Link\.netns"):
        Link(netns=-1)
    with pytest.raises(DecodeError, match=r"Link\.netns"):
        _ = read("06001c0007000000").netns


def test_words():
    assert rtnl.BOND_MODE.of("802.3ad") is rtnl.BOND_MODE.LACP
    assert rtnl.MACVLAN_MODE.of("passthru").word == "passthru"
    assert rtnl.ARPHRD.of("ether") == 1
    assert rtnl.ARPHRD(12345).word == "12345"
    assert Link(operstate=rtnl.IF_OPER.UP).to_dict()["operstate"] == "UP"
    assert Link(flags=rtnl.IFF.UP | rtnl.IFF.NOARP).to_dict()["flags"] == ["UP", "NOARP"]
    assert str(rtnl.BridgeId(priority=0x8000, addr=bytes(6))) == "8000.00:00:00:00:00:00"


def test_a_kind_of_ones_own():
    class Gtp(LinkData, kind="gtp"):
        id: int | None = attr(1, U32)

    link = Link(name="g0", info=LinkInfo(data=Gtp(id=9)))
    assert link.kind == "gtp"
    assert Link.from_bytes(bytes(link)).info.data.id == 9


def test_a_veth_inside_a_veth():
    link = Link(info=LinkInfo(data=Veth(peer=Link(name="v1", info=LinkInfo(data=Veth(peer=Link(name="v2")))))))
    assert link.info.data.peer.info.data.peer.name == "v2"
    message = Message(rtnl.RTM_NEWLINK, 0, link)
    assert Link.from_message(message) == link
