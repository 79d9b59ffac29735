"""System calls, without what Python's socket module adds to them."""

from threading import RLock
from typing import final

def receive(fd: int, size: int) -> tuple[bytes, bytes | None] | None:
    """The next datagrams, as (first, second), of at most `size` bytes (and at most 128 KiB) each.

    `second` is None if there is but one yet; None if there is none. OSError with the
    errno; EMSGSIZE, which names the lengths, if one was longer.
    """

@final
class Turn:
    """`with Turn(lock, seconds)`: holds the lock inside; Timeout if it cannot be had so soon. None waits for ever.

    In C, so that what a signal handler raises comes before the lock is taken, or inside `with`.
    """

    def __init__(self, lock: RLock, seconds: float | None = None) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, kind: object, error: object, traceback: object, /) -> None: ...
