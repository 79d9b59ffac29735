"""Requests about links: list, get, add, change, delete.

A device is its index, one of its names, or a Link. Names are the kernel's to look up
where it can, else the connection's, in its own namespace.
"""

import errno
from collections.abc import Callable, Generator, Mapping
from typing import Any, TypedDict, TypeVar, Unpack, overload

from .._core import Message
from ..constants import NLM_F_CREATE, NLM_F_DUMP, NLM_F_ECHO, NLM_F_EXCL
from ..errors import Exists
from ..netns import NetNS
from ..records import reader
from ..requests import Device, Dump, Namespace, Procedure, Request
from .constants import (
    AF_BRIDGE,
    AF_INET6,
    AF_UNSPEC,
    RTM_DELLINK,
    RTM_DELLINKPROP,
    RTM_GETLINK,
    RTM_NEWLINK,
    RTM_NEWLINKPROP,
    RTM_SETLINK,
)
from .filters import Filtered, given
from .inet import IN6_ADDR_GEN_MODE, Inet6, LinkAfSpec
from .info import LinkData, LinkInfo, PortData
from .link import Link, PropList, Xdp
from .linkenums import IF_LINK_MODE, IF_OPER, IFF, RTEXT_FILTER
from .spelling import Dev, called, device, resolved

T = TypeVar("T")

IFNAMSIZ = 16


class LinkSettings(TypedDict, total=False):
    """What can be set of any link; None leaves it as it is."""

    up: bool | None
    arp: bool | None
    """Whether it resolves addresses."""
    multicast: bool | None
    promisc: bool | None
    allmulti: bool | None
    dynamic: bool | None
    trailers: bool | None
    debug: bool | None
    mtu: int | None
    """In bytes."""
    address: str | None
    """The hardware address."""
    broadcast: str | None
    txqlen: int | None
    """Packets that may wait."""
    alias: str | None
    """A text for people; "" takes it away."""
    group: int | None
    carrier: int | None
    """1 or 0, of kinds whose carrier a program decides on."""
    operstate: int | str | None
    """IF_OPER, "UP"."""
    linkmode: int | str | None
    """IF_LINK_MODE, "DORMANT"."""
    proto_down: int | None
    gso_max_size: int | None
    gso_max_segs: int | None
    gro_max_size: int | None
    gso_ipv4_max_size: int | None
    gro_ipv4_max_size: int | None
    xdp: Xdp | None
    addr_gen_mode: int | str | None
    """IN6_ADDR_GEN_MODE, "eui64": how IPv6 addresses are made."""


class NewLinkSettings(LinkSettings, total=False):
    """What can be set of a link that is made, beside."""

    master: Dev | None
    """The bridge, bond or VRF that it becomes a port of."""
    link: Dev | None
    """The link that it is on top of: of a VLAN, a macvlan, a tunnel."""
    index: int | None
    """The index to have; the kernel chooses it, as a rule."""
    num_tx_queues: int | None
    num_rx_queues: int | None


SWITCHES: dict[str, tuple[IFF, bool]] = {
    "up": (IFF.UP, True),
    "arp": (IFF.NOARP, False),
    "multicast": (IFF.MULTICAST, True),
    "promisc": (IFF.PROMISC, True),
    "allmulti": (IFF.ALLMULTI, True),
    "dynamic": (IFF.DYNAMIC, True),
    "trailers": (IFF.NOTRAILERS, False),
    "debug": (IFF.DEBUG, True),
}
"""Flags, and whether they are set where the setting is True."""

SPELLED: dict[str, Callable[[Any], dict[str, Any]]] = {
    "operstate": lambda value: {"operstate": IF_OPER.of(value)},
    "linkmode": lambda value: {"linkmode": IF_LINK_MODE.of(value)},
    "addr_gen_mode": lambda value: {"af_spec": LinkAfSpec(inet6=Inet6(addr_gen_mode=IN6_ADDR_GEN_MODE.of(value)))},
}
"""Settings that are not fields of a Link, and what they become."""


class _OfKind:
    """In the place of an `info` for `records.reader`: that of one kind."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinkInfo) and other.kind == self.kind

    def __hash__(self) -> int:
        return hash(self.kind)


# Reading -------------------------------------------------------------------------------------------------------------


def links(
    *,
    kind: str | None = None,
    master: Dev | None = None,
    family: int = AF_UNSPEC,
    stats: bool = False,
    vfs: bool = False,
    ext_mask: int = 0,
) -> Dump[Link]:
    """All links, or those of a kind ("veth"), or with a master.

    Both are for the kernel to look at, so that it sends no others. Without `stats`, it
    leaves out what counters it can: those of IPv6, or, a newer one, all. (For counters
    alone, the request `stats` is much cheaper.) Virtual functions come with `vfs` alone;
    `ext_mask` asks for more (RTEXT_FILTER).

    With the family AF_BRIDGE it is the ports of bridges that are listed, and with
    AF_INET6 what IPv6 keeps about links; both come in `protinfo`, and without filters.
    """
    if family not in (AF_UNSPEC, AF_BRIDGE, AF_INET6):
        raise ValueError(f"links: they are listed for AF_UNSPEC, AF_BRIDGE or AF_INET6, not for {family}")
    if family != AF_UNSPEC and (kind is not None or master is not None):
        raise TypeError("links: kind and master are filters for the family AF_UNSPEC")
    # The kernel takes no attribute with AF_INET6.
    mask = None if family == AF_INET6 else _mask(stats, vfs, ext_mask)
    info = None if kind is None else LinkInfo(kind=kind)
    where = given(family=family or None)
    if kind is not None:
        # Of a kind that it does not know, the kernel sends all links.
        where["info"] = _OfKind(kind)
    asked, late = resolved(
        lambda index: Message(RTM_GETLINK, NLM_F_DUMP, Link(family=family, ext_mask=mask, master=index, info=info)),
        None if master is None else device(master),
    )
    return Filtered(
        asked,
        lambda message: reader(Link, RTM_NEWLINK, **where, **given(master=Link.from_message(message).master)),
        late=late,
        doing="list links" if kind is None else f"list links of kind {kind}",
    )


def link(dev: Dev, *, stats: bool = False, vfs: bool = False, ext_mask: int = 0) -> Request[Link]:
    """One link; NotFound if there is none. One message asks, one answers, whatever it is called by."""
    return Request(
        Message(RTM_GETLINK, 0, _named(dev, ext_mask=_mask(stats, vfs, ext_mask))),
        Link.from_message,
        single=True,
        not_found=[errno.ENODEV],
        doing=f"get link {called(dev)}",
        record=Link,
    )


def _mask(stats: bool, vfs: bool, more: int) -> RTEXT_FILTER:
    # Never 0: for who asks for nothing more, the kernel leaves out links that do not fit its first buffer.
    mask = RTEXT_FILTER(more)
    if not stats:
        mask |= RTEXT_FILTER.SKIP_STATS
    if vfs or not mask:
        mask |= RTEXT_FILTER.VF
    return mask


# Making --------------------------------------------------------------------------------------------------------------


@overload
def add_link(
    name: str,
    info: LinkData | LinkInfo | str,
    *,
    exist_ok: bool = False,
    netns: None = None,
    **settings: Unpack[NewLinkSettings],
) -> Procedure[Link]: ...
@overload
def add_link(
    name: str,
    info: LinkData | LinkInfo | str,
    *,
    exist_ok: bool = False,
    netns: NetNS | str,
    **settings: Unpack[NewLinkSettings],
) -> Request[None]: ...
def add_link(
    name: str,
    info: LinkData | LinkInfo | str,
    *,
    exist_ok: bool = False,
    netns: NetNS | str | None = None,
    **settings: Unpack[NewLinkSettings],
) -> Procedure[Link] | Request[None]:
    """Make a link: `add_link("v0", Veth(peer=Link(name="v1")), up=True)`, `add_link("i0", "ifb")`.

    The result is the link. If there is one of that name, that is `Exists`, or, with
    `exist_ok`, that one is the result, whatever it is like.

    With `netns`, a NetNS or a name, it is made in that namespace; the kernel tells nobody
    here of it, so there is no result. `link` is one of this namespace even then.
    """
    return _make("add", NLM_F_CREATE | NLM_F_EXCL, name, info, exist_ok, netns, settings)


@overload
def replace_link(
    name: str, info: LinkData | LinkInfo | str, *, netns: None = None, **settings: Unpack[NewLinkSettings]
) -> Procedure[Link]: ...
@overload
def replace_link(
    name: str, info: LinkData | LinkInfo | str, *, netns: NetNS | str, **settings: Unpack[NewLinkSettings]
) -> Request[None]: ...
def replace_link(
    name: str, info: LinkData | LinkInfo | str, *, netns: NetNS | str | None = None, **settings: Unpack[NewLinkSettings]
) -> Procedure[Link] | Request[None]:
    """Make a link, or change that which has the name. Of some kinds, the kernel does not change what they add.

    If it is of another kind, that is `Exists`, and nothing is changed. (With `netns`, nobody looks: the kernel
    refuses what another kind would add, but changes the rest.)
    """
    return _make("replace", NLM_F_CREATE, name, info, False, netns, settings)


def _make(
    verb: str,
    flags: int,
    name: str,
    info: LinkData | LinkInfo | str,
    exist_ok: bool,
    netns: NetNS | str | None,
    settings: NewLinkSettings,
) -> Procedure[Link] | Request[None]:
    # What IPv6 keeps of a link is not there before the link is.
    mode = settings.get("addr_gen_mode")
    if mode is not None and netns is not None:
        raise TypeError(f"{verb} link {name}: addr_gen_mode is for set_link, in the namespace where the link is then")
    fields, late = _fields({**settings, "addr_gen_mode": None}, netns)
    record = Link(name=name, info=_info(info), **fields)
    doing = f"{verb} link {name}"
    if netns is not None:
        return _tolerant(_request(RTM_NEWLINK, flags, record, late, doing, netns=netns), exist_ok, errno.EEXIST)
    asked = _tolerant(
        _request(RTM_NEWLINK, flags | NLM_F_ECHO, record, late, doing, Link.from_message),
        exist_ok,
        errno.EEXIST,
    )

    replaces = not flags & NLM_F_EXCL
    kind = record.info.kind if record.info is not None else None

    def steps() -> Generator[Any, Any, Link]:
        if replaces and kind is not None:
            there: Link | None = yield link(name).tolerate(errno.ENODEV)
            if there is not None and there.kind != kind:
                raise _of_another_kind(asked, there, kind)
        made: Link | None = yield asked
        if mode is not None:
            yield set_link(name if made is None else made, addr_gen_mode=mode)
        # Some kinds are not echoed, nor is any before Linux 6.2; and the echo comes before it has its master.
        if made is None or mode is not None or settings.get("master") is not None:
            made = yield link(name if made is None else made)
        assert made is not None
        return made

    return Procedure(steps, doing=doing)


def _of_another_kind(request: Request[Any], there: Link, kind: str) -> Exists:
    error = Exists(errno.EEXIST, f"it exists, and is a {there.kind or 'link without a kind'}, not a {kind}")
    error.request = request
    return error


# Changing ------------------------------------------------------------------------------------------------------------


def set_link(
    dev: Dev,
    *,
    name: str | None = None,
    master: Dev | None = None,
    nomaster: bool = False,
    netns: NetNS | str | None = None,
    info: LinkData | PortData | LinkInfo | None = None,
    **settings: Unpack[LinkSettings],
) -> Request[None]:
    """Change a link: `set_link("eth0", up=True, mtu=9000)`. None leaves as it is.

    `name` renames it. `master` makes it a port of a bridge, bond or VRF, and `nomaster`
    of none. `netns`, a NetNS or a name, moves it to that namespace. `info` changes
    what its kind adds (a `LinkData`), or what it has as a port (a `PortData`) of
    the master that it has before this request.
    """
    fields, late = _fields(settings, netns)
    if master is not None and nomaster:
        raise TypeError("set_link: with a master, or with none")
    _add_dev(fields, late, "master", 0 if nomaster else master)
    if info is not None:
        fields["info"] = _info(info)
    if name is None and info is None:
        record = _named(dev, **fields)
    else:
        # The kernel takes the name for the new one, or looks for no other than it.
        _add_dev(fields, late, "index", dev)
        record = Link(**given(name=name), **fields)
    # RTM_SETLINK is for links that exist; RTM_NEWLINK alone takes what kinds add.
    type = RTM_SETLINK if info is None else RTM_NEWLINK
    return _request(type, 0, record, late, f"set link {called(dev)}", netns=netns)


def delete_link(dev: Dev, *, missing_ok: bool = False) -> Request[None]:
    """Delete a link; of a pair of veths, both."""
    request = _request(RTM_DELLINK, 0, _named(dev), {}, f"delete link {called(dev)}")
    return _tolerant(request, missing_ok, errno.ENODEV)


def add_altnames(dev: Dev, *names: str) -> Request[None]:
    """Give a link other names, of up to 127 bytes; it is found by each of them. Since Linux 5.5."""
    return _altnames(RTM_NEWLINKPROP, NLM_F_CREATE | NLM_F_EXCL, dev, names, f"add other names to link {called(dev)}")


def delete_altnames(dev: Dev, *names: str) -> Request[None]:
    """Take other names from a link."""
    return _altnames(RTM_DELLINKPROP, 0, dev, names, f"delete other names of link {called(dev)}")


def _altnames(type: int, flags: int, dev: Dev, names: tuple[str, ...], doing: str) -> Request[None]:
    if not names:
        raise TypeError("which names?")
    return _request(type, flags, _named(dev, prop_list=PropList(alt_ifname=names)), {}, doing, gone=errno.ENOENT)


# What they are made of -----------------------------------------------------------------------------------------------

Late = dict[str, Device | Namespace]
"""Field -> what the connection finds out for it."""


class _Change(Request[T]):
    """A request that keeps the namespace that it names open as long as itself is there."""

    __slots__ = ("held",)

    held: object


def _named(dev: Dev, **fields: Any) -> Link:
    """A Link that the kernel finds: by index, or by whichever of its names."""
    index = device(dev)
    if isinstance(index, int):
        return Link(index=index, **fields)
    dev = index.name
    if len(dev.encode(errors="surrogateescape")) < IFNAMSIZ:
        return Link(name=dev, **fields)
    return Link(alt_ifname=dev, **fields)


def _fields(settings: Mapping[str, Any], netns: NetNS | str | None) -> tuple[dict[str, Any], Late]:
    """Fields of a Link, and those that the connection finds out."""
    fields: dict[str, Any] = {}
    late: Late = {}
    flags = change = IFF(0)
    for name, value in settings.items():
        if value is None:
            continue
        if name in SWITCHES:
            flag, when = SWITCHES[name]
            change |= flag
            if bool(value) is when:
                flags |= flag
        elif name in SPELLED:
            fields |= SPELLED[name](value)
        elif name in ("master", "link"):
            _add_dev(fields, late, name, value)
        else:
            fields[name] = value
    if change:
        fields |= {"flags": flags, "change": change}
    if isinstance(netns, str):
        late["netns"] = Namespace(netns)
    elif netns is not None:
        fields["netns"] = netns
    return fields, late


def _add_dev(fields: dict[str, Any], late: Late, name: str, dev: Dev | None) -> None:
    if dev is None:
        return
    found = 0 if dev == 0 else device(dev)
    if isinstance(found, Device):
        late[name] = found
    else:
        fields[name] = found


def _info(info: LinkData | PortData | LinkInfo | str) -> LinkInfo:
    if isinstance(info, LinkInfo):
        return info
    if isinstance(info, str):
        return LinkInfo(kind=info)
    if not isinstance(info, LinkData | PortData):
        raise TypeError(f"what a kind adds is a LinkData, a PortData, a LinkInfo or the name of the kind, not {info!r}")
    return LinkInfo(slave_data=info) if isinstance(info, PortData) else LinkInfo(data=info)


def _request(
    type: int,
    flags: int,
    record: Link,
    late: Late,
    doing: str,
    decode: Callable[[Message], T] | None = None,
    *,
    netns: NetNS | str | None = None,
    gone: int = errno.ENODEV,
) -> Request[Any]:
    def message(*found: Any) -> Message:
        return Message(type, flags, record.replace(**dict(zip(late, found, strict=True))))

    request = _Change(
        message if late else Message(type, flags, record),
        decode,
        late=tuple(late.values()),
        not_found=[errno.ENODEV, gone],
        doing=doing,
        record=Link,
    )
    request.held = netns._descriptor() if isinstance(netns, NetNS) else None
    return request


def _tolerant(request: Request[Any], tolerant: bool, number: int) -> Request[Any]:
    return request.tolerate(number) if tolerant else request
