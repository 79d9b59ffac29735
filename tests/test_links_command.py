"""`python -m netlink_codec links`."""

import json
import os
import subprocess
import sys

import pytest

import netlink_codec as nl
import rtnl
from namespaces import network
from netlink_codec.cli import links, table


def command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "netlink_codec", *arguments], capture_output=True, text=True, timeout=60, **options
    )


@pytest.fixture
def machine():
    """A namespace with a few interfaces; subprocesses start in it."""
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=30) as conn:
        rtnl.do(conn, rtnl.link(rtnl.RTM_NEWLINK, flags=nl.NLM_F_CREATE, name="ifb7", kind="ifb", mtu=1400, up=True))
        rtnl.do(conn, rtnl.link(rtnl.RTM_NEWLINK, flags=nl.NLM_F_CREATE, name="br-lan", kind="bridge"))
        yield conn


@pytest.mark.kernel
@pytest.mark.usefixtures("machine")
def test_json():
    result = command("links", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    rows = {row["name"]: row for row in json.loads(result.stdout)}
    assert set(rows) == {"lo", "ifb7", "br-lan"}
    assert rows["lo"] == {
        "index": 1,
        "name": "lo",
        "state": "DOWN",
        "mtu": 65536,
        "address": "00:00:00:00:00:00",
        "kind": None,
    }
    assert (rows["ifb7"]["mtu"], rows["ifb7"]["kind"], rows["ifb7"]["state"]) == (1400, "ifb", "UNKNOWN")
    assert (rows["br-lan"]["kind"], len(rows["br-lan"]["address"])) == ("bridge", 17)


@pytest.mark.kernel
@pytest.mark.usefixtures("machine")
def test_table():
    result = command("links")
    assert (result.returncode, result.stderr) == (0, "")
    heading, *rows = result.stdout.splitlines()
    assert heading.split() == ["INDEX", "NAME", "STATE", "MTU", "ADDRESS", "KIND"]
    assert rows[0].split() == ["1", "lo", "DOWN", "65536", "00:00:00:00:00:00", "-"]
    assert {row.index(row.split()[1]) for row in rows} == {heading.index("NAME")}
    assert {row.split()[1] for row in rows} == {"lo", "ifb7", "br-lan"}


@pytest.mark.kernel
def test_a_large_link_is_listed(machine):
    """The kernel leaves such a link out of a dump that does not ask with a filter mask."""
    (reply,) = rtnl.do(machine, rtnl.link(rtnl.RTM_GETLINK, name="ifb7"))
    index = rtnl.IFINFOMSG.unpack_from(reply.view)[2]
    for start in range(0, 489, 100):
        names = [f"{i:04d}".ljust(125, "x") for i in range(start, min(start + 100, 489))]
        rtnl.do(machine, rtnl.alternative_names(index, names))
    assert {link["name"] for link in links.links(machine)} == {"lo", "ifb7", "br-lan"}


@pytest.mark.kernel
def test_a_name_that_is_no_utf8_or_would_move_the_cursor(machine):
    (reply,) = rtnl.do(machine, rtnl.link(rtnl.RTM_GETLINK, name="ifb7"))
    index = rtnl.IFINFOMSG.unpack_from(reply.view)[2]
    rtnl.do(machine, rtnl.link(rtnl.RTM_NEWLINK, index, up=False))
    rtnl.do(machine, rtnl.link(rtnl.RTM_NEWLINK, index, name="\x1b[31m\udcff"))
    assert "\\x1b[31m\\udcff" in command("links").stdout
    assert "\x1b[31m\udcff" in {row["name"] for row in json.loads(command("links", "--json").stdout)}


@pytest.mark.kernel
@pytest.mark.usefixtures("machine")
def test_a_name_that_the_terminal_has_no_letters_for(machine):
    rtnl.do(machine, rtnl.link(rtnl.RTM_NEWLINK, flags=nl.NLM_F_CREATE, name="漢字", kind="bridge"))
    result = command("links", env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert (result.returncode, result.stderr) == (0, "")
    assert "\\u6f22\\u5b57" in result.stdout


def message(kind=1, *attributes):
    payload = rtnl.IFINFOMSG.pack(0, kind, 7, 0, 0) + nl.marshal_attributes(attributes)
    return nl.Message(rtnl.RTM_NEWLINK, 0, payload)


def test_what_a_link_may_lack():
    assert links.read(message()) == {
        "index": 7,
        "name": "",
        "state": "UNKNOWN",
        "mtu": None,
        "address": None,
        "kind": None,
    }


@pytest.mark.parametrize(
    ("hardware", "wire", "text"),
    [
        (1, "", None),
        (1, "02fc00000001", "02:fc:00:00:00:01"),
        (768, "c0000201", "192.0.2.1"),
        (778, "c0000201", "192.0.2.1"),
        (769, "20010db8000000000000000000000001", "2001:db8::1"),
        (823, "20010db8000000000000000000000001", "2001:db8::1"),
        (32, "000102030405060708090a0b0c0d0e0f10111213", ":".join(f"{i:02x}" for i in range(20))),
        (24, "0001020304050607", "00:01:02:03:04:05:06:07"),
    ],
)
def test_addresses_of_every_length(hardware, wire, text):
    """jsimonetti/rtnetlink#8: the length depends on the kind of hardware."""
    assert links.read(message(hardware, nl.Attribute(rtnl.IFLA_ADDRESS, bytes.fromhex(wire))))["address"] == text


def test_an_operational_state_of_tomorrow():
    assert links.read(message(1, nl.Attribute(links.IFLA_OPERSTATE, b"\x2a")))["state"] == "42"


def test_table_cells(capsys):
    table.print_table(("n", "text"), [(1, None), (10, "a\tb\x1b\x9b\udc80é")])
    assert capsys.readouterr().out.splitlines() == [" N  TEXT", " 1  -", "10  a\\tb\\x1b\\x9b\\udc80é"]


def test_a_closed_pipe_is_quiet():
    reader, writer = os.pipe()
    os.close(reader)
    try:
        result = subprocess.run(
            [sys.executable, "-m", "netlink_codec", "links", "--json"],
            stdout=writer,
            stderr=subprocess.PIPE,
            timeout=60,
        )
    finally:
        os.close(writer)
    assert result.stderr == b""
    assert result.returncode == 1


def test_output_that_goes_nowhere():
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [sys.executable, "-m", "netlink_codec", "links"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert result.returncode == 2
    assert result.stderr.startswith("python -m netlink_codec: ")
    assert len(result.stderr.splitlines()) == 1
    closed = subprocess.run(
        ["sh", "-c", 'exec "$0" -m netlink_codec links >&-', sys.executable], stderr=subprocess.PIPE, timeout=60
    )
    assert (closed.returncode, closed.stderr) == (0, b"")
    unheard = subprocess.run(
        ["sh", "-c", 'exec "$0" -m netlink_codec decode /nowhere 2>&-', sys.executable],
        stdout=subprocess.PIPE,
        timeout=60,
    )
    assert (unheard.returncode, unheard.stdout) == (2, b"")


def test_help():
    result = command("--help")
    assert result.returncode == 0
    assert "links" in result.stdout
    assert command("links", "--help").returncode == 0
    assert command("no-such-command").returncode == 2
