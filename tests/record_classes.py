"""Records as families declare them, for the tests: small, and with something of every kind."""

from enum import IntFlag

from netlink_codec.records import (
    IP,
    IP4,
    IP6,
    LENGTH,
    MAC,
    S32,
    STRING,
    U8,
    U16,
    U16BE,
    U32,
    U64,
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
    repeated,
    required,
    sentinel,
    sequence,
)


class Scope(OpenEnum):
    UNIVERSE = 0
    SITE = 200
    NO_WHERE = 255

    @classmethod
    def words(cls):
        return {"UNIVERSE": "global"}


class Flags(IntFlag):
    UP = 1
    BROADCAST = 2
    RUNNING = 64
    HIGH = 0x100


class Data(Record):
    """What is chosen by the value of a field beside it."""


class Vlan(Data, kind="vlan"):
    id: int | None = attr(1, U16)
    protocol: int | None = attr(5, U16BE)


class Veth(Data, kind="veth"):
    index: int = fixed(U32, default=0)
    peer: str | None = attr(1, STRING)


class Info(Record):
    kind: str | None = attr(1, STRING)
    data: Data | None = attr(2, chosen(Data, by="kind"))


class Stats(Struct):
    rx: int = fixed(U64, default=0)
    tx: int = fixed(U64, default=0)
    lost: int | None = grown(U64)
    late: int | None = grown(U64)


class Link(Record, identity=("index",)):
    family: int = fixed(U8, default=0)
    type: int = fixed(U16, default=0)
    index: int = fixed(S32, default=0)
    flags: Flags = fixed(as_flags(U32, Flags), default=Flags(0))
    change: int = fixed(U32, default=0)
    address: str | None = attr(1, MAC)
    name: str = always(3, STRING)
    mtu: int | None = attr(4, U32)
    quiet: bool = present(6)
    info: Info | None = attr(18, nested(Info))
    stats: Stats | None = attr(23, nested(Stats))
    names: tuple[str, ...] | None = attr(52, array(STRING, code=53))
    alias: tuple[str, ...] = repeated(54, STRING)


class Hop(Record):
    length: int = fixed(LENGTH, default=0)
    flags: int = fixed(U8, default=0)
    hops: int = fixed(U8, default=0)
    index: int = fixed(S32, default=0)
    gateway: IPAddress | None = attr(5, IP)


class Route(Record, identity=("table", "dst"), family="family"):
    family: int = fixed(U8, default=0)
    dst_len: int = fixed(U8, default=0)
    src_len: int = fixed(U8, default=0)
    rtm_table: int = fixed(U8, default=0)
    scope: Scope = fixed(as_enum(U8, Scope), default=Scope.UNIVERSE)
    low: int = fixed(U8, default=0)
    dst: IPNetwork = network(1, length="dst_len")
    src: IPNetwork | None = prefix(2, length="src_len")
    oif: int | None = attr(4, U32)
    gateway: IPAddress | None = attr(5, IP)
    hops: tuple[Hop, ...] | None = attr(9, sequence(Hop))
    table: int = merged(15, U32, over="rtm_table")
    all_flags: Flags = merged(16, as_flags(U32, Flags), over="low")


class Tree(Record):
    """One that contains itself."""

    value: int | None = attr(1, U32)
    child: "Tree | None" = attr(2, nested(lambda: Tree))
    leaves: "tuple[Tree, ...] | None" = attr(3, array(nested(lambda: Tree)))


class Pair(Struct):
    first: int = fixed(U32)
    second: int = fixed(U16BE, default=7)


WORDS = custom(lambda data: data.decode().split(), lambda words: " ".join(words).encode())


class Other(Record):
    """Kinds that the others have no use for."""

    number: int = required(1, U32)
    pair: Pair | None = attr(2, nested(Pair))
    pairs: tuple[Pair, ...] | None = attr(3, packed(nested(Pair)))
    numbers: tuple[int, ...] | None = attr(4, packed(U32))
    four: object = attr(5, IP4)
    six: object = attr(6, IP6)
    valid: int | None = attr(7, sentinel(U32, 0xFFFFFFFF))
    words: list[str] | None = attr(8, WORDS)


class Noted(Link):
    """One that holds more than its bytes."""

    __slots__ = ("note",)


class Lifetimes(Struct):
    preferred: int | None = fixed(sentinel(U32, -1), default=None)
    valid: int | None = fixed(sentinel(U32, 0xFFFFFFFF))
