"""`python -m netlink_codec nft`."""

import json
import signal
import socket

import pytest

import netlink_codec as nl
from namespaces import network
from netlink_codec import nft, rtnl
from test_links_command import command
from test_netfilter_commands import running

pytestmark = pytest.mark.kernel


@pytest.fixture
def conn():
    """In a namespace with a ruleset."""
    with network(), nl.Conn(nl.NETLINK_NETFILTER, timeout=30) as conn:
        guests = [nft.Element(("192.0.2.1", 80), timeout=600, comment="for now")]
        conn.do(
            nft.Transaction(
                [
                    nft.add_table("inet", "fw"),
                    nft.add_chain("inet", "fw", "web"),
                    nft.add_chain("inet", "fw", "input", hook="input", priority="filter", policy="drop"),
                    nft.add_set(
                        "inet",
                        "fw",
                        "blocked",
                        "ipv4_addr",
                        ["192.0.2.0/24", nft.Range("198.51.100.1", "198.51.100.9"), "203.0.113.7"],
                        interval=True,
                    ),
                    nft.add_set(
                        "inet", "fw", "guests", "ipv4_addr . inet_service", guests, timeout=3600, timeouts=True, size=99
                    ),
                    nft.add_map(
                        "inet", "fw", "ports", "inet_service", "verdict", {22: nft.accept(), 80: nft.jump("web")}
                    ),
                    nft.add_rule("inet", "fw", "input", nft.match("ct state", "established,related"), nft.accept()),
                    nft.add_rule(
                        "inet", "fw", "input", nft.match("ip saddr", "@blocked"), nft.counter(7, 700), nft.drop()
                    ),
                    nft.add_rule(
                        "inet",
                        "fw",
                        "input",
                        nft.match("tcp dport", {22, nft.Range(80, 90)}),
                        nft.accept(),
                        comment="ssh",
                    ),
                    nft.add_rule("inet", "fw", "input", nft.vmap("tcp dport", "@ports")),
                    nft.add_rule("inet", "fw", "input", nft.Meta(key=nft.META.SECMARK, dreg=1)),
                    nft.add_table("ip", "nat"),
                    nft.add_chain("ip", "nat", "out", type="nat", hook="postrouting", priority="srcnat"),
                    nft.add_rule("ip", "nat", "out", nft.masquerade()),
                ]
            )
        )
        yield conn


def told(*arguments):
    result = command("nft", *arguments)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


INPUT = [
    "chain inet fw input { type filter hook input priority filter; policy drop; }",
    "    ct state established,related accept",
    "    ip saddr @blocked counter packets 7 bytes 700 drop",
    '    tcp dport { 22, 80-90 } accept comment "ssh"',
    "    tcp dport vmap @ports",
    "    [meta key=secmark dreg=1]",
]
NAT = ["chain ip nat out { type nat hook postrouting priority srcnat; policy accept; }", "    masquerade"]


def test_rules(conn):
    assert told("rules") == ["chain inet fw web { }", *INPUT, *NAT]
    assert told("rules", "--chain", "input") == INPUT
    assert told("rules", "--family", "ip") == NAT
    assert told("rules", "--table", "nat", "--chain", "out") == NAT
    (rule,) = conn.collect(nft.rules("ip", "nat"))
    assert told("rules", "--table", "nat", "--handles")[1] == f"    masquerade # handle {rule.handle}"


@pytest.mark.usefixtures("conn")
def test_rules_as_json():
    rows = [json.loads(line) for line in told("rules", "--json", "--table", "fw")]
    assert [next(iter(row)) for row in rows] == ["chain", "chain", *["rule"] * 5]
    assert rows[1]["chain"]["policy"] == "drop"
    assert rows[4]["rule"]["comment"] == "ssh"
    assert rows[4]["rule"]["expressions"][-1]["data"]["data"] == {"verdict": {"code": "accept"}}


@pytest.mark.usefixtures("conn")
def test_rules_are_reset_where_that_is_asked_for():
    assert told("rules", "--table", "nat", "--reset") == NAT
    assert told("rules", "--chain", "input") == INPUT
    assert told("rules", "--reset", "--table", "fw", "--chain", "input") == INPUT
    assert "counter packets 0 bytes 0" in told("rules", "--chain", "input")[2]


@pytest.mark.usefixtures("conn")
@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        ("rules --table nowhere", 1, "no such table"),
        ("rules --table fw --chain nowhere", 1, "no such chain"),
        ("elements inet fw nowhere", 1, "no such set"),
        ("rules --family ipx", 2, "ipx"),
        ("sets --netns nowhere", 2, "nowhere"),
    ],
)
def test_what_is_not_there(arguments, status, text):
    result = command("nft", *arguments.split())
    assert (result.returncode, result.stdout) == (status, "")
    assert text in result.stderr
    assert "Traceback" not in result.stderr


def test_nothing_there():
    with network():
        assert told("rules") == []
        assert told("sets", "--json") == []


@pytest.mark.usefixtures("conn")
def test_sets():
    heading, *rows = told("sets")
    assert heading.split() == ["FAMILY", "TABLE", "NAME", "TYPE", "FLAGS", "SIZE", "TIMEOUT", "ELEMENTS"]
    assert [row.rpartition("  ")[0].split() for row in rows] == [
        ["inet", "fw", "blocked", "ipv4_addr", "interval", "-", "-"],
        ["inet", "fw", "guests", "ipv4_addr", ".", "inet_service", "timeout", "99", "3600s"],
        ["inet", "fw", "ports", "inet_service", ":", "verdict", "-", "-", "-"],
    ]
    found = [json.loads(line) for line in told("sets", "--json", "--table", "fw")]
    assert [(row["name"], row["key"], row["value"]) for row in found] == [
        ("blocked", "ipv4_addr", None),
        ("guests", "ipv4_addr . inet_service", None),
        ("ports", "inet_service", "verdict"),
    ]


@pytest.mark.usefixtures("conn")
def test_elements():
    assert told("elements", "inet", "fw", "blocked") == ["192.0.2.0/24", "198.51.100.1-198.51.100.9", "203.0.113.7"]
    assert sorted(told("elements", "inet", "fw", "ports")) == ["22 : accept", "80 : jump web"]
    (guest,) = told("elements", "inet", "fw", "guests")
    assert guest.startswith("192.0.2.1 . 80 timeout 10m expires ")
    assert guest.endswith('s comment "for now"')
    rows = [json.loads(line) for line in told("elements", "--json", "inet", "fw", "blocked")]
    assert [row["key"] for row in rows] == [
        "192.0.2.0/24",
        {"range": ["198.51.100.1", "198.51.100.9"]},
        "203.0.113.7/32",
    ]
    (row,) = (json.loads(line) for line in told("elements", "--json", "inet", "fw", "guests"))
    assert (row["key"], row["timeout"], row["comment"]) == (["192.0.2.1", 80], 600, "for now")
    verdicts = [json.loads(line)["value"] for line in told("elements", "--json", "inet", "fw", "ports")]
    assert {"code": "jump", "chain": "web"} in verdicts


def test_counters_of_elements(conn):
    counted = nft.Element("10.0.0.1", expressions=[nft.counter(3, 300)])
    conn.do(nft.add_set("inet", "fw", "counted", "ipv4_addr", [counted], expressions=[nft.counter()]))
    assert told("elements", "inet", "fw", "counted", "--reset") == ["10.0.0.1 counter packets 3 bytes 300"]
    assert told("elements", "inet", "fw", "counted") == ["10.0.0.1 counter packets 0 bytes 0"]


def changed(conn):
    """Three transactions; the handle of the rule that the first makes."""
    rule = nft.add_rule(
        "inet",
        "fw",
        "web",
        nft.match("tcp dport", {1, 2}),
        nft.match("ip saddr", "@blocked"),
        nft.drop(),
        comment="mine",
    )
    handle = conn.do(nft.Transaction([rule])).handles[rule]
    conn.do(nft.delete_elements("inet", "fw", "blocked", ["192.0.2.0/24"]))
    conn.do(nft.delete_rule("inet", "fw", "web", handle))
    return handle


def test_monitor(conn):
    with running("nft", "monitor", "--count", "3") as process:
        handle = changed(conn)
        lines = process.communicate(timeout=60)[0].splitlines()
    assert process.returncode == 0
    assert [line.split()[0] for line in lines[:5:2]] == ["generation"] * 3
    made, gone = lines[1].strip(), lines[5].strip()
    assert made == (
        f'add rule inet fw web tcp dport {{ 1, 2 }} ip saddr @blocked drop comment "mine" # handle {handle}'
    )
    assert lines[3].strip() == "delete element inet fw blocked { 192.0.2.0/24 }"
    # What was in a set without a name, the kernel does not tell when it goes.
    assert gone.startswith("delete rule inet fw web meta l4proto tcp [payload ")
    assert gone.endswith(f'ip saddr @blocked drop comment "mine" # handle {handle}')


def test_monitor_as_json(conn):
    with running("nft", "monitor", "--json", "--count", "3") as process:
        changed(conn)
        rows = [json.loads(line) for line in process.communicate(timeout=60)[0].splitlines()]
    assert rows[0]["generation"]["process"]
    events = [[(one.pop("event"), *one) for one in row["changes"]] for row in rows]
    assert events[0][-1] == ("new", "rule")
    assert set(events[1]) == {("deleted", "elements")}
    assert events[2][0] == ("deleted", "rule")


def test_everything_that_is_made_and_goes(conn):
    conn.do(nft.flush_ruleset())
    with running("nft", "monitor", "--count", "2") as process:
        conn.do(
            nft.Transaction(
                [
                    nft.add_table("ip", "t"),
                    nft.add_chain("ip", "t", "c", hook="input"),
                    nft.add_map("ip", "t", "m", "ipv4_addr", "mark", {"10.0.0.1": 7}),
                    nft.add_object("ip", "t", "hits", nft.CounterObj(packets=1, bytes=2)),
                    nft.add_rule("ip", "t", "c", nft.named("counter", "hits")),
                ]
            )
        )
        conn.do(nft.delete_table("ip", "t"))
        lines = [line.strip() for line in process.communicate(timeout=60)[0].splitlines()]
    lines = [line.partition(" # ")[0] for line in lines if not line.startswith("generation")]
    assert lines[:6] == [
        "add table ip t",
        "add chain ip t c { type filter hook input priority filter; policy accept; }",
        "add map ip t m { type ipv4_addr : mark; }",
        "add element ip t m { 10.0.0.1 : 0x00000007 }",
        "add counter ip t hits {bytes=2 packets=1}",
        'add rule ip t c counter name "hits"',
    ]
    assert {"delete chain ip t c", "delete set ip t m", "delete table ip t"} <= set(lines[6:])


def test_changes_that_are_lost(conn):
    with running("nft", "monitor", "--rcvbuf", "4096", "--json") as process:
        process.send_signal(signal.SIGSTOP)
        for number in range(100):
            conn.do(nft.add_chain("inet", "fw", f"chain{number}"))
        process.send_signal(signal.SIGCONT)
        assert any(json.loads(line).get("event") == "lost" for line in process.stdout)
    with running("nft", "monitor", "--rcvbuf", "4096", "--count", "1") as process:
        process.send_signal(signal.SIGSTOP)
        for number in range(100, 200):
            conn.do(nft.add_chain("inet", "fw", f"chain{number}"))
        process.send_signal(signal.SIGCONT)
        out, _ = process.communicate(timeout=60)
    assert (out.startswith("lost "), process.returncode) in ((True, 1), (False, 0))


def test_trace(conn):
    conn.do(
        nft.Transaction(
            [
                nft.add_chain("inet", "fw", "traced", hook="output"),
                nft.add_rule("inet", "fw", "traced", nft.match("udp dport", 9), nft.set_meta("nftrace", 1)),
                nft.add_rule("inet", "fw", "traced", nft.counter(), nft.drop()),
            ]
        )
    )
    with nl.Conn(nl.NETLINK_ROUTE) as route:
        route.do(rtnl.set_link("lo", up=True))
    for options in ([], ["--json"]):
        with (
            running("nft", "monitor", "--trace", "--count", "2", *options) as process,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
        ):
            with pytest.raises(PermissionError):
                sender.sendto(b"x", ("127.0.0.1", 9))
            lines = process.communicate(timeout=60)[0].splitlines()
        if options:
            assert [json.loads(line)["chain"] for line in lines] == ["traced"] * 2
        else:
            first, last = lines
            assert "inet fw traced rule" in first
            assert "[udp dport 9 meta nftrace set 1] verdict continue" in first
            assert "127.0.0.1 > 127.0.0.1 udp" in first + last
            assert "bytes 0 drop] verdict drop" in last or "drop] verdict drop" in last
