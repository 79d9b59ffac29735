"""Counts every allocation of a call, by way of alloc_counter.c.

What sits on a free list of the interpreter (floats, small tuples, …) is reused
without an allocation and so is not seen; the controls of the tests show that
the objects in question are.
"""

import ctypes
import functools
import gc
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).with_name("alloc_counter.c")


class Unbuildable(Exception):
    """No C compiler, or no Python.h, to count with."""


class Counted(NamedTuple):
    allocations: int
    live: int


def compile_shared(source: Path, *flags: str, libraries: tuple[str, ...] = ()) -> Path:
    """A shared object made of one C file, in a directory that goes when the process ends."""
    compiler, *options = shlex.split(os.environ.get("CC", "cc"))
    if shutil.which(compiler) is None:
        raise Unbuildable(f"no C compiler: {compiler}")
    directory = tempfile.TemporaryDirectory(prefix="netlink-codec-")
    output = Path(directory.name, source.stem + ".so")
    command = [compiler, *options, "-O2", "-std=gnu11", "-shared", "-fPIC", *flags]
    subprocess.run([*command, str(source), "-o", str(output), *libraries], check=True)
    weakref.finalize(compile_shared, directory.cleanup)
    return output


@functools.cache
def build() -> Path:
    include = Path(sysconfig.get_paths()["include"])
    if not (include / "Python.h").exists():
        raise Unbuildable(f"no Python.h in {include}")
    return compile_shared(SOURCE, f"-I{include}", f"-I{sysconfig.get_paths()['platinclude']}")


@functools.cache
def _measure(library: Path):
    function = ctypes.PyDLL(str(library)).measure
    function.argtypes = [ctypes.py_object, ctypes.POINTER(ctypes.c_long), ctypes.POINTER(ctypes.c_long)]
    function.restype = ctypes.c_int
    return function


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Neither the collector nor a tracer, which allocate when they please."""
    collecting, trace = gc.isenabled(), sys.gettrace()
    gc.disable()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(trace)
        if collecting:
            gc.enable()


def measure(function: Callable[[], object], library: Path | None = None) -> Counted:
    """The allocations of one call of `function`, and the blocks that it left behind."""
    call = _measure(library or build())
    allocations, live = ctypes.c_long(), ctypes.c_long()
    with _undisturbed():
        call(function, allocations, live)
    return Counted(allocations.value, live.value)


def allocations(function: Callable[[], object], rounds: int = 5) -> int:
    """The fewest allocations of a few calls: the first one fills caches."""
    return min(measure(function).allocations for _ in range(rounds))
