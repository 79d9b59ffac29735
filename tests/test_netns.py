"""Network namespaces: how one is opened and held, in a /run that is the test's own."""

import copy
import errno
import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import namespaces
from namespaces import descriptors, here, in_thread, number, powerless
from netlink_codec import netns
from netlink_codec.errors import Closed, NetlinkError
from netlink_codec.netns import NetNS

NO_NAMES = ["", ".", "..", "../x", "a/b", "/x", "x/", "a\0b", "x" * 256, "ä" * 128]


@pytest.fixture
def machine():
    with namespaces.network(), namespaces.empty_run():
        yield


def kernel(test):
    return pytest.mark.kernel(pytest.mark.usefixtures("machine")(test))


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


def run_here(ns):
    return netns.run_in(ns, here)


def refused(error_number, function, *arguments):
    with pytest.raises(NetlinkError) as caught:
        function(*arguments)
    assert caught.value.errno == error_number
    return str(caught.value)


@pytest.fixture
def child():
    """A process in a namespace called blue."""
    netns.create("blue").close()
    with netns.enter("blue"):
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with process:
        yield process
        process.stdin.close()


TAKES_A_NAME = [NetNS.name, netns.as_netns, netns.create, netns.delete, netns.enter, run_here]


# What opens a namespace ------------------------------------------------------------------------------------------


def test_all_ways_to_open_one():
    with open("/proc/self/ns/net") as file:
        pidfd = os.pidfd_open(os.getpid())
        ways = [
            NetNS.current(),
            NetNS.pid(os.getpid()),
            NetNS.path("/proc/self/ns/net"),
            NetNS.path(Path("/proc/self/ns/net")),
            NetNS.fd(file.fileno()),
            NetNS.fd(pidfd),
        ]
        os.close(pidfd)
    assert {number(ns) for ns in ways} == {here()}
    assert len(set(ways)) == 1
    assert len({ns.fileno() for ns in ways}) == len(ways)
    assert not any(os.get_inheritable(ns.fileno()) for ns in ways)


def test_a_descriptor_stays_the_callers():
    with open("/proc/self/ns/net") as file:
        NetNS.fd(file.fileno()).close()
        assert os.fstat(file.fileno()).st_ino == here()


@kernel
def test_by_name():
    with netns.create("blue") as made, NetNS.name("blue") as ns, netns.as_netns("blue") as again:
        assert made == ns == again
        assert number(ns) != here()
        assert ns != NetNS.current()
        assert netns.as_netns(ns) is ns


@kernel
def test_by_process(child):
    pidfd = os.pidfd_open(child.pid)
    with NetNS.name("blue") as blue, NetNS.pid(child.pid) as by_pid, NetNS.fd(pidfd) as by_pidfd:
        assert blue == by_pid == by_pidfd
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        refused(errno.ENOENT, NetNS.fd, pidfd)  # A zombie has none.
        child.wait()
        refused(errno.ENOENT, NetNS.pid, child.pid)
        assert "has ended" in refused(errno.ESRCH, NetNS.fd, pidfd)
        assert netns.run_in(by_pidfd, here) == number(blue)
    os.close(pidfd)


def test_a_pid_that_became_anothers(monkeypatch):
    pids = iter([os.getpid(), -1])
    monkeypatch.setattr(netns, "_pid_of", lambda _: next(pids))
    pidfd = os.pidfd_open(os.getpid())
    before = descriptors()
    refused(errno.ESRCH, NetNS.fd, pidfd)
    assert descriptors() == before
    os.close(pidfd)


@kernel
def test_a_thread_of_its_own():
    """`current` is the calling thread's, which is not always the process's."""

    def work():
        namespaces.unshare(namespaces.CLONE_NEWNET)
        with NetNS.current() as ns:
            return number(ns), here()

    with NetNS.current() as ns:
        elsewhere, there = in_thread(work)
        assert elsewhere == there != number(ns)


@pytest.mark.parametrize(
    "path", ["/proc/self/ns/mnt", "/proc/self/ns/user", "/proc/self/status", "/dev/null", "/", __file__]
)
def test_files_of_other_kinds(path):
    before = descriptors()
    assert "not a network namespace" in refused(errno.EINVAL, NetNS.path, path)
    file = os.open(path, os.O_RDONLY)
    assert "not a network namespace" in refused(errno.EINVAL, NetNS.fd, file)
    os.close(file)
    assert descriptors() == before


def test_descriptors_of_other_kinds():
    ends = [*os.pipe(), os.eventfd(0), os.memfd_create("x")]
    for end in ends:
        refused(errno.EINVAL, NetNS.fd, end)
        os.close(end)
    with netlink_socket() as sock:
        refused(errno.EINVAL, NetNS.fd, sock.fileno())
    refused(errno.EBADF, NetNS.fd, ends[0])
    refused(errno.EBADF, NetNS.fd, -1)


def test_a_device_is_not_asked(monkeypatch):
    """What the number of the ioctl means to it, nobody knows."""
    asked = []
    monkeypatch.setattr(netns.fcntl, "ioctl", lambda *arguments: asked.append(arguments))
    refused(errno.EINVAL, NetNS.path, "/dev/null")
    assert asked == []


def test_a_fifo_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    refused(errno.EINVAL, NetNS.path, tmp_path / "fifo")


def test_none_there(tmp_path):
    assert str(tmp_path / "x") in refused(errno.ENOENT, NetNS.path, tmp_path / "x")
    assert "'no such name' (/run/netns/no such name)" in refused(errno.ENOENT, NetNS.name, "no such name")
    refused(errno.ENOENT, netns.as_netns, "no such name")
    refused(errno.ENOENT, NetNS.pid, 2**22 + 1)


@kernel
def test_a_process_of_somebody_else(child):
    with netns.create("red"):
        assert "root" in powerless(lambda: refused(errno.EACCES, NetNS.pid, child.pid))


@pytest.mark.parametrize("name", NO_NAMES)
@pytest.mark.parametrize("function", TAKES_A_NAME)
def test_what_cannot_be_a_name(function, name):
    with pytest.raises(ValueError, match="name"):
        function(name)


# What a number or a text means is said, not guessed ----------------------------------------------------------------


@pytest.mark.parametrize("function", [NetNS, *TAKES_A_NAME])
def test_a_bare_int(function):
    with pytest.raises(TypeError, match=r"NetNS\.pid\(7\) or NetNS\.fd\(7\)"):
        function(7)


def test_a_path_is_no_int():
    with pytest.raises(TypeError, match=r"NetNS\.fd\(7\)"):
        NetNS.path(7)


def test_the_constructor_makes_none():
    with pytest.raises(TypeError, match=r"NetNS\.name\('x'\) or NetNS\.path\('x'\)"):
        NetNS("x")
    with pytest.raises(TypeError, match=r"NetNS\.path\('/x'\)"):
        NetNS(Path("/x"))
    with pytest.raises(TypeError, match=r"NetNS\.name, \.path, \.pid, \.fd or \.current"):
        NetNS()


@pytest.mark.parametrize("value", [None, b"x", 1.5, ["x"]])
def test_other_types(value):
    for function in (NetNS.name, NetNS.path, NetNS.pid, NetNS.fd, netns.as_netns):
        with pytest.raises(TypeError):
            function(value)


@pytest.mark.parametrize("function", [NetNS.pid, NetNS.fd])
def test_a_number_is_an_int(function):
    for value in ("1", True, NetNS.current()):
        with pytest.raises(TypeError, match="int"):
            function(value)


@pytest.mark.parametrize("pid", [0, -1])
def test_no_pid(pid):
    with pytest.raises(ValueError, match="positive"):
        NetNS.pid(pid)


# An object that holds a descriptor ---------------------------------------------------------------------------------


def test_close():
    before = descriptors()
    ns, other = NetNS.current(), NetNS.current()
    same = hash(ns)
    assert ns == other
    assert descriptors() == before + 2
    ns.close()
    ns.close()
    assert descriptors() == before + 1
    assert ns in {ns, other}
    assert hash(ns) == same
    assert other not in (ns, hash(other), "current")
    for use in (ns.fileno, ns.__enter__, lambda: netns.run_in(ns, here), lambda: netns.enter(ns)):
        with pytest.raises(Closed, match="namespace was closed"):
            use()
    with other as entered:
        assert entered is other
    assert descriptors() == before


def test_forgotten():
    """It closes without a word: filterwarnings makes an error of one."""
    before = descriptors()
    NetNS.current()
    assert descriptors() == before


@pytest.mark.parametrize("keep", ["kept = ns", "os.kept, os.module = ns, netns"])
def test_open_at_exit(keep):
    """In the second case the module may be cleared before the object goes."""
    program = f"import os; from netlink_codec import netns; ns = netns.NetNS.current(); {keep}"
    assert printed(program, "-W", "error") == ""


def test_repr():
    with NetNS.current() as ns:
        assert repr(ns) == f"<NetNS net:[{here()}], current>"
    assert repr(ns) == "<NetNS closed, current>"
    assert repr(NetNS.path("/proc/self/ns/net")).endswith(", path '/proc/self/ns/net'>")
    assert repr(NetNS.pid(os.getpid())).endswith(f", process {os.getpid()}>")


def test_is_not_copied():
    with NetNS.current() as ns:
        for function in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="descriptor of this process"):
                function(ns)


def test_import_leaves_ctypes_alone():
    program = "import sys; from netlink_codec import netns; netns.NetNS.current(); print('ctypes' in sys.modules)"
    assert printed(program, "-S") == "False\n"
