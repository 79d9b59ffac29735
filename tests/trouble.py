"""What the tests that look for trouble share."""

import contextlib
import errno
import faulthandler
import itertools
import socket
import struct
import sys

import netlink_codec as nl
import rtnl
from namespaces import at_once
from netlink_codec import Dump, NetlinkError, Request, _socket

RTM_NEWADDR, RTM_DELADDR, RTM_NEWROUTE = 20, 21, 24
RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_BRVLAN, RTNLGRP_STATS = 1, 5, 33, 36
RT_TABLE_MAIN, RTPROT_STATIC, RTN_BLACKHOLE = 254, 4, 6
RTA_DST = 1
CREATE = nl.NLM_F_CREATE | nl.NLM_F_EXCL


def name(message):
    return message.attributes(rtnl.IFINFOMSG.size).find(rtnl.IFLA_IFNAME).string()


GET = Request(rtnl.link(rtnl.RTM_GETLINK, 1), name)
GET_ALONE = Request(rtnl.link(rtnl.RTM_GETLINK, 1), name, single=True)
SET = Request(rtnl.link(rtnl.RTM_NEWLINK, 1, mtu=1500))
MISSING = Request(rtnl.link(rtnl.RTM_GETLINK, 4711), name, not_found=[errno.ENODEV])
LINKS = Dump(rtnl.links(), name)
ROUTES = Dump(rtnl.routes(), lambda message: message.view[rtnl.RTMSG.size + 4 :].tobytes())
LINK_EVENTS = nl.Watch([RTNLGRP_LINK], lambda message, group: (message.type, name(message)))


def asking(message, *flags):
    """The message as the raw calls want it: with all its flags."""
    return message.replace(flags=message.flags | sum(flags, nl.NLM_F_REQUEST))


def still_works(conn, links=("lo",)):
    """One of every kind of call, the raw ones but for waiting on nothing."""
    links = sorted(links)
    assert conn.do(GET) == conn.do(GET_ALONE) == "lo"
    assert conn.do(SET) is None
    assert [name(message) for message in conn.execute(GET.message)] == ["lo"]
    try:
        conn.do(MISSING)
        raise AssertionError("link 4711 is there")
    except nl.NotFound:
        pass
    assert sorted(conn.dump(LINKS)) == sorted(conn.collect(LINKS)) == links
    assert conn.batch([GET, SET, GET]) == ["lo", None, "lo"]
    sent = conn.send(asking(GET.message))
    (reply,) = conn.receive()
    assert (reply.seq, name(reply)) == (sent.seq, "lo")
    sent = conn.send(asking(rtnl.links()))
    assert sorted(name(message) for message in conn.receive()) == links


def drain(conn):
    """Read what the own socket holds; returns what was heard."""
    heard = []
    for _ in range(2):  # for who hesitates
        with contextlib.suppress(nl.Timeout):
            while True:
                heard += conn.receive(timeout=0)
    return heard


def link(text, kind="ifb", **options):
    return Request(rtnl.link(rtnl.RTM_NEWLINK, flags=CREATE, name=text, kind=kind), **options)


def _address(type, index, address, flags):
    encoder = nl.AttributeEncoder(rtnl.IFADDRMSG.pack(rtnl.AF_INET, 32, 0, 0, index))
    encoder.data(rtnl.IFA_LOCAL, address)
    return Request(nl.Message(type, flags, encoder))


def add_address(index, address):
    return _address(RTM_NEWADDR, index, address, CREATE)


def delete_address(index, address):
    return _address(RTM_DELADDR, index, address, 0)


def add_routes(conn, count):
    """So many routes that need no device; returns their destinations."""
    destinations = [struct.pack(">I", 0x0A000000 + number) for number in range(count)]
    header = rtnl.RTMSG.pack(rtnl.AF_INET, 32, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, 0, RTN_BLACKHOLE, 0)
    requests = []
    for destination in destinations:
        encoder = nl.AttributeEncoder(header)
        encoder.data(RTA_DST, destination)
        requests.append(Request(nl.Message(RTM_NEWROUTE, CREATE, encoder)))
    conn.batch(requests, acknowledge="last")
    return destinations


def destination(message):
    return message.attributes(rtnl.RTMSG.size).find(RTA_DST).data


def set_mtu(mtu, index=1):
    return Request(rtnl.link(rtnl.RTM_NEWLINK, index, mtu=mtu))


def set_up(index):
    return Request(rtnl.link(rtnl.RTM_NEWLINK, index, up=True))


def alternatives(conn, index, count=489):
    """Give a link so many names that it is larger than 64 KiB; returns them."""
    names = [f"{number:04d}".ljust(125, "x") for number in range(count)]
    for start in range(0, count, 100):
        conn.execute(rtnl.alternative_names(index, names[start : start + 100]))
    return names


def plain(protocol=nl.NETLINK_ROUTE, *, port=0, groups=()):
    """A socket of the standard library."""
    other = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    other.bind((port, 0))
    for group in groups:
        other.setsockopt(nl.SOL_NETLINK, nl.NETLINK_ADD_MEMBERSHIP, group)
    return other


@contextlib.contextmanager
def not_for_ever(seconds=120):
    """What waits in here so long never comes back: show where, and end."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def together(functions):
    """Call each in a thread of its own, all at once; their results, or what one of them raised."""
    results = at_once(functions)
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results


def hesitate(monkeypatch):
    """Make every other look at a socket find nothing yet, so that what is there is waited for."""
    for method in ("receive_now", "receive_datagram"):
        receive, turns = getattr(_socket.Socket, method), itertools.count()
        monkeypatch.setattr(
            _socket.Socket,
            method,
            lambda self, receive=receive, turns=turns: receive(self) if next(turns) % 2 else None,
        )


def raises(number, call, *arguments, kind=NetlinkError, **options):
    """The error of this errno that it raises; any other is passed on."""
    try:
        call(*arguments, **options)
    except NetlinkError as error:
        if error.errno != number or not isinstance(error, kind):
            raise
        return error
    raise AssertionError(f"no error, where {errno.errorcode[number]} was due")
