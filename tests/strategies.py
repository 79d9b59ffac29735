"""Hypothesis strategies: wire bytes, right and wrong, and calls of an encoder."""

from hypothesis import strategies as st

import oracle
from support import EDITS, FAMILY_HEADER, edited, recorded_messages, stream

FLAGS = [0, oracle.NLA_F_NESTED, oracle.NLA_F_NET_BYTEORDER, oracle.NLA_F_NESTED | oracle.NLA_F_NET_BYTEORDER]

orders = st.sampled_from(list(oracle.PREFIX))
offsets = st.one_of(st.just(0), st.integers(0, 40))
types = st.one_of(st.builds(int.__or__, st.integers(0, 6), st.sampled_from(FLAGS)), st.integers(0, 0xFFFF))
edits = st.lists(st.tuples(st.sampled_from(EDITS), st.integers(0, 5000), st.integers(0, 0xFFFF)), max_size=3)


def tree_bytes(tree) -> bytes:
    """A payload, or the attributes (type, tree) inside."""
    return tree if isinstance(tree, bytes) else stream(*((type, tree_bytes(inner)) for type, inner in tree))


trees = st.recursive(
    st.binary(max_size=17), lambda inner: st.lists(st.tuples(types, inner), max_size=4), max_leaves=12
).map(lambda tree: tree if isinstance(tree, list) else [(1, tree)])

message_parts = st.tuples(
    st.integers(0, 0xFFFF),
    st.integers(0, 0xFFFF),
    st.one_of(st.binary(max_size=9), trees.map(tree_bytes)),
    st.integers(0, 0xFFFFFFFF),
    st.integers(0, 0xFFFFFFFF),
)
message_streams = st.lists(message_parts.map(lambda parts: oracle.message_bytes(*parts)), max_size=4).map(oracle.padded)

# (bytes of the family's header, message): some of each recording.
RECORDED = [
    (header, message)
    for name, header in FAMILY_HEADER.items()
    for message in [*recorded_messages(name)[:2], *recorded_messages(name)[-2:]]
    if len(message) < 5000
]
recorded = st.sampled_from(RECORDED)

message_buffers = st.one_of(
    st.binary(max_size=64),
    st.builds(edited, message_streams, edits),
    st.builds(edited, st.lists(recorded.map(lambda pair: pair[1]), max_size=3).map(oracle.padded), edits),
)
attribute_buffers = st.one_of(
    st.binary(max_size=40),
    st.builds(edited, trees.map(tree_bytes), edits),
    st.builds(edited, recorded.map(lambda pair: pair[1][16 + pair[0] :]), edits),
)

numbers = st.one_of(
    st.integers(-(2**65), 2**65),
    st.builds(lambda bits, by: (1 << bits) + by, st.sampled_from([7, 8, 15, 16, 31, 32, 63, 64]), st.integers(-1, 1)),
    st.builds(lambda bits, by: -(1 << bits) + by, st.sampled_from([7, 15, 31, 63]), st.integers(-1, 1)),
    st.integers(0, 127),
)
texts = st.text(st.one_of(st.characters(), st.characters(categories=["Cs"]), st.just("\0")), max_size=9)
# The last of each is more than a payload holds.
long_payloads = st.sampled_from([40000, 65524, 65527, 65528, 65531, 65532]).map(bytes)
impossible_types = st.sampled_from([-1, 0x10000, 2**64])
call_types = st.one_of(types, types, types, impossible_types)
single_calls = st.one_of(
    st.tuples(st.sampled_from(list(oracle.INTEGER_METHOD)), call_types, numbers),
    st.tuples(st.just("string"), call_types, texts),
    st.tuples(st.just("data"), call_types, st.binary(max_size=17)),
    st.tuples(st.just("data"), call_types, long_payloads),
    st.tuples(st.just("flag"), call_types, st.booleans()),
)
calls = st.lists(
    st.recursive(
        single_calls,
        lambda inner: st.tuples(st.just("nested"), call_types, st.lists(inner, max_size=4)),
        max_leaves=8,
    ),
    max_size=6,
)
