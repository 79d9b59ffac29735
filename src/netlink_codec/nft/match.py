"""What rules compare: `match`, `vmap`, `add_to_set`, and how they become expressions of the kernel."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING, Any, Literal

from .._core import Message
from ..constants import NLM_F_CREATE
from ..late import Device
from .datatypes import HOST, TYPES, DataType, Range
from .devices import devices_among, with_indices
from .elements import Element
from .enums import BITWISE, BYTEORDER, CMP, INV, MSG, NFPROTO, RANGE, REG, SET_F
from .exprs import Bitwise, Byteorder, Cmp, Data, Expr, Expression, Immediate, Lookup, RangeExpr
from .fields import OF_ONE_NETWORK, Field, field
from .setchanges import element_messages, set_record
from .sets import Set, Shape
from .spelling import NamedSet

if TYPE_CHECKING:
    from .transaction import Assembly

_ETHERTYPES = {4: 0x0800, 6: 0x86DD, "arp": 0x0806}
_ANY_OF = ("ct_state", "ct_status")
_KINDS = {4: "IPv4", 6: "IPv6", "arp": "ARP"}
_OWN = {NFPROTO.IPV4: 4, NFPROTO.IPV6: 6, NFPROTO.ARP: "arp"}
"""What packets a table of this family sees, if they are all of one kind."""


class Source:
    """What finds a value, and leaves it in a register; until then it may use that and those behind it."""

    names: tuple[str | Device, ...] = ()
    """Of the sets that must be known, and the devices."""

    fields: tuple[Field, ...] = ()
    """What it looks at; what these need is compared before anything is loaded."""

    def into(self, context: "Context", kinds: Sequence[DataType], register: int) -> Iterator[Expr]:
        raise NotImplementedError


Compared = str | Source | Expr | Sequence[str | Source | Expr]
"""A field by its name, or what finds a number; or several of them together."""


class Deferred:
    """What becomes expressions once it is known where the rule goes."""

    names: tuple[str | Device, ...] = ()
    """Of the sets that must be known, and the devices."""

    def expand(self, context: "Context") -> Iterator[Expr]:
        raise NotImplementedError


class Context:
    """One rule under way: where it goes, what it has looked at already, what sets it brings."""

    def __init__(self, family: NFPROTO, table: str, assembly: "Assembly") -> None:
        self.family = family
        self.table = table
        self.assembly = assembly
        self.sets: list[Message] = []
        self._met: set[tuple[str, Any]] = set()

    def known(self, name: str) -> Set | None:
        return self.assembly.sets.get((self.family, self.table, name))

    def index(self, device: Device) -> int:
        """Of a device, which the connection has looked up."""
        return self.assembly.devices[device]

    def need(self, fields: Sequence[Field]) -> Iterator[Expr]:
        """Compare what all these need. It takes the first register."""
        for one in fields:
            yield from self.need(one.source.fields) if isinstance(one.source, Source) else self.require(one.needs)

    def require(self, need: tuple[str, Any] | None) -> Iterator[Expr]:
        """Compare what a field needs, unless that is so already."""
        if need is None or need in self._met:
            return
        what, value = need
        if what == "l4proto":
            other = next((one for name, one in self._met if name == what), None)
            if other is not None:
                raise ValueError(f"no packet is both of {other} and of {value}")
            if self.family is NFPROTO.ARP:
                raise ValueError(f"a table of family arp sees no packets of {value}")
        self._met.add(need)
        if what == "iiftype" and self.family is NFPROTO.BRIDGE:
            return
        if value in OF_ONE_NETWORK:
            yield from self.require(("network", OF_ONE_NETWORK[value]))
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
            if protocol not in OF_ONE_NETWORK:
                self._met.add(("l4proto", protocol))

    def load(self, fields: Sequence[Field], register: int = REG.R1, *, shifted: bool = False) -> Iterator[Expr]:
        """Into a register, or one after another into several.

        What is some bits stays where it stands, as `Field.loaded` has it, but if it is `shifted`, or one of several.
        """
        yield from self.need(fields)
        if len(fields) > 1:
            register, shifted = _slot(register), True
        for one in fields:
            if isinstance(one.source, Source):
                yield from one.source.into(self, (one.type,), register)
            else:
                yield from _loaded(one.source, one, register, shifted)
            register += one.type.padded // 4

    def anonymous(
        self,
        fields: Sequence[Field],
        elements: Sequence[Any],
        value: Literal["verdict"] | tuple[DataType, ...] | None = None,
    ) -> Set:
        """A set of its own; a map, if it leads to verdicts or values."""
        kinds = tuple(one.type for one in fields) if len(fields) > 1 else (fields[0].loaded,)
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
        data = value if isinstance(value, tuple) else ()
        shape = Shape(flags, keys, data, verdicts=value == "verdict")
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

    def __init__(self, fields: tuple[Field, ...], value: Any, op: str, mask: int | str | None = None) -> None:
        self.fields = fields
        self.value = value = _network(fields[0].type, value) if len(fields) == 1 else value
        if isinstance(value, Source | Expr):
            raise TypeError(f"match {_names(fields)}: it is compared with a value, and not with {value!r}")
        if len(fields) > 1:
            if not isinstance(value, set | frozenset | list | tuple) and named_by(value) is None:
                raise TypeError(f'match {_names(fields)}: these are compared with a tuple, a set of such, or "@name"')
            if mask is not None:
                raise TypeError(f"match {_names(fields)}: a mask is for one field")
        if value is None or (isinstance(value, set | frozenset | list) and not value):
            raise ValueError(f"match {_names(fields)}: there is nothing to compare it with")
        self.op = CMP.of(op)
        self.mask = mask
        name = named_by(value)
        if name is not None:
            self.names = (name,)
        self.names += (*sets_among(fields), *devices_among(fields, self.value))

    def __repr__(self) -> str:
        return f"match({_names(self.fields)!r}, {self.value!r}, {self.op.word!r})"

    def expand(self, context: Context) -> Iterator[Expr]:
        several = isinstance(self.value, set | frozenset | list)
        value = with_indices(context, self.fields, self.value)
        name = named_by(value)
        if name is not None or several or len(self.fields) > 1:
            yield from self._look_up(context, value, name)
            return
        (one,) = self.fields
        if isinstance(value, IPv4Network | IPv6Network) and not value.prefixlen and self._equal() is CMP.EQ:
            # All of them, of this family.
            one.type.bounds(value)
            yield from context.require(one.needs)
            return
        yield from context.load(self.fields)
        yield from self._compare(one.loaded, value)
        if self.op is CMP.EQ and self.mask is None and not isinstance(value, Range):
            context.learn(self.fields, value)

    def _compare(self, kind: DataType, value: Any) -> Iterator[Expr]:
        if kind.name in _ANY_OF and self.mask is None and self.op in (CMP.EQ, CMP.NEQ):
            # Any of these bits; `mask` compares exactly.
            yield masked(REG.R1, kind.write(value))
            yield Cmp(
                sreg=REG.R1,
                op=CMP.NEQ if self.op is CMP.EQ else CMP.EQ,
                data=Data(value=bytes(kind.size)),
            )
            return
        if self.mask is not None:
            yield masked(REG.R1, kind.write(self.mask))
        if isinstance(value, IPv4Network | IPv6Network):
            if value.prefixlen < value.max_prefixlen:
                yield masked(REG.R1, value.netmask.packed)
            yield Cmp(sreg=REG.R1, op=self._equal(), data=Data(value=value.network_address.packed))
            return
        if isinstance(value, Range) or self.op not in (CMP.EQ, CMP.NEQ):
            yield from to_network_order(kind, REG.R1)
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

    def _look_up(self, context: Context, value: Any, name: str | None) -> Iterator[Expr]:
        flags = INV.INV if self._equal() is CMP.NEQ else None
        if name is not None:
            known = context.known(name)
        else:
            known = context.anonymous(self.fields, list(value) if not isinstance(value, tuple) else [value])
        yield from look_up(context, self.fields, known, name, mask=self.mask, flags=flags)


def look_up(
    context: Context,
    fields: Sequence[Field],
    known: Set | None,
    name: str | None,
    register: int = REG.R1,
    *,
    mask: Any = None,
    **settings: Any,
) -> Iterator[Expr]:
    """Whether the fields are in a set: one with a name, or one that was made for it."""
    yield from load_keys(context, fields, known, register, shifted=name is not None, mask=mask)
    number = None if known is None else known.id
    made = "__map%d" if "dreg" in settings else "__set%d"
    yield Lookup(set=name or made, sreg=first_register(fields, register), set_id=number, **settings)


def alike(fields: Sequence[Field], known: Set) -> None:
    """Make sure that the keys of the set are such as the fields are: the kernel only knows how many bytes."""
    if not same_kinds([one.loaded if len(fields) == 1 else one.type for one in fields], known.shape.key):
        raise ValueError(f"{_names(fields)} cannot be among the keys of {known.name}, which are {known.key}")


def same_kinds(mine: Sequence[DataType], its: Sequence[DataType]) -> bool:
    """Whether values of the one are such of the other: addresses, names, or numbers of as many bytes."""
    if its[0].name == "bytes":  # of a type that is not known here
        return True
    return len(mine) == len(its) and all(
        one.size == other.size and one.make is other.make and (one.name == "ifname") is (other.name == "ifname")
        for one, other in zip(mine, its, strict=True)
    )


def sets_among(fields: Sequence[Field]) -> tuple[str | Device, ...]:
    """The sets that must be known to find these."""
    return tuple(name for one in fields if isinstance(one.source, Source) for name in one.source.names)


def load_keys(
    context: Context,
    fields: Sequence[Field],
    known: Set | None,
    register: int = REG.R1,
    *,
    shifted: bool,
    mask: Any = None,
) -> Iterator[Expr]:
    """The fields, as the keys of the set are: of intervals, in the order of the network."""
    if known is not None:
        alike(fields, known)
    yield from context.load(fields, register, shifted=shifted)
    if mask is not None:
        kind = fields[0].type if shifted else fields[0].loaded
        yield masked(register, kind.write(mask))
    if known is not None and known.shape.interval:
        register = first_register(fields, register)
        for one in fields:
            yield from to_network_order(one.type, register)
            register += one.type.padded // 4


def _names(fields: Sequence[Field]) -> str:
    return " . ".join(one.name for one in fields)


def _network(kind: DataType, value: Any) -> Any:
    """Text that is a network, as one, where it can be."""
    if kind.make is not None and isinstance(value, str) and "/" in value:
        value = ip_network(value)
    if isinstance(value, IPv4Network | IPv6Network) and kind.make is not type(value.network_address):
        kind.write(value.network_address)  # which knows best why not
        raise ValueError(f"{value} is no value of {kind.name}")
    return value


def named_by(value: Any) -> str | None:
    return value[1:] if isinstance(value, str) and value.startswith("@") else None


def first_register(fields: Sequence[Field], register: int = REG.R1) -> int:
    return register if len(fields) == 1 else _slot(register)


def _slot(register: int) -> int:
    """The number of the four bytes where a register of sixteen begins."""
    return REG.R32_00 + 4 * (register - REG.R1) if REG.R1 <= register <= REG.R4 else register


def _loaded(source: Expr, one: Field, register: int, shifted: bool) -> Iterator[Expr]:
    yield source.replace(dreg=register)
    if one.mask is None:
        return
    yield masked(register, one.mask)
    if not shifted or not one.shift:
        return
    if len(one.mask) > 1:
        # The kernel shifts in the order of the host.
        raise ValueError(
            f"{one.name} can be compared with values alone: no set with a name, and none of several fields"
        )
    yield Bitwise(
        sreg=register,
        dreg=register,
        len=1,
        op=BITWISE.RSHIFT,
        data=Data(value=one.shift.to_bytes(4, HOST)),
    )


def masked(register: int, mask: bytes, xor: bytes = b"") -> Bitwise:
    """The register's bits that the mask has, and of these the other that `xor` has."""
    return Bitwise(
        sreg=register,
        dreg=register,
        len=len(mask),
        op=BITWISE.MASK_XOR,
        mask=Data(value=mask),
        xor=Data(value=xor or bytes(len(mask))),
    )


def to_network_order(kind: DataType, register: int) -> Iterator[Expr]:
    if kind.order != "big" and kind.size > 1 and kind.ordered("big") is not kind:
        size = 2 if kind.size == 2 else 8 if kind.size == 8 else 4
        yield Byteorder(sreg=register, dreg=register, op=BYTEORDER.HTON, len=kind.size, size=size)


NUMBER = TYPES["integer"].ordered(HOST, 4)


def finds(what: Any) -> bool:
    """Whether it is, or makes, an expression that leaves a value in a register."""
    return isinstance(what, Source) or (
        isinstance(what, Expr) and hasattr(type(what), "dreg") and not isinstance(what, Immediate)
    )


def _field(what: Any) -> Field:
    if isinstance(what, Source | Expr):
        if not finds(what):
            raise TypeError(f"{what!r} finds no value")
        return Field(repr(what), NUMBER, what)
    return field(what)


def compared(what: Any) -> tuple[Field, ...]:
    """Fields, by their names, or what finds a number: one, or several together."""
    if isinstance(what, str | Source | Expr) or not isinstance(what, Iterable):
        return (_field(what),)
    found = tuple(map(_field, what))
    if not found:
        raise ValueError("of no field there is nothing to compare")
    return found


def match(fields: Compared, value: Any, op: str = "==", *, mask: int | str | None = None) -> Match:
    """The rule goes on if a field is this: `match("ip saddr", "10.0.0.0/8")`, `match("tcp dport", Range(1, 1023))`.

    `value` is one of the field's type, a network, a `Range`, a set of such, or "@name", a
    set of the table. `op` is ==, !=, <, <=, > or >=. Several fields are compared with a
    set of tuples: `match(["ip saddr", "tcp dport"], "@allowed")`. Values may be the words of
    the `nft` tool: `match("icmp type", "echo-request")`. `mask` is applied first:
    `match("tcp flags", "syn", mask="syn,ack")`. Of "ct state" and "ct status", any of several will do.

    What the field needs, the protocol, is compared too.
    """
    return Match(compared(fields), value, op, mask)


class _Vmap(Deferred):
    def __init__(self, fields: tuple[Field, ...], verdicts: Any) -> None:
        self.fields = fields
        self.verdicts = verdicts
        name = named_by(verdicts)
        self.names = (*sets_among(fields), *devices_among(fields, verdicts), *([] if name is None else [name]))
        if name is None and (not isinstance(verdicts, Mapping) or not verdicts):
            raise TypeError(f'vmap {_names(fields)}: verdicts are a dict, or "@name", not {verdicts!r}')

    def expand(self, context: Context) -> Iterator[Expr]:
        name = named_by(self.verdicts)
        if name is not None:
            known = context.known(name)
        else:
            verdicts = with_indices(context, self.fields, self.verdicts)
            elements = [Element(key, value) for key, value in verdicts.items()]
            known = context.anonymous(self.fields, elements, "verdict")
        yield from look_up(context, self.fields, known, name, dreg=REG.VERDICT)


def vmap(fields: Compared, verdicts: Mapping[Any, Any] | str) -> Deferred:
    """What becomes of the packet says a map: `vmap("tcp dport", {22: accept(), 80: "jump web"})`, or "@name"."""
    return _Vmap(compared(fields), verdicts)


def wanted_by(items: Iterable[Any], family: NFPROTO, table: str) -> list[NamedSet | Device]:
    """The sets, and the devices, that must be known to make expressions of these."""
    found: list[NamedSet | Device] = []
    for item in items:
        if isinstance(item, Deferred):
            found += [NamedSet(family, table, name) if isinstance(name, str) else name for name in item.names]
        elif isinstance(item, list | tuple):
            found += wanted_by(item, family, table)
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
