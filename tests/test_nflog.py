"""Logged packets on the real kernel."""

import asyncio
import os
import threading

import pytest

import netlink_codec as nl
from netfilter import OUTPUT, logged, tracked, udp
from netlink_codec import nflog

pytestmark = pytest.mark.kernel


@pytest.fixture
def machine():
    """A namespace in which what comes to UDP port 4000 is logged to group 5."""
    with tracked():
        logged(5, "seen: ")
        yield


def test_what_is_known_of_a_packet(machine):
    with nflog.Log(5, count=True) as log, udp() as (receiver, sender):
        sender.send(b"abc")
        assert receiver.recv(9) == b"abc"
        entry = log.next(timeout=10)
        assert (entry.group, entry.family, entry.prefix, entry.seq) == (5, 2, "seen: ", 0)
        assert (entry.indev, entry.outdev, entry.mark) == (1, None, None)
        assert entry.header.hook.word == "local-in"
        assert entry.header.hw_protocol == 0x0800
        assert entry.payload[28:] == b"abc"
        assert entry.hardware.address == "00:00:00:00:00:00"
        assert (entry.uid, entry.gid) == (None, None)
        entry.check()
        assert entry.unknown == ()
        sender.send(b"abc")
        assert next(log).seq == 1
        assert log.ready() == []


def test_who_sent_it():
    with tracked():
        logged(5, "out", hook=OUTPUT)
        with nflog.Log(5) as log, udp() as (_, sender):
            sender.send(b"abc")
            entry = next(log)
            assert (entry.uid, entry.gid) == (os.geteuid(), os.getegid())
            assert (entry.indev, entry.outdev, entry.header.hook.word) == (None, 1, "local-out")


def test_a_part_of_each_packet(machine):
    with nflog.Log(5, copy_range=30) as log, udp() as (_, sender):
        sender.send(b"abc")
        assert next(log).payload[28:] == b"ab"
    with nflog.Log(5, copy_range=0) as log, udp() as (_, sender):
        sender.send(b"abc")
        entry = next(log)
        assert (entry.payload, entry.seq, entry.prefix) == (None, None, "seen: ")


def test_packets_that_come_together():
    with tracked():
        logged(5, "many", threshold=10)
        with nflog.Log(5, threshold=10, delay=600) as log, udp() as (_, sender):
            for number in range(9):
                sender.send(bytes([number]))
            assert log.ready() == []
            sender.send(bytes([9]))
            assert [entry.payload[28] for entry in log.batch(timeout=10)] == list(range(10))


def test_ipv6():
    with tracked(10):
        logged(5, "six", family=10)
        with nflog.Log(5) as log, udp(host="::1") as (_, sender):
            sender.send(b"abc")
            entry = next(log)
            assert (entry.family, entry.header.hw_protocol, entry.payload[48:]) == (10, 0x86DD, b"abc")


# florianl/go-nflog#35: an overrun must not end the loop.
def test_an_overrun_is_counted_and_the_loop_goes_on(machine):
    noticed = []
    with nflog.Log(5, rcvbuf=8192, notice=noticed.append) as log, udp() as (_, sender):
        for number in range(200):
            sender.send(bytes([number]))
        assert 0 < len(log.ready()) < 200
        assert log.lost > 0
        assert {type(one) for one in noticed} == {nl.Lost}
        sender.send(b"on")
        assert log.next(timeout=10).payload[28:] == b"on"


def test_close_from_another_thread_ends_the_loop(machine):
    log = nflog.Log(5)
    entries = []
    thread = threading.Thread(target=lambda: entries.extend(log))
    thread.start()
    log.close()
    thread.join(timeout=30)
    assert not thread.is_alive()
    assert entries == []
    with pytest.raises(nl.Closed):
        log.next()
    assert repr(log) == "<Log 5 closed>"


def test_a_group_has_one_owner(machine):
    with nflog.Log(5), pytest.raises(nl.NetlinkError, match="bind log 5"):
        nflog.Log(5)
    nflog.Log(5).close()
    with pytest.raises(ValueError, match="no group"):
        nflog.Log(65536)
    with pytest.raises(AttributeError, match="nothing"):
        _ = nflog.nothing


def test_asyncio(machine):
    async def main():
        async with nflog.AsyncLog(5) as log:
            with udp() as (_, sender):
                for number in range(3):
                    sender.send(bytes([number]))
                entries = []
                async for entry in log:
                    entries.append(entry.payload[28])
                    if len(entries) == 3:
                        break
                assert entries == [0, 1, 2]
                assert await log.next(timeout=0) is None

    asyncio.run(main())
