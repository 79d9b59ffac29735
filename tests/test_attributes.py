"""Reading attributes: struct nlattr."""

import struct

import pytest

import netlink_codec as nl
import oracle
from netlink_codec import Attribute, AttributeDecoder, DecodeError, EncodeError
from support import Fault, outcome, recorded_on_little_endian, stream, walked

NESTED, NET = nl.NLA_F_NESTED, nl.NLA_F_NET_BYTEORDER


def value(attribute):
    return (attribute.type | attribute.type_flags, attribute.data)


# --- the walk ---------------------------------------------------------------------------------------------------------

# From mdlayher/netlink's attribute tests: wire -> types (flags included) and payloads.
VECTORS = [
    pytest.param("", [], id="none"),
    pytest.param("04000100", [(1, "")], id="empty"),
    pytest.param("05000100 ff000000", [(1, "ff")], id="one byte"),
    pytest.param("08000200 aabbccdd", [(2, "aabbccdd")], id="four bytes"),
    pytest.param(
        "05000100ff000000 08000200aabbccdd 04000300 10000400111111112222222233333333",
        [(1, "ff"), (2, "aabbccdd"), (3, ""), (4, "111111112222222233333333")],
        id="four",
    ),
    pytest.param("0400ffff", [(0xFFFF, "")], id="all type bits"),
]


@recorded_on_little_endian
@pytest.mark.parametrize(("wire", "values"), VECTORS)
def test_vector_both_ways(wire, values):
    wire = bytes.fromhex(wire)
    values = [(type, bytes.fromhex(data)) for type, data in values]
    assert [value(attribute) for attribute in AttributeDecoder(wire)] == values
    assert [value(attribute) for attribute in nl.unmarshal_attributes(wire)] == values
    assert nl.marshal_attributes(Attribute(*pair) for pair in values) == wire


ONE = stream((1, b"abc"))

# -> payloads, or where the lax walk ends in an error.
WALKS = [
    # In mdlayher/netlink a length of 0 is skipped, here and in the kernel it is an error.
    pytest.param(struct.pack("=HH", 0, 0), [Fault(0)], id="length 0"),
    pytest.param(ONE + struct.pack("=HH", 0, 1) + ONE, [b"abc", Fault(8)], id="length 0 in the middle"),
    pytest.param(struct.pack("=HH", 1, 0x3030), [Fault(0)], id="length 1, a fuzzer's crasher"),
    pytest.param(struct.pack("=HH", 3, 1), [Fault(0)], id="length 3"),
    pytest.param(struct.pack("=HH", 5, 1), [Fault(0)], id="length 5 of 4"),
    pytest.param(struct.pack("=HH", 0xFFFF, 0), [Fault(0)], id="length 65535: wraps when padded"),
    pytest.param(struct.pack("=HH", 0xFFFD, 0) + bytes(65528), [Fault(0)], id="length 65533 of 65532"),
    pytest.param(struct.pack("=HH", 0xFFFF, 0) + bytes(65531), [bytes(65531)], id="length 65535"),
    pytest.param(
        struct.pack("=HH", 0xFFFF, 0) + bytes(65532) + ONE, [bytes(65531), b"abc"], id="length 65535, one more"
    ),
    pytest.param(oracle.attribute_bytes(1, b"\xff"), [b"\xff"], id="last one without padding"),
    pytest.param(oracle.attribute_bytes(1, b"\xff") + b"\0", [b"\xff"], id="last one with part of its padding"),
    pytest.param(struct.pack("=HH", 5, 1) + b"aXYZ" + ONE, [b"a", b"abc"], id="padding may hold anything"),
    pytest.param(ONE + struct.pack("=HH", 4, 2), [b"abc", b""], id="empty one at the end"),
]
LEFTOVERS = [
    pytest.param(bytes(1), [], 0, id="a byte alone"),
    # In mdlayher/netlink these are errors, in the kernel's lax parser they are not.
    pytest.param(bytes(3), [], 0, id="three zeros alone"),
    pytest.param(b"\x03\0\0", [], 0, id="three bytes alone"),
    pytest.param(ONE + b"\x01", [b"abc"], 8, id="one and 1 byte"),
    pytest.param(ONE + b"\xff\xff", [b"abc"], 8, id="one and 2 bytes"),
    pytest.param(ONE + b"\x04\0\0", [b"abc"], 8, id="one and 3 bytes"),
]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("shift", [0, 1, 4])
@pytest.mark.parametrize(("buffer", "expected"), WALKS)
def test_walk(buffer, expected, shift, strict):
    expected = [Fault(item.offset + shift) if isinstance(item, Fault) else item for item in expected]
    buffer = b"\xff" * shift + buffer
    assert walked(AttributeDecoder(buffer, shift, strict=strict), lambda attribute: attribute.data) == expected
    everything = outcome(lambda: [a.data for a in nl.unmarshal_attributes(buffer, shift, strict=strict)])
    assert everything == (expected[-1] if Fault in map(type, expected) else expected)


@pytest.mark.parametrize(("buffer", "payloads", "offset"), LEFTOVERS)
def test_leftover_bytes(buffer, payloads, offset):
    assert walked(AttributeDecoder(buffer), lambda attribute: attribute.data) == payloads
    assert walked(AttributeDecoder(buffer, strict=True), lambda attribute: attribute.data) == [*payloads, Fault(offset)]
    assert [attribute.data for attribute in nl.unmarshal_attributes(buffer)] == payloads
    assert outcome(lambda: nl.unmarshal_attributes(buffer, strict=True)) == Fault(offset)


def test_error_text_says_where_and_how_long():
    with pytest.raises(DecodeError, match=r"8.*99|99.*8") as caught:
        list(AttributeDecoder(ONE + struct.pack("=HH", 99, 1)))
    assert caught.value.offset == 8


def test_asking_again_raises_again():
    decoder = AttributeDecoder(ONE + struct.pack("=HH", 3, 1))
    assert iter(decoder) is decoder
    assert next(decoder).data == b"abc"
    for _ in range(3):
        assert outcome(next, decoder) == Fault(8)


def test_finished_walk_stays_finished():
    decoder = AttributeDecoder(ONE)
    assert len(list(decoder)) == 1
    assert list(decoder) == []


@pytest.mark.parametrize("read", [AttributeDecoder, nl.unmarshal_attributes])
def test_wrong_arguments(read):
    assert list(read(ONE, len(ONE))) == []
    assert outcome(read, ONE, len(ONE) + 1) == Fault(len(ONE))
    for arguments in [(ONE, -1), (ONE, 0, "network"), (ONE, 0, "")]:
        with pytest.raises(ValueError, match=r"negative|order") as caught:
            read(*arguments)
        assert not isinstance(caught.value, DecodeError)
    for arguments in [("text",), (None,), (5,), (ONE, 1.0), (ONE, "1"), (ONE, 0, "native", True)]:
        with pytest.raises(TypeError):
            read(*arguments)


# --- one attribute ----------------------------------------------------------------------------------------------------


def test_attribute_by_hand():
    assert value(Attribute(1)) == (1, b"")
    assert value(Attribute(type=0xFFFF, data=bytearray(b"xy"))) == (0xFFFF, b"xy")
    data = bytearray(b"abc")
    attribute = Attribute(1, data)
    data[:] = b"defg"
    assert attribute.data == b"abc"
    assert bytes(attribute) == oracle.attribute_bytes(1, b"abc")
    assert len(attribute) == 3


def test_limits_of_an_attribute():
    assert len(Attribute(0xFFFF, bytes(65531))) == 65531
    for arguments, named in [((1, bytes(65532)), 1), ((NESTED | 2, bytes(70000)), 2)]:
        with pytest.raises(EncodeError) as caught:
            Attribute(*arguments)
        assert caught.value.attribute == named
    for type in (-1, 0x10000, 2**64):
        with pytest.raises(EncodeError):
            Attribute(type)
    for arguments in [("1",), (1.0,), (1, "text"), (1, 5), (1, None), ()]:
        with pytest.raises(TypeError):
            Attribute(*arguments)


@pytest.mark.parametrize(
    ("raw_type", "type", "flags"),
    [(8, 8, 0), (NESTED | 8, 8, NESTED), (NET | 8, 8, NET), (0xFFFF, 0x3FFF, NESTED | NET), (0, 0, 0)],
)
def test_type_and_its_flags(raw_type, type, flags):
    for attribute in (Attribute(raw_type), *AttributeDecoder(stream((raw_type, b"")))):
        assert (attribute.type, attribute.type_flags) == (type, flags)


def numbers(code):
    """Values that tell orders, signs and widths apart, and the limits."""
    width = struct.calcsize(code)
    signed = code.islower()
    low, high = (-(1 << 8 * width - 1), (1 << 8 * width - 1) - 1) if signed else (0, (1 << 8 * width) - 1)
    pattern = int.from_bytes(bytes(range(1, width + 1)), "big")
    return sorted({0, 1, pattern, low, high, *([-1, -pattern] if signed else [])})


INTEGERS = [
    pytest.param(name, code, order, id=f"{name}-{code}")
    for name, codes, order in oracle.INTEGER_METHODS
    for code in codes
]


@pytest.mark.parametrize("order", oracle.PREFIX)
@pytest.mark.parametrize(("name", "code", "own_order"), INTEGERS)
def test_integers(name, code, own_order, order):
    prefix = oracle.PREFIX[own_order or order]
    for number in numbers(code):
        wire = stream((1, struct.pack(prefix + code, number)))
        for attribute in (*AttributeDecoder(wire, 0, order), *nl.unmarshal_attributes(wire, 0, order)):
            assert getattr(attribute, name)() == number


@pytest.mark.parametrize(
    ("order", "flag", "prefix"),
    [("native", 0, "="), ("native", NET, ">"), ("little", NET, "<"), ("big", NET, ">"), ("native", NESTED, "=")],
)
@pytest.mark.parametrize(("name", "code", "own_order"), INTEGERS)
def test_net_byteorder_flag(name, code, own_order, order, flag, prefix):
    prefix = oracle.PREFIX[own_order] if own_order else prefix
    for number in numbers(code):
        payload = struct.pack(prefix + code, number)
        (attribute,) = AttributeDecoder(stream((flag | 1, payload)), 0, order)
        assert getattr(attribute, name)() == number
        if order == "native":
            assert getattr(Attribute(flag | 1, payload), name)() == number


@pytest.mark.parametrize("flag", [0, NET])
@pytest.mark.parametrize("name", list(oracle.INTEGER_METHOD))
def test_integers_want_their_width(name, flag):
    widths = {struct.calcsize(code) for code in oracle.INTEGER_METHOD[name][0]}
    for length in {*range(10), 16} - widths:
        wire = ONE + stream((flag | 7, bytes(length)))
        attribute = AttributeDecoder(wire).find(7)
        assert outcome(getattr(attribute, name)) == Fault(8)
        with pytest.raises(DecodeError, match=rf"(?s)7.*\b{length}\b|\b{length}\b.*7"):
            getattr(attribute, name)()
        assert outcome(getattr(Attribute(7, bytes(length)), name)) == Fault(0)


def test_a_payload_of_three_bytes_is_no_integer_but_is_data():
    # mdlayher/netlink's decoder then refuses all that follows; here each reader speaks for itself.
    attribute = Attribute(1, b"\x0e\xad\xbe")
    for name in oracle.INTEGER_METHOD:
        assert outcome(getattr(attribute, name)) == Fault(0)
    assert attribute.data == b"\x0e\xad\xbe"


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b"", ""),
        (b"\0", ""),
        (b"\0\0\0", ""),
        (b"lo", "lo"),
        (b"lo\0", "lo"),
        (b"hello world\0\0\0\0", "hello world"),
        (b"a\0b", "a\0b"),
        (b"\0a\0b\0\0", "\0a\0b"),
        ("Å→😀".encode() + b"\0", "Å→😀"),
        (b"\xff\xfe\0", "\udcff\udcfe"),
        (b"\xc3", "\udcc3"),
        (b"\xed\xb2\x80", "\udced\udcb2\udc80"),
        (b"x" * 65530 + b"\0", "x" * 65530),
    ],
)
def test_string(payload, text):
    assert Attribute(1, payload).string() == text
    assert next(AttributeDecoder(stream((1, payload)))).string() == text


def test_flag():
    assert Attribute(1).flag() is True
    for payload in (b"\0", b"\xff", bytes(4)):
        with pytest.raises(DecodeError) as caught:
            Attribute(1, payload).flag()
        assert caught.value.offset == 0


# --- nesting ----------------------------------------------------------------------------------------------------------


def test_nested():
    inner = stream((1, struct.pack("=H", 1)), (2, stream((3, b"deep"))))
    for flag in (0, NESTED):
        container = AttributeDecoder(stream((9, b""), (flag | 1, inner))).find(1)
        one, two = container.nested()
        assert one.u16() == 1
        assert next(two.nested()).data == b"deep"
    assert list(Attribute(1).nested()) == []


def test_nested_from_an_offset():
    attribute = Attribute(1, b"head" + stream((2, b"x")))
    assert [value(inner) for inner in attribute.nested(4)] == [(2, b"x")]
    assert list(attribute.nested(12)) == []
    assert outcome(attribute.nested, 13) == Fault(4 + 12)
    second = AttributeDecoder(stream((1, b"first"), (2, b"abcd"))).find(2)
    assert outcome(second.nested, 5) == Fault(12 + 4 + 4)
    with pytest.raises(ValueError, match="negative"):
        attribute.nested(-1)


@pytest.mark.parametrize("order", oracle.PREFIX)
@pytest.mark.parametrize("strict", [False, True])
def test_nested_inherits_order_and_strictness(order, strict):
    container = stream((NESTED | NET | 1, stream((2, bytes([0, 0, 0, 5])), (NET | 3, bytes([0, 0, 0, 6]))) + b"\0"))
    inner = walked(next(AttributeDecoder(container, 0, order, strict=strict)).nested(), lambda a: a.u32())
    plain, flagged = (int.from_bytes(bytes([0, 0, 0, n]), "little" if order == "little" else "big") for n in (5, 6))
    if order == "native":
        # The container's own flag says nothing about what is inside.
        (plain,) = struct.unpack("=I", bytes([0, 0, 0, 5]))
    assert inner == [plain, flagged, *([Fault(4 + 8 + 8)] if strict else [])]


def test_nested_errors_count_from_the_outermost_buffer():
    bad = stream((1, b"good")) + struct.pack("=HH", 3, 1)
    wire = b"head" + stream((5, b"first"), (6, stream((7, bad))))
    container = AttributeDecoder(wire, 4).find(6)
    assert walked(next(container.nested()).nested(), lambda a: a.data) == [b"good", Fault(4 + 12 + 4 + 4 + 8)]
    assert outcome(next(container.nested()).u8) == Fault(4 + 12 + 4)
    assert outcome(next(next(container.nested()).nested()).u8) == Fault(4 + 12 + 4 + 4)
    # By hand: from its own header.
    assert walked(Attribute(7, bad).nested(), lambda a: a.data) == [b"good", Fault(4 + 8)]


def deep(levels):
    """So many attributes of type 1, each inside the one before."""
    wire = b""
    for _ in range(levels):
        wire = stream((1, wire))
    return wire


def test_nesting_of_32_levels_and_not_of_33():
    decoder, levels = AttributeDecoder(deep(40)), 1
    while levels < 32:
        decoder = next(decoder).nested()
        levels += 1
    deepest = next(decoder)
    assert len(deepest) == 4 * (40 - 32)
    with pytest.raises(DecodeError, match="32") as caught:
        deepest.nested()
    assert caught.value.offset == 4 * 31


def test_depth_counts_through_find():
    decoder = AttributeDecoder(deep(40))
    assert len(decoder.find(*[1] * 32)) == 4 * 8
    assert outcome(decoder.find, *[1] * 33) == Fault(4 * 31)
    assert outcome(decoder.find(*[1] * 32).nested) == Fault(4 * 31)
    assert outcome(next(decoder.find(*[1] * 31).nested()).nested) == Fault(4 * 31)


# --- find -------------------------------------------------------------------------------------------------------------

TREE = stream(
    (1, b"first"),
    (2, stream((1, b"inner"), (3, b""))),
    (NESTED | 1, b"second"),
    (2, stream((4, b"in the second 2"))),
    (NET | 5, b"\0\0\0\7"),
)


def test_find():
    decoder = AttributeDecoder(TREE)
    assert value(decoder.find(1)) == (1, b"first")
    assert value(decoder.find(2, 1)) == (1, b"inner")
    assert decoder.find(2, 3).flag()
    assert decoder.find(5).u32() == 7
    assert decoder.find(6) is None
    assert decoder.find(6, 1) is None
    assert decoder.find(2, 4) is None, "only the first 2 is looked into"
    assert value(AttributeDecoder(stream((NESTED | 8, b""), (8, b"x"))).find(8)) == (NESTED | 8, b"")


def test_find_all():
    decoder = AttributeDecoder(TREE)
    assert [value(a) for a in decoder.find_all(1)] == [(1, b"first"), (NESTED | 1, b"second")]
    assert [value(a) for a in decoder.find_all(5)] == [(NET | 5, b"\0\0\0\7")]
    assert decoder.find_all(6) == []


def test_find_does_not_move_the_walk():
    decoder = AttributeDecoder(TREE)
    types = []
    for attribute in decoder:
        assert decoder.find(5).u32() == 7
        assert len(decoder.find_all(2)) == 2
        assert decoder.find(9) is None
        types.append(attribute.type)
    assert types == [1, 2, 1, 2, 5]
    assert decoder.find(1).data == b"first"


def test_find_starts_at_the_offset():
    decoder = AttributeDecoder(TREE, 12)
    assert decoder.find(1).data == b"second"
    assert len(decoder.find_all(1)) == 1


@pytest.mark.parametrize("strict", [False, True])
def test_find_checks_only_what_it_passes(strict):
    decoder = AttributeDecoder(
        stream((1, b"x"), (2, struct.pack("=HH", 3, 1))) + struct.pack("=HH", 3, 1), strict=strict
    )
    assert decoder.find(1).data == b"x"
    assert decoder.find(2) is not None
    assert outcome(decoder.find, 2, 1) == Fault(8 + 4)
    assert outcome(decoder.find, 3) == Fault(16)
    assert outcome(decoder.find_all, 1) == Fault(16)
    stray = AttributeDecoder(ONE + b"\0", strict=strict)
    assert stray.find(1) is not None
    assert outcome(stray.find, 2) == (Fault(8) if strict else None)


def test_find_wants_types():
    decoder = AttributeDecoder(ONE)
    assert decoder.find(NESTED | 1).data == decoder.find_all(NET | 1)[0].data == b"abc"
    for impossible in (-1, 0x10000, 2**64):
        with pytest.raises(ValueError, match="65535"):
            decoder.find(impossible)
        with pytest.raises(ValueError, match="65535"):
            decoder.find(1, impossible)
        with pytest.raises(ValueError, match="65535"):
            decoder.find_all(impossible)
    for arguments in [(), ("1",), (1, "2"), (1.0,)]:
        with pytest.raises(TypeError):
            decoder.find(*arguments)
    for arguments in [(), ("1",), (1, 2)]:
        with pytest.raises(TypeError):
            decoder.find_all(*arguments)


def test_find_inherits_the_order():
    wire = stream((1, stream((2, bytes([0, 0, 0, 5])))))
    assert AttributeDecoder(wire, 0, "big").find(1, 2).u32() == 5
    assert AttributeDecoder(wire, 0, "big").find_all(1)[0].nested().find(2).u32() == 5


# --- do ---------------------------------------------------------------------------------------------------------------


def test_do():
    # From mdlayher/netlink's decoder tests: a C struct.
    attribute = Attribute(1, b"\xde\xad\xbe\0")
    assert attribute.do(lambda view: struct.unpack("<HBx", view)) == (0xADDE, 0xBE)
    view = attribute.do(lambda view: view)
    assert isinstance(view, memoryview)
    assert view.readonly
    assert view == attribute.data
    container = Attribute(1, stream((2, b"x"), (3, b"y")))
    assert container.do(lambda view: [a.data for a in AttributeDecoder(view)]) == [b"x", b"y"]


def test_what_do_raises_names_the_attribute():
    error = KeyError("mine")

    def fail(view):
        raise error

    with pytest.raises(KeyError) as caught:
        Attribute(NESTED | 77, b"x").do(fail)
    assert caught.value is error
    assert len(error.__notes__) == 1
    assert "77" in error.__notes__[0]
    with pytest.raises(TypeError):
        Attribute(1).do(None)


# --- many attributes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [list, tuple, iter, lambda many: (a for a in many)])
def test_marshal_any_iterable(container):
    many = [Attribute(n, b"x" * n) for n in range(9)]
    wire = stream(*[(n, b"x" * n) for n in range(9)])
    assert nl.marshal_attributes(container(many)) == wire
    assert nl.marshal_attributes(AttributeDecoder(wire)) == wire
    assert nl.unmarshal_attributes(wire) == many


def test_marshal_wants_attributes():
    assert nl.marshal_attributes([]) == b""
    for wrong in [5, None, [5], [b"bytes"], [nl.Message(1)], "text"]:
        with pytest.raises(TypeError):
            nl.marshal_attributes(wrong)
    with pytest.raises(ZeroDivisionError):
        nl.marshal_attributes(Attribute(1 // n) for n in (1, 0))


def test_padding_is_zero_whatever_was_there():
    assert nl.marshal_attributes(AttributeDecoder(struct.pack("=HH", 5, 1) + b"aXYZ")) == stream((1, b"a"))
