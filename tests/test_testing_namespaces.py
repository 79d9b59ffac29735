"""Networks of their own for tests, whoever runs them, and the way back."""

import os
import subprocess
import sys
import threading
import unittest

import pytest

import netlink_codec as nl
import rtnl
from namespaces import here, in_thread, network, powerless
from netlink_codec import netns
from netlink_codec.testing import NoNamespace, namespace

pytestmark = pytest.mark.kernel


@pytest.fixture(autouse=True)
def settled():
    """Somewhere that one can come back to: skipped where there is no such place."""
    with network():
        yield


def interfaces():
    with nl.Conn(nl.NETLINK_ROUTE, timeout=60) as conn:
        return [m.attributes(16).find(rtnl.IFLA_IFNAME).string() for m in conn.execute(rtnl.links())]


def test_it_is_empty_and_one_comes_back():
    with nl.Conn(nl.NETLINK_ROUTE) as conn:
        rtnl.add_link(conn, "ifb0")
    before = here()
    with namespace():
        assert here() != before
        assert interfaces() == ["lo"]
        with nl.Conn(nl.NETLINK_ROUTE) as conn:
            rtnl.add_link(conn, "ifb1")
        assert interfaces() == ["lo", "ifb1"]
    assert here() == before
    assert interfaces() == ["lo", "ifb0"]


def test_one_comes_back_from_a_failure():
    before = here()
    with pytest.raises(ZeroDivisionError), namespace():
        raise ZeroDivisionError
    assert here() == before


def test_one_within_another():
    before = here()
    with namespace():
        middle = here()
        with namespace():
            assert here() not in (before, middle)
        assert here() == middle
    assert here() == before


def test_its_value_is_for_other_threads():
    before = here()
    with namespace() as ns:
        assert ns == netns.NetNS.current()
        inside = here()
        assert in_thread(here) == inside  # started in the block
    assert netns.NetNS.current() != ns
    assert here() == before


def test_other_threads_stay():
    moved, seen = threading.Event(), []

    def other():
        moved.wait()
        seen.append(here())

    thread = threading.Thread(target=other)
    thread.start()
    before = here()
    with namespace():
        moved.set()
        thread.join()
    assert seen == [before]


def test_no_descriptor_is_left():
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with namespace():
            pass
    assert len(os.listdir("/proc/self/fd")) == before


def test_where_there_is_no_way():
    """A thread without privileges, in a process that has others."""
    before = here()

    def powers():
        with pytest.raises(NoNamespace, match=r"no network namespace can be made here: .*several threads"), namespace():
            raise AssertionError("not here")
        with pytest.raises(NoNamespace, match="not permitted"), namespace(user=False):
            raise AssertionError("not here")
        return here()

    assert powerless(powers) == before


def test_that_skips_a_test():
    """Without pytest: it knows the exception, and so does unittest."""

    class Case(unittest.TestCase):
        def test(self):
            raise NoNamespace("no way")

    result = unittest.TestResult()
    Case("test").run(result)
    assert [reason for _, reason in result.skipped] == ["no way"]
    assert issubclass(NoNamespace, unittest.SkipTest)


PROCESS = """
import ctypes, os
import netlink_codec as nl
from netlink_codec.testing import NoNamespace, namespace

libc = ctypes.CDLL(None, use_errno=True)
user, group = os.getuid(), os.getgid()

def here():
    return os.stat("/proc/thread-self/ns/net").st_ino

def interfaces():
    with nl.Conn(nl.NETLINK_ROUTE, timeout=60) as conn:
        return len(conn.execute(nl.Message(18, nl.NLM_F_DUMP, bytes(16))))

BECOME
start = here()
try:
    with namespace(user=False):
        print("moved")
except NoNamespace:
    print("forbidden", here() == start)
inside = []
for _ in range(3):
    with namespace():
        inside.append((here(), interfaces()))
    inside.append((here(), interfaces()))
places, counts = zip(*inside)
print("empty", set(counts) == {1})
print("elsewhere", start not in places)
print("comes home", len(set(places[1::2])), "from", len(set(places[::2]) - set(places[1::2])))
print("root", os.geteuid() == 0)
"""

# A process that changed its user may not write its own maps, until it is made an ordinary one.
NOBODY = """
os.setgroups([]), os.setresgid(65534, 65534, 65534), os.setresuid(65534, 65534, 65534)
assert libc.prctl(4, 1, 0, 0, 0) == 0
"""
ROOT_OF_OTHERS = """
assert libc.unshare(0x10000000) == 0
for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)
"""


@pytest.mark.parametrize(
    "become",
    [
        pytest.param(
            NOBODY, id="nobody", marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
        ),
        pytest.param(ROOT_OF_OTHERS, id="root of a user namespace without a network"),
    ],
)
def test_processes_that_are_not_root(become):
    """They leave their network, and come back to a home of their own, each time to the same."""
    path = os.pathsep.join(os.fspath(entry) for entry in sys.path if entry)
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROCESS.replace("BECOME", become)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert result.stdout.splitlines() == [
        "forbidden True",
        "empty True",
        "elsewhere True",
        "comes home 1 from 3",
        "root True",
    ], result.stderr
