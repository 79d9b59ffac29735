"""The connection against the real kernel, in namespaces of its own."""

import errno
import socket
import struct
import threading

import pytest

import netlink_codec as nl
import rtnl
from namespaces import descriptors, network
from netlink_codec import _socket

pytestmark = pytest.mark.kernel


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=30) as conn:
        yield conn


def names(messages):
    return [m.attributes(rtnl.IFINFOMSG.size).find(rtnl.IFLA_IFNAME).string() for m in messages]


# execute_iter ----------------------------------------------------------------------------------------------------


def test_a_dump_streams_and_ends_at_its_done(conn):
    for i in range(60):
        rtnl.add_link(conn, f"ifb{i}")
    assert sorted(names(conn.execute_iter(rtnl.links()))) == sorted(["lo", *(f"ifb{i}" for i in range(60))])


def test_an_answer_that_is_no_dump_ends_at_its_acknowledgement(conn):
    (reply,) = conn.execute_iter(rtnl.link(rtnl.RTM_GETLINK, 1))
    assert reply.type == rtnl.RTM_NEWLINK
    assert names([reply]) == ["lo"]


def test_a_change_yields_nothing(conn):
    assert rtnl.do(conn, rtnl.link(rtnl.RTM_NEWLINK, 1, mtu=1500)) == []
    (reply,) = conn.execute_iter(rtnl.link(rtnl.RTM_GETLINK, 1))
    assert reply.attributes(16).find(rtnl.IFLA_MTU).u32() == 1500


def test_one_socket_is_enough_for_one_question_after_another(conn, monkeypatch):
    opened, open_one = [], _socket.Socket.open

    def counted(self, protocol):
        opened.append(protocol)
        return open_one(self, protocol)

    monkeypatch.setattr(_socket.Socket, "open", counted)
    with nl.Conn(nl.NETLINK_ROUTE, timeout=30) as fresh:
        for _ in range(20):
            fresh.execute(rtnl.link(rtnl.RTM_GETLINK, 1))  # a reply
            fresh.execute(rtnl.link(rtnl.RTM_NEWLINK, 1, mtu=1500))  # an acknowledgement
            list(fresh.execute_iter(rtnl.links()))
            with pytest.raises(nl.NetlinkError):
                fresh.execute(rtnl.link(rtnl.RTM_DELLINK, 4711))
    assert len(opened) == 1


def test_an_error_has_the_errno(conn):
    with pytest.raises(nl.NetlinkError) as caught:
        rtnl.do(conn, rtnl.link(rtnl.RTM_DELLINK, 4711))
    assert caught.value.errno == errno.ENODEV


def test_an_error_has_the_kernels_words(conn):
    """The request is echoed whole or capped, and the words come after it."""
    index = rtnl.add_link(conn, "ifb0")
    with pytest.raises(nl.NetlinkError) as caught:
        rtnl.do(conn, rtnl.alternative_names(index, ["other"], container=rtnl.IFLA_PROP_LIST))
    assert caught.value.errno == errno.EINVAL
    assert caught.value.message == "NLA_F_NESTED is missing"
    rtnl.do(conn, rtnl.alternative_names(index, ["other"]))
    assert names(conn.execute_iter(rtnl.link(rtnl.RTM_GETLINK, index))) == ["ifb0"]


def test_a_dump_that_failed_is_not_an_empty_one(conn):
    """vishvananda/netlink#520: the errno is in the NLMSG_DONE."""
    with pytest.raises(nl.NetlinkError) as caught:
        rtnl.do(conn, rtnl.addresses(index=4711))
    assert caught.value.errno == errno.ENODEV


def test_a_failed_dumps_words(conn):
    """mdlayher/netlink#183: they follow the errno directly."""
    with pytest.raises(nl.NetlinkError) as caught:
        rtnl.do(conn, rtnl.routes(prefix=24))
    assert caught.value.errno == errno.EINVAL
    assert caught.value.message == "Invalid values in header for FIB dump request"


def test_a_kernel_that_has_nothing_to_say_still_ends_the_call(conn):
    """mdlayher/netlink#20: a request cut to its header gets no reply but the acknowledgement."""
    for flags in (0, nl.NLM_F_DUMP):
        try:
            assert rtnl.do(conn, nl.Message(rtnl.RTM_GETLINK, flags)) == []
        except nl.NetlinkError as error:
            assert error.errno == errno.EINVAL  # a kernel that checks the length says so


def test_the_sequence_and_port_are_filled_in_and_kept_when_given(conn):
    (reply,) = conn.execute_iter(rtnl.link(rtnl.RTM_GETLINK, 1).replace(seq=77))
    assert reply.seq == 77
    first, second = (conn.send(rtnl.link(rtnl.RTM_GETLINK, 1, flags=nl.NLM_F_REQUEST)) for _ in range(2))
    assert first.pid == second.pid == conn.pid != 0
    assert second.seq == (first.seq + 1) % 2**32 or first.seq == 2**32 - 1


def test_requests_and_dumps_inside_a_dump(conn):
    """vishvananda/netlink#1057: one dump at a time per socket; each has its own."""
    for i in range(60):
        rtnl.add_link(conn, f"ifb{i}")
    outer = 0
    for message in conn.execute_iter(rtnl.links()):
        outer += 1
        index = rtnl.IFINFOMSG.unpack_from(message.view)[2]
        assert len(rtnl.do(conn, rtnl.link(rtnl.RTM_GETLINK, index))) == 1
        if outer % 20 == 0:
            assert len(rtnl.do(conn, rtnl.links())) == 61
    assert outer == 61


def test_leaving_early_costs_no_descriptor_and_disturbs_nothing(conn):
    for i in range(60):
        rtnl.add_link(conn, f"ifb{i}")
    conn.execute_iter(rtnl.links()).close()  # from here on a descriptor of the namespace is kept
    rtnl.do(conn, rtnl.links())
    before = descriptors()
    for stop in range(61):
        with conn.execute_iter(rtnl.links()) as replies:
            for position, _ in enumerate(replies):
                if position == stop:
                    break
    for stop in range(61):
        for position, _ in enumerate(conn.execute_iter(rtnl.links())):
            if position == stop:
                break
    assert len(rtnl.do(conn, rtnl.links())) == 61
    assert descriptors() == before


def test_an_error_gives_the_descriptor_back(conn):
    before = descriptors()
    for _ in range(100):
        with pytest.raises(nl.NetlinkError):
            rtnl.do(conn, rtnl.link(rtnl.RTM_DELLINK, 4711))
    assert descriptors() == before


def test_iterating_on_after_the_end(conn):
    replies = conn.execute_iter(rtnl.link(rtnl.RTM_GETLINK, 1))
    assert len(list(replies)) == 1
    assert list(replies) == []
    replies.close()


def test_a_kept_message_stays(conn):
    """mdlayher/netlink#284: payloads were overwritten by the next receive."""
    for i in range(60):
        rtnl.add_link(conn, f"ifb{i}")
    kept = list(conn.execute_iter(rtnl.links()))
    wire = [bytes(m) for m in kept]
    for _ in range(3):
        rtnl.do(conn, rtnl.links())
    assert [bytes(m) for m in kept] == wire
    assert len(set(names(kept))) == 61


@pytest.mark.parametrize(("count", "size"), [(29, 4096), (59, 8192), (269, 32768), (489, 65536)])
def test_links_larger_than_any_common_buffer(conn, count, size):
    """vishvananda/netlink#354, #960: nothing is cut, and no link is missing from the dump."""
    index = rtnl.add_link(conn, "ifb0")
    alternatives = [f"{i:04d}".ljust(125, "x") for i in range(count)]
    for start in range(0, count, 100):
        rtnl.do(conn, rtnl.alternative_names(index, alternatives[start : start + 100]))
    (reply,) = conn.execute_iter(rtnl.link(rtnl.RTM_GETLINK, index, mask=8))
    assert reply.length > size
    listed = reply.attributes(16).find(rtnl.IFLA_PROP_LIST).nested().find_all(rtnl.IFLA_ALT_IFNAME)
    assert [name.string() for name in listed] == alternatives
    assert sorted(names(conn.execute_iter(rtnl.links()))) == ["ifb0", "lo"]


def test_a_datagram_that_was_cut_is_an_error(conn, monkeypatch):
    monkeypatch.setattr(_socket, "BUFFER_SIZE", 64)
    monkeypatch.setattr(_socket, "_buffers", [])
    with pytest.raises(nl.NetlinkError) as caught:
        rtnl.do(conn, rtnl.links())
    assert caught.value.errno == errno.EMSGSIZE


def test_a_protocol_without_strict_checking(conn):
    """Generic netlink's controller: its names must end in NUL."""
    ctrl_cmd_getfamily, attr_family_id, attr_family_name = 3, 1, 2
    encoder = nl.AttributeEncoder(struct.pack("=BBH", ctrl_cmd_getfamily, 1, 0))
    encoder.string(attr_family_name, "nlctrl")
    with nl.Conn(nl.NETLINK_GENERIC, timeout=30, strict=False) as generic:
        (reply,) = generic.execute_iter(nl.Message(0x10, 0, encoder))
        assert reply.attributes(4).find(attr_family_id).u16() == 0x10
        assert reply.attributes(4).find(attr_family_name).string() == "nlctrl"
        encoder.clear()
        encoder.string(attr_family_name, "nobody")
        with pytest.raises(nl.NetlinkError) as caught:
            list(generic.execute_iter(nl.Message(0x10, 0, encoder)))
        assert caught.value.errno == errno.ENOENT


# The raw calls ---------------------------------------------------------------------------------------------------


def test_send_and_receive_one_reply(conn):
    sent = conn.send(rtnl.link(rtnl.RTM_GETLINK, 1, flags=nl.NLM_F_REQUEST))
    (reply,) = conn.receive_iter()
    assert (reply.seq, reply.type) == (sent.seq, rtnl.RTM_NEWLINK)


def test_a_reply_and_its_acknowledgement_are_two(conn):
    """mdlayher/netlink#167: the acknowledgement is not left behind unseen, nor taken for another's."""
    sent = conn.send(rtnl.link(rtnl.RTM_GETLINK, 1, flags=nl.NLM_F_REQUEST | nl.NLM_F_ACK))
    (reply,) = conn.receive_iter()
    assert reply.type == rtnl.RTM_NEWLINK
    (acknowledgement,) = conn.receive_iter()
    assert (acknowledgement.type, acknowledgement.seq) == (nl.NLMSG_ERROR, sent.seq)


def test_receive_a_series(conn):
    for i in range(60):
        rtnl.add_link(conn, f"ifb{i}")
    conn.send(rtnl.links().replace(flags=nl.NLM_F_REQUEST | nl.NLM_F_DUMP))
    assert len(list(conn.receive_iter())) == 61


def test_receive_an_error(conn):
    conn.send(rtnl.link(rtnl.RTM_DELLINK, 4711, flags=nl.NLM_F_REQUEST))
    with pytest.raises(nl.NetlinkError) as caught:
        list(conn.receive_iter())
    assert caught.value.errno == errno.ENODEV


def test_what_is_left_of_a_series_is_passed_over(conn):
    for i in range(60):
        rtnl.add_link(conn, f"ifb{i}")
    for stop in (0, 1, 30, 60):
        conn.send(rtnl.links().replace(flags=nl.NLM_F_REQUEST | nl.NLM_F_DUMP))
        replies = conn.receive_iter()
        for position, _ in enumerate(replies):
            if position == stop:
                break
        replies.close()
        sent = conn.send(rtnl.link(rtnl.RTM_GETLINK, 1, flags=nl.NLM_F_REQUEST))
        (reply,) = conn.receive_iter()
        assert reply.seq == sent.seq


def test_the_deadline(conn):
    with pytest.raises(nl.Timeout) as caught:
        list(conn.receive_iter(timeout=0.01))
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.errno == errno.ETIMEDOUT
    conn.send(rtnl.link(rtnl.RTM_GETLINK, 1, flags=nl.NLM_F_REQUEST))
    assert len(list(conn.receive_iter(timeout=0))) == 1  # it bounds the waiting, and there was none


def test_the_connections_own_deadline():
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=0.01) as conn, pytest.raises(nl.Timeout):
        list(conn.receive_iter())


def test_other_processes_are_not_heard(conn):
    """vishvananda/netlink#468: who may speak is decided by the sender, and here that is the kernel."""
    forged = bytes(nl.Message(rtnl.RTM_NEWLINK, 0, bytes(16)))
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, nl.NETLINK_ROUTE) as other:
        other.sendto(forged, (conn.pid, 0))
        sent = conn.send(rtnl.link(rtnl.RTM_GETLINK, 1, flags=nl.NLM_F_REQUEST))
        (reply,) = conn.receive_iter()
        assert reply.seq == sent.seq
        assert conn.stats.foreign == 1
        replies = conn.execute_iter(rtnl.link(rtnl.RTM_GETLINK, 1))
        with pytest.raises(ConnectionRefusedError):
            other.sendto(forged, (replies.sent.pid, 0))
        assert len(list(replies)) == 1


# Closing ---------------------------------------------------------------------------------------------------------


def test_closed(conn):
    replies = conn.receive_iter()
    conn.close()
    conn.close()
    for call in (
        lambda: next(replies),
        lambda: conn.send(rtnl.links()),
        lambda: conn.execute_iter(rtnl.links()),
        lambda: next(conn.receive_iter()),
    ):
        with pytest.raises(nl.Closed):
            call()


def test_close_wakes_who_waits(conn):
    """mdlayher/netlink#162: closing a descriptor does not wake a thread that reads from it."""
    before = descriptors()
    for _ in range(100):
        other = nl.Conn(nl.NETLINK_ROUTE)
        started = threading.Event()
        outcome = []

        def wait(other=other, started=started, outcome=outcome):
            replies = other.receive_iter()
            started.set()
            try:
                outcome.append(next(replies))
            except nl.Closed as error:
                outcome.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        started.wait()
        other.close()
        thread.join(timeout=30)
        assert not thread.is_alive()
        assert isinstance(outcome[0], nl.Closed)
    assert descriptors() == before


def test_forgetting_to_close_warns_and_leaks_nothing(conn):
    before = descriptors()
    with pytest.warns(ResourceWarning, match="unclosed"):
        nl.Conn(nl.NETLINK_ROUTE)
    assert descriptors() == before


def test_a_protocol_that_does_not_exist(conn):
    before = descriptors()
    with pytest.raises(nl.NetlinkError) as caught:
        nl.Conn(31)
    assert caught.value.errno == errno.EPROTONOSUPPORT
    assert descriptors() == before


def test_many_threads_on_one_connection(conn):
    for i in range(20):
        rtnl.add_link(conn, f"ifb{i}")
    results = []

    # The sockets are opened by the threads, which begin in the namespace of the one that starts them.
    def work():
        for _ in range(50):
            results.append((len(rtnl.do(conn, rtnl.links())), len(rtnl.do(conn, rtnl.link(rtnl.RTM_GETLINK, 1)))))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [(21, 1)] * 400
