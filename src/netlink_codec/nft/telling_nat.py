"""Where packets are sent instead, in words: translation of addresses, copies, other devices."""

from dataclasses import replace
from typing import Any

from . import words
from .datatypes import TYPES, DataType
from .enums import NAT, NAT_RANGE, NFPROTO
from .exprs import Dup, Fwd, Masq, Nat, Redir, Tproxy
from .registers import Value
from .telling import Telling, says
from .telling_statements import given
from .words import Unsaid

_NAT_FLAGS = {
    NAT_RANGE.PROTO_RANDOM: "random",
    NAT_RANGE.PROTO_RANDOM_FULLY: "fully-random",
    NAT_RANGE.PERSISTENT: "persistent",
}
_ADDRESS = {NFPROTO.IPV4: TYPES["ipv4_addr"], NFPROTO.IPV6: TYPES["ipv6_addr"]}
_WORD = {NFPROTO.IPV4: "ip", NFPROTO.IPV6: "ip6"}
_PORT = TYPES["inet_service"]


def _nat_flags(flags: NAT_RANGE | None, address: bool, port: bool) -> str:
    known = NAT_RANGE.MAP_IPS | NAT_RANGE.PROTO_SPECIFIED | sum(_NAT_FLAGS)
    number = words.flags_within(flags, known)
    if (number & NAT_RANGE.MAP_IPS and not address) or (number & NAT_RANGE.PROTO_SPECIFIED and not port):
        raise Unsaid
    text = ",".join(word for bit, word in _NAT_FLAGS.items() if number & bit)
    return f" {text}" if text else ""


def _from_to(telling: Telling, first: int | None, last: int | None, kind: DataType) -> tuple[str, list[Value]]:
    """One value, or from one to another."""
    if first is None:
        if last is not None:
            raise Unsaid
        return "", []
    values = [telling.registers.at(first)]
    text = given(values[0], kind)
    if last is not None and telling.registers.slot(last) != telling.registers.slot(first):
        values.append(telling.registers.at(last))
        if values[0].data is None or values[1].data is None:
            raise Unsaid
        text += f"-{given(values[1], kind)}"
    return text, values


def _place(telling: Telling, family: NFPROTO | None, address: tuple[Any, Any], port: tuple[Any, Any]) -> Any:
    """ " to 192.0.2.1:80", and the values of it."""
    if address[0] is None and port[0] is None:
        return "", []
    kind = _ADDRESS.get(family) if family is not None else None
    if address[0] is not None and kind is None:
        raise Unsaid
    where, values = _from_to(telling, *address, kind or _PORT)
    ports, more = _from_to(telling, *port, _PORT)
    if where and ports:
        if any(value.data is None for value in (*values, *more)):
            raise Unsaid
        if family is NFPROTO.IPV6:
            where = "-".join(f"[{one}]" for one in where.split("-"))
    # What a port needs must be said before.
    return f" to {where}{f':{ports}' if ports else ''}", [*values, *(replace(one, needs=()) for one in more)]


@says(Nat, "type family reg_addr_min reg_addr_max reg_proto_min reg_proto_max flags")
def _nat(telling: Telling, cell: int, data: Nat) -> None:
    if data.type not in (NAT.SNAT, NAT.DNAT):
        raise Unsaid
    address = data.reg_addr_min, data.reg_addr_max
    port = data.reg_proto_min, data.reg_proto_max
    flags = _nat_flags(data.flags, address[0] is not None, port[0] is not None)
    together = _address_and_port(telling, data)
    text, values = together or _place(telling, data.family, address, port)
    inet = telling.family is NFPROTO.INET
    word = f" {_WORD[data.family]}" if inet and data.family in _WORD else ""
    if (not inet and data.family is not telling.family) or not text or (inet and address[0] is not None and not word):
        raise Unsaid
    if together and data.family is not None:
        word = f" {_WORD[data.family]} addr . port"
    telling.tell(cell, f"{data.type.word}{word if address[0] is not None else ''}{text}{flags}", values)


def _address_and_port(telling: Telling, data: Nat) -> Any:
    """Where a map says both."""
    if data.reg_addr_min is None or data.reg_proto_min is None or data.family not in _ADDRESS:
        return None
    value = telling.registers.at(data.reg_addr_min)
    kinds = [kind.name for kind in value.types]
    if kinds != [_ADDRESS[data.family].name, _PORT.name]:
        return None
    slot = telling.registers.slot
    if slot(data.reg_proto_min) != slot(data.reg_addr_min) + value.types[0].padded // 4:
        raise Unsaid
    for first, last in ((data.reg_addr_min, data.reg_addr_max), (data.reg_proto_min, data.reg_proto_max)):
        if last is not None and slot(last) != slot(first):
            raise Unsaid
    return f" to {value.words}", [value]


@says(Masq, "flags reg_proto_min reg_proto_max")
def _masq(telling: Telling, cell: int, data: Masq) -> None:
    port = data.reg_proto_min, data.reg_proto_max
    flags = _nat_flags(data.flags, False, port[0] is not None)
    text, values = _place(telling, None, (None, None), port)
    telling.tell(cell, f"masquerade{text}{flags}", values)


@says(Redir, "reg_proto_min reg_proto_max flags")
def _redir(telling: Telling, cell: int, data: Redir) -> None:
    port = data.reg_proto_min, data.reg_proto_max
    flags = _nat_flags(data.flags, False, port[0] is not None)
    text, values = _place(telling, None, (None, None), port)
    telling.tell(cell, f"redirect{text}{flags}", values)


@says(Tproxy, "family reg_addr reg_port")
def _tproxy(telling: Telling, cell: int, data: Tproxy) -> None:
    text, values = _place(telling, data.family, (data.reg_addr, None), (data.reg_port, None))
    inet = telling.family is NFPROTO.INET
    if not text or (not inet and data.family is not telling.family):
        raise Unsaid
    word = f" {_WORD[data.family]}" if inet and data.family in _WORD else ""
    telling.tell(cell, f"tproxy{word}{text}", values)


_DEVICE = TYPES["iface_index"]


@says(Dup, "sreg_addr sreg_dev")
def _dup(telling: Telling, cell: int, data: Dup) -> None:
    _sent(telling, cell, "dup", telling.family, data.sreg_addr, data.sreg_dev)


@says(Fwd, "sreg_dev sreg_addr nfproto")
def _fwd(telling: Telling, cell: int, data: Fwd) -> None:
    word = f"fwd {_WORD[data.nfproto]}" if data.nfproto in _WORD else "fwd"
    if (data.sreg_addr is None) != (data.nfproto is None):
        raise Unsaid
    _sent(telling, cell, word, data.nfproto, data.sreg_addr, data.sreg_dev)


def _sent(
    telling: Telling, cell: int, word: str, family: NFPROTO | None, address: int | None, device: int | None
) -> None:
    """To an address, by a device."""
    values, found = [], []
    if address is not None:
        kind = _ADDRESS.get(family) if family is not None else None
        if kind is None:
            raise Unsaid
        values.append(telling.registers.at(address))
        found.append(given(values[-1], kind))
    if device is not None:
        values.append(telling.registers.at(device))
        found.append(given(values[-1], _DEVICE))
    if not found or any(value.data is None for value in values):
        raise Unsaid
    telling.tell(cell, f"{word} to {' device '.join(found)}", values)
