"""Changes, and transactions of them: one datagram, which the kernel carries out as a whole or not at all."""

import errno
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

from .._core import AttributeEncoder, Message
from ..constants import NLM_F_ECHO
from ..errors import BatchError, NetlinkError
from ..late import Device
from ..records import Record, reader
from ..requests import Atomic, Plan, Request
from .blame import culprit
from .enums import MSG
from .ruleset import Generation
from .sets import RawElements, Set
from .spelling import GONE, NamedSet

Wanted = NamedSet | Device
"""What a connection looks up before a change is made."""

_NFGENMSG = struct.Struct(">BBH")
_SUBSYSTEM = 10
_BATCH_GENID = 1
_OPENING = Message(MSG.BATCH_BEGIN, 0, _NFGENMSG.pack(0, 0, _SUBSYSTEM))
_CLOSING = Message(MSG.BATCH_END, 0, _NFGENMSG.pack(0, 0, _SUBSYSTEM))
# What a message of the answer takes of a receive buffer beside its own bytes.
_OVERHEAD = 512


class GenerationMoved(NetlinkError):
    """Somebody else changed the ruleset since the generation that the transaction was made for. Nothing was done."""

    def __init__(self, errno_: int = errno.ERESTART, strerror: str | None = None) -> None:
        super().__init__(errno_, strerror or "the ruleset has changed meanwhile")


def _opening(genid: int) -> Message:
    encoder = AttributeEncoder(_NFGENMSG.pack(0, 0, _SUBSYSTEM), byteorder="big")
    encoder.u32(_BATCH_GENID, genid)
    return Message(MSG.BATCH_BEGIN, 0, encoder)


class Result:
    """What a transaction has brought about."""

    def __init__(self, generation: int | None, records: "dict[Change, Any]") -> None:
        self.generation = generation
        """The state that it made. None where the kernel did not say: of a transaction without `genid` that is empty, or
        whose first change flushes, deletes, or adds elements."""
        self.records = records
        """What was added, as the kernel tells it: Table, Chain, Rule, … by change."""

    @cached_property
    def handles(self) -> "dict[Change, int]":
        """Of what was added."""
        return {change: record.handle for change, record in self.records.items()}

    def __repr__(self) -> str:
        return f"<Result generation={self.generation}, {len(self.records)} handles>"


class Change(Atomic[Result]):
    """One change to the ruleset: `conn.do(change)`, or as a part of a `Transaction`."""

    __slots__ = ("messages", "sets")

    def __init__(
        self,
        doing: str,
        messages: "Callable[[Assembly, Change], Iterable[Message]]",
        *,
        record: type[Record] | None = None,
        sets: Sequence[Wanted | Set] = (),
        not_found: Sequence[int] = GONE,
    ) -> None:
        self.sets = tuple(sets) if sets else ()
        """Sets that must be known, or are made; and devices."""
        self.messages = messages
        wanted: dict[Wanted, None] = {}
        if sets:
            _unknown([self], wanted, set())
        super().__init__(late=tuple(wanted), doing=doing)
        self.record = record
        self.not_found = tuple(not_found)

    def plan(self, *known: Any) -> "Assembly":
        return Assembly([self], None, True, self, known)


class Transaction(Atomic[Result]):
    """Changes that are made together, or not at all: `conn.do(Transaction([…]))`.

    They are made in their order, and each sees what those before it have done. If one
    fails, nothing is changed: BatchError has an error for each that failed, and says
    whose it is. `genid` is the generation for which they were thought out
    (`generation()`): where it is another by now, that is GenerationMoved.

    `handles=False` does without the handles of what is added, which saves time if it is a lot. They are left
    out too where they would not fit into the receive buffer, which net.core.rmem_max bounds, but for
    CAP_NET_ADMIN outside user namespaces.

    An interval or a key means what its set makes of it, so a set that is named by a
    str is looked up first, but if it is added by the transaction itself.
    """

    __slots__ = ("_made", "_wanted", "changes", "genid", "handles")

    def __init__(self, changes: Iterable[Change] = (), *, genid: int | None = None, handles: bool = True) -> None:
        super().__init__()
        if isinstance(changes, Change):
            raise TypeError(f"a transaction is made of a list of changes; {changes!r} alone can be done as well")
        if genid is not None and not isinstance(genid, int):
            raise TypeError(f"a generation is a number, not {genid!r}")
        if genid is not None and not 0 <= genid < 1 << 32:
            raise ValueError(f"{genid} is out of range for the number of a generation")
        self.changes: list[Change] = []
        self.genid = genid
        self.handles = handles
        self._wanted: dict[Wanted, None] = {}
        self._made: set[tuple[Any, ...]] = set()
        self.add(*changes)

    def add(self, *changes: Change) -> None:
        """More of them, to be made after the others."""
        for change in changes:
            if not isinstance(change, Change):
                raise TypeError(f"{change!r} is not a change")
        self.changes += changes
        if any(change.sets for change in changes):
            _unknown(changes, self._wanted, self._made)
            self.late = tuple(self._wanted)
        count = len(self.changes)
        self.doing = self.changes[0].doing if count == 1 else f"transaction of {count} changes"

    def plan(self, *known: Any) -> "Assembly":
        return Assembly(self.changes, self.genid, self.handles, self, known)


def _unknown(changes: Iterable[Change], wanted: dict[Wanted, None], made: set[tuple[Any, ...]]) -> None:
    """Add what must be looked up: devices, and the sets that no change before makes."""
    for change in changes:
        for one in change.sets:
            if isinstance(one, Set):
                made.add((one.family, one.table, one.name))
            elif isinstance(one, Device) or (one.family, one.table, one.set) not in made:
                wanted[one] = None


class Assembly(Plan[Result]):
    """A transaction that is put together, and what becomes of it."""

    def __init__(
        self,
        changes: Sequence[Change],
        genid: int | None,
        echo: bool,
        whole: Request[Result],
        known: Sequence[Any],
    ) -> None:
        self._whole = whole
        self._changes = changes
        self._genid = genid
        self._numbers = 0
        self._ids: dict[object, int] = {}
        self._answers: dict[int, Message] = {}
        self._generation: int | None = None
        self.sets: dict[tuple[Any, ...], Set] = {}
        """What is known of them."""
        self.given: list[Set] = []
        """Those that changes to their elements were given."""
        self.devices: dict[Device, int] = {}
        """Their indices."""
        for late, found in zip(whole.late, known, strict=False):
            if isinstance(late, Device):
                self.devices[late] = found
            else:
                self.sets[found.family, found.table, found.name] = found
        self.own: dict[int, Set] = {}
        """Those that rules have for themselves, by their numbers."""
        self.closing = _CLOSING
        self.messages = messages = [_OPENING if genid is None else _opening(genid)]
        self.requests: list[Request[Any] | None] = [whole]
        self._owners: list[Change | None] = [None]
        self.room = 0
        for change in changes:
            for one in change.sets:
                if isinstance(one, Set):
                    self.sets[one.family, one.table, one.name] = one
            for message in change.messages(self, change):
                kind, flags = message.type, message.flags
                if kind == _NEWSET and len(messages) == 1:
                    # The set that a rule has for itself.
                    flags |= NLM_F_ECHO
                    message = message.replace(flags=flags)
                if flags & NLM_F_ECHO:
                    if echo or len(messages) == 1:  # the first brings the generation, too
                        self.room += message.length + _OVERHEAD
                    else:
                        message = message.replace(flags=flags & ~NLM_F_ECHO)
                messages.append(message)
                self.requests.append(_speaking_of(change, message) if kind in _SETS else change)
                self._owners.append(change)
        if len(messages) == 1:
            self.messages = []

    def number(self, what: object = None) -> int:
        """A number by which what the transaction makes is known inside it."""
        if what is None or what not in self._ids:
            self._numbers += 1
            self._ids[self._numbers if what is None else what] = self._numbers
            return self._numbers
        return self._ids[what]

    def number_of(self, change: "Change") -> int:
        """The number of what a change before this one makes."""
        if change not in self._ids:
            raise ValueError(f"{change.doing!r} is not in this transaction, before what refers to it")
        return self._ids[change]

    def cramped(self) -> None:
        self.messages = [
            message.replace(flags=message.flags & ~NLM_F_ECHO) if position > 1 else message
            for position, message in enumerate(self.messages)
        ]

    def answered(self, position: int, message: Message) -> None:
        if message.type == MSG.NEWGEN:
            self._generation = Generation.from_message(message).id
        else:
            self._answers.setdefault(position, message)

    def result(self) -> Result:
        records: dict[Change, Any] = {}
        for position, message in self._answers.items():
            owner = self._owners[position]
            if owner is not None and owner.record is not None:
                record = reader(owner.record)(message)
                if record is not None:
                    records[owner] = record
        generation = self._generation
        if generation is None and self._genid is not None and self.messages:
            generation = self._genid % 0xFFFFFFFF + 1
        return Result(generation, records)

    def _set_of(self, some: RawElements) -> Set | None:
        own = None if some.set_id is None else self.own.get(some.set_id)
        place = some.family, some.table, some.set
        given = (one for one in self.given if (one.family, one.table, one.name) == place)
        return own or self.sets.get(place) or next(given, None)

    def failed(self, errors: dict[int, NetlinkError]) -> Exception:
        first = errors.get(0)
        if first is not None:
            if first.errno != errno.ERESTART:
                return first
            moved = GenerationMoved()
            moved.request = self._whole
            return moved
        for position, error in errors.items():
            if error.offset is not None and error.hint is None and position < len(self.messages):
                error.hint = culprit(self.messages[position], error.offset, self._set_of)
        if isinstance(self._whole, Change):
            only = next(iter(errors.values()))
            only.request = self._whole
            return only
        # By change, of which each has one: what a set lacks, it lacks for all its elements.
        found: dict[Change, NetlinkError] = {}
        for position, error in sorted(errors.items()):
            owner = self._owners[position]
            if owner is not None:
                error.request = owner
                found.setdefault(owner, error)
        results = [found.get(change) for change in self._changes]
        text = f"{len(found)} of {len(self._changes)} changes failed, and nothing was changed"
        return BatchError(text, list(found.values()), results)


_NEWSET = int(MSG.NEWSET)
_SETS = {_NEWSET: Set, int(MSG.NEWSETELEM): RawElements}


def _speaking_of(change: Change, message: Message) -> Change:
    """The change, or, for a message about a set that its rule has for itself, one that knows what is in there."""
    record = _SETS[message.type]
    if change.record is record:
        return change
    copy = change._copy()
    copy.record = record
    return copy
