"""The asyncio connection among tasks: many at once, early exits, and what the others notice."""

import asyncio
import gc
import threading

import pytest

import loops
import netlink_codec as nl
import rtnl
import trouble
from namespaces import descriptors, network
from netlink_codec import AsyncConn, Conn, Request, aiopool
from netlink_codec._socket import Socket
from trouble import GET, LINKS, MISSING, ROUTES, SET, name

pytestmark = pytest.mark.kernel

ROUTE_COUNT = 20_000


@pytest.fixture(params=loops.ALL)
def run(request):
    with network():
        yield loops.runner(request.param)


def test_many_tasks_on_one_connection(run):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE, timeout=30) as conn:

            async def work(index):
                for _ in range(625):
                    reply = await conn.do(Request(rtnl.link(rtnl.RTM_GETLINK, index), lambda message: message))
                    assert rtnl.IFINFOMSG.unpack_from(reply.view)[2] == index
                return index

            indexes = [rtnl.IFINFOMSG.unpack_from(m.view)[2] for m in await conn.execute(rtnl.links())]
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(work(index)) for index in indexes]
            assert [task.result() for task in tasks] == indexes
            assert len(indexes) == 16
            assert conn.stats.stale == 0
            assert len(conn._pool._all) <= 16

    loops.many_links(15)
    run(main())


def test_several_dumps_at_once(run):
    async def main(destinations):
        async with AsyncConn(nl.NETLINK_ROUTE, timeout=30) as conn:
            first, second = conn.dump(ROUTES), conn.dump(ROUTES)
            both = [(await anext(first), await anext(second)) for _ in range(1500)]
            assert all(one == other for one, other in both)
            results = await asyncio.gather(*(conn.collect(ROUTES) for _ in range(8)))
            assert [len(result) for result in results] == [ROUTE_COUNT] * 8
            inner = 0
            async for _ in conn.dump(LINKS):
                inner += 1
                assert await conn.do(GET) == "lo"
                assert len([link async for link in conn.dump(LINKS)]) == 61
            assert inner == 61
            first.close()
            assert [route async for route in first] == []
            assert len([route async for route in second]) == ROUTE_COUNT - 1500
            assert len(destinations) == ROUTE_COUNT

    loops.many_links()
    with Conn(nl.NETLINK_ROUTE) as conn:
        destinations = trouble.add_routes(conn, ROUTE_COUNT)
    run(main(destinations))


def test_leaving_early_is_free(run):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE, timeout=30) as conn:
            await loops.still_works(conn)
            before = descriptors()
            for stop in (0, 1, 2, 100, 1000, 5000, 10_000, 19_998, 19_999):
                position = -1
                async for _ in conn.dump(ROUTES):
                    position += 1
                    if position == stop:
                        break
                assert position == stop
                await loops.still_works(conn)
                async with conn.execute_iter(rtnl.routes()) as messages:
                    for _ in range(stop):
                        await anext(messages)
                assert [message async for message in messages] == []
                with pytest.raises(ZeroDivisionError):  # noqa: PT012
                    async for _ in conn.dump(ROUTES):
                        raise ZeroDivisionError
                conn.execute_iter(rtnl.routes(), offload=True)
                gc.collect()
                assert descriptors() <= before
            await loops.still_works(conn)
            assert descriptors() == before
            assert conn.stats.stale == 0

    with Conn(nl.NETLINK_ROUTE) as conn:
        trouble.add_routes(conn, ROUTE_COUNT)
    run(main())


def test_a_group_of_tasks_of_which_one_fails(run):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE) as conn:
            with pytest.raises(ExceptionGroup) as caught:  # noqa: PT012
                async with asyncio.TaskGroup() as group:
                    waiters = [
                        group.create_task(conn.receive()),
                        group.create_task(conn.do(Request(SET.message, ends="reply"))),
                        group.create_task(anext(conn.watch(nl.Watch([trouble.RTNLGRP_STATS], lambda *_: None)))),
                    ]
                    await loops.waiting(conn, 3)
                    group.create_task(conn.do(MISSING))
            assert [type(error) for error in caught.value.exceptions] == [nl.NotFound]
            assert all(waiter.cancelled() for waiter in waiters)
            assert len(conn._pool._waiting) == 0
            await loops.still_works(conn)

    run(main())


def test_the_loop_gets_its_turn_every_16_datagrams(run):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE) as conn:
            turns = 0

            async def count():
                nonlocal turns
                while True:
                    turns += 1
                    await asyncio.sleep(0)

            counting = asyncio.create_task(count())
            await asyncio.sleep(0)
            calls = 0

            class Counted(Socket):
                def receive_now(self):
                    nonlocal calls
                    calls += 1
                    return super().receive_now()

                def receive_datagram(self):
                    nonlocal calls
                    calls += 1
                    return super().receive_datagram()

            async with AsyncConn(nl.NETLINK_ROUTE, _open=Counted) as conn:
                for _ in range(200):  # an answer and its acknowledgement
                    await conn.do(GET)
                assert turns >= 200 // 8
                before, calls = turns, 0
                async for _ in conn.dump(ROUTES):
                    pass
                assert calls > 8
                assert turns - before >= calls // 8
                assert turns - before <= calls // 8 + 1  # no turn a message
                before, calls = turns, 0
                await conn.batch([SET] * 500)
                assert turns - before >= calls // 8 - 1
                async with conn.watch(trouble.LINK_EVENTS) as events:
                    with Conn(nl.NETLINK_ROUTE) as blocking:
                        blocking.batch([rtnl_change(mtu) for mtu in range(1000, 1050)])
                    before = turns
                    for _ in range(50):
                        await anext(events)
                    assert turns - before >= 50 // 16
            counting.cancel()

    def rtnl_change(mtu):
        return Request(rtnl.link(rtnl.RTM_NEWLINK, 1, mtu=mtu))

    with Conn(nl.NETLINK_ROUTE) as conn:
        trouble.add_routes(conn, ROUTE_COUNT)
    run(main())


def test_what_is_there_is_read_without_waiting(run, monkeypatch):
    """No descriptor, reader, future or thread comes into play where the kernel answers at once, as it mostly does."""

    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE) as conn:

            async def refuse(*_):
                raise AssertionError("waited")

            monkeypatch.setattr(aiopool.AsyncPool, "wait", refuse)
            threads = threading.active_count()
            await loops.still_works(conn)
            assert threading.active_count() == threads

    run(main())


def test_a_blocking_connection_beside_it(run):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE) as conn:
            with Conn(nl.NETLINK_ROUTE, timeout=30) as blocking:
                async for link in conn.dump(LINKS):
                    assert blocking.do(GET) == "lo"
                    assert link in blocking.collect(LINKS)
                events = conn.watch(trouble.LINK_EVENTS)
                receiving = asyncio.create_task(anext(events))
                await loops.waiting(conn)
                blocking.do(trouble.link("red"))
                assert await receiving == (rtnl.RTM_NEWLINK, "red")
                events.close()

    loops.many_links()
    run(main())


@pytest.mark.parametrize("offload", [False, True], ids=["", "offload"])
def test_an_answer_is_for_one_task_at_a_time(run, offload):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE) as conn:
            replies = conn.execute_iter(rtnl.links(), offload=offload)
            conn._pool._burst = 0  # so that the first is suspended
            first = asyncio.create_task(anext(replies))
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="another task"):
                await anext(replies)
            assert name(await first) == "lo"
            assert len([message async for message in replies]) == 60

    loops.many_links()
    run(main())


def test_tasks_that_call_receive_together_get_a_reply_each(run):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE, _open=loops.Hesitant) as conn:
            receiving = [asyncio.create_task(conn.receive()) for _ in range(4)]
            await loops.waiting(conn)
            with pytest.raises(nl.Timeout):
                await conn.receive(timeout=0.01)
            sent = []
            for message in [rtnl.links(), GET.message] * 2:
                sent.append(conn.send(trouble.asking(message)))
                while len([task for task in receiving if task.done()]) < len(sent):
                    await asyncio.sleep(0)
            replies = await asyncio.gather(*receiving)
            assert [len(reply) for reply in replies] == [61, 1, 61, 1]
            assert [{message.seq for message in reply} for reply in replies] == [{message.seq} for message in sent]

    loops.many_links()
    run(main())


def test_a_plain_loop_over_an_asynchronous_answer_is_refused(run):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE) as conn:
            with pytest.raises(TypeError, match="not iterable"):
                list(conn.execute_iter(rtnl.links()))
            with pytest.raises(TypeError):
                next(conn.execute_iter(rtnl.links()))

    run(main())
