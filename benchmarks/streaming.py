"""Does a stream of any length take the same memory? `python -m benchmarks.streaming TIMES WHAT`, in a network.

Prints how many messages came, and by how many KiB this process was larger at its height than at the start.
"""

import re
import subprocess
import sys
from pathlib import Path

import netlink_codec as nl
from benchmarks import HERE
from benchmarks.conversation import FLOWS, ROUTES, destinations, flows

STREAMS = {"routes": (ROUTES, destinations), "flows": (FLOWS, flows)}

STATUS, CLEAR_REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _kibibytes(what: str) -> int:
    return int(re.search(rf"{what}:\s+(\d+) kB", STATUS.read_text())[1])


def stream(times: int, what: str) -> tuple[int, int]:
    """Dump so often, two fields of each message read: how many messages, and the growth in KiB."""
    network, read = STREAMS[what]
    with nl.Conn(network.protocol, timeout=60) as conn:
        for _message in conn.execute_iter(network.request):
            break  # what is allocated for the first one is no growth
        CLEAR_REFS.write_text("5")  # the height is that from now on
        start = _kibibytes("VmRSS")
        count = sum(read(conn.execute_iter(network.request))[0] for _ in range(times))
        return count, _kibibytes("VmHWM") - start


def growth(times: int, what: str = "routes") -> tuple[int, int]:
    """`stream` in a process of its own, in the network namespace of this thread."""
    command = [sys.executable, "-m", "benchmarks.streaming", str(times), what]
    count, kibibytes = subprocess.run(command, cwd=HERE.parent, check=True, capture_output=True).stdout.split()
    return int(count), int(kibibytes)


if __name__ == "__main__":
    print(*stream(int(sys.argv[1]), sys.argv[2]))
