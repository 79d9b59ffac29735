"""What this package raises.

Bytes that cannot be decoded raise `DecodeError`, values that cannot be encoded
`EncodeError`; both are `ValueError`. What the kernel or the socket answered is
`NetlinkError`, an `OSError` with its errno.
"""

import errno as _errno
import os as _os


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

    `message` is the kernel's own words (extended acknowledgement), None where it
    gave none.
    """

    message: str | None

    def __init__(self, errno: int, strerror: str | None = None, *, message: str | None = None) -> None:
        super().__init__(errno, strerror or _os.strerror(errno))
        self.message = message

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text} ({self.message})" if self.message else text

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), self.args, self.__dict__)


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

    The socket goes on; what it still holds can be received.
    """

    def __init__(self, errno: int = _errno.ENOBUFS, strerror: str | None = None) -> None:
        super().__init__(errno, strerror or "the receive buffer overran, messages were lost")
