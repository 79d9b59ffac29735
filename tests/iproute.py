"""What `ip` says and does, in the namespace that this thread is in."""

import json
import os
import shutil
import subprocess

import pytest

needs_ip = pytest.mark.skipif(shutil.which("ip") is None, reason="iproute2 is not installed")

# A sanitizer that watches these tests has nothing to say of it.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


def ip(*commands):
    """Run commands of `ip`."""
    for command in commands:
        subprocess.run(["ip", *command.split()], check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)


def ip_json(command):
    """What `ip -j -d command` prints."""
    command = ["ip", "-j", "-d", *command.split()]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    return json.loads(run.stdout or "[]")
