"""What becomes of answers that are unlike others, from a kernel that gives them."""

import struct

import pytest

import netlink_codec as nl
from netlink_codec.testing import FakeKernel, Pause, ack, reply

GET = nl.Message(18)
LIST_RULES = nl.Message(1013)


def test_only_the_first_message_of_an_answer_is_decoded():
    """Though it means nothing."""
    seen = []
    request = nl.Request(GET, lambda message: seen.append(message.data))
    kernel = FakeKernel(
        nl.NETLINK_ROUTE,
        lambda requests: [part for one in requests for part in (reply(one, 16, b"1"), reply(one, 16, b"2"), ack(one))],
    )
    with kernel.conn() as conn:
        assert conn.do(request) is None
        assert conn.batch([request, request]) == [None, None]
    assert seen == [b"1"] * 3


def test_a_list_of_audit_comes_after_its_acknowledgement():
    def handler(requests):
        (request,) = requests
        rules = [reply(request, 1013, b"rule", flags=nl.NLM_F_MULTI, pid=0) for _ in range(3)]
        return [ack(request), *rules, reply(request, nl.NLMSG_DONE, flags=nl.NLM_F_MULTI, pid=0)]

    kernel = FakeKernel(nl.NETLINK_AUDIT, handler)
    with kernel.conn() as conn:
        assert conn.collect(nl.Dump(LIST_RULES, lambda message: message.data, ends="reply")) == [b"rule"] * 3


def test_a_batch_that_is_too_late_tells_what_was_done():
    def handler(requests):
        return [
            Pause(2),
            *(part for one in requests for part in (reply(one, 16, struct.pack("=I", one.seq)), ack(one))),
        ]

    kernel = FakeKernel(nl.NETLINK_ROUTE, handler)
    request = nl.Request(GET, lambda message: message.data)
    with kernel.conn() as conn, pytest.raises(nl.Timeout) as caught:
        conn.batch([request] * 50, timeout=5)
    results = caught.value.results
    assert len(results) == 50
    done = [result is not None for result in results]
    assert 0 < sum(done) < 50
    assert done == sorted(done, reverse=True)
