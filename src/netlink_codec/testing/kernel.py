"""A kernel for tests, in process, which answers as it is told."""

import errno as _errno
import os
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from .._core import Message, unmarshal_messages
from .._socket import Datagram
from ..conn import Conn
from ..debug import format_message
from .checks import Attributes, RequestMismatch, check_request
from .clock import Clock
from .script import Answer, Heard, Item, items_of, notification
from .seam import opening
from .shapes import acknowledged
from .wire import FakeSocket, Wire

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ..aio import AsyncConn

Handler = Callable[[list[Message]], Answer]

_FIRST_PORT = 1000
_PATIENCE = 60.0  # seconds, of the real ones


class _Expectation(NamedTuple):
    check: Callable[[Message], None]
    answer: Any


class FakeKernel:
    """Stands in for the kernel's side of one netlink protocol.

    `conn()` makes a real `Conn` whose sockets lead here, and inside `with installed():` every
    connection of the protocol does that anybody opens. Each datagram that is sent is
    handed to `handler`, as the list of its messages, before sending returns; what the handler
    returns arrives on that socket, in order. That may be nothing (None), one item, or
    any iterable of items: a message, bytes or a list of messages is a datagram
    each; `Pause`, `overrun`, `Fault`, `foreign`, `notification` and `truncated` make trouble;
    something callable is called when all before it was received and more is waited
    for. A generator is run as its datagrams are received, and closed if the socket is.

    >>> from netlink_codec import Message, NETLINK_ROUTE
    >>> from netlink_codec.testing import FakeKernel, acknowledged, reply
    >>> def handler(requests):
    ...     return acknowledged(requests[0], reply(requests[0], 16, b"hello"))
    >>> kernel = FakeKernel(NETLINK_ROUTE, handler)
    >>> with kernel.conn() as conn:
    ...     [message.data for message in conn.execute(Message(18))]
    [b'hello']

    Nothing waits for real time: `clock` passes up to a deadline at once where nothing
    arrives before it, and who would wait for ever gets `WouldHang`. For tests with
    threads hand in `Clock(manual=True)`.

    `requests` are all datagrams that were sent. Used as a context manager, it calls
    `verify` at the end. `without` are options of setsockopt(SOL_NETLINK) that
    this kernel is too old for. Any thread may use it; handlers run one at a time.
    """

    def __init__(
        self,
        protocol: int,
        handler: Handler | None = None,
        *,
        clock: Clock | None = None,
        without: Collection[int] = (),
    ) -> None:
        self.protocol = protocol
        self.handler = handler
        self.clock = clock or Clock()
        self.without = frozenset(without)
        self.requests: list[list[Message]] = []
        self.refused = 0
        """Datagrams of foreign senders that were refused, since the receiver was connected."""
        self.lock = threading.RLock()
        self._wires: list[Wire] = []
        self._last_port = _FIRST_PORT
        self._expected: deque[_Expectation] = deque()
        self._mismatch: RequestMismatch | None = None
        self._faults: dict[str, deque[int]] = {}
        self._waiting = 0
        self._waiters = threading.Condition()
        self.socket_type: type[FakeSocket] = type(
            "FakeSocket", (FakeSocket,), {"kernel": self, "clock": staticmethod(self.clock)}
        )
        self.clock.follow(self._time_passed)

    # Connections --------------------------------------------------------------------------------------------------

    def conn(self, **options: Any) -> Conn:
        """`Conn(protocol, **options)`, which speaks to this kernel."""
        return Conn(self.protocol, _open=self.socket_type, **options)

    def async_conn(self, **options: Any) -> "AsyncConn":
        """`AsyncConn(protocol, **options)`, which speaks to this kernel.

        >>> import asyncio
        >>> from netlink_codec import Message, NETLINK_ROUTE
        >>> from netlink_codec.testing import FakeKernel, acknowledged, reply
        >>> async def main():
        ...     async with kernel.async_conn() as conn:
        ...         return len(await conn.execute(Message(18)))
        >>> kernel = FakeKernel(NETLINK_ROUTE, lambda requests: acknowledged(requests[0], reply(requests[0], 16)))
        >>> asyncio.run(main())
        1
        """
        from ..aio import AsyncConn

        return AsyncConn(self.protocol, _open=self.socket_type, **options)

    def installed(self) -> AbstractContextManager[None]:
        """For a `with` block: connections of the protocol that are opened in it, in any thread, speak to this kernel.

        So does what a connection to another fake kernel looks up here: a family, or a device, by name.

        >>> from netlink_codec import Conn, Message, NETLINK_ROUTE
        >>> from netlink_codec.testing import FakeKernel, ack
        >>> def code_under_test():
        ...     with Conn(NETLINK_ROUTE) as conn:
        ...         return conn.execute(Message(16))
        >>> with FakeKernel(NETLINK_ROUTE, lambda requests: ack(requests[0])).installed():
        ...     code_under_test()
        []
        """
        return opening(lambda protocol, usual: self.socket_type if protocol == self.protocol else usual)

    @property
    def sockets(self) -> int:
        """How many sockets are open."""
        return len(self._wires)

    # What is asked ------------------------------------------------------------------------------------------------

    def expect(
        self,
        expected: Message | None = None,
        /,
        *,
        type: int | None = None,
        flags: int | None = None,
        header: "Buffer | None" = None,
        attributes: "Attributes | None" = None,
        others: bool = False,
        answer: Answer | Callable[[Message], Answer] = acknowledged,
    ) -> None:
        """The next request, after those expected already, must be this one, compared as by `check_request`.

        `answer` is what it gets, or a function of it that makes that; by default, the
        acknowledgement. As long as requests are expected, the handler is not asked; where
        there is none, no other request may come.

        >>> from netlink_codec import Message, NETLINK_ROUTE, NLM_F_DUMP
        >>> from netlink_codec.testing import FakeKernel, multipart
        >>> with FakeKernel(NETLINK_ROUTE) as kernel, kernel.conn() as conn:
        ...     kernel.expect(type=18, flags=NLM_F_DUMP, answer=lambda request: multipart(request, []))
        ...     kernel.expect(type=16, flags=0)
        ...     conn.execute(Message(18, NLM_F_DUMP))
        ...     conn.execute(Message(16))
        []
        []
        """
        check = partial(
            check_request, type=type, flags=flags, header=header, attributes=attributes, others=others,
            protocol=self.protocol,
        )  # fmt: skip
        self._expected.append(_Expectation(lambda request: check(request, expected), answer))

    def verify(self) -> None:
        """Raise RequestMismatch if a request was wrong, whoever caught that then, or one did not come."""
        if self._mismatch is not None:
            raise self._mismatch
        if self._expected:
            raise RequestMismatch(f"{len(self._expected)} of the expected requests did not come")

    def asked(self, data: bytes) -> Answer:
        """Answer a datagram."""
        requests = unmarshal_messages(data)
        self.requests.append(requests)
        if self._expected or self.handler is None:
            return [item for request in requests for item in items_of(self._as_expected(request))]
        return self.handler(requests)

    def _as_expected(self, request: Message) -> Answer:
        try:
            if not self._expected:
                raise RequestMismatch(f"no request is expected\n{format_message(request, self.protocol)}")
            expectation = self._expected.popleft()
            expectation.check(request)
        except RequestMismatch as mismatch:
            self._mismatch = self._mismatch or mismatch
            raise
        answer: Answer = expectation.answer
        return expectation.answer(request) if callable(answer) else answer

    # What is said unasked -----------------------------------------------------------------------------------------

    def notify(self, group: int, *messages: Message, nsid: int | None = None) -> int:
        """Tell all members of a multicast group, in one datagram; returns how many there are.

        >>> from netlink_codec import Message, NETLINK_ROUTE, Watch
        >>> kernel = FakeKernel(NETLINK_ROUTE)
        >>> with kernel.conn() as conn, conn.watch(Watch([1], lambda message, group: (message.type, group))) as events:
        ...     kernel.notify(1, Message(16))
        ...     next(events)
        1
        (16, 1)
        """
        return self.multicast(notification(group, *messages, nsid=nsid))

    def multicast(self, datagram: Datagram, *, but: Wire | None = None) -> int:
        with self.lock:
            members = [wire for wire in self._wires if wire is not but and wire.hears(datagram)]
            for wire in members:
                wire.play(Heard(datagram))
        return len(members)

    def deliver(self, port: int, *items: Item) -> None:
        """Let items arrive on the open socket that has this port id: a connection's own is `conn.pid`."""
        with self.lock:
            for wire in self._wires:
                if wire.port == port:
                    wire.play(items)
                    return
        raise LookupError(f"no socket has port id {port}")

    # System calls -------------------------------------------------------------------------------------------------

    def fail(
        self, call: Literal["socket", "setsockopt", "bind", "connect", "send"], errno: int, *, times: int = 1
    ) -> None:
        """The next calls of this kind fail. (For receiving, answer with `Fault`.)

        >>> import errno
        >>> from netlink_codec import Message, NETLINK_ROUTE, NetlinkError
        >>> kernel = FakeKernel(NETLINK_ROUTE)
        >>> with kernel.conn() as conn:
        ...     kernel.fail("send", errno.ENOMEM)
        ...     try:
        ...         conn.execute(Message(16))
        ...     except NetlinkError as error:
        ...         print(error.errno == errno.ENOMEM)
        True
        """
        self._faults.setdefault(call, deque()).extend([errno] * times)

    def failing(self, call: str) -> None:
        """Raise what this call is to fail with."""
        faults = self._faults.get(call)
        if faults:
            number = faults.popleft()
            raise OSError(number, os.strerror(number))

    def open(self) -> Wire:
        """A new socket."""
        with self.lock:
            self.failing("socket")
            wire = Wire(self)
            self._wires.append(wire)
            return wire

    def port(self, wanted: int) -> int:
        """A port id that no socket has."""
        if not wanted:
            self._last_port += 1
            return self._last_port
        if any(wire.port == wanted for wire in self._wires):
            raise OSError(_errno.EADDRINUSE, os.strerror(_errno.EADDRINUSE))
        return wanted

    def closed(self, wire: Wire) -> None:
        """A socket is no more."""
        if wire in self._wires:
            self._wires.remove(wire)

    # Waiting ------------------------------------------------------------------------------------------------------

    def until_waiting(self, count: int = 1) -> None:
        """Wait, really, until so many threads wait on this kernel's sockets. For `Clock(manual=True)`."""
        with self._waiters:
            if not self._waiters.wait_for(lambda: self._waiting >= count, _PATIENCE):
                raise AssertionError(f"{self._waiting} of {count} threads wait after {_PATIENCE} seconds")

    @contextmanager
    def waiter(self) -> Iterator[None]:
        """Somebody waits in the block."""
        with self._waiters:
            self._waiting += 1
            self._waiters.notify_all()
        try:
            yield
        finally:
            with self._waiters:
                self._waiting -= 1

    def silence(self, port: int) -> str:
        """What to say about a socket on which nothing will arrive."""
        asked = [request for requests in self.requests for request in requests if request.pid == port]
        shown = format_message(asked[-1], self.protocol) if asked else "(nothing)"
        return f"nothing is on its way, there is no deadline, and so this would wait for ever; sent was last\n{shown}"

    def _time_passed(self) -> None:
        with self.lock:
            for wire in list(self._wires):
                wire.pump()
                if wire.nudge >= 0:
                    os.eventfd_write(wire.nudge, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.verify()
