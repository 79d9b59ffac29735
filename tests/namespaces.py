"""Network namespaces for tests: made here, gone with the last descriptor, and never this machine's own."""

import ctypes
import os
from contextlib import contextmanager

import pytest

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000

# os.unshare and os.setns came with Python 3.12.
_libc = ctypes.CDLL(None, use_errno=True)


def _call(function, *arguments):
    if function(*arguments):
        errno = ctypes.get_errno()
        raise OSError(errno, os.strerror(errno))


def _become_root():
    """Root of a user namespace, for a process that is not root; its main thread must be its only one."""
    user, group = os.getuid(), os.getgid()
    _call(_libc.unshare, CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


@contextmanager
def network():
    """Move this thread to an empty network namespace; skip the test where none can be made.

    Where one can, NETLINK_CODEC_REQUIRE_KERNEL is set by whoever runs the tests, and nothing is skipped.
    """
    try:
        if os.geteuid() != 0:
            _become_root()
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _call(_libc.unshare, CLONE_NEWNET)
        except OSError:
            os.close(before)
            raise
    except OSError as error:
        reason = f"no network namespace can be made here: {error}"
        if os.environ.get("NETLINK_CODEC_REQUIRE_KERNEL"):
            pytest.fail(reason)
        pytest.skip(reason)
    try:
        yield
    finally:
        _call(_libc.setns, before, CLONE_NEWNET)
        os.close(before)
