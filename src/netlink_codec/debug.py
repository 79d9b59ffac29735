"""Print netlink bytes readably, whatever they are.

     0  RTM_NEWLINK (16), 1468 bytes, flags 0x2 (MULTI), seq 1, pid 21207
    16    ifinfomsg 00 00 04 03 01 00 00 00 49 00 01 00 00 00 00 00
    32    [3] 6c 6f 00 = "lo"
    40    [13] e8 03 00 00 = 1000
   608    [26] 812 bytes, nested by guess:
   612      [2] 136 bytes, nested by guess:

The number on the left is the offset; [3] is an attribute's type, and [52|NESTED] tells
which flags it carries. Integers are in host order; in network order in NETLINK_NETFILTER
and where the attribute carries NLA_F_NET_BYTEORDER. What netlink's framing does not
allow becomes a line that begins with "error:".
"""

import errno
import json
import os
import struct
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Final, Literal

from ._core import Attribute, AttributeDecoder, Message, iter_messages
from .constants import (
    NETLINK_GENERIC,
    NETLINK_KOBJECT_UEVENT,
    NETLINK_NETFILTER,
    NETLINK_ROUTE,
    NLA_F_NESTED,
    NLA_F_NET_BYTEORDER,
    NLA_HDRLEN,
    NLM_F_ACK_TLVS,
    NLM_F_CAPPED,
    NLM_F_REQUEST,
    NLMSG_DONE,
    NLMSG_ERROR,
    NLMSG_HDRLEN,
    NLMSG_MIN_TYPE,
)
from .errors import DecodeError
from .names import (
    CTRL_COMMANDS,
    ERROR_ATTRIBUTES,
    GENL_ID_CTRL,
    NOTHING,
    FamilyHeader,
    family_header,
    flag_names,
    kind,
    message_name,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer

_INLINE: Final = 20  # bytes of hex on the line of what they are the value of
_ROW: Final = 16  # bytes on a line of their own
_LONGEST_TEXT: Final = 200
_HIGHEST_TYPE: Final = 1023  # that a guess believes in; nl80211, the longest list, has some 350
_GUESSED_SIZES: Final = range(0, 65, 4)
_ENOTSUPP: Final = 524  # the kernel's own; libc has no name for it

_Bytes = bytes | bytearray | memoryview


def format_message(message: Message, protocol: int = NETLINK_ROUTE) -> str:
    """The message in lines; offsets count from its nlmsghdr. No bytes make it raise."""
    printer = _Printer(memoryview(message), protocol)
    return "\n".join(printer.caught(printer.message(message, 0)))


def format_datagram(data: _Bytes, protocol: int = NETLINK_ROUTE) -> str:
    """The messages of a datagram in lines, up to the first bad offset. No bytes make it raise."""
    return "\n".join(datagram_lines(data, protocol))


def datagram_lines(
    data: _Bytes, protocol: int = NETLINK_ROUTE, *, keep_going: bool = False
) -> Generator[str, None, DecodeError | None]:
    """As `format_datagram`, a line at a time; returns the first error, if any.

    With `keep_going`, attributes that are broken end their message, not the datagram.
    """
    printer = _Printer(memoryview(data).cast("B"), protocol)
    yield from printer.caught(printer.datagram(keep_going))
    return printer.error


def quoted(text: str) -> str:
    """Text in quotes, all of it printable ASCII."""
    return json.dumps(text).replace("\x7f", "\\u007f")


class _Printer:
    """Lines about one buffer, from whose start all offsets count."""

    def __init__(self, view: memoryview, protocol: int) -> None:
        self.view = view
        self.protocol = protocol
        self.error: DecodeError | None = None

    def caught(self, lines: Iterator[str], depth: int = 0) -> Iterator[str]:
        """The lines, and as one more the error that they end in."""
        try:
            yield from lines
        except DecodeError as error:
            yield self.failed(error, depth)

    def failed(self, error: DecodeError, depth: int) -> str:
        # Without its traceback, which would keep the caller's frames, and all that is in them.
        self.error = self.error or error.with_traceback(None)
        return line(error.offset, depth, f"error: {error}")

    # --- messages -----------------------------------------------------------------------------------------------------

    def datagram(self, keep_going: bool) -> Iterator[str]:
        if self.protocol == NETLINK_KOBJECT_UEVENT:
            yield from self.uevent()
            return
        at = 0
        for message in iter_messages(self.view):
            lines = self.message(message, at)
            yield from self.caught(lines) if keep_going else lines
            end = at + message.length
            at = min(_aligned(end), len(self.view))
            yield from self.padding(end, at, 1)
        if at < len(self.view):
            yield line(at, 0, f"{_hex(self.view[at:])}, ignored after the last message")

    def uevent(self) -> Iterator[str]:
        """The kernel's events are text without a nlmsghdr; udev's have a binary header before that."""
        at = 0
        for part in self.view.tobytes().split(b"\0"):
            text = _text(part)
            if text:
                yield line(at, 0, quoted(text))
            elif part:
                yield from self.value(at, 0, "bytes", at, at + len(part))
            at += len(part) + 1

    def message(self, message: Message, at: int) -> Iterator[str]:
        end = at + message.length
        yield self.header(at, 0, "", (message.length, message.type, message.flags, message.seq, message.pid))
        body = at + NLMSG_HDRLEN
        if message.type in (NLMSG_ERROR, NLMSG_DONE) and not self.known(message.type, 0, body, end):
            yield from self.status(message, body, end)
        else:
            yield from self.payload(message.type, message.flags, body, end, 1)

    def header(self, at: int, depth: int, what: str, fields: tuple[int, int, int, int, int]) -> str:
        length, type, flags, seq, pid = fields
        command = at + NLMSG_HDRLEN  # of generic netlink
        asked = kind(self.protocol, type, self.view[command] if command < len(self.view) else None)
        names = f" ({flag_names(flags, asked)})" if flags else ""
        name = message_name(self.protocol, type)
        return line(at, depth, f"{what}{name}, {length} bytes, flags 0x{flags:x}{names}, seq {seq}, pid {pid}")

    def payload(self, type: int, flags: int, at: int, end: int, depth: int) -> Iterator[str]:
        """What follows a nlmsghdr: the family's header, and attributes or bytes."""
        known = self.known(type, flags, at, end) or self.guess(type, at, end)
        if known.size > end - at:
            raise DecodeError(
                f"{end - at} bytes at offset {at} are less than a struct {known.name}, which takes {known.size}", at
            )
        start = min(at + _aligned(known.size), end)
        if start > at:
            yield from self.value(at, depth, known.name, at, start, self.command(type, at))
        if known.attributes:
            yield from self.attributes(AttributeDecoder(self.view[:end], start), start, end, depth)
        elif start < end:
            yield from self.value(start, depth, "payload", start, end)

    def known(self, type: int, flags: int, at: int, end: int) -> FamilyHeader | None:
        """The family's header by the kernel's rules."""
        view = self.view[at:end]
        header = family_header(self.protocol, type, flags, view[0] if view else None)
        if header and self.protocol == NETLINK_ROUTE and flags & NLM_F_REQUEST and kind(NETLINK_ROUTE, type) == "GET":
            # The kernel takes dump requests with a shorter or a longer header than its answers have.
            if 0 < len(view) <= 4 and len(view) < header.size:
                return FamilyHeader("rtgenmsg", 1)
            if not _parses(view, header.size) and _parses(view, 16):
                return FamilyHeader("ifinfomsg", 16)
        if header and self.protocol == NETLINK_GENERIC and type != GENL_ID_CTRL and not _parses(view, header.size):
            # The family may have a header of its own after the common one.
            size = next((size for size in _GUESSED_SIZES if size > 4 and _plausible(view[size:])), 4)
            return header if size == 4 else FamilyHeader(f"genlmsghdr and {size - 4} bytes by guess", size)
        return header

    def guess(self, type: int, at: int, end: int) -> FamilyHeader:
        if type >= NLMSG_MIN_TYPE and _text(self.view[at:end]) is None:
            for size in _GUESSED_SIZES:
                if _plausible(self.view[at + size : end]):
                    return FamilyHeader("header by guess", size)
        return NOTHING

    def command(self, type: int, at: int) -> str | None:
        """What a genlmsghdr says."""
        if self.protocol != NETLINK_GENERIC:
            return ""
        command, version = self.view[at], self.view[at + 1]
        name = CTRL_COMMANDS.get(command) if type == GENL_ID_CTRL else None
        return f"{name or f'command {command}'}, version {version}"

    # --- NLMSG_ERROR and NLMSG_DONE -----------------------------------------------------------------------------------

    def status(self, message: Message, at: int, end: int) -> Iterator[str]:
        """errno | request or only its header | attributes where a flag says so. NLMSG_DONE has no request."""
        if end - at < 4:
            if message.type == NLMSG_DONE and at == end:
                return
            raise DecodeError(f"{end - at} bytes at offset {at} are less than an errno, which takes 4", at)
        after = at + 4
        number = int.from_bytes(self.view[at:after], sys.byteorder, signed=True)
        yield from self.value(at, 1, "errno", at, after, _error_text(number, message.type))
        if message.type == NLMSG_ERROR and after < end:
            after = yield from self.request(message.flags, after, end)
        if after == end:
            return
        if message.flags & NLM_F_ACK_TLVS:
            decoder = AttributeDecoder(self.view[:end], after)
            yield from self.attributes(decoder, after, end, 1, ERROR_ATTRIBUTES)
        else:
            yield from self.value(after, 1, "payload", after, end)

    def request(self, flags: int, at: int, end: int) -> Generator[str, None, int]:
        """The request that an error is about; returns the offset after it."""
        body = at + NLMSG_HDRLEN
        if body <= end:
            fields = struct.unpack_from("=IHHII", self.view, at)
            # Kernels before 4.12 capped the request without a flag.
            if flags & NLM_F_CAPPED or (body == end and not flags & NLM_F_ACK_TLVS):
                yield self.header(at, 1, "request ", fields)
                return body
        request = next(iter_messages(self.view[:end], at))
        yield self.header(at, 1, "request ", fields)
        # Often a request is refused because it is broken; the error's own attributes can be read nevertheless.
        inner = at + request.length
        yield from self.caught(self.payload(request.type, request.flags, body, inner, 2), 2)
        after = min(_aligned(inner), end)
        yield from self.padding(inner, after, 2)
        return after

    # --- attributes ---------------------------------------------------------------------------------------------------

    def attributes(
        self, decoder: AttributeDecoder, at: int, end: int, depth: int, names: Mapping[int, str] | None = None
    ) -> Iterator[str]:
        for attribute in decoder:
            yield from self.attribute(attribute, at, depth, names)
            after = at + NLA_HDRLEN + len(attribute)
            at = min(_aligned(after), end)
            yield from self.padding(after, at, depth + 1)
        if at < end:
            yield line(at, depth, f"{_hex(self.view[at:end])}, ignored after the last attribute")

    def attribute(self, attribute: Attribute, at: int, depth: int, names: Mapping[int, str] | None) -> Iterator[str]:
        flags = attribute.type_flags
        head = f"[{attribute.type}{'|NESTED' * bool(flags & NLA_F_NESTED)}"
        head += f"{'|NET_BYTEORDER' * bool(flags & NLA_F_NET_BYTEORDER)}]"
        if names and attribute.type in names:
            head += f" {names[attribute.type]}"
        start, end = at + NLA_HDRLEN, at + NLA_HDRLEN + len(attribute)
        children, broken = self.children(attribute)
        if children is None:
            big = self.protocol == NETLINK_NETFILTER or flags & NLA_F_NET_BYTEORDER
            yield from self.value(at, depth, head, start, end, byteorder="big" if big else sys.byteorder)
        elif start == end:
            yield line(at, depth, f"{head} empty")
        else:
            how = "nested" if flags & NLA_F_NESTED else "nested by guess"
            yield line(at, depth, f"{head} {len(attribute)} bytes, {how}:")
            yield from self.attributes(children, start, end, depth + 1)
        if broken:
            yield self.failed(broken, depth + 1)

    def children(self, attribute: Attribute) -> tuple[AttributeDecoder | None, DecodeError | None]:
        """What is nested in it, by flag or by guess; the error if the flag lies."""
        flagged = bool(attribute.type_flags & NLA_F_NESTED)
        if not flagged and (attribute.type_flags or not _looks_nested(attribute.view)):
            return None, None
        try:
            for _ in attribute.nested():
                pass
            return attribute.nested(), None
        except DecodeError as error:
            return None, error if flagged else None

    # --- bytes --------------------------------------------------------------------------------------------------------

    def value(
        self,
        at: int,
        depth: int,
        head: str,
        start: int,
        end: int,
        meaning: str | None = None,
        byteorder: Literal["little", "big"] = sys.byteorder,
    ) -> Iterator[str]:
        """Bytes in hex, and what they may mean."""
        view = self.view[start:end]
        if meaning is None:
            meaning = _meaning(view, byteorder)
        equals = f" = {meaning}" if meaning else ""
        if not view:
            yield line(at, depth, f"{head} empty")
        elif len(view) <= _INLINE:
            yield line(at, depth, f"{head} {_hex(view)}{equals}")
        else:
            yield line(at, depth, f"{head} {len(view)} bytes{equals}:")
            for offset in range(0, len(view), _ROW):
                row = view[offset : offset + _ROW]
                text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
                yield line(start + offset, depth + 1, f"{_hex(row):<{3 * _ROW}} |{text}|")

    def padding(self, start: int, end: int, depth: int) -> Iterator[str]:
        if any(self.view[start:end]):
            yield line(start, depth, f"{_hex(self.view[start:end])}, padding that is not zero")


def line(at: int, depth: int, text: str) -> str:
    """A line as all of them are: offset, indentation, text."""
    return f"{at:>6}  {'  ' * depth}{text}"


def _hex(view: memoryview) -> str:
    return view.hex(" ")


def _aligned(length: int) -> int:
    return (length + 3) & ~3


def _error_text(number: int, type: int) -> str:
    """A kernel's negative errno by name."""
    if number == 0:
        return "0, success" if type == NLMSG_ERROR else "0"
    if number == -_ENOTSUPP:
        return f'{number} ENOTSUPP "Operation is not supported"'
    name = errno.errorcode.get(-number)
    return f"{number} {name} {quoted(os.strerror(-number))}" if name else str(number)


def _meaning(view: memoryview, byteorder: Literal["little", "big"]) -> str:
    """As an integer and as text, where they may be that."""
    parts = []
    if len(view) in (1, 2, 4, 8):
        number = int.from_bytes(view, byteorder)
        parts.append(str(number))
        if len(view) >= 4 and number >> (8 * len(view) - 1):
            parts.append(f"({number - (1 << 8 * len(view))})")
    text = _text(view)
    if text:
        shown = quoted(text[:_LONGEST_TEXT])
        parts.append(shown if len(text) <= _LONGEST_TEXT else f"{shown}...")
    return " ".join(parts)


def _text(data: _Bytes) -> str | None:
    """Printable text with or without a NUL at its end, or padded with them if it is not too short to tell."""
    data = bytes(data)
    body = data.rstrip(b"\0")
    nuls = len(data) - len(body)
    if not body or len(data) == 1 or (nuls > 1 and (len(body) < 3 or len(data) in (4, 8))):
        return None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return text if all(char.isprintable() or char in "\t\n" for char in text) else None


def _parses(view: memoryview, offset: int) -> bool:
    """Whether attributes fill the rest."""
    try:
        for _ in AttributeDecoder(view, offset, strict=True):
            pass
    except DecodeError:
        return False
    return True


def _plausible(view: memoryview) -> bool:
    """Whether there are attributes, they fill the view, and are not another struct that happens to parse."""
    at, types = 0, []
    try:
        for attribute in AttributeDecoder(view, strict=True):
            after = at + NLA_HDRLEN + len(attribute)
            at = min(_aligned(after), len(view))
            if attribute.type > _HIGHEST_TYPE or any(view[after:at]):
                return False
            types.append(attribute.type | attribute.type_flags)
    except DecodeError:
        return False
    # Zeros look like type 0; only an array that counts from 0 begins with it.
    return bool(types) and 0 not in types[1:] and (types[0] != 0 or types[1:2] == [1])


def _looks_nested(view: memoryview) -> bool:
    """Whether a payload without the flag is more likely attributes than text or an integer."""
    return len(view) >= 8 and _text(view) is None and _plausible(view)


def trace(protocol: int) -> Callable[[str, "Buffer"], None]:
    """Prints each datagram to standard error, readably; whatever happens, it does not raise."""

    def show(direction: str, data: "Buffer") -> None:
        if sys.stderr is None:
            return  # print() would take standard output instead
        try:
            lines = [f"{direction} {len(memoryview(data))} bytes", *datagram_lines(bytes(data), protocol)]
            print("\n".join(f"netlink: {text}" for text in lines), file=sys.stderr, flush=True)
        except Exception:
            # Whoever looks at traffic must not change it: a closed or full standard error is not the program's concern.
            pass

    return show
