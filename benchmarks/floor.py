"""floor.c and libmnl.c, compiled when first asked for, and called from here."""

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path

from alloc_counter import compile_shared
from benchmarks import HERE


class _Work(ctypes.Structure):
    """struct work"""

    _fields_ = [
        ("items", ctypes.c_size_t),
        ("payloads", ctypes.POINTER(ctypes.c_char_p)),
        ("size", ctypes.c_size_t),
        ("wire", ctypes.c_char_p),
        ("length", ctypes.c_size_t),
        ("header", ctypes.c_size_t),
        ("out", ctypes.c_void_p),
        ("result", ctypes.c_uint64),
    ]


LIBMNL = Path("/usr/include/libmnl/libmnl.h").exists()


@functools.cache
def library(name: str, *libraries: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(compile_shared(HERE / f"{name}.c", libraries=libraries)))


class Floor:
    """One function of floor.c with what it works on: `floor(count)` is the nanoseconds that one time takes."""

    def __init__(
        self,
        name: str,
        *,
        payloads: Sequence[bytes] = (),
        wire: bytes = b"",
        header: int = 0,
        out: int = 0,
        libmnl: bool = False,
    ) -> None:
        self._function = (library("libmnl", "-lmnl") if libmnl else library("floor"))[name]
        self._function.restype = ctypes.c_double
        self._function.argtypes = [ctypes.POINTER(_Work), ctypes.c_long]
        self._payloads = (ctypes.c_char_p * len(payloads))(*payloads)
        self._out = ctypes.create_string_buffer(out) if out else None
        self._work = _Work(
            items=len(payloads),
            payloads=self._payloads,
            size=len(payloads[0]) if payloads else 0,
            wire=wire,
            length=len(wire),
            header=header,
            out=ctypes.addressof(self._out) if self._out else None,
        )

    def __call__(self, count: int) -> float:
        return float(self._function(self._work, count))

    def result(self) -> int | bytes:
        """What the work came to: the bytes that were written, or a sum over what was read."""
        self(1)
        return self._out.raw[: self._work.result] if self._out else int(self._work.result)
