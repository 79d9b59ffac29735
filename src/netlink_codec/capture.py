"""Netlink datagrams from pcap and pcapng files, as a nlmon interface gives them.

    pcap    | magic u32 | version | zone | figures | snaplen u32 | link type u32 | records
    record  | seconds u32 | micro- or nanoseconds u32 | captured u32 | original u32 | packet
    pcapng  | blocks: type u32 | total length u32 | body, padded to 4 | total length u32
    packet  | packet type u16 | ARPHRD_NETLINK u16 | address length u16 | 8 bytes | protocol u16 | datagram

The files are in the order of the machine that wrote them and say which; a packet's own
header (LINKTYPE_NETLINK) is big-endian. The datagram is as the kernel made it.
"""

import struct
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

from .errors import DecodeError

LINKTYPE_NETLINK: Final = 253
ARPHRD_NETLINK: Final = 824

# Magic -> byte order, digits of a second's fraction.
_PCAP: Final = {
    b"\xd4\xc3\xb2\xa1": ("<", 6),
    b"\xa1\xb2\xc3\xd4": (">", 6),
    b"\x4d\x3c\xb2\xa1": ("<", 9),
    b"\xa1\xb2\x3c\x4d": (">", 9),
}
_SECTION: Final = b"\x0a\x0d\x0d\x0a"
_SECTION_ORDERS: Final = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
MAGICS: Final = frozenset((*_PCAP, _SECTION))

_INTERFACE, _SIMPLE_PACKET, _ENHANCED_PACKET = 1, 3, 6
_OPTION_RESOLUTION, _OPTION_TIME_OFFSET = 9, 14
_DIRECTIONS: Final = {6: "to user space", 7: "to the kernel"}  # PACKET_USER, PACKET_KERNEL
_LARGEST: Final = 1 << 27  # of a record or block; what claims more is not one


class Datagram(NamedTuple):
    """Bytes as one recv() would return them."""

    data: bytes
    protocol: int | None = None  # None where the file does not say
    note: str = ""


class _Interface(NamedTuple):
    netlink: bool
    snaplen: int
    resolution: int
    offset: int


def read_capture(stream: BinaryIO, magic: bytes) -> Iterator[Datagram]:
    """The datagrams of a file whose first 4 bytes, `magic`, were read already.

    DecodeError, whose offset is that in the file, where it is broken; what came
    before has been delivered.
    """
    if magic == _SECTION:
        return _pcapng(stream)
    if magic in _PCAP:
        return _pcap(stream, *_PCAP[magic])
    raise DecodeError(f"the first 4 bytes, {magic.hex(' ') or 'of which there are none'}, are not a capture's", 0)


def _pcap(stream: BinaryIO, order: str, digits: int) -> Iterator[Datagram]:
    header = stream.read(20)
    if len(header) < 20:
        raise _ended("file header", 0, 24, 4 + len(header))
    (link_type,) = struct.unpack_from(order + "I", header, 16)
    if link_type & 0xFFFF != LINKTYPE_NETLINK:
        raise DecodeError(f"link type {link_type & 0xFFFF} at offset 20 is not netlink, which is 253", 20)
    at = 24
    while record := stream.read(16):
        if len(record) < 16:
            raise _ended("record header", at, 16, len(record))
        seconds, fraction, size, original = struct.unpack(order + "IIII", record)
        if size > _LARGEST:
            raise DecodeError(f"a record of {size} bytes at offset {at} cannot be", at)
        packet = stream.read(size)
        yield _datagram(packet, at + 16, size, original, f"time {seconds}.{fraction:0{digits}d}")
        if len(packet) < size:
            raise _ended("packet", at + 16, size, len(packet))
        at += 16 + size


def _pcapng(stream: BinaryIO) -> Iterator[Datagram]:
    interfaces: list[_Interface] = []
    found = passed = False
    for kind, order, at, body, size in _blocks(stream):
        if kind == _SECTION:
            interfaces = []
            continue
        (number,) = struct.unpack(order + "I", kind)
        if number == _INTERFACE:
            interfaces.append(_interface(order, at, body))
            continue
        packet = _packet(number, order, at, body, size, interfaces)
        if packet:
            found = True
            yield packet
        elif number in (_SIMPLE_PACKET, _ENHANCED_PACKET):
            passed = True
    if passed and not found:
        raise DecodeError("no packet of this capture is netlink, which is link type 253", 0)


def _blocks(stream: BinaryIO) -> Iterator[tuple[bytes, str, int, bytes, int]]:
    """(type, byte order, offset, body, the body's size) of each block; the last body may be cut short."""
    order, at = "<", 0
    head = _SECTION + stream.read(4)
    while head:
        if len(head) < 8:
            raise _ended("block header", at, 8, len(head))
        kind, start = head[:4], b""
        if kind == _SECTION:
            start = stream.read(4)
            if start not in _SECTION_ORDERS:
                raise DecodeError(f"a section at offset {at} does not tell its byte order, but {start.hex(' ')}", at)
            order = _SECTION_ORDERS[start]
        (total,) = struct.unpack(order + "I", head[4:])
        if not 12 + len(start) <= total <= _LARGEST or total % 4:
            raise DecodeError(f"a block of {total} bytes at offset {at} cannot be", at)
        body = start + stream.read(total - 8 - len(start))
        yield kind, order, at, body[: total - 12], total - 12
        if len(body) < total - 8:
            raise _ended("block", at, total, 8 + len(body))
        if body[-4:] != head[4:]:
            raise DecodeError(f"a block of {total} bytes at offset {at} ends in another length", at)
        at += total
        head = stream.read(8)


def _interface(order: str, at: int, body: bytes) -> _Interface:
    if len(body) < 8:
        raise DecodeError(f"{len(body)} bytes of an interface at offset {at} are less than 8", at)
    link_type, snaplen = struct.unpack_from(order + "HxxI", body)
    resolution, offset, option = 10**6, 0, 8
    while option + 4 <= len(body):
        code, size = struct.unpack_from(order + "HH", body, option)
        value = body[option + 4 : option + 4 + size]
        if code == _OPTION_RESOLUTION and size == 1 == len(value):
            resolution = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        elif code == _OPTION_TIME_OFFSET and size == 8 == len(value):
            (offset,) = struct.unpack(order + "q", value)
        option += 4 + (size + 3) // 4 * 4
    return _Interface(link_type == LINKTYPE_NETLINK, snaplen, resolution, offset)


def _packet(number: int, order: str, at: int, body: bytes, size: int, interfaces: list[_Interface]) -> Datagram | None:
    """The datagram in a block, unless it is another block or another interface's."""
    if number == _ENHANCED_PACKET:
        fields = 20
    elif number == _SIMPLE_PACKET:
        fields = 4
    else:
        return None
    if size < fields:
        raise DecodeError(f"{size} bytes of a packet block at offset {at} are less than {fields}", at)
    if len(body) < fields:
        return None  # its end, which is the file's, is reported next
    index, high, low = 0, 0, 0
    if number == _ENHANCED_PACKET:
        index, high, low, captured, original = struct.unpack_from(order + "IIIII", body)
    else:
        (captured,) = (original,) = struct.unpack_from(order + "I", body)
    if index >= len(interfaces):
        raise DecodeError(f"interface {index} of a packet at offset {at} is not one of {len(interfaces)}", at)
    interface = interfaces[index]
    if number == _SIMPLE_PACKET and interface.snaplen:
        captured = min(original, interface.snaplen)
    if captured > size - fields:
        raise DecodeError(f"a packet of {captured} bytes at offset {at} is more than its block, {size - fields}", at)
    if not interface.netlink:
        return None
    time = ""
    if number == _ENHANCED_PACKET:
        seconds, rest = divmod(high << 32 | low, interface.resolution)
        time = f"time {seconds + interface.offset}.{rest * 10**9 // interface.resolution:09d}"
    return _datagram(body[fields : fields + captured], at + 8 + fields, captured, original, time)


def _datagram(packet: bytes, at: int, captured: int, original: int, time: str) -> Datagram:
    if len(packet) < 16:
        raise DecodeError(
            f"{len(packet)} bytes of a packet at offset {at} are less than its header, which takes 16", at
        )
    kind, hardware, protocol = struct.unpack_from(">HH10xH", packet)
    if hardware != ARPHRD_NETLINK:
        raise DecodeError(f"ARPHRD {hardware} of a packet at offset {at} is not netlink, which is 824", at)
    notes = [_DIRECTIONS.get(kind), time]
    if len(packet) < captured:
        notes.append(f"cut: the file ends after {len(packet) - 16} of {captured - 16} bytes")
    elif captured < original:
        notes.append(f"cut: {captured - 16} of {original - 16} bytes were captured")
    return Datagram(packet[16:], protocol, ", ".join(note for note in notes if note))


def _ended(what: str, at: int, size: int, there: int) -> DecodeError:
    return DecodeError(f"the {what} at offset {at} takes {size} bytes, and the file ends after {there}", at)
