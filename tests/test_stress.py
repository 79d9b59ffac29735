"""Many threads, many exchanges, large tables: everything right, nothing left, and others cannot disturb."""

import contextlib
import errno
import gc
import itertools
import os
import resource
import sys
import threading
from collections import Counter

import pytest

import netlink_codec as nl
import rtnl
import trouble
from namespaces import at_once, descriptors, network
from netlink_codec import Closed, DumpInterrupted
from support import shares_between_threads
from trouble import asking, destination, drain, name, not_for_ever, raises, still_works, together

pytestmark = pytest.mark.kernel


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=60) as conn:
        yield conn


@pytest.fixture
def switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


# Threads ---------------------------------------------------------------------------------------------------------


def test_sixteen_threads_make_ten_thousand_requests_each(conn):
    """To each its own answers."""
    indexes = {f"ifb{number}": rtnl.add_link(conn, f"ifb{number}") for number in range(16)}

    def work(text, count):
        request = nl.Request(rtnl.link(rtnl.RTM_GETLINK, indexes[text]), name)
        alone = nl.Request(request.message, name, single=True)
        return sum(conn.do(alone if number % 2 else request) == text for number in range(count))

    together([lambda text=text: work(text, 10) for text in indexes])
    before = descriptors()
    assert together([lambda text=text: work(text, 10_000) for text in indexes]) == [10_000] * 16
    assert conn.stats.stale == conn.stats.foreign == conn.stats.overruns == 0
    assert descriptors() <= before + 16  # those of the pool


def test_threads_with_every_kind_of_call(conn, switch_often):
    """What one does is nothing to the others: not its errors, nor what it leaves early."""

    def work():
        for _ in range(50):
            assert conn.do(trouble.GET) == "lo"
            next(conn.dump(trouble.LINKS))
            assert conn.collect(trouble.LINKS) == ["lo"]
            raises(errno.ENODEV, conn.do, trouble.MISSING)
            assert conn.batch([trouble.GET, trouble.SET] * 10) == ["lo", None] * 10
            with conn.watch(trouble.LINK_EVENTS) as watch:
                assert watch.next(timeout=0) is None

    together([work] * 16)
    assert conn.stats.stale == 0
    still_works(conn)


@shares_between_threads
@pytest.mark.parametrize("threads", [2, 8])
def test_threads_share_one_answer(conn, switch_often, threads):
    """Each message goes to one of them, none is lost, and all of them see the end."""
    everything = Counter(trouble.add_routes(conn, 5000))

    def work(answer):
        return [destination(message) for message in answer]

    for _ in range(20):
        answer = conn.execute_iter(rtnl.routes())
        parts = together([lambda answer=answer: work(answer)] * threads)
        assert Counter(itertools.chain(*parts)) == everything
    for _ in range(200):
        # The end comes with the only message, and all are after it at once.
        answer = conn.execute_iter(rtnl.link(rtnl.RTM_GETLINK, 1))
        assert sum(map(len, together([lambda answer=answer: list(map(name, answer))] * threads))) == 1
    assert conn.stats.stale == 0
    still_works(conn)


@pytest.mark.parametrize("threads", [2, 8])
def test_threads_share_one_watch(conn, switch_often, threads):
    """Each event goes to one of them, and to each in order."""

    def mtu(message, group):
        return message.attributes(rtnl.IFINFOMSG.size).find(rtnl.IFLA_MTU).u32()

    room = threading.Semaphore(50)  # so that nothing is lost, however slow they are
    with conn.watch(nl.Watch([trouble.RTNLGRP_LINK], mtu)) as watch:

        def listen():
            heard = []
            while (event := watch.next(timeout=60)) < 9000:
                heard.append(event)
                room.release()
            conn.do(trouble.set_mtu(event + 1))  # for the next one
            return heard

        def speak():
            for event in range(2000, 4000):
                room.acquire()
                conn.do(trouble.set_mtu(event))
            conn.do(trouble.set_mtu(9000))
            return []

        heard = together([listen] * threads + [speak])
    assert all(part == sorted(part) for part in heard)
    assert sorted(itertools.chain(*heard)) == list(range(2000, 4000))


def test_an_answer_that_two_close_at_once(conn, monkeypatch):
    """Whoever is first: it was left before its end, so its socket is not used again."""
    trouble.add_routes(conn, 5000)
    replies = conn.execute_iter(rtnl.routes())
    next(replies)
    finish = type(replies)._finish

    def finish_later(self, *arguments, **options):
        monkeypatch.undo()
        assert list(replies) == []  # another thread is told that it is over
        finish(self, *arguments, **options)

    monkeypatch.setattr(type(replies), "_finish", finish_later)
    replies.close()
    assert len(conn.execute(rtnl.routes())) == 5000
    still_works(conn)
    assert conn.stats.stale == 0


# Closing ---------------------------------------------------------------------------------------------------------


def until_closed(call):
    """Repeat it; what was under way may still bring something."""
    try:
        while True:
            call()
    except Closed:
        return "closed"


def test_close_during_receive_a_thousand_times(conn, switch_often):
    """mdlayher/netlink#92, #162, vishvananda/netlink#280: all kinds of waits and work at once, and each ends."""
    conn.do(trouble.GET)
    gc.collect()
    before = descriptors()
    with not_for_ever():
        for number in range(1000):
            other = nl.Conn(nl.NETLINK_ROUTE)
            watch = other.watch(trouble.LINK_EVENTS)
            calls = [
                # The first to use the own socket opens it, while the connection closes.
                other.receive,
                watch.__next__,
                lambda other=other: other.do(trouble.GET),
                lambda other=other: list(other.dump(trouble.LINKS)),
                lambda other=other: other.batch([trouble.GET] * 3),
                lambda other=other: other.send(asking(trouble.SET.message)),
                lambda other=other: other.watch(trouble.LINK_EVENTS).close(),
            ]
            working = [calls[number % 7], calls[(number + 1 + number // 7) % 7]]
            outcome = at_once([lambda call=call: until_closed(call) for call in working] + [other.close])
            assert outcome == ["closed", "closed", None]
            other.close()
            watch.close()
    del other, watch, calls, working, outcome
    assert descriptors() == before


def test_closing_a_watch_ends_who_waits_for_it(conn):
    """mdlayher/netlink#92: one watch, that is; the connection and its other watches go on."""
    other = conn.watch(trouble.LINK_EVENTS)
    for _ in range(50):
        watch = conn.watch(trouble.LINK_EVENTS)
        waiting = threading.Event()
        outcome = []

        def wait(watch=watch, waiting=waiting, outcome=outcome):
            assert watch.next(timeout=0.001) is None
            waiting.set()
            outcome.append(raises(errno.EBADF, watch.__next__, kind=Closed))

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        waiting.wait()
        watch.close()
        thread.join(timeout=10)
        assert not thread.is_alive()
        assert len(outcome) == 1
    conn.do(trouble.set_mtu(1400))
    assert other.ready() == [(rtnl.RTM_NEWLINK, "lo")]
    other.close()


def test_who_subscribes_again_hears_all_of_it(conn):
    """vishvananda/netlink#125, #240, #245: the kernel gives the descriptor's number to the next one at once."""
    old = []
    for number in range(200):
        first = nl.Conn(nl.NETLINK_ROUTE, groups=[trouble.RTNLGRP_LINK])
        watch = first.watch(trouble.LINK_EVENTS)
        old += [watch.__next__, first.receive]
        reading = [threading.Thread(target=until_closed, args=[call]) for call in old[-2:]]
        for thread in reading:
            thread.start()
        first.close()
        second = nl.Conn(nl.NETLINK_ROUTE, groups=[trouble.RTNLGRP_LINK])
        with second, second.watch(trouble.LINK_EVENTS) as new:
            conn.batch([trouble.set_mtu(1000 + number), trouble.set_mtu(2000)])
            for call in old[-6:]:
                raises(errno.EBADF, call)
            assert new.ready() == [(rtnl.RTM_NEWLINK, "lo")] * 2
            assert [name(message) for message in drain(second)] == ["lo"] * 2
        for thread in reading:
            thread.join()


# Early exits -----------------------------------------------------------------------------------------------------


def datagrams(message):
    """How many messages the datagrams of a dump have: on a new socket, and on one that was used before."""
    counts = [], []
    with trouble.plain() as other:
        for seq, dump in enumerate(counts, start=1):
            other.send(bytes(asking(message).replace(seq=seq)))
            last = None
            while last != nl.NLMSG_DONE:
                messages = nl.unmarshal_messages(other.recv(131072))
                dump.append(len(messages))
                last = messages[-1].type
    return counts


def leave(replies, position, way):
    """Take so many messages, and one more, and go."""
    if way == 0:
        with replies:
            next(itertools.islice(replies, position, None))
    elif way == 1:
        for number, _ in enumerate(replies):
            if number == position:
                break
    else:
        with contextlib.suppress(ZeroDivisionError):
            for number, _ in enumerate(replies):
                1 / (number - position)


def test_a_dump_is_left_at_every_position(conn):
    """Of 20,000 routes: in the first two datagrams, here and there, at the end; after it every kind of call works."""
    routes = trouble.add_routes(conn, 20_000)
    two = max(first + second for first, second, *_ in datagrams(rtnl.routes()))
    positions = [*range(two + 2), *range(two + 2, 20_000, 97), *range(19_980, 20_000)]
    conn.execute_iter(rtnl.routes()).close()
    still_works(conn)
    before = descriptors()
    for position in positions:
        ask = conn.execute_iter if position % 2 else lambda message: conn.dump(nl.Dump(message, bytes))
        leave(ask(rtnl.routes()), position, position % 3)
        still_works(conn)
    assert descriptors() <= before + 1
    assert [destination(message) for message in conn.execute_iter(rtnl.routes())] == routes
    assert conn.stats.stale == 0


@pytest.mark.parametrize("way", range(3))
def test_a_series_is_left_at_many_positions(conn, way):
    """By the raw calls, where what is left is passed over by the next; only a second dump has to wait for its end."""
    trouble.add_routes(conn, 20_000)
    first, second = datagrams(rtnl.routes())[1][:2]
    for position in (0, 1, first - 1, first, first + 1, first + second - 1, first + second, 10_000, 19_998, 19_999):
        conn.send(asking(rtnl.routes()))
        leave(conn.receive_iter(), position, way)
        conn.send(asking(trouble.GET.message))
        assert [name(message) for message in conn.receive()] == ["lo"]
        assert drain(conn) == []
        conn.send(asking(rtnl.routes()))
        leave(conn.receive_iter(), position, way)
        conn.send(asking(rtnl.links()))
        if position <= 10_000:
            raises(errno.EBUSY, conn.receive)
        with contextlib.suppress(nl.NetlinkError):  # towards the end it may be over in time
            drain(conn)
        assert drain(conn) == []
        still_works(conn)


# Changes meanwhile -----------------------------------------------------------------------------------------------


def test_addresses_come_and_go_while_they_are_listed(conn, switch_often):
    """moby/moby#48400, containernetworking/plugins#1121, slackhq/nebula#1835: no EINTR, no loss, no endless loop."""
    index = rtnl.add_link(conn, "ifb0")
    stay = {bytes([10, 0, number // 250, number % 250 + 1]) for number in range(1000)}
    conn.batch([trouble.add_address(index, address) for address in sorted(stay)])
    dump = nl.Dump(rtnl.addresses(), lambda message: message.attributes(8).find(rtnl.IFA_LOCAL).data)
    done = threading.Event()

    def change():
        both = [trouble.add_address(index, bytes([10, 9, 9, 9])), trouble.delete_address(index, bytes([10, 9, 9, 9]))]
        while not done.is_set():
            conn.batch(both)

    changing = threading.Thread(target=change)
    changing.start()
    interrupted = 0
    try:
        for _ in range(200):
            addresses = []
            try:
                addresses.extend(conn.dump(dump))
                assert stay <= set(addresses)
                assert len(addresses) == len(set(addresses))
            except DumpInterrupted as error:
                interrupted += 1
                assert not isinstance(error, InterruptedError)
                assert len(addresses) >= len(stay) - 1  # all of it was delivered
            try:
                assert stay <= set(conn.collect(dump, retries=3))
            except DumpInterrupted as error:
                assert len(error.results) >= len(stay) - 1
    finally:
        done.set()
        changing.join()
    assert interrupted
    assert stay == set(conn.collect(dump))


# Size ------------------------------------------------------------------------------------------------------------


def test_a_link_with_489_names_by_every_call(conn):
    """vishvananda/netlink#354, #960, svinota/pyroute2#751, #813: 66 KiB in one message, never cut."""
    index = rtnl.add_link(conn, "ifb0")
    names = trouble.alternatives(conn, index)

    def others(message):
        attribute = message.attributes(rtnl.IFINFOMSG.size).find(rtnl.IFLA_PROP_LIST)
        return attribute and [each.string() for each in attribute.nested().find_all(rtnl.IFLA_ALT_IFNAME)]

    message = rtnl.link(rtnl.RTM_GETLINK, index, mask=8)
    request, alone = nl.Request(message, others), nl.Request(message, others, single=True)
    dump = nl.Dump(rtnl.links(), others)
    assert conn.do(request) == conn.do(alone) == names
    assert list(map(others, conn.execute(message))) == [names]
    assert list(map(others, conn.execute_iter(message))) == [names]
    assert list(conn.dump(dump)) == conn.collect(dump) == [names]
    assert conn.batch([request, trouble.SET, request]) == [names, None, names]
    conn.send(asking(message))
    assert list(map(others, conn.receive())) == [names]
    conn.send(asking(rtnl.links()))
    assert list(filter(None, map(others, conn.receive()))) == [names]
    with conn.watch(nl.Watch([trouble.RTNLGRP_LINK], lambda message, group: others(message))) as watch:
        conn.join_group(trouble.RTNLGRP_LINK)
        conn.do(trouble.set_mtu(1400, index))
        assert watch.ready() == [names]
        assert list(map(others, drain(conn))) == [names]


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def exchange(conn, count):
    """So many exchanges of all kinds."""
    for _ in range(count // 20):
        for _ in range(7):
            conn.do(trouble.GET)
            conn.do(trouble.SET)
        conn.do(trouble.MISSING.tolerate(errno.ENODEV))
        conn.collect(trouble.LINKS)
        next(conn.dump(trouble.LINKS))
        conn.batch([trouble.GET, trouble.SET])
        conn.send(asking(trouble.GET.message))
        conn.receive()


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer keeps what is freed")
def test_nothing_grows_in_a_hundred_thousand_exchanges(conn):
    exchange(conn, 10_000)
    gc.collect()
    before = descriptors(), sys.getallocatedblocks(), resident()
    exchange(conn, 100_000)
    gc.collect()
    after = descriptors(), sys.getallocatedblocks(), resident()
    assert after[0] == before[0]
    assert after[1] - before[1] < 1000
    assert after[2] - before[2] < 1 << 20
    assert conn.stats.stale == 0


@pytest.mark.exhaustive
def test_two_hundred_thousand_routes_flow_through(conn):
    """svinota/pyroute2#354, #161, #769, wazuh/wazuh#4890: a table of any size takes the memory of a datagram."""
    count = 200_000
    trouble.add_routes(conn, count)
    still_works(conn)
    dump = nl.Dump(rtnl.routes(), destination)
    assert sum(1 for _ in conn.dump(dump)) == count
    gc.collect()
    before, most = resident(), 0
    for number, _ in enumerate(conn.dump(dump), start=1):
        if not number % 10_000:
            most = max(most, resident())
    assert number == count
    assert most - before < 1 << 20
