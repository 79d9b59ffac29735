"""Expressions: what the `nft` tool 1.0.6 sends for each kind of statement, recorded; and what it has no words for."""

import json
import sys
from pathlib import Path

import pytest

from netlink_codec import nft
from netlink_codec._records import Field
from netlink_codec.records import Record
from support import stream

VECTORS = [line.split("\t") for line in (Path(__file__).parent / "vectors" / "nft_rules.tsv").read_text().splitlines()]

pytestmark = pytest.mark.skipif(sys.byteorder == "big", reason="the recorded messages are little-endian")

EXPRESSIONS = 4 | 0x8000


def rule_of(text):
    return nft.Rule.from_bytes(bytes(nft.Rule()) + stream((EXPRESSIONS, bytes.fromhex(text))))


def fields_of(record):
    """Name and value of each field that is there."""
    names = [name for cls in type(record).__mro__ for name, one in vars(cls).items() if isinstance(one, Field)]
    values = {name: getattr(record, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def rebuilt(value):
    """The same, made anew of what was read."""
    if isinstance(value, tuple):
        return tuple(map(rebuilt, value))
    if isinstance(value, Record):
        return type(value)(**{name: rebuilt(one) for name, one in fields_of(value).items()})
    return value


def everything(record):
    yield record
    for value in fields_of(record).values():
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, Record):
                yield from everything(one)


@pytest.mark.parametrize(("sent", "meaning"), [one[2:] for one in VECTORS], ids=[" ".join(one[:2]) for one in VECTORS])
def test_what_nft_sends(sent, meaning):
    rule = rule_of(sent)
    rule.check()
    for one in everything(rule):
        assert one.unknown == ()
        assert type(one) is not nft.Expr
    assert [expression.to_dict() for expression in rule.expressions] == json.loads(meaning)
    assert rebuilt(rule.expressions) == rule.expressions
    assert bytes(nft.Rule(expressions=rule.expressions))[4:] == bytes(rule)[4:]


def test_every_kind_is_there():
    sent = {expression.name for _, _, text, _ in VECTORS for expression in rule_of(text).expressions}
    kinds = {nft.Expression(data=one()).name for one in nft.Expr.__subclasses__()}
    assert kinds - sent == {
        "inner",
        "last",
        "match",
        "target",
        "secmark",
        "tunnel",
    }  # those that nft 1.0.6 does not send
    assert sent <= kinds


# Of <linux/netfilter/nf_tables.h> and nf_tables_compat.h: attribute numbers, all integers big-endian.
BY_HAND = [
    (nft.Last(set=1, ago=1.5), "0800010000000001 0c000200 00000000000005dc"),
    (
        nft.Inner(num=0, type=1, flags=15, hdrsize=8),
        "0800010000000000 0800020000000001 080003000000000f 0800040000000008",
    ),
    (nft.Match(name="tcp", rev=0, info=b"\1\2\3\4"), "0800010074637000 0800020000000000 0800030001020304"),
    (nft.Target(name="LOG", rev=1, info=b"\1\2\3\4"), "08000100 4c4f4700 0800020000000001 0800030001020304"),
    (nft.Secmark(ctx="abc"), "0800010061626300"),
    (
        nft.Tunnel(key=nft.TUNNEL.ID, dreg=1, mode=nft.TUNNEL_MODE.RX),
        "0800010000000001 0800020000000001 0800030000000001",
    ),
]


@pytest.mark.parametrize(("expression", "data"), BY_HAND, ids=lambda value: type(value).__name__)
def test_what_nft_has_no_words_for(expression, data):
    assert bytes(expression) == bytes.fromhex(data)
    (again,) = nft.Rule(expressions=(nft.Expression(data=expression),)).exprs
    assert again == expression
    assert type(again) is type(expression)


def test_one_that_is_not_known_is_kept():
    new = stream((1, b"future\0"), (2 | 0x8000, stream((1, b"\0\0\0\7"), (9, b"abc"))))
    rule = nft.Rule.from_bytes(bytes(nft.Rule(table="t")) + stream((EXPRESSIONS, stream((1 | 0x8000, new)))))
    (expression,) = rule.expressions
    assert expression.name == "future"
    assert type(expression.data) is nft.Expr
    assert expression.data.unknown == ((1, b"\0\0\0\7"), (9, b"abc"))
    assert list(rule.exprs) == [expression.data]
    again = nft.Rule(table="t", expressions=rule.expressions)
    assert bytes(again) == bytes(rule)


def test_the_verdict_of_a_rule():
    expressions = [nft.Expression(data=one) for one in (nft.counter(), nft.jump("other"))]
    assert nft.Rule(expressions=tuple(expressions)).verdict == nft.Verdict(code=nft.VERDICT.JUMP, chain="other")
    assert nft.Rule(expressions=tuple(expressions[:1])).verdict is None
    assert nft.Rule().verdict is None


# svinota/pyroute2#743, #732
def test_a_priority_may_be_negative():
    assert bytes(nft.Hook(priority=-150)) == bytes.fromhex("08000200ffffff6a")
    assert nft.Hook.from_bytes(bytes.fromhex("08000200ffffff6a")).priority == -150
    for limit in (-(2**31), 2**31 - 1):
        assert nft.Hook.from_bytes(bytes(nft.Hook(priority=limit))).priority == limit
    for beyond in (-(2**31) - 1, 2**31):
        with pytest.raises(ValueError, match="range"):
            nft.Hook(priority=beyond)


def test_the_values_of_a_verdict_map():
    accept, jump = "0c0002800800010000000001", "1400028008000100fffffffd0700020063630000"
    assert nft.Data.from_bytes(bytes.fromhex(accept)).verdict == nft.Verdict(code=nft.VERDICT.ACCEPT)
    assert bytes(nft.Data(verdict=nft.verdict_of("jump cc"))) == bytes.fromhex(jump)
    assert nft.Data.from_bytes(bytes.fromhex(jump)).verdict.chain == "cc"
