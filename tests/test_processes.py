"""Other processes: those that pretend to be the kernel, forks of this one, and its own end."""

import errno
import os
import socket
import subprocess
import sys
import threading

import pytest

import netlink_codec as nl
import rtnl
import trouble
from namespaces import network
from netlink_codec import Closed, _socket
from trouble import asking, drain, name, not_for_ever, raises, still_works

pytestmark = pytest.mark.kernel


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=60) as conn:
        yield conn


SPOOF = """
import socket, struct, sys
group, connected, *listening = map(int, sys.argv[1:])
message = struct.pack("=IHHII", 32, 16, 0, 1, 0) + bytes(16)
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as spoof:
    refused = 0
    for _ in range(100):
        for port in listening:
            spoof.sendto(message, (port, 0))
        try:
            spoof.sendto(message, (connected, 0))
        except ConnectionRefusedError:
            refused += 1
        spoof.sendto(message, (0, 1 << group - 1))
    print(refused)
"""


def test_another_process_speaks_like_the_kernel(conn):
    """vishvananda/netlink#468, #497, #786: who speaks is who sent it, and not what it says of itself."""
    conn.join_group(trouble.RTNLGRP_LINK)
    replies = conn.execute_iter(rtnl.links())
    with conn.watch(trouble.LINK_EVENTS) as watch:
        with socket.socket(fileno=os.dup(watch.fileno())) as descriptor:
            port, _ = descriptor.getsockname()
        ports = [trouble.RTNLGRP_LINK, replies.sent.pid, conn.pid, port]
        command = [sys.executable, "-I", "-c", SPOOF, *map(str, ports)]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        assert int(result.stdout) == 100  # a socket that is connected to the kernel refuses it
        assert watch.ready() == drain(conn) == []
        assert conn.stats.foreign == 400
        assert [name(message) for message in replies] == ["lo"]
        # What the kernel sends may carry somebody's port: here that of who made the change.
        watch_port = conn.watch(nl.Watch([trouble.RTNLGRP_LINK], lambda message, group: message.pid))
        with nl.Conn(nl.NETLINK_ROUTE, timeout=30) as other:
            other.send(asking(trouble.set_mtu(1400).message))
            assert watch.ready() == [(rtnl.RTM_NEWLINK, "lo")]
            assert [name(message) for message in drain(conn)] == ["lo"]
        assert len(watch_port.ready()) == 1
        watch_port.close()
    conn.leave_group(trouble.RTNLGRP_LINK)
    still_works(conn)
    assert conn.stats.stale == 0


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forks_and_their_parent_ask_at_once(conn):
    """svinota/pyroute2#1166: each has its answers, whatever was open, and whoever closes first."""
    with conn.watch(trouble.LINK_EVENTS) as watch, not_for_ever():
        conn.send(asking(rtnl.links()))
        inside = conn.execute_iter(rtnl.links())
        done = threading.Event()

        def hammer():
            while not done.is_set():
                conn.get_option(nl.NETLINK_CAP_ACK)
                assert conn.do(trouble.GET) == "lo"

        threads = [threading.Thread(target=hammer) for _ in range(3)]
        for thread in threads:
            thread.start()
        children = []
        for number in range(30):
            pid = os.fork()
            if not pid:
                status = 1
                try:
                    for _ in range(20):
                        assert conn.do(trouble.GET) == "lo"
                        assert conn.collect(trouble.LINKS) == ["lo"]
                        assert conn.batch([trouble.SET, trouble.GET]) == [None, "lo"]
                    for call in (watch.__next__, conn.receive, inside.__next__, lambda: conn.send(trouble.GET.message)):
                        raises(errno.EBADF, call, kind=Closed)
                    with conn.watch(trouble.LINK_EVENTS) as own:
                        assert own.next(timeout=0) is None
                    if number % 2:
                        conn.close()
                    status = 0
                finally:
                    os._exit(status)
            children.append(pid)
        assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0] * 30
        done.set()
        for thread in threads:
            thread.join()
        assert [name(message) for message in inside] == ["lo"]
        assert [name(message) for message in conn.receive()] == ["lo"]
        watch.ready()
        conn.do(trouble.set_mtu(1400))
        assert watch.ready() == [(rtnl.RTM_NEWLINK, "lo")]
    still_works(conn)
    assert conn.stats.stale == 0


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("place", ["open", "sequence", "eventfd", "wait", "receive"])
def test_a_fork_while_another_thread_is_in_the_middle_of_something(conn, monkeypatch, place):
    """A lock that is held there is held for ever in the child, whose other threads are gone."""
    watch = conn.watch(trouble.LINK_EVENTS)
    inside, go_on = threading.Event(), threading.Event()

    def stop_inside(where, name):
        function = getattr(where, name)

        def stopped(*arguments):
            if threading.current_thread() is thread:
                inside.set()
                go_on.wait()
            return function(*arguments)

        monkeypatch.setattr(where, name, stopped)

    replies = conn.execute_iter(rtnl.links())
    calls = {
        "open": (_socket.Socket, "open", lambda: conn.send(asking(trouble.SET.message))),
        "sequence": (_socket.Socket, "sequence", lambda: conn.send(asking(trouble.SET.message))),
        "eventfd": (os, "eventfd", lambda: watch.next(timeout=0.001)),
        "wait": (_socket.Socket, "receive_now", lambda: next(replies)),
        "receive": (_socket.Socket, "receive_datagram", lambda: raises(errno.ETIMEDOUT, conn.receive, timeout=0)),
    }
    *where, call = calls[place]
    thread = threading.Thread(target=call)
    stop_inside(*where)
    thread.start()
    inside.wait()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            with not_for_ever(10):
                for closed in (watch.__next__, replies.__next__):
                    raises(errno.EBADF, closed, kind=Closed)
                for end in (watch.close, replies.close):
                    end()
                assert conn.do(trouble.GET) == "lo"
                with conn.watch(trouble.LINK_EVENTS) as own:
                    assert own.next(timeout=0.001) is None
                if place in ("receive", "sequence"):  # the own socket was open, and is the parent's
                    raises(errno.EBADF, conn.send, asking(trouble.GET.message), kind=Closed)
                    raises(errno.EBADF, conn.receive, kind=Closed)
                else:
                    conn.send(asking(trouble.GET.message))
                    assert [name(message) for message in conn.receive()] == ["lo"]
                conn.close()
            status = 0
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    go_on.set()
    thread.join()
    watch.close()
    assert status == 0
    still_works(conn)


UNCLOSED = """
import threading
import netlink_codec as nl

conn = nl.Conn(nl.NETLINK_ROUTE)
watch = conn.watch(nl.Watch([1], lambda message, group: message))
replies = conn.execute_iter(nl.Message(18, nl.NLM_F_DUMP, bytes(16)))
received = conn.receive_iter()


def use():
    watch.next(timeout=0.001)


threads = [threading.Thread(target=use) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
next(replies)
"""


def test_nothing_is_printed_where_the_interpreter_ends():
    """Whatever is still open then, and whatever is gone already."""
    with network():
        result = subprocess.run([sys.executable, "-c", UNCLOSED], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
