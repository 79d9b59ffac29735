"""Aligned tables of plain text."""

from collections.abc import Sequence


def printable(text: str) -> str:
    """Names come from the wire: what a terminal would act on, or cannot show, is escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print the rows under a heading; numbers to the right, None as a dash."""
    cells = [[name.upper() for name in columns]]
    cells += [["-" if value is None else printable(str(value)) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [any(isinstance(row[i], int) for row in rows) for i in range(len(columns))]
    for line in cells:
        print(
            "  ".join(
                cell.rjust(width) if to_right else cell.ljust(width)
                for cell, width, to_right in zip(line, widths, right, strict=True)
            ).rstrip()
        )
