"""Writing nested attributes, and encoders that are used by what they call."""

import struct

import pytest

import oracle
from netlink_codec import NLA_F_NESTED as NESTED
from netlink_codec import NLA_F_NET_BYTEORDER as NET
from netlink_codec import AttributeDecoder, AttributeEncoder, EncodeError, Message
from support import recorded_on_little_endian, refused, stream


@recorded_on_little_endian
def test_nested():
    # From mdlayher/netlink's encoder tests.
    encoder = AttributeEncoder()
    with encoder.nested(1) as inside:
        assert inside is encoder
        encoder.u16(1, 1)
        with encoder.nested(2):
            encoder.u32(2, 2)
    assert bytes(encoder) == bytes.fromhex("18000180 0600010001000000 0c000280 0800020002000000")


def test_nested_flag_is_added_once():
    encoder = AttributeEncoder()
    for type in (1, NESTED | 1, NET | 1):
        with encoder.nested(type):
            pass
    assert bytes(encoder) == stream((NESTED | 1, b""), (NESTED | 1, b""), (NESTED | NET | 1, b""))


@pytest.mark.parametrize("order", oracle.PREFIX)
def test_nested_keeps_the_order(order):
    encoder = AttributeEncoder(b"", order)
    with encoder.nested(NET | 1):
        encoder.u16(2, 0x1234)
        encoder.u16(NET | 3, 0x1234)
    container = next(AttributeDecoder(encoder, 0, order))
    assert [inner.u16() for inner in container.nested()] == [0x1234, 0x1234]
    flagged = struct.pack("<H" if order == "little" else ">H", 0x1234)
    plain = struct.pack(oracle.PREFIX[order] + "H", 0x1234)
    assert bytes(encoder) == stream((NESTED | NET | 1, stream((2, plain), (NET | 3, flagged))))


def nest(encoder, levels):
    with encoder.nested(levels):
        if levels > 1:
            nest(encoder, levels - 1)
        else:
            encoder.flag(1)


def test_nesting_of_32_levels_and_not_of_33():
    encoder = AttributeEncoder()
    nest(encoder, 32)
    assert len(encoder) == 33 * 4
    decoder = AttributeDecoder(encoder)
    for _ in range(31):
        decoder = next(decoder).nested()
    deepest = next(decoder)
    assert deepest.type == 1
    assert bytes(deepest.view) == stream((1, b""))
    other = AttributeEncoder(b"head")
    with pytest.raises(EncodeError) as caught:
        nest(other, 33)
    assert caught.value.attribute == 1
    assert bytes(other) == b"head"


def test_nested_limit():
    encoder = AttributeEncoder()
    with encoder.nested(1):
        encoder.data(2, bytes(65524))
    assert bytes(encoder) == stream((NESTED | 1, stream((2, bytes(65524)))))

    def too_much(*lengths):
        with encoder.nested(NET | 7):
            for length in lengths:
                encoder.data(2, bytes(length))

    # Children of 65532 bytes: with its own header, 65536.
    for lengths in [(65528,), (65525,), (65531,), (40000, 40000), (65524, 0)]:
        refused(encoder, 7, too_much, *lengths)


def test_nested_limit_counts_at_every_level():
    encoder = AttributeEncoder()

    def too_much():
        with encoder.nested(1):
            encoder.data(2, bytes(40000))
            with encoder.nested(3):
                encoder.data(4, bytes(40000))

    refused(encoder, 1, too_much)


def test_body_that_raises_leaves_nothing():
    encoder = AttributeEncoder(b"head")
    encoder.u8(1, 1)
    before = bytes(encoder)

    def fail(levels):
        with encoder.nested(levels):
            encoder.data(8, bytes(5000))
            if levels == 1:
                raise KeyError("mine")
            fail(levels - 1)

    for levels in (1, 2, 32):
        with pytest.raises(KeyError, match="mine"):
            fail(levels)
        assert bytes(encoder) == before
    encoder.u8(2, 2)
    assert bytes(encoder) == before + stream((2, b"\2"))


def test_inner_body_that_raises_leaves_the_outer_one():
    encoder = AttributeEncoder()
    with encoder.nested(1):
        encoder.u8(2, 2)
        with pytest.raises(EncodeError), encoder.nested(3):
            nest(encoder, 31)
        with pytest.raises(EncodeError):
            encoder.u8(5, 256)
        with pytest.raises(EncodeError), encoder.nested(6):
            encoder.data(7, bytes(65528))
        encoder.u8(8, 8)
    assert bytes(encoder) == stream((NESTED | 1, stream((2, b"\2"), (8, b"\x08"))))


def test_rollback_keeps_an_unpadded_header():
    encoder = AttributeEncoder(b"\xff")
    with pytest.raises(KeyError), encoder.nested(1):
        raise KeyError
    assert bytes(encoder) == b"\xff"
    with encoder.nested(1):
        encoder.flag(2)
    assert bytes(encoder) == b"\xff\0\0\0" + stream((NESTED | 1, stream((2, b""))))


def test_no_bytes_while_a_nested_attribute_is_open():
    encoder = AttributeEncoder()
    with encoder.nested(77):
        encoder.u8(2, 2)
        for touch in (bytes, memoryview, AttributeDecoder, lambda e: Message(1, 0, e), lambda e: encoder.data(1, e)):
            with pytest.raises(BufferError, match="77"):
                touch(encoder)
        with pytest.raises(BufferError, match="77"):
            encoder.clear()
        assert len(encoder) == 12
    assert bytes(encoder) == stream((NESTED | 77, stream((2, b"\2"))))


def test_nested_used_wrongly():
    encoder = AttributeEncoder()
    outer, inner = encoder.nested(1), encoder.nested(2)
    with pytest.raises(TypeError):
        outer.__exit__(None, None, None)
    outer.__enter__()
    with pytest.raises(TypeError):
        outer.__enter__()
    inner.__enter__()
    with pytest.raises(BufferError, match="1 held another"):
        outer.__exit__(None, None, None)
    assert bytes(encoder) == b""
    with pytest.raises(TypeError):
        outer.__exit__(None, None, None)
    with encoder.nested(3), encoder.nested(4), pytest.raises(BufferError, match="2 ended with the one around it"):
        inner.__exit__(None, None, None)
    assert bytes(encoder) == stream((NESTED | 3, stream((NESTED | 4, b""))))
    with pytest.raises(TypeError):
        type(outer)().__enter__()


def test_a_failure_ends_what_was_left_open_inside():
    encoder = AttributeEncoder(b"head")
    encoder.flag(9)
    before = bytes(encoder)
    with pytest.raises(KeyError), encoder.nested(1):  # noqa: PT012
        encoder.nested(2).__enter__()
        encoder.nested(3).__enter__()
        raise KeyError
    assert bytes(encoder) == before
    with encoder.nested(1):
        encoder.u8(2, 3)
    assert len(encoder) == len(before) + 12


def test_nested_twice_from_one_object():
    encoder = AttributeEncoder()
    again = encoder.nested(1)
    for number in range(3):
        with again:
            encoder.u8(2, number)
    assert [next(a.nested()).u8() for a in AttributeDecoder(encoder)] == [0, 1, 2]


# --- whoever is called back may use the encoder -----------------------------------------------------------------------


def test_values_that_use_the_encoder():
    class Writes:
        def __index__(self):
            encoder.data(2, bytes(5000))
            return 7

    for name in ("u8", "s16be", "u32le", "s64", "uint", "sint"):
        encoder = AttributeEncoder()
        getattr(encoder, name)(1, Writes())
        first, second = AttributeDecoder(encoder)
        assert (first.type, len(first), second.type) == (2, 5000, 1)
        assert getattr(second, name)() == 7


def test_types_that_use_the_encoder():
    class Exports:
        def __index__(self):
            views.append(memoryview(encoder))
            return 7

    views = []
    encoder = AttributeEncoder(b"head")
    with pytest.raises(BufferError):
        encoder.u8(Exports(), 1)
    with pytest.raises(BufferError):
        encoder.data(Exports(), b"x")
    assert [bytes(view) for view in views] == [b"head", b"head"]


def test_do_that_uses_the_encoder():
    encoder = AttributeEncoder()

    def write():
        with encoder.nested(2):
            encoder.u8(3, 3)
        return b"x"

    encoder.do(1, write)
    assert bytes(encoder) == stream((NESTED | 2, stream((3, b"\3"))), (1, b"x"))


def test_encoder_cannot_hold_itself():
    encoder = AttributeEncoder()
    encoder.u8(1, 1)
    before = bytes(encoder)
    for write in (
        lambda: encoder.data(2, encoder),
        lambda: encoder.do(2, lambda: encoder),
        lambda: encoder.attribute(next(AttributeDecoder(encoder))),
    ):
        with pytest.raises(BufferError):
            write()
        assert bytes(encoder) == before
