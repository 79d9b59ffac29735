"""Late values: devices, families and namespaces by name, found out by the connection, on the real kernel."""

import asyncio
import errno
import gc
import os
import struct

import pytest

import netlink_codec as nl
import rtnl
import trouble
from namespaces import descriptors, empty_run, network
from netlink_codec import Device, Dump, Family, Namespace, NotFound, Request, _socket
from peers import KINDS, Peer

IFLA_NET_NS_FD = 28
CTRL_ATTR_FAMILY_ID = 1

pytestmark = pytest.mark.kernel


@pytest.fixture(params=KINDS)
def conn(request):
    with network(), Peer(request.param, timeout=30) as conn:
        yield conn


@pytest.fixture
def sent(monkeypatch):
    """The datagrams that are sent, each as the list of its messages."""
    datagrams = []

    def counted(send, join):
        def call(self, data):
            datagrams.append(nl.unmarshal_messages(join(data)))
            return send(self, data)

        return call

    monkeypatch.setattr(_socket.Socket, "send", counted(_socket.Socket.send, bytes))
    monkeypatch.setattr(_socket.Socket, "send_parts", counted(_socket.Socket.send_parts, b"".join))
    return datagrams


def add(*names):
    """Links with these names; their indexes."""
    with nl.Conn(nl.NETLINK_ROUTE, timeout=30) as conn:
        return [rtnl.add_link(conn, name) for name in names]


def get(name, **options):
    return Request(
        lambda index: rtnl.link(rtnl.RTM_GETLINK, index), trouble.name, late=[Device(name)], doing="get it", **options
    )


def set_mtu(name, mtu, **options):
    return Request(lambda index: rtnl.link(rtnl.RTM_NEWLINK, index, mtu=mtu), late=[Device(name)], **options)


def values_of(*late, message=trouble.GET.message):
    """A request whose result is what its late values are."""
    seen = []

    def make(*values):
        seen[:] = values
        return message

    return Request(make, lambda _: tuple(seen), late=late)


def family_by_name(name, number=16):
    encoder = nl.AttributeEncoder(struct.pack("=BBH", 3, 1, 0))
    encoder.string(2, name)
    return nl.Message(number, 0, encoder)


def mtu(conn, name):
    request = Request(
        rtnl.link(rtnl.RTM_GETLINK, name=name),
        lambda message: message.attributes(rtnl.IFINFOMSG.size).find(rtnl.IFLA_MTU).u32(),
    )
    return conn.do(request)


# Devices ---------------------------------------------------------------------------------------------------------


def test_a_device(conn, sent):
    (index,) = add("ifb0")
    del sent[:]
    assert conn.do(get("ifb0")) == "ifb0"
    assert len(sent) == 2  # the question, and the request
    assert rtnl.IFINFOMSG.unpack_from(sent[1][0].view)[2] == index
    assert conn.do(set_mtu("ifb0", 1400)) is None
    assert mtu(conn, "ifb0") == 1400
    del sent[:]
    assert conn.do(trouble.GET) == "lo"
    assert len(sent) == 1


@pytest.mark.parametrize("name", ["short", "x" * 15, "x" * 16, "x" * 127, "café"])
def test_a_device_by_another_name(conn, sent, name):
    (index,) = add("ifb0")
    with nl.Conn(nl.NETLINK_ROUTE) as other:
        other.execute(rtnl.alternative_names(index, [name]))
    del sent[:]
    assert conn.do(get(name)) == "ifb0"
    assert len(sent) == 2


def test_values_come_in_order(conn, sent):
    first, second = add("ifb0", "ifb1")
    del sent[:]
    request = values_of(Device("ifb1"), Device("lo"), Device("ifb0"), Device("ifb1"))
    assert conn.do(request) == (second, 1, first, second)
    assert [len(datagram) for datagram in sent] == [3, 1]


def test_a_request_is_resolved_each_time(conn):
    request = get("ifb0", not_found=[errno.ENODEV])
    for _ in range(3):
        with pytest.raises(NotFound):
            conn.do(request)
        (index,) = add("ifb0")
        assert conn.do(request) == "ifb0"
        conn.do(Request(rtnl.link(rtnl.RTM_DELLINK, index)))


def test_a_device_that_is_not_there(conn):
    request = get("nope")
    with pytest.raises(NotFound) as caught:
        conn.do(request)
    assert caught.value.errno == errno.ENODEV
    assert str(caught.value) == "get it: [Errno 19] device 'nope': No such device"
    assert caught.value.request is request
    for longer in ("x" * 16, "x" * 127):
        with pytest.raises(NotFound):
            conn.do(get(longer))
    # As for what the kernel says of the request itself.
    assert conn.do(request.tolerate(errno.ENODEV)) is None
    with pytest.raises(NotFound):
        conn.do(request.tolerate(errno.ENOENT))


def test_an_error_is_that_of_the_request(conn):
    add("ifb0")
    request = Request(lambda index: rtnl.link(rtnl.RTM_NEWLINK, index, name="a/b"), late=[Device("ifb0")])
    with pytest.raises(nl.NetlinkError) as caught:
        conn.do(request)
    assert caught.value.errno == errno.EINVAL
    assert caught.value.request is request
    assert conn.do(request.tolerate(errno.EINVAL)) is None
    (error,) = conn.batch([request], errors="return")
    assert error.request is request


@pytest.mark.parametrize("acknowledge", ["each", "last"])
def test_a_batch_looks_each_name_up_once(conn, sent, acknowledge):
    add("ifb0", "ifb1")
    del sent[:]
    requests = [request for _ in range(40) for request in (set_mtu("ifb0", 1400), get("ifb1"), trouble.GET)]
    assert conn.batch(requests, acknowledge=acknowledge) == [None, "ifb1", "lo"] * 40
    assert len(sent[0]) == 2
    assert sum(map(len, sent)) == 2 + 120
    assert mtu(conn, "ifb0") == 1400


@pytest.mark.parametrize("acknowledge", ["each", "last"])
def test_a_batch_in_which_a_device_is_missing(conn, acknowledge):
    add("ifb0")
    requests = [
        get("nope"),
        get("ifb0"),
        trouble.MISSING,
        get("nope").tolerate(errno.ENODEV),
        set_mtu("ifb0", 1400),
        set_mtu("nada", 1400),
        get("nope"),
    ]
    with pytest.raises(nl.BatchError) as caught:
        conn.batch(requests, acknowledge=acknowledge)
    results = caught.value.results
    assert results[1:5:2] == ["ifb0", None]
    assert results[4] is None
    assert list(caught.value.exceptions) == [results[0], results[2], results[5], results[6]]
    for position in (0, 5, 6):
        assert isinstance(results[position], NotFound)
        assert results[position].request is requests[position]
    assert "'nada'" in str(results[5])
    assert mtu(conn, "ifb0") == 1400
    returned = conn.batch(requests, errors="return", acknowledge=acknowledge)
    assert list(map(type, returned)) == list(map(type, results))
    assert conn.batch([get("nope")], errors="return")[0].errno == errno.ENODEV


def test_a_dump_that_is_filtered(conn):
    first, second = add("ifb0", "ifb1")
    with nl.Conn(nl.NETLINK_ROUTE) as other:
        for number in range(300):
            rtnl.add_address(other, first, bytes([10, 0, number // 250, number % 250 + 1]))
        rtnl.add_address(other, second, bytes([10, 1, 0, 1]))
    dump = Dump(rtnl.addresses, rtnl.address_index, late=[Device("ifb0")], doing="dump")
    assert conn.collect(dump) == conn.dump(dump) == [first] * 300
    before = descriptors()
    assert conn.dump(dump, count=1) == [first]
    assert descriptors() <= before
    missing = Dump(rtnl.addresses, rtnl.address_index, late=[Device("nope")], doing="dump")
    for call in (conn.collect, conn.dump):
        with pytest.raises(NotFound) as caught:
            call(missing)
        assert caught.value.request is missing
        assert call(missing.tolerate(errno.ENODEV)) == []
    gone = Dump(rtnl.addresses(4711), rtnl.address_index)
    for call in (conn.collect, conn.dump):
        with pytest.raises(nl.NetlinkError):
            call(gone)
        assert call(gone.tolerate(errno.ENODEV)) == []
    del caught


class Filtered(Dump):
    """Decodes by what its late values are."""

    def filled(self, message):
        filled = super().filled(message)
        filled.decode = lambda answer: (rtnl.IFADDRMSG.unpack_from(message.view)[4], rtnl.address_index(answer))
        return filled


class Decoded(Request):
    def filled(self, message):
        filled = super().filled(message)
        filled.decode = lambda answer: (message, trouble.name(answer))
        return filled


def test_a_decoder_that_needs_them(conn):
    (index,) = add("ifb0")
    with nl.Conn(nl.NETLINK_ROUTE) as other:
        rtnl.add_address(other, index, bytes([10, 0, 0, 1]))
    dump = Filtered(rtnl.addresses, lambda _: 1 // 0, late=[Device("ifb0")])
    request = Decoded(lambda at: rtnl.link(rtnl.RTM_GETLINK, at), lambda _: 1 // 0, late=[Device("ifb0")])
    watch = nl.Watch([trouble.RTNLGRP_IPV4_IFADDR], lambda *_: None, resync=[dump], initial=True)
    answer = (rtnl.link(rtnl.RTM_GETLINK, index), "ifb0")
    for _ in range(2):
        assert conn.collect(dump) == conn.dump(dump) == [(index, index)]
        assert conn.do(request) == answer
        assert conn.batch([request, trouble.GET, request]) == [answer, "lo", answer]
        with conn.watch(watch) as events:
            assert events.take(3) == [nl.Sync("begin"), nl.New((index, index)), nl.Sync("end")]


def test_a_dump_that_fails_is_the_one_that_was_asked_for(conn):
    add("ifb0")
    dump = Dump(lambda index: rtnl.routes(prefix=index % 8 + 1), trouble.name, late=[Device("ifb0")])
    for call in (conn.collect, conn.dump):
        with pytest.raises(nl.NetlinkError) as caught:
            call(dump)
        assert caught.value.errno == errno.EINVAL
        assert caught.value.request is dump


# Protocols and namespaces ----------------------------------------------------------------------------------------


def family(message):
    return message.attributes(4).find(CTRL_ATTR_FAMILY_ID).u16()


def test_a_family(conn):
    get_family = Request(lambda number: family_by_name("nlctrl", number), family, late=[Family("nlctrl")])
    with Peer("asyncio" if conn.asynchronous else "blocking", nl.NETLINK_GENERIC) as generic:
        assert generic.do(get_family) == 16
        assert generic.batch([get_family] * 3) == [16] * 3
        with pytest.raises(NotFound) as caught:
            generic.do(values_of(Family("nope")))
        assert caught.value.errno == errno.ENOENT
        assert "generic netlink family 'nope'" in str(caught.value)


def test_what_another_protocol_knows(conn):
    """On a connection beside, which is opened once, in the same namespace, and closed with the first."""
    gc.collect()
    before = descriptors()
    (index,) = add("ifb0")
    assert conn.do(values_of(Device("ifb0"), Family("nlctrl"))) == (index, 16)
    held = descriptors()
    assert held <= before + 2  # that connection's socket, and a descriptor of the namespace
    for _ in range(5):
        assert conn.batch([values_of(Family("nlctrl"), Device("lo"))]) == [(16, 1)]
    assert descriptors() == held
    with pytest.raises(NotFound):
        conn.do(values_of(Family("nope")))
    conn.conn.close()
    assert descriptors() < before
    with pytest.raises(nl.Closed):
        conn.do(values_of(Family("nlctrl")))


@pytest.mark.parametrize("given", [True, False], ids=["netns=", ""])
@pytest.mark.parametrize("kind", KINDS)
def test_names_are_those_of_the_connections_namespace(kind, given):
    """Wherever the thread is that first needs the other protocol."""
    with network():
        with nl.NetNS.current() as here, nl.Conn(nl.NETLINK_ROUTE) as route:
            for name in ("ifb0", "ifb1"):
                rtnl.add_link(route, name)
            index = rtnl.add_link(route, "inside")
            generic = Peer(kind, nl.NETLINK_GENERIC, **({"netns": here} if given else {}))
        request = values_of(Device("inside"), message=family_by_name("nlctrl"))
        with network(), generic:
            assert generic.do(request) == (index,)
            # When no socket of it is left.
            beside = generic.conn._beside[nl.NETLINK_ROUTE]._pool
            beside.drop(beside.take())
            assert generic.do(request) == (index,)
            with pytest.raises(NotFound):
                generic.do(values_of(Device("nope")))


@pytest.mark.parametrize("kind", KINDS)
def test_a_fork_looks_up_by_itself(kind):
    with network(), Peer(kind, nl.NETLINK_ROUTE) as conn:
        request = values_of(Family("nlctrl"), Device("lo"))
        assert conn.do(request) == (16, 1)
        pid = os.fork()
        if not pid:
            status = 1
            try:
                if kind == "asyncio":
                    conn.loop = asyncio.Runner()  # the other one is the parent's
                status = 0 if conn.do(request) == (16, 1) else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert conn.do(request) == (16, 1)


def test_a_namespace(conn):
    with empty_run(), nl.netns.create("blue") as blue:
        add("ifb0", "ifb1", "ifb2", "ifb3")
        before = descriptors()

        def move(name, where="blue", **options):
            def message(index, descriptor):
                encoder = nl.AttributeEncoder(rtnl.IFINFOMSG.pack(0, 0, index, 0, 0))
                encoder.u32(IFLA_NET_NS_FD, descriptor)
                return nl.Message(rtnl.RTM_NEWLINK, 0, encoder)

            return Request(message, late=[Device(name), Namespace(where)], **options)

        conn.do(move("ifb0"))
        assert conn.batch([move("ifb1"), trouble.GET, move("ifb2")]) == [None, "lo", None]
        assert descriptors() <= before + 1  # one of the connection's own namespace
        with nl.Conn(nl.NETLINK_ROUTE, netns=blue) as there:
            assert set(there.collect(trouble.LINKS)) == {"lo", "ifb0", "ifb1", "ifb2"}
        with pytest.raises(NotFound) as caught:
            conn.do(move("ifb3", "red", doing="move ifb3"))
        assert caught.value.errno == errno.ENOENT
        assert str(caught.value).startswith("move ifb3: ")
        assert "'red'" in str(caught.value)
        assert conn.do(move("ifb3", "red").tolerate(errno.ENOENT)) is None
        with pytest.raises(NotFound, match="'nope'"):
            conn.do(move("nope", "red"))
        del caught
        open_then = []
        refused = Request(
            lambda descriptor: (open_then.append(descriptor), rtnl.routes(9))[1], late=[Namespace("blue")]
        )
        with pytest.raises(nl.NetlinkError) as caught:
            conn.do(refused)
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(open_then[0])  # though the error leads to who had it open
        del caught


@pytest.mark.parametrize("offload", [None, False, True])
def test_a_namespace_is_open_until_it_is_sent(monkeypatch, offload):
    """Whoever sends it, and whenever."""
    sent = []

    def checked(send):
        def call(self, data):
            if made:
                sent.append(os.fstat(made[-1]).st_ino)
            return send(self, data)

        return call

    made = []
    monkeypatch.setattr(_socket.Socket, "send", checked(_socket.Socket.send))
    monkeypatch.setattr(_socket.Socket, "send_parts", checked(_socket.Socket.send_parts))

    def make(message):
        return lambda descriptor: (made.append(descriptor), message)[1]

    request = Request(make(trouble.GET.message), trouble.name, late=[Namespace("blue")])
    dump = Dump(make(rtnl.links()), trouble.name, late=[Namespace("blue")])
    options = {} if offload is None else {"offload": offload}
    kind = "blocking" if offload is None else "asyncio"
    with network(), empty_run(), nl.netns.create("blue") as blue, Peer(kind, timeout=30) as conn:
        for call in (
            lambda: conn.do(request, **options),
            lambda: conn.batch([request] * 250, **options),
            lambda: conn.collect(dump, **options),
            lambda: conn.dump(dump, **options),
        ):
            del sent[:], made[:]
            assert "lo" in (result := call()) or result == "lo"
            assert set(sent) == {os.fstat(blue.fileno()).st_ino}
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(made[-1])
