"""Several requests in one datagram: which of them failed, and when it is over."""

import errno

import pytest

import netlink_codec as nl
from fakes import KINDS, Peer, data, decode
from netlink_codec import BatchError, Request
from netlink_codec.exchange import Series
from netlink_codec.testing import (
    FakeKernel,
    WouldHang,
    ack,
    error,
    reply,
)

MULTI, DUMP = nl.NLM_F_MULTI, nl.NLM_F_DUMP
ROUTE, NETFILTER = nl.NETLINK_ROUTE, nl.NETLINK_NETFILTER
GET, NEW = 18, 16


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


BEGIN, END, NEWTABLE = 16, 17, 10 << 8


def transaction(kernel, count):
    """Messages between the bounds of a transaction, the last of which asks for the outcome: the conversation."""
    with kernel.conn() as conn:
        socket = conn._pool.take()
        try:
            first = socket.sequence(count + 2)
            messages = [
                nl.Message(type, nl.NLM_F_REQUEST, bytes(4), seq=first + number, pid=socket.port)
                for number, type in enumerate([BEGIN, *[NEWTABLE] * count, END])
            ]
            messages[count] = messages[count].replace(flags=nl.NLM_F_REQUEST | nl.NLM_F_ACK)
            socket.send_parts(messages)
            # What comes of END is reported for BEGIN.
            series = Series(messages[:-1], NETFILTER, [None] * (count + 1), acknowledged="transaction")
            taken = []
            while not series.done:
                series.feed(*socket.receive(None))
                while (message := series.take()) is not None:
                    taken.append((message.seq - series.seq, message.type))
        finally:
            conn._pool.drop(socket)
    return taken, {position: error.errno for position, error in series.errors.items()}


ERESTART = 85
GEN = 10 << 8 | 15
TRANSACTIONS = {
    "committed": (lambda b, x, y, z, end: [ack(z)], [], {}),
    "errors, and the last is fine": (
        lambda b, x, y, z, end: [error(x, errno.ENOENT), error(y, errno.EEXIST), ack(z)],
        [],
        {1: errno.ENOENT, 2: errno.EEXIST},
    ),
    "errors, and the last failed too": (
        lambda b, x, y, z, end: [error(x, errno.ENOENT), error(z, errno.EEXIST)],
        [],
        {1: errno.ENOENT, 3: errno.EEXIST},
    ),
    "a fault found at the last, after acknowledgements of the others": (
        lambda b, x, y, z, end: [ack(x), ack(y), error(z, errno.EINVAL)],
        [],
        {3: errno.EINVAL},
    ),
    "of an old generation": (lambda b, x, y, z, end: [error(b, ERESTART)], [], {0: ERESTART}),
    "failed as a whole": (
        lambda b, x, y, z, end: [error(x, errno.ENOENT), error(b, errno.ENOMEM)],
        [],
        {0: errno.ENOMEM, 1: errno.ENOENT},
    ),
    "that is echoed": (
        lambda b, x, y, z, end: [
            [reply(x, NEWTABLE), reply(y, NEWTABLE)],
            reply(x, GEN),
            ack(z),
        ],
        [(1, NEWTABLE), (2, NEWTABLE), (1, GEN)],
        {},
    ),
}


@pytest.mark.parametrize(("answer", "delivered", "errors"), TRANSACTIONS.values(), ids=TRANSACTIONS)
def test_a_transaction(answer, delivered, errors):
    kernel = FakeKernel(NETFILTER, lambda requests: answer(*requests))
    assert transaction(kernel, 3) == (delivered, errors)


@pytest.mark.parametrize(
    "answer",
    [lambda r: [ack(r[1]), ack(r[2])], lambda r: [error(r[1], errno.ENOENT)], lambda r: [ack(r[0])]],
    ids=["acknowledgements of the others", "an error of another", "success of its beginning"],
)
def test_a_transaction_is_not_over_before(answer):
    with pytest.raises(WouldHang):
        transaction(FakeKernel(NETFILTER, answer), 3)


REQUESTS = [Request(nl.Message(GET, 0, bytes([number])), decode) for number in range(4)]


@pytest.mark.parametrize("acknowledge", ["each", "last"])
def test_a_batch(acknowledge, kind):
    """Outcomes by position, in whatever datagrams; with the last acknowledged, silence is success."""

    def handler(requests):
        items = []
        for position, request in enumerate(requests):
            if position == 1:
                items.append(error(request, errno.ENODEV))
            else:
                items += data(request, 10 + position)
                items += [ack(request)] if request.flags & nl.NLM_F_ACK else []
        return [items[:1], items[1:3], *items[3:]]

    kernel = FakeKernel(ROUTE, handler)
    with Peer(kernel, kind) as peer:
        with pytest.raises(BatchError) as caught:
            peer.batch(REQUESTS, acknowledge=acknowledge)
        results = caught.value.results
        assert results[:1] + results[2:] == [10, 12, 13]
        assert results[1].errno == errno.ENODEV
        assert results[1].request is REQUESTS[1]
        assert caught.value.exceptions == (results[1],)
        returned = peer.batch(REQUESTS, acknowledge=acknowledge, errors="return")
        assert [getattr(result, "errno", result) for result in returned] == [10, errno.ENODEV, 12, 13]
    (sent, _) = kernel.requests
    asking = [bool(request.flags & nl.NLM_F_ACK) for request in sent]
    assert asking == ([True] * 4 if acknowledge == "each" else [False, False, False, True])
    assert kernel.sockets == 0


def test_a_batch_is_sent_in_parts(kind):
    requests = [Request(nl.Message(NEW, 0, number.to_bytes(4, "little"))) for number in range(250)]
    kernel = FakeKernel(ROUTE, lambda requests: [[ack(request) for request in requests]])
    with Peer(kernel, kind) as peer:
        assert peer.batch(requests) == [None] * 250
    assert [len(sent) for sent in kernel.requests] == [100, 100, 50]
    assert [m.data for sent in kernel.requests for m in sent] == [request.message.data for request in requests]
