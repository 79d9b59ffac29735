"""Connections as records: from bytes, and from values."""

import contextlib
import random
from ipaddress import IPv4Address, IPv6Address
from operator import attrgetter

import pytest

import netlink_codec as nl
from netlink_codec import conntrack as ct
from support import EDITS, edited, random_seed, recorded_messages, recorded_on_little_endian, stream

HEADER = bytes([2, 0, 0, 0])
ICMP = (
    "28000180240002800500010001000000060004001234000005000500080000000500060000000000"
    "28000280240002800500010001000000060004001234000005000500000000000500060000000000"
)


def nested(code, *attributes):
    return code | nl.NLA_F_NESTED, stream(*attributes)


def read(*attributes, family=2):
    return ct.Flow.from_bytes(bytes([family, 0, 0, 0]) + stream(*attributes))


def number(value, width=4):
    return value.to_bytes(width, "big")


def recorded():
    for data in recorded_messages("ct_10"):
        (message,) = nl.unmarshal_messages(data)
        if message.type == 0x100:
            yield message.data, ct.Flow.from_message(message)


@recorded_on_little_endian
def test_a_recorded_connection_gives_its_own_bytes_back():
    count = 0
    for data, flow in recorded():
        flow.check()
        assert bytes(flow) == data
        assert flow.unknown == ()
        assert flow.orig.proto is ct.IPPROTO.TCP
        assert flow.state is ct.TCP_CONNTRACK.ESTABLISHED
        assert flow.status & ct.IPS.ASSURED
        assert (flow.reply.src, flow.reply.sport) == (flow.orig.dst, flow.orig.dport)
        assert flow.to_dict()["protoinfo"]["tcp"]["state"] == "established"
        again = ct.Flow(**{name: getattr(flow, name) for name in flow.to_dict()})
        assert again == flow
        count += 1
    assert count == 10


# florianl/go-conntrack#8: what stands for ports, in both directions.
@recorded_on_little_endian
def test_icmp_has_no_ports():
    flow = ct.Flow.from_bytes(HEADER + bytes.fromhex(ICMP))
    there, back = flow.orig, flow.reply
    assert (there.protocol.icmp_type, there.protocol.icmp_code, there.protocol.icmp_id) == (8, 0, 0x1234)
    assert (back.protocol.icmp_type, back.protocol.icmp_code, back.protocol.icmp_id) == (0, 0, 0x1234)
    assert there.sport is there.dport is back.sport is back.dport is None
    assert (there.src, there.dst) == (None, None)
    assert flow.state is None


# ti-mo/conntrack#33, florianl/go-nflog#15: all numbers are big-endian.
ATTRIBUTES = [
    ((3, number(0x18E)), ("status", ct.IPS(0x18E))),
    ((3, number(0x20)), ("status", ct.IPS.DST_NAT)),
    ((3, number(1 << 20)), ("status", ct.IPS(1 << 20))),
    ((7, number(300)), ("timeout", 300)),
    ((8, number(0xABCD)), ("mark", 0xABCD)),
    ((11, number(1)), ("use", 1)),
    ((12, number(0x12345678)), ("id", 0x12345678)),
    ((17, number(9)), ("secmark", 9)),
    ((18, number(42, 2)), ("zone", 42)),
    ((21, number(0xFF)), ("mark_mask", 0xFF)),
    ((22, bytes(range(16))), ("labels", bytes(range(16)))),
    ((23, bytes(16)), ("labels_mask", bytes(16))),
    ((26, number(0x200)), ("status_mask", ct.IPS.DYING)),
    ((27, number(17, 8)), ("timestamp_event", 17)),
    (nested(9, (1, number(5, 8)), (2, number(500, 8))), ("counters_orig", ct.Counters(packets=5, bytes=500))),
    (nested(10, (1, number(6, 8)), (2, number(600, 8))), ("counters_reply", ct.Counters(packets=6, bytes=600))),
    (nested(20, (1, number(1, 8)), (2, number(2, 8))), ("timestamp", ct.Timestamp(start=1, stop=2))),
    (nested(20, (1, number(1, 8))), ("timestamp", ct.Timestamp(start=1))),
    (nested(5, (1, b"ftp\0")), ("help", ct.Help(name="ftp"))),
    (nested(19, (1, b"system_u\0")), ("secctx", ct.SecCtx(name="system_u"))),
    (
        nested(15, (1, number(1)), (2, number(2)), (3, number(3))),
        ("seq_adj_orig", ct.SeqAdj(correction_pos=1, offset_before=2, offset_after=3)),
    ),
    (
        nested(24, (1, number(1)), (2, number(2)), (3, number(3))),
        ("synproxy", ct.SynProxy(isn=1, its=2, tsoff=3)),
    ),
    (
        nested(4, nested(1, (1, b"\3"), (4, b"\x0a\0"), (5, b"\x0a\xff"))),
        (
            "protoinfo",
            ct.ProtoInfo(
                tcp=ct.TcpInfo(
                    state=ct.TCP_CONNTRACK.ESTABLISHED,
                    flags_orig=ct.TcpFlags(flags=10),
                    flags_reply=ct.TcpFlags(flags=10, mask=255),
                )
            ),
        ),
    ),
    (
        nested(4, nested(2, (1, b"\4"), (2, b"\1"), (3, number(7, 8)))),
        ("protoinfo", ct.ProtoInfo(dccp=ct.DccpInfo(state=ct.DCCP_CONNTRACK.OPEN, role=1, handshake_seq=7))),
    ),
    (
        nested(4, nested(3, (1, b"\4"), (2, number(7)), (3, number(8)))),
        (
            "protoinfo",
            ct.ProtoInfo(sctp=ct.SctpInfo(state=ct.SCTP_CONNTRACK.ESTABLISHED, vtag_orig=7, vtag_reply=8)),
        ),
    ),
    (
        nested(
            6, (1, bytes([10, 0, 0, 1])), (2, bytes([10, 0, 0, 9])), nested(3, (1, number(1, 2)), (2, number(9, 2)))
        ),
        (
            "nat_src",
            ct.Nat(
                v4_minip=IPv4Address("10.0.0.1"),
                v4_maxip=IPv4Address("10.0.0.9"),
                ports=ct.NatPorts(port_min=1, port_max=9),
            ),
        ),
    ),
    (
        nested(
            14,
            nested(1, (3, bytes(15) + b"\1"), (4, bytes(15) + b"\2")),
            nested(2, (1, b"\x11"), (2, number(53, 2))),
        ),
        (
            "master",
            ct.Tuple(
                addresses=ct.Addresses(v6_src=IPv6Address("::1"), v6_dst=IPv6Address("::2")),
                protocol=ct.Protocol(number=ct.IPPROTO.UDP, src_port=53),
            ),
        ),
    ),
]


@pytest.mark.parametrize(("attribute", "read_as"), ATTRIBUTES, ids=range(len(ATTRIBUTES)))
def test_an_attribute(attribute, read_as):
    flow = read(attribute)
    name, value = read_as
    assert getattr(flow, name) == value
    assert bytes(ct.Flow(family=2, **{name: value})) == bytes(flow)
    flow.check()


# ti-mo/conntrack#33: a TCP connection that is gone has one attribute where there were five.
def test_what_is_missing_is_none():
    flow = read(nested(4, nested(1, (1, b"\7"))))
    assert flow.state is ct.TCP_CONNTRACK.TIME_WAIT
    assert flow.protoinfo.tcp.wscale_orig is None
    assert read(nested(4)).state is None
    assert read(nested(9)).counters is None
    assert read().orig is None


def test_what_is_not_known_is_kept_and_disturbs_nobody():
    tcp = nested(1, (1, b"\3"), (77, b"new"))
    inside = nested(
        1, nested(1, (1, bytes([10, 0, 0, 1])), (99, b"new")), (88, b"new"), nested(2, (1, b"\6"), (66, b""))
    )
    flow = read((200, b"new"), nested(4, tcp, (55, b"new")), inside)
    flow.check()
    assert flow.unknown == ((200, b"new"),)
    assert flow.protoinfo.tcp.unknown == ((77, b"new"),)
    assert flow.orig.addresses.unknown == ((99, b"new"),)
    assert (str(flow.orig.src), flow.orig.proto) == ("10.0.0.1", ct.IPPROTO.TCP)
    assert flow.replace(mark=1).unknown == ((200, b"new"),)
    assert flow.orig.protocol.replace(number=ct.IPPROTO(99)).number.word == "99"


def test_nested_attributes_without_their_flag():
    flow = read((1, stream((1, stream((1, bytes([10, 0, 0, 1])))))))
    assert str(flow.orig.src) == "10.0.0.1"


def test_a_connection_is_built_both_ways():
    flow = ct.flow("tcp", "10.0.0.1", "10.0.0.2", 4711, 80, timeout=60, mark=7, zone=3)
    assert (flow.family, flow.timeout, flow.mark, flow.zone) == (2, 60, 7, 3)
    assert (str(flow.orig.src), str(flow.orig.dst), flow.orig.sport, flow.orig.dport) == (
        "10.0.0.1",
        "10.0.0.2",
        4711,
        80,
    )
    assert flow.reply == ct.direction("tcp", "10.0.0.2", "10.0.0.1", 80, 4711) == ct.answering(flow.orig)
    assert flow.state is ct.TCP_CONNTRACK.ESTABLISHED
    six = ct.flow(17, IPv6Address("::1"), "::2", 1, 2, timeout=1)
    assert (six.family, six.orig.proto, six.state) == (10, ct.IPPROTO.UDP, None)
    assert flow.identity != six.identity
    assert flow.identity == flow.replace(timeout=1).identity


@pytest.mark.parametrize(
    ("proto", "ends", "kind", "answer"),
    [
        ("icmp", ("10.0.0.1", "10.0.0.2"), 8, 0),
        ("icmp", ("10.0.0.1", "10.0.0.2"), 13, 14),
        ("icmpv6", ("::1", "::2"), 128, 129),
    ],
)
def test_an_echo_is_answered_by_another_type(proto, ends, kind, answer):
    flow = ct.flow(proto, *ends, timeout=30, icmp_type=kind, icmp_id=5)
    there, back = (getattr(one.protocol, f"{proto}_type") for one in (flow.orig, flow.reply))
    assert (there, back) == (kind, answer)
    assert getattr(flow.reply.protocol, f"{proto}_id") == 5
    assert getattr(flow.orig.protocol, f"{proto}_code") == 0
    assert flow.orig.sport is None


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ct.direction("udp", "10.0.0.1", "::1"), "one family"),
        (lambda: ct.direction("udp", "10.0.0.1", "10.0.0.2", icmp_type=8), "icmp"),
        (lambda: ct.direction("icmp", "10.0.0.1", "10.0.0.2", 1, 2), "no ports"),
        (lambda: ct.direction("carrier-pigeon", "10.0.0.1", "10.0.0.2"), "carrier-pigeon"),
        (lambda: ct.direction("udp", "10.0.0.256", "10.0.0.2"), "10.0.0.256"),
        (lambda: ct.direction("udp", "10.0.0.1", "10.0.0.2", 65536), "src_port"),
        (lambda: ct.get(ct.Tuple()), "a family is needed"),
        (lambda: ct.flows(orig=ct.Tuple()), "family"),
        (lambda: ct.flows(family=2, orig=ct.Tuple()), "addresses, or a protocol"),
        (lambda: ct.flows(family=2, orig=ct.Tuple(protocol=ct.Protocol(dst_port=53))), "number"),
        (lambda: ct.watch("renew"), "'renew'"),
    ],
)
def test_what_is_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make()


# The kernel takes a request to delete that names nothing for one to delete everything.
@pytest.mark.parametrize(
    ("request_about", "record", "options"),
    [
        (ct.delete, ct.Flow(family=2, mark=7), {}),
        (ct.delete, ct.Flow(family=2), {"reply": True}),
        (ct.get, ct.Flow(family=2, mark=7), {}),
        (ct.update, ct.Flow(family=2), {"mark": 7}),
        (ct.delete_expectation, ct.Expectation(family=2), {}),
        (ct.get_expectation, ct.Expectation(family=2), {}),
        (lambda master: ct.expectations(master=master), ct.Flow(family=2), {}),
    ],
)
def test_a_request_about_one_says_which(request_about, record, options):
    with pytest.raises(ValueError, match="by which it would be named"):
        request_about(record, **options)


def flow_message(flow, type=0x100, flags=0):
    return nl.Message(type, flags, flow)


# An older kernel ignores some filters, and sends everything.
@pytest.mark.parametrize(
    ("filters", "taken"),
    [
        ({}, True),
        ({"family": 2}, True),
        ({"family": 10}, False),
        ({"zone": 3}, True),
        ({"zone": 0}, False),
        ({"mark": 7}, True),
        ({"mark": 6}, False),
        ({"mark": 0xF7, "mark_mask": 0x0F}, True),
        ({"status": ct.IPS.ASSURED}, True),
        ({"status": ct.IPS.DYING}, False),
        ({"status": ct.IPS(0), "status_mask": ct.IPS.DYING}, True),
        ({"orig": ct.direction("tcp", "10.0.0.1", "10.0.0.2", 4711, 80)}, True),
        ({"reply": ct.direction("tcp", "10.0.0.2", "10.0.0.1", 80, 4711)}, True),
        ({"orig": ct.direction("tcp", "10.0.0.2", "10.0.0.1", 80, 4711)}, False),
        ({"orig": ct.Tuple(protocol=ct.Protocol(number=ct.IPPROTO.TCP, dst_port=80)), "family": 2}, True),
        ({"orig": ct.Tuple(protocol=ct.Protocol(number=ct.IPPROTO.TCP, dst_port=81)), "family": 2}, False),
        ({"orig": ct.Tuple(addresses=ct.Addresses(v4_dst=IPv4Address("10.0.0.2")))}, True),
    ],
)
def test_what_does_not_match_is_left_out_here_too(filters, taken):
    flow = ct.flow(
        "tcp", "10.0.0.1", "10.0.0.2", 4711, 80, timeout=60, mark=7, zone=3, status=ct.IPS.ASSURED | ct.IPS.SEEN_REPLY
    )
    assert (ct.flows(**filters).decode(flow_message(flow)) is not None) is taken


def test_no_mark_and_no_status_are_zero():
    bare = ct.flow("tcp", "10.0.0.1", "10.0.0.2", 4711, 80, timeout=60)
    assert ct.flows(mark=0).decode(flow_message(bare)) is not None
    assert ct.flows(mark=1).decode(flow_message(bare)) is None
    assert ct.flows(zone=0).decode(flow_message(bare)) is not None
    assert ct.flows().decode(flow_message(bare, type=0x102)) is None


def test_new_and_changed_are_told_apart_by_flags():
    decode = ct.watch().decode
    flow = ct.flow("udp", "10.0.0.1", "10.0.0.2", 1, 2, timeout=60)
    assert isinstance(decode(flow_message(flow, flags=nl.NLM_F_CREATE | nl.NLM_F_EXCL), 1), nl.New)
    assert isinstance(decode(flow_message(flow), 2), nl.Changed)
    assert isinstance(decode(flow_message(flow, type=0x102), 3), nl.Deleted)
    assert decode(flow_message(flow, type=0x103), 3) is None
    assert (ct.watch().groups, ct.watch("destroy").groups, ct.watch_expectations().groups) == (
        (1, 2, 3),
        (3,),
        (4, 5, 6),
    )


def test_a_flush_of_one_family_says_so():
    assert bytes(ct.flush().message.data) == bytes([0, 0, 0, 0])
    assert bytes(ct.flush(family=10).message.data) == bytes([10, 1, 0, 0])


def test_expectations():
    master = ct.flow("tcp", "10.0.0.1", "10.0.0.2", 4711, 21, timeout=60, zone=3)
    made = ct.expectation(master, ct.direction("tcp", "10.0.0.1", "10.0.0.2", 0, 2000), timeout=9)
    assert (made.family, made.zone, made.timeout, made.master) == (2, 3, 9, master.orig)
    assert (str(made.mask.src), str(made.mask.dst)) == ("255.255.255.255", "255.255.255.255")
    assert (made.mask.sport, made.mask.dport) == (0, 0xFFFF)
    six = ct.expectation(ct.direction("tcp", "::1", "::2", 1, 2), ct.direction("udp", "::", "::2", 7, 8), timeout=9)
    assert (str(six.mask.src), six.mask.sport) == ("::", 0xFFFF)
    for one in (made, six):
        one.check()
        assert ct.Expectation.from_bytes(bytes(one)) == one


def test_statistics():
    stats = ct.Stats.from_bytes(HEADER + stream((1, number(5)), (2, number(9))))
    assert (stats.entries, stats.max_entries) == (5, 9)
    cpu = ct.CpuStats.from_bytes(bytes([0, 0, 0, 3]) + stream((2, number(5)), (99, number(9))))
    assert (cpu.cpu, cpu.found, cpu.searched, cpu.unknown) == (3, 5, None, ((99, number(9)),))


LOOKS = (ct.Flow.check, ct.Flow.to_dict, attrgetter("identity"), attrgetter("orig.src"), attrgetter("state"))


@recorded_on_little_endian
def test_mutated_connections_are_read_or_refused():
    chance = random.Random(random_seed())
    real = [data for data, _ in recorded()] + [HEADER + bytes.fromhex(ICMP)]
    for _ in range(1000):
        edits = [
            (chance.choice(EDITS), chance.randrange(999), chance.randrange(1 << 16))
            for _ in range(chance.randrange(1, 4))
        ]
        mutated = edited(chance.choice(real), edits)
        try:
            flow = ct.Flow.from_bytes(mutated)
        except nl.DecodeError:
            continue
        assert bytes(flow) == mutated
        repr(flow)
        for look in LOOKS:
            with contextlib.suppress(nl.DecodeError, AttributeError):
                look(flow)


def test_parts_of_a_direction():
    assert ct.direction("udp", dport=53) == ct.Tuple(protocol=ct.Protocol(number=ct.IPPROTO.UDP, dst_port=53))
    assert ct.direction(src="10.0.0.1") == ct.Tuple(addresses=ct.Addresses(v4_src=IPv4Address("10.0.0.1")))
    assert ct.direction("icmp", icmp_type=8).protocol.icmp_id is None
    assert ct.direction("icmp", "10.0.0.1", "10.0.0.2").protocol.icmp_id == 0
    for wrong in ({"dport": 53}, {"icmp_type": 8}, {"proto": "icmp", "dport": 1}, {"proto": "udp", "icmp_id": 1}):
        with pytest.raises(ValueError, match=r"protocol|icmp"):
            ct.direction(**wrong)
    with pytest.raises(ValueError, match="one family"):
        ct.direction(src="10.0.0.1", dst="::1")
