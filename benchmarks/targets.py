"""The targets of the conversation, each measured in a network made for it."""

import subprocess
import sys
from collections.abc import Iterator

from benchmarks import HERE, conversation, networks, nfqueue, nftables, records, roundtrips, streaming
from benchmarks.calls import Uncountable, count
from benchmarks.conversation import NETWORKS, Work
from benchmarks.measure import fastest, timed

Row = tuple[str, str, str, bool | None]  # what, limit, measured, whether it is reached; None where nothing is asked


def times(work: Work, floor: str) -> Row:
    work.check()
    each = max(work.items, 1)
    ours, below = (total / each for total in fastest([timed(work.codec.function, *work.codec.arguments), work.floor]))
    return f"{work}, beside {floor}", f"{work.limit} x", beside(ours, below), ours <= work.limit * below


def beside(ours: float, below: float) -> str:
    """How many times what the floor takes; and both, in nanoseconds each: how fast a kernel is differs most."""
    return f"{ours:,.0f} / {below:,.0f} ns {ours / below:5.2f} x"


def dumps(name: str) -> Iterator[Row]:
    network, size = NETWORKS[name]
    try:
        with conversation.dumps(network, size) as works:
            for work in works:
                yield times(work, "C that receives")
    except networks.Unavailable:
        yield f"{size:,} {network.what}", "", "none", None


def calls(name: str) -> Row:
    with conversation.dumps(*NETWORKS[name]) as works:
        dump = works[0]
        _messages, datagrams, _bytes = dump.floor.result()
        what = f"{dump.items:,} {NETWORKS[name][0].what}: system calls for {datagrams} datagrams"
        try:
            made = count(lambda: dump.codec.function(*dump.codec.arguments))
        except Uncountable:
            return what, f"{datagrams + 1}", "not counted", False
        total = made.sends + made.receives + made.polls + made.others
        return what, f"{datagrams + 1}", f"{total}", total <= datagrams + 1


def memory(name: str, repeats: int) -> Row:
    with conversation.dumps(*NETWORKS[name]):
        messages, kibibytes = streaming.growth(repeats)
    if messages != NETWORKS[name][1] * repeats:
        raise AssertionError(f"{messages} messages in the stream")
    return f"{messages:,} messages streamed: growth over the start", "1024 KiB", f"{kibibytes} KiB", kibibytes <= 1024


def threads() -> Iterator[Row]:
    times = roundtrips.in_threads([1, 8])
    for what, column in (("CPU", 0), ("wall", 1)):
        one, eight = (time[column] / 1e3 for time in times)
        yield f"one link, {what} time: by 8 threads, and by 1", "", f"{eight:.1f}, {one:.1f} us", None


def held(count: int) -> Row:
    """Each holds its own bytes and nothing else: the growth of a new process is what so many take."""
    program = f"from benchmarks import records; print(records.held({count}))"
    each = float(
        subprocess.run([sys.executable, "-c", program], cwd=HERE.parent, check=True, stdout=subprocess.PIPE).stdout
    )
    return f"{count:,} routes held as records, each", "100 B", f"{each:.1f} B", each <= 100


def of_records() -> Iterator[Row]:
    for name in records.READINGS:
        with records.dumps(name) as works:
            for work in works:
                yield times(work, "C that receives")
    yield held(1_000_000)
    yield from million()


def million() -> Iterator[Row]:
    count = 1_000_000
    what = f"{count:,} conntrack entries"
    try:
        with networks.room_for_flows(count):
            untouched, read, kibibytes = records.many_flows(count)
    except networks.Unavailable as reason:
        yield f"{what}: {reason}", "", "none", None
        return
    for how, limit, seconds in (("untouched", 0.15, untouched), ("orig dst, port", 0.4, read)):
        yield f"{what} as records ({how}): time in user space", f"{limit} s", f"{seconds:.2f} s", seconds <= limit
    yield f"{what} streamed: growth over the start", "1024 KiB", f"{kibibytes} KiB", kibibytes <= 1024


def of_nftables() -> Iterator[Row]:
    for name in nftables.SETS:
        with nftables.dumps(name) as work:
            yield times(work, "C that receives")
    with nftables.changes(50_000) as changes:
        for change in changes:
            yield times(change, "bare sockets")
    for few in (1, 8, 64):
        with nftables.few_rules(few) as work:
            what, _, measured, _ = times(work, "bare sockets")
            yield what, "", measured, None


def of_queues() -> Iterator[Row]:
    for what, limit, nanoseconds, floor in nfqueue.measured():
        rate = 1e9 / nanoseconds
        yield (
            f"packets of 64 bytes from a queue, {what}: {rate:,.0f} a second, beside C",
            f"{limit} x",
            beside(nanoseconds, floor),
            nanoseconds <= limit * floor,
        )


def rows() -> Iterator[Row]:
    for name in NETWORKS:
        yield from dumps(name)
    yield calls("routes_10k")
    yield memory("routes_100k", 10)
    with roundtrips.trips() as trips:
        for trip in trips:
            yield times(trip, "bare sockets")
    yield from threads()
