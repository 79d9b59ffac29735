"""How asyncio calls end before their time: cancelled, closed, given up with their loop, left to a thread."""

import asyncio
import gc
import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

import loops
import netlink_codec as nl
import rtnl
import trouble
from namespaces import descriptors, network
from netlink_codec import AsyncConn, Request, aiopool
from trouble import GET, LINKS, SET, name

pytestmark = pytest.mark.kernel

QUIET = nl.Watch([trouble.RTNLGRP_STATS], lambda message, group: message)
SILENT = Request(SET.message, ends="reply")  # the acknowledgement comes, and no reply after it


@pytest.fixture(params=loops.ALL)
def run(request):
    with network():
        loops.many_links()
        yield loops.runner(request.param)


# Cancelled -------------------------------------------------------------------------------------------------------


async def stream(conn, **options):
    async for _ in conn.execute_iter(rtnl.links(), **options):
        await asyncio.sleep(0)


async def results(conn, **options):
    async for _ in conn.dump(LINKS, **options):
        pass


async def receive(conn, message):
    conn.send(trouble.asking(message))
    await conn.receive()


async def receive_iter(conn):
    conn.send(trouble.asking(rtnl.links()))
    async for _ in conn.receive_iter():
        pass


async def events(conn):
    async with conn.watch(trouble.LINK_EVENTS) as events:
        await conn.do(Request(rtnl.link(rtnl.RTM_NEWLINK, 1, mtu=1400)))
        await conn.do(SET)
        assert await anext(events) is not None
        assert await events.next(30) is not None


CALLS = {
    "execute": lambda conn: conn.execute(GET.message),
    "execute_iter": stream,
    "do": lambda conn: conn.do(GET),
    "dump": results,
    "collect": lambda conn: conn.collect(LINKS, timeout=30),
    "batch": lambda conn: conn.batch([GET, SET] * 50),
    "receive": lambda conn: receive(conn, GET.message),
    "receive a series": lambda conn: receive(conn, rtnl.links()),
    "receive_iter": receive_iter,
    "events": events,
    "execute in a thread": lambda conn: conn.execute(GET.message, offload=True),
    "execute_iter in a thread": lambda conn: stream(conn, offload=True),
    "collect in a thread": lambda conn: conn.collect(LINKS, offload=True),
    "batch in a thread": lambda conn: conn.batch([SET] * 50, offload=True),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("call", CALLS)
def test_cancellation_at_every_await(run, call, monkeypatch):
    # A turn for the loop before each datagram, and a socket on which nothing is there at first.
    monkeypatch.setattr(aiopool, "_BURST", 2)

    async def main():
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        async with AsyncConn(nl.NETLINK_ROUTE, timeout=30, _open=loops.Hesitant) as conn:
            await CALLS[call](conn)
            await loops.still_works(conn)
            await loop.run_in_executor(None, int)
            before = descriptors()
            for suspension in itertools.count():
                cancelled = await loops.cancelled_at(suspension, CALLS[call](conn))
                await loop.run_in_executor(None, int)  # after what the thread had to do
                # One of the idle sockets may be gone.
                assert descriptors() <= before
                assert len(conn._pool._waiting) == len(conn._pool._lent) == len(conn._pool._unwanted) == 0
                await loops.still_works(conn)
                assert descriptors() <= before
                if not cancelled:
                    break
            assert suspension >= 2
            assert descriptors() == before
            if "receive" not in call:
                assert conn.stats.stale == 0

    run(main())


def test_cancelled_while_it_waits_for_its_turn(run):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE) as conn:
            first = asyncio.create_task(conn.receive())
            await loops.waiting(conn)
            assert await loops.cancelled_at(0, conn.receive())
            third = asyncio.create_task(conn.receive())
            conn.send(trouble.asking(GET.message))
            conn.send(trouble.asking(GET.message))
            assert [name((await task)[0]) for task in (first, third)] == ["lo", "lo"]

    run(main())


def test_cancelling_one_disturbs_no_other(run):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE, _open=loops.Hesitant) as conn:
            waiting = [asyncio.create_task(conn.do(SILENT)) for _ in range(10)]
            heard = asyncio.create_task(anext(conn.watch(trouble.LINK_EVENTS)))
            received = asyncio.create_task(conn.receive())
            dumps = [asyncio.create_task(conn.collect(LINKS)) for _ in range(10)]
            await loops.waiting(conn, 12)
            for task in waiting + dumps[::2]:
                task.cancel()
            assert [len(await dump) for dump in dumps[1::2]] == [61] * 5
            assert await conn.do(trouble.link("red")) is None
            assert await heard == (rtnl.RTM_NEWLINK, "red")
            conn.send(trouble.asking(GET.message))
            assert name((await received)[0]) == "lo"
            ends = await asyncio.gather(*waiting, return_exceptions=True)
            assert all(isinstance(end, asyncio.CancelledError) for end in ends)

    run(main())


# Closed ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("thread", [False, True], ids=["", "from a thread"])
def test_close_ends_what_waits(run, thread):
    async def main():
        # What asyncio itself keeps open for threads is open now.
        await asyncio.to_thread(int)
        before = descriptors()
        for _ in range(50):
            conn = AsyncConn(nl.NETLINK_ROUTE)
            events = conn.watch(QUIET)
            tasks = [
                asyncio.create_task(call)
                for call in (
                    conn.receive(),
                    conn.receive(),
                    anext(conn.receive_iter()),
                    conn.do(SILENT),
                    conn.do(SILENT, timeout=30),
                    anext(events),
                    events.next(30),
                    anext(conn.watch(QUIET)),
                )
            ]
            while sum(map(len, conn._pool._waiting.values())) < 7:  # all but one, whose turn to receive it is not
                await asyncio.sleep(0)
            pool = conn._pool
            if thread:
                await asyncio.to_thread(conn.close)
            else:
                conn.close()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
            assert [type(end) for end in ends] == [nl.Closed] * 8
            assert len(pool._waiting) == 0
            events.close()
        del tasks, ends
        await asyncio.sleep(0)  # until then the loop holds what woke this task
        gc.collect()
        assert descriptors() == before

    run(main())


def test_closed(run):
    async def main():
        conn = AsyncConn(nl.NETLINK_ROUTE)
        replies = conn.execute_iter(rtnl.links())
        results = conn.dump(LINKS)
        assert await anext(results) == "lo"
        await conn.aclose()
        conn.close()
        for call in (
            lambda: conn.execute(GET.message),
            lambda: conn.do(GET),
            lambda: conn.do(GET, offload=True),
            lambda: conn.collect(LINKS),
            lambda: conn.batch([GET]),
            lambda: conn.receive(),
            lambda: anext(replies),
        ):
            with pytest.raises(nl.Closed):
                await call()
        for call in (lambda: conn.send(GET.message), lambda: conn.dump(LINKS), lambda: conn.watch(QUIET)):
            with pytest.raises(nl.Closed):
                call()
        with pytest.raises(nl.Closed):
            [link async for link in results]

    run(main())


def test_closing_what_another_task_waits_for(run):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE) as conn:
            events = conn.watch(QUIET)
            replies = conn.execute_iter(rtnl.links().replace(type=nl.NLMSG_NOOP))
            assert [message async for message in replies] == []
            replies = aio_replies(conn)
            tasks = [asyncio.create_task(call) for call in (anext(events), events.next(30), anext(replies, "end"))]
            while sum(map(len, conn._pool._waiting.values())) < 3:
                await asyncio.sleep(0)
            events.close()
            replies.close()
            first, second, third = await asyncio.gather(*tasks, return_exceptions=True)
            assert (type(first), type(second), third) == (nl.Closed, nl.Closed, "end")
            await loops.still_works(conn)

    def aio_replies(conn):
        return nl.aio.AsyncReplies(conn._pool, SILENT.message, SILENT, None, False)

    run(main())


def test_forgetting_to_close_warns_and_leaks_nothing(run):
    async def main():
        before = descriptors()
        with pytest.warns(ResourceWarning, match="unclosed <AsyncConn"):
            AsyncConn(nl.NETLINK_ROUTE)
        assert descriptors() == before

    run(main())


# Loops -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("second", loops.ALL)
def test_a_connection_outlives_its_loop(run, second):
    async def main(receiving):
        for _ in range(2):
            await loops.still_works(conn)
        if receiving:
            others = [asyncio.create_task(call) for call in (conn.receive(), conn.receive(), anext(events))]
            while sum(map(len, conn._pool._waiting.values())) < 2:
                await asyncio.sleep(0)
            await conn.batch([Request(rtnl.link(rtnl.RTM_NEWLINK, 1, mtu=1400)), SET])
            assert await others.pop() == (rtnl.RTM_NEWLINK, "lo")
            return [await anext(results) for _ in range(30)]  # the others are cancelled with the loop
        assert await anext(events) == (rtnl.RTM_NEWLINK, "lo")
        assert await events.next(0) is None
        others = [asyncio.create_task(conn.receive()) for _ in range(2)]
        await loops.waiting(conn)
        conn.send(trouble.asking(GET.message))
        conn.send(trouble.asking(GET.message))
        assert [name((await other)[0]) for other in others] == ["lo", "lo"]
        return [link async for link in results]

    with closing(AsyncConn(nl.NETLINK_ROUTE, timeout=30, _open=loops.Hesitant)) as conn:
        events = conn.watch(trouble.LINK_EVENTS)
        results = conn.dump(LINKS)
        links = run(main(True))
        links += loops.runner(second)(main(False))
        assert len(links) == len(set(links)) == 61
        events.close()


@pytest.mark.parametrize("kind", loops.ALL)
def test_a_loop_that_is_closed_under_what_waits(kind):
    """Nobody cancels, nobody closes: it is garbage some time later."""
    loops.runner(kind)(asyncio.sleep(0))
    with network():
        gc.collect()
        before = descriptors()
        conn = AsyncConn(nl.NETLINK_ROUTE)
        events = conn.watch(QUIET)
        calls = [conn.receive(), conn.do(SILENT, timeout=30), anext(events)]
        loop = loops.new(kind)
        tasks = [loop.create_task(call) for call in calls]
        loop.run_until_complete(loops.waiting(conn, 3))
        loop.set_exception_handler(lambda *_: None)  # "Task was destroyed but it is pending"
        loop.close()
        loops.runner(kind)(conn.do(GET))
        events.close()
        del tasks, calls, events, loop
        gc.collect()
        assert len(conn._pool._waiting) == 0
        assert len(conn._pool._all) == 2  # its own, and that of the request that was made since
        conn.close()
        del conn
        gc.collect()
        assert descriptors() == before


def test_a_fork_has_sockets_of_its_own(run):
    async def child():
        assert await conn.do(GET) == "lo"
        assert len(await conn.collect(LINKS)) == 61
        for call in (anext(results), anext(events)):
            with pytest.raises(nl.Closed):
                await call
        return 0

    async def parent():
        return len([link async for link in results])

    with closing(AsyncConn(nl.NETLINK_ROUTE, timeout=30)) as conn, closing(conn.watch(QUIET)) as events:
        results = conn.dump(LINKS)
        run(conn.do(GET))
        pid = os.fork()
        if not pid:
            status = 1
            try:
                status = run(child())
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert run(parent()) == 61
