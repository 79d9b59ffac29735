"""Network namespaces: hold one open, run code in one, make and delete the named ones of `ip netns`.

    netns.create("blue")
    with Conn(NETLINK_ROUTE, netns="blue") as conn:
        ...
    netns.delete("blue")

A namespace lives as long as a name, a process, a socket or an open `NetNS` holds
it. Opening one takes the right to read its file, and for a process the right to
look into it (the same user, or CAP_SYS_PTRACE). Everything else takes CAP_SYS_ADMIN, in
the caller's user namespace and in the one that owns the network namespace: being root,
or root of a user namespace (`unshare -Urnm`).

A namespace belongs to a thread, not to a process, and a new thread starts in that of its
maker. A socket stays where it was made, whichever thread uses it.
"""

import errno
import fcntl
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Never, NoReturn, Self, TypeVar

from .errors import Closed, Exists, NetlinkError, NotFound, NotPermitted

_T = TypeVar("_T")

_DIRECTORY = "/run/netns"
_HERE = "/proc/thread-self/ns/net"

# linux/sched.h, linux/nsfs.h, linux/mount.h and the mount flags of libc's sys/mount.h.
_CLONE_NEWNET = 0x40000000
_NS_GET_NSTYPE = 0xB703
_MS_BIND = 0x1000
_MS_REC = 0x4000
_MS_SHARED = 0x100000
_MNT_DETACH = 2
_UMOUNT_NOFOLLOW = 8

_ROOT_HELPS = "; that takes root, here or of a user namespace (unshare -Urnm)"
_HINTS = {
    errno.EPERM: _ROOT_HELPS,
    errno.EACCES: _ROOT_HELPS,
    errno.ESRCH: "; it has ended, or is not in this /proc",
    errno.ENOSPC: "; user.max_net_namespaces or fs.mount-max may be reached",
}
_KINDS = {
    errno.ENOENT: NotFound,
    errno.ESRCH: NotFound,
    errno.EEXIST: Exists,
    errno.EPERM: NotPermitted,
    errno.EACCES: NotPermitted,
}


class _Descriptor:
    """A descriptor that closes when the last reference goes, so that none closes it while another uses it.

    Without a ResourceWarning: it costs no more than memory does, nothing waits to be
    flushed, and it is kept in records and connections that come and go.
    """

    def __init__(self, number: int) -> None:
        self.number = number

    # Bound here, for what is still open when the interpreter clears this module.
    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        close(self.number)


class NetNS:
    """A network namespace, held open by a descriptor of its own.

    Made by `name`, `path`, `pid`, `fd` or `current`, never from a bare number, which may be
    a pid or a descriptor. Whatever happens to that name, process or descriptor, this is
    the same namespace until `close()`, the end of a `with` block, or the last
    reference is gone. Equal to every other open one of the same namespace.

    Any thread may use it. What is using it when it is closed goes on; the descriptor,
    which no program that is started inherits, is given back thereafter.
    """

    _held: _Descriptor | None
    _origin: str
    _key: tuple[int, int]

    def __init__(self, *refused: Never) -> None:
        given: tuple[object, ...] = refused
        for value in given:
            raise _wrong_type(value)
        raise TypeError("NetNS.name, .path, .pid, .fd or .current opens a namespace")

    @classmethod
    def name(cls, name: str) -> Self:
        """The one that `ip netns` lists under this name: the file /run/netns/NAME."""
        return cls._open(_path(name), f"name {name!r}")

    @classmethod
    def path(cls, path: str | os.PathLike[str]) -> Self:
        """The one that this file holds: /proc/PID/ns/net, or what such a file was mounted on."""
        if not isinstance(path, str | os.PathLike):
            raise _wrong_type(path)
        return cls._open(os.fspath(path), f"path {os.fspath(path)!r}")

    @classmethod
    def pid(cls, pid: int) -> Self:
        """The one that a process is in: that of its main thread, /proc/PID/ns/net."""
        _check_integer(pid, "pid")
        if pid <= 0:
            raise ValueError(f"a pid is positive, not {pid}")
        return cls._open(f"/proc/{pid}/ns/net", f"process {pid}")

    @classmethod
    def fd(cls, fd: int) -> Self:
        """The one that an open descriptor stands for: of a namespace, or a pidfd. It is duplicated.

        What a pidfd's process is in is looked up once, here; the process must be alive, and be
        seen in /proc.
        """
        _check_integer(fd, "descriptor")
        origin = f"descriptor {fd}"
        with _explained(origin):
            pid = _pid_of(fd)
            if pid is None:
                return cls._hold(os.dup(fd), origin)
            if pid > 0:
                self = cls._open(f"/proc/{pid}/ns/net", f"process {pid}")
                # Alive before and after, so the number was not another's meanwhile.
                if _pid_of(fd) == pid:
                    return self
                self.close()
            raise _os_error(errno.ESRCH)

    @classmethod
    def current(cls) -> Self:
        """The one that the calling thread is in."""
        return cls._open(_HERE, "current")

    @classmethod
    def _open(cls, path: str, origin: str) -> Self:
        with _explained(f"{origin} ({path})"):
            # What is a FIFO by mistake must not be waited for.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        return cls._hold(descriptor, origin)

    @classmethod
    def _hold(cls, descriptor: int, origin: str) -> Self:
        status = os.fstat(descriptor)
        if not _is_network_namespace(descriptor, status.st_mode):
            os.close(descriptor)
            raise NetlinkError(errno.EINVAL, f"{origin}: not a network namespace")
        self = cls.__new__(cls)
        self._held = _Descriptor(descriptor)
        self._origin = origin
        self._key = (status.st_dev, status.st_ino)
        return self

    def _descriptor(self) -> _Descriptor:
        if (descriptor := self._held) is None:
            raise Closed(strerror="the namespace was closed")
        return descriptor

    def fileno(self) -> int:
        """The descriptor, which stays this object's own."""
        return self._descriptor().number

    def close(self) -> None:
        """Let the namespace go. Again is harmless."""
        self._held = None

    def __enter__(self) -> Self:
        self._descriptor()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NetNS):
            return NotImplemented
        # The kernel gives the number of a namespace that is gone to another one.
        both_open = self._held is not None and other._held is not None
        return self is other or (both_open and self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        state = "closed" if self._held is None else f"net:[{self._key[1]}]"
        return f"<{type(self).__name__} {state}, {self._origin}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a NetNS holds a descriptor of this process, so it can be neither pickled nor copied")


def as_netns(value: NetNS | str) -> NetNS:
    """What `netns=` takes: a name is opened, a NetNS is itself, and nothing else is meant."""
    if isinstance(value, NetNS):
        return value
    if isinstance(value, str):
        return NetNS.name(value)
    raise _wrong_type(value)


def run_in(ns: NetNS | str, function: Callable[[], _T]) -> _T:
    """Call `function` in the namespace: what it returns is returned, what it raises is raised.

    It runs in a thread made for it, which does setns(2) and ends with it; the
    calling thread waits and never moves. Where threads are not the kernel's
    (gevent, eventlet) it runs in the calling thread, as in `enter`, and must not wait.
    """
    return _call_moved(_into(ns), function)


def enter(ns: NetNS | str) -> AbstractContextManager[None]:
    """For a `with` block: move the calling thread to the namespace by setns(2), and back after it.

    Other threads stay where they are; what is started in the block, threads, processes and
    sockets, begins in the namespace. The thread that begins the block must end it,
    and do nothing else meanwhile: no `await`, no `yield`, no switch of a green thread.

    A thread that could not come back is not moved at all (`NetlinkError`). If it cannot be
    moved back, since the block gave privileges away, RuntimeError is raised, which
    no handler of expected errors catches: the thread is still in the wrong namespace.
    """
    return _moved(_into(ns))


def create(name: str) -> NetNS:
    """Make a namespace with a name, as `ip netns add` does: new by unshare(2), then bound to /run/netns/NAME.

    It holds `lo` alone, which is down. /run/netns is made where it is missing, and a shared
    mount, so that names are seen in other mount namespaces too. A failure leaves no name behind.
    """
    path, origin = _path(name), f"name {name!r}"
    with _explained(origin), ExitStack() as undo:
        # Looked at before a namespace is made in vain; who is first is decided by O_EXCL.
        if os.path.lexists(path):
            raise _os_error(errno.EEXIST)
        ns = undo.enter_context(_call_moved(_unshare, NetNS.current))
        ns._origin = origin
        _prepare_directory()
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0))
        undo.callback(os.unlink, path)
        _mount(f"/proc/thread-self/fd/{ns.fileno()}", path, _MS_BIND)
        undo.pop_all()
    return ns


def delete(name: str) -> None:
    """Remove a name, as `ip netns delete` does: umount2(2) with MNT_DETACH, then unlink(2).

    The namespace goes on while processes, sockets or a NetNS hold it. A name that is
    a symbolic link is removed, not what it points to.
    """
    path = _path(name)
    with _explained(f"name {name!r}"):
        try:
            while True:  # It may have been mounted more than once.
                _unmount(path)
        except OSError as error:
            if error.errno != errno.EINVAL:  # Not, or no longer, a mount.
                raise
        os.unlink(path)


def names() -> list[str]:
    """The names in /run/netns that stand for a network namespace, sorted. What cannot be opened does not count."""
    found = []
    with _explained(_DIRECTORY):
        entries = os.listdir(_DIRECTORY) if os.path.lexists(_DIRECTORY) else []
    for name in sorted(entries):
        try:
            NetNS.name(name).close()
        except NetlinkError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
                raise
        else:
            found.append(name)
    return found


def _path(name: str) -> str:
    if not isinstance(name, str):
        raise _wrong_type(name)
    if name in ("", ".", "..") or "/" in name or "\0" in name or len(os.fsencode(name)) > 255:
        raise ValueError(f"{name!r} cannot be the name of a namespace; NetNS.path opens a path")
    return f"{_DIRECTORY}/{name}"


def _wrong_type(value: object) -> TypeError:
    if isinstance(value, int):
        return TypeError(f"{value} may be a pid or a descriptor: use NetNS.pid({value}) or NetNS.fd({value})")
    if isinstance(value, str):
        return TypeError(f"{value!r} may be a name or a path: use NetNS.name({value!r}) or NetNS.path({value!r})")
    if isinstance(value, os.PathLike):
        return TypeError(f"a path is opened by NetNS.path({os.fspath(value)!r})")
    return TypeError(f"a namespace is given by its name or as a NetNS, not {type(value).__name__}")


def _check_integer(value: object, what: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"a {what} is an int, not {type(value).__name__}")


def _os_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Make a NetlinkError of an OSError, which says what failed and what may help."""
    try:
        yield
    except NetlinkError:
        raise
    except OSError as error:
        number = error.errno or errno.EIO
        kind = _KINDS.get(number, NetlinkError)
        raise kind(number, f"{what}: {os.strerror(number)}{_HINTS.get(number, '')}") from error


def _is_network_namespace(descriptor: int, mode: int) -> bool:
    # A namespace is a regular file, and a device may take the number of this ioctl for something else.
    if not stat.S_ISREG(mode):
        return False
    try:
        return fcntl.ioctl(descriptor, _NS_GET_NSTYPE) == _CLONE_NEWNET
    except OSError:
        return False


def _pid_of(descriptor: int) -> int | None:
    """Whom a pidfd is of: -1 if the process has ended, 0 if it is outside of this /proc, None for other descriptors."""
    os.fstat(descriptor)  # What is not open is EBADF.
    with open(f"/proc/thread-self/fdinfo/{descriptor}", "rb") as lines:
        for line in lines:
            if line.startswith(b"Pid:"):
                return int(line[4:])
    return None


def _into(ns: NetNS | str) -> Callable[[], None]:
    """What moves the calling thread there, once: then it lets the descriptor go, whoever may still refer to it."""
    held = [as_netns(ns)._descriptor()]

    def move() -> None:
        try:
            _setns(held[0].number)
        finally:
            held.clear()

    return move


def _call_moved(move: Callable[[], None], function: Callable[[], _T]) -> _T:
    """Call the function in a new thread that has moved; only if there are no threads, move this one, and back."""
    caller = threading.get_native_id()
    results: list[_T] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            if threading.get_native_id() != caller:
                move()
                results.append(function())
            else:
                with _moved(move):
                    results.append(function())
        except BaseException as error:
            failures.append(error)

    # A daemon, since who interrupts the waiting wants to go.
    thread = threading.Thread(target=work, name="netns", daemon=True)
    thread.start()
    thread.join()
    if failures:
        raise failures.pop()
    return results.pop()


@contextmanager
def _moved(move: Callable[[], None]) -> Iterator[None]:
    thread = threading.get_ident()
    with NetNS.current() as before:
        try:
            # Goes nowhere, and tells whether coming back will be allowed.
            _setns(before.fileno())
        except NetlinkError:
            del move  # The traceback would hold its descriptor.
            raise
        try:
            move()
            yield
        finally:
            if threading.get_ident() != thread:
                raise RuntimeError("another thread entered this namespace, and is still there: it must leave it itself")
            try:
                _setns(before.fileno())
            except NetlinkError as error:
                raise RuntimeError(f"this thread is in the wrong namespace: it cannot return to {before}") from error


@_explained("entering a network namespace")
def _setns(descriptor: int) -> None:
    if sys.version_info >= (3, 12):
        os.setns(descriptor, _CLONE_NEWNET)
    else:
        _libc_call("setns", descriptor, _CLONE_NEWNET)


@_explained("making a network namespace")
def _unshare() -> None:
    if sys.version_info >= (3, 12):
        os.unshare(_CLONE_NEWNET)
    else:
        _libc_call("unshare", _CLONE_NEWNET)


def _prepare_directory() -> None:
    """Make /run/netns, and a mount of it that is shared, once."""
    with ExitStack() as undo:
        try:
            os.mkdir(_DIRECTORY, 0o755)
            undo.callback(os.rmdir, _DIRECTORY)
        except FileExistsError:
            pass
        lock = os.open(_DIRECTORY, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # `ip netns add` takes it too: if two do this at once, mounts pile up.
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                _mount(None, _DIRECTORY, _MS_SHARED | _MS_REC)
            except OSError as error:
                if error.errno != errno.EINVAL:  # Not a mount yet.
                    raise
                _mount(_DIRECTORY, _DIRECTORY, _MS_BIND | _MS_REC)
                undo.callback(_unmount, _DIRECTORY)
                _mount(None, _DIRECTORY, _MS_SHARED | _MS_REC)
        finally:
            os.close(lock)
        undo.pop_all()


def _mount(source: str | None, target: str, flags: int) -> None:
    import ctypes

    source_bytes = None if source is None else os.fsencode(source)
    _libc_call("mount", source_bytes, os.fsencode(target), None, ctypes.c_ulong(flags), None)


def _unmount(path: str) -> None:
    _libc_call("umount2", os.fsencode(path), _MNT_DETACH | _UMOUNT_NOFOLLOW)


def _libc_call(function: str, *arguments: object) -> None:
    """What `os` lacks: mount and umount2, and before Python 3.12 setns and unshare."""
    import ctypes  # Importing this package does not pay for it.

    if getattr(ctypes.CDLL(None, use_errno=True), function)(*arguments):
        raise _os_error(ctypes.get_errno())
