"""Late values as such, and what requests make of them, on kernels that tests make too."""

import asyncio
import errno
import gc
import pickle
import struct

import pytest

import loops
import netlink_codec as nl
import rtnl
import trouble
from namespaces import descriptors, empty_run, network
from netlink_codec import Device, Dump, Family, Namespace, NotFound, Request
from netlink_codec.testing import FakeKernel, Pause, acknowledged, error, reply
from peers import KINDS, Peer

pytestmark = pytest.mark.kernel


@pytest.fixture(params=KINDS)
def conn(request):
    with network(), Peer(request.param, timeout=30) as conn:
        yield conn


def get(name, **options):
    return Request(
        lambda index: rtnl.link(rtnl.RTM_GETLINK, index), trouble.name, late=[Device(name)], doing="get it", **options
    )


def values_of(*late, message=trouble.GET.message):
    """A request whose result is what its late values are."""
    seen = []

    def make(*values):
        seen[:] = values
        return message

    return Request(make, lambda _: tuple(seen), late=late)


# Values and requests ---------------------------------------------------------------------------------------------


def test_values():
    assert Device("lo") == Device("lo") != Device("eth0")
    assert Device("a") != Family("a") != Namespace("a")
    assert len({Device("lo"), Device("lo"), Family("lo")}) == 2
    assert repr(Device("lo")) == "Device('lo')"
    for value in (Device("lo"), Family("nlctrl"), Namespace("blue")):
        assert pickle.loads(pickle.dumps(value)) == value
        assert hash(pickle.loads(pickle.dumps(value))) == hash(value)


@pytest.mark.parametrize("kind", [Device, Family, Namespace])
def test_what_is_no_name(kind):
    for name in ("", "a\0b", "x" * 256):
        with pytest.raises(ValueError, match="cannot be the name of a"):
            kind(name)
    for name in (1, None, b"lo"):
        with pytest.raises(TypeError, match="is a str"):
            kind(name)
    with pytest.raises(ValueError, match="device"):
        Device("é" * 64)


def test_what_is_no_request(conn):
    with pytest.raises(TypeError, match="a function that makes its message"):
        Request(trouble.GET.message, late=[Device("lo")])
    with pytest.raises(TypeError, match="a message is a Message, not function"):
        Request(lambda: trouble.GET.message)
    request = get("lo")
    with pytest.raises(AttributeError, match="see `make`"):
        request.message  # noqa: B018
    with pytest.raises(AttributeError):
        trouble.GET.nonsense  # noqa: B018
    assert request.make(1) == rtnl.link(rtnl.RTM_GETLINK, 1)
    assert repr(values_of(Device("lo"))) == "<Request of Device('lo')>"
    assert repr(request) == "<Request get it>"
    with pytest.raises(TypeError, match="made no Message, but NoneType"):
        conn.do(Request(lambda _: None, late=[Device("lo")]))
    with pytest.raises(ZeroDivisionError):
        conn.batch([trouble.GET, Request(lambda _: 1 // 0, late=[Device("lo")])])
    dump = Dump(rtnl.addresses, rtnl.address_index, late=[Device("lo")])
    with pytest.raises(ValueError, match="cannot be in a batch"):
        conn.batch([dump])
    tolerant = dump.tolerate(1).tolerate(2)
    assert isinstance(tolerant, Dump)
    assert (tolerant.tolerated, tolerant.late, dump.tolerated) == ((1, 2), dump.late, ())


# Kernels that tests make -----------------------------------------------------------------------------------------

GETLINK, GETFAMILY = 18, 16


def size(message):
    return len(message.data)


def answers(payload):
    return lambda requests: [part for one in requests for part in acknowledged(one, reply(one, 16, payload))]


@pytest.mark.parametrize("kind", KINDS)
def test_the_test_kit(kind):
    """A fake kernel answers for its own protocol, and never lets the real one answer for others."""
    route = FakeKernel(nl.NETLINK_ROUTE, answers(rtnl.IFINFOMSG.pack(0, 0, 77, 0, 0)))
    generic = FakeKernel(nl.NETLINK_GENERIC, answers(struct.pack("=BBHHHI", 1, 2, 0, 6, 1, 99)))
    request = Request(lambda *_: nl.Message(1000), size, late=[Device("eth0"), Family("wireguard")])
    with Peer(kind, kernel=route) as conn, pytest.raises(nl.NetlinkError) as caught:
        conn.do(request)
    assert caught.value.errno == errno.EPROTONOSUPPORT
    assert caught.value.request is request
    seen = []
    request.make = lambda *values: (seen.append(values), nl.Message(1000))[1]
    with generic.installed(), Peer(kind, kernel=route) as conn:
        conn.do(request)
        conn.batch([request, request])
    assert seen == [(77, 99)] * 3
    assert [message.type for datagram in generic.requests for message in datagram] == [GETFAMILY] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_look_up_takes_of_the_time_of_the_call(kind):
    def handler(requests):
        pause = Pause(3 if requests[0].type == GETLINK else 4)
        return [pause, *answers(rtnl.IFINFOMSG.pack(0, 0, 77, 0, 0))(requests)]

    request = Request(lambda index: nl.Message(1000), size, late=[Device("eth0")])
    dump = Dump(lambda index: nl.Message(1000), size, late=[Device("eth0")])
    kernel = FakeKernel(nl.NETLINK_ROUTE, handler)
    with Peer(kind, kernel=kernel) as conn:
        for call, asked in ((conn.do, request), (conn.collect, dump), (conn.dump, dump)):
            for timeout in (1, 5):
                start = kernel.clock()
                with pytest.raises(nl.Timeout) as caught:
                    call(asked, timeout=timeout)
                assert caught.value.request is asked
                assert kernel.clock() == start + timeout
        start = kernel.clock()
        for timeout in (1, 5):
            with pytest.raises(nl.Timeout):
                conn.batch([request], timeout=timeout)
        assert kernel.clock() == start + 6
        assert conn.do(request, timeout=8) == 16


@pytest.mark.parametrize("kind", KINDS)
def test_a_look_up_that_fails_otherwise(kind):
    """Of several values the first that failed tells why, to each request by itself."""

    def handler(requests):
        refused = [error(one, errno.EPERM if b"red" in one.data else errno.ENODEV, message="no") for one in requests]
        return [
            part
            for one, other in zip(requests, refused, strict=True)
            for part in ([other] if one.type == GETLINK else acknowledged(one))
        ]

    requests = [
        Request(lambda *_: nl.Message(1000), late=[Device(name) for name in names], doing=f"do {names}")
        for names in (["red", "blue"], ["blue", "red"], ["blue"])
    ]
    with Peer(kind, kernel=FakeKernel(nl.NETLINK_ROUTE, handler)) as conn:
        first, second, third, fourth = conn.batch([*requests, Request(nl.Message(1000))], errors="return")
        assert isinstance(first, nl.NotPermitted)
        assert "do ['red', 'blue']: " in str(first)
        assert "device 'red'" in str(first)
        assert first.message == "no"
        assert isinstance(second, NotFound)
        assert isinstance(third, NotFound)
        assert second is not third
        assert fourth is None
        with pytest.raises(nl.NotPermitted):
            conn.do(requests[0])


def test_results_of_which_two_tasks_want_the_first():
    kernel = FakeKernel(nl.NETLINK_ROUTE, lambda requests: [Pause(1), *answers(bytes(16))(requests)])
    dump = Dump(lambda index: nl.Message(1000), size, late=[Device("eth0")])

    async def main():
        async with kernel.async_conn() as conn:
            results = conn.dump(dump)
            first = asyncio.create_task(anext(results))
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="another task"):
                await anext(results)
            assert await first == 16
            results = conn.dump(dump)
            first = asyncio.create_task(anext(results))
            await loops.waiting(conn)
            results.close()
            with pytest.raises(StopAsyncIteration):
                await first
            assert [result async for result in conn.dump(dump)] == [16]
            results = conn.dump(dump)
            results.close()
            assert [result async for result in results] == []

    asyncio.run(main())


@pytest.mark.parametrize("offload", [False, True])
def test_cancelled_anywhere(offload):
    """Nothing stays open, and all works on."""
    calls = [
        lambda conn: conn.do(values_of(Device("lo"), Namespace("blue"), Family("nlctrl")), offload=offload),
        lambda conn: conn.batch([values_of(Device("lo"), Namespace("blue")), trouble.GET], offload=offload),
        lambda conn: conn.collect(
            Dump(lambda *_: rtnl.links(), trouble.name, late=[Namespace("blue"), Device("lo")]), offload=offload
        ),
        lambda conn: anext(
            conn.dump(
                Dump(lambda *_: rtnl.links(), trouble.name, late=[Namespace("blue"), Device("lo")]), offload=offload
            )
        ),
    ]

    async def main():
        async with nl.AsyncConn(nl.NETLINK_ROUTE, _open=loops.Hesitant) as conn:
            for call in calls:
                await call(conn)
                gc.collect()
                before = descriptors()
                suspension = 0
                while await loops.cancelled_at(suspension, call(conn)):
                    suspension += 1
                assert suspension > 1
                while conn._pool._lent:
                    await asyncio.sleep(0)
                gc.collect()
                assert descriptors() <= before + 1  # of the namespace, once the last socket was dropped
                await loops.still_works(conn)

    with network(), empty_run(), nl.netns.create("blue"):
        asyncio.run(main())
