"""What is measured: each workload as the codec does it, as C does it (its floor), and as plain struct code does it."""

from collections.abc import Callable
from dataclasses import dataclass
from struct import pack

import netlink_codec as nl
from benchmarks import TESTS, plain
from benchmarks.floor import Floor

ATTRIBUTES = (0, 1, 8, 64, 512)  # n attributes of n bytes
MESSAGES = (1, 8, 64, 512)  # of 65,536 bytes
PAYLOAD = 65536
# Recorded dumps and the bytes of the family's own header.
DUMPS = {"links_200": 16, "addrs_1000": 8, "routes_10k": 12, "nft_512": 4, "nft_real_some": 4}


@dataclass(frozen=True)
class Call:
    """A function, what to give it, and what must come of it (as `digest` sees it)."""

    function: Callable[..., object]
    arguments: tuple[object, ...]
    expected: object
    digest: Callable[..., object] = lambda result: result

    def check(self) -> None:
        result = self.digest(self.function(*self.arguments))
        # Not a bare assert: pytest would print 32 MiB of it.
        if result != self.expected:
            raise AssertionError(f"{self.function.__name__}: a wrong result")


@dataclass(frozen=True)
class Work:
    name: str
    items: int
    codec: Call
    plain: Call
    floor: Floor
    floor_expected: int | bytes

    def check(self) -> None:
        self.codec.check()
        self.plain.check()
        if self.floor.result() != self.floor_expected:
            raise AssertionError(f"{self.name}: the floor did other work")

    def __str__(self) -> str:
        return self.name


def _sum(pairs: list[tuple[int, bytes]]) -> int:
    """As floor.c sums up a walk."""
    return sum(kind + 4 + len(payload) for kind, payload in pairs)


def _pairs(attributes: list[nl.Attribute]) -> list[tuple[int, bytes]]:
    return [(attribute.type, attribute.data) for attribute in attributes]


# Messages -------------------------------------------------------------------------------------------------------------


def _message_payloads(count: int) -> list[bytes]:
    return [bytes([number & 0xFF]) * PAYLOAD for number in range(count)]


def marshal_messages(count: int) -> Work:
    payloads = _message_payloads(count)
    messages = tuple(nl.Message(1, nl.NLM_F_REQUEST, payload) for payload in payloads)
    wire = b"".join(pack("=IHHII", 16 + PAYLOAD, 1, 1, 0, 0) + payload for payload in payloads)
    return Work(
        f"marshal_messages {count} x 64 KiB",
        count,
        Call(nl.marshal_messages, (messages,), wire),
        Call(plain.marshal_messages, (payloads,), wire),
        Floor("messages_fresh", payloads=payloads, out=len(wire)),
        wire,
    )


def marshal_into(count: int) -> Work:
    payloads = _message_payloads(count)
    messages = tuple(nl.Message(1, nl.NLM_F_REQUEST, payload) for payload in payloads)
    wire = b"".join(pack("=IHHII", 16 + PAYLOAD, 1, 1, 0, 0) + payload for payload in payloads)
    buffer, other = bytearray(len(wire)), bytearray(len(wire))
    return Work(
        f"marshal_into {count} x 64 KiB",
        count,
        Call(nl.marshal_into, (messages, buffer), wire, lambda size: bytes(buffer[:size])),
        Call(plain.marshal_into, (payloads, other), wire, lambda size: bytes(other[:size])),
        Floor("messages_reused", payloads=payloads, out=len(wire)),
        wire,
    )


# Attributes -----------------------------------------------------------------------------------------------------------


def _attribute_pairs(count: int) -> list[tuple[int, bytes]]:
    return [(kind, bytes(count)) for kind in range(count)]


def marshal_attributes(count: int, libmnl: bool = False) -> Work:
    """libmnl writes them after the header of a message."""
    pairs = _attribute_pairs(count)
    wire = plain.marshal_attributes(pairs)
    below = pack("=IHHII", 16 + len(wire), 0, 0, 0, 0) + wire if libmnl else wire
    return Work(
        f"marshal_attributes {count} x {count} B",
        count,
        Call(nl.marshal_attributes, (tuple(nl.Attribute(*pair) for pair in pairs),), wire),
        Call(plain.marshal_attributes, (pairs,), wire),
        Floor("encode_attributes", payloads=[payload for _kind, payload in pairs], out=len(below) or 1, libmnl=libmnl),
        below,
    )


def unmarshal_attributes(count: int, libmnl: bool = False) -> Work:
    pairs = _attribute_pairs(count)
    wire = plain.marshal_attributes(pairs)
    return Work(
        f"unmarshal_attributes {count} x {count} B",
        count,
        Call(nl.unmarshal_attributes, (wire,), pairs, _pairs),
        Call(plain.unmarshal_attributes, (wire,), pairs),
        Floor("decode_attributes", wire=wire, libmnl=libmnl),
        _sum(pairs),
    )


def _walk(buffer: bytes) -> nl.Attribute | None:
    _attribute = None
    for _attribute in nl.AttributeDecoder(buffer):
        pass
    return _attribute


def walk_attributes(count: int) -> Work:
    pairs = _attribute_pairs(count)
    wire = plain.marshal_attributes(pairs)
    return Work(
        f"walk {count} attributes",
        count,
        Call(_walk, (wire,), pairs[-1:], lambda last: _pairs([last] if last else [])),
        Call(lambda buffer: plain.exhaust(plain.walk_attributes(buffer)), (wire,), None),
        Floor("walk_attributes", wire=wire),
        _sum(pairs),
    )


def find(count: int) -> Work:
    """The last of them."""
    wire = plain.write_u32(range(count))
    payload = pack("=I", count - 1)
    return Work(
        f"find the last of {count}",
        count,
        Call(nl.AttributeDecoder(wire).find, (count - 1,), payload, lambda found: found.data),
        Call(plain.find, (wire, count - 1), payload),
        Floor("find", wire=wire, header=count - 1),
        8,
    )


def _read_u32(buffer: bytes) -> int:
    value = 0
    for attribute in nl.AttributeDecoder(buffer):
        value = attribute.u32()
    return value


def read_u32(count: int, factor: int = 65537) -> Work:
    """With this factor most values are integers that Python has to make."""
    values = [kind * factor for kind in range(count)]
    wire = plain.write_u32(values)
    return Work(
        f"read {count} u32",
        count,
        Call(_read_u32, (wire,), values[-1]),
        Call(plain.read_u32, (wire,), values[-1]),
        Floor("decode_u32", wire=wire),
        sum(values),
    )


def _write_u32(values: list[int]) -> nl.AttributeEncoder:
    encoder = nl.AttributeEncoder()
    for kind, value in enumerate(values):
        encoder.u32(kind, value)
    return encoder


def write_u32(count: int) -> Work:
    values = [kind * 65537 for kind in range(count)]
    wire = b"".join(pack("=HHI", 8, kind, value) for kind, value in enumerate(values))
    return Work(
        f"write {count} u32",
        count,
        Call(_write_u32, (values,), wire, bytes),
        Call(plain.write_u32, (values,), wire),
        Floor("encode_u32", payloads=[pack("=I", value) for value in values], out=len(wire)),
        wire,
    )


# Recorded dumps -------------------------------------------------------------------------------------------------------


def _walk_messages(buffer: bytes) -> nl.Message | None:
    _message = None
    for _message in nl.iter_messages(buffer):
        pass
    return _message


def dump_messages(name: str) -> Work:
    wire = (TESTS / "recordings" / f"{name}.bin").read_bytes()
    walked = list(plain.walk_messages(wire))
    kind, begin, end = walked[-1]
    return Work(
        f"{name}: messages",
        len(walked),
        Call(_walk_messages, (wire,), (kind, wire[begin:end]), lambda last: (last.type, last.data)),
        Call(lambda buffer: plain.exhaust(plain.walk_messages(buffer)), (wire,), None),
        Floor("walk_messages", wire=wire),
        sum(kind + 16 + end - begin for kind, begin, end in walked),
    )


def _walk_dump(buffer: bytes, header: int) -> int:
    count = 0
    for message in nl.iter_messages(buffer):
        if message.type != nl.NLMSG_DONE:
            for _attribute in message.attributes(header):
                count += 1
    return count


def dump_attributes(name: str) -> Work:
    wire, header = (TESTS / "recordings" / f"{name}.bin").read_bytes(), DUMPS[name]
    walked = [
        (kind, end - begin + 4)
        for message, start, stop in plain.walk_messages(wire)
        if message != nl.NLMSG_DONE
        for kind, begin, end in plain.walk_attributes(wire, start + header, stop)
    ]
    return Work(
        f"{name}: messages and attributes",
        len(walked),
        Call(_walk_dump, (wire, header), len(walked)),
        Call(plain.walk_dump, (wire, header), len(walked)),
        Floor("walk_dump", wire=wire, header=header),
        sum(kind + length for kind, length in walked),
    )
