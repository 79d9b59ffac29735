"""Messages: making, walking and writing them, and every way in which that fails."""

import copy
import pickle
from struct import pack

from leakcheck import check, raises

from netlink_codec import (
    DecodeError,
    EncodeError,
    Message,
    iter_messages,
    marshal_into,
    marshal_messages,
    message_size,
    unmarshal_messages,
)

PAYLOAD = b"payload of one message"
ONE = pack("=IHHII", 16 + len(PAYLOAD), 16, 1, 70_000, 80_000) + PAYLOAD
WIRE = (ONE + b"\0" * (-len(ONE) & 3)) * 5
MUTABLE = bytearray(WIRE)
BROKEN = WIRE + pack("=IHHII", 15, 1, 1, 1, 1)
LONG = WIRE + pack("=IHHII", 1000, 1, 1, 1, 1)
SHORT, STRAY = b"short", WIRE + b"stray"
MESSAGE = Message(16, 1, PAYLOAD, seq=70_000, pid=80_000)
MESSAGES = (MESSAGE, Message(17), Message(18, data=b"x"))
TARGET = bytearray(message_size(MESSAGES))
OWNERS = [PAYLOAD, WIRE, MUTABLE, BROKEN, LONG, SHORT, STRAY, MESSAGE, MESSAGES, TARGET]


def broken_iterable():
    yield MESSAGE
    raise KeyError


def walk(buffer, **options):
    for message in iter_messages(buffer, **options):
        _touched = message.type, message.seq


def abandon(buffer):
    walked = iter_messages(buffer)
    return next(walked), next(walked)


def exhaust_twice():
    walked = iter_messages(WIRE)
    assert len(list(walked)) == 5
    assert list(walked) == []


def fail_twice():
    walked = iter_messages(BROKEN)
    raises(DecodeError, list, walked)
    raises(DecodeError, next, walked)


def stop_in_the_middle():
    for message in iter_messages(WIRE):
        raise KeyError(message)


def touch_everything():
    _touched = (
        MESSAGE.length, MESSAGE.type, MESSAGE.flags, MESSAGE.seq, MESSAGE.pid, MESSAGE.data, MESSAGE.view,
        len(MESSAGE), bytes(MESSAGE), hash(MESSAGE), repr(MESSAGE), bool(MESSAGE),
        Message(16) == MESSAGE, Message(16) != MESSAGE, MESSAGE == 1, memoryview(MESSAGE)[3:5],
    )  # fmt: skip


check(
    {
        "made": lambda: Message(16, 1, PAYLOAD, seq=70_000, pid=80_000),
        "made of a mutable buffer": lambda: Message(16, data=MUTABLE),
        "made of a message": lambda: Message(16, data=MESSAGE),
        "made by __new__ alone": lambda: Message.__new__(Message).data,
        "made twice": lambda: raises(TypeError, MESSAGE.__init__, 16),
        "type out of range": lambda: raises(EncodeError, Message, 70_000),
        "negative type": lambda: raises(EncodeError, Message, -1),
        "enormous pid": lambda: raises(EncodeError, Message, 16, 0, PAYLOAD, pid=1 << 70),
        "type of another kind": lambda: raises(TypeError, Message, 1.5),
        "flags of another kind": lambda: raises(TypeError, Message, 1, "1", PAYLOAD),
        "text as data": lambda: raises(TypeError, Message, 16, 0, "text"),
        "strided data": lambda: raises(BufferError, Message, 16, 0, memoryview(PAYLOAD)[::2]),
        "no arguments": lambda: raises(TypeError, Message),
        "everything touched": touch_everything,
        "replaced": lambda: MESSAGE.replace(type=300, flags=5, seq=400_000, pid=500_000),
        "data replaced": lambda: MESSAGE.replace(data=MUTABLE),
        "replaced with too much": lambda: raises(EncodeError, MESSAGE.replace, type=70_000, data=MUTABLE),
        "replaced with text": lambda: raises(TypeError, MESSAGE.replace, data="text"),
        "copied": lambda: (copy.copy(MESSAGE), copy.deepcopy(MESSAGE), MESSAGE.__replace__(seq=1)),
        "pickled": lambda: pickle.loads(pickle.dumps(MESSAGE)),
        "walked": lambda: walk(WIRE),
        "walked in a mutable buffer": lambda: walk(MUTABLE),
        "walked in a view": lambda: walk(memoryview(MUTABLE)),
        "walked and kept": lambda: list(iter_messages(WIRE)),
        "walked and kept, mutable": lambda: list(iter_messages(MUTABLE)),
        "walked from an offset": lambda: walk(WIRE, offset=40),
        "walked until a bad length": lambda: raises(DecodeError, walk, BROKEN),
        "walked until a long length": lambda: raises(DecodeError, walk, LONG),
        "walked too little": lambda: raises(DecodeError, walk, SHORT),
        "strays, strictly": lambda: raises(DecodeError, walk, STRAY, strict=True),
        "strays": lambda: walk(STRAY),
        "abandoned": lambda: abandon(WIRE),
        "abandoned, mutable": lambda: abandon(MUTABLE),
        "exhausted twice": exhaust_twice,
        "failed twice": fail_twice,
        "stopped by an exception": lambda: raises(KeyError, stop_in_the_middle),
        "never walked": lambda: iter_messages(MUTABLE),
        "text walked": lambda: raises(TypeError, iter_messages, "text"),
        "offset past the end": lambda: raises(DecodeError, iter_messages, MUTABLE, 10_000),
        "negative offset": lambda: raises(ValueError, iter_messages, MUTABLE, -1),
        "offset of another kind": lambda: raises(TypeError, iter_messages, MUTABLE, "1"),
        "unmarshalled": lambda: unmarshal_messages(WIRE),
        "unmarshalled, mutable": lambda: unmarshal_messages(MUTABLE),
        "unmarshalled with a bad end": lambda: raises(DecodeError, unmarshal_messages, BROKEN),
        "unmarshalled with a bad end, mutable": lambda: raises(DecodeError, unmarshal_messages, bytearray(LONG)),
        "unmarshalled text": lambda: raises(TypeError, unmarshal_messages, "text"),
        "unmarshalled past the end": lambda: raises(DecodeError, unmarshal_messages, MUTABLE, 10_000),
        "sized": lambda: message_size(MESSAGES),
        "sized another kind": lambda: raises(TypeError, message_size, [MESSAGE, 1]),
        "marshalled": lambda: marshal_messages(MESSAGES),
        "marshalled from a list": lambda: marshal_messages(list(MESSAGES)),
        "marshalled from a walk": lambda: marshal_messages(iter_messages(MUTABLE)),
        "marshalled from a bad walk": lambda: raises(DecodeError, marshal_messages, iter_messages(BROKEN)),
        "marshalled nothing": lambda: marshal_messages(()),
        "marshalled another kind": lambda: raises(TypeError, marshal_messages, [MESSAGE, 1]),
        "marshalled what raises": lambda: raises(KeyError, marshal_messages, broken_iterable()),
        "marshalled what is no iterable": lambda: raises(TypeError, marshal_messages, 1),
        "written into": lambda: marshal_into(MESSAGES, TARGET),
        "written into too little": lambda: raises(EncodeError, marshal_into, MESSAGES, TARGET, 1),
        "written past the end": lambda: raises(EncodeError, marshal_into, MESSAGES, TARGET, 10_000),
        "written before the start": lambda: raises(ValueError, marshal_into, MESSAGES, TARGET, -1),
        "written into bytes": lambda: raises(BufferError, marshal_into, MESSAGES, WIRE),
        "written into text": lambda: raises(TypeError, marshal_into, MESSAGES, "text"),
        "another kind written": lambda: raises(TypeError, marshal_into, [1], TARGET),
        "what raises written": lambda: raises(KeyError, marshal_into, broken_iterable(), TARGET),
    },
    OWNERS,
)
