"""A queue that accepts packets of 64 bytes: CPU time of a packet, beside a loop in C on the same socket.

Bursts are sent and then taken, in turns; only the taking is measured, by the thread's CPU time, and the best of all
turns counts: most of it is the kernel's, which sends each packet on while it is told the verdict.
"""

import ctypes
import shutil
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import netfilter
from netlink_codec import nfqueue

BURST = 400
ROUNDS = 60
BATCH = 32


def compiled():
    folder = tempfile.mkdtemp()
    try:
        library = f"{folder}/nfqueue.so"
        source = Path(__file__).with_name("nfqueue.c")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, str(source)], check=True)
        return ctypes.CDLL(library)
    finally:
        shutil.rmtree(folder)


def in_c(library, queue, batch):
    payloads = ctypes.c_ulong()
    count = library.nfqueue_accept(queue.fileno(), queue.number, batch, ctypes.byref(payloads))
    assert payloads.value == 64 * count
    return count


def each(queue):
    """A verdict for each packet, as it comes."""
    count = 0
    while (packet := queue.next(0)) is not None:
        packet.accept()
        count += 1
    return count


def until(queue):
    """One verdict for many."""
    count = 0
    while packets := queue.batch(0):
        queue.accept_until(packets[-1])
        count += len(packets)
    return count


def payload(queue):
    """A verdict for each packet, whose payload is looked at."""
    count = 0
    while (packet := queue.next(0)) is not None:
        assert len(packet.payload) == 64
        packet.accept()
        count += 1
    return count


LIMITS = {"each": 3, "payload": 3, "gathered": 3, "batched": 1.5}


def measured():
    """(what, limit, nanoseconds of CPU time a packet, those of C) of each way; nothing where no queue can be had."""
    library = compiled()
    contenders = {
        "C, each": lambda queue: in_c(library, queue, 1),
        "C, batched": lambda queue: in_c(library, queue, BATCH),
        "each": each,
        "payload": payload,
        "gathered": each,
        "batched": until,
    }
    best = dict.fromkeys(contenders, float("inf"))
    with netfilter.tracked(), ExitStack() as stack:
        senders = {}
        for number, name in enumerate(contenders):
            netfilter.queue(number, port=4000 + number)
            # What is received is left to overflow.
            _, senders[name] = stack.enter_context(netfilter.udp(4000 + number))
        queues = {
            name: nfqueue.Queue(number, maxlen=2 * BURST, rcvbuf=8 << 20, gather=name == "gathered")
            for number, name in enumerate(contenders)
        }
        for _ in range(ROUNDS):
            for name, take in contenders.items():
                for _ in range(BURST):
                    senders[name].send(bytes(36))
                begin = time.thread_time_ns()
                count = take(queues[name])
                best[name] = min(best[name], (time.thread_time_ns() - begin) / BURST)
                assert count == BURST, (name, count)
        for queue in queues.values():
            queue.close()
            assert not queue.lost
            assert not queue.refused
    for name, limit in LIMITS.items():
        yield name, limit, best[name], best["C, batched" if name == "batched" else "C, each"]
