"""Requests of the route family that the kernel tests need, written with the codec."""

import struct

from netlink_codec import NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, AttributeEncoder, Conn, Message

RTM_NEWLINK, RTM_DELLINK, RTM_GETLINK = 16, 17, 18
RTM_NEWADDR, RTM_GETADDR = 20, 22
RTM_GETROUTE = 26
RTM_NEWLINKPROP = 108
IFLA_ADDRESS, IFLA_IFNAME, IFLA_MTU, IFLA_LINKINFO, IFLA_EXT_MASK = 1, 3, 4, 18, 29
IFLA_PROP_LIST, IFLA_ALT_IFNAME = 52, 53
IFLA_INFO_KIND = 1
IFA_ADDRESS, IFA_LOCAL = 1, 2
NLA_F_NESTED = 0x8000
AF_INET = 2
IFF_UP = 1

IFINFOMSG = struct.Struct("=BxHiII")
IFADDRMSG = struct.Struct("=BBBBi")
RTMSG = struct.Struct("=8BI")


def link(type, index=0, *, flags=0, up=False, name=None, kind=None, mtu=None, mask=None):
    encoder = AttributeEncoder(IFINFOMSG.pack(0, 0, index, IFF_UP * up, IFF_UP * up))
    if name is not None:
        encoder.string(IFLA_IFNAME, name)
    if mtu is not None:
        encoder.u32(IFLA_MTU, mtu)
    if mask is not None:
        encoder.u32(IFLA_EXT_MASK, mask)
    if kind is not None:
        with encoder.nested(IFLA_LINKINFO):
            encoder.string(IFLA_INFO_KIND, kind)
    return Message(type, flags, encoder)


def links():
    """A dump of all links, whatever their size."""
    return link(RTM_GETLINK, flags=NLM_F_DUMP, mask=8)


def addresses(index=0):
    """A dump of the addresses of one interface, or of all."""
    return Message(RTM_GETADDR, NLM_F_DUMP, IFADDRMSG.pack(AF_INET, 0, 0, 0, index))


def address_index(message: Message) -> int:
    """Of which interface it is."""
    return IFADDRMSG.unpack_from(message.view)[4]


def routes(prefix=0):
    """A dump of the IPv4 routes; a prefix length without a destination is refused."""
    return Message(RTM_GETROUTE, NLM_F_DUMP, RTMSG.pack(AF_INET, prefix, 0, 0, 0, 0, 0, 0, 0))


def do(conn: Conn, request: Message) -> list[Message]:
    """Run a request to its end."""
    return list(conn.execute_iter(request, timeout=30))


def add_link(conn: Conn, name: str, kind: str = "ifb") -> int:
    """Create an interface; returns its index."""
    do(conn, link(RTM_NEWLINK, flags=NLM_F_CREATE | NLM_F_EXCL, name=name, kind=kind))
    (reply,) = do(conn, link(RTM_GETLINK, name=name))
    return IFINFOMSG.unpack_from(reply.view)[2]


def add_address(conn: Conn, index: int, address: bytes, prefix: int = 24) -> None:
    encoder = AttributeEncoder(IFADDRMSG.pack(AF_INET, prefix, 0, 0, index))
    encoder.data(IFA_LOCAL, address)
    encoder.data(IFA_ADDRESS, address)
    do(conn, Message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, encoder))


def alternative_names(index: int, names: list[str], *, container: int = IFLA_PROP_LIST | NLA_F_NESTED) -> Message:
    """Give a link more names; `container` as a kernel of today wants it."""
    inner = AttributeEncoder()
    for name in names:
        inner.string(IFLA_ALT_IFNAME, name)
    encoder = AttributeEncoder(IFINFOMSG.pack(0, 0, index, 0, 0))
    encoder.data(container, inner)
    return Message(RTM_NEWLINKPROP, NLM_F_CREATE | NLM_F_EXCL, encoder)
