"""Attributes read: decoders, readers, and every way in which they fail."""

import copy
import pickle
from struct import pack

from leakcheck import check, raises

from netlink_codec import Attribute, AttributeDecoder, DecodeError, EncodeError, Message, unmarshal_attributes


def attribute(kind, payload):
    return pack("=HH", 4 + len(payload), kind) + payload + b"\0" * (-len(payload) & 3)


def deep(levels):
    inside = attribute(1, b"")
    for _level in range(levels - 1):
        inside = attribute(1, inside)
    return inside


WIRE = b"".join(
    [
        attribute(1, b"\xff" * 4),
        attribute(2, b"\xff" * 8),
        attribute(3, b"text\0\0"),
        attribute(4 | 0x8000, attribute(5, b"inner") + attribute(6, b"\xff" * 4)),
        attribute(7 | 0x4000, b"\1\2\3\4"),
        attribute(2, b"\xff" * 8),
    ]
)
MUTABLE = bytearray(WIRE)
BROKEN, LONG, STRAY = WIRE + b"\3\0\1\0", WIRE + b"\xff\xff\1\0", WIRE + b"abc"
DEEP = deep(33)
MESSAGE = Message(16, 0, WIRE)
MUTABLE_MESSAGE = Message(16, 0, MUTABLE)
TEXT = Attribute(1, "ä€".encode() + b"\xff\xfe\0\0")
NUMBERS = {
    1: Attribute(1, b"\xff"),
    2: Attribute(2, b"\xff" * 2),
    4: Attribute(4, b"\xff" * 4),
    8: Attribute(8, b"\xff" * 8),
}
EMPTY, NEST = Attribute(9), Attribute(10, WIRE)
OWNERS = [WIRE, MUTABLE, BROKEN, LONG, STRAY, DEEP, MESSAGE, MUTABLE_MESSAGE, TEXT, EMPTY, NEST, *NUMBERS.values()]

READERS = [
    (f"{sign}{8 * width}{order}", width)
    for sign in "us"
    for width in NUMBERS
    for order in ("", "be", "le")
    if width > 1 or not order
]


def read_all():
    for name, width in READERS:
        getattr(NUMBERS[width], name)()
    for width in (4, 8):
        _read = NUMBERS[width].uint(), NUMBERS[width].sint()


def misread_all():
    for name, width in READERS:
        raises(DecodeError, getattr(NUMBERS[1 if width > 1 else 2], name))
    for name in ("uint", "sint"):
        raises(DecodeError, getattr(NUMBERS[2], name))


def walk(buffer, *options, **more):
    for item in AttributeDecoder(buffer, *options, **more):
        _touched = item.type, len(item)


def walk_nested(buffer):
    for item in AttributeDecoder(buffer):
        if item.type == 4:
            for inner in item.nested():
                _touched = inner.data


def walk_kept_by_turns(buffer):
    kept = []
    for number, item in enumerate(AttributeDecoder(buffer)):
        if number % 2:
            kept.append(item)
    return kept


def abandon(buffer):
    decoder = AttributeDecoder(buffer)
    return next(decoder), next(decoder)


def abandon_with_only_an_attribute(buffer):
    item = next(AttributeDecoder(buffer))
    assert item.u32() == 0xFFFFFFFF


def fail_twice(buffer):
    decoder = AttributeDecoder(buffer)
    raises(DecodeError, list, decoder)
    raises(DecodeError, next, decoder)


def descend():
    decoder = AttributeDecoder(DEEP)
    for _level in range(31):
        decoder = next(decoder).nested()
    raises(DecodeError, next(decoder).nested)


def touch_everything():
    _touched = (
        TEXT.type, TEXT.type_flags, TEXT.data, TEXT.view, len(TEXT), bytes(TEXT), hash(TEXT), repr(TEXT), bool(TEXT),
        TEXT.string(), EMPTY.flag(), EMPTY.string(), TEXT == EMPTY, Attribute(1) == TEXT, TEXT == 1, TEXT.do(bytes),
    )  # fmt: skip


def fail(view):
    raise KeyError(view)


def interrupt(_view):
    raise KeyboardInterrupt


check(
    {
        "made": lambda: Attribute(300, WIRE),
        "made of a mutable buffer": lambda: Attribute(300, MUTABLE),
        "made by __new__ alone": lambda: (
            Attribute.__new__(Attribute).data,
            list(AttributeDecoder.__new__(AttributeDecoder)),
        ),
        "made twice": lambda: raises(TypeError, TEXT.__init__, 1),
        "decoder made twice": lambda: raises(TypeError, AttributeDecoder(WIRE).__init__, MUTABLE),
        "type out of range": lambda: raises(EncodeError, Attribute, 70_000, MUTABLE),
        "payload too long": lambda: raises(EncodeError, Attribute, 1, bytes(65_532)),
        "type of another kind": lambda: raises(TypeError, Attribute, "1", MUTABLE),
        "text as data": lambda: raises(TypeError, Attribute, 1, "text"),
        "everything touched": touch_everything,
        "copied": lambda: (copy.copy(TEXT), copy.deepcopy(TEXT)),
        "pickled": lambda: pickle.loads(pickle.dumps(TEXT)),
        "a flag with a payload": lambda: raises(DecodeError, TEXT.flag),
        "text of a mutable buffer": lambda: [a.string() for a in AttributeDecoder(MUTABLE) if a.type == 3],
        "done": lambda: TEXT.do(len),
        "done, and it raised": lambda: raises(KeyError, TEXT.do, fail),
        "done, and it was interrupted": lambda: raises(KeyboardInterrupt, TEXT.do, interrupt),
        "done by nothing to call": lambda: raises(TypeError, TEXT.do, 1),
        "walked": lambda: walk(WIRE),
        "walked in a mutable buffer": lambda: walk(MUTABLE),
        "walked in a message": lambda: list(MESSAGE.attributes()),
        "walked in a message of a mutable one": lambda: list(MUTABLE_MESSAGE.attributes(8, "big", strict=False)),
        "walked in an attribute": lambda: list(NEST.nested()),
        "walked in big": lambda: walk(WIRE, 0, "big"),
        "walked from an offset": lambda: walk(MUTABLE, 8, strict=True),
        "walked and nested": lambda: walk_nested(MUTABLE),
        "walked and kept": lambda: list(AttributeDecoder(WIRE)),
        "walked and kept, mutable": lambda: list(AttributeDecoder(MUTABLE)),
        "walked and kept by turns": lambda: walk_kept_by_turns(MUTABLE),
        "walked until a bad length": lambda: raises(DecodeError, walk, BROKEN),
        "walked until a long length": lambda: raises(DecodeError, walk, LONG),
        "strays": lambda: walk(STRAY),
        "strays, strictly": lambda: raises(DecodeError, walk, STRAY, strict=True),
        "abandoned": lambda: abandon(WIRE),
        "abandoned, mutable": lambda: abandon(MUTABLE),
        "abandoned with only an attribute": lambda: abandon_with_only_an_attribute(MUTABLE),
        "failed twice": lambda: fail_twice(LONG),
        "never walked": lambda: AttributeDecoder(MUTABLE),
        "text walked": lambda: raises(TypeError, AttributeDecoder, "text"),
        "strided": lambda: raises(BufferError, AttributeDecoder, memoryview(MUTABLE)[::2]),
        "offset past the end": lambda: raises(DecodeError, AttributeDecoder, MUTABLE, 10_000),
        "negative offset": lambda: raises(ValueError, AttributeDecoder, MUTABLE, -1),
        "another order": lambda: raises(ValueError, AttributeDecoder, MUTABLE, 0, "middle"),
        "message's offset past the end": lambda: raises(DecodeError, MUTABLE_MESSAGE.attributes, 10_000),
        "message's order": lambda: raises(ValueError, MUTABLE_MESSAGE.attributes, 0, "middle"),
        "nested offset past the end": lambda: raises(DecodeError, NEST.nested, 10_000),
        "nested negative offset": lambda: raises(ValueError, NEST.nested, -1),
        "found": lambda: AttributeDecoder(MUTABLE).find(7),
        "found inside": lambda: AttributeDecoder(WIRE).find(4, 6),
        "found nothing": lambda: (AttributeDecoder(MUTABLE).find(99), AttributeDecoder(WIRE).find(4, 99)),
        "found all": lambda: AttributeDecoder(MUTABLE).find_all(2),
        "found a bad length": lambda: raises(DecodeError, AttributeDecoder(BROKEN).find, 99),
        "found a bad length inside": lambda: raises(DecodeError, AttributeDecoder(WIRE).find, 1, 99),
        "found all until a bad length": lambda: raises(DecodeError, AttributeDecoder(LONG).find_all, 2),
        "found another kind": lambda: raises(TypeError, AttributeDecoder(MUTABLE).find, "2"),
        "found what is out of range": lambda: raises(ValueError, AttributeDecoder(MUTABLE).find_all, 70_000),
        "found too deep": lambda: raises(DecodeError, AttributeDecoder(DEEP).find, *[1] * 33),
        "unmarshalled": lambda: unmarshal_attributes(WIRE),
        "unmarshalled, mutable": lambda: unmarshal_attributes(MUTABLE),
        "unmarshalled with a bad end": lambda: raises(DecodeError, unmarshal_attributes, BROKEN),
        "unmarshalled with a bad end, mutable": lambda: raises(DecodeError, unmarshal_attributes, bytearray(LONG)),
        "unmarshalled text": lambda: raises(TypeError, unmarshal_attributes, "text"),
        "unmarshalled in another order": lambda: raises(ValueError, unmarshal_attributes, MUTABLE, 0, "middle"),
    },
    OWNERS,
    {
        "all numbers": read_all,
        "all numbers of another width": misread_all,
        "nested too deep": descend,
    },
)
