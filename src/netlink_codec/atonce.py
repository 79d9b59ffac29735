"""Many messages as one datagram, which the kernel carries out together or not at all."""

from typing import Generic, Self, TypeVar

from ._core import marshal_messages, message_size
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
        count = len(plan.messages)
        self._small = count <= _FEW and plan.room <= _FEW_BYTES and message_size(plan.messages) <= _FEW_BYTES
        self.socket = pool.take() if self._small else pool.open()
        try:
            if not self._small:
                # The kernel doubles what it is told, and counts its own overhead.
                room = self.socket.set_receive_buffer(count * _ERROR + plan.room)
                if room < 2 * plan.room:
                    plan.cramped()
            first = self.socket.sequence(count + 1)
            last = count - 1
            self._sent = [
                message.sent(first + at, self.socket.port, NLM_F_REQUEST | (NLM_F_ACK if at == last else 0))
                for at, message in enumerate(plan.messages)
            ]
            self._closing = plan.closing.sent(first + count, self.socket.port, NLM_F_REQUEST)
            self._series = Series(self._sent, pool.protocol, plan.requests, acknowledged="transaction")
        except BaseException:
            pool.drop(self.socket)
            raise

    @property
    def done(self) -> bool:
        return self._series.done

    def send(self) -> None:
        messages = [*self._sent, self._closing]
        if self._small:
            self.socket.send(marshal_messages(messages))
        else:
            self.socket.send_parts(padded(messages))

    def fill(self) -> bool:
        """Take in what has arrived; False if nothing has."""
        try:
            data = self.socket.receive_now()
        except Overrun as overrun:
            self._pool.stats.overruns += 1
            self._overrun = overrun
            return True
        if data is not None:
            self._series.feed(*data)
            while (message := self._series.take()) is not None:
                self._plan.answered((message.seq - self._series.seq) % 2**32, message)
        elif self._overrun is not None or self._series.errors:
            # Its outcome was lost; or the kernel ran out of memory, and there will be no other than that. All that it
            # says is there as soon as it was sent.
            self._series.done = True
        return data is not None or self._series.done

    def result(self) -> T:
        """The result, or what became of it is raised."""
        errors = self._series.errors
        if errors:
            raise self._plan.failed(errors)
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
        self._pool.stats.stale += self._series.stale
