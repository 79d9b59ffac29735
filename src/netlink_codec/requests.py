"""What to ask, as values that do no I/O: a connection runs them.

A `Request` has one answer, a `Dump` many, a `Watch` yields what happens. Each pairs
the message that is sent with how its answers are read.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, TypeVar

from ._core import Message

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Request(Generic[T_co]):
    """A question with one answer: `conn.do(request)` returns it, decoded.

    `message` is sent with NLM_F_REQUEST and NLM_F_ACK added. `decode` makes the result
    of the first message that answers it; without it the result is None, as for a
    change that is only acknowledged. What the answer is decoded from does not change
    afterwards, so a decoder may keep it.

    `ends` says how the kernel ends its answer: with an acknowledgement ("ack"), with
    the reply after it ("reply": audit), or not at all ("none"). `single` says that
    exactly one message answers, which saves the acknowledgement. `not_found` and
    `exists` are the errnos with which the kernel says that of this request.
    `doing` is a phrase for error messages: "add address 10.0.0.2/24".
    """

    __slots__ = ("decode", "doing", "ends", "exists", "message", "not_found", "single", "tolerated")

    def __init__(
        self,
        message: Message,
        decode: Callable[[Message], T_co] | None = None,
        *,
        ends: Literal["ack", "reply", "none"] = "ack",
        single: bool = False,
        not_found: Sequence[int] = (),
        exists: Sequence[int] = (),
        doing: str = "",
    ) -> None:
        self.message = message
        self.decode = decode
        self.ends = ends
        self.single = single
        self.not_found = tuple(not_found)
        self.exists = tuple(exists)
        self.doing = doing
        self.tolerated: tuple[int, ...] = ()

    def tolerate(self, *errnos: int) -> "Request[T_co | None]":
        """The same request, whose result is None where it fails with one of these errnos."""
        copy: Request[Any] = Request(
            self.message,
            self.decode,
            ends=self.ends,
            single=self.single,
            not_found=self.not_found,
            exists=self.exists,
            doing=self.doing,
        )
        copy.tolerated = (*self.tolerated, *errnos)
        return copy

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.doing or self.message!r}>"


class Dump(Request[T_co]):
    """A question with many answers: `conn.dump(dump)` streams them, `conn.collect(dump)` lists them.

    `decode` is given every message of the answer; one that it maps to None is left out,
    which is how a filter is applied on this side too.
    """

    __slots__ = ()

    def __init__(
        self,
        message: Message,
        decode: Callable[[Message], T_co | None],
        *,
        ends: Literal["ack", "reply"] = "ack",
        not_found: Sequence[int] = (),
        doing: str = "",
    ) -> None:
        super().__init__(message, decode, ends=ends, not_found=not_found, doing=doing)  # type: ignore[arg-type]


class Lost:
    """An event: `count` datagrams were dropped, since they came faster than they were read; None if unknown."""

    __slots__ = ("count",)
    __match_args__ = ("count",)

    def __init__(self, count: int | None) -> None:
        self.count = count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lost) and other.count == self.count

    def __hash__(self) -> int:
        return hash((Lost, self.count))

    def __repr__(self) -> str:
        return f"Lost({self.count})"


class Watch(Generic[T_co]):
    """What happens, as it happens: `conn.watch(watch)`.

    `groups` are multicast groups by number. `decode` is given each message and the
    number of its group; what it maps to None is left out.
    """

    __slots__ = ("decode", "groups")

    def __init__(self, groups: Sequence[int], decode: Callable[[Message, int], T_co | None]) -> None:
        self.groups = tuple(groups)
        self.decode = decode
