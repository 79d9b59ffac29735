"""What messages and attributes are as Python objects: compared, hashed, shown, copied, pickled, never changed."""

import copy
import inspect
import pickle

import pytest

import netlink_codec as nl
import oracle
from netlink_codec import Attribute, AttributeDecoder, AttributeEncoder, Message
from support import stream

WIRE = {Message: oracle.message_bytes(16, 1, b"abcde", 2, 3), Attribute: oracle.attribute_bytes(0xC001, b"abcde")}


def made(kind):
    return Message(16, 1, b"abcde", seq=2, pid=3) if kind is Message else Attribute(0xC001, b"abcde")


SOURCES = {
    "made": lambda kind: made(kind),
    "read from bytes": lambda kind: next(READ[kind](WIRE[kind])),
    "read from a bytearray": lambda kind: next(READ[kind](bytearray(WIRE[kind]))),
    "read from a slice": lambda kind: next(READ[kind](memoryview(b"-" + WIRE[kind])[1:])),
}
READ = {Message: nl.iter_messages, Attribute: AttributeDecoder}


KINDS = pytest.mark.parametrize("kind", [Message, Attribute])
ALIKE = pytest.mark.parametrize(
    "item",
    [pytest.param(make(kind), id=f"{kind.__name__} {source}") for kind in WIRE for source, make in SOURCES.items()],
)


@KINDS
def test_equal_where_the_wire_is(kind):
    alike = [make(kind) for make in SOURCES.values()]
    for one in alike:
        assert all(one == other for other in alike)
        assert not any(one != other for other in alike)
    assert len(set(alike)) == 1
    assert {made(kind): "found"}[alike[1]] == "found"


DIFFERENT = [
    Message(1),
    Message(2),
    Message(1, 1),
    Message(1, seq=1),
    Message(1, pid=1),
    Message(1, 0, b"\0"),
    Message(1, 0, b"\1"),
    Message(1, 0, b"\0\0"),
    Attribute(1),
    Attribute(2),
    Attribute(0x8001),
    Attribute(0x4001),
    Attribute(1, b"\0"),
    Attribute(1, b"\1"),
    Attribute(1, b"\0\0"),
    bytes(Message(1)),
    bytes(Attribute(1)),
    None,
    1,
]


def test_different_where_the_wire_is():
    for at, one in enumerate(DIFFERENT):
        assert [n for n, other in enumerate(DIFFERENT) if one == other] == [at]
        assert [n for n, other in enumerate(DIFFERENT) if one != other] != [at]
    assert len(set(DIFFERENT)) == len(DIFFERENT)


@ALIKE
def test_no_order(item):
    with pytest.raises(TypeError):
        item < item  # noqa: B015


@ALIKE
def test_wire_through_the_buffer_protocol(item):
    wire = WIRE[type(item)]
    assert bytes(item) == wire
    view = memoryview(item)
    assert view.readonly
    assert view == wire
    assert b"".join([item, item]) == wire * 2
    for payload in (item.view, memoryview(item.view)):
        assert isinstance(payload, memoryview)
        assert payload.readonly
        assert payload == item.data == b"abcde"
    with pytest.raises(TypeError):
        view[0] = 0
    with pytest.raises((TypeError, BufferError)):
        nl.marshal_into([], item)
    assert bytes(item) == wire


@ALIKE
def test_true_and_long(item):
    assert item
    assert len(item) == (21 if isinstance(item, Message) else 5)
    assert Attribute(1), "what find() returns is true when it is empty, too"


@ALIKE
def test_immutable(item):
    for name in ("type", "data", "view", "flags", "length", "seq", "pid", "type_flags", "new"):
        with pytest.raises(AttributeError):
            setattr(item, name, 5)
    for arguments in [(1,), (1, 2), (1, 0, b"x")]:
        with pytest.raises(TypeError):
            item.__init__(*arguments)
    assert bytes(item) == WIRE[type(item)]


@pytest.mark.parametrize("kind", [Message, Attribute, AttributeDecoder, AttributeEncoder])
def test_final(kind):
    with pytest.raises(TypeError):
        type("Sub", (kind,), {})


@ALIKE
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(item, protocol):
    again = pickle.loads(pickle.dumps(item, protocol))
    assert type(again) is type(item)
    assert again == item


@ALIKE
@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy])
def test_copy(item, copier):
    again = copier(item)
    assert type(again) is type(item)
    assert again == item


def test_pickle_and_copy_of_views_do_not_change():
    buffer = bytearray(WIRE[Message] + bytes(3) + WIRE[Attribute])
    message = next(nl.iter_messages(buffer))
    attribute = next(AttributeDecoder(buffer, 24))
    pickled = [pickle.dumps(item) for item in (message, attribute)]
    copies = [copier(item) for item in (message, attribute) for copier in (copy.copy, copy.deepcopy)]
    changed = copy.copy(message.replace(seq=9))
    buffer[16:21] = b"-----"
    buffer[28:33] = b"-----"
    assert (message.data, attribute.data) == (b"-----", b"-----")
    assert [pickle.loads(text).data for text in pickled] == [b"abcde"] * 2
    assert changed.data == b"abcde"
    # A copy of an immutable thing may be the thing itself.
    assert all(again.data == (b"-----" if again in (message, attribute) else b"abcde") for again in copies)


def test_copy_replace():
    replace = getattr(copy, "replace", None) or (lambda item, **changes: item.__replace__(**changes))  # from 3.13 on
    changed = replace(made(Message), seq=9, data=b"x")
    assert changed == Message(16, 1, b"x", seq=9, pid=3)
    with pytest.raises(TypeError):
        replace(made(Message), length=5)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda item: pickle.loads(pickle.dumps(item))])
def test_a_copy_reads_what_the_original_reads(again):
    """The byte order and the strictness are the decoder's, and go with the attribute."""
    wire = stream((1, b"\0\0\0\1"), (2, b"\0\0\0\0\0"))
    first, second = AttributeDecoder(wire, 0, "big", strict=True)
    assert again(first).u32() == first.u32() == 1
    with pytest.raises(nl.DecodeError):
        list(again(second).nested())


def test_numbers_that_cannot_be_printed():
    huge = 10**5000
    encoder = AttributeEncoder()
    for refused in (
        lambda: Message(huge),
        lambda: Message(1, seq=-huge),
        lambda: Attribute(huge),
        lambda: encoder.u32(1, huge),
        lambda: encoder.s64(1, -huge),
        lambda: encoder.u8(huge, 1),
        lambda: nl.marshal_into([], bytearray(8), huge),
    ):
        with pytest.raises(nl.EncodeError, match="an integer of 16610 bits"):
            refused()
    for offset in (huge, 2**63):
        for call in (AttributeDecoder, nl.iter_messages, nl.unmarshal_attributes):
            with pytest.raises(nl.DecodeError):
                call(b"", offset)
            with pytest.raises(ValueError, match="is negative"):
                call(b"", -offset)


def test_signatures():
    assert str(inspect.signature(Message)) == "(type, flags=0, data=b'', *, seq=0, pid=0)"
    assert str(inspect.signature(AttributeDecoder)) == "(buffer, offset=0, byteorder='native', *, strict=False)"
    assert str(inspect.signature(Attribute)) == "(type, data=b'')"
    assert str(inspect.signature(AttributeEncoder)) == "(header=b'', byteorder='native')"


@pytest.mark.parametrize("item", [made(Message), made(Attribute)])
def test_nothing_half_made(item):
    kind = type(item)
    empty = kind.__new__(kind)
    assert (empty.type, empty.data, list(empty.view)) == (0, b"", [])
    assert bytes(empty) == bytes(kind(0))
    assert repr(empty)
    walk = empty.attributes() if kind is Message else empty.nested()
    assert list(walk) == []
    for impossible in (-1, 0x10000):
        with pytest.raises(nl.EncodeError):
            empty.__init__(impossible)
        assert bytes(empty) == bytes(kind(0))


@pytest.mark.parametrize("kind", [Message, Attribute])
def test_made_twice_at_once(kind):
    """A view of what an inner __init__ made must not outlive its bytes."""

    class Makes:
        def __index__(self):
            item.__init__(1, **{"data": b"\x55" * 5000})
            views.append(memoryview(item))
            return 2

    views = []
    item = kind.__new__(kind)
    with pytest.raises(TypeError):
        item.__init__(Makes(), **{"data": b"\xaa" * 5000})
    filler = [bytes([n]) * 5000 for n in range(50)]
    assert bytes(views[0])[-5000:] == b"\x55" * 5000
    assert len(filler) == 50


@pytest.mark.parametrize("length", [0, 1, 24, 25, 70, 65531])
def test_repr_never_raises(length):
    for payload in (bytes(length), b"\xff" * length, b"'\"\\\n{}"[:length]):
        for kind, flags in [(Message, 0), (Message, 0xFFFF), (Attribute, 0), (Attribute, 0xC000)]:
            item = kind(7, flags, payload) if kind is Message else kind(flags | 7, payload)
            text = repr(item)
            assert kind.__name__ in text
            assert "7" in text
            assert len(text) < 300


@pytest.mark.parametrize(
    "item",
    [
        AttributeDecoder(stream((1, b"x"))),
        nl.iter_messages(bytes(Message(1))),
        AttributeEncoder(b"head"),
        AttributeEncoder().nested(1),
    ],
    ids=lambda item: type(item).__name__,
)
def test_working_objects_are_not_copied(item):
    assert type(item).__name__ in repr(item)
    for copier in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            copier(item)


def test_working_objects_made_by_hand_are_empty():
    assert list(AttributeDecoder.__new__(AttributeDecoder)) == []
    assert AttributeDecoder.__new__(AttributeDecoder).find(1) is None
    decoder = AttributeDecoder(stream((1, b"x")))
    with pytest.raises(TypeError):
        decoder.__init__(b"")
    assert next(decoder).data == b"x"
    iterator = type(nl.iter_messages(b""))
    assert list(iterator.__new__(iterator)) == []
