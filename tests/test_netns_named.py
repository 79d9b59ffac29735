"""Named network namespaces, made, listed and deleted, in a /run that is the test's own."""

import errno
import fcntl
import os
import shutil
import socket
import struct
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

import namespaces
from namespaces import at_once, descriptors, here, number, powerless
from netlink_codec import netns
from netlink_codec.errors import NetlinkError
from netlink_codec.netns import NetNS

SIOCGIFFLAGS = 0x8913
IFF_UP = 1

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("machine")]
needs_ip = pytest.mark.skipif(shutil.which("ip") is None, reason="iproute2 is not installed")


@pytest.fixture
def machine():
    with namespaces.network(), namespaces.empty_run():
        yield


def ip(*arguments):
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout


def refused(error_number, function, *arguments):
    with pytest.raises(NetlinkError) as caught:
        function(*arguments)
    assert caught.value.errno == error_number
    return str(caught.value)


def test_create_list_delete():
    assert netns.names() == []
    assert not os.path.exists("/run/netns")
    odd = ["-", ".hidden", "a b", "z", "ä", "\udcff", "x" * 255]
    for name in odd:
        with netns.create(name) as ns:
            assert ns == NetNS.name(name)
            assert repr(ns).endswith(f"name {name!r}>")
    assert netns.names() == sorted(odd)
    for name in odd:
        netns.delete(name)
    assert netns.names() == os.listdir("/run/netns") == []


def test_a_new_one_has_lo_and_it_is_down():
    def look():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            request = fcntl.ioctl(sock, SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))
        return socket.if_nameindex(), struct.unpack("16sh14x", request)[1] & IFF_UP

    with netns.create("blue") as ns:
        assert netns.run_in(ns, look) == ([(1, "lo")], 0)


def test_create_again():
    with netns.create("blue") as ns:
        refused(errno.EEXIST, netns.create, "blue")
        powerless(lambda: refused(errno.EEXIST, netns.create, "blue"))
        assert NetNS.name("blue") == ns
    Path("/run/netns/file").write_text("precious")
    refused(errno.EEXIST, netns.create, "file")
    assert Path("/run/netns/file").read_text() == "precious"
    os.symlink("/nowhere", "/run/netns/link")
    refused(errno.EEXIST, netns.create, "link")


def test_create_at_once():
    """One of a name; and /run/netns is one mount, and shared, however many make it."""
    results = at_once([lambda name=name: netns.create(name) for name in ["same"] * 6 + ["one", "two", "three"]])
    made = [result for result in results if isinstance(result, NetNS)]
    assert len(made) == 4
    assert {result.errno for result in results if result not in made} == {errno.EEXIST}
    for ns in made:
        ns.close()
    assert netns.names() == ["one", "same", "three", "two"]
    fields = [line.split() for line in Path("/proc/thread-self/mountinfo").read_text().splitlines()]
    (directory,) = (field for field in fields if field[4] == "/run/netns")
    assert any(field.startswith("shared:") for field in directory)


def test_the_directory_is_locked_while_it_is_mounted(monkeypatch):
    """By the lock that `ip netns add` takes for the same."""
    mount, locked = netns._mount, []

    def watching(source, target, flags):
        lock = os.open("/run/netns", os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            locked.append(target)
        os.close(lock)
        mount(source, target, flags)

    monkeypatch.setattr(netns, "_mount", watching)
    netns.create("blue").close()
    assert locked == ["/run/netns"] * 3


def test_create_without_privilege():
    assert "root" in powerless(lambda: refused(errno.EPERM, netns.create, "blue"))
    assert os.listdir("/run") == []
    netns.create("blue").close()
    powerless(lambda: refused(errno.EPERM, netns.create, "red"))
    assert os.listdir("/run/netns") == ["blue"]


@pytest.mark.parametrize("step", range(4))
def test_create_leaves_nothing_of_a_failure(step, monkeypatch):
    """Each mount it does fails once: sharing, binding the directory, sharing that, binding the namespace."""
    mount, steps = netns._mount, []

    def failing(*arguments):
        steps.append(arguments)
        if len(steps) == step + 1:
            raise OSError(errno.ENOMEM, "no memory")
        mount(*arguments)

    before = descriptors()
    monkeypatch.setattr(netns, "_mount", failing)
    refused(errno.ENOMEM, netns.create, "blue")
    assert netns.names() == []
    assert os.listdir("/run") == ([] if step < 3 else ["netns"])
    assert descriptors() == before
    monkeypatch.setattr(netns, "_mount", mount)
    netns.create("blue").close()
    assert netns.names() == ["blue"]


def test_no_more_namespaces(monkeypatch):
    @netns._explained("making a network namespace")
    def unshare():
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(netns, "_unshare", unshare)
    assert "user.max_net_namespaces" in refused(errno.ENOSPC, netns.create, "blue")
    assert os.listdir("/run") == []


def test_delete_what_is_not_there():
    refused(errno.ENOENT, netns.delete, "blue")
    netns.create("blue").close()
    netns.delete("blue")
    refused(errno.ENOENT, netns.delete, "blue")


def test_delete_without_privilege():
    netns.create("blue").close()
    assert "root" in powerless(lambda: refused(errno.EPERM, netns.delete, "blue"))
    assert netns.names() == ["blue"]


def test_delete_what_is_no_namespace():
    """A file that was left, a directory that `unlink` refuses, and a link: its target is another's."""
    with netns.create("blue") as ns:
        Path("/run/netns/file").touch()
        os.mkdir("/run/netns/directory")
        os.symlink("/run/netns/blue", "/run/netns/link")
        netns.delete("file")
        refused(errno.EISDIR, netns.delete, "directory")
        assert NetNS.name("link") == ns
        netns.delete("link")
        assert sorted(os.listdir("/run/netns")) == ["blue", "directory"]
        assert NetNS.name("blue") == ns


def test_delete_a_name_mounted_twice():
    netns.create("blue").close()
    namespaces.mount("/run/netns/blue", "/run/netns/blue", flags=namespaces.MS_BIND)
    netns.delete("blue")
    assert os.listdir("/run/netns") == []


def test_names_of_namespaces_only():
    netns.create("blue").close()
    for name in ("file", "mounts", "old"):
        Path(f"/run/netns/{name}").touch()
    os.mkdir("/run/netns/directory")
    os.symlink("/nowhere", "/run/netns/dangling")
    os.symlink("/proc/self/ns/net", "/run/netns/self")
    namespaces.mount("/proc/self/ns/uts", "/run/netns/mounts", flags=namespaces.MS_BIND)
    assert netns.names() == ["blue", "self"]
    assert powerless(netns.names) == ["blue", "self"]
    with pytest.raises(NetlinkError, match="not a network namespace"):
        netns.run_in("old", here)


def test_names_when_there_are_no_descriptors(monkeypatch):
    """A list that lacks what could not be looked at would be believed."""
    netns.create("blue").close()

    def name(_):
        raise NetlinkError(errno.EMFILE)

    monkeypatch.setattr(NetNS, "name", name)
    refused(errno.EMFILE, netns.names)


def test_the_directory_is_a_file():
    Path("/run/netns").touch()
    refused(errno.ENOTDIR, netns.names)
    refused(errno.ENOTDIR, netns.create, "blue")
    assert os.listdir("/run") == ["netns"]


@needs_ip
def test_beside_ip_netns():
    netns.create("ours").close()
    ip("netns", "add", "theirs")
    assert netns.names() == ["ours", "theirs"]
    assert sorted(line.split()[0] for line in ip("netns", "list").splitlines()) == ["ours", "theirs"]
    assert netns.run_in("theirs", socket.if_nameindex) == [(1, "lo")]
    assert ip("-n", "ours", "-o", "link").startswith("1: lo:")
    assert int(ip("netns", "exec", "ours", "stat", "-Lc", "%i", "/proc/self/ns/net")) == number(NetNS.name("ours"))
    netns.delete("theirs")
    ip("netns", "delete", "ours")
    assert netns.names() == os.listdir("/run/netns") == []


@needs_ip
def test_beside_ip_netns_that_was_first():
    ip("netns", "add", "theirs")
    netns.create("ours").close()
    mounts = Path("/proc/thread-self/mountinfo").read_text().splitlines()
    assert [line.split()[4] for line in mounts].count("/run/netns") == 1
    with netns.enter("ours"):
        assert ip("netns", "identify", str(os.getpid())) == "ours\n"


def test_no_descriptor_is_lost():
    def round_trip():
        with netns.create("blue") as ns:
            netns.run_in(ns, here)
            with netns.enter("blue"):
                pass
            for function in (netns.create, lambda _: netns.run_in(ns, lambda: 1 / 0)):
                with suppress(NetlinkError, ZeroDivisionError):
                    function("blue")
        netns.names()
        netns.delete("blue")
        with suppress(NetlinkError):
            netns.delete("blue")

    round_trip()
    before = descriptors()
    for _ in range(20):
        round_trip()
    assert descriptors() == before
