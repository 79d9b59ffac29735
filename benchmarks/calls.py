"""How many system calls something takes: run in a child, of which calls.c counts them."""

import ctypes
import errno
import os
import traceback
from collections.abc import Callable

from benchmarks.floor import library


class Uncountable(Exception):
    """No process may be traced here."""


class Calls(ctypes.Structure):
    """struct calls"""

    _fields_ = [(name, ctypes.c_long) for name in ("sends", "receives", "polls", "others")]


def _child(function: Callable[[], object]) -> int:
    begun: int = library("calls").calls_begin()
    if begun < 0:
        return -begun
    try:
        function()  # what is done once and no more is not counted
        os.getppid()
        function()
        os.getppid()
    except BaseException:
        traceback.print_exc()
        return errno.EIO
    return 0


def count(function: Callable[[], object]) -> Calls:
    """The system calls of its second call."""
    calls = Calls()
    child = os.fork()
    if not child:
        status = errno.EIO
        try:
            status = _child(function)
        finally:
            os._exit(status)
    failed = library("calls").calls_count(child, ctypes.byref(calls))
    if failed in (-errno.EPERM, -errno.EIO, -errno.ENOSYS, errno.EPERM, errno.ENOSYS):
        raise Uncountable(os.strerror(abs(failed)))
    if failed:
        raise RuntimeError(f"the child ended with {failed}")
    return calls
