"""What a person may write for a family, a hook, a priority; and sets by name, which a connection looks up."""

import errno
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, TypeAlias

from .._core import Message
from ..constants import NETLINK_NETFILTER
from ..late import Asked
from ..records import reader
from .enums import HOOK, MSG, NFPROTO
from .sets import Set

Family: TypeAlias = str | int
"""NFPROTO, or the word: ip, ip6, inet, arp, bridge, netdev."""
GONE = (errno.ENOENT,)

_PRIORITIES = {"raw": -300, "mangle": -150, "dstnat": -100, "filter": 0, "security": 50, "srcnat": 100}
_PRIORITY = re.compile(r"\s*(\w+)\s*(?:([+-])\s*(\d+)\s*)?")
_BRIDGE_PRIORITIES = {"dstnat": -300, "filter": -200, "out": 100, "srcnat": 300}


@lru_cache(64)
def family_of(value: Family) -> NFPROTO:
    return NFPROTO.of(value)


def name_of(what: str, value: str) -> str:
    """A name, which must be there: to the kernel, a change without one often speaks of all."""
    if not isinstance(value, str):
        raise TypeError(f"the name of a {what} is a str, not {value!r}")
    if not value:
        raise ValueError(f"the name of a {what} is empty")
    return value


def names_of(what: str, values: str | Iterable[str]) -> tuple[str, ...]:
    """One, or several."""
    return tuple(name_of(what, one) for one in ([values] if isinstance(values, str) else values))


def set_name(value: str | Set) -> str:
    return name_of("set", value.name or "" if isinstance(value, Set) else value)


def priority_of(family: NFPROTO, value: int | str) -> int:
    """-150, "mangle" or "mangle + 5": what the word means depends on the family."""
    if isinstance(value, int):
        return value
    if not isinstance(value, str):
        raise TypeError(f"a priority is a number or a word, not {value!r}")
    known = _BRIDGE_PRIORITIES if family is NFPROTO.BRIDGE else _PRIORITIES
    found = _PRIORITY.fullmatch(value)
    if found is None or found[1] not in known:
        raise ValueError(f'{value!r}: a priority is a number, or one of {", ".join(known)}, as in "filter + 5"')
    return known[found[1]] + int((found[2] or "+") + (found[3] or "0"))


_HOOKS = {NFPROTO.NETDEV: ("ingress", "egress"), NFPROTO.ARP: ("input", "output", "forward")}
"""By their numbers, where those are others than in HOOK."""


def hook_of(family: NFPROTO, value: int | str) -> int:
    own = _HOOKS.get(family)
    if own is None or not isinstance(value, str):
        return HOOK.of(value)
    if value not in own:
        raise ValueError(f"{value!r} is none of {', '.join(own)}, the hooks of family {family.word}")
    return own.index(value)


class NamedSet(Asked):
    """The set of this name, to know what its keys are."""

    __slots__ = ("family", "set", "table")

    what = "set"
    record = Set
    longest = 1024
    protocol = NETLINK_NETFILTER
    missing = errno.ENOENT
    record = Set

    def __init__(self, family: Family, table: str, set: str) -> None:
        self.family = family_of(family)
        self.table = name_of("table", table)
        self.set = name_of("set", set)
        super().__init__(f"{self.family.word} {table} {set}")

    def __eq__(self, other: object) -> bool:
        # Names may have blanks inside.
        return isinstance(other, NamedSet) and other._place() == self._place()

    def __hash__(self) -> int:
        return hash(self._place())

    def _place(self) -> tuple[NFPROTO, str, str]:
        return self.family, self.table, self.set

    def question(self) -> Message:
        return Message(MSG.GETSET, 0, Set(family=self.family, table=self.table, name=self.set))

    def value(self, answer: Message) -> Any:
        return _read(answer)


_read = reader(Set, MSG.NEWSET)


def found(family: Family, table: str, set: str | Set) -> NamedSet | Set:
    """A set by name, which is late, or by its record, which says all."""
    if isinstance(set, Set):
        if set.name is None or set.key_len is None:
            raise ValueError(f"{set!r} does not say what its keys are")
        return set
    return NamedSet(family, table, set)
