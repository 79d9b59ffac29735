"""The fake kernel's clock, and those who wait by it: threads and tasks."""

import asyncio

import pytest

import loops
import netlink_codec as nl
from fakes import Waiter, data, decode
from netlink_codec.testing import (
    Clock,
    FakeKernel,
    Pause,
    WouldHang,
    ack,
    acknowledged,
    overrun,
)

ROUTE, GENERIC = nl.NETLINK_ROUTE, nl.NETLINK_GENERIC
GET = nl.Message(18)


def numbers(messages):
    return [decode(message) for message in messages]


def seen(message, group):
    return group, message.data


def test_who_would_wait_for_ever_is_told():
    kernel = FakeKernel(ROUTE, lambda requests: data(requests[0], 1))
    with kernel.conn() as conn:
        with pytest.raises(WouldHang, match=r"for ever; sent was last\n.*RTM_GETLINK"):
            conn.execute(GET)
        with conn.watch(nl.Watch([1], seen)) as events, pytest.raises(WouldHang, match=r"\(nothing\)"):
            next(events)
        assert kernel.clock() == 0


def test_a_pause_passes_at_once():
    kernel = FakeKernel(ROUTE, lambda requests: [Pause(3600), *data(requests[0], 1), Pause(60), ack(requests[0])])
    with kernel.conn() as conn:
        assert numbers(conn.execute(GET)) == [1]
        assert kernel.clock() == 3660
        assert numbers(conn.execute(GET, timeout=3660)) == [1]
        with pytest.raises(nl.Timeout):
            conn.execute(GET, timeout=3659)
        assert kernel.clock() == 2 * 3660 + 3659


def test_pauses_of_several_sockets_pass_together():
    kernel = FakeKernel(ROUTE, lambda requests: [Pause(10), *data(requests[0], 1), ack(requests[0])])
    with kernel.conn() as conn:
        replies = [conn.execute_iter(GET, timeout=60) for _ in range(3)]
        assert [numbers(each) for each in replies] == [[1]] * 3
        assert kernel.clock() == 10


def test_kernels_may_share_a_clock():
    clock = Clock()
    first, second = (FakeKernel(protocol, lambda requests: None, clock=clock) for protocol in (ROUTE, GENERIC))
    with first.conn() as conn, second.conn() as other:
        for each in (conn, other):
            with pytest.raises(nl.Timeout):
                each.execute(GET, timeout=5)
    assert clock() == 10


def test_a_clock_does_not_go_back():
    clock = Clock()
    clock.advance_to(5)
    clock.advance_to(3)
    assert clock() == 5


@pytest.fixture
def manual():
    return FakeKernel(ROUTE, lambda requests: None, clock=Clock(manual=True))


def test_a_manual_clock_passes_when_told(manual):
    with manual.conn() as conn:
        waiter = Waiter(lambda: conn.execute(GET, timeout=5))
        manual.until_waiting()
        manual.clock.advance(4.9)
        manual.until_waiting()
        assert waiter.is_alive()
        manual.clock.advance(0.2)
        assert isinstance(waiter.result(), nl.Timeout)


def test_under_a_manual_clock_others_may_send(manual):
    with manual.conn() as conn, conn.watch(nl.Watch([1], seen)) as events:
        waiters = [Waiter(lambda: next(events)), Waiter(conn.receive)]
        manual.until_waiting(2)
        manual.notify(1, nl.Message(16, 0, b"a"))
        assert waiters[0].result() == (1, b"a")
        manual.deliver(conn.pid, nl.Message(16, 0, b"\5"))
        assert numbers(waiters[1].result()) == [5]


def test_under_a_manual_clock_a_pause_is_one(manual):
    manual.handler = lambda requests: [Pause(5), ack(requests[0])]
    with manual.conn() as conn:
        waiter = Waiter(lambda: conn.execute(GET))
        manual.until_waiting()
        manual.clock.advance(4)
        manual.until_waiting()
        assert waiter.is_alive()
        manual.clock.advance(1)
        assert waiter.result() == []


def test_until_waiting_does_not_wait_for_ever(manual, monkeypatch):
    monkeypatch.setattr("netlink_codec.testing.kernel._PATIENCE", 0.01)
    with pytest.raises(AssertionError, match="0 of 3 threads wait"):
        manual.until_waiting(3)


# Threads and tasks -----------------------------------------------------------------------------------------------


def test_threads():
    kernel = FakeKernel(ROUTE, lambda requests: acknowledged(requests[0], *data(requests[0], 1, 2, 3)))
    with kernel.conn() as conn:
        waiters = [Waiter(lambda: [numbers(conn.execute(GET)) for _ in range(50)]) for _ in range(8)]
        assert [waiter.result() for waiter in waiters] == [[[1, 2, 3]] * 50] * 8
    assert len(kernel.requests) == 400


@pytest.fixture(params=loops.ALL)
def run(request):
    if request.param == "uvloop":
        pytest.importorskip("uvloop", reason="uvloop is not installed")
    return loops.runner(request.param)


def test_tasks(run):
    """Many at once: each has its own answer, or its own deadline, and no real time passes."""

    def handler(requests):
        (request,) = requests
        return [Pause(request.data[0]), *acknowledged(request, *data(request, request.data[0]))]

    kernel = FakeKernel(ROUTE, handler)

    async def main():
        async with kernel.async_conn() as conn:
            asked = [conn.execute(nl.Message(18, 0, bytes([number])), timeout=50.5) for number in range(100)]
            return await asyncio.gather(*asked, return_exceptions=True)

    outcomes = run(main())
    assert [numbers(outcome) for outcome in outcomes[:51]] == [[number] for number in range(51)]
    assert all(isinstance(outcome, nl.Timeout) for outcome in outcomes[51:])
    assert kernel.clock() == 50.5


def test_threads_of_tasks(run):
    kernel = FakeKernel(ROUTE, lambda requests: [Pause(5), *data(requests[0], 1, 2), *map(ack, requests)])

    async def main():
        async with kernel.async_conn(timeout=60) as conn:
            answers = [conn.execute(GET, offload=True) for _ in range(5)]
            batch = conn.batch([nl.Request(GET, decode), nl.Request(GET)], offload=True)
            return await asyncio.gather(*answers, batch)

    *answers, results = run(main())
    assert [numbers(answer) for answer in answers] == [[1, 2]] * 5
    assert results == [1, None]


def test_tasks_get_their_turns_before_time_passes(run):
    kernel = FakeKernel(ROUTE)

    async def main():
        async with kernel.async_conn() as conn:
            events = conn.watch(nl.Watch([1], seen))
            waiting = asyncio.create_task(events.next(timeout=1))
            await loops.waiting(conn)
            for _ in range(5):
                await asyncio.sleep(0)
            kernel.notify(1, nl.Message(16, 0, b"a"))
            return await waiting, await events.next(timeout=1)

    assert run(main()) == ((1, b"a"), None)
    assert kernel.clock() == 1


def test_tasks_under_a_manual_clock(run, manual):
    async def main():
        async with manual.async_conn() as conn:
            waiting = [asyncio.create_task(conn.execute(GET, timeout=seconds)) for seconds in (5, 7)]
            await loops.waiting(conn, 2)
            manual.clock.advance(6)
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            assert done == {waiting[0]}
            manual.clock.advance(6)
            return await asyncio.gather(*waiting, return_exceptions=True)

    assert [type(outcome) for outcome in run(main())] == [nl.Timeout, nl.Timeout]


def test_an_overrun_wakes_a_task(run):
    """There is something to read, though it is an error."""
    kernel = FakeKernel(ROUTE, lambda requests: [Pause(1), overrun(lost=3), ack(requests[0])])

    async def main():
        async with kernel.async_conn() as conn:
            replies = conn.execute_iter(GET)
            with pytest.raises(nl.Overrun):
                await anext(replies)
            return [message async for message in replies]

    assert run(main()) == []
