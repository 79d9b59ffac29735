"""What happens to the ruleset, by who changed it, all at once or one by one; and what packets meet."""

from collections.abc import Callable
from typing import Any

from .._core import Message
from ..nfnetlink import NFNLGRP
from ..records import Record, reader
from ..requests import Deleted, Dump, New, Watch
from .enums import MSG
from .lists import chains, flowtables, objects, rules, sets, tables
from .ruleset import Chain, Flowtable, Generation, Named, Object, Rule, Table, Trace
from .sets import RawElements, Set

Decode = Callable[[Message], Any]

_TYPES: tuple[tuple[type[Record], int, tuple[int, ...]], ...] = (
    (Table, MSG.NEWTABLE, (MSG.DELTABLE, MSG.DESTROYTABLE)),
    (Chain, MSG.NEWCHAIN, (MSG.DELCHAIN, MSG.DESTROYCHAIN)),
    (Rule, MSG.NEWRULE, (MSG.DELRULE, MSG.DESTROYRULE)),
    (Set, MSG.NEWSET, (MSG.DELSET, MSG.DESTROYSET)),
    (RawElements, MSG.NEWSETELEM, (MSG.DELSETELEM, MSG.DESTROYSETELEM)),
    (Object, MSG.NEWOBJ, (MSG.DELOBJ, MSG.DESTROYOBJ)),
    (Flowtable, MSG.NEWFLOWTABLE, (MSG.DELFLOWTABLE, MSG.DESTROYFLOWTABLE)),
)
_EVENTS: dict[int, tuple[type, Decode]] = {}
for _record, _new, _gone in _TYPES:
    _EVENTS[_new] = New, reader(_record, _new)
    for _type in _gone:
        _EVENTS[_type] = Deleted, reader(_record, _type)
_GENERATION = reader(Generation, MSG.NEWGEN)


class Commit:
    """One transaction that somebody made: `generation` says which, and who; None if that was lost.

    `changes` are New and Deleted records, in their order: Table, Chain, Rule, Set, Object,
    Flowtable, and RawElements. Of these, `read_elements` makes elements: of all that are New of one set at once, and
    of all that are Deleted, since an interval comes in two.
    """

    __slots__ = ("changes", "generation")
    __match_args__ = ("generation", "changes")

    def __init__(self, generation: Generation | None, changes: "tuple[New[Any] | Deleted[Any], ...]") -> None:
        self.generation = generation
        self.changes = changes

    def __repr__(self) -> str:
        return f"Commit({self.generation!r}, {self.changes!r})"


class _Grouping:
    """The changes until the message that says which generation they made."""

    def __init__(self) -> None:
        self._changes: list[Any] = []

    def __call__(self, message: Message, group: int) -> Commit | None:
        generation = _GENERATION(message)
        before = None
        if generation is None:
            event = _decode(message, group)
            if event is None:
                return None
            if self._changes and _of(self._changes[-1].record) != _of(event.record):
                before = self._taken(None)
            self._changes.append(event)
            return before
        return self._taken(generation)

    def _taken(self, generation: Generation | None) -> Commit:
        changes, self._changes = self._changes, []
        return Commit(generation, tuple(changes))


def _of(record: Named) -> int:
    """The lower half of the number of the generation that a change belongs to."""
    return record.res_id


def _decode(message: Message, group: int) -> Any:
    event, decode = _EVENTS.get(message.type, (None, None))
    if event is None or decode is None:
        return None
    return event(decode(message))


class _Grouped(Watch[Commit]):
    __slots__ = ()

    def decoder(self) -> Callable[[Message, int], Commit | None]:
        return _Grouping()


def watch(*, receive_buffer: int | None = None) -> Watch[Commit]:
    """What happens to the ruleset: a Commit for each transaction, with all its changes.

    A large one is easily `Lost` in part, unless `receive_buffer` (bytes) is large too.
    """
    return _Grouped([NFNLGRP.NFTABLES], _Grouping(), receive_buffer=receive_buffer)


def watch_each(
    *what: type[Record], initial: bool = False, track: bool = False, receive_buffer: int | None = None
) -> Watch[Any]:
    """What happens to Table, Chain, Rule, Set, Object, Flowtable, one by one: `New` and `Deleted`.

    All of these, if none is named. With `initial` what is there already comes first; with `track`, what changes is told
    from what is new. See `Watch`.
    """
    lists: dict[type[Record], Any] = {
        Table: tables(),
        Chain: chains(),
        Set: sets(),
        Object: objects(),
        Flowtable: flowtables(),
        Rule: rules(),
    }
    wanted = what or tuple(lists)
    unknown = set(wanted) - set(lists)
    if unknown:
        raise TypeError(f"what to watch is some of {', '.join(record.__name__ for record in lists)}")

    def decode(message: Message, group: int) -> Any:
        event = _decode(message, group)
        if event is None or not isinstance(event.record, wanted):
            return None
        return type(event)(_timeless(event.record)) if track else event

    dumps = [_of_timeless(dump) if track else dump for record, dump in lists.items() if record in wanted]
    return Watch([NFNLGRP.NFTABLES], decode, resync=dumps, initial=initial, track=track, receive_buffer=receive_buffer)


def _timeless(record: Any) -> Any:
    """Without the generation, and without the rule before, which not all messages tell: equal if nothing changed."""
    return record.replace(res_id=0, position=None) if isinstance(record, Rule) else record.replace(res_id=0)


def _of_timeless(dump: Dump[Any]) -> Dump[Any]:
    decode: Any = dump.decode

    def without(message: Message) -> Any:
        record = decode(message)
        return None if record is None else _timeless(record)

    return Dump(dump.message, without, doing=dump.doing)


def trace(*, receive_buffer: int | None = None) -> Watch[Trace]:
    """What packets meet for which a rule has `set_meta("nftrace", 1)`."""
    decode = reader(Trace, MSG.TRACE)
    return Watch([NFNLGRP.NFTRACE], lambda message, group: decode(message), receive_buffer=receive_buffer)
