"""The raw calls on the real kernel: requests that nobody answers, options, filters, groups, and large sends."""

import contextlib
import errno
import itertools
import math
import os
import socket
import struct
import subprocess
import sys

import pytest

import netlink_codec as nl
import nft
import rtnl
import trouble
from namespaces import at_once, descriptors, network
from trouble import asking, drain, hesitate, name, plain, raises, still_works

pytestmark = pytest.mark.kernel

GETLINK = asking(rtnl.link(rtnl.RTM_GETLINK, 1))
RTM_NEWMULTICAST, RTNLGRP_IPV4_MCADDR = 56, 37
BPF_LD_W_ABS, BPF_JEQ_K, BPF_RET_K = 0x20, 0x15, 0x06
EVERYTHING = 0xFFFFFFFF


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=30) as conn:
        yield conn


# Requests without an answer --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        nl.Message(rtnl.RTM_GETLINK, nl.NLM_F_REQUEST),
        nl.Message(rtnl.RTM_GETLINK, nl.NLM_F_REQUEST | nl.NLM_F_DUMP),
        rtnl.link(rtnl.RTM_GETLINK, 1),
        nl.Message(nl.NLMSG_NOOP, nl.NLM_F_REQUEST),
        nl.Message(nl.NLMSG_DONE, nl.NLM_F_REQUEST, bytes(4)),
    ],
    ids=["a header alone", "a header alone, dump", "no NLM_F_REQUEST", "NOOP", "DONE"],
)
@pytest.mark.parametrize("timeout", [0, 0.01, -1])
def test_the_deadline_ends_what_the_kernel_does_not_answer(conn, message, timeout):
    """mdlayher/netlink#20, rust-netlink/netlink-proto#44, google/nftables#242."""
    conn.send(message)
    with pytest.raises(nl.NetlinkError) as caught:
        conn.receive(timeout=timeout)
    # A kernel that checks the length of a GETLINK says so.
    allowed = [errno.ETIMEDOUT, errno.EINVAL] if message.length == 16 else [errno.ETIMEDOUT]
    assert caught.value.errno in allowed
    still_works(conn)


@pytest.mark.parametrize("length", [0, 8, 15, 33, EVERYTHING])
def test_a_length_that_others_may_write(conn, length):
    """mdlayher/netlink#20: the kernel passes over a message that ends before its header, or after its datagram."""
    with socket.socket(fileno=os.dup(conn.fileno())) as descriptor:
        descriptor.sendto(struct.pack("=IHHII", length, rtnl.RTM_GETLINK, nl.NLM_F_REQUEST, 1, 0) + bytes(16), (0, 0))
    raises(errno.ETIMEDOUT, conn.receive, timeout=0)
    still_works(conn)


def test_a_dump_that_is_answered_by_an_acknowledgement_is_over(conn):
    """mdlayher/netlink#20: flags 0x305 on a header alone."""
    conn.send(nl.Message(rtnl.RTM_GETLINK, nl.NLM_F_REQUEST | nl.NLM_F_ACK | nl.NLM_F_DUMP))
    try:
        (acknowledgement,) = conn.receive(timeout=0)
    except nl.NetlinkError as error:
        assert error.errno == errno.EINVAL
    else:
        assert acknowledgement.type == nl.NLMSG_ERROR
    raises(errno.ETIMEDOUT, conn.receive, timeout=0)
    assert conn.execute(nl.Message(nl.NLMSG_NOOP)) == []
    still_works(conn)


@pytest.mark.parametrize("timeout", [3e6, 1e10, 1e300, math.inf, None])
def test_no_deadline_is_too_far(conn, timeout, monkeypatch):
    """Longer than poll(2) can wait, and than some clocks go."""
    hesitate(monkeypatch)
    with conn.watch(trouble.LINK_EVENTS) as watch:
        assert conn.do(trouble.GET, timeout=timeout) == "lo"
        assert conn.collect(trouble.LINKS, timeout=timeout) == ["lo"]
        assert conn.batch([trouble.GET, trouble.set_mtu(1400)], timeout=timeout) == ["lo", None]
        assert watch.next(timeout=timeout) == (rtnl.RTM_NEWLINK, "lo")
        conn.send(GETLINK)
        assert name(conn.receive(timeout=timeout)[0]) == "lo"


# A second dump ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [1, 3])
def test_a_second_dump_on_the_socket_is_busy_and_the_first_goes_on(conn, seconds):
    """vishvananda/netlink#1057, projectcalico/calico#9769, COVESA/vsomeip#1051, svinota/pyroute2#535."""
    conn.batch([trouble.link(f"ifb{number}") for number in range(60)])
    everything = sorted(["lo", *(f"ifb{number}" for number in range(60))])
    first = conn.send(asking(rtnl.links()))
    for _ in range(seconds):
        conn.send(asking(rtnl.links()))
    got = []
    for _ in range(seconds):
        with pytest.raises(nl.NetlinkError) as caught:
            got.extend(conn.receive_iter())
        assert caught.value.errno == errno.EBUSY
        assert "busy" in str(caught.value)
    got.extend(conn.receive_iter())
    assert {message.seq for message in got} == {first.seq}
    assert sorted(map(name, got)) == everything
    still_works(conn, everything)


def test_dumps_of_two_threads_are_not_busy(conn):
    """LNST-project/lnst#393 and the above: what is asked for by `dump` never shares a socket."""
    conn.batch([trouble.link(f"ifb{number}") for number in range(60)])
    outer = [conn.dump(trouble.LINKS) for _ in range(10)]
    assert len({tuple(sorted(links)) for links in zip(*outer, strict=True)}) == 61


# Threads ---------------------------------------------------------------------------------------------------------


def test_threads_receive_on_the_one_socket(conn):
    """Each datagram goes to one of them, whoever it is."""
    conn.fileno()

    def work():
        received = []
        for _ in range(200):
            conn.send(asking(trouble.SET.message, nl.NLM_F_ACK))
            received += [message.seq for message in conn.receive()]
        return received

    received = trouble.together([work] * 8)
    assert len(set(itertools.chain(*received))) == 8 * 200
    still_works(conn)


def test_threads_wait_on_the_one_socket(conn):
    """mdlayher/netlink#162: and all of them wake when it is closed."""
    conn.fileno()
    outcome = at_once([lambda: conn.receive(timeout=0.05)] * 4)
    assert [type(error) for error in outcome] == [nl.Timeout] * 4
    still_works(conn)
    *outcome, _ = at_once([conn.receive] * 4 + [conn.close])
    assert [type(error) for error in outcome] == [nl.Closed] * 4


# Options ---------------------------------------------------------------------------------------------------------


def test_options(conn):
    switched_on = [nl.NETLINK_CAP_ACK, nl.NETLINK_EXT_ACK, nl.NETLINK_GET_STRICT_CHK, nl.NETLINK_PKTINFO]
    assert [conn.get_option(option) for option in switched_on] == [1] * 4
    assert conn.get_option(nl.NETLINK_NO_ENOBUFS) == 0  # who wants no loss to be told must say so
    conn.set_option(nl.NETLINK_NO_ENOBUFS, 1)
    assert conn.get_option(nl.NETLINK_NO_ENOBUFS) == 1
    raises(errno.ENOPROTOOPT, conn.set_option, 999, 1)
    raises(errno.ENOPROTOOPT, conn.get_option, 999)
    still_works(conn)
    with nl.Conn(nl.NETLINK_ROUTE, strict=False) as lax:
        assert lax.get_option(nl.NETLINK_GET_STRICT_CHK) == 0


def test_buffers_are_twice_what_is_asked_for(conn):
    """The kernel doubles it, and shows the double; a privileged caller is not bound by the system's limit."""
    for resize in (conn.set_receive_buffer, conn.set_send_buffer):
        assert resize(100_000) == 200_000
        assert resize(48 << 20) in (96 << 20, resize(1 << 30))  # not privileged: as far as it goes
        assert resize(1) > 2  # nor below what a message takes
    still_works(conn)


def test_a_port_of_ones_own_choice(conn):
    before = descriptors()
    with nl.Conn(nl.NETLINK_ROUTE, pid=47110815, timeout=30) as chosen:
        assert chosen.pid == 47110815
        sent = chosen.send(GETLINK)
        (reply,) = chosen.receive()
        assert sent.pid == reply.pid == 47110815
        # What the message says of its sender is its own affair: the answer comes here.
        sent = chosen.send(GETLINK.replace(pid=77, seq=78))
        (reply,) = chosen.receive()
        assert (sent.pid, sent.seq, reply.pid, reply.seq) == (77, 78, 47110815, 78)
        (reply,) = chosen.execute_iter(GETLINK.replace(pid=77, seq=78))
        assert reply.seq == 78
        assert reply.pid not in (77, 47110815)
        still_works(chosen)
        with nl.Conn(nl.NETLINK_ROUTE, pid=47110815, timeout=30) as second:
            raises(errno.EADDRINUSE, second.send, GETLINK)
            raises(errno.EADDRINUSE, second.fileno)
            assert second.do(trouble.GET) == "lo"
        raises(errno.EADDRINUSE, nl.Conn, nl.NETLINK_ROUTE, pid=47110815, groups=[trouble.RTNLGRP_LINK])
        still_works(chosen)
    assert descriptors() == before


# Groups ----------------------------------------------------------------------------------------------------------


def test_groups_at_construction(conn):
    before = descriptors()
    with nl.Conn(nl.NETLINK_ROUTE, groups=(trouble.RTNLGRP_LINK, trouble.RTNLGRP_IPV4_IFADDR), timeout=30) as listening:
        index = rtnl.add_link(conn, "ifb0")
        conn.do(trouble.add_address(index, bytes([10, 0, 0, 1])))
        assert [m.type for m in drain(listening)] == [rtnl.RTM_NEWLINK, rtnl.RTM_NEWADDR]
    for group in (0, 200, -1):
        raises(errno.EINVAL, nl.Conn, nl.NETLINK_ROUTE, groups=[trouble.RTNLGRP_LINK, group])
    assert descriptors() == before


def test_groups_by_number(conn):
    """mdlayher/netlink#29, jbaublitz/neli#72, svinota/pyroute2#473, managarm/managarm#855: never by bits."""
    numbers = (3, trouble.RTNLGRP_BRVLAN, trouble.RTNLGRP_STATS)
    for group in (0, 200, -1, 2**31 - 1):
        raises(errno.EINVAL, conn.join_group, group)
        raises(errno.EINVAL, conn.leave_group, group)
    for group in numbers:
        conn.join_group(group)
        conn.join_group(group)
    assert memberships(conn) == set(numbers)
    for group in numbers:
        conn.leave_group(group)
        assert group not in memberships(conn)
        conn.leave_group(group)
    conn.join_group(3)
    with plain() as other:
        for group in (1, 2, 3, 4):
            other.sendto(bytes(nl.Message(rtnl.RTM_NEWLINK, 0, bytes(16))), (0, 1 << group - 1))
    assert drain(conn) == []
    assert conn.stats.foreign == 1
    still_works(conn)


def memberships(conn):
    with socket.socket(fileno=os.dup(conn.fileno())) as descriptor:
        bits = int.from_bytes(descriptor.getsockopt(nl.SOL_NETLINK, nl.NETLINK_LIST_MEMBERSHIPS, 64), sys.byteorder)
    return {bit + 1 for bit in range(bits.bit_length()) if bits >> bit & 1}


def test_a_group_above_32_is_heard(conn):
    """mdlayher/netlink#29: in the sender's address such a group is 0, and only the packet info tells."""
    try:
        heard = conn.watch(nl.Watch([RTNLGRP_IPV4_MCADDR], lambda message, group: (message.type, group)))
        conn.join_group(RTNLGRP_IPV4_MCADDR)
    except nl.NetlinkError as error:
        assert error.errno == errno.EINVAL
        pytest.skip("this kernel has no group above 32 that could be made to speak here")
    index = rtnl.add_link(conn, "ifb0")
    conn.do(trouble.set_up(index))
    assert next(heard) == (RTM_NEWMULTICAST, RTNLGRP_IPV4_MCADDR)
    assert [message.type for message in drain(conn)] == [RTM_NEWMULTICAST]


def test_what_happens_comes_in_order(conn):
    """kubeovn/kube-ovn#7116: one address added and deleted, a thousand times."""
    index = rtnl.add_link(conn, "ifb0")
    conn.join_group(trouble.RTNLGRP_IPV4_IFADDR)
    watch = conn.watch(nl.Watch([trouble.RTNLGRP_IPV4_IFADDR], lambda message, group: message.type))
    address = bytes([10, 0, 0, 1])
    both = [trouble.add_address(index, address), trouble.delete_address(index, address)]
    order = [rtnl.RTM_NEWADDR, trouble.RTM_DELADDR]
    # As many as the receive buffers hold for certain, since nobody reads meanwhile.
    for _ in range(1000 // 25):
        conn.batch(both * 25)
        assert watch.ready() == order * 25
        assert [message.type for message in drain(conn)] == order * 25


# Filters ---------------------------------------------------------------------------------------------------------


def accept(seq):
    """The messages of one sequence number, which BPF reads in network order."""
    (number,) = struct.unpack("!I", struct.pack("=I", seq))
    return [(BPF_LD_W_ABS, 0, 0, 8), (BPF_JEQ_K, 0, 1, number), (BPF_RET_K, 0, 0, EVERYTHING), (BPF_RET_K, 0, 0, 0)]


def test_a_filter_for_one_sequence_number(conn):
    conn.set_bpf(accept(0x01020304))
    for seq in (0x01020303, 0x01020304, 0x01020305, 0x04030201):
        conn.send(GETLINK.replace(seq=seq))
    assert [message.seq for message in drain(conn)] == [0x01020304]
    # It is the own socket's: requests and watches have others.
    assert conn.collect(trouble.LINKS) == [conn.do(trouble.GET)] == ["lo"]
    conn.set_bpf(accept(7))  # replaces it
    conn.send(GETLINK.replace(seq=0x01020304))
    conn.send(GETLINK.replace(seq=7))
    assert [message.seq for message in drain(conn)] == [7]
    conn.remove_bpf()
    still_works(conn)


@pytest.mark.parametrize(
    "program",
    [
        [],
        [(BPF_LD_W_ABS, 0, 0, 8)],
        [(0xFFFF, 0, 0, 0)],
        [(BPF_JEQ_K, 9, 9, 0), (BPF_RET_K, 0, 0, 0)],
        [(BPF_RET_K, 0, 0, 0)] * 4097,
    ],
    ids=["empty", "no end", "no such instruction", "a jump too far", "too long"],
)
def test_filters_that_the_kernel_refuses(conn, program):
    conn.set_bpf([(BPF_RET_K, 0, 0, EVERYTHING)])
    raises(errno.EINVAL, conn.set_bpf, program)
    still_works(conn)
    conn.remove_bpf()
    raises(errno.ENOENT, conn.remove_bpf)
    with pytest.raises(struct.error):
        conn.set_bpf([(0, 0, 0, 2**32)])
    still_works(conn)


@pytest.mark.parametrize("length", [1, 15, 20])
def test_a_filter_that_cuts(conn, length):
    conn.set_bpf([(BPF_RET_K, 0, 0, length)])
    conn.send(GETLINK)
    with pytest.raises(nl.DecodeError):
        conn.receive()
    conn.remove_bpf()
    still_works(conn)


# Many and large messages -----------------------------------------------------------------------------------------


def unpadded(name):
    """A request whose last attribute ends at no multiple of 4."""
    text = name.encode()
    assert len(text) % 4
    kind = struct.pack("=HHHH3s1x", 12, rtnl.IFLA_LINKINFO | nl.NLA_F_NESTED, 7, rtnl.IFLA_INFO_KIND, b"ifb")
    last = struct.pack("=HH", 4 + len(text), rtnl.IFLA_IFNAME) + text
    return nl.Message(
        rtnl.RTM_NEWLINK, trouble.CREATE | nl.NLM_F_REQUEST, rtnl.IFINFOMSG.pack(0, 0, 0, 0, 0) + kind + last
    )


def test_messages_are_padded_on_the_wire(conn):
    names = [f"ifb{number:02d}{'x' * (number % 3)}" for number in range(60)]
    more = [f"more{name}" for name in names]
    messages = conn.send_messages([unpadded(name) for name in names])
    assert all(message.length % 4 for message in messages)
    assert len({message.seq for message in messages}) == 60
    assert conn.batch([nl.Request(unpadded(name)) for name in more]) == [None] * 60
    assert sorted(conn.collect(trouble.LINKS)) == sorted(["lo", *names, *more])
    assert conn.send_messages([]) == []


@pytest.mark.parametrize("count", [1023, 1024, 1025, 3000])
def test_more_messages_than_parts_that_one_sendmsg_takes(conn, count):
    index = rtnl.add_link(conn, "ifb0")
    requests = [trouble.add_address(index, struct.pack(">I", 0x0A000001 + number)) for number in range(count)]
    messages = [asking(request.message) for request in requests]
    messages[-1] = asking(messages[-1], nl.NLM_F_ACK)
    sent = conn.send_messages(messages)
    (acknowledgement,) = conn.receive(timeout=0)
    assert acknowledgement.seq == sent[-1].seq
    assert len(conn.execute(rtnl.addresses())) == count


@pytest.mark.parametrize(("messages", "count"), [(1, 10), (10, nft.MOST_ELEMENTS)])
def test_a_transaction_larger_than_the_send_buffer(messages, count):
    """google/nftables#311: ten messages of 64 KiB are one datagram, since half a batch is none."""
    with network(), nl.Conn(nl.NETLINK_NETFILTER, strict=False, timeout=30) as conn:
        parts = [nft.elements("t", "s", 0x0A000000 + number * count, count) for number in range(messages)]
        parts[-1] = parts[-1].replace(flags=parts[-1].flags | nl.NLM_F_ACK)
        before = conn.set_send_buffer(100_000)
        transaction = nft.batch(nft.table("t"), nft.address_set("t", "s"), *parts)
        sent = conn.send_messages(transaction)
        assert sum(map(len, sent)) > before or messages == 1
        (acknowledgement,) = conn.receive()
        assert acknowledgement.seq == sent[-2].seq
        assert nft.count_elements(conn, "t", "s") == messages * count


def test_a_transaction_is_one_datagram():
    """A fault in its last message undoes all of it."""
    with network(), nl.Conn(nl.NETLINK_NETFILTER, strict=False, timeout=30) as conn:
        conn.send_messages(
            nft.batch(*(nft.table(f"t{number}") for number in range(100)), nft.elements("t0", "no", 1, 1))
        )
        raises(errno.ENOENT, conn.receive)
        assert nft.tables(conn) == []


CANNOT_GROW = """
import errno, netlink_codec as nl
with nl.Conn(nl.NETLINK_ROUTE, timeout=30) as conn:
    size = 2 * conn.set_send_buffer(2**30)
    large = nl.Message(16, nl.NLM_F_REQUEST, bytes(size // 4))
    for send in (
        lambda: conn.send_messages([large] * 4),
        lambda: conn.send(nl.Message(16, 0, bytes(size))),
        lambda: conn.execute(nl.Message(16, 0, bytes(size))),
        lambda: conn.batch([nl.Request(nl.Message(16, 0, bytes(size)))]),
    ):
        try:
            send()
        except nl.NetlinkError as error:
            assert error.errno == errno.EMSGSIZE, error
            assert "bytes do not fit into a send buffer of" in str(error), error
            assert "wmem_max" in str(error), error
        else:
            raise SystemExit("sent")
        assert len(conn.execute(nl.Message(18, 0, bytes([0, 0, 0, 0, 1]) + bytes(11)))) == 1
    assert conn.set_receive_buffer(2**30) < 2**31
print("fine")
"""


def test_a_send_buffer_that_cannot_grow():
    """google/nftables#311: nothing is sent, and the error says how much it was, and how much may be."""
    # Root of a user namespace is nobody to the limits of the machine.
    with network():
        result = subprocess.run(
            ["unshare", "-Urn", sys.executable, "-c", CANNOT_GROW], capture_output=True, text=True, check=False
        )
    assert (result.returncode, result.stdout) == (0, "fine\n"), result.stderr


# Other users -----------------------------------------------------------------------------------------------------


def test_where_users_talk_to_each_other(conn):
    """NETLINK_USERSOCK: there is no kernel to speak, so anybody is heard."""
    with nl.Conn(nl.NETLINK_USERSOCK, timeout=30) as listening, plain(nl.NETLINK_USERSOCK) as other:
        listening.join_group(2)
        payload = bytes(nl.Message(16, 0, b"word", seq=5))
        other.sendto(payload, (listening.pid, 0))
        with contextlib.suppress(ConnectionRefusedError):  # nobody has port 0; the group has heard
            other.sendto(payload, (0, 2))
        assert [message.data for message in drain(listening)] == [b"word"] * 2
        assert listening.stats.foreign == 0
