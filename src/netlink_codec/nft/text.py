"""Rules, chains, sets and elements in the words of the `nft` tool."""

from collections.abc import Generator
from typing import Any

from .._core import Message
from ..constants import NLM_F_DUMP
from ..errors import DecodeError
from ..records import OpenEnum, reader
from ..requests import Dump, Procedure
from . import telling_nat, telling_statements, words
from .datatypes import DataType, Range
from .elements import Element, elements_in
from .enums import CHAIN_F, HOOK, MSG, NFPROTO, SET_F
from .exprs import Dynset, Expression, Lookup, Objref
from .lists import rule as get_rule
from .lists import set_
from .ruleset import Chain, Rule
from .sets import RawElements, Set, Shape
from .spelling import GONE, hook_of, priority_of
from .telling import KnownSet, Sets, Telling

assert telling_nat
assert telling_statements


# Rules ----------------------------------------------------------------------------------------------------------------


def rule_text(rule: Rule, sets: Sets | None = None) -> str:
    """A rule as `nft` would write it: "tcp dport 22 accept".

    An expression that there are no words for is shown as `[name field=value …]`: nothing is left out, and nothing
    guessed. What the words are depends on the sets that the rule looks into: `sets` is asked for each by its
    name, and returns a KnownSet, or None. `describe` finds them out.
    """
    try:
        expressions = rule.expressions or ()
    except DecodeError as error:
        return f"[{error}]"
    return " ".join(Telling(rule.family, sets or _nothing).read(expressions))


def _nothing(name: str) -> KnownSet | None:
    return None


def sets_in(rule: Rule) -> list[str]:
    """Names of the sets that a rule looks into."""
    found: list[str] = []
    try:
        for expression in rule.expressions or ():
            match expression.data:
                case Lookup(set=name) | Dynset(set_name=name) | Objref(set_name=name):
                    found += [name] if name and name not in found else []
    except DecodeError:
        pass
    return found


def known_set(one: Set, *lists: RawElements) -> KnownSet:
    """A set, and what is in it."""
    return KnownSet(one, lambda shape: elements_in(shape, lists))


def describe(rule: Rule, known: dict[Any, KnownSet] | None = None) -> Procedure[str]:
    """The `rule_text` of a rule that the kernel told of; the sets that it looks into are asked for.

    In `known`, those with names are kept, for other rules.
    """
    where = rule.family, rule.table or ""
    cache: dict[Any, KnownSet] = {} if known is None else known

    def steps() -> Generator[Any, Any, str]:
        found: dict[str, KnownSet] = {}
        own = False
        for name in sets_in(rule):
            one = cache.get((*where, name))
            if one is None:
                record = yield set_(*where, name).tolerate(*GONE)
                if record is None:
                    continue
                if not (record.flags or SET_F(0)) & SET_F.ANONYMOUS:
                    one = cache[*where, name] = known_set(record)
                else:
                    own = True
                    one = known_set(record, *(yield _raw_elements(*where, name)))
            found[name] = one
        if own:
            # What has no name lives as long as its rule; if that is gone, what was found may be another's.
            there = yield get_rule(*where, rule.chain or "", rule.handle or 0).tolerate(*GONE)
            found = found if there is not None else {}
        return rule_text(rule, found.get)

    return Procedure(steps, doing=f"describe a rule of {rule.table} {rule.chain}")


def _raw_elements(family: NFPROTO, table: str, name: str) -> Any:
    asked = RawElements(family=family, table=table, set=name)
    decode: Any = reader(RawElements, MSG.NEWSETELEM)
    return Dump(Message(MSG.GETSETELEM, NLM_F_DUMP, asked), decode, doing=f"list elements of {name}").tolerate(*GONE)


# Chains ---------------------------------------------------------------------------------------------------------------

_HOOKS = ("ingress", "egress", *(hook.word for hook in HOOK))
_ANYWHERE = ("raw", "mangle", "filter", "security")
_SOMEWHERE = {"dstnat": "prerouting", "srcnat": "postrouting"}


def chain_text(chain: Chain) -> str:
    """`{ type filter hook input priority filter; policy drop; }`; of a chain that only others lead to, `{ }`."""
    parts = []
    hook = chain.hook
    if hook is not None:
        name = _hook(chain.family, hook.hooknum)
        priority = _priority(chain.family, name, hook.priority or 0)
        devices = hook.devs or ((hook.dev,) if hook.dev is not None else ())
        names = ", ".join(f'"{device}"' for device in devices)
        where = "" if not devices else f" device {names}" if len(devices) == 1 else f" devices = {{ {names} }}"
        parts.append(f"type {chain.type or 'filter'} hook {name}{where} priority {priority};")
    if chain.flags is not None and chain.flags & CHAIN_F.HW_OFFLOAD:
        parts.append("flags offload;")
    if chain.policy is not None:
        parts.append(f"policy {chain.policy.word};")
    if chain.comment is not None:
        parts.append(f'comment "{chain.comment}";')
    return " ".join(["{", *parts, "}"])


def _hook(family: NFPROTO, number: int | None) -> str:
    for word in _HOOKS:
        try:
            if hook_of(family, word) == number:
                return word
        except ValueError:
            continue
    return str(number)


def _priority(family: NFPROTO, hook: str, number: int) -> str:
    if family in (NFPROTO.IPV4, NFPROTO.IPV6, NFPROTO.INET):
        for word in (*_ANYWHERE, *(word for word, where in _SOMEWHERE.items() if where == hook)):
            if priority_of(family, word) == number:
                return word
    return str(number)


# Sets -----------------------------------------------------------------------------------------------------------------

_FLAGS = {
    SET_F.CONSTANT: "constant",
    SET_F.INTERVAL: "interval",
    SET_F.TIMEOUT: "timeout",
    SET_F.EVAL: "dynamic",
}


def set_flags(one: Set) -> str:
    """The flags of a set that a person chose."""
    return ",".join(word for bit, word in _FLAGS.items() if (one.flags or 0) & bit)


def set_type(one: Set) -> str:
    """`ipv4_addr . inet_service`, or `inet_service : verdict` of a map."""
    return one.key if one.value is None else f"{one.key} : {one.value}"


def set_text(one: Set) -> str:
    """`{ type ipv4_addr; flags interval; }`"""
    flags, size = set_flags(one), one.desc and one.desc.size
    parts = [f"type {set_type(one)};"]
    parts += [f"flags {flags};"] if flags else []
    parts += [f"timeout {words.duration(one.timeout)};"] if one.timeout else []
    parts += [f"size {size};"] if size else []
    parts += [f"{apart(expression)};" for expression in one.expressions or ((one.expr,) if one.expr else ())]
    parts += [f'comment "{one.comment}";'] if one.comment is not None else []
    return f"{{ {' '.join(parts)} }}"


def apart(expression: Expression) -> str:
    """An expression that stands alone, in words or raw."""
    return " ".join(Telling(NFPROTO.UNSPEC, _nothing).read([expression]))


def element_text(shape: Shape, element: Element) -> str:
    """`192.0.2.0/24 timeout 1h expires 59m comment "web" : accept`"""
    parts = [_key(shape.key, element.key)]
    for data in element.expressions:
        parts.append(apart(data if isinstance(data, Expression) else Expression(data=data)))
    parts += [f"timeout {words.duration(element.timeout)}"] if element.timeout is not None else []
    parts += [f"expires {words.duration(element.expiration)}"] if element.expiration is not None else []
    parts += [f'comment "{element.comment}"'] if element.comment is not None else []
    value = element.value
    parts += [f": {_led_to(shape.data, value)}"] if value is not None else []
    return " ".join(parts)


def _key(parts: tuple[DataType, ...], value: Any) -> str:
    try:
        return words.key(parts, value)
    except words.Unsaid:
        return " . ".join(map(_anyhow, value)) if isinstance(value, tuple) else _anyhow(value)


def _led_to(parts: tuple[DataType, ...], value: Any) -> str:
    try:
        return words.led_to(parts, value)
    except words.Unsaid:
        return _key(parts, value)


def _anyhow(value: Any) -> str:
    if isinstance(value, Range):
        return f"{_anyhow(value.first)}-{_anyhow(value.last)}"
    return f"0x{value.hex()}" if isinstance(value, bytes) else str(value)


def element_dict(element: Element) -> dict[str, Any]:
    """An element as what JSON knows: addresses and networks as str, a range as {"range": [first, last]}, parts of
    a concatenation as a list."""
    found: dict[str, Any] = {"key": _jsonable(element.key)}
    if element.value is not None:
        found["value"] = _jsonable(element.value)
    for name in ("timeout", "expiration", "comment"):
        value = getattr(element, name)
        if value is not None:
            found[name] = value
    if element.expressions:
        expressions = (one if isinstance(one, Expression) else Expression(data=one) for one in element.expressions)
        found["expressions"] = [one.to_dict() for one in expressions]
    return found


def _jsonable(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_jsonable(one) for one in value]
    if isinstance(value, Range):
        return {"range": [_jsonable(value.first), _jsonable(value.last)]}
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, OpenEnum):
        return value.word
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, int | str) else str(value)
