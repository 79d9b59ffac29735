"""Attributes that the kernel refuses, by the names that a request's record has for them."""

import errno

import pytest

import netlink_codec as nl
from netlink_codec import Dump, Request
from netlink_codec.testing import FakeKernel, done, error

NAMES = {18: "info", 2: "data", 1: "id"}


class Record:
    @classmethod
    def path_names(cls, path, sent):
        assert type(path) is tuple
        assert isinstance(sent, nl.Message)
        return ".".join(NAMES.get(number, str(number)) for number in path)


class Broken:
    @classmethod
    def path_names(cls, path, sent):
        raise LookupError


def message():
    """Types 18.2.1, and where the header of each stands."""
    encoder = nl.AttributeEncoder(bytes(16))
    encoder.u32(4, 1500)
    with encoder.nested(18), encoder.nested(2):
        encoder.u16(1, 7)
    made = nl.Message(16, 0, encoder)
    outer = made.attributes(16).find(18)
    middle = outer.nested().find(2)
    return made, [outer.offset, middle.offset, middle.nested().find(1).offset]


MESSAGE, (OUTER, MIDDLE, INNER) = message()


def raised(request, **explanation):
    """The error of a request that is refused for such a reason, however it is asked."""

    def handler(requests):
        answer = done if isinstance(request, Dump) else error
        return [answer(one, errno.EINVAL, **explanation) for one in requests]

    with FakeKernel(nl.NETLINK_ROUTE, handler).conn() as conn:
        if isinstance(request, Dump):
            with pytest.raises(nl.NetlinkError) as caught:
                conn.collect(request)
            return [caught.value]
        results = conn.batch([request] * 2, errors="return")
        with pytest.raises(nl.NetlinkError) as caught:
            conn.do(request)
        return [*results, caught.value]


REQUESTS = [Request(MESSAGE, record=Record), Dump(MESSAGE, len, record=Record)]


@pytest.mark.parametrize("request_", REQUESTS, ids=["request", "dump"])
@pytest.mark.parametrize(("offset", "path"), [(OUTER, "info"), (MIDDLE, "info.data"), (INNER, "info.data.id")])
def test_what_was_refused(request_, offset, path):
    for failure in raised(request_, attribute_offset=offset):
        assert failure.attribute == path
        assert f"attribute {path}" in str(failure)


@pytest.mark.parametrize("request_", REQUESTS, ids=["request", "dump"])
def test_what_is_missing(request_):
    for failure in raised(request_, missing_type=18):
        assert failure.missing == "info"
    for failure in raised(request_, missing_type=1, missing_nest=MIDDLE):
        assert failure.missing == "info.data.1".replace("1", "id")
    for failure in raised(request_, missing_type=77, missing_nest=OUTER):
        assert failure.missing == "info.77"
    for failure in raised(request_, missing_type=77, missing_nest=9999):
        assert failure.missing == "77"


@pytest.mark.parametrize("record", [None, Broken, object])
def test_numbers_where_there_are_no_names(record):
    request = Request(MESSAGE, record=record)
    for failure in raised(request, attribute_offset=INNER):
        assert failure.attribute == "18.2.1"
    for failure in raised(request, missing_type=1, missing_nest=MIDDLE):
        assert failure.missing == "18.2.1"
    for failure in raised(request, attribute_offset=INNER + 1):
        assert failure.attribute is None
    assert request.tolerate(1).record is record


def test_hints_stay():
    request = Request(MESSAGE, record=Record, doing="set it")
    kernel = FakeKernel(nl.NETLINK_ROUTE, lambda requests: error(requests[0], errno.EPERM))
    with kernel.conn() as conn, pytest.raises(nl.NotPermitted, match=r"set it: .* \(needs CAP_NET_ADMIN"):
        conn.do(request)
