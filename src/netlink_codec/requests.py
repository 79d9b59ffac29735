"""What to ask, as values that do no I/O: a connection runs them.

A `Request` has one answer, a `Dump` many, a `Watch` yields what happens, a `Procedure` is
several steps. Each but the last pairs the message that is sent with how its answers are read.
"""

from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeAlias, TypeVar, overload

from ._core import Message
from .changes import Changed as Changed
from .changes import Deleted as Deleted
from .changes import Lost as Lost
from .changes import New as New
from .changes import Sync as Sync
from .errors import NetlinkError
from .late import Device as Device
from .late import Family as Family
from .late import Late as Late
from .late import Namespace as Namespace

T = TypeVar("T")
R = TypeVar("R")
T_co = TypeVar("T_co", covariant=True)


class Request(Generic[T_co]):
    """A question with one answer: `conn.do(request)` returns it, decoded.

    `message` is sent with NLM_F_REQUEST and NLM_F_ACK added. `decode` makes the result
    of the first message that answers it; without it the result is None, as for a
    change that is only acknowledged. What the answer is decoded from does not change
    afterwards, so a decoder may keep it.

    With `late`, values that only a connection can know (`Device`, `Family`, `Namespace`),
    `message` is a function that makes the message of them, in their order, each time
    that it is sent; `make` is that function, and there is no `message`. The request
    fails with NotFound where nothing has such a name.

    `ends` says how the kernel ends its answer: with an acknowledgement ("ack"), with
    the reply after it ("reply": audit), or not at all ("none"). `single` says that
    exactly one message answers, which saves the acknowledgement. `not_found` and
    `exists` are the errnos with which the kernel says that of this request.
    `doing` is a phrase for error messages: "add address 10.0.0.2/24"; or, where it takes time
    to make, an object whose `str` it is. `record` is a class
    whose `path_names` says in them what a path of attribute types is called.
    """

    __slots__ = (
        "decode",
        "doing",
        "ends",
        "exists",
        "final",
        "late",
        "make",
        "message",
        "not_found",
        "record",
        "single",
        "tolerated",
    )

    many: ClassVar[bool] = False
    """Whether many messages answer."""

    def __init__(
        self,
        message: Message | Callable[..., Message],
        decode: Callable[[Message], T_co] | None = None,
        *,
        late: Sequence[Late] = (),
        ends: Literal["ack", "reply", "none"] = "ack",
        single: bool = False,
        not_found: Sequence[int] = (),
        exists: Sequence[int] = (),
        doing: object = "",
        record: type | None = None,
    ) -> None:
        self.late = tuple(late) if late else ()
        self.final = not late
        """Whether it can be sent as it is."""
        if isinstance(message, Message):
            self.message = message
            if late:
                raise TypeError("what has late values is given a function that makes its message")
        elif late:
            self.make: Callable[..., Any] = message
        else:
            raise TypeError(f"without late values, a message is a Message, not {type(message).__name__}")
        self.decode = decode
        self.ends = ends
        self.single = single
        self.not_found = tuple(not_found)
        self.exists = tuple(exists)
        self.doing = doing
        self.record = record
        self.tolerated: tuple[int, ...] = ()

    def tolerate(self, *errnos: int) -> "Request[T_co | None]":
        """The same request, whose result is None where it fails with one of these errnos."""
        copy = self._copy()
        copy.tolerated = (*self.tolerated, *errnos)
        return copy

    def _copy(self) -> Self:
        copy = object.__new__(type(self))
        state: Any = self.__getstate__()
        for part in state:
            for name, value in (part or {}).items():
                setattr(copy, name, value)
        return copy

    def filled(self, message: Message) -> Self:
        """What to send: the same request with the message that its late values make.

        A subclass may make more of them here, a decoder that needs them, say.
        """
        filled = object.__new__(type(self))
        for name in _SETTINGS:
            setattr(filled, name, getattr(self, name))
        filled.message, filled.late, filled.final = message, (), True
        return filled

    def _described(self) -> str:
        return str(self.doing) or (repr(self.message) if self.final else f"of {', '.join(map(repr, self.late))}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._described()}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            text = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name == "message":
                text += ", but makes it when it is sent: see `make`"
            raise AttributeError(text)


class Dump(Request[T_co]):
    """A question with many answers: `conn.dump(dump)` streams them, `conn.collect(dump)` lists them.

    `decode` is given every message of the answer; one that it maps to None is left out,
    which is how a filter is applied on this side too.
    """

    __slots__ = ()

    many: ClassVar[bool] = True

    def __init__(
        self,
        message: Message | Callable[..., Message],
        decode: Callable[[Message], T_co | None],
        *,
        late: Sequence[Late] = (),
        ends: Literal["ack", "reply"] = "ack",
        not_found: Sequence[int] = (),
        doing: object = "",
        record: type | None = None,
    ) -> None:
        super().__init__(
            message,
            decode,  # type: ignore[arg-type]
            late=late,
            ends=ends,
            not_found=not_found,
            doing=doing,
            record=record,
        )

    def tolerate(self, *errnos: int) -> "Dump[T_co]":
        """The same dump, which just ends where it fails with one of these errnos."""
        copy = self._copy()
        copy.tolerated = (*self.tolerated, *errnos)
        return copy


_SETTINGS = tuple(name for name in Request.__slots__ if name not in ("final", "late", "make", "message"))


class Unfolding(Generic[T_co]):
    """How the messages of one answer become results, which are not one a message."""

    def feed(self, message: Message) -> Iterable[T_co]:
        """What this message brings."""
        raise NotImplementedError

    def rest(self) -> Iterable[T_co]:
        """What is there to tell once all messages have come."""
        return ()


class Folded(Dump[T_co]):
    """A dump whose results are not one a message. `unfolding` is asked, with the late values, at each run."""

    __slots__ = ("unfolding",)

    def __init__(
        self,
        message: Message | Callable[..., Message],
        unfolding: Callable[..., Unfolding[T_co]],
        *,
        late: Sequence[Late] = (),
        not_found: Sequence[int] = (),
        doing: object = "",
        record: type | None = None,
    ) -> None:
        super().__init__(message, _folded, late=late, not_found=not_found, doing=doing, record=record)
        self.unfolding = unfolding

    def opened(self, values: Sequence[Any]) -> "tuple[Dump[Iterable[T_co]], Unfolding[T_co]]":
        """A dump of what each message brings, for one run of it, and what tells the rest."""
        unfolding = self.unfolding(*values)
        dump: Dump[Iterable[T_co]] = Dump(
            self.message if self.final else self.make(*values),
            unfolding.feed,
            not_found=self.not_found,
            doing=self.doing,
            record=self.record,
        )
        return dump.tolerate(*self.tolerated) if self.tolerated else dump, unfolding


def _folded(message: Message) -> Any:
    raise TypeError("such a dump is run by `dump` or `collect`")


class Plan(Generic[T_co]):
    """What an Atomic sends, and what it makes of the answers.

    `messages` are sent as one datagram, `closing` behind them; all but the last go without
    an acknowledgement. `requests` are what each of them is for, in the text of its error.
    `room` is how many bytes of answers are to be expected.
    """

    messages: Sequence[Message]
    requests: Sequence["Request[Any] | None"]
    closing: Message
    room: int = 0

    def answered(self, position: int, message: Message) -> None:
        """A message of data came, for the message at this position."""

    def cramped(self) -> None:
        """There is not so much room: ask for less."""

    def failed(self, errors: dict[int, NetlinkError]) -> Exception:
        """What is raised for these errors, by position. Nothing was done."""
        raise NotImplementedError

    def result(self) -> T_co:
        raise NotImplementedError


class Atomic(Request[T_co]):
    """Messages that the kernel carries out together, or not at all."""

    __slots__ = ()

    def __init__(self, *, late: Sequence[Late] = (), doing: str = "") -> None:
        self.late = tuple(late)
        self.final = False
        self.decode = None
        self.ends = "ack"
        self.single = False
        self.not_found = self.exists = self.tolerated = ()
        self.doing = doing
        self.record = None

    def plan(self, *late: Any) -> Plan[T_co]:
        """What is sent, made of the late values at each run."""
        raise NotImplementedError

    def _described(self) -> str:
        return str(self.doing)


Step: TypeAlias = "Request[Any] | Sequence[Request[Any]]"


class Procedure(Request[T_co]):
    """Several steps with one result: `conn.do(procedure)` returns it.

    `make()` returns a generator. Of each Request that it yields it is sent the result, of
    each Dump what `conn.collect` lists, of each list of requests what `conn.batch` returns;
    what these raise is raised at the yield. What the generator returns is the result.
    A step may be a procedure too. All steps share one timeout.

    Each `do` makes a generator anew, and closes it at its end, whatever that is: where the
    caller is cancelled or interrupted, nothing more that it yields is done.
    """

    __slots__ = ()

    def __init__(self, make: Callable[[], Generator[Step, Any, T_co]], *, doing: str = "") -> None:
        if not callable(make):
            raise TypeError(f"a procedure is made of a function that returns a generator, not {type(make).__name__}")
        self.late = ()
        self.final = False
        self.make = make
        self.decode = None
        self.ends = "ack"
        self.single = False
        self.not_found = self.exists = ()
        self.doing = doing
        self.record = None
        self.tolerated = ()

    def _described(self) -> str:
        return str(self.doing) or repr(self.make)


class Watch(Generic[T_co]):
    """What happens, as it happens: `conn.watch(watch)`.

    `groups` are multicast groups by number. `decode` is given each message and the
    number of its group; what it maps to None is left out.

    `resync` are dumps that tell the state. With them, `decode` returns `New`, `Changed` or
    `Deleted`, and after each loss the watch yields `Lost`, `Sync("begin")`, what the dumps bring as
    `New`, and `Sync("end")`; with `initial` it begins so too. Dumps that are interrupted are
    run again.

    Then comes what happened since the dumps began, in the kernel's order. It may
    be older than what a dump told of the same thing, so that an older record, or one that is
    gone again, comes after a newer one; but whatever happened to it last comes last. So the
    state is right as soon as all that happened has been read, and nothing that
    is gone stays.

    `track` keeps the last record of each thing, and so tells `New` from `Changed`, says in `old`
    what was before, leaves out what is equal to what is known, and yields `Deleted` for
    what a dump does not bring any more. Between `Sync("begin")` and `Sync("end")` there are then
    only differences. What `track` has never seen is `New`, so it goes with `initial`.
    `identity` maps a record to what makes it the same thing; by default its class and its
    `identity`.

    Where a message says that more happened than it tells, `decode` may return `changes.Again(event)`: the event,
    if any, is told, and the state comes again.

    `receive_buffer` is how many bytes of events may wait in the kernel (SO_RCVBUFFORCE, or as
    many as net.core.rmem_max allows); None leaves it at net.core.rmem_default.
    """

    __slots__ = ("decode", "groups", "identity", "initial", "receive_buffer", "resync", "track")

    @overload
    def __init__(
        self,
        groups: Sequence[int],
        decode: Callable[[Message, int], T_co | None],
        *,
        receive_buffer: int | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self: "Watch[New[R] | Changed[R] | Deleted[R] | Sync]",
        groups: Sequence[int],
        decode: Callable[[Message, int], New[R] | Changed[R] | Deleted[R] | None],
        *,
        resync: Sequence[Dump[R]],
        initial: bool = False,
        track: bool = False,
        identity: Callable[[R], Hashable] | None = None,
        receive_buffer: int | None = None,
    ) -> None: ...

    def __init__(
        self,
        groups: Sequence[int],
        decode: Callable[[Message, int], Any],
        *,
        resync: Sequence[Dump[Any]] = (),
        initial: bool = False,
        track: bool = False,
        identity: Callable[[Any], Hashable] | None = None,
        receive_buffer: int | None = None,
    ) -> None:
        if not resync and (initial or track):
            raise ValueError("a watch that tells the state is given dumps, `resync`, that bring it")
        self.groups = tuple(groups)
        self.decode = decode
        self.resync: tuple[Dump[Any], ...] = tuple(resync)
        self.initial = initial
        self.receive_buffer = receive_buffer
        self.track = track
        self.identity: Callable[[Any], Hashable] = _identity if identity is None else identity

    def decoder(self) -> Callable[[Message, int], T_co | None]:
        """What decodes for one listener: `decode`, but for a subclass that must remember what came before."""
        return self.decode


def _identity(record: Any) -> Hashable:
    return type(record), record.identity


def refused(given: object) -> TypeError:
    """The error for what was given in the place of a request."""
    if isinstance(given, Dump):
        return TypeError(f"{given!r} has many answers: run it by `dump` or `collect`")
    return TypeError(f"a Request is wanted, not {given!r}{' (call it)' if callable(given) else ''}")
