"""What the kernel counts of its queues: /proc/net/netfilter/nfnetlink_queue."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..netns import NetNS


class Counters(NamedTuple):
    """One queue."""

    queue: int
    port: int
    """The port id of the socket that has it."""
    waiting: int
    """Packets that wait for their verdict."""
    copy_mode: int
    copy_range: int
    queue_dropped: int
    """Packets that came while `maxlen` of them waited."""
    user_dropped: int
    """Packets that did not fit into the socket's receive buffer."""
    last_id: int
    """The number of the last packet."""


def counters(netns: "NetNS | str | None" = None) -> dict[int, Counters]:
    """All queues of a network namespace, by number."""
    if netns is None:
        return _read()
    from ..netns import run_in

    return run_in(netns, _read)


def _read() -> dict[int, Counters]:
    found = {}
    # What /proc/net leads to is that of the process's first thread.
    with open("/proc/thread-self/net/netfilter/nfnetlink_queue") as lines:
        for line in lines:
            one = Counters(*map(int, line.split()[:8]))
            found[one.queue] = one
    return found
