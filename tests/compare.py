"""Assertions that the codec does exactly what the oracle does with one input.

For property tests, corruptions and the fuzzer: what the codec raises besides `DecodeError` and `EncodeError` comes out.
"""

import netlink_codec as nl
import oracle
from oracle import OracleRefusal
from support import Fault, outcome, walked

WALK_DEPTH = 4


def message_value(message: nl.Message) -> tuple:
    return (message.type, message.flags, message.seq, message.pid, message.data)


def attribute_value(attribute: nl.Attribute) -> tuple:
    return (attribute.type | attribute.type_flags, attribute.data)


def all_or_nothing(expected: list):
    return expected[-1] if expected and isinstance(expected[-1], Fault) else expected


def compare_messages(buffer, offset: int = 0, strict: bool = False) -> list[nl.Message]:
    """Every way to read messages; returns the good ones."""
    expected = walked(oracle.messages(buffer, offset, strict), lambda message: message[1:])
    if offset > len(bytes(buffer)):
        assert [outcome(lambda: nl.iter_messages(buffer, offset, strict=strict))] == expected
        assert [outcome(lambda: nl.unmarshal_messages(buffer, offset, strict=strict))] == expected
        return []
    kept = walked(nl.iter_messages(buffer, offset, strict=strict))
    good = [message for message in kept if not isinstance(message, Fault)]
    assert walked(nl.iter_messages(buffer, offset, strict=strict), message_value) == expected
    assert [message_value(message) for message in good] + kept[len(good) :] == expected

    copied = outcome(lambda: nl.unmarshal_messages(buffer, offset, strict=strict))
    if isinstance(copied, list):
        assert copied == good
        copied = [message_value(message) for message in copied]
    assert copied == all_or_nothing(expected)

    wires = [oracle.message_bytes(*value[:2], value[4], *value[2:4]) for value in expected[: len(good)]]
    assert [bytes(message) for message in good] == wires
    assert [message.length for message in good] == [len(message) for message in good] == list(map(len, wires))
    assert nl.marshal_messages(good) == oracle.padded(wires)
    assert nl.message_size(good) == len(oracle.padded(wires))
    return good


def compare_attributes(buffer, offset: int = 0, order: str = "native", strict: bool = False) -> None:
    """Every way to read attributes, and every reader of each."""

    def decoder():
        return nl.AttributeDecoder(buffer, offset, order, strict=strict)

    def walk():
        return oracle.attributes(buffer, offset, order, strict)

    expected = walked(walk())
    if offset > len(bytes(buffer)):
        assert [outcome(decoder)] == expected
        return
    _compare_decoder(decoder(), expected, WALK_DEPTH)

    copied = outcome(lambda: nl.unmarshal_attributes(buffer, offset, order, strict=strict))
    if isinstance(copied, list):
        assert nl.marshal_attributes(copied) == oracle.padded(oracle.attribute_bytes(a[1], a[2]) for a in expected)
        for mine, theirs in zip(copied, expected, strict=True):
            _compare_attribute(mine, theirs, WALK_DEPTH)
    else:
        assert copied == all_or_nothing(expected)

    paths = {(theirs.type,) for theirs in expected if not isinstance(theirs, Fault)}
    paths |= {(*path, 1) for path in paths} | {(0x3FFE,), (1, 2, 3)}
    for path in paths:
        found = outcome(lambda path=path: decoder().find(*path))
        wanted = outcome(lambda path=path: oracle.find(walk(), *path))
        assert (attribute_value(found) if isinstance(found, nl.Attribute) else found) == (
            wanted[1:3] if isinstance(wanted, oracle.Attribute) else wanted
        ), path
        all_found = outcome(lambda path=path: decoder().find_all(path[0]))
        if isinstance(all_found, list):
            all_found = [attribute_value(attribute) for attribute in all_found]
        assert all_found == (
            expected[-1]
            if expected and isinstance(expected[-1], Fault)
            else [theirs[1:3] for theirs in expected if theirs.type == path[0]]
        )


def _compare_decoder(decoder: nl.AttributeDecoder, expected: list, depth: int) -> None:
    """Compares while the walk goes on: the scratch must be right in the loop, too."""
    remaining = iter(expected)
    try:
        for mine in decoder:
            theirs = next(remaining)
            assert isinstance(theirs, oracle.Attribute), theirs
            _compare_attribute(mine, theirs, depth)
    except nl.DecodeError as error:
        assert Fault(error.offset) == next(remaining)
    assert next(remaining, None) is None


def _compare_attribute(mine: nl.Attribute, theirs: oracle.Attribute, depth: int) -> None:
    assert mine.type == theirs.type
    assert mine.type_flags == theirs.raw_type - theirs.type
    assert mine.data == bytes(mine.view) == theirs.data
    assert len(mine) == len(theirs.data)
    assert bytes(mine) == oracle.attribute_bytes(theirs.raw_type, theirs.data)
    for name in oracle.READERS:
        assert outcome(getattr(mine, name)) == outcome(oracle.read, theirs, name), name
    if depth:
        inside = outcome(mine.nested)
        expected = outcome(lambda: walked(oracle.nested(theirs)))
        if isinstance(expected, Fault):
            assert inside == expected
        else:
            _compare_decoder(inside, expected, depth - 1)


def apply(encoder: nl.AttributeEncoder, call: tuple) -> None:
    name, type, value = call
    if name == "nested":
        with encoder.nested(type):
            for inner in value:
                apply(encoder, inner)
    else:
        getattr(encoder, name)(type, value)


def compare_calls(calls: list[tuple], header: bytes = b"", order: str = "native") -> bytes:
    """The same calls on encoder and oracle; refused ones must leave nothing behind. Returns the bytes."""
    encoder = nl.AttributeEncoder(header, order)
    expected = header
    for call in calls:
        refusals = []
        try:
            addition = oracle.call_bytes(call, order)
        except OracleRefusal as refusal:
            addition, refusals = b"", [refusal.attribute]
        try:
            apply(encoder, call)
        except nl.EncodeError as error:
            assert [error.attribute] == refusals
        else:
            assert refusals == []
        if addition:  # a header whose length is not a multiple of 4 is padded by the first attribute
            expected = oracle.padded([expected]) + addition
        assert len(encoder) == len(expected)
        assert bytes(encoder) == expected
    return expected
