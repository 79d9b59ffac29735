"""Views: what they hold on to, and that they let go of it, in whatever order they die."""

from array import array
from struct import pack, pack_into

from leakcheck import check, raises

from netlink_codec import Attribute, AttributeDecoder, AttributeEncoder, Message, iter_messages, marshal_into

ATTRIBUTE = pack("=HH", 8, 1) + b"abcd"
WIRE = ATTRIBUTE * 4
DATAGRAM = (pack("=IHHII", 16 + len(WIRE), 16, 0, 0, 0) + WIRE) * 3
MUTABLE = bytearray(DATAGRAM)
NUMBERS = array("I", [0x00010008, 7] * 4)
MESSAGE, READ = Message(16, 0, WIRE), Attribute(1, WIRE)
OWNERS = [WIRE, DATAGRAM, MUTABLE, NUMBERS, MESSAGE, READ]


def resizable(buffer):
    buffer.append(0)
    buffer.pop()


def pin(make):
    """Whatever `make` makes keeps a bytearray from being resized, until it is gone."""
    buffer = bytearray(DATAGRAM)
    made = make(buffer)
    raises(BufferError, buffer.append, 0)
    del made
    resizable(buffer)


def outlive(make):
    """The view is the last that is left."""
    view = make(bytearray(DATAGRAM))
    return bytes(view)


def release_early(thing):
    view = memoryview(thing)
    part = view[4:]
    view.release()
    assert len(part) == len(bytes(thing)) - 4
    raises(ValueError, view.tobytes)


def chain():
    """Message, decoder, attribute, nested decoder, view: each goes before the next."""
    message = next(iter_messages(bytearray(DATAGRAM)))
    decoder = message.attributes()
    del message
    attribute = next(decoder)
    del decoder
    view = attribute.view
    nested = attribute.nested()
    del attribute
    assert bytes(view) == b"abcd"
    del view
    return nested


def message_of_each_kind():
    for buffer in (WIRE, MUTABLE, memoryview(WIRE), memoryview(MUTABLE), NUMBERS, MESSAGE, READ):
        _made = Message(16, 0, buffer).view


def scratch_and_kept():
    kept = [message for message in iter_messages(MUTABLE) if message.length]
    views = [message.view for message in kept]
    kept.clear()
    return views


def encoder_view_outlives():
    encoder = AttributeEncoder(WIRE)
    view = memoryview(encoder)
    del encoder
    assert bytes(view) == WIRE


def marshal_over_itself():
    buffer = bytearray(DATAGRAM)
    messages = list(iter_messages(buffer))
    marshal_into(messages, buffer)
    return messages


check(
    {
        "decoder pins": lambda: pin(AttributeDecoder),
        "messages pin": lambda: pin(iter_messages),
        "message pins": lambda: pin(lambda buffer: next(iter_messages(buffer))),
        "message's view pins": lambda: pin(lambda buffer: next(iter_messages(buffer)).view),
        "message's decoder pins": lambda: pin(lambda buffer: next(iter_messages(buffer)).attributes()),
        "attribute pins": lambda: pin(lambda buffer: next(next(iter_messages(buffer)).attributes())),
        "attribute's view pins": lambda: pin(lambda buffer: next(next(iter_messages(buffer)).attributes()).view),
        "list pins": lambda: pin(lambda buffer: list(iter_messages(buffer))),
        "found pins": lambda: pin(lambda buffer: next(iter_messages(buffer)).attributes().find(1)),
        "message's view outlives": lambda: outlive(lambda buffer: next(iter_messages(buffer)).view),
        "attribute's view outlives": lambda: outlive(lambda buffer: AttributeDecoder(buffer, 16).find(1).view),
        "message outlives": lambda: outlive(lambda buffer: next(iter_messages(buffer))),
        "message released early": lambda: release_early(MESSAGE),
        "attribute released early": lambda: release_early(READ),
        "read in an array": lambda: list(AttributeDecoder(NUMBERS)),
        "a writable view is refused": lambda: raises(TypeError, pack_into, "=I", MESSAGE, 0, 1),
        "a chain": chain,
        "messages of each kind of buffer": message_of_each_kind,
        "views of what was kept": scratch_and_kept,
        "encoder's view outlives": encoder_view_outlives,
        "marshalled over itself": marshal_over_itself,
    },
    OWNERS,
)
