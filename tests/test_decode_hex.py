"""`python -m netlink_codec decode` of hex text."""

import re
from unittest import mock

import pytest

from decoding import DONE, LINK, run
from netlink_codec import hextext
from netlink_codec.debug import format_datagram
from oracle import message_bytes
from support import recorded_on_little_endian, recording

ONE = format_datagram(LINK + DONE) + "\n"
HEX = (LINK + DONE).hex()
XXD = """\
00000000: 2800 0000 1000 0200 0100 0000 0500 0000  (...............
00000010: 0000 0000 0000 0000 0000 0000 0000 0000  ................
00000020: 0700 0300 6c6f 0000                      ....lo..
"""
HEXDUMP = """\
00000000  34 00 00 00 10 00 02 00  01 00 00 00 05 00 00 00  |4...............|
00000010  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|
*
00000030  07 00 03 00                                       |....|
00000034
"""


def spaced(separator: str, prefix: str = "") -> str:
    return separator.join(prefix + HEX[at : at + 2] for at in range(0, len(HEX), 2))


@pytest.mark.parametrize(
    "text",
    [
        HEX,
        HEX.upper(),
        spaced(" "),
        spaced("\n"),
        spaced("\t\r\n"),
        spaced(":"),
        spaced(", "),
        spaced(",", "0x"),
        spaced(", ", "0X"),
        spaced("", "\\x"),
        re.sub("0x0(.)", r"0x\1", spaced(" ", "0x")),
        "0x" + HEX,
        "\n\n  \n" + HEX[:32] + "\n" + HEX[32:] + "\n\n\n",
        "\ufeff" + HEX,
    ],
)
def test_hex(text):
    assert run(text.encode()) == (0, ONE)


@recorded_on_little_endian
def test_lines_of_xxd():
    assert run(XXD.encode()) == (0, format_datagram(LINK) + "\n")
    rows = [LINK[at : at + 16].hex(" ", 4).upper() for at in (0, 16, 32)]
    text = "".join(f"{0x4A + 16 * at:08x}: {row:<35}  ....\n" for at, row in enumerate(rows))
    assert run(text.encode()) == (0, format_datagram(LINK) + "\n")


def test_lines_of_hexdump():
    data = bytes.fromhex("34000000100002000100000005000000") + bytes(32) + bytes.fromhex("07000300")
    assert run(HEXDUMP.encode()) == run(data, "--format", "raw")
    row = HEXDUMP.splitlines()[1]
    unfolded = HEXDUMP.replace("*", row.replace("00000010", "00000020"))
    assert run(unfolded.encode()) == run(HEXDUMP.encode())
    # The end may be repeated, too.
    zeros = HEXDUMP.replace(HEXDUMP.splitlines()[3] + "\n", "").replace("00000034", "00000040")
    assert run(zeros.encode()) == run(data[:16] + bytes(48), "--format", "raw")


def test_text_beside_a_dump_may_look_like_anything():
    row = b"|00 11|  22  #|*|"[:16]
    data = message_bytes(77, 0, row)
    text = f"00000000  {data[:16].hex(' ')}  |{'.' * 16}|\n00000010  {row.hex(' ')}  |{row.decode()}|\n"
    assert run(text.encode()) == run(data, "--format", "raw")
    text = f"00000000: {data[:16].hex(' ', 2)}  {'.' * 16}\n00000010: {row.hex(' ', 2)}  {row.decode()}\n"
    assert run(text.encode()) == run(data, "--format", "raw")


def test_several_datagrams():
    status, text = run(f"{LINK.hex()}\n\n{DONE.hex()}\n \n\n{DONE.hex()}".encode())
    assert status == 0
    assert text == (
        f"datagram 1, 40 bytes:\n{format_datagram(LINK)}\n\n"
        f"datagram 2, 20 bytes:\n{format_datagram(DONE)}\n\n"
        f"datagram 3, 20 bytes:\n{format_datagram(DONE)}\n"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hello", "line 1: 'hello' is not hex"),
        ("00 123", "line 1: '123' has an odd number of digits"),
        ("1", "line 1: '1' has an odd number of digits"),
        ("00000000: zz00  ..", "line 1: 'zz00' is not hex"),
        ("0000000 0014 0000", "line 1: '0000000' has an odd number of digits"),  # hexdump without -C swaps bytes
        ("*", "line 1: '*' is not hex"),
        ("00000000  00 00  |..|\n*\n00000001", "line 3: a * from offset 2 to 1 cannot be"),
        ("00000000  00 00  |..|\n*\nffffffff", "line 3: a * from offset 2 to 4294967295 cannot be"),
        ("00000000  00 00  |..|\n*\nfffffffe", "line 3: a * from offset 2 to 4294967294 cannot be"),
    ],
)
def test_not_hex(text, reason):
    status, printed = run(text.encode())
    assert status == 1
    assert printed.splitlines()[-1].endswith(f"error: {reason}") or f"cut at {reason}:" in printed.splitlines()[0]


def test_text_without_end():
    with mock.patch.object(hextext, "_LARGEST", 100):
        status, text = run(b"00 11\n" * 100)
    assert status == 1
    assert text.startswith("datagram 1, 100 bytes, cut at line 51: a datagram has no more than 100 bytes:\n")


def test_long_text_is_not_split():
    """More of it than is looked at to tell what it is."""
    for line in (16, 64, 71, 4096):
        data = recording("links_1")[0]
        text = data.hex(" ").encode()
        text = b"\n".join(text[at : at + 3 * line] for at in range(0, len(text), 3 * line)) + b"\n"
        assert run(text) == run(data)


def test_good_messages_before_what_is_not_hex():
    status, text = run(f"{LINK.hex()}\n{DONE.hex()}\nhello\x1b\n".encode(), "--format", "hex")
    reason = "line 3: 'hello\\x1b' is not hex"
    assert (status, text) == (1, f"datagram 1, 60 bytes, cut at {reason}:\n{ONE}    60  error: {reason}\n")
