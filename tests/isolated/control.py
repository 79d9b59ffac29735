"""Leaks on purpose: what leakcheck is there to find."""

import ctypes

from leakcheck import check

# Not literals: those are immortal on free-threaded builds.
OWNER, EXPORTED = bytes(range(50)), bytearray(100)
kept = []

check(
    {
        "nothing": lambda: bytes(1000),
        "a block": lambda: kept.append(object()),
        "a reference": lambda: ctypes.pythonapi.Py_IncRef(ctypes.py_object(OWNER)),
        "an export": lambda: kept.append(memoryview(EXPORTED)),
    },
    [OWNER, EXPORTED],
)
