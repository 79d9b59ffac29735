"""Many messages as one datagram, which the kernel carries out together or not at all."""

from typing import Generic, Self, TypeVar

from ._core import Message, acknowledges, marshal_series, message_size
from .batch import padded
from .constants import NLM_F_ACK, NLM_F_REQUEST
from .errors import NetlinkError, Overrun
from .exchange import Series
from .pool import Pool
from .requests import Plan

T = TypeVar("T")

# What so many messages and bytes take has room in the buffers that a socket is born with.
_FEW = 64
_FEW_BYTES = 64 * 1024
# An error takes less than that of the receive buffer, with the kernel's overhead.
_ERROR = 1280


class AtOnce(Generic[T]):
    """A plan on a socket that is held inside `with`. How to wait is the caller's.

    Everything that the kernel answers waits in the receive buffer when `send` returns: it must
    hold an error for each message, though no more than one acknowledgement. So it is
    made as large as may be; what does not fit is lost, the acknowledgement at last.
    """

    def __init__(self, pool: Pool, plan: Plan[T]) -> None:
        self._pool = pool
        self._plan = plan
        self._overrun: Overrun | None = None
        self._series: Series | None = None
        self.done = False
        count = len(plan.messages)
        self._small = count <= _FEW and plan.room <= _FEW_BYTES and message_size(plan.messages) <= _FEW_BYTES
        self.socket = pool.take() if self._small else pool.open()
        try:
            if not self._small:
                # The kernel doubles what it is told, and counts its own overhead.
                room = self.socket.set_receive_buffer(count * _ERROR + plan.room)
                if room < 2 * plan.room:
                    plan.cramped()
            self._first = self.socket.sequence(count + 1)
        except BaseException:
            pool.drop(self.socket)
            raise

    def _sent(self) -> list[Message]:
        """Its messages, as they are sent: only the last asks for an acknowledgement."""
        first, port, last = self._first, self.socket.port, len(self._plan.messages) - 1
        return [
            message.sent(first + at, port, NLM_F_REQUEST | (NLM_F_ACK if at == last else 0))
            for at, message in enumerate(self._plan.messages)
        ]

    def _known(self) -> Series:
        if self._series is None:
            self._series = Series(self._sent(), self._pool.protocol, self._plan.requests, acknowledged="transaction")
        return self._series

    def send(self) -> None:
        plan, first, port = self._plan, self._first, self.socket.port
        count = len(plan.messages)
        if self._small:
            self.socket.send(marshal_series([*plan.messages, plan.closing], first, port, count - 1))
        else:
            closing = plan.closing.sent(first + count, port, NLM_F_REQUEST)
            self.socket.send_parts(padded([*self._known().sent, closing]))

    def fill(self) -> bool:
        """Take in what has arrived; False if nothing has."""
        try:
            data = self.socket.receive_now()
        except Overrun as overrun:
            self._pool.stats.overruns += 1
            self._overrun = overrun
            return True
        if data is not None:
            if self._series is None and data[1] is None:
                self.done = acknowledges(data[0], self._first + len(self._plan.messages) - 1)
                if self.done:  # as is the rule: nothing is made of it
                    return True
            series = self._known()
            series.feed(*data)
            while (message := series.take()) is not None:
                self._plan.answered((message.seq - series.seq) % 2**32, message)
            self.done = series.done
        elif self._overrun is not None or (self._series is not None and self._series.errors):
            # Its outcome was lost; or the kernel ran out of memory, and there will be no other than that. All that it
            # says is there as soon as it was sent.
            self.done = True
        return data is not None or self.done

    def result(self) -> T:
        """The result, or what became of it is raised."""
        if self._series is not None and self._series.errors:
            raise self._plan.failed(self._series.errors)
        if self._overrun is not None:
            raise self._overrun
        return self._plan.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, *_: object) -> None:
        for failure in (error, self._overrun):
            if isinstance(failure, NetlinkError):
                failure.request = self._plan.requests[0]
        if self._small and kind is None and self._overrun is None:
            self._pool.give(self.socket)
        else:
            self._pool.drop(self.socket)
        if self._series is not None:
            self._pool.stats.stale += self._series.stale
