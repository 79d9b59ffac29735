"""What goes wrong on the way, and what connections make of it: loss, interruption, silence, the end, others."""

import asyncio
import errno
import threading

import pytest

import netlink_codec as nl
from fakes import KINDS, Peer, data, decode, series
from netlink_codec import BatchError, Dump, Request
from netlink_codec.testing import (
    Clock,
    FakeKernel,
    Fault,
    Pause,
    ack,
    error,
    foreign,
    multipart,
    notification,
    overrun,
    truncated,
)

MULTI, DUMP = nl.NLM_F_MULTI, nl.NLM_F_DUMP
ROUTE, NETFILTER = nl.NETLINK_ROUTE, nl.NETLINK_NETFILTER
GET, NEW = 18, 16

REQUESTS = [Request(nl.Message(GET, 0, bytes([number])), decode) for number in range(4)]


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


# Loss ------------------------------------------------------------------------------------------------------------


def test_an_overrun_is_told_once_and_the_rest_delivered(kind):
    """A dump goes on after it, if its end was not lost."""
    kernel = FakeKernel(ROUTE, lambda requests: [data(requests[0], 1, 2), overrun(lost=3), *series(3)(requests[0])])
    with Peer(kernel, kind) as peer:
        taken, raised = peer.walk(lambda conn: conn.dump(Dump(nl.Message(GET, DUMP), decode)), on=nl.Overrun)
        assert raised is None
        assert [getattr(one, "lost", one) for one in taken] == [1, 2, 3, 1, 2, 3]
        assert isinstance(taken[2], nl.Overrun)
        assert peer.conn.stats.overruns == 1
        assert kernel.sockets == 0  # it is not used again


def test_an_outcome_that_was_lost_is_unknown(kind):
    """After the overrun there is nothing: nobody waits for what will not come."""
    kernel = FakeKernel(ROUTE, lambda requests: [data(requests[0], 1), overrun(lost=2)])
    message = nl.Message(GET, DUMP)
    with Peer(kernel, kind) as peer:
        taken, raised = peer.walk(lambda conn: conn.execute_iter(message), on=nl.Overrun)
        assert [type(one) for one in taken] == [nl.Message, nl.Overrun]
        assert isinstance(raised, nl.Overrun)
        assert kernel.clock() == 0
        assert kernel.sockets == 0
        assert peer.conn.stats.overruns == 1


def test_an_overrun_within_a_batch(kind):
    """What came is known, what did not is unknown, by position."""

    def handler(requests):
        return [*data(requests[0], 10), ack(requests[0]), overrun(lost=2), error(requests[2], errno.ENODEV)]

    kernel = FakeKernel(ROUTE, handler)
    with Peer(kernel, kind) as peer:
        with pytest.raises(BatchError) as caught:
            peer.batch(REQUESTS)
        results = caught.value.results
        assert results[0] == 10
        assert [type(result) for result in results[1:]] == [nl.Overrun, nl.NetlinkError, nl.Overrun]
        assert [result.request for result in results[1:]] == REQUESTS[1:]
        assert (kernel.sockets, peer.conn.stats.overruns) == (0, 1)


def test_a_cut_datagram_is_an_error(kind):
    kernel = FakeKernel(
        ROUTE, lambda requests: [data(requests[0], 1), truncated(*data(requests[0], 2)), ack(requests[0])]
    )
    with Peer(kernel, kind) as peer:
        _, raised = peer.walk(lambda conn: conn.execute_iter(nl.Message(GET)))
        assert raised.errno == errno.EMSGSIZE
        assert "was cut to" in str(raised)
        assert kernel.sockets == 0


def test_receiving_fails(kind):
    kernel = FakeKernel(ROUTE, lambda requests: [data(requests[0], 1), Fault(errno.ENOMEM), ack(requests[0])])
    with Peer(kernel, kind) as peer:
        taken, raised = peer.walk(lambda conn: conn.execute_iter(nl.Message(GET)))
        assert ([decode(message) for message in taken], raised.errno) == ([1], errno.ENOMEM)
        assert kernel.sockets == 0


# Interruption ----------------------------------------------------------------------------------------------------

NUMBERS = Dump(nl.Message(GET, DUMP), decode)


@pytest.mark.parametrize("position", [0, 1, 2, -1], ids=["first", "middle", "last", "end"])
@pytest.mark.parametrize("split", [(4,), (1, 1, 1, 1)], ids=["one datagram", "four"])
def test_an_interrupted_dump_is_delivered_and_then_told(position, split, kind):
    kernel = FakeKernel(ROUTE, lambda requests: series(*split, interrupted=position)(requests[0]))
    with Peer(kernel, kind) as peer:
        taken, raised = peer.walk(lambda conn: conn.dump(NUMBERS))
        assert taken == [1, 2, 3]
        assert isinstance(raised, nl.DumpInterrupted)
        assert raised.request is NUMBERS
    assert len(kernel.requests) == 1


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_collect_retries_within_bounds(retries, kind):
    kernel = FakeKernel(ROUTE, lambda requests: series(3, interrupted=1)(requests[0]))
    with Peer(kernel, kind) as peer:
        with pytest.raises(nl.DumpInterrupted) as caught:
            peer.collect(NUMBERS, retries=retries)
        assert caught.value.results == [1, 2, 3]
        assert len(kernel.requests) == 1 + retries
        assert kernel.sockets == 1


def test_collect_asks_again_until_it_is_whole(kind):
    kernel = FakeKernel(ROUTE)
    for interrupted in (0, -1, None):
        kernel.expect(type=GET, flags=DUMP, answer=series(3, interrupted=interrupted))
    with kernel, Peer(kernel, kind) as peer:
        assert peer.collect(NUMBERS) == [1, 2, 3]


# Time ------------------------------------------------------------------------------------------------------------


def test_silence_ends_at_the_deadline(kind):
    kernel = FakeKernel(ROUTE, lambda requests: multipart(requests[0], data(requests[0], 1, 2), endless=True))
    with Peer(kernel, kind, timeout=30) as peer:
        for timeout, passed in ((None, 30), (5, 35), (0.5, 35.5)):
            taken, raised = peer.walk(lambda conn, timeout=timeout: conn.dump(NUMBERS, timeout=timeout))
            assert taken == [1, 2]
            assert isinstance(raised, TimeoutError)
            assert isinstance(raised, nl.Timeout)
            assert raised.request is NUMBERS
            assert kernel.clock() == passed
            assert kernel.sockets == 0


def test_the_deadline_counts_from_the_call_not_from_the_last_datagram(kind):
    def handler(requests):
        for number in range(10):
            yield Pause(1)
            yield from data(requests[0], number)

    kernel = FakeKernel(ROUTE, handler)
    with Peer(kernel, kind) as peer:
        taken, raised = peer.walk(lambda conn: conn.dump(NUMBERS, timeout=4.5))
        assert taken == [0, 1, 2, 3]
        assert isinstance(raised, nl.Timeout)
        assert kernel.clock() == 4.5


def test_what_has_arrived_is_delivered_after_the_deadline():
    kernel = FakeKernel(ROUTE, lambda requests: series(1, 1, 1, 1)(requests[0]))
    with kernel.conn(timeout=5) as conn:
        taken = []
        for number in conn.dump(NUMBERS):
            taken.append(number)
            kernel.clock.advance(10)
        assert taken == [1, 2, 3]


def test_retries_share_the_deadline(kind):
    kernel = FakeKernel(ROUTE, lambda requests: [Pause(2), *series(3, interrupted=0)(requests[0])])
    with Peer(kernel, kind) as peer:
        with pytest.raises(nl.Timeout):
            peer.collect(NUMBERS, timeout=5)
        assert (len(kernel.requests), kernel.clock()) == (3, 5)


def test_parts_of_a_batch_share_the_deadline(kind):
    kernel = FakeKernel(ROUTE, lambda requests: [Pause(2), *map(ack, requests)])
    with Peer(kernel, kind) as peer:
        with pytest.raises(nl.Timeout):
            peer.batch([Request(nl.Message(NEW))] * 500, timeout=5)
        assert (len(kernel.requests), kernel.clock(), kernel.sockets) == (3, 5, 0)


# The end of the connection ----------------------------------------------------------------------------------------


def test_closed_while_it_waits(kind):
    kernel = FakeKernel(ROUTE)
    with Peer(kernel, kind) as peer:
        kernel.expect(answer=lambda request: [*data(request, 1), Pause(1), peer.conn.close])
        taken, raised = peer.walk(lambda conn: conn.execute_iter(nl.Message(GET), timeout=60))
        assert [decode(message) for message in taken] == [1]
        assert isinstance(raised, nl.Closed)
        assert kernel.clock() == 1
        assert kernel.sockets == 0


@pytest.mark.parametrize("call", ["execute", "watch", "receive"])
def test_closed_by_another_thread(call):
    kernel = FakeKernel(ROUTE, lambda requests: None, clock=Clock(manual=True))
    outcome = []

    def wait():
        try:
            if call == "execute":
                conn.execute(nl.Message(GET), timeout=60)
            elif call == "watch":
                next(conn.watch(nl.Watch([1], lambda message, group: message)))
            else:
                conn.receive(timeout=60)
        except nl.NetlinkError as error:
            outcome.append(type(error))

    with kernel.conn() as conn:
        thread = threading.Thread(target=wait)
        thread.start()
        kernel.until_waiting()
        conn.close()
        thread.join()
    assert outcome == [nl.Closed]
    assert kernel.sockets == 0


# Others' messages ------------------------------------------------------------------------------------------------


def test_foreign_senders_are_refused(kind):
    """By the kernel, on the sockets of requests; by the connection, and counted, on its own."""

    def handler(requests):
        (request,) = requests
        return [foreign(*data(request, 7), ack(request), sender=99), *data(request, 1), ack(request)]

    kernel = FakeKernel(ROUTE, handler)
    with Peer(kernel, kind) as peer:
        assert [decode(message) for message in peer.execute(nl.Message(GET))] == [1]
        assert (kernel.refused, peer.conn.stats.foreign) == (1, 0)
        peer.conn.send(nl.Message(GET))
        assert [decode(message) for message in peer.receive()] == [1]
        assert (kernel.refused, peer.conn.stats.foreign) == (1, 1)


def test_foreign_senders_tell_no_events():
    kernel = FakeKernel(ROUTE)
    with kernel.conn() as conn, conn.watch(nl.Watch([5], lambda message, group: decode(message))) as events:
        port = kernel._wires[-1].port
        kernel.deliver(port, foreign(nl.Message(NEW, 0, b"\7"), sender=99))
        kernel.notify(5, nl.Message(NEW, 0, b"\1"))
        assert next(events) == 1
        assert conn.stats.foreign == 1


def test_a_series_that_was_left_is_passed_over_on_the_own_socket(kind):
    def handler(requests):
        (request,) = requests
        return series(1, 1, 1, 1)(request) if request.flags & DUMP else data(request, 9)

    kernel = FakeKernel(ROUTE, handler)
    with Peer(kernel, kind) as peer:
        peer.conn.send(nl.Message(GET, DUMP))
        replies = peer.conn.receive_iter()
        if kind == "blocking":
            assert decode(next(replies)) == 1
        else:
            assert decode(asyncio.run(anext_of(replies))) == 1
        replies.close()
        peer.conn.send(nl.Message(GET))
        assert [decode(message) for message in peer.receive()] == [9]


async def anext_of(iterator):
    return await anext(iterator)


def test_own_changes_are_told_too(kind):
    """A change echoed to its asker is told to all others, and to the asker's own socket if that listens."""
    kernel = FakeKernel(ROUTE, lambda requests: [notification(1, *data(requests[0], 3)), ack(requests[0])])
    with Peer(kernel, kind) as peer, kernel.conn() as other:
        events = other.watch(nl.Watch([1], lambda message, group: (group, decode(message))))
        assert peer.execute(nl.Message(NEW)) == []
        peer.conn.join_group(1)
        peer.conn.send(nl.Message(NEW, nl.NLM_F_ACK))
        assert [m.type for m in [*peer.receive(), *peer.receive()]] == [NEW, nl.NLMSG_ERROR]
        assert events.ready() == [(1, 3), (1, 3)]
        events.close()


def test_a_loss_does_not_end_the_events():
    kernel = FakeKernel(ROUTE)
    with kernel.conn() as conn, conn.watch(nl.Watch([5], lambda message, group: decode(message))) as events:
        port = kernel._wires[-1].port
        kernel.notify(5, nl.Message(NEW, 0, b"\1"), nl.Message(NEW, 0, b"\2"))
        kernel.deliver(port, overrun(lost=12))
        kernel.notify(5, nl.Message(NEW, 0, b"\3"))
        assert [next(events) for _ in range(4)] == [1, 2, nl.Lost(12), 3]
        assert events.next(timeout=9) is None
        assert kernel.clock() == 9
        assert conn.stats.overruns == 1
