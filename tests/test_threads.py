"""Several threads at one object: no harm to memory, and each item goes to one of them."""

import pickle
import sys
import threading
from collections import Counter

import pytest

import netlink_codec as nl
import oracle
from netlink_codec import AttributeDecoder, AttributeEncoder, DecodeError
from support import shares_between_threads, stream

pytestmark = shares_between_threads

THREADS = 4
ITEMS = 3000


@pytest.fixture(autouse=True)
def switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work) -> list:
    """Runs work(number) in several threads that start at once; returns their results, or raises what one raised."""
    barrier = threading.Barrier(THREADS)
    results, errors = [None] * THREADS, []

    def run(number):
        barrier.wait()
        try:
            results[number] = work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


MESSAGES = [oracle.message_bytes(16, 0, n.to_bytes(4, "little"), n) for n in range(ITEMS)]
ATTRIBUTES = [oracle.attribute_bytes(n, n.to_bytes(4, "little")) for n in range(ITEMS)]


@pytest.mark.parametrize("convert", [bytes, bytearray])
@pytest.mark.parametrize(
    ("read", "wires"), [(nl.iter_messages, MESSAGES), (AttributeDecoder, ATTRIBUTES)], ids=["messages", "attributes"]
)
def test_each_item_goes_to_one_thread(read, wires, convert):
    walk = read(convert(oracle.padded(wires)))
    kept = together(lambda number: list(walk))
    assert Counter(bytes(item) for items in kept for item in items) == Counter(wires)


def test_items_that_are_not_kept_are_right_in_hand():
    walk = AttributeDecoder(oracle.padded(ATTRIBUTES))

    def check(number):
        return [(item.type, item.u32le()) for item in walk]

    seen = [pair for pairs in together(check) for pair in pairs]
    assert sorted(seen) == [(n, n) for n in range(ITEMS)]


def test_finding_while_others_walk():
    decoder = AttributeDecoder(oracle.padded(ATTRIBUTES[:300]))

    def work(number):
        if number == 0:
            return [item.type for item in decoder]
        for _ in range(5000):
            found = [decoder.find(wanted) for wanted in range(20)]
            assert [bytes(item) for item in found] == ATTRIBUTES[:20]
        return [item.type for item in decoder.find_all(7)]

    walked, *found = together(work)
    assert walked == list(range(300))
    assert found == [[7]] * (THREADS - 1)


def test_shared_objects():
    inner = stream((2, bytes(4)), (3, b"text\0"))
    message = nl.unmarshal_messages(bytearray(oracle.message_bytes(16, 0, stream((1, inner)))))[0]
    attribute = next(message.attributes())

    def work(number):
        return [
            (
                (message.data, message.type, message.length, hash(message), repr(message), bytes(message.view)),
                (attribute.data, attribute.type, hash(attribute), repr(attribute), bytes(attribute.view)),
                [(child.type, child.data) for child in attribute.nested()],
                message.attributes().find(1, 3).string(),
                pickle.loads(pickle.dumps(message)) == message,
                message == message.replace(),
            )
            for _ in range(200)
        ]

    results = together(work)
    assert all(one == results[0][0] for result in results for one in result)
    assert results[0][0][2:] == ([(2, bytes(4)), (3, b"text\0")], "text", True, True)


def test_one_encoder():
    encoder = AttributeEncoder(b"head")

    def write(number):
        for n in range(ITEMS):
            encoder.u32(number, n)

    together(write)
    attributes = nl.unmarshal_attributes(encoder, 4, strict=True)
    assert len(attributes) == THREADS * ITEMS
    for number in range(THREADS):
        assert [a.u32() for a in attributes if a.type == number] == list(range(ITEMS))


def test_one_encoder_viewed_by_some():
    encoder = AttributeEncoder()

    def work(number):
        done = 0
        while done < 500:
            try:
                if number % 2:
                    encoder.u32(number, done)
                else:
                    assert all(len(a) == 4 for a in AttributeDecoder(memoryview(encoder), strict=True))
                done += 1
            except BufferError:  # somebody looks
                assert number % 2

    together(work)
    attributes = nl.unmarshal_attributes(encoder, strict=True)
    assert Counter(a.type for a in attributes) == {1: 500, 3: 500}


def test_one_encoder_nesting_and_clearing():
    """Nests of different threads get in each other's way: that is an error now and then, never a wrong length."""
    encoder = AttributeEncoder()

    def work(number):
        for n in range(500):
            try:
                with encoder.nested(number):
                    encoder.u32(number, n)
                if n % 50 == 0:
                    encoder.clear()
            except (BufferError, nl.EncodeError):
                pass

    def count(decoder):
        return sum(1 + (count(item.nested()) if item.type_flags else 0) for item in decoder)

    together(work)
    try:
        wire = bytes(encoder)
    except BufferError as error:
        assert "open" in str(error)
    else:
        try:
            assert count(AttributeDecoder(wire, strict=True)) >= 0
        except DecodeError as error:
            assert "deeper" in str(error)
