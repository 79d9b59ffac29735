"""One question and one answer: which link has this index. As the connection asks it, and as bare sockets do."""

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import namespaces
import netlink_codec as nl
import rtnl
from benchmarks.conversation import Work
from benchmarks.measure import timed
from benchmarks.workloads import Call

ASKED = nl.NLM_F_REQUEST | nl.NLM_F_ACK
MESSAGE = rtnl.link(rtnl.RTM_GETLINK, 1)
WIRE = bytes(MESSAGE.sent(1, 0, ASKED))
REQUEST = nl.Request(MESSAGE, lambda message: message)
ROOM = 65536


def _name(message: nl.Message) -> str:
    return message.attributes(16).find(rtnl.IFLA_IFNAME).string()


def _socket() -> socket.socket:
    bare = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, nl.NETLINK_ROUTE)
    bare.bind((0, 0))
    return bare


def raw(bare: socket.socket, buffer: bytearray) -> int:
    """Send, the answer, the acknowledgement."""
    bare.send(WIRE)
    size = bare.recv_into(buffer)
    bare.recv_into(buffer)
    return size


def do(conn: nl.Conn) -> nl.Message:
    return conn.do(REQUEST)


def execute(conn: nl.Conn) -> nl.Message:
    (answer,) = conn.execute(MESSAGE)
    return answer


def raw_opened() -> bytes:
    with _socket() as bare:
        bare.send(WIRE)
        answer = bare.recv(ROOM)
        bare.recv(ROOM)
    return answer


def opened() -> nl.Message:
    with nl.Conn(nl.NETLINK_ROUTE) as conn:
        return conn.do(REQUEST)


def check(conn: nl.Conn, bare: socket.socket) -> None:
    answers = [do(conn), execute(conn), opened(), next(nl.iter_messages(raw_opened()))]
    if [_name(answer) for answer in answers] != ["lo"] * 4:
        raise AssertionError("a wrong answer")
    if {answer.length for answer in answers} != {raw(bare, bytearray(ROOM))}:
        raise AssertionError("bare sockets got another answer")


@contextmanager
def trips() -> Iterator[list[Work]]:
    """What to measure, while this thread is in a network of its own."""
    with namespaces.network(), nl.Conn(nl.NETLINK_ROUTE) as conn, _socket() as bare:
        reused, fresh = timed(raw, bare, bytearray(ROOM)), timed(raw_opened)
        checked = partial(check, conn, bare)
        yield [
            Work("one link, conn.do", 1, Call(do, (conn,), "lo", _name), reused, 1.35, checked),
            Work("one link, conn.execute", 1, Call(execute, (conn,), "lo", _name), reused, 1.35, checked),
            Work("open, one link, close", 1, Call(opened, (), "lo", _name), fresh, 2, checked),
        ]


def together(conn: nl.Conn, threads: int, count: int) -> tuple[float, float]:
    """Nanoseconds of CPU time (of the process) and of the clock for each of `count` round trips, by so many threads."""

    def work() -> None:
        barrier.wait()
        for _ in range(count // threads):
            conn.do(REQUEST)
        barrier.wait()

    barrier = threading.Barrier(threads + 1)
    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    barrier.wait()
    begun = time.process_time_ns(), time.perf_counter_ns()
    barrier.wait()
    ended = time.process_time_ns(), time.perf_counter_ns()
    for worker in workers:
        worker.join()
    cpu, clock = ((after - before) / count for before, after in zip(begun, ended, strict=True))
    return cpu, clock


def in_threads(counts: Sequence[int], trips: int = 16_000, rounds: int = 10) -> list[tuple[float, float]]:
    """`together` for so many threads, in turn: the least of each."""
    with namespaces.network(), nl.Conn(nl.NETLINK_ROUTE) as conn:
        turns = [[together(conn, threads, trips) for threads in counts] for _ in range(rounds)]
    columns = zip(*turns, strict=True)
    return [(min(cpu for cpu, _ in column), min(clock for _, clock in column)) for column in columns]
