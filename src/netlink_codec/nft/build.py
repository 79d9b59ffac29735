"""Expressions as a person writes them: verdicts, counters, limits, translation of addresses, and so on."""

from collections.abc import Iterator

from .enums import (
    FIB,
    FIB_F,
    INV,
    LIMIT,
    LOG_F,
    LOG_LEVEL,
    NFPROTO,
    OBJECT,
    QUEUE_F,
    QUOTA_F,
    REG,
    REJECT,
    SYNPROXY_F,
    VERDICT,
)
from .exprs import (
    Connlimit,
    Counter,
    Data,
    Expr,
    Fib,
    FlowOffload,
    Immediate,
    Last,
    Limit,
    Log,
    Notrack,
    Objref,
    Queue,
    Quota,
    Reject,
    Synproxy,
    Verdict,
)
from .fields import Field
from .match import NUMBER, Compared, Context, Deferred, Source, compared, first_register, load_keys, sets_among
from .spelling import name_of
from .values import Load, Using, source


def _verdict(code: VERDICT, chain: str | None = None) -> Immediate:
    return Immediate(dreg=REG.VERDICT, data=Data(verdict=Verdict(code=code, chain=chain)))


def accept() -> Immediate:
    """Let the packet pass here."""
    return _verdict(VERDICT.ACCEPT)


def drop() -> Immediate:
    """Throw the packet away."""
    return _verdict(VERDICT.DROP)


def continue_() -> Immediate:
    """Go on with the next rule."""
    return _verdict(VERDICT.CONTINUE)


def return_() -> Immediate:
    """Go back to where this chain was jumped to from."""
    return _verdict(VERDICT.RETURN)


def jump(chain: str) -> Immediate:
    """Go through another chain, and come back."""
    return _verdict(VERDICT.JUMP, name_of("chain", chain))


def goto(chain: str) -> Immediate:
    """Go to another chain for good."""
    return _verdict(VERDICT.GOTO, name_of("chain", chain))


def counter(packets: int = 0, bytes: int = 0) -> Counter:
    """Count packets and bytes."""
    return Counter(bytes=bytes, packets=packets)


_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_SIZES = {"bytes": 1, "kbytes": 1024, "mbytes": 1024 * 1024}


def limit(rate: str, *, burst: int | None = None, over: bool = False) -> Limit:
    """Go on as long as packets are no more than this: "10/second", "1 mbytes/minute". `over`: as long as they are."""
    if not isinstance(rate, str):
        raise TypeError(f'a rate is a str, as "10/second", not {rate!r}')
    amount, _, unit = rate.partition("/")
    number, _, size = amount.strip().partition(" ")
    if unit.strip() not in _UNITS or (size and size.strip() not in _SIZES) or not number.isdecimal():
        raise ValueError(f'{rate!r}: a rate is "10/second" or "1 mbytes/minute"')
    return Limit(
        rate=int(number) * _SIZES.get(size.strip(), 1),
        unit=_UNITS[unit.strip()],
        burst=(0 if size else 5) if burst is None else burst,
        type=LIMIT.PKT_BYTES if size else LIMIT.PKTS,
        flags=INV.INV if over else INV(0),
    )


def quota(size: int, *, over: bool = False) -> Quota:
    """Go on until so many bytes have passed; with `over`, from then on."""
    return Quota(bytes=size, flags=QUOTA_F.INV if over else QUOTA_F(0))


def connlimit(count: int, *, over: bool = False) -> Connlimit:
    """Go on up to so many connections; with `over`, from then on."""
    return Connlimit(count=count, flags=INV.INV if over else INV(0))


def log(
    prefix: str | None = None,
    *,
    level: str | int | None = None,
    flags: LOG_F | None = None,
    group: int | None = None,
    snaplen: int | None = None,
    threshold: int | None = None,
) -> Log:
    """Tell the kernel log, with `level` and `flags`; or, with a `group`, those who listen to nflog."""
    if (level if group is not None else threshold) is not None or (flags if group is not None else snaplen) is not None:
        raise TypeError("log: level and flags are of the kernel log, snaplen and threshold of a group of nflog")
    if group is not None:
        return Log(group=group, prefix=prefix, snaplen=snaplen, qthreshold=threshold)
    return Log(prefix=prefix, level=None if level is None else LOG_LEVEL.of(level), flags=flags)


def last() -> Last:
    """Remember when a packet last came here."""
    return Last(set=0)


def notrack() -> Notrack:
    """Let connection tracking not look at the packet."""
    return Notrack()


def queue(
    first: int | Source | Expr, last: int | None = None, *, bypass: bool = False, fanout: bool = False
) -> Queue | Deferred:
    """To a program that listens on this queue, or on one of several; or `queue(numgen(4))`."""
    flags = (QUEUE_F.BYPASS if bypass else QUEUE_F(0)) | (QUEUE_F.CPU_FANOUT if fanout else QUEUE_F(0))
    if isinstance(first, Source | Expr):
        if last is not None or fanout:
            raise TypeError("queue: what finds the number is alone")
        return Using([Load(source(first, NUMBER), NUMBER, REG.R1)], Queue(sreg_qnum=REG.R1, flags=flags))
    if last is not None and last < first:
        raise ValueError(f"queue: {first} is after {last}")
    return Queue(num=first, total=1 if last is None else last - first + 1, flags=flags)


class _NamedBy(Deferred):
    def __init__(self, kind: OBJECT, fields: tuple[Field, ...], name: str) -> None:
        self.kind = kind
        self.fields = fields
        self.name = name
        self.names = (*sets_among(fields), name)

    def expand(self, context: Context) -> Iterator[Expr]:
        known = context.known(self.name)
        if known is not None and known.shape.objects != self.kind:
            raise ValueError(f"{self.name} does not lead to objects of type {self.kind.word}, but to {known.value}")
        yield from load_keys(context, self.fields, known, shifted=True)
        number = None if known is None else known.id
        yield Objref(set_sreg=first_register(self.fields), set_name=self.name, set_id=number)


def named(type: str | int, name: str, *, by: Compared | None = None) -> Objref | Deferred:
    """An object of the table: `named("counter", "web")`.

    Or the one that a map has: `named("counter", "@hits", by="ip saddr")`.
    """
    kind, name = OBJECT.of(type), name_of("object", name)
    if by is None:
        return Objref(imm_type=kind, imm_name=name)
    return _NamedBy(kind, compared(by), name.removeprefix("@"))


def offload(flowtable: str) -> FlowOffload:
    """Put the connection into a flowtable."""
    return FlowOffload(table_name=flowtable)


def synproxy(mss: int | None = None, wscale: int | None = None, flags: SYNPROXY_F | None = None) -> Synproxy:
    """Answer new TCP connections in the place of who they are for.

    `flags` are options of TCP that the server has, beside those that are given here.
    """
    given = SYNPROXY_F(0) if flags is None else flags
    if mss is not None:
        given |= SYNPROXY_F.MSS
    if wscale is not None:
        given |= SYNPROXY_F.WSCALE
    return Synproxy(mss=mss, wscale=wscale, flags=given)


_REJECTS = {
    "no-route": (0, 0),
    "port-unreachable": (3, 4),
    "host-unreachable": (1, 3),
    "admin-prohibited": (13, 1),
}
"""Codes of ICMP and ICMPv6, in the order of those that stand for either."""


class _Reject(Deferred):
    def __init__(self, why: str) -> None:
        self.why = why

    def expand(self, context: Context) -> Iterator[Expr]:
        if self.why == "tcp reset":
            yield from context.require(("l4proto", "tcp"))
            yield Reject(type=REJECT.TCP_RST, icmp_code=0)
        elif context.family in (NFPROTO.IPV4, NFPROTO.IPV6):
            code = _REJECTS[self.why][context.family is NFPROTO.IPV6]
            yield Reject(type=REJECT.ICMP_UNREACH, icmp_code=code)
        else:
            yield Reject(type=REJECT.ICMPX_UNREACH, icmp_code=list(_REJECTS).index(self.why))


def reject(why: str = "port-unreachable") -> Deferred:
    """Throw the packet away, and say so: port-unreachable, host-unreachable, no-route, admin-prohibited, tcp reset."""
    if why not in _REJECTS and why != "tcp reset":
        raise ValueError(f"{why!r} is none of {', '.join(_REJECTS)}, tcp reset")
    return _Reject(why)


def fib(flags: FIB_F, result: FIB = FIB.OIF, *, register: int = REG.R1) -> Fib:
    """What the routing table says of the packet's addresses, into a register."""
    return Fib(dreg=register, result=result, flags=flags)
