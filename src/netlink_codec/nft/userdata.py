"""What the `nft` tool keeps beside things for itself: a type and a length of one byte each, and a value, repeated.

Nothing is thrown away: what is not asked for stays in the record's `userdata`.
"""

RULE_COMMENT = 0
COMMENT = 0
"""Of tables, chains, objects and elements."""
SET_KEYBYTEORDER, SET_DATABYTEORDER, SET_MERGE_ELEMENTS, SET_KEY_TYPEOF, SET_DATA_TYPEOF, SET_EXPR = range(6)
SET_DATA_INTERVAL, SET_COMMENT = 6, 7
ELEM_COMMENT, ELEM_FLAGS = range(2)
_MOST_BYTES = 256
"""NFT_USERDATA_MAXLEN"""
HOST_ORDER, BIG_ENDIAN = 1, 2
"""Values of SET_KEYBYTEORDER."""


def read(data: bytes | None) -> dict[int, bytes]:
    """Values by type, as far as they are whole."""
    found: dict[int, bytes] = {}
    position = 0
    while data is not None and position + 2 <= len(data):
        length = data[position + 1]
        if position + 2 + length > len(data):
            break
        found.setdefault(data[position], data[position + 2 : position + 2 + length])
        position += 2 + length
    return found


def write(values: dict[int, bytes]) -> bytes | None:
    """None if there is nothing to write."""
    if not values:
        return None
    size = sum(2 + len(value) for value in values.values())
    if size > _MOST_BYTES:
        longest = max(map(len, values.values())) - 1
        raise ValueError(f"a comment of {longest} bytes is {size - _MOST_BYTES} too long")
    return b"".join(bytes((kind, len(value))) + value for kind, value in values.items())


def text(value: str) -> bytes:
    """A comment."""
    if not isinstance(value, str):
        raise TypeError(f"a comment is a str, not {value!r}")
    if "\0" in value:
        raise ValueError(f"the comment {value!r} has a NUL inside")
    return value.encode("utf-8", "surrogateescape") + b"\0"


def comment(data: bytes | None, kind: int = COMMENT) -> str | None:
    value = read(data).get(kind)
    return None if value is None else value.rstrip(b"\0").decode("utf-8", "surrogateescape")
