"""Elements of sets as Python values, to bytes and back: intervals, concatenations, values, byte orders."""

import pickle
import struct
import sys
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

import netlink_codec as nl
from netlink_codec import nft
from netlink_codec.nft.datatypes import TYPES, types_of
from netlink_codec.nft.elements import Reading, written
from netlink_codec.nft.sets import Shape, listed
from support import stream

END = nft.ELEM_F.INTERVAL_END
Range = nft.Range


def set_of(key, **settings):
    """A set that is nowhere."""
    (record,) = nft.add_set("ip", "t", "s", key, **settings).sets
    return record


def messages(known, items, **options):
    for piece in written(known.shape, items, **options):
        yield nl.Message(nft.MSG.NEWSETELEM, 0, listed(2, "t", "s", piece))


def raw(known, items):
    """Key, last key and flags of the elements of the kernel."""
    return [
        (one.key.value.hex(), one.key_end and one.key_end.value.hex(), one.flags or 0)
        for message in messages(known, items)
        for one in nft.RawElements.from_message(message).elements
    ]


def back(known, items):
    """What is read of what is written, in the order of the keys."""
    reading = Reading(known.shape)
    found = [one for message in messages(known, items) for one in reading.feed(message)]
    return [*found, *reading.rest()]


def keys(known, items):
    return [one.key for one in back(known, items)]


# google/nftables#154, #155, #205, #225
def test_intervals_as_the_kernel_lists_them():
    told = [
        "c6336415+",
        "c633640a",
        "ffffff00",
        "c0000300+",
        "c0000200",
        "00000000+",
    ]
    elements = b"".join(
        stream(
            (
                1,
                stream((1, stream((1, bytes.fromhex(text[:8])))), *([(3, b"\0\0\0\1")] if text.endswith("+") else [])),
            )
        )
        for text in told
    )
    message = nl.Message(nft.MSG.NEWSETELEM, 0, listed(2, "t", "s", elements))
    reading = Reading(set_of("ipv4_addr", interval=True).shape)
    assert reading.feed(message) == []
    assert [one.key for one in reading.rest()] == [
        IPv4Network("192.0.2.0/24"),
        Range(IPv4Address("198.51.100.10"), IPv4Address("198.51.100.20")),
        IPv4Network("255.255.255.0/24"),
    ]


def test_intervals_end_behind_their_last_value():
    known = set_of("ipv4_addr", interval=True)
    wanted = ["192.0.2.0/24", Range("198.51.100.10", "198.51.100.20"), "255.255.255.0/24", "10.0.0.1"]
    assert raw(known, wanted) == [
        ("c0000200", None, 0),
        ("c0000300", None, END),
        ("c633640a", None, 0),
        ("c6336415", None, END),
        ("ffffff00", None, 0),
        ("0a000001", None, 0),
        ("0a000002", None, END),
    ]


@pytest.mark.parametrize(
    ("key", "given", "found"),
    [
        ("ipv4_addr", "10.0.0.1", IPv4Network("10.0.0.1/32")),
        ("ipv4_addr", IPv4Address("255.255.255.255"), IPv4Network("255.255.255.255/32")),
        ("ipv4_addr", "0.0.0.0/0", IPv4Network("0.0.0.0/0")),
        ("ipv4_addr", Range("10.0.0.0", "10.0.0.255"), IPv4Network("10.0.0.0/24")),
        ("ipv4_addr", Range("10.0.0.1", "10.0.0.2"), Range(IPv4Address("10.0.0.1"), IPv4Address("10.0.0.2"))),
        ("ipv4_addr", Range("0.0.0.0", "255.255.255.254"), Range(IPv4Address(0), IPv4Address("255.255.255.254"))),
        ("ipv6_addr", "2001:db8::/33", IPv6Network("2001:db8::/33")),
        ("ipv6_addr", "::/0", IPv6Network("::/0")),
        ("inet_service", 80, 80),
        ("inet_service", Range(80, 90), Range(80, 90)),
        ("inet_service", Range(1024, 65535), Range(1024, 65535)),
        ("mark", Range(1, 0x100), Range(1, 0x100)),
        ("mark", 0xFFFFFFFF, 0xFFFFFFFF),
        ("ifname", "eth0", "eth0"),
        ("ifname", "eth*", "eth*"),
        (
            "ether_addr",
            Range("02:00:00:00:00:00", "02:00:00:00:00:ff"),
            Range("02:00:00:00:00:00", "02:00:00:00:00:ff"),
        ),
    ],
)
def test_an_interval_and_back(key, given, found):
    known = set_of(key, interval=True)
    assert keys(known, [given]) == [found]
    assert keys(known, [found]) == [found]


@pytest.mark.parametrize(
    ("key", "given", "found"),
    [
        ("ipv4_addr", "10.0.0.1", ip_address("10.0.0.1")),
        ("ipv6_addr", "2001:db8::1", ip_address("2001:db8::1")),
        ("ether_addr", "02:00:00:00:00:01", "02:00:00:00:00:01"),
        ("inet_service", 80, 80),
        ("inet_proto", "tcp", 6),
        ("ifname", "eth0", "eth0"),
        ("mark", 0x10, 0x10),
        ("ct_state", "new,established", nft.CT_STATE.NEW | nft.CT_STATE.ESTABLISHED),
        ("ipv4_addr . inet_service", ("10.0.0.1", 80), (ip_address("10.0.0.1"), 80)),
        ("ifname . mark . ipv4_addr", ("lo", 7, "10.0.0.1"), ("lo", 7, ip_address("10.0.0.1"))),
    ],
)
def test_a_key_and_back(key, given, found):
    assert keys(set_of(key), [given]) == [found]


def test_concatenations_of_intervals_have_both_ends_in_one():
    known = set_of("ipv4_addr . inet_service", interval=True)
    assert known.flags == nft.SET_F.INTERVAL | nft.SET_F.CONCAT
    assert [one.len for one in known.desc.concat] == [4, 2]
    assert raw(known, [("10.0.0.0/8", Range(80, 90)), ("1.2.3.4", 22)]) == [
        ("0a00000000500000", "0affffff005a0000", 0),
        ("0102030400160000", "0102030400160000", 0),
    ]
    assert keys(known, [("10.0.0.0/8", Range(80, 90)), ("1.2.3.4", 22)]) == [
        (IPv4Network("10.0.0.0/8"), Range(80, 90)),
        (IPv4Network("1.2.3.4/32"), 22),
    ]


def test_a_concatenation_without_its_second_key():
    known = set_of("ipv4_addr . inet_service", interval=True)
    key = nft.Data(value=bytes.fromhex("0102030400160000"))
    (found,) = nft.read_elements(known, nft.RawElements(table="t", set="s", elements=(nft.RawElement(key=key),)))
    assert found.key == (IPv4Network("1.2.3.4/32"), 22)


def test_numbers_are_big_endian_in_intervals_alone():
    assert raw(set_of("mark"), [0x10]) == [(struct.pack("=I", 0x10).hex(), None, 0)]
    assert raw(set_of("mark", interval=True), [0x10])[0] == ("00000010", None, 0)
    name = b"lo".ljust(16, b"\0").hex()
    assert raw(set_of("ifname . mark"), [("lo", 1)]) == [(name + struct.pack("=I", 1).hex(), None, 0)]
    assert raw(set_of("ifname . mark", interval=True), [("lo", 1)]) == [(name + "00000001", name + "00000001", 0)]


# google/nftables#123, #177, #225, #226, #355
@pytest.mark.parametrize(
    ("key", "interval", "order"),
    [("ipv4_addr", False, 2), ("inet_service", False, 2), ("mark", False, 1), ("ifname", False, 1), ("mark", True, 2)],
)
def test_userdata_tells_the_order_of_the_bytes(key, interval, order):
    known = set_of(key, interval=interval)
    assert known.userdata == bytes((0, 4)) + order.to_bytes(4, sys.byteorder)


def test_integers_have_the_order_that_userdata_tells():
    for order, value in ((1, 22), (2, 22)):
        told = bytes((0, 4)) + order.to_bytes(4, sys.byteorder)
        known = nft.Set(table="t", name="s", key_type=4, key_len=2, flags=nft.SET_F(0), userdata=told)
        assert keys(known, [value]) == [value]
        assert raw(known, [value]) == [((22).to_bytes(2, sys.byteorder if order == 1 else "big").hex(), None, 0)]


def test_maps():
    known = set_of("ipv4_addr", value="verdict")
    found = back(known, [nft.Element("1.2.3.4", nft.jump("x")), nft.Element("1.2.3.5", "accept")])
    assert [(one.value.code, one.value.chain) for one in found] == [(nft.VERDICT.JUMP, "x"), (nft.VERDICT.ACCEPT, None)]
    known = set_of("ipv4_addr", value="inet_service", interval=True)
    assert [(one.key, one.value) for one in back(known, [nft.Element("1.2.3.0/24", 80)])] == [
        (IPv4Network("1.2.3.0/24"), 80)
    ]
    known = set_of("inet_service", value="ipv4_addr . inet_service")
    assert back(known, [nft.Element(80, ("1.2.3.4", 8080))])[0].value == (IPv4Address("1.2.3.4"), 8080)
    known = set_of("ipv4_addr", value="counter")
    assert back(known, [nft.Element("1.2.3.4", "web")])[0].value == "web"
    assert known.obj_type is nft.OBJECT.COUNTER


def test_a_map_of_ranges():
    told = bytes((0, 4, 2, 0, 0, 0, 1, 4, 1, 0, 0, 0, 6, 4)) + (1).to_bytes(4, sys.byteorder)
    known = nft.Set(
        table="t", name="s", flags=nft.SET_F.MAP, key_type=13, key_len=2, data_type=7, data_len=8, userdata=told
    )
    assert known.value == "ipv4_addr"
    assert [
        one.value for one in back(known, [nft.Element(80, "1.2.3.0/24"), nft.Element(81, Range("1.1.1.1", "1.1.1.2"))])
    ] == [
        IPv4Network("1.2.3.0/24"),
        Range(IPv4Address("1.1.1.1"), IPv4Address("1.1.1.2")),
    ]


# google/nftables#96, #98; crowdsecurity/cs-firewall-bouncer#82
def test_timeouts_are_milliseconds():
    assert bytes(nft.RawElement(timeout=600))[-8:].hex() == "00000000000927c0"
    known = set_of("ipv4_addr", timeout=60)
    assert known.flags == nft.SET_F.TIMEOUT
    (found,) = back(known, [nft.Element("1.2.3.4", timeout=600, comment="why", expressions=[nft.counter()])])
    assert (found.timeout, found.comment, found.expressions) == (600.0, "why", (nft.counter(),))
    assert found == nft.Element(IPv4Address("1.2.3.4"), timeout=600.0, comment="why", expressions=[nft.counter()])


def test_elements_that_were_read_are_written_as_they_were():
    known = set_of("ipv4_addr", timeout=60, interval=True)
    given = [nft.Element("255.255.255.0/24", timeout=5, comment="x"), nft.Element("1.2.3.4", userdata=b"\x07\x01z")]
    found = back(known, given)
    assert [bytes(message) for message in messages(known, found)] == [
        bytes(message) for message in messages(known, reversed(given))
    ]
    assert back(known, found) == found
    assert found[0].userdata == b"\x07\x01z"


def test_the_rest_is_an_element_too():
    known = set_of("ipv4_addr", value="verdict", interval=True)
    (found,) = back(known, [nft.Element(nft.CATCHALL, "drop")])
    assert found.key is nft.CATCHALL
    assert found.value.code is nft.VERDICT.DROP
    assert pickle.loads(pickle.dumps(found)) == found


def test_to_delete_is_to_name_the_key():
    known = set_of("ipv4_addr", timeout=60)
    given = [nft.Element("1.2.3.4", timeout=5, comment="x")]
    assert list(written(known.shape, given, keys_alone=True)) == list(written(known.shape, ["1.2.3.4"]))


@pytest.mark.parametrize(
    ("key", "wrong", "error"),
    [
        ("ipv4_addr", "2001:db8::1", ValueError),
        ("ipv4_addr", 7, TypeError),
        ("ipv4_addr", "10.0.0.0/24", ValueError),
        ("inet_service", 65536, ValueError),
        ("inet_service", -1, ValueError),
        ("inet_service", 1.5, TypeError),
        ("ifname", "x" * 16, ValueError),
        ("ifname", 3, TypeError),
        ("ipv4_addr . inet_service", "10.0.0.1", TypeError),
        ("ipv4_addr . inet_service", ("10.0.0.1",), TypeError),
        ("ipv4_addr", nft.Element("10.0.0.1", "accept"), TypeError),
        ("ether_addr", "02:00", ValueError),
    ],
)
def test_what_is_no_key(key, wrong, error):
    with pytest.raises(error):
        list(messages(set_of(key), [wrong]))


def test_what_is_no_type():
    with pytest.raises(ValueError, match="ipv4_addr"):
        nft.add_set("ip", "t", "s", "ipv5_addr")


def test_what_is_no_range():
    with pytest.raises(ValueError, match="after"):
        Range(90, 80)
    assert Range("10.0.0.9", "10.0.0.10").first == IPv4Address("10.0.0.9")  # as addresses, not as text


# mdlayher/netlink#191, #221, #304; google/nftables#303
def test_long_lists_are_split():
    known = set_of("ipv4_addr")
    sizes = [
        len(nft.RawElements.from_message(message).elements)
        for message in messages(known, map(IPv4Address, range(10_000)))
    ]
    assert sizes == [4095, 4095, 1810]
    # An interval is never cut in two.
    known = set_of("ipv4_addr", interval=True)
    for message in messages(known, (IPv4Network((4 * number, 31)) for number in range(10_000))):
        assert len(nft.RawElements.from_message(message).elements) % 2 == 0
        assert message.length < 65_600


def test_types_that_are_not_known_are_bytes():
    known = nft.Set(table="t", name="s", key_type=60, key_len=3, flags=nft.SET_F(0))
    assert known.key == "bytes"
    assert keys(known, [b"abc"]) == [b"abc"]
    odd = nft.Set(table="t", name="s", key_type=7, key_len=3, flags=nft.SET_F(0))
    assert keys(odd, [b"abc"]) == [b"abc"]


numbers = st.integers(0, 0xFFFFFFFF)


@given(st.lists(st.tuples(numbers, numbers), max_size=20))
def test_any_intervals_and_back(pairs):
    known = set_of("ipv4_addr", interval=True)
    ranges, last = [], -1
    for low, high in sorted((min(pair), max(pair)) for pair in pairs):
        if low > last:
            ranges.append(Range(IPv4Address(low), IPv4Address(high)))
            last = high
    found = keys(known, ranges)
    assert [bounds(key) for key in found] == [(one.first, one.last) for one in ranges]
    assert raw(known, found) == raw(known, ranges)


def bounds(key):
    return (key.first, key.last) if isinstance(key, Range) else (key.network_address, key.broadcast_address)


@given(st.lists(st.tuples(numbers, st.integers(0, 32), st.integers(0, 65535), st.integers(0, 65535)), max_size=10))
def test_any_concatenations_and_back(parts):
    known = set_of("ipv4_addr . inet_service", interval=True)
    given = [
        (ip_network((address, length), strict=False), low if low == high else Range(min(low, high), max(low, high)))
        for address, length, low, high in parts
    ]
    assert keys(known, given) == given


@pytest.mark.parametrize("length", [5, 7, 8])
def test_a_key_of_another_size_is_not_written(length):
    shape = Shape(nft.SET_F(0), types_of(TYPES["lladdr"].number, 6))
    assert list(written(shape, [bytes(6)]))
    with pytest.raises(ValueError, match="6 bytes"):
        list(written(shape, [bytes(length)]))
    nothing_known = Shape(nft.SET_F(0), types_of(0, 0))
    with pytest.raises(ValueError, match="0 bytes"):
        list(written(nothing_known, [bytes(length)]))
