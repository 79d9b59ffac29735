"""The conversation without a kernel: what belongs to a request, what ends it, what is raised."""

import errno
import pickle
import struct

import pytest

import netlink_codec as nl
from netlink_codec._core import acknowledges, marshal_series, whole_answer
from netlink_codec.exchange import Exchange, Reply
from support import recorded_on_little_endian

MULTI = nl.NLM_F_MULTI
SEQ = 5


def data(seq=SEQ, flags=0, payload=b"", type=16):
    return nl.Message(type, flags, payload, seq=seq)


def done(code=0, seq=SEQ, flags=MULTI, extra=b""):
    return nl.Message(nl.NLMSG_DONE, flags, struct.pack("=i", code) + extra, seq=seq)


def error(code=0, seq=SEQ, flags=0, extra=bytes(16)):
    return nl.Message(nl.NLMSG_ERROR, flags, struct.pack("=i", code) + extra, seq=seq)


def datagram(*messages):
    return nl.marshal_messages(messages)


def exchange(protocol=nl.NETLINK_ROUTE, request=None):
    return Exchange(nl.Message(18, 5, bytes(16), seq=SEQ), protocol, request)


def messages_of(conversation, datagram):
    """What it delivers of a datagram."""
    if isinstance(conversation, Reply):
        yield from conversation.feed(datagram)
        return
    conversation.feed(datagram)
    while (message := conversation.take()) is not None:
        yield message


def fed(conversation, *datagrams):
    """The messages delivered, datagram by datagram, for as long as the conversation goes on."""
    taken = []
    for bytes_ in datagrams:
        assert not conversation.done, "a datagram was asked for after the end"
        taken += list(messages_of(conversation, bytes_))
    return taken


def failed(conversation, error, *datagrams):
    """What was delivered before the error, and the error."""
    taken = []
    with pytest.raises(error) as caught:  # noqa: PT012
        for bytes_ in datagrams:
            for message in messages_of(conversation, bytes_):
                taken.append(bytes(message))
    return taken, caught.value


ANSWERS = {
    "data and its acknowledgement": ([[data()], [error()]], 1),
    "an acknowledgement alone": ([[error()]], 0),
    "a dump": ([[data(flags=MULTI)] * 2, [data(flags=MULTI)], [done()]], 3),
    "the end in a datagram of data": ([[data(flags=MULTI), done()]], 1),
    "data marked as a series, ended by an acknowledgement": ([[data(flags=MULTI)], [error()]], 1),
    "several messages that are no series": ([[data()], [data()], [data()], [error()]], 3),
    "an end that is none: without the multipart flag": ([[data(type=nl.NLMSG_DONE, payload=bytes(8))], [error()]], 1),
    "what follows the end in its datagram": ([[data(flags=MULTI), done(), data(flags=MULTI)]], 1),
    "others' messages": ([[data(seq=9, flags=MULTI), data(flags=MULTI), done(seq=9)], [error(-5, seq=9)], [done()]], 1),
}


@pytest.mark.parametrize(("datagrams", "count"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer(datagrams, count):
    conversation = exchange()
    taken = fed(conversation, *(datagram(*messages) for messages in datagrams))
    assert len(taken) == count
    assert all(message.seq == SEQ for message in taken)
    assert conversation.done


FAILURES = {
    "an error": [error(-errno.ENOENT)],
    "a dump's end with an errno": [data(flags=MULTI), done(-errno.ENOENT)],
    "an error instead of a dump's end": [data(flags=MULTI), error(-errno.ENOENT)],
}


@pytest.mark.parametrize("messages", FAILURES.values(), ids=FAILURES)
def test_a_failure(messages):
    conversation = exchange()
    taken, raised = failed(conversation, nl.NetlinkError, datagram(*messages))
    assert (raised.errno, raised.message) == (errno.ENOENT, None)
    assert taken == [bytes(message) for message in messages[:-1]]
    assert conversation.done


@pytest.mark.parametrize("type", [nl.NLMSG_ERROR, nl.NLMSG_DONE])
@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_a_message_too_short_for_its_errno_is_no_success(type, size):
    """vm0-ai/vm0#12078, netdata/netdata#23091"""
    with pytest.raises(nl.DecodeError, match="its errno takes 4"):
        fed(exchange(), bytes(data(type=type, flags=MULTI, payload=bytes(size))))


def test_audit_ends_a_dump_without_an_errno():
    conversation = exchange(nl.NETLINK_AUDIT)
    assert fed(conversation, bytes(data(type=nl.NLMSG_DONE, flags=MULTI))) == []
    assert conversation.done


@pytest.mark.parametrize("position", [0, 1, 2, 3])
def test_an_interrupted_dump_is_delivered_and_then_reported(position):
    """Whichever message carries the flag, the NLMSG_DONE included."""
    messages = [data(flags=MULTI), data(flags=MULTI), data(flags=MULTI), done()]
    messages[position] = messages[position].replace(flags=MULTI | nl.NLM_F_DUMP_INTR)
    conversation = exchange()
    taken, _ = failed(conversation, nl.DumpInterrupted, *map(bytes, messages))
    assert len(taken) == 3
    assert conversation.done


def test_bad_bytes_in_a_datagram():
    taken, raised = failed(exchange(), nl.DecodeError, datagram(data()) + bytes(16))
    assert raised.offset == 16
    assert taken == [bytes(data())]


# The kernel's words ----------------------------------------------------------------------------------------------

TEXT = nl.marshal_attributes([nl.Attribute(nl.NLMSGERR_ATTR_MSG, b"bad request\0"), nl.Attribute(2, bytes(4))])
TLVS = nl.NLM_F_ACK_TLVS
CAPPED = nl.NLM_F_CAPPED


def echoed(size, pad=True):
    """The request that an error repeats: nlmsg_len says `size`."""
    request = nl.Message(16, 1, bytes(size - 16), seq=SEQ)
    return datagram(request) if pad else bytes(request)


SHAPES = {
    "after the request": (error(-1, flags=TLVS, extra=echoed(20) + TEXT), "bad request"),
    "after a request that was not padded": (error(-1, flags=TLVS, extra=echoed(25) + TEXT), "bad request"),
    "after the request's header": (error(-1, flags=TLVS | CAPPED, extra=echoed(28)[:16] + TEXT), "bad request"),
    "in the end of a dump": (done(-1, flags=TLVS | MULTI, extra=TEXT), "bad request"),
    "without the flag": (error(-1, extra=echoed(20) + TEXT), None),
    "cut in the request": (error(-1, flags=TLVS, extra=bytes(8)), None),
    "cut after the request": (error(-1, flags=TLVS, extra=echoed(20)), None),
    "past the end": (error(-1, flags=TLVS, extra=echoed(64)[:16]), None),
    "not attributes": (error(-1, flags=TLVS, extra=echoed(20) + b"\1\0\1\0"), None),
    "without a text": (error(-1, flags=TLVS, extra=echoed(20) + TEXT[16:]), None),
}


@pytest.mark.parametrize(("message", "text"), SHAPES.values(), ids=SHAPES)
def test_the_kernels_words(message, text):
    with pytest.raises(nl.NetlinkError) as caught:
        fed(exchange(), bytes(message))
    assert caught.value.errno == errno.EPERM
    assert caught.value.message == text
    assert ("bad request" in str(caught.value)) == (text is not None)


# Seen on Linux 6.18, x86-64, port id 0x1234, sequence 5.
WIRE = {
    "DONE of a dump for an unknown interface": ("14000000030002000500000034120000edffffff", errno.ENODEV, None),
    "DONE with an explanation": (
        "48000000030002020500000034120000eaffffff32000100496e76616c69642076616c75657320696e2068656164657220666f7220"
        "4649422064756d702072657175657374000000",
        errno.EINVAL,
        "Invalid values in header for FIB dump request",
    ),
}


@recorded_on_little_endian
@pytest.mark.parametrize(("wire", "number", "text"), WIRE.values(), ids=WIRE)
def test_recorded_failures(wire, number, text):
    """vishvananda/netlink#520, mdlayher/netlink#183"""
    with pytest.raises(nl.NetlinkError) as caught:
        fed(exchange(), bytes.fromhex(wire))
    assert (caught.value.errno, caught.value.message) == (number, text)


@recorded_on_little_endian
def test_a_warning_is_no_failure():
    """jbaublitz/neli#261: success, with words."""
    wire = bytes.fromhex(
        "5000000002000003050000003412000000000000280000001000050005000000000000002c0001006279746573206c6566746f766572"
        "2061667465722070617273696e67206174747269627574657300"
    )
    conversation = exchange()
    assert fed(conversation, wire) == []
    assert conversation.done
    assert conversation.warning == "bytes leftover after parsing attributes"


def test_errors_can_be_pickled():
    explained = nl.NotFound(errno.ENODEV)
    explained.message, explained.attribute, explained.policy = "bad request", "18.2", {1: 4}
    for original in (
        explained,
        nl.NetlinkError(errno.EMSGSIZE, "cut"),
        nl.Timeout(),
        nl.Closed(),
        nl.DumpInterrupted(),
        nl.Overrun(),
        nl.DecodeError("bad", 7),
        nl.EncodeError("bad", 7),
    ):
        copy = pickle.loads(pickle.dumps(original))
        assert type(copy) is type(original)
        assert str(copy) == str(original)
        assert copy.args == original.args
        assert vars(copy) == vars(original)


# A socket's next reply -------------------------------------------------------------------------------------------

REPLIES = {
    "one message": ([[data()]], [data()]),
    "a datagram of events": ([[data(1), data(2)]], [data(1), data(2)]),
    "an acknowledgement": ([[error()]], [error()]),
    "a series": ([[data(flags=MULTI)], [data(flags=MULTI), done()]], [data(flags=MULTI)] * 2),
    "a series ended without an errno": (
        [[data(flags=MULTI)], [data(type=nl.NLMSG_DONE, flags=MULTI)]],
        [data(flags=MULTI)],
    ),
    "a connector's message": (
        [[data(type=nl.NLMSG_DONE, payload=bytes(20))]],
        [data(type=nl.NLMSG_DONE, payload=bytes(20))],
    ),
}


@pytest.mark.parametrize(("datagrams", "expected"), REPLIES.values(), ids=REPLIES)
def test_a_reply(datagrams, expected):
    reply = Reply()
    assert [bytes(m) for m in fed(reply, *(datagram(*d) for d in datagrams))] == [bytes(m) for m in expected]
    assert reply.done


def test_a_reply_passes_over_what_was_left():
    reply = Reply(skip=4)
    rest = [[data(4, MULTI)], [data(4, MULTI), done(-5, seq=4), data(SEQ)]]
    assert [m.seq for m in fed(reply, *(datagram(*d) for d in rest))] == [SEQ]
    assert reply.skip is None


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_series_that_changed(position):
    messages = [data(flags=MULTI), data(flags=MULTI), done()]
    messages[position] = messages[position].replace(flags=MULTI | nl.NLM_F_DUMP_INTR)
    reply = Reply()
    taken, _ = failed(reply, nl.DumpInterrupted, *map(bytes, messages))
    assert len(taken) == 2
    assert reply.done


def test_a_reply_that_failed():
    for messages in FAILURES.values():
        reply = Reply()
        with pytest.raises(nl.NetlinkError):
            list(reply.feed(datagram(*messages)))
        assert reply.done


@pytest.mark.parametrize("acknowledged", [0, 1, 2])
def test_a_series_is_marshalled_as_its_messages_would_be_sent(acknowledged):
    messages = [nl.Message(10, 0x400, b"abcde"), nl.Message(11, 0, b"", seq=99), nl.Message(12, 0, b"x" * 9, pid=3)]
    asked = [nl.NLM_F_REQUEST | (nl.NLM_F_ACK if at == acknowledged else 0) for at in range(3)]
    sent = [
        message.sent(2**32 - 2 + at, 7, flags)
        for at, (message, flags) in enumerate(zip(messages[:2], asked[:2], strict=True))
    ]
    sent.append(messages[2].sent(0, 7, asked[2]))
    assert marshal_series(messages, 2**32 - 2, 7, acknowledged) == nl.marshal_messages(sent)
    assert marshal_series([], 1, 7, 0) == b""
    with pytest.raises(TypeError):
        marshal_series([b"abc"], 1, 7, 0)


ACKNOWLEDGED = struct.pack("=IHHIIi", 36, 2, 0x100, 5, 7, 0) + bytes(16)


@pytest.mark.parametrize(
    ("datagram", "so"),
    [
        (ACKNOWLEDGED, True),
        (struct.pack("=IHHIIi", 20, 2, 0, 5, 7, 0), True),
        (ACKNOWLEDGED + b"\0", False),
        (ACKNOWLEDGED[:-1], False),
        (ACKNOWLEDGED * 2, False),
        (struct.pack("=IHHIIi", 20, 2, 0, 5, 7, -1), False),
        (struct.pack("=IHHIIi", 20, 2, 0x200, 5, 7, 0), False),  # with words
        (struct.pack("=IHHIIi", 20, 2, 0, 6, 7, 0), False),
        (struct.pack("=IHHIIi", 20, 3, 0, 5, 7, 0), False),
        (struct.pack("=IHHII", 16, 2, 0, 5, 7), False),
        (b"", False),
    ],
    ids=range(11),
)
def test_what_is_nothing_but_an_acknowledgement(datagram, so):
    assert acknowledges(datagram, 5) is so


ANSWER = bytes(nl.Message(16, 0, b"abc", seq=5))


@pytest.mark.parametrize(
    ("first", "second", "single", "answer"),
    [
        (ANSWER, ACKNOWLEDGED, False, b"abc"),
        (ANSWER + b"\0", ACKNOWLEDGED, False, b"abc"),
        (ACKNOWLEDGED, None, False, None),
        (ANSWER, None, True, b"abc"),
        # All else is for the rules to decide.
        (ANSWER, None, False, ...),
        (ANSWER, ACKNOWLEDGED, True, ...),
        (ACKNOWLEDGED, None, True, ...),
        (ACKNOWLEDGED, ACKNOWLEDGED, False, ...),
        (ANSWER, ANSWER, False, ...),
        (ANSWER + b"\0" + ANSWER, ACKNOWLEDGED, False, ...),
        (ANSWER[:-1], ACKNOWLEDGED, False, ...),
        (ANSWER[:15], ACKNOWLEDGED, False, ...),
        (b"", ACKNOWLEDGED, False, ...),
        (struct.pack("=IHHII", 15, 16, 0, 5, 0), ACKNOWLEDGED, False, ...),
        (bytes(nl.Message(16, nl.NLM_F_MULTI, b"abc", seq=5)), ACKNOWLEDGED, False, ...),
        (bytes(nl.Message(16, nl.NLM_F_MULTI, b"abc", seq=5)), None, True, ...),
        (bytes(nl.Message(16, nl.NLM_F_DUMP_INTR, b"abc", seq=5)), ACKNOWLEDGED, False, ...),
        (bytes(nl.Message(16, 0, b"abc", seq=6)), ACKNOWLEDGED, False, ...),
        (bytes(nl.Message(1, 0, b"abc", seq=5)), ACKNOWLEDGED, False, ...),
        (ANSWER, struct.pack("=IHHIIi", 20, 2, 0, 5, 7, -1), False, ...),
        (struct.pack("=IHHIIi", 20, 2, 0, 5, 7, -1), None, False, ...),
        (struct.pack("=IHHIIi", 20, 2, 0x200, 5, 7, 0), None, False, ...),
    ],
    ids=range(22),
)
def test_what_is_the_whole_answer(first, second, single, answer):
    found = whole_answer(first, second, 5, single)
    assert (... if found is NotImplemented else None if found is None else found.data) == answer
