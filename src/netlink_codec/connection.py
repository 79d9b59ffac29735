"""What the blocking and the asyncio connection have in common: all that does not wait."""

import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from . import batch as _batch
from ._core import Message
from ._socket import Socket, Trace
from .constants import NETLINK_ADD_MEMBERSHIP, NETLINK_DROP_MEMBERSHIP
from .errors import Closed, Timeout
from .exchange import Reply
from .pool import Pool, Stats, at_fork
from .procedures import Running
from .raw import Incoming, Shared

if TYPE_CHECKING:
    from .netns import NetNS

P = TypeVar("P", bound=Pool)
M = TypeVar("M", bound=Incoming)


class Connection(Generic[P]):
    """Sockets of one protocol in one namespace, and the raw calls on its own; how to wait is a subclass's."""

    _pool: P | None = None
    _pool_type: type[P]

    def __init__(
        self,
        protocol: int,
        *,
        netns: "NetNS | str | None" = None,
        groups: Iterable[int] = (),
        pid: int = 0,
        timeout: float | None = None,
        strict: bool = True,
        debug: bool | None = None,
        _open: type[Socket] | None = None,
        _pool: P | None = None,
    ) -> None:
        if not isinstance(protocol, int):
            raise TypeError(f"a protocol is a number, NETLINK_ROUTE and its like, not {protocol!r}")
        if protocol < 0:
            raise ValueError(f"{protocol} is no protocol")  # to socket(2), -1 is the first
        self.protocol = protocol
        self._timeout = timeout
        self._port = pid
        self._own: Shared | None = None
        self._own_lock = threading.RLock()
        self._left: int | None = None  # the sequence number of a series left before its end
        self._beside: dict[int, Any] = {}
        self._debug = debug
        at_fork(self)
        self._pool = _pool or self._pool_type(
            protocol, netns=held(netns), strict=strict, trace=trace_for(protocol, debug), open=_open
        )
        self.stats: Stats = self._pool.stats
        """What was noticed on the side: late messages, foreign senders, overruns."""
        try:
            self._deadline(None)  # refuses what is no number
            # What cannot be spoken to is better known now.
            self._pool.give(self._pool.take())
            for group in groups:
                self.join_group(group)
        except BaseException:
            self.close()
            raise

    def forked(self) -> None:
        """In the child of a fork: locks that other threads held are held for ever."""
        self._own_lock = threading.RLock()
        if self._own is not None:
            self._own.forked()

    def _open(self) -> P:
        if self._pool is None:
            raise Closed
        return self._pool

    def _deadline(self, timeout: float | None) -> float | None:
        if timeout is None:
            timeout = self._timeout
        if timeout is None:
            return None
        if timeout != timeout:
            raise ValueError("a timeout is a number of seconds, or None for ever")
        return self._open().clock() + timeout

    def _left_for(self, running: Running[Any], deadline: float | None) -> float | None:
        """The timeout for the next step of a procedure; Timeout if there has been one and the deadline is past."""
        left = self._left_until(deadline)
        if left is not None and left <= 0 and running.begun:
            raise Timeout
        running.begun = True
        return left

    def _left_until(self, deadline: float | None) -> float | None:
        """The timeout for what is to end at this deadline."""
        return None if deadline is None else max(0.0, deadline - self._open().clock())

    def _speaking(self, protocol: int) -> Self:
        """This connection, or one of that protocol beside it: in the same namespace, and closed with it."""
        if protocol == self.protocol:
            return self
        with self._own_lock:
            pool = self._open()
            other: Self | None = self._beside.get(protocol)
            if other is None:
                beside = pool.beside(protocol, trace_for(protocol, self._debug))
                other = self._beside[protocol] = self._made_with(beside)
            return other

    def _made_with(self, pool: P) -> Any:
        raise NotImplementedError

    # The raw calls ------------------------------------------------------------------------------------------------

    def _raw(self) -> Shared:
        pool = self._open()
        with self._own_lock:
            if self._own is None:
                self._own = Shared(pool, port=self._port)
            return self._own

    @property
    def pid(self) -> int:
        """The port id of the connection's own socket."""
        return self._raw().port

    def fileno(self) -> int:
        """The descriptor of the connection's own socket, to wait on."""
        return self._raw().fileno()

    def send(self, message: Message) -> Message:
        """Send one message, and return it as sent.

        A sequence number of 0 becomes the next one, a port id of 0 this socket's.
        """
        own = self._raw()
        sent = message.sent(own.sequence(), own.port, 0)
        own.use(lambda socket: socket.send(sent))
        return sent

    def send_messages(self, messages: Iterable[Message]) -> list[Message]:
        """Send messages as one datagram, and return them as sent.

        They are not joined first, however large; the send buffer grows if it must, and
        NetlinkError (EMSGSIZE) says by how much it could not. Whether to acknowledge, and
        reading what comes of it, is the caller's.
        """
        own = self._raw()
        sent = [message.sent(own.sequence(), own.port, 0) for message in messages]
        if sent:
            own.use(lambda socket: socket.send_parts(_batch.padded(sent)))
        return sent

    def join_group(self, group: int) -> None:
        """Hear a multicast group, by number (which for groups above 32 is the only way)."""
        self.set_option(NETLINK_ADD_MEMBERSHIP, group)

    def leave_group(self, group: int) -> None:
        """Hear it no longer."""
        self.set_option(NETLINK_DROP_MEMBERSHIP, group)

    def set_option(self, option: int, value: int) -> None:
        """setsockopt(SOL_NETLINK) on the own socket: NETLINK_NO_ENOBUFS and its like."""
        self._raw().use(lambda socket: socket.set_option(option, value))

    def get_option(self, option: int) -> int:
        """getsockopt(SOL_NETLINK) on the own socket."""
        return self._raw().use(lambda socket: socket.get_option(option))

    def set_bpf(self, program: Sequence[tuple[int, int, int, int]]) -> None:
        """Filter what the own socket receives by classic BPF: (code, jt, jf, k) each."""
        self._raw().use(lambda socket: socket.attach_filter(program))

    def remove_bpf(self) -> None:
        """Filter no longer."""
        self._raw().use(lambda socket: socket.detach_filter())

    def set_receive_buffer(self, size: int) -> int:
        """Set the own socket's receive buffer, beyond the system's limit if privileged; returns what it is.

        The kernel doubles the number, for its own overhead.
        """
        return self._raw().use(lambda socket: socket.set_receive_buffer(size))

    def set_send_buffer(self, size: int) -> int:
        """As `set_receive_buffer`, of the send buffer: the limit of one datagram."""
        return self._raw().use(lambda socket: socket.set_send_buffer(size))

    def _receive_with(
        self, kind: Callable[[Shared, Reply, float | None, Callable[[], None]], M], deadline: float | None
    ) -> M:
        own = self._raw()
        reply = Reply(skip=self._left)
        self._left = None

        def finish() -> None:
            self._left = reply.skip if reply.done or reply.multipart is None else reply.multipart

        return kind(own, reply, deadline, finish)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} protocol={self.protocol}{' closed' if self._pool is None else ''}>"

    # The end ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the connection; whatever waits on it gets Closed. Again is harmless."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()
            with self._own_lock:  # somebody may be about to open it
                own, beside = self._own, list(self._beside.values())
            if own is not None:
                own.close()
            for other in beside:
                other.close()

    # Bound here: when the interpreter ends, modules may be gone before what they made.
    def __del__(
        self, warn: Callable[..., None] = warnings.warn, finalizing: Callable[[], bool] = sys.is_finalizing
    ) -> None:
        if self._pool is not None:
            warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
            if not finalizing():
                self.close()


def held(netns: "NetNS | str | None") -> "NetNS | None":
    """A namespace with a descriptor of its own: the caller may close theirs."""
    if netns is None:
        return None
    from .netns import NetNS, as_netns

    given = as_netns(netns)
    return NetNS.fd(given.fileno())


def trace_for(protocol: int, debug: bool | None) -> Trace | None:
    """What is told of all traffic, if that is asked for, here or in the environment."""
    if debug is None:
        debug = os.environ.get("NETLINK_CODEC_DEBUG", "") not in ("", "0")
    if not debug:
        return None
    from .debug import trace

    return trace(protocol)
