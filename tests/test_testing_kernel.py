"""The fake kernel: what it lets arrive, and what its sockets do as real ones would."""

import asyncio
import errno
import gc
import os

import pytest

import netlink_codec as nl
from fakes import KINDS, data, decode
from netlink_codec import _socket
from netlink_codec.testing import (
    Clock,
    FakeKernel,
    Fault,
    Pause,
    ack,
    acknowledged,
    foreign,
    multipart,
    notification,
    overrun,
    reply,
    truncated,
)

ROUTE, GENERIC = nl.NETLINK_ROUTE, nl.NETLINK_GENERIC
GET = nl.Message(18)
DUMP = nl.Message(18, nl.NLM_F_DUMP)


def numbers(messages):
    return [decode(message) for message in messages]


# What a handler returns ------------------------------------------------------------------------------------------

ANSWERS = {
    "a message": lambda r: ack(r),
    "bytes": lambda r: bytes(ack(r)),
    "a list of messages, a datagram each": lambda r: [*data(r, 1, 2), ack(r)],
    "a tuple": lambda r: (*data(r, 1, 2), ack(r)),
    "a list of datagrams": lambda r: [[*data(r, 1, 2), ack(r)]],
    "a generator": lambda r: (message for message in [*data(r, 1, 2), ack(r)]),
    "a mixture": lambda r: [data(r, 1), b"", bytes(data(r, 2)[0]), (ack(r),)],
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer(answer):
    with FakeKernel(ROUTE, lambda requests: answer(requests[0])).conn() as conn:
        assert numbers(conn.execute(GET)) in ([], [1, 2])


def test_nothing_is_an_answer():
    with FakeKernel(ROUTE, lambda requests: None).conn(timeout=1) as conn, pytest.raises(nl.Timeout):
        conn.execute(GET)


def test_the_last_message_of_a_datagram_is_padded():
    kernel = FakeKernel(ROUTE, lambda requests: [reply(requests[0], 16, b"x"), [reply(requests[0], 16, b"yz")]])
    with kernel.conn() as conn:
        conn.send(GET)
        socket = conn._own._socket
        assert [len(socket.receive_datagram().data) for _ in range(2)] == [20, 20]


def test_requests_are_kept():
    kernel = FakeKernel(ROUTE, lambda requests: [ack(request) for request in requests])
    with kernel.conn() as conn:
        conn.batch([nl.Request(nl.Message(16, 0, b"a")), nl.Request(nl.Message(16, 0, b"bc"))])
        conn.execute(GET)
    assert [[request.data for request in sent] for sent in kernel.requests] == [[b"a", b"bc"], [b""]]


def test_a_handler_that_raises_does_so_in_the_call():
    def handler(requests):
        raise ZeroDivisionError

    kernel = FakeKernel(ROUTE, handler)
    with kernel.conn() as conn, pytest.raises(ZeroDivisionError):
        conn.execute(GET)
    assert kernel.sockets == 0


def test_a_generator_runs_as_it_is_read():
    """Two datagrams ahead, and it is closed with the socket."""
    made, closed = [], []

    def handler(requests):
        try:
            for number in range(100):
                made.append(number)
                yield reply(requests[0], 16, bytes([number]), flags=nl.NLM_F_MULTI)
        finally:
            closed.append(True)

    kernel = FakeKernel(ROUTE, handler)
    with kernel.conn() as conn:
        for message in conn.execute_iter(DUMP):
            if message.data[0] == 50:
                break
        assert 50 < len(made) <= 55
        del message
        gc.collect()
        assert closed == [True]


def test_a_generator_that_raises_does_so_where_it_is_read():
    def handler(requests):
        yield from multipart(requests[0], data(requests[0], 1), split=[1], endless=True)
        yield from multipart(requests[0], data(requests[0], 2), split=[1], endless=True)
        raise ZeroDivisionError

    kernel = FakeKernel(ROUTE, handler)
    with kernel.conn() as conn, conn.execute_iter(DUMP) as replies, pytest.raises(ZeroDivisionError):
        list(replies)
    assert kernel.sockets == 0


def test_something_callable_is_called_in_its_turn():
    order = []

    def handler(requests):
        return [*data(requests[0], 1), lambda: order.append("called"), ack(requests[0])]

    kernel = FakeKernel(ROUTE, handler)
    with kernel.conn() as conn:
        for message in conn.execute_iter(GET):
            order.append(message.data[0])
    assert order == [1, "called"]


def test_a_signal_while_it_waits():
    """Whatever is raised leaves nothing open."""

    def interrupt():
        raise KeyboardInterrupt

    kernel = FakeKernel(ROUTE, lambda requests: [*data(requests[0], 1), Pause(1), interrupt])
    with kernel.conn() as conn:
        with pytest.raises(KeyboardInterrupt):
            conn.execute(GET)
        assert kernel.sockets == 0


# Truncation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [16, 4096, 32_768, 66_044, _socket.BUFFER_SIZE])
def test_whatever_fits_arrives_whole(size):
    kernel = FakeKernel(ROUTE, lambda requests: [reply(requests[0], 16, bytes(size - 16)), ack(requests[0])])
    with kernel.conn() as conn:
        (message,) = conn.execute(GET)
        assert message.length == size
        conn.send(GET)
        (message,) = conn.receive()
        assert message.length == size


def test_what_does_not_is_cut():
    kernel = FakeKernel(ROUTE, lambda requests: truncated(*data(requests[0], 1)))
    with kernel.conn() as conn:
        for call in (lambda: conn.execute(GET), lambda: (conn.send(GET), conn.receive())):
            with pytest.raises(nl.NetlinkError) as caught:
                call()
            assert caught.value.errno == errno.EMSGSIZE


def test_what_no_socket_takes():
    kernel = FakeKernel(ROUTE, lambda requests: bytes(1 << 25))
    with kernel.conn() as conn, pytest.raises(ValueError, match="33554432 bytes does not fit"):
        conn.execute(GET)


# Groups and senders ----------------------------------------------------------------------------------------------


def seen(message, group):
    return group, message.data


@pytest.mark.parametrize("group", [1, 32, 33, 1000])
def test_a_group(group):
    kernel = FakeKernel(ROUTE)
    with kernel.conn() as conn:
        assert kernel.notify(group, nl.Message(16)) == 0
        with conn.watch(nl.Watch([group, 7], seen)) as events, conn.watch(nl.Watch([7], seen)) as others:
            assert kernel.notify(group, nl.Message(16, 0, b"a"), nl.Message(16, 0, b"b")) == 1
            assert kernel.notify(7, nl.Message(16, 0, b"c")) == 2
            assert [next(events) for _ in range(3)] == [(group, b"a"), (group, b"b"), (7, b"c")]
            assert others.ready() == [(7, b"c")]


def test_a_group_is_left():
    kernel = FakeKernel(ROUTE)
    with kernel.conn(groups=[5]) as conn:
        assert kernel.notify(5, nl.Message(16)) == 1
        conn.leave_group(5)
        assert kernel.notify(5, nl.Message(16)) == 0
        assert len(conn.receive()) == 1
        with pytest.raises(nl.NetlinkError) as caught:
            conn.join_group(0)
        assert caught.value.errno == errno.EINVAL


def test_other_namespaces_are_heard_by_who_asks_for_it():
    kernel = FakeKernel(ROUTE)
    with kernel.conn(groups=[1]) as conn:
        assert kernel.notify(1, nl.Message(16), nsid=3) == 0
        conn.set_option(nl.NETLINK_LISTEN_ALL_NSID, 1)
        assert kernel.notify(1, nl.Message(16), nsid=3) == 1
        assert conn._own._socket.receive_datagram()[1:] == (0, 1, 3)


def test_an_answer_may_hold_what_all_hear():
    def handler(requests):
        return [*data(requests[0], 1), notification(4, nl.Message(17)), ack(requests[0])]

    kernel = FakeKernel(ROUTE, handler)
    with kernel.conn() as conn, conn.watch(nl.Watch([4], seen)) as events:
        assert numbers(conn.execute(GET)) == [1]
        assert events.ready() == [(4, b"")]


def test_what_is_delivered_to_a_port():
    kernel = FakeKernel(ROUTE)
    with kernel.conn() as conn:
        kernel.deliver(conn.pid, nl.Message(16, 0, b"\1"), [nl.Message(16, 0, b"\2")] * 2)
        kernel.deliver(conn.pid, foreign(nl.Message(16), sender=99))
        assert numbers(conn.receive()) == [1]
        assert numbers(conn.receive()) == [2, 2]
        with pytest.raises(LookupError, match="4711"):
            kernel.deliver(4711, GET)


# System calls ----------------------------------------------------------------------------------------------------


def test_port_ids():
    kernel = FakeKernel(ROUTE, lambda requests: None)
    with kernel.conn(pid=77) as conn, kernel.conn() as other:
        assert conn.pid == conn.send(GET).pid == 77
        assert other.pid not in (0, 77)
        with kernel.conn(pid=77) as third, pytest.raises(nl.NetlinkError) as caught:
            third.send(GET)
        assert caught.value.errno == errno.EADDRINUSE


def test_options():
    kernel = FakeKernel(ROUTE)
    with kernel.conn() as conn:
        assert [conn.get_option(option) for option in (nl.NETLINK_EXT_ACK, nl.NETLINK_NO_ENOBUFS)] == [1, 0]
        conn.set_option(nl.NETLINK_NO_ENOBUFS, 1)
        assert conn.get_option(nl.NETLINK_NO_ENOBUFS) == 1
        for call in (lambda: conn.set_option(99, 1), lambda: conn.get_option(99)):
            with pytest.raises(nl.NetlinkError) as caught:
                call()
            assert caught.value.errno == errno.ENOPROTOOPT


def test_a_kernel_older_than_an_option():
    """Linux before 4.3, 4.12 and 4.20: connections do without."""
    older = (nl.NETLINK_CAP_ACK, nl.NETLINK_EXT_ACK, nl.NETLINK_GET_STRICT_CHK)
    kernel = FakeKernel(ROUTE, lambda requests: acknowledged(requests[0]), without=older)
    with kernel.conn() as conn:
        assert conn.execute(GET) == []
        with pytest.raises(nl.NetlinkError):
            conn.get_option(nl.NETLINK_EXT_ACK)


@pytest.mark.parametrize("call", ["socket", "setsockopt", "bind", "connect", "send"])
def test_a_call_that_fails(call):
    kernel = FakeKernel(ROUTE, lambda requests: ack(requests[0]))
    with kernel.conn() as conn, conn.execute_iter(GET):
        kernel.fail(call, errno.EMFILE, times=2)
        for _ in range(2):
            with pytest.raises(nl.NetlinkError) as caught:
                conn.execute(GET)
            assert caught.value.errno == errno.EMFILE
            assert kernel.sockets == 1
        assert conn.execute(GET) == []
    assert kernel.sockets == 0


def test_another_protocol_does_not_exist():
    with pytest.raises(nl.NetlinkError) as caught:
        nl.Conn(GENERIC, _open=FakeKernel(ROUTE).socket_type)
    assert caught.value.errno == errno.EPROTONOSUPPORT


def test_the_send_buffer_is_real():
    kernel = FakeKernel(ROUTE, lambda requests: ack(requests[0]))
    with kernel.conn() as conn:
        limit = conn.set_send_buffer(4096)
        assert limit == 8192
        conn.send(nl.Message(16, 0, bytes(limit - 32 - 16)))
        conn.send(nl.Message(16, 0, bytes(limit)))  # grows it
        assert conn.set_send_buffer(0) < limit
        assert [len(sent) for sent in kernel.requests] == [1, 1]


def test_a_filter_is_real():
    """One datagram of two passes, and who sent it, and for whom, stays with it."""
    drop_zero = [(0x30, 0, 0, 16), (0x15, 1, 0, 0), (0x06, 0, 0, 0xFFFFFFFF), (0x06, 0, 0, 0)]
    kernel = FakeKernel(ROUTE)
    with kernel.conn(groups=[2, 3]) as conn:
        conn.set_bpf(drop_zero)
        for number, group in ((0, 2), (1, 3), (0, 2), (2, 2)):
            kernel.notify(group, nl.Message(16, 0, bytes([number])))
        datagrams = [conn._own._socket.receive_datagram() for _ in range(2)]
        assert [(datagram.data[16], datagram.group) for datagram in datagrams] == [(1, 3), (2, 2)]
        conn.remove_bpf()
        kernel.notify(2, nl.Message(16, 0, b"\0"))
        assert numbers(conn.receive()) == [0]


def test_descriptors_are_given_back():
    before = len(os.listdir("/proc/self/fd"))
    for clock in (Clock(), Clock(manual=True)):
        kernel = FakeKernel(ROUTE, lambda requests: acknowledged(requests[0]), clock=clock)
        with kernel.conn() as conn, conn.watch(nl.Watch([1], seen)):
            conn.execute(GET)
            conn.send(GET)
            assert len(os.listdir("/proc/self/fd")) > before
        assert kernel.sockets == 0
    assert len(os.listdir("/proc/self/fd")) == before


# Faults of receiving ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", range(4))
def test_a_fault_comes_at_its_point(before):
    """After what comes before it was received, and before what follows: datagrams are read by twos."""

    def handler(requests):
        return [*data(requests[0], *range(before)), overrun(lost=before), *data(requests[0], 7), ack(requests[0])]

    with FakeKernel(ROUTE, handler).conn() as conn:
        with conn.execute_iter(GET) as replies:
            assert numbers(next(replies) for _ in range(before)) == list(range(before))
            with pytest.raises(nl.Overrun) as caught:
                next(replies)
            assert caught.value.lost == before
            assert numbers(replies) == [7]
        conn.send(GET)
        for number in range(before):
            assert numbers(conn.receive()) == [number]
        with pytest.raises(nl.Overrun):
            conn.receive()
        assert numbers(conn.receive()) == [7]


def test_one_fault_after_another():
    kernel = FakeKernel(ROUTE, lambda requests: [Fault(errno.ENOMEM), Fault(errno.EIO), *data(requests[0], 1)])
    with kernel.conn() as conn:
        conn.send(GET)
        for number in (errno.ENOMEM, errno.EIO):
            with pytest.raises(nl.NetlinkError) as caught:
                conn.receive()
            assert caught.value.errno == number
        assert numbers(conn.receive()) == [1]


# In place of the system ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_installed(kind):
    def code_under_test(number):
        if kind == "blocking":
            with nl.Conn(ROUTE) as conn, nl.Conn(GENERIC) as other:
                return [numbers(each.execute(GET)) for each in (conn, other)]

        async def main():
            async with nl.AsyncConn(ROUTE) as conn, nl.AsyncConn(GENERIC) as other:
                return [numbers(await each.execute(GET)) for each in (conn, other)]

        return asyncio.run(main())

    def kernel(protocol, number):
        return FakeKernel(protocol, lambda requests: acknowledged(requests[0], *data(requests[0], number)))

    with kernel(ROUTE, 1).installed(), kernel(GENERIC, 2).installed():
        assert code_under_test(1) == [[1], [2]]
        with kernel(ROUTE, 3).installed():
            assert code_under_test(1) == [[3], [2]]
        assert code_under_test(1) == [[1], [2]]


def test_installed_no_longer():
    kernel = FakeKernel(31, lambda requests: ack(requests[0]))
    with kernel.installed():
        nl.Conn(31).close()
    with pytest.raises(ZeroDivisionError), kernel.installed():
        raise ZeroDivisionError
    with pytest.raises(nl.NetlinkError) as caught:
        nl.Conn(31)
    assert caught.value.errno == errno.EPROTONOSUPPORT


def test_debug_shows_the_traffic(capsys):
    kernel = FakeKernel(ROUTE, lambda requests: acknowledged(requests[0], reply(requests[0], 16, bytes(16))))
    with kernel.conn(debug=True) as conn:
        conn.execute(nl.Message(18, 0, bytes(16)))
    shown = capsys.readouterr().err
    assert "RTM_GETLINK" in shown
    assert "RTM_NEWLINK" in shown
