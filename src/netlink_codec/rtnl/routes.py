"""Requests about routes."""

import errno
from collections.abc import Callable, Generator, Sequence
from ipaddress import IPv4Network, IPv6Network
from typing import Any, NamedTuple, TypedDict, Unpack

from .._core import Message
from ..constants import NLM_F_APPEND, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE
from ..records import IPAddress, IPNetwork, Without, reader
from ..requests import Device, Dump, Procedure, Request
from .constants import AF_INET, AF_INET6, AF_MPLS, RTM_DELROUTE, RTM_GETROUTE, RTM_NEWROUTE
from .encap import Encap
from .enums import ICMPV6_ROUTER_PREF, RT_SCOPE, RT_TABLE, RTM_F, RTN, RTNH_F, RTPROT
from .filters import INTERNET, Filtered, given
from .route import Metrics, MplsRoute, NextHop, Route
from .spelling import (
    FAMILIES,
    Destination,
    Dev,
    address,
    alike,
    asked_family,
    called,
    device,
    family_of,
    gateway,
    known,
    network,
    only,
    resolved,
    word,
)
from .spelling import table as table_of

GONE = (errno.ESRCH, errno.ENODEV)

# <linux/rtnetlink.h>: families of multicast routes.
RTNL_FAMILY_IPMR, RTNL_FAMILY_IP6MR = 128, 129


class Hop(NamedTuple):
    """One way of a route that has several, as a person writes it; records have `NextHop`."""

    via: str | IPAddress | None = None
    """The gateway, of whichever family."""
    dev: Dev | None = None
    weight: int = 1
    """Its part of the traffic, in proportion to the others'; 1 to 256."""
    onlink: bool = False
    encap: Encap | None = None


class RouteSettings(TypedDict, total=False):
    """What a route may be given, in the words of `ip route`. None is as if nothing were said."""

    via: str | IPAddress | None
    """The gateway; an IPv6 one of an IPv4 route, if you like. "fe80::1%lan0" says `dev` too."""
    dev: Dev | None
    nexthops: Sequence[Hop]
    """Several ways, in the place of `via` and `dev`."""
    nhid: int | None
    """A next hop object, in the place of `via` and `dev`."""
    src: str | IPAddress | None
    """The source address for packets that have none yet."""
    from_: str | IPNetwork | None
    """IPv6: only for packets from there."""
    metric: int | None
    """Of routes to one destination, the one with the lowest is used. 0 of IPv4, 1024 of IPv6, if you say nothing."""
    table: int | str | None
    """A number, "main" or "local"; main if you say nothing."""
    type: int | str | None
    """RTN: "unicast", "blackhole", "unreachable", "prohibit", "throw", "local", …"""
    scope: int | str | None
    """RT_SCOPE of an IPv4 route; if you say nothing: host of a local one, link of one without gateway, else global."""
    proto: int | str | None
    """RTPROT, who makes it: "static" if you say nothing (`ip` says "boot"), "bird", …"""
    tos: int
    mtu: int | None
    """In bytes; as `metrics=Metrics(mtu=…)`."""
    metrics: Metrics | None
    onlink: bool
    """The gateway is on the link, whatever the addresses say."""
    encap: Encap | None
    """What to put around packets: `MplsEncap(labels=(100,))`, `IpEncap(…)`."""
    pref: int | str | None
    """IPv6: "low", "medium", "high"."""
    expires: int | None
    """IPv6: seconds until it goes."""
    family: int | None
    """For "default", where no address tells it; AF_INET if you say nothing."""


def routes(
    *,
    table: int | str | None = None,
    family: int | None = None,
    dst: Destination | None = None,
    oif: Dev | None = None,
    proto: int | str | None = None,
    type: int | str | None = None,
) -> Dump[Route]:
    """The routes of all tables, IPv4 first; or those of which all this is true.

    All but `dst` is for the kernel to look at, so that it sends no others. `oif` finds
    routes of which one way of several leaves there, too. Entries of the cache are left
    out, as are, unless it is asked for, families other than IPv4 and IPv6; MPLS has
    `mpls_routes`. A table that is not there is empty.
    """
    to = None if dst is None else network(dst)
    family = asked_family(family, RTNL_FAMILY_IPMR, RTNL_FAMILY_IP6MR)
    if to is not None:
        if family is not None:
            alike(f"the family {family}", _internet(family), dst=to)
        else:
            family = family_of(to)
    where = given(
        table=None if table is None else table_of(table),
        proto=None if proto is None else word(RTPROT, proto),
        type=None if type is None else word(RTN, type),
    )
    asked = Route(family=family or 0, **where)
    where["family"] = INTERNET if family is None else family
    if to is not None:
        where["dst"] = to
    elif dst is not None:
        where["dst"] = frozenset(map(_default, FAMILIES)) if family is None else _default(_internet(family))
    where["flags"] = Without(RTM_F.CLONED)
    message, late = resolved(
        lambda index: Message(RTM_GETROUTE, NLM_F_DUMP, asked if index is None else asked.replace(oif=index)),
        None if oif is None else device(oif),
    )
    dump = Filtered(
        message,
        lambda sent: leaving(reader(Route, RTM_NEWROUTE, **where), Route.from_message(sent).oif),
        late=late,
        not_found=[errno.ENODEV],
        doing="list routes",
    )
    # The kernel calls it an error if a table is not there yet, but only where it is asked for one family.
    return dump.tolerate(errno.ENOENT)


def mpls_routes() -> Dump[MplsRoute]:
    """The routes of MPLS."""
    message = Message(RTM_GETROUTE, NLM_F_DUMP, MplsRoute(dst_len=0, type=RTN.UNSPEC))
    # A kernel without MPLS sends the routes of all families.
    return Dump(message, reader(MplsRoute, RTM_NEWROUTE, family=AF_MPLS), doing="list MPLS routes")


def leaving(decode: Callable[[Message], Route | None], index: int | None) -> Callable[[Message], Route | None]:
    """Those routes alone that leave by an interface."""
    if index is None:
        return decode

    def those(message: Message) -> Route | None:
        route = decode(message)
        return route if route is not None and leaves(route, index) else None

    return those


def leaves(route: Route, index: int) -> bool:
    """Whether it leaves by an interface, or one of its ways does."""
    return route.oif == index or any(hop.ifindex == index for hop in route.multipath or ())


def _default(family: int) -> IPNetwork:
    return IPv6Network("::/0") if family == AF_INET6 else IPv4Network("0.0.0.0/0")


def _internet(family: int) -> int:
    """What the addresses are, of the routes of a family."""
    return {RTNL_FAMILY_IPMR: AF_INET, RTNL_FAMILY_IP6MR: AF_INET6}.get(family, family)


def add_route(dst: Destination, *, exist_ok: bool = False, **settings: Unpack[RouteSettings]) -> Request[None]:
    """Make a route. `Exists` if there is one to there already, with the same table, metric and type of service."""
    request = _new("add", NLM_F_CREATE | NLM_F_EXCL, dst, settings)
    return request.tolerate(errno.EEXIST) if exist_ok else request


def append_route(dst: Destination, **settings: Unpack[RouteSettings]) -> Request[None]:
    """Make a route behind those to the same destination; of IPv6, one more way of the same route."""
    return _new("append", NLM_F_CREATE | NLM_F_APPEND, dst, settings)


def replace_route(dst: Destination, **settings: Unpack[RouteSettings]) -> Request[None]:
    """Make a route, in the place of the one to there with the same table, metric and type of service, if any."""
    return _new("replace", NLM_F_CREATE | NLM_F_REPLACE, dst, settings)


def change_route(dst: Destination, **settings: Unpack[RouteSettings]) -> Request[None]:
    """As `replace_route`, but NotFound if there is none."""
    return _new("change", NLM_F_REPLACE, dst, settings)


def delete_route(
    dst: Destination | Route, *, missing_ok: bool = False, **settings: Unpack[RouteSettings]
) -> Request[None]:
    """Delete the first route of which all this is true, or, given a record, the one that this speaks of."""
    devs: list[int | Device | None] = []
    if isinstance(dst, Route):
        if settings:
            raise TypeError(f"delete_route: a record says all, and here is {', '.join(settings)} beside it")
        _check(dst)
        record = _that(dst)
        doing = f"delete route {dst.dst}"
    else:
        known("delete_route", settings, RouteSettings)
        record, devs = _made(dst, deleting=True, **settings)
        doing = _doing("delete", dst, settings)
    request = _request(RTM_DELROUTE, 0, record, devs, doing)
    return request.tolerate(*GONE) if missing_ok else request


def flush_routes(
    *,
    table: int | str = RT_TABLE.MAIN,
    family: int | None = None,
    dst: Destination | None = None,
    oif: Dev | None = None,
    proto: int | str | None = None,
    type: int | str | None = None,
) -> Procedure[int]:
    """Delete all routes of a table, or those of which all this is true; returns how many there were."""

    dump = routes(table=table, family=family, dst=dst, oif=oif, proto=proto, type=type)

    def steps() -> Generator[Any, Any, int]:
        found: list[Route] = yield dump
        yield [delete_route(route, missing_ok=True) for route in found]
        return len(found)

    return Procedure(steps, doing=f"flush routes of table {table}")


def _that(route: Route) -> Route:
    """What the kernel needs to find this route again; it refuses some of what it says of one."""
    if route.nh_id is not None:
        # It says what type the object is of, and not the route's.
        way: dict[str, Any] = {"nh_id": route.nh_id}
    else:
        way = {
            "type": route.type,
            "oif": route.oif,
            "gateway": route.gateway,
            "rta_via": route.rta_via,
            "multipath": route.multipath,
        }
    return Route(
        family=route.family,
        tos=route.tos,
        proto=route.proto,
        scope=RT_SCOPE.NOWHERE,
        dst=route.dst,
        src=route.src,
        metric=route.metric,
        table=route.table,
        **way,
    )


def _doing(verb: str, dst: Destination, settings: RouteSettings) -> str:
    words = [f"{verb} route {dst}"]
    if (via := settings.get("via")) is not None:
        words.append(f"via {via}")
    if (dev := settings.get("dev")) is not None:
        words.append(f"dev {called(dev)}")
    if (table := settings.get("table")) is not None:
        words.append(f"table {table}")
    return " ".join(words)


def _new(verb: str, flags: int, dst: Destination, settings: RouteSettings) -> Request[None]:
    known(f"{verb}_route", settings, RouteSettings)
    record, devs = _made(dst, **settings)
    return _request(RTM_NEWROUTE, flags, record, devs, _doing(verb, dst, settings))


def _request(type: int, flags: int, record: Route, devs: "list[int | Device | None]", doing: str) -> Request[None]:
    """`devs` are the interface of the route and those of its ways; where there are none, the record has them."""

    def message(*indexes: int | None) -> Message:
        if not indexes:
            return Message(type, flags, record)
        changes: dict[str, Any] = {"oif": indexes[0]}
        if record.multipath is not None:
            changes["multipath"] = tuple(
                hop.replace(ifindex=index or 0) for hop, index in zip(record.multipath, indexes[1:], strict=True)
            )
        return Message(type, flags, record.replace(**changes))

    asked, late = resolved(message, *devs)
    return Request(
        asked,
        late=late,
        not_found=[*GONE, errno.ENOENT],
        exists=[errno.EEXIST],
        doing=doing,
        record=Route,
    )


def _made(
    dst: Destination,
    *,
    deleting: bool = False,
    via: str | IPAddress | None = None,
    dev: Dev | None = None,
    nexthops: Sequence[Hop] = (),
    nhid: int | None = None,
    src: str | IPAddress | None = None,
    from_: str | IPNetwork | None = None,
    metric: int | None = None,
    table: int | str | None = None,
    type: int | str | None = None,
    scope: int | str | None = None,
    proto: int | str | None = None,
    tos: int = 0,
    mtu: int | None = None,
    metrics: Metrics | None = None,
    onlink: bool = False,
    encap: Encap | None = None,
    pref: int | str | None = None,
    expires: int | None = None,
    family: int | None = None,
) -> "tuple[Route, list[int | Device | None]]":
    """The record, but for interfaces, and these."""
    what = f"the route to {dst}"
    to = network(dst)
    source = None if from_ is None else network(from_)
    prefsrc = None if src is None else address(src)
    way, dev = (None, dev) if via is None else gateway(via, dev)
    if isinstance(nexthops, Hop) or not isinstance(nexthops, Sequence):
        raise TypeError(f"nexthops are a sequence of Hop, not {nexthops!r}")
    ways = [_hop(hop) for hop in nexthops]
    family = _family(asked_family(family), what, to or source or prefsrc, [way, *[via for via, _ in ways]])
    alike(what, family, dst=to, from_=source, src=prefsrc)
    if family == AF_INET:
        only(AF_INET6, what, from_=from_, pref=pref, expires=expires)
    else:
        only(AF_INET, what, scope=scope)
        alike(what, family, via=way)
        for hop_via, _ in ways:
            alike(what, family, via=hop_via)
    # Deleting, what is not said may be anything.
    kind = word(RTN, (RTN.UNSPEC if deleting else RTN.UNICAST) if type is None else type)
    maker = word(RTPROT, (RTPROT.UNSPEC if deleting else RTPROT.STATIC) if proto is None else proto)
    if scope is None and deleting:
        scope = RT_SCOPE.NOWHERE
    elif scope is None:
        direct = via is None and not nexthops and nhid is None
        scope = _scope(kind, direct) if family == AF_INET else RT_SCOPE.UNIVERSE
    if mtu is not None:
        metrics = Metrics(mtu=mtu) if metrics is None else metrics.replace(mtu=mtu)
    record = Route(
        family=family,
        tos=tos,
        proto=maker,
        scope=word(RT_SCOPE, scope),
        type=kind,
        flags=RTM_F.ONLINK if onlink else RTM_F(0),
        dst=to or _default(family),
        src=source,
        metric=metric,
        prefsrc=prefsrc,
        metrics=metrics,
        multipath=tuple(_way(hop, via, family) for hop, (via, _) in zip(nexthops, ways, strict=True)) or None,
        table=RT_TABLE.MAIN if table is None else table_of(table),
        pref=None if pref is None else word(ICMPV6_ROUTER_PREF, pref),
        encap=encap,
        expires=expires,
        nh_id=nhid,
        **_gateway(way, family),
    )
    devs = [dev, *[dev for _, dev in ways]]
    return record, [None if one is None else device(one) for one in devs]


def _family(family: int | None, what: str, address: IPAddress | IPNetwork | None, ways: list[IPAddress | None]) -> int:
    """The family of a route: what is said, or that of its addresses; where there are only gateways, IPv4 if one is."""
    if address is not None:
        if family is not None:
            alike(f"{what} of the family {family}", family, address=address)
        return family_of(address)
    if family is not None:
        return family
    families = {family_of(via) for via in ways if via is not None}
    return AF_INET6 if families == {AF_INET6} else AF_INET


def _check(route: Route) -> None:
    """That the addresses of a record are of one family."""
    what = f"the route to {route.dst}"
    if route.family in FAMILIES:
        alike(what, route.family, dst=route.dst, from_=route.src, src=route.prefsrc)
        ways: list[Route | NextHop] = [route, *(route.multipath or ())]
        for way in ways:
            # RTA_GATEWAY is of the route's family, RTA_VIA of the other, which only IPv4 has.
            alike(what, route.family, via=way.gateway if route.family == AF_INET else way.via)


def _scope(kind: RTN, direct: bool) -> RT_SCOPE:
    """How far an IPv4 destination is, as `ip` takes it to be."""
    if kind in (RTN.LOCAL, RTN.NAT):
        return RT_SCOPE.HOST
    if kind in (RTN.BROADCAST, RTN.MULTICAST, RTN.ANYCAST) or (kind == RTN.UNICAST and direct):
        return RT_SCOPE.LINK
    return RT_SCOPE.UNIVERSE


def _gateway(via: IPAddress | None, family: int) -> dict[str, Any]:
    """In RTA_GATEWAY, or, of another family than the route's, in RTA_VIA."""
    if via is None:
        return {}
    return {"gateway" if family_of(via) == family else "rta_via": via}


def _hop(hop: Hop) -> tuple[IPAddress | None, Dev | None]:
    """The gateway of a way, and its interface."""
    if not isinstance(hop, Hop):
        raise TypeError(f"nexthops are a sequence of Hop, of which {hop!r} is none")
    return (None, hop.dev) if hop.via is None else gateway(hop.via, hop.dev)


def _way(hop: Hop, via: IPAddress | None, family: int) -> NextHop:
    if not 1 <= hop.weight <= 256:
        raise ValueError(f"a weight is 1 to 256, not {hop.weight}")
    return NextHop(
        flags=RTNH_F.ONLINK if hop.onlink else RTNH_F(0),
        hops=hop.weight - 1,
        encap=hop.encap,
        **_gateway(via, family),
    )
