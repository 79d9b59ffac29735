"""What rules compare: `match`, `vmap`, `add_to_set`, and how they become expressions of the kernel."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING, Any

from .._core import Message
from ..constants import NLM_F_CREATE
from .datatypes import DataType, Range
from .elements import Element
from .enums import BITWISE, BYTEORDER, CMP, DYNSET, INV, MSG, NFPROTO, RANGE, REG, SET_F
from .exprs import Bitwise, Byteorder, Cmp, Data, Dynset, Expr, Expression, Lookup, RangeExpr
from .fields import Field, field
from .setchanges import element_messages, set_record
from .sets import Set, Shape
from .spelling import NamedSet, name_of

if TYPE_CHECKING:
    from .transaction import Assembly

_OF_ONE_NETWORK = {"icmp": 4, "icmpv6": 6}
_ETHERTYPES = {4: 0x0800, 6: 0x86DD, "arp": 0x0806}
_KINDS = {4: "IPv4", 6: "IPv6", "arp": "ARP"}
_OWN = {NFPROTO.IPV4: 4, NFPROTO.IPV6: 6, NFPROTO.ARP: "arp"}
"""What packets a table of this family sees, if they are all of one kind."""


class Deferred:
    """What becomes expressions once it is known where the rule goes."""

    names: tuple[str, ...] = ()
    """Of the sets that must be known."""

    def expand(self, context: "Context") -> Iterator[Expr]:
        raise NotImplementedError


class Context:
    """One rule under way: where it goes, what it has looked at already, what sets it brings."""

    def __init__(self, family: NFPROTO, table: str, assembly: "Assembly") -> None:
        self.family = family
        self.table = table
        self.assembly = assembly
        self.sets: list[Message] = []
        self._met: set[tuple[str, object]] = set()

    def known(self, name: str) -> Set | None:
        return self.assembly.sets.get((self.family, self.table, name))

    def require(self, need: tuple[str, Any] | None) -> Iterator[Expr]:
        """Compare what a field needs, unless that is so already."""
        if need is None or need in self._met:
            return
        self._met.add(need)
        what, value = need
        if value in _OF_ONE_NETWORK:
            yield from self.require(("network", _OF_ONE_NETWORK[value]))
        if what != "network":
            yield from Match((field(what),), value, "==").expand(self)
            return
        own = _OWN.get(self.family)
        if own == value:
            return
        if own is not None or (self.family is NFPROTO.INET and value == "arp"):
            raise ValueError(f"a table of family {self.family.word} sees no packets of {_KINDS[value]}")
        if self.family is NFPROTO.INET:
            yield from Match((field("nfproto"),), 2 if value == 4 else 10, "==").expand(self)
        else:
            yield from Match((field("protocol"),), _ETHERTYPES[value], "==").expand(self)

    def learn(self, fields: Sequence[Field], value: Any) -> None:
        """This is so from here on."""
        (one,) = fields
        if one.name == "meta l4proto":
            protocol = one.type.read(one.type.write(value)).word
            if protocol not in _OF_ONE_NETWORK:
                self._met.add(("l4proto", protocol))

    def load(self, fields: Sequence[Field], first: int = REG.R1) -> Iterator[Expr]:
        """Into a register, or one after another into several."""
        for one in fields:
            yield from self.require(one.needs)
        if len(fields) == 1:
            yield fields[0].source.replace(dreg=first)
            return
        register = REG.R32_00 if first == REG.R1 else first
        for one in fields:
            yield one.source.replace(dreg=register)
            register += one.type.padded // 4

    def anonymous(self, fields: Sequence[Field], elements: Sequence[Any], value: str | None = None) -> Set:
        """A set of its own."""
        kinds = tuple(one.type for one in fields)
        interval = any(_wide(kinds, one.key if isinstance(one, Element) else one) for one in elements)
        number = self.assembly.number()
        flags = SET_F.ANONYMOUS | SET_F.CONSTANT | (SET_F.INTERVAL if interval else SET_F(0))
        made = set_record(
            self.family,
            self.table,
            "__map%d" if value else "__set%d",
            kinds,
            value,
            flags=flags,
            id=number,
        )
        self.assembly.own[number] = made
        self.sets.append(Message(MSG.NEWSET, NLM_F_CREATE, made))
        # Of a number of any size, which is a part, the record tells no more.
        keys = tuple(kind.ordered("big") for kind in kinds) if interval else kinds
        shape = Shape(flags, keys, verdicts=value is not None)
        for message in element_messages(MSG.NEWSETELEM, NLM_F_CREATE, made, elements, shape=shape):
            self.sets.append(message)
        return made


def _wide(kinds: tuple[DataType, ...], key: Any) -> bool:
    """Whether it is an interval."""
    if len(kinds) > 1:
        return isinstance(key, tuple) and any(_wide((kind,), one) for kind, one in zip(kinds, key, strict=False))
    if isinstance(key, str):
        return "/" in key if kinds[0].make is not None else key[-1:] == "*"
    return isinstance(key, Range | IPv4Network | IPv6Network)


class Match(Deferred):
    """Goes on if some fields are so."""

    def __init__(self, fields: tuple[Field, ...], value: Any, op: str, mask: int | None = None) -> None:
        self.fields = fields
        self.value = _network(value) if len(fields) == 1 else value
        if value is None or (isinstance(value, set | frozenset | list) and not value):
            raise ValueError(f"match {_names(fields)}: there is nothing to compare it with")
        self.op = CMP.of(op)
        self.mask = mask
        if _named(value) is not None and any(one.type.order != "big" for one in fields):
            # In sets of intervals, numbers are big-endian.
            self.names = (_named(value) or "",)

    def __repr__(self) -> str:
        return f"match({_names(self.fields)!r}, {self.value!r}, {self.op.word!r})"

    def expand(self, context: Context) -> Iterator[Expr]:
        value, several = self.value, isinstance(self.value, set | frozenset | list)
        name = _named(value)
        if name is not None or several or len(self.fields) > 1:
            yield from self._look_up(context, name)
            return
        (one,) = self.fields
        if isinstance(value, IPv4Network | IPv6Network) and not value.prefixlen and self._equal() is CMP.EQ:
            # All of them, of this family.
            one.type.bounds(value)
            yield from context.require(one.needs)
            return
        yield from context.load(self.fields)
        yield from self._compare(one.type)
        if self.op is CMP.EQ and self.mask is None and not isinstance(value, Range):
            context.learn(self.fields, value)

    def _compare(self, kind: DataType) -> Iterator[Expr]:
        value = self.value
        if kind.name == "ct_state" and self.mask is None and self.op in (CMP.EQ, CMP.NEQ):
            # Any of these states; `mask` compares exactly.
            yield from _masked(kind, kind.write(value), bytes(kind.size))
            yield Cmp(
                sreg=REG.R1,
                op=CMP.NEQ if self.op is CMP.EQ else CMP.EQ,
                data=Data(value=bytes(kind.size)),
            )
            return
        if self.mask is not None:
            yield from _masked(kind, kind.write(self.mask), bytes(kind.size))
        if isinstance(value, IPv4Network | IPv6Network):
            if value.prefixlen < value.max_prefixlen:
                yield from _masked(kind, value.netmask.packed, bytes(kind.size))
            yield Cmp(sreg=REG.R1, op=self._equal(), data=Data(value=value.network_address.packed))
            return
        if isinstance(value, Range) or self.op not in (CMP.EQ, CMP.NEQ):
            yield from _to_network_order(kind, REG.R1)
            kind = kind.ordered("big")
        if isinstance(value, Range):
            first, last = kind.bounds(value)
            op = RANGE.EQ if self._equal() is CMP.EQ else RANGE.NEQ
            yield RangeExpr(sreg=REG.R1, op=op, from_data=Data(value=first), to_data=Data(value=last))
        elif isinstance(value, str) and value.endswith("*") and kind.name == "ifname":
            start = kind.bounds(value)[0].rstrip(b"\0")
            if not start:
                raise ValueError(f"{self!r}: that is every name, and nothing to compare")
            yield Cmp(sreg=REG.R1, op=self._equal(), data=Data(value=start))
        else:
            yield Cmp(sreg=REG.R1, op=self.op, data=Data(value=kind.write(value)))

    def _equal(self) -> CMP:
        if self.op not in (CMP.EQ, CMP.NEQ):
            raise ValueError(f"{self!r}: that is == or !=")
        return self.op

    def _look_up(self, context: Context, name: str | None) -> Iterator[Expr]:
        value = self.value
        flags = INV.INV if self._equal() is CMP.NEQ else None
        if name is not None:
            known = context.known(name)
            number = None if known is None else known.id
        else:
            known = context.anonymous(self.fields, list(value) if not isinstance(value, tuple) else [value])
            name, number = "__set%d", known.id
        yield from context.load(self.fields)
        if known is not None and known.shape.interval:
            yield from _all_to_network_order(self.fields)
        yield Lookup(set=name, sreg=_first(self.fields), set_id=number, flags=flags)


def _names(fields: tuple[Field, ...]) -> str:
    return " . ".join(one.name for one in fields)


def _network(value: Any) -> Any:
    """Text that is a network, as one."""
    if isinstance(value, str) and "/" in value:
        return ip_network(value)
    return value


def _named(value: Any) -> str | None:
    return value[1:] if isinstance(value, str) and value.startswith("@") else None


def _first(fields: Sequence[Field]) -> int:
    return REG.R1 if len(fields) == 1 else REG.R32_00


def _masked(kind: DataType, mask: bytes, xor: bytes) -> Iterator[Expr]:
    yield Bitwise(
        sreg=REG.R1,
        dreg=REG.R1,
        len=len(mask),
        op=BITWISE.MASK_XOR,
        mask=Data(value=mask),
        xor=Data(value=xor),
    )


def _to_network_order(kind: DataType, register: int) -> Iterator[Expr]:
    if kind.order != "big" and kind.size > 1 and kind.ordered("big") is not kind:
        size = 2 if kind.size == 2 else 8 if kind.size == 8 else 4
        yield Byteorder(sreg=register, dreg=register, op=BYTEORDER.HTON, len=kind.size, size=size)


def _all_to_network_order(fields: Sequence[Field]) -> Iterator[Expr]:
    register = _first(fields)
    for one in fields:
        yield from _to_network_order(one.type, register)
        register += one.type.padded // 4


def _fields(names: str | Sequence[str]) -> tuple[Field, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        return (field(names),)
    found = tuple(map(field, names))
    if not found:
        raise ValueError("of no field there is nothing to compare")
    return found


def match(fields: str | Sequence[str], value: Any, op: str = "==", *, mask: int | None = None) -> Match:
    """The rule goes on if a field is this: `match("ip saddr", "10.0.0.0/8")`, `match("tcp dport", Range(1, 1023))`.

    `value` is one of the field's type, a network, a `Range`, a set of such, or "@name", a
    set of the table. `op` is ==, !=, <, <=, > or >=. Several fields are compared with a
    set of tuples: `match(["ip saddr", "tcp dport"], "@allowed")`. `mask` is applied
    first. Of "ct state", any of several will do.

    What the field needs, the protocol, is compared too.
    """
    return Match(_fields(fields), value, op, mask)


class _Vmap(Deferred):
    def __init__(self, fields: tuple[Field, ...], verdicts: Any) -> None:
        self.fields = fields
        self.verdicts = verdicts
        name = _named(verdicts)
        if name is not None:
            self.names = (name,)
        elif not isinstance(verdicts, Mapping) or not verdicts:
            raise TypeError(f'vmap {_names(fields)}: verdicts are a dict, or "@name", not {verdicts!r}')

    def expand(self, context: Context) -> Iterator[Expr]:
        name = _named(self.verdicts)
        if name is not None:
            known = context.known(name)
        else:
            elements = [Element(key, value) for key, value in self.verdicts.items()]
            known = context.anonymous(self.fields, elements, "verdict")
            name = "__map%d"
        yield from context.load(self.fields)
        if known is not None and known.shape.interval:
            yield from _all_to_network_order(self.fields)
        number = None if known is None else known.id
        yield Lookup(set=name, sreg=_first(self.fields), dreg=REG.VERDICT, set_id=number)


def vmap(fields: str | Sequence[str], verdicts: Mapping[Any, Any] | str) -> Deferred:
    """What becomes of the packet says a map: `vmap("tcp dport", {22: accept(), 80: "jump web"})`, or "@name"."""
    return _Vmap(_fields(fields), verdicts)


class _AddToSet(Deferred):
    def __init__(self, fields: tuple[Field, ...], settings: dict[str, Any], expressions: Sequence[Expr]) -> None:
        self.fields = fields
        self.settings = settings
        self.expressions = expressions

    def expand(self, context: Context) -> Iterator[Expr]:
        yield from context.load(self.fields)
        expressions = expressions_of(self.expressions, context.family, context.table, context.assembly)[0]
        beside: dict[str, Any] = {}
        if len(expressions) == 1:
            beside["expr"] = expressions[0]
        elif expressions:
            beside["expressions"] = expressions
        known = context.known(self.settings["set_name"])
        yield Dynset(
            sreg_key=_first(self.fields), set_id=None if known is None else known.id, **self.settings, **beside
        )


def add_to_set(
    set: str,
    fields: str | Sequence[str],
    *expressions: Expr,
    timeout: float | None = None,
    update: bool = False,
) -> Deferred:
    """Put what the packet has into a set: `add_to_set("seen", "ip saddr", timeout=60)`.

    With `update`, the timeout of one that is there begins anew. `expressions` belong to the
    element: `limit("10/second")` lets the rule go on as long as this element's limit does.
    """
    op = DYNSET.UPDATE if update else DYNSET.ADD
    name = name_of("set", set).removeprefix("@")
    return _AddToSet(_fields(fields), {"set_name": name, "op": op, "timeout": timeout}, expressions)


def sets_of(items: Iterable[Any], family: NFPROTO, table: str) -> list[NamedSet]:
    """The sets that must be known to make expressions of these."""
    found = []
    for item in items:
        if isinstance(item, Deferred):
            found += [NamedSet(family, table, name) for name in item.names]
        elif isinstance(item, list | tuple):
            found += sets_of(item, family, table)
    return found


def expressions_of(
    items: Iterable[Any], family: NFPROTO, table: str, assembly: "Assembly"
) -> tuple[tuple[Expression, ...], list[Message]]:
    """As the kernel has them, and the messages that make sets for them."""
    context = Context(family, table, assembly)
    found: list[Expression] = []

    def take(item: Any) -> None:
        if isinstance(item, Expression):
            found.append(item)
        elif isinstance(item, Expr):
            found.append(Expression(data=item))
        elif isinstance(item, Deferred):
            for one in item.expand(context):
                take(one)
        elif isinstance(item, list | tuple):
            for one in item:
                take(one)
        else:
            raise TypeError(f"{item!r} is not an expression of a rule")

    for item in items:
        take(item)
    return tuple(found), context.sets
