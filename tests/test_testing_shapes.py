"""What the test kit makes is what kernels send, to the byte."""

import errno
import socket
import struct

import pytest

import netlink_codec as nl
import rtnl
from namespaces import network
from netlink_codec.acks import Acknowledgement
from netlink_codec.testing import ack, acknowledged, done, error, multipart, reply

ETHTOOL_MSG_FEATURES_GET = 11


def link(*attributes, index=1, type=rtnl.RTM_NEWLINK, flags=0):
    encoder = nl.AttributeEncoder(rtnl.IFINFOMSG.pack(0, 0, index, 0, 0))
    for attribute in attributes:
        encoder.attribute(attribute)
    return nl.Message(type, nl.NLM_F_REQUEST | nl.NLM_F_ACK | flags, encoder)


def refused(*attributes):
    """A link message that the kernel's policy refuses: an MTU takes 4 bytes."""
    return link(nl.Attribute(rtnl.IFLA_IFNAME, b"x\0"), nl.Attribute(rtnl.IFLA_MTU, bytes(2)), *attributes)


def unaligned(size):
    request = link(nl.Attribute(4711, b"other"), index=4711, type=rtnl.RTM_DELLINK)
    return request.replace(data=request.view[: 24 + size])


def ethtool_family(sock):
    encoder = nl.AttributeEncoder(struct.pack("=BBH", 3, 1, 0))
    encoder.string(2, "ethtool")
    sock.send(nl.Message(16, nl.NLM_F_REQUEST, encoder, seq=1))
    return next(nl.iter_messages(sock.recv(65536))).attributes(4).find(1).u16()


def asked(request, *, protocol=nl.NETLINK_ROUTE, cap, family=None):
    """What the kernel says at last: the request as sent, and the bytes."""
    with network(), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as sock:
        sock.settimeout(60)
        for option, value in ((nl.NETLINK_CAP_ACK, cap), (nl.NETLINK_EXT_ACK, 1)):
            sock.setsockopt(nl.SOL_NETLINK, option, value)
        if protocol == nl.NETLINK_ROUTE:
            sock.setsockopt(nl.SOL_NETLINK, nl.NETLINK_GET_STRICT_CHK, 1)
        sock.bind((0, 0))
        if family is not None:
            request = request.replace(type=family(sock))
        sent = request.sent(7, sock.getsockname()[0], 0)
        sock.send(sent)
        while True:
            for message in nl.unmarshal_messages(sock.recv(65536)):
                if message.type in (nl.NLMSG_ERROR, nl.NLMSG_DONE):
                    return sent, message


WARNED = {"errno": 0, "message": "bytes leftover after parsing attributes"}
ERRORS = {
    "success": (link(), {}),
    "success with a warning": (link().replace(data=rtnl.IFINFOMSG.pack(0, 0, 1, 0, 0) + b"\1\0\0"), WARNED),
    "an error": (link(index=4711, type=rtnl.RTM_DELLINK), {"errno": errno.ENODEV}),
    "an attribute and its policy": (
        refused(),
        {"errno": errno.ERANGE, "offset": 40, "policy": {1: 4, 4: 0, 5: 2**32 - 1}},
    ),
    **{f"a request with {size} bytes at its end": (unaligned(size), {"errno": errno.ENODEV}) for size in (1, 2, 3)},
    "a missing attribute": (
        nl.Message(0, nl.NLM_F_REQUEST | nl.NLM_F_ACK, struct.pack("=BBH", ETHTOOL_MSG_FEATURES_GET, 1, 0)),
        {"errno": errno.EINVAL, "missing_type": 1},
    ),
}


@pytest.mark.kernel
@pytest.mark.parametrize("cap", [0, 1])
@pytest.mark.parametrize(("request_", "expected"), ERRORS.values(), ids=ERRORS)
def test_an_acknowledgement(request_, expected, cap):
    genl = request_.type == 0
    sent, message = asked(
        request_,
        cap=cap,
        protocol=nl.NETLINK_GENERIC if genl else nl.NETLINK_ROUTE,
        family=ethtool_family if genl else None,
    )
    seen = Acknowledgement(message)
    assert {name: getattr(seen, name) for name in expected} == expected
    made = error(
        sent,
        seen.errno,
        message=seen.message,
        attribute_offset=seen.offset,
        policy=seen.policy,
        missing_type=seen.missing_type,
        missing_nest=seen.missing_nest,
        cookie=seen.cookie,
        capped=bool(cap),
    )
    assert bytes(made) == bytes(message)
    if not seen.errno:
        assert bytes(ack(sent, message=seen.message)) == bytes(message)


ENDS = {
    "a dump": (rtnl.links(), {}),
    "a dump of what is not there": (rtnl.addresses(4711), {"errno": errno.ENODEV}),
    "a dump that is refused with words": (rtnl.routes(prefix=24), {"errno": errno.EINVAL}),
}


@pytest.mark.kernel
@pytest.mark.parametrize(("request_", "expected"), ENDS.values(), ids=ENDS)
def test_the_end_of_a_dump(request_, expected):
    sent, message = asked(request_.replace(flags=request_.flags | nl.NLM_F_REQUEST), cap=1)
    seen = Acknowledgement(message)
    assert {name: getattr(seen, name) for name in expected} == expected
    flags = message.flags & nl.NLM_F_DUMP_FILTERED
    made = done(sent, seen.errno, message=seen.message, attribute_offset=seen.offset, flags=flags)
    assert bytes(made) == bytes(message)


REQUEST = nl.Message(18, nl.NLM_F_REQUEST | nl.NLM_F_ACK, bytes(16), seq=7, pid=9)
PARTS = [reply(REQUEST, 16, bytes([number] * 4)) for number in range(3)]


def test_a_reply():
    message = reply(REQUEST, 16, b"abc", flags=2)
    assert (message.type, message.flags, message.data, message.seq, message.pid) == (16, 2, b"abc", 7, 9)
    other = reply(REQUEST, 16, seq=8, pid=0)
    assert (other.seq, other.pid) == (8, 0)


def test_the_acknowledgement_is_sent_if_asked_for():
    assert acknowledged(REQUEST, *PARTS) == [*PARTS, ack(REQUEST)]
    assert acknowledged(REQUEST.replace(flags=nl.NLM_F_REQUEST), *PARTS) == PARTS


def test_a_nest_without_an_attribute():
    explained = Acknowledgement(error(REQUEST, errno.EINVAL, missing_type=3, missing_nest=32))
    assert (explained.missing_type, explained.missing_nest) == (3, 32)


def test_every_kind_of_number_in_a_policy():
    policy = {1: 11, 2: -5, 3: 5, 4: 0, 5: 2**64 - 1, 6: 1, 7: 16, 12: 3}
    message = error(REQUEST, errno.EINVAL, policy=policy)
    nested = message.attributes(20).find(nl.NLMSGERR_ATTR_POLICY).nested()
    sizes = {part.type: len(part) for part in nested}
    assert sizes == {kind: 8 if kind in (2, 3, 4, 5, 12) else 4 for kind in policy}
    assert message.attributes(20).find(nl.NLMSGERR_ATTR_POLICY, 2).s64() == -5


SPLITS = {
    None: [3, 1],
    (): [4],
    (4,): [4],
    (3,): [3, 1],
    (1, 1, 1): [1, 1, 1, 1],
    (1, 3): [1, 3],
    (0, 2): [2, 2],
    (9,): [4],
}


@pytest.mark.parametrize(("split", "sizes"), SPLITS.items(), ids=map(str, SPLITS))
def test_a_series_is_split(split, sizes):
    datagrams = multipart(REQUEST, PARTS, split=split)
    assert [len(datagram) for datagram in datagrams] == sizes
    messages = [message for datagram in datagrams for message in datagram]
    assert [message.type for message in messages] == [16, 16, 16, nl.NLMSG_DONE]
    assert all(message.flags & nl.NLM_F_MULTI for message in messages)
    assert all((message.seq, message.pid) == (7, 9) for message in messages)


def test_an_empty_series():
    assert multipart(REQUEST, []) == [[done(REQUEST)]]


def test_a_series_without_its_end():
    assert [len(datagram) for datagram in multipart(REQUEST, PARTS, endless=True)] == [3]
    assert multipart(REQUEST, [], endless=True) == []


def test_a_series_that_fails():
    assert multipart(REQUEST, PARTS, end=done(REQUEST, errno.ENODEV))[-1] == [done(REQUEST, errno.ENODEV)]


@pytest.mark.parametrize("position", range(-4, 4))
def test_an_interrupted_series(position):
    messages = [m for datagram in multipart(REQUEST, PARTS, interrupted=position) for m in datagram]
    flagged = [number for number, message in enumerate(messages) if message.flags & nl.NLM_F_DUMP_INTR]
    assert flagged == [position % 4]
