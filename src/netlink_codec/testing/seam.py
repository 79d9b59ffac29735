"""Where the test kit comes in: what a connection opens when nobody has told it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .. import pool
from .._socket import Socket


@contextmanager
def opening(choose: Callable[[int, type[Socket]], type[Socket]]) -> Iterator[None]:
    """Connections that are made in the block open `choose(protocol, what they would open otherwise)`."""
    before = pool.socket_type
    pool.socket_type = lambda protocol: choose(protocol, before(protocol))
    try:
        yield
    finally:
        pool.socket_type = before
