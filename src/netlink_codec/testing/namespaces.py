"""Network namespaces for tests."""

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest import SkipTest

from .. import netns
from ..errors import NetlinkError
from ..netns import NetNS

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000


class NoNamespace(SkipTest):
    """No network namespace can be made here; its text says why.

    A test that lets it pass counts as skipped, under unittest and under pytest.
    """


@contextmanager
def namespace(*, user: bool = True) -> Iterator[NetNS]:
    """For a `with` block: move the calling thread to an empty network namespace, and back after it.

    It holds `lo` alone, which is down, and goes with the last that uses it. Threads,
    processes, connections and other sockets that are started in the block belong to it.
    The value is a NetNS of it, for other threads.

    Root, here or of a user namespace that owns its network (`unshare -Urn`), comes back
    to where it was. Any other process becomes root of a user namespace, which it may
    only while it has one thread, and **leaves the machine's network for good**: from then on
    the thread's home, between such blocks, is an empty namespace too. `user=False` forbids
    that. NoNamespace is raised, and nobody has moved, where there is no way.

    >>> from netlink_codec import Conn, Message, NETLINK_ROUTE, NLM_F_DUMP
    >>> with namespace(), Conn(NETLINK_ROUTE) as conn:
    ...     for link in conn.execute_iter(Message(18, NLM_F_DUMP, bytes(16))):
    ...         print(link.attributes(16).find(3).string())
    lo
    """
    with ExitStack() as stack:
        try:
            try:
                stack.enter_context(netns._moved(netns._unshare))
            except NetlinkError as error:
                if not user or error.errno != errno.EPERM:
                    raise
                _leave_for_good()
                stack.enter_context(netns._moved(netns._unshare))
            here = stack.enter_context(NetNS.current())
        except OSError as error:
            raise NoNamespace(f"no network namespace can be made here: {error}") from error
        yield here


def _leave_for_good() -> None:
    """Go where this thread may come back to."""
    try:
        netns._unshare()
    except NetlinkError:
        become_root(_CLONE_NEWNET)


def become_root(flags: int = 0) -> None:
    """Enter a user namespace as its root, and at once such other namespaces; one thread must be all there are."""
    user, group = os.geteuid(), os.getegid()
    try:
        netns._libc_call("unshare", _CLONE_NEWUSER | flags)
    except OSError as error:
        if error.errno == errno.EINVAL:
            error.strerror = "a process of several threads cannot enter a user namespace; start it by unshare -Urn"
        raise
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
