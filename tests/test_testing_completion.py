"""When a request is over: what kernels send for each kind, and what connections make of it.

What arrives is as recorded on Linux 6.18, but for the connector, which is as its
documentation says.
"""

import errno
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

import netlink_codec as nl
from fakes import KINDS, Peer, data, decode, series
from netlink_codec import Dump, Request
from netlink_codec.testing import (
    FakeKernel,
    Pause,
    WouldHang,
    ack,
    done,
    error,
    multipart,
    reply,
)

MULTI, ECHO, DUMP = nl.NLM_F_MULTI, nl.NLM_F_ECHO, nl.NLM_F_DUMP
ROUTE, NETFILTER, AUDIT = nl.NETLINK_ROUTE, nl.NETLINK_NETFILTER, nl.NETLINK_AUDIT
GET, NEW = 18, 16
LATE = 99
SERVICES = [ROUTE, nl.NETLINK_GENERIC, nl.NETLINK_SOCK_DIAG, nl.NETLINK_XFRM, NETFILTER]


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@dataclass
class Row:
    """A request, what arrives, and what is to be delivered of it."""

    answer: Callable[[nl.Message], list[Any]]
    delivered: list[int] = field(default_factory=list)
    errno: int = 0
    protocol: int = ROUTE
    flags: int = 0
    options: dict[str, Any] | None = None  # of Request, where a bare message would not do


ROWS = {
    **{
        f"GET with its acknowledgement, protocol {protocol}": Row(
            lambda r: [*data(r, 1), ack(r)], [1], protocol=protocol
        )
        for protocol in SERVICES
    },
    **{
        f"GET without, protocol {protocol}": Row(lambda r: data(r, 1), [1], protocol=protocol, options={"single": True})
        for protocol in SERVICES
    },
    "a dump, its end alone": Row(series(3), [1, 2, 3], flags=DUMP),
    "a dump, its end with the last of the data": Row(series(1, 3), [1, 2, 3], flags=DUMP),
    "a dump in one datagram": Row(series(4), [1, 2, 3], flags=DUMP),
    "a dump of nothing": Row(lambda r: [done(r)], flags=DUMP),
    "a dump that failed": Row(lambda r: [done(r, errno.ENODEV)], errno=errno.ENODEV, flags=DUMP),
    "a dump that failed on its way": Row(
        lambda r: multipart(r, data(r, 1, 2), end=done(r, errno.ENOMEM)), [1, 2], errno.ENOMEM, flags=DUMP
    ),
    "a dump refused by an error, without an end": Row(
        lambda r: [error(r, errno.ENOENT)], errno=errno.ENOENT, flags=DUMP, protocol=NETFILTER
    ),
    "a dump of an unknown type": Row(lambda r: [error(r, errno.EOPNOTSUPP)], errno=errno.EOPNOTSUPP, flags=DUMP),
    "a dump broken off by an error": Row(
        lambda r: [*multipart(r, data(r, 1), endless=True), error(r, errno.EBUSY)], [1], errno.EBUSY, flags=DUMP
    ),
    "a change": Row(lambda r: [ack(r)]),
    "a change that is refused": Row(lambda r: [error(r, errno.EEXIST)], errno=errno.EEXIST),
    **{
        f"a change that echoes {count} messages": Row(
            lambda r, count=count: [*data(r, *range(count)), ack(r)], list(range(count)), flags=ECHO
        )
        for count in (0, 1, 2)
    },
    "conntrack: parts of a series that has no end": Row(
        lambda r: [*data(r, 1, flags=MULTI), ack(r)], [1], protocol=NETFILTER
    ),
    "conntrack: statistics, asked for by a dump": Row(
        lambda r: [*data(r, 1, flags=MULTI), ack(r)], [1], protocol=NETFILTER, flags=DUMP
    ),
    "conntrack: statistics of the CPUs, not asked for by a dump": Row(lambda r: [ack(r)], protocol=NETFILTER),
    "nftables: three elements, and they are no series": Row(
        lambda r: [*data(r, 1, 2, 3), ack(r)], [1, 2, 3], protocol=NETFILTER
    ),
    "a request of 16 bytes, which gets no answer": Row(lambda r: [ack(r)]),
    "audit: the reply after the acknowledgement": Row(
        lambda r: [ack(r), *data(r, 1, pid=0)], [1], protocol=AUDIT, options={"ends": "reply"}
    ),
    "audit: rules, and an end without an errno": Row(
        lambda r: [ack(r), *data(r, 1, 2, flags=MULTI, pid=0), reply(r, nl.NLMSG_DONE, flags=MULTI, pid=0)],
        [1, 2],
        protocol=AUDIT,
        options={"ends": "reply"},
    ),
    "audit: no rules": Row(
        lambda r: [ack(r), reply(r, nl.NLMSG_DONE, flags=MULTI, pid=0)], protocol=AUDIT, options={"ends": "reply"}
    ),
    "audit: not permitted": Row(
        lambda r: [error(r, errno.EPERM)], errno=errno.EPERM, protocol=AUDIT, options={"ends": "reply"}
    ),
    "an error instead of the one message": Row(
        lambda r: [error(r, errno.ENODEV)], errno=errno.ENODEV, options={"single": True}
    ),
    "connector: a message whose type is that of an end": Row(
        lambda r: [reply(r, nl.NLMSG_DONE, b"\7" + bytes(19), pid=0), ack(r)], [7], protocol=nl.NETLINK_CONNECTOR
    ),
    "a verdict: nothing": Row(lambda r: [], protocol=NETFILTER, options={"ends": "none"}),
    "an acknowledgement that comes late": Row(lambda r: [*data(r, 1), Pause(10), ack(r)], [1]),
    "data that comes late": Row(lambda r: [Pause(10), *data(r, 1), Pause(10), ack(r)], [1]),
    "others' messages before, within and after": Row(
        lambda r: [
            [*data(r, 8, seq=r.seq - 1), *data(r, 1), ack(r.replace(seq=r.seq + 1))],
            error(r.replace(seq=r.seq - 1), errno.EIO),
            [done(r.replace(seq=r.seq + 1)), *data(r, 2)],
            ack(r),
        ],
        [1, 2],
    ),
    "what says nothing": Row(lambda r: [reply(r, nl.NLMSG_NOOP), *data(r, 1), ack(r)], [1]),
    "success with a warning": Row(lambda r: [ack(r, message="deprecated")]),
}


def asked(row):
    """What the connection is asked: an iteration."""
    message = nl.Message(GET, row.flags, b"question")
    if row.options is None:
        return lambda conn: conn.execute_iter(message)
    request = Dump(message, decode)
    for name, value in row.options.items():
        setattr(request, name, value)
    return lambda conn: conn.dump(request)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_row(row, kind):
    def handler(requests):
        (request,) = requests
        if request.data == b"next":
            return data(request, 5)
        # What follows is too late, whatever it is.
        return [*row.answer(request), Pause(3600), *data(request, LATE), error(request, errno.EIO)]

    kernel = FakeKernel(row.protocol, handler)
    with Peer(kernel, kind) as peer:
        taken, raised = peer.walk(asked(row))
        assert [one if isinstance(one, int) else decode(one) for one in taken] == row.delivered
        assert (raised.errno if raised else 0) == row.errno
        before = peer.conn.stats.stale
        assert kernel.clock() < 3600  # nobody waited for more
        # The socket is put back: the next request finds on it what came too late, and passes it over.
        assert peer.do(Request(nl.Message(GET, 0, b"next"), decode, single=True)) == 5
        assert (kernel.sockets, peer.conn.stats.stale) == (1, before + 2)


def test_what_was_asked_for():
    """Flags that make it end so."""

    def handler(requests):
        (request,) = requests
        return [done(request)] if request.flags & DUMP else [ack(request), *data(request, 1)]

    kernel = FakeKernel(ROUTE, handler)
    with kernel.conn() as conn:
        conn.execute(nl.Message(GET))
        conn.execute(nl.Message(GET, DUMP))
        conn.do(Request(nl.Message(GET), ends="none"))
        conn.do(Request(nl.Message(GET), ends="reply"))
        conn.do(Request(nl.Message(GET), single=True))
    asking = nl.NLM_F_REQUEST | nl.NLM_F_ACK
    flags = [requests[0].flags for requests in kernel.requests]
    assert flags == [asking, asking | DUMP, nl.NLM_F_REQUEST, asking, nl.NLM_F_REQUEST]


def test_an_answer_that_is_over_gives_its_socket_back(kind):
    """Though somebody keeps it."""
    kernel = FakeKernel(ROUTE, lambda requests: [*data(requests[0], 1), ack(requests[0])])
    with Peer(kernel, kind) as peer:
        kept = []

        def start(conn):
            kept.append(conn.execute_iter(nl.Message(GET)))
            return kept[-1]

        for _ in range(5):
            assert len(peer.walk(start)[0]) == 1
        assert kernel.sockets == 1


GOES_ON = {
    "data": lambda r: data(r, 1),
    "parts of a series": lambda r: multipart(r, data(r, 1), endless=True),
    "the end of another's": lambda r: [done(r.replace(seq=r.seq + 1)), ack(r.replace(seq=r.seq - 1))],
    "a type of an end that is none": lambda r: [done(r).replace(flags=0)],
    "an acknowledgement of no sequence number": lambda r: [ack(r.replace(seq=0))],
}


@pytest.mark.parametrize("answer", GOES_ON.values(), ids=GOES_ON)
def test_it_is_not_over_before(answer):
    with FakeKernel(ROUTE, lambda requests: answer(requests[0])).conn() as conn, pytest.raises(WouldHang):
        conn.execute(nl.Message(GET, DUMP))


@pytest.mark.parametrize("protocol", [ROUTE, AUDIT])
@pytest.mark.parametrize("type", [nl.NLMSG_ERROR, nl.NLMSG_DONE])
@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_an_outcome_without_its_errno(protocol, type, size, kind):
    """An error, but for audit, which ends its lists so."""
    kernel = FakeKernel(protocol, lambda requests: reply(requests[0], type, bytes(size), flags=MULTI))
    with Peer(kernel, kind) as peer:
        if (protocol, type, size) == (AUDIT, nl.NLMSG_DONE, 0):
            assert peer.execute(nl.Message(GET, DUMP)) == []
        else:
            with pytest.raises(nl.DecodeError, match="its errno takes 4"):
                peer.execute(nl.Message(GET, DUMP))
