"""What is printed of messages: against golden files, and never an exception."""

import errno
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import netlink_codec as nl
import oracle
from decoding import PROTOCOLS, error, lines
from netlink_codec import names
from netlink_codec.debug import format_datagram, format_message
from oracle import attribute_bytes, message_bytes, padded
from support import edited, recorded_messages, recorded_on_little_endian, recording

GOLDEN = Path(__file__).parent / "golden"
# Answers to CTRL_CMD_GETFAMILY whose family id has one byte instead of two, recorded on Linux 6.18, x86-64: without
# and with NETLINK_CAP_ACK and NETLINK_EXT_ACK, and with a nlmsg_len of 25 that leaves out the padding.
POLICY = (
    "27000100417474726962757465206661696c656420706f6c6963792076616c69646174696f6e00000800020014000000"
    "240004800c00040000000000000000000c000500ffff0000000000000800010003000000"
)
GENERIC_ERRORS = {
    "error": "30000000020000000500000034120000deffffff1c000000100005000500000000000000030100000500010007000000",
    "error_capped": "24000000020000010500000034120000deffffff1c000000100005000500000000000000",
    "error_extended": "84000000020000020500000034120000deffffff1c000000100005000500000000000000030100000500010007000000"
    + POLICY,
    "error_capped_extended": "78000000020000030500000034120000deffffff1c000000100005000500000000000000" + POLICY,
    "error_unaligned_request": "84000000020000020500000034120000deffffff19000000100005000500000000000000030100000500"
    "010007000000" + POLICY,
}
# From NETLINK_ROUTE, recorded likewise: a failed strict dump without and with text, and a warning about a request that
# succeeded. The rest is made up: an errno that is cut short, and a request of type 0 that is echoed whole.
ROUTE_ERRORS = {
    "done_error": "14000000030002000500000034120000edffffff",
    "done_extended": "48000000030002020500000034120000eaffffff32000100496e76616c69642076616c75657320696e20686561646572"
    "20666f72204649422064756d702072657175657374000000",
    "warning": "5000000002000003050000003412000000000000280000001000050005000000000000002c0001006279746573206c6566746f"
    "7665722061667465722070617273696e67206174747269627574657300",
    "error_short": "12000000020000000500000034120000edff",
    "error_made_up": "400000000200000239fe3dc200000000ffffffff14000000000000000000000000000000ffffffff"
    "100001006261642072657175657374000800020002000000",
}


def golden_input(name: str) -> tuple[bytes, int]:
    if name == "link":
        return recording("links_1")[0], nl.NETLINK_ROUTE
    if name == "nft_rule":
        return recorded_messages("nft_real_some")[0], nl.NETLINK_NETFILTER
    if name in GENERIC_ERRORS:
        return bytes.fromhex(GENERIC_ERRORS[name]), nl.NETLINK_GENERIC
    return bytes.fromhex(ROUTE_ERRORS[name]), nl.NETLINK_ROUTE


@recorded_on_little_endian
@pytest.mark.parametrize("name", ["link", "nft_rule", *GENERIC_ERRORS, *ROUTE_ERRORS])
def test_golden(name):
    data, protocol = golden_input(name)
    expected = (GOLDEN / f"{name}.txt").read_text()
    # C libraries differ in this text.
    expected = expected.replace("Numerical result out of range", os.strerror(errno.ERANGE))
    assert format_datagram(data, protocol) + "\n" == expected


def attributes(payload: bytes, header: bytes = bytes(16)) -> bytes:
    """A link with these attributes."""
    return message_bytes(16, 0, header + payload)


def after_header(payload: bytes) -> list[str]:
    return lines(attributes(payload))[2:]


@recorded_on_little_endian
def test_message_alone():
    link, done = (nl.unmarshal_messages(datagram)[0] for datagram in recording("links_1"))
    assert format_message(link) == format_datagram(recording("links_1")[0])
    assert format_message(done) == (
        f"     0  NLMSG_DONE (3), 20 bytes, flags 0x2 (MULTI), seq 1, pid {done.pid}\n    16    errno 00 00 00 00 = 0"
    )
    assert "error: " in format_message(nl.Message(nl.NLMSG_ERROR))


@recorded_on_little_endian
@pytest.mark.parametrize("name", PROTOCOLS)
def test_recordings_are_good(name):
    for datagram in recording(name):
        assert error(datagram, PROTOCOLS[name]) is None
        text = format_datagram(datagram, PROTOCOLS[name])
        assert "header by guess" not in text
        assert "ignored" not in text
        assert sum(" bytes, flags " in line for line in text.splitlines()) == len(nl.unmarshal_messages(datagram))


U32 = attribute_bytes(1, b"\x01\0\0\0")
BROKEN = oracle.NLATTR.pack(3, 1)

# --- NLMSG_ERROR and NLMSG_DONE ---------------------------------------------------------------------------------------


def number(value: int) -> bytes:
    return value.to_bytes(4, sys.byteorder, signed=True)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "= 0, success"),
        (-1, '= -1 EPERM "Operation not permitted"'),
        (-524, '= -524 ENOTSUPP "Operation is not supported"'),
        (-999, "= -999"),
        (5, "= 5"),
        (-(2**31), "= -2147483648"),
    ],
)
def test_errno(value, text):
    assert lines(message_bytes(2, 0, number(value)))[1].endswith(text)


def test_done_without_errno():
    assert len(lines(message_bytes(3))) == 1
    assert error(message_bytes(3)) is None
    assert error(message_bytes(3, 0, b"\0")).offset == 16


def test_old_kernels_cap_the_request_without_a_flag():
    request = oracle.NLMSGHDR.pack(40, 16, 5, 7, 0)
    printed = lines(message_bytes(2, 0, number(0) + request))
    assert printed[2] == "20    request RTM_NEWLINK (16), 40 bytes, flags 0x5 (REQUEST|ACK), seq 7, pid 0"
    assert error(message_bytes(2, 0, number(0) + request)) is None
    # With some of the payload there it is not capped, but wrong.
    assert error(message_bytes(2, 0, number(0) + request + bytes(4))).offset == 20


def test_broken_request_does_not_hide_the_text():
    """The kernel refused it for a reason."""
    request = message_bytes(16, 5, bytes(16) + BROKEN)
    text = attribute_bytes(1, b"invalid\0")
    data = message_bytes(2, 0x200, number(-22) + request + text)
    printed = lines(data)
    assert printed[4] == f"52      error: {error(data)}"
    assert printed[5].startswith("56    [1] NLMSGERR_ATTR_MSG 69 6e 76")
    assert error(data).offset == 52


def test_bytes_after_an_error_without_the_flag_for_them():
    data = message_bytes(2, 0x100, number(-22) + oracle.NLMSGHDR.pack(40, 16, 5, 7, 0) + b"\1\2")
    assert lines(data)[-1].startswith("36    payload 01 02 = ")
    assert lines(message_bytes(3, 0, number(0) + b"\1\2"))[-1].startswith("20    payload 01 02")


def test_errors_about_errors_do_not_recurse():
    data = b""
    for _ in range(3000):
        data = message_bytes(2, 0, number(-1) + data)
    assert error(data) is None
    assert len(lines(data)) < 5000


# --- attributes -------------------------------------------------------------------------------------------------------

NESTED, BIG = nl.NLA_F_NESTED, nl.NLA_F_NET_BYTEORDER


def test_flags_of_attributes():
    value = (1500).to_bytes(4, "big")
    assert after_header(attribute_bytes(6 | BIG, value)) == ["32    [6|NET_BYTEORDER] 00 00 05 dc = 1500"]
    assert after_header(attribute_bytes(6 | NESTED, b"")) == ["32    [6|NESTED] empty"]
    assert after_header(attribute_bytes(6 | NESTED | BIG, U32))[0] == "32    [6|NESTED|NET_BYTEORDER] 8 bytes, nested:"
    assert lines(message_bytes(0x0A06, 0, bytes(4) + attribute_bytes(1, value)), 12)[2].endswith("= 1500")


def test_unpadded_tail_is_good():
    """A vector of report: an unpadded attribute ends the message."""
    data = message_bytes(16, 0, bytes(16) + attribute_bytes(3, b"lo\0"))
    assert len(data) % 4
    assert lines(data)[-1] == '32    [3] 6c 6f 00 = "lo"'
    assert error(data) is None


@recorded_on_little_endian
@pytest.mark.parametrize(
    ("payload", "nested"),
    [
        ("0800020078050000", True),  # RTA_METRICS with an MTU
        ("0500020000000000", True),  # IFLA_XDP of a plain link
        ("0800000001000000", False),  # 4294967304
        ("0800000000000000", False),  # 8
        ("04000100", False),  # 65540
        ("0a80000108000200", False),  # an address and more
        ("08000100010000000800020002000000", True),
        ("08000100010000000500020002000000", True),
        ("08000100010000000500020002000001", False),  # padding that is not zero
        ("08000100010000000500020002", True),  # the last without padding
        ("08000100010000000000", False),
        ("08000000010000000800000002000000", False),  # two u64
        ("08000000010000000800010002000000", True),  # an array from 0
        ("08000004010000000800010002000000", False),  # type 1024
        ("20200000" + "61" * 0x201C, False),
        ("2020613a" + "61" * 0x201C, False),  # text whose beginning would do as an attribute
    ],
)
def test_guesses(payload, nested):
    printed = after_header(attribute_bytes(5, bytes.fromhex(payload)))
    assert printed[0].endswith("nested by guess:") == nested


def test_flag_that_lies():
    """What is beside it goes on."""
    data = attributes(padded([attribute_bytes(1 | NESTED, b"\xff" * 4), attribute_bytes(2, b"\x07")]))
    assert lines(data)[2:] == [
        "32    [1|NESTED] ff ff ff ff = 4294967295 (-1)",
        f"36      error: {error(data)}",
        "40    [2] 07 = 7",
    ]
    assert error(data).offset == 36


def test_depth_is_bounded():
    def nest(depth: int, flag: int) -> bytes:
        payload = U32
        for _ in range(depth):
            payload = attribute_bytes(1 | flag, payload)
        return attributes(payload)

    assert error(nest(31, NESTED)) is None
    assert len(lines(nest(31, NESTED))) == 2 + 32
    assert error(nest(32, NESTED)).offset == 32 + 31 * 4
    assert "deeper than 32 levels" in format_datagram(nest(1000, NESTED))
    # A guess that goes too deep was not right.
    assert error(nest(32, 0)) is None
    assert error(nest(1000, 0)) is None


def test_stray_bytes_and_padding_are_shown():
    data = message_bytes(16, 0, bytes(16) + oracle.NLATTR.pack(5, 1) + b"\x07\1\2\3\4\5") + b"\0\6" + b"\7" * 8
    printed = lines(data)
    assert printed[3] == "37      01 02 03, padding that is not zero"
    assert printed[4] == "40    04 05, ignored after the last attribute"
    assert printed[5] == "42    00 06, padding that is not zero"
    assert printed[6] == "44  07 07 07 07 07 07 07 07, ignored after the last message"
    assert error(data) is None


def test_attributes_of_every_width():
    assert after_header(attribute_bytes(1, b"")) == ["32    [1] empty"]
    assert after_header(attribute_bytes(1, b"\xff")) == ["32    [1] ff = 255"]
    assert after_header(attribute_bytes(1, b"\xff\xff")) == ["32    [1] ff ff = 65535"]
    assert after_header(attribute_bytes(1, b"\xff" * 3)) == ["32    [1] ff ff ff"]
    assert after_header(attribute_bytes(1, b"\xff" * 8)) == ["32    [1] " + "ff " * 8 + "= 18446744073709551615 (-1)"]
    assert after_header(attribute_bytes(1, b"\xff" * 20))[0] == "32    [1] " + " ".join(["ff"] * 20)
    assert after_header(attribute_bytes(1, b"\xff" * 21)) == [
        "32    [1] 21 bytes:",
        "36      " + "ff " * 16 + " |................|",
        "52      " + ("ff " * 5).ljust(48) + " |.....|",
    ]


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b"eth0\0", '"eth0"'),
        (b"eth0", '"eth0"'),
        (b"a\0", '"a"'),
        (b"two words\n\0\0\0\0", r'"two words\n"'),
        ("br\u00fccke\0".encode(), r'"br\u00fccke"'),
        (b'"\\\0', r'"\"\\"'),
        (b"@\0\0\0", None),
        (b"@" + bytes(11), None),
        (b"eth0\x1b[2J\0", None),
        (b"a\x7fb", None),
        ("\u202eabc\0".encode(), None),  # right to left
        (b"\xff\xfe\xfd", None),
        (b"in\0side", None),
    ],
)
def test_text(payload, text):
    (printed,) = after_header(attribute_bytes(1, payload))
    if text is None:
        assert '"' not in printed
    else:
        assert printed.endswith(text)


def test_long_text_is_shown_in_part():
    printed = after_header(attribute_bytes(1, b"x" * 300))
    assert printed[0] == '32    [1] 300 bytes = "' + "x" * 200 + '"...:'
    assert len(printed) == 20


# --- the walk goes on, or not -----------------------------------------------------------------------------------------


def test_first_error_ends_the_walk():
    good, bad = attributes(U32), attributes(U32 + BROKEN + U32)
    data = good + bad + good
    printed = lines(data)
    assert printed[-2].startswith(f"{len(good) + 32}    [1]")
    with pytest.raises(nl.DecodeError) as raised:
        list(nl.AttributeDecoder(data[: len(good + bad)], len(good) + 32))
    assert printed[-1] == f"{len(good) + 40}  error: {raised.value}"
    assert error(data).offset == raised.value.offset == len(good) + 40


def test_keep_going():
    good, bad = attributes(U32), attributes(U32 + BROKEN + U32)
    data = bad + good + bad + b"\x11" + bytes(15)
    printed = lines(data, keep_going=True)
    errors = [line for line in printed if "error:" in line]
    assert [line.split()[0] for line in errors] == ["40", "132", "144"]
    assert errors[0] == f"40  error: {error(data)}"
    assert error(data, keep_going=True).offset == 40


def test_other_buffers():
    data = recording("links_1")[0]
    assert format_datagram(bytearray(data)) == format_datagram(memoryview(data)) == format_datagram(data)
    with pytest.raises(TypeError):
        format_datagram("text")


# --- any bytes --------------------------------------------------------------------------------------------------------

protocols = st.sampled_from([*names.PROTOCOLS, 99])
any_type = st.integers(0, 0xFFFF) | st.sampled_from([2, 3, 16, 18, 20, 22, 0x0A06])
payloads = st.binary(max_size=200) | st.lists(
    st.builds(attribute_bytes, st.integers(0, 0xFFFF), st.binary(max_size=40)), max_size=5
).map(padded)
messages = st.builds(message_bytes, any_type, st.integers(0, 0xFFFF), payloads)


def check_printable(data, protocol):
    text = format_datagram(data, protocol)
    assert text.isascii()
    assert all(line.isprintable() for line in text.splitlines())
    assert ("error: " in text) == (error(data, protocol) is not None) or '"' in text


@given(st.binary(max_size=300) | st.lists(messages, max_size=3).map(padded), protocols)
def test_never_raises(data, protocol):
    check_printable(data, protocol)


@given(messages, protocols)
def test_message_never_raises(data, protocol):
    for message in nl.iter_messages(data):
        assert format_message(message, protocol).isascii()


@given(st.data())
def test_edited_recordings_never_raise(data):
    name = data.draw(st.sampled_from([*PROTOCOLS]))
    datagram = data.draw(st.sampled_from(recorded_messages(name)[:20]))
    edits = st.lists(
        st.tuples(st.sampled_from(["byte", "length", "cut", "insert"]), st.integers(0, 4096), st.integers(0, 65535))
    )
    check_printable(edited(datagram, data.draw(edits)), data.draw(st.just(PROTOCOLS[name]) | protocols))
