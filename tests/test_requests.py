"""Requests as values, batches and what happens meanwhile, on the real kernel."""

import contextlib
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
from netlink_codec import NotFound, NotPermitted, Request, _socket

pytestmark = pytest.mark.kernel

RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR = 1, 5


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=30) as conn:
        yield conn


def name(message):
    return message.attributes(rtnl.IFINFOMSG.size).find(rtnl.IFLA_IFNAME).string()


def get(index, **options):
    return Request(rtnl.link(rtnl.RTM_GETLINK, index), name, not_found=[errno.ENODEV], **options)


def make(text, **options):
    flags = nl.NLM_F_CREATE | nl.NLM_F_EXCL
    return Request(rtnl.link(rtnl.RTM_NEWLINK, flags=flags, name=text, kind="ifb"), **options)


LINKS = nl.Dump(rtnl.links(), name)


# do, dump, collect -----------------------------------------------------------------------------------------------


def test_what_is_no_timeout_and_no_protocol(conn):
    for timeout in ("1", object(), float("nan")):
        with pytest.raises((TypeError, ValueError)):
            nl.Conn(nl.NETLINK_ROUTE, timeout=timeout)
        with pytest.raises((TypeError, ValueError)):
            conn.do(get(1), timeout=timeout)
    assert conn.do(get(1), timeout=float("inf")) == "lo"
    for protocol in (-1, -5):
        with pytest.raises(ValueError, match="is no protocol"):
            nl.Conn(protocol)


def test_one_answer(conn):
    assert conn.do(get(1)) == "lo"
    assert conn.do(get(1, single=True)) == "lo"
    assert conn.do(make("ifb0")) is None


def test_what_is_not_there_or_there_already(conn):
    with pytest.raises(NotFound) as caught:
        conn.do(get(4711, doing="look for link 4711"))
    assert caught.value.errno == errno.ENODEV
    assert str(caught.value).startswith("look for link 4711: [Errno 19]")
    assert conn.do(get(4711).tolerate(errno.ENODEV)) is None
    with pytest.raises(nl.NetlinkError):
        conn.do(get(4711).tolerate(errno.EEXIST))
    conn.do(make("ifb0"))
    with pytest.raises(nl.Exists):
        conn.do(make("ifb0"))
    assert conn.do(make("ifb0").tolerate(errno.EEXIST)) is None


def test_the_attribute_that_was_refused(conn):
    index = rtnl.add_link(conn, "ifb0")
    with pytest.raises(nl.NetlinkError) as caught:
        conn.execute(rtnl.alternative_names(index, ["other"], container=rtnl.IFLA_PROP_LIST))
    assert caught.value.attribute == str(rtnl.IFLA_PROP_LIST)
    encoder = nl.AttributeEncoder(rtnl.IFINFOMSG.pack(0, 0, index, 0, 0))
    encoder.u16(rtnl.IFLA_MTU, 1500)
    with pytest.raises(nl.NetlinkError) as caught:
        conn.execute(nl.Message(rtnl.RTM_NEWLINK, 0, encoder))
    assert caught.value.errno == errno.ERANGE
    assert caught.value.attribute == str(rtnl.IFLA_MTU)
    assert caught.value.policy[1] == 4  # NL_POLICY_TYPE_ATTR_TYPE is NL_ATTR_TYPE_U32
    with encoder.nested(rtnl.IFLA_LINKINFO):
        encoder.data(rtnl.IFLA_INFO_KIND, b"x" * 500)
    encoder = nl.AttributeEncoder(rtnl.IFINFOMSG.pack(0, 0, index, 0, 0))
    with encoder.nested(rtnl.IFLA_LINKINFO):
        encoder.flag(4)
        encoder.u32(2, 1)
        encoder.data(5, b"")
        encoder.data(rtnl.IFLA_INFO_KIND, b"x" * 500)
    try:
        conn.execute(nl.Message(rtnl.RTM_NEWLINK, 0, encoder))
    except nl.NetlinkError as error:
        assert error.attribute in (None, "18.1")


def test_a_remark_on_success_is_logged(conn, caplog):
    """jbaublitz/neli#261"""
    padded = nl.AttributeEncoder(rtnl.IFINFOMSG.pack(0, 0, 1, 0, 0))
    padded.u32(rtnl.IFLA_MTU, 1500)
    message = nl.Message(rtnl.RTM_NEWLINK, 0, bytes(padded) + bytes(4))
    replies = conn.execute_iter(message)
    assert list(replies) == []
    assert replies.warning == "bytes leftover after parsing attributes"
    assert conn.do(Request(message, doing="set the MTU")) is None
    assert "set the MTU" in caplog.text
    assert "bytes leftover after parsing attributes" in caplog.text


def test_nothing_is_logged_unasked(conn):
    script = """
import netlink_codec as nl, sys
assert "logging" not in sys.modules
with nl.Conn(nl.NETLINK_ROUTE) as conn:
    conn.execute(nl.Message(16, 0, bytes.fromhex(sys.argv[1])))
"""
    payload = rtnl.IFINFOMSG.pack(0, 0, 1, 0, 0) + bytes(4)
    result = subprocess.run([sys.executable, "-c", script, payload.hex()], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_traffic_is_shown_when_asked(conn, capfd, monkeypatch):
    with nl.Conn(nl.NETLINK_ROUTE, debug=True) as shown:
        assert shown.do(get(1)) == "lo"
        shown.batch([get(1)])
        shown.send(rtnl.link(rtnl.RTM_GETLINK, 1, flags=nl.NLM_F_REQUEST))
        assert len(shown.receive()) == 1
    text = capfd.readouterr().err
    assert text.count("RTM_GETLINK") >= 3
    assert text.count("RTM_NEWLINK") == 3
    assert all(line.startswith("netlink: ") for line in text.splitlines())
    monkeypatch.setenv("NETLINK_CODEC_DEBUG", "1")
    with nl.Conn(nl.NETLINK_ROUTE) as shown:
        shown.do(get(1))
        assert "RTM_NEWLINK" in capfd.readouterr().err
        monkeypatch.setattr(sys, "stderr", None)
        assert shown.do(get(1)) == "lo"
    monkeypatch.setenv("NETLINK_CODEC_DEBUG", "0")
    with nl.Conn(nl.NETLINK_ROUTE) as quiet:
        quiet.do(get(1))
    assert capfd.readouterr().err == ""


def test_a_dump_of_results(conn):
    for i in range(30):
        conn.do(make(f"ifb{i}"))
    assert sorted(conn.collect(LINKS)) == sorted(conn.dump(LINKS)) == sorted(["lo", *(f"ifb{i}" for i in range(30))])
    only = nl.Dump(rtnl.links(), lambda message: name(message) if name(message) == "ifb7" else None)
    assert list(conn.dump(only)) == ["ifb7"]
    with conn.dump(LINKS) as names:
        assert next(names) == "lo"
    assert list(names) == []
    with pytest.raises(NotFound):
        conn.collect(nl.Dump(rtnl.addresses(index=4711), name, not_found=[errno.ENODEV]))


def test_a_dump_that_changes_is_reported_and_collected_anew(conn):
    """moby/moby#48400 and many more: never fatal, never silent, and never for ever."""
    index = rtnl.add_link(conn, "ifb0")
    for i in range(1500):
        rtnl.add_address(conn, index, bytes([10, 0, i // 250, i % 250 + 1]))
    dump = nl.Dump(rtnl.addresses(), lambda message: message)
    interrupted = 0
    for attempt in range(20):
        results = conn.dump(dump)
        got = [next(results)]
        rtnl.add_address(conn, index, bytes([10, 1, attempt, 1]))
        try:
            got.extend(results)
        except nl.DumpInterrupted:
            interrupted += 1
    assert interrupted == 20
    assert len(got) >= 1500
    assert len(conn.collect(dump)) >= 1520

    changes = iter(range(100))

    def disturb(message):
        if message.seq != disturb.seq:  # once a dump
            disturb.seq = message.seq
            rtnl.add_address(conn, index, bytes([10, 2, next(changes), 1]))
        return message

    disturb.seq = 0
    with pytest.raises(nl.DumpInterrupted) as caught:
        conn.collect(nl.Dump(rtnl.addresses(), disturb), retries=3)
    assert next(changes) == 4
    assert len(caught.value.results) >= 1500


def test_a_privilege_is_named():
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=30) as conn:
        pid = os.fork()
        if not pid:
            status = 1
            try:
                os.setgroups([])
                os.setresgid(65534, 65534, 65534)
                os.setresuid(65534, 65534, 65534)
                try:
                    conn.do(make("ifb0"))
                except NotPermitted as error:
                    status = 0 if "CAP_NET_ADMIN" in str(error) and error.errno == errno.EPERM else 2
            except PermissionError:
                status = 0  # no other user to become here
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


# batch -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("acknowledge", ["each", "last"])
@pytest.mark.parametrize("count", [0, 1, 2, 100, 101, 350])
def test_a_batch(conn, count, acknowledge):
    assert conn.batch([make(f"ifb{i}") for i in range(count)], acknowledge=acknowledge) == [None] * count
    assert len(conn.collect(LINKS)) == count + 1


def test_results_by_position(conn):
    index = rtnl.add_link(conn, "ifb0")
    assert conn.batch([get(1), make("ifb1"), get(index), get(1)]) == ["lo", None, "ifb0", "lo"]


@pytest.mark.parametrize("acknowledge", ["each", "last"])
def test_a_batch_that_fails_in_part(conn, acknowledge):
    requests = [make("ifb0"), make("ifb0"), get(4711), make("ifb1"), make("ifb0").tolerate(errno.EEXIST), get(1)]
    with pytest.raises(nl.BatchError) as caught:
        conn.batch(requests, acknowledge=acknowledge)
    exists, missing = caught.value.exceptions
    assert isinstance(exists, nl.Exists)
    assert isinstance(missing, NotFound)
    assert caught.value.results == [None, exists, missing, None, None, "lo"]
    assert "2 of 6 requests failed" in str(caught.value)
    assert set(conn.collect(LINKS)) == {"lo", "ifb0", "ifb1"}
    results = conn.batch([get(4711), get(1)], errors="return", acknowledge=acknowledge)
    assert isinstance(results[0], NotFound)
    assert results[1] == "lo"
    with pytest.raises(nl.BatchError) as caught:
        conn.batch([get(1), get(4711)], acknowledge=acknowledge)
    try:
        raise caught.value
    except* NotFound as group:
        assert group.results == ["lo", group.exceptions[0]]


def test_what_cannot_be_in_a_batch(conn):
    for request in (LINKS, Request(rtnl.links(), ends="none"), get(1, ends="reply")):
        with pytest.raises(ValueError, match="cannot be in a batch"):
            conn.batch([get(1), request])


def test_a_batch_is_few_system_calls(conn, monkeypatch):
    calls = []
    send_parts = _socket.Socket.send_parts
    monkeypatch.setattr(_socket.Socket, "send_parts", lambda self, parts: (calls.append(1), send_parts(self, parts)))
    conn.batch([Request(rtnl.link(rtnl.RTM_NEWLINK, 1))] * 1000)
    assert len(calls) == 10
    assert conn.batch([get(1)] * 1000) == ["lo"] * 1000


def test_sequence_numbers_wrap_around_zero(conn):
    """0 marks notifications, so no request may have it."""
    for last in range(2**32 - 8, 2**32):
        socket = conn._pool.take()
        socket.last_seq = last
        conn._pool.give(socket)
        assert conn.batch([get(1)] * 5) == ["lo"] * 5
        assert 0 < socket.last_seq < 2**32
    socket = conn._pool.take()
    socket.last_seq = 2**32 - 2
    assert [socket.sequence() for _ in range(3)] == [2**32 - 1, 1, 2]
    conn._pool.give(socket)


# watch -----------------------------------------------------------------------------------------------------------


def link_event(message, group):
    return (message.type, name(message), group)


def test_what_happens(conn):
    with conn.watch(nl.Watch([RTNLGRP_LINK], link_event)) as events:
        assert events.ready() == []
        assert events.next(0) is None
        conn.do(make("ifb0"))
        assert next(events) == (rtnl.RTM_NEWLINK, "ifb0", RTNLGRP_LINK)
        conn.do(make("ifb1"))
        conn.do(make("ifb2"))
        assert [event[1] for event in events.ready()] == ["ifb1", "ifb2"]
        assert events.next(0.01) is None
    with pytest.raises(nl.Closed):
        next(events)


def test_a_watch_hears_only_the_kernel(conn):
    with conn.watch(nl.Watch([RTNLGRP_LINK], link_event)) as events:
        forged = rtnl.link(rtnl.RTM_NEWLINK, 1, name="forged").replace(seq=0)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, nl.NETLINK_ROUTE) as other:
            other.sendto(bytes(forged), (events._socket.port, 0))
        conn.do(make("ifb0"))
        assert next(events)[1] == "ifb0"
        assert conn.stats.foreign == 1


def test_a_watch_survives_an_overrun(conn):
    """google/nftables#103 and many more: the loss is told once, and it goes on."""
    index = rtnl.add_link(conn, "ifb0")
    with conn.watch(nl.Watch([RTNLGRP_LINK], link_event)) as events:
        for mtu in range(1000, 3000):
            rtnl.do(conn, rtnl.link(rtnl.RTM_NEWLINK, index, mtu=mtu))
        seen = events.ready()
        lost = [event for event in seen if isinstance(event, nl.Lost)]
        assert len(lost) == 1
        assert lost[0].count + len(seen) - 1 == 2000
        assert conn.stats.overruns == 1
        conn.do(make("ifb1"))
        assert next(events)[1] == "ifb1"


def test_groups_that_do_not_exist(conn):
    with pytest.raises(nl.NetlinkError) as caught:
        conn.watch(nl.Watch([0], link_event))
    assert caught.value.errno == errno.EINVAL


# threads, forks, namespaces --------------------------------------------------------------------------------------


def test_threads_share_a_connection(conn):
    done = []

    def work():
        for _ in range(200):
            assert conn.do(get(1)) == "lo"
            assert conn.collect(LINKS) == ["lo"]
        done.append(True)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [True] * 16
    assert conn.stats.stale == 0


def test_threads_that_receive_get_whole_replies(conn):
    """mdlayher/netlink#265: concurrent receives stole each other's fragments of a dump."""
    conn.batch([make(f"ifb{i}") for i in range(200)])
    for _ in range(30):
        conn.send(rtnl.links().replace(flags=nl.NLM_F_REQUEST | nl.NLM_F_DUMP))
        counts = []

        def work(counts=counts):
            try:
                counts.append(len(conn.receive(timeout=0.05)))
            except nl.Timeout:
                counts.append(None)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(counts, key=str) == [201, None, None]


def test_close_ends_what_waits_everywhere(conn):
    for _ in range(50):
        other = nl.Conn(nl.NETLINK_ROUTE)
        events = other.watch(nl.Watch([RTNLGRP_LINK], link_event))
        waiting = threading.Barrier(3)
        outcome = []

        def wait(call, waiting=waiting, outcome=outcome):
            waiting.wait()
            try:
                outcome.append(call())
            except nl.Closed:
                outcome.append("closed")

        calls = [lambda events=events: next(events), lambda other=other: other.receive()]
        threads = [threading.Thread(target=wait, args=[call]) for call in calls]
        for thread in threads:
            thread.start()
        waiting.wait()
        other.close()
        for thread in threads:
            thread.join(timeout=30)
            assert not thread.is_alive()
        assert outcome == ["closed", "closed"]


def test_a_fork_has_sockets_of_its_own(conn):
    """svinota/pyroute2#1166: a child that asks on the parent's socket takes the parent's replies."""
    replies = conn.execute_iter(rtnl.links())
    assert conn.do(get(1)) == "lo"
    pid = os.fork()
    if not pid:
        status = 1
        try:
            status = 0 if conn.do(get(1)) == "lo" and conn.collect(LINKS) == ["lo"] else 2
            try:
                next(replies)
                status = 3
            except nl.Closed:
                pass
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert len(list(replies)) == 1


def test_a_thread_that_moves_to_another_namespace(conn):
    rtnl.add_link(conn, "ifb0")
    with network():
        with nl.Conn(nl.NETLINK_ROUTE) as other:
            assert other.collect(LINKS) == ["lo"]
        outer = [conn.dump(LINKS) for _ in range(3)]  # more sockets than are open
        assert all(sorted(names) == ["ifb0", "lo"] for names in outer)
    assert sorted(conn.collect(LINKS)) == ["ifb0", "lo"]


# What is given in the wrong place --------------------------------------------------------------------------------


def test_what_is_no_request_is_refused(conn):
    """And says so, before anything is sent."""
    for call, wrong, said in [
        (conn.do, None, "a Request is wanted, not None"),
        (conn.do, [trouble.GET], "a Request is wanted"),
        (conn.do, rtnl.links, r"\(call it\)"),
        (conn.do, trouble.LINKS, "run it by `dump` or `collect`"),
        (conn.batch, ["x"], "a Request is wanted, not 'x'"),
        (conn.watch, trouble.GET, "a Watch is wanted"),
    ]:
        with pytest.raises(TypeError, match=said):
            call(wrong)
    with pytest.raises(ValueError, match='errors is "raise" or "return", not \'ignore\''):
        conn.batch([trouble.GET], errors="ignore")
    with pytest.raises(TypeError, match="a protocol is a number"):
        nl.Conn("route")
    assert conn.do(trouble.GET) == "lo"


def test_a_procedure_ends_at_its_deadline(conn):
    """However fast its steps are."""

    def for_ever():
        while True:
            yield trouble.GET

    with pytest.raises(nl.Timeout):
        conn.do(nl.Procedure(for_ever), timeout=0.01)

    def once():
        return (yield trouble.GET)

    assert conn.do(nl.Procedure(once), timeout=0) == "lo"  # what is there at once is in time


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_dump_that_a_fork_inherits_leaves_nothing_behind(conn):
    """Its socket is the parent's, and not for the child's next request."""
    conn.batch([trouble.link(f"ifb{number}") for number in range(9)])
    dump = conn.dump(trouble.LINKS)
    next(dump)
    child = os.fork()
    if not child:
        status = 1
        with contextlib.suppress(BaseException):
            with contextlib.suppress(nl.Closed):
                list(dump)
            status = int(len(conn.collect(trouble.LINKS)) != 10)
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(list(dump)) == 9
