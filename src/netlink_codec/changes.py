"""What a watch yields: what happened, what was lost, and where the state comes again."""

from typing import Any, Generic, Literal, TypeVar

R_co = TypeVar("R_co", covariant=True)


class _Value:
    """Equal to another of its class whose fields are."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()

    def _fields(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((type(self), *self._fields()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._fields()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._fields()))})"


class Lost(_Value):
    """An event: `count` datagrams were dropped, since they came faster than they were read; None if unknown."""

    __slots__ = ("count",)
    __match_args__ = ("count",)

    def __init__(self, count: int | None) -> None:
        self.count = count


class Sync(_Value):
    """Around the state: all that is there comes between a "begin" and the next "end", as `New`.

    `lost` is how many datagrams were dropped before, as in `Lost`; 0 at the beginning of a watch, and where the
    kernel changed more than it tells. A "begin" without an "end" before the next one was in vain.
    """

    __slots__ = ("lost", "phase")
    __match_args__ = ("phase", "lost")

    def __init__(self, phase: Literal["begin", "end"], lost: int | None = 0) -> None:
        self.phase = phase
        self.lost = lost


class _Change(_Value, Generic[R_co]):
    __slots__ = ("old", "record")
    __match_args__ = ("record", "old")

    record: R_co

    def __repr__(self) -> str:
        record, old = self._fields()
        return f"{type(self).__name__}({record!r}{'' if old is None else f', {old!r}'})"


class New(_Change[R_co]):
    """An event: `record` is there. It is new, or has changed, where the watch does not keep track."""

    __slots__ = ()

    def __init__(self, record: R_co, old: None = None) -> None:
        self.record = record
        self.old = old


class Changed(_Change[R_co]):
    """An event: `record` has changed; it was `old`, where that is known."""

    __slots__ = ()

    def __init__(self, record: R_co, old: R_co | None = None) -> None:
        self.record = record
        self.old = old


class Deleted(_Change[R_co]):
    """An event: `record`, as the kernel told it, is gone; it was `old`, where that is known."""

    __slots__ = ()

    def __init__(self, record: R_co, old: R_co | None = None) -> None:
        self.record = record
        self.old = old


class Again(_Value):
    """What a decoder makes of a message that says less than has changed: the state is told again, once all that has
    arrived is told. `event` is what it does say, None if nothing."""

    __slots__ = ("event",)
    __match_args__ = ("event",)

    def __init__(self, event: Any = None) -> None:
        self.event = event
