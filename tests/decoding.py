"""Printing in this process: by the command, and by what is below it."""

import argparse
import contextlib
import io
from unittest import mock

import netlink_codec as nl
from netlink_codec.cli import decode
from netlink_codec.debug import datagram_lines
from oracle import attribute_bytes, message_bytes, padded
from support import RECORDINGS

# Recording -> protocol.
PROTOCOLS = {
    path.stem: nl.NETLINK_NETFILTER if path.stem.startswith(("nft", "ct")) else nl.NETLINK_ROUTE
    for path in sorted(RECORDINGS.glob("*.bin"))
}
LINK = message_bytes(16, 2, bytes(16) + padded([attribute_bytes(3, b"lo\0")]), 1, 5)
DONE = message_bytes(3, 2, bytes(4), 1, 5)


def arguments(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    decode.configure(parser)
    return parser.parse_args(given)


def run(data: bytes, *given: str) -> tuple[int, str]:
    """Status and output, the data being standard input."""
    output = io.StringIO()
    with mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(data))), contextlib.redirect_stdout(output):
        status = decode.run(arguments("-", *given))
    return status, output.getvalue()


def lines(data, protocol=nl.NETLINK_ROUTE, **options) -> list[str]:
    """Without the indentation."""
    return [line.strip() for line in datagram_lines(data, protocol, **options)]


def error(data, protocol=nl.NETLINK_ROUTE, **options) -> nl.DecodeError | None:
    """The first one."""
    walk = datagram_lines(data, protocol, **options)
    while True:
        try:
            next(walk)
        except StopIteration as end:
            return end.value
