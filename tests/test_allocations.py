"""What the codec allocates, counted block by block with hooks on Python's allocators."""

import sysconfig
from collections import deque
from pathlib import Path

import pytest

import alloc_counter
import netlink_codec as nl
import oracle
from alloc_counter import allocations
from netlink_codec import _core

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))

FEW, MANY = 10, 1000
MISSING = 3000


@pytest.fixture(scope="module", autouse=True)
def counter():
    try:
        alloc_counter.build()
    except alloc_counter.Unbuildable as reason:
        pytest.skip(f"allocations are counted by a C file: {reason}")


def attributes(count, payload=bytes([7, 0, 0, 0])):
    return oracle.padded(oracle.attribute_bytes(1 + number % 1000, payload) for number in range(count))


def messages(count):
    return oracle.padded(oracle.message_bytes(16, 2, bytes(16) + attributes(3), number) for number in range(count))


def decode(buffer):
    return nl.AttributeDecoder(buffer)


def each_further(loop, make) -> float:
    """Blocks for each item beyond the first few: making the iterator and its scratch is left out."""
    few, many = make(FEW), make(MANY)
    return (allocations(lambda: loop(many)) - allocations(lambda: loop(few))) / (MANY - FEW)


# Loops: nothing for each item ----------------------------------------------------------------------------------------


def untouched(iterator):
    for _item in iterator:
        pass


def read_number(iterator):
    for attribute in iterator:
        attribute.u32()


def read_header(iterator):
    for message in iterator:
        message.type  # noqa: B018


def keep_one(iterator):
    """The item before is still there when the next one is made: hence two scratch objects."""
    last = None
    for item in iterator:
        last = item
    return last


def hold_three(iterator):
    held = deque(maxlen=3)
    for item in iterator:
        held.append(item)


def hold_all(iterator):
    return list(iterator)


WALKS = {
    "attributes": lambda count: (nl.AttributeDecoder, attributes(count)),
    "attributes of a bytearray": lambda count: (nl.AttributeDecoder, bytearray(attributes(count))),
    "attributes of a message": lambda count: (
        nl.Message.attributes,
        nl.Message(16, 0, attributes(count)),
    ),
    "nested attributes": lambda count: (nl.Attribute.nested, nl.Attribute(1, attributes(count))),
    "messages": lambda count: (nl.iter_messages, messages(count)),
    "messages of a bytearray": lambda count: (nl.iter_messages, bytearray(messages(count))),
}


def walked(walk, loop) -> float:
    return each_further(lambda made: loop(made[0](made[1])), WALKS[walk])


@pytest.mark.parametrize("loop", [untouched, keep_one])
@pytest.mark.parametrize("walk", WALKS)
def test_a_loop_allocates_nothing_for_an_item(walk, loop):
    assert walked(walk, loop) == (1 if FREE_THREADED else 0)


@pytest.mark.parametrize("loop", [hold_three, hold_all])
@pytest.mark.parametrize("walk", WALKS)
def test_the_control_allocates_every_item(walk, loop):
    """So the hook does see these objects: only their reuse makes the loop free."""
    assert 1 <= walked(walk, loop) < 1.1


@pytest.mark.parametrize(("walk", "loop"), [("attributes", read_number), ("messages", read_header)])
def test_reading_a_small_number_allocates_nothing(walk, loop):
    assert walked(walk, loop) == (1 if FREE_THREADED else 0)


def test_a_whole_loop_takes_the_iterator_and_two_scratch_objects():
    buffer = attributes(MANY)
    taken = allocations(lambda: untouched(nl.AttributeDecoder(buffer)))
    assert taken == (1 + MANY if FREE_THREADED else 3)


def test_a_nested_loop_takes_a_decoder_and_scratch_for_each_message_not_each_attribute():
    def walk(buffer):
        for message in nl.iter_messages(buffer):
            for _attribute in message.attributes(16):
                pass

    taken = each_further(walk, messages)
    assert taken == (1 + 1 + 3 if FREE_THREADED else 3)


# Finding -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [(MISSING,), (1, MISSING), (MISSING, 1)])
def test_finding_nothing_allocates_nothing(path):
    inside = oracle.attribute_bytes(1, attributes(50))
    decoder = nl.AttributeDecoder(inside + attributes(MANY))
    first = path[0]
    assert decoder.find(*path) is None
    if len(path) == 1:
        assert allocations(lambda: decoder.find(first)) == 0
    else:
        second = path[1]
        assert allocations(lambda: decoder.find(first, second)) == 0


def test_finding_allocates_no_more_for_an_attribute_that_is_passed_over():
    near, far = nl.AttributeDecoder(attributes(FEW)), nl.AttributeDecoder(attributes(MANY))
    assert allocations(lambda: near.find(FEW)) == allocations(lambda: far.find(MANY)) <= 1


def test_making_a_decoder_does_not_look_at_the_buffer():
    broken = attributes(MANY)[:-3] + bytes(3)
    assert allocations(lambda: nl.AttributeDecoder(broken)) == 1
    message = nl.Message(16, 0, broken)
    assert allocations(message.attributes) == 1
    assert allocations(lambda: nl.iter_messages(b"broken")) == 1


# Lists: one block for each item, and the list ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unmarshal", "make"), [(nl.unmarshal_attributes, attributes), (nl.unmarshal_messages, messages)]
)
def test_unmarshalling_allocates_a_view_for_each_item(unmarshal, make):
    assert 1 <= each_further(unmarshal, make) < 1.1
    assert 1 <= each_further(lambda buffer: unmarshal(bytearray(buffer)), make) < 1.1


# Encoding ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 8, 64, 512])
def test_marshalling_messages_is_one_allocation(count):
    made = tuple(nl.Message(16, 0, b"x" * number) for number in range(count))
    assert allocations(lambda: nl.marshal_messages(made)) == 1


@pytest.mark.parametrize("count", [1, 8, 64, 512])
def test_marshalling_into_a_buffer_allocates_no_bytes(count):
    made = tuple(nl.Message(16, 0, bytes(200)) for _number in range(count))
    buffer = bytearray(nl.message_size(made))
    # The number that is returned, unless it is a small one.
    assert allocations(lambda: nl.marshal_into(made, buffer)) <= 1
    assert allocations(lambda: nl.message_size(made)) <= 1


@pytest.mark.parametrize("count", [1, 8, 64, 512])
def test_marshalling_attributes_is_one_allocation(count):
    made = tuple(nl.Attribute(number, b"x" * number) for number in range(count))
    assert allocations(lambda: nl.marshal_attributes(made)) == 1


def write(count):
    encoder = nl.AttributeEncoder()
    for _number in range(count):
        encoder.u32(1, 7)
        encoder.string(2, "text")
        encoder.flag(3)
        encoder.data(4, b"bytes")
    return encoder


def test_an_encoder_grows_by_doubling():
    """A thousand times the bytes: ten doublings more."""

    def count(times):
        writing, looping = allocations(lambda: write(times)), allocations(lambda: loop(times))
        return writing - looping

    def loop(times):
        for _number in range(times):
            pass

    assert 8 <= count(100_000) - count(100) <= 12


def test_an_encoder_that_is_used_again_allocates_nothing():
    encoder = write(100)

    def again():
        encoder.clear()
        encoder.u32(1, 7)
        encoder.u64be(2, 8)
        encoder.string(3, "text")
        encoder.flag(4)
        encoder.data(5, b"bytes")

    assert allocations(again) == 0


def test_a_nested_attribute_takes_its_context_object_alone():
    encoder = nl.AttributeEncoder()
    encoder.data(1, bytes(1000))

    def nest():
        encoder.clear()
        with encoder.nested(1):
            encoder.u8(2, 3)

    # The interpreter may bind __enter__ and __exit__.
    assert 1 <= allocations(nest) <= 3


# The hook itself -----------------------------------------------------------------------------------------------------


def test_the_hook_counts():
    assert allocations(lambda: None) == 0
    assert allocations(lambda: bytes(10)) == allocations(lambda: bytes(100_000)) == 1
    kept = []

    def keep():
        kept.append(bytes(10))

    def drop():
        bytes(10)

    # Once before: the list has room then.
    keep()
    assert alloc_counter.measure(keep) == (1, 1)
    drop()
    assert alloc_counter.measure(drop) == (1, 0)


def test_the_hook_passes_on_what_is_raised():
    with pytest.raises(ZeroDivisionError):
        alloc_counter.measure(lambda: 1 // 0)


def test_the_codec_has_no_allocator_that_the_hook_does_not_see():
    """It names none of libc's, only Python's."""
    image = Path(_core.__file__).read_bytes()
    assert b"\0PyMem_Realloc\0" in image
    for name in (b"malloc", b"calloc", b"realloc", b"posix_memalign", b"mmap"):
        assert b"\0%s\0" % name not in image
