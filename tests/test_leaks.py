"""Leaks, each script in a process of its own: nothing else allocates there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import alloc_counter

ISOLATED = Path(__file__).parent / "isolated"
SCRIPTS = sorted(path.stem for path in ISOLATED.glob("leaks_*.py"))
TIMES = 50_000
CANNOT_RESIZE = "Existing exports of data"


@pytest.fixture(scope="module")
def library():
    """Where the counter is; without one the scripts count what Python itself tells."""
    try:
        return str(alloc_counter.build())
    except alloc_counter.Unbuildable:
        return ""


def run(script, times, library):
    command = [sys.executable, str(ISOLATED / f"{script}.py"), str(times), library]
    # Without the hook it is Python's default allocator that counts, whatever this run was given.
    environment = os.environ if library else {**os.environ, "PYTHONMALLOC": "default"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.exhaustive
@pytest.mark.parametrize("script", SCRIPTS)
def test_nothing_leaks(script, library):
    result = run(script, TIMES, library)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("counter", ["hook", "interpreter"])
def test_the_control_finds_a_leak(counter, library):
    if counter == "hook" and not library:
        pytest.skip("the hook is C, and there is no C compiler or no Python.h")
    result = run("control", 1000, library if counter == "hook" else "")
    assert result.returncode == 1
    leaks = [line for line in result.stderr.splitlines() if line]
    assert [line.partition(":")[0] for line in leaks] == [
        "a block",
        "a reference",
        "an export",
        "an export",
        CANNOT_RESIZE,
    ]
