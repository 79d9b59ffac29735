"""What this package raises.

Bytes that cannot be decoded raise `DecodeError`, values that cannot be encoded
`EncodeError`; both are `ValueError`. What the kernel or the socket answered is
`NetlinkError`, an `OSError` with its errno, or one of its kinds.
"""

import errno as _errno
import os as _os
from collections.abc import Sequence as _Sequence
from typing import Any as _Any


class DecodeError(ValueError):
    """Bytes that are not what netlink's framing or the reader asked for.

    `offset` is where, in bytes: from the start of the buffer that was handed
    to the decoder, or, for attributes of a `Message`, from the start of its
    nlmsghdr. The text names the offset and the lengths too.
    """

    offset: int

    def __init__(self, text: str, offset: int = 0) -> None:
        super().__init__(text, offset)
        self.offset = offset

    def __str__(self) -> str:
        return str(self.args[0])


class EncodeError(ValueError):
    """A value that netlink has no bytes for; nothing was written.

    `attribute` is the type number of the attribute that was being written,
    without its flags, or None where it was no attribute.
    """

    attribute: int | None

    def __init__(self, text: str, attribute: int | None = None) -> None:
        super().__init__(text, attribute)
        self.attribute = attribute

    def __str__(self) -> str:
        return str(self.args[0])


class NetlinkError(OSError):
    """The kernel, or the socket, said no: `errno` and `strerror` say how.

    The kernel may have explained itself (extended acknowledgement); each of
    these is None where it has not:

    - `message`: its own words;
    - `attribute`: the path of the attribute that it refused, as types, "18.2.1", or, where the
      request knows its record, as fields, "info.data.id";
    - `offset`: where that stands in the message that was sent, in bytes;
    - `missing`: the path of the attribute that it wanted and did not find;
    - `policy`: what the refused attribute must be like, NL_POLICY_TYPE_ATTR_* → number.

    `request` is what was asked, where it is known, and `hint` what may help. `results`
    are what a call that returns many had until then, None where that is none.
    """

    message: str | None = None
    attribute: str | None = None
    offset: int | None = None
    missing: str | None = None
    policy: dict[int, int] | None = None
    request: _Any = None
    hint: str | None = None
    results: list[_Any] | None = None

    def __init__(self, errno: int, strerror: str | None = None) -> None:
        super().__init__(errno, strerror or _os.strerror(errno))

    def __str__(self) -> str:
        text = super().__str__()
        doing = getattr(self.request, "doing", None)
        if doing:
            text = f"{doing}: {text}"
        details = [self.message] if self.message else []
        details += [f"attribute {self.attribute}"] if self.attribute else []
        details += [f"attribute {self.missing} is missing"] if self.missing else []
        details += [self.hint] if self.hint else []
        return f"{text} ({'; '.join(details)})" if details else text


class NotFound(NetlinkError):
    """What the request names is not there."""


class Exists(NetlinkError):
    """What the request would make is there already."""


class NotPermitted(NetlinkError):
    """The caller lacks a privilege."""


class Timeout(NetlinkError, TimeoutError):
    """The deadline passed before the answer was complete."""

    def __init__(self, errno: int = _errno.ETIMEDOUT, strerror: str | None = None) -> None:
        super().__init__(errno, strerror)


class Closed(NetlinkError):
    """The connection was closed, before the call or during it."""

    def __init__(self, errno: int = _errno.EBADF, strerror: str | None = None) -> None:
        super().__init__(errno, strerror or "the connection is closed")


class DumpInterrupted(NetlinkError):
    """What was dumped changed meanwhile (NLM_F_DUMP_INTR); raised after all of it was delivered.

    The dump may lack entries or hold some twice. To be sure, dump again.
    """

    def __init__(self, errno: int = _errno.EINTR, strerror: str | None = None) -> None:
        super().__init__(errno, strerror or "the dump changed while it was read")


class Overrun(NetlinkError):
    """Messages were lost: the socket's receive buffer was full.

    The socket goes on: what it still holds, and what comes, can be received. `lost`
    is how many the kernel dropped since it was last asked, None if it does not say.
    What a request without an answer did is unknown: look before you ask again.
    """

    lost: int | None = None

    def __init__(self, errno: int = _errno.ENOBUFS, strerror: str | None = None) -> None:
        super().__init__(errno, strerror or "the receive buffer overran, messages were lost")


class BatchError(ExceptionGroup[NetlinkError]):
    """Some requests of a batch failed; the others were carried out. Of a transaction, nothing was.

    `results` has one entry a request, in order: its result, or the error that is
    in the group too.
    """

    results: list[_Any]

    def __new__(cls, message: str, errors: _Sequence[NetlinkError], results: list[_Any] | None = None) -> "BatchError":
        self = super().__new__(cls, message, errors)
        self.results = list(errors) if results is None else results
        return self

    def __init__(self, message: str, errors: _Sequence[NetlinkError], results: list[_Any] | None = None) -> None:
        super().__init__(message, errors)

    def derive(self, errors: _Sequence[NetlinkError]) -> "BatchError":  # type: ignore[override]
        return BatchError(self.message, errors, self.results)
