"""`python -m netlink_codec`: look at this machine, and at netlink bytes."""

import argparse
import io
import os
import sys
from collections.abc import Sequence

from . import ct, decode, links, nfq, nft

COMMANDS = {"links": links, "ct": ct, "nfq": nfq, "nft": nft, "decode": decode}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status: 0; 1 where the answer is "no"; 2 where it could not be asked or told."""
    parser = argparse.ArgumentParser(prog="python -m netlink_codec", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        command = commands.add_parser(name, help=(module.__doc__ or "").partition(": ")[2])
        module.configure(command)
        command.set_defaults(run=module.run)
    args = parser.parse_args(arguments)
    # Closed by who started this; and print() would take one for the other.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names are any bytes, and the terminal's words are few
    try:
        status: int = args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        status = 1  # the reader has gone, and there is nobody to tell
        discard_output()
    except KeyboardInterrupt:
        status = 130
        discard_output()
    except OSError as error:  # NetlinkError among them, and a disk that is full
        print(f"{parser.prog}: {error}", file=sys.stderr)
        status = 2
        discard_output()
    return status


def discard_output() -> None:
    """What is still in the buffer would fail again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
