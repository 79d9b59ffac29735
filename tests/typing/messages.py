"""What type checkers say of messages; checked, never run."""

from array import array
from collections.abc import Iterator
from typing import assert_type

import netlink_codec as nl
from netlink_codec import AttributeDecoder, Message


def constructed() -> None:
    message = assert_type(Message(16), Message)
    Message(nl.NLMSG_DONE, nl.NLM_F_REQUEST | nl.NLM_F_ACK, b"data", seq=1, pid=2)
    Message(type=16, flags=1, data=bytearray(4))
    for payload in (b"", bytearray(), memoryview(b""), array("I"), message):
        Message(16, data=payload)

    Message()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Message("16")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Message(16, 0, "text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Message(16, 0, b"", 1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def fields(message: Message) -> None:
    assert_type(message.length, int)
    assert_type(message.type, int)
    assert_type(message.flags, int)
    assert_type(message.seq, int)
    assert_type(message.pid, int)
    assert_type(message.data, bytes)
    assert_type(message.view[0], int)
    assert_type(len(message), int)
    assert_type(bytes(message), bytes)
    assert_type(memoryview(message)[0], int)
    assert_type(hash(message), int)
    assert_type(message == message.replace(seq=1), bool)
    assert_type({message: 1}, dict[Message, int])

    message.seq = 1  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


def derived(message: Message) -> None:
    assert_type(message.replace(), Message)
    assert_type(message.replace(type=1, flags=2, data=bytearray(), seq=3, pid=4), Message)
    assert_type(message.attributes(), AttributeDecoder)
    assert_type(message.attributes(16, "big", strict=True), AttributeDecoder)

    message.attributes(0, "network")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    message.attributes(0, "big", True)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def many(buffer: bytearray, messages: list[Message]) -> None:
    assert_type(nl.iter_messages(buffer), Iterator[Message])
    assert_type(nl.iter_messages(memoryview(buffer), 16, strict=True), Iterator[Message])
    assert_type(nl.unmarshal_messages(buffer, 0, strict=True), list[Message])
    assert_type(nl.message_size(messages), int)
    assert_type(nl.marshal_messages(iter(messages)), bytes)
    assert_type(nl.marshal_into(messages, buffer, 4), int)

    nl.marshal_messages([b"bytes"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


class Derived(Message): ...  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
