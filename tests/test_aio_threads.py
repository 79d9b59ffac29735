"""`offload=True`: system calls that a thread makes, and whose socket is whose meanwhile."""

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import loops
import netlink_codec as nl
import rtnl
from namespaces import descriptors, network
from netlink_codec import AsyncConn
from netlink_codec._socket import Socket
from trouble import GET, LINKS, SET

pytestmark = pytest.mark.kernel


@pytest.fixture(params=loops.ALL)
def run(request):
    with network():
        loops.many_links()
        yield loops.runner(request.param)


async def results(conn):
    async for _ in conn.dump(LINKS, offload=True):
        pass


class Slow(Socket):
    """A socket whose kernel takes its time, until it is let go."""

    entered = threading.Event()
    may_go = threading.Event()
    closed_meanwhile = False

    def _work(self):
        Slow.entered.set()
        Slow.may_go.wait()
        Slow.closed_meanwhile |= self._fd < 0

    def send(self, data):
        self._work()
        super().send(data)

    def send_parts(self, parts):
        self._work()
        super().send_parts(parts)


@pytest.mark.parametrize(
    "call",
    [
        lambda conn: conn.do(GET, offload=True),
        lambda conn: conn.collect(LINKS, offload=True),
        lambda conn: conn.batch([SET], offload=True),
        results,
    ],
    ids=["do", "collect", "batch", "dump"],
)
@pytest.mark.parametrize("end", ["cancel", "close"])
def test_what_a_thread_works_on_stays_open_for_it(run, call, end):
    async def main():
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        await loop.run_in_executor(None, int)
        before = descriptors()
        conn = AsyncConn(nl.NETLINK_ROUTE, _open=Slow)
        Slow.entered.clear()
        Slow.may_go.clear()
        Slow.closed_meanwhile = False
        task = asyncio.create_task(call(conn))
        while not Slow.entered.is_set():
            await asyncio.sleep(0)  # the loop goes on meanwhile
        open_now = descriptors()
        if end == "cancel":
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            conn.close()
        assert descriptors() == open_now
        Slow.may_go.set()
        if end == "close":
            with pytest.raises(nl.Closed):
                await task
        await loop.run_in_executor(None, int)
        assert not Slow.closed_meanwhile
        if end == "cancel":
            await loops.still_works(conn)
            conn.close()
        del task
        gc.collect()
        assert descriptors() == before

    run(main())


@pytest.mark.parametrize(
    "call", [lambda conn: conn.do(SET, offload=True), lambda conn: conn.batch([SET], offload=True)], ids=["do", "batch"]
)
def test_what_waits_for_a_thread_when_it_is_cancelled_is_not_sent(run, call):
    sent = []

    class Noting(Socket):
        def send(self, data):
            sent.append(data)
            super().send(data)

        def send_parts(self, parts):
            sent.append(parts)
            super().send_parts(parts)

    async def main():
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        async with AsyncConn(nl.NETLINK_ROUTE, _open=Noting) as conn:
            may_go = threading.Event()
            blocked = loop.run_in_executor(None, may_go.wait)
            assert await loops.cancelled_at(0, call(conn))
            assert len(conn._pool._all) == 1
            may_go.set()
            await blocked
            await loop.run_in_executor(None, int)
            assert sent == []
            assert len(conn._pool._all) == 0
            await loops.still_works(conn)
            assert sent

    run(main())


def test_system_calls_are_made_where_one_asks_for(run):
    threads = set()

    class Noting(Socket):
        def send(self, data):
            threads.add(threading.get_ident())
            super().send(data)

        def send_parts(self, parts):
            threads.add(threading.get_ident())
            super().send_parts(parts)

        def receive_now(self):
            threads.add(threading.get_ident())
            return super().receive_now()

    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE, _open=Noting) as conn:
            decoded = []
            dump = nl.Dump(rtnl.links(), lambda message: decoded.append(threading.get_ident()))
            for call in (lambda **o: conn.do(GET, **o), lambda **o: conn.collect(dump, **o)):
                threads.clear()
                await call()
                assert threads == {threading.get_ident()}
                threads.clear()
                await call(offload=True)
                assert threading.get_ident() not in threads
                assert threads
            assert set(decoded) == {threading.get_ident()}

    run(main())


def test_closing_what_a_thread_receives(run):
    entered, may_go = threading.Event(), threading.Event()

    class Nothing(Socket):
        def receive_now(self):
            entered.set()
            may_go.wait()

    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE, _open=Nothing) as conn:
            replies = conn.execute_iter(rtnl.links(), offload=True)
            receiving = asyncio.create_task(anext(replies, "end"))
            while not entered.is_set():
                await asyncio.sleep(0)
            replies.close()
            assert len(conn._pool._all) == 1
            may_go.set()
            assert await receiving == "end"
            assert len(conn._pool._all) == 0

    run(main())


def test_no_executor_no_leak(run):
    async def main():
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, int)
        async with AsyncConn(nl.NETLINK_ROUTE) as conn:
            await loop.shutdown_default_executor()
            with pytest.raises(RuntimeError):
                await conn.do(GET, offload=True)
            assert len(conn._pool._all) == len(conn._pool._lent) == 0
            await loops.still_works(conn)

    run(main())
