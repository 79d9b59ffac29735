"""Changes to tables, chains, rules, objects and flowtables: values that do nothing until a connection carries them out.

What is added must not be there yet (`Exists`), unless `exist_ok`; what is deleted must be there (`NotFound`),
unless `missing_ok` (Linux 6.3).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from .._core import Message
from ..constants import NLM_F_APPEND, NLM_F_CREATE, NLM_F_ECHO, NLM_F_EXCL, NLM_F_REPLACE
from . import userdata
from .enums import CHAIN_F, FLOWTABLE_F, MSG, NFPROTO, OBJECT, TABLE_F, VERDICT
from .match import expressions_of, wanted_by
from .ruleset import Chain, Flowtable, FlowtableHook, Hook, Obj, Object, Rule, Table
from .spelling import Family, family_of, hook_of, name_of, names_of, priority_of
from .transaction import Assembly, Change


def _add(doing: str, kind: int, record: Any, exist_ok: bool, **options: Any) -> Change:
    flags = NLM_F_CREATE | NLM_F_ECHO | (0 if exist_ok else NLM_F_EXCL)
    message = Message(kind, flags, record)
    return Change(f"add {doing}", lambda assembly, change: (message,), record=type(record), **options)


def _delete(doing: str, kind: int, destroy: int, record: Any, missing_ok: bool) -> Change:
    message = Message(destroy if missing_ok else kind, 0, record)
    return Change(f"delete {doing}", lambda assembly, change: (message,), record=type(record))


def _comment(text: str | None) -> bytes | None:
    return None if text is None else userdata.write({userdata.COMMENT: userdata.text(text)})


def add_table(
    family: Family, name: str, *, flags: TABLE_F | None = None, comment: str | None = None, exist_ok: bool = False
) -> Change:
    """A table.

    With TABLE_F.OWNER it belongs to the socket that adds it, and goes with it. A connection that several use at once
    has more sockets than one, and one whose call is cancelled takes another: such a table wants a connection of its
    own, that one thread or task uses.
    """
    name = name_of("table", name)
    record = Table(family=family_of(family), name=name, flags=flags, userdata=_comment(comment))
    return _add(f"table {record.family.word} {name}", MSG.NEWTABLE, record, exist_ok)


def delete_table(family: Family, name: str, *, missing_ok: bool = False) -> Change:
    """A table, with all that is in it."""
    record = Table(family=family_of(family), name=name_of("table", name))
    doing = f"table {record.family.word} {name}"
    return _delete(doing, MSG.DELTABLE, MSG.DESTROYTABLE, record, missing_ok)


def flush_table(family: Family, table: str) -> Change:
    """Delete all rules of a table."""
    message = Message(MSG.DELRULE, 0, Rule(family=family_of(family), table=name_of("table", table)))
    return Change(f"flush table {table}", lambda assembly, change: (message,))


def flush_ruleset(family: Family | None = None) -> Change:
    """Delete all tables, of all families or one, with all that is in them."""
    message = Message(MSG.DELTABLE, 0, Table(family=NFPROTO.UNSPEC if family is None else family_of(family)))
    return Change("flush ruleset", lambda assembly, change: (message,))


def add_chain(
    family: Family,
    table: str,
    name: str,
    *,
    type: str = "filter",
    hook: str | int | None = None,
    priority: int | str = 0,
    policy: str | int | None = None,
    dev: str | Sequence[str] | None = None,
    flags: CHAIN_F | None = None,
    comment: str | None = None,
    exist_ok: bool = False,
) -> Change:
    """A chain; with a `hook` ("input", "forward", …) packets come into it by themselves.

    `type` is filter, nat or route, `priority` a number or "filter", "srcnat", …;
    `policy` "accept" or "drop" is what becomes of packets at its end. `dev` are the
    interfaces of an ingress or egress hook. One that exists (`exist_ok`) gets the policy, for which no hook need be
    said.
    """
    of = family_of(family)
    fields: dict[str, Any] = {}
    if hook is not None:
        one, several = (dev, None) if isinstance(dev, str) else (None, None if dev is None else names_of("device", dev))
        fields["hook"] = Hook(hooknum=hook_of(of, hook), priority=priority_of(of, priority), dev=one, devs=several)
        fields["type"] = type
    elif dev is not None or priority != 0 or type != "filter":
        raise TypeError(f"chain {name}: type, priority and dev are those of a hook, and there is none")
    if policy is not None:
        fields["policy"] = VERDICT.of(policy)
    table, name = name_of("table", table), name_of("chain", name)
    record = Chain(family=of, table=table, name=name, flags=flags, userdata=_comment(comment), **fields)
    return _add(f"chain {of.word} {table} {name}", MSG.NEWCHAIN, record, exist_ok)


def rename_chain(family: Family, table: str, handle: int, name: str) -> Change:
    """Another name for the chain of this handle."""
    table, name = name_of("table", table), name_of("chain", name)
    message = Message(MSG.NEWCHAIN, 0, Chain(family=family_of(family), table=table, handle=handle, name=name))
    return Change(f"rename chain {handle} of {table} to {name}", lambda assembly, change: (message,))


def _some(devs: str | Sequence[str]) -> tuple[str, ...]:
    names = names_of("device", devs)
    if not names:
        raise ValueError("no device is to be taken away; without any, all would go")
    return names


def delete_chain(
    family: Family, table: str, name: str, *, dev: str | Sequence[str] | None = None, missing_ok: bool = False
) -> Change:
    """A chain, which nothing leads to any more, with its rules; with `dev`, only these interfaces of its hook."""
    hook = None if dev is None else Hook(devs=_some(dev))
    record = Chain(family=family_of(family), table=name_of("table", table), name=name_of("chain", name), hook=hook)
    doing = f"chain {record.family.word} {table} {name}"
    return _delete(doing, MSG.DELCHAIN, MSG.DESTROYCHAIN, record, missing_ok)


def flush_chain(family: Family, table: str, chain: str) -> Change:
    """Delete all rules of a chain."""
    record = Rule(family=family_of(family), table=name_of("table", table), chain=name_of("chain", chain))
    message = Message(MSG.DELRULE, 0, record)
    return Change(f"flush chain {table} {chain}", lambda assembly, change: (message,))


def _rule(doing: str, flags: int, rule: Rule, items: Sequence[Any], beside: "Change | None") -> Change:
    def messages(assembly: Assembly, change: Change) -> Iterator[Message]:
        expressions, sets = expressions_of(items, rule.family, rule.table or "", assembly)
        yield from sets
        fields: dict[str, Any] = {"expressions": expressions or None, "id": assembly.number(change)}
        if beside is not None:
            fields["position_id"] = assembly.number_of(beside)
        yield Message(MSG.NEWRULE, flags, rule.replace(**fields))

    return Change(doing, messages, record=Rule, sets=wanted_by(items, rule.family, rule.table or ""))


def add_rule(
    family: Family,
    table: str,
    chain: str,
    *expressions: Any,
    comment: str | None = None,
    first: bool = False,
    before: int | Change | None = None,
    after: int | Change | None = None,
) -> Change:
    """A rule, behind all others of its chain.

    `expressions` are what the builders make: `match("tcp dport", 22), accept()`; or records, as those in
    `rule.expressions`. `first` puts it before all others, `before` and `after` beside a
    rule: its handle, or the change that adds it in the same transaction.
    """
    if sum((first, before is not None, after is not None)) > 1:
        raise TypeError("a rule goes first, or before another, or after another")
    beside = after if before is None else before
    if not (beside is None or isinstance(beside, int) or (isinstance(beside, Change) and beside.record is Rule)):
        raise TypeError(f"a rule goes beside a handle, or the change that adds another, not {beside!r}")
    rule = Rule(
        family=family_of(family),
        table=name_of("table", table),
        chain=name_of("chain", chain),
        position=beside if isinstance(beside, int) else None,
        userdata=_comment(comment),
    )
    flags = NLM_F_CREATE | NLM_F_ECHO | (0 if first or before is not None else NLM_F_APPEND)
    doing = f"add rule to {rule.family.word} {table} {chain}"
    return _rule(doing, flags, rule, expressions, beside if isinstance(beside, Change) else None)


def _handle(value: int) -> int:
    if not isinstance(value, int):
        raise TypeError(f"the handle of a rule is a number, not {value!r}")
    return value


def replace_rule(
    family: Family, table: str, chain: str, handle: int, *expressions: Any, comment: str | None = None
) -> Change:
    """Another rule in the place of the one that has this handle."""
    rule = Rule(
        family=family_of(family),
        table=name_of("table", table),
        chain=name_of("chain", chain),
        handle=_handle(handle),
        userdata=_comment(comment),
    )
    doing = f"replace rule {handle} of {rule.family.word} {table} {chain}"
    return _rule(doing, NLM_F_REPLACE | NLM_F_ECHO, rule, expressions, None)


def delete_rule(
    family: Family | Rule,
    table: str | None = None,
    chain: str | None = None,
    handle: int | None = None,
    *,
    missing_ok: bool = False,
) -> Change:
    """A rule, by its handle; or by its record, which names all of that."""
    if isinstance(family, Rule):
        rule = family
        family, table, chain, handle = rule.family, rule.table, rule.chain, rule.handle
    if table is None or chain is None or handle is None:
        raise TypeError(
            "delete_rule: a rule is named by its family, table, chain and handle; all of them go by flush_*"
        )
    table, chain = name_of("table", table), name_of("chain", chain)
    record = Rule(family=family_of(family), table=table, chain=chain, handle=_handle(handle))
    return _delete(f"rule {handle} of {table} {chain}", MSG.DELRULE, MSG.DESTROYRULE, record, missing_ok)


def add_object(
    family: Family, table: str, name: str, data: Obj, *, comment: str | None = None, exist_ok: bool = False
) -> Change:
    """Something with a name that rules refer to: a CounterObj, QuotaObj, LimitObj, CtHelperObj, …"""
    if not isinstance(data, Obj):
        raise TypeError(f"object {name}: what it is says a CounterObj, a QuotaObj, …, not {data!r}")
    table, name = name_of("table", table), name_of("object", name)
    record = Object(family=family_of(family), table=table, name=name, data=data, userdata=_comment(comment))
    return _add(f"{record.type.word if record.type else 'object'} {table} {name}", MSG.NEWOBJ, record, exist_ok)


def delete_object(family: Family, table: str, name: str, type: str | int, *, missing_ok: bool = False) -> Change:
    """An object, which no rule refers to any more; `type` is OBJECT or its word."""
    table, name = name_of("table", table), name_of("object", name)
    record = Object(family=family_of(family), table=table, name=name, type=OBJECT.of(type))
    return _delete(f"object {table} {name}", MSG.DELOBJ, MSG.DESTROYOBJ, record, missing_ok)


def add_flowtable(
    family: Family,
    table: str,
    name: str,
    devs: str | Sequence[str] = (),
    *,
    priority: int | str = 0,
    flags: FLOWTABLE_F | None = None,
    exist_ok: bool = False,
) -> Change:
    """A flowtable: connections that a rule puts there go from one of these interfaces to another by the short way."""
    of = family_of(family)
    hook = FlowtableHook(num=0, priority=priority_of(of, priority), devs=names_of("device", devs) or None)
    table, name = name_of("table", table), name_of("flowtable", name)
    record = Flowtable(family=of, table=table, name=name, hook=hook, flags=flags)
    return _add(f"flowtable {table} {name}", MSG.NEWFLOWTABLE, record, exist_ok)


def delete_flowtable(
    family: Family, table: str, name: str, devs: str | Sequence[str] | None = None, *, missing_ok: bool = False
) -> Change:
    """A flowtable, which no rule refers to any more; with `devs`, only these interfaces of it."""
    table, name = name_of("table", table), name_of("flowtable", name)
    hook = None if devs is None else FlowtableHook(devs=_some(devs))
    record = Flowtable(family=family_of(family), table=table, name=name, hook=hook)
    return _delete(f"flowtable {table} {name}", MSG.DELFLOWTABLE, MSG.DESTROYFLOWTABLE, record, missing_ok)
