"""Queued packets on the real kernel."""

import errno
import os
import pickle
import socket
import struct
import threading

import pytest

import netlink_codec as nl
from netfilter import OUTPUT, queue, tracked, udp
from netlink_codec import nfqueue

pytestmark = pytest.mark.kernel

ETH_P_IP, ETH_P_IPV6 = 0x0800, 0x86DD


@pytest.fixture
def machine():
    """A namespace in which what comes to UDP port 4000 is put into queue 7."""
    with tracked():
        queue(7)
        yield


@pytest.fixture
def seen():
    return []


def got(queue, count):
    """So many packets, however they come."""
    packets = [queue.next(timeout=10) for _ in range(count)]
    assert None not in packets
    return packets


def nothing_comes(receiver):
    receiver.setblocking(False)
    with pytest.raises(BlockingIOError):
        receiver.recv(1)
    receiver.settimeout(10)


def test_what_is_known_of_a_packet(machine):
    with nfqueue.Queue(7, uid_gid=True) as queue, udp() as (receiver, sender):
        sender.send(b"abc")
        (packet,) = got(queue, 1)
        assert (packet.id, packet.queue, packet.family, packet.hw_protocol) == (1, 7, 2, ETH_P_IP)
        assert packet.hook is nfqueue.HOOK.LOCAL_IN
        assert (packet.indev, packet.outdev, packet.physindev, packet.physoutdev) == (1, None, None, None)
        assert (packet.mark, packet.secctx, packet.timestamp) == (None, None, None)
        assert packet.hwaddr == "00:00:00:00:00:00"
        assert isinstance(packet.payload, memoryview)
        assert packet.payload.readonly
        assert bytes(packet.payload[28:]) == b"abc"
        assert packet.length == len(packet.payload) == 31
        assert not packet.gso
        assert packet.record.unknown == ()
        assert packet.record.payload == packet.payload
        assert packet.message.type == 0x300
        assert repr(packet) == "<Packet 1>"
        packet.record.check()
        view = packet.payload
        packet.accept()
        assert receiver.recv(9) == b"abc"
        del packet
        assert bytes(view[28:]) == b"abc"


def test_who_sent_it():
    with tracked():
        queue(7, hook=OUTPUT)
        with nfqueue.Queue(7, uid_gid=True, secctx=True) as mine, udp() as (receiver, sender):
            sender.send(b"abc")
            (packet,) = got(mine, 1)
            assert (packet.uid, packet.gid) == (os.geteuid(), os.getegid())
            assert packet.hook is nfqueue.HOOK.LOCAL_OUT
            assert (packet.indev, packet.outdev) == (None, 1)
            assert packet.checksum_ready
            packet.accept()
            assert receiver.recv(9) == b"abc"
        with nfqueue.Queue(7, gso=True) as mine, udp() as (receiver, sender):
            sender.send(b"abc")
            (packet,) = got(mine, 1)
            assert (packet.uid, packet.gid) == (None, None)
            assert not packet.checksum_ready
            assert packet.checksum_verified
            packet.accept()
            assert receiver.recv(9) == b"abc"


def test_accept_drop_and_mark(machine):
    with nfqueue.Queue(7) as queue, udp() as (receiver, sender):
        for text in (b"one", b"two", b"three"):
            sender.send(text)
        one, two, three = got(queue, 3)
        three.accept(mark=5)  # in whatever order
        two.drop()
        one.accept()
        assert (receiver.recv(9), receiver.recv(9)) == (b"three", b"one")
        nothing_comes(receiver)
        assert queue.ready() == []
        assert queue.refused == 0


# nbdd0121/nfq-rs#18, #19: padding that is counted makes packets longer. What comes in is checked, what goes out is not.
@pytest.mark.parametrize("gather", [False, True])
def test_a_payload_of_any_length_comes_back_unchanged(machine, gather):
    lengths = [*range(1, 9), 1471, 1472, 9000]
    with (
        nfqueue.Queue(7, gather=gather) as queue,
        udp() as (receiver, sender),
        socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP) as raw,
    ):
        raw.settimeout(10)
        for length in lengths:
            sender.send(os.urandom(length))
        sent = []
        for packet in got(queue, len(lengths)):
            sent.append(bytes(packet.payload))
            packet.accept(payload=packet.payload)
        queue.flush()
        for before, length in zip(sent, lengths, strict=True):
            assert raw.recv(65536) == before
            assert receiver.recv(65536) == before[28:]
            assert len(before) == 28 + length
        assert queue.ready() == []


def test_another_payload(machine):
    with nfqueue.Queue(7) as queue, udp() as (receiver, sender):
        for answer in (b"", b"x", b"longer than it was"):
            sender.send(b"abc")
            (packet,) = got(queue, 1)
            packet.accept(payload=rewritten(packet.payload, answer))
            assert receiver.recv(99) == answer


def rewritten(packet, data):
    """An IPv4 packet without options and with these data in UDP, without a checksum there."""
    header = bytearray(packet[:28])
    header[2:4] = struct.pack(">H", 28 + len(data))
    header[24:28] = struct.pack(">HH", 8 + len(data), 0)
    header[10:12] = bytes(2)
    total = sum(struct.unpack(">10H", header[:20]))
    header[10:12] = struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF)
    return bytes(header) + data


def test_a_payload_that_is_too_long_is_refused_here(machine):
    with nfqueue.Queue(7) as queue, udp() as (receiver, sender):
        sender.send(b"abc")
        (packet,) = got(queue, 1)
        with pytest.raises(nl.EncodeError, match="65532"):
            packet.accept(payload=bytes(65532))
        with pytest.raises(nl.EncodeError, match="range"):
            packet.accept(mark=1 << 32)
        with pytest.raises(ValueError, match="queue"):
            packet.requeue(65536)
        packet.accept()
        assert receiver.recv(9) == b"abc"


def test_repeat(machine):
    with nfqueue.Queue(7) as queue, udp() as (receiver, sender):
        sender.send(b"abc")
        (packet,) = got(queue, 1)
        packet.repeat(mark=8)
        (again,) = got(queue, 1)
        assert (again.id, again.mark, bytes(again.payload)) == (2, 8, bytes(packet.payload))
        again.accept()
        assert receiver.recv(9) == b"abc"


def test_requeue(machine):
    with nfqueue.Queue(7) as queue, nfqueue.Queue(8) as other, udp() as (receiver, sender):
        sender.send(b"abc")
        got(queue, 1)[0].requeue(8, mark=1)
        (packet,) = got(other, 1)
        assert (packet.queue, packet.mark) == (8, 1)
        packet.requeue(4711, bypass=True)  # nobody's
        assert receiver.recv(9) == b"abc"
        sender.send(b"abc")
        got(queue, 1)[0].requeue(4711)
        nothing_comes(receiver)


def test_one_verdict_for_many(machine):
    with nfqueue.Queue(7) as queue, udp() as (receiver, sender):
        for number in range(100):
            sender.send(bytes([number]))
        packets = got(queue, 100)
        queue.accept_until(packets[49], mark=1)
        queue.drop_until(packets[59])
        queue.accept_until(100)
        assert [receiver.recv(9)[0] for _ in range(90)] == [*range(50), *range(60, 100)]
        assert queue.ready() == []
        assert nfqueue.counters()[7].waiting == 0


def test_what_comes_together(machine):
    with nfqueue.Queue(7) as queue, udp() as (receiver, sender):
        for number in range(100):
            sender.send(bytes([number]))
        assert queue.next().id == 1
        assert [packet.id for packet in queue.batch()] == list(range(2, 33))
        while packets := queue.batch(timeout=0):
            assert len(packets) <= 32
            last = packets[-1]
        assert last.id == 100
        queue.accept_until(last)
        assert [receiver.recv(9)[0] for _ in range(100)] == list(range(100))
        sender.send(b"late")
        (late,) = queue.batch(timeout=10)
        late.drop()
    with pytest.raises(nl.Closed):
        queue.batch()


def test_gathered_verdicts(machine):
    with nfqueue.Queue(7, gather=True) as queue, udp() as (receiver, sender):
        for number in range(300):
            sender.send(bytes([number % 256]))
            if number % 100 == 99:
                for packet in got(queue, 100):
                    packet.accept()
                assert queue.next(timeout=0) is None  # what was gathered is sent before it waits
                assert nfqueue.counters()[7].waiting == 0
                assert [receiver.recv(9)[0] for _ in range(100)] == [n % 256 for n in range(number - 99, number + 1)]


def test_what_is_gathered_is_sent_by_close(machine):
    with udp() as (receiver, sender):
        with nfqueue.Queue(7, gather=True) as queue:
            sender.send(b"last")
            got(queue, 1)[0].accept()
        assert receiver.recv(9) == b"last"


# mrash/fwknop#381, florianl/go-nfqueue#58: an error of a verdict comes between packets, and must not end anything.
def test_a_verdict_that_the_kernel_refuses(machine, seen):
    with nfqueue.Queue(7, notice=seen.append) as queue, udp() as (receiver, sender):
        sender.send(b"one")
        (packet,) = got(queue, 1)
        packet.accept()
        packet.accept()
        sender.send(b"two")
        (two,) = got(queue, 1)
        two.accept()
        assert (receiver.recv(9), receiver.recv(9)) == (b"one", b"two")
        (error,) = seen
        assert isinstance(error, nfqueue.VerdictError)
        assert (error.errno, error.packet, queue.refused) == (errno.ENOENT, 1, 1)
        assert "packet 1 in queue 7" in str(error)
        queue.accept_until(0x01000000)
        assert queue.ready() == []
        assert (seen[1].packet, queue.refused) == (0x01000000, 2)
        assert pickle.loads(pickle.dumps(error)).errno == errno.ENOENT


# go-nfqueue#13, python-netfilterqueue#8, OpenGFW#76, UA2F#162: it neither ends the loop nor is it hidden.
def test_an_overrun_is_counted_and_the_loop_goes_on(machine, seen):
    with nfqueue.Queue(7, rcvbuf=8192, notice=seen.append) as queue, udp() as (_, sender):
        for number in range(200):
            sender.send(bytes([number]))
        taken = 0
        while (packet := queue.next(timeout=0)) is not None:
            packet.accept()
            taken += 1
        assert queue.lost > 0
        assert taken + queue.lost == 200
        assert sum(lost.count for lost in seen) == queue.lost
        assert {type(one) for one in seen} == {nl.Lost}
        assert nfqueue.counters()[7].user_dropped == queue.lost
        sender.send(b"on")
        got(queue, 1)[0].accept()
        assert queue.refused == 0


def test_without_a_notice_losses_are_logged(machine, caplog):
    with nfqueue.Queue(7, rcvbuf=8192) as queue, udp() as (_, sender):
        for number in range(200):
            sender.send(bytes([number]))
        for packet in queue.ready():
            packet.accept()
        queue.accept_until(9999)
        queue.ready()
    first, *_, last = caplog.records
    assert "packets are lost" in first.getMessage()
    assert "verdict of packet 9999 in queue 7" in last.getMessage()


@pytest.mark.parametrize("fail_open", [False, True])
def test_more_packets_than_may_wait(machine, fail_open):
    with nfqueue.Queue(7, maxlen=3, fail_open=fail_open) as queue, udp() as (receiver, sender):
        for number in range(5):
            sender.send(bytes([number]))
        packets = queue.ready()
        assert [packet.payload[28] for packet in packets] == [0, 1, 2]
        if fail_open:
            assert [receiver.recv(9)[0] for _ in range(2)] == [3, 4]
        else:
            assert nfqueue.counters()[7].queue_dropped == 2
        queue.accept_until(packets[-1])
        assert [receiver.recv(9)[0] for _ in range(3)] == [0, 1, 2]
        nothing_comes(receiver)


def test_a_part_of_each_packet(machine):
    with nfqueue.Queue(7, copy_range=32) as queue, udp() as (receiver, sender):
        sender.send(b"abcdefgh")
        (packet,) = got(queue, 1)
        assert (len(packet.payload), packet.length) == (32, 36)
        assert bytes(packet.payload[28:]) == b"abcd"
        packet.accept()
        assert receiver.recv(9) == b"abcdefgh"
    with nfqueue.Queue(7, copy_range=0) as queue, udp() as (receiver, sender):
        sender.send(b"abcdefgh")
        (packet,) = got(queue, 1)
        assert (bytes(packet.payload), packet.record.payload, packet.id) == (b"", None, 1)
        packet.accept()
        assert receiver.recv(9) == b"abcdefgh"


def test_ipv6():
    with tracked(10):
        queue(7, family=10)
        with nfqueue.Queue(7) as mine, udp(host="::1") as (receiver, sender):
            sender.send(b"abc")
            (packet,) = got(mine, 1)
            assert (packet.family, packet.hw_protocol, bytes(packet.payload[48:])) == (10, ETH_P_IPV6, b"abc")
            packet.accept(payload=packet.payload)
            assert receiver.recv(9) == b"abc"


@pytest.mark.parametrize("gso", [False, True])
def test_tcp(gso):
    data = os.urandom(1 << 20)
    with tracked():
        queue(7, protocol=6, hook=OUTPUT)
        with nfqueue.Queue(7, gso=gso, gather=True, maxlen=10_000, rcvbuf=16 << 20) as mine:
            longest, large = [], []

            def pass_on():
                for packet in mine:
                    longest.append(packet.length)
                    large.append(packet.gso)
                    packet.accept()

            thread = threading.Thread(target=pass_on)
            thread.start()
            received = bytearray()
            with (
                socket.create_server(("127.0.0.1", 4000)) as server,
                socket.create_connection(("127.0.0.1", 4000), timeout=30) as one,
            ):
                accepted, _ = server.accept()
                accepted.settimeout(30)
                writer = threading.Thread(target=one.sendall, args=[data])
                writer.start()
                while len(received) < len(data):
                    received += accepted.recv(1 << 20)
                writer.join()
                accepted.close()
            refused = mine.refused
            mine.close()
            thread.join()
    assert received == data
    assert refused == mine.lost == 0
    assert any(large) is gso
    assert (max(longest) > 65536) <= gso  # loopback takes more than an IPv4 packet can say


@pytest.mark.parametrize(
    "options",
    [
        {"number": -1},
        {"number": 65536},
        {"number": 7, "copy_range": -1},
        {"number": 7, "maxlen": -1},
        {"number": 7, "rcvbuf": -1},
    ],
)
def test_what_is_no_queue(options):
    with pytest.raises(ValueError, match=r"queue|copied|wait|buffer"):
        nfqueue.Queue(**options)


def test_the_connection_of_a_packet_is_told_or_refused(machine):
    try:
        queue = nfqueue.Queue(7, conntrack=True)
    except nl.NetlinkError as error:
        assert error.errno == errno.EOPNOTSUPP  # this kernel is built without
    else:
        with queue, udp() as (_, sender):
            sender.send(b"abc")
            assert got(queue, 1)[0].record.ct
