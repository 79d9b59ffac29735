"""`links`: this machine's interfaces, one line each."""

import argparse
import json
import struct
from collections.abc import Iterator
from ipaddress import ip_address
from typing import TypedDict

from .._core import AttributeDecoder, AttributeEncoder, Message
from ..conn import Conn
from ..constants import NETLINK_ROUTE, NLM_F_DUMP
from .table import print_table

# linux/rtnetlink.h, linux/if_link.h, linux/if_arp.h
RTM_NEWLINK = 16
RTM_GETLINK = 18
IFINFOMSG = struct.Struct("=BxHiII")  # family, type, index, flags, change
IFLA_ADDRESS = 1
IFLA_IFNAME = 3
IFLA_MTU = 4
IFLA_OPERSTATE = 16
IFLA_LINKINFO = 18
IFLA_INFO_KIND = 1
IFLA_EXT_MASK = 29
RTEXT_FILTER_SKIP_STATS = 8
OPERSTATES = ("UNKNOWN", "NOTPRESENT", "DOWN", "LOWERLAYERDOWN", "TESTING", "DORMANT", "UP")  # RFC 2863, IF_OPER_*
# Kinds of link whose "hardware" address is an IP address.
ARPHRD_OVER_IP = {768, 769, 776, 778, 823}  # TUNNEL, TUNNEL6, SIT, IPGRE, IP6GRE

COLUMNS = ("index", "name", "state", "mtu", "address", "kind")


class Link(TypedDict):
    """What is printed of an interface."""

    index: int
    name: str
    state: str
    mtu: int | None
    address: str | None
    kind: str | None


def request() -> Message:
    """RTM_GETLINK for all interfaces.

    Always with a filter mask: without one the kernel leaves out, silently,
    every link that does not fit its first buffer.
    """
    encoder = AttributeEncoder(IFINFOMSG.pack(0, 0, 0, 0, 0))
    encoder.u32(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS)
    return Message(RTM_GETLINK, NLM_F_DUMP, encoder)


def address_text(kind: int, address: bytes) -> str | None:
    """A link-layer address in the form of its kind of hardware; None if it has none."""
    if kind in ARPHRD_OVER_IP and len(address) in (4, 16):
        return str(ip_address(address))
    return address.hex(":") or None


def read(message: Message) -> Link:
    """The fields of one RTM_NEWLINK."""
    _, kind, index, _, _ = IFINFOMSG.unpack_from(message.view)
    attributes: AttributeDecoder = message.attributes(IFINFOMSG.size)
    name = attributes.find(IFLA_IFNAME)
    mtu = attributes.find(IFLA_MTU)
    state = attributes.find(IFLA_OPERSTATE)
    address = attributes.find(IFLA_ADDRESS)
    info = attributes.find(IFLA_LINKINFO, IFLA_INFO_KIND)
    number = state.u8() if state else 0
    return {
        "index": index,
        "name": name.string() if name else "",
        "state": OPERSTATES[number] if number < len(OPERSTATES) else str(number),
        "mtu": mtu.u32() if mtu else None,
        "address": address_text(kind, address.data) if address else None,
        "kind": info.string() if info else None,
    }


def links(conn: Conn) -> Iterator[Link]:
    """Every interface in the connection's namespace."""
    for message in conn.execute_iter(request()):
        if message.type == RTM_NEWLINK:
            yield read(message)


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.description = "Print this machine's network interfaces, as the kernel has them."
    parser.add_argument("--json", action="store_true", help="one JSON array of objects instead of a table")


def run(args: argparse.Namespace) -> int:
    """The command."""
    with Conn(NETLINK_ROUTE, timeout=30) as conn:
        rows = list(links(conn))
    if args.json:
        print(json.dumps(rows, indent=1))
    else:
        print_table(COLUMNS, [[row[name] for name in COLUMNS] for row in rows])  # type: ignore[literal-required]
    return 0
