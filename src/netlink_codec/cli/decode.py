"""`decode`: print netlink bytes readably."""

import argparse
import sys
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, nullcontext
from errno import EBADF, EFBIG
from io import BytesIO
from itertools import chain
from typing import BinaryIO

from ..capture import MAGICS, Datagram, read_capture
from ..constants import NETLINK_ROUTE, NLMSG_HDRLEN
from ..debug import datagram_lines, line
from ..errors import DecodeError
from ..hextext import LONGEST_LINE, read_hex
from ..names import PROTOCOLS

_TEXT = bytes(range(0x20, 0x7F)) + b"\t\n\v\f\r"
_BOM = b"\xef\xbb\xbf"
_SNIFFED = 512
_LARGEST_RAW = 1 << 30
_BLOCK = 1 << 20

_DETAILS = """\
FILE is what recv() returned, hex text of that (plain, 0x14, \\x14, or printed by
xxd or hexdump -C; blank lines between datagrams), or a pcap or pcapng file
captured on a nlmon interface; which of these is seen from its first bytes.

On the left are offsets from the start of the datagram. Each line below a
message is its family's header or an attribute: [type|flags], the bytes, and
what they are as an integer and as text. Integers are in host order, or in
network order in NETLINK_NETFILTER and where an attribute's flag says so.
"Nested by guess" is what carries no flag but looks like attributes.

The status is 0 if all was good; 1 if something was not netlink: what is wrong
stands at its offset, after what was good; 2 if FILE could not be read.

examples:
  python -m netlink_codec decode capture.pcapng
  python -m netlink_codec decode --protocol netfilter rules.bin
  xxd reply.bin | python -m netlink_codec decode -
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.description = "Print the netlink messages in a file: headers, attributes, errors."
    parser.epilog = _DETAILS
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("file", metavar="FILE", help="the file; - is standard input")
    parser.add_argument(
        "--protocol",
        type=_protocol,
        default=NETLINK_ROUTE,
        metavar="NAME|NUMBER",
        help="the netlink protocol of raw bytes and hex text (default: route; a capture knows its own): "
        + ", ".join(name.removeprefix("NETLINK_").lower() for name in PROTOCOLS.values()),
    )
    parser.add_argument(
        "--format",
        choices=("auto", "raw", "hex", "pcap"),
        default="auto",
        help="what the file holds, if it cannot be seen (default: auto)",
    )
    parser.add_argument(
        "--keep-going",
        action="store_true",
        help="go on with the next message after broken attributes, and with the next datagram after a broken message",
    )


def _protocol(text: str) -> int:
    """A protocol's number, by name or number."""
    name = "NETLINK_" + text.upper().replace("-", "_").removeprefix("NETLINK_")
    for number, known in PROTOCOLS.items():
        if name == known:
            return number
    try:
        number = int(text, 0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!a} is not a protocol") from None
    if not 0 <= number <= 0xFFFF:
        raise argparse.ArgumentTypeError(f"{number} is not a protocol, which is 0 to 65535")
    return number


def run(args: argparse.Namespace) -> int:
    """The command."""
    lines = _lines(args)
    while True:
        # Around reading only: that the reader of the output has gone is for the caller to handle.
        try:
            text = next(lines)
        except StopIteration as end:
            status: int = end.value
            return status
        except (OSError, MemoryError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it takes more memory than there is"
            print(f"python -m netlink_codec decode: {args.file!a}: {reason}", file=sys.stderr)
            return 2
        print(text)


def _lines(args: argparse.Namespace) -> Generator[str, None, int]:
    """All that is to be printed; returns the status."""
    status = 0
    try:
        for number, datagram in _numbered(_datagrams(args.file, args.format)):
            if number > 1:
                yield ""
            if number or datagram.note:
                yield _announcement(number or 1, datagram)
            protocol = args.protocol if datagram.protocol is None else datagram.protocol
            error = yield from datagram_lines(datagram.data, protocol, keep_going=args.keep_going)
            if error:
                status = 1
                if not args.keep_going:
                    break
    except DecodeError as error:
        yield line(error.offset, 0, f"error: {error}")
        status = 1
    return status


def _announcement(number: int, datagram: Datagram) -> str:
    parts = [f"datagram {number}", f"{len(datagram.data)} bytes"]
    if datagram.protocol is not None:
        parts.append(PROTOCOLS.get(datagram.protocol, f"protocol {datagram.protocol}"))
    return ", ".join([*parts, *([datagram.note] if datagram.note else [])]) + ":"


def _numbered(datagrams: Iterator[Datagram]) -> Iterator[tuple[int, Datagram]]:
    """Numbers from 1; 0 for one that is alone and of which there is nothing to tell."""
    first = None
    number = 0
    try:
        for datagram in datagrams:
            number += 1
            if number == 1 and datagram.protocol is None:
                first = datagram
                continue
            if first:
                yield 1, first
                first = None
            yield number, datagram
    except DecodeError:
        if first:
            yield 0, first
        raise
    if first:
        yield 0, first


# --- reading ----------------------------------------------------------------------------------------------------------


def _datagrams(file: str, format: str) -> Iterator[Datagram]:
    with _opened(file) as stream:
        magic = stream.read(4)
        if format == "pcap" or (format == "auto" and magic in MAGICS):
            yield from read_capture(stream, magic)
            return
        # A capture may come from a pipe as it is made; of the rest more is looked at.
        head = magic + stream.read(_SNIFFED)
        if format == "hex" or (format == "auto" and head and not head.removeprefix(_BOM).translate(None, _TEXT)):
            head += stream.readline(LONGEST_LINE + 1)
            rest = iter(lambda: stream.readline(LONGEST_LINE + 1), b"")
            yield from read_hex(chain(BytesIO(head.removeprefix(_BOM)), rest))
        else:
            yield Datagram(_whole(stream, head))


def _opened(file: str) -> AbstractContextManager[BinaryIO]:
    if file != "-":
        return open(file, "rb")
    if sys.stdin is None:
        raise OSError(EBADF, "standard input is closed")
    return nullcontext(sys.stdin.buffer)


def _whole(stream: BinaryIO, head: bytes) -> bytes:
    """All of a raw file: nothing in it but its messages says where a datagram ends."""
    if int.from_bytes(head[:4], sys.byteorder) < NLMSG_HDRLEN:
        return head  # it cannot be read further, and /dev/zero has no end
    parts, size = [head], len(head)
    while part := stream.read(_BLOCK):
        parts.append(part)
        size += len(part)
        if size > _LARGEST_RAW:
            raise OSError(EFBIG, f"more than {_LARGEST_RAW} raw bytes")
    return b"".join(parts)
