"""The table of targets. Every result is checked before it is timed; nothing fails because a machine is slow."""

import os
import platform
import resource
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from alloc_counter import Unbuildable
from benchmarks import targets, workloads
from benchmarks.floor import LIBMNL
from benchmarks.measure import blocks, fastest, timed
from benchmarks.targets import Row
from benchmarks.workloads import Work


def _pair(work: Work) -> tuple[float, float]:
    """Nanoseconds of the codec and of its floor."""
    work.check()
    codec, floor = fastest([timed(work.codec.function, *work.codec.arguments), work.floor])
    return codec, floor


def times(make: Callable[[], Work], limit: float, floor: str, places: int = 5) -> Row:
    """Made several times over, since where the allocator puts it all can cost either side a fifth."""
    works = [make() for _place in range(places)]
    codec, below = (min(column) for column in zip(*map(_pair, works), strict=True))
    return f"{works[0]}, beside {floor}", f"{limit} x", f"{codec / below:.2f} x", codec <= limit * below


def above(work: Work, limit: float, floor: str) -> Row:
    codec, below = _pair(work)
    return f"{work}, above {floor}", f"{limit} ns", f"{codec - below:.0f} ns", codec - below <= limit


def each(work: Work, limit: float, what: str) -> Row:
    codec, _below = _pair(work)
    return f"{work}, {what}", f"{limit} ns", f"{codec / work.items:.1f} ns", codec <= limit * work.items


def no_blocks(make: Callable[[int], Work], what: str) -> Row:
    """Blocks for each further item: the decoder itself takes some."""
    few, many = make(8), make(200)
    counts = [blocks(work.codec.function, *work.codec.arguments) for work in (few, many)]
    if None in counts:
        return what, "0", "not counted", False
    more = counts[1] - counts[0]
    return what, "0", str(more / (many.items - few.items)), more == 0


def importing(limit: float) -> Row:
    # As what is installed, which has its bytecode.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def milliseconds(statement: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", statement], check=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1e3

    rounds = [(milliseconds("pass"), milliseconds("import netlink_codec")) for _ in range(20)]
    bare, full = (min(column) for column in zip(*rounds, strict=True))
    return "import, above the bare interpreter", f"{limit} ms", f"{full - bare:.1f} ms", full - bare <= limit


def rows() -> Iterator[Row]:
    peer = "C with libmnl" if LIBMNL else "C"
    for count in (64, 512):
        yield times(partial(workloads.marshal_attributes, count, LIBMNL), 1.8, f"{peer} and malloc")
    for count in (64, 512):
        yield times(partial(workloads.unmarshal_attributes, count, LIBMNL), 1.5, f"{peer} that copies")
    for count in (0, 1):
        yield above(workloads.marshal_attributes(count, LIBMNL), 150, f"{peer} and malloc")
        yield above(workloads.unmarshal_attributes(count, LIBMNL), 150, f"{peer} that copies")
    yield each(workloads.walk_attributes(512), 25, "each, untouched")
    yield each(workloads.read_u32(512), 60, "each, in a loop")
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):  # there, every attribute is an object of its own
        yield no_blocks(partial(workloads.read_u32, factor=1), "blocks for an attribute of that loop")
    yield each(workloads.write_u32(512), 60, "each, in a loop")
    for count in (8, 64):
        yield times(partial(workloads.marshal_messages, count), 1.2, "memcpy into fresh memory")
    yield times(partial(workloads.marshal_into, 512), 1.2, "memcpy into a reused buffer", places=1)
    yield importing(30)


def show(rows: Iterator[Row]) -> None:
    for what, limit, measured, reached in rows:
        verdict = {True: "reached", False: "MISSED", None: ""}[reached]
        print(f"{what:66} {limit:>9} {measured:>26}  {verdict}".rstrip(), flush=True)


def main() -> None:
    print(f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}; CPU time, minima")
    print(f"{'':66} {'at most':>9} {'measured':>26}")
    try:
        show(rows())
        print(f"\nThe conversation, on Linux {platform.release()}; fields by `message.attributes(...).find(...)`")
        show(targets.rows())
        print("\nRecords, their fields by name")
        show(targets.of_records())
        print("\nNetfilter")
        show(targets.of_nftables())
        show(targets.of_queues())
    except Unbuildable as reason:
        sys.exit(f"The floors are C: {reason}")
    except pytest.skip.Exception as reason:
        print(f"not measured: {reason}")


main()
