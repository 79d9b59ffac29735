"""Event loops, and tasks that are cancelled where one wants, for the tests of the asyncio connection."""

import asyncio
import types

import pytest

import netlink_codec as nl
import trouble
from netlink_codec._socket import Socket

ALL = ["asyncio", "uvloop"]
_PATIENCE = 60


def new(kind):
    """A new event loop of this kind."""
    if kind == "uvloop":
        return pytest.importorskip("uvloop", reason="uvloop is not installed").new_event_loop()
    return asyncio.new_event_loop()


def runner(kind):
    """A function that runs a coroutine in a new event loop of this kind."""

    if kind == "uvloop":
        # Before there is a coroutine that nobody would await.
        pytest.importorskip("uvloop", reason="uvloop is not installed")

    def run(main):
        async def bounded():
            async with asyncio.timeout(_PATIENCE):
                return await main

        with asyncio.Runner(loop_factory=lambda: new(kind)) as loop:
            return loop.run(bounded())

    return run


def many_links(count=60):
    """Links besides lo, whose MTU is what SET would make it."""
    with nl.Conn(nl.NETLINK_ROUTE) as conn:
        conn.batch([trouble.SET, *(trouble.link(f"ifb{i}") for i in range(count))])


async def still_works(conn):
    """One of every kind of call; what is left on its own socket is passed over."""
    assert await conn.do(trouble.GET) == "lo"
    assert [trouble.name(message) for message in await conn.execute(trouble.GET.message)] == ["lo"]
    links = await conn.collect(trouble.LINKS)
    assert [link async for link in conn.dump(trouble.LINKS)] == links
    assert links[0] == "lo"
    assert await conn.batch([trouble.GET, trouble.SET]) == ["lo", None]
    sent = conn.send(trouble.asking(trouble.GET.message))
    while sent.seq not in {message.seq for message in await conn.receive()}:
        pass


async def waiting(conn, count=1):
    """Until so many sockets of the connection are waited for."""
    while len(conn._pool._waiting) < count:
        await asyncio.sleep(0)


class Hesitant(Socket):
    """A socket on which nothing has arrived whenever one looks for the first time."""

    _looked = False

    def receive_now(self):
        self._looked = not self._looked
        return None if self._looked else super().receive_now()

    def receive_datagram(self):
        self._looked = not self._looked
        return None if self._looked else super().receive_datagram()


@types.coroutine
def cancelled_at(suspension, coroutine):
    """Await it in a task that is cancelled where it is suspended for the n-th time, from 0; False if it never was."""
    task = asyncio.current_task()
    error = None
    while True:
        try:
            waits_for = coroutine.send(None) if error is None else coroutine.throw(error)
        except StopIteration:
            return False
        except asyncio.CancelledError:
            error = None  # whose traceback leads here
            task.uncancel()
            return True
        if suspension == 0:
            task.cancel()
        suspension -= 1
        try:
            error = None
            yield waits_for
        except BaseException as thrown:
            error = thrown
