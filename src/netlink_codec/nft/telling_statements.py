"""What rules do, in words: count, limit, tell, translate, mark, remember, refuse."""

from . import words
from .build import _SIZES, _UNITS
from .datatypes import TYPES, DataType
from .enums import (
    CT,
    DYNSET,
    DYNSET_F,
    INV,
    LIMIT,
    LOG_F,
    LOG_LEVEL,
    META,
    NFPROTO,
    OBJECT,
    QUEUE_F,
    QUOTA_F,
    REJECT,
    SYNPROXY_F,
)
from .exprs import (
    Connlimit,
    Counter,
    Ct,
    Dynset,
    Expression,
    FlowOffload,
    Limit,
    Log,
    Meta,
    Notrack,
    Objref,
    Payload,
    Queue,
    Quota,
    Reject,
    Synproxy,
)
from .registers import Need, Value, field_of
from .telling import Telling, says
from .telling_matches import keys, load_ct, load_meta, load_payload, reference
from .words import Unsaid

_UNIT_OF = {seconds: word for word, seconds in _UNITS.items()}


def _size(number: int) -> str:
    """Bytes, in the largest unit that fits."""
    for word, size in reversed(_SIZES.items()):
        if number and not number % size:
            return f"{number // size} {word}"
    return f"{number} bytes"


# Count and limit ------------------------------------------------------------------------------------------------------


@says(Counter, "packets bytes")
def _counter(telling: Telling, cell: int, data: Counter) -> None:
    telling.tell(cell, f"counter packets {data.packets or 0} bytes {data.bytes or 0}")


@says(Limit, "rate unit burst type flags")
def _limit(telling: Telling, cell: int, data: Limit) -> None:
    over = "over " if words.flags_within(data.flags, INV.INV) else ""
    if data.rate is None or data.unit not in _UNIT_OF:
        raise Unsaid
    if data.type in (None, LIMIT.PKTS):
        rate = str(data.rate)
        burst = "" if data.burst in (None, 5) else f" burst {data.burst} packets"
    elif data.type is LIMIT.PKT_BYTES:
        rate, burst = f"{_size(data.rate)}", f" burst {_size(data.burst)}" if data.burst else ""
    else:
        raise Unsaid
    telling.tell(cell, f"limit rate {over}{rate}/{_UNIT_OF[data.unit]}{burst}")


@says(Quota, "bytes flags consumed")
def _quota(telling: Telling, cell: int, data: Quota) -> None:
    over = "over " if words.flags_within(data.flags, QUOTA_F.INV) else ""
    if data.bytes is None:
        raise Unsaid
    used = f" used {_size(data.consumed)}" if data.consumed else ""
    telling.tell(cell, f"quota {over}{_size(data.bytes)}{used}")


@says(Connlimit, "count flags")
def _connlimit(telling: Telling, cell: int, data: Connlimit) -> None:
    over = "over " if words.flags_within(data.flags, INV.INV) else ""
    if data.count is None:
        raise Unsaid
    telling.tell(cell, f"ct count {over}{data.count}")


_OBJECTS = {
    OBJECT.COUNTER: "counter name",
    OBJECT.QUOTA: "quota name",
    OBJECT.LIMIT: "limit name",
    OBJECT.SYNPROXY: "synproxy name",
    OBJECT.CT_HELPER: "ct helper set",
    OBJECT.CT_TIMEOUT: "ct timeout set",
    OBJECT.CT_EXPECT: "ct expectation set",
}


@says(Objref, "imm_type imm_name set_sreg set_name set_id")
def _objref(telling: Telling, cell: int, data: Objref) -> None:
    if data.set_name is None and data.set_sreg is None and data.imm_type in _OBJECTS:
        telling.tell(cell, f"{_OBJECTS[data.imm_type]} {words.quoted(data.imm_name)}")
        return
    if data.imm_type is not None or data.imm_name is not None:
        raise Unsaid
    values, where, one = reference(telling, data.set_name, data.set_sreg)
    if one.shape.objects not in _OBJECTS:
        raise Unsaid
    looked_up = " . ".join(value.words for value in values)
    telling.tell(cell, f"{_OBJECTS[one.shape.objects]} {looked_up} map {where}", values)


# Tell -----------------------------------------------------------------------------------------------------------------


_LOG_FLAGS = {
    LOG_F.TCPSEQ | LOG_F.TCPOPT: "tcp sequence,options",
    LOG_F.TCPSEQ: "tcp sequence",
    LOG_F.TCPOPT: "tcp options",
    LOG_F.IPOPT: "ip options",
    LOG_F.UID: "skuid",
    LOG_F.MACDECODE: "ether",
}
_ALL_LOG_FLAGS = LOG_F.TCPSEQ | LOG_F.TCPOPT | LOG_F.IPOPT | LOG_F.UID | LOG_F.MACDECODE


@says(Log, "group prefix snaplen qthreshold level flags")
def _log(telling: Telling, cell: int, data: Log) -> None:
    text = "log" if data.prefix is None else f"log prefix {words.quoted(data.prefix)}"
    flags = words.flags_within(data.flags, _ALL_LOG_FLAGS)
    if data.group is not None:
        if data.level is not None or flags:
            raise Unsaid
        text += f" group {data.group}"
        text += f" snaplen {data.snaplen}" if data.snaplen else ""
        text += f" queue-threshold {data.qthreshold}" if data.qthreshold else ""
    elif data.snaplen is not None or data.qthreshold is not None or (data.level or 0) > LOG_LEVEL.AUDIT:
        raise Unsaid
    else:
        text += "" if data.level in (None, LOG_LEVEL.WARNING) else f" level {data.level.word}"
        if flags == _ALL_LOG_FLAGS:
            text += " flags all"
        else:
            for bits, word in _LOG_FLAGS.items():
                if flags & bits == bits:
                    text += f" flags {word}"
                    flags &= ~bits
    telling.tell(cell, text)


# Refuse, hand on ------------------------------------------------------------------------------------------------------


@says(Reject, "type icmp_code")
def _reject(telling: Telling, cell: int, data: Reject) -> None:
    code = data.icmp_code or 0
    if data.type is REJECT.TCP_RST and not code:
        telling.tell(cell, "reject with tcp reset", needs=[("l4proto", "tcp")])
    elif data.type is REJECT.ICMPX_UNREACH:
        word = words.said(TYPES["icmpx_code"], code)
        telling.tell(cell, "reject" if code == 1 else f"reject with icmpx type {word}")
    elif data.type is REJECT.ICMP_UNREACH:
        _reject_with_icmp(telling, cell, code)
    else:
        raise Unsaid


def _reject_with_icmp(telling: Telling, cell: int, code: int) -> None:
    known = telling.facts.before(cell)
    for version, name, usual in ((4, "icmp", 3), (6, "icmpv6", 4)):
        need: Need = ("network", version)
        if need in known:
            word = words.said(TYPES[f"{name}_code"], code)
            own = telling.family in (NFPROTO.IPV4, NFPROTO.IPV6) and code == usual
            telling.tell(cell, "reject" if own else f"reject with {name} type {word}", needs=[need])
            return
    raise Unsaid


@says(Queue, "num total flags sreg_qnum")
def _queue(telling: Telling, cell: int, data: Queue) -> None:
    flags = words.flags_within(data.flags, QUEUE_F.BYPASS | QUEUE_F.CPU_FANOUT)
    named = {QUEUE_F.BYPASS: "bypass", QUEUE_F.CPU_FANOUT: "fanout"}
    how = ",".join(word for bit, word in named.items() if flags & bit)
    text = f"queue {f'flags {how} ' if how else ''}to "
    if data.sreg_qnum is not None:
        if data.num is not None or data.total is not None:
            raise Unsaid
        value = telling.registers.at(data.sreg_qnum)
        if value.data is not None or not value.bare:
            raise Unsaid
        telling.tell(cell, text + value.words, [value])
        return
    if data.num is None:
        raise Unsaid
    last = data.num + (data.total or 1) - 1
    telling.tell(cell, text + (str(data.num) if last == data.num else f"{data.num}-{last}"))


@says(Notrack)
def _notrack(telling: Telling, cell: int, data: Notrack) -> None:
    telling.tell(cell, "notrack")


@says(FlowOffload, "table_name")
def _flow_offload(telling: Telling, cell: int, data: FlowOffload) -> None:
    telling.tell(cell, f"flow add @{words.name(data.table_name)}")


@says(Synproxy, "mss wscale flags")
def _synproxy(telling: Telling, cell: int, data: Synproxy) -> None:
    known = SYNPROXY_F.MSS | SYNPROXY_F.WSCALE | SYNPROXY_F.SACK_PERM | SYNPROXY_F.TIMESTAMP
    flags = words.flags_within(data.flags, known)
    text = "synproxy"
    for bit, word, value in ((SYNPROXY_F.MSS, "mss", data.mss), (SYNPROXY_F.WSCALE, "wscale", data.wscale)):
        if bool(flags & bit) != bool(value):
            raise Unsaid
        text += f" {word} {value}" if value else ""
    text += " timestamp" if flags & SYNPROXY_F.TIMESTAMP else ""
    text += " sack-perm" if flags & SYNPROXY_F.SACK_PERM else ""
    telling.tell(cell, text)


# Mark -----------------------------------------------------------------------------------------------------------------


def given(value: Value, kind: DataType) -> str:
    """What a register that is made for this type holds."""
    if value.data is not None:
        return words.read(kind, value.data)
    if len(value.types) != 1 or value.swapped or value.size != kind.size or value.exists:
        raise Unsaid
    own = value.types[0]
    if own.order != kind.order or own.size != kind.size or own.name not in (kind.name, "integer"):
        raise Unsaid
    if value.mask is None:
        return value.words
    if not kind.plain or value.xor is None:
        raise Unsaid
    full = (1 << 8 * kind.size) - 1
    mask, xor = (int.from_bytes(part, kind.order) for part in (value.mask, value.xor))
    if not xor:
        return f"{value.words} & {mask:#x}"
    if mask == full:
        return f"{value.words} ^ {xor:#x}"
    if mask == full ^ xor:
        return f"{value.words} | {xor:#x}"
    return f"{value.words} & {mask:#x} ^ {xor:#x}"


def _set(telling: Telling, cell: int, data: Meta | Ct, text: str = "") -> None:
    if data.dreg is not None:
        raise Unsaid
    one = field_of(data)
    value = telling.registers.at(data.sreg)
    telling.tell(cell, f"{text or one.name} set {given(value, one.type)}", [value])


_SETTABLE = (META.MARK, META.PRIORITY, META.NFTRACE, META.PKTTYPE)


@says(Meta, "key dreg sreg")
def _meta(telling: Telling, cell: int, data: Meta) -> None:
    if data.sreg is None:
        load_meta(telling, cell, data)
    elif data.key in _SETTABLE:
        _set(telling, cell, data)
    else:
        raise Unsaid


@says(Ct, "key dreg sreg direction")
def _ct(telling: Telling, cell: int, data: Ct) -> None:
    if data.sreg is None:
        load_ct(telling, cell, data)
    elif data.key in (CT.MARK, CT.ZONE) and data.direction is None:
        _set(telling, cell, data)
    else:
        raise Unsaid


@says(Payload, "dreg base offset len")
def _payload(telling: Telling, cell: int, data: Payload) -> None:
    load_payload(telling, cell, data)


# Remember -------------------------------------------------------------------------------------------------------------


@says(Dynset, "set_name set_id op sreg_key sreg_data timeout expr flags expressions")
def _dynset(telling: Telling, cell: int, data: Dynset) -> None:
    known = telling.known_set(data.set_name or "")
    words.flags_within(data.flags, DYNSET_F.EXPR)
    op = {DYNSET.ADD: "add", DYNSET.UPDATE: "update", DYNSET.DELETE: "delete"}.get(data.op or DYNSET.ADD)
    if known is None or op is None or data.op is None:
        raise Unsaid
    values = keys(telling, data.sreg_key, known.set)
    text = " . ".join(value.words for value in values)
    text += f" timeout {words.duration(data.timeout)}" if data.timeout else ""
    for word in apart(telling, data.expressions or ((data.expr,) if data.expr is not None else ())):
        text += f" {word}"
    if data.sreg_data is not None:
        kinds = known.set.shape.data
        value = telling.registers.at(data.sreg_data)
        if len(kinds) != 1 or value.needs:
            raise Unsaid
        text += f" : {given(value, kinds[0])}"
        values = [*values, value]
    telling.tell(cell, f"{op} @{words.name(data.set_name)} {{ {text} }}", values)


def apart(telling: Telling, expressions: tuple[Expression, ...]) -> list[str]:
    """Expressions of an element, which have nothing to do with registers."""
    inner = Telling(telling.family, telling.known_set)
    found = inner.read(expressions)
    if any(word.startswith("[") for word in found):
        raise Unsaid
    return found
