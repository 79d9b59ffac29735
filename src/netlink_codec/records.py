"""Typed records: declare once how a message looks, then read it lazily and build it eagerly.

    class Link(Record, identity=("index",)):
        '''An interface: struct ifinfomsg and IFLA_*.'''
        family: int = fixed(U8, default=0)
        type: int = fixed(U16, default=0)
        index: int = fixed(S32, default=0)
        flags: IFF = fixed(as_flags(U32, IFF), default=IFF(0))
        change: int = fixed(U32, default=0)
        name: str = always(IFLA.IFNAME, STRING)
        mtu: int | None = attr(IFLA.MTU, U32)

    link = Link(name="lan0", mtu=1500)     # encoded at once, and checked
    link.mtu                               # decoded when it is touched
    Link.from_message(message).name        # one small block: a copy of the message's bytes

**A record is its bytes.** What is not touched is not decoded, what is not known is not lost, and a record that was
read encodes as it was. Records are immutable; they may be shared by threads, kept, compared, hashed, pickled.

**Where fields are.** `fixed` ones form the struct at the beginning, each at its natural alignment, as a C
compiler lays it out; the others are attributes, by code. Of attributes with the same code the first counts, but for
`repeated`.

**Presence.** What is not there reads as None, not as zero; a flag (`present`) as False, a repeated one as (). `always`
is for what the kernel always sends: it reads as itself, and raises DecodeError where it is missing. When building,
`required` fields and `fixed` ones without a default must be given, others may be left out, and None leaves out.

**Errors.** Reading raises DecodeError, which names the field and the offset in the outermost record's bytes; iterating
and `repr` never do. Building raises EncodeError for a value that does not fit, and TypeError for one of the wrong
type, naming the field.

**Equality.** Two records are equal if they are of one class and say the same: the same struct, the same attributes,
in whatever order those of different codes stand. What the kernel answers is rarely equal to what was sent, since it
adds to it; compare fields, or `identity`.
"""

from collections.abc import Callable, Sequence
from enum import IntEnum, IntFlag
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, dataclass_transform, overload

from . import _records
from ._core import Message
from ._records import Field as Field
from ._records import Kind as Kind
from ._records import Reader as Reader
from ._records import Without as Without

if TYPE_CHECKING:
    from typing_extensions import Buffer

T = TypeVar("T")
E = TypeVar("E", bound="OpenEnum")
F = TypeVar("F", bound=IntFlag)
R = TypeVar("R", bound="Record")

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network

# Kinds in upper case: a field called `mac` or `string` would hide a kind of that name from the fields after it.

U8: Kind[int] = _records.integer(1)
U16: Kind[int] = _records.integer(2)
U32: Kind[int] = _records.integer(4)
U64: Kind[int] = _records.integer(8)
S8: Kind[int] = _records.integer(1, signed=True)
S16: Kind[int] = _records.integer(2, signed=True)
S32: Kind[int] = _records.integer(4, signed=True)
S64: Kind[int] = _records.integer(8, signed=True)
U16BE: Kind[int] = _records.integer(2, order="big")
U32BE: Kind[int] = _records.integer(4, order="big")
U64BE: Kind[int] = _records.integer(8, order="big")
S16BE: Kind[int] = _records.integer(2, signed=True, order="big")
S32BE: Kind[int] = _records.integer(4, signed=True, order="big")
S64BE: Kind[int] = _records.integer(8, signed=True, order="big")
U16LE: Kind[int] = _records.integer(2, order="little")
U32LE: Kind[int] = _records.integer(4, order="little")
U64LE: Kind[int] = _records.integer(8, order="little")
UINT: Kind[int] = _records.variable()
"""NLA_UINT: an unsigned integer of 4 or 8 bytes."""
SINT: Kind[int] = _records.variable(signed=True)
"""NLA_SINT: a signed integer of 4 or 8 bytes."""
LENGTH: Kind[int] = _records.integer(2, length=True)
"""A u16 in the struct that is the length of the whole record, filled in (rtnh_len)."""
STRING: Kind[str] = _records.text()
"""Text, with a NUL at its end on the wire; bytes that are no UTF-8 become surrogates (PEP 383)."""
BYTES: Kind[bytes] = _records.data()
MAC: Kind[str] = _records.hardware()
"""A hardware address of any length: "02:00:00:00:00:01". One of 4 or 16 bytes is an IP address, as tunnels have."""
IP: Kind[IPAddress] = _records.ip()
"""An IPv4Address of 4 bytes or an IPv6Address of 16."""
IP4: Kind[IPv4Address] = _records.ip(4)
IP6: Kind[IPv6Address] = _records.ip(6)


class OpenEnum(IntEnum):
    """Numbers with names, and room for those that have none yet.

    `Scope(77)` is a Scope, called "77", and equal to 77. `Scope.of` takes what a person would
    write: a member, a number, or the word, in upper or lower case. Members whose word is
    another than their name in lower case are listed in `words`.
    """

    @classmethod
    def _missing_(cls, value: object) -> "OpenEnum | None":
        if not isinstance(value, int):
            return None
        member = int.__new__(cls, value)
        member._name_ = str(int(value))
        member._value_ = int(value)
        return member

    @classmethod
    def words(cls) -> dict[str, str]:
        """Name → word, of those that differ."""
        return {}

    @cached_property
    def word(self) -> str:
        """What `ip` and its like call it."""
        return self.words().get(self.name, self.name.lower().replace("_", "-"))

    @classmethod
    def of(cls, value: int | str) -> Self:
        """The member for a number or a word; ValueError if there is no such word."""
        if isinstance(value, int):
            return cls(value)
        if not isinstance(value, str):
            raise TypeError(f"{cls.__name__}: a member, a number or a word, not {value!r}")
        word = value.casefold()
        for member in cls:
            if member.word.casefold() == word:
                return member
        if value.isdecimal():
            return cls(int(value))
        raise ValueError(f"{value!r} is none of {', '.join(member.word for member in cls)}")


def as_enum(kind: Kind[int], enum: type[E]) -> Kind[E]:
    """A number that reads as a member of the enum, whether it has a name or not."""
    return _records.enumerated(kind, enum)


def as_flags(kind: Kind[int], flags: type[F]) -> Kind[F]:
    """A number that reads as flags; unknown bits are kept."""
    return _records.flagged(kind, flags)


def nested(record: "type[R] | Callable[[], type[R]]") -> Kind[R]:
    """A record inside an attribute: attributes in attributes, or a struct. A function is asked when it is first needed,
    for records that contain themselves."""
    return _records.nested(record)


def chosen(base: type[R], *, by: str) -> Kind[R]:
    """One of the subclasses of `base`, by the value of a field beside it.

    `class Vlan(LinkData, kind="vlan")` is chosen where that value is "vlan"; where no
    subclass is, it reads as `base`, which keeps all of it as unknown attributes. Building
    fills the field beside it in.
    """
    return _records.chosen(base, by)


def array(kind: Kind[T], *, code: int | None = None) -> Kind[tuple[T, ...]]:
    """Values in attributes of their own inside one attribute, whatever their codes; written with
    this code each, or 1, 2, 3, …"""
    return _records.array(kind, -1 if code is None else code)


def packed(kind: Kind[T]) -> Kind[tuple[T, ...]]:
    """Values of one width, integers or a `nested` Struct, one after another in one attribute."""
    return _records.packed(kind)


def sequence(record: "type[R]") -> Kind[tuple[R, ...]]:
    """Records one after another in one attribute, each beginning with its own length in a u16 (struct rtnexthop).

    That u16 is the record's first field, of kind LENGTH.
    """
    return _records.sequence(record)


def scaled(kind: Kind[int], unit: float) -> Kind[float]:
    """A number of units: one of milliseconds, with unit 0.001, reads as seconds."""
    return _records.scaled(kind, unit)


def sentinel(kind: Kind[T], value: int) -> Kind[T | None]:
    """As `kind`, but this value says that there is none, and reads as None."""
    return _records.sentinel(kind, value)


def characters(size: int) -> Kind[str]:
    """char[size] in a struct: text with a NUL at its end."""
    return _records.characters(size)


def blob(size: int) -> Kind[bytes]:
    """So many bytes in a struct."""
    return _records.data(size)


def custom(decode: Callable[[bytes], T], encode: Callable[[T], bytes]) -> Kind[T]:
    """Bytes that the functions read and write. What `decode` raises becomes a DecodeError that names the field."""
    return _records.custom(decode, encode)


# Where a value is. The types say what reading gives; at run time each is a Field.


@overload
def fixed(kind: Kind[T]) -> T: ...
@overload
def fixed(kind: Kind[T], *, default: T) -> T: ...
def fixed(kind: Kind[Any], *, default: Any = ...) -> Any:
    """In the struct at the beginning."""
    return Field("fixed", kind, default=default)


def grown(kind: Kind[T]) -> T | None:
    """At the end of a struct that older kernels have shorter."""
    return Field("grown", kind)  # type: ignore[return-value]


def attr(code: int, kind: Kind[T]) -> T | None:
    """In an attribute, which may be missing."""
    return Field("attr", kind, code)  # type: ignore[return-value]


def always(code: int, kind: Kind[T]) -> T:
    """In an attribute that the kernel always sends; it may be left out when building."""
    return Field("always", kind, code)  # type: ignore[return-value]


def required(code: int, kind: Kind[T]) -> T:
    """In an attribute that must be there, when building too."""
    return Field("required", kind, code)  # type: ignore[return-value]


def repeated(code: int, kind: Kind[T]) -> tuple[T, ...]:
    """In any number of attributes of one code."""
    return Field("repeated", kind, code)  # type: ignore[return-value]


def present(code: int) -> bool:
    """An attribute without payload, which is there or not."""
    return Field("present", _records.data(), code)  # type: ignore[return-value]


def merged(code: int, kind: Kind[T], *, over: str) -> T:
    """In an attribute, or, where that is missing, in a narrower fixed field (RTA_TABLE and rtm_table).

    Written to the fixed field alone if it fits. If not, the fixed field is 0; of flags, it keeps the lower bits.
    """
    return Field("merged", kind, code, over=over)  # type: ignore[return-value]


def prefix(code: int, *, length: str) -> IPNetwork | None:
    """A network: its address in an attribute, its length in a fixed field. None where there is no attribute."""
    return Field("prefix", _records.ip(), code, over=length)  # type: ignore[return-value]


def network(code: int, *, length: str) -> IPNetwork:
    """As `prefix`; where there is no attribute, it is that of all addresses of the family ("default")."""
    return Field("network", _records.ip(), code, over=length)  # type: ignore[return-value]


class _RecordType(type):
    def __new__(
        metacls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> "_RecordType":
        namespace.setdefault("__slots__", ())
        return super().__new__(metacls, name, bases, namespace, **options)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(fixed, required))
class Record(_records.Base, metaclass=_RecordType):
    """A message, or a part of one, as a typed value. See the module for what it promises.

    `bytes(record)` is what stands on the wire after the nlmsghdr; so is its buffer, which
    `Message(type, flags, record)` takes without a copy in between.

    Class options: `identity`, the fields that make two records speak of the same thing;
    `kind`, the value by which `chosen` picks this class; `family`, the fixed field that is
    set to AF_INET or AF_INET6 where an address is given and it is left out.
    """

    _struct: ClassVar[bool] = False

    if TYPE_CHECKING:
        message_type: int
        """nlmsg_type of the message that this was read from, 0 if from none."""
        message_flags: int
        """nlmsg_flags of that message."""
        unknown: tuple[tuple[int, bytes], ...]
        """Code and payload of each attribute that has no field."""

        @classmethod
        def from_bytes(cls, data: "Buffer", /) -> Self:
            """Read one from bytes, which are copied; DecodeError if they are too few for the struct."""

        @classmethod
        def from_message(cls, message: Message, /) -> Self:
            """Read one from a message's payload, which is copied; type and flags are kept."""

        def replace(self, **changes: Any) -> Self:
            """A copy with other values. What is not named stays as it is on the wire; None takes away."""

        def to_dict(self) -> dict[str, Any]:
            """Everything that is there, as str, int, float, bool, list and dict, ready for JSON and MessagePack.

            Addresses and enum members as `ip` writes them, flags as a list of names, bytes in
            hex; attributes that have no field under "unknown", as [code, hex].
            """

        def check(self) -> None:
            """Decode everything; DecodeError for the first field that cannot be."""

        @classmethod
        def path_names(cls, path: Sequence[int], message: Message | None = None) -> str:
            """The fields on a path of attribute codes: "info.data.id"; a number where there is none.

            What is chosen by a field beside it is known by the message that has the path.
            """

        def __buffer__(self, flags: int, /) -> memoryview: ...

    def __init_subclass__(cls, *, kind: Any = None, identity: tuple[str, ...] = (), family: str | None = None) -> None:
        super().__init_subclass__()
        _records.declare(cls, struct=cls._struct, kind=kind, identity=identity, family=family)

    @property
    def identity(self) -> tuple[Any, ...]:
        """What makes it the same thing in an event, a difference, a deletion: the values of some fields."""
        return _records.identity(self)


class Struct(Record):
    """A record of fixed fields alone, which kernels may have shorter or longer than declared.

    What is missing at the end reads as zero, or as None if `grown`; what is there
    more is kept.
    """

    _struct = True


def reader(record: type[R], message_type: int | None = None, **where: Any) -> "Reader[R]":
    """What decodes messages of this type (of any, if None) to such records, and others to None.

    `where` are fields and their values; or a frozenset of values, any of which will do; or `Without(bits)`, for
    numbers. A record that differs is left out, as the kernel leaves it out if it honours the same filter. For the
    `decode` of a Request or a Dump.
    """
    return Reader(record, -1 if message_type is None else message_type, where)
