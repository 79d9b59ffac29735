"""Bytes from hex text: as typed, as in C or Python source, or as xxd and hexdump -C print them."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from .capture import Datagram
from .errors import DecodeError

_XXD: Final = re.compile(rb"([0-9a-fA-F]{7,16}): +(.*)")
_HEXDUMP: Final = re.compile(rb"([0-9a-fA-F]{7,16})  ([0-9a-fA-F ]*)")
_END: Final = re.compile(rb"[0-9a-fA-F]{7,16}")
_ONE_DIGIT: Final = re.compile(rb"(?<![0-9a-fA-F])0[xX]([0-9a-fA-F])(?![0-9a-fA-F])")
_PREFIX: Final = re.compile(rb"(?<![0-9a-fA-F])0[xX]|\\[xX]")
_BETWEEN: Final = bytes.maketrans(b",:\t\v\f\r", b" " * 6)
_DIGITS: Final = b"0123456789abcdefABCDEF"
LONGEST_LINE: Final = 1 << 24
_LARGEST: Final = 1 << 26  # of a datagram; a * in a dump could stand for any number of bytes


def read_hex(lines: Iterable[bytes]) -> Iterator[Datagram]:
    """The datagrams of a text, between which there are blank lines.

    Of a dump, the offsets and the text on the right are dropped. DecodeError where
    something else stands; what came before has been delivered.
    """
    datagram = _Datagram()
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST_LINE:
            raise DecodeError(f"line {number}: a line has no more than {LONGEST_LINE} bytes", len(datagram.data))
        line = line.strip()
        if not line:
            if datagram.data:
                yield Datagram(bytes(datagram.data))
            datagram = _Datagram()
            continue
        try:
            datagram.add(line)
        except ValueError as error:
            if datagram.data:
                yield Datagram(bytes(datagram.data), note=f"cut at line {number}: {error}")
            raise DecodeError(f"line {number}: {error}", len(datagram.data)) from None
    if datagram.data:
        yield Datagram(bytes(datagram.data))


class _Datagram:
    """One that is being read, and where in a dump it is."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.row = b""  # the last of a dump
        self.end = 0  # the offset after it
        self.repeated = False

    def add(self, line: bytes) -> None:
        hexdump = _HEXDUMP.fullmatch(line.partition(b"|")[0]) if line.endswith(b"|") else None
        dump = hexdump or _XXD.fullmatch(line)
        if dump:
            offset, row = int(dump[1], 16), dump[2] if hexdump else dump[2].partition(b"  ")[0]
            self.repeat(offset)
            self.row = _bytes(row)
            self.end = offset + len(self.row)
            self.append(self.row)
        elif line == b"*" and self.row:
            self.repeated = True
        elif self.row and _END.fullmatch(line):
            self.repeat(int(line, 16))
            self.end = int(line, 16)
        else:
            line = line.translate(_BETWEEN)
            if b"x" in line or b"X" in line:
                line = _PREFIX.sub(b" ", _ONE_DIGIT.sub(rb"0\1", line))
            self.append(_bytes(line))

    def repeat(self, offset: int) -> None:
        """After a * the last row comes again until this offset."""
        if self.repeated:
            times, rest = divmod(offset - self.end, len(self.row))
            if times < 0 or rest or times * len(self.row) > _LARGEST:
                raise ValueError(f"a * from offset {self.end} to {offset} cannot be")
            self.append(self.row * times)
            self.repeated = False

    def append(self, data: bytes) -> None:
        if len(self.data) + len(data) > _LARGEST:
            raise ValueError(f"a datagram has no more than {_LARGEST} bytes")
        self.data += data


def _bytes(text: bytes) -> bytes:
    try:
        return bytes.fromhex(text.decode("ascii"))
    except ValueError:
        pass
    token = next(token for token in text.split() if len(token) % 2 or token.translate(None, _DIGITS))
    wrong = "is not hex" if token.translate(None, _DIGITS) else "has an odd number of digits"
    raise ValueError(f"{token[:40].decode('latin-1')!a} {wrong}")
