"""Time for tests."""

import threading
from collections.abc import Callable


class Clock:
    """Time that passes only when somebody says so; `clock()` is now, in seconds.

    Whoever waits on a fake kernel, and gets nothing, makes it pass, at once, up to his
    deadline. With `manual=True` only `advance` does: who waits then really waits, until
    another thread sends something, closes the connection or lets time pass.

    >>> clock = Clock()
    >>> clock.advance(5)
    >>> clock()
    5.0
    """

    def __init__(self, *, manual: bool = False) -> None:
        self.manual = manual
        self._now = 0.0
        self._lock = threading.Lock()
        self._followers: list[Callable[[], None]] = []

    def __call__(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.advance_to(self._now + seconds)

    def advance_to(self, time: float) -> None:
        """Let time pass until then, if that is not over."""
        with self._lock:
            self._now = max(self._now, time)
        for follower in self._followers:
            follower()

    def follow(self, follower: Callable[[], None]) -> None:
        """Call the function whenever time has passed."""
        self._followers.append(follower)
