"""Receive buffers that overrun, on all kinds of sockets: told once, counted, never a hang, and it goes on."""

import errno
import os
import select
import socket

import pytest

import netlink_codec as nl
import nft
import rtnl
import trouble
from namespaces import descriptors, network
from netlink_codec import Lost, Overrun, _socket
from trouble import asking, drain, link, name, raises, still_works

pytestmark = pytest.mark.kernel

TINY = 4096  # the kernel doubles it: enough for an answer and its acknowledgement, not for ten


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=30) as conn:
        yield conn


@pytest.fixture
def tiny(monkeypatch):
    """Every socket that is opened from now on has a receive buffer that is hardly enough."""
    open = _socket.Socket.open

    def open_tiny(self, protocol):
        opened = open(self, protocol)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, TINY)
        return opened

    monkeypatch.setattr(_socket.Socket, "open", open_tiny)


def change(conn, times, index=1):
    """So many link events."""
    for mtu in range(times):
        conn.do(trouble.set_mtu(1000 + mtu, index))


# Requests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 100, 200])
@pytest.mark.parametrize("acknowledge", ["each", "last"])
def test_acknowledgements_that_were_lost(tiny, conn, count, acknowledge):
    """google/nftables#103, #235, #350: ENOBUFS, though all was done; who was not heard of is unknown, not failed."""
    before = descriptors()
    results = conn.batch([link(f"ifb{number}") for number in range(count)], errors="return", acknowledge=acknowledge)
    assert len(conn.collect(trouble.LINKS)) == count + 1
    unknown = [error for error in results if error is not None]
    assert {type(error) for error in unknown} <= {Overrun}
    assert bool(unknown) == bool(conn.stats.overruns) == (count > 1 and acknowledge == "each")
    if unknown:
        with pytest.raises(nl.BatchError) as caught:
            conn.batch([trouble.SET] * count)
        assert {type(error) for error in caught.value.exceptions} == {Overrun}
        assert all(error.request is trouble.SET for error in caught.value.exceptions)
        del caught
    still_works(conn, ["lo", *(f"ifb{number}" for number in range(count))])
    assert descriptors() <= before + 3  # one socket more of the pool, the own one, a descriptor of the namespace


def test_failures_among_acknowledgements_that_were_lost(tiny, conn):
    """The outcomes that came before the loss stand."""
    missing = nl.Request(rtnl.link(rtnl.RTM_DELLINK, 4711), not_found=[errno.ENODEV])
    results = conn.batch([missing] * 100, errors="return")
    known = [type(result) for result in results].index(Overrun)
    assert [type(result) for result in results] == [nl.NotFound] * known + [Overrun] * (100 - known)
    assert known > 0


def test_an_acknowledgement_that_was_lost_behind_a_large_answer(tiny, conn):
    index = rtnl.add_link(conn, "ifb0")
    trouble.alternatives(conn, index)
    request = nl.Request(rtnl.link(rtnl.RTM_GETLINK, index, mask=8), name, doing="look at ifb0")
    before = descriptors()
    for _ in range(20):
        assert str(raises(errno.ENOBUFS, conn.do, request, kind=Overrun)).startswith("look at ifb0: ")
        # The answer itself came; what comes after it is not waited for.
        replies = conn.execute_iter(request.message)
        with pytest.raises(Overrun) as caught:
            list(replies)
        assert caught.value.request == replies.sent
        seen = []
        with pytest.raises(Overrun):
            seen.extend(replies)
        assert list(replies) == []
        del caught, replies
    assert conn.stats.overruns == 40
    assert descriptors() <= before + 1
    # One that needs no acknowledgement has nothing to lose.
    alone = nl.Request(request.message, name, single=True)
    assert conn.do(alone) == "ifb0"
    assert conn.do(trouble.GET) == "lo"
    assert len(conn.collect(nl.Dump(rtnl.links(), name))) == 2


def test_large_answers_of_a_batch(conn):
    """Each position has its answer, or it is told that it was lost."""
    index = rtnl.add_link(conn, "ifb0")
    trouble.alternatives(conn, index)
    request = nl.Request(rtnl.link(rtnl.RTM_GETLINK, index, mask=8), name)
    results = conn.batch([request] * 50, errors="return")
    assert {result if isinstance(result, str) else type(result) for result in results} <= {"ifb0", Overrun}
    assert results.count("ifb0") >= 5
    still_works(conn, ["lo", "ifb0"])


# The raw calls ---------------------------------------------------------------------------------------------------


def test_messages_without_an_acknowledgement_left(conn):
    """google/nftables#103: 200 acknowledged messages and a receive buffer for a few: all 200 are carried out."""
    with nl.Conn(nl.NETLINK_NETFILTER, strict=False, timeout=30) as netfilter:
        netfilter.set_receive_buffer(TINY)
        tables = [nft.table(f"t{number}", nl.NLM_F_ACK) for number in range(200)]
        netfilter.send_messages(nft.batch(*tables))
        heard, overruns = 0, 0
        while True:
            try:
                heard += len(netfilter.receive(timeout=0))
            except Overrun as overrun:
                overruns += 1
                assert overrun.lost is None or overrun.lost > 100
            except nl.Timeout:
                break
        assert overruns == netfilter.stats.overruns == 1
        assert heard < 100
        assert len(nft.tables(netfilter)) == 200


def test_an_own_reply_that_was_lost_among_events(conn):
    """siderolabs/talos#14001: a socket in a busy group loses the acknowledgement of its own request."""
    conn.join_group(trouble.RTNLGRP_LINK)
    with nl.Conn(nl.NETLINK_ROUTE, timeout=30) as other:
        change(other, 1000)
    conn.send(asking(trouble.SET.message, nl.NLM_F_ACK))
    error = raises(errno.ENOBUFS, conn.receive, kind=Overrun)
    assert error.lost > 500
    heard = drain(conn)
    assert {message.type for message in heard} == {rtnl.RTM_NEWLINK}
    assert error.lost + len(heard) == 1000 + 2  # the event of the own change, and its acknowledgement
    assert conn.stats.overruns == 1
    conn.leave_group(trouble.RTNLGRP_LINK)
    # Requests have sockets that hear no group.
    still_works(conn)


def test_an_overrun_in_the_middle_of_a_series(conn):
    """The series goes on where it was."""
    conn.batch([link(f"ifb{number}") for number in range(100)])
    conn.join_group(trouble.RTNLGRP_LINK)
    sent = conn.send(asking(rtnl.links()))
    replies = conn.receive_iter()
    got = [next(replies)]
    with nl.Conn(nl.NETLINK_ROUTE, timeout=30) as other:
        change(other, 1000)
    with pytest.raises(Overrun):
        got.extend(replies)
    got.extend(replies)
    assert len({name(message) for message in got if message.seq == sent.seq}) == 101
    drain(conn)


# However one learns of it ----------------------------------------------------------------------------------------


def overrun_sockets(conn):
    """What listens to links, and has lost some."""
    conn.join_group(trouble.RTNLGRP_LINK)
    watch = conn.watch(trouble.LINK_EVENTS)
    with nl.Conn(nl.NETLINK_ROUTE, timeout=30) as other:
        change(other, 1000)
    return watch


def readiness(descriptor):
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return dict(poll.poll(0)).get(descriptor.fileno(), 0)


def test_a_loss_that_poll_has_seen(conn):
    """sonic-net/sonic-swss#4853: POLLERR comes with it, and goes with its being told, once."""
    watch = overrun_sockets(conn)
    assert readiness(watch) == readiness(conn) == select.POLLIN | select.POLLERR
    events = watch.ready()
    assert [type(event) for event in events].count(Lost) == 1
    (lost,) = [event for event in events if isinstance(event, Lost)]
    assert lost.count + len(events) - 1 == 1000
    raises(errno.ENOBUFS, conn.receive, kind=Overrun)
    drain(conn)
    assert readiness(watch) == readiness(conn) == 0  # or a loop would never sleep again
    change(conn, 1)
    assert watch.ready() == [(rtnl.RTM_NEWLINK, "lo")]
    assert [name(message) for message in drain(conn)] == ["lo"]
    assert conn.stats.overruns == 2
    watch.close()


def test_a_loss_that_somebody_else_has_taken(conn):
    """nhorman/dropwatch#44: SO_ERROR tells and forgets it; the next one is told with the number of both."""
    watch = overrun_sockets(conn)
    for listening in (watch, conn):
        with socket.socket(fileno=os.dup(listening.fileno())) as descriptor:
            assert descriptor.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ENOBUFS
    heard = len(watch.ready())
    drain(conn)
    with nl.Conn(nl.NETLINK_ROUTE, timeout=30) as other:
        change(other, 1000)
    events = watch.ready()
    (lost,) = [event for event in events if isinstance(event, Lost)]
    assert heard + lost.count + len(events) - 1 == 2000
    assert raises(errno.ENOBUFS, conn.receive, kind=Overrun).lost > 1000
    watch.close()


def test_losses_are_hidden_for_who_asks_for_it(conn):
    """Zxilly/UA2F#162: NETLINK_NO_ENOBUFS, on the own socket and on request only."""
    conn.set_option(nl.NETLINK_NO_ENOBUFS, 1)
    watch = overrun_sockets(conn)
    assert any(isinstance(event, Lost) for event in watch.ready())
    assert 0 < len(drain(conn)) < 1000
    assert conn.stats.overruns == 1  # the watch's
    watch.close()
