"""Many requests in few system calls, each with its own outcome."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self

from ._core import Message
from ._socket import Socket
from .constants import NLM_F_ACK, NLM_F_REQUEST
from .errors import BatchError, NetlinkError, Overrun
from .exchange import Series
from .lookups import Filling
from .pool import Pool
from .requests import Atomic, Dump, Procedure, Request, refused

# What is not read yet is bounded by the receive buffer: the default one holds 256 acknowledgements, or some
# 40 messages of data, of which an answer may be larger than most.
_ROOM = 100
_ROOM_OF_AN_ANSWER = 8
_MOST_BYTES = 64 * 1024

_NOT_ONE = (Dump, Procedure, Atomic)

Acknowledge = Literal["each", "last"]


def late(requests: Sequence[Request[Any]], errors: str) -> list[Request[Any]]:
    """Those that have late values; ValueError if there are some that no batch can have."""
    if errors not in ("raise", "return"):
        raise ValueError(f'errors is "raise" or "return", not {errors!r}')
    found = []
    for request in requests:
        if not isinstance(request, Request):
            raise refused(request)
        if isinstance(request, _NOT_ONE) or request.ends != "ack":
            why = "does not end with an acknowledgement"
            if isinstance(request, Procedure | Atomic):
                why = "takes several steps" if isinstance(request, Procedure) else "is one in itself"
            raise ValueError(f"{request!r} cannot be in a batch: it {why}")
        if not request.final:
            found.append(request)
    return found


def filled(requests: Sequence[Request[Any]], filling: Filling, results: list[Any]) -> Sequence[Request[Any] | None]:
    """What to send for each; None, and an error for a result, where a late value is not known."""
    if filling.empty:
        return requests
    made: list[Request[Any] | None] = []
    for position, request in enumerate(requests):
        try:
            made.append(filling.filled(request))
        except NetlinkError as error:
            results[position] = error
            made.append(None)
    return made


def parts(filled: Sequence[Request[Any] | None]) -> Iterator[list[int]]:
    """Positions of what is to be sent, in groups that one send and one round of reading can take."""
    group: list[int] = []
    room = size = 0
    for position, request in enumerate(filled):
        if request is None:
            continue
        length = request.message.length + 3 & ~3
        needed = 1 if request.decode is None else _ROOM_OF_AN_ANSWER
        if group and (room + needed > _ROOM or size + length > _MOST_BYTES):
            yield group
            group, room, size = [], 0, 0
        group.append(position)
        room += needed
        size += length
    if group:
        yield group


def prepare(socket: Socket, filled: Sequence[Request[Any]], acknowledge: Acknowledge) -> list[Message]:
    """What is sent for some requests."""
    first = socket.sequence(len(filled))
    last = len(filled) - 1
    return [
        request.message.replace(seq=0).sent(
            first + position,
            socket.port,
            NLM_F_REQUEST | (NLM_F_ACK if acknowledge == "each" or position == last else 0),
        )
        for position, request in enumerate(filled)
    ]


def padded(messages: Sequence[Message]) -> list[Message | bytes]:
    """The messages as the parts of one datagram: each but the last padded to 4 bytes."""
    pieces: list[Message | bytes] = []
    for message in messages:
        pieces.append(message)
        if message.length % 4:
            pieces.append(bytes(-message.length % 4))
    return pieces


class Part:
    """Some requests of a batch, on a socket of the pool that is held inside `with`. How to wait is the caller's.

    `results` are those of the whole batch, and `positions` the places of these.
    """

    def __init__(
        self,
        pool: Pool,
        requests: Sequence[Request[Any]],
        filled: Sequence[Any],
        positions: Sequence[int],
        acknowledge: Acknowledge,
        results: list[Any],
    ) -> None:
        self._pool = pool
        # Errors are those of the requests as they were given.
        given = [requests[position] for position in positions]
        self._filled = given if filled is requests else [filled[position] for position in positions]
        self._positions = positions
        self._results = results
        self._answered: set[int] = set()
        self._overrun = False
        self.socket = pool.take()
        try:
            self._sent = prepare(self.socket, self._filled, acknowledge)
            self._series = Series(self._sent, pool.protocol, given, acknowledged=acknowledge)
        except BaseException:
            pool.drop(self.socket)
            raise

    @property
    def done(self) -> bool:
        return self._series.done

    def send(self) -> None:
        self.socket.send_parts(padded(self._sent))

    def fill(self) -> bool:
        """Take in what has arrived; False if nothing has."""
        try:
            data = self.socket.receive_now()
        except Overrun:
            self._pool.stats.overruns += 1
            self._overrun = True
            return True
        if data is not None:
            self._series.feed(*data)
            while (message := self._series.take()) is not None:
                self._settle(message)
        elif self._overrun:
            self._series.give_up()
        return data is not None or self._overrun

    def _settle(self, message: Message) -> None:
        """An answer came: it is the result of its request, if the first."""
        position = (message.seq - self._series.seq) % 2**32
        decode = self._filled[position].decode
        if decode is not None and position not in self._answered:
            self._answered.add(position)
            self._results[self._positions[position]] = decode(message)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, *_: object) -> None:
        if isinstance(error, NetlinkError):
            # What went before is done, and its results are known.
            error.results = self._results
        if kind is not None or self._overrun:
            self._pool.drop(self.socket)
        else:
            self._pool.give(self.socket)
        self._pool.stats.stale += self._series.stale
        for position, failure in self._series.errors.items():
            self._results[self._positions[position]] = failure


def conclude(requests: Sequence[Request[Any]], results: list[Any], errors: Literal["raise", "return"]) -> list[Any]:
    """The results, or what is raised where one is an error."""
    failed = []
    for position, result in enumerate(results):
        if isinstance(result, NetlinkError):
            if result.errno in requests[position].tolerated:
                results[position] = None
            else:
                failed.append(result)
    if failed and errors == "raise":
        raise BatchError(f"{len(failed)} of {len(requests)} requests failed", failed, results)
    return results
