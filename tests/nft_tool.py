"""What the `nft` tool says and does, in the namespace that this thread is in."""

import json
import shutil
import subprocess

import pytest

NFT = shutil.which("nft") or shutil.which("nft", path="/usr/sbin:/sbin")

needs_nft = pytest.mark.skipif(NFT is None, reason="nftables is not installed")


def nft_run(ruleset):
    """Load a ruleset."""
    subprocess.run([NFT, "-f", "-"], input=ruleset, text=True, check=True)


def nft_json(command="list ruleset"):
    """What `nft -j command` prints, without the line about itself."""
    run = subprocess.run([NFT, "-j", *command.split()], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(run.stdout)["nftables"][1:]


def nft_text(command="list ruleset"):
    return subprocess.run([NFT, *command.split()], check=True, stdout=subprocess.PIPE, text=True).stdout
