"""Messages, one and many: struct nlmsghdr."""

import array
import mmap
import struct

import pytest

import netlink_codec as nl
import oracle
from netlink_codec import DecodeError, EncodeError, Message
from support import Fault, outcome, recorded_on_little_endian, walked


def fields(message):
    return (message.type, message.flags, message.seq, message.pid, message.data)


# --- vectors ----------------------------------------------------------------------------------------------------------

# From mdlayher/netlink's message tests: wire -> type, flags, seq, pid, data.
VECTORS = [
    pytest.param("10000000 0000 0000 00000000 00000000", (0, 0, 0, 0, b""), id="empty"),
    pytest.param("14000000 0000 0100 01000000 0a000000 61626300", (0, 1, 1, 10, b"abc\0"), id="request"),
    pytest.param("14000000 0200 0000 02000000 14000000 61626364", (2, 0, 2, 20, b"abcd"), id="error"),
    pytest.param(
        "18000000 0200 0500 2a000000 64000000 6162636465666768", (2, 5, 42, 100, b"abcdefgh"), id="all fields"
    ),
    pytest.param(
        "13000000 3030 3030 30303030 30303030 303030", (0x3030, 0x3030) + (0x30303030,) * 2 + (b"000",), id="19"
    ),
    pytest.param("15000000 0000 0000 00000000 00000000 6162636465", (0, 0, 0, 0, b"abcde"), id="21 in 24"),
]


@recorded_on_little_endian
@pytest.mark.parametrize(("wire", "values"), VECTORS)
def test_vector_both_ways(wire, values):
    wire = bytes.fromhex(wire)
    type, flags, seq, pid, data = values
    for buffer in (wire, oracle.padded([wire])):
        (message,) = nl.iter_messages(buffer)
        assert fields(message) == values
        assert message.length == len(message) == len(wire)
        assert nl.unmarshal_messages(buffer) == [message]
    made = Message(type, flags, data, seq=seq, pid=pid)
    assert made == message
    assert bytes(made) == wire
    assert nl.marshal_messages([made]) == oracle.padded([wire])


@recorded_on_little_endian
def test_true_length_is_written():
    # mdlayher/netlink writes the padded length, 20, and pads the data.
    assert bytes(Message(0, 1, b"abc", seq=1, pid=10)) == bytes.fromhex("13000000 0000 0100 01000000 0a000000 616263")


def header(length, type=0, flags=0, seq=0, pid=0):
    return struct.pack("=IHHII", length, type, flags, seq, pid)


GOOD_20 = header(20, 1, 0, 1) + b"abcd"
GOOD_24 = header(24, 2, 5, 42, 100) + b"abcdefgh"

# Buffers of mdlayher/netlink's message tests and some more: -> payloads, or where lax and strict walks end in an error.
WALKS = [
    pytest.param(b"", [], id="nothing"),
    pytest.param(bytes(1), [Fault(0)], id="one byte"),
    pytest.param(bytes(15), [Fault(0)], id="15 bytes"),
    pytest.param(bytes(16), [Fault(0)], id="length 0"),
    pytest.param(bytes(17), [Fault(0)], id="length 0 of 17"),
    pytest.param(header(1), [Fault(0)], id="length 1"),
    pytest.param(header(12), [Fault(0)], id="length 12"),
    pytest.param(header(15), [Fault(0)], id="length 15"),
    pytest.param(header(16), [b""], id="length 16"),
    pytest.param(header(17), [Fault(0)], id="length 17 of 16"),
    pytest.param(header(0x3030301D), [Fault(0)], id="length of a crasher"),
    pytest.param(header(255) + bytes(4), [Fault(0)], id="length 255 of 20"),
    pytest.param(header(0x80000000) + bytes(4), [Fault(0)], id="length 2**31"),
    pytest.param(header(0xFFFFFFFF) + bytes(4), [Fault(0)], id="length 2**32 - 1: wraps when padded"),
    pytest.param(header(0xFFFFFFFD) + bytes(4), [Fault(0)], id="length 2**32 - 3: wraps when padded"),
    # mdlayher/netlink refuses this one; the kernel and libmnl do not.
    pytest.param(header(19) + b"abc", [b"abc"], id="last one without padding"),
    pytest.param(header(17) + b"abc", [b"a"], id="last one with part of its padding"),
    pytest.param(header(18) + b"ab\xff\xff" + GOOD_20, [b"ab", b"abcd"], id="padding may hold anything"),
    pytest.param(GOOD_20, [b"abcd"], id="one"),
    pytest.param(GOOD_24, [b"abcdefgh"], id="another"),
    pytest.param(GOOD_20 + header(15), [b"abcd", Fault(20)], id="good, then length 15"),
    pytest.param(GOOD_20 + header(17), [b"abcd", Fault(20)], id="good, then past the end"),
    pytest.param(GOOD_20 + GOOD_24, [b"abcd", b"abcdefgh"], id="two"),
]
LEFTOVERS = [
    pytest.param(GOOD_20 * 2 + bytes.fromhex("cafebabe" * 2), [b"abcd"] * 2, 40, id="two and 8 bytes"),
    pytest.param(GOOD_20 + b"\x01", [b"abcd"], 20, id="one and 1 byte"),
    pytest.param(GOOD_20 + bytes(15), [b"abcd"], 20, id="one and 15 bytes"),
]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("shift", [0, 1, 3, 16])
@pytest.mark.parametrize(("buffer", "expected"), WALKS)
def test_walk(buffer, expected, shift, strict):
    expected = [Fault(item.offset + shift) if isinstance(item, Fault) else item for item in expected]
    buffer = b"\xff" * shift + buffer
    assert walked(nl.iter_messages(buffer, shift, strict=strict), lambda message: message.data) == expected
    everything = outcome(lambda: [message.data for message in nl.unmarshal_messages(buffer, shift, strict=strict)])
    assert everything == (expected[-1] if Fault in map(type, expected) else expected)


@pytest.mark.parametrize(("buffer", "payloads", "offset"), LEFTOVERS)
def test_leftover_bytes(buffer, payloads, offset):
    assert walked(nl.iter_messages(buffer), lambda message: message.data) == payloads
    assert walked(nl.iter_messages(buffer, strict=True), lambda message: message.data) == [*payloads, Fault(offset)]


def test_error_text_says_where_and_how_long():
    with pytest.raises(DecodeError, match=r"20.*255|255.*20") as caught:
        list(nl.iter_messages(GOOD_20 + header(255) + bytes(4)))
    assert caught.value.offset == 20


def test_walk_is_lazy():
    walk = nl.iter_messages(GOOD_20 + bytes(16))
    assert next(walk).data == b"abcd"
    with pytest.raises(DecodeError):
        next(walk)
    with pytest.raises(DecodeError):
        next(walk)


def test_finished_walk_stays_finished():
    walk = nl.iter_messages(GOOD_20)
    assert iter(walk) is walk
    assert len(list(walk)) == 1
    assert list(walk) == []


@pytest.mark.parametrize("read", [lambda *a: list(nl.iter_messages(*a)), nl.unmarshal_messages])
def test_offset_beyond_the_buffer(read):
    assert read(GOOD_20, len(GOOD_20)) == []
    with pytest.raises(DecodeError) as caught:
        read(GOOD_20, len(GOOD_20) + 1)
    assert caught.value.offset == len(GOOD_20)
    with pytest.raises(ValueError, match="negative") as caught:
        read(GOOD_20, -1)
    assert not isinstance(caught.value, DecodeError)
    with pytest.raises(TypeError):
        read(GOOD_20, 1.0)


@pytest.mark.parametrize("read", [nl.iter_messages, nl.unmarshal_messages])
@pytest.mark.parametrize("wrong", ["text", 5, None, [1, 2]])
def test_only_buffers_are_read(read, wrong):
    with pytest.raises(TypeError):
        read(wrong)


# --- one message ------------------------------------------------------------------------------------------------------


def test_fields_and_defaults():
    assert fields(Message(16)) == (16, 0, 0, 0, b"")
    assert fields(Message(16, 5, b"xyz", seq=7, pid=9)) == (16, 5, 7, 9, b"xyz")
    assert fields(Message(type=1, flags=2, data=b"3")) == (1, 2, 0, 0, b"3")
    with pytest.raises(TypeError):
        Message(16, 0, b"", 1)  # seq by position
    with pytest.raises(TypeError):
        Message()


LIMITS = [("type", 0xFFFF), ("flags", 0xFFFF), ("seq", 0xFFFFFFFF), ("pid", 0xFFFFFFFF)]


@pytest.mark.parametrize(("name", "largest"), LIMITS)
def test_limits_of_fields(name, largest):
    def make(value):
        return Message(**{"type": 0, name: value})

    def change(value):
        return Message(0).replace(**{name: value})

    for build in (make, change):
        assert getattr(build(largest), name) == largest
        assert nl.unmarshal_messages(build(largest)) == [build(largest)]
        for value in (-1, largest + 1, 2**64, 2**100):
            with pytest.raises(EncodeError) as caught:
                build(value)
            assert caught.value.attribute is None
        for value in ("1", 1.0, b"1"):
            with pytest.raises(TypeError):
                build(value)


def test_payload_of_4_gib():
    # Never touched, so it takes no memory.
    no_reserve = 0x4000
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve
    with mmap.mmap(-1, 2**32, flags=flags, prot=mmap.PROT_READ) as huge, pytest.raises(EncodeError):
        Message(1, 0, huge)
    with mmap.mmap(-1, 2**32 - 16, flags=flags, prot=mmap.PROT_READ) as huge, pytest.raises(EncodeError):
        Message(1, 0, huge)


@pytest.mark.parametrize(
    "data",
    [b"\1\2\3\4", bytearray(b"\1\2\3\4"), memoryview(b"\1\2\3\4"), array.array("B", [1, 2, 3, 4])],
    ids=lambda data: type(data).__name__,
)
def test_payload_from_any_buffer(data):
    assert Message(1, 0, data).data == b"\1\2\3\4"
    assert Message(1).replace(data=data).data == b"\1\2\3\4"


def test_payload_is_copied_when_made():
    data = bytearray(b"abcd")
    message = Message(1, 0, data)
    changed = Message(1).replace(data=data)
    data[:] = b"efghi"
    assert message.data == changed.data == b"abcd"


@pytest.mark.parametrize("wrong", ["abc", 5, None, ["a"]])
def test_payload_must_be_a_buffer(wrong):
    with pytest.raises(TypeError):
        Message(1, 0, wrong)


def test_replace():
    message = Message(1, 2, b"abc", seq=4, pid=5)
    assert fields(message.replace()) == fields(message)
    assert fields(message.replace(seq=0)) == (1, 2, 0, 5, b"abc")
    assert fields(message.replace(data=b"")) == (1, 2, 4, 5, b"")
    assert fields(message.replace(type=9, flags=8, data=b"d", seq=7, pid=6)) == (9, 8, 7, 6, b"d")
    assert fields(message) == (1, 2, 4, 5, b"abc")
    with pytest.raises(TypeError):
        message.replace(length=5)
    with pytest.raises(TypeError):
        message.replace(5)


def test_attributes_of_a_message():
    payload = oracle.padded([oracle.attribute_bytes(1, b"x"), oracle.attribute_bytes(2, b"yz")])
    for message in (
        Message(1, 0, b"head" + payload),
        *nl.iter_messages(GOOD_20 + bytes(Message(1, 0, b"head" + payload))),
    ):
        if len(message) > 20:
            assert [(a.type, a.data) for a in message.attributes(4)] == [(1, b"x"), (2, b"yz")]
            assert message.attributes(4).find(2).data == b"yz"


def test_attribute_offsets_count_from_the_message():
    bad = Message(1, 0, b"head" + oracle.attribute_bytes(1, b"good") + b"\x03\x00\x01\x00")
    received = nl.unmarshal_messages(GOOD_20 + bytes(bad))[1]
    for message in (bad, received):
        assert walked(message.attributes(4), lambda a: a.data) == [b"good", Fault(16 + 4 + 8)]
        good = next(message.attributes(4))
        assert outcome(good.u8) == Fault(16 + 4)
        assert walked(good.nested()) == [Fault(16 + 4 + 4)]


def test_attributes_offset_beyond_the_payload():
    message = Message(1, 0, b"abcd")
    assert list(message.attributes(4)) == []
    assert outcome(message.attributes, 5) == Fault(16 + 4)
    with pytest.raises(ValueError, match="negative"):
        message.attributes(-1)
    with pytest.raises(ValueError, match="order"):
        message.attributes(0, "network")


def test_attributes_strict_and_order():
    stray = Message(1, 0, struct.pack(">H", 4))
    assert list(stray.attributes()) == []
    assert walked(stray.attributes(strict=True)) == [Fault(16)]
    number = Message(1, 0, oracle.attribute_bytes(1, bytes([0, 0, 0, 5])))
    assert next(number.attributes(0, "big")).u32() == 5
    assert next(number.attributes(byteorder="little")).u32() == 0x05000000


# --- many messages ----------------------------------------------------------------------------------------------------

MARSHALLERS = [
    nl.message_size,
    nl.marshal_messages,
    pytest.param(lambda messages: nl.marshal_into(messages, bytearray(99)), id="marshal_into"),
]
MANY = [Message(n, n, b"msg" + b"x" * n, seq=n, pid=n) for n in range(9)]


@pytest.mark.parametrize("container", [list, tuple, iter, lambda many: (m for m in many)])
def test_marshal_any_iterable(container):
    wire = oracle.padded(map(bytes, MANY))
    assert nl.marshal_messages(container(MANY)) == wire
    assert nl.message_size(container(MANY)) == len(wire)
    target = bytearray(len(wire))
    assert nl.marshal_into(container(MANY), target) == len(wire)
    assert target == wire
    assert nl.unmarshal_messages(wire) == MANY


def test_marshal_nothing():
    assert nl.marshal_messages([]) == b""
    assert nl.message_size([]) == 0
    assert nl.marshal_into([], bytearray()) == 0


def test_marshal_an_iterator_of_views():
    wire = nl.marshal_messages(MANY)
    assert nl.marshal_messages(nl.iter_messages(wire)) == wire
    assert nl.message_size(nl.iter_messages(wire)) == len(wire)


def test_padding_is_zero_whatever_was_there():
    # mdlayher/netlink's batches can carry a neighbour's bytes in the padding.
    target = bytearray(b"\xff" * 24)
    assert nl.marshal_into([Message(1, 0, b"abcde")], target) == 24
    assert target[16:] == b"abcde\0\0\0"
    (received,) = nl.iter_messages(header(17) + b"a\xff\xff\xff")
    assert nl.marshal_messages([received]) == header(17) + b"a\0\0\0"


@pytest.mark.parametrize(
    "function", [nl.message_size, nl.marshal_messages, lambda m: nl.marshal_into(m, bytearray(99))]
)
@pytest.mark.parametrize("wrong", [5, None, [5], [b"bytes"], [MANY[0], None], "text"])
def test_only_messages_are_marshalled(function, wrong):
    with pytest.raises(TypeError):
        function(wrong)


@pytest.mark.parametrize(
    "function", [nl.message_size, nl.marshal_messages, lambda m: nl.marshal_into(m, bytearray(99))]
)
def test_errors_of_the_iterable_come_out(function):
    def broken():
        yield MANY[0]
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        function(broken())
