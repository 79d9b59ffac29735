"""The blocking connection: sockets around the conversation of `exchange`."""

import itertools
import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Self

from ._core import Message
from ._socket import Socket
from .constants import NETLINK_AUDIT, NLM_F_ACK, NLM_F_REQUEST
from .errors import Closed
from .exchange import Exchange, Reply


class Messages(Iterator[Message]):
    """The messages of one reply, received as they are asked for.

    Leave it whenever you like: `close()`, the end of a `with` block or losing the
    last reference cost nothing and wait for nothing. Its errors end it. One
    thread at a time.
    """

    def __init__(
        self,
        conversation: Exchange | Reply,
        receive: Callable[[float | None], bytes],
        deadline: float | None,
        finish: Callable[[], None],
    ) -> None:
        self._conversation = conversation
        self._receive = receive
        self._deadline = deadline
        self._finish: Callable[[], None] | None = finish
        self._datagram: Iterator[Message] = iter(())

    def __next__(self) -> Message:
        while self._finish is not None:
            try:
                for message in self._datagram:
                    return message
                if self._conversation.done:
                    self.close()
                    break
                self._datagram = self._conversation.feed(self._receive(self._deadline))
            except BaseException:
                self.close()
                raise
        raise StopIteration

    def close(self) -> None:
        """End the reply here. Again is harmless."""
        finish, self._finish = self._finish, None
        if finish is not None:
            self._datagram = iter(())
            finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class Conn:
    """A connection to one netlink protocol of the kernel: `Conn(NETLINK_ROUTE)`.

    `execute_iter` asks and streams the answer, on a socket of its own: any number
    of them may be under way at once, in any threads, and each may be left early.
    `send` and `receive_iter` are the raw calls, on the connection's own socket,
    for those who speak the protocol themselves.

    `timeout`, in seconds, is for calls that are given none; None waits for ever.
    It bounds how long a call waits for the kernel, counted from the call; what
    has arrived is delivered even afterwards. `strict` asks the kernel to check
    requests strictly (NETLINK_GET_STRICT_CHK), which is what makes it honour the
    filters of a dump.

    Every method raises Closed once the connection is closed, NetlinkError where
    the kernel or the socket refuses.
    """

    _closed = True  # until it is open

    def __init__(self, protocol: int, *, timeout: float | None = None, strict: bool = True) -> None:
        self.protocol = protocol
        self._timeout = timeout
        self._strict = strict
        self._socket = Socket(protocol, strict=strict)
        self._sequence = itertools.count(int.from_bytes(os.urandom(4)))
        self._left: int | None = None  # the sequence number of a series left before its end
        self._closed = False

    @property
    def pid(self) -> int:
        """The port id of the connection's own socket."""
        return self._socket.port

    def fileno(self) -> int:
        """The descriptor of the connection's own socket, to wait on."""
        return self._socket.fileno()

    def _deadline(self, timeout: float | None) -> float | None:
        if timeout is None:
            timeout = self._timeout
        return None if timeout is None else time.monotonic() + timeout

    def _complete(self, message: Message, port: int, flags: int = 0) -> Message:
        seq = message.seq
        while not seq:
            seq = next(self._sequence) & 0xFFFFFFFF
        return message.replace(seq=seq, pid=message.pid or port, flags=message.flags | flags)

    def send(self, message: Message) -> Message:
        """Send one message, and return it as sent.

        A sequence number of 0 becomes the next one, a port id of 0 this socket's.
        """
        complete = self._complete(message, self._socket.port)
        self._socket.send(bytes(complete))
        return complete

    def receive_iter(self, *, timeout: float | None = None) -> Messages:
        """Receive what comes next: a datagram's messages, or a multipart series up to its end.

        An acknowledgement is a message like any other; an error of the kernel
        is raised. What is left of a series when its iterator is closed is passed
        over by the next call.
        """
        deadline = self._deadline(timeout)
        reply = Reply(skip=self._left)
        self._left = None

        def finish() -> None:
            self._left = reply.skip if reply.done or reply.multipart is None else reply.multipart

        return Messages(reply, self._socket.receive, deadline, finish)

    def execute_iter(self, request: Message, *, timeout: float | None = None) -> Messages:
        """Send a request and receive its answer, message by message, until the kernel says it is complete.

        NLM_F_REQUEST and NLM_F_ACK are added: the acknowledgement is what ends an
        answer that is no dump. It is not delivered. Raises DumpInterrupted after the
        last message of a dump that changed meanwhile.
        """
        deadline = self._deadline(timeout)
        if self._closed:
            raise Closed
        private = Socket(self.protocol, strict=self._strict)
        try:
            complete = self._complete(request, private.port, NLM_F_REQUEST | NLM_F_ACK)
            private.send(bytes(complete))
        except BaseException:
            private.close()
            raise
        exchange = Exchange(complete.seq, empty_done=self.protocol == NETLINK_AUDIT)
        return Messages(exchange, private.receive, deadline, private.close)

    def close(self) -> None:
        """Close the connection's own socket; who waits on it gets Closed. Again is harmless."""
        self._closed = True
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not self._closed:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
            self.close()
