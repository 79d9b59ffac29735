"""The codec: netlink messages and attributes, to and from bytes.

    nlmsghdr   | length u32 | type u16 | flags u16 | seq u32 | pid u32 | payload, padded to 4
    nlattr     | length u16 | type u16 (0x8000 nested, 0x4000 network order) | payload, padded to 4

Lengths count the header and the payload, never the padding. Mirrors struct
nlmsghdr and struct nlattr of linux/netlink.h.

**Lifetime.** A `Message` or an `Attribute` is a view: it keeps the buffer that
it was read from alive, and a mutable buffer (a bytearray, say) cannot be resized
while a view of it lives. Whoever changes such a buffer's bytes meanwhile reads
changed values, or gets a `DecodeError`; never anything outside the buffer.
`unmarshal_messages` and `unmarshal_attributes` take a snapshot instead. A buffer
that itself refers to its reader (an object of your own that exports a buffer) is a
cycle that garbage collection does not see.

**Reuse.** Iterators hand out a scratch object again only when nobody else
refers to it, so a plain `for` loop allocates nothing, and an object that was
kept (in a list, in a name) never changes. Free-threaded builds always make a
new one.

**Threads.** `Message` and `Attribute` are immutable and may be shared. A
decoder, a message iterator or an encoder may be used from several threads
without harm to memory; each item goes to one of them.
"""

from collections.abc import Callable, Iterable, Iterator
from types import NotImplementedType
from typing import Any, Generic, Literal, Self, SupportsIndex, TypeAlias, TypeVar, final

from typing_extensions import Buffer, disjoint_base

_T = TypeVar("_T")
_ByteOrder: TypeAlias = Literal["native", "little", "big"]

@final
class Message:
    """One netlink message: struct nlmsghdr and its payload, immutable.

    The buffer protocol gives the message as it stands on the wire, without
    padding: `bytes(message)`, `memoryview(message)`, `sock.send(message)`.
    Equal when those bytes are.

    Raises EncodeError for a number that its header field cannot hold or a
    payload of 4 GiB.
    """

    def __init__(self, type: int, flags: int = 0, data: Buffer = b"", *, seq: int = 0, pid: int = 0) -> None: ...
    @property
    def length(self) -> int:
        """nlmsg_len: header and payload in bytes, without padding."""
    @property
    def type(self) -> int:
        """nlmsg_type: NLMSG_* below 16, else the protocol's own."""
    @property
    def flags(self) -> int:
        """nlmsg_flags: NLM_F_*."""
    @property
    def seq(self) -> int:
        """nlmsg_seq: a reply carries its request's."""
    @property
    def pid(self) -> int:
        """nlmsg_pid: the port id of the socket that asked, 0 for the kernel."""
    @property
    def data(self) -> bytes:
        """The payload, copied at each touch."""
    @property
    def view(self) -> memoryview:
        """The payload without a copy: a read-only memoryview."""
    def attributes(
        self, offset: int = 0, byteorder: _ByteOrder = "native", *, strict: bool = False
    ) -> AttributeDecoder:
        """Decode the attributes that follow `offset` bytes of the payload.

        `offset` is the size of the family's own header: 16 for ifinfomsg, 4 for
        genlmsghdr. As `AttributeDecoder(message.view, offset)` without the copy;
        offsets in errors count from the start of the message.
        """
    def replace(
        self,
        *,
        type: int | None = None,
        flags: int | None = None,
        data: Buffer | None = None,
        seq: int | None = None,
        pid: int | None = None,
    ) -> Message:
        """A copy with these fields changed."""
    def sent(self, seq: int, pid: int, flags: int) -> Message:
        """As it is sent: with this sequence number and port id, unless it has its own, and these flags added."""
    def __len__(self) -> int:
        """As `length`."""
    def __copy__(self) -> Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __replace__(
        self,
        *,
        type: int | None = None,
        flags: int | None = None,
        data: Buffer | None = None,
        seq: int | None = None,
        pid: int | None = None,
    ) -> Message: ...

def iter_messages(buffer: Buffer, offset: int = 0, *, strict: bool = False) -> Iterator[Message]:
    """Walk the messages of a datagram, or of several one after another.

    Lazy: a message's header is looked at when it is asked for. As the kernel and
    libmnl do, the last message may lack its padding, and fewer than 16 bytes
    after the last message are ignored, unless `strict`. A length below 16 or past
    the end, and a buffer that holds bytes but not one header, raise DecodeError
    when the walk gets there; what came before has been delivered.
    """

def unmarshal_messages(buffer: Buffer, offset: int = 0, *, strict: bool = False) -> list[Message]:
    """All messages of a buffer, of which a mutable one is copied first.

    As `iter_messages`, but all or nothing.
    """

def message_size(messages: Iterable[Message]) -> int:
    """How many bytes these messages take on the wire, padding included."""

def marshal_messages(messages: Iterable[Message]) -> bytes:
    """The messages one after another, each padded with zeros to 4 bytes.

    One allocation: the sizes are summed first. (For one message without padding,
    `bytes(message)`.)
    """

def marshal_into(messages: Iterable[Message], buffer: Buffer, offset: int = 0) -> int:
    """Write the messages into a writable buffer; returns the bytes written.

    The messages may be views of that buffer: they are written as they are before.
    Raises EncodeError, with nothing written, where they do not fit.
    """

def marshal_series(messages: Iterable[Message], seq: int, pid: int, acknowledged: int) -> bytes:
    """The messages as one datagram, as `Message.sent` makes each, numbered from `seq` on.

    All are requests, and one asks for an acknowledgement: the one at that place.
    """

def acknowledges(datagram: bytes, seq: int) -> bool:
    """Whether it is nothing but the news that all is well with the request of this number."""

def whole_answer(first: bytes, second: bytes | None, seq: int, single: bool) -> Message | NotImplementedType | None:
    """The answer to a request of this number, if these datagrams are all of it and as it mostly is.

    That is one message of data that is not of several, and behind it, if it is not `single`, the
    news that all is well; or that alone, for which it is None. NotImplemented is for
    everything else.
    """

@disjoint_base
class Scan(Iterator[Message]):
    """The messages of one exchange, out of the datagrams that arrive.

    To it belong `count` sequence numbers from `seq` on; messages of others are
    counted in `stale` and passed over. A subclass decides: `control(message)` is
    called with each NLMSG_ERROR and each multipart NLMSG_DONE of the exchange, when
    `done` is set, and unsets that if it was not the end, or raises; `more()` is called when a
    datagram is used up, and feeds the next one, or raises; `over()` is called when
    iterating ends. `single` says that the first
    message of data, unless it is multipart, is the end; `plain`, that the last
    number's outcome is, and need not be shown to `control` if it is success without a word. `flags` are
    the flags of all messages so far, or-ed together.

    Iterating yields the messages of data, by the rules of `iter_messages`.
    """

    seq: int
    count: int
    flags: int
    stale: int
    done: bool
    def __init__(self, seq: int, count: int = 1, *, single: bool = False, plain: bool = False) -> None: ...
    def feed(self, datagram: bytes, following: bytes | None = None) -> None:
        """Go on with this datagram, and with the one after it if it came too."""
    def take(self) -> Message | None:
        """The next message of data; None where the datagram is used up, or the exchange over."""
    def control(self, message: Message) -> None:
        """An outcome: to be decided by a subclass."""
    def more(self) -> None:
        """The datagram is used up: to be filled by a subclass."""
    def over(self) -> None:
        """The exchange is over, and all of it was taken."""
    def claim(self) -> bool:
        """True for who asks first, whose it is to see to the end; False for all others."""
    @property
    def used_up(self) -> bool:
        """Whether there is nothing to take, and more is to come."""
    def __next__(self) -> Message: ...

@disjoint_base
class Decoder:
    """What makes something of a message; called from C where it can be."""

@final
class Results(Iterator[_T], Generic[_T]):
    """The results of a dump, decoded as they are asked for; leave it whenever you like, as `Replies`."""

    def __init__(self, replies: Scan, decode: Callable[[Message], _T | None] | None) -> None: ...
    @classmethod
    def __class_getitem__(cls, item: Any) -> type[Self]: ...
    def __next__(self) -> _T: ...
    def close(self) -> None:
        """End the dump here. Again is harmless."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

@final
class Attribute:
    """One attribute: struct nlattr and its payload, immutable.

    `type` may carry NLA_F_NESTED and NLA_F_NET_BYTEORDER. The buffer protocol
    gives the attribute as it stands on the wire, without padding. `len()` is the
    payload's length. Equal when the wire's bytes are.

    The integer readers want exactly their width, as the kernel's policies do, and
    raise DecodeError otherwise. Readers without an order in their name read in
    the order the decoder was given; where it was given none, in native order, or
    big-endian if the attribute carries NLA_F_NET_BYTEORDER.

    Raises EncodeError for a type outside 0..65535 or more than 65531 bytes.
    """

    def __init__(self, type: int, data: Buffer = b"") -> None: ...
    @property
    def type(self) -> int:
        """nla_type without the two flag bits."""
    @property
    def type_flags(self) -> int:
        """The flag bits of nla_type: NLA_F_NESTED, NLA_F_NET_BYTEORDER."""
    @property
    def offset(self) -> int:
        """Where its header is, counted as the offsets of errors are."""
    @property
    def data(self) -> bytes:
        """The payload, copied at each touch."""
    @property
    def view(self) -> memoryview:
        """The payload without a copy: a read-only memoryview."""
    def u8(self) -> int: ...
    def s8(self) -> int: ...
    def u16(self) -> int: ...
    def s16(self) -> int: ...
    def u32(self) -> int: ...
    def s32(self) -> int: ...
    def u64(self) -> int: ...
    def s64(self) -> int: ...
    def u16be(self) -> int: ...
    def s16be(self) -> int: ...
    def u32be(self) -> int: ...
    def s32be(self) -> int: ...
    def u64be(self) -> int: ...
    def s64be(self) -> int: ...
    def u16le(self) -> int: ...
    def s16le(self) -> int: ...
    def u32le(self) -> int: ...
    def s32le(self) -> int: ...
    def u64le(self) -> int: ...
    def s64le(self) -> int: ...
    def uint(self) -> int:
        """NLA_UINT: an unsigned integer of 4 or 8 bytes."""
    def sint(self) -> int:
        """NLA_SINT: a signed integer of 4 or 8 bytes."""
    def string(self) -> str:
        """Text up to its trailing NULs, of which there may be none or many.

        NULs inside are kept. UTF-8; other bytes become surrogates, which the
        encoder turns back (PEP 383).
        """
    def flag(self) -> Literal[True]:
        """True: a flag is there or it is not. DecodeError if it has a payload."""
    def nested(self, offset: int = 0) -> AttributeDecoder:
        """Decode the payload, from `offset` on, as attributes.

        NLA_F_NESTED is not asked for: kernels differ in setting it. Byte order and
        strictness are the parent's. DecodeError deeper than 32 levels.
        """
    def do(self, function: Callable[[memoryview], _T]) -> _T:
        """`function(view)`; what it raises gets a note that names the attribute."""
    def __len__(self) -> int: ...
    def __bool__(self) -> Literal[True]:
        """True, of any length: what `find` found is there."""
    def __copy__(self) -> Self: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class AttributeDecoder:
    """An iterator over the attributes of a buffer, from `offset` on.

    Lazy: nothing is scanned ahead, and an attribute that is passed over costs no
    allocation. The last attribute may lack its padding; 1 to 3 stray bytes after
    it are ignored, as the kernel's lax parser and libmnl do, unless `strict`. A
    length below 4 or past the end raises DecodeError when the walk gets there;
    the cursor stays, so asking again raises again.

    `byteorder` is that of the integer readers without an order in their name;
    headers are always native. "native", the default, lets an attribute's own
    NLA_F_NET_BYTEORDER say big-endian; "little" and "big" are final.

    Raises DecodeError at once if the buffer is shorter than `offset`, ValueError
    for a negative offset or another byte order.
    """

    def __init__(
        self, buffer: Buffer, offset: int = 0, byteorder: _ByteOrder = "native", *, strict: bool = False
    ) -> None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Attribute: ...
    def find(self, type: int, /, *path: int) -> Attribute | None:
        """The first attribute of this type, or None; further types descend.

        `find(IFLA_LINKINFO, IFLA_INFO_KIND)` looks for the kind inside the first
        link info. Flag bits do not count. Starts at the beginning, wherever the
        iteration is, and does not move it. Only what is passed on the way is
        checked.
        """
    def find_all(self, type: int, /) -> list[Attribute]:
        """Every attribute of this type, in order. Does not move the iteration."""

@final
class AttributeEncoder:
    """Grows one buffer of attributes, after the bytes of `header`.

    The writers mirror the readers of `Attribute`. The buffer protocol gives what
    was written so far (`bytes(encoder)`, or hand the encoder to `Message`), while
    no nested attribute is open; while a view of it lives, writing raises
    BufferError. `len()` is the bytes so far.

    Types are written as given, flags included. `byteorder` is that of writers
    without an order in their name: "native", the default, writes big-endian where
    the type carries NLA_F_NET_BYTEORDER; "little" and "big" are final.

    Raises EncodeError, naming the attribute and with nothing written, for a type
    outside 0..65535, an integer out of range, a payload over 65531 bytes, text with
    a NUL inside, or nesting deeper than 32 levels.
    """

    def __new__(cls, header: Buffer = b"", byteorder: _ByteOrder = "native") -> Self: ...
    def u8(self, type: int, value: SupportsIndex) -> None: ...
    def s8(self, type: int, value: SupportsIndex) -> None: ...
    def u16(self, type: int, value: SupportsIndex) -> None: ...
    def s16(self, type: int, value: SupportsIndex) -> None: ...
    def u32(self, type: int, value: SupportsIndex) -> None: ...
    def s32(self, type: int, value: SupportsIndex) -> None: ...
    def u64(self, type: int, value: SupportsIndex) -> None: ...
    def s64(self, type: int, value: SupportsIndex) -> None: ...
    def u16be(self, type: int, value: SupportsIndex) -> None: ...
    def s16be(self, type: int, value: SupportsIndex) -> None: ...
    def u32be(self, type: int, value: SupportsIndex) -> None: ...
    def s32be(self, type: int, value: SupportsIndex) -> None: ...
    def u64be(self, type: int, value: SupportsIndex) -> None: ...
    def s64be(self, type: int, value: SupportsIndex) -> None: ...
    def u16le(self, type: int, value: SupportsIndex) -> None: ...
    def s16le(self, type: int, value: SupportsIndex) -> None: ...
    def u32le(self, type: int, value: SupportsIndex) -> None: ...
    def s32le(self, type: int, value: SupportsIndex) -> None: ...
    def u64le(self, type: int, value: SupportsIndex) -> None: ...
    def s64le(self, type: int, value: SupportsIndex) -> None: ...
    def uint(self, type: int, value: SupportsIndex) -> None:
        """NLA_UINT: in 4 bytes if they hold the value, else in 8."""
    def sint(self, type: int, value: SupportsIndex) -> None:
        """NLA_SINT: in 4 bytes if they hold the value, else in 8."""
    def string(self, type: int, value: str) -> None:
        """UTF-8 text and one NUL (surrogates become the bytes they stand for)."""
    def data(self, type: int, value: Buffer) -> None:
        """Bytes as they are."""
    def flag(self, type: int, value: bool = True) -> None:
        """An attribute without payload if `value`, else nothing."""
    def do(self, type: int, function: Callable[[], Buffer]) -> None:
        """The bytes that `function()` returns; what it raises gets a note that names the attribute."""
    def attribute(self, attribute: Attribute) -> None:
        """An attribute as it was read, its flags included."""
    def nested(self, type: int) -> _Nested:
        """`with encoder.nested(type):` puts what is written inside into one attribute.

        NLA_F_NESTED is added to the type. If the body raises, or the attribute
        passes 65535 bytes (EncodeError), the encoder is as it was before.
        """
    def clear(self) -> None:
        """Forget the attributes; the header stays."""
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class _Nested:
    def __enter__(self) -> AttributeEncoder: ...
    def __exit__(self, kind: object, error: object, traceback: object, /) -> None: ...

def marshal_attributes(attributes: Iterable[Attribute]) -> bytes:
    """The attributes one after another, each padded with zeros to 4 bytes.

    One allocation: the sizes are summed first.
    """

def unmarshal_attributes(
    buffer: Buffer, offset: int = 0, byteorder: _ByteOrder = "native", *, strict: bool = False
) -> list[Attribute]:
    """All attributes of a buffer, of which a mutable one is copied first.

    As `AttributeDecoder`, but all or nothing.
    """
