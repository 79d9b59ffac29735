"""Routes as a state: what the kernel changes without telling it, and what it tells in a way that can be misread."""

from collections.abc import Callable
from typing import Any, Self

from .._core import Message
from ..changes import Again, Deleted, New
from ..constants import NLM_F_APPEND, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE
from ..records import reader
from ..requests import Dump
from .address import Address
from .constants import (
    AF_INET,
    AF_INET6,
    AF_UNSPEC,
    RTM_DELADDR,
    RTM_DELLINK,
    RTM_DELNEXTHOP,
    RTM_GETLINK,
    RTM_NEWADDR,
    RTM_NEWLINK,
)
from .enums import RTNH_F
from .link import Link
from .linkenums import IFF, RTEXT_FILTER
from .route import Route
from .routes import leaves

NEWCOMER = 0xFFFFFFFF
"""The `change` of a link that was not there before."""


def settled() -> Dump[Any]:
    """Brings nothing, once what the kernel is about is done: it says that a link is down before it removes the routes,
    but lets nobody ask for a link until it has."""
    message = Message(RTM_GETLINK, 0, Link(index=1, ext_mask=RTEXT_FILTER.SKIP_STATS))
    return Dump(message, lambda message: None, doing="wait for the kernel")


_new_link = reader(Link, RTM_NEWLINK, family=AF_UNSPEC)
# That of AF_BRIDGE is of a port, which has left its bridge.
_gone_link = reader(Link, RTM_DELLINK, family=AF_UNSPEC)
_new_address = reader(Address, RTM_NEWADDR, family=AF_INET)


class Following:
    """What is known of the routes that a watch tells, so as to tell what an event of one does not say.

    It is that of all who listen to the watch: at worst, they ask for the state when they need not.
    """

    def __init__(self, index: int | None) -> None:
        self._index = index
        self._several: set[int] = set()
        """Of which there may be several routes, or of IPv6 several ways; as hashes, which take less memory."""
        self._direct: set[int] = set()
        """IPv6: where there is one without a gateway, which has the interface in its identity."""
        self._dead = False
        """IPv4: whether a way is dead."""

    def silent(self, message: Message) -> bool:
        """Whether a message may mean that routes have changed, of which nothing is told.

        Of IPv4, the kernel tells nobody of the routes that go with a link, an address or a next hop object, nor of
        ways that are dead with a link, or are none any more; of IPv6, it does not where it is told not to
        (skip_notify_on_dev_down), or where a source address goes.
        """
        type = message.type
        if type == RTM_NEWLINK:
            link = _new_link(message)
            return link is not None and link.change != NEWCOMER and bool(link.change & IFF.UP)
        if type == RTM_NEWADDR:
            return self._dead and _new_address(message) is not None
        if type == RTM_DELLINK:
            return _gone_link(message) is not None
        return type in (RTM_DELADDR, RTM_DELNEXTHOP)

    def new(self, route: Route) -> New[Route] | Again | None:
        """A route is there, says an event."""
        flags, key = route.message_flags, self._note(route)
        replaces = flags & NLM_F_REPLACE
        if not self._leaves(route):
            return Again() if replaces else None
        if flags & NLM_F_CREATE and not flags & (NLM_F_EXCL | NLM_F_REPLACE):
            self._several.add(key)
            if flags & NLM_F_APPEND and route.family != AF_INET6:
                return None  # it is behind one that is in use
        if replaces and route.family == AF_INET6 and key in self._direct:
            return Again(New(route))  # in the place of one with another identity, perhaps
        return New(route)

    def gone(self, route: Route) -> Deleted[Route] | Again | None:
        """A route is gone, says an event."""
        if not self._leaves(route):
            return None
        whole = route.family == AF_INET6 and (route.multipath is not None or route.nh_id is not None)
        return Deleted(route) if whole or _key(route) not in self._several else Again()

    def _leaves(self, route: Route) -> bool:
        return self._index is None or leaves(route, self._index)

    def _note(self, route: Route) -> int:
        key = _key(route)
        if route.family == AF_INET6:
            if route.multipath is not None:
                self._several.add(key)
            elif route.gateway is None:
                self._direct.add(key)
        elif any(way.flags & RTNH_F.DEAD for way in route.multipath or ()):
            self._dead = True
        return key

    def first(self, decode: Callable[[Message], Route | None]) -> Callable[[Message], Route | None]:
        """The routes of a dump, without those behind another of the same identity."""
        last: Route | None = None
        self._dead = False

        def one(message: Message) -> Route | None:
            nonlocal last
            route = decode(message)
            if route is None:
                return None
            before, last = last, route
            key = self._note(route)
            if before is None or before.dst != route.dst or before.identity != route.identity or before == route:
                return route
            self._several.add(key)
            last = before
            return None

        return one


def _key(route: Route) -> int:
    """As its identity, of all interfaces."""
    return hash(route.identity[:-1])


class FirstRoutes(Dump[Route]):
    """A dump of routes without those behind another one; each time that it runs, it is decoded anew."""

    __slots__ = ("following",)

    def __init__(self, dump: Dump[Route], following: Following) -> None:
        assert dump.decode is not None
        super().__init__(dump.message, dump.decode, not_found=dump.not_found, doing=dump.doing)
        self.tolerated = dump.tolerated
        self.final = False
        self.make = lambda: self.message
        self.following = following

    def filled(self, message: Message) -> Self:
        copy = super().filled(message)
        assert self.decode is not None
        copy.decode = self.following.first(self.decode)  # type: ignore[assignment]  # of a dump, it may return None
        return copy
