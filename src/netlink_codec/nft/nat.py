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


def _address(value: Any) -> tuple[Any, NFPROTO, DataType]:
    address = ip_address(str(value))
    family = NFPROTO.IPV4 if address.version == 4 else NFPROTO.IPV6
    return address, family, _ADDRESS[family]


class _OfTable(Deferred):
    """What has the family of the table, where the change says no other."""

    def __init__(self, loads: list[Load], then: Nat, to: Source | None, family: NFPROTO | None) -> None:
        self.loads = loads
        self.then = then
        self.to = to
        self.family = family
        self.names = tuple(name for one in loads for name in one.what.names) + (() if to is None else to.names)

    def expand(self, context: Context) -> Iterator[Expr]:
        family = self.family or context.family
        then = self.then.replace(family=family)
        if self.to is not None:
            if family not in _ADDRESS:
                raise ValueError(f'{self.to!r}: a table of family {family.word} has both; say family="ip", or "ip6"')
            kinds: tuple[DataType, ...] = (_ADDRESS[family],)
            then = then.replace(reg_addr_min=REG.R1)
            if isinstance(self.to, Lookup) and self.to.parts(context) > 1:
                kinds += (_PORT,)
                then = then.replace(reg_proto_min=REG.R32_00 + kinds[0].padded // 4)
            yield from self.to.into(context, kinds, REG.R1)
        for what, kind, register in self.loads:
            yield from what.into(context, (kind,), register)
        yield then


def _nat(type: NAT, to: Any, port: Ports, flags: NAT_RANGE | None, family: str | int | None) -> Deferred:
    loads, registers = _ports(port)
    nat = Nat(type=type, flags=flags or None, **registers)
    if to is None or isinstance(to, Source):
        return _OfTable(loads, nat, to, None if family is None else family_of(family))
    first, last = (to.first, to.last) if isinstance(to, Range) else (to, to)
    low, of, kind = _address(first)
    high, other, _ = _address(last)
    if of is not other or (family is not None and family_of(family) is not of):
        raise ValueError(f"{to}: the addresses are not of one family")
    registers = {"reg_addr_min": REG.R1}
    loads.insert(0, Load(source(low, kind), kind, REG.R1))
    if low != high:
        loads.append(Load(source(high, kind), kind, REG.R4))
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
    return Using(loads, Masq(flags=flags, **registers))


def redirect(port: Ports = None, *, flags: NAT_RANGE | None = None) -> Deferred:
    """To this machine."""
    loads, registers = _ports(port)
    return Using(loads, Redir(flags=flags, **registers))


class _Tproxy(Deferred):
    def __init__(self, loads: list[Load], then: Tproxy) -> None:
        self.loads = loads
        self.then = then

    def expand(self, context: Context) -> Iterator[Expr]:
        for what, kind, register in self.loads:
            yield from what.into(context, (kind,), register)
        own = context.family if context.family in _ADDRESS else NFPROTO.UNSPEC
        yield self.then if self.then.family is not None else self.then.replace(family=own)


def tproxy(to: Any = None, port: int | None = None) -> Deferred:
    """To a socket of this machine that listens there, with IP_TRANSPARENT; the packet stays as it is."""
    if to is None and port is None:
        raise TypeError("tproxy: to an address, or a port, or both")
    loads: list[Load] = []
    then = Tproxy()
    if to is not None:
        address, family, kind = _address(to)
        loads.append(Load(source(address, kind), kind, REG.R1))
        then = then.replace(family=family, reg_addr=REG.R1)
    if port is not None:
        loads.append(Load(source(port, _PORT), _PORT, REG.R2))
        then = then.replace(reg_port=REG.R2)
    return _Tproxy(loads, then)


def dup(to: Any = None, device: int | str | None = None) -> Deferred:
    """Send a copy to another machine; `device` is where it leaves. In netdev tables, that alone."""
    if to is None and device is None:
        raise TypeError("dup: to an address, or a device, or both")
    loads: list[Load] = []
    then = Dup()
    if to is not None:
        address, _, kind = _address(to)
        loads.append(Load(source(address, kind), kind, REG.R1))
        then = then.replace(sreg_addr=REG.R1)
    if device is not None:
        loads.append(Load(source(device, _DEVICE), _DEVICE, REG.R2))
        then = then.replace(sreg_dev=REG.R2)
    return Using(loads, then)


def fwd(device: int | str, to: Any = None) -> Deferred:
    """Send it out of another device, at ingress; to a neighbour there that has this address."""
    loads = [Load(source(device, _DEVICE), _DEVICE, REG.R1)]
    then = Fwd(sreg_dev=REG.R1)
    if to is not None:
        address, family, kind = _address(to)
        loads.append(Load(source(address, kind), kind, REG.R2))
        then = then.replace(sreg_addr=REG.R2, nfproto=family)
    return Using(loads, then)
