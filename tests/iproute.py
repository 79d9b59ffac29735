"""What `ip` says and does, in the namespace that this thread is in."""

import json
import shutil
import subprocess

import pytest

needs_ip = pytest.mark.skipif(shutil.which("ip") is None, reason="iproute2 is not installed")


def ip(*commands):
    """Run commands of `ip`."""
    for command in commands:
        subprocess.run(["ip", *command.split()], check=True, stdout=subprocess.DEVNULL)


def ip_json(command):
    """What `ip -j -d command` prints."""
    run = subprocess.run(["ip", "-j", "-d", *command.split()], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(run.stdout or "[]")
