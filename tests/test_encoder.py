"""Writing attributes."""

import array
import struct

import pytest

import netlink_codec as nl
import oracle
from netlink_codec import Attribute, AttributeDecoder, AttributeEncoder, Message
from support import refused, stream

NESTED, NET = nl.NLA_F_NESTED, nl.NLA_F_NET_BYTEORDER


# --- integers ---------------------------------------------------------------------------------------------------------


def limits(name):
    code = oracle.INTEGER_METHOD[name][0][-1]
    bits = 8 * struct.calcsize(code)
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if code.islower() else (0, (1 << bits) - 1)


@pytest.mark.parametrize("flag", [0, NET, NESTED])
@pytest.mark.parametrize("order", oracle.PREFIX)
@pytest.mark.parametrize("name", list(oracle.INTEGER_METHOD))
def test_integers(name, order, flag):
    low, high = limits(name)
    values = {low, high, 0, 1, 0x1A, *(n for n in (-1, 0x1234, 0x12345678, 0x0102030405060708) if low <= n <= high)}
    for number in sorted(values):
        encoder = AttributeEncoder(b"", order)
        getattr(encoder, name)(flag | 1, number)
        assert bytes(encoder) == stream((flag | 1, oracle.integer_bytes(name, flag | 1, number, order)))
        (attribute,) = AttributeDecoder(encoder, 0, order)
        assert getattr(attribute, name)() == number
        assert attribute.type_flags == flag, "types are written as given"


@pytest.mark.parametrize(
    ("name", "number", "length"),
    [
        ("uint", 0, 4),
        ("uint", 2**32 - 1, 4),
        ("uint", 2**32, 8),
        ("uint", 2**64 - 1, 8),
        ("sint", 2**31 - 1, 4),
        ("sint", 2**31, 8),
        ("sint", -(2**31), 4),
        ("sint", -(2**31) - 1, 8),
        ("sint", -1, 4),
    ],
)
def test_width_of_uint_and_sint(name, number, length):
    encoder = AttributeEncoder()
    getattr(encoder, name)(1, number)
    (attribute,) = AttributeDecoder(encoder)
    assert len(attribute) == length
    assert getattr(attribute, name)() == number


@pytest.mark.parametrize("name", list(oracle.INTEGER_METHOD))
def test_integers_out_of_range(name):
    low, high = limits(name)
    encoder = AttributeEncoder(b"head")
    encoder.u8(1, 1)
    for number in (low - 1, high + 1, -(2**63) - 1, 2**64, 2**100, -(2**100)):
        refused(encoder, 77, getattr(encoder, name), NESTED | 77, number)
    for number in (1.0, "1", None, b"1"):
        with pytest.raises(TypeError):
            getattr(encoder, name)(1, number)


@pytest.mark.parametrize("name", list(oracle.INTEGER_METHOD))
def test_integers_by_index(name):
    class Index:
        def __index__(self):
            return limits(name)[1]

    encoder, other = AttributeEncoder(), AttributeEncoder()
    getattr(encoder, name)(1, Index())
    getattr(other, name)(1, limits(name)[1])
    assert bytes(encoder) == bytes(other)
    getattr(encoder, name)(1, True)
    assert len(encoder) > len(other)


WRITERS = {
    **dict.fromkeys(oracle.INTEGER_METHOD, 1),
    "string": "x",
    "data": b"x",
    "flag": True,
    "do": lambda: b"x",
}


@pytest.mark.parametrize("name", [*WRITERS, "nested"])
def test_types_out_of_range(name):
    def write(type):
        if name != "nested":
            getattr(encoder, name)(type, WRITERS[name])
        else:
            with encoder.nested(type):
                pass

    encoder = AttributeEncoder()
    for type in (-1, 0x10000, 2**64):
        refused(encoder, None, write, type)
    for type in (1.0, "1", None):
        with pytest.raises(TypeError):
            write(type)
    write(0xFFFF)
    assert nl.unmarshal_attributes(encoder)[-1].type == 0x3FFF


# --- other payloads ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        ("", b"\0"),
        ("lo", b"lo\0"),
        ("Å→😀", "Å→😀".encode() + b"\0"),
        ("\udcff\udcfe", b"\xff\xfe\0"),
        ("a\udcc3é", b"a\xc3\xc3\xa9\0"),
        ("x" * 65530, b"x" * 65530 + b"\0"),
    ],
)
def test_string(text, payload):
    encoder = AttributeEncoder()
    encoder.string(1, text)
    assert bytes(encoder) == stream((1, payload))


def test_strings_refused():
    encoder = AttributeEncoder()
    for text in ("a\0b", "\0", "a\0", "x" * 65531, "é" * 32766, "\udcff\0", "\ud800", "\udfff"):
        refused(encoder, 5, encoder.string, 5, text)
    for wrong in (b"bytes", None, 5):
        with pytest.raises(TypeError):
            encoder.string(5, wrong)


def test_string_of_a_subclass():
    class Name(str):
        pass

    encoder = AttributeEncoder()
    encoder.string(1, Name("lo"))
    assert bytes(encoder) == stream((1, b"lo\0"))


@pytest.mark.parametrize(
    "data", [b"", b"abc", bytearray(b"abc"), memoryview(b"-a-b-c")[1:4], array.array("H", [1, 2]), Message(1, 0, b"x")]
)
def test_data(data):
    encoder = AttributeEncoder()
    encoder.data(1, data)
    encoder.do(2, lambda: data)
    assert bytes(encoder) == stream((1, bytes(data)), (2, bytes(data)))


@pytest.mark.parametrize("name", ["data", "do"])
def test_data_limits(name):
    def write(data):
        getattr(encoder, name)(NESTED | 3, data if name == "data" else lambda: data)

    encoder = AttributeEncoder()
    write(bytes(65531))
    assert bytes(encoder) == stream((NESTED | 3, bytes(65531)))
    for length in (65532, 65535, 65536, 70000):
        refused(encoder, 3, write, bytes(length))
    for wrong in ("text", 5, None, [1]):
        with pytest.raises(TypeError):
            write(wrong)
    refused(encoder, 3, write, bytes(65532))


def test_flag():
    encoder = AttributeEncoder()
    encoder.flag(1)
    encoder.flag(2, False)
    encoder.flag(3, True)
    assert bytes(encoder) == stream((1, b""), (3, b""))


def test_what_do_raises_names_the_attribute():
    error = KeyError("mine")

    def fail():
        raise error

    encoder = AttributeEncoder()
    encoder.u8(1, 1)
    with pytest.raises(KeyError) as caught:
        encoder.do(NESTED | 77, fail)
    assert caught.value is error
    assert len(error.__notes__) == 1
    assert "77" in error.__notes__[0]
    assert bytes(encoder) == stream((1, b"\1"))


def test_attribute():
    encoder = AttributeEncoder()
    wire = stream((NESTED | 1, b"abc"), (NET | 2, b"\0\1"), (3, b""))
    for attribute in AttributeDecoder(wire):
        encoder.attribute(attribute)
    assert bytes(encoder) == wire
    encoder.attribute(Attribute(0xFFFF, bytes(65531)))
    assert bytes(encoder) == wire + stream((0xFFFF, bytes(65531)))
    for wrong in (b"\4\0\1\0", None, Message(1)):
        with pytest.raises(TypeError):
            encoder.attribute(wrong)


# --- the encoder ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", range(10))
def test_header(length):
    header = bytearray(b"\xff" * length)
    encoder = AttributeEncoder(header)
    assert bytes(encoder) == header
    assert len(encoder) == length
    encoder.u8(1, 1)
    padded = oracle.padded([bytes(header)])
    header[:] = bytes(99)
    assert bytes(encoder) == padded + stream((1, b"\1"))
    encoder.clear()
    assert bytes(encoder) == b"\xff" * length


def test_big_header():
    header = bytes(range(256)) * 300
    encoder = AttributeEncoder(header)
    encoder.data(1, header[:60000])
    assert bytes(encoder) == header + stream((1, header[:60000]))


def test_arguments():
    encoder = AttributeEncoder(header=b"head", byteorder="big")
    encoder.u16(1, 1)
    assert bytes(encoder) == b"head" + stream((1, b"\0\1"))
    for order in ("network", "", "Big"):
        with pytest.raises(ValueError, match="order"):
            AttributeEncoder(b"", order)
    for header in ("text", None, 4):
        with pytest.raises(TypeError):
            AttributeEncoder(header)


def test_length_is_that_of_the_bytes():
    # From mdlayher/netlink's encoder tests: the length after each.
    expected = [
        *[(name, 1, 8) for name in ("u8", "u16", "u32", "s8", "s16", "s32")],
        *[(name, 1, 12) for name in ("u64", "s64")],
        *[("flag", True, 4), ("flag", False, 0), ("string", "test", 12)],
        *[("data", b"abc", 8), ("do", lambda: b"abc", 8)],
    ]
    everything, total = AttributeEncoder(), 0
    for name, value, length in expected:
        encoder = AttributeEncoder()
        assert len(encoder) == 0
        for each in (encoder, everything):
            getattr(each, name)(1, value)
        total += length
        assert len(encoder) == len(bytes(encoder)) == length
        assert len(everything) == len(bytes(everything)) == total


def test_growth_keeps_what_was_written():
    encoder = AttributeEncoder(b"head")
    for number in range(5000):
        encoder.u32(number % 0x4000, number)
    attributes = nl.unmarshal_attributes(encoder, 4)
    assert [attribute.u32() for attribute in attributes] == list(range(5000))


def test_encoder_is_payload_and_stays_usable():
    encoder = AttributeEncoder(b"head")
    encoder.u8(1, 1)
    message = Message(16, 1, encoder)
    encoder.u8(2, 2)
    assert message.data == b"head" + stream((1, b"\1"))
    assert Message(16, 1, encoder).data == bytes(encoder) == message.data + stream((2, b"\2"))
    assert list(AttributeDecoder(encoder, 4)) == [Attribute(1, b"\1"), Attribute(2, b"\2")]
    encoder.u8(3, 3)
