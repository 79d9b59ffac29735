"""What there is: requests that list, get, and reset counters. NFT_MSG_GET*."""

from collections.abc import Generator
from typing import Any

from .._core import Message
from ..constants import NLM_F_DUMP
from ..errors import NotFound
from ..records import Record, reader
from ..requests import Dump, Folded, Procedure, Request, Unfolding
from .elements import Element, Reading, asked
from .enums import MSG, OBJECT
from .ruleset import Chain, Flowtable, Generation, Object, Rule, Table
from .sets import RawElements, Set, Shape, listed
from .spelling import GONE, Family, NamedSet, family_of, found


def generation() -> Request[Generation]:
    """Which state the ruleset is in: what `Transaction(genid=…)` compares."""
    decode: Any = reader(Generation, MSG.NEWGEN)
    return Request(Message(MSG.GETGEN, 0, Generation()), decode, single=True, doing="get the generation")


def _list(kind: int, record: Any, new: int, family: Family | None, plural: str, **where: Any) -> Any:
    """A dump; what the kernel does not filter by is left out on this side, too."""
    where = {name: value for name, value in where.items() if value is not None}
    # Of sets, the kernel takes a table only with its family, and lists none otherwise.
    sent = {} if family is None and record is Set else where
    asked = record(family=0 if family is None else family_of(family), **sent)
    if family is not None:
        where["family"] = family_of(family)
    # Where there is no such table, chain or type, there is nothing to list.
    return Dump(Message(kind, NLM_F_DUMP, asked), reader(record, new, **where), doing=f"list {plural}").tolerate(*GONE)


def _get(kind: int, new: int, asked: Record, doing: str) -> Any:
    decode: Any = reader(type(asked), new)
    return Request(Message(kind, 0, asked), decode, not_found=GONE, doing=doing, record=type(asked))


def tables(family: Family | None = None) -> Dump[Table]:
    """The tables, of all families or one."""
    return _list(MSG.GETTABLE, Table, MSG.NEWTABLE, family, "tables")  # type: ignore[no-any-return]


def table(family: Family, name: str) -> Request[Table]:
    """One table; NotFound if there is none."""
    asked = Table(family=family_of(family), name=name)
    return _get(MSG.GETTABLE, MSG.NEWTABLE, asked, f"get table {name}")  # type: ignore[no-any-return]


def chains(family: Family | None = None, table: str | None = None) -> Dump[Chain]:
    """The chains, of all tables or one."""
    return _list(MSG.GETCHAIN, Chain, MSG.NEWCHAIN, family, "chains", table=table)  # type: ignore[no-any-return]


def chain(family: Family, table: str, name: str) -> Request[Chain]:
    """One chain; NotFound if there is none."""
    asked = Chain(family=family_of(family), table=table, name=name)
    return _get(MSG.GETCHAIN, MSG.NEWCHAIN, asked, f"get chain {table} {name}")  # type: ignore[no-any-return]


def rules(
    family: Family | None = None, table: str | None = None, chain: str | None = None, *, reset: bool = False
) -> Dump[Rule]:
    """The rules, in their order; of one chain, its table and family are named too.

    `reset` sets counters and quotas to zero, at once with reading them (Linux 6.2).
    """
    kind = MSG.GETRULE_RESET if reset else MSG.GETRULE
    return _list(kind, Rule, MSG.NEWRULE, family, "rules", table=table, chain=chain)  # type: ignore[no-any-return]


def rule(family: Family, table: str, chain: str, handle: int, *, reset: bool = False) -> Request[Rule]:
    """One rule; NotFound if there is none."""
    asked = Rule(family=family_of(family), table=table, chain=chain, handle=handle)
    kind = MSG.GETRULE_RESET if reset else MSG.GETRULE
    return _get(kind, MSG.NEWRULE, asked, f"get rule {handle} of {table} {chain}")  # type: ignore[no-any-return]


def sets(family: Family | None = None, table: str | None = None) -> Dump[Set]:
    """The sets and maps, without what is in them."""
    return _list(MSG.GETSET, Set, MSG.NEWSET, family, "sets", table=table)  # type: ignore[no-any-return]


def set_(family: Family, table: str, name: str) -> Request[Set]:
    """One set or map; NotFound if there is none."""
    asked = Set(family=family_of(family), table=table, name=name)
    return _get(MSG.GETSET, MSG.NEWSET, asked, f"get set {table} {name}")  # type: ignore[no-any-return]


def objects(
    family: Family | None = None,
    table: str | None = None,
    type: str | int | None = None,
    *,
    reset: bool = False,
) -> Dump[Object]:
    """Counters, quotas, limits and so on that have names; `type` is OBJECT or its word.

    `reset` sets counters and quotas to zero, at once with reading them.
    """
    kind = MSG.GETOBJ_RESET if reset else MSG.GETOBJ
    number = None if type is None else OBJECT.of(type)
    return _list(kind, Object, MSG.NEWOBJ, family, "objects", table=table, type=number)  # type: ignore[no-any-return]


def object_(family: Family, table: str, name: str, type: str | int, *, reset: bool = False) -> Request[Object]:
    """One object; NotFound if there is none."""
    asked = Object(family=family_of(family), table=table, name=name, type=OBJECT.of(type))
    kind = MSG.GETOBJ_RESET if reset else MSG.GETOBJ
    return _get(kind, MSG.NEWOBJ, asked, f"get {asked.type and asked.type.word} {name}")  # type: ignore[no-any-return]


def flowtables(family: Family | None = None, table: str | None = None) -> Dump[Flowtable]:
    """The flowtables."""
    return _list(  # type: ignore[no-any-return]
        MSG.GETFLOWTABLE, Flowtable, MSG.NEWFLOWTABLE, family, "flowtables", table=table
    )


def flowtable(family: Family, table: str, name: str) -> Request[Flowtable]:
    """One flowtable; NotFound if there is none."""
    asked = Flowtable(family=family_of(family), table=table, name=name)
    return _get(MSG.GETFLOWTABLE, MSG.NEWFLOWTABLE, asked, f"get flowtable {name}")  # type: ignore[no-any-return]


class _Unfolding(Unfolding[Element]):
    def __init__(self, shape: Shape) -> None:
        reading = Reading(shape)
        self.feed = reading.feed  # type: ignore[method-assign]
        self.rest = reading.rest  # type: ignore[method-assign]


def elements(family: Family, table: str, set: str | Set, *, reset: bool = False) -> Dump[Element]:
    """What is in a set or a map. Intervals come last, from low to high.

    What its keys are is looked up; not if `set` is its record. `reset` sets counters and
    quotas of elements to zero, at once with reading them (Linux 6.5).
    """
    which = found(family, table, set)
    if isinstance(which, Set):
        return elements_as(family, table, which.name or "", which.shape, reset=reset)
    message, doing = _all(family, table, which.set, reset)
    return Folded(lambda one: message, lambda one: _Unfolding(one.shape), late=[which], not_found=GONE, doing=doing)


def elements_as(family: Family, table: str, set: str, shape: Shape, *, reset: bool = False) -> Dump[Element]:
    """What is in a set, read as if it had this shape."""
    message, doing = _all(family, table, set, reset)
    return Folded(message, lambda: _Unfolding(shape), not_found=GONE, doing=doing)


def _all(family: Family, table: str, set: str, reset: bool) -> tuple[Message, str]:
    asked = RawElements(family=family_of(family), table=table, set=set)
    message = Message(MSG.GETSETELEM_RESET if reset else MSG.GETSETELEM, NLM_F_DUMP, asked)
    return message, f"list elements of {table} {set}"


def element(family: Family, table: str, set: str | Set, key: Any, *, reset: bool = False) -> Procedure[Element]:
    """The element that has this key, or whose interval it is in; NotFound if there is none."""
    return _one(family, table, set, key, MSG.GETSETELEM_RESET if reset else MSG.GETSETELEM)


def _one(family: Family, table: str, set: str | Set, key: Any, kind: int) -> Procedure[Element]:
    which = found(family, table, set)
    doing = f"get element {key} of {table} {set if isinstance(set, str) else set.name}"

    def steps() -> Generator[Any, Any, Element]:
        known: Set = (yield set_(family, table, which.set)) if isinstance(which, NamedSet) else which
        message = Message(kind, 0, listed(family_of(family), table, known.name or "", asked(known.shape, key)))
        dump: Dump[Element] = Folded(message, lambda: _Unfolding(known.shape), doing=doing)
        # An interval that nothing is behind has no end, and the answer is an error after its beginning.
        result: list[Element] = yield dump.tolerate(*GONE)
        if not result:
            error = NotFound(GONE[0])
            error.request = dump
            raise error
        return result[0]

    return Procedure(steps, doing=doing)
