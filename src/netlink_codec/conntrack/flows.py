"""Requests for tracked connections: list, get, create, update, delete, flush. IPCTNL_MSG_CT_*."""

import errno
from collections.abc import Generator
from typing import Any

from .._core import Message
from ..constants import NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL
from ..nfnetlink import NFNL_SUBSYS_CTNETLINK, message_type
from ..records import reader
from ..requests import Dump, Procedure, Request
from .enums import IPPROTO, IPS, TCP_CONNTRACK
from .flow import Filter, Flow, ProtoInfo, TcpInfo, Tuple
from .tuples import About, Address, Like, answering, direction, family_of, named

NEW, GET, DELETE, GET_CTRZERO = (message_type(NFNL_SUBSYS_CTNETLINK, number) for number in range(4))
GET_DYING = message_type(NFNL_SUBSYS_CTNETLINK, 6)


def flow(
    proto: int | str,
    src: Address,
    dst: Address,
    sport: int | None = None,
    dport: int | None = None,
    *,
    timeout: int,
    tcp: TCP_CONNTRACK = TCP_CONNTRACK.ESTABLISHED,
    icmp_type: int | None = None,
    icmp_code: int | None = None,
    icmp_id: int | None = None,
    **fields: Any,
) -> Flow:
    """A connection that is not translated, for `create`: both directions filled in.

    `timeout` is in seconds. `tcp` is the state of a TCP connection. `fields` are other fields of Flow.
    """
    protocol = IPPROTO.of(proto)
    if protocol is IPPROTO.TCP:
        fields.setdefault("protoinfo", ProtoInfo(tcp=TcpInfo(state=tcp)))
    orig = direction(protocol, src, dst, sport, dport, icmp_type=icmp_type, icmp_code=icmp_code, icmp_id=icmp_id)
    return Flow(family=family_of(orig), orig=orig, reply=answering(orig), timeout=timeout, **fields)


def flows(
    *,
    family: int | None = None,
    zone: int | None = None,
    mark: int | None = None,
    mark_mask: int = 0xFFFFFFFF,
    status: IPS | None = None,
    status_mask: IPS | None = None,
    orig: Tuple | None = None,
    reply: Tuple | None = None,
    zero: bool = False,
) -> Dump[Flow]:
    """The connections that there are.

    The kernel filters: `family` (AF_INET, AF_INET6); `zone` (Linux 6.8); `mark` under
    `mark_mask`; `status` under `status_mask`, by default the bits given (5.15); `orig` and
    `reply`, tuples of which what is there is compared (5.8), with a `family` if they have no address.
    Older kernels send more, and IPv6 addresses no kernel compares rightly: that is left out on this side.

    `zero` sets the counters to zero, at once with reading them, of all that the kernel sends.
    """
    if (orig is not None or reply is not None) and family is None:
        family = family_of(orig if orig is not None and (orig.src or orig.dst) else reply)
    fields: dict[str, Any] = {"zone": zone}
    where: dict[str, Any] = {}
    if family is not None:
        where["family"] = family
    if zone is not None:
        where["zone"] = zone or None
    if mark is not None:
        fields |= {"mark": mark & mark_mask, "mark_mask": mark_mask}
        where["mark"] = Masked(mark, mark_mask)
    if status is not None:
        wanted = status if status_mask is None else status_mask
        fields |= {"status": status, "status_mask": wanted}
        where["status"] = Masked(status, wanted)
    compared: dict[str, Any] = {}
    for name, one in (("orig", orig), ("reply", reply)):
        if one is not None:
            where[name] = like = Like(one)
            if like.parts:
                fields[name] = one
                compared[f"{name}_flags"] = like.parts
    if compared:
        fields["filter"] = Filter(**compared)
    message = Message(GET_CTRZERO if zero else GET, NLM_F_DUMP, Flow(family=family or 0, **fields))
    return Dump(message, reader(Flow, NEW, **where), doing="list connections")


def dying() -> Dump[Flow]:
    """The connections that are gone, but for events of that which could not be delivered yet."""
    return Dump(Message(GET_DYING, NLM_F_DUMP, Flow()), reader(Flow, NEW), doing="list dying connections")


def get(flow: Flow | Tuple, *, reply: bool = False, zone: int | None = None) -> Request[Flow]:
    """One connection; NotFound if it is not there.

    It is named by one that was read before, or by one of its directions; with `reply`, that
    is how the other end answers. The kernel finds either by itself, but in zones that are of one direction.
    """
    message = Message(GET, 0, named(flow, zone, reply=reply))
    decode: Any = reader(Flow, NEW)
    return Request(message, decode, not_found=[errno.ENOENT], doing=About("get connection", flow), record=Flow)


def create(flow: Flow, *, exist_ok: bool = False) -> Request[None]:
    """A new connection, as `flow(...)` makes one; Exists if there is one with either direction."""
    request: Request[Any] = Request(
        Message(NEW, NLM_F_CREATE | NLM_F_EXCL, flow),
        exists=[errno.EEXIST],
        doing=About("create connection", flow),
        record=Flow,
    )
    return request.tolerate(errno.EEXIST) if exist_ok else request


def update(flow: Flow | Tuple, *, reply: bool = False, zone: int | None = None, **fields: Any) -> Request[None]:
    """Change a connection: `timeout`, `mark`, `mark_mask`, `status`, `protoinfo`, `labels`, … of Flow.

    `flow` only says which; a record that was changed changes nothing. Status bits may be added,
    and not be taken away; some not at all.
    """
    if not fields:
        raise TypeError("say what to change, and to what: update(flow, mark=1)")
    message = Message(NEW, 0, named(flow, zone, reply=reply).replace(id=None, **fields))
    return Request(message, not_found=[errno.ENOENT], doing=About("update connection", flow), record=Flow)


def delete(
    flow: Flow | Tuple, *, reply: bool = False, zone: int | None = None, missing_ok: bool = False
) -> Request[None]:
    """Forget a connection. One that was read before is forgotten only if it is still that one."""
    message = Message(DELETE, 0, named(flow, zone, reply=reply))
    request: Request[Any] = Request(
        message, not_found=[errno.ENOENT], doing=About("delete connection", flow), record=Flow
    )
    return request.tolerate(errno.ENOENT) if missing_ok else request


def flush(
    *,
    family: int | None = None,
    zone: int | None = None,
    mark: int | None = None,
    mark_mask: int = 0xFFFFFFFF,
    status: IPS | None = None,
    status_mask: IPS | None = None,
    orig: Tuple | None = None,
    reply: Tuple | None = None,
) -> Request[None]:
    """Forget all connections that match, as `flows` would list them.

    In one step by all, `family` (Linux 5.3) and `mark`. By the rest they are listed and deleted: an older
    kernel that is told to flush a zone, or a status, flushes everything.
    """
    if zone is not None or status is not None or orig is not None or reply is not None:
        listed = flows(
            family=family,
            zone=zone,
            mark=mark,
            mark_mask=mark_mask,
            status=status,
            status_mask=status_mask,
            orig=orig,
            reply=reply,
        )

        def steps() -> Generator[Any, Any, None]:
            found: list[Flow] = yield listed
            yield [delete(one, missing_ok=True) for one in found]

        return Procedure(steps, doing="flush connections")
    fields: dict[str, Any] = {}
    if mark is not None:
        fields |= {"mark": mark & mark_mask, "mark_mask": mark_mask}
    # Version 0 means all families, whatever the family says.
    message = Message(DELETE, 0, Flow(family=family or 0, version=int(family is not None), **fields))
    return Request(message, doing="flush connections")


class Masked:
    """In the place of a value for `reader`: equal in some bits; None is 0."""

    def __init__(self, value: int, mask: int) -> None:
        self.value = int(value) & int(mask)
        self.mask = int(mask)

    def __eq__(self, other: object) -> bool:
        return (other is None or isinstance(other, int)) and int(other or 0) & self.mask == self.value

    def __hash__(self) -> int:
        return hash((self.value, self.mask))
