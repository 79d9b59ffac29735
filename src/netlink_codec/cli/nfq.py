"""`nfq`: packets that a firewall rule queues: write them to a file."""

import argparse
import struct
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import BinaryIO

from .. import nfqueue
from .numbers import buffer_size, count, u16, u32

# pcap: magic for microseconds, version, time zone, accuracy, longest, LINKTYPE_RAW (IPv4 or IPv6).
PCAP = struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101)
RECORD = struct.Struct("=IIII")  # seconds, microseconds, length here, true length


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.description = "Look at packets that a firewall rule puts into a queue."
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    text = "accept all packets of a queue, and write them to a pcap file"
    dump = commands.add_parser(
        "dump",
        help=text,
        description=f"{text.capitalize()}. Say at the end, or when interrupted, how many there were, and were lost.",
    )
    dump.add_argument("queue", type=u16, metavar="QUEUE", help="its number")
    dump.add_argument("-w", dest="file", metavar="FILE", help="the pcap file; - is standard output; by default, none")
    dump.add_argument("-b", dest="bytes", type=count, metavar="BYTES", help="stop after so many bytes of packets")
    dump.add_argument("-c", dest="count", type=count, metavar="COUNT", help="stop after so many packets")
    dump.add_argument("-s", dest="snap", type=u32, default=65531, metavar="BYTES", help="write so many bytes of each")
    dump.add_argument(
        "--gso", action="store_true", help="take packets that are not cut yet: faster, and they are large"
    )
    dump.add_argument(
        "--fail-open", action="store_true", help="let packets pass that come faster than they are written"
    )
    dump.add_argument("--maxlen", type=u32, default=8192, metavar="COUNT", help="how many may wait (default: 8192)")
    dump.add_argument(
        "--rcvbuf", type=buffer_size, default=32 << 20, metavar="BYTES", help="receive buffer (default: 32 MiB)"
    )
    dump.add_argument("--netns", metavar="NAME", help="in this network namespace")


def run(args: argparse.Namespace) -> int:
    """The command. The status is 1 if packets were lost."""
    with (
        nfqueue.Queue(
            args.queue,
            copy_range=args.snap,
            maxlen=args.maxlen,
            fail_open=args.fail_open,
            gso=args.gso,
            rcvbuf=args.rcvbuf,
            notice=lambda what: None,
            netns=args.netns,
        ) as queue,
        _opened(args.file) as file,
    ):
        print(f"queue {args.queue}: listening", file=sys.stderr, flush=True)
        count, size, seconds, last = _copy(queue, file, args.bytes, args.count)
        # What came in the meantime, too: half of the numbers are behind each, and all that waits is among them.
        queue.accept_until((last + (1 << 30)) % (1 << 32))
        counted = nfqueue.counters(args.netns).get(args.queue)
    lost = queue.lost + (0 if counted is None else counted.queue_dropped)
    rate = f", {count / seconds:.0f} packets/s, {size * 8 / seconds / 1e6:.1f} Mbit/s" if seconds else ""
    print(f"queue {args.queue}: {count} packets, {size} bytes, {lost} lost{rate}", file=sys.stderr)
    return int(bool(lost))


def _opened(file: str | None) -> AbstractContextManager[BinaryIO | None]:
    if file is None:
        return nullcontext()
    return nullcontext(sys.stdout.buffer) if file == "-" else open(file, "wb")


def _copy(
    queue: nfqueue.Queue, file: BinaryIO | None, most_bytes: int | None, most: int | None
) -> tuple[int, int, float, int]:
    """Accept and write until there is enough, or an interrupt.

    Packets, bytes, seconds since the first, the number of the last.
    """
    count = size = number = 0
    first = last = 0.0
    if file is not None:
        file.write(PCAP)
    try:
        while (most is None or count < most) and (most_bytes is None or size < most_bytes):
            packets = queue.batch()
            last = time.monotonic()
            first = first or last
            now = time.time()
            for packet in packets:
                length = packet.length
                count += 1
                size += length
                if file is not None:
                    stamp = packet.timestamp or now
                    payload = packet.payload
                    # In one piece, so that an interrupt leaves no half of it.
                    file.write(RECORD.pack(int(stamp), int(stamp % 1 * 1e6), len(payload), length) + payload)
                if count == most or (most_bytes is not None and size >= most_bytes):
                    break
            number = packets[-1].id
            queue.accept_until(number)
        last = time.monotonic()
    except KeyboardInterrupt:
        last = time.monotonic()
    finally:
        if file is not None:
            file.flush()
    return count, size, last - first if first else 0.0, number
