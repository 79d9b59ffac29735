"""Links and addresses as a watch tells them, and what becomes of them."""

import rtnl
import trouble
from netlink_codec import Deleted, Dump, New, Sync, Watch

RTM_NEWADDR, RTM_DELADDR = 20, 21
RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR = 1, 5
BEGIN, END = Sync("begin"), Sync("end")


class Record(tuple):
    """What it is, and how it is."""

    __slots__ = ()

    @property
    def identity(self):
        return self[0]


def link(message):
    size = message.attributes(rtnl.IFINFOMSG.size).find(rtnl.IFLA_MTU)
    return Record((trouble.name(message), size.u32()))


def address(message):
    return Record((message.attributes(rtnl.IFADDRMSG.size).find(rtnl.IFA_LOCAL).data,))


def events_of(decode, new, deleted):
    def event(message, group):
        return {new: New, deleted: Deleted}[message.type](decode(message))

    return event


LINKS = Dump(rtnl.links(), link)
LINK_EVENT = events_of(link, rtnl.RTM_NEWLINK, rtnl.RTM_DELLINK)
ADDRESS_EVENT = events_of(address, RTM_NEWADDR, RTM_DELADDR)


def links(**options):
    return Watch([RTNLGRP_LINK], LINK_EVENT, **{"resync": [LINKS], "initial": True, **options})


def addresses(decode=address, **options):
    options = {"resync": [Dump(rtnl.addresses(), decode)], "initial": True, **options}
    return Watch([RTNLGRP_IPV4_IFADDR], ADDRESS_EVENT, **options)


def three_addresses(conn):
    """Make a link that has addresses 10.0.0.1 to 10.0.0.3; returns its index."""
    index = rtnl.add_link(conn, "ifb0")
    for number in (1, 2, 3):
        conn.do(trouble.add_address(index, ip(number)))
    return index


def ip(number):
    return bytes([10, 0, number // 250, number % 250])


def told(*numbers, kind=New):
    return [kind(Record((ip(number),))) for number in numbers]


def flood(other, times=2000):
    """More changes than any receive buffer holds; lo has this MTU then."""
    other.batch([trouble.set_mtu(1000 + number) for number in range(times)], acknowledge="last")
    return 1000 + times - 1
