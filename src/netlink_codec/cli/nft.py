"""`nft`: the packet filter: rules, sets, elements, what changes, what packets meet."""

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from .. import nft
from ..conn import Conn
from ..constants import NETLINK_NETFILTER
from ..errors import NotFound
from ..nft.text import chain_text, describe, element_dict, element_text, set_flags, set_type
from .nft_monitor import monitor, with_comment
from .numbers import buffer_size, count
from .table import print_table, printable

FAMILIES = ("ip", "ip6", "inet", "arp", "bridge", "netdev")
COLUMNS = ("family", "table", "name", "type", "flags", "size", "timeout", "elements")


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.description = "Look at the packet filter of the kernel, in the words of the nft tool."
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, function, text in (
        ("rules", _rules, "print chains and their rules, one line each"),
        ("sets", _sets, "print sets and maps that have a name"),
        ("elements", _elements, "print what is in a set or a map, one line each"),
        ("monitor", monitor, "print what changes, by transaction, and who changed it"),
    ):
        command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        command.set_defaults(part=function)
        command.add_argument("--json", action="store_true", help="a JSON object a line")
        command.add_argument("--netns", metavar="NAME", help="in this network namespace")
    rules, sets, elements, changes = commands.choices.values()
    for command in (rules, sets):
        command.add_argument("--family", choices=FAMILIES, metavar="FAMILY", help=", ".join(FAMILIES))
        command.add_argument("--table", metavar="NAME", help="those of this table")
    rules.add_argument("--chain", metavar="NAME", help="those of this chain")
    rules.add_argument("--handles", action="store_true", help="with the number by which a rule is deleted")
    for command, what in ((rules, "of rules"), (elements, "of elements")):
        command.add_argument(
            "--reset", action="store_true", help=f"set counters and quotas {what} to zero, at once with reading them"
        )
    elements.add_argument("family", choices=FAMILIES, metavar="FAMILY", help=", ".join(FAMILIES))
    elements.add_argument("table", metavar="TABLE")
    elements.add_argument("set", metavar="SET")
    changes.add_argument("--count", type=count, metavar="COUNT", help="stop after so many")
    changes.add_argument("--trace", action="store_true", help="what packets meet for which nftrace is set, instead")
    changes.add_argument(
        "--rcvbuf", type=buffer_size, default=8 << 20, metavar="BYTES", help="the receive buffer (default: 8 MiB)"
    )


def run(args: argparse.Namespace) -> int:
    """The command."""
    with Conn(NETLINK_NETFILTER, netns=args.netns) as conn:
        status: int = args.part(conn, args)
    return status


def _absent(what: str) -> int:
    print(f"there is no such {what}", file=sys.stderr)
    return 1


# --- rules ------------------------------------------------------------------------------------------------------------


def _rules(conn: Conn, args: argparse.Namespace) -> int:
    shown = False
    known: dict[Any, Any] = {}
    for record in _in_order(conn, args):
        shown = True
        if args.json:
            kind = "rule" if isinstance(record, nft.Rule) else "chain"
            print(json.dumps({kind: with_comment(record)}))
        elif isinstance(record, nft.Rule):
            handle = f" # handle {record.handle}" if args.handles else ""
            print(printable(f"    {_line(conn, record, known)}{handle}"))
        else:
            print(printable(f"chain {record.family.word} {record.table} {record.name} {chain_text(record)}"))
    if not shown and (args.table is not None or args.chain is not None):
        return _absent("table" if args.chain is None else "chain")
    return 0


def _in_order(conn: Conn, args: argparse.Namespace) -> Iterator[nft.Chain | nft.Rule]:
    """The chains, each with its rules behind it: both lists are in the same order."""
    family, table, chain = args.family, args.table, args.chain
    chains = [one for one in conn.dump(nft.chains(family, table)) if chain in (None, one.name)]
    if chain is not None:
        # One by one, since the kernel finds, and resets, the rules of a chain only by its family and table as well.
        for one in chains:
            yield one
            yield from conn.dump(nft.rules(one.family, one.table, chain, reset=args.reset))
        return
    waiting = {(one.family, one.table, one.name): one for one in chains}
    current = None
    for rule in conn.dump(nft.rules(family, table, reset=args.reset)):
        of = rule.family, rule.table, rule.chain
        while of != current and of in waiting:
            current, header = next(iter(waiting.items()))
            del waiting[current]
            yield header
        if of != current:
            current = of
            yield nft.Chain(family=rule.family, table=rule.table, name=rule.chain)
        yield rule
    yield from waiting.values()


def _line(conn: Conn, rule: nft.Rule, known: dict[Any, Any]) -> str:
    comment = rule.comment
    return conn.do(describe(rule, known)) + ("" if comment is None else f' comment "{comment}"')


# --- sets -------------------------------------------------------------------------------------------------------------


def _sets(conn: Conn, args: argparse.Namespace) -> int:
    # Those without a name belong to one rule, and are shown there.
    sets = (one for one in conn.dump(nft.sets(args.family, args.table)) if not (one.flags or 0) & nft.SET_F.ANONYMOUS)
    if args.json:
        for one in sets:
            print(json.dumps(with_comment(one) | {"key": one.key, "value": one.value}))
        return 0
    rows = [
        (
            one.family.word,
            one.table,
            one.name,
            set_type(one),
            set_flags(one) or None,
            one.desc.size if one.desc is not None else None,
            one.timeout and f"{one.timeout:g}s",
            one.count,
        )
        for one in sets
    ]
    print_table(COLUMNS, rows)
    return 0


def _elements(conn: Conn, args: argparse.Namespace) -> int:
    try:
        one = conn.do(nft.set_(args.family, args.table, args.set))
    except NotFound:
        return _absent("set")
    for element in conn.dump(nft.elements(args.family, args.table, one, reset=args.reset)):
        print(json.dumps(element_dict(element)) if args.json else printable(element_text(one.shape, element)))
    return 0
