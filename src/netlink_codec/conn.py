"""The blocking connection: sockets around the conversation of `exchange`."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Self, TypeVar

from . import batch as _batch
from ._core import Message, Results
from .atonce import AtOnce
from .connection import Connection
from .errors import DumpInterrupted, NetlinkError, NotFound
from .events import Events
from .lookups import Filling
from .pool import Pool
from .procedures import Running, method
from .raw import Messages
from .replies import Nothing, Replies, Unfolded, ask
from .requests import Atomic, Dump, Folded, Procedure, Request, Unfolding, Watch, refused

T = TypeVar("T")


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
        answer = ask(self._open(), message, None, self._deadline(timeout))
        if isinstance(answer, Replies):
            return list(answer)
        return [] if answer is None else [answer]

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
        answer = ask(self._pool or self._open(), request.message, request, self._deadline(timeout))
        if not isinstance(answer, Replies):
            return decode(answer) if decode is not None and answer is not None else None  # type: ignore[return-value]
        answered = False
        try:
            for message in answer:
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
