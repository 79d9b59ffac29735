"""Transactions against a fake kernel: what the real one does rarely, or says in another order."""

import errno

import pytest

import netlink_codec as nl
from fakes import KINDS, Peer
from netlink_codec import nft
from netlink_codec.testing import FakeKernel, ack, error, reply

MSG = nft.MSG


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


CHANGES = [nft.add_table("inet", f"t{number}") for number in range(3)]


def run(kind, answer, what=None, **options):
    kernel = FakeKernel(nl.NETLINK_NETFILTER, lambda requests: answer(*requests))
    with Peer(kernel, kind) as peer:
        return peer.do(nft.Transaction(CHANGES, **options) if what is None else what, timeout=1)


def test_what_is_sent(kind):
    seen = []

    def answer(*requests):
        seen.extend(requests)
        return [ack(requests[3])]

    run(kind, answer, genid=7)
    begin, *changes, end = seen
    assert [message.type for message in seen] == [MSG.BATCH_BEGIN, *[MSG.NEWTABLE] * 3, MSG.BATCH_END]
    assert bytes(begin.view) == bytes.fromhex("0000000a") + bytes(nl.Attribute(1, bytes.fromhex("00000007")))
    assert bytes(end.view) == bytes.fromhex("0000000a")
    assert [message.seq - begin.seq for message in seen] == list(range(5))
    assert [bool(message.flags & nl.NLM_F_ACK) for message in seen] == [False, False, False, True, False]
    assert all(message.flags & nl.NLM_F_REQUEST for message in seen)
    assert all(message.flags & nl.NLM_F_ECHO for message in changes)


def test_handles_and_the_generation(kind):
    def answer(begin, x, y, z, end):
        told = [
            reply(one, MSG.NEWTABLE, bytes(nft.Table(name="t", handle=number))) for number, one in enumerate((x, y, z))
        ]
        return [told, reply(x, MSG.NEWGEN, bytes(nft.Generation(id=9))), ack(z)]

    result = run(kind, answer)
    assert result.generation == 9
    assert [result.handles[change] for change in CHANGES] == [0, 1, 2]
    assert repr(result) == "<Result generation=9, 3 handles>"


def test_a_generation_that_is_not_told_is_the_next(kind):
    assert run(kind, lambda *r: [ack(r[3])], genid=7).generation == 8
    assert run(kind, lambda *r: [ack(r[3])], genid=0xFFFFFFFF).generation == 1
    assert run(kind, lambda *r: [ack(r[3])]).generation is None


def test_an_old_generation(kind):
    with pytest.raises(nft.GenerationMoved) as caught:
        run(kind, lambda *r: [error(r[0], errno.ERESTART)], genid=7)
    assert caught.value.errno == errno.ERESTART
    assert "transaction of 3 changes" in str(caught.value)


def test_errors_although_the_last_is_fine(kind):
    with pytest.raises(nl.BatchError, match="2 of 3 changes failed") as caught:
        run(kind, lambda b, x, y, z, e: [error(x, errno.ENOENT), error(y, errno.EEXIST), ack(z)])
    missing, there = caught.value.exceptions
    assert isinstance(missing, nl.NotFound)
    assert isinstance(there, nl.Exists)
    assert [one.request for one in (missing, there)] == CHANGES[:2]
    assert caught.value.results == [missing, there, None]


def test_it_fails_as_a_whole(kind):
    with pytest.raises(nl.NotPermitted, match="CAP_NET_ADMIN"):
        run(kind, lambda *r: [error(r[0], errno.EPERM)])


def test_no_memory_and_no_more_outcomes(kind):
    """The kernel then says so for the message after the first, and nothing else."""
    with pytest.raises(nl.BatchError, match="1 of 3 changes failed") as caught:
        run(kind, lambda *r: [error(r[1], errno.ENOMEM)])
    assert [one.errno for one in caught.value.exceptions] == [errno.ENOMEM]


def test_a_single_change_raises_its_own_error(kind):
    with pytest.raises(nl.Exists, match="add table inet t0") as caught:
        run(kind, lambda *r: [error(r[1], errno.EEXIST)], CHANGES[0])
    assert caught.value.request is CHANGES[0]


def test_no_answer(kind):
    with pytest.raises(nl.Timeout) as caught:
        run(kind, lambda *r: [])
    assert isinstance(caught.value.request, nft.Transaction)


def test_nothing_to_send(kind):
    def answer(*requests):
        raise AssertionError("something was sent")

    assert run(kind, answer, nft.Transaction()).handles == {}
