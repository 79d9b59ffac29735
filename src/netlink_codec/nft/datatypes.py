"""What keys and values of sets mean: the data types of the `nft` tool, by name and number.

The kernel only knows bytes; it keeps the number of the type (NFTA_SET_KEY_TYPE), six bits for each part of a
concatenation, for those who list the ruleset.
"""

import sys
from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final, Literal

from .._elements import network_between
from ..conntrack.enums import IPPROTO
from .enums import CT_STATE
from .wordlists import ALIASES, BITS, WORDS

Order = Literal["big", "little"]
HOST: Final[Order] = sys.byteorder

_BITS = 6


class Range:
    """From one value to another, both included."""

    __slots__ = ("first", "last")
    __match_args__ = ("first", "last")

    def __init__(self, first: Any, last: Any) -> None:
        if isinstance(first, str) or isinstance(last, str):
            first, last = _parsed(first), _parsed(last)
        try:
            wrong = last < first
        except TypeError:
            raise TypeError(f"{first!r} and {last!r} are not values of one kind") from None
        if wrong:
            raise ValueError(f"{first} is after {last}")
        self.first = first
        self.last = last

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Range) and (self.first, self.last) == (other.first, other.last)

    def __hash__(self) -> int:
        return hash((Range, self.first, self.last))

    def __reduce__(self) -> tuple[Any, ...]:
        return Range, (self.first, self.last)

    def __repr__(self) -> str:
        return f"Range({self.first!r}, {self.last!r})"

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"


def _told(first: Any, last: Any) -> Range:
    """As the kernel has it, for which bytes are in order that may not be as text or as numbers."""
    made = Range.__new__(Range)
    made.first = first
    made.last = last
    return made


def _parsed(text: Any) -> Any:
    """What compares as it should: text that is an address, or a number, as one."""
    if not isinstance(text, str):
        return text
    for kind in (ip_address, _integer):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _integer(text: str) -> int:
    return int(text, 0)


class DataType:
    """How a value stands in the bytes of a register: `write` makes `size` bytes of it, `read` makes it of them."""

    __slots__ = ("make", "name", "number", "order", "plain", "read", "size", "write")

    def __init__(
        self,
        name: str,
        number: int,
        size: int,
        order: Order,
        read: Callable[[bytes], Any],
        write: Callable[[Any], bytes],
        make: type | None = None,
        plain: bool = False,
    ) -> None:
        self.name = name
        self.number = number
        self.size = size
        self.order: Order = order
        """Of its bytes: what is compared as a number, in ranges, is big-endian."""
        self.read = read
        self.write = write
        self.make = make
        """IPv4Address or IPv6Address, if it is one of them."""
        self.plain = plain
        """Whether it is just a number."""

    @property
    def padded(self) -> int:
        """So many bytes it takes in a concatenation."""
        return self.size + 3 & ~3

    def __repr__(self) -> str:
        return f"<DataType {self.name}>"

    def bounds(self, value: Any) -> tuple[bytes, bytes]:
        """The first and the last of what the value stands for: a network, a Range, "eth*", or itself."""
        if isinstance(value, Range):
            return self.write(value.first), self.write(value.last)
        if self.make is not None:
            if isinstance(value, str) and "/" in value:
                value = ip_network(value)
            if isinstance(value, IPv4Network | IPv6Network):
                return self.write(value.network_address), self.write(value.broadcast_address)
        elif isinstance(value, str) and value.endswith("*") and self.read is _text:
            start = self.write(value[:-1]).rstrip(b"\0")
            return start.ljust(self.size, b"\0"), start.ljust(self.size, b"\xff")
        data = self.write(value)
        return data, data

    def between(self, first: bytes, last: bytes) -> Any:
        """What stands for these: of addresses a network, if there is one; else one value, or a Range."""
        if self.make is not None:
            network = network_between(first, last)
            return _told(self.make(first), self.make(last)) if network is None else network
        if first == last:
            return self.read(first)
        if self.read is _text:
            start = first.rstrip(b"\0")
            if last == start.ljust(self.size, b"\xff"):
                return _text(start) + "*"
        return _told(self.read(first), self.read(last))

    def ordered(self, order: Order, size: int = 0) -> "DataType":
        """The same with numbers in this byte order, and of this size, where the type leaves it open."""
        size = self.size or size
        if self.read is _text or self.make is not None or (order == self.order and size == self.size):
            return self
        if self.name == "lladdr":
            return _hardware(self.name, self.number, size)
        if self.name in ("ether_addr", "ct_label", "string"):
            return DataType(self.name, self.number, size, self.order, self.read, self.write)
        words = _WORDS.get(self.name)
        return _number(self.name, self.number, size, order, words)

    def shifted(self, mask: bytes) -> "DataType":
        """Of numbers in some bits of several bytes: as they stand there, between others."""
        whole = int.from_bytes(mask, "big")
        shift = (whole & -whole).bit_length() - 1

        def read(data: bytes) -> Any:
            return self.read((int.from_bytes(data, "big") >> shift).to_bytes(self.size, "big"))

        def write(value: Any) -> bytes:
            number = int.from_bytes(self.write(value), "big") << shift
            if number & ~whole:
                raise ValueError(f"{value!r} does not fit into the {whole.bit_count()} bits of {self.name} here")
            return number.to_bytes(len(mask), "big")

        return DataType(self.name, self.number, len(mask), "big", read, write)


def _address(name: str, number: int, size: int, make: type) -> DataType:
    def write(value: Any) -> bytes:
        if isinstance(value, make):
            return value.packed  # type: ignore[attr-defined, no-any-return]
        if value is None or isinstance(value, bytes | int):
            raise TypeError(f"{value!r} is not an address, as is wanted for {name}")
        return make(str(value)).packed  # type: ignore[no-any-return]

    return DataType(name, number, size, "big", make, write, make)


def _number(
    name: str, number: int, size: int, order: Order, words: Callable[[int | str], Any] | None = None
) -> DataType:
    def read(data: bytes) -> Any:
        value = int.from_bytes(data, order)
        return value if words is None else words(value)

    def write(value: Any) -> bytes:
        if isinstance(value, str):
            try:
                value = _said(name, value) if words is None else words(value)
            except (KeyError, ValueError):
                spoken = [*BITS.get(name, WORDS.get(name, {})).values()]
                known = f", as {', '.join(spoken)}" if spoken else ""
                raise ValueError(f"{value!r} is not {'a word' if spoken else 'a number'} of {name}{known}") from None
        if not isinstance(value, int):
            raise TypeError(f"{value!r} is not a number, as is wanted for {name}")
        if not 0 <= value < (2 if words is _boolean else 1 << 8 * size):
            raise ValueError(f"{value} does not fit into the {size} bytes of {name}")
        return int(value).to_bytes(size, order)

    return DataType(name, number, size, order, read, write, plain=words is None)


def _said(name: str, text: str) -> int:
    """The number that words mean; of bits, of all of them."""
    number = 0
    for word in text.replace("|", ",").split(",") if name in BITS else [text]:
        known = _SPOKEN[name].get(word.strip()) if name in _SPOKEN else None
        number |= _integer(word) if known is None else known
    return number


def _text(data: bytes) -> str:
    return data.rstrip(b"\0").decode("utf-8", "surrogateescape")


def _string(name: str, number: int, size: int) -> DataType:
    def write(value: Any) -> bytes:
        if not isinstance(value, str):
            raise TypeError(f"{value!r} is not a str, as {name} is")
        data = value.encode("utf-8", "surrogateescape")
        if len(data) >= size or b"\0" in data:
            raise ValueError(f"{value!r} does not fit into the {size} bytes of {name}")
        return data.ljust(size, b"\0")

    return DataType(name, number, size, HOST, _text, write)


def _hardware(name: str, number: int, size: int) -> DataType:
    def read(data: bytes) -> str:
        return data.hex(":")

    def write(value: Any) -> bytes:
        data = value
        if isinstance(value, str):
            try:
                data = bytes.fromhex(value.replace(":", ""))
            except ValueError:
                data = None
        if not isinstance(data, bytes) or (size and len(data) != size):
            raise ValueError(f"{value!r} is not a hardware address of {size or 'some'} bytes")
        return data

    return DataType(name, number, size, "big", read, write)


def _raw(name: str, number: int, size: int) -> DataType:
    def write(value: Any) -> bytes:
        if not isinstance(value, bytes) or (size and len(value) != size):
            raise ValueError(f"{value!r}: {name} takes {size or 'some'} bytes")
        return value

    return DataType(name, number, size, "big", bytes, write)


def _state(value: int | str) -> CT_STATE:
    if isinstance(value, int):
        return CT_STATE(value)
    state = CT_STATE(0)
    for word in value.split(","):
        state |= CT_STATE[word.strip().upper()]
    return state


def _boolean(value: int | str) -> bool:
    return {"false": False, "true": True}[value] if isinstance(value, str) else bool(value)


_WORDS: dict[str, Callable[[int | str], Any]] = {"inet_proto": IPPROTO.of, "ct_state": _state, "boolean": _boolean}

_SPOKEN = {
    name: {word: number for number, word in (BITS.get(name) or WORDS[name]).items()} | ALIASES.get(name, {})
    for name in BITS | WORDS
}

_NUMBERS: tuple[tuple[str, int, int, Order], ...] = (
    ("nf_proto", 2, 1, HOST),
    ("integer", 4, 0, HOST),
    ("ether_type", 10, 2, "big"),
    ("arp_op", 11, 2, "big"),
    ("inet_proto", 12, 1, "big"),
    ("inet_service", 13, 2, "big"),
    ("icmp_type", 14, 1, "big"),
    ("tcp_flag", 15, 1, "big"),
    ("dccp_pkttype", 16, 1, "big"),
    ("mh_type", 17, 1, "big"),
    ("time", 18, 8, HOST),
    ("mark", 19, 4, HOST),
    ("iface_index", 20, 4, HOST),
    ("iface_type", 21, 2, HOST),
    ("realm", 22, 4, HOST),
    ("classid", 23, 4, HOST),
    ("uid", 24, 4, HOST),
    ("gid", 25, 4, HOST),
    ("ct_state", 26, 4, HOST),
    ("ct_dir", 27, 1, "big"),
    ("ct_status", 28, 4, HOST),
    ("icmpv6_type", 29, 1, "big"),
    ("pkt_type", 31, 1, "big"),
    ("icmp_code", 32, 1, "big"),
    ("icmpv6_code", 33, 1, "big"),
    ("icmpx_code", 34, 1, "big"),
    ("devgroup", 35, 4, HOST),
    ("dscp", 36, 1, "big"),
    ("ecn", 37, 1, "big"),
    ("fib_addrtype", 38, 4, HOST),
    ("boolean", 39, 1, HOST),
    ("ct_event", 40, 4, HOST),
    ("igmp_type", 42, 1, "big"),
    ("date", 43, 8, HOST),
    ("hour", 44, 8, HOST),
    ("day", 45, 1, HOST),
    ("cgroupsv2", 46, 8, HOST),
)

TYPES: dict[str, DataType] = {
    one.name: one
    for one in (
        _address("ipv4_addr", 7, 4, IPv4Address),
        _address("ipv6_addr", 8, 16, IPv6Address),
        _hardware("ether_addr", 9, 6),
        _hardware("lladdr", 6, 0),
        _string("string", 5, 16),
        _string("ifname", 41, 16),
        _raw("ct_label", 30, 16),
        *(_number(*facts, _WORDS.get(facts[0])) for facts in _NUMBERS),
    )
}
"""By the name that `nft` has for it."""

VERDICT_TYPE = 0xFFFFFF00
"""NFTA_SET_DATA_TYPE of a map of verdicts."""

_BY_NUMBER = {one.number: one for one in TYPES.values()}


def types_of(number: int, size: int, order: Order | None = None, *, interval: bool = False) -> tuple[DataType, ...]:
    """The parts of a type as the kernel keeps it; bytes as they are, where that makes no sense.

    What intervals are of is big-endian, since the kernel compares it from its first byte on.
    """
    if interval:
        order = "big"
    numbers = []
    while number:
        numbers.append(number & (1 << _BITS) - 1)
        number >>= _BITS
    parts = [_BY_NUMBER.get(one) for one in reversed(numbers)]
    known = [part for part in parts if part is not None]
    if not parts or len(known) != len(parts):
        return (_raw("bytes", 0, size),)
    if len(known) == 1:
        single = known[0].ordered(order or known[0].order, size)
        if single.plain and single.size != size and 0 < size <= 8:
            # Of a connection, "time" is 4 bytes.
            single = _number(single.name, single.number, size, single.order)
        return (single,) if single.size == size else (_raw("bytes", 0, size),)
    if interval:
        known = [part.ordered("big") for part in known]
    return tuple(known) if sum(part.padded for part in known) == size else (_raw("bytes", 0, size),)


def named(what: str) -> tuple[DataType, ...]:
    """The parts of "ipv4_addr . inet_service"."""
    if not isinstance(what, str):
        raise TypeError(f"data types are given as a str, not {what!r}")
    parts = []
    for name in what.split("."):
        part = TYPES.get(name.strip())
        if part is None:
            raise ValueError(f"{name.strip()!r} is no data type; some are {', '.join(TYPES)}")
        parts.append(part)
    return tuple(parts)


def number_of(parts: tuple[DataType, ...]) -> int:
    """As the kernel keeps it."""
    number = 0
    for part in parts:
        number = number << _BITS | part.number
    return number


def size_of(parts: tuple[DataType, ...]) -> int:
    return parts[0].size if len(parts) == 1 else sum(part.padded for part in parts)
