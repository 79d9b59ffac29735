"""Times and counts. CPU time of this thread, minima of interleaved rounds: other load moves wall time by a third."""

import time
from collections.abc import Callable, Sequence
from timeit import Timer

import alloc_counter

Timed = Callable[[int], float]  # count -> nanoseconds each


def timed(function: Callable[..., object], *arguments: object) -> Timed:
    """Calls `function(*arguments)` in timeit's loop; the collector runs as it would in a program."""
    names = [f"argument{number}" for number in range(len(arguments))]
    timer = Timer(
        f"function({', '.join(names)})",
        setup="import gc; gc.enable()",
        timer=time.thread_time,
        globals={"function": function, **dict(zip(names, arguments, strict=True))},
    )
    return lambda count: timer.timeit(count) * 1e9 / count


def repeats(work: Timed, nanoseconds: float) -> int:
    """How often the work fits into this time."""
    count = 1
    while (each := work(count)) * count < nanoseconds / 4:
        count *= 4
    return max(1, round(nanoseconds / each))


def fastest(works: Sequence[Timed], rounds: int = 20, milliseconds: float = 3) -> list[float]:
    """Nanoseconds of each work, in the order given: the least of rounds in which each has its turn."""
    counts = [repeats(work, milliseconds * 1e6) for work in works]
    turns = [[work(count) for work, count in zip(works, counts, strict=True)] for _ in range(rounds)]
    return [min(column) for column in zip(*turns, strict=True)]


def blocks(function: Callable[..., object], *arguments: object) -> int | None:
    """How many blocks one call allocates; None where they cannot be counted."""
    try:
        return alloc_counter.allocations(lambda: function(*arguments))
    except alloc_counter.Unbuildable:
        return None
