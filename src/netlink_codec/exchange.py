"""The conversation without I/O: what belongs to a request, what ends it, what went wrong.

Fed datagrams as they arrive, these yield the messages in them that are the
caller's, and know when no more will come.
"""

import struct
from collections.abc import Iterator

from ._core import AttributeDecoder, Message, iter_messages
from .constants import (
    NLM_F_ACK_TLVS,
    NLM_F_CAPPED,
    NLM_F_DUMP_INTR,
    NLM_F_MULTI,
    NLMSG_DONE,
    NLMSG_ERROR,
    NLMSG_HDRLEN,
    NLMSGERR_ATTR_MSG,
)
from .errors import DecodeError, DumpInterrupted, NetlinkError


def outcome(message: Message) -> int:
    """The errno of an NLMSG_ERROR or NLMSG_DONE, 0 for success.

    Both begin with it, negative: struct nlmsgerr, and netlink_dump_done() in
    net/netlink/af_netlink.c. DecodeError if the message is too short to say.
    """
    if message.length < NLMSG_HDRLEN + 4:
        raise DecodeError(
            f"a message of type {message.type} has {message.length - NLMSG_HDRLEN} bytes, and its errno takes 4",
            NLMSG_HDRLEN,
        )
    number: int = struct.unpack_from("=i", message, NLMSG_HDRLEN)[0]
    return -number


def error_of(message: Message, errno: int) -> NetlinkError:
    """What to raise for such a message, with the kernel's words if it gave any."""
    return NetlinkError(errno, message=acknowledgement_text(message))


def acknowledgement_text(message: Message) -> str | None:
    """NLMSGERR_ATTR_MSG of an extended acknowledgement.

    Its attributes follow the errno (NLMSG_DONE), or the errno and the request
    that it echoes: whole and padded, or its header alone if NLM_F_CAPPED.
    """
    if not message.flags & NLM_F_ACK_TLVS:
        return None
    offset = 4
    if message.type == NLMSG_ERROR:
        if message.length < NLMSG_HDRLEN + 4 + NLMSG_HDRLEN:
            return None
        echoed = NLMSG_HDRLEN
        if not message.flags & NLM_F_CAPPED:
            echoed = struct.unpack_from("=I", message, NLMSG_HDRLEN + 4)[0]
        offset += (echoed + 3) & ~3
    try:
        text = AttributeDecoder(message, NLMSG_HDRLEN + offset).find(NLMSGERR_ATTR_MSG)
    except DecodeError:
        # The errno stands, whatever its explanation looks like.
        return None
    return None if text is None else text.string()


class Exchange:
    """One request, asked with NLM_F_ACK, on a socket of its own.

    It is over at the first NLMSG_ERROR (of which an acknowledgement is one) or
    multipart NLMSG_DONE that carries its sequence number; messages of other
    sequences do not belong to it. `empty_done` says that the protocol may send
    an NLMSG_DONE without an errno (audit does).
    """

    def __init__(self, seq: int, *, empty_done: bool = False) -> None:
        self.seq = seq
        self.done = False
        self._empty_done = empty_done
        self._interrupted = False

    def feed(self, datagram: bytes) -> Iterator[Message]:
        """The messages of the datagram that belong to the request.

        Raises NetlinkError where the kernel reports one, DumpInterrupted after the
        last message if any was marked so.
        """
        for message in iter_messages(datagram):
            if message.seq != self.seq:
                continue
            kind = message.type
            flags = message.flags
            if flags & NLM_F_DUMP_INTR and flags & NLM_F_MULTI:
                self._interrupted = True
            if kind == NLMSG_ERROR or (kind == NLMSG_DONE and flags & NLM_F_MULTI):
                self.done = True
                if not (self._empty_done and kind == NLMSG_DONE and message.length == NLMSG_HDRLEN):
                    errno = outcome(message)
                    if errno:
                        raise error_of(message, errno)
                if self._interrupted:
                    raise DumpInterrupted
                return
            yield message


class Reply:
    """Whatever comes next on a socket: one datagram, or a multipart series.

    A series ends at its NLMSG_DONE. Acknowledgements are delivered as messages;
    `skip` is the sequence number of a series that was left before its end and
    is passed over.
    """

    def __init__(self, *, skip: int | None = None) -> None:
        self.done = False
        self.skip = skip
        self.multipart: int | None = None  # the sequence number of the series

    def feed(self, datagram: bytes) -> Iterator[Message]:
        """The messages of the datagram. Raises NetlinkError where the kernel reports one."""
        passed_over = False
        for message in iter_messages(datagram):
            kind = message.type
            ends = kind == NLMSG_ERROR or (kind == NLMSG_DONE and message.flags & NLM_F_MULTI)
            if self.skip is not None and message.seq == self.skip:
                passed_over = True
                if ends:
                    self.skip = None
                continue
            if ends:
                self.done = True
                errno = outcome(message) if kind == NLMSG_ERROR or message.length > NLMSG_HDRLEN else 0
                if errno:
                    raise error_of(message, errno)
                if kind == NLMSG_ERROR:
                    yield message
                return
            if message.flags & NLM_F_MULTI:
                self.multipart = message.seq
            yield message
        self.done = self.multipart is None and not passed_over
