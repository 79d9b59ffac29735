"""Signals at any time: a handler that returns is not noticed, and one that raises leaves nothing behind."""

import contextlib
import errno
import functools
import gc
import random
import signal
import sys

import pytest

import netlink_codec as nl
import rtnl
import trouble
from namespaces import descriptors, network
from support import random_seed
from trouble import asking, drain, name, not_for_ever, raises, still_works, together

pytestmark = pytest.mark.kernel

NEVER_ANSWERED = nl.Request(rtnl.link(rtnl.RTM_NEWLINK, 1), name, single=True)


class Interrupted(Exception):
    pass


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=30) as conn:
        yield conn


@contextlib.contextmanager
def signals(handler, every):
    """SIGALRM all the time, in real system calls: nothing restarts but what the interpreter does."""
    before = signal.signal(signal.SIGALRM, lambda *_: handler())
    try:
        signal.setitimer(signal.ITIMER_REAL, every, every)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def waits(conn, watch):
    """The calls that wait, and what they wait for when link events are made to happen."""
    return {
        "watch": lambda: next(watch),
        "receive": lambda: next((message.type, name(message)) for message in conn.receive()),
        "receive_iter": lambda: next((message.type, name(message)) for message in conn.receive_iter()),
    }


@pytest.mark.parametrize("call", ["watch", "receive", "receive_iter"])
def test_a_handler_that_returns(conn, call):
    """Whoever waits goes on waiting; the event comes from the handler itself, so not before it ran."""
    conn.join_group(trouble.RTNLGRP_LINK)
    watch = conn.watch(trouble.LINK_EVENTS)
    count = 0

    def handler():
        nonlocal count
        count += 1
        if count == 20:
            conn.do(trouble.set_mtu(1400))

    with signals(handler, 0.0005):
        assert waits(conn, watch)[call]() == (rtnl.RTM_NEWLINK, "lo")
    assert count >= 20
    watch.close()
    drain(conn)
    conn.leave_group(trouble.RTNLGRP_LINK)
    still_works(conn)


@pytest.mark.parametrize("call", ["watch", "receive", "do"])
def test_a_handler_that_returns_does_not_put_off_the_deadline(conn, call):
    watch = conn.watch(trouble.LINK_EVENTS)
    count = 0

    def handler():
        nonlocal count
        count += 1

    calls = {
        "watch": lambda: watch.next(timeout=0.02) is None,
        "receive": lambda: raises(errno.ETIMEDOUT, conn.receive, timeout=0.02),
        "do": lambda: raises(errno.ETIMEDOUT, conn.do, NEVER_ANSWERED, timeout=0.02),
    }
    with signals(handler, 0.0005):
        calls[call]()
    assert count
    still_works(conn)


@pytest.mark.parametrize("call", ["watch", "receive", "receive_iter", "do"])
def test_a_handler_that_raises(conn, call):
    conn.join_group(trouble.RTNLGRP_LINK)
    watch = conn.watch(trouble.LINK_EVENTS)
    conn.do(trouble.GET)
    count = 0

    def handler():
        nonlocal count
        count += 1
        if count == 5:
            raise Interrupted

    def wait():
        call_it = {**waits(conn, watch), "do": lambda: conn.do(NEVER_ANSWERED)}[call]
        with signals(handler, 0.0005), pytest.raises(Interrupted):
            call_it()

    wait()  # from here on there is what wakes who waits
    before = descriptors()
    for mtu in range(1400, 1420):
        count = 0
        wait()
        conn.do(trouble.set_mtu(mtu))
        assert next(watch) == (rtnl.RTM_NEWLINK, "lo")
        assert [name(message) for message in drain(conn)] == ["lo"]
    assert descriptors() <= before + 1
    conn.leave_group(trouble.RTNLGRP_LINK)
    still_works(conn)


# At random points ------------------------------------------------------------------------------------------------


def work(conn, watch):
    """A bit of everything, left in all ways."""
    conn.do(trouble.GET)
    conn.do(trouble.SET)
    for link in conn.dump(trouble.LINKS):
        assert conn.do(trouble.GET) == link
    next(conn.dump(trouble.LINKS))
    with conn.execute_iter(rtnl.links()) as replies:
        next(replies)
    conn.batch([trouble.GET, trouble.SET] * 3)
    raises(errno.ENODEV, conn.do, trouble.MISSING)
    conn.send(asking(trouble.GET.message))
    conn.receive_iter().close()
    next(conn.receive_iter())
    watch.ready()
    with conn.watch(trouble.LINK_EVENTS) as other:
        other.next(timeout=0)
    with nl.Conn(nl.NETLINK_ROUTE, groups=[1], timeout=30) as short:
        short.do(trouble.GET)
        raises(errno.ETIMEDOUT, short.receive, timeout=0)


class Storm:
    """One signal, at a random time, that raises; and what became of the exceptions."""

    def __init__(self, monkeypatch):
        self.random = random.Random(random_seed())
        self.swallowed = []
        self.raised = False
        # Where Python cannot raise, in __del__ and the like, it tells this. (What is kept must not keep sockets.)
        monkeypatch.setattr(sys, "unraisablehook", lambda event: self.swallowed.append(repr(event.exc_value)))

    def handler(self):
        self.raised = True
        raise Interrupted

    def strike(self, function, within):
        """Repeat the function until it is struck."""
        self.raised = False
        before = signal.signal(signal.SIGALRM, lambda *_: self.handler())
        try:
            self.repeat(function, self.random.uniform(1e-6, within))
        except Interrupted:
            pass
        finally:
            signal.signal(signal.SIGALRM, before)

    def until_closed(self, function, within):
        """Repeat it until the handler has closed what it works with."""
        before = signal.signal(signal.SIGALRM, lambda *_: self.handler())
        try:
            signal.setitimer(signal.ITIMER_REAL, self.random.uniform(1e-6, within))
            while True:
                function()
        except nl.Closed:
            pass
        finally:
            signal.signal(signal.SIGALRM, before)

    def repeat(self, function, delay):
        signal.setitimer(signal.ITIMER_REAL, delay)
        while not self.raised:
            function()


@pytest.mark.exhaustive
def test_a_handler_that_raises_at_300_random_points(monkeypatch):
    gc.collect()
    before = descriptors()
    with network():
        conn = nl.Conn(nl.NETLINK_ROUTE, timeout=30)
        watch = conn.watch(trouble.LINK_EVENTS)
        for _ in range(3):
            work(conn, watch)
        warm = descriptors()
        storm = Storm(monkeypatch)
        for _ in range(300):
            storm.strike(functools.partial(work, conn, watch), 0.002)
            drain(conn)
        for _ in range(3):
            work(conn, watch)
        drain(conn)
        still_works(conn)
        conn.do(trouble.set_mtu(1400))
        assert watch.ready()[-1] == (rtnl.RTM_NEWLINK, "lo")
        gc.collect()  # an exception may hold what it passed through
        assert descriptors() <= warm
        # A connection that was struck before `with` had it says so, as it should.
        assert [
            error for error in storm.swallowed if "Interrupted" not in error and "unclosed <Conn" not in error
        ] == []
        watch.close()
        conn.close()
    del watch, conn
    gc.collect()
    assert descriptors() == before


@pytest.mark.exhaustive
@pytest.mark.parametrize("call", ["receive", "leave", "do", "dump", "watch", "batch"])
def test_a_handler_that_raises_at_random_points_of_one_call(conn, monkeypatch, call):
    """Closer than above: no lock stays held, and no socket is used again that is not at rest."""
    conn.batch([trouble.link(f"ifb{number}") for number in range(20)])
    everything = ["lo", *(f"ifb{number}" for number in range(20))]
    listening = conn.watch(trouble.LINK_EVENTS)

    def receive():
        with contextlib.suppress(nl.Timeout):
            conn.receive(timeout=0)

    def leave():
        with conn.execute_iter(rtnl.links()) as replies:
            next(replies)

    calls = {
        "receive": receive,
        "leave": leave,
        "do": lambda: conn.do(trouble.GET),
        "dump": lambda: next(conn.dump(trouble.LINKS)),
        "watch": lambda: listening.next(timeout=0),
        "batch": lambda: conn.batch([trouble.GET, trouble.SET]),
    }
    storm = Storm(monkeypatch)
    still_works(conn, everything)
    with not_for_ever():
        for _ in range(300):
            storm.strike(calls[call], 0.0001)
            assert len(conn.collect(trouble.LINKS)) == len(everything)
        drain(conn)
        together([lambda: still_works(conn, everything)])  # in another thread, which holds nothing
        listening.ready()
        conn.do(trouble.set_mtu(1400))
        assert listening.ready() == [(rtnl.RTM_NEWLINK, "lo")]
    listening.close()
    assert conn.stats.stale == 0


@pytest.mark.exhaustive
def test_a_handler_that_closes_at_300_random_points(monkeypatch):
    """As one for SIGTERM may do: the loop ends with Closed, wherever it was."""
    gc.collect()
    before = descriptors()
    storm = Storm(monkeypatch)
    with network(), not_for_ever():
        for _ in range(300):
            conn = nl.Conn(nl.NETLINK_ROUTE, timeout=30)
            watch = conn.watch(trouble.LINK_EVENTS)
            storm.handler = conn.close
            storm.until_closed(functools.partial(work, conn, watch), 0.002)
            watch.close()
            raises(errno.EBADF, conn.do, trouble.GET, kind=nl.Closed)
    assert storm.swallowed == []
    del conn, watch, storm
    gc.collect()
    assert descriptors() == before
