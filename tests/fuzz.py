"""Compare codec and oracle over mutated dumps, random bytes and random encoder calls, for as long as you like.

    python tests/fuzz.py --seconds 3600 --seed 1

Input number N of a seed is always the same: `--seed S --first N --count 1` repeats the one that a failure names.
"""

import argparse
import faulthandler
import random
import sys
import time

import oracle
from compare import compare_attributes, compare_calls, compare_messages
from support import EDITS, FAMILY_HEADER, edited, recorded_messages, recording, stream

FLAGS = [0, 0, 0, oracle.NLA_F_NESTED, oracle.NLA_F_NET_BYTEORDER, oracle.NLA_F_NESTED | oracle.NLA_F_NET_BYTEORDER]
WIDTHS = [7, 8, 15, 16, 31, 32, 63, 64]

MESSAGES = [(header, m) for name, header in FAMILY_HEADER.items() for m in recorded_messages(name) if len(m) < 5000]
DATAGRAMS = [datagram for name in FAMILY_HEADER for datagram in recording(name) if len(datagram) < 4500]


def random_edits(rng: random.Random) -> list:
    return [
        (rng.choice(EDITS), rng.randrange(5000), rng.choice([rng.randrange(9), rng.randrange(65536)]))
        for _ in range(rng.choice([0, 1, 1, 1, 2, 3, 8]))
    ]


def random_type(rng: random.Random) -> int:
    return rng.choice([rng.randrange(8), rng.randrange(0x4000)]) | rng.choice(FLAGS)


def random_attributes(rng: random.Random, depth: int = 0) -> bytes:
    def payload():
        if rng.random() < 0.3 and depth < 34:
            return random_attributes(rng, depth + 1)
        return rng.randbytes(rng.choice([0, 1, 2, 4, 8, rng.randrange(40)]))

    return stream(*((random_type(rng), payload()) for _ in range(rng.choice([0, 1, 1, 2, 3]))))


def deep_attributes(rng: random.Random) -> bytes:
    wire = rng.randbytes(rng.randrange(9))
    for _ in range(rng.randrange(30, 36)):
        wire = stream((rng.choice([1, random_type(rng)]), wire))
    return wire


def random_number(rng: random.Random) -> int:
    number = rng.choice([rng.randrange(256), rng.getrandbits(66), (1 << rng.choice(WIDTHS)) + rng.randrange(-1, 2)])
    return rng.choice([number, -number])


def random_text(rng: random.Random) -> str:
    letters = [chr(rng.randrange(256)), chr(rng.randrange(0xDC00, 0xDD00)), chr(rng.randrange(0x110000)), "x"]
    return "".join(rng.choices(letters, k=rng.randrange(9)))


def random_call(rng: random.Random, depth: int = 0) -> tuple:
    type = rng.choice([-1, 0x10000]) if rng.random() < 0.01 else random_type(rng)
    kind = rng.randrange(10)
    if kind < 2 and depth < 34:
        return ("nested", type, [random_call(rng, depth + 1) for _ in range(rng.randrange(4))])
    if kind == 3:
        return ("string", type, random_text(rng))
    if kind == 4:
        return ("data", type, rng.randbytes(rng.randrange(40)))
    if kind == 5:
        return ("data", type, bytes(rng.choice([100, 40000, 65524, 65528, 65531, 65532])))
    if kind == 6:
        return ("flag", type, rng.random() < 0.5)
    return (rng.choice(list(oracle.INTEGER_METHOD)), type, random_number(rng))


def deep_call(rng: random.Random) -> tuple:
    call = random_call(rng)
    for _ in range(rng.randrange(30, 34)):
        call = ("nested", random_type(rng), [call])
    return call


def fuzz_messages(rng: random.Random) -> tuple:
    source = rng.choice(
        [
            lambda: rng.randbytes(rng.randrange(64)),
            lambda: rng.choice(DATAGRAMS),
            lambda: oracle.padded(rng.choice(MESSAGES)[1] for _ in range(rng.randrange(4))),
            lambda: oracle.message_bytes(rng.randrange(65536), rng.randrange(65536), random_attributes(rng)),
        ]
    )
    return (edited(source(), random_edits(rng)), rng.choice([0, 0, 0, rng.randrange(40)]), rng.random() < 0.5)


def fuzz_attributes(rng: random.Random) -> tuple:
    header, message = rng.choice(MESSAGES)
    source = rng.choice(
        [
            lambda: rng.randbytes(rng.randrange(40)),
            lambda: message[16 + header :],
            lambda: random_attributes(rng),
            lambda: deep_attributes(rng),
        ]
    )
    order = rng.choice(list(oracle.PREFIX))
    return (edited(source(), random_edits(rng)), rng.choice([0, 0, 0, rng.randrange(40)]), order, rng.random() < 0.5)


def fuzz_calls(rng: random.Random) -> tuple:
    calls = [random_call(rng) for _ in range(rng.randrange(8))] + [deep_call(rng)] * (rng.random() < 0.1)
    return (calls, rng.randbytes(rng.choice([0, 4, rng.randrange(20)])), rng.choice(list(oracle.PREFIX)))


PAIRS = [(fuzz_messages, compare_messages), (fuzz_attributes, compare_attributes), (fuzz_calls, compare_calls)]


def fuzz(seed: int, first: int = 0, count: int | None = None, seconds: float | None = None) -> int:
    """Compares until the count or the time is up; returns how many inputs it compared."""
    end = None if seconds is None else time.monotonic() + seconds
    number = first
    while (count is None or number < first + count) and (end is None or time.monotonic() < end):
        rng = random.Random(f"{seed} {number}")
        make, compare = rng.choice(PAIRS)
        arguments = make(rng)
        try:
            if compare is not compare_calls and rng.random() < 0.5:
                compare(bytearray(arguments[0]), *arguments[1:])
            else:
                compare(*arguments)
        except BaseException:
            print(f"failed: seed {seed}, input {number}: {compare.__name__}{arguments}", file=sys.stderr)
            raise
        number += 1
        if number % 10_000 == 0:
            print(f"seed {seed}: {number} inputs", flush=True)
    return number - first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--first", type=int, default=0, metavar="N", help="start at input number N")
    parser.add_argument("--count", type=int, metavar="N", help="so many inputs")
    parser.add_argument("--seconds", type=float, metavar="N", help="for so long")
    arguments = parser.parse_args()
    faulthandler.enable()
    start = time.monotonic()
    done = fuzz(arguments.seed, arguments.first, arguments.count, arguments.seconds)
    print(f"seed {arguments.seed}: {done} inputs compared in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
