"""Procedures: several steps that are one request."""

import asyncio
import errno
import functools

import pytest

import loops
import netlink_codec as nl
import rtnl
import trouble
from namespaces import descriptors, network
from netlink_codec import Device, Procedure, Request
from netlink_codec.testing import FakeKernel, Pause, ack, acknowledged, error, multipart, reply
from peers import KINDS, Peer

pytestmark = pytest.mark.kernel


@pytest.fixture(params=KINDS)
def conn(request):
    with network(), Peer(request.param, timeout=30) as conn:
        yield conn


def delete(name):
    return Request(lambda index: rtnl.link(rtnl.RTM_DELLINK, index), late=[Device(name)], doing=f"delete {name}")


def test_steps_and_their_results(conn):
    seen = []

    def steps():
        seen.append((yield trouble.GET))
        seen.append((yield trouble.link("ifb0")))
        seen.append(sorted((yield trouble.LINKS)))
        seen.append((yield [trouble.link("ifb1"), trouble.GET, trouble.link("ifb2")]))
        seen.append((yield (trouble.GET,)))
        seen.append((yield []))
        seen.append(len((yield trouble.LINKS)))
        yield delete("ifb1")
        return (yield trouble.LINKS)

    procedure = Procedure(steps)
    for _ in range(3):  # the value stays as it is
        assert set(conn.do(procedure)) == {"lo", "ifb0", "ifb2"}
        assert seen == ["lo", None, ["ifb0", "lo"], [None, "lo", None], ["lo"], [], 4]
        del seen[:]
        conn.batch([delete("ifb0"), delete("ifb2")])


def test_arguments(conn):
    def remove_all(prefix, *, but):
        names = [name for name in (yield trouble.LINKS) if name.startswith(prefix) and name != but]
        yield [delete(name) for name in names]
        return len(names)

    conn.batch([trouble.link(f"ifb{number}") for number in range(20)])
    assert conn.do(Procedure(functools.partial(remove_all, "ifb", but="ifb7"))) == 19
    assert set(conn.collect(trouble.LINKS)) == {"lo", "ifb7"}


def test_no_step_at_all(conn):
    def steps():
        return 7
        yield

    assert conn.do(Procedure(steps)) == 7


def test_errors_are_raised_at_the_yield(conn):
    seen = []

    def steps():
        for step in (trouble.MISSING, delete("nope")):
            try:
                yield step
            except nl.NotFound as error:
                seen.append(error.request)
        try:
            yield [trouble.MISSING, trouble.GET]
        except nl.BatchError as error:
            seen.append(error.results[1])
        assert (yield trouble.MISSING.tolerate(errno.ENODEV)) is None
        return (yield trouble.GET)

    assert conn.do(Procedure(steps)) == "lo"
    assert [request.doing for request in seen[:2]] == ["", "delete nope"]
    assert seen[2] == "lo"


def test_an_error_that_is_not_caught(conn):
    closed = []

    def steps():
        try:
            yield trouble.link("ifb0")
            yield delete("nope")
            closed.append("never")
        finally:
            closed.append("closed")

    procedure = Procedure(steps, doing="make a mess")
    assert repr(procedure) == "<Procedure make a mess>"
    with pytest.raises(nl.NotFound, match="delete nope: ") as caught:
        conn.do(procedure)
    assert caught.value.__notes__ == ["in a procedure: make a mess"]
    assert closed == ["closed"]
    conn.do(delete("ifb0"))
    assert conn.do(procedure.tolerate(errno.ENODEV)) is None
    assert procedure.tolerated == ()
    assert set(conn.collect(trouble.LINKS)) == {"lo", "ifb0"}

    def broken():
        yield trouble.GET
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        conn.do(Procedure(broken))


def test_one_in_another(conn):
    def inner(name):
        yield trouble.link(name)
        if name == "ifb3":
            yield trouble.MISSING
        return name.upper()

    def outer():
        names = []
        for number in range(3):
            names.append((yield Procedure(functools.partial(inner, f"ifb{number}"))))
        try:
            yield Procedure(functools.partial(inner, "ifb3"))
        except nl.NotFound:
            names.append("caught")
        names.append((yield Procedure(functools.partial(inner, "ifb3")).tolerate(errno.EEXIST)))
        return names

    assert conn.do(Procedure(outer)) == ["IFB0", "IFB1", "IFB2", "caught", None]


def test_what_is_no_procedure(conn):
    def steps():
        yield trouble.GET

    with pytest.raises(TypeError, match="a function that returns a generator, not generator"):
        Procedure(steps())
    with pytest.raises(TypeError, match="made no generator, but list"):
        conn.do(Procedure(lambda: [trouble.GET]))
    for request in (Procedure(steps), Procedure(steps).tolerate(errno.ENODEV)):
        sent = Procedure(steps)
        with pytest.raises(ValueError, match="cannot be in a batch: it takes several steps"):
            conn.batch([trouble.link("ifb0")] * 200 + [request])
        with pytest.raises(AttributeError):
            sent.message  # noqa: B018
    assert conn.collect(trouble.LINKS) == ["lo"]  # nothing was sent
    for step in (None, 1, "lo", trouble.GET.message, trouble.LINK_EVENTS):

        def wrong(step=step):
            try:
                yield step
            except TypeError as error:
                return str(error)

        assert conn.do(Procedure(wrong)).startswith("a procedure yields requests, dumps and lists of requests, not ")


# Time, and ends that come early ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_one_deadline_for_all(kind):
    request = Request(nl.Message(1000))
    seen = []

    def steps():
        for step in (request, nl.Dump(nl.Message(1000), len), [request]):
            yield step
            seen.append(kernel.clock())
        try:
            yield request
        except nl.Timeout:
            seen.append(kernel.clock())
            yield nl.Request(nl.Message(2000))  # what is there at once
            raise

    kernel = FakeKernel(
        nl.NETLINK_ROUTE,
        lambda requests: [Pause(3 if requests[0].type == 1000 else 0), *(ack(request) for request in requests)],
    )
    with Peer(kind, kernel=kernel) as conn:
        for procedure in (Procedure(steps), Procedure(lambda: (yield Procedure(steps)))):
            start = kernel.clock()
            del seen[:]
            with pytest.raises(nl.Timeout):
                conn.do(procedure, timeout=10)
            assert [time - start for time in seen] == [3, 6, 9, 10]
    with Peer(kind, kernel=kernel, timeout=10) as conn:
        start = kernel.clock()
        with pytest.raises(nl.Timeout):
            conn.do(Procedure(steps))
        assert kernel.clock() - start == 10


@pytest.mark.parametrize("kind", KINDS)
def test_a_dump_is_run_again(kind):
    def handler(requests):
        interrupted = 0 if len(kernel.requests) % 3 else None
        return multipart(requests[0], [reply(requests[0], 16, b"1")] * 2, interrupted=interrupted)

    kernel = FakeKernel(nl.NETLINK_ROUTE, handler)
    dump = nl.Dump(nl.Message(1000, nl.NLM_F_DUMP), lambda message: message.data)
    with Peer(kind, kernel=kernel) as conn:

        def steps():
            return (yield dump)

        assert conn.do(Procedure(steps)) == [b"1"] * 2
        assert len(kernel.requests) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_an_interruption_closes_the_generator(kind):
    """And nothing that it still wants is done."""

    class Interruption(BaseException):
        pass

    ends = []

    def interrupt(_):
        raise Interruption

    def steps():
        try:
            yield Request(nl.Message(1000), interrupt)
        except Exception:
            ends.append("caught")
        finally:
            ends.append("closing")
            yield Request(nl.Message(2000))
            ends.append("never")

    kernel = FakeKernel(nl.NETLINK_ROUTE, lambda requests: acknowledged(requests[0], reply(requests[0], 16)))
    with Peer(kind, kernel=kernel) as conn:
        with pytest.raises(Interruption):
            conn.do(Procedure(steps))
        assert ends == ["closing"]
        assert [message.type for (message,) in kernel.requests] == [1000]
        assert kernel.sockets <= 1


def test_one_that_does_not_want_to_end():
    attempts = []

    def steps():
        for attempt in range(5):
            try:
                yield Request(nl.Message(1000), interrupt)
            except GeneratorExit:
                attempts.append(attempt)

    def interrupt(_):
        raise KeyboardInterrupt

    kernel = FakeKernel(nl.NETLINK_ROUTE, lambda requests: acknowledged(requests[0], reply(requests[0], 16)))
    with kernel.conn() as conn, pytest.raises(KeyboardInterrupt):
        conn.do(Procedure(steps))
    assert attempts == [0, 1, 2, 3, 4]
    assert len(kernel.requests) == 1


@pytest.mark.parametrize("offload", [False, True])
def test_cancelled_anywhere(offload):
    ends = []

    def steps():
        try:
            yield trouble.GET
            yield trouble.LINKS
            yield [trouble.GET, trouble.SET]
            yield Procedure(inner)
        finally:
            ends.append("outer")

    def inner():
        try:
            yield trouble.GET
        finally:
            ends.append("inner")

    async def main():
        async with nl.AsyncConn(nl.NETLINK_ROUTE, _open=loops.Hesitant) as conn:
            procedure = Procedure(steps)
            await conn.do(procedure)
            before = descriptors()
            del ends[:]
            suspension = 0
            while await loops.cancelled_at(suspension, conn.do(procedure, offload=offload)):
                suspension += 1
            assert suspension >= 4
            assert ends.count("outer") == suspension + 1
            assert ends.count("inner") >= 2
            while conn._pool._lent:
                await asyncio.sleep(0)
            assert descriptors() <= before + 1  # of the namespace, once the last socket was dropped
            await loops.still_works(conn)

    with network():
        asyncio.run(main())


def test_many_at_once(conn):
    def steps(number):
        yield trouble.link(f"ifb{number}")
        yield [trouble.GET, trouble.GET]
        return len((yield trouble.LINKS))

    procedures = [Procedure(functools.partial(steps, number)) for number in range(8)]

    async def tasks():
        async with asyncio.TaskGroup() as group:
            work = [group.create_task(conn.conn.do(procedure)) for procedure in procedures]
        return [task.result() for task in work]

    if conn.asynchronous:
        counts = asyncio.run(tasks())
    else:
        counts = trouble.together([functools.partial(conn.do, procedure) for procedure in procedures])
    assert max(counts) == 9


def test_an_error_of_the_kernel_in_the_middle():
    """What is raised in the generator is what the caller would get."""
    seen = []

    def steps():
        try:
            yield request
        except nl.NetlinkError as caught:
            seen.append(caught)
            raise

    request = Request(nl.Message(1000), doing="ask")
    kernel = FakeKernel(nl.NETLINK_ROUTE, lambda requests: error(requests[0], errno.EPERM, message="no"))
    with kernel.conn() as conn, pytest.raises(nl.NotPermitted) as caught:
        conn.do(Procedure(steps))
    assert seen == [caught.value]
    assert caught.value.request is request
    assert not hasattr(caught.value, "__notes__")
