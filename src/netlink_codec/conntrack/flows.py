"""Requests for tracked connections: list, get, create, update, delete, flush. IPCTNL_MSG_CT_*."""

import errno
from ipaddress import IPv4Address
from typing import Any

from .._core import Message
from ..constants import NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL
from ..nfnetlink import NFNL_SUBSYS_CTNETLINK, message_type
from ..records import IPAddress, reader
from ..requests import Dump, Request
from .enums import CTA_FILTER_F, IPPROTO, IPS, TCP_CONNTRACK
from .flow import Addresses, Filter, Flow, Protocol, ProtoInfo, TcpInfo, Tuple

NEW, GET, DELETE, GET_CTRZERO = (message_type(NFNL_SUBSYS_CTNETLINK, number) for number in range(4))
AF_INET, AF_INET6 = 2, 10


def direction(
    proto: int | str, src: IPAddress, dst: IPAddress, sport: int | None = None, dport: int | None = None, **icmp: int
) -> Tuple:
    """One direction of a connection; of ICMP, `icmp_id`, `icmp_type` and `icmp_code` stand for ports."""
    if src.version != dst.version:
        raise ValueError(f"{src} and {dst} are not of one family")
    ends: dict[str, Any] = {f"v{src.version}_src": src, f"v{dst.version}_dst": dst}
    protocol = Protocol(number=IPPROTO.of(proto), src_port=sport, dst_port=dport, **icmp)
    return Tuple(addresses=Addresses(**ends), protocol=protocol)


def flow(
    proto: int | str,
    src: IPAddress,
    dst: IPAddress,
    sport: int | None = None,
    dport: int | None = None,
    *,
    timeout: int,
    tcp: TCP_CONNTRACK = TCP_CONNTRACK.ESTABLISHED,
    **fields: Any,
) -> Flow:
    """A connection that is not translated, for `create`: both directions filled in.

    `timeout` is in seconds. `tcp` is the state of a TCP connection. `fields` are other fields of Flow.
    """
    protocol = IPPROTO.of(proto)
    if protocol is IPPROTO.TCP:
        fields.setdefault("protoinfo", ProtoInfo(tcp=TcpInfo(state=tcp)))
    return Flow(
        family=_family(src),
        orig=direction(protocol, src, dst, sport, dport),
        reply=direction(protocol, dst, src, dport, sport),
        timeout=timeout,
        **fields,
    )


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
    `reply`, tuples of which it compares what is there (5.8), and needs a `family` for.
    Older kernels send more; what concerns family, zone, mark and status is left out on this side, too.
    `zero` sets the counters of what is listed to zero, at once with reading them.
    """
    if (orig is not None or reply is not None) and family is None:
        family = _family_of(orig or reply)
    fields: dict[str, Any] = {"zone": zone, "orig": orig, "reply": reply}
    if mark is not None:
        fields |= {"mark": mark & mark_mask, "mark_mask": mark_mask}
    if status is not None:
        wanted = status if status_mask is None else status_mask
        fields |= {"status": status, "status_mask": wanted}
    if orig is not None or reply is not None:
        fields["filter"] = Filter(orig_flags=_parts(orig), reply_flags=_parts(reply))
    message = Message(GET_CTRZERO if zero else GET, NLM_F_DUMP, Flow(family=family or 0, **fields))
    where: dict[str, Any] = {}
    if family is not None:
        where["family"] = family
    if zone is not None:
        where["zone"] = zone or None
    if mark is not None:
        where["mark"] = _Masked(mark, mark_mask)
    if status is not None:
        where["status"] = _Masked(status, int(fields["status_mask"]))
    return Dump(message, reader(Flow, NEW, **where), doing="list connections")


def get(flow: Flow | Tuple, *, zone: int | None = None) -> Request[Flow]:
    """One connection, by one that was read before, or by its direction and zone; NotFound if it is not there."""
    decode: Any = reader(Flow, NEW)
    return Request(Message(GET, 0, _named(flow, zone)), decode, not_found=[errno.ENOENT], doing="get a connection")


def create(flow: Flow, *, exist_ok: bool = False) -> Request[None]:
    """A new connection, as `flow(...)` makes one; Exists if there is one with either direction."""
    request: Request[Any] = Request(Message(NEW, NLM_F_CREATE | NLM_F_EXCL, flow), doing="create a connection")
    return request.tolerate(errno.EEXIST) if exist_ok else request


def update(flow: Flow | Tuple, *, zone: int | None = None, **fields: Any) -> Request[None]:
    """Change a connection: `timeout`, `mark`, `mark_mask`, `status`, `protoinfo`, `labels`, … of Flow."""
    message = Message(NEW, 0, _named(flow, zone).replace(id=None, **fields))
    return Request(message, not_found=[errno.ENOENT], doing="update a connection")


def delete(flow: Flow | Tuple, *, zone: int | None = None, missing_ok: bool = False) -> Request[None]:
    """Forget a connection. One that was read before is forgotten only if it is still that one."""
    request: Request[Any] = Request(
        Message(DELETE, 0, _named(flow, zone)), not_found=[errno.ENOENT], doing="delete a connection"
    )
    return request.tolerate(errno.ENOENT) if missing_ok else request


def flush(
    *,
    family: int | None = None,
    zone: int | None = None,
    mark: int | None = None,
    mark_mask: int = 0xFFFFFFFF,
    status: IPS | None = None,
) -> Request[None]:
    """Forget all connections that match, as `flows` would list them."""
    fields: dict[str, Any] = {"zone": zone}
    if mark is not None:
        fields |= {"mark": mark & mark_mask, "mark_mask": mark_mask}
    if status is not None:
        fields |= {"status": status, "status_mask": status}
    # Version 0 means all families, whatever the family says.
    message = Message(DELETE, 0, Flow(family=family or 0, version=int(family is not None), **fields))
    return Request(message, doing="flush connections")


class _Masked:
    """In the place of a value for `reader`: equal in some bits; None is 0."""

    def __init__(self, value: int, mask: int) -> None:
        self.value = value & mask
        self.mask = mask

    def __eq__(self, other: object) -> bool:
        return (other or 0) & self.mask == self.value if other is None or isinstance(other, int) else False

    def __hash__(self) -> int:
        return hash((self.value, self.mask))


def _named(flow: Flow | Tuple, zone: int | None) -> Flow:
    """What names a connection in a request."""
    if isinstance(flow, Tuple):
        return Flow(family=_family_of(flow), orig=flow, zone=zone)
    return Flow(family=flow.family, orig=flow.orig, zone=flow.zone if zone is None else zone, id=flow.id)


def _family(address: IPAddress) -> int:
    return AF_INET if isinstance(address, IPv4Address) else AF_INET6


def _family_of(direction: Tuple | None) -> int:
    address = None if direction is None else direction.src or direction.dst
    if address is None:
        raise ValueError("a family is needed, since there is no address")
    return _family(address)


_PARTS = {
    "v4_src": CTA_FILTER_F.IP_SRC,
    "v4_dst": CTA_FILTER_F.IP_DST,
    "v6_src": CTA_FILTER_F.IP_SRC,
    "v6_dst": CTA_FILTER_F.IP_DST,
    "number": CTA_FILTER_F.PROTO_NUM,
    "src_port": CTA_FILTER_F.PROTO_SRC_PORT,
    "dst_port": CTA_FILTER_F.PROTO_DST_PORT,
    "icmp_type": CTA_FILTER_F.PROTO_ICMP_TYPE,
    "icmp_code": CTA_FILTER_F.PROTO_ICMP_CODE,
    "icmp_id": CTA_FILTER_F.PROTO_ICMP_ID,
    "icmpv6_type": CTA_FILTER_F.PROTO_ICMPV6_TYPE,
    "icmpv6_code": CTA_FILTER_F.PROTO_ICMPV6_CODE,
    "icmpv6_id": CTA_FILTER_F.PROTO_ICMPV6_ID,
}


def _parts(direction: Tuple | None) -> CTA_FILTER_F | None:
    """What of a tuple is there."""
    if direction is None:
        return None
    parts = CTA_FILTER_F(0)
    for inside in (direction.addresses, direction.protocol):
        for name in () if inside is None else inside.to_dict():
            parts |= _PARTS.get(name, CTA_FILTER_F(0))
    return parts if direction.zone is None else parts | CTA_FILTER_F.ZONE
