"""The conversation without I/O: what belongs to a request, what ends it, what went wrong.

Fed datagrams as they arrive, these yield the messages in them that are the
caller's, and know when no more will come. The blocking connection, the asyncio
connection and the tests' fake kernel drive them alike.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

from . import log
from ._core import Message, Scan, iter_messages
from .acks import Acknowledgement, error_of
from .constants import (
    NETLINK_AUDIT,
    NLM_F_DUMP_INTR,
    NLM_F_MULTI,
    NLMSG_DONE,
    NLMSG_ERROR,
    NLMSG_HDRLEN,
)
from .errors import DumpInterrupted, NetlinkError, Overrun
from .requests import Dump, Request

Ends = Literal["ack", "reply", "none"]
_INTERRUPTED = NLM_F_MULTI | NLM_F_DUMP_INTR


class Exchange(Scan):
    """One request on a socket that nothing else uses.

    It is over at the first NLMSG_ERROR (of which an acknowledgement is one) or
    multipart NLMSG_DONE that carries its sequence number. So a request asks for an
    acknowledgement, a dump too; where the kernel does otherwise, the request says
    so: `ends="reply"`, the acknowledgement comes first and the reply ends it (audit),
    or `ends="none"`, there is no answer. `single` says that exactly one
    message answers it, and no acknowledgement was asked for.

    Iterating raises NetlinkError where the kernel reports one, and DumpInterrupted
    after the last message of a dump that changed meanwhile. `warning` is what the
    kernel remarked on success.
    """

    __slots__ = ("_reply_follows", "protocol", "request", "sent", "warning")

    def __init__(self, sent: Message, protocol: int, request: Request[object] | None = None) -> None:
        self.sent = sent
        self.protocol = protocol
        self.request = request
        self.warning: str | None = None
        self._reply_follows = False
        if request is None or (request.ends == "ack" and not request.single):
            Scan.__init__(self, sent.seq, 1, plain=True)
        else:
            self._reply_follows = request.ends == "reply"
            Scan.__init__(self, sent.seq, 1, single=request.single or self._reply_follows)
            self.done = request.ends == "none"

    def control(self, message: Message) -> None:
        """An outcome: see the class."""
        if message.type == NLMSG_DONE and message.length == NLMSG_HDRLEN and self.protocol == NETLINK_AUDIT:
            return  # audit says nothing more at the end of a list
        # A message too short for an errno is no outcome, and there will be no other.
        ack = Acknowledgement(message)
        if ack.errno:
            if isinstance(self.request, Dump) and ack.errno in self.request.tolerated:
                return
            raise self.failure(ack)
        if ack.message:
            self.warning = ack.message
            log.warning("%r succeeded: %s", self.request or self.sent, ack.message)
        if self._reply_follows and message.type == NLMSG_ERROR:
            self.done = False
        elif self.flags & _INTERRUPTED == _INTERRUPTED:
            interrupted = DumpInterrupted()
            interrupted.request = self.request
            raise interrupted

    def failure(self, ack: Acknowledgement) -> NetlinkError:
        """The error for such an outcome."""
        return error_of(ack, self.sent, self.protocol, self.request)


class Series(Scan):
    """Requests sent together, with consecutive sequence numbers; each has its outcome.

    `errors` maps the position of a request to its error. Over when every request has
    had its outcome; or, where only the last asked for an acknowledgement
    (`acknowledged="last"`), at the last one's: those before it that reported no error
    succeeded. A transaction (`"transaction"`) is over at its last outcome too, or at
    an error of its first message, and per-message acknowledgements before that mean
    nothing; the message that commits it, which has no outcome, is not among `sent`.

    Iterating yields messages of data; `message.seq - series.seq` is the position.
    """

    def __init__(
        self,
        sent: Sequence[Message],
        protocol: int,
        requests: Sequence[Request[object] | None],
        *,
        acknowledged: Literal["each", "last", "transaction"] = "each",
    ) -> None:
        Scan.__init__(self, sent[0].seq, len(sent), plain=acknowledged != "each")
        self.sent = sent
        self.protocol = protocol
        self.requests = requests
        self.errors: dict[int, NetlinkError] = {}
        self.warnings: dict[int, str] = {}
        self._acknowledged = acknowledged
        self._outstanding = set() if acknowledged == "transaction" else set(range(len(sent)))

    def control(self, message: Message) -> None:
        """An outcome of one of the requests."""
        position = (message.seq - self.seq) % 2**32
        ack = Acknowledgement(message)
        if ack.errno:
            error = error_of(ack, self.sent[position], self.protocol, self.requests[position])
            self.errors.setdefault(position, error)
        elif ack.message:
            self.warnings[position] = ack.message
            log.warning("%r succeeded: %s", self.requests[position] or self.sent[position], ack.message)
        self._outstanding.discard(position)
        last = len(self.sent) - 1
        if self._acknowledged == "each":
            self.done = not self._outstanding
        else:
            self.done = position == last or (self._acknowledged == "transaction" and position == 0 and bool(ack.errno))

    def give_up(self) -> None:
        """Outcomes were lost (an overrun): those that have not come are unknown."""
        for position in self._outstanding - set(self.errors):
            overrun = Overrun()
            overrun.request = self.requests[position] or self.sent[position]
            self.errors[position] = overrun
        self.done = True


class Reply:
    """Whatever comes next on a socket: one datagram, or a multipart series.

    A series ends at its NLMSG_DONE, with DumpInterrupted if what it tells changed
    meanwhile. Acknowledgements are delivered as messages;
    `skip` is the sequence number of a series that was left before its end and
    is passed over.
    """

    def __init__(self, *, skip: int | None = None) -> None:
        self.done = False
        self.skip = skip
        self.multipart: int | None = None  # the sequence number of the series
        self._flags = 0

    def feed(self, datagram: bytes) -> Iterator[Message]:
        """The messages of the datagram. Raises NetlinkError where the kernel reports one."""
        passed_over = False
        for message in iter_messages(datagram):
            kind = message.type
            ends = kind == NLMSG_ERROR or (kind == NLMSG_DONE and message.flags & NLM_F_MULTI)
            if self.skip is not None and message.seq == self.skip:
                passed_over = True
                if ends:
                    self.skip = None
                continue
            self._flags |= message.flags
            if ends:
                self.done = True
                if kind == NLMSG_ERROR or message.length > NLMSG_HDRLEN:
                    ack = Acknowledgement(message)
                    if ack.errno:
                        raise error_of(ack)
                if kind == NLMSG_ERROR:
                    yield message
                elif self._flags & NLM_F_DUMP_INTR:
                    raise DumpInterrupted
                return
            if message.flags & NLM_F_MULTI:
                self.multipart = message.seq
            yield message
        self.done = self.multipart is None and not passed_over
