"""What a person may write for a family, a hook, a priority; and sets by name, which a connection looks up."""

import errno
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
_BRIDGE_PRIORITIES = {"dstnat": -300, "filter": -200, "out": 100, "srcnat": 300}


@lru_cache(64)
def family_of(value: Family) -> NFPROTO:
    return NFPROTO.of(value)


def priority_of(family: NFPROTO, value: int | str) -> int:
    """-150, "mangle" or "mangle + 5": what the word means depends on the family."""
    if isinstance(value, int):
        return value
    word, sign, rest = value.partition("+") if "+" in value else value.partition("-")
    known = _BRIDGE_PRIORITIES if family is NFPROTO.BRIDGE else _PRIORITIES
    if word.strip() not in known:
        raise ValueError(f"{value!r}: priorities are a number, or one of {', '.join(known)}")
    return known[word.strip()] + (int(sign + rest.strip()) if sign else 0)


def hook_of(family: NFPROTO, value: int | str) -> int:
    if family is NFPROTO.NETDEV and isinstance(value, str):
        return ("ingress", "egress").index(value)
    if family is NFPROTO.ARP and isinstance(value, str):
        return ("input", "output", "forward").index(value)
    return HOOK.of(value)


class NamedSet(Asked):
    """The set of this name, to know what its keys are."""

    __slots__ = ("family", "set", "table")

    what = "set"
    longest = 1024
    protocol = NETLINK_NETFILTER
    missing = errno.ENOENT
    record = Set

    def __init__(self, family: Family, table: str, set: str) -> None:
        self.family = family_of(family)
        super().__init__(f"{self.family.word} {table} {set}")
        self.table = table
        self.set = set

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
