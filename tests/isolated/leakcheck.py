"""Runs each case many times and sees whether blocks, references or exports stay behind.

For the scripts of this directory, which are told how often, and where the
compiled alloc_counter is ("" where it could not be built).
"""

import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import alloc_counter

TIMES, LIBRARY = int(sys.argv[1]), Path(sys.argv[2]) if sys.argv[2] else None
WARM_UP = TIMES // 20
# Free lists may fill: nothing that comes with each time.
SLACK = 100


def _growth(function: Callable[[], object]) -> int:
    """The blocks that a call leaves behind; without the hook, those of less than 513 bytes."""
    if LIBRARY is not None:
        return alloc_counter.measure(function, LIBRARY).live
    before = sys.getallocatedblocks()
    function()
    return sys.getallocatedblocks() - before


def _references(owners: Sequence[object]) -> list[int]:
    return [sys.getrefcount(owner) for owner in owners]


def _repeat(case: Callable[[], object], times: int) -> None:
    for _time in range(times):
        case()
    gc.collect()


def raises(kind: type[BaseException], function: Callable[..., object], *arguments: object, **names: object) -> None:
    """The case is an error's path, and this error's."""
    try:
        function(*arguments, **names)
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")


def check(
    cases: Mapping[str, Callable[[], object]],
    owners: Sequence[object],
    long_cases: Mapping[str, Callable[[], object]] | None = None,
) -> None:
    """Exits with the names of the cases that keep blocks, or references to the owners of buffers.

    A long case does the like of many, and is done less often.
    """
    leaks = []
    for name, (case, times) in {
        **{name: (case, TIMES) for name, case in cases.items()},
        **{name: (case, max(1000, TIMES // 50)) for name, case in (long_cases or {}).items()},
    }.items():
        _repeat(case, WARM_UP)
        references = _references(owners)
        # A cache of the interpreter grows for a while, a leak for ever.
        for _try in range(5):
            grown = _growth(lambda case=case, times=times: _repeat(case, times))
            if grown <= SLACK:
                break
        else:
            leaks.append(f"{name}: {grown} blocks of {times} times stay")
        for owner, before, after in zip(owners, references, _references(owners), strict=True):
            if before != after:
                leaks.append(f"{name}: {after - before} references to a {type(owner).__name__} stay")
    for owner in owners:
        if isinstance(owner, bytearray):
            try:
                owner.append(0)
            except BufferError as error:
                leaks.append(str(error))
    print(f"{len(cases)} cases, {TIMES} times each; {len(long_cases or {})} long ones")
    sys.exit("\n".join(leaks) or 0)
