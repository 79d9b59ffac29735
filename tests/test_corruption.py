"""Every truncation and every single-byte corruption of real messages: the oracle's value or its error, nothing else."""

import functools
import random
from typing import NamedTuple

import pytest

import netlink_codec as nl
import oracle
from compare import compare_attributes, compare_messages, message_value
from support import FAMILY_HEADER, Fault, outcome, random_seed, recording, stream, walked


class Shape(NamedTuple):
    wire: bytes
    header: int  # the family's own
    containers: frozenset[int]  # attribute types to go into, besides those that carry NLA_F_NESTED


def shape(name: str, *containers: int, datagram: int = 0, message: int = 0) -> Shape:
    found = list(oracle.messages(recording(name)[datagram]))[message]
    wire = oracle.message_bytes(found.type, found.flags, found.data, found.seq, found.pid)
    return Shape(wire, FAMILY_HEADER[name] if found.type >= nl.NLMSG_MIN_TYPE else 4, frozenset(containers))


# NLMSG_ERROR as the kernel writes it with extended acknowledgements: errno, the request's header, attributes.
EXTENDED_ERROR = oracle.message_bytes(
    nl.NLMSG_ERROR,
    nl.NLM_F_CAPPED | nl.NLM_F_ACK_TLVS,
    (-22).to_bytes(4, "little", signed=True)
    + oracle.message_bytes(16, 5, bytes(12), 1)[:16]
    + stream(
        (nl.NLMSGERR_ATTR_MSG, b"Attribute failed policy validation\0"),
        (nl.NLMSGERR_ATTR_OFFS, bytes(4)),
        (nl.NLMSGERR_ATTR_POLICY | nl.NLA_F_NESTED, stream((4, bytes(8)), (5, bytes(8)), (1, bytes(4)))),
    ),
    1,
)

SHAPES = {
    "link": shape("links_1", 2, 10, 26, 43),
    "address": shape("addrs_2"),
    "route": shape("routes_4"),
    "nftables rule": shape("nft_8", 1, 2, 4),
    "conntrack entry": shape("ct_10"),
    "DONE": shape("links_1", datagram=-1),
    "extended error": Shape(EXTENDED_ERROR, 4 + 16, frozenset()),
}

# A link's message is ten times as long as the others.
EVERY_SHAPE = pytest.mark.parametrize(
    "shape",
    [
        pytest.param(shape, id=name, marks=[pytest.mark.exhaustive] if name == "link" else [])
        for name, shape in SHAPES.items()
    ],
)


@functools.lru_cache(1000)
def read(payload: bytes, offset: int, strict: bool, containers: frozenset) -> tuple[list, list, Fault | None]:
    """What the oracle reads: each attribute's wire; (which, offset, payload) of each container; how the walk ended."""
    wires, inside = [], []
    try:
        for at, length, raw_type in oracle.frames(payload, offset, strict):
            if raw_type & nl.NLA_F_NESTED or raw_type & nl.NLA_TYPE_MASK in containers:
                inside.append((len(wires), at + 4, payload[at + 4 : at + length]))
            wires.append(payload[at : at + length])
    except oracle.OracleError as error:
        return wires, inside, Fault(error.offset)
    return wires, inside, None


def check_tree(decoder, payload: bytes, base: int, containers: frozenset, offset: int = 0, strict: bool = False):
    """The decoder walks this payload, which begins at `base` of what errors count from."""
    wires, inside, fault = read(payload, offset, strict, containers)
    if fault is None:
        kept = list(decoder)
    else:
        *kept, found = walked(decoder)
        assert found == Fault(base + fault.offset)
    assert list(map(bytes, kept)) == wires
    for which, at, content in inside:
        check_tree(kept[which].nested(), content, base + at, containers, strict=strict)


def check_datagram(wire: bytearray, header: int, containers: frozenset) -> None:
    expected = walked(oracle.messages(wire))
    whole = outcome(nl.unmarshal_messages, wire)
    if isinstance(expected[-1], Fault):
        assert whole == expected.pop()
    else:
        assert len(whole) == len(expected)
    for theirs, message in zip(expected, nl.iter_messages(wire), strict=False):
        assert message_value(message) == theirs[1:]
        decoder = outcome(message.attributes, header)
        if len(theirs.data) < header:
            assert decoder == Fault(16 + len(theirs.data))
        else:
            check_tree(decoder, theirs.data, 16, containers, header)


@EVERY_SHAPE
def test_shapes_are_good(shape):
    """What is corrupted below is worth it: one message, whose containers are what they should be."""
    (message,) = nl.unmarshal_messages(shape.wire, strict=True)
    decoder = message.attributes(shape.header, strict=True)
    check_tree(decoder, message.data, 16, shape.containers, shape.header, strict=True)
    if shape is SHAPES["nftables rule"]:
        assert message.attributes(shape.header).find(4, 1, 2) is not None
    if shape is SHAPES["link"]:
        assert len(message.attributes(shape.header).find(26, 10, 2)) > 200


@EVERY_SHAPE
def test_every_truncation(shape):
    for length in range(len(shape.wire) + 1):
        cut = shape.wire[:length]
        compare_messages(cut)
        compare_messages(cut, strict=True)
        # … and with a length in the header that agrees.
        if length >= 16 + shape.header:
            for strict in (False, True):
                message = nl.Message(1, 0, cut[16:])
                decoder = message.attributes(shape.header, strict=strict)
                check_tree(decoder, message.data, 16, shape.containers, shape.header, strict)


@EVERY_SHAPE
def test_every_corrupted_byte(shape):
    wire = bytearray(shape.wire)
    for at, right in enumerate(shape.wire):
        for value in range(256):
            wire[at] = value
            check_datagram(wire, shape.header, shape.containers)
        wire[at] = right


@EVERY_SHAPE
def test_every_value_of_every_reader_in_corrupted_lengths(shape):
    """The lengths are where it hurts: there, every way to read is compared."""
    positions = [16 + at for at, _, _ in oracle.frames(shape.wire[16:], shape.header)]
    for at in positions[:10]:
        for value in range(0, 256, 3):
            compare_attributes(shape.wire[:at] + bytes([value]) + shape.wire[at + 1 :], 16 + shape.header)


@pytest.mark.parametrize("name", ["links_200", "addrs_1000", "routes_10k", "nft_512", "nft_real_some", "nftset_4096"])
def test_samples_of_corrupted_dumps(name):
    rng = random.Random(random_seed())
    datagrams = recording(name)
    for _ in range(60):
        wire = bytearray(rng.choice(datagrams))
        for _ in range(rng.choice([1, 1, 2, 5])):
            wire[rng.randrange(len(wire))] = rng.randrange(256)
        if rng.random() < 0.3:
            del wire[rng.randrange(1, len(wire)) :]
        check_datagram(wire, FAMILY_HEADER[name], frozenset((1, 3, 4)))
