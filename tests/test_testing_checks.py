"""Requests compared with what was expected."""

import struct

import pytest

import netlink_codec as nl
from netlink_codec.testing import FakeKernel, RequestMismatch, ack, check_request, reply

GETLINK, NEWLINK, NEWADDR = 18, 16, 20
IFINFOMSG = struct.pack("=BxHiII", 0, 0, 7, 0, 0)


def request(fill=lambda encoder: None, *, type=NEWLINK, flags=nl.NLM_F_REQUEST | nl.NLM_F_ACK, header=IFINFOMSG):
    encoder = nl.AttributeEncoder(header)
    fill(encoder)
    return nl.Message(type, flags, encoder, seq=7, pid=9)


def some(encoder):
    encoder.string(3, "eth0")
    encoder.u32(4, 1500)
    with encoder.nested(18):
        encoder.string(1, "vlan")
        with encoder.nested(2):
            encoder.u16(1, 42)
            encoder.u16be(2 | nl.NLA_F_NET_BYTEORDER, 0x8100)
    encoder.flag(30)
    encoder.s32(31, -5)
    encoder.u8(32, 0)


SOME = request(some)
ALL = {3: "eth0", 4: 1500, 18: {1: "vlan", 2: {1: 42, 2: 0x8100}}, 30: True, 31: -5, 32: 0}
BYTES = bytes(SOME.view[16:])


@pytest.mark.parametrize(
    "expected",
    [
        {},
        {"type": NEWLINK},
        {"flags": 0},
        {"flags": nl.NLM_F_REQUEST},
        {"header": IFINFOMSG},
        {"attributes": ALL},
        {"attributes": dict(reversed(ALL.items()))},
        {"attributes": {3: b"eth0\0", 4: struct.pack("=I", 1500)}, "others": True},
        {"attributes": {}, "others": True},
        {"attributes": {18: {2: {1: 42}}}, "others": True},
        {"attributes": BYTES},
        {"attributes": bytearray(BYTES)},
        {"attributes": nl.unmarshal_attributes(BYTES)},
        {"attributes": iter(nl.AttributeDecoder(BYTES))},
        {"type": NEWLINK, "flags": 0, "header": IFINFOMSG, "attributes": ALL},
    ],
)
def test_alike(expected):
    check_request(SOME, **expected)


def test_a_whole_message():
    check_request(SOME, SOME.replace(seq=0, pid=0, flags=0))
    with pytest.raises(RequestMismatch, match="in its type"):
        check_request(SOME, SOME.replace(type=GETLINK))


def changed(path, value):
    copy = {**ALL, 18: {**ALL[18], 2: dict(ALL[18][2])}}
    place = copy
    for kind in path[:-1]:
        place = place[kind]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return copy


@pytest.mark.parametrize(
    ("expected", "where", "sent", "wanted"),
    [
        ({"type": NEWADDR}, "type", "RTM_NEWLINK", "RTM_NEWADDR"),
        ({"flags": nl.NLM_F_CREATE}, "flags", "flags 0x5 (REQUEST|ACK)", "flags 0x405 (REQUEST|ACK|CREATE)"),
        ({"header": bytes(16)}, "payload", "ifinfomsg 00 00 00 00 07 ", "ifinfomsg 00 00 00 00 00 "),
        ({"attributes": changed([3], "eth1")}, "payload", '= "eth0"', '= "eth1"'),
        ({"attributes": changed([4], 1400)}, "payload", "= 1500", "= 1400"),
        ({"attributes": changed([18, 1], "veth")}, "payload", '= "vlan"', '= "veth"'),
        ({"attributes": changed([18, 2, 2], 0x88A8)}, "payload", "[2|NET_BYTEORDER] 81 00", "[2|NET_BYTEORDER] 88 a8"),
        ({"attributes": changed([30], None)}, "payload", "[30] empty", None),
        ({"attributes": changed([31], None)}, "payload", "[31] fb ff ff ff", None),
        ({"attributes": changed([33], 5)}, "payload", None, "[33] 05 00 00 00 = 5"),
        ({"attributes": changed([33], 2**40)}, "payload", None, "[33] 00 00 00 00 00 01 00 00"),
        ({"attributes": changed([33], {1: "x"})}, "payload", None, "[33|NESTED] 8 bytes, nested:"),
        ({"attributes": {3: "eth0"}}, "payload", "[4] dc 05 00 00", None),
        ({"attributes": BYTES[:12]}, "payload", "[4] dc 05 00 00", None),
        ({"attributes": changed([4], 2**40)}, "payload", "[4] dc 05 00 00", "[4] 00 00 00 00 00 01 00 00"),
    ],
)
def test_not_alike(expected, where, sent, wanted):
    """Both sides are shown, as `debug` prints them."""
    with pytest.raises(RequestMismatch) as caught:
        check_request(SOME, **expected)
    head, *lines = str(caught.value).split("\n")
    assert head == f"the request differs from what was expected in its {where}"
    for sign, text in (("+", sent), ("-", wanted)):
        if text is not None:
            assert any(line.startswith(sign) and text in line for line in lines), lines


def test_it_says_all_that_differs():
    with pytest.raises(RequestMismatch, match="in its type and flags and payload"):
        check_request(SOME, type=NEWADDR, flags=nl.NLM_F_CREATE, header=bytes(16))


def test_the_last_attribute_may_lack_its_padding():
    sent = request().replace(data=IFINFOMSG + nl.marshal_attributes([nl.Attribute(3, b"eth01\0")])[:-2])
    check_request(sent, attributes={3: "eth01"})


def test_a_text_without_its_nul():
    check_request(request(lambda encoder: encoder.data(3, b"eth0")), attributes={3: "eth0"})


def test_bytes_that_are_no_attributes():
    sent = request().replace(data=IFINFOMSG + b"\1\0\0\0")
    check_request(sent, type=NEWLINK)
    with pytest.raises(RequestMismatch):
        check_request(sent, attributes={})


def test_nested_bytes_that_are_no_attributes():
    with pytest.raises(RequestMismatch):
        check_request(request(lambda encoder: encoder.data(18, b"\1\0\0\0")), attributes={18: {1: 5}})


def test_of_two_alike_the_first():
    sent = request(lambda encoder: [encoder.u32(4, number) for number in (1, 2)])
    check_request(sent, attributes={4: 1}, others=True)
    for wrong in ({"attributes": {4: 2}, "others": True}, {"attributes": {4: 1}}):
        with pytest.raises(RequestMismatch):
            check_request(sent, **wrong)


def test_netfilter_is_in_network_order():
    encoder = nl.AttributeEncoder(bytes(4), byteorder="big")
    encoder.u32(5, 80)
    sent = nl.Message(10 << 8, nl.NLM_F_REQUEST, encoder)
    check_request(sent, attributes={5: 80}, protocol=nl.NETLINK_NETFILTER)
    with pytest.raises(RequestMismatch):
        check_request(sent, attributes={5: 80}, header=bytes(4))


def test_a_header_of_which_nothing_is_known():
    sent = nl.Message(99, nl.NLM_F_REQUEST, b"headattr"[:4] + nl.marshal_attributes([nl.Attribute(1, b"abc")]))
    check_request(sent, header=b"head", attributes={1: b"abc"}, protocol=31)
    with pytest.raises(RequestMismatch):
        check_request(sent, header=b"haed", attributes={1: b"abc"}, protocol=31)


def test_a_request_shorter_than_its_header():
    check_request(nl.Message(GETLINK, nl.NLM_F_DUMP, b"\x11"), type=GETLINK, attributes={})


# Expected requests -----------------------------------------------------------------------------------------------


def test_expected_requests_in_their_order():
    with FakeKernel(nl.NETLINK_ROUTE) as kernel, kernel.conn() as conn:
        kernel.expect(type=GETLINK, attributes={3: "eth0"}, answer=lambda r: [reply(r, NEWLINK, b"1"), ack(r)])
        kernel.expect(SOME)
        kernel.expect(type=NEWLINK, answer=lambda r: ack(r))
        kernel.expect(answer=None)
        kernel.expect(answer=b"")
        (answer,) = conn.execute(request(lambda encoder: encoder.string(3, "eth0"), type=GETLINK))
        assert answer.data == b"1"
        conn.batch([nl.Request(SOME), nl.Request(SOME)])
        conn.send(SOME)
        conn.send(SOME)
    assert [len(sent) for sent in kernel.requests] == [1, 2, 1, 1]


def test_a_request_that_is_not_the_expected_one():
    """It is told where it is sent, and at the end, in case that somebody caught it."""
    with pytest.raises(RequestMismatch, match="in its flags") as caught:  # noqa: PT012, SIM117
        with FakeKernel(nl.NETLINK_ROUTE) as kernel, kernel.conn() as conn:
            kernel.expect(flags=nl.NLM_F_DUMP)
            with pytest.raises(RequestMismatch) as first:
                conn.execute(SOME)
            assert kernel.sockets == 0
    assert caught.value is first.value


def test_a_request_that_does_not_come():
    with pytest.raises(RequestMismatch, match="1 of the expected requests did not come"), FakeKernel(16) as kernel:
        kernel.expect()


def test_a_failure_in_the_block_comes_first():
    with pytest.raises(ZeroDivisionError), FakeKernel(nl.NETLINK_ROUTE) as kernel:  # noqa: PT012
        kernel.expect()
        raise ZeroDivisionError


def test_a_request_that_nobody_expects():
    kernel = FakeKernel(nl.NETLINK_ROUTE)
    with kernel.conn() as conn, pytest.raises(RequestMismatch, match=r"no request is expected\n.*RTM_NEWLINK"):
        conn.execute(SOME)


def test_a_handler_takes_what_comes_after_the_expected_ones():
    with FakeKernel(nl.NETLINK_ROUTE, lambda requests: ack(requests[0])) as kernel, kernel.conn() as conn:
        kernel.expect(SOME)
        conn.execute(SOME)
        conn.execute(request(type=GETLINK))
