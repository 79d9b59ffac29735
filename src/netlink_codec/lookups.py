"""Finding out late values, and putting them into messages; who asks for them is the connection."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from ._core import Message
from .errors import NetlinkError
from .late import Asked, Late, Namespace
from .requests import Request

if TYPE_CHECKING:
    from .netns import NetNS

R = TypeVar("R", bound=Request[Any])


class Lookup(NamedTuple):
    """Requests of one protocol, and the values that their results are."""

    protocol: int
    values: list[Asked]
    requests: list[Request[int]]


class Filling:
    """The late values of some requests.

    What `lookups` yields is to be asked, and `learn` to be told its results, an error being
    one too. Then `filled` makes what is sent. A namespace is open from then until the end of
    the `with` block.
    """

    def __init__(self, requests: Sequence[Request[Any]]) -> None:
        self.empty = not requests
        """Whether no message has a late value."""
        self._known: dict[Late, int | NetlinkError] = {}
        self._open: list[NetNS] = []
        self._wanted = [
            value
            for value in dict.fromkeys(value for request in requests for value in request.late)
            if isinstance(value, Asked)
        ]

    def __bool__(self) -> bool:
        """Whether there is something to ask."""
        return bool(self._wanted)

    def lookups(self) -> Iterator[Lookup]:
        for protocol in dict.fromkeys(value.protocol for value in self._wanted):
            values = [value for value in self._wanted if value.protocol == protocol]
            yield Lookup(protocol, values, [_request(value) for value in values])

    def learn(self, values: Sequence[Asked], results: Sequence["int | NetlinkError"]) -> None:
        """What was asked of these has brought this."""
        for value, result in zip(values, results, strict=True):
            self._known[value] = (
                _copy(result, f"{value}: {result.strerror}") if isinstance(result, NetlinkError) else result
            )

    def filled(self, request: R) -> R:
        """What to send for one of the requests; NotFound, or another error, where a value could not be found out."""
        if request.final:
            return request
        message: object = request.make(*self.values(request))
        if not isinstance(message, Message):
            raise TypeError(f"{request!r} made no Message, but {type(message).__name__}")
        return request.filled(message)

    def values(self, request: Request[Any]) -> list[Any]:
        """The late values of one of the requests; NotFound, or another error, as above."""
        values = [self._value(value) for value in request.late]
        for value in values:
            if isinstance(value, NetlinkError):
                # Several requests may fail for the same reason.
                error = _copy(value, value.strerror)
                error.request = request
                raise error
        return values

    def _value(self, value: Late) -> "int | NetlinkError":
        if isinstance(value, Namespace) and value not in self._known:
            try:
                self._open.append(value.open())
            except NetlinkError as error:
                self._known[value] = error
            else:
                self._known[value] = self._open[-1].fileno()
        return self._known[value]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for namespace in self._open:
            namespace.close()


@lru_cache(maxsize=256)
def _request(value: Asked) -> Request[int]:
    doing, record = f"look up {value}", value.record
    return Request(value.question(), value.value, single=True, not_found=[value.missing], doing=doing, record=record)


def _copy(error: NetlinkError, strerror: str | None) -> NetlinkError:
    """The same error with this text."""
    copy = type(error)(error.errno or 0, strerror)
    copy.__dict__.update(error.__dict__)
    return copy
