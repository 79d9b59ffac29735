"""`nft monitor`: what changes in the packet filter, and what packets meet."""

import argparse
import json
import sys
from collections import defaultdict
from ipaddress import ip_address
from itertools import groupby
from typing import Any

from .. import nft
from ..conn import Conn
from ..conntrack import IPPROTO
from ..nft.telling import plain
from ..nft.text import chain_text, describe, element_text, known_set, rule_text, set_text
from ..requests import Lost, New
from .table import printable

KINDS: dict[type, str] = {
    nft.Table: "table",
    nft.Chain: "chain",
    nft.Rule: "rule",
    nft.Set: "set",
    nft.RawElements: "elements",
    nft.Object: "object",
    nft.Flowtable: "flowtable",
}
_PORTS = (IPPROTO.TCP, IPPROTO.UDP, IPPROTO.SCTP, IPPROTO.DCCP, IPPROTO.UDPLITE)


def monitor(conn: Conn, args: argparse.Namespace) -> int:
    """The command; the status is 1 if something was lost."""
    lost = False
    watch: Any = nft.trace if args.trace else nft.watch
    with conn.watch(watch(receive_buffer=args.rcvbuf)) as events:
        teller = _Traces(conn) if args.trace else _Commits(conn)
        print("listening", file=sys.stderr, flush=True)
        for number, event in enumerate(events, 1):
            if isinstance(event, Lost):
                lost = True
                print(json.dumps({"event": "lost", "count": event.count}) if args.json else f"lost {event.count}")
                teller.lost()
            elif args.json:
                print(json.dumps(teller.json(event)))
            else:
                for line in teller.lines(event):
                    print(printable(line))
            sys.stdout.flush()
            if number == args.count:
                break
    return int(lost)


class _Commits:
    """Tells commits: each with what the sets are that its rules look into."""

    def __init__(self, conn: Conn) -> None:
        self._conn = conn
        self.lost()

    def lost(self) -> None:
        """Look at the sets anew."""
        self._sets = {_of(one): one for one in self._conn.dump(nft.sets()) if not _anonymous(one)}
        self._generation = self._conn.do(nft.generation()).id or 0

    def json(self, commit: nft.Commit) -> dict[str, Any]:
        return {
            "generation": None if commit.generation is None else commit.generation.to_dict(),
            "changes": [
                {
                    "event": "new" if isinstance(event, New) else "deleted",
                    KINDS[type(event.record)]: with_comment(event.record),
                }
                for event in commit.changes
            ],
        }

    def lines(self, commit: nft.Commit) -> list[str]:
        generation = commit.generation
        told = _Told(self._sets if self._are_those_of(generation) else {}, commit)
        for event in commit.changes:
            if isinstance(event.record, nft.Set) and not _anonymous(event.record):
                if isinstance(event, New):
                    self._sets[_of(event.record)] = event.record
                else:
                    self._sets.pop(_of(event.record), None)
        if generation is None:
            return ["generation unknown", *told.lines()]
        return [f"generation {generation.id} by {generation.process} ({generation.pid})", *told.lines()]

    def _are_those_of(self, generation: nft.Generation | None) -> bool:
        """Whether the sets were looked at before: of what they were, nothing is known."""
        if generation is None or generation.id is None:
            return False
        return 0 < (generation.id - self._generation) & 0xFFFFFFFF < 1 << 31


class _Told:
    """One commit."""

    def __init__(self, sets: dict[Any, nft.Set], commit: nft.Commit) -> None:
        self._changes = commit.changes
        self._sets = dict(sets)
        self._elements: dict[Any, list[nft.RawElements]] = defaultdict(list)
        self._in_rules: set[Any] = set()
        """Sets without a name whose elements are shown in a rule."""
        for event in commit.changes:
            record = event.record
            if isinstance(record, nft.Set) and isinstance(event, New):
                self._sets[_of(record)] = record
            elif isinstance(record, nft.RawElements) and isinstance(event, New):
                self._elements[_of(record)].append(record)

    def lines(self) -> list[str]:
        rules = {
            id(event.record): self._rule(event.record) for event in self._changes if type(event.record) is nft.Rule
        }
        found = []
        for (kind, of), events in groupby(self._changes, lambda event: (type(event), _elements_of(event.record))):
            verb = "add" if kind is New else "delete"
            records = [event.record for event in events]
            if of is not None:
                # An interval is two elements of the kernel, which may come one by one.
                found += [f"    {verb} element {line}" for line in self._all(of, records)]
                continue
            for record in records:
                if not isinstance(record, nft.Set) or _of(record) not in self._in_rules:
                    found.append(f"    {verb} {rules.get(id(record)) or _described(record)}")
        return found

    def _rule(self, rule: nft.Rule) -> str:
        looked_into: set[Any] = set()

        def sets(name: str) -> nft.KnownSet | None:
            of = rule.family, rule.table, name
            one = self._sets.get(of)
            if one is None or (_anonymous(one) and of not in self._elements):
                return None
            if _anonymous(one):
                looked_into.add(of)
            return known_set(one, *self._elements.get(of, ()))

        text = rule_text(rule, sets)
        self._in_rules |= {of for of in looked_into if f"set={of[2]}" not in text}
        comment = "" if rule.comment is None else f' comment "{rule.comment}"'
        return f"rule {rule.family.word} {rule.table} {rule.chain} {text}{comment} # handle {rule.handle}"

    def _all(self, of: Any, records: list[nft.RawElements]) -> list[str]:
        family, table, name = of
        where = f"{family.word} {table} {name}"
        one = self._sets.get(of)
        if of in self._in_rules:
            return []
        if one is None:
            return [f"{where} [{bytes(record).hex()}]" for record in records]
        return [f"{where} {{ {element_text(one.shape, element)} }}" for element in nft.read_elements(one, *records)]


def _of(record: Any) -> Any:
    """Which set it is, or is about."""
    return record.family, record.table, record.set if isinstance(record, nft.RawElements) else record.name


def _elements_of(record: Any) -> Any:
    return _of(record) if isinstance(record, nft.RawElements) else None


def _anonymous(one: nft.Set) -> bool:
    return bool((one.flags or 0) & nft.SET_F.ANONYMOUS)


def _described(record: Any) -> str:
    """What is no rule and no element."""
    if isinstance(record, nft.Table):
        return f"table {record.family.word} {record.name}"
    where = f"{record.family.word} {record.table} {record.name}"
    if isinstance(record, nft.Chain):
        if record.hook is None:
            return f"chain {where}"
        return f"chain {where} {chain_text(record)}"
    if isinstance(record, nft.Set):
        if record.key_len is None:
            return f"set {where}"
        return f"{'set' if record.value is None else 'map'} {where} {set_text(record)}"
    if isinstance(record, nft.Object):
        kind = "object" if record.type is None else record.type.word
        return f"{kind} {where} {plain(record.to_dict().get('data', {}))}"
    return f"flowtable {where} {plain(record.to_dict().get('hook', {}))}"


def with_comment(record: Any) -> dict[str, Any]:
    found: dict[str, Any] = record.to_dict()
    comment = getattr(record, "comment", None)
    return found if comment is None else found | {"comment": comment}


class _Traces:
    """Tells what packets meet."""

    def __init__(self, conn: Conn) -> None:
        self._conn = conn
        self._rules: dict[Any, str] = {}

    def lost(self) -> None:
        """Each is told for itself."""

    def json(self, trace: nft.Trace) -> dict[str, Any]:
        return trace.to_dict()

    def lines(self, trace: nft.Trace) -> list[str]:
        parts = [f"trace {trace.id or 0:08x} {trace.family.word} {trace.table} {trace.chain}"]
        if trace.type is not None:
            parts.append(trace.type.word)
        if trace.rule_handle is not None:
            parts.append(f"{trace.rule_handle} [{self._rule(trace)}]")
        if trace.verdict is not None:
            chain = trace.verdict.chain
            parts.append(f"verdict {trace.verdict.code.word}{'' if chain is None else f' {chain}'}")
        if trace.policy is not None:
            parts.append(f"policy {trace.policy.word}")
        for name in ("iif", "oif"):
            number = getattr(trace, name)
            parts += [f"{name} {number}"] if number else []
        parts += [f"mark {trace.mark:#x}"] if trace.mark else []
        parts += [packet_text(trace)] if trace.network_header else []
        return [" ".join(parts)]

    def _rule(self, trace: nft.Trace) -> str:
        of = trace.family, trace.table or "", trace.chain or "", trace.rule_handle or 0
        text = self._rules.get(of)
        if text is None:
            rule = self._conn.do(nft.rule(*of).tolerate(2))
            text = self._rules[of] = "gone" if rule is None else self._conn.do(describe(rule))
        return text


def packet_text(trace: nft.Trace) -> str:
    """From whom, to whom; as bytes where it is no packet of IP."""
    header, transport = trace.network_header or b"", trace.transport_header or b""
    version = header[0] >> 4
    if version == 4 and len(header) >= 20:
        protocol, source, target = header[9], header[12:16], header[16:20]
    elif version == 6 and len(header) >= 40:
        protocol, source, target = header[6], header[8:24], header[24:40]
    else:
        return f"packet {header.hex()}"
    text = f"{ip_address(source)} > {ip_address(target)} {IPPROTO(protocol).word}"
    if protocol in _PORTS and len(transport) >= 4:
        text += f" {int.from_bytes(transport[:2], 'big')} > {int.from_bytes(transport[2:4], 'big')}"
    return text
