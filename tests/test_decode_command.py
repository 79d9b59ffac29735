"""`python -m netlink_codec decode`: what it reads, and that it says what the oracle says."""

import os
import re
import struct
import subprocess
import sys
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

import netlink_codec as nl
import oracle
import strategies
from decoding import DONE, LINK, PROTOCOLS, arguments, run
from netlink_codec import names
from netlink_codec.cli import decode
from netlink_codec.debug import format_datagram
from oracle import NLA_F_NESTED, OracleError, aligned
from support import RECORDINGS, recorded_messages, recorded_on_little_endian, recording

ONE = format_datagram(LINK + DONE) + "\n"


def command(*given: str, **options):
    return subprocess.run(
        [sys.executable, "-m", "netlink_codec", "decode", *given], capture_output=True, text=True, timeout=60, **options
    )


# --- the oracle's walk ------------------------------------------------------------------------------------------------


class Unpredictable(Exception):
    """Where the printer may guess."""


def attribute_events(walk, depth: int):
    for attribute in walk:
        yield depth, attribute.offset, attribute.raw_type
        if attribute.raw_type & NLA_F_NESTED:
            try:
                children = list(oracle.nested(attribute))
            except OracleError as error:
                yield "error", error.offset
            else:
                yield from attribute_events(iter(children), depth + 1)


def body_events(data: bytes, protocol: int, type: int, flags: int, at: int, end: int, depth: int):
    header = names.family_header(protocol, type, flags, data[at] if at < end else None)
    if type < 16 and not header:
        return
    asked_for = protocol == nl.NETLINK_ROUTE and flags & nl.NLM_F_REQUEST and names.kind(protocol, type) == "GET"
    if not header or asked_for or (protocol == nl.NETLINK_GENERIC and type != names.GENL_ID_CTRL):
        raise Unpredictable
    if header.size > end - at:
        raise OracleError(at)
    if not header.attributes:
        return
    start = min(at + aligned(header.size), end)
    yield from attribute_events(oracle.attributes(data[:end], start), depth)


def request_events(data: bytes, protocol: int, flags: int, at: int, end: int):
    """Of what an error is about; returns where the error's attributes begin."""
    if end - at == 16 and not flags & nl.NLM_F_ACK_TLVS:
        return end
    if end - at >= 16 and flags & nl.NLM_F_CAPPED:
        return at + 16
    request = next(oracle.messages(data[:end], at))
    inner = at + 16 + len(request.data)
    try:
        yield from body_events(data, protocol, request.type, request.flags, at + 16, inner, 2)
    except OracleError as error:
        yield "error", error.offset
    return min(aligned(inner), end)


def message_events(data: bytes, protocol: int, message: oracle.Message):
    at = message.offset + 16
    end = at + len(message.data)
    connector = protocol == nl.NETLINK_CONNECTOR and message.type == nl.NLMSG_DONE
    if connector or message.type not in (nl.NLMSG_ERROR, nl.NLMSG_DONE):
        yield from body_events(data, protocol, message.type, message.flags, at, end, 1)
        return
    if message.type == nl.NLMSG_DONE and at == end:
        return
    if end - at < 4:
        raise OracleError(at)
    at += 4
    if message.type == nl.NLMSG_ERROR and at < end:
        at = yield from request_events(data, protocol, message.flags, at, end)
    if message.flags & nl.NLM_F_ACK_TLVS and at < end:
        yield from attribute_events(oracle.attributes(data[:end], at), 1)


def events(data: bytes, protocol: int):
    try:
        for message in oracle.messages(data):
            yield 0, message.offset, message.type
            yield from message_events(data, protocol, message)
    except OracleError as error:
        yield "error", error.offset


LINE = re.compile(r" *(\d+)  ( *)(.*)")


def printed_events(text: str):
    """The same of what was printed, without what was nested by guess."""
    guessed = None
    for number, indentation, said in LINE.findall(text):
        at, depth = int(number), len(indentation) // 2
        if guessed is not None and depth > guessed:
            continue
        guessed = depth if said.endswith("nested by guess:") else None
        attribute = re.match(r"\[(\d+)(\|NESTED)?(\|NET_BYTEORDER)?\]", said)
        if said.startswith("error: "):
            yield "error", at
        elif attribute:
            flags = (attribute[2] and nl.NLA_F_NESTED) or 0, (attribute[3] and nl.NLA_F_NET_BYTEORDER) or 0
            yield depth, at, int(attribute[1]) | sum(flags)
        elif depth == 0 and " bytes, flags 0x" in said:
            number = re.search(r"\((0x[0-9a-f]+|\d+)\),|type (\d+),", said)
            yield 0, at, int(number[1] or number[2], 0)


def compare(data: bytes, protocol: int) -> None:
    status, text = run(data, "--format", "raw", "--protocol", str(protocol))
    printed = list(printed_events(text))
    expected = []
    try:
        for event in events(data, protocol):
            expected.append(event)
    except Unpredictable:
        assert printed[: len(expected)] == expected
        return
    assert printed == expected
    assert status == ("error: " in text)
    if expected and expected[-1][0] == "error":
        assert status == 1


@recorded_on_little_endian
@pytest.mark.parametrize("name", PROTOCOLS)
def test_recordings(name):
    for datagram in recording(name):
        compare(datagram, PROTOCOLS[name])
    whole = b"".join(recording(name))
    assert run(whole, "--protocol", str(PROTOCOLS[name])) == (0, format_datagram(whole, PROTOCOLS[name]) + "\n")


@pytest.mark.parametrize("name", ["links_1", "nft_real_some", "ct_10"])
def test_every_truncation(name):
    message = recorded_messages(name)[0]
    for end in range(len(message)):
        compare(message[:end], PROTOCOLS[name])


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_length_byte_corrupted(name):
    """Lengths stand at multiples of 4; so do other things."""
    message = recorded_messages(name)[0][:500]
    message = struct.pack("=I", len(message)) + message[4:]
    for at in range(0, len(message), 4):
        for value in (0, 3, 5, 0x7F, 0xFF):
            compare(message[:at] + bytes([value]) + message[at + 1 :], PROTOCOLS[name])


@given(strategies.message_buffers, st.sampled_from([p for p in names.PROTOCOLS if p != nl.NETLINK_KOBJECT_UEVENT]))
def test_any_bytes(data, protocol):
    compare(data, protocol)


@given(st.binary(max_size=200))
def test_any_input(data):
    """Whatever it is taken for."""
    for form in ("auto", "raw", "hex", "pcap"):
        status, text = run(data, "--format", form)
        assert text.isascii()
        assert status == ("error: " in text)


@pytest.mark.parametrize("size", range(1, 16))
def test_short_input(size):
    assert run(b"\x10" * size, "--format", "raw")[0] == 1


def test_nothing():
    for form in ("auto", "raw", "hex"):
        assert run(b"", "--format", form) == (0, "")
    assert run(b"", "--format", "pcap")[0] == 1


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "number"),
    [("route", 0), ("NETLINK_NETFILTER", 12), ("sock-diag", 4), ("Generic", 16), ("0x10", 16), ("99", 99)],
)
def test_protocols(text, number):
    assert arguments("-", "--protocol", text).protocol == number


@pytest.mark.parametrize("text", ["nothing", "-1", "65536", "\x1b[2J", ""])
def test_wrong_protocols(text, capsys):
    with pytest.raises(SystemExit) as exit:
        arguments("-", f"--protocol={text}")
    assert exit.value.code == 2
    assert "\x1b" not in capsys.readouterr().err


def test_file(tmp_path):
    (tmp_path / "link").write_bytes(LINK + DONE)
    result = command(str(tmp_path / "link"))
    assert (result.returncode, result.stdout, result.stderr) == (0, ONE, "")
    result = command("-", input=(LINK + DONE).hex())
    assert (result.returncode, result.stdout, result.stderr) == (0, ONE, "")


@pytest.mark.parametrize("name", ["missing", "miss\x1b[2Jing", "."])
def test_what_cannot_be_read(name, tmp_path):
    result = command(str(tmp_path / name))
    assert (result.returncode, result.stdout) == (2, "")
    assert re.fullmatch(r"python -m netlink_codec decode: '.*': (No such file or|Is a) directory\n", result.stderr)
    assert "\x1b" not in result.stderr


def test_endless_zeros():
    result = command("/dev/zero")
    assert result.returncode == 1
    assert result.stdout == "     0  error: nlmsg_len 0 at offset 0 is less than its header, which takes 16\n"


def test_too_much(capsys):
    with mock.patch.object(decode, "_LARGEST_RAW", 1000):
        assert run(LINK * 50) == (2, "")
    assert capsys.readouterr().err == "python -m netlink_codec decode: '-': more than 1000 raw bytes\n"


def test_closed_input(capsys):
    with mock.patch("sys.stdin", None):
        assert decode.run(arguments("-")) == 2
    assert capsys.readouterr().err == "python -m netlink_codec decode: '-': standard input is closed\n"


def test_not_enough_memory(capsys):
    with mock.patch.object(decode, "read_hex", side_effect=MemoryError):
        assert run(b"00")[0] == 2
    assert capsys.readouterr().err.endswith("more memory than there is\n")


@recorded_on_little_endian
def test_closed_pipe():
    arguments = [sys.executable, "-m", "netlink_codec", "decode", str(RECORDINGS / "links_200.bin")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline().startswith(b"     0  RTM_NEWLINK")
        process.stdout.close()
        assert process.stderr.read() == b""
        process.wait(timeout=60)


def test_help():
    result = command("--help", env={**os.environ, "COLUMNS": "80"})
    assert result.returncode == 0
    assert "examples:" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
