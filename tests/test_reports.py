"""What went wrong in other netlink libraries, one test for each report: the codec's part of it.

The bytes are in little-endian order, as the reporters' machines were.
"""

import ipaddress
import struct

import pytest

import netlink_codec as nl
from netlink_codec import Attribute, AttributeDecoder, AttributeEncoder, DecodeError, EncodeError, Message
from support import Fault, outcome, recorded_on_little_endian, recording, stream, walked

pytestmark = recorded_on_little_endian

NESTED, NET = nl.NLA_F_NESTED, nl.NLA_F_NET_BYTEORDER


def decoder(text):
    return AttributeDecoder(bytes.fromhex(text))


def written(name, *arguments):
    encoder = AttributeEncoder()
    getattr(encoder, name)(*arguments)
    return bytes(encoder).hex()


# --- framing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "total"), [(1, 8), (2, 8), (3, 8), (4, 8), (5, 12)])
def test_length_excludes_the_padding(length, total):
    """nbdd0121/nfq-rs#18, #19: packets grew by the padding."""
    encoder = AttributeEncoder()
    encoder.data(10, b"\xff" * length)
    for wire in (bytes(encoder), nl.marshal_attributes([Attribute(10, b"\xff" * length)])):
        assert struct.unpack_from("<HH", wire) == (4 + length, 10)
        assert wire[4:] == b"\xff" * length + bytes(total - 4 - length)


def test_empty_attributes_at_the_end():
    """vishvananda/netlink#1034: an attribute of 4 bytes at the very end was lost."""
    mtu, *empty = decoder("08000400dc050000 04003e80 04004180")
    assert (mtu.type, mtu.u32()) == (4, 1500)
    assert [(a.type, a.type_flags, a.data) for a in empty] == [(0x3E, NESTED, b""), (0x41, NESTED, b"")]
    link = nl.unmarshal_messages(recording("links_1")[0])[0]
    assert [a.type for a in link.attributes(16)][-2:] == [0x3E, 0x41]


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        ("0000010000000000", [Fault(0)]),
        ("0300010000000000", [Fault(0)]),
        ("0c00010000000000", [Fault(0)]),
        ("08000100000000000500", [b"\0\0\0\0"]),
        ("05000100ff", [b"\xff"]),
    ],
)
def test_bad_lengths_end_in_an_error(wire, expected):
    """rust-netlink/netlink-packet-route#152, #100; google/nftables#367; thom311/libnl#199: crashes."""
    assert walked(decoder(wire), lambda a: a.data) == expected
    assert list(Attribute(1, b"\xff").nested()) == [], "a lone byte is ignored, as the kernel does"


@pytest.mark.parametrize("length", [0, 8, 15, 17, 0xFFFFFFFF])
def test_short_datagrams_are_not_parsed(length):
    """openthread/openthread#9613; vm0-ai/vm0#12078; robertdavidgraham/masscan#441; CumulusNetworks/ifupdown2#160."""
    assert nl.unmarshal_messages(b"") == []
    assert walked(nl.iter_messages(bytes(15))) == [Fault(0)]
    header = struct.pack("<IHHII", length, 16, 0, 1, 1)
    with pytest.raises(DecodeError, match=str(length)) as caught:
        nl.unmarshal_messages(header)
    assert caught.value.offset == 0
    stale = memoryview(header + b"stale bytes of an earlier datagram")[:16]
    assert walked(nl.iter_messages(stale)) == [Fault(0)]


def test_attributes_over_64_kib_are_refused():
    """mdlayher/netlink#191, #221; netlink-packet-core#43; google/nftables#303: the length wrapped."""
    encoder = AttributeEncoder()
    encoder.data(1, bytes(65531))
    for length in (65532, 70000):
        for write in (encoder.data, Attribute):
            with pytest.raises(EncodeError, match=str(length)) as caught:
                write(7, bytes(length))
            assert caught.value.attribute == 7

    def elements(count):
        # NFTA_SET_ELEM_LIST_ELEMENTS {NFTA_LIST_ELEM {NFTA_SET_ELEM_KEY {NFTA_DATA_VALUE}}}, 16 bytes each.
        with encoder.nested(3):
            for key in range(count):
                with encoder.nested(1):
                    encoder.u32be(1, key)
                    encoder.flag(2)

    encoder.clear()
    elements(4095)
    assert len(encoder) == 4 + 4095 * 16
    with pytest.raises(EncodeError) as caught:
        elements(4096)
    assert caught.value.attribute == 3
    assert len(encoder) == 4 + 4095 * 16


@pytest.mark.parametrize("raw_type", [8, NESTED | 8, NET | 8, NESTED | NET | 8])
def test_type_flags_do_not_hide_an_attribute(raw_type):
    """jbaublitz/neli#84; gluxon/wireguard-uapi-rs#9; FRRouting/frr#15892; vishvananda/netlink#1104, #1105."""
    wire = stream((5, b""), (raw_type, struct.pack("<I", 1500)))
    found = AttributeDecoder(wire).find(8)
    assert (found.type, found.type_flags, found.u32le()) == (8, raw_type - 8, 1500)
    assert AttributeDecoder(wire).find_all(8) == [found]


@pytest.mark.parametrize("wire", ["0800064000000e10", "080006c000000e10", "08000680 04003fc0"])
def test_round_trip_keeps_type_flags(wire):
    """rust-netlink/netlink-packet-core#53; little-dude/netlink#70: the flags were dropped, and ipset refused."""
    wire = bytes.fromhex(wire)
    encoder = AttributeEncoder()
    for attribute in AttributeDecoder(wire):
        encoder.attribute(attribute)
    assert bytes(encoder) == nl.marshal_attributes(AttributeDecoder(wire)) == wire
    assert nl.marshal_attributes(Attribute(a.type | a.type_flags, a.data) for a in AttributeDecoder(wire)) == wire


def test_ipset_timeout_is_in_network_order():
    """rust-netlink/netlink-packet-core#53: the flag says how the integer reads and is written."""
    assert next(decoder("0800064000000e10")).u32() == 3600
    assert written("u32", NET | 6, 3600) == written("u32be", NET | 6, 3600) == "0800064000000e10"


def test_containers_carry_the_nested_flag():
    """WireGuard/wgctrl-go#64, #69; LINBIT/drbd-utils#4; svinota/pyroute2#642, #653; acassen/keepalived#2724."""
    encoder = AttributeEncoder()
    with encoder.nested(52):  # IFLA_PROP_LIST
        encoder.string(53, "alt")  # IFLA_ALT_IFNAME
    assert bytes(encoder).hex() == "0c003480" + "08003500616c7400"


def test_containers_without_the_nested_flag_are_read():
    """mdlayher/netlink#80; systemd/systemd#333, #436: the kernel leaves the flag out of RTA_METRICS and others."""
    metrics = decoder("0c0008000800020078050000")
    assert metrics.find(8, 2).u32() == next(next(metrics).nested()).u32() == 1400


def test_integer_widths_are_exact():
    """bmegli/wifi-scan#25, #26; SagerNet/sing-box#1566; lxc/lxc#3392; jbaublitz/neli#158."""
    assert written("u32", 4, 1500) == "08000400dc050000"
    assert written("u16", 1, 0x1234) == "0600010034120000"
    for name, number in [("u32", 1 << 32), ("u16", 1 << 16), ("u16", -1)]:
        with pytest.raises(EncodeError):
            written(name, 4, number)
    mtu = next(decoder("08000400dc050000"))
    for other in (mtu.u8, mtu.u16, mtu.u64):
        with pytest.raises(DecodeError):
            other()


@pytest.mark.parametrize(
    ("type", "length"),
    [*[(0x17, n) for n in (116, 184, 192, 200, 208, 216)], *[(0x07, n) for n in (92, 96, 100)]],
)
def test_structs_of_any_length_are_delivered(type, length):
    """thom311/libnl#116; rust-netlink/netlink-packet-route#332, #140; jsimonetti/rtnetlink#14; node_exporter#2502."""
    payload = bytes(n % 256 for n in range(length))
    attribute = AttributeDecoder(stream((3, b"eth0\0"), (type, payload), (4, bytes(4)))).find(type)
    assert attribute.data == attribute.view == payload
    assert attribute.do(lambda view: struct.unpack_from("<Q", view)) == (0x0706050403020100,)


# --- errors and DONE --------------------------------------------------------------------------------------------------


def test_done_carries_its_errno():
    """vishvananda/netlink#520; rust-netlink/netlink-packet-core#11; netdata/netdata#23091: failure looked empty."""
    (done,) = nl.iter_messages(bytes.fromhex("14000000030002000500000034120000edffffff"))
    assert (done.type, done.flags, done.seq, done.pid) == (nl.NLMSG_DONE, nl.NLM_F_MULTI, 5, 0x1234)
    assert struct.unpack("<i", done.view) == (-19,)


EXT_ACK = {
    # Of DONE: right after the errno.
    "done": (
        "48000000030002020500000034120000eaffffff32000100496e76616c69642076616c75657320696e2068656164657220666f72"
        "204649422064756d70207265717565737400 0000",
        4,
        "Invalid values in header for FIB dump request",
    ),
    # Of a success, capped: after the errno and the request's header.
    "warning": (
        "5000000002000003050000003412000000000000280000001000050005000000000000002c0001006279746573206c6566746f"
        "7665722061667465722070617273696e67206174747269627574657300",
        4 + 16,
        "bytes leftover after parsing attributes",
    ),
}


@pytest.mark.parametrize(("wire", "offset", "text"), EXT_ACK.values(), ids=EXT_ACK)
def test_text_of_an_extended_ack(wire, offset, text):
    """mdlayher/netlink#183; jbaublitz/neli#261: DONE has no echoed header before its attributes, a capped ACK has."""
    (message,) = nl.iter_messages(bytes.fromhex(wire), strict=True)
    assert message.flags & nl.NLM_F_ACK_TLVS
    assert message.attributes(offset, strict=True).find(nl.NLMSGERR_ATTR_MSG).string() == text


def test_error_with_text_and_offset():
    """From mdlayher/netlink's error tests: the attributes follow the echoed request."""
    echoed = struct.pack("<IHHII", 20, 0, 0, 0, 0) + b"\xff" * 4
    tlvs = stream((nl.NLMSGERR_ATTR_MSG, b"bad request\0"), (nl.NLMSGERR_ATTR_OFFS, struct.pack("<I", 2)))
    wire = bytes(Message(nl.NLMSG_ERROR, nl.NLM_F_ACK_TLVS, struct.pack("<i", -1) + echoed + tlvs, seq=3258842681))
    (message,) = nl.iter_messages(wire)
    assert len(message.data) == 48
    attributes = message.attributes(4 + len(echoed))
    assert (attributes.find(1).string(), attributes.find(2).u32(), message.seq) == ("bad request", 2, 3258842681)


def test_stray_byte_after_an_errno():
    """From mdlayher/netlink's error tests, where it is an error: here lax readers ignore 1 to 3 bytes."""
    message = Message(nl.NLMSG_ERROR, nl.NLM_F_ACK_TLVS, bytes.fromhex("01000000 ff"))
    assert list(message.attributes(4)) == []
    assert walked(message.attributes(4, strict=True)) == [Fault(20)]


def test_error_without_room_for_an_errno():
    """vm0-ai/vm0#12078; netdata/netdata#23091: two bytes of errno counted as success."""
    (message,) = nl.iter_messages(bytes.fromhex("12000000020000000500000034120000edff"))
    assert (message.type, message.data) == (nl.NLMSG_ERROR, b"\xed\xff")
    assert outcome(message.attributes, 4) == Fault(len(message))


# --- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "c0000201",
        "20010db8000000000000000000000001",
        "000102030405060708090a0b0c0d0e0f10111213",
        "",
        "00" * 6,
        "11" * 8,
        "22" * 32,
    ],
)
def test_hardware_addresses_of_any_length(address):
    """jsimonetti/rtnetlink#8; CumulusNetworks/ifupdown2#61, #63: tunnels and InfiniBand failed the dump."""
    address = bytes.fromhex(address)
    assert AttributeDecoder(stream((1, address))).find(1).data == address


@pytest.mark.parametrize("length", [0, 4, 6, 8, 16, 20])
def test_neighbours_with_any_address(length):
    """jsimonetti/rtnetlink#182, #199, #208; FRRouting/frr#9680; node_exporter#2849; systemd/systemd#13015."""
    message = Message(28, 0, bytes(12) + stream((1, b"\xc0\0\2\1"), (2, bytes(length))))
    assert message.attributes(12).find(2).data == bytes(length)
    assert Message(28, 0, bytes(12) + stream((1, b"\xc0\0\2\1"))).attributes(12).find(2) is None


def test_vxlan_ports_are_big_endian():
    """rust-netlink/netlink-packet-route#28, #42, #44; vishvananda/netlink#107: 4789 became 46354."""
    port, both = decoder("06000f0012b50000 08000a0013881770")
    assert port.u16be() == 4789
    assert both.do(lambda view: struct.unpack(">HH", view)) == (5000, 6000)
    assert written("u16be", 15, 4789) == "06000f0012b50000"


def test_vlan_protocol_is_big_endian_and_its_id_is_not():
    """little-dude/netlink#81; GNS3/ubridge#113."""
    assert written("u16be", 5, 0x88A8) == "0600050088a80000"
    assert written("u16", 1, 5) == "0600010005000000"


@pytest.mark.parametrize("kind_first", [True, False])
def test_link_info_in_any_order(kind_first):
    """CumulusNetworks/ifupdown2#139; little-dude/netlink#227; netlink-packet-route#54, #140, #151."""
    parts = [(1, b"foo\0"), (2, b"8 bytes!"), (4, b"bridge\0"), (5, stream((1, b"\1")))]
    info = AttributeDecoder(stream((18, stream(*(parts if kind_first else reversed(parts))))))
    assert info.find(18, 1).string() == "foo"
    assert info.find(18, 2).data == b"8 bytes!"
    assert (info.find(18, 4).string(), info.find(18, 5, 1).u8()) == ("bridge", 1)


def test_address_protocol_is_one_byte():
    """svinota/pyroute2#1166."""
    assert decoder("05000b0003000000").find(11).u8() == 3
    loopback = nl.unmarshal_messages(recording("addrs_2")[0])
    assert [address.attributes(8).find(11).u8() for address in loopback if address.attributes(8).find(11)] == [1]


def test_table_numbers_over_255():
    """svinota/pyroute2#204, #409; acassen/keepalived#214; FRRouting/frr#4365: RTA_TABLE has 32 bits."""
    assert decoder("08000f00e8030000").find(15).u32() == 1000
    assert written("u32", 15, 1000) == "08000f00e8030000"


def test_empty_destination():
    """cloudfoundry/bosh-agent#230; vishvananda/netlink#1183, #326: an RTA_DST of no bytes."""
    destination = decoder("04000100").find(1)
    assert destination is not None
    assert destination.data == b""
    assert outcome(destination.u32) == Fault(0)


def test_encapsulation_of_each_next_hop():
    """vishvananda/netlink#494; BIRD/bird#8: struct rtnexthop, then that hop's own attributes."""
    tail = stream((21, struct.pack("<H", 1)), (22, b"8 bytes!"), (99, b"?"))
    hops = b"".join(struct.pack("<HBBi", 8 + len(tail), 0, 0, index) + tail for index in (2, 3))
    multipath = AttributeDecoder(stream((9, hops))).find(9)
    view, seen = multipath.view, []
    while view:
        length, _, _, index = struct.unpack_from("<HBBi", view)
        hop = AttributeDecoder(view[:length], 8)
        seen.append((index, hop.find(21).u16(), hop.find(22).data, hop.find(99).data))
        view = view[length:]
    assert seen == [(2, 1, b"8 bytes!", b"?"), (3, 1, b"8 bytes!", b"?")]
    assert next(multipath.nested(8)).u16() == 1


def test_suppressed_prefix_length():
    """systemd/systemd#21235, #21395; nmstate/nmstate#2391: -1 means unset, 0 is a value."""
    assert next(decoder("08000e00ffffffff")).u32() == 0xFFFFFFFF
    assert next(decoder("08000e00ffffffff")).s32() == -1
    assert next(decoder("08000e0000000000")).u32() == 0


# --- nftables, conntrack ----------------------------------------------------------------------------------------------


def test_set_elements_with_interval_ends():
    """google/nftables#154, #155, #205, #225: an element's flags say that it ends an interval."""
    elements = AttributeDecoder(
        stream(
            (
                NESTED | 3,
                b"".join(
                    stream((NESTED | 1, bytes.fromhex(body)))
                    for body in (
                        "0c000180 08000100c6336415 0800030000000001",
                        "0c000180 08000100c633640a",
                        "0c000180 08000100ffffff00",
                        "0c000180 0800010000000000 0800030000000001",
                    )
                ),
            )
        )
    ).find(3)
    seen = [
        (str(ipaddress.ip_address(body.find(1, 1).data)), getattr(body.find(3), "u32be", lambda: 0)())
        for body in (element.nested() for element in elements.nested())
    ]
    assert seen == [("198.51.100.21", 1), ("198.51.100.10", 0), ("255.255.255.0", 0), ("0.0.0.0", 1)]


def test_timeouts_are_big_endian_milliseconds():
    """google/nftables#96, #98; crowdsecurity/cs-firewall-bouncer#82."""
    assert next(decoder("0c00040000000000000927c0")).u64be() == 600_000
    assert written("u64be", 4, 600_000) == "0c00040000000000000927c0"


def test_hook_priority_is_signed():
    """svinota/pyroute2#743, #732."""
    assert next(decoder("08000200ffffff6a")).s32be() == -150
    assert written("s32be", 2, -150) == "08000200ffffff6a"
    for number in (1 << 31, -(1 << 31) - 1):
        with pytest.raises(EncodeError):
            written("s32be", 2, number)


def test_verdicts():
    """Verdict maps: the code is signed and big-endian, the chain's name ends in NUL."""
    accept = decoder("0c0002800800010000000001")
    jump = decoder("1400028008000100fffffffd0700020063630000")
    assert (accept.find(2, 1).s32be(), accept.find(2, 2)) == (1, None)
    assert (jump.find(2, 1).s32be(), jump.find(2, 2).string()) == (-3, "cc")


ICMP_FLOW = (
    "28000180 24000280 0500010001000000 0600040012340000 0500050008000000 0500060000000000"
    "28000280 24000280 0500010001000000 0600040012340000 0500050000000000 0500060000000000"
)


def test_icmp_flow_has_two_types():
    """florianl/go-conntrack#8: the reply's type overwrote the original's."""
    flow = decoder(ICMP_FLOW)
    assert [[flow.find(tuple, 2, field).u8() for field in (1, 5, 6)] for tuple in (1, 2)] == [[1, 8, 0], [1, 0, 0]]
    assert [flow.find(tuple, 2, 4).u16be() for tuple in (1, 2)] == [0x1234, 0x1234]
    assert flow.find(1, 2, 2) is None, "no port"
    encoder = AttributeEncoder()
    for tuple, type in [(1, 8), (2, 0)]:
        with encoder.nested(tuple), encoder.nested(2):
            encoder.u8(1, 1)
            encoder.u16be(4, 0x1234)
            encoder.u8(5, type)
            encoder.u8(6, 0)
    assert bytes(encoder) == bytes.fromhex(ICMP_FLOW)


# --- generic netlink --------------------------------------------------------------------------------------------------

WIREGUARD = [
    (
        "c80000001e00020005000000341200000001000008000100090000000800020077673000060006006cca00009c00088098000080"
        "24000100000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f140004000200ca6cc000020700000000"
        "0000000006000500190000001400060000f153650000000005000000000000000c00070001000000000000000c00080002000000"
        "00000000200009801c000080060001000200000008000200c0000200050003001800000008000a0001000000"
    ),
    (
        "d40000001e000200050000003412000000010000c00008805400008024000100000102030405060708090a0b0c0d0e0f10111213"
        "1415161718191a1b1c1d1e1f2c00098028000080060001000a0000001400020020010db800000000000000000000000005000300"
        "200000006800008024000100202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f200004000a00ca6c"
        "0000000020010db800000000000000000000000700000000200009801c000080060001000200000008000200c633640005000300"
        "18000000"
    ),
]


def test_wireguard_peer_split_over_two_messages():
    """WireGuard/wgctrl-go#2, #3, #14: the second part repeats the key and has the rest of the allowed addresses."""
    device, peers = {}, {}
    for message in nl.iter_messages(bytes.fromhex("".join(WIREGUARD)), strict=True):
        for attribute in message.attributes(4, strict=True):
            if attribute.type != 8:  # WGDEVICE_A_PEERS
                device[attribute.type] = attribute
                continue
            for one in attribute.nested():
                known = peers.setdefault(one.nested().find(1).data, {"allowed": []})
                known.update({field.type: field for field in one.nested()})
                for allowed in one.nested().find(9).nested():
                    address = ipaddress.ip_address(allowed.nested().find(2).data)
                    known["allowed"].append(f"{address}/{allowed.nested().find(3).u8()}")
    assert (device[1].u32(), device[2].string(), device[6].u16()) == (9, "wg0", 51820)
    first, second = bytes(range(32)), bytes(range(32, 64))
    assert list(peers) == [first, second]
    assert peers[first]["allowed"] == ["192.0.2.0/24", "2001:db8::/32"]
    assert peers[second]["allowed"] == ["198.51.100.0/24"]
    assert (len(peers[first][4]), peers[first][5].u16()) == (16, 25)
    assert len(peers[second][4]) == 28


@pytest.mark.parametrize(
    ("endpoint", "layout", "expected"),
    [
        ("0200ca6cc00002070000000000000000", "<H2x4s8x", "192.0.2.7"),
        ("0a00ca6c0000000020010db800000000000000000000000700000000", "<H2x4x16s4x", "2001:db8::7"),
        ("00" * 15, None, None),
        ("00" * 17, None, None),
        ("00" * 27, None, None),
    ],
)
def test_wireguard_endpoints(endpoint, layout, expected):
    """svinota/pyroute2#668, #888; cmusatyalab/wireguard-tools#13: a sockaddr, its family host order, its port not."""
    attribute = AttributeDecoder(stream((4, bytes.fromhex(endpoint)))).find(4)
    assert attribute.data.hex() == endpoint
    if expected:
        family, address = attribute.do(lambda view: struct.unpack(layout, view))
        assert (family, str(ipaddress.ip_address(address))) == (2 if len(address) == 4 else 10, expected)
        assert attribute.do(lambda view: struct.unpack_from(">H", view, 2)) == (51820,)
    else:
        with pytest.raises(struct.error) as caught:
            attribute.do(lambda view: struct.unpack("<H2x4s8x", view))
        assert "attribute 4" in caught.value.__notes__[0]


# --- tc and depth -----------------------------------------------------------------------------------------------------


def test_options_of_an_unknown_kind():
    """florianl/go-tc#29; vishvananda/netlink#1087: options may be anything or nothing."""
    kind, options = AttributeDecoder(stream((1, b"foo\0"), (2, b"7 bytes")))
    assert (kind.string(), options.data) == ("foo", b"7 bytes")
    assert isinstance(outcome(list, options.nested()), Fault)
    assert list(decoder("04000200").find(2).nested()) == []
    assert AttributeDecoder(stream((1, b"noqueue\0"))).find(2) is None
    mixed = AttributeDecoder(stream((2, b"struct  " + stream((1, b"\5"))))).find(2)
    assert mixed.nested(8).find(1).u8() == 5


def test_depth_of_1000():
    """svinota/pyroute2#729: structures that hold themselves."""
    wire = b""
    for _ in range(1000):
        wire = stream((1, wire))

    def descend(walk):
        return 1 + sum(descend(attribute.nested()) for attribute in walk)

    assert outcome(descend, AttributeDecoder(wire)) == Fault(31 * 4)
    assert outcome(AttributeDecoder(wire).find, *[1] * 1000) == Fault(31 * 4)
