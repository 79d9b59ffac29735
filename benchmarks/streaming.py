"""Does a stream of any length take the same memory? `python -m benchmarks.streaming TIMES`, in a network that is there.

Prints how many messages came, and by how many KiB this process was larger at its height than at the start.
"""

import re
import subprocess
import sys
from pathlib import Path

import netlink_codec as nl
from benchmarks import HERE
from benchmarks.conversation import ROUTES, destinations

STATUS, CLEAR_REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _kibibytes(what: str) -> int:
    return int(re.search(rf"{what}:\s+(\d+) kB", STATUS.read_text())[1])


def stream(times: int) -> tuple[int, int]:
    """Dump so often, two fields of each message read: how many messages, and the growth in KiB."""
    with nl.Conn(ROUTES.protocol, timeout=60) as conn:
        for _message in conn.execute_iter(ROUTES.request):
            break  # what is allocated for the first one is no growth
        CLEAR_REFS.write_text("5")  # the height is that from now on
        start = _kibibytes("VmRSS")
        count = sum(destinations(conn.execute_iter(ROUTES.request))[0] for _ in range(times))
        return count, _kibibytes("VmHWM") - start


def growth(times: int) -> tuple[int, int]:
    """`stream` in a process of its own, in the network namespace of this thread."""
    command = [sys.executable, "-m", "benchmarks.streaming", str(times)]
    count, kibibytes = subprocess.run(command, cwd=HERE.parent, check=True, capture_output=True).stdout.split()
    return int(count), int(kibibytes)


if __name__ == "__main__":
    print(*stream(int(sys.argv[1])))
