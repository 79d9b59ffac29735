"""The sockets of a connection: each request has one to itself, taken from here and put back."""

import errno
import fcntl
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol, Self

from ._socket import Socket, Trace, Wake
from .errors import Closed, NetlinkError

if TYPE_CHECKING:
    from .netns import NetNS

_MOST_IDLE = 16
_SIOCGSKNS = 0x894C


class Stats:
    """What a connection noticed on the side. Counts only grow."""

    __slots__ = ("foreign", "overruns", "stale")

    def __init__(self) -> None:
        self.stale = 0
        """Messages of a sequence number that nobody waits for."""
        self.foreign = 0
        """Datagrams that did not come from the kernel, and were dropped."""
        self.overruns = 0
        """Times that a receive buffer was full."""

    def __repr__(self) -> str:
        return f"<Stats stale={self.stale} foreign={self.foreign} overruns={self.overruns}>"


def socket_type(protocol: int) -> type[Socket]:
    """What a new connection opens, unless it is told; the test kit puts a function of its own here."""
    return Socket


class Pool:
    """Opens, keeps and closes sockets of one protocol in one network namespace.

    The namespace is that of the thread that makes the pool, or `netns`, whatever the
    threads do that use it later. After a fork the child has closed what it
    inherited, and opens anew. Any thread may use it.
    """

    def __init__(
        self,
        protocol: int,
        *,
        netns: "NetNS | None" = None,
        strict: bool = True,
        trace: Trace | None = None,
        open: type[Socket] | None = None,
        main: "Pool | None" = None,
    ) -> None:
        self.protocol = protocol
        self._main = main
        self.stats: Stats = Stats() if main is None else main.stats
        self.wake = Wake()
        self._netns = netns
        self._cookie: int | None = None if main is None else main._cookie  # of the namespace, from the first socket on
        self._home = -1  # a descriptor of it, once no socket leads there
        self._strict = strict
        self._trace = trace
        self._open = open or socket_type(protocol)
        self.clock = self._open.clock
        # Reentrant: a signal handler, or a garbage collection, may close what it interrupts.
        self._lock = threading.RLock()
        self._idle: deque[Socket] = deque()
        # Weak: what a signal handler's exception made its user forget is closed when it is collected.
        self._all: set[weakref.ref[Socket]] = set()
        at_fork(self)

    def beside(self, protocol: int, trace: Trace | None) -> Self:
        """A pool of another protocol in the same namespace, which this one must outlive."""
        told = socket_type(protocol)
        # Nobody who speaks to a fake kernel is led to the real one.
        opened = self._open if told is Socket else told
        return type(self)(protocol, netns=self._netns, trace=trace, open=opened, main=self)

    def take(self) -> Socket:
        """A socket for one request."""
        if self.wake.closed:
            raise Closed
        # A deque does one step at a time, whatever the threads: there is nothing to lock here.
        try:
            return self._idle.pop()
        except IndexError:
            return self.open()

    def give(self, taken: Socket) -> None:
        """Put back a socket whose request reached its end."""
        # The socket's own: of one that was inherited in a fork, it is closed.
        if len(self._idle) < _MOST_IDLE and not taken.wake.closed:
            self._idle.append(taken)
            if self.wake.closed:
                self.close()  # it was closed meanwhile, and may not have seen this one
        else:
            self.drop(taken)

    def drop(self, taken: Socket) -> None:
        """Close a socket whose request did not: what it would still bring is nobody's."""
        leads = self._netns is None and self._main is None and self._home < 0
        if leads and len(self._all) == 1 and not self.wake.closed:
            # The last that leads to the namespace.
            self._keep_home()
        taken.close()
        self._all.discard(weakref.ref(taken))
        if self.wake.closed and not self._all:
            self.wake.dispose()

    def open(self, *, listens: bool = False, port: int = 0, wake: Wake | None = None) -> Socket:
        """A new socket in the connection's namespace."""

        def make() -> Socket:
            return self._open(
                self.protocol, wake or self.wake, strict=self._strict, listens=listens, port=port, trace=self._trace
            )

        if self._netns is not None:
            from .netns import run_in

            made = run_in(self._netns, make)
        else:
            made = make()
            cookie = made.cookie()
            if self._cookie is None:
                self._cookie = cookie
            elif cookie != self._cookie:
                made.close()
                made = self._open_at_home(make)
        self._all.add(weakref.ref(made, self._all.discard))
        if self.wake.closed:
            self.drop(made)
            raise Closed
        return made

    def _open_at_home(self, make: Callable[[], Socket]) -> Socket:
        """This thread has moved to another namespace since the connection was opened."""
        from .netns import NetNS, run_in

        keeper = self if self._main is None else self._main
        with keeper._lock:
            home = keeper._keep_home()
            if home < 0:
                raise NetlinkError(
                    errno.EXDEV, "this thread is in another network namespace than the connection, and may not go back"
                )
            with NetNS.fd(home) as namespace:
                return run_in(namespace, make)

    def _keep_home(self) -> int:
        """A descriptor of the namespace, which is kept; -1 if none may be had."""
        with self._lock:
            if self._home < 0:
                self._home = _namespace_of(self._all)
            return self._home

    def close(self) -> None:
        """Wake who waits, and close what is idle; who is busy closes when done."""
        self.wake.close()
        while True:
            try:
                self.drop(self._idle.pop())
            except IndexError:
                break
        with self._lock:
            home, self._home = self._home, -1
        if home >= 0:
            os.close(home)
        if not self._all:
            self.wake.dispose()

    def forked(self) -> None:
        """In the child: the parent's sockets are the parent's."""
        self._lock = threading.RLock()
        for reference in list(self._all):
            inherited = reference()
            if inherited is not None:
                inherited.forked()
        self._idle.clear()
        self._all.clear()
        if not self.wake.closed:
            self.wake = Wake()


def _namespace_of(sockets: "Iterable[weakref.ref[Socket]]") -> int:
    """A descriptor of the network namespace of some socket; -1 if none may be had (it takes CAP_NET_ADMIN there)."""
    for reference in list(sockets):
        one = reference()
        if one is None:
            continue
        try:
            return fcntl.ioctl(one.fileno(), _SIOCGSKNS)
        except (OSError, ValueError):
            continue
    return -1


class Forkable(Protocol):
    """Whose `forked()` is called in the child of a fork, where locks that other threads held are held for ever."""

    def forked(self) -> None: ...


_forkable: "weakref.WeakSet[Forkable]" = weakref.WeakSet()


def at_fork(one: Forkable) -> None:
    """Have it told, as long as it lives."""
    _forkable.add(one)


def _forked() -> None:
    for one in list(_forkable):
        one.forked()


os.register_at_fork(after_in_child=_forked)
