"""What happens to links, addresses and routes: `watch`."""

from collections.abc import Callable
from typing import Any, TypeVar

from .._core import Message
from ..changes import Again
from ..records import Record, Without, reader
from ..requests import Changed, Deleted, Dump, New, Sync, Watch
from .address import Address
from .addresses import addresses
from .constants import (
    AF_INET,
    AF_INET6,
    AF_UNSPEC,
    RTM_DELADDR,
    RTM_DELLINK,
    RTM_DELROUTE,
    RTM_NEWADDR,
    RTM_NEWLINK,
    RTM_NEWROUTE,
    RTNLGRP,
)
from .enums import RTM_F
from .filters import INTERNET, given
from .following import FirstRoutes, Following, settled
from .link import Link
from .links import links
from .route import Route
from .routes import leaving, routes
from .spelling import asked_family, index_of
from .spelling import table as table_of

R = TypeVar("R", bound=Record)

Decode = Callable[[Message], Any]

TYPES: dict[type[Record], tuple[int, int]] = {
    Link: (RTM_NEWLINK, RTM_DELLINK),
    Address: (RTM_NEWADDR, RTM_DELADDR),
    Route: (RTM_NEWROUTE, RTM_DELROUTE),
}
"""What can be watched: the types of the messages that say that it is there, and that it is gone."""

GROUPS: dict[type[Record], dict[int, int]] = {
    Link: {AF_UNSPEC: RTNLGRP.LINK},
    Address: {AF_INET: RTNLGRP.IPV4_IFADDR, AF_INET6: RTNLGRP.IPV6_IFADDR},
    Route: {AF_INET: RTNLGRP.IPV4_ROUTE, AF_INET6: RTNLGRP.IPV6_ROUTE},
}
"""By address family."""

SILENT: dict[int, int] = {
    RTNLGRP.LINK: AF_UNSPEC,
    RTNLGRP.IPV4_IFADDR: AF_INET,
    RTNLGRP.IPV6_IFADDR: AF_INET6,
    RTNLGRP.NEXTHOP: AF_UNSPEC,
}
"""Groups that hear what changes routes in silence, of this family or of both."""


def watch(
    *what: type[R],
    initial: bool = False,
    track: bool = False,
    family: int | None = None,
    table: int | str | None = None,
    dev: int | Link | None = None,
) -> Watch[New[R] | Changed[R] | Deleted[R] | Sync]:
    """What happens to `Link`, `Address`, `Route`: `New` and `Deleted` records, as the kernel tells it.

    With `initial`, what is there already comes first, as New between `Sync("begin")` and
    `Sync("end")`; in the same way, all comes again after a loss. With `track`, what
    was seen is remembered: a New that is known already is `Changed`, with the old record,
    and what a loss hid is told after it.

    `family` (of addresses and routes), `table` (of routes) and `dev` (an index, or a Link) leave out
    what is not so.

    Of some routes that go, the kernel tells nobody: those of IPv4 that go with a link, with an address or
    with a next hop object; and some events can be misread (`Route.identity`). With `initial` or `track`,
    what there is comes again when that may be, between `Sync("begin")` and `Sync("end")`, and of IPv4
    routes with the same identity only the one in use is told. So the state is right; it takes Linux 5.3.
    Without either, routes are told as the kernel tells them.
    """
    if not what or not TYPES.keys() >= set(what):
        raise TypeError(f"what to watch is some of {', '.join(record.__name__ for record in TYPES)}")
    family = asked_family(family)
    if table is not None and Route not in what:
        raise ValueError("watch: table is for routes, which are not watched")
    if family is not None and set(what) == {Link}:
        raise ValueError("watch: family is for addresses and routes, which are not watched")
    if isinstance(dev, str):
        raise TypeError(f"watch: dev is an index or a Link, not a name ({dev!r}), which may be another's tomorrow")
    index = None if dev is None else index_of(dev)
    number = None if table is None else table_of(table)
    groups: list[int] = []
    events: dict[int, Decode] = {}
    dumps: list[Dump[Any]] = []
    following = Following(index) if Route in what and (initial or track) else None
    if following is not None:
        groups += [group for group, of in SILENT.items() if of in (AF_UNSPEC, family) or family is None]
        dumps.append(settled())
    for record in what:
        groups += [group for of, group in GROUPS[record].items() if of in (AF_UNSPEC, family) or family is None]
        new, gone = TYPES[record]
        if record is Route and following is not None:
            events[new] = _each(_routes(new, family, number), following.new)
            events[gone] = _each(_routes(gone, family, number), following.gone)
            dumps.append(FirstRoutes(routes(family=family, table=number, oif=index), following))
        else:
            events[new] = _each(_decoder(record, new, family, number, index), New)
            events[gone] = _each(_decoder(record, gone, family, number, index), Deleted)
            dumps.append(_dump(record, family, number, index))

    def decode(message: Message, group: int) -> Any:
        decoder = events.get(message.type)
        event = None if decoder is None else decoder(message)
        return Again(event) if following is not None and following.silent(message) else event

    return Watch(list(dict.fromkeys(groups)), decode, resync=dumps, initial=initial, track=track)


def _each(decode: Decode, event: Callable[[Any], Any]) -> Decode:
    """What is made of that which is decoded."""

    def one(message: Message) -> Any:
        found = decode(message)
        return None if found is None else event(found)

    return one


def _decoder(record: type[Record], type: int, family: int | None, table: int | None, index: int | None) -> Decode:
    if record is Link:
        # The same group hears of the ports of bridges, as links of family AF_BRIDGE: one that is deleted has left its
        # bridge, and is still there.
        return reader(record, type, family=AF_UNSPEC, **given(index=index))
    families = INTERNET if family is None else family
    if record is Address:
        return reader(record, type, family=families, **given(index=index))
    return leaving(_routes(type, family, table), index)


def _routes(type: int, family: int | None, table: int | None) -> Callable[[Message], Route | None]:
    families = INTERNET if family is None else family
    return reader(Route, type, family=families, flags=Without(RTM_F.CLONED), **given(table=table))


def _dump(record: type[Record], family: int | None, table: int | None, index: int | None) -> Dump[Any]:
    """What there is, of what is watched."""
    if record is Link:
        return Dump(links().message, _decoder(record, RTM_NEWLINK, family, table, index), doing="list links")
    if record is Address:
        return addresses(family=family, dev=index)
    return routes(family=family, table=table, oif=index)
