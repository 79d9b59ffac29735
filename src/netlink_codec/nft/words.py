"""Values in the words of the `nft` tool, which it reads back as the same bytes."""

from collections.abc import Callable, Iterable
from enum import IntFlag
from ipaddress import IPv4Network, IPv6Network
from typing import Any

from .datatypes import DataType, Range
from .elements import CATCHALL
from .enums import VERDICT
from .exprs import Verdict
from .wordlists import BITS, WORDS

_HEX = {"mark": 8, "classid": 8, "ether_type": 4}
_DECIMAL = frozenset(WORDS) | {"inet_service", "integer", "iface_index", "realm", "uid", "gid", "devgroup", "boolean"}
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./")
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


class Unsaid(Exception):
    """There are no words for it."""


def name(text: str | None) -> str:
    """Of a chain, a set, an object: as it is, if it is a word."""
    if not text or not _NAME.issuperset(text) or not (text[0].isalpha() or text[0] == "_"):
        raise Unsaid
    return text


def quoted(text: str | None) -> str:
    """Text in quotes, in which nothing can be escaped."""
    if text is None or not text.isprintable() or '"' in text or "\\" in text:
        raise Unsaid
    return f'"{text}"'


def duration(seconds: float) -> str:
    """30s, 1h30m, 1s500ms."""
    whole, rest = divmod(round(seconds * 1000), 1000)
    words = []
    for size, unit in _UNITS:
        number, whole = divmod(whole, size)
        words += [f"{number}{unit}"] if number else []
    words += [f"{rest}ms"] if rest else []
    return "".join(words) or "0s"


def bits(kind: DataType, value: int, between: str) -> str:
    """Words for all bits that are set."""
    known = BITS.get(kind.name, {})
    words = [word for bit, word in known.items() if value & bit]
    if not words or value & ~sum(known):
        raise Unsaid
    return between.join(words)


def said(kind: DataType, value: Any) -> str:
    """A value of this type: an address, a number, a word, a range of them, a network."""
    if isinstance(value, Range):
        return f"{bound(kind, value.first)}-{bound(kind, value.last)}"
    if isinstance(value, IPv4Network | IPv6Network):
        return str(value.network_address if value.prefixlen == value.max_prefixlen else value)
    if kind.make is not None:
        return str(value)
    if kind.name == "ifname":
        if not value or "*" in value[:-1]:
            raise Unsaid
        return quoted(value)
    if kind.name == "string":
        return quoted(value)
    if kind.name == "ether_addr":
        return str(value)
    if kind.name in BITS:
        return bits(kind, value, " | ")
    if isinstance(value, int):
        number = int(value)
        word = WORDS.get(kind.name, {}).get(number)
        if word is not None:
            return f'"{word.capitalize()}"' if kind.name == "day" else word
        if kind.name in _HEX or kind.name in _DECIMAL:
            return _numeral(kind, number)
    raise Unsaid


def bound(kind: DataType, value: Any) -> str:
    """Either end of a range, which is no word."""
    return _numeral(kind, int(value)) if kind.name in WORDS else said(kind, value)


def _numeral(kind: DataType, number: int) -> str:
    return f"0x{number:0{_HEX[kind.name]}x}" if kind.name in _HEX else str(number)


def read(kind: DataType, data: bytes, say: Callable[[DataType, Any], str] = said) -> str:
    """What these bytes are, if they are nothing but what the words say."""
    if len(data) != kind.size:
        raise Unsaid
    value = kind.read(data)
    if kind.write(value) != data or (kind.name == "ifname" and value.endswith("*")):
        raise Unsaid
    return say(kind, value)


def key(parts: Iterable[DataType], value: Any) -> str:
    """A key of a set, or what a map leads to."""
    parts = tuple(parts)
    if value is CATCHALL:
        return "*"
    if len(parts) == 1:
        return said(parts[0], value)
    return " . ".join(said(part, one) for part, one in zip(parts, value, strict=True))


_VERDICTS = {VERDICT.JUMP, VERDICT.GOTO}
_FINAL = {VERDICT.ACCEPT, VERDICT.DROP, VERDICT.CONTINUE, VERDICT.RETURN}


def verdict(one: Verdict | None) -> str:
    if one is None or one.unknown or one.chain_id is not None:
        raise Unsaid
    if one.code in _VERDICTS:
        return f"{one.code.word} {name(one.chain)}"
    if one.code not in _FINAL or one.chain is not None:
        raise Unsaid
    return one.code.word


def flags_within(value: IntFlag | None, known: int) -> int:
    """The flags, if there is no other than these."""
    number = int(value or 0)
    if number & ~known:
        raise Unsaid
    return number


def prefix_length(mask: bytes) -> int | None:
    """Of a mask that is a network's."""
    number, width = int.from_bytes(mask, "big"), 8 * len(mask)
    host = number ^ ((1 << width) - 1)
    return None if host & (host + 1) else width - host.bit_length()


def led_to(parts: Iterable[DataType], value: Any) -> str:
    """What an element of a map leads to."""
    if isinstance(value, Verdict):
        return verdict(value)
    parts = tuple(parts)
    return key(parts, value) if parts else quoted(value)
