"""What rules are made of: each expression of the kernel, by its name, and the data it works on.

A rule's `expressions` are Expression records: a name, and `data` of the class that has this name, Expr where
there is none, which keeps all of it.
"""

from ..records import (
    BYTES,
    S32BE,
    STRING,
    U8,
    U16BE,
    U32BE,
    U64BE,
    Record,
    always,
    array,
    as_enum,
    as_flags,
    attr,
    chosen,
    nested,
    required,
    scaled,
)
from .enums import (
    BITWISE,
    BYTEORDER,
    CMP,
    CT,
    DYNSET,
    DYNSET_F,
    EXTHDR,
    EXTHDR_F,
    FIB,
    FIB_F,
    HASH,
    INV,
    LIMIT,
    LOG_F,
    LOG_LEVEL,
    META,
    NAT,
    NAT_RANGE,
    NFPROTO,
    NG,
    OBJECT,
    OSF_F,
    PAYLOAD,
    PAYLOAD_CSUM,
    PAYLOAD_CSUM_F,
    QUEUE_F,
    QUOTA_F,
    RANGE,
    REJECT,
    RT,
    SOCKET,
    SYNPROXY_F,
    TUNNEL,
    TUNNEL_MODE,
    VERDICT,
    XFRM,
)

INVERTED = as_flags(U32BE, INV)
SECONDS = scaled(U64BE, 0.001)
"""Milliseconds on the wire."""


class Verdict(Record):
    """NFTA_VERDICT_*"""

    code: VERDICT = required(1, as_enum(S32BE, VERDICT))
    chain: str | None = attr(2, STRING)
    chain_id: int | None = attr(3, U32BE)


class Data(Record):
    """NFTA_DATA_*: bytes for a register, or a verdict."""

    value: bytes | None = attr(1, BYTES)
    verdict: Verdict | None = attr(2, nested(Verdict))


DATA = nested(Data)


class Expr(Record):
    """The data of an expression. As itself: one whose name has no class here."""


class Expression(Record):
    """NFTA_EXPR_*: a name, and what goes with it."""

    name: str = always(1, STRING)
    data: Expr | None = attr(2, chosen(Expr, by="name"))


EXPRESSION = nested(Expression)


class Bitwise(Expr, kind="bitwise"):
    """(register & mask) ^ xor, or shifted; NFTA_BITWISE_*"""

    sreg: int | None = attr(1, U32BE)
    dreg: int | None = attr(2, U32BE)
    len: int | None = attr(3, U32BE)
    mask: Data | None = attr(4, DATA)
    xor: Data | None = attr(5, DATA)
    op: BITWISE | None = attr(6, as_enum(U32BE, BITWISE))
    data: Data | None = attr(7, DATA)
    sreg2: int | None = attr(8, U32BE)


class Byteorder(Expr, kind="byteorder"):
    sreg: int | None = attr(1, U32BE)
    dreg: int | None = attr(2, U32BE)
    op: BYTEORDER | None = attr(3, as_enum(U32BE, BYTEORDER))
    len: int | None = attr(4, U32BE)
    size: int | None = attr(5, U32BE)


class Cmp(Expr, kind="cmp"):
    """Goes on if register and data compare so."""

    sreg: int | None = attr(1, U32BE)
    op: CMP | None = attr(2, as_enum(U32BE, CMP))
    data: Data | None = attr(3, DATA)


class Connlimit(Expr, kind="connlimit"):
    count: int | None = attr(1, U32BE)
    flags: INV | None = attr(2, INVERTED)


class Counter(Expr, kind="counter"):
    bytes: int | None = attr(1, U64BE)
    packets: int | None = attr(2, U64BE)


class Ct(Expr, kind="ct"):
    """A fact of the connection into a register, or a register into it."""

    dreg: int | None = attr(1, U32BE)
    key: CT | None = attr(2, as_enum(U32BE, CT))
    direction: int | None = attr(3, U8)
    """0 is the original one, 1 that of replies."""
    sreg: int | None = attr(4, U32BE)


class Dup(Expr, kind="dup"):
    sreg_addr: int | None = attr(1, U32BE)
    sreg_dev: int | None = attr(2, U32BE)


class Dynset(Expr, kind="dynset"):
    """A register's value into a set."""

    set_name: str | None = attr(1, STRING)
    set_id: int | None = attr(2, U32BE)
    op: DYNSET | None = attr(3, as_enum(U32BE, DYNSET))
    sreg_key: int | None = attr(4, U32BE)
    sreg_data: int | None = attr(5, U32BE)
    timeout: float | None = attr(6, SECONDS)
    expr: Expression | None = attr(7, EXPRESSION)
    flags: DYNSET_F | None = attr(9, as_flags(U32BE, DYNSET_F))
    expressions: tuple[Expression, ...] | None = attr(10, array(EXPRESSION, code=1))


class Exthdr(Expr, kind="exthdr"):
    """An IPv6 extension header, or an option of TCP or IPv4."""

    dreg: int | None = attr(1, U32BE)
    type: int | None = attr(2, U8)
    offset: int | None = attr(3, U32BE)
    len: int | None = attr(4, U32BE)
    flags: EXTHDR_F | None = attr(5, as_flags(U32BE, EXTHDR_F))
    op: EXTHDR | None = attr(6, as_enum(U32BE, EXTHDR))
    sreg: int | None = attr(7, U32BE)


class Fib(Expr, kind="fib"):
    dreg: int | None = attr(1, U32BE)
    result: FIB | None = attr(2, as_enum(U32BE, FIB))
    flags: FIB_F | None = attr(3, as_flags(U32BE, FIB_F))


class FlowOffload(Expr, kind="flow_offload"):
    table_name: str | None = attr(1, STRING)


class Fwd(Expr, kind="fwd"):
    sreg_dev: int | None = attr(1, U32BE)
    sreg_addr: int | None = attr(2, U32BE)
    nfproto: NFPROTO | None = attr(3, as_enum(U32BE, NFPROTO))


class Hash(Expr, kind="hash"):
    sreg: int | None = attr(1, U32BE)
    dreg: int | None = attr(2, U32BE)
    len: int | None = attr(3, U32BE)
    modulus: int | None = attr(4, U32BE)
    seed: int | None = attr(5, U32BE)
    offset: int | None = attr(6, U32BE)
    type: HASH | None = attr(7, as_enum(U32BE, HASH))


class Immediate(Expr, kind="immediate"):
    """Bytes into a register; or, into register 0, a verdict."""

    dreg: int | None = attr(1, U32BE)
    data: Data | None = attr(2, DATA)


class Inner(Expr, kind="inner"):
    """An expression on the packet inside a tunnel."""

    num: int | None = attr(1, U32BE)
    type: int | None = attr(2, U32BE)
    flags: int | None = attr(3, U32BE)
    hdrsize: int | None = attr(4, U32BE)
    expr: Expression | None = attr(5, EXPRESSION)


class Last(Expr, kind="last"):
    """When a packet last came here."""

    set: int | None = attr(1, U32BE)
    ago: float | None = attr(2, SECONDS)
    """Seconds."""


class Limit(Expr, kind="limit"):
    rate: int | None = attr(1, U64BE)
    unit: int | None = attr(2, U64BE)
    """Seconds for which the rate is said."""
    burst: int | None = attr(3, U32BE)
    type: LIMIT | None = attr(4, as_enum(U32BE, LIMIT))
    flags: INV | None = attr(5, INVERTED)


class Log(Expr, kind="log"):
    group: int | None = attr(1, U16BE)
    prefix: str | None = attr(2, STRING)
    snaplen: int | None = attr(3, U32BE)
    qthreshold: int | None = attr(4, U16BE)
    level: LOG_LEVEL | None = attr(5, as_enum(U32BE, LOG_LEVEL))
    flags: LOG_F | None = attr(6, as_flags(U32BE, LOG_F))


class Lookup(Expr, kind="lookup"):
    """Goes on if the register's value is in the set; of a map, with what belongs to it in `dreg`."""

    set: str | None = attr(1, STRING)
    sreg: int | None = attr(2, U32BE)
    dreg: int | None = attr(3, U32BE)
    set_id: int | None = attr(4, U32BE)
    flags: INV | None = attr(5, INVERTED)


class Masq(Expr, kind="masq"):
    flags: NAT_RANGE | None = attr(1, as_flags(U32BE, NAT_RANGE))
    reg_proto_min: int | None = attr(2, U32BE)
    reg_proto_max: int | None = attr(3, U32BE)


class Match(Expr, kind="match"):
    """A match of iptables."""

    name: str | None = attr(1, STRING)
    rev: int | None = attr(2, U32BE)
    info: bytes | None = attr(3, BYTES)


class Meta(Expr, kind="meta"):
    dreg: int | None = attr(1, U32BE)
    key: META | None = attr(2, as_enum(U32BE, META))
    sreg: int | None = attr(3, U32BE)


class Nat(Expr, kind="nat"):
    type: NAT | None = attr(1, as_enum(U32BE, NAT))
    family: NFPROTO | None = attr(2, as_enum(U32BE, NFPROTO))
    reg_addr_min: int | None = attr(3, U32BE)
    reg_addr_max: int | None = attr(4, U32BE)
    reg_proto_min: int | None = attr(5, U32BE)
    reg_proto_max: int | None = attr(6, U32BE)
    flags: NAT_RANGE | None = attr(7, as_flags(U32BE, NAT_RANGE))


class Notrack(Expr, kind="notrack"):
    pass


class Numgen(Expr, kind="numgen"):
    dreg: int | None = attr(1, U32BE)
    modulus: int | None = attr(2, U32BE)
    type: NG | None = attr(3, as_enum(U32BE, NG))
    offset: int | None = attr(4, U32BE)


class Objref(Expr, kind="objref"):
    """A named object, or one that a map says."""

    imm_type: OBJECT | None = attr(1, as_enum(U32BE, OBJECT))
    imm_name: str | None = attr(2, STRING)
    set_sreg: int | None = attr(3, U32BE)
    set_name: str | None = attr(4, STRING)
    set_id: int | None = attr(5, U32BE)


class Osf(Expr, kind="osf"):
    dreg: int | None = attr(1, U32BE)
    ttl: int | None = attr(2, U8)
    flags: OSF_F | None = attr(3, as_flags(U32BE, OSF_F))


class Payload(Expr, kind="payload"):
    """Bytes of the packet into a register, or a register into them."""

    dreg: int | None = attr(1, U32BE)
    base: PAYLOAD | None = attr(2, as_enum(U32BE, PAYLOAD))
    offset: int | None = attr(3, U32BE)
    len: int | None = attr(4, U32BE)
    sreg: int | None = attr(5, U32BE)
    csum_type: PAYLOAD_CSUM | None = attr(6, as_enum(U32BE, PAYLOAD_CSUM))
    csum_offset: int | None = attr(7, U32BE)
    csum_flags: PAYLOAD_CSUM_F | None = attr(8, as_flags(U32BE, PAYLOAD_CSUM_F))


class Queue(Expr, kind="queue"):
    num: int | None = attr(1, U16BE)
    total: int | None = attr(2, U16BE)
    flags: QUEUE_F | None = attr(3, as_flags(U16BE, QUEUE_F))
    sreg_qnum: int | None = attr(4, U32BE)


class Quota(Expr, kind="quota"):
    bytes: int | None = attr(1, U64BE)
    flags: QUOTA_F | None = attr(2, as_flags(U32BE, QUOTA_F))
    consumed: int | None = attr(4, U64BE)


class RangeExpr(Expr, kind="range"):
    """A register between two values, or not: "range"."""

    sreg: int | None = attr(1, U32BE)
    op: RANGE | None = attr(2, as_enum(U32BE, RANGE))
    from_data: Data | None = attr(3, DATA)
    to_data: Data | None = attr(4, DATA)


class Redir(Expr, kind="redir"):
    reg_proto_min: int | None = attr(1, U32BE)
    reg_proto_max: int | None = attr(2, U32BE)
    flags: NAT_RANGE | None = attr(3, as_flags(U32BE, NAT_RANGE))


class Reject(Expr, kind="reject"):
    type: REJECT | None = attr(1, as_enum(U32BE, REJECT))
    icmp_code: int | None = attr(2, U8)


class Rt(Expr, kind="rt"):
    dreg: int | None = attr(1, U32BE)
    key: RT | None = attr(2, as_enum(U32BE, RT))


class Secmark(Expr, kind="secmark"):
    ctx: str | None = attr(1, STRING)


class Socket(Expr, kind="socket"):
    key: SOCKET | None = attr(1, as_enum(U32BE, SOCKET))
    dreg: int | None = attr(2, U32BE)
    level: int | None = attr(3, U32BE)


class Synproxy(Expr, kind="synproxy"):
    mss: int | None = attr(1, U16BE)
    wscale: int | None = attr(2, U8)
    flags: SYNPROXY_F | None = attr(3, as_flags(U32BE, SYNPROXY_F))


class Target(Expr, kind="target"):
    """A target of iptables."""

    name: str | None = attr(1, STRING)
    rev: int | None = attr(2, U32BE)
    info: bytes | None = attr(3, BYTES)


class Tproxy(Expr, kind="tproxy"):
    family: NFPROTO | None = attr(1, as_enum(U32BE, NFPROTO))
    reg_addr: int | None = attr(2, U32BE)
    reg_port: int | None = attr(3, U32BE)


class Tunnel(Expr, kind="tunnel"):
    key: TUNNEL | None = attr(1, as_enum(U32BE, TUNNEL))
    dreg: int | None = attr(2, U32BE)
    mode: TUNNEL_MODE | None = attr(3, as_enum(U32BE, TUNNEL_MODE))


class Xfrm(Expr, kind="xfrm"):
    dreg: int | None = attr(1, U32BE)
    key: XFRM | None = attr(2, as_enum(U32BE, XFRM))
    dir: int | None = attr(3, U8)
    spnum: int | None = attr(4, U32BE)
