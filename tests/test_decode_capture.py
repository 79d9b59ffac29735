"""`python -m netlink_codec decode` of pcap and pcapng files."""

import io
import re
import struct
from unittest import mock

import pytest
from hypothesis import given

import netlink_codec as nl
import oracle
import strategies
from decoding import DONE, LINK, arguments, run
from netlink_codec.cli import decode
from netlink_codec.debug import format_datagram
from oracle import message_bytes
from support import recorded_messages, recorded_on_little_endian

ONE = format_datagram(LINK + DONE) + "\n"


def cooked(data: bytes, protocol: int = 0, kind: int = 7, hardware: int = 824) -> bytes:
    return struct.pack(">HHH8xH", kind, hardware, 0, protocol) + data


def pcap(packets, order: str = "<", nanoseconds: bool = False, link_type: int = 253) -> bytes:
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, link_type)]
    for number, packet in enumerate(packets):
        parts += [struct.pack(order + "IIII", 1700000000, number, len(packet), len(packet)), packet]
    return b"".join(parts)


def block(order: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + length + body + length


def section(order: str) -> bytes:
    return block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(order: str, link_type: int = 253, snaplen: int = 0, options: bytes = b"") -> bytes:
    return block(order, 1, struct.pack(order + "HHI", link_type, 0, snaplen) + options)


def enhanced(order: str, packet: bytes, number: int = 0, time: int = 0, original: int | None = None) -> bytes:
    sizes = (len(packet), len(packet) if original is None else original)
    return block(order, 6, struct.pack(order + "IIIII", number, time >> 32, time & 0xFFFFFFFF, *sizes) + packet)


def simple(order: str, packet: bytes, original: int | None = None) -> bytes:
    return block(order, 3, struct.pack(order + "I", len(packet) if original is None else original) + packet)


NFT = recorded_messages("nft_8")[0]


@recorded_on_little_endian
@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize(("nanoseconds", "time"), [(False, "1700000000.000001"), (True, "1700000000.000000001")])
def test_pcap(order, nanoseconds, time):
    packets = [cooked(LINK + DONE, nl.NETLINK_ROUTE, 6), cooked(NFT, nl.NETLINK_NETFILTER), cooked(DONE, 99, 4)]
    status, text = run(pcap(packets, order, nanoseconds))
    assert status == 0
    assert text == (
        f"datagram 1, 60 bytes, NETLINK_ROUTE, to user space, time {time[:-1]}0:\n{ONE}\n"
        f"datagram 2, 112 bytes, NETLINK_NETFILTER, to the kernel, time {time}:\n{format_datagram(NFT, 12)}\n\n"
        f"datagram 3, 20 bytes, protocol 99, time {time[:-1]}2:\n{format_datagram(DONE)}\n"
    )


@recorded_on_little_endian
@pytest.mark.parametrize("order", "<>")
def test_pcapng(order):
    resolution = struct.pack(order + "HHB3x", 9, 1, 9) + struct.pack(order + "HHq", 14, 8, 100)
    other = ">" if order == "<" else "<"
    data = b"".join(
        [
            section(order),
            interface(order, link_type=1),
            interface(order),
            interface(order, options=resolution),
            block(order, 0x0BAD, b"custom"),
            enhanced(order, bytes(60), 0),
            enhanced(order, cooked(LINK), 1, 1700000000_000001),
            enhanced(order, cooked(NFT, 12), 2, 1700000000_000000001),
            section(other),
            interface(other, snaplen=16 + 20),
            simple(other, cooked(DONE)),
            simple(other, cooked(DONE), 999),
        ]
    )
    status, text = run(data)
    assert status == 0
    assert [line for line in text.splitlines() if line.startswith("datagram")] == [
        "datagram 1, 40 bytes, NETLINK_ROUTE, to the kernel, time 1700000000.000001000:",
        "datagram 2, 112 bytes, NETLINK_NETFILTER, to the kernel, time 1700000100.000000001:",
        "datagram 3, 20 bytes, NETLINK_ROUTE, to the kernel:",
        "datagram 4, 20 bytes, NETLINK_ROUTE, to the kernel, cut: 20 of 983 bytes were captured:",
    ]
    assert format_datagram(LINK) in text
    assert format_datagram(NFT, 12) in text


def test_protocol_of_a_capture_wins():
    assert "NFT_MSG_NEWRULE" in run(pcap([cooked(message_bytes(0x0A06, 0, bytes(4)), 12)]), "--protocol", "route")[1]


GOOD = [section("<"), interface("<"), enhanced("<", cooked(LINK))]


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (pcap([], link_type=1), 20),
        (pcap([])[:23], 0),
        (pcap([cooked(LINK)])[:30], 24),
        (pcap([cooked(LINK, hardware=1)]), 40),
        (pcap([b"short"]), 40),
        (pcap([]) + struct.pack("<IIII", 0, 0, 0xFFFFFFFF, 0), 24),
        (section("<")[:7], 0),
        (section("<")[:8] + b"abcd", 0),
        (section("<")[:20], 0),
        (b"".join([section("<"), enhanced("<", cooked(LINK))]), 28),
        (b"".join([section("<"), block("<", 1, b"\xfd\0\0\0")]), 28),
        (b"".join([*GOOD, block("<", 6, b"abcd")]), 136),
        (b"".join([*GOOD, block("<", 3, struct.pack("<I", 1000))]), 136),
        (b"".join([*GOOD, struct.pack("<II", 5, 13)]), 136),
        (b"".join([*GOOD, struct.pack("<II", 5, 0xFFFFFFF0)]), 136),
        (b"".join([*GOOD, block("<", 5, b"abcd")[:-4], b"\0\0\0\0"]), 136),
        (b"".join([*GOOD, enhanced("<", b"short")]), 164),
        (b"".join([section("<"), interface("<", 1), enhanced("<", bytes(60))]), 0),
    ],
)
def test_broken_captures(data, offset):
    status, text = run(data)
    last = text.splitlines()[-1]
    assert status == 1
    assert re.fullmatch(rf" *{offset}  error: .*", last)
    assert ("datagram 1, 40 bytes" in text) == (data.startswith(b"".join(GOOD)))


@pytest.mark.parametrize("build", [pcap, lambda packets: b"".join([*GOOD[:2], enhanced("<", packets[0])])])
def test_capture_that_ends_early(build):
    """What is there of the last packet is shown."""
    whole = build([cooked(LINK + DONE)])
    end = whole.index(LINK) + len(LINK)
    status, text = run(whole[:end])
    assert status == 1
    assert "datagram 1, 40 bytes, NETLINK_ROUTE" in text
    assert "cut: the file ends after 40 of 60 bytes" in text
    assert format_datagram(LINK) in text
    assert "and the file ends after" in text.splitlines()[-1]


@pytest.mark.parametrize("data", [pcap([cooked(LINK), cooked(NFT, 12)]), b"".join(GOOD), b"".join([*GOOD, GOOD[2]])])
def test_every_truncation_of_a_capture(data):
    for end in range(len(data)):
        status, text = run(data[:end], "--format", "pcap")
        assert status == ("error: " in text)


@given(strategies.edits)
def test_edited_captures(edits):
    for data in (pcap([cooked(LINK), cooked(NFT, 12)], ">", True), b"".join([*GOOD, simple("<", cooked(DONE))])):
        status, text = run(strategies.edited(data, edits), "--format", "pcap")
        assert status == ("error: " in text)
        assert text.isascii()


def test_first_bad_datagram_ends_it_unless_told_otherwise():
    bad = message_bytes(16, 0, bytes(16) + oracle.NLATTR.pack(3, 1))
    data = pcap([cooked(LINK), cooked(bad), cooked(DONE)])
    status, text = run(data)
    assert status == 1
    assert text.splitlines()[-1].startswith("    32  error: ")
    status, text = run(data, "--keep-going")
    assert status == 1
    assert "datagram 3" in text
    assert text.endswith(format_datagram(DONE) + "\n")


def test_captures_are_decoded_as_they_come():
    """The first datagram is printed before there is a second."""
    data = io.BytesIO(pcap([cooked(LINK)]))
    with mock.patch("sys.stdin", mock.Mock(buffer=data)):
        lines = decode._lines(arguments("-"))
        for _ in range(2):
            next(lines)
        assert data.tell() == len(data.getvalue())
        data.seek(0, io.SEEK_END)
        data.write(pcap([cooked(DONE)])[24:])
        data.seek(-len(pcap([cooked(DONE)])[24:]), io.SEEK_END)
        assert "NLMSG_DONE" in "\n".join(lines)
