"""The blocking connection: sockets around the conversation of `exchange`."""

import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar

from . import batch as _batch
from ._core import Message, Results
from ._socket import Socket, Trace
from .atonce import AtOnce
from .constants import (
    NETLINK_ADD_MEMBERSHIP,
    NETLINK_DROP_MEMBERSHIP,
)
from .errors import Closed, DumpInterrupted, NetlinkError, NotFound, Timeout
from .events import Events
from .exchange import Reply
from .lookups import Filling
from .pool import Pool, Stats, at_fork
from .procedures import Running, method
from .raw import Incoming, Messages, Shared
from .replies import Nothing, Replies, Unfolded
from .requests import Atomic, Dump, Folded, Procedure, Request, Unfolding, Watch, refused

if TYPE_CHECKING:
    from .netns import NetNS

T = TypeVar("T")
P = TypeVar("P", bound=Pool)
M = TypeVar("M", bound=Incoming)


class Connection(Generic[P]):
    """What the blocking and the asyncio connection have in common: all that does not wait."""

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
        namespace = None
        if netns is not None:
            from .netns import NetNS, as_netns

            # A descriptor of its own: the caller may close theirs.
            given = as_netns(netns)
            namespace = NetNS.fd(given.fileno())
        self._pool = _pool or self._pool_type(
            protocol, netns=namespace, strict=strict, trace=_trace(protocol, debug), open=_open
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
                beside = pool.beside(protocol, _trace(protocol, self._debug))
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


class Conn(Connection[Pool]):
    """A connection to one netlink protocol of the kernel: `Conn(NETLINK_ROUTE)`.

    Requests (`execute`, `execute_iter`, `do`, `dump`, `collect`, `batch`) each have a
    socket to themselves: any number may be under way at once, in any threads, one
    inside the loop over another, and each may be left early. `watch` listens on a
    socket of its own. `send`, `send_messages`, `receive` and `receive_iter` are the raw
    calls, on the connection's own socket, for those who speak the protocol
    themselves.

    `netns` is the network namespace to speak to: a `NetNS`, or the name of one; by
    default that of the thread that opens the connection, wherever its users move.
    `groups` and `pid` are the multicast groups and the port id of the own socket.
    `timeout`, in seconds, is for calls that are given none; None waits for ever. It
    bounds how long a call waits for the kernel, counted from the call; what has
    arrived is delivered even afterwards, and the kernel's own work inside a call is
    not interrupted. `strict` asks the kernel to check requests strictly
    (NETLINK_GET_STRICT_CHK), which is what makes it honour the filters of a dump.
    `debug` prints all traffic to standard error; None leaves that to the environment
    variable NETLINK_CODEC_DEBUG.

    Every method raises Closed once the connection is closed, and in those that were
    waiting. In the child of a fork, requests open sockets of the child's own; what was
    open raises Closed. NetlinkError is what the kernel or the socket refuses.
    """

    _pool_type = Pool

    # Messages -----------------------------------------------------------------------------------------------------

    def execute_iter(self, message: Message, *, timeout: float | None = None) -> Replies:
        """Send a request and stream its answer, until the kernel says that it is complete.

        What became of the request is known when the iteration ends, and not before: for
        a change, use `execute` or `do`. NLM_F_REQUEST and NLM_F_ACK are added: the acknowledgement is what ends an
        answer that is no dump. It is not delivered. Raises DumpInterrupted after the
        last message of a dump that changed meanwhile.
        """
        return Replies(self._open(), message, None, self._deadline(timeout))

    def execute(self, message: Message, *, timeout: float | None = None) -> list[Message]:
        """As `execute_iter`, all at once."""
        return list(self.execute_iter(message, timeout=timeout))

    # Requests -----------------------------------------------------------------------------------------------------

    def do(self, request: Request[T], *, timeout: float | None = None) -> T:
        """Run a request and return its result."""
        try:
            plain = request.final and not request.many
        except AttributeError:
            raise refused(request) from None
        if not plain:
            return self._do_in_steps(request, self._deadline(timeout))
        result: Any = None
        decode = request.decode
        answered = False
        try:
            for message in Replies(self._open(), request.message, request, self._deadline(timeout)):
                if decode is not None and not answered:
                    result = decode(message)
                    answered = True
        except NetlinkError as error:
            if error.errno not in request.tolerated:
                raise
        return result  # type: ignore[no-any-return]

    def _do_in_steps(self, request: Request[T], deadline: float | None) -> T:
        if request.many:
            raise refused(request)
        try:
            if isinstance(request, Atomic) and not request.late:
                return self._do_at_once(request, (), deadline)  # type: ignore[no-any-return]
            if isinstance(request, Procedure):
                return self._run(request, deadline)  # type: ignore[no-any-return]
            with self._fill([request], deadline) as filling:
                if isinstance(request, Atomic):
                    return self._do_at_once(request, filling.values(request), deadline)  # type: ignore[no-any-return]
                filled = filling.filled(request)
                try:
                    return self.do(filled, timeout=self._left_until(deadline))
                except NetlinkError as error:
                    error.request = request
                    raise
        except NetlinkError as error:
            if error.errno not in request.tolerated:
                raise
            return None  # type: ignore[return-value]

    def _do_at_once(self, request: Atomic[T], known: Sequence[Any], deadline: float | None) -> T:
        plan = request.plan(*known)
        if not plan.messages:
            return plan.result()
        with AtOnce(self._open(), plan) as under_way:
            under_way.send()
            while not under_way.done:
                if not under_way.fill():
                    under_way.socket.wait(deadline)
        return under_way.result()

    def _run(self, procedure: Procedure[T], deadline: float | None) -> T:
        with Running(procedure) as running:
            running.answered(None)
            while not running.over:
                try:
                    step: Any = running.step
                    result = getattr(self, method(step))(step, timeout=self._left_for(running, deadline))
                except Exception as error:
                    running.failed(error)
                else:
                    running.answered(result)
        return running.result

    def _fill(self, requests: Sequence[Request[Any]], deadline: float | None) -> Filling:
        filling = Filling(requests)
        if filling:
            try:
                self._look_up(filling, deadline)
            except NetlinkError as error:
                error.request = requests[0]
                raise
        return filling

    def _look_up(self, filling: Filling, deadline: float | None) -> None:
        for protocol, values, requests in filling.lookups():
            conn, left = self._speaking(protocol), self._left_until(deadline)
            results: list[Any]
            if len(requests) > 1:
                results = conn.batch(requests, errors="return", timeout=left)
            else:
                try:
                    results = [conn.do(requests[0], timeout=left)]
                except NotFound as error:
                    results = [error]
            filling.learn(values, results)

    def _unfold(self, dump: Folded[T], deadline: float | None) -> Unfolded[T]:
        with self._fill([dump], deadline) as filling:
            try:
                opened, unfolding = dump.opened(filling.values(dump))
            except NetlinkError as error:
                if error.errno not in dump.tolerated:
                    raise
                return Unfolded(Results(Nothing(), None), Unfolding())
            return Unfolded(Results(Replies(self._open(), opened.message, opened, deadline), opened.decode), unfolding)

    def dump(self, dump: Dump[T], *, timeout: float | None = None) -> Results[T]:
        """Run a dump and stream its results.

        Raises DumpInterrupted after the last, if what was dumped changed meanwhile.
        """
        deadline = self._deadline(timeout)
        if isinstance(dump, Folded):
            return self._unfold(dump, deadline)  # type: ignore[return-value]  # which has the surface of Results
        if dump.final:
            return Results(Replies(self._open(), dump.message, dump, deadline), dump.decode)
        with self._fill([dump], deadline) as filling:
            try:
                filled = filling.filled(dump)
            except NetlinkError as error:
                if error.errno not in dump.tolerated:
                    raise
                return Results(Nothing(), None)
            return Results(Replies(self._open(), filled.message, dump, deadline), filled.decode)

    def collect(self, dump: Dump[T], *, retries: int = 10, timeout: float | None = None) -> list[T]:
        """Run a dump and list its results; run it again, up to so many times, if it was interrupted.

        DumpInterrupted if the last was too; its `results` are what that brought.
        """
        deadline = self._deadline(timeout)
        if not dump.final and not isinstance(dump, Folded):
            return self._collect_late(dump, retries, deadline)
        while True:
            results: list[T] = []
            try:
                if isinstance(dump, Folded):
                    results.extend(self._unfold(dump, deadline))
                else:
                    results.extend(Results(Replies(self._open(), dump.message, dump, deadline), dump.decode))
                return results
            except DumpInterrupted as interrupted:
                if not retries:
                    interrupted.results = results
                    raise
                retries -= 1

    def _collect_late(self, dump: Dump[T], retries: int, deadline: float | None) -> list[T]:
        with self._fill([dump], deadline) as filling:
            try:
                filled = filling.filled(dump)
                return self.collect(filled, retries=retries, timeout=self._left_until(deadline))
            except NetlinkError as error:
                if error.errno in dump.tolerated and not isinstance(error, DumpInterrupted):
                    return []
                error.request = dump
                raise

    def batch(
        self,
        requests: Iterable[Request[Any]],
        *,
        errors: Literal["raise", "return"] = "raise",
        acknowledge: Literal["each", "last"] = "each",
        timeout: float | None = None,
    ) -> list[Any]:
        """Run many requests, a hundred a system call; returns their results in order.

        All are run, whatever fails. If some did, BatchError holds the errors, and the
        results by position; with `errors="return"` the errors are returned in the
        places of the results instead. `acknowledge="last"` asks for one
        acknowledgement a hundred requests, which is faster. Late values are found out
        before the first is sent: what the batch itself makes is not there yet.
        """
        requests = list(requests)
        results: list[Any] = [None] * len(requests)
        deadline = self._deadline(timeout)
        with self._fill(_batch.late(requests, errors), deadline) as filling:
            filled = _batch.filled(requests, filling, results)
            for positions in _batch.parts(filled):
                with _batch.Part(self._open(), requests, filled, positions, acknowledge, results) as part:
                    part.send()
                    while not part.done:
                        if not part.fill():
                            part.socket.wait(deadline)
        return _batch.conclude(requests, results, errors)

    def watch(self, watch: Watch[T]) -> Events[T]:
        """Listen, from now on."""
        if not isinstance(watch, Watch):
            raise TypeError(f"a Watch is wanted, not {watch!r}")
        late = any(not dump.final for dump in watch.resync)
        return Events(self._open(), watch, self._look_up if late else None)

    def _made_with(self, pool: Pool) -> "Conn":
        return Conn(pool.protocol, _pool=pool)

    # The raw calls ------------------------------------------------------------------------------------------------

    def receive_iter(self, *, timeout: float | None = None) -> Messages:
        """Receive what comes next: a datagram's messages, or a multipart series up to its end.

        An acknowledgement is a message like any other; an error of the kernel
        is raised. What is left of a series when its iterator is closed is passed
        over by the next call.
        """
        return self._receive_with(Messages, self._deadline(timeout))

    def receive(self, *, timeout: float | None = None) -> list[Message]:
        """As `receive_iter`, all at once. Of threads that call this together, each gets a reply of its own, whole."""
        deadline = self._deadline(timeout)
        with self._raw().reading(deadline):
            return list(self._receive_with(Messages, deadline))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _trace(protocol: int, debug: bool | None) -> Trace | None:
    if debug is None:
        debug = os.environ.get("NETLINK_CODEC_DEBUG", "") not in ("", "0")
    if not debug:
        return None
    from .debug import trace

    return trace(protocol)
