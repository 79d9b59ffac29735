"""Traffic written to a file, read by others, and answered from it."""

import errno
import io
import shutil
import struct
import subprocess
import sys

import pytest

import netlink_codec as nl
import rtnl
from fakes import KINDS, Peer
from namespaces import network
from netlink_codec.capture import read_capture
from netlink_codec.testing import (
    FakeKernel,
    Replay,
    UnknownRequest,
    ack,
    acknowledged,
    error,
    multipart,
    notification,
    record,
    reply,
)

ROUTE, GENERIC, AUDIT = nl.NETLINK_ROUTE, nl.NETLINK_GENERIC, nl.NETLINK_AUDIT
ONE = rtnl.link(rtnl.RTM_GETLINK, 1)
MISSING = rtnl.link(rtnl.RTM_DELLINK, 4711)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "traffic.pcap"


def link(name):
    encoder = nl.AttributeEncoder(bytes(16))
    encoder.string(rtnl.IFLA_IFNAME, name)
    return encoder


def names(messages):
    return [message.attributes(16).find(rtnl.IFLA_IFNAME).string() for message in messages]


def talk(peer):
    """Some of everything."""
    outcome = [names(peer.execute(rtnl.links())), names(peer.execute(ONE))]
    with pytest.raises(nl.NetlinkError) as caught:
        peer.execute(MISSING)
    outcome.append((caught.value.errno, caught.value.message))
    requests = [nl.Request(rtnl.link(rtnl.RTM_NEWLINK, index, mtu=1500)) for index in (1, 4711)]
    outcome.append([getattr(result, "errno", result) for result in peer.batch(requests, errors="return")])
    sent = peer.conn.send_messages([ONE.replace(flags=nl.NLM_F_REQUEST), MISSING.replace(flags=nl.NLM_F_REQUEST)])
    (answer,) = peer.receive()
    outcome.append((names([answer]), answer.seq == sent[0].seq, answer.pid == peer.conn.pid))
    with pytest.raises(nl.NetlinkError) as caught:
        peer.receive()
    outcome.append(caught.value.errno)
    return outcome


LISTED = [f"ifb{number}" for number in range(60)]


def handler(requests):
    """What a real kernel answers to `talk`, as far as that looks."""
    for request in requests:
        index = rtnl.IFINFOMSG.unpack_from(request.view)[2]
        if index == 4711:
            yield error(request, errno.ENODEV)
        elif request.type == rtnl.RTM_NEWLINK:
            yield ack(request)
        elif request.flags & nl.NLM_F_DUMP:
            yield from multipart(request, [reply(request, 16, link(name)) for name in ["lo", *LISTED]], split=[8] * 8)
        else:
            yield from acknowledged(request, reply(request, 16, link("lo")))


EXPECTED = [
    ["lo", *LISTED],
    ["lo"],
    (errno.ENODEV, None),
    [None, errno.ENODEV],
    (["lo"], True, True),
    errno.ENODEV,
]


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_recorded_is_answered(path, kind):
    kernel = FakeKernel(ROUTE, handler)
    with kernel.installed(), record(path), Peer(ByProtocol, kind, protocol=ROUTE) as peer:
        assert talk(peer) == EXPECTED
    for _ in range(2):
        with Replay(path).installed(), Peer(ByProtocol, kind, protocol=ROUTE) as peer:
            assert talk(peer) == EXPECTED


class ByProtocol:
    """Connections as code makes them that knows of no test."""

    @staticmethod
    def conn(protocol):
        return nl.Conn(protocol)

    @staticmethod
    def async_conn(protocol):
        return nl.AsyncConn(protocol)


@pytest.mark.kernel
def test_a_real_kernel(path):
    watch = nl.Watch([1], lambda message, group: (group, message.type, names([message])))
    with network():
        with nl.Conn(ROUTE) as conn:
            for name in LISTED:
                rtnl.add_link(conn, name)
        with record(path), Peer(ByProtocol, "blocking", protocol=ROUTE) as peer:
            recorded = talk(peer)
            events = peer.conn.watch(watch)
            rtnl.do(peer.conn, rtnl.link(rtnl.RTM_DELLINK, name="ifb0"))
            seen = events.ready()
            events.close()
    assert recorded == EXPECTED
    assert seen
    replay = Replay(path)
    with Peer(replay, "blocking") as peer:
        assert talk(peer) == EXPECTED
        events = peer.conn.watch(watch)
        replay.play()
        assert events.ready() == seen
        events.close()


# The file --------------------------------------------------------------------------------------------------------


def recorded(path):
    with FakeKernel(ROUTE, handler).installed(), record(path), nl.Conn(ROUTE, groups=[1]) as conn:
        conn.execute(ONE)
        conn.send(MISSING.replace(flags=nl.NLM_F_REQUEST))


def test_the_file_is_a_capture(path):
    recorded(path)
    data = path.read_bytes()
    datagrams = list(read_capture(io.BytesIO(data[4:]), data[:4]))
    assert all(datagram.protocol == ROUTE for datagram in datagrams)
    directions = [datagram.note.split(",")[0] for datagram in datagrams]
    assert directions == ["to the kernel", "to user space", "to user space", "to the kernel"]
    types = [message.type for datagram in datagrams for message in nl.iter_messages(datagram.data)]
    assert types == [rtnl.RTM_GETLINK, rtnl.RTM_NEWLINK, nl.NLMSG_ERROR, rtnl.RTM_DELLINK]


def test_the_command_prints_it(path):
    recorded(path)
    command = [sys.executable, "-m", "netlink_codec", "decode", str(path)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "RTM_GETLINK" in shown
    assert "error" not in shown


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark, which comes with Wireshark, is not installed")
def test_wireshark_opens_it(path):
    recorded(path)
    command = ["tshark", "-r", str(path), "-T", "fields", "-e", "frame.protocols", "-e", "netlink.hdr_len"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [line.split("\t") for line in shown.splitlines()] == [
        ["netlink:netlink-route", "32"],
        ["netlink:netlink-route", "40"],
        ["netlink", "36,32"],
        ["netlink:netlink-route", "32"],
    ]


def test_a_request_longer_than_what_readers_take(path):
    """The file holds its beginning, and that is what counts."""
    large = nl.Message(rtnl.RTM_NEWLINK, 0, bytes(300_000))
    with FakeKernel(ROUTE, lambda requests: ack(requests[0])).installed(), record(path), nl.Conn(ROUTE) as conn:
        conn.execute(large)
        conn.execute(ONE)
    data = path.read_bytes()
    (first, _, second, _) = read_capture(io.BytesIO(data[4:]), data[:4])
    assert "cut: 262128 of 300016 bytes were captured" in first.note
    assert len(second.data) == len(bytes(ONE))
    with Replay(path).conn() as conn:
        assert conn.execute(large) == []


@pytest.mark.parametrize("size", range(16, 24))
def test_any_length(path, size):
    request = nl.Message(rtnl.RTM_NEWLINK, 0, bytes(size))
    with FakeKernel(ROUTE, lambda requests: ack(requests[-1])).installed(), record(path), nl.Conn(ROUTE) as conn:
        conn.execute(request)
        conn.batch([nl.Request(request), nl.Request(request)], acknowledge="last")
    with Replay(path).conn() as conn:
        assert conn.execute(request) == []
        assert conn.batch([nl.Request(request), nl.Request(request)], acknowledge="last") == [None, None]


def test_recording_ends_with_the_block(path):
    with FakeKernel(ROUTE, handler).installed(), record(path):
        conn = nl.Conn(ROUTE)
        conn.execute(ONE)
    size = path.stat().st_size
    conn.execute(ONE)
    conn.close()
    with FakeKernel(ROUTE, handler).installed(), nl.Conn(ROUTE) as conn:
        conn.execute(ONE)
    assert path.stat().st_size == size > 100


def test_what_is_sent_but_refused_is_not_recorded(path):
    kernel = FakeKernel(ROUTE, handler)
    with kernel.installed(), record(path), nl.Conn(ROUTE) as conn:
        kernel.fail("send", errno.ENOMEM)
        with pytest.raises(nl.NetlinkError):
            conn.execute(ONE)
        conn.execute(ONE)
    data = path.read_bytes()
    assert len(list(read_capture(io.BytesIO(data[4:]), data[:4]))) == 3


OTHERS = {
    "nothing": b"",
    "another file": b"#!/bin/sh\n" * 10,
    "a capture of something else": struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1),
    "a capture by another": struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 253)
    + struct.pack("=IIII", 0, 0, 32, 32)
    + struct.pack(">HHH8xH", 6, 824, 0, 0)
    + bytes(nl.Message(16)),
}


@pytest.mark.parametrize("content", OTHERS.values(), ids=OTHERS)
def test_a_file_that_is_no_recording(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"traffic\.pcap (is not a recording|was not made by record)"):
        Replay(path)


# Answers ---------------------------------------------------------------------------------------------------------


def test_an_unknown_request_is_shown_beside_the_nearest(path):
    with FakeKernel(ROUTE, handler).installed(), record(path), nl.Conn(ROUTE) as conn:
        conn.execute(rtnl.links())
        conn.execute(ONE)
    replay = Replay(path)
    with replay.conn() as conn:
        with pytest.raises(UnknownRequest) as caught:
            conn.execute(rtnl.link(rtnl.RTM_GETLINK, 2))
        lines = str(caught.value).split("\n")
        assert lines[0] == "the recording has no answer to this request; the most like it is"
        assert [line[:12] for line in lines if line[0] in "+-"] == [
            "--- expected",
            "+++ sent",
            "-  ifinfomsg",
            "+  ifinfomsg",
        ]
        assert names(conn.execute(ONE)) == ["lo"]
    assert replay.kernels[ROUTE].sockets == 0


def test_the_same_request_several_times(path):
    """Answers come in their order, and the last one stays."""
    count = iter(range(3))

    def counting(requests):
        return acknowledged(requests[0], reply(requests[0], 16, bytes([next(count)])))

    with FakeKernel(ROUTE, counting).installed(), record(path), nl.Conn(ROUTE) as conn:
        for _ in range(3):
            conn.execute(ONE)
    with Replay(path).conn() as conn:
        assert [conn.execute(ONE)[0].data[0] for _ in range(5)] == [0, 1, 2, 2, 2]


def test_requests_under_way_at_once(path):
    """Sockets are told apart."""
    with FakeKernel(ROUTE, handler).installed(), record(path), nl.Conn(ROUTE) as conn:
        outer = [(name, names(conn.execute(ONE))) for name in names(conn.execute_iter(rtnl.links()))]
        pairs = [
            names(pair) for pair in zip(conn.execute_iter(rtnl.links()), conn.execute_iter(rtnl.links()), strict=True)
        ]
    with Replay(path).conn() as conn:
        assert [(name, names(conn.execute(ONE))) for name in names(conn.execute_iter(rtnl.links()))] == outer
        again = [
            names(pair) for pair in zip(conn.execute_iter(rtnl.links()), conn.execute_iter(rtnl.links()), strict=True)
        ]
        assert again == pairs


def test_the_header_within_an_error_is_put_right_too(path):
    kernel = FakeKernel(ROUTE, lambda requests: error(requests[0], errno.EINVAL, capped=False))
    with kernel.installed(), record(path), nl.Conn(ROUTE) as conn:
        conn.send(ONE)
        with pytest.raises(nl.NetlinkError):
            conn.receive()
    with Replay(path).conn(pid=4711) as conn:
        conn.send(ONE.replace(seq=99))
        (message,) = nl.iter_messages(conn._own._socket.receive_datagram().data)
        (echoed,) = nl.iter_messages(message.view[4:])
    assert (message.seq, message.pid, echoed.seq, echoed.pid) == (99, 4711, 99, 4711)


def test_what_has_no_port_id_gets_none(path):
    def audit(requests):
        return [ack(requests[0]), reply(requests[0], 1000, b"status", pid=0)]

    request = nl.Request(nl.Message(1000), lambda message: (message.pid, message.data), ends="reply")
    with FakeKernel(AUDIT, audit).installed(), record(path), nl.Conn(AUDIT) as conn:
        assert conn.do(request) == (0, b"status")
    with Replay(path).conn() as conn:
        assert conn.do(request) == (0, b"status")


def test_several_protocols(path):
    kernels = [
        FakeKernel(
            protocol,
            lambda requests, protocol=protocol: acknowledged(requests[0], reply(requests[0], 16, bytes([protocol]))),
        )
        for protocol in (ROUTE, GENERIC)
    ]
    with kernels[0].installed(), kernels[1].installed(), record(path):
        for protocol in (ROUTE, GENERIC):
            with nl.Conn(protocol) as conn:
                conn.execute(ONE)
    replay = Replay(path)
    assert sorted(replay.kernels) == [ROUTE, GENERIC]
    for protocol in (ROUTE, GENERIC):
        with replay.conn(protocol) as conn:
            assert conn.execute(ONE)[0].data == bytes([protocol])
    with pytest.raises(ValueError, match="several protocols"):
        replay.conn()
    with pytest.raises(LookupError, match="protocol 9"):
        replay.conn(AUDIT)


def test_notifications_are_played_when_told(path):
    def telling(requests):
        return [notification(40, nl.Message(16, 0, b"a"), nl.Message(16, 0, b"b")), ack(requests[0])]

    watch = nl.Watch([40], lambda message, group: (group, message.data))
    with FakeKernel(ROUTE, telling).installed(), record(path), nl.Conn(ROUTE) as conn, conn.watch(watch) as events:
        conn.execute(ONE)
        assert events.ready() == [(40, b"a"), (40, b"b")]
    replay = Replay(path)
    with replay.conn() as conn, conn.watch(watch) as events:
        assert conn.execute(ONE) == []
        assert events.ready() == []
        for _ in range(2):
            replay.play()
            assert events.ready() == [(40, b"a"), (40, b"b")]


def test_a_recording_of_nothing(path):
    with record(path):
        pass
    assert Replay(path).kernels == {}
