"""What happens to links, addresses and routes: `watch`."""

from collections.abc import Callable
from typing import Any, TypeVar

from .._core import Message
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
from .link import Link
from .links import links
from .route import Route
from .routes import leaving, routes
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

    `family` and `table` (of routes) and `dev` (an index, or a Link) leave out what is not so.
    """
    if not what or not TYPES.keys() >= set(what):
        raise TypeError(f"what to watch is some of {', '.join(record.__name__ for record in TYPES)}")
    index = dev.index if isinstance(dev, Link) else dev
    number = None if table is None else table_of(table)
    groups: list[int] = []
    events: dict[int, tuple[type, Decode]] = {}
    dumps: list[Dump[Any]] = []
    for record in what:
        groups += [group for of, group in GROUPS[record].items() if of in (AF_UNSPEC, family) or family is None]
        new, gone = TYPES[record]
        events[new] = New, _decoder(record, new, family, number, index)
        events[gone] = Deleted, _decoder(record, gone, family, number, index)
        dumps.append(_dump(record, family, number, index))

    def decode(message: Message, group: int) -> Any:
        event, decoder = events.get(message.type, (None, None))
        if event is None or decoder is None:
            return None
        found = decoder(message)
        return None if found is None else event(found)

    return Watch(groups, decode, resync=dumps, initial=initial, track=track)


def _decoder(record: type[Record], type: int, family: int | None, table: int | None, index: int | None) -> Decode:
    if record is Link:
        # The same group hears of the ports of bridges, as links of family AF_BRIDGE: one that is deleted has left its
        # bridge, and is still there.
        return reader(record, type, family=AF_UNSPEC, **given(index=index))
    families = INTERNET if family is None else family
    if record is Address:
        return reader(record, type, family=families, **given(index=index))
    return leaving(reader(Route, type, family=families, flags=Without(RTM_F.CLONED), **given(table=table)), index)


def _dump(record: type[Record], family: int | None, table: int | None, index: int | None) -> Dump[Any]:
    """What there is, of what is watched."""
    if record is Link:
        return Dump(links().message, _decoder(record, RTM_NEWLINK, family, table, index), doing="list links")
    if record is Address:
        return addresses(family=family, dev=index)
    return routes(family=family, table=table, oif=index)
