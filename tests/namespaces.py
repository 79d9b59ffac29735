"""Network namespaces for tests: made here, gone with the last descriptor, and never this machine's own."""

import contextlib
import ctypes
import gc
import os
import threading
from contextlib import ExitStack, contextmanager

import pytest

from netlink_codec.testing import NoNamespace, namespace
from netlink_codec.testing.namespaces import become_root

CLONE_FS = 0x200
CLONE_NEWNS = 0x20000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000

# os.unshare and os.setns came with Python 3.12.
_libc = ctypes.CDLL(None, use_errno=True)


def _call(function, *arguments):
    if function(*arguments):
        errno = ctypes.get_errno()
        raise OSError(errno, os.strerror(errno))


def unshare(flags):
    _call(_libc.unshare, flags)


def mount(source, target, kind=None, flags=0):
    kind = None if kind is None else kind.encode()
    _call(_libc.mount, os.fsencode(source), os.fsencode(target), kind, ctypes.c_ulong(flags), None)


def _return(namespace, flag):
    with contextlib.chdir("."):
        # Other mounts are closed to who shares its working directory with a thread, and be it one that is just ending.
        unshare(CLONE_FS)
        _call(_libc.setns, namespace, flag)


def _home(kind, flag):
    """A descriptor of a namespace that this thread is in, and may return to."""
    path = f"/proc/thread-self/ns/{kind}"
    home = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _return(home, flag)
    except PermissionError:
        os.close(home)
        # The machine's own, and this is only root of a user namespace: from now on this thread lives elsewhere.
        unshare(flag)
        home = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    return home


def _unavailable(reason):
    """Skip the test.

    Where namespaces can be made, NETLINK_CODEC_REQUIRE_KERNEL is set by whoever runs the tests, and nothing is skipped.
    """
    if os.environ.get("NETLINK_CODEC_REQUIRE_KERNEL"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def network():
    """Move this thread to an empty network namespace; skip the test where none can be made."""
    with ExitStack() as stack:
        try:
            stack.enter_context(namespace())
        except NoNamespace as error:
            _unavailable(str(error))
        yield


@contextmanager
def _unshared(kind, flag):
    """Move this thread to a new namespace, and back; skip the test where none can be made."""
    try:
        if os.geteuid() != 0:
            become_root()
        home = _home(kind, flag)
        try:
            unshare(flag)
        except OSError:
            os.close(home)
            raise
    except OSError as error:
        _unavailable(f"no namespace of kind {kind} can be made here: {error}")
    try:
        yield
    finally:
        _return(home, flag)
        os.close(home)


@contextmanager
def empty_run():
    """Give this thread, and those it starts, an empty /run that nobody else sees, and that goes with what is in it."""
    with _unshared("mnt", CLONE_NEWNS):
        mount("", "/", flags=MS_REC | MS_PRIVATE)
        mount("tmpfs", "/run", "tmpfs")
        yield


def drop_capabilities():
    """Take every privilege from the calling thread, for good."""
    version_3 = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _call(_libc.capset, version_3, (ctypes.c_uint32 * 6)())


def in_thread(function):
    """Call the function in a thread of its own, which may do to itself what it likes."""
    results, failures = [], []

    def work():
        try:
            results.append(function())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failures:
        raise failures.pop()
    return results.pop()


def powerless(function):
    """Call the function in a thread that may do nothing."""

    def work():
        drop_capabilities()
        return function()

    return in_thread(work)


def at_once(functions):
    """Call each function in a thread, all started before any runs; the results, or the errors."""
    results = [None] * len(functions)
    barrier = threading.Barrier(len(functions))

    def work(position, function):
        barrier.wait()
        try:
            results[position] = function()
        except Exception as error:
            results[position] = error

    threads = [threading.Thread(target=work, args=item) for item in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def here():
    """The namespace that this thread is in, by the number of its file."""
    return os.stat("/proc/thread-self/ns/net").st_ino


def number(ns):
    return os.fstat(ns.fileno()).st_ino


def descriptors():
    """How many this process has open, but for those of what is garbage already."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))
