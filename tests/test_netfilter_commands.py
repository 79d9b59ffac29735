"""`python -m netlink_codec ct` and `nfq`."""

import contextlib
import json
import signal
import struct
import subprocess
import sys

import pytest

import netlink_codec as nl
from netfilter import queue, set_sysctl, tracked, udp
from netlink_codec import conntrack as ct
from test_links_command import command

pytestmark = pytest.mark.kernel


@pytest.fixture
def conn():
    """In a namespace with some connections."""
    with tracked(), nl.Conn(nl.NETLINK_NETFILTER, timeout=30) as conn:
        seen = ct.IPS.CONFIRMED | ct.IPS.SEEN_REPLY | ct.IPS.ASSURED
        conn.batch(
            [
                ct.create(ct.flow("udp", "10.0.0.1", "10.9.0.1", 5353, 53, timeout=600, mark=7)),
                ct.create(ct.flow("udp", "10.0.0.2", "10.9.0.1", 5353, 53, timeout=600, mark=0x17, zone=5)),
                ct.create(ct.flow("tcp", "10.0.0.1", "10.9.0.2", 40000, 80, timeout=600, status=seen)),
                ct.create(ct.flow("tcp", "2001:db8::1", "2001:db8::2", 40000, 80, timeout=600)),
                ct.create(ct.flow("icmp", "10.0.0.1", "10.9.0.3", timeout=600, icmp_type=8, icmp_id=9)),
            ]
        )
        yield conn


def told(*arguments, status=0):
    result = command(*arguments)
    assert (result.returncode, result.stderr) == (status, "")
    return result.stdout.splitlines()


@pytest.mark.usefixtures("conn")
def test_dump():
    lines = told("ct", "dump")
    assert len(lines) == 5
    without_time = {" ".join(word for word in line.split() if not word.endswith("s")) for line in lines}
    assert without_time == {
        "udp 10.0.0.1:5353 > 10.9.0.1:53 unreplied mark=0x7",
        "udp 10.0.0.2:5353 > 10.9.0.1:53 unreplied mark=0x17 zone=5",
        "tcp 10.0.0.1:40000 > 10.9.0.2:80 established assured",
        "tcp [2001:db8::1]:40000 > [2001:db8::2]:80 established unreplied",
        "icmp 10.0.0.1 > 10.9.0.3 type=8 id=9 unreplied",
    }
    rows = [json.loads(line) for line in told("ct", "dump", "--json", "--proto", "udp")]
    assert {row["orig"]["addresses"]["v4_src"] for row in rows} == {"10.0.0.1", "10.0.0.2"}


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ("", 5),
        ("--family inet6", 1),
        ("--zone 5", 1),
        ("--mark 7", 1),
        ("--mark 0x7/0xf", 2),
        ("--status assured,seen-reply", 1),
        ("--proto tcp", 2),
        ("--proto tcp --dport 80 --family inet", 1),
        ("--src 10.0.0.1", 3),
        ("--src 10.0.0.1 --proto udp --sport 5353", 1),
        ("--dst 2001:db8::2", 1),
        ("--dst 2001:db8::9", 0),
        ("--proto 132", 0),
    ],
)
@pytest.mark.usefixtures("conn")
def test_count(filters, count):
    assert told("ct", "count", *filters.split()) == [str(count)]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("--dport 80", "--proto"),
        ("--src ::1 --family inet", "family"),
        ("--status happy", "'happy' is none of expected"),
        ("--proto carrier-pigeon", "none of"),
        ("--src here", "here"),
        ("--netns nowhere", "nowhere"),
    ],
)
def test_what_is_refused(arguments, text):
    result = command("ct", "count", *arguments.split())
    assert result.returncode == 2
    assert text in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("ct dump --zone 65536", "65536 is not in 0 to 65535"),
        ("ct dump --mark 0x100000000", "0x100000000 is not in 0 to 4294967295"),
        ("ct dump --mark 1/-1", "-1 is not in 0 to 4294967295"),
        ("ct dump --mark 1/", "'' is no number"),
        ("ct flush --mark x", "'x' is no number"),
        ("ct dump --proto tcp --sport 65536", "65536 is not in 0 to 65535"),
        ("ct dump --proto 256", "Protocol.number"),
        ("ct top -n 0", "0 is not in 1 to"),
        ("ct events born", "'born' is none of new, update, destroy"),
        ("ct events --count 0", "0 is not in 1 to"),
        ("ct events --rcvbuf 0", "0 is not in 1 to 2147483647"),
        ("nfq dump 65536", "65536 is not in 0 to 65535"),
        ("nfq dump -b 0 1", "0 is not in 1 to"),
        ("nfq dump -c -1 1", "-1 is not in 1 to"),
        ("nfq dump -s -1 1", "-1 is not in 0 to 4294967295"),
        ("nfq dump --maxlen 4294967296 1", "4294967296 is not in 0 to 4294967295"),
        ("nfq dump --rcvbuf 2147483648 1", "2147483648 is not in 1 to 2147483647"),
        ("nft monitor --count 0", "0 is not in 1 to"),
        ("nft monitor --rcvbuf 2147483648", "2147483648 is not in 1 to 2147483647"),
    ],
)
def test_numbers_out_of_range(arguments, text):
    result = command(*arguments.split())
    assert (result.returncode, result.stdout) == (2, "")
    assert text in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.usefixtures("conn")
def test_top():
    heading, first, *_ = told("ct", "top", "--by", "src")
    assert heading.split() == ["SRC", "CONNECTIONS", "PACKETS", "BYTES"]
    assert first.split() == ["10.0.0.1", "3", "0", "0"]
    assert [line.split()[:2] for line in told("ct", "top", "--by", "state", "-n", "2")[1:]] == [
        ["-", "3"],
        ["established", "2"],
    ]
    assert {line.split()[0] for line in told("ct", "top", "--by", "proto")[1:]} == {"udp", "tcp", "icmp"}
    for by in ("sport", "dport", "dst", "mark", "zone"):
        assert len(told("ct", "top", "--by", by)) > 1


def test_top_adds_up_what_is_counted(conn):
    set_sysctl("netfilter/nf_conntrack_acct", 1)
    conn.do(ct.flush())
    with udp() as (receiver, sender):
        sender.send(b"abc")
        receiver.recv(9)
    assert told("ct", "top")[1].split() == ["127.0.0.1", "1", "1", "31"]
    assert "there=1p/31B back=0p/0B" in told("ct", "dump", "--zero")[0]
    assert "there=0p/0B" in told("ct", "dump")[0]


def test_flush(conn):
    assert told("ct", "flush", "--zone", "5") == []
    assert conn.do(ct.stats()).entries == 4
    assert told("ct", "flush", "--proto", "tcp") == []
    assert {flow.orig.proto.word for flow in conn.dump(ct.flows())} == {"udp", "icmp"}
    assert told("ct", "flush") == []
    assert conn.do(ct.stats()).entries == 0


@contextlib.contextmanager
def running(*arguments):
    """The command, once it listens."""
    with subprocess.Popen(
        [sys.executable, "-m", "netlink_codec", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert "listening" in process.stderr.readline()
            yield process
        finally:
            process.kill()


def interrupted(process):
    """Its status, once Ctrl-C has ended it: again, where Python could not raise, in a finalizer, say."""
    while True:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(timeout=1)


def test_events(conn):
    made = ct.flow("udp", "10.0.0.9", "10.9.0.9", 1, 2, timeout=60)
    with running("ct", "events", "--count", "3") as process:
        conn.do(ct.create(made))
        conn.do(ct.update(made.orig, mark=1))
        conn.do(ct.delete(made.orig))
        out, _ = process.communicate(timeout=60)
    assert [line.split()[:2] for line in out.splitlines()] == [["new", "udp"], ["update", "udp"], ["destroy", "udp"]]
    with running("ct", "events", "--json", "--count", "1", "destroy") as process:
        conn.do(ct.create(made))
        conn.do(ct.delete(made.orig))
        out, _ = process.communicate(timeout=60)
    (row,) = map(json.loads, out.splitlines())
    assert (row["event"], row["orig"]["addresses"]["v4_src"]) == ("destroy", "10.0.0.9")


def test_events_that_are_lost(conn):
    with running("ct", "events", "--rcvbuf", "4096", "new") as process:
        process.send_signal(signal.SIGSTOP)
        conn.batch([ct.create(ct.flow("udp", f"10.1.0.{n}", "10.9.0.9", 1, 2, timeout=60)) for n in range(200)])
        process.send_signal(signal.SIGCONT)
        assert any(line.startswith("lost ") for line in process.stdout)
        assert interrupted(process) == 130


def packets(data):
    """(length here, true length, packet) of each packet of a pcap file."""
    assert struct.unpack_from("=IHHiIII", data) == (0xA1B2C3D4, 2, 4, 0, 0, 262144, 101)
    at, found = 24, []
    while at < len(data):
        seconds, micro, here, true = struct.unpack_from("=IIII", data, at)
        assert seconds > 1_600_000_000
        assert micro < 1_000_000
        found.append((here, true, data[at + 16 : at + 16 + here]))
        at += 16 + here
    return found


@pytest.mark.parametrize("options", [(), ("--gso",)])
def test_nfq_dump(conn, tmp_path, options):
    queue(7)
    file = tmp_path / "packets.pcap"
    with running("nfq", "dump", "-b", "3000", "-w", str(file), *options, "7") as process, udp() as (receiver, sender):
        for number in range(100):
            sender.send(bytes([number]) * 72)
        for number in range(30):
            assert receiver.recv(99)[0] == number
        _, report = process.communicate(timeout=60)
        assert process.returncode == 0
    found = packets(file.read_bytes())
    assert len(found) == 30
    assert {(here, true) for here, true, _ in found} == {(100, 100)}
    assert [packet[28:] for _, _, packet in found] == [bytes([number]) * 72 for number in range(30)]
    assert report.startswith("queue 7: 30 packets, 3000 bytes, 0 lost")


def test_nfq_dump_is_interrupted(conn, tmp_path):
    queue(7)
    file = tmp_path / "packets.pcap"
    with running("nfq", "dump", "-s", "40", "-w", str(file), "7") as process, udp() as (receiver, sender):
        for number in range(10):
            sender.send(bytes([number]) * 72)
            assert receiver.recv(99)[0] == number
        assert interrupted(process) == 0
        report = process.stderr.read()
    assert [(here, true) for here, true, _ in packets(file.read_bytes())] == [(40, 100)] * 10
    assert report.startswith("queue 7: 10 packets, 1000 bytes, 0 lost")


def test_nfq_dump_lets_go_what_it_does_not_want_any_more(conn):
    queue(7)
    with running("nfq", "dump", "-c", "2", "7") as process, udp() as (receiver, sender):
        process.send_signal(signal.SIGSTOP)
        for number in range(200):
            sender.send(bytes([number]))
        process.send_signal(signal.SIGCONT)
        _, report = process.communicate(timeout=60)
        assert [receiver.recv(9)[0] for _ in range(200)] == list(range(200))
    assert report.startswith("queue 7: 2 packets, 58 bytes, 0 lost")


def test_nfq_dump_to_standard_output(conn):
    queue(7)
    arguments = [sys.executable, "-m", "netlink_codec", "nfq", "dump", "-c", "2", "-w", "-", "7"]
    with (
        subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process,
        udp() as (receiver, sender),
    ):
        process.stderr.readline()
        sender.send(b"abc")
        sender.send(b"def")
        assert (receiver.recv(9), receiver.recv(9)) == (b"abc", b"def")
        out, _ = process.communicate(timeout=60)
    assert [packet[28:] for _, _, packet in packets(out)] == [b"abc", b"def"]


def test_nfq_dump_says_what_was_lost(conn):
    queue(7)
    with running("nfq", "dump", "-c", "3", "--maxlen", "3", "7") as process, udp() as (receiver, sender):
        process.send_signal(signal.SIGSTOP)
        for number in range(5):
            sender.send(bytes([number]))
        process.send_signal(signal.SIGCONT)
        _, report = process.communicate(timeout=60)
        assert [receiver.recv(9)[0] for _ in range(3)] == [0, 1, 2]
    assert process.returncode == 1
    assert "3 packets, 87 bytes, 2 lost" in report


def test_a_queue_that_somebody_has(conn):
    from netlink_codec import nfqueue

    with nfqueue.Queue(7):
        result = command("nfq", "dump", "7")
    assert result.returncode == 2
    assert "another socket has this queue" in result.stderr
