"""Where packets go instead: other addresses and ports, other devices, a proxy."""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

from .datatypes import TYPES, DataType, Range
from .enums import NAT, NAT_RANGE, NFPROTO, REG
from .exprs import Dup, Expr, Fwd, Masq, Nat, Redir, Tproxy
from .match import Context, Deferred, Source
from .spelling import family_of
from .values import Load, Lookup, Using, source

_PORT = TYPES["inet_service"]
_DEVICE = TYPES["iface_index"]
_ADDRESS = {NFPROTO.IPV4: TYPES["ipv4_addr"], NFPROTO.IPV6: TYPES["ipv6_addr"]}

Ports = int | Range | Source | None


def _ports(ports: Ports) -> tuple[list[Load], dict[str, Any]]:
    """What is loaded, and the registers that it is in."""
    if ports is None:
        return [], {}
    if not isinstance(ports, Range) or ports.first == ports.last:
        one = ports.first if isinstance(ports, Range) else ports
        return [Load(source(one, _PORT), _PORT, REG.R2)], {"reg_proto_min": REG.R2}
    loads = [
        Load(source(ports.first, _PORT), _PORT, REG.R2),
        Load(source(ports.last, _PORT), _PORT, REG.R3),
    ]
    return loads, {"reg_proto_min": REG.R2, "reg_proto_max": REG.R3}


def _address(value: Any, register: int = REG.R1) -> tuple[Load, NFPROTO]:
    if isinstance(value, Source | Expr):
        raise TypeError(f"an address is wanted, which is known now, and not {value!r}")
    address = ip_address(str(value))
    family = NFPROTO.IPV4 if address.version == 4 else NFPROTO.IPV6
    kind = _ADDRESS[family]
    return Load(source(address, kind), kind, register), family


class _OfTable(Using):
    """Where there is no other, of the family that the table has."""

    def __init__(self, loads: list[Load], then: Nat, family: NFPROTO | None) -> None:
        super().__init__(loads, then)
        self.family = family

    def finish(self, context: Context) -> Expr:
        return self.then.replace(family=self.family or context.family)


class _Mapped(_OfTable):
    """To addresses, and maybe ports, that something finds."""

    def __init__(self, to: Source, loads: list[Load], then: Nat, family: NFPROTO | None) -> None:
        super().__init__(loads, then, family)
        self.to = to
        self.names += to.names

    def expand(self, context: Context) -> Iterator[Expr]:
        family = self.family or context.family
        if family not in _ADDRESS:
            raise ValueError(f'{self.to!r}: a table of family {family.word} has both; say family="ip", or "ip6"')
        kinds: tuple[DataType, ...] = (_ADDRESS[family],)
        if isinstance(self.to, Lookup) and self.to.parts(context) > 1:
            if self.loads:
                raise ValueError(f"{self.to!r}: the map has the port already")
            kinds += (_PORT,)
        for what, _, _ in self.loads:
            yield from context.need(what.fields)
        yield from self.to.into(context, kinds, REG.R1)
        for one in super().expand(context):
            if isinstance(one, Nat):
                ports = {} if len(kinds) == 1 else {"reg_proto_min": REG.R32_00 + kinds[0].padded // 4}
                one = one.replace(reg_addr_min=REG.R1, **ports)
            yield one


def _nat(type: NAT, to: Any, port: Ports, flags: NAT_RANGE | None, family: str | int | None) -> Deferred:
    loads, registers = _ports(port)
    nat = Nat(type=type, flags=flags or None, **registers)
    wanted = None if family is None else family_of(family)
    if wanted is not None and wanted not in _ADDRESS:
        raise ValueError(f"{wanted.word} has no addresses to translate to: the family is ip or ip6")
    if to is None and port is None:
        raise TypeError("an address, or a port, or both, to translate to")
    if isinstance(to, Source):
        return _Mapped(to, loads, nat, wanted)
    if to is None:
        return _OfTable(loads, nat, wanted)
    first, last = (to.first, to.last) if isinstance(to, Range) else (to, to)
    low, of = _address(first)
    high, other = _address(last, REG.R4)
    if of is not other or wanted not in (None, of):
        raise ValueError(f"{to}: the addresses are not of one family")
    registers = {"reg_addr_min": REG.R1}
    loads.append(low)
    if first != last:
        loads.append(high)
        registers["reg_addr_max"] = REG.R4
    return Using(loads, nat.replace(family=of, **registers))


def snat(to: Any, port: Ports = None, *, flags: NAT_RANGE | None = None, family: str | int | None = None) -> Deferred:
    """Another source: an address or a `Range` of them, and ports; or None and ports.

    Or what a map says: `snat(lookup("oifname", {"wan0": "192.0.2.1"}))`, of addresses, or of
    addresses and ports; in an inet table with the `family` of these.
    """
    return _nat(NAT.SNAT, to, port, flags, family)


def dnat(to: Any, port: Ports = None, *, flags: NAT_RANGE | None = None, family: str | int | None = None) -> Deferred:
    """Another destination: an address or a `Range` of them, and ports; or None and ports.

    Or what a map says, as of `snat`: `dnat(lookup(numgen(2), {0: ("10.0.0.1", 80), 1: ("10.0.0.2", 80)}))`.
    """
    return _nat(NAT.DNAT, to, port, flags, family)


def masquerade(port: Range | int | Source | None = None, *, flags: NAT_RANGE | None = None) -> Deferred:
    """The address of the interface where it leaves as the source."""
    loads, registers = _ports(port)
    if loads:  # which else the kernel would do without, here alone
        flags = (flags or NAT_RANGE(0)) | NAT_RANGE.PROTO_SPECIFIED
    return Using(loads, Masq(flags=flags, **registers))


def redirect(port: Ports = None, *, flags: NAT_RANGE | None = None) -> Deferred:
    """To this machine."""
    loads, registers = _ports(port)
    return Using(loads, Redir(flags=flags, **registers))


class _Tproxy(Using):
    def finish(self, context: Context) -> Expr:
        then: Any = self.then
        own = context.family if context.family in _ADDRESS else NFPROTO.UNSPEC
        return then if then.family is not None else then.replace(family=own)  # type: ignore[no-any-return]


def tproxy(to: Any = None, port: int | None = None) -> Deferred:
    """To a socket of this machine that listens there, with IP_TRANSPARENT; the packet stays as it is."""
    if to is None and port is None:
        raise TypeError("tproxy: to an address, or a port, or both")
    loads, registers = _ports(port)
    then = Tproxy(reg_port=registers.get("reg_proto_min"))
    if to is not None:
        load, family = _address(to)
        loads.append(load)
        then = then.replace(family=family, reg_addr=load.register)
    return _Tproxy(loads, then)


class _Copied(Using):
    def __init__(self, loads: list[Load], then: Dup, family: NFPROTO | None) -> None:
        super().__init__(loads, then)
        self.family = family

    def finish(self, context: Context) -> Expr:
        if self.family is not None and context.family is not self.family:
            raise ValueError(f"dup to an address of {self.family.word}: the table is of family {context.family.word}")
        return self.then


def dup(to: Any = None, device: int | str | None = None) -> Deferred:
    """Send a copy to another machine; `device` is where it leaves. In netdev tables, that alone."""
    if to is None and device is None:
        raise TypeError("dup: to an address, or a device, or both")
    loads, family = [], None
    if to is not None:
        load, family = _address(to)
        loads.append(load)
    if device is not None:
        loads.append(Load(source(device, _DEVICE), _DEVICE, REG.R2))
    then = Dup(sreg_addr=None if to is None else REG.R1, sreg_dev=None if device is None else REG.R2)
    return _Copied(loads, then, family)


def fwd(device: int | str, to: Any = None) -> Deferred:
    """Send it out of another device, at ingress; to a neighbour there that has this address."""
    loads = [Load(source(device, _DEVICE), _DEVICE, REG.R1)]
    if to is None:
        return Using(loads, Fwd(sreg_dev=REG.R1))
    load, family = _address(to, REG.R2)
    return Using([*loads, load], Fwd(sreg_dev=REG.R1, sreg_addr=REG.R2, nfproto=family))
