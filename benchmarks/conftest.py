"""`compare` measures one workload three ways, and a table of it all comes last."""

import time

import pytest

from benchmarks.measure import blocks, fastest, timed

CPU_TIME = pytest.mark.benchmark(timer=time.thread_time, max_time=0.2, min_rounds=5, warmup=True, warmup_iterations=2)
TABLE = pytest.StashKey[list[str]]()


def pytest_configure(config):
    config.stash[TABLE] = []


def pytest_itemcollected(item):
    item.add_marker(CPU_TIME)


@pytest.fixture
def compare(benchmark, request):
    """Measures the workload as `by` ("codec" or "struct") does it, and the floor next to it."""

    def run(work, by):
        work.check()
        call = work.codec if by == "codec" else work.plain
        benchmark.group = work.name
        benchmark(call.function, *call.arguments)
        if not benchmark.stats:  # --benchmark-disable: the results are checked, no more
            return
        items = max(1, work.items)
        # Interleaved, and without pytest-benchmark's own call: that is what a ratio needs.
        each, floor = fastest([timed(call.function, *call.arguments), work.floor], rounds=10)
        count = blocks(call.function, *call.arguments)
        benchmark.extra_info |= {
            "items": work.items,
            "ns_per_item": round(each / items, 2),
            "floor_ns_per_item": round(floor / items, 2),
            "times_floor": round(each / floor, 2),
            "blocks": count,
        }
        request.config.stash[TABLE].append(
            f"{work.name:40} {by:7}{each / items:12.1f}{floor / items:12.1f}{each / floor:9.2f}{count!s:>9}"
        )

    return run


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter, config):
    if config.stash[TABLE]:
        terminalreporter.section("CPU time beside the floors, minima")
        terminalreporter.line(f"{'workload':40} {'by':7}{'ns/item':>12}{'floor':>12}{'times':>9}{'blocks':>9}")
        for row in config.stash[TABLE]:
            terminalreporter.line(row)
