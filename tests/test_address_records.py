"""Addresses as records: from bytes, and from values."""

import contextlib
import random
import struct
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface
from operator import attrgetter

import pytest

import netlink_codec as nl
from netlink_codec import rtnl
from support import EDITS, edited, random_seed, recorded_messages, recorded_on_little_endian, stream

HEADER = struct.Struct("=BBBBI")


def read(*attributes, family=2, prefixlen=24, flags=0, scope=0, index=3):
    return rtnl.Address.from_bytes(HEADER.pack(family, prefixlen, flags, scope, index) + stream(*attributes))


def u32(number):
    return struct.pack("=I", number)


def recorded(name):
    """The addresses of a recording: bytes after the nlmsghdr, and the record."""
    for data in recorded_messages(name):
        (message,) = nl.unmarshal_messages(data)
        if message.type == rtnl.RTM_NEWADDR:
            yield message.data, rtnl.Address.from_message(message)


@recorded_on_little_endian
@pytest.mark.parametrize("name", ["addrs_2", "addrs_1000"])
def test_a_recorded_address_gives_its_own_bytes_back(name):
    for data, address in recorded(name):
        address.check()
        assert bytes(address) == data
        assert address.unknown == ()
        values = {field: getattr(address, field) for field in FIELDS}
        built = rtnl.Address(**values)
        assert {field: getattr(built, field) for field in FIELDS} == values


FIELDS = [
    "family",
    "prefixlen",
    "scope",
    "index",
    "address",
    "local",
    "label",
    "broadcast",
    "anycast",
    "cacheinfo",
    "multicast",
    "flags",
    "metric",
    "target_netnsid",
    "proto",
]


@recorded_on_little_endian
def test_the_loopback_addresses():
    (_, four), (_, six) = recorded("addrs_2")
    assert (four.index, four.label, four.interface) == (1, "lo", IPv4Interface("127.0.0.1/8"))
    assert (six.ip, six.local, six.interface) == (IPv6Address("::1"), None, IPv6Interface("::1/128"))
    assert four.scope is six.scope is rtnl.RT_SCOPE.HOST
    assert four.flags == six.flags == rtnl.IFA_F.PERMANENT
    assert (four.proto, six.proto) == (None, rtnl.IFAPROT.KERNEL_LO)
    assert four.cacheinfo.valid is four.cacheinfo.preferred is None
    assert four.cacheinfo.created == four.cacheinfo.updated > 0
    assert four.to_dict()["scope"] == "host"


@recorded_on_little_endian
def test_many_interfaces():
    addresses = [address for _, address in recorded("addrs_1000")]
    assert len({address.identity for address in addresses}) == len(addresses) > 800
    assert {address.label for address in addresses} >= {"x0", "x5", "x800"}


# svinota/pyroute2#1166: an attribute that came with Linux 5.18, one byte.
@pytest.mark.parametrize(("number", "word"), [(1, "kernel_lo"), (2, "kernel_ra"), (3, "kernel_ll"), (77, "77")])
def test_who_made_it(number, word):
    address = read((11, bytes([number])))
    assert address.proto == number
    assert address.proto.word == word
    assert bytes(rtnl.Address(index=3, family=2, prefixlen=24, proto=rtnl.IFAPROT(number))) == bytes(address)


def test_what_is_not_known_is_kept():
    address = read((1, bytes([10, 0, 0, 1])), (99, b"new"))
    assert address.unknown == ((99, b"new"),)
    assert address.replace(index=4).unknown == ((99, b"new"),)


def test_flags_are_those_of_the_attribute_where_there_is_one():
    assert read(flags=0x80).flags is rtnl.IFA_F.PERMANENT
    assert read((8, u32(0x280)), flags=0x01).flags == rtnl.IFA_F.PERMANENT | rtnl.IFA_F.NOPREFIXROUTE
    few = rtnl.Address(flags=rtnl.IFA_F.NODAD)
    assert bytes(few) == HEADER.pack(0, 0, 2, 0, 0)
    many = rtnl.Address(flags=rtnl.IFA_F.NODAD | rtnl.IFA_F.NOPREFIXROUTE)
    assert bytes(many) == HEADER.pack(0, 0, 2, 0, 0) + stream((8, u32(0x202)))
    assert many.flags == rtnl.IFA_F.NODAD | rtnl.IFA_F.NOPREFIXROUTE


def test_the_own_address_and_the_other_end():
    mine, other = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
    usual = read((1, mine), (2, mine))
    assert (usual.ip, usual.peer, usual.interface) == (IPv4Address("10.0.0.1"), None, IPv4Interface("10.0.0.1/24"))
    linked = read((1, other), (2, mine), prefixlen=32)
    assert (linked.ip, linked.peer) == (IPv4Address("10.0.0.1"), IPv4Address("10.0.0.2"))
    assert linked.identity != read((1, bytes([10, 0, 0, 3])), (2, mine), prefixlen=32).identity
    six = read((1, IPv6Address("2001:db8::1").packed), family=10, prefixlen=64)
    assert (six.ip, six.peer, six.interface) == (
        IPv6Address("2001:db8::1"),
        None,
        IPv6Interface("2001:db8::1/64"),
    )
    nothing = read()
    assert (nothing.ip, nothing.peer, nothing.interface) == (None, None, None)


def test_lifetimes():
    record = read((6, struct.pack("=IIII", 50, 0xFFFFFFFF, 150, 275)))
    assert (record.cacheinfo.preferred, record.cacheinfo.valid) == (50, None)
    assert (record.cacheinfo.created, record.cacheinfo.updated) == (1.5, 2.75)
    assert bytes(rtnl.AddressLifetime(preferred=50)) == struct.pack("=IIII", 50, 0xFFFFFFFF, 0, 0)
    assert bytes(rtnl.AddressLifetime(preferred=0, valid=7)) == struct.pack("=IIII", 0, 7, 0, 0)


def test_the_family_is_that_of_the_address():
    assert rtnl.Address(local=IPv4Address("10.0.0.1")).family == 2
    assert rtnl.Address(address=IPv6Address("::1")).family == 10


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"prefixlen": 256}, nl.EncodeError),
        ({"index": -1}, nl.EncodeError),
        ({"local": "10.0.0.1"}, TypeError),
        ({"broadcast": IPv6Address("::1")}, TypeError),
        ({"label": "a\0b"}, nl.EncodeError),
        ({"cacheinfo": rtnl.Address()}, TypeError),
        ({"ip": IPv4Address("10.0.0.1")}, TypeError),
    ],
)
def test_what_is_refused_names_the_field(fields, error):
    with pytest.raises(error, match=next(iter(fields))):
        rtnl.Address(**fields)


def test_a_wrong_size_is_an_error_where_it_is_read():
    address = read((2, b"\x0a\0\0"), (6, b"\0" * 3))
    with pytest.raises(nl.DecodeError, match=r"local") as caught:
        _ = address.local
    assert caught.value.offset >= HEADER.size
    with pytest.raises(nl.DecodeError):
        address.check()
    assert "DecodeError" in repr(address)


LOOKS = (rtnl.Address.check, rtnl.Address.to_dict, attrgetter("identity"), attrgetter("interface"))


@recorded_on_little_endian
def test_mutated_addresses_are_read_or_refused():
    chance = random.Random(random_seed())
    real = [data for name in ("addrs_2", "addrs_1000") for data, _ in list(recorded(name))[:20]]
    for _ in range(500):
        edits = [
            (chance.choice(EDITS), chance.randrange(999), chance.randrange(1 << 16))
            for _ in range(chance.randrange(1, 4))
        ]
        mutated = edited(chance.choice(real), edits)
        try:
            address = rtnl.Address.from_bytes(mutated)
        except nl.DecodeError:
            continue
        assert bytes(address) == mutated
        repr(address)
        for look in LOOKS:
            with contextlib.suppress(nl.DecodeError):
                look(address)
