"""What type checkers say of typed records; checked, never run."""

from enum import IntFlag
from ipaddress import IPv4Address, IPv4Network
from typing import Any, assert_type

from netlink_codec import Dump, Message
from netlink_codec.records import (
    IP,
    IP4,
    IP6,
    LENGTH,
    MAC,
    STRING,
    U8,
    U16,
    U32,
    IPAddress,
    IPNetwork,
    OpenEnum,
    Record,
    Struct,
    always,
    array,
    as_enum,
    as_flags,
    attr,
    blob,
    characters,
    chosen,
    custom,
    fixed,
    grown,
    merged,
    nested,
    network,
    packed,
    prefix,
    present,
    reader,
    repeated,
    required,
    scaled,
    sentinel,
    sequence,
)


class Scope(OpenEnum):
    UNIVERSE = 0
    LINK = 253


class Flags(IntFlag):
    UP = 1


class Data(Record):
    pass


class Vlan(Data, kind="vlan"):
    id: int | None = attr(1, U16)


class Stats(Struct):
    rx: int = fixed(U32, default=0)
    lost: int | None = grown(U32)
    key: bytes = fixed(blob(5), default=bytes(5))
    name: str = fixed(characters(16), default="")


class Hop(Record):
    length: int = fixed(LENGTH, default=0)


class Link(Record, identity=("index",), family="family"):
    family: int = fixed(U8, default=0)
    index: int = fixed(U32)
    flags: Flags = fixed(as_flags(U32, Flags), default=Flags(0))
    scope: Scope = fixed(as_enum(U8, Scope), default=Scope.UNIVERSE)
    valid: int | None = fixed(sentinel(U32, -1), default=None)
    since: float = fixed(scaled(U32, 0.01), default=0.0)
    dst_len: int = fixed(U8, default=0)
    small_table: int = fixed(U8, default=0)
    address: str | None = attr(1, MAC)
    name: str = always(3, STRING)
    mtu: int | None = attr(4, U32)
    kind: str = required(5, STRING)
    quiet: bool = present(6)
    data: Data | None = attr(7, chosen(Data, by="kind"))
    stats: Stats | None = attr(8, nested(Stats))
    names: tuple[str, ...] | None = attr(9, array(STRING, code=53))
    numbers: tuple[int, ...] | None = attr(10, packed(U32))
    hops: tuple[Hop, ...] | None = attr(11, sequence(Hop))
    alias: tuple[str, ...] = repeated(12, STRING)
    words: list[str] | None = attr(13, custom(lambda data: [data.decode()], lambda words: b""))
    dst: IPNetwork = network(14, length="dst_len")
    src: IPNetwork | None = prefix(15, length="dst_len")
    gateway: IPAddress | None = attr(16, IP)
    four: IPv4Address | None = attr(17, IP4)
    table: int = merged(18, U32, over="small_table")
    inner: "Link | None" = attr(19, nested(lambda: Link))


def read(link: Link) -> None:
    assert_type(link.index, int)
    assert_type(link.flags, Flags)
    assert_type(link.scope, Scope)
    assert_type(link.valid, int | None)
    assert_type(link.since, float)
    assert_type(link.address, str | None)
    assert_type(link.name, str)
    assert_type(link.mtu, int | None)
    assert_type(link.kind, str)
    assert_type(link.quiet, bool)
    assert_type(link.data, Data | None)
    assert_type(link.names, tuple[str, ...] | None)
    assert_type(link.numbers, tuple[int, ...] | None)
    assert_type(link.hops, tuple[Hop, ...] | None)
    assert_type(link.alias, tuple[str, ...])
    assert_type(link.words, list[str] | None)
    assert_type(link.dst, IPNetwork)
    assert_type(link.src, IPNetwork | None)
    assert_type(link.gateway, IPAddress | None)
    assert_type(link.table, int)
    assert_type(link.inner, Link | None)
    if link.stats is not None:
        assert_type(link.stats.lost, int | None)
    match link.data:
        case Vlan(id=int(number)):
            assert_type(number, int)
        case _:
            pass

    _: int = link.mtu + 1  # type: ignore[operator]  # pyright: ignore[reportOptionalOperand, reportUnknownVariableType]


def read_wrongly(link: Link) -> None:
    _: int = link.stats.rx  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]
    link.what()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def built() -> None:
    link = assert_type(Link(index=1, kind="vlan", data=Vlan(id=5), dst=IPv4Network("10.0.0.0/8")), Link)
    Link(index=1, kind="a", mtu=None, flags=Flags.UP, four=IPv4Address(1), alias=("a",), quiet=True, valid=None)
    Stats()
    assert_type(Scope.of("link"), Scope)
    assert_type(Scope(77).word, str)

    Link(kind="a")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Link(index=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Link(1, kind="a")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Link(index=1, kind="a", mut=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Link(index="1", kind="a")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Link(index=1, kind="a", data=link)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Link(index=1, kind="a", dst="10.0.0.0/8")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Link(index=1, kind=None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    link.mtu = 5  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


class Wrong(Record):
    number: str | None = attr(1, U32)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    always_there: int = attr(2, U32)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    several: int | None = attr(3, array(U32))  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    six: IPv4Address | None = attr(4, IP6)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    either: IPv4Address | None = attr(5, IP)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    code: int | None = attr("6", U32)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def whole(link: Link, message: Message) -> None:
    assert_type(Link.from_bytes(bytearray(4)), Link)
    assert_type(Link.from_message(message), Link)
    assert_type(link.replace(mtu=5), Link)
    assert_type(link.to_dict(), dict[str, Any])
    assert_type(link.unknown, tuple[tuple[int, bytes], ...])
    assert_type(link.message_type, int)
    assert_type(link.identity, tuple[Any, ...])
    assert_type(Link.path_names((1, 2)), str)
    assert_type(bytes(link), bytes)
    assert_type({link: link == link}, dict[Link, bool])
    assert_type(memoryview(link)[0], int)
    Message(16, 5, link)
    link.check()

    Link.from_bytes("text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Link.from_message(b"")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def decoded(message: Message) -> None:
    read = reader(Link, 16, table=frozenset({254, 255}), mtu=None)
    assert_type(read(message), Link | None)
    assert_type(read.of(Hop)(message), Hop | None)
    assert_type(Dump(message, reader(Link, 16)), Dump[Link])

    reader(int, 16)  # type: ignore[type-var]  # pyright: ignore[reportArgumentType]
    reader(Link, "16")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
