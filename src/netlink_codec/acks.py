"""How a request ended, in the kernel's words: NLMSG_ERROR, NLMSG_DONE and the extended acknowledgement.

    NLMSG_ERROR | errno s32 | the request: its nlmsghdr, and the rest unless NLM_F_CAPPED | attributes if NLM_F_ACK_TLVS
    NLMSG_DONE  | errno s32 | attributes if NLM_F_ACK_TLVS

The attributes begin at a multiple of 4, wherever the request ended. Mirrors
netlink_ack() and netlink_dump_done() of net/netlink/af_netlink.c.
"""

import errno
import struct
import sys
from contextlib import suppress
from typing import Any

from ._core import AttributeDecoder, Message
from .constants import (
    NLM_F_ACK_TLVS,
    NLM_F_CAPPED,
    NLMSG_ERROR,
    NLMSG_HDRLEN,
    NLMSGERR_ATTR_COOKIE,
    NLMSGERR_ATTR_MISS_NEST,
    NLMSGERR_ATTR_MISS_TYPE,
    NLMSGERR_ATTR_MSG,
    NLMSGERR_ATTR_OFFS,
    NLMSGERR_ATTR_POLICY,
)
from .errors import DecodeError, Exists, NetlinkError, NotFound, NotPermitted
from .requests import Request


class Acknowledgement:
    """An NLMSG_ERROR or NLMSG_DONE, read. `errno` is positive, 0 for success; what the kernel did not say is None.

    DecodeError if the message is too short to say how the request ended. The errno
    stands whatever the explanation looks like: of a broken one, what can be read is
    kept.
    """

    __slots__ = ("cookie", "errno", "message", "missing_nest", "missing_type", "offset", "policy")

    def __init__(self, message: Message) -> None:
        if message.length < NLMSG_HDRLEN + 4:
            raise DecodeError(
                f"a message of type {message.type} has {message.length - NLMSG_HDRLEN} bytes, and its errno takes 4",
                NLMSG_HDRLEN,
            )
        number: int = struct.unpack_from("=i", message, NLMSG_HDRLEN)[0]
        self.errno = -number
        self.message: str | None = None
        self.offset: int | None = None
        self.cookie: bytes | None = None
        self.policy: dict[int, int] | None = None
        self.missing_type: int | None = None
        self.missing_nest: int | None = None
        if message.flags & NLM_F_ACK_TLVS:
            with suppress(DecodeError):
                self._explain(message.attributes(_explanation_offset(message)))

    def _explain(self, attributes: AttributeDecoder) -> None:
        for attribute in attributes:
            kind = attribute.type
            if kind == NLMSGERR_ATTR_MSG:
                self.message = attribute.string()
            elif kind == NLMSGERR_ATTR_OFFS:
                self.offset = attribute.u32()
            elif kind == NLMSGERR_ATTR_COOKIE:
                self.cookie = attribute.data
            elif kind == NLMSGERR_ATTR_POLICY:
                # NL_POLICY_TYPE_ATTR_*, all integers of 4 or 8 bytes.
                self.policy = {part.type: int.from_bytes(part.data, sys.byteorder) for part in attribute.nested()}
            elif kind == NLMSGERR_ATTR_MISS_TYPE:
                self.missing_type = attribute.u32()
            elif kind == NLMSGERR_ATTR_MISS_NEST:
                self.missing_nest = attribute.u32()


def _explanation_offset(message: Message) -> int:
    """Where in the payload the attributes begin; past its end if the request that it echoes is cut."""
    if message.type != NLMSG_ERROR:
        return 4
    if message.flags & NLM_F_CAPPED or message.length < NLMSG_HDRLEN + 8:
        return 4 + NLMSG_HDRLEN
    echoed: int = struct.unpack_from("=I", message, NLMSG_HDRLEN + 4)[0]
    return 4 + (echoed + 3 & ~3)


def error_of(
    ack: Acknowledgement,
    sent: Message | None = None,
    protocol: int | None = None,
    request: Request[object] | None = None,
) -> NetlinkError:
    """The exception for such an end.

    `sent` is the message that failed, in which offsets are turned into paths;
    `request` what it was sent for, whose own errnos for "not there" and "there already"
    choose the class (EEXIST says the latter for every request).
    """
    number = ack.errno
    error: NetlinkError
    if request is not None and number in request.not_found:
        error = NotFound(number)
    elif number == errno.EEXIST or (request is not None and number in request.exists):
        error = Exists(number)
    elif number in (errno.EPERM, errno.EACCES):
        error = NotPermitted(number)
        if number == errno.EPERM:
            error.hint = "needs CAP_NET_ADMIN in the user namespace that owns this network namespace"
    else:
        error = NetlinkError(number)
    error.message = ack.message
    error.policy = ack.policy
    error.offset = ack.offset
    error.request = sent if request is None else request
    if sent is not None and protocol is not None:
        if ack.offset is not None:
            error.attribute = _named(path_at(sent, protocol, ack.offset), request, sent)
        if ack.missing_type is not None:
            nest = () if ack.missing_nest is None else path_at(sent, protocol, ack.missing_nest)
            error.missing = _named((*nest, ack.missing_type), request, sent)
    return error


def _named(path: tuple[int, ...], request: Request[object] | None, sent: Message) -> str | None:
    """The path as the request's record calls it: "info.data.id"; without one, as numbers: "18.2.1"."""
    if not path:
        return None
    record: Any = None if request is None else request.record
    if record is not None:
        # However that fails, there is an error to be told.
        with suppress(Exception):
            return str(record.path_names(path, sent))
    return ".".join(map(str, path))


def path_at(request: Message, protocol: int, offset: int) -> tuple[int, ...]:
    """The attribute whose header stands at this offset of the request, as types from the outside in; or ()."""
    try:
        # Only errors need the tables of names.
        from .names import family_header
    except OSError:  # no descriptor is left to read them with
        return ()
    family = request.view[0] if request.length > NLMSG_HDRLEN else None
    header = family_header(protocol, request.type, request.flags, family)
    path: list[int] = []
    try:
        level = request.attributes((header.size if header else 0) + 3 & ~3)
        while True:
            for attribute in level:
                if attribute.offset == offset:
                    return (*path, attribute.type)
                if attribute.offset < offset < attribute.offset + 4 + len(attribute):
                    path.append(attribute.type)
                    level = attribute.nested()
                    break
            else:
                return ()
    except DecodeError:
        return ()
