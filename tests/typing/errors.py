"""What type checkers say of the errors; checked, never run."""

import errno
from typing import assert_type

from netlink_codec import Closed, DecodeError, EncodeError, NetlinkError, Timeout


def fields(decode: DecodeError, encode: EncodeError, netlink: NetlinkError) -> None:
    assert_type(decode.offset, int)
    assert_type(encode.attribute, int | None)
    assert_type(netlink.errno, int | None)


def families() -> None:
    values: list[ValueError] = [DecodeError("text", 4), EncodeError("text", attribute=1), EncodeError("text")]
    netlinks: list[NetlinkError] = [NetlinkError(errno.EPERM), NetlinkError(1, "text"), Timeout(), Closed()]
    systems: list[OSError] = [*netlinks]
    timeout: TimeoutError = Timeout()
    print(values, systems, timeout)
