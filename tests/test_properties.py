"""For whatever bytes and calls hypothesis thinks of: the codec does what the oracle does, and round trips are exact."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import netlink_codec as nl
import oracle
import strategies as mine
from compare import apply, attribute_value, compare_attributes, compare_calls, compare_messages, message_value
from netlink_codec import AttributeDecoder, AttributeEncoder, EncodeError, Message
from support import FAMILY_HEADER, outcome, recorded_messages, recording, walked


@given(mine.message_buffers, mine.offsets, st.booleans())
@example(b"", 1, False)
def test_messages_of_any_bytes(buffer, offset, strict):
    good = compare_messages(buffer, offset, strict)
    assert [message_value(message) for message in compare_messages(bytearray(buffer), offset, strict)] == [
        message_value(message) for message in good
    ]


@given(mine.attribute_buffers, mine.offsets, mine.orders, st.booleans())
@example(b"", 1, "native", False)
def test_attributes_of_any_bytes(buffer, offset, order, strict):
    compare_attributes(buffer, offset, order, strict)
    compare_attributes(memoryview(bytearray(buffer)), offset, order, strict)


@given(mine.attribute_buffers, mine.offsets, mine.orders, st.booleans())
def test_attributes_of_messages_count_from_the_message(payload, offset, order, strict):
    wire = bytes(Message(16, 0, payload))
    expected = walked(oracle.attributes(wire, 16 + offset, order, strict), lambda theirs: theirs[1:3])
    for message in (Message(16, 0, payload), *nl.iter_messages(b"-" + wire, 1), *nl.iter_messages(bytearray(wire))):
        decoder = outcome(lambda message=message: message.attributes(offset, order, strict=strict))
        assert (walked(decoder, attribute_value) if isinstance(decoder, AttributeDecoder) else [decoder]) == expected


@given(mine.message_parts)
def test_message_round_trip(parts):
    type, flags, data, seq, pid = parts
    message = Message(type, flags, data, seq=seq, pid=pid)
    assert message_value(message) == (type, flags, seq, pid, data)
    assert nl.unmarshal_messages(message, strict=True) == [message]
    assert message.replace() == Message(0).replace(type=type, flags=flags, data=data, seq=seq, pid=pid) == message


@given(mine.message_streams)
def test_canonical_messages_round_trip(wire):
    assert nl.marshal_messages(nl.iter_messages(wire, strict=True)) == wire
    assert nl.marshal_messages(nl.unmarshal_messages(wire, strict=True)) == wire


def rebuild(encoder, decoder, tree):
    """Write what is read, going into what the tree says is nested and flagged."""
    for attribute, (_, inner) in zip(decoder, tree, strict=True):
        if isinstance(inner, list) and attribute.type_flags & nl.NLA_F_NESTED:
            with encoder.nested(attribute.type | attribute.type_flags):
                rebuild(encoder, attribute.nested(), inner)
        else:
            encoder.attribute(attribute)


@given(mine.trees)
def test_canonical_attributes_round_trip(tree):
    wire = mine.tree_bytes(tree)
    assert nl.marshal_attributes(AttributeDecoder(wire, strict=True)) == wire
    assert nl.marshal_attributes(nl.unmarshal_attributes(wire, strict=True)) == wire
    encoder = AttributeEncoder()
    rebuild(encoder, AttributeDecoder(wire), tree)
    assert bytes(encoder) == wire


@given(mine.calls, st.binary(max_size=9), mine.orders)
def test_encoder_writes_what_the_oracle_writes(calls, header, order):
    compare_calls(calls, header, order)


def read_back(decoder, calls):
    """Each call's value again, by the reader of the same name."""
    for name, type, value in calls:
        if name == "flag" and not value:
            continue
        attribute = next(decoder)
        assert attribute.type == type & nl.NLA_TYPE_MASK
        if name == "nested":
            read_back(attribute.nested(), value)
        elif name == "data":
            assert attribute.data == value
        elif name == "string":
            # Surrogates side by side may be the bytes of a letter.
            assert attribute.string().encode("utf-8", "surrogateescape") == value.encode("utf-8", "surrogateescape")
        else:
            assert getattr(attribute, name)() == value
    assert list(decoder) == []


@given(mine.calls, mine.orders)
def test_encoded_values_are_read_back(calls, order):
    encoder = AttributeEncoder(b"head", order)
    accepted = []
    for call in calls:
        try:
            apply(encoder, call)
        except EncodeError:
            continue
        accepted.append(call)
    read_back(AttributeDecoder(encoder, 4, order, strict=True), accepted)


@pytest.mark.parametrize("name", FAMILY_HEADER)
def test_recorded_dumps_round_trip(name):
    header = FAMILY_HEADER[name]
    for datagram in recording(name):
        messages = nl.unmarshal_messages(datagram, strict=True)
        assert nl.marshal_messages(messages) == datagram
        target = bytearray(len(datagram))
        assert nl.marshal_into(nl.iter_messages(datagram), target) == nl.message_size(messages) == len(datagram)
        assert target == datagram
        for message in messages:
            if message.type >= nl.NLMSG_MIN_TYPE:
                encoder = AttributeEncoder(message.data[:header])
                for attribute in message.attributes(header, strict=True):
                    encoder.attribute(attribute)
                assert message.replace(data=encoder) == message
                assert nl.marshal_attributes(message.attributes(header)) == message.data[header:]


@pytest.mark.parametrize("name", FAMILY_HEADER)
def test_recorded_dumps_as_the_oracle_reads_them(name):
    for datagram in recording(name):
        compare_messages(datagram, strict=True)
    messages = recorded_messages(name)
    for message in [*messages[:2], *messages[-2:]]:
        if len(message) < 5000:
            compare_attributes(message, 16 + FAMILY_HEADER[name] if len(message) > 20 else 20, strict=True)
