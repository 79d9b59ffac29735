"""Attributes written: the encoder's calls, and every way in which they fail."""

from leakcheck import check, raises

from netlink_codec import (
    Attribute,
    AttributeDecoder,
    AttributeEncoder,
    DecodeError,
    EncodeError,
    Message,
    marshal_attributes,
)

HEADER, MUTABLE = b"header of a family", bytearray(b"bytes that change")
TEXT, ESCAPED, LONE = "ä text", "\udcff\udcfe", "\ud800"
HUGE = 1 << 100
LONG = bytes(65_532)
ATTRIBUTES = (Attribute(1, HEADER), Attribute(2), Attribute(3, b"x"))
WIRE = marshal_attributes(ATTRIBUTES)
OWNERS = [HEADER, MUTABLE, TEXT, ESCAPED, LONE, HUGE, LONG, WIRE, *ATTRIBUTES]

WRITERS = [
    (f"{sign}{bits}{order}", bits)
    for sign in "us"
    for bits in (8, 16, 32, 64)
    for order in ("", "be", "le")
    if bits > 8 or not order
]
USED = AttributeEncoder(HEADER)


def write_all():
    encoder = AttributeEncoder(HEADER, "big")
    for name, bits in WRITERS:
        getattr(encoder, name)(300, (1 << bits - 1) - 1)
    encoder.uint(1, 1 << 40)
    encoder.sint(1, -1 << 40)
    encoder.string(2, TEXT)
    encoder.data(3, MUTABLE)
    encoder.flag(4)
    encoder.flag(4, False)
    encoder.attribute(ATTRIBUTES[0])
    encoder.do(5, lambda: MUTABLE)
    return bytes(encoder), len(encoder), repr(encoder)


def refuse_all():
    for name, bits in WRITERS:
        write = getattr(USED, name)
        raises(EncodeError, write, 300, 1 << bits)
        raises(EncodeError, write, 300, HUGE)
        raises(EncodeError, write, 70_000, 1)
        raises(TypeError, write, 300, "1")
        raises(TypeError, write, 300, 1.5)
        raises(TypeError, write, None, 1)
        raises(TypeError, write, 300)
    for name in ("uint", "sint"):
        raises(EncodeError, getattr(USED, name), 300, HUGE)
        raises(TypeError, getattr(USED, name), 300, "1")


def grow():
    encoder = AttributeEncoder()
    for _number in range(8):
        encoder.data(1, LONG[:1000])


def use_again():
    USED.clear()
    USED.data(1, LONG[:2000])
    USED.clear()


def fail():
    raise KeyError(MUTABLE)


class Index:
    def __init__(self, value=None):
        self.value = value

    def __index__(self):
        if self.value is None:
            raise KeyError
        return self.value


def nest():
    encoder = AttributeEncoder(HEADER)
    with encoder.nested(1):
        encoder.data(2, MUTABLE)
        with encoder.nested(3) as inner:
            inner.u32(4, 5)
    return Message(16, 0, encoder)


def nest_and_fail():
    encoder = AttributeEncoder(HEADER)
    with encoder.nested(1), encoder.nested(2):
        encoder.data(2, MUTABLE)
        raise KeyError


def nest_too_much():
    encoder = AttributeEncoder()
    with encoder.nested(1):
        encoder.data(2, LONG[:60_000])
        encoder.data(2, LONG[:6000])


def nest_too_deep(encoder=None, level=0):
    encoder = encoder or AttributeEncoder()
    with encoder.nested(1):
        nest_too_deep(encoder, level + 1)


def nest_and_forget():
    """The encoder goes while an attribute is open."""
    encoder = AttributeEncoder(HEADER)
    encoder.nested(1).__enter__()
    encoder.data(2, MUTABLE)
    raises(BufferError, bytes, encoder)
    raises(BufferError, encoder.clear)


def leave_in_the_wrong_order():
    encoder = AttributeEncoder()
    outer, inner = encoder.nested(1), encoder.nested(2)
    outer.__enter__()
    inner.__enter__()
    raises(BufferError, outer.__exit__, None, None, None)


def enter_twice():
    nested = AttributeEncoder().nested(1)
    raises(TypeError, nested.__exit__, None, None, None)
    nested.__enter__()
    raises(TypeError, nested.__enter__)


def write_under_a_view():
    encoder = AttributeEncoder(HEADER)
    with memoryview(encoder):
        raises(BufferError, encoder.u32, 1, 2)
        raises(BufferError, encoder.data, 1, MUTABLE)
        raises(BufferError, encoder.string, 1, TEXT)
        raises(BufferError, encoder.clear)
        raises(BufferError, encoder.nested(1).__enter__)
    encoder.u32(1, 2)


def refer_to_itself():
    """A cycle, through what the encoder's nested attribute refers to."""
    encoder = AttributeEncoder()
    holder = [encoder.nested(1)]
    holder.append(holder)


def broken_iterable():
    yield ATTRIBUTES[0]
    raise KeyError


check(
    {
        "made": lambda: AttributeEncoder(HEADER, "little"),
        "made of a mutable header": lambda: AttributeEncoder(MUTABLE),
        "made of text": lambda: raises(TypeError, AttributeEncoder, "text"),
        "made in another order": lambda: raises(ValueError, AttributeEncoder, MUTABLE, "middle"),
        "grown": grow,
        "used again": use_again,
        "an index": lambda: AttributeEncoder().u64(1, Index((1 << 64) - 1)),
        "an index out of range": lambda: raises(EncodeError, USED.u8, 1, Index(300)),
        "an index that raises": lambda: raises(KeyError, USED.u32, 1, Index()),
        "an index that raises as a type": lambda: raises(KeyError, USED.u32, Index(), 1),
        "escaped text": lambda: AttributeEncoder().string(1, ESCAPED),
        "text without bytes": lambda: raises(EncodeError, USED.string, 1, LONE),
        "text with a NUL": lambda: raises(EncodeError, USED.string, 1, "a\0b"),
        "bytes as text": lambda: raises(TypeError, USED.string, 1, HEADER),
        "text as bytes": lambda: raises(TypeError, USED.data, 1, TEXT),
        "too many bytes": lambda: raises(EncodeError, USED.data, 1, LONG),
        "too much text": lambda: raises(EncodeError, USED.string, 1, "x" * 65_531),
        "strided bytes": lambda: raises(BufferError, USED.data, 1, memoryview(MUTABLE)[::2]),
        "type out of range": lambda: raises(EncodeError, USED.data, 70_000, MUTABLE),
        "done": lambda: AttributeEncoder().do(1, lambda: MUTABLE),
        "done, and it raised": lambda: raises(KeyError, USED.do, 1, fail),
        "done with text": lambda: raises(TypeError, USED.do, 1, lambda: TEXT),
        "done with too much": lambda: raises(EncodeError, USED.do, 1, lambda: LONG),
        "another kind as attribute": lambda: raises(TypeError, USED.attribute, 1),
        "an attribute that was read": lambda: AttributeEncoder().attribute(next(AttributeDecoder(WIRE))),
        "nested": nest,
        "nested and raised": lambda: raises(KeyError, nest_and_fail),
        "nested too much": lambda: raises(EncodeError, nest_too_much),
        "nested and forgotten": nest_and_forget,
        "nested, never entered": lambda: AttributeEncoder(MUTABLE).nested(1),
        "nested out of range": lambda: raises(EncodeError, USED.nested, 70_000),
        "left in the wrong order": leave_in_the_wrong_order,
        "entered twice": enter_twice,
        "written under a view": write_under_a_view,
        "a cycle": refer_to_itself,
        "marshalled": lambda: marshal_attributes(ATTRIBUTES),
        "marshalled from a list": lambda: marshal_attributes(list(ATTRIBUTES)),
        "marshalled from a walk": lambda: marshal_attributes(AttributeDecoder(WIRE)),
        "marshalled from a bad walk": lambda: raises(DecodeError, marshal_attributes, AttributeDecoder(b"\0\0\0\0")),
        "marshalled another kind": lambda: raises(TypeError, marshal_attributes, [ATTRIBUTES[0], 1]),
        "marshalled what raises": lambda: raises(KeyError, marshal_attributes, broken_iterable()),
        "marshalled what is no iterable": lambda: raises(TypeError, marshal_attributes, 1),
    },
    OWNERS,
    {
        "everything written": write_all,
        "everything refused": refuse_all,
        "nested too deep": lambda: raises(EncodeError, nest_too_deep),
    },
)
