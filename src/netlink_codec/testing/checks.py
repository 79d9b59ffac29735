"""Requests compared with what they should be; both sides are shown as `netlink_codec.debug` prints them."""

import difflib
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from .._core import Attribute, AttributeDecoder, AttributeEncoder, Message, marshal_attributes
from ..constants import (
    NETLINK_NETFILTER,
    NETLINK_ROUTE,
    NLA_F_NESTED,
    NLA_F_NET_BYTEORDER,
    NLM_F_ACK,
    NLM_F_REQUEST,
)
from ..debug import format_message
from ..errors import DecodeError
from ..names import family_header

if TYPE_CHECKING:
    from typing_extensions import Buffer

# What a connection adds to every request.
_ADDED: Final = NLM_F_REQUEST | NLM_F_ACK

_UTF_8: Final = ("utf-8", "surrogateescape")  # PEP 383, as the codec does

Value: TypeAlias = "int | str | Buffer | Mapping[int, Value]"
Attributes: TypeAlias = "Mapping[int, Value] | Iterable[Attribute] | Buffer"


class RequestMismatch(AssertionError):
    """A request is not what the test expects. Its text shows both."""


def check_request(
    request: Message,
    expected: Message | None = None,
    /,
    *,
    type: int | None = None,
    flags: int | None = None,
    header: "Buffer | None" = None,
    attributes: "Attributes | None" = None,
    others: bool = False,
    protocol: int = NETLINK_ROUTE,
) -> None:
    """Raise RequestMismatch if the request is another than expected.

    Give a whole message, or what matters of it. NLM_F_REQUEST and NLM_F_ACK, which
    connections add, sequence numbers and port ids are not compared. `header` is what the
    payload begins with; how long that is, is known for most protocols. `attributes` are
    a buffer (an AttributeEncoder, say) or a list of Attribute, compared in order; or a
    mapping, of which the order does not count: a type's value is a number, of
    whatever width was sent; a text; bytes; True for a flag; or a mapping of nested ones.
    With `others`, a request may have more attributes than the mapping.

    >>> from netlink_codec import AttributeEncoder, Message
    >>> encoder = AttributeEncoder(bytes(16))
    >>> encoder.string(3, "eth1")
    >>> check_request(Message(18, 1, encoder), type=18, flags=0, attributes={3: "eth1"})
    >>> try:
    ...     check_request(Message(18, 1, encoder), attributes={3: "eth0"})
    ... except RequestMismatch as error:
    ...     print(error)
    the request differs from what was expected in its payload
    --- expected
    +++ sent
    @@ -1,3 +1,3 @@
     RTM_GETLINK (18), 44 bytes, flags 0x1 (REQUEST), seq 0, pid 0
       ifinfomsg 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
    -  [3] 65 74 68 30 00 = "eth0"
    +  [3] 65 74 68 31 00 = "eth1"
    """
    if expected is not None:
        type, flags = expected.type, expected.flags
    wanted = request.replace(
        type=type,
        flags=None if flags is None else flags & ~_ADDED | request.flags & _ADDED,
        data=_payload(request, header, attributes, others, protocol) if expected is None else expected.data,
    )
    wrong = [name for name in ("type", "flags") if getattr(wanted, name) != getattr(request, name)]
    wrong += ["payload"] if wanted.view != request.view else []
    if wrong:
        head = f"the request differs from what was expected in its {' and '.join(wrong)}"
        sides = (format_message(side, protocol) for side in (wanted, request))
        raise RequestMismatch(f"{head}\n{difference(*sides)}")


def difference(expected: str, sent: str) -> str:
    """Both, as `debug` formats them, line by line; without the offsets, which would hide what is alike."""
    before, after = ([line[8:] for line in side.split("\n")] for side in (expected, sent))
    return "\n".join(difflib.unified_diff(before, after, "expected", "sent", n=sys.maxsize, lineterm=""))


def _payload(
    request: Message, header: "Buffer | None", attributes: "Attributes | None", others: bool, protocol: int
) -> bytes:
    """What the payload should be; what is not told is as it was sent."""
    data = request.data
    size = _header_size(request, protocol) if header is None else len(bytes(header))
    if header is not None:
        data = bytes(header) + data[size:]
    if attributes is None:
        return data
    sent = data[size:]
    if isinstance(attributes, Mapping):
        wanted = bytes(_Encoding(others, protocol).attributes(attributes, _decoded(sent)))
        # The last may have been sent without its padding.
        return data if wanted == sent + bytes(-len(sent) % 4) else data[:size] + wanted
    if isinstance(attributes, Iterable) and not isinstance(attributes, bytes | bytearray | memoryview):
        return data[:size] + marshal_attributes(attributes)
    return data[:size] + bytes(attributes)


def _header_size(request: Message, protocol: int) -> int:
    header = family_header(protocol, request.type, request.flags, request.view[0] if request.view else None)
    return min((header.size if header else 0) + 3 & ~3, len(request.view))


def _decoded(data: "Buffer") -> list[Attribute]:
    """The attributes, up to the first that is broken."""
    attributes = []
    try:
        for attribute in AttributeDecoder(data):
            attributes.append(attribute)
    except DecodeError:
        pass
    return attributes


class _Encoding:
    """Makes attributes of what was expected, in the order and the widths of what was sent."""

    def __init__(self, others: bool, protocol: int) -> None:
        self._others = others
        self._big = protocol == NETLINK_NETFILTER

    def attributes(self, wanted: Mapping[int, Value], sent: Sequence[Attribute]) -> AttributeEncoder:
        encoder = AttributeEncoder()
        left = dict(wanted)
        for attribute in sent:
            if attribute.type in left:
                kind = attribute.type | attribute.type_flags
                encoder.data(kind, self._value(left.pop(attribute.type), attribute))
            elif self._others:
                encoder.attribute(attribute)
        for kind, value in left.items():
            encoder.data(kind | NLA_F_NESTED * isinstance(value, Mapping), self._value(value, None))
        return encoder

    def _value(self, value: Value, sent: Attribute | None) -> "Buffer":
        if isinstance(value, Mapping):
            return self.attributes(value, [] if sent is None else _decoded(sent.view))
        if value is True:
            return b""
        if isinstance(value, int):
            return self._number(value, sent)
        if isinstance(value, str):
            # With a NUL at its end, which some leave out.
            return sent.view if sent is not None and sent.string() == value else value.encode(*_UTF_8) + b"\0"
        return value

    def _number(self, value: int, sent: Attribute | None) -> bytes:
        big = self._big or (sent is not None and sent.type_flags & NLA_F_NET_BYTEORDER)
        for size in (*([] if sent is None else [len(sent)]), 4, 8):
            try:
                return value.to_bytes(size, "big" if big else sys.byteorder, signed=value < 0)
            except OverflowError:
                continue
        raise OverflowError(f"{value} is too large for an attribute")
