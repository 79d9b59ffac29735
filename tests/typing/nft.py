"""What type checkers make of nftables. Checked, and not run."""

from typing import assert_type

import netlink_codec as nl
from netlink_codec import nft


def lists(conn: nl.Conn) -> None:
    for table in conn.dump(nft.tables("inet")):
        assert_type(table, nft.Table)
        assert_type(table.name, str | None)
        assert_type(table.family, nft.NFPROTO)
    for rule in conn.collect(nft.rules()):
        assert_type(rule.expressions, tuple[nft.Expression, ...] | None)
        assert_type(rule.verdict, nft.Verdict | None)
    for element in conn.dump(nft.elements("inet", "t", "s")):
        assert_type(element, nft.Element)
        assert_type(element.timeout, float | None)
    assert_type(conn.do(nft.set_("inet", "t", "s")), nft.Set)
    assert_type(conn.do(nft.element("inet", "t", "s", "10.0.0.1")), nft.Element)
    assert_type(conn.do(nft.generation()), nft.Generation)


def changes(conn: nl.Conn) -> None:
    change = nft.add_table("inet", "t")
    assert_type(change, nft.Change)
    result = conn.do(nft.Transaction([change], genid=7))
    assert_type(result, nft.Result)
    assert_type(result.handles, dict[nft.Change, int])
    assert_type(conn.do(change), nft.Result)
    nft.Counter(packets=1)
    nft.Counter(packet=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    nft.Transaction(["accept"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


async def the_same(conn: nl.AsyncConn) -> None:
    assert_type(await conn.do(nft.Transaction()), nft.Result)
    async for chain in conn.dump(nft.chains()):
        assert_type(chain, nft.Chain)


def watches(conn: nl.Conn) -> None:
    for event in conn.watch(nft.watch()):
        assert_type(event, nft.Commit | nl.Lost)
