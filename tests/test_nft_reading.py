"""What the compiled reader of elements makes of lists, beside what the records say is in them."""

import itertools
from ipaddress import IPv4Address, IPv4Network, IPv6Address, summarize_address_range

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import netlink_codec as nl
from netlink_codec import nft
from netlink_codec._elements import BareElement, ElementReader, network_between
from netlink_codec.nft.datatypes import TYPES, types_of
from netlink_codec.nft.elements import Reading
from netlink_codec.nft.sets import Shape, listed

F = nft.SET_F
TYPES_OF_KEYS = ["ipv4_addr", "ipv6_addr", "inet_service", "ifname", "mark", "ether_addr", "ct_label", "inet_proto"]


def shape_of(*names, interval=False):
    parts = tuple(TYPES[name] for name in names)
    if interval:
        parts = tuple(part.ordered("big") for part in parts)
    return Shape(F.INTERVAL if interval else F(0), parts)


def data_of(shape):
    size = shape.key[0].size if len(shape.key) == 1 else sum(part.padded for part in shape.key)
    return st.binary(min_size=size, max_size=size)


shapes = st.builds(
    lambda names, interval: shape_of(*names, interval=interval),
    st.lists(st.sampled_from(TYPES_OF_KEYS), min_size=1, max_size=3),
    st.booleans(),
)


@st.composite
def lists(draw):
    """A shape, and elements as the kernel may tell them."""
    shape = draw(shapes)
    values = data_of(shape).map(lambda value: nft.Data(value=value))
    flags = st.sampled_from([None, nft.ELEM_F.INTERVAL_END]) if shape.split else st.none()
    ends = st.none() | values if shape.interval and not shape.split else st.none()
    element = st.builds(
        nft.RawElement,
        key=values,
        key_end=ends,
        flags=flags,
        timeout=st.none() | st.integers(1, 1000),
    )
    return shape, draw(st.lists(element, max_size=6))


def message(elements):
    record = nft.RawElements(family=2, table="t", set="s", elements=tuple(elements))
    return nl.Message(nft.MSG.NEWSETELEM, 0, record)


def pieces(shape, data):
    position = 0
    for part in shape.key:
        yield part, data[position : position + part.size]
        position += part.padded


def expected(shape, elements):
    """Keys and timeouts, by the slow way."""
    if shape.split:
        ends = sorted(((one.key.value, not one.flags, one.timeout) for one in elements), key=lambda end: end[:2])
        part = shape.key[0]
        behind_all = b"\x01" + bytes(part.size)
        for (first, begins, timeout), (after, _, _) in itertools.pairwise([*ends, (behind_all, False, None)]):
            if begins and first != after:
                last = (int.from_bytes(after) - 1).to_bytes(part.size)
                yield part.between(first, last), timeout
        return
    for one in elements:
        last = one.key.value if one.key_end is None else one.key_end.value
        values = tuple(
            part.between(low, high) if shape.interval else part.read(low)
            for (part, low), (_, high) in zip(pieces(shape, one.key.value), pieces(shape, last), strict=True)
        )
        yield (values if len(values) > 1 else values[0]), one.timeout


def by_key(found):
    return [(one.key, one.timeout) for one in found]


@given(lists())
def test_as_the_slow_way(case):
    shape, elements = case
    reading = Reading(shape)
    found = [*reading.feed(message(elements)), *reading.rest()]
    wanted = list(expected(shape, elements))
    # Of what is told twice, either may be the one that is left out.
    assert [key for key, _ in by_key(found)] == [key for key, _ in wanted]
    assert sorted(map(repr, by_key(found))) == sorted(map(repr, wanted)) or shape.split


@given(lists(), st.data())
def test_whatever_the_bytes(case, data):
    """Elements or DecodeError; and what is cut or changed brings nothing from behind it."""
    shape, elements = case
    wire = bytearray(bytes(message(elements))[16:])
    for _ in range(data.draw(st.integers(1, 3))):
        wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(wire[: data.draw(st.integers(0, len(wire)))])
    for changed in (cut, bytes(wire)):
        reading = Reading(shape)
        try:
            found = [*reading.take(changed), *reading.rest()]
        except (nl.DecodeError, ValueError):
            continue
        for one in found:
            assert repr(one.key)


@given(st.integers(0, 2**32 - 1), st.integers(0, 33))
@example(0, 33)
@example(2**32 - 1, 0)
def test_networks_of_four_bytes(first, bits):
    last = min(first | (1 << bits) - 1, 2**32 - 1)
    nets = list(summarize_address_range(IPv4Address(first), IPv4Address(last)))
    made = network_between(first.to_bytes(4), last.to_bytes(4))
    assert made == (nets[0] if len(nets) == 1 else None)


@given(st.integers(0, 2**128 - 1), st.integers(0, 128), st.integers(0, 2))
def test_networks_of_sixteen_bytes(first, bits, more):
    last = min((first | (1 << bits) - 1) + more, 2**128 - 1)
    nets = list(summarize_address_range(IPv6Address(first), IPv6Address(last)))
    made = network_between(first.to_bytes(16), last.to_bytes(16))
    assert made == (nets[0] if len(nets) == 1 else None)


@pytest.mark.parametrize(("first", "last"), [(b"", b""), (bytes(4), bytes(16)), (bytes(5), bytes(5)), (bytes(4), b"")])
def test_no_addresses(first, last):
    with pytest.raises(ValueError, match="no addresses"):
        network_between(first, last)


def test_a_key_of_another_size():
    wire = listed(2, "t", "s", None) + bytes.fromhex("1400 0380 1000 0180 0c00 0180 0700 0100 0102 0300")
    with pytest.raises(nl.DecodeError, match="has 3 bytes, and those of its set have 4") as caught:
        Reading(shape_of("ipv4_addr")).take(wire)
    assert wire[caught.value.offset :][:3] == b"\1\2\3"


@pytest.mark.parametrize("interval", [False, True])
def test_an_element_without_a_key(interval):
    """Which is what matches all else, but no end of an interval."""
    wire = bytes(message([nft.RawElement(timeout=5)]))[16:]
    reading = Reading(shape_of("ipv4_addr", interval=interval))
    if interval:
        with pytest.raises(nl.DecodeError, match="has no key"):
            reading.take(wire)
    else:
        assert by_key(reading.take(wire)) == [(nft.CATCHALL, 5)]


def test_a_range_that_is_in_order_as_bytes_only():
    names = [b"\x80".ljust(16, b"\0"), b"\xc2\x80".ljust(15, b"\0") + b"\1"]
    begin, end = (nft.Data(value=name) for name in names)
    reading = Reading(shape_of("ifname", interval=True))
    reading.feed(message([nft.RawElement(key=begin), nft.RawElement(key=end, flags=nft.ELEM_F.INTERVAL_END)]))
    (one,) = reading.rest()
    assert one.key.last == "\x80" < one.key.first


def test_an_end_that_was_told_twice():
    """By a dump that met a change."""
    data = [nft.Data(value=bytes([10, 0, 0, last])) for last in (0, 0, 8)]
    end = nft.ELEM_F.INTERVAL_END
    elements = [nft.RawElement(key=data[0]), nft.RawElement(key=data[1]), nft.RawElement(key=data[2], flags=end)]
    reading = Reading(shape_of("ipv4_addr", interval=True))
    assert reading.feed(message(elements)) == []
    assert [one.key for one in reading.rest()] == [IPv4Network("10.0.0.0/29")]
    assert reading.rest() == []


@pytest.mark.parametrize("size", [0, 64, 65, 65_500])
def test_keys_of_sizes_that_no_kernel_has(size):
    shape = Shape(F.INTERVAL, types_of(0, size))
    begin, end = (nft.RawElement(key=nft.Data(value=bytes(size)[1:] + bytes([last])[:size])) for last in (1, 3))
    reading = Reading(shape)
    if size > 64:
        with pytest.raises(nl.DecodeError, match=f"has {size} bytes"):
            reading.feed(message([begin]))
        return
    reading.feed(message([begin, end.replace(flags=nft.ELEM_F.INTERVAL_END)]))
    assert len(reading.rest()) == 1


def test_what_is_no_reader():
    shape = shape_of("mark")
    with pytest.raises(TypeError, match="no BareElement"):
        ElementReader(int, shape, nft.Range, nft.CATCHALL)
    with pytest.raises(TypeError):
        ElementReader(BareElement)
    with pytest.raises(TypeError):
        Reading(shape).feed(b"")
