"""Addresses and networks are those of ipaddress, made faster: nobody can tell which of the two ways was taken."""

import copy
import gc
import itertools
import pickle
import struct
import weakref
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from netlink_codec import records as r
from record_classes import Link, Route
from support import stream


class Both(r.Record):
    address: object = r.attr(1, r.IP)
    hardware: object = r.attr(1 + 1, r.MAC)


def read(packed):
    return Both.from_bytes(stream((1, packed), (2, packed)))


PROPERTIES = [
    *("is_private", "is_global", "is_multicast", "is_loopback", "is_link_local", "is_reserved", "is_unspecified"),
    *("packed", "exploded", "compressed", "version", "max_prefixlen", "reverse_pointer"),
]
numbers4 = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 2**32 - 1, 0x7F000001, 0x0A000001]))
numbers6 = st.one_of(
    st.integers(0, 2**128 - 1),
    st.sampled_from([0, 1, 2**128 - 1, 0xFE80 << 112, 0xFFFF0A000001, 0x20010DB8 << 96]),
    st.lists(st.sampled_from([0, 1, 0x10, 0x11, 0x1234]), min_size=8, max_size=8).map(
        lambda groups: sum(group << (16 * i) for i, group in enumerate(groups))
    ),
)


def compare(made, wanted):
    assert type(made) is type(wanted)
    assert (made, str(made), repr(made), hash(made)) == (wanted, str(wanted), repr(wanted), hash(wanted))
    assert pickle.loads(pickle.dumps(made)) == wanted
    assert copy.deepcopy(made) == copy.copy(made) == wanted
    assert made.__reduce__() == wanted.__reduce__()


@given(st.one_of(st.builds(IPv4Address, numbers4), st.builds(IPv6Address, numbers6)))
def test_addresses(wanted):
    record = read(wanted.packed)
    made = record.address
    compare(made, wanted)
    for name in PROPERTIES:
        assert getattr(made, name) == getattr(wanted, name)
    assert int(made) == int(wanted)
    assert f"{made:x}" == f"{wanted:x}"
    assert made + 0 == wanted
    assert (made < wanted, made <= wanted) == (False, True)
    if wanted.version == 6:
        assert made.scope_id is wanted.scope_id is None
        assert (made.ipv4_mapped, made.teredo, made.sixtofour) == (wanted.ipv4_mapped, wanted.teredo, wanted.sixtofour)
    assert record.to_dict()["address"] == str(wanted)
    assert ip_address(record.hardware) == wanted
    assert Both(address=made, hardware=record.hardware) == record
    assert weakref.ref(made)() is made
    assert not gc.is_tracked(made)


networks = st.one_of(
    st.tuples(st.builds(IPv4Address, numbers4), st.integers(0, 32)),
    st.tuples(st.builds(IPv6Address, numbers6), st.integers(0, 128)),
)


@given(networks)
def test_networks(pair):
    address, length = pair
    cls, family = (IPv4Network, 2) if address.version == 4 else (IPv6Network, 10)
    wanted = cls((address, length), strict=False)
    record = Route.from_bytes(bytes(Route(family=family, dst_len=length)) + stream((1, address.packed)))
    made = record.dst
    compare(made, wanted)
    for name in ("network_address", "broadcast_address", "netmask", "hostmask", "prefixlen", "num_addresses"):
        compare(getattr(made, name), getattr(wanted, name)) if "add" in name and "num" not in name else None
        assert getattr(made, name) == getattr(wanted, name)
    for name in ("is_private", "is_multicast", "with_prefixlen", "with_netmask", "max_prefixlen", "version"):
        assert getattr(made, name) == getattr(wanted, name)
    assert list(itertools.islice(made.hosts(), 5)) == list(itertools.islice(wanted.hosts(), 5))
    assert address in made
    assert made.supernet(new_prefix=0) == wanted.supernet(new_prefix=0)
    assert made.overlaps(wanted)
    assert record.to_dict()["dst"] == str(wanted)
    again = Route(dst=made)
    assert again.dst == wanted
    assert (again.family, again.dst_len) == (family, length)


@pytest.mark.parametrize("length", [0, 24, 30, 31, 32])
def test_hosts_of_small_networks(length):
    network = IPv4Network(("10.1.2.0", length), strict=False)
    made = Route(dst=network).dst
    assert list(itertools.islice(made.hosts(), 300)) == list(itertools.islice(network.hosts(), 300))


def test_networks_are_let_go():
    route = Route(dst=IPv4Network("10.0.0.0/31"))
    for _ in range(10):
        assert list(route.dst.hosts()) == [IPv4Address("10.0.0.0"), IPv4Address("10.0.0.1")]
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(1000):
        list(route.dst.hosts())
    gc.collect()
    assert len(gc.get_objects()) - before < 100


def test_addresses_do_not_share_what_can_be_changed():
    first, second = read(bytes(4)).address, read(bytes(4)).address
    assert first is not second
    assert Link(address="10.0.0.1").address == "10.0.0.1"


@given(st.lists(st.sampled_from([0, 0, 0, 1, 0xA, 0xFF, 0x1234, 0xFFFF]), min_size=8, max_size=8), st.integers(0, 128))
@example([0] * 5 + [0xFFFF, 0x0102, 0x0304], 128)
@example([0] * 8, 0)
def test_text_of_long_addresses(groups, bits):
    """Whatever this Python makes of those that have an IPv4 address inside."""
    data = struct.pack(">8H", *groups)
    assert read(data).to_dict()["address"] == str(IPv6Address(data))
    network = IPv6Network((data, bits), strict=False)
    assert Route(dst=network).to_dict()["dst"] == str(network)
