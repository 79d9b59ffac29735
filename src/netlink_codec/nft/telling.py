"""How a rule is told: each expression is a cell, which shows raw fields unless words for it were found.

What loads a register shows nothing of its own where the one that uses it was told in words. What only makes sure that
a field is there, as the protocol, shows nothing where `nft` would add it to the words again.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from ..errors import DecodeError
from .elements import Element
from .enums import NFPROTO
from .exprs import Expr, Expression, Inner, Match, Notrack, Target
from .registers import Facts, Need, Registers, Value
from .sets import Set, Shape
from .words import Unsaid

E = TypeVar("E", bound=Expr)


class KnownSet(NamedTuple):
    """What is known of a set that a rule looks into."""

    set: Set
    elements: Callable[[Shape], Iterable[Element]]
    """What is in it, with keys of this shape; asked of anonymous sets alone."""


Sets = Callable[[str], KnownSet | None]
"""By name, in the table of the rule."""

_BARE = {"notrack": Notrack()}
"""Those that have no data."""
_NO_REGISTERS: tuple[type, ...] = (Match, Target)
_HANDLERS: dict[type, tuple[Callable[["Telling", int, Any], None], frozenset[str]]] = {}


def says(
    kind: type[E], fields: str = ""
) -> Callable[[Callable[["Telling", int, E], None]], Callable[["Telling", int, E], None]]:
    """Decorates what tells expressions of this class, if they have no other fields than these."""

    def register(function: Callable[["Telling", int, E], None]) -> Callable[["Telling", int, E], None]:
        _HANDLERS[kind] = function, frozenset(fields.split())
        return function

    return register


def present(data: Expr) -> set[str]:
    """Names of the fields that it has."""
    if data.unknown:
        raise Unsaid
    return set(data.to_dict())


def raw(expression: Expression) -> str:
    """`[name field=value …]`, whatever it is."""
    try:
        data = expression.data
        inside = {} if data is None else data.to_dict()
        unknown = "" if data is None else "".join(f" {kind}={value.hex()}" for kind, value in data.unknown)
        inside.pop("unknown", None)
        return f"[{expression.name}{''.join(f' {name}={plain(value)}' for name, value in inside.items())}{unknown}]"
    except DecodeError:
        return f"[{bytes(expression).hex()}]"


def plain(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{' '.join(f'{name}={plain(one)}' for name, one in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"({','.join(map(plain, value))})"
    return str(value)


class Telling:
    """A rule, while its expressions are read one after another."""

    def __init__(self, family: NFPROTO, sets: Sets) -> None:
        self.family = family
        self.known_set = sets
        self.registers = Registers()
        self.facts = Facts(family)
        self.low: tuple[int, Value, bytes] | None = None
        """Of a range, where it begins: cell, what is compared, in words and in bytes."""
        self._texts: dict[int, str] = {}
        self._hidden: set[int] = set()
        self._pinned: set[int] = set()

    def read(self, expressions: Sequence[Expression]) -> list[str]:
        for cell, expression in enumerate(expressions):
            try:
                self._take(cell, expression)
            except (Unsaid, ValueError):  # DecodeErrors among them
                self._pin(expression)
        shown = (set(range(len(expressions))) - self._hidden) | self._pinned
        return [self._texts.get(cell) or raw(expressions[cell]) for cell in sorted(shown)]

    def _take(self, cell: int, expression: Expression) -> None:
        data = _BARE.get(expression.name) if expression.data is None else expression.data
        handler, fields = _HANDLERS.get(type(data), (None, frozenset()))
        if handler is None or data is None or not present(data) <= fields or expression.unknown:
            raise Unsaid
        handler(self, cell, data)

    def _pin(self, expression: Expression) -> None:
        """Show what an expression may read that is shown raw; nobody knows what it writes."""
        registers = self.registers
        try:
            data = expression.data
            if isinstance(data, _NO_REGISTERS):
                return
            if type(data) in (Expr, Inner) or data is None or data.unknown:
                raise Unsaid
            for name in data.to_dict():
                number = getattr(data, name)
                if "sreg" in name or name.startswith("reg_"):
                    self._pinned |= registers.cells(number)
                elif name == "dreg" and number:
                    registers.clear(number)
        except (Unsaid, DecodeError):
            self._pinned |= registers.cells()
            registers.clear()

    def tell(self, cell: int, words: str, values: Sequence[Value] = (), needs: Sequence[Need] = ()) -> None:
        """Words for this one and for what loaded the values.

        What the values need, `nft` puts right before this; `needs`, at the beginning of the rule.
        """
        own = {one for value in values for one in value.cells}
        wanted = tuple(dict.fromkeys([*(need for value in values for need in value.needs), *needs]))
        elided = self._elided(cell, own, wanted)
        if needs and elided and not self._hidden.issuperset(set(range(cell)) - elided):
            elided = set()
        self._hidden |= own | elided
        self._texts[cell] = words

    def _elided(self, cell: int, own: set[int], needs: tuple[Need, ...]) -> set[int]:
        """The cells right before this that `nft` makes of the words itself."""
        if not needs:
            return set()
        facts = {at: (need, usual) for at, need, usual in self.facts.found}
        before: list[int] = []
        for at in range(cell - 1, -1, -1):
            if at in self._hidden or at in own:
                continue
            if not facts.get(at, (None, False))[1]:
                break
            before.insert(0, at)
        for first in range(len(before)):
            some = before[first:]
            made = [facts[at][0] for at in some]
            if Facts.wanted(needs, self.facts.before(some[0])) == made and self._usual(needs, made):
                return set(some)
        if Facts.wanted(needs, self.facts.before(cell)):
            raise Unsaid
        return set()

    def _usual(self, needs: tuple[Need, ...], made: list[Need]) -> bool:
        """In bridges, `nft` makes sure otherwise of the network that a protocol is of."""
        return self.family is not NFPROTO.BRIDGE or all(
            what != "network" or (what, value) in needs for what, value in made
        )

    def join(self, cell: int, words: str) -> None:
        """Words for this one and the one before."""
        self._hidden.add(cell - 1)
        self._texts[cell] = words
