"""What there is: requests that list, get, and reset counters. NFT_MSG_GET*."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .._core import Message
from ..constants import NLM_F_DUMP
from ..errors import DecodeError, NotFound
from ..records import Record, reader
from ..requests import Dump, Folded, Procedure, Request, Unfolding
from .elements import CATCHALL, Element, Reading, asked, both_ends, read_elements
from .enums import MSG, OBJECT
from .getting import corrected, holds, key_of, of_another
from .ruleset import Chain, Flowtable, Generation, Object, Rule, Table
from .sets import RawElement, RawElements, Set, Shape, listed
from .spelling import GONE, Family, NamedSet, family_of, found, name_of, set_name


def generation() -> Request[Generation]:
    """Which state the ruleset is in: what `Transaction(genid=…)` compares."""
    decode: Any = reader(Generation, MSG.NEWGEN)
    return Request(Message(MSG.GETGEN, 0, Generation()), decode, single=True, doing="get the generation")


def _list(kind: int, record: Any, new: int, family: Family | None, plural: str, **where: Any) -> Any:
    """A dump; what the kernel does not filter by is left out on this side, too."""
    where = {
        name: value if name == "type" else name_of(name, value) for name, value in where.items() if value is not None
    }
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
    asked = Table(family=family_of(family), name=name_of("table", name))
    return _get(MSG.GETTABLE, MSG.NEWTABLE, asked, f"get table {name}")  # type: ignore[no-any-return]


def chains(family: Family | None = None, table: str | None = None) -> Dump[Chain]:
    """The chains, of all tables or one."""
    return _list(MSG.GETCHAIN, Chain, MSG.NEWCHAIN, family, "chains", table=table)  # type: ignore[no-any-return]


def chain(family: Family, table: str, name: str) -> Request[Chain]:
    """One chain; NotFound if there is none."""
    asked = Chain(family=family_of(family), table=name_of("table", table), name=name_of("chain", name))
    return _get(MSG.GETCHAIN, MSG.NEWCHAIN, asked, f"get chain {table} {name}")  # type: ignore[no-any-return]


def rules(
    family: Family | None = None, table: str | None = None, chain: str | None = None, *, reset: bool = False
) -> Dump[Rule]:
    """The rules, in their order; of one chain, its table and family are named too.

    `reset` sets counters and quotas to zero, at once with reading them (Linux 6.2).
    """
    if chain is not None and (family is None or table is None):
        # The kernel would look through others as well, and reset them, or end at the first table without such a chain.
        raise TypeError(f"the rules of a chain are asked for by its family and table as well: chain {chain!r}")
    kind = MSG.GETRULE_RESET if reset else MSG.GETRULE
    return _list(kind, Rule, MSG.NEWRULE, family, "rules", table=table, chain=chain)  # type: ignore[no-any-return]


def rule(family: Family, table: str, chain: str, handle: int, *, reset: bool = False) -> Request[Rule]:
    """One rule; NotFound if there is none."""
    table, chain = name_of("table", table), name_of("chain", chain)
    asked = Rule(family=family_of(family), table=table, chain=chain, handle=handle)
    kind = MSG.GETRULE_RESET if reset else MSG.GETRULE
    return _get(kind, MSG.NEWRULE, asked, f"get rule {handle} of {table} {chain}")  # type: ignore[no-any-return]


def sets(family: Family | None = None, table: str | None = None) -> Dump[Set]:
    """The sets and maps, without what is in them."""
    return _list(MSG.GETSET, Set, MSG.NEWSET, family, "sets", table=table)  # type: ignore[no-any-return]


def set_(family: Family, table: str, name: str) -> Request[Set]:
    """One set or map; NotFound if there is none."""
    asked = Set(family=family_of(family), table=name_of("table", table), name=name_of("set", name))
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
    table, name = name_of("table", table), name_of("object", name)
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
    asked = Flowtable(family=family_of(family), table=name_of("table", table), name=name_of("flowtable", name))
    return _get(MSG.GETFLOWTABLE, MSG.NEWFLOWTABLE, asked, f"get flowtable {name}")  # type: ignore[no-any-return]


class _Unfolding(Unfolding[Element]):
    def __init__(self, shape: Shape) -> None:
        self._reading = Reading(shape)

    def feed(self, message: Message) -> list[Element]:
        with _decoding():
            return self._reading.feed(message)

    def rest(self) -> Iterator[Element]:
        with _decoding():
            yield from self._reading.rest()


@contextmanager
def _decoding() -> Iterator[None]:
    """What makes no sense as a key comes from the kernel here, and not from a caller."""
    try:
        yield
    except DecodeError:
        raise
    except (ArithmeticError, TypeError, ValueError) as error:
        raise DecodeError(f"an element of a set: {error}") from error


def elements(family: Family, table: str, set: str | Set, *, reset: bool = False) -> Dump[Element]:
    """What is in a set or a map. Intervals come last, from low to high.

    What its keys are is looked up; not if `set` is its record. `reset` sets counters and
    quotas of elements to zero, at once with reading them (Linux 6.5).
    """
    which = found(family, table, set)
    table = name_of("table", table)
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
    table, name = name_of("table", table), set_name(set)
    of, doing = family_of(family), f"get element {key} of {table} {name}"
    decode: Any = reader(RawElements, MSG.NEWSETELEM)

    def ask(elements: bytes, kind: int) -> Dump[RawElements]:
        # An interval that nothing is behind has no end, and the answer is an error after its beginning.
        return Dump(Message(kind, 0, listed(of, table, name, elements)), decode, doing=doing).tolerate(*GONE)

    def steps() -> Generator[Any, Any, Element]:
        known: Set = (yield set_(family, table, which.set)) if isinstance(which, NamedSet) else which
        shape = known.shape
        dump = ask(asked(shape, key), kind)
        raws = _told((yield dump))
        if shape.split and key is not CATCHALL:
            first = shape.key[0].bounds(key)[0]
            behind = of_another(raws, first)
            if behind is not None:
                raws = corrected(raws, behind, _told((yield ask(both_ends(behind), MSG.GETSETELEM))))
            elif len(raws) > 1 and key_of(raws[1]) == first:
                raws = raws[:1]
        if not raws or not holds(shape, raws, key):
            error = NotFound(GONE[0])
            error.request = dump
            raise error
        (result,) = read_elements(known, RawElements(table=table, set=name, elements=tuple(raws)))
        return result

    return Procedure(steps, doing=doing)


def _told(lists: Iterable[RawElements]) -> list[RawElement]:
    return [one for some in lists for one in some.elements or ()]
