"""Answers as they arrive on a blocking socket."""

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Generic, Self, TypeVar

from ._core import Message, Results, Scan, whole_answer
from ._socket import Socket
from .constants import NLM_F_ACK, NLM_F_REQUEST
from .errors import DumpInterrupted, NetlinkError, Overrun
from .exchange import Exchange
from .pool import Pool
from .requests import Request, Unfolding

T = TypeVar("T")

_ASKED = NLM_F_REQUEST | NLM_F_ACK


def _numbered(message: Message, request: Request[Any] | None, socket: Socket) -> Message:
    asks = request is None or not (request.single or request.ends == "none")
    return message.sent(socket.sequence(), socket.port, _ASKED if asks else NLM_F_REQUEST)


class Answer(Exchange):
    """One request on a socket of the pool, which is held until the end. How to wait is a subclass's."""

    __slots__ = ("_deadline", "_left", "_overrun", "_pool", "_socket")

    def __init__(
        self,
        pool: Pool,
        message: Message,
        request: Request[Any] | None,
        deadline: float | None,
        *,
        send: bool = True,
    ) -> None:
        self._socket: Socket | None = None
        self._pool = pool
        self._deadline = deadline
        self._overrun = False
        self._left = False  # before its end
        socket = pool.take()
        try:
            Exchange.__init__(self, _numbered(message, request, socket), pool.protocol, request)
            if send:
                socket.send(self.sent)
        except BaseException:
            pool.drop(socket)
            raise
        self._socket = socket
        if self.done and send:
            self._finish()

    @classmethod
    def under_way(
        cls, pool: Pool, socket: Socket, sent: Message, request: Request[Any] | None, deadline: float | None
    ) -> Self:
        """Of a request that was sent already."""
        answer = cls.__new__(cls)
        answer._pool = pool
        answer._deadline = deadline
        answer._overrun = answer._left = False
        Exchange.__init__(answer, sent, pool.protocol, request)
        answer._socket = socket
        return answer

    @property
    def socket(self) -> Socket | None:
        """Where the rest of it arrives; None once it is over."""
        return self._socket

    def control(self, message: Message) -> None:
        try:
            super().control(message)
        except NetlinkError:
            self._finish()
            raise
        except BaseException:
            self.close()
            raise

    def fill(self, socket: Socket) -> bool:
        """Take in what has arrived; False if nothing has."""
        if not self.used_up:  # another brought something meanwhile, or the end
            return True
        data = socket.receive_now()
        if data is None:
            if self._overrun:
                # The outcome was lost: nobody would ever send it again.
                self.close()
                raise Overrun
            return False
        self.feed(*data)
        return True

    def failed(self, error: BaseException) -> None:
        """Sending, receiving or waiting raised: the end, unless it was an overrun."""
        if isinstance(error, NetlinkError):
            error.request = self.request or self.sent
        if isinstance(error, Overrun) and self._socket is not None:
            self._pool.stats.overruns += 1
            self._overrun = True
        else:
            self.close()

    def _finish(self) -> None:
        socket = self._socket
        if socket is not None and self.claim():
            self._socket = None
            if self.stale:
                self._pool.stats.stale += self.stale
            if self._left or self._overrun:
                self._pool.drop(socket)
            else:
                self._pool.give(socket)

    over = _finish

    def close(self) -> None:
        """End the answer here. Again is harmless."""
        if not self.done:
            # In this order: another thread, or who is told of an exception, may finish it in between.
            self._left = True
            self.done = True
        self._finish()

    # Bound here: when the interpreter ends, modules may be gone before what they made.
    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # What a signal handler raises may come before there is a socket.
        if getattr(self, "_socket", None) is not None and not finalizing():
            self.close()


class Nothing(Scan):
    """The answer to what was not asked: there is none."""

    def __init__(self) -> None:
        super().__init__(0, 0)
        self.done = True

    def close(self) -> None:
        """There is nothing to end."""


class Unfolded(Iterator[T], Generic[T]):
    """The results of a dump, which are not one a message; leave it whenever you like, as `Replies`."""

    def __init__(self, results: Results[Iterable[T]], unfolding: Unfolding[T]) -> None:
        self._results = results
        self._items = chain.from_iterable(self._parts(unfolding))

    def _parts(self, unfolding: Unfolding[T]) -> Iterator[Iterable[T]]:
        try:
            yield from self._results
        except DumpInterrupted as interrupted:
            yield unfolding.rest()
            raise interrupted
        yield unfolding.rest()

    def __iter__(self) -> Iterator[T]:
        return self._items  # which is faster

    def __next__(self) -> T:
        return next(self._items)

    def close(self) -> None:
        """End the dump here. Again is harmless."""
        self._results.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Replies(Answer):
    """The messages that answer one request, received as they are asked for.

    Leave it whenever you like: `close()`, the end of a `with` block or losing the
    last reference cost nothing and wait for nothing. Threads that share one
    each get some of the messages.

    After an Overrun it goes on as long as something is there; what the request did,
    if its outcome was among what was lost, is unknown.
    """

    __slots__ = ()

    def more(self) -> None:
        socket = self._socket
        if socket is None:
            return
        with socket.lock:
            if self._socket is None:  # another thread came to the end
                return
            try:
                if not self.fill(socket):
                    socket.wait(self._deadline)
            except BaseException as error:
                self.failed(error)
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def ask(
    pool: Pool, message: Message, request: Request[Any] | None, deadline: float | None
) -> "Message | Replies | None":
    """Send a request. Most are answered at once, by one message or none: that; otherwise what is to be waited for."""
    socket = pool.take()
    try:
        sent = _numbered(message, request, socket)
        socket.send(sent)
    except BaseException:
        pool.drop(socket)
        raise
    data: tuple[bytes, bytes | None] | None = None
    if request is None or request.ends == "ack":
        try:
            data = socket.receive_now()
        except BaseException as error:
            Replies.under_way(pool, socket, sent, request, deadline).failed(error)
            raise
        if data is not None:
            answer = whole_answer(*data, sent.seq, request is not None and request.single)
            if answer is not NotImplemented:
                pool.give(socket)
                return answer
    replies = Replies.under_way(pool, socket, sent, request, deadline)
    if data is not None:
        replies.feed(*data)
    return replies
