"""Watches that tell the state: late values, ends, threads and tasks; and kernels that are in trouble."""

import asyncio
import errno
import gc
import os
import select
import threading

import pytest

import loops
import netlink_codec as nl
import rtnl
import trouble
from namespaces import descriptors, network
from netlink_codec import Device, Dump, Lost, New, Sync, Watch
from netlink_codec.testing import FakeKernel, Pause, error, multipart, overrun, reply
from peers import KINDS, Peer
from states import (
    BEGIN,
    END,
    Record,
    address,
    addresses,
    flood,
    ip,
    links,
    three_addresses,
    told,
)

pytestmark = pytest.mark.kernel


@pytest.fixture
def other():
    """Changes what is watched, on a connection of its own."""
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=30) as other:
        other.do(trouble.set_mtu(2000))
        yield other


@pytest.fixture(params=KINDS)
def conn(request, other):
    with Peer(request.param, timeout=30) as conn:
        yield conn


@pytest.fixture
def ifb(other):
    """The index of a link that has addresses 10.0.0.1 to 10.0.0.3."""
    return three_addresses(other)


def pollable(events):
    poll = select.poll()
    poll.register(events, select.POLLIN)
    return poll.poll


# Late values -----------------------------------------------------------------------------------------------------


@pytest.fixture
def filtered():
    """The addresses of ifb0."""
    dump = Dump(rtnl.addresses, address, late=[Device("ifb0")], doing="dump addresses")
    return addresses(resync=[dump])


def test_a_dump_of_one_device(conn, other, ifb, filtered):
    rtnl.add_address(other, 1, bytes([127, 0, 0, 1]), 8)
    with conn.watch(filtered) as events:
        assert events.take(5) == [BEGIN, *told(1, 2, 3), END]
    with conn.watch(filtered) as events:
        heard = events.ready()
        # No plain call can await an answer.
        assert heard == ([BEGIN] if conn.asynchronous else [BEGIN, *told(1, 2, 3), END])
        if conn.asynchronous:
            assert events.take(4) == [*told(1, 2, 3), END]


def test_a_device_that_is_missing(conn, other, filtered):
    with conn.watch(filtered) as events:
        for _ in range(3):
            assert events.next(30) == BEGIN
            with pytest.raises(nl.NotFound, match=r"dump addresses: .*'ifb0'"):
                events.next(30)
        index = rtnl.add_link(other, "ifb0")
        other.do(trouble.add_address(index, ip(1)))
        assert events.take(4) == [BEGIN, *told(1), END, *told(1)]
    dump = filtered.resync[0]
    with conn.watch(addresses(resync=[dump, dump.tolerate(errno.ENODEV)])) as events:
        other.do(nl.Request(rtnl.link(rtnl.RTM_DELLINK, index)))
        assert events.next(30) == BEGIN
        with pytest.raises(nl.NotFound):
            events.next(30)
    with conn.watch(addresses(resync=[dump.tolerate(errno.ENODEV)])) as events:
        assert events.take(2) == [BEGIN, END]


# Ends, threads, tasks --------------------------------------------------------------------------------------------


def test_closed_in_the_middle(conn, other, ifb):
    def decode(message):
        if closing:
            events.events.close()
        return address(message)

    for number in range(4, 1500):
        other.do(trouble.add_address(ifb, ip(number)))
    gc.collect()
    before = descriptors()
    for closing in (False, True):
        events = conn.watch(addresses(decode))
        assert events.next(30) == BEGIN
        if closing:
            with pytest.raises(nl.Closed):
                events.next(30)
        else:
            assert events.next(30) == told(1)[0]
            events.events.close()
        with pytest.raises(nl.Closed):
            events.ready()
    events = conn.watch(addresses(address))
    assert events.next(30) == BEGIN
    del events
    gc.collect()
    assert descriptors() <= before + 2  # a socket of the pool, a descriptor of the namespace
    closing = False
    events = conn.watch(addresses(decode))
    assert events.next(30) == BEGIN
    conn.conn.close()
    with pytest.raises(nl.Closed):
        events.next(30)
    events.events.close()
    gc.collect()
    assert descriptors() < before


def test_a_decoder_that_raises(conn, other, ifb):
    """Once: the state is told from its beginning."""
    failing = iter([False, True])

    def decode(message):
        if next(failing, False):
            raise KeyError("mine")
        return address(message)

    with conn.watch(addresses(decode)) as events:
        assert events.next(30) == BEGIN
        with pytest.raises(KeyError, match="mine"):
            events.next(30)
        assert events.ready() == [BEGIN, *told(1, 2, 3), END]


def test_a_decoder_that_asks_for_events(conn, other, ifb):
    def decode(message):
        if asking:
            asking.pop()
            with pytest.raises(RuntimeError, match="asks for it"):
                events.ready()
        return address(message)

    asking = [True]
    with conn.watch(addresses(decode)) as events:
        assert events.ready() == [BEGIN, *told(1, 2, 3), END]


def test_a_fork_does_not_inherit_it(conn, ifb, monkeypatch):
    monkeypatch.setattr(nl.events, "_MOST_AHEAD", 0)  # or looking for more would tell
    with conn.watch(addresses()) as events:
        assert events.next(30) == BEGIN
        pid = os.fork()
        if not pid:
            status = 1
            try:
                if conn.asynchronous:
                    conn.loop = asyncio.Runner()  # the other one is the parent's
                events.next(0)
            except nl.Closed:
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert events.ready() == [*told(1, 2, 3), END]


def test_threads_that_share_one(other, ifb):
    for number in range(4, 1500):
        other.do(trouble.add_address(ifb, ip(number)))
    heard = []
    with nl.Conn(nl.NETLINK_ROUTE, timeout=30) as conn, conn.watch(addresses()) as events:

        def work():
            try:
                for event in events:
                    heard.append(event)
            except nl.Closed:
                pass

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        with trouble.not_for_ever():
            for number in range(2000, 2500):
                other.do(trouble.add_address(ifb, ip(number)))
                while number % 50 == 49 and told(number)[0] not in heard[-200:]:
                    pass  # or some might be lost
        events.close()
        for thread in threads:
            thread.join()
    assert conn.stats.overruns == 0
    assert set(heard) == {BEGIN, END, *told(*range(1, 1500)), *told(*range(2000, 2500))}


def test_cancelled_anywhere(other, ifb):
    """What was taken in is there for who asks next."""
    dump = Dump(rtnl.addresses, address, late=[Device("ifb0")])

    async def main():
        async with nl.AsyncConn(nl.NETLINK_ROUTE, _open=loops.Hesitant, timeout=30) as conn:
            for suspension in range(100):
                async with conn.watch(addresses(resync=[dump], track=True)) as events:
                    heard = []

                    async def listen(events=events, heard=heard):
                        while not heard or heard[-1] != END:
                            heard.append(await anext(events))

                    cancelled = await loops.cancelled_at(suspension, listen())
                    await listen()
                    assert heard == [BEGIN, *told(1, 2, 3), END]
                if not cancelled:
                    break
            assert suspension >= 2
            await loops.still_works(conn)

    asyncio.run(main())


def test_a_long_state_does_not_keep_the_loop(other, ifb):
    other.batch([trouble.add_address(ifb, ip(number)) for number in range(4, 1500)])

    async def main():
        async with nl.AsyncConn(nl.NETLINK_ROUTE) as conn, conn.watch(addresses()) as events:
            turns = 0

            async def count():
                nonlocal turns
                while True:
                    turns += 1
                    await asyncio.sleep(0)

            counting = asyncio.create_task(count())
            while await anext(events) != END:
                pass
            assert turns >= 1500 // 16
            counting.cancel()

    asyncio.run(main())


def test_tasks_that_share_one(other, ifb):
    async def main():
        async with nl.AsyncConn(nl.NETLINK_ROUTE, _open=loops.Hesitant) as conn, conn.watch(addresses()) as events:
            heard = []

            async def listen():
                async for event in events:
                    heard.append(event)

            tasks = [asyncio.create_task(listen()) for _ in range(4)]
            while len(heard) < 5:
                await asyncio.sleep(0)
            other.do(trouble.add_address(ifb, ip(4)))
            while len(heard) < 6:
                await asyncio.sleep(0)
            assert heard == [BEGIN, *told(1, 2, 3), END, *told(4)]
            events.close()
            assert {type(end) for end in await asyncio.gather(*tasks, return_exceptions=True)} == {nl.Closed}

    asyncio.run(main())


# Kernels that tests make -----------------------------------------------------------------------------------------

DUMP = Dump(nl.Message(1000, nl.NLM_F_DUMP), lambda message: Record((message.data,)))
STATE = Watch([1], lambda message, group: New(Record((message.data,))), resync=[DUMP], initial=True)


def numbered(request, *numbers):
    return [reply(request, 16, bytes([number])) for number in numbers]


def news(*numbers):
    return [New(Record((bytes([number]),))) for number in numbers]


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_takes_its_time(kind):
    """Whoever waits no longer than a second gets it all the same, from where it was."""

    def handler(requests):
        first, second, end = multipart(requests[0], numbered(requests[0], 1, 2), split=[1, 1])
        return [Pause(3), first, Pause(3), second, end]

    kernel = FakeKernel(nl.NETLINK_ROUTE, handler)
    with Peer(kind, kernel=kernel) as conn, conn.watch(STATE) as events:
        assert events.ready() == [BEGIN]
        heard = []
        while kernel.clock() < 7:
            heard.append(events.next(0.5))
            if heard[-1] is None:
                kernel.notify(1, nl.Message(16, 0, bytes([len(heard)])))
        told = [event for event in heard if event is not None]
        assert told[:3] == [*news(1, 2), END]
        assert [event.record for event in told[3:]][:3] == [event.record for event in news(1, 2, 3)]
        assert heard.index(news(1)[0]) == 11
        assert len(kernel.requests) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_decoder_of_events_that_raises(kind):
    """What came with that message is for the next call."""

    def decode(message, group):
        if message.data == bytes([2]):
            raise KeyError("mine")
        return (message.data[0], group)

    kernel = FakeKernel(nl.NETLINK_ROUTE)
    with Peer(kind, kernel=kernel) as conn, conn.watch(Watch([1, 7], decode)) as events:
        kernel.notify(7, *(nl.Message(16, 0, bytes([number])) for number in (1, 2, 3, 4)))
        kernel.notify(1, nl.Message(16, 0, bytes([5])))
        with pytest.raises(KeyError, match="mine"):
            events.ready()
        assert events.ready() == [(1, 7), (3, 7), (4, 7), (5, 1)]


@pytest.mark.parametrize("kind", KINDS)
def test_closing_it_ends_the_dump(kind):
    kernel = FakeKernel(nl.NETLINK_ROUTE, lambda requests: [Pause(3), *multipart(requests[0], [])])
    with Peer(kind, kernel=kernel) as conn:
        before = kernel.sockets
        events = conn.watch(STATE)
        assert events.next() == BEGIN
        assert events.next(1) is None
        assert kernel.sockets == before + 1  # the dump's was there
        events.events.close()
        assert kernel.sockets == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_dump_that_fails(kind):
    def handler(requests):
        return error(requests[0], errno.EBUSY) if len(kernel.requests) < 3 else multipart(requests[0], [])

    kernel = FakeKernel(nl.NETLINK_ROUTE, handler)
    with Peer(kind, kernel=kernel) as conn, conn.watch(STATE) as events:
        for _ in range(2):
            assert events.next() == BEGIN
            with pytest.raises(nl.NetlinkError) as caught:
                events.next()
            assert caught.value.errno == errno.EBUSY
            assert caught.value.request is DUMP
        assert events.ready() == [BEGIN, END]


@pytest.mark.parametrize("kind", KINDS)
def test_a_dump_of_which_some_is_lost(kind):
    """It is run again."""

    def handler(requests):
        (request,) = requests
        if len(kernel.requests) == 1:
            return [*numbered(request, 1), overrun(lost=3), *multipart(request, numbered(request, 2))]
        return multipart(request, numbered(request, 1, 2))

    kernel = FakeKernel(nl.NETLINK_ROUTE, handler)
    with Peer(kind, kernel=kernel) as conn, conn.watch(STATE) as events:
        assert events.ready() == [BEGIN, *news(1, 2), END]
        assert conn.conn.stats.overruns == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_loss_of_which_nobody_knows_how_much(kind):
    kernel = FakeKernel(nl.NETLINK_ROUTE, lambda requests: multipart(requests[0], numbered(requests[0], 1)))
    watch = Watch([1], STATE.decode, resync=[DUMP])
    with Peer(kind, kernel=kernel) as conn, conn.watch(watch) as events:
        kernel.deliver(events.events._socket.port, overrun(lost=5))
        assert events.ready() == [Lost(5), Sync("begin", 5), *news(1), Sync("end", 5)]
        events.events._socket.drops = lambda: None
        kernel.deliver(events.events._socket.port, overrun())
        assert events.ready() == [Lost(None), Sync("begin", None), *news(1), Sync("end", None)]


def test_a_descriptor_that_is_readable(other, ifb):
    """When there is something that `ready` has not returned; but at the beginning, when nobody has asked."""
    with nl.Conn(nl.NETLINK_ROUTE) as conn, conn.watch(addresses()) as events:
        poll = pollable(events)
        assert not poll(0)
        assert events.ready() == [BEGIN, *told(1, 2, 3), END]
        assert not poll(0)
        other.do(trouble.add_address(ifb, ip(4)))
        assert poll(0)
        assert events.ready() == told(4)
        assert not poll(0)
    with nl.Conn(nl.NETLINK_ROUTE) as conn, conn.watch(links()) as events:
        poll = pollable(events)
        events.ready()
        flood(other)
        assert poll(0)
        assert [type(event) for event in events.ready()[-3:]] == [New, New, Sync]
        assert not poll(0)
