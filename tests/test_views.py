"""Lifetimes: what was kept stays right, and memory that can change cannot go away or be misread."""

import array
import gc
import itertools
import mmap
import struct

import pytest

import netlink_codec as nl
import oracle
from netlink_codec import Attribute, AttributeDecoder, AttributeEncoder, Message
from support import outcome, stream

MESSAGES = [oracle.message_bytes(n + 16, n, b"payload" + bytes([n]) * n, n, n) for n in range(20)]
MESSAGE_WIRE = oracle.padded(MESSAGES)
ATTRIBUTES = [oracle.attribute_bytes(n + 1, b"payload" + bytes([n]) * n) for n in range(20)]
ATTRIBUTE_WIRE = oracle.padded(ATTRIBUTES)

# --- kept objects stay right ------------------------------------------------------------------------------------------


def loop(walk):
    kept = []
    for item in walk:
        kept.append(item)
    return kept


def every_second(walk):
    kept = []
    for at, item in enumerate(walk):
        if at % 2:
            kept.append(item)
    return kept


def by_next(walk):
    kept = []
    while (item := next(walk, None)) is not None:
        kept.append(item)
    return kept


KEEPERS = {
    "loop": loop,
    "next": by_next,
    "list": list,
    "unpacking": lambda walk: [*walk],
    "comprehension": lambda walk: [item for item in walk],  # noqa: C416
    "sorted": lambda walk: sorted(walk, key=bytes),
    "dict": lambda walk: list({len(item): item for item in walk}.values()),
    "tee": lambda walk: list(zip(*itertools.tee(walk), strict=True)),
    "pairwise": lambda walk: list(itertools.pairwise(walk)),
    "batched by zip": lambda walk: list(zip(walk, walk, strict=True)),
    "islice": lambda walk: list(itertools.islice(walk, 5)) + list(walk),
    "map": lambda walk: list(map(lambda item: item, walk)),  # noqa: C417
    "filter": lambda walk: list(filter(None, walk)),
    "chain": lambda walk: list(itertools.chain(walk, walk)),
    "groupby": lambda walk: [list(group) for _, group in itertools.groupby(walk, lambda item: item.type // 3)],
    "every second": every_second,
    "views": lambda walk: [memoryview(item) for item in walk],
}


def flattened(kept):
    return [wire for item in kept for wire in (map(bytes, item) if isinstance(item, (tuple, list)) else [bytes(item)])]


@pytest.mark.parametrize("convert", [bytes, bytearray], ids=["bytes", "bytearray"])
@pytest.mark.parametrize("keep", KEEPERS.values(), ids=KEEPERS)
@pytest.mark.parametrize(
    ("read", "wires"), [(nl.iter_messages, MESSAGES), (AttributeDecoder, ATTRIBUTES)], ids=["messages", "attributes"]
)
def test_kept_objects_stay_right(read, wires, keep, convert):
    kept = keep(read(convert(oracle.padded(wires))))
    list(read(oracle.padded(reversed(wires))))
    # The same helper over other objects says what should have been kept.
    kind = Message if read is nl.iter_messages else Attribute
    apart = [nl.unmarshal_messages(w)[0] if kind is Message else nl.unmarshal_attributes(w)[0] for w in wires]
    assert flattened(kept) == flattened(keep(iter(apart)))
    assert set(flattened(kept)) <= set(wires)


def test_two_iterators_of_one_buffer():
    for read, wires in [(nl.iter_messages, MESSAGES), (AttributeDecoder, ATTRIBUTES)]:
        wire = oracle.padded(wires)
        pairs = list(zip(read(wire), read(wire), strict=True))
        assert [(bytes(one), bytes(other)) for one, other in pairs] == list(zip(wires, wires, strict=True))
        assert all(one is not other for one, other in pairs)


def test_nested_loops():
    seen = []
    for one in AttributeDecoder(ATTRIBUTE_WIRE):
        for other in AttributeDecoder(ATTRIBUTE_WIRE):
            seen.append((bytes(one), bytes(other)))
    assert seen == list(itertools.product(ATTRIBUTES, ATTRIBUTES))


def test_the_one_in_hand_stays_right_while_others_are_found():
    decoder = AttributeDecoder(ATTRIBUTE_WIRE)
    for at, attribute in enumerate(decoder):
        found = [decoder.find(1), decoder.find(20), decoder.find(attribute.type), *decoder.find_all(3)]
        assert bytes(attribute) == ATTRIBUTES[at]
        assert [bytes(item) for item in found] == [ATTRIBUTES[n] for n in (0, 19, at, 2)]
        assert all(item is not attribute for item in found)


def test_found_ones_stay_right():
    decoder = AttributeDecoder(ATTRIBUTE_WIRE)
    found = [decoder.find(n + 1) for n in range(20)]
    list(decoder)
    assert [bytes(attribute) for attribute in found] == ATTRIBUTES


def test_children_stay_right():
    wire = stream(*[(n, stream(*[(m, bytes([n, m])) for m in range(5)])) for n in range(5)])
    kept = [(container, list(container.nested())) for container in AttributeDecoder(wire)]
    for n, (container, children) in enumerate(kept):
        assert container.type == n
        assert [(child.type, child.data) for child in children] == [(m, bytes([n, m])) for m in range(5)]


def test_attributes_of_kept_messages_stay_right():
    wire = oracle.padded(oracle.message_bytes(n, 0, stream((n, bytes([n])))) for n in range(20))
    kept = [message.attributes() for message in nl.iter_messages(wire)]
    assert [(a.type, a.data) for decoder in kept for a in decoder] == [(n, bytes([n])) for n in range(20)]


def test_kept_things_outlive_all_else():
    messages = [message.view for message in nl.iter_messages(bytes(bytearray(MESSAGE_WIRE)))]
    attributes = [attribute.do(lambda view: view) for attribute in AttributeDecoder(bytes(bytearray(ATTRIBUTE_WIRE)))]
    decoder = Message(1, 0, ATTRIBUTE_WIRE).attributes()
    child = Attribute(1, ATTRIBUTE_WIRE).nested()
    gc.collect()
    assert [bytes(view) for view in messages] == [wire[16:] for wire in MESSAGES]
    assert [bytes(view) for view in attributes] == [wire[4:] for wire in ATTRIBUTES]
    assert flattened(decoder) == flattened(child) == ATTRIBUTES


# --- buffers that can change ------------------------------------------------------------------------------------------

# What holds on to the buffer it was made from.
HOLDERS = {
    "message iterator": lambda buffer: nl.iter_messages(buffer),
    "exhausted iterator": lambda buffer: [walk := nl.iter_messages(buffer), list(walk)][0],
    "message": lambda buffer: next(nl.iter_messages(buffer)),
    "message's view": lambda buffer: next(nl.iter_messages(buffer)).view,
    "message's wire": lambda buffer: memoryview(next(nl.iter_messages(buffer))),
    "message's attributes": lambda buffer: next(nl.iter_messages(buffer)).attributes(),
    "decoder": lambda buffer: AttributeDecoder(buffer, 16),
    "attribute": lambda buffer: next(AttributeDecoder(buffer, 16)),
    "attribute's view": lambda buffer: next(AttributeDecoder(buffer, 16)).view,
    "attribute's wire": lambda buffer: memoryview(next(AttributeDecoder(buffer, 16))),
    "found attribute": lambda buffer: AttributeDecoder(buffer, 16).find(1),
    "all found attributes": lambda buffer: AttributeDecoder(buffer, 16).find_all(1),
    "nested decoder": lambda buffer: next(AttributeDecoder(buffer, 16)).nested(),
    "nested attribute": lambda buffer: AttributeDecoder(buffer, 16).find(1, 2),
    "view from do": lambda buffer: next(AttributeDecoder(buffer, 16)).do(lambda view: view),
}


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_buffer_cannot_be_resized_while_in_use(hold):
    wire = oracle.message_bytes(1, 0, stream((1, stream((2, b"x")))))
    buffer = bytearray(wire)
    holder = hold(buffer)
    for resize in (lambda: buffer.append(0), buffer.clear, lambda: buffer.extend(b"abc"), lambda: buffer.pop()):
        with pytest.raises(BufferError):
            resize()
    assert buffer == wire
    buffer[0] = buffer[0]
    del holder
    buffer.extend(bytes(5000))


# What does not hold on to it.
COPIERS = {
    "unmarshal_messages": lambda buffer: nl.unmarshal_messages(buffer),
    "unmarshal_attributes": lambda buffer: nl.unmarshal_attributes(buffer, 16),
    "message's data": lambda buffer: next(nl.iter_messages(buffer)).data,
    "attribute's data": lambda buffer: next(AttributeDecoder(buffer, 16)).data,
    "new message": lambda buffer: Message(1, 0, buffer),
    "replaced message": lambda buffer: next(nl.iter_messages(buffer)).replace(),
    "new attribute": lambda buffer: Attribute(1, buffer),
    "marshalled messages": lambda buffer: nl.marshal_messages(nl.iter_messages(buffer)),
    "marshalled attributes": lambda buffer: nl.marshal_attributes(AttributeDecoder(buffer, 16)),
    "encoder of a header": lambda buffer: AttributeEncoder(buffer),
    "error": lambda buffer: str(outcome(list, AttributeDecoder(buffer, 14))),
    "text": lambda buffer: AttributeDecoder(buffer, 16).find(1, 2).string(),
}


@pytest.mark.parametrize("take", COPIERS.values(), ids=COPIERS)
def test_copies_are_independent(take):
    def content(taken):
        if isinstance(taken, list):
            return flattened(taken)
        return taken if isinstance(taken, str) else bytes(taken)

    buffer = bytearray(oracle.message_bytes(1, 0, stream((1, stream((2, b"x"))))))
    taken = take(buffer)
    before = content(taken)
    buffer[:] = b"\xff" * len(buffer)
    buffer.extend(b"more")
    assert content(taken) == before


def test_encoder_lets_go_of_what_was_written():
    buffer = bytearray(stream((1, b"x")))
    encoder = AttributeEncoder(buffer)
    encoder.data(1, buffer)
    encoder.do(1, lambda: buffer)
    encoder.attribute(next(AttributeDecoder(buffer)))
    nl.marshal_into([Message(1)], buffer + bytearray(16))
    buffer.extend(b"more")


# Read-only to the reader, yet somebody else may write.
DISGUISES = {
    "bytearray": lambda buffer: buffer,
    "memoryview": memoryview,
    "read-only memoryview": lambda buffer: memoryview(buffer).toreadonly(),
    "slice": lambda buffer: memoryview(buffer)[:],
    "message": lambda buffer: memoryview(next(nl.iter_messages(buffer))),
}


@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
def test_unmarshal_takes_a_snapshot(disguise):
    inner = stream((1, b"abc"), (2, b"def"))
    buffer = bytearray(oracle.message_bytes(16, 0, inner))
    messages = nl.unmarshal_messages(disguise(buffer))
    attributes = nl.unmarshal_attributes(disguise(buffer), 16)
    buffer[16:] = b"\xff" * (len(buffer) - 16)
    assert [message.data for message in messages] == [inner]
    assert [attribute.data for attribute in attributes] == [b"abc", b"def"]


def test_changed_bytes_before_they_are_read():
    buffer = bytearray(MESSAGE_WIRE)
    walk = nl.iter_messages(buffer)
    next(walk)
    struct.pack_into("=I", buffer, 24, 0xFFFFFFFF)
    for _ in range(2):
        with pytest.raises(nl.DecodeError) as caught:
            next(walk)
        assert caught.value.offset == 24
    struct.pack_into("=I", buffer, 24, 16)
    assert next(walk).data == b""

    buffer = bytearray(ATTRIBUTE_WIRE)
    decoder = AttributeDecoder(buffer)
    next(decoder)
    struct.pack_into("=H", buffer, 12, 0xFFFF)
    with pytest.raises(nl.DecodeError) as caught:
        next(decoder)
    assert caught.value.offset == 12
    with pytest.raises(nl.DecodeError):
        decoder.find(20)
    struct.pack_into("=H", buffer, 12, 4)
    assert next(decoder).data == b""


def test_changed_bytes_after_they_were_read():
    """The length was checked once: whatever is written there later, no more than that is read."""
    wire = oracle.message_bytes(1, 0, stream((1, stream((2, b"abcd")))))
    buffer = bytearray(wire)
    message = next(nl.iter_messages(buffer))
    attribute = next(message.attributes())
    for at in range(len(buffer)):
        for value in range(256):
            buffer[at] = value
            assert message.data == message.view == buffer[16:]
            assert len(bytes(message)) == len(message) == message.length == len(wire)
            assert attribute.data == attribute.view == buffer[20:28]
            assert attribute.type == 1
            repr(message), repr(attribute), hash(message), hash(attribute)
            assert attribute == attribute
            try:
                assert all(len(child) <= 4 for child in attribute.nested())
                attribute.nested().find(2, 3)
            except nl.DecodeError as error:
                assert 20 <= error.offset < 28
        buffer[at] = wire[at]


# --- kinds of buffers -------------------------------------------------------------------------------------------------


def buffers(wire):
    mapped = mmap.mmap(-1, len(wire))
    mapped[:] = wire
    return {
        "bytes": wire,
        "bytearray": bytearray(wire),
        "memoryview": memoryview(wire),
        "slice": memoryview(b"-----" + wire + b"---")[5:-3],
        "array of words": array.array("I", wire),
        "cast": memoryview(wire).cast("I"),
        "table": memoryview(wire).cast("B", [len(wire) // 4, 4]),
        "mmap": mapped,
        "subclass": type("Sub", (bytes,), {})(wire),
    }


@pytest.mark.parametrize("kind", buffers(b"1234"))
def test_any_contiguous_buffer(kind):
    messages = [bytes(message) for message in nl.iter_messages(buffers(MESSAGE_WIRE)[kind])]
    assert messages == flattened(nl.unmarshal_messages(buffers(MESSAGE_WIRE)[kind])) == MESSAGES
    attributes = [bytes(attribute) for attribute in AttributeDecoder(buffers(ATTRIBUTE_WIRE)[kind])]
    assert attributes == flattened(nl.unmarshal_attributes(buffers(ATTRIBUTE_WIRE)[kind])) == ATTRIBUTES
    assert Message(1, 0, buffers(b"1234")[kind]).data == Attribute(1, buffers(b"1234")[kind]).data == b"1234"
    encoder = AttributeEncoder(buffers(b"1234")[kind])
    encoder.data(1, buffers(b"5678")[kind])
    assert bytes(encoder) == b"1234" + stream((1, b"5678"))


@pytest.mark.parametrize("empty", [b"", bytearray(), memoryview(b""), array.array("I")], ids=lambda e: type(e).__name__)
def test_empty_buffers(empty):
    assert list(nl.iter_messages(empty)) == nl.unmarshal_messages(empty) == []
    assert list(AttributeDecoder(empty)) == nl.unmarshal_attributes(empty) == []
    assert Message(1, 0, empty).data == Attribute(1, empty).data == bytes(AttributeEncoder(empty)) == b""


@pytest.mark.parametrize(
    "read",
    [
        nl.iter_messages,
        nl.unmarshal_messages,
        AttributeDecoder,
        nl.unmarshal_attributes,
        AttributeEncoder,
        pytest.param(lambda buffer: Message(1, 0, buffer), id="Message"),
        pytest.param(lambda buffer: Attribute(1, buffer), id="Attribute"),
        pytest.param(lambda buffer: AttributeEncoder().data(1, buffer), id="data"),
        pytest.param(lambda buffer: nl.marshal_into([], buffer), id="marshal_into"),
    ],
)
def test_buffers_with_gaps(read):
    with pytest.raises(BufferError):
        read(memoryview(bytearray(100))[::2])


def test_released_memory():
    buffer = bytearray(MESSAGE_WIRE)
    view = memoryview(buffer)
    walk = nl.iter_messages(view)
    with pytest.raises(BufferError):
        view.release()
    del walk
    view.release()
    with pytest.raises(ValueError, match="released"):
        nl.iter_messages(view)
    mapped = mmap.mmap(-1, 4096)
    walk = AttributeDecoder(mapped)
    with pytest.raises(BufferError):
        mapped.close()
    del walk
    mapped.close()


# --- views of an encoder ----------------------------------------------------------------------------------------------

WRITES = {
    **{name: (name, 1, 1) for name in oracle.INTEGER_METHOD},
    **{"string": ("string", 1, "x"), "data": ("data", 1, b"x"), "flag": ("flag", 1), "clear": ("clear",)},
    **{"do": ("do", 1, lambda: b"x"), "attribute": ("attribute", Attribute(1))},
}


@pytest.mark.parametrize("export", [memoryview, AttributeDecoder, nl.iter_messages], ids=lambda kind: kind.__name__)
def test_encoder_is_not_written_while_viewed(export):
    encoder = AttributeEncoder(b"head")
    encoder.u32(1, 1)
    before = bytes(encoder)
    first, second = export(encoder), export(encoder)
    for name, *arguments in WRITES.values():
        with pytest.raises(BufferError):
            getattr(encoder, name)(*arguments)
    with pytest.raises(BufferError), encoder.nested(1):
        raise AssertionError("must not get here")
    assert bytes(encoder) == before
    del first
    with pytest.raises(BufferError):
        encoder.u8(1, 1)
    del second
    encoder.data(2, bytes(5000))
    assert bytes(encoder) == before + stream((2, bytes(5000)))


def test_encoder_view_is_read_only_and_outlives_the_encoder():
    view = memoryview(AttributeEncoder(b"header"))
    assert view.readonly
    assert bytes(view) == b"header"
    encoder = AttributeEncoder(b"head")
    with pytest.raises(BufferError):
        nl.marshal_into([], encoder)
    encoder.flag(1)  # the refused view does not count


# --- writing into a buffer --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0, 1, 4, 7])
@pytest.mark.parametrize("room", [0, 1, 100])
def test_marshal_into_at_an_offset(offset, room):
    target = bytearray(b"\xee" * (offset + len(MESSAGE_WIRE) + room))
    assert nl.marshal_into(nl.unmarshal_messages(MESSAGE_WIRE), target, offset) == len(MESSAGE_WIRE)
    assert target == b"\xee" * offset + MESSAGE_WIRE + b"\xee" * room
    target.append(0)


@pytest.mark.parametrize(
    ("size", "offset"), [(0, 0), (len(MESSAGE_WIRE) - 1, 0), (len(MESSAGE_WIRE), 1), (10, 11), (10, 2**62)]
)
def test_marshal_into_too_little_room(size, offset):
    target = bytearray(b"\xee" * size)
    with pytest.raises(nl.EncodeError):
        nl.marshal_into(nl.unmarshal_messages(MESSAGE_WIRE), target, offset)
    assert target == b"\xee" * size
    target.append(0)


def test_marshal_into_what_cannot_be_written():
    for target in (bytes(100), memoryview(bytes(100)), memoryview(bytearray(100)).toreadonly()):
        with pytest.raises(BufferError):
            nl.marshal_into([Message(1)], target)
    for target in (None, "text", 5):
        with pytest.raises(TypeError):
            nl.marshal_into([Message(1)], target)
    with pytest.raises(ValueError, match="negative"):
        nl.marshal_into([Message(1)], bytearray(100), -1)
    assert nl.marshal_into([], bytearray(4), 4) == 0


def test_marshal_into_other_buffers():
    for target in (array.array("I", bytes(len(MESSAGE_WIRE))), mmap.mmap(-1, len(MESSAGE_WIRE))):
        assert nl.marshal_into(nl.unmarshal_messages(MESSAGE_WIRE), target) == len(MESSAGE_WIRE)
        assert bytes(target[:]) == MESSAGE_WIRE if isinstance(target, mmap.mmap) else target.tobytes() == MESSAGE_WIRE


@pytest.mark.parametrize("offset", [0, 1, 4, 8, 16, 20, 24, 100])
@pytest.mark.parametrize("every", [1, 2, 3, 20])
def test_marshal_into_the_buffer_that_is_read(offset, every):
    buffer = bytearray(MESSAGE_WIRE + bytes(200))
    chosen = list(nl.iter_messages(memoryview(buffer)[: len(MESSAGE_WIRE)]))[::every]
    expected = oracle.padded(MESSAGES[::every])
    assert nl.marshal_into(chosen, buffer, offset) == len(expected)
    assert buffer[offset : offset + len(expected)] == expected


@pytest.mark.parametrize("order", [-1, 1])
def test_marshal_into_the_buffer_that_is_read_in_another_order(order):
    buffer = bytearray(MESSAGE_WIRE)
    chosen = sorted(nl.iter_messages(buffer), key=lambda message: (message.type * 7 % 20) * order)
    wires = oracle.padded(bytes(message) for message in chosen)
    nl.marshal_into(chosen, buffer)
    assert buffer == wires
