"""Network namespaces: how code gets into one, and back."""

import errno
import os
import socket
import subprocess
import sys
import threading
import traceback

import pytest

import namespaces
from namespaces import at_once, descriptors, here, in_thread, number, powerless
from netlink_codec import netns
from netlink_codec.errors import NetlinkError
from netlink_codec.netns import NetNS

SO_NETNS_COOKIE = 71

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("machine")]


@pytest.fixture
def machine():
    with namespaces.network(), namespaces.empty_run():
        yield


def cookie(of):
    return of.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8)


def netlink_socket():
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)


def printed(program, *options):
    """What another interpreter says, to its standard error too."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, *options, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    ).stdout


def refused(error_number, function, *arguments):
    with pytest.raises(NetlinkError) as caught:
        function(*arguments)
    assert caught.value.errno == error_number
    return str(caught.value)


# run_in ------------------------------------------------------------------------------------------------------------


def test_a_socket_made_elsewhere():
    with netns.create("blue") as ns, netlink_socket() as before:
        with netns.run_in(ns, netlink_socket) as there, netns.run_in("blue", netlink_socket) as by_name:
            assert cookie(there) == cookie(by_name) != cookie(before)
        with netlink_socket() as after:
            assert cookie(after) == cookie(before)


def test_run_in_hands_back_what_happens():
    def fail():
        raise failure

    with netns.create("blue") as ns:
        place = here()
        assert netns.run_in(ns, lambda: (here(), None)) == (number(ns), None)
        for failure in (LookupError("mine"), OSError(errno.EPERM, "mine"), KeyboardInterrupt(), SystemExit(3)):
            with pytest.raises(type(failure)) as caught:
                netns.run_in(ns, fail)
            assert caught.value is failure
            assert traceback.extract_tb(failure.__traceback__)[-1].name == "fail"
        assert here() == place


def test_run_in_without_privilege():
    called = []
    with netns.create("blue") as ns:
        text = powerless(lambda: refused(errno.EPERM, netns.run_in, ns, lambda: called.append(1)))
    assert "root" in text
    assert called == []


def test_run_in_from_many_threads():
    spaces = [netns.create(f"n{i}") for i in range(8)]
    expected = [number(ns) for ns in spaces]

    def work(ns):
        place = here()
        seen = {netns.run_in(ns, here) for _ in range(25)}
        return seen, here() == place

    results = at_once([lambda ns=ns: work(ns) for ns in spaces])
    assert results == [({inode}, True) for inode in expected]


def test_closed_in_use():
    """What uses it goes on, and it is given back all the same."""
    with netns.create("blue") as ns:
        expected, before = number(ns), descriptors()

        def work():
            ns.close()
            return descriptors(), here()

        assert netns.run_in(ns, work) == (before - 1, expected)
        assert descriptors() == before - 1


def test_deleted_under_an_open_one():
    with netns.create("blue") as ns:
        netns.delete("blue")
        assert netns.names() == []
        refused(errno.ENOENT, NetNS.name, "blue")
        assert netns.run_in(ns, here) == number(ns)
        with netns.enter(ns):
            assert here() == number(ns)
        with netns.create("blue") as other:
            assert other != ns


class GreenThread:
    """What gevent and eventlet make of threading.Thread: no thread of the kernel's."""

    def __init__(self, *, target, **_):
        self.start = target

    def join(self):
        pass


def test_green_threads(monkeypatch):
    monkeypatch.setattr(threading, "Thread", GreenThread)
    place = here()
    with netns.create("blue") as ns:
        assert here() == place != number(ns)
        assert netns.run_in(ns, here) == number(ns)
        with pytest.raises(ZeroDivisionError):
            netns.run_in(ns, lambda: 1 / 0)
    assert here() == place


# enter -------------------------------------------------------------------------------------------------------------


def test_enter_moves_and_moves_back():
    with netns.create("blue") as blue, netns.create("red") as red:
        place, before = here(), descriptors()
        with netns.enter(blue):
            assert here() == number(blue)
            with netns.enter("red"):
                assert here() == number(red)
                assert in_thread(here) == number(red)
            assert here() == number(blue)
            stat = ["stat", "-Lc", "%i", "/proc/self/ns/net"]
            assert int(subprocess.run(stat, check=True, capture_output=True).stdout) == number(blue)
        assert (here(), descriptors()) == (place, before)


@pytest.mark.parametrize("failure", [LookupError, KeyboardInterrupt, SystemExit, StopIteration, GeneratorExit])
def test_enter_moves_back_after(failure):
    with netns.create("blue"):
        place = here()
        with pytest.raises(failure), netns.enter("blue"):
            raise failure
        assert here() == place


def test_enter_leaves_other_threads_alone():
    ask, answer = threading.Event(), []

    def work():
        ask.wait()
        answer.append(here())

    thread = threading.Thread(target=work)
    thread.start()
    place = here()
    with netns.create("blue"), netns.enter("blue"):
        ask.set()
        thread.join()
    assert answer == [place]


def test_enter_without_privilege():
    with netns.create("blue") as ns:
        before = descriptors()
        assert "root" in powerless(lambda: refused(errno.EPERM, netns.enter(ns).__enter__))
    assert descriptors() == before - 1


@pytest.mark.parametrize("failure", [None, LookupError("mine")])
def test_not_coming_back_is_loud(failure):
    """No OSError: whoever expects those would go on in the wrong network."""

    def work():
        with netns.enter(ns):
            namespaces.drop_capabilities()
            if failure:
                raise failure

    with netns.create("blue") as ns:
        with pytest.raises(RuntimeError, match="wrong namespace") as caught:
            in_thread(work)
        cause = caught.value.__cause__
        assert isinstance(cause, NetlinkError)
        assert cause.errno == errno.EPERM
        assert failure in [None, *chain(caught.value)]


def chain(error):
    while error is not None:
        yield error
        error = error.__context__


NO_RETURN = """
from namespaces import at_once, descriptors, here, in_thread, number, powerless
import namespaces
from netlink_codec import errors, netns

namespaces.unshare(namespaces.CLONE_NEWUSER)
ns = netns._call_moved(netns._unshare, netns.NetNS.current)
assert netns.run_in(ns, netns.NetNS.current) == ns
before = netns.NetNS.current()
try:
    with netns.enter(ns):
        print("entered")
except errors.NetlinkError as error:
    print(error.errno, netns.NetNS.current() == before)
"""


def test_what_could_not_come_back_does_not_go():
    """Root of a user namespace, in the network of another: it may go to its own, but not return."""
    assert printed(NO_RETURN) == f"{errno.EPERM} True\n"


def test_left_by_another_thread():
    with netns.create("blue") as ns:
        place, block = here(), netns.enter(ns)
        in_thread(block.__enter__)
        with pytest.raises(RuntimeError, match="another thread"):
            block.__exit__(None, None, None)
        assert here() == place
