"""Transactions on the real kernel: all or nothing, whatever their size; handles, errors, generations."""

import asyncio
from ipaddress import IPv4Address, IPv4Network

import pytest

import netlink_codec as nl
from namespaces import network
from netlink_codec import nft
from netlink_codec._socket import Socket

pytestmark = pytest.mark.kernel


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_NETFILTER, timeout=30) as conn:
        yield conn


@pytest.fixture
def table(conn):
    """Its table inet t has a chain c and an empty set s of addresses."""
    chain = nft.add_chain("inet", "t", "c", hook="input", policy="accept")
    conn.do(nft.Transaction([nft.add_table("inet", "t"), chain, nft.add_set("inet", "t", "s", "ipv4_addr")]))
    return conn


def count(conn, name="s"):
    return len(conn.collect(nft.elements("inet", "t", name)))


def test_a_transaction_is_a_request(conn):
    generation = conn.do(nft.generation()).id
    rule = nft.add_rule("inet", "t", "c", nft.counter(), nft.accept(), comment="one")
    chain = nft.add_chain("inet", "t", "c")
    change = nft.Transaction([nft.add_table("inet", "t", comment="mine"), chain, rule], genid=generation)
    result = conn.do(change)
    assert result.generation == conn.do(nft.generation()).id == generation + 1
    (found,) = conn.collect(nft.rules("inet", "t", "c"))
    assert result.handles[rule] == found.handle
    assert result.handles[chain] == conn.do(nft.chain("inet", "t", "c")).handle
    assert result.records[rule].comment == found.comment == "one"
    assert conn.do(nft.table("inet", "t")).comment == "mine"


def test_a_change_alone_is_one_too(conn):
    conn.do(nft.add_table("ip", "t"))
    with pytest.raises(nl.Exists, match="add table ip t"):
        conn.do(nft.add_table("ip", "t"))
    conn.do(nft.add_table("ip", "t", exist_ok=True))
    conn.do(nft.delete_table("ip", "t"))
    with pytest.raises(nl.NotFound, match=r"delete table ip t: .*attribute name"):
        conn.do(nft.delete_table("ip", "t"))
    conn.do(nft.delete_table("ip", "t", missing_ok=True))


def test_under_asyncio(conn):
    async def main():
        async with nl.AsyncConn(nl.NETLINK_NETFILTER, timeout=30) as conn:
            generation = (await conn.do(nft.generation())).id
            await conn.do(nft.add_table("inet", "t"))
            await conn.do(nft.add_set("inet", "t", "s", "ipv4_addr", interval=True))
            await conn.do(nft.add_elements("inet", "t", "s", ["10.0.0.0/8"]))
            assert [one.key async for one in conn.dump(nft.elements("inet", "t", "s"))] == [IPv4Network("10.0.0.0/8")]
            assert len(await conn.collect(nft.elements("inet", "t", "s"))) == 1
            assert (await conn.do(nft.element("inet", "t", "s", "10.1.2.3"))).key == IPv4Network("10.0.0.0/8")
            with pytest.raises(nft.GenerationMoved):
                await conn.do(nft.Transaction([nft.flush_ruleset()], genid=generation))
            with pytest.raises(nl.NotFound):
                await conn.collect(nft.elements("inet", "t", "other"))
            failing = nft.Transaction([nft.delete_table("inet", "t"), nft.delete_table("ip", "x")])
            with pytest.raises(nl.BatchError):
                await conn.do(failing, offload=True)
            assert await conn.collect(nft.elements("inet", "t", "s"), offload=True)
            dump = conn.dump(nft.elements("inet", "t", "s"))
            dump.close()
            assert [one async for one in dump] == []

    asyncio.run(main())


def test_nothing_is_done_if_something_fails(table):
    changes = [
        nft.add_chain("inet", "t", "new"),
        nft.delete_chain("inet", "t", "missing"),
        nft.add_elements("inet", "t", "s", ["10.0.0.1"]),
        nft.add_rule("inet", "x", "c", nft.accept()),
        nft.add_rule("inet", "t", "c", nft.jump("nowhere")),
    ]
    with pytest.raises(nl.BatchError, match="3 of 5 changes failed, and nothing was changed") as caught:
        table.do(nft.Transaction(changes))
    assert [error is None for error in caught.value.results] == [True, False, True, False, False]
    missing, no_table, nowhere = caught.value.exceptions
    assert isinstance(missing, nl.NotFound)
    assert missing.request is changes[1]
    assert "delete chain inet t missing" in str(missing)
    assert "attribute table" in str(no_table)
    assert nowhere.request is changes[4]
    assert [chain.name for chain in table.dump(nft.chains("inet", "t"))] == ["c"]
    assert count(table) == 0


def test_who_was_overtaken_is_told(table):
    generation = table.do(nft.generation()).id
    table.do(nft.add_table("ip", "other"))
    with pytest.raises(nft.GenerationMoved, match="has changed meanwhile") as caught:
        table.do(nft.Transaction([nft.flush_ruleset()], genid=generation))
    assert isinstance(caught.value, nl.NetlinkError)
    assert len(table.collect(nft.tables())) == 2
    table.do(nft.Transaction([nft.flush_ruleset()], genid=generation + 1))
    assert table.collect(nft.tables()) == []


def test_nothing_to_change(table):
    before = table.do(nft.generation()).id
    assert table.do(nft.Transaction()).generation is None
    nothing = [nft.add_elements("inet", "t", "s", []), nft.delete_elements("inet", "t", "missing", [])]
    assert table.do(nft.Transaction(nothing)).handles == {}
    assert table.do(nft.generation()).id == before


def test_the_order_of_rules(table):
    first = nft.add_rule("inet", "t", "c", nft.accept(), comment="first")
    third = nft.add_rule("inet", "t", "c", nft.accept(), comment="third")
    second = nft.add_rule("inet", "t", "c", nft.accept(), comment="second", after=first)
    result = table.do(nft.Transaction([first, third, second]))
    handles = result.handles
    table.do(
        nft.Transaction(
            [
                nft.add_rule("inet", "t", "c", nft.drop(), comment="last"),
                nft.add_rule("inet", "t", "c", nft.drop(), comment="very first", first=True),
                nft.add_rule("inet", "t", "c", nft.drop(), comment="before third", before=handles[third]),
                nft.replace_rule("inet", "t", "c", handles[second], nft.counter(), comment="new second"),
            ]
        )
    )
    rules = table.collect(nft.rules("inet", "t", "c"))
    assert [rule.comment for rule in rules] == ["very first", "first", "new second", "before third", "third", "last"]
    table.do(nft.Transaction([nft.delete_rule(rules[0]), nft.delete_rule("inet", "t", "c", rules[1].handle)]))
    assert len(table.collect(nft.rules("inet", "t", "c"))) == 4
    with pytest.raises(nl.NotFound):
        table.do(nft.delete_rule(rules[0]))
    table.do(nft.delete_rule(rules[0], missing_ok=True))
    table.do(nft.flush_chain("inet", "t", "c"))
    assert table.collect(nft.rules()) == []


def test_a_rule_goes_to_one_place():
    with pytest.raises(TypeError, match="first"):
        nft.add_rule("inet", "t", "c", first=True, before=7)
    with pytest.raises(TypeError, match="flush"):
        nft.delete_rule("inet", "t")
    with pytest.raises(TypeError, match="change"):
        nft.Transaction(["accept"])


def test_elements_are_what_their_set_makes_of_them(table):
    table.do(nft.add_set("inet", "t", "i", "ipv4_addr", interval=True))
    table.do(nft.add_elements("inet", "t", "s", ["10.0.0.1"]))
    table.do(nft.add_elements("inet", "t", "i", ["10.0.0.1"]))
    assert [one.key for one in table.dump(nft.elements("inet", "t", "s"))] == [IPv4Address("10.0.0.1")]
    assert [one.key for one in table.dump(nft.elements("inet", "t", "i"))] == [IPv4Network("10.0.0.1/32")]
    with pytest.raises(nl.NotFound, match="set 'inet t missing'"):
        table.do(nft.add_elements("inet", "t", "missing", ["10.0.0.1"]))
    with pytest.raises(nl.Exists, match="add elements to inet t s"):
        table.do(nft.add_elements("inet", "t", "s", ["10.0.0.1"]))
    table.do(nft.add_elements("inet", "t", "s", ["10.0.0.1", "10.0.0.2"], exist_ok=True))
    with pytest.raises(nl.NotFound):
        table.do(nft.delete_elements("inet", "t", "s", ["10.0.0.2", "10.0.0.3"]))
    assert count(table) == 2
    table.do(nft.delete_elements("inet", "t", "s", ["10.0.0.2", "10.0.0.3"], missing_ok=True))
    assert count(table) == 1
    table.do(nft.flush_set("inet", "t", "s"))
    assert count(table) == 0
    known = table.do(nft.set_("inet", "t", "i"))
    table.do(nft.delete_elements("inet", "t", known, [IPv4Network("10.0.0.1/32")]))
    assert count(table, "i") == 0


# mdlayher/netlink#191, #221, #304; google/nftables#303
def test_more_elements_than_one_message_holds(table):
    table.do(nft.add_elements("inet", "t", "s", map(IPv4Address, range(4096))))
    assert count(table) == 4096


# google/nftables#103, #350: an error although the change was made, since acknowledgements did not fit.
def test_many_errors_all_arrive(table):
    changes = [nft.add_rule("inet", "t", f"missing{number}", nft.accept()) for number in range(2000)]
    with pytest.raises(nl.BatchError) as caught:
        table.do(nft.Transaction(changes))
    assert [error.request for error in caught.value.exceptions] == changes
    assert table.stats.overruns == 0


@pytest.fixture
def small_buffers(monkeypatch):
    """As for who may not go beyond net.core.rmem_max."""
    enlarge = Socket.set_receive_buffer
    monkeypatch.setattr(Socket, "set_receive_buffer", lambda socket, size: enlarge(socket, 8192))


def test_handles_are_left_out_where_they_do_not_fit(table, small_buffers):
    rules = [nft.add_rule("inet", "t", "c", nft.accept()) for _ in range(1000)]
    assert table.do(nft.Transaction(rules)).handles.keys() <= {rules[0]}
    assert len(table.collect(nft.rules("inet", "t", "c"))) == 1000
    assert table.stats.overruns == 0


def test_errors_that_do_not_fit_are_lost_but_not_that_it_failed(table, small_buffers):
    changes = [nft.add_rule("inet", "t", "missing", nft.accept()) for _ in range(1000)]
    with pytest.raises(nl.BatchError, match="nothing was changed") as caught:
        table.do(nft.Transaction([nft.add_rule("inet", "t", "c", nft.accept()), *changes]))
    assert 0 < len(caught.value.exceptions) < 1000
    assert table.collect(nft.rules("inet", "t", "c")) == []
    assert table.do(nft.add_rule("inet", "t", "c", nft.accept())).handles


def test_handles_may_be_left_out(table):
    rules = [nft.add_rule("inet", "t", "c", nft.accept()) for _ in range(10)]
    result = table.do(nft.Transaction(rules, handles=False))
    assert result.handles.keys() == {rules[0]}
    assert result.generation == table.do(nft.generation()).id


def test_which_generation_it_made(table):
    """The kernel says so where the first change adds something, and any that was made for a generation knows itself."""
    for first in (nft.add_rule("inet", "t", "c", nft.match("tcp dport", {22, 80})), nft.add_chain("inet", "t", "new")):
        change = nft.add_rule("inet", "t", "c", nft.accept())
        result = table.do(nft.Transaction([first, change]))
        assert result.generation == table.do(nft.generation()).id
        assert result.handles.keys() == {first, change}
        assert type(result.records[first]) is first.record
    flush = nft.flush_chain("inet", "t", "c")
    result = table.do(nft.Transaction([flush, nft.add_rule("inet", "t", "c")], genid=result.generation))
    assert result.generation == table.do(nft.generation()).id
    assert table.do(nft.Transaction([flush, nft.add_rule("inet", "t", "c")])).generation is None


def test_what_is_looked_at_after_a_transaction_is_whole(table):
    """The socket is put back clean."""
    for number in range(100):
        table.do(
            nft.Transaction([nft.add_chain("inet", "t", f"c{number}"), nft.delete_chain("inet", "t", f"c{number}")])
        )
        with pytest.raises(nl.BatchError):
            table.do(nft.Transaction([nft.add_chain("inet", "t", "c"), nft.add_chain("inet", "t", "c")]))
    assert [chain.name for chain in table.dump(nft.chains())] == ["c"]
    assert table.stats.stale == 0


def test_a_transaction_is_no_part_of_a_batch(conn):
    with pytest.raises(ValueError, match="is one in itself"):
        conn.batch([nft.Transaction([nft.add_table("inet", "t")])])


def test_who_may_not_is_told(conn):
    from namespaces import powerless

    def attempt():
        with nl.Conn(nl.NETLINK_NETFILTER, timeout=30) as mine, pytest.raises(nl.NotPermitted, match="CAP_NET_ADMIN"):
            mine.do(nft.Transaction([nft.add_table("inet", "t"), nft.add_table("ip", "t")]))

    powerless(attempt)


def test_a_dump_of_elements_may_be_left(table):
    table.do(nft.add_elements("inet", "t", "s", map(IPv4Address, range(20_000))))
    for number, _ in enumerate(table.dump(nft.elements("inet", "t", "s"))):
        if number == 10:
            break
    with table.dump(nft.elements("inet", "t", "s")) as results:
        next(results)
    assert count(table) == 20_000


def test_what_is_missing_of_a_set_is_told_by_name(table):
    with pytest.raises(nl.NotFound, match=r"set 'inet t nowhere': .*\(attribute name\)"):
        table.do(nft.add_elements("inet", "t", "nowhere", ["192.0.2.1"]))
    with pytest.raises(nl.NotFound, match=r"\(attribute table\)"):
        table.do(nft.add_elements("inet", "elsewhere", "s", ["192.0.2.1"]))
