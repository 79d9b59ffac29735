"""Watching under asyncio, on the real kernel: waiting, order, loss."""

import asyncio
import gc
import os
import socket

import pytest

import loops
import netlink_codec as nl
import rtnl
import trouble
from namespaces import descriptors, network
from netlink_codec import AsyncConn, Conn, Request, aiopool
from netlink_codec._socket import Socket
from trouble import SET, name

pytestmark = pytest.mark.kernel

LINK_EVENTS = nl.Watch([trouble.RTNLGRP_LINK], lambda message, group: name(message))
MTU_EVENTS = nl.Watch(
    [trouble.RTNLGRP_LINK], lambda message, group: message.attributes(rtnl.IFINFOMSG.size).find(rtnl.IFLA_MTU).u32()
)


@pytest.fixture(params=loops.ALL)
def run(request):
    with network(), Conn(nl.NETLINK_ROUTE) as conn:
        conn.do(SET)
        yield loops.runner(request.param)


@pytest.fixture
def blocking(run):
    """Changes what is watched, while the loop stands still."""
    with Conn(nl.NETLINK_ROUTE) as conn:
        yield conn


def mtu(size):
    return Request(rtnl.link(rtnl.RTM_NEWLINK, 1, mtu=size))


def test_what_happens(run):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE, timeout=30) as conn:
            async with conn.watch(LINK_EVENTS) as events:
                assert events.ready() == []
                assert await events.next(0) is None
                waiting = asyncio.create_task(anext(events))
                await loops.waiting(conn)
                await conn.do(trouble.link("red"))
                assert await waiting == "red"
                await conn.batch([trouble.link("green"), trouble.link("blue")])
                assert await events.next(0) == "green"  # it is there
                assert events.ready() == ["blue"]
                assert events.fileno() >= 0
                await conn.batch([trouble.link(f"ifb{i}") for i in range(20)])
                seen = []
                async for event in events:
                    seen.append(event)
                    if len(seen) == 20:
                        break
                assert seen == [f"ifb{i}" for i in range(20)]
            with pytest.raises(nl.Closed):
                await anext(events)
            with pytest.raises(nl.Closed):
                events.ready()
            with pytest.raises(nl.NetlinkError):
                conn.watch(nl.Watch([0], LINK_EVENTS.decode))

    before = descriptors()
    run(main())
    gc.collect()
    assert descriptors() <= before + 2  # what the first loop of its kind opens for good


def test_only_the_kernel_is_heard(run, blocking):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE) as conn, conn.watch(LINK_EVENTS) as events:
            waiting = asyncio.create_task(anext(events))
            await loops.waiting(conn)
            forged = rtnl.link(rtnl.RTM_NEWLINK, 1, name="forged")
            with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, nl.NETLINK_ROUTE) as other:
                other.sendto(bytes(forged), (events._socket.port, 0))
            while not conn.stats.foreign:
                await asyncio.sleep(0)
            await loops.waiting(conn)
            blocking.do(trouble.link("red"))
            assert await waiting == "red"

    run(main())


@pytest.mark.parametrize("waits", [True, False], ids=["waiting", ""])
def test_a_loss_is_told_where_it_happened_and_it_goes_on(run, blocking, waits):
    """The receive buffer is the only queue: nothing is read ahead, whatever comes."""

    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE) as conn, conn.watch(MTU_EVENTS) as events:
            for times in (1, 2, 3):
                waiting = asyncio.create_task(anext(events)) if waits else None
                if waits:
                    await loops.waiting(conn)
                sizes = list(range(1000, 3000))
                blocking.batch([mtu(size) for size in sizes])
                assert len(events._queue) == 0
                seen = [await waiting] if waits else []
                while len(seen) < 10:
                    seen.append(await anext(events))
                # Dropped too, and in silence: the kernel begins anew when all has been read.
                blocking.batch([mtu(size) for size in range(3000, 3100)])
                while (event := await events.next(0)) is not None:
                    seen.append(event)
                    assert len(events._queue) <= 1
                *seen, lost = seen
                assert seen == sizes[: len(seen)]
                assert lost == nl.Lost(2100 - len(seen))
                assert conn.stats.overruns == times
                # After an overrun somebody who waits is woken as before.
                waiting = asyncio.create_task(anext(events))
                await loops.waiting(conn)
                await conn.do(mtu(1500))
                assert await waiting == 1500
                waiting = asyncio.create_task(anext(events))
                await loops.waiting(conn)
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)

    run(main())


def test_the_blocking_watch_tells_a_loss_alike(run, blocking):
    with blocking.watch(MTU_EVENTS) as events:
        blocking.batch([mtu(size) for size in range(1000, 3000)])
        seen = [next(events) for _ in range(10)]
        blocking.batch([mtu(size) for size in range(3000, 3100)])
        *seen[10:], lost = events.ready()
        assert seen == list(range(1000, 1000 + len(seen)))
        assert lost == nl.Lost(2100 - len(seen))
        blocking.do(mtu(1500))
        assert next(events) == 1500


def test_what_comes_after_a_loss_comes_after_the_lost(run, blocking):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE) as conn, conn.watch(MTU_EVENTS) as events:
            blocking.batch([mtu(size) for size in range(1000, 3000)])
            seen = []
            # A change for each event: something is always there.
            for size in range(3000, 3300):
                seen.append(await anext(events))
                await conn.do(mtu(size))
            while (event := await events.next(0)) is not None:
                seen.append(event)
            (lost,) = [position for position, event in enumerate(seen) if isinstance(event, nl.Lost)]
            before, after = seen[:lost], seen[lost + 1 :]
            assert before == list(range(1000, 1000 + lost))
            assert after == list(range(3300 - len(after), 3300))
            assert len(before) + seen[lost].count + len(after) == 2300

    run(main())


def test_a_loss_is_told_under_a_flood(run, blocking):
    """There is no moment without anything to read."""

    class Flooded(Socket):
        def held(self):
            blocking.do(mtu(4000))
            blocking.do(mtu(4001))
            return super().held()

    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE, _open=Flooded) as conn, conn.watch(MTU_EVENTS) as events:
            blocking.batch([mtu(size) for size in range(1000, 3000)])
            seen = []
            while not isinstance(event := await anext(events), nl.Lost):
                seen.append(event)
            assert seen == list(range(1000, 1000 + len(seen)))
            assert await anext(events) == 4000

    run(main())


def test_an_overrun_while_a_task_waits_on_the_own_socket(run, blocking):
    """What uvloop calls a bad descriptor, once and for all."""

    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE, groups=[trouble.RTNLGRP_LINK]) as conn:
            received = 0
            for _ in range(3):
                waiting = asyncio.create_task(conn.receive())
                await loops.waiting(conn)
                blocking.batch([mtu(size) for size in range(1000, 3000)])
                with pytest.raises(nl.Overrun) as caught:  # noqa: PT012
                    await waiting
                    while True:
                        await conn.receive(timeout=0)
                assert caught.value.lost > 0
                with pytest.raises(nl.Timeout):  # noqa: PT012
                    while True:
                        received += len(await conn.receive(timeout=0))
                waiting = asyncio.create_task(conn.receive())
                await loops.waiting(conn)
                blocking.do(mtu(1500))
                assert len(await waiting) == 1
            assert conn.stats.overruns == 3
            blocking.batch([mtu(size) for size in range(1000, 3000)])
            messages = conn.receive_iter()
            with pytest.raises(nl.Overrun):
                await anext(messages)
            assert len([message async for message in messages]) == 1

    run(main())


def test_tasks_that_share_a_watch_each_get_some(run, blocking):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE) as conn, conn.watch(MTU_EVENTS) as events:
            seen = []

            async def work():
                async for event in events:
                    seen.append(event)

            tasks = [asyncio.create_task(work()) for _ in range(4)]
            while sum(map(len, conn._pool._waiting.values())) < 4:
                await asyncio.sleep(0)
            for size in range(1000, 1100):
                await conn.do(mtu(size))
            while len(seen) < 100:
                await asyncio.sleep(0)
            assert seen == list(range(1000, 1100))
            tasks[0].cancel()
            await conn.do(mtu(1500))
            while len(seen) < 101:
                await asyncio.sleep(0)
            events.close()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
            assert [type(end) for end in ends] == [asyncio.CancelledError, nl.Closed, nl.Closed, nl.Closed]

    run(main())


def test_a_flood_does_not_keep_the_loop(run, blocking, monkeypatch):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE) as conn, conn.watch(MTU_EVENTS) as events:
            blocking.batch([mtu(size) for size in range(1000, 1064)])
            turns = 0

            async def count():
                nonlocal turns
                while True:
                    turns += 1
                    await asyncio.sleep(0)

            counting = asyncio.create_task(count())
            for _ in range(64):
                await anext(events)
            assert turns >= 64 // 16
            counting.cancel()

    run(main())


def test_no_reader_is_left_behind(run, blocking, monkeypatch):
    """It is removed before the descriptor is closed, and so is the timer; a watch that is forgotten is garbage."""
    kept, timers = set(), []

    async def main():
        loop = asyncio.get_running_loop()
        # Methods of uvloop's loop cannot be replaced.
        proxy = Proxy(loop)
        monkeypatch.setattr(aiopool.asyncio, "get_running_loop", lambda: proxy)
        async with AsyncConn(nl.NETLINK_ROUTE) as conn:
            before = descriptors()
            events = conn.watch(MTU_EVENTS)
            for size in (1000, 1001, 1002):
                events.ready()
                waiting = loop.create_task(anext(events))
                await loops.waiting(conn)
                assert len(kept) == 1
                if size == 1001:
                    waiting.cancel()
                    await asyncio.gather(waiting, return_exceptions=True)
                else:
                    await conn.do(mtu(size))
                    assert await waiting == size
                assert kept == set()
            assert await events.next(0.001) is None
            waiting = loop.create_task(events.next(60))
            await loops.waiting(conn)
            await conn.do(mtu(1003))
            assert await waiting == 1003
            assert kept == set()
            assert len(timers) >= 2
            assert timers[-1].cancelled()
            del events, waiting
            await asyncio.sleep(0)
            gc.collect()
            assert descriptors() <= before

    class Proxy:
        def __init__(self, loop):
            self._loop = loop

        def __getattr__(self, name):
            return getattr(self._loop, name)

        def call_later(self, *arguments):
            timers.append(self._loop.call_later(*arguments))
            return timers[-1]

        def add_reader(self, descriptor, *arguments):
            kept.add(descriptor)
            self._loop.add_reader(descriptor, *arguments)

        def remove_reader(self, descriptor):
            kept.remove(descriptor)
            os.fstat(descriptor)  # it is still open
            self._loop.remove_reader(descriptor)

    run(main())
