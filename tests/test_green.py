"""The blocking connection under eventlet and gevent: others go on while it waits."""

import importlib.util
import subprocess
import sys

import pytest

SCRIPT = """
import {library}
{patch}
import netlink_codec as nl

order = []
watch = nl.Watch([1], lambda message, group: message.type)
with nl.Conn(nl.NETLINK_ROUTE, timeout=60) as conn:
    events = conn.watch(watch)

    def wait():
        order.append("waits")
        order.append(events.next(timeout=0.05))
        order.append("waited")

    def other():
        order.append("goes on")
        assert len(conn.execute(nl.Message(18, 0, bytes([0, 0, 0, 0, 1]) + bytes(11)))) == 1

    {run}
assert order == ["waits", "goes on", None, "waited"], order
print("fine")
"""

LIBRARIES = {
    "eventlet": (
        "eventlet.monkey_patch()",
        "threads = [eventlet.spawn(wait), eventlet.spawn(other)]; [thread.wait() for thread in threads]",
    ),
    "gevent": (
        "import gevent.monkey; gevent.monkey.patch_all()",
        "gevent.joinall([gevent.spawn(wait), gevent.spawn(other)], raise_error=True)",
    ),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_others_go_on(library):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    patch, run = LIBRARIES[library]
    script = SCRIPT.format(library=library, patch=patch, run=run)
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (0, "fine\n"), result.stderr
