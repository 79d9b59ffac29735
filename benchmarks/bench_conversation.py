"""Dumps and round trips on the real kernel, in networks made here."""

import pytest

from benchmarks import conversation, networks, roundtrips, streaming
from benchmarks.calls import Uncountable, count

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def works(request):
    """Everything that is read in one network."""
    try:
        with conversation.dumps(*conversation.NETWORKS[request.param]) as works:
            yield works
    except networks.Unavailable as reason:
        pytest.skip(str(reason))


READS = [
    pytest.param(name, read, id=f"{name}-{read}")
    for name, (network, _count) in conversation.NETWORKS.items()
    for read in range(1 + len(network.reads))
]


@pytest.mark.parametrize(("works", "read"), READS, indirect=["works"])
def test_dump(compare, works, read):
    compare(works[read], "codec")


@pytest.fixture
def trips():
    with roundtrips.trips() as trips:
        yield trips


@pytest.mark.parametrize("trip", range(3))
def test_round_trip(compare, trips, trip):
    compare(trips[trip], "codec")


def test_threads():
    times = roundtrips.in_threads([1, 8], trips=800, rounds=1)
    assert all(cpu > 0 and clock > 0 for cpu, clock in times)


@pytest.mark.parametrize("works", ["routes_10k"], indirect=True)
def test_a_dump_is_one_send_and_fewer_receives_than_datagrams(works):
    dump = works[0]
    _messages, datagrams, _bytes = dump.floor.result()
    try:
        calls = count(lambda: dump.codec.function(*dump.codec.arguments))
    except Uncountable as reason:
        pytest.skip(str(reason))
    assert (calls.sends, calls.polls, calls.others) == (1, 0, 0)
    assert calls.receives <= datagrams


@pytest.mark.parametrize("works", ["routes_100k"], indirect=True)
def test_a_million_messages_take_no_memory(works):
    messages, kibibytes = streaming.growth(10)
    assert messages == 1_000_000
    assert kibibytes <= 1024
