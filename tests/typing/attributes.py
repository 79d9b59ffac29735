"""What type checkers say of attributes; checked, never run."""

from array import array
from fractions import Fraction
from typing import Literal, assert_type

import netlink_codec as nl
from netlink_codec import Attribute, AttributeDecoder, AttributeEncoder


class Index:
    def __index__(self) -> int:
        return 7


def constructed() -> None:
    attribute = assert_type(Attribute(1), Attribute)
    Attribute(type=nl.NLA_F_NESTED | 1, data=bytearray(4))
    for payload in (b"", memoryview(b""), array("H"), attribute):
        Attribute(1, payload)

    Attribute(1, "text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def fields(attribute: Attribute) -> None:
    assert_type(attribute.type, int)
    assert_type(attribute.type_flags, int)
    assert_type(attribute.data, bytes)
    assert_type(attribute.view[0], int)
    assert_type(len(attribute), int)
    assert_type(bytes(attribute), bytes)
    assert_type(hash(attribute), int)
    assert_type(attribute == Attribute(1), bool)

    attribute.type = 1  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


def readers(attribute: Attribute) -> None:
    for number in (
        *(attribute.u8(), attribute.u16(), attribute.u32(), attribute.u64(), attribute.uint()),
        *(attribute.s8(), attribute.s16(), attribute.s32(), attribute.s64(), attribute.sint()),
        *(attribute.u16be(), attribute.u32be(), attribute.u64be(), attribute.u16le(), attribute.u32le()),
        *(attribute.u64le(), attribute.s16be(), attribute.s32be(), attribute.s64be(), attribute.s16le()),
        *(attribute.s32le(), attribute.s64le()),
    ):
        assert_type(number, int)
    assert_type(attribute.string(), str)
    assert_type(attribute.flag(), Literal[True])
    assert_type(attribute.nested(), AttributeDecoder)
    assert_type(attribute.nested(4), AttributeDecoder)
    assert_type(attribute.do(bytes), bytes)
    assert_type(attribute.do(lambda view: view[0]), int)
    assert_type(attribute.do(len), int)

    def wants_text(text: str) -> int:
        return len(text)

    attribute.do(wants_text)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def decoders(buffer: bytearray) -> None:
    decoder = assert_type(AttributeDecoder(buffer), AttributeDecoder)
    AttributeDecoder(memoryview(buffer), 16, "little", strict=True)
    AttributeDecoder(buffer=b"", offset=0, byteorder="native")
    for attribute in decoder:
        assert_type(attribute, Attribute)
    assert_type(iter(decoder), AttributeDecoder)
    assert_type(next(decoder), Attribute)
    assert_type(next(decoder, None), Attribute | None)
    assert_type(list(decoder), list[Attribute])
    assert_type(decoder.find(1), Attribute | None)
    assert_type(decoder.find(18, 1), Attribute | None)
    assert_type(decoder.find_all(1), list[Attribute])
    if found := decoder.find(3):
        assert_type(found.string(), str)

    AttributeDecoder("text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    AttributeDecoder(buffer, 0, "network")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    decoder.find()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    decoder.find(1).u32()  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]


def encoders(attribute: Attribute, address: memoryview) -> None:
    encoder = assert_type(AttributeEncoder(), AttributeEncoder)
    AttributeEncoder(bytes(16), "big")
    AttributeEncoder(header=bytearray(4), byteorder="native")
    for write in (
        *(encoder.u8, encoder.u16, encoder.u32, encoder.u64, encoder.uint),
        *(encoder.s8, encoder.s16, encoder.s32, encoder.s64, encoder.sint),
        *(encoder.u16be, encoder.u32be, encoder.u64be, encoder.u16le, encoder.u32le, encoder.u64le),
        *(encoder.s16be, encoder.s32be, encoder.s64be, encoder.s16le, encoder.s32le, encoder.s64le),
    ):
        write(1, 2)
        write(1, Index())
        write(type=1, value=True)
    encoder.string(1, "lan0")
    encoder.data(1, address)
    encoder.flag(1)
    encoder.flag(1, False)
    encoder.do(1, lambda: b"made")
    encoder.attribute(attribute)
    encoder.clear()
    with encoder.nested(18) as inner:
        assert_type(inner, AttributeEncoder)
    with encoder.nested(18), encoder.nested(2):
        encoder.u8(1, 1)
    assert_type(len(encoder), int)
    assert_type(bytes(encoder), bytes)
    nl.Message(16, data=encoder)

    encoder.u32(1, 1.5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    encoder.u32(1, Fraction(1))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    encoder.string(1, b"bytes")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    encoder.data(1, "text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    encoder.do(1, lambda: "text")  # type: ignore[arg-type, return-value]  # pyright: ignore[reportArgumentType]


def after_nested(encoder: AttributeEncoder) -> int:
    """A `with` never swallows what its body raises, so the checker knows that this returns."""
    with encoder.nested(1):
        return 1


def many(buffer: bytearray, attributes: list[Attribute]) -> None:
    assert_type(nl.marshal_attributes(iter(attributes)), bytes)
    assert_type(nl.unmarshal_attributes(buffer), list[Attribute])
    assert_type(nl.unmarshal_attributes(buffer, 4, "big", strict=True), list[Attribute])


class Derived(Attribute): ...  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
