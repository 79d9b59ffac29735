"""`ct`: the connections that the kernel tracks: dump, count, top, events, flush."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import Any

from .. import conntrack as ct
from ..conn import Conn
from ..constants import NETLINK_NETFILTER
from ..records import OpenEnum
from ..requests import Changed, Deleted, Lost, New
from .numbers import buffer_size, count, u16, u32
from .table import print_table

FAMILIES = {"inet": 2, "ipv4": 2, "4": 2, "inet6": 10, "ipv6": 10, "6": 10}
SHOWN = {ct.IPS.ASSURED: "assured", ct.IPS.OFFLOAD: "offload"}
NAMES = {New: "new", Changed: "update", Deleted: "destroy"}
KEYS: dict[str, Callable[[ct.Flow], Any]] = {
    "src": lambda flow: _orig(flow).src,
    "dst": lambda flow: _orig(flow).dst,
    "sport": lambda flow: _orig(flow).sport,
    "dport": lambda flow: _orig(flow).dport,
    "proto": lambda flow: _word(_orig(flow).proto),
    "state": lambda flow: _word(flow.state),
    "mark": lambda flow: flow.mark,
    "zone": lambda flow: flow.zone,
}
"""What `top` counts by."""


def _orig(flow: ct.Flow) -> ct.Tuple:
    return flow.orig or ct.Tuple()


def _word(member: OpenEnum | None) -> str | None:
    return None if member is None else member.word


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.description = "Look at the connections that the kernel tracks, and forget them."
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, function, text in (
        ("dump", _dump, "print them, one line each"),
        ("count", _count, "print how many there are"),
        ("top", _top, "print which addresses, ports and so on have most of them"),
        ("flush", _flush, "forget them"),
    ):
        command = commands.add_parser(
            name, help=text, description=f"Of all connections, or of those that match: {text}."
        )
        command.set_defaults(part=function)
        _add_filters(command)
        if name == "dump":
            command.add_argument("--json", action="store_true", help="a JSON object a line")
            command.add_argument(
                "--zero", action="store_true", help="set the counters to zero, at once with reading them"
            )
        elif name == "top":
            command.add_argument("--by", choices=tuple(KEYS), default="dst", help="what to count by (default: dst)")
            command.add_argument("-n", type=count, default=10, metavar="COUNT", help="how many lines (default: 10)")
    events = commands.add_parser("events", help="print what happens", description="Print what happens to connections.")
    events.set_defaults(part=_events)
    events.add_argument("kinds", nargs="*", type=_kind, metavar="KIND", help="new, update, destroy (default: all)")
    events.add_argument("--json", action="store_true", help="a JSON object a line")
    events.add_argument(
        "--rcvbuf", type=buffer_size, default=8 << 20, metavar="BYTES", help="the receive buffer (default: 8 MiB)"
    )
    events.add_argument("--count", type=count, metavar="COUNT", help="stop after so many")
    for command in (*commands.choices.values(),):
        command.add_argument("--netns", metavar="NAME", help="in this network namespace")


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--family", choices=tuple(FAMILIES), metavar="FAMILY", help="inet or inet6")
    parser.add_argument("--zone", type=u16, metavar="ZONE")
    parser.add_argument("--mark", type=_mark, metavar="MARK[/MASK]")
    parser.add_argument(
        "--status", type=_status, metavar="BIT,...", help="assured, seen_reply, ...: those that have all"
    )
    parser.add_argument("--proto", type=_proto, metavar="PROTO", help="tcp, udp, icmp, ..., or a number")
    parser.add_argument("--src", type=ip_address, metavar="ADDRESS", help="of who began it, as is --sport")
    parser.add_argument("--dst", type=ip_address, metavar="ADDRESS", help="of the other end, as is --dport")
    parser.add_argument("--sport", type=u16, metavar="PORT")
    parser.add_argument("--dport", type=u16, metavar="PORT")


def _mark(text: str) -> tuple[int, int]:
    mark, slash, mask = text.partition("/")
    return u32(mark), u32(mask) if slash else 0xFFFFFFFF


def _status(text: str) -> ct.IPS:
    status = ct.IPS(0)
    for name in text.split(","):
        try:
            status |= ct.IPS[name.upper().replace("-", "_")]
        except KeyError:
            names = ", ".join(bit.name.lower() for bit in ct.IPS if bit.name)
            raise argparse.ArgumentTypeError(f"{name!a} is none of {names}") from None
    return status


def _kind(text: str) -> str:
    if text not in NAMES.values():
        raise argparse.ArgumentTypeError(f"{text!a} is none of {', '.join(NAMES.values())}")
    return text


def _proto(text: str) -> ct.IPPROTO:
    try:
        return ct.IPPROTO.of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(args: argparse.Namespace) -> int:
    """The command."""
    with Conn(NETLINK_NETFILTER, netns=args.netns) as conn:
        status: int = args.part(conn, args)
    return status


# --- which connections ------------------------------------------------------------------------------------------------


def _filters(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What `flows` is asked; twice, where the kernel wants a family to compare, and any will do."""
    filters: dict[str, Any] = {"zone": args.zone, "status": args.status}
    if args.mark is not None:
        filters["mark"], filters["mark_mask"] = args.mark
    family = None if args.family is None else FAMILIES[args.family]
    for address in (args.src, args.dst):
        if address is not None:
            if family not in (None, 2 if address.version == 4 else 10):
                raise OSError(f"{address} is not of the family that was asked for")
            family = 2 if address.version == 4 else 10
    if args.proto is None and (args.sport is not None or args.dport is not None):
        raise OSError("ports are those of a protocol: say which, by --proto")
    if any(one is not None for one in (args.src, args.dst, args.proto)):
        try:
            filters["orig"] = ct.direction(args.proto, args.src, args.dst, args.sport, args.dport)
        except ValueError as error:
            raise OSError(str(error)) from error
    for one in (2, 10) if family is None and "orig" in filters else (family,):
        yield {**filters, "family": one}


def _flows(conn: Conn, args: argparse.Namespace, **options: Any) -> Iterator[ct.Flow]:
    for filters in _filters(args):
        yield from conn.dump(ct.flows(**filters, **options))


# --- what is done -----------------------------------------------------------------------------------------------------


def line(flow: ct.Flow) -> str:
    """A connection for people: who, to whom, how far, how much."""
    orig = _orig(flow)
    words = [str(orig)]
    reply = flow.reply
    if reply is not None and (reply.src, reply.dst, reply.sport, reply.dport) != (
        orig.dst,
        orig.src,
        orig.dport,
        orig.sport,
    ):
        words += ["reply", str(reply).partition(" ")[2]]
    if flow.state is not None:
        words.append(flow.state.word)
    if flow.status is not None:
        words += [] if flow.status & ct.IPS.SEEN_REPLY else ["unreplied"]
        words += [word for bit, word in SHOWN.items() if flow.status & bit]
    words += [f"{flow.timeout}s"] if flow.timeout is not None else []
    words += [f"mark={flow.mark:#x}"] if flow.mark else []
    words += [f"zone={flow.zone}"] if flow.zone else []
    for name, counters in (("there", flow.counters_orig), ("back", flow.counters_reply)):
        if counters is not None:
            words.append(f"{name}={counters.packets}p/{counters.bytes}B")
    return " ".join(words)


def _dump(conn: Conn, args: argparse.Namespace) -> int:
    for flow in _flows(conn, args, zero=args.zero):
        print(json.dumps(flow.to_dict()) if args.json else line(flow))
    return 0


def _count(conn: Conn, args: argparse.Namespace) -> int:
    filters = list(_filters(args))
    if all(value is None for value in filters[0].values()):
        print(conn.do(ct.stats()).entries)
    else:
        print(sum(1 for _ in _flows(conn, args)))
    return 0


def _top(conn: Conn, args: argparse.Namespace) -> int:
    key = KEYS[args.by]
    totals: dict[Any, list[int]] = {}
    for flow in _flows(conn, args):
        total = totals.setdefault(key(flow), [0, 0, 0])
        total[0] += 1
        for counters in flow.counters or ():
            total[1] += counters.packets or 0
            total[2] += counters.bytes or 0
    most = sorted(totals.items(), key=lambda item: item[1], reverse=True)[: args.n]
    print_table((args.by, "connections", "packets", "bytes"), [(word, *total) for word, total in most])
    return 0


def _events(conn: Conn, args: argparse.Namespace) -> int:
    lost = False
    with conn.watch(ct.watch(*args.kinds, rcvbuf=args.rcvbuf)) as events:
        print("listening", file=sys.stderr, flush=True)
        for number, event in enumerate(events, 1):
            if isinstance(event, Lost):
                lost = True
                print(json.dumps({"event": "lost", "count": event.count}) if args.json else f"lost {event.count}")
            elif args.json:
                print(json.dumps({"event": NAMES[type(event)], **event.record.to_dict()}))
            else:
                print(f"{NAMES[type(event)]:8}{line(event.record)}")
            sys.stdout.flush()
            if number == args.count:
                break
    return int(lost)


def _flush(conn: Conn, args: argparse.Namespace) -> int:
    for filters in _filters(args):
        conn.do(ct.flush(**filters))
    return 0
