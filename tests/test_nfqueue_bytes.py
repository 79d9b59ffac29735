"""Queued packets, from bytes: what is read, what is written, what is refused."""

import contextlib
import random
import socket
import struct

import pytest

import netlink_codec as nl
from netlink_codec import nfqueue
from netlink_codec._nfqueue import Receiver
from netlink_codec.nfqueue.config import bind
from netlink_codec.nfqueue.packet import decision
from support import EDITS, edited, random_seed, stream

PACKET = 0x300


class Owner:
    """In the place of a queue: what it is told."""

    number = 7

    def __init__(self):
        self.told = []

    def verdict(self, message):
        self.told.append(message)


def number(value, width=4):
    return value.to_bytes(width, "big")


def datagram(*attributes, type=PACKET):
    payload = bytes([2, 0]) + number(7, 2) + stream(*attributes)
    return bytes(nl.Message(type, 0, payload))


def header(id=1, protocol=0x0800, hook=1):
    return 1, number(id) + number(protocol, 2) + bytes([hook])


def received(*datagrams):
    """What a receiver makes of these: packets, and the rest."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver = Receiver(4096)
    packets, others = [], []
    with here, there:
        there.setblocking(False)
        for one in datagrams:
            here.send(one)
            result = receiver.receive(there.fileno(), Owner(), nfqueue.Packet)
            packets += result[0]
            others += result[1]
        assert receiver.receive(there.fileno(), Owner(), nfqueue.Packet) is None
    return packets, others


def packet(*attributes, **options):
    (one,), others = received(datagram(header(**options), *attributes))
    assert others == []
    return one


def test_every_attribute():
    one = packet(
        (3, number(0xAB)),
        (4, number(1700000000, 8) + number(250000, 8)),
        (5, number(2)),
        (6, number(3)),
        (7, number(4)),
        (8, number(5)),
        (9, number(6, 2) + bytes(2) + bytes([2, 0, 0, 0, 0, 9]) + bytes(2)),
        (10, b"payload"),
        (12, number(2)),
        (13, number(1500)),
        (14, number(7)),
        (16, number(1000)),
        (17, number(100)),
        (18, b"system_u:object_r\0"),
        (19, stream((1, number(0x8100, 2)), (2, number(5, 2)))),
        (20, bytes(14)),
        (21, number(6)),
        (99, b"new"),
        id=0x01020304,
    )
    assert (one.id, one.queue, one.family, one.hook, one.hw_protocol) == (
        0x01020304,
        7,
        2,
        nfqueue.HOOK.LOCAL_IN,
        0x0800,
    )
    assert (one.mark, one.timestamp, one.hwaddr) == (0xAB, 1700000000.25, "02:00:00:00:00:09")
    assert (one.indev, one.outdev, one.physindev, one.physoutdev) == (2, 3, 4, 5)
    assert (bytes(one.payload), one.length) == (b"payload", 1500)
    assert (one.gso, one.checksum_ready, one.checksum_verified) == (True, False, False)
    assert (one.uid, one.gid, one.secctx) == (1000, 100, "system_u:object_r")
    assert (one.record.vlan.proto, one.record.vlan.tci, one.record.priority, one.record.ct_info) == (0x8100, 5, 6, 2)
    assert one.record.unknown == ((99, b"new"),)
    one.record.check()
    assert bytes(one.record) == one.message.data
    assert one.record.to_dict()["header"]["hook"] == "local-in"


def test_what_is_missing_is_none():
    one = packet()
    assert (one.mark, one.timestamp, one.hwaddr, one.indev, one.uid, one.secctx) == (None,) * 6
    assert (bytes(one.payload), one.length, one.gso, one.checksum_ready) == (b"", 0, False, True)
    assert packet(hook=9).hook.name == "9"


def test_the_number_is_found_wherever_it_stands():
    (one,), _ = received(datagram((3, number(5)), (10, b"abc"), header(id=77)))
    assert (one.id, one.mark, bytes(one.payload)) == (77, 5, b"abc")


def test_what_is_no_packet():
    none = [b"", b"short", datagram(), datagram((1, b"abc")), datagram(header(), type=2), datagram(header())[:24]]
    packets, others = received(*none)
    assert packets == []
    assert others == none


def test_many_at_once_and_one_that_is_too_long():
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    receiver = Receiver(64)
    with here, there:
        for id in range(40):
            here.send(datagram(header(id=id)))
        owner = Owner()
        first, _ = receiver.receive(there.fileno(), owner, nfqueue.Packet)
        second, _ = receiver.receive(there.fileno(), owner, nfqueue.Packet)
        assert [one.id for one in first + second] == list(range(40))
        assert first[0].owner is owner
        here.send(bytes(65))
        with pytest.raises(OSError, match="65 bytes was cut to 64"):
            receiver.receive(there.fileno(), owner, nfqueue.Packet)
    with pytest.raises(OSError, match="Bad file descriptor"):
        receiver.receive(-1, owner, nfqueue.Packet)
    with pytest.raises(TypeError):
        receiver.receive(-1, owner)


def verdicts(one):
    """(type, seq in network order, queue, verdict, id, other attributes) of each verdict."""
    for message in nl.unmarshal_messages(b"".join(m + bytes(-len(m) % 4) for m in one.owner.told)):
        first, *others = message.attributes(4)
        assert first.type == 2
        verdict, id = struct.unpack(">II", first.data)
        (queue,) = struct.unpack_from(">H", message, 18)
        seq = int.from_bytes(struct.pack("=I", message.seq), "big")
        assert message.flags == nl.NLM_F_REQUEST
        yield message.type, seq, queue, verdict, id, [(other.type, other.data) for other in others]


# mrash/fwknop#381: the packet's number and the verdict are big-endian, twice.
def test_verdicts_on_the_wire():
    one = packet(id=0x01020304)
    one.accept()
    one.drop()
    one.accept(mark=5)
    one.repeat(mark=6)
    one.requeue(9)
    one.requeue(9, bypass=True, payload=b"x")
    one.accept(payload=b"")
    key = (0x01020304, 7)
    assert list(verdicts(one)) == [
        (0x301, *key, 1, key[0], []),
        (0x301, *key, 0, key[0], []),
        (0x301, *key, 1, key[0], [(3, number(5))]),
        (0x301, *key, 4, key[0], [(3, number(6))]),
        (0x301, *key, 9 << 16 | 3, key[0], []),
        (0x301, *key, 9 << 16 | 0x8003, key[0], [(10, b"x")]),
        (0x301, *key, 1, key[0], [(10, b"")]),
    ]
    assert one.owner.told[0] == decision(0x301, 7, 1, one.id)


# nbdd0121/nfq-rs#18: nla_len is without the padding.
@pytest.mark.parametrize("length", range(1, 6))
def test_a_payload_is_as_long_as_it_is(length):
    one = packet()
    one.accept(payload=bytes(length))
    assert next(verdicts(one))[-1] == [(10, bytes(length))]
    (message,) = one.owner.told
    assert struct.unpack_from("=HH", message, 32) == (4 + length, 10)


def test_binding_on_the_wire():
    message = bind(7, copy_range=99, maxlen=3, flags=5, seq=1)
    attributes = {attribute.type: attribute.data for attribute in message.attributes(4)}
    assert attributes == {
        1: b"\1\0\0\0",
        2: number(99) + b"\2",
        3: number(3),
        4: number(5),
        5: number(5),
    }
    assert bytes(message)[18:20] == number(7, 2)
    nothing = bind(7, copy_range=0, maxlen=None, flags=0, seq=1)
    assert [(attribute.type, attribute.data) for attribute in nothing.attributes(4)] == [
        (1, b"\1\0\0\0"),
        (2, bytes(4) + b"\1"),
    ]
    everything = bind(7, copy_range=1 << 20, maxlen=None, flags=0, seq=1)
    assert everything.attributes(4).find(2).data == number(65531) + b"\2"


LOOKS = (
    lambda one: bytes(one.payload),
    lambda one: one.length,
    lambda one: one.record.check(),
    lambda one: one.hwaddr,
    lambda one: one.timestamp,
    lambda one: one.accept(),
    repr,
)


def test_mutated_datagrams_are_read_or_refused():
    chance = random.Random(random_seed())
    real = datagram(
        header(), (3, number(5)), (9, number(6, 2) + bytes(10)), (4, bytes(16)), (10, bytes(range(60))), (14, number(3))
    )
    mutations = [
        edited(
            real,
            [
                (chance.choice(EDITS), chance.randrange(999), chance.randrange(1 << 16))
                for _ in range(chance.randrange(1, 4))
            ],
        )[:4096]
        for _ in range(1000)
    ]
    packets, others = received(*mutations)
    assert len(packets) + len(others) == len(mutations)
    for one in packets:
        for look in LOOKS:
            with contextlib.suppress(nl.DecodeError, StopIteration):
                look(one)
