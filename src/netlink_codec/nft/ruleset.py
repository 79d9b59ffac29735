"""Tables, chains, rules, objects, flowtables, generations: NFTA_* of <linux/netfilter/nf_tables.h>."""

from collections.abc import Iterator
from typing import Any

from ..records import (
    BYTES,
    S32BE,
    STRING,
    U8,
    U16BE,
    U32BE,
    U64BE,
    Record,
    array,
    as_enum,
    as_flags,
    attr,
    chosen,
    fixed,
    nested,
)
from . import userdata
from .enums import (
    CHAIN_F,
    FLOWTABLE_F,
    LIMIT,
    NFPROTO,
    OBJECT,
    QUOTA_F,
    SYNPROXY_F,
    TABLE_F,
    TRACE,
    VERDICT,
)
from .exprs import EXPRESSION, INVERTED, Expression, Immediate, Verdict

FAMILY = as_enum(U8, NFPROTO)


class Named(Record):
    """What all have: struct nfgenmsg."""

    family: NFPROTO = fixed(FAMILY, default=NFPROTO.UNSPEC)
    version: int = fixed(U8, default=0)
    res_id: int = fixed(U16BE, default=0)
    """The lower half of the generation that it was read in."""


class Generation(Named, identity=("id",)):
    """Which state of the ruleset it is, and who made it: NFTA_GEN_*."""

    id: int | None = attr(1, U32BE)
    pid: int | None = attr(2, U32BE)
    process: str | None = attr(3, STRING)


class Table(Named, identity=("family", "name")):
    """NFTA_TABLE_*"""

    name: str | None = attr(1, STRING)
    flags: TABLE_F | None = attr(2, as_flags(U32BE, TABLE_F))
    use: int | None = attr(3, U32BE)
    """How many chains, sets, objects and flowtables it has."""
    handle: int | None = attr(4, U64BE)
    userdata: bytes | None = attr(6, BYTES)
    owner: int | None = attr(7, U32BE)
    """The port id of the socket with which it goes."""

    @property
    def comment(self) -> str | None:
        return userdata.comment(self.userdata)


class Hook(Record):
    """Where packets come into a chain: NFTA_HOOK_*."""

    hooknum: int | None = attr(1, U32BE)
    """HOOK; of tables of family netdev, 0 is ingress and 1 egress."""
    priority: int | None = attr(2, S32BE)
    dev: str | None = attr(3, STRING)
    devs: tuple[str, ...] | None = attr(4, array(STRING, code=1))


class ChainCounters(Record):
    bytes: int | None = attr(1, U64BE)
    packets: int | None = attr(2, U64BE)


class Chain(Named, identity=("family", "table", "name")):
    """NFTA_CHAIN_*"""

    table: str | None = attr(1, STRING)
    handle: int | None = attr(2, U64BE)
    name: str | None = attr(3, STRING)
    hook: Hook | None = attr(4, nested(Hook))
    """None of a chain that only others lead to."""
    policy: VERDICT | None = attr(5, as_enum(U32BE, VERDICT))
    use: int | None = attr(6, U32BE)
    type: str | None = attr(7, STRING)
    """filter, nat or route."""
    counters: ChainCounters | None = attr(8, nested(ChainCounters))
    flags: CHAIN_F | None = attr(10, as_flags(U32BE, CHAIN_F))
    id: int | None = attr(11, U32BE)
    userdata: bytes | None = attr(12, BYTES)

    @property
    def comment(self) -> str | None:
        return userdata.comment(self.userdata)


class Compat(Record):
    """NFTA_RULE_COMPAT_*: what matches and targets of iptables want to know."""

    proto: int | None = attr(1, U32BE)
    flags: int | None = attr(2, U32BE)


class Rule(Named, identity=("family", "table", "chain", "handle")):
    """NFTA_RULE_*"""

    table: str | None = attr(1, STRING)
    chain: str | None = attr(2, STRING)
    handle: int | None = attr(3, U64BE)
    expressions: tuple[Expression, ...] | None = attr(4, array(EXPRESSION, code=1))
    compat: Compat | None = attr(5, nested(Compat))
    position: int | None = attr(6, U64BE)
    """The handle of the rule before it, in a dump, where the first one of each datagram has none; of the one it goes
    before or behind, when it is added."""
    userdata: bytes | None = attr(7, BYTES)
    id: int | None = attr(9, U32BE)
    position_id: int | None = attr(10, U32BE)
    chain_id: int | None = attr(11, U32BE)

    @property
    def comment(self) -> str | None:
        return userdata.comment(self.userdata, userdata.RULE_COMMENT)

    @property
    def exprs(self) -> Iterator[Any]:
        """The data of its expressions, each of its class; an Expression where it has none."""
        for expression in self.expressions or ():
            data = expression.data
            yield expression if data is None else data

    @property
    def verdict(self) -> Verdict | None:
        """What it ends with, if that is always the same."""
        for expression in reversed(self.expressions or ()):
            data = expression.data
            if isinstance(data, Immediate) and data.dreg == 0:
                return None if data.data is None else data.data.verdict
        return None


class Obj(Record):
    """The data of an object. As itself: one whose type has no class here."""


class CounterObj(Obj, kind=OBJECT.COUNTER):
    bytes: int | None = attr(1, U64BE)
    packets: int | None = attr(2, U64BE)


class QuotaObj(Obj, kind=OBJECT.QUOTA):
    bytes: int | None = attr(1, U64BE)
    flags: QUOTA_F | None = attr(2, as_flags(U32BE, QUOTA_F))
    consumed: int | None = attr(4, U64BE)


class CtHelperObj(Obj, kind=OBJECT.CT_HELPER):
    name: str | None = attr(1, STRING)
    l3proto: int | None = attr(2, U16BE)
    l4proto: int | None = attr(3, U8)


class LimitObj(Obj, kind=OBJECT.LIMIT):
    rate: int | None = attr(1, U64BE)
    unit: int | None = attr(2, U64BE)
    """Seconds for which the rate is said."""
    burst: int | None = attr(3, U32BE)
    type: LIMIT | None = attr(4, as_enum(U32BE, LIMIT))
    flags: Any = attr(5, INVERTED)


class ConnlimitObj(Obj, kind=OBJECT.CONNLIMIT):
    count: int | None = attr(1, U32BE)
    flags: Any = attr(2, INVERTED)


class TunnelIp(Record):
    src: int | None = attr(1, U32BE)
    dst: int | None = attr(2, U32BE)


class TunnelIp6(Record):
    src: bytes | None = attr(1, BYTES)
    dst: bytes | None = attr(2, BYTES)
    flowlabel: int | None = attr(3, U32BE)


class TunnelObj(Obj, kind=OBJECT.TUNNEL):
    """NFTA_TUNNEL_KEY_*"""

    id: int | None = attr(1, U32BE)
    ip: TunnelIp | None = attr(2, nested(TunnelIp))
    ip6: TunnelIp6 | None = attr(3, nested(TunnelIp6))
    flags: int | None = attr(4, U32BE)
    tos: int | None = attr(5, U8)
    ttl: int | None = attr(6, U8)
    sport: int | None = attr(7, U16BE)
    dport: int | None = attr(8, U16BE)
    opts: bytes | None = attr(9, BYTES)


class CtTimeoutPolicy(Record):
    """Seconds in each state, in the order of the protocol's states; those of TCP have names here."""

    syn_sent: int | None = attr(1, U32BE)
    syn_recv: int | None = attr(2, U32BE)
    established: int | None = attr(3, U32BE)
    fin_wait: int | None = attr(4, U32BE)
    close_wait: int | None = attr(5, U32BE)
    last_ack: int | None = attr(6, U32BE)
    time_wait: int | None = attr(7, U32BE)
    close: int | None = attr(8, U32BE)
    syn_sent2: int | None = attr(9, U32BE)
    retrans: int | None = attr(10, U32BE)
    unack: int | None = attr(11, U32BE)


class CtTimeoutObj(Obj, kind=OBJECT.CT_TIMEOUT):
    l3proto: int | None = attr(1, U16BE)
    l4proto: int | None = attr(2, U8)
    data: CtTimeoutPolicy | None = attr(3, nested(CtTimeoutPolicy))


class SecmarkObj(Obj, kind=OBJECT.SECMARK):
    ctx: str | None = attr(1, STRING)


class CtExpectObj(Obj, kind=OBJECT.CT_EXPECT):
    l3proto: int | None = attr(1, U16BE)
    l4proto: int | None = attr(2, U8)
    dport: int | None = attr(3, U16BE)
    timeout: int | None = attr(4, U32BE)
    """Milliseconds."""
    size: int | None = attr(5, U8)


class SynproxyObj(Obj, kind=OBJECT.SYNPROXY):
    mss: int | None = attr(1, U16BE)
    wscale: int | None = attr(2, U8)
    flags: SYNPROXY_F | None = attr(3, as_flags(U32BE, SYNPROXY_F))


class Object(Named, identity=("family", "table", "type", "name")):
    """NFTA_OBJ_*: a counter, quota, limit, … with a name, which rules and maps refer to."""

    table: str | None = attr(1, STRING)
    name: str | None = attr(2, STRING)
    type: OBJECT | None = attr(3, as_enum(U32BE, OBJECT))
    data: Obj | None = attr(4, chosen(Obj, by="type"))
    use: int | None = attr(5, U32BE)
    handle: int | None = attr(6, U64BE)
    userdata: bytes | None = attr(8, BYTES)

    @property
    def comment(self) -> str | None:
        return userdata.comment(self.userdata)


class FlowtableHook(Record):
    """NFTA_FLOWTABLE_HOOK_*"""

    num: int | None = attr(1, U32BE)
    priority: int | None = attr(2, S32BE)
    devs: tuple[str, ...] | None = attr(3, array(STRING, code=1))


class Flowtable(Named, identity=("family", "table", "name")):
    """NFTA_FLOWTABLE_*"""

    table: str | None = attr(1, STRING)
    name: str | None = attr(2, STRING)
    hook: FlowtableHook | None = attr(3, nested(FlowtableHook))
    use: int | None = attr(4, U32BE)
    handle: int | None = attr(5, U64BE)
    flags: FLOWTABLE_F | None = attr(7, as_flags(U32BE, FLOWTABLE_F))


class Trace(Named):
    """What a packet met, with `meta nftrace set 1`: NFTA_TRACE_*."""

    table: str | None = attr(1, STRING)
    chain: str | None = attr(2, STRING)
    rule_handle: int | None = attr(3, U64BE)
    type: TRACE | None = attr(4, as_enum(U32BE, TRACE))
    verdict: Verdict | None = attr(5, nested(Verdict))
    id: int | None = attr(6, U32BE)
    ll_header: bytes | None = attr(7, BYTES)
    network_header: bytes | None = attr(8, BYTES)
    transport_header: bytes | None = attr(9, BYTES)
    iif: int | None = attr(10, U32BE)
    iiftype: int | None = attr(11, U16BE)
    oif: int | None = attr(12, U32BE)
    oiftype: int | None = attr(13, U16BE)
    mark: int | None = attr(14, U32BE)
    nfproto: int | None = attr(15, U32BE)
    policy: VERDICT | None = attr(16, as_enum(U32BE, VERDICT))
