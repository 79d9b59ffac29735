"""What several test modules share: recorded bytes, and outcomes that can be compared."""

import os
import random
import struct
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import oracle
from netlink_codec import DecodeError, EncodeError
from oracle import OracleError

RECORDINGS = Path(__file__).parent / "recordings"

# Recording -> bytes of the family's own header, before the attributes.
FAMILY_HEADER = {
    "links_1": 16,
    "links_200": 16,
    "addrs_2": 8,
    "addrs_1000": 8,
    "routes_4": 12,
    "routes_10k": 12,
    "nft_8": 4,
    "nft_512": 4,
    "nft_real_some": 4,
    "nftset_4096": 4,
    "ct_10": 4,
}

# Headers are in the order of the machine that wrote them.
recorded_on_little_endian = pytest.mark.skipif(
    sys.byteorder != "little", reason="these bytes come from a little-endian machine"
)

# Without the GIL, critical sections keep threads apart. With it, they do nothing, and it is the lack of Python
# code in the codec that does; a traced build runs some for every line.
shares_between_threads = pytest.mark.skipif(
    sys.gettrace() is not None, reason="a build for coverage is not made for threads"
)


def recording(name: str) -> list[bytes]:
    """The datagrams of one recorded dump."""
    data = (RECORDINGS / f"{name}.bin").read_bytes()
    index = (RECORDINGS / f"{name}.bin.idx").read_bytes()
    datagrams, at = [], 0
    for (length,) in struct.iter_unpack("<I", index):
        datagrams.append(data[at : at + length])
        at += length
    return datagrams


class Fault(NamedTuple):
    """The walk, or the reader, refused the bytes at this offset."""

    offset: int


def outcome(function, *arguments):
    """What the function returns, or a Fault."""
    try:
        return function(*arguments)
    except (DecodeError, OracleError) as error:
        return Fault(error.offset)


def walked(iterable, take=lambda item: item) -> list:
    """`take(item)` of every item; a Fault is the last one if the walk ended in an error."""
    taken = []
    try:
        for item in iterable:
            taken.append(take(item))
    except (DecodeError, OracleError) as error:
        taken.append(Fault(error.offset))
    return taken


def recorded_messages(name: str) -> list[bytes]:
    """The messages of a recording, without padding."""
    return [
        oracle.message_bytes(m.type, m.flags, m.data, m.seq, m.pid)
        for datagram in recording(name)
        for m in oracle.messages(datagram)
    ]


EDITS = ("byte", "length", "cut", "insert", "remove", "repeat")


def edited(data: bytes, edits) -> bytes:
    """The bytes after edits (kind, position, number), each taken modulo what is possible."""
    for kind, position, number in edits:
        at = position % (len(data) + 1)
        head, tail = data[:at], data[at:]
        if kind == "byte":
            data = head + bytes([number % 256]) + tail[1:]
        elif kind == "length":  # where a length could be: at a multiple of 4
            at -= at % 4
            data = data[:at] + (number % 65536).to_bytes(2, sys.byteorder) + data[at + 2 :]
        elif kind == "cut":
            data = head
        elif kind == "insert":
            data = head + number.to_bytes(4, "little")[: number % 5] + tail
        elif kind == "remove":
            data = head + tail[number % 9 :]
        else:
            data = head + tail[: number % 64] + tail
    return data


def stream(*attributes: tuple[int, bytes]) -> bytes:
    """(type, payload) after (type, payload), padded."""
    return oracle.padded(oracle.attribute_bytes(type, payload) for type, payload in attributes)


def refused(encoder, attribute, function, *arguments):
    """The call raises EncodeError that names the attribute, and writes nothing."""
    before, length = bytes(encoder), len(encoder)
    with pytest.raises(EncodeError) as caught:
        function(*arguments)
    assert caught.value.attribute == attribute
    if attribute is not None:
        assert str(attribute) in str(caught.value)
    assert (bytes(encoder), len(encoder)) == (before, length)
    encoder.u8(9, 9)
    assert bytes(encoder)[len(before) :] == stream((9, b"\x09"))


def random_seed() -> int:
    """Another one each time, shown where a test fails; CODEC_SEED repeats it."""
    seed = int(os.environ.get("CODEC_SEED") or random.randrange(2**32))
    print(f"to repeat: CODEC_SEED={seed}")
    return seed
