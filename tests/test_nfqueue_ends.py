"""Who has a queue, and how it ends: threads, tasks, forks, namespaces."""

import asyncio
import os
import sys
import threading

import pytest

import netlink_codec as nl
from namespaces import network
from netfilter import queue, tracked, udp
from netlink_codec import nfqueue
from netlink_codec.netns import NetNS

pytestmark = pytest.mark.kernel


@pytest.fixture
def machine():
    """A namespace in which what comes to UDP port 4000 is put into queue 7."""
    with tracked():
        queue(7)
        yield


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


def test_close_from_another_thread_ends_the_loop(machine):
    queue = nfqueue.Queue(7)
    counts = []
    threads = [threading.Thread(target=lambda: counts.append(sum(1 for _ in queue))) for _ in range(3)]
    for thread in threads:
        thread.start()
    queue.close()
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive()
    assert counts == [0, 0, 0]
    queue.close()
    for call in (queue.next, queue.ready, queue.fileno, queue.batch):
        with pytest.raises(nl.Closed):
            call()
    assert list(queue) == []
    assert repr(queue) == "<Queue 7 closed>"


def test_a_verdict_after_the_end(machine):
    with udp() as (receiver, sender):
        with nfqueue.Queue(7) as queue:
            sender.send(b"abc")
            (packet,) = got(queue, 1)
        packet.accept()  # a loop that another thread closed may be doing this
        assert queue.refused == 1
        nothing_comes(receiver)
        with nfqueue.Queue(7) as queue:  # it is free again
            sender.send(b"abc")
            got(queue, 1)[0].accept()
            assert receiver.recv(9) == b"abc"


def test_verdicts_in_other_threads(machine):
    with nfqueue.Queue(7) as queue, udp() as (receiver, sender):
        for number in range(40):
            sender.send(bytes([number]))
        packets = got(queue, 40)
        threads = [threading.Thread(target=lambda part=packets[n::4]: [one.accept() for one in part]) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(receiver.recv(9)[0] for _ in range(40)) == list(range(40))
        assert queue.ready() == []
        assert queue.refused == 0


def test_a_queue_has_one_owner(machine):
    with nfqueue.Queue(7), pytest.raises(nl.NotPermitted, match=r"bind queue 7.*another socket has this queue"):
        nfqueue.Queue(7)
    nfqueue.Queue(7).close()


def test_another_namespace(machine):
    with NetNS.current() as there, udp() as (receiver, sender), network(), nfqueue.Queue(7, netns=there) as queue:
        assert 7 in nfqueue.counters(there)
        assert nfqueue.counters() == {}
        sender.send(b"abc")
        got(queue, 1)[0].accept()
        assert receiver.recv(9) == b"abc"


def test_asyncio(machine):
    async def main():
        async with nfqueue.AsyncQueue(7) as queue:
            with udp() as (receiver, sender):
                assert await queue.next(timeout=0) is None
                for number in range(100):
                    sender.send(bytes([number]))
                count = 0
                async for packet in queue:
                    packet.accept()
                    count += 1
                    if count == 100:
                        break
                assert [receiver.recv(9)[0] for _ in range(100)] == list(range(100))

                sender.send(b"one")
                sender.send(b"two")
                one, two = await queue.batch(timeout=10)
                assert await queue.batch(timeout=0) == []
                queue.accept_until(two)
                assert (receiver.recv(9), receiver.recv(9), one.id) == (b"one", b"two", 101)

                async def rest():
                    return [packet async for packet in queue]

                waits = asyncio.create_task(rest())
                await asyncio.sleep(0)
                queue.close()
                assert await waits == []
                with pytest.raises(nl.Closed):
                    await queue.next()

    asyncio.run(main())


def test_close_from_a_thread_ends_an_asyncio_loop(machine):
    async def main():
        queue = nfqueue.AsyncQueue(7)
        thread = threading.Thread(target=queue.close)
        asyncio.get_running_loop().call_soon(thread.start)
        assert [packet async for packet in queue] == []
        thread.join()

    asyncio.run(main())


def test_the_child_of_a_fork_has_no_queue(machine):
    with nfqueue.Queue(7) as queue, udp() as (receiver, sender):
        child = os.fork()
        if not child:
            status = 1
            try:
                status = 0 if list(queue) == [] else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        sender.send(b"abc")
        got(queue, 1)[0].accept()
        assert receiver.recv(9) == b"abc"


def test_importing_it_does_not_import_asyncio():
    code = "import sys, netlink_codec.nfqueue; sys.exit('asyncio' in sys.modules)"
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", code]) == 0
    with pytest.raises(AttributeError, match="nothing"):
        _ = nfqueue.nothing
