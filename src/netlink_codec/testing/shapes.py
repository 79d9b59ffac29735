"""Messages as the kernel makes them, to the byte.

Mirrors netlink_ack(), netlink_ack_tlv_fill() and netlink_dump_done() of
net/netlink/af_netlink.c.
"""

import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from .._core import AttributeEncoder, Message
from ..constants import (
    NLM_F_ACK,
    NLM_F_ACK_TLVS,
    NLM_F_CAPPED,
    NLM_F_DUMP_INTR,
    NLM_F_MULTI,
    NLMSG_DONE,
    NLMSG_ERROR,
    NLMSG_HDRLEN,
    NLMSGERR_ATTR_COOKIE,
    NLMSGERR_ATTR_MISS_NEST,
    NLMSGERR_ATTR_MISS_TYPE,
    NLMSGERR_ATTR_MSG,
    NLMSGERR_ATTR_OFFS,
    NLMSGERR_ATTR_POLICY,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer

# NL_POLICY_TYPE_ATTR_*: the signed limits, and all whose values take 8 bytes.
_SIGNED: Final = frozenset((2, 3))
_WIDE: Final = _SIGNED | {4, 5, 12}


def reply(
    request: Message,
    type: int,
    payload: "Buffer" = b"",
    *,
    flags: int = 0,
    seq: int | None = None,
    pid: int | None = None,
) -> Message:
    """A message that answers the request: with its sequence number, and its port id, unless told otherwise.

    >>> from netlink_codec import Message
    >>> reply(Message(18, seq=7, pid=1), 16).seq
    7
    """
    return Message(
        type, flags, payload, seq=request.seq if seq is None else seq, pid=request.pid if pid is None else pid
    )


def ack(request: Message, *, message: str | None = None, cookie: bytes | None = None) -> Message:
    """Success: an NLMSG_ERROR of errno 0 with the request's header; `message` is a warning.

    >>> from netlink_codec import Message
    >>> ack(Message(16, seq=7)).length
    36
    """
    return error(request, 0, message=message, cookie=cookie)


def error(
    request: Message,
    errno: int,
    *,
    message: str | None = None,
    attribute_offset: int | None = None,
    policy: Mapping[int, int] | None = None,
    missing_type: int | None = None,
    missing_nest: int | None = None,
    cookie: bytes | None = None,
    capped: bool = True,
) -> Message:
    """The kernel says no, and why: `errno` is positive, as in Python.

    It repeats the request's header and, unless `capped`, the rest of it; connections of
    this package ask it not to. `attribute_offset` and `missing_nest` count from the
    request's nlmsghdr, as `Attribute.offset` of `request.attributes(…)` does;
    `policy` maps NL_POLICY_TYPE_ATTR_* to numbers.

    >>> import errno
    >>> from netlink_codec import Message, NETLINK_ROUTE, NetlinkError
    >>> from netlink_codec.testing import FakeKernel, error
    >>> kernel = FakeKernel(NETLINK_ROUTE, lambda requests: error(requests[0], errno.EINVAL, message="no such thing"))
    >>> with kernel.conn() as conn:
    ...     try:
    ...         conn.execute(Message(16))
    ...     except NetlinkError as raised:
    ...         print(raised.errno == errno.EINVAL, raised.message)
    True no such thing
    """
    words = _words(errno, message, attribute_offset, policy, missing_type, missing_nest, cookie)
    cut = capped or not errno  # whoever succeeded knows what was asked
    echoed = bytes(request)[:NLMSG_HDRLEN] if cut else bytes(request) + bytes(-request.length % 4)
    flags = NLM_F_CAPPED * cut | NLM_F_ACK_TLVS * bool(words)
    return reply(request, NLMSG_ERROR, struct.pack("=i", -errno) + echoed + words, flags=flags)


def done(
    request: Message,
    errno: int = 0,
    *,
    message: str | None = None,
    attribute_offset: int | None = None,
    policy: Mapping[int, int] | None = None,
    missing_type: int | None = None,
    missing_nest: int | None = None,
    flags: int = 0,
) -> Message:
    """The end of a dump, which failed unless `errno` is 0; the rest as in `error`.

    >>> import errno, struct
    >>> from netlink_codec import Message
    >>> done(Message(18, seq=7), errno.ENODEV).data == struct.pack("=i", -errno.ENODEV)
    True
    """
    words = _words(errno, message, attribute_offset, policy, missing_type, missing_nest, None)
    flags |= NLM_F_MULTI | NLM_F_ACK_TLVS * bool(words)
    return reply(request, NLMSG_DONE, struct.pack("=i", -errno) + words, flags=flags)


def _words(
    errno: int,
    message: str | None,
    attribute_offset: int | None,
    policy: Mapping[int, int] | None,
    missing_type: int | None,
    missing_nest: int | None,
    cookie: bytes | None,
) -> bytes:
    encoder = AttributeEncoder()
    if message is not None:
        encoder.string(NLMSGERR_ATTR_MSG, message)
    if cookie is not None:
        encoder.data(NLMSGERR_ATTR_COOKIE, cookie)
    if errno:
        if attribute_offset is not None:
            encoder.u32(NLMSGERR_ATTR_OFFS, attribute_offset)
        if policy is not None:
            with encoder.nested(NLMSGERR_ATTR_POLICY):
                for kind, value in policy.items():
                    size = 8 if kind in _WIDE else 4
                    encoder.data(kind, value.to_bytes(size, sys.byteorder, signed=kind in _SIGNED))
        if missing_type is not None:
            encoder.u32(NLMSGERR_ATTR_MISS_TYPE, missing_type)
        if missing_nest is not None:
            encoder.u32(NLMSGERR_ATTR_MISS_NEST, missing_nest)
    return bytes(encoder)


def acknowledged(request: Message, *messages: Message) -> list[Message]:
    """These, a datagram each, and then the acknowledgement, if it was asked for: the answer to what is no dump.

    >>> from netlink_codec import Message, NLM_F_ACK
    >>> request = Message(18, NLM_F_ACK)
    >>> [message.type for message in acknowledged(request, reply(request, 16))]
    [16, 2]
    """
    return [*messages, *([ack(request)] if request.flags & NLM_F_ACK else [])]


def multipart(
    request: Message,
    messages: Iterable[Message],
    *,
    split: Sequence[int] | None = None,
    end: Message | None = None,
    endless: bool = False,
    interrupted: int | None = None,
) -> list[list[Message]]:
    """The answer to a dump: the messages, made parts of a series, and its end; a list of messages for each datagram.

    `split` gives the sizes of the datagrams, in messages, of which the end is the last;
    what is left over is one more. Without it the end is alone. `end` is
    `done(request)`, or what is given here, or nothing if `endless`. `interrupted` is the
    position of the message that tells that the dump changed meanwhile (-1 is the end).

    The lists can be changed, and other items put between them, before they are handed
    to a FakeKernel.

    >>> from netlink_codec import Message, NETLINK_ROUTE, NLM_F_DUMP
    >>> from netlink_codec.testing import FakeKernel, multipart, reply
    >>> def handler(requests):
    ...     links = [reply(requests[0], 16) for _ in range(5)]
    ...     return multipart(requests[0], links, split=[2, 4])
    >>> with FakeKernel(NETLINK_ROUTE, handler).conn() as conn:
    ...     len(conn.execute(Message(18, NLM_F_DUMP)))
    5
    """
    series = [part.replace(seq=request.seq, pid=request.pid, flags=part.flags | NLM_F_MULTI) for part in messages]
    sizes = [len(series)] if split is None else split
    if not endless:
        series.append(done(request) if end is None else end)
    if interrupted is not None:
        part = series[interrupted]
        series[interrupted] = part.replace(flags=part.flags | NLM_F_DUMP_INTR)
    datagrams, at = [], 0
    for size in (*sizes, len(series)):
        datagrams.append(series[at : at + size])
        at += size
    return [datagram for datagram in datagrams if datagram]
