"""The asyncio connection on the real kernel: its surface, and what other tasks notice of it."""

import asyncio
import errno
import inspect
import subprocess
import sys
from contextlib import aclosing

import pytest

import loops
import netlink_codec as nl
import rtnl
import trouble
from namespaces import descriptors, network
from netlink_codec import AsyncConn, Conn, Request, netns
from netlink_codec._socket import Socket
from trouble import GET, LINKS, MISSING, SET, name

ROUTE_COUNT = 20_000


@pytest.fixture(params=loops.ALL)
def run(request):
    with network():
        yield loops.runner(request.param)


# The surface -----------------------------------------------------------------------------------------------------


def test_importing_the_package_does_not_import_asyncio():
    program = """
import sys, netlink_codec
assert "asyncio" not in sys.modules and "netlink_codec.aio" not in sys.modules
assert netlink_codec.AsyncConn is netlink_codec.aio.AsyncConn
assert "asyncio" in sys.modules
try:
    netlink_codec.AsyncCon
except AttributeError as error:
    print(error)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "module 'netlink_codec' has no attribute 'AsyncCon'\n"


def test_the_surface_is_that_of_the_blocking_connection():
    names = [name for name in dir(Conn) if not name.startswith("_")]
    assert "execute_iter" in names
    for called in ["__init__", *names]:
        blocking, twin = getattr(Conn, called), getattr(AsyncConn, called)
        if inspect.isfunction(blocking):
            parameters = inspect.signature(twin).parameters
            for parameter in inspect.signature(blocking).parameters.values():
                other = parameters[parameter.name]
                assert (other.default, other.kind) == (parameter.default, parameter.kind), called
            assert twin.__doc__ or called == "__init__"
    assert not hasattr(AsyncConn, "__enter__")
    assert not hasattr(AsyncConn, "__iter__")


@pytest.mark.kernel
@pytest.mark.parametrize("options", [{}, {"offload": True}], ids=["", "offload"])
@pytest.mark.parametrize("socket", [Socket, loops.Hesitant])
def test_messages_and_requests(run, socket, options):
    """Whether or not there is something to wait for, and whichever thread makes the system calls."""

    async def main():
        before = descriptors()
        async with AsyncConn(nl.NETLINK_ROUTE, timeout=30, _open=socket) as conn:
            await loops.still_works(conn)
            with pytest.raises(nl.NotFound):
                await conn.do(MISSING, **options)
            assert await conn.do(MISSING.tolerate(errno.ENODEV), **options) is None
            with pytest.raises(nl.NetlinkError) as caught:
                await conn.execute(MISSING.message, **options)
            assert caught.value.errno == errno.ENODEV
            assert await conn.do(GET, **options) == await conn.do(trouble.GET_ALONE, **options) == "lo"
            links = [name(message) async for message in conn.execute_iter(rtnl.links(), **options)]
            assert links == [link async for link in conn.dump(LINKS, **options)] == await conn.collect(LINKS, **options)
            assert len(links) == 61
            only = nl.Dump(rtnl.links(), lambda message: name(message) if name(message) == "ifb7" else None)
            assert await conn.collect(only, **options) == ["ifb7"]
            for acknowledge in ("each", "last"):
                results = await conn.batch([SET, GET] * 300, acknowledge=acknowledge, **options)
                assert results == [None, "lo"] * 300
            with pytest.raises(nl.BatchError) as caught:
                await conn.batch([GET, MISSING, SET], **options)
            assert caught.value.results == ["lo", caught.value.exceptions[0], None]
            (error,) = await conn.batch([MISSING], errors="return", **options)
            assert isinstance(error, nl.NotFound)
            with pytest.raises(ValueError, match="batch"):
                await conn.batch([LINKS], **options)
            assert conn.stats.stale == conn.stats.overruns == 0
            assert (len(conn._pool._idle), len(conn._pool._all)) == (1, 2)  # the other is its own
        assert descriptors() == before

    loops.many_links()
    run(main())


@pytest.mark.kernel
def test_the_raw_calls(run):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE, timeout=30, groups=[trouble.RTNLGRP_LINK]) as conn:
            assert conn.fileno() > 0
            first, second = conn.send_messages([trouble.asking(GET.message)] * 2)
            assert first.pid == second.pid == conn.pid
            for sent in (first, second):
                (reply,) = await conn.receive()
                assert reply.seq == sent.seq
            receiving = asyncio.create_task(conn.receive())
            await loops.waiting(conn)
            await conn.do(trouble.link("red"))
            (event,) = await receiving
            assert (event.type, name(event)) == (rtnl.RTM_NEWLINK, "red")
            conn.leave_group(trouble.RTNLGRP_LINK)
            await conn.do(trouble.link("blue"))
            for stop in (0, 1, 30, 62):
                conn.send(trouble.asking(rtnl.links()))
                position = -1
                async with aclosing(conn.receive_iter()) as messages:
                    async for _ in messages:
                        position += 1
                        if position == stop:
                            break
                sent = conn.send(trouble.asking(GET.message))
                (reply,) = await conn.receive()
                assert reply.seq == sent.seq
            conn.send(trouble.asking(MISSING.message))
            messages = conn.receive_iter()
            with pytest.raises(nl.NetlinkError) as caught:
                await anext(messages)
            assert caught.value.errno == errno.ENODEV
            assert [message async for message in messages] == []

    loops.many_links()
    run(main())


@pytest.mark.kernel
def test_deadlines(run):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE) as conn:
            with pytest.raises(TimeoutError) as caught:
                await conn.receive(timeout=0.01)
            assert isinstance(caught.value, nl.Timeout)
            with pytest.raises(nl.Timeout):
                await anext(conn.receive_iter(timeout=0))
            # The acknowledgement comes, and no reply after it.
            silent = Request(SET.message, ends="reply", doing="wait in vain")
            for offload in (False, True):
                with pytest.raises(nl.Timeout) as caught:
                    await conn.do(silent, timeout=0.01, offload=offload)
                assert caught.value.request is silent
                assert str(caught.value).startswith("wait in vain: ")
            assert await conn.do(GET, timeout=0) == "lo"  # it bounds the waiting, and there was none
            async with conn.watch(trouble.LINK_EVENTS) as events:
                assert await events.next(0) is None
                assert await events.next(0.01) is None
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await conn.do(silent)
            assert len(conn._pool._waiting) == 0
            await loops.still_works(conn)
        async with AsyncConn(nl.NETLINK_ROUTE, timeout=0.01) as conn:
            with pytest.raises(nl.Timeout):
                await conn.receive()
            before = descriptors()
            with pytest.raises(nl.Timeout):
                await conn.do(silent)
            assert descriptors() == before - 1

    run(main())


@pytest.mark.kernel
def test_a_dump_that_changes(run):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE, timeout=30) as conn:
            (link,) = await conn.execute(rtnl.link(rtnl.RTM_GETLINK, name="ifb0"))
            index = rtnl.IFINFOMSG.unpack_from(link.view)[2]
            await conn.batch([trouble.add_address(index, bytes([10, 0, i // 250, i % 250])) for i in range(1500)])
            changes = iter(range(100))
            with Conn(nl.NETLINK_ROUTE) as other:

                def disturb(message):
                    if message.seq != disturb.seq:  # once a dump
                        disturb.seq = message.seq
                        other.do(trouble.add_address(index, bytes([10, 1, next(changes), 1])))
                    return message

                disturb.seq = 0
                dump = nl.Dump(rtnl.addresses(), disturb)
                got = []
                with pytest.raises(nl.DumpInterrupted):  # noqa: PT012
                    async for address in conn.dump(dump):
                        got.append(address)
                assert len(got) >= 1500
                with pytest.raises(nl.DumpInterrupted) as caught:
                    await conn.collect(dump, retries=3)
                assert next(changes) == 5
                assert len(caught.value.results) >= 1500
            assert len(await conn.collect(nl.Dump(rtnl.addresses(), lambda message: message))) == 1505

    loops.many_links(1)
    run(main())


@pytest.mark.kernel
def test_another_namespace(run):
    async def main(namespace):
        async with AsyncConn(nl.NETLINK_ROUTE, netns=namespace) as conn:
            assert await conn.collect(LINKS) == ["lo", "ifb0"]
            results = await asyncio.gather(*(conn.collect(LINKS, offload=True) for _ in range(5)))
            assert results == [["lo", "ifb0"]] * 5
        async with AsyncConn(nl.NETLINK_ROUTE) as conn:
            assert await conn.collect(LINKS) == ["lo"]

    loops.many_links(1)
    with netns.NetNS.current() as outer, network():
        run(main(outer))


@pytest.mark.kernel
def test_traffic_is_shown_when_asked(run, capfd):
    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE, debug=True) as conn:
            await conn.do(GET)

    run(main())
    text = capfd.readouterr().err
    assert text.count("RTM_GETLINK") >= 1
    assert text.count("RTM_NEWLINK") == 1


@pytest.mark.kernel
def test_an_overrun_of_a_request_is_told_once_and_it_goes_on(run):
    class Overrunning(Socket):
        due = True

        def receive_now(self):
            if Overrunning.due:
                Overrunning.due = False
                raise nl.Overrun()
            return super().receive_now()

    async def main():
        async with AsyncConn(nl.NETLINK_ROUTE, timeout=30, _open=Overrunning) as conn:
            replies = conn.execute_iter(rtnl.links())
            with pytest.raises(nl.Overrun) as caught:
                await anext(replies)
            assert caught.value.request is replies.sent
            assert [name(message) async for message in replies] == ["lo"]
            Overrunning.due = True
            assert await conn.batch([SET, GET]) == [None, "lo"]
            assert conn.stats.overruns == 2
            await loops.still_works(conn)

    run(main())
