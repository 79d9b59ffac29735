"""Numbers on the command line, each with its range."""

import argparse
from collections.abc import Callable


def number(least: int, most: int) -> Callable[[str], int]:
    """For `type=`: a decimal, or with 0x a hexadecimal, number in this range."""

    def read(text: str) -> int:
        try:
            value = int(text, 0)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!a} is no number") from None
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text} is not in {least} to {most}")
        return value

    return read


u16 = number(0, 0xFFFF)
u32 = number(0, 0xFFFFFFFF)
count = number(1, 1 << 63)
buffer_size = number(1, (1 << 31) - 1)
"""What SO_RCVBUF takes."""
