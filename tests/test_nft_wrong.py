"""What nobody can have meant is refused before anything is sent, and the error says what it was."""

import sys
from ipaddress import IPv4Address, IPv6Address

import pytest

import netlink_codec as nl
from netlink_codec import nft
from netlink_codec.nft.elements import Reading
from netlink_codec.nft.sets import listed
from netlink_codec.nft.transaction import Assembly

Range = nft.Range
CALLS_WITH_NAMES = [
    (nft.add_table, "table", 1),
    (nft.delete_table, "table", 1),
    (nft.flush_table, "table", 1),
    (nft.table, "table", 1),
    (nft.add_chain, "chain", 2),
    (nft.delete_chain, "chain", 2),
    (nft.flush_chain, "chain", 2),
    (nft.chain, "chain", 2),
    (nft.add_rule, "chain", 2),
    (lambda *place: nft.replace_rule(*place, 7), "chain", 2),
    (lambda *place: nft.rule(*place, 7), "chain", 2),
    (lambda *place: nft.add_set(*place, "mark"), "set", 2),
    (lambda *place: nft.add_map(*place, "mark", "verdict"), "set", 2),
    (nft.delete_set, "set", 2),
    (nft.flush_set, "set", 2),
    (nft.set_, "set", 2),
    (nft.elements, "set", 2),
    (lambda *place: nft.element(*place, 7), "set", 2),
    (lambda *place: nft.add_elements(*place, [7]), "set", 2),
    (lambda *place: nft.delete_elements(*place, []), "set", 2),
    (lambda *place: nft.add_object(*place, nft.CounterObj()), "object", 2),
    (lambda *place: nft.delete_object(*place, "counter"), "object", 2),
    (lambda *place: nft.object_(*place, "counter"), "object", 2),
    (nft.add_flowtable, "flowtable", 2),
    (nft.delete_flowtable, "flowtable", 2),
    (nft.flowtable, "flowtable", 2),
    (lambda *place: nft.rename_chain(place[0], place[1], 7, place[2]), "chain", 2),
]


@pytest.mark.parametrize(("call", "what", "count"), CALLS_WITH_NAMES, ids=range(len(CALLS_WITH_NAMES)))
def test_what_has_no_name(call, what, count):
    """To the kernel, a deletion without a name is one of everything."""
    good = ["t", "x"][:count]
    call("inet", *good)
    for number in range(count):
        kind = what if number == count - 1 else "table"
        for wrong, error, text in (
            (None, TypeError, "is a str"),
            (7, TypeError, "is a str"),
            ("", ValueError, "is empty"),
        ):
            names = [*good]
            names[number] = wrong
            with pytest.raises(error, match=f"the name of a {kind} {text}"):
                call("inet", *names)


def expanded(*items, family="inet"):
    change = nft.add_rule(family, "t", "c", *items)
    return Assembly([change], None, True, change, ())


CALLS = {
    "a rule beside text": (lambda: nft.add_rule("inet", "t", "c", before="7"), TypeError, "handle.*not '7'"),
    "a rule beside a table": (
        lambda: nft.add_rule("inet", "t", "c", after=nft.add_table("inet", "t")),
        TypeError,
        "add table",
    ),
    "a handle": (lambda: nft.delete_rule("inet", "t", "c", "7"), TypeError, "handle of a rule"),
    "a handle to replace": (lambda: nft.replace_rule("inet", "t", "c", None), TypeError, "handle of a rule"),
    "an object": (lambda: nft.add_object("inet", "t", "o", nft.counter()), TypeError, "CounterObj"),
    "comment": (lambda: nft.add_rule("inet", "t", "c", comment=7), TypeError, "comment is a str"),
    "comment of bytes": (lambda: nft.add_table("inet", "t", comment=b"x"), TypeError, "comment is a str"),
    "comment with NUL": (lambda: nft.add_table("inet", "t", comment="a\0b"), ValueError, "comment.*NUL"),
    "long comment": (lambda: nft.add_rule("inet", "t", "c", comment="x" * 254), ValueError, "254 bytes is 1 too long"),
    "chain without hook": (lambda: nft.add_chain("inet", "t", "c", dev="lo"), TypeError, "chain c: .*hook"),
    "priority without hook": (lambda: nft.add_chain("inet", "t", "c", priority=5), TypeError, "chain c: .*hook"),
    "hook of netdev": (lambda: nft.add_chain("netdev", "t", "c", hook="input"), ValueError, "'input'.*ingress, egress"),
    "hook of arp": (lambda: nft.add_chain("arp", "t", "c", hook="ingress"), ValueError, "'ingress'.*input, output"),
    "priority": (lambda: nft.add_chain("inet", "t", "c", hook="input", priority=1.5), TypeError, "priority.*1.5"),
    "priority of words": (
        lambda: nft.add_chain("inet", "t", "c", hook="input", priority="filter+x"),
        ValueError,
        r"'filter\+x'",
    ),
    "no devices": (lambda: nft.delete_chain("netdev", "t", "c", dev=[]), ValueError, "no device"),
    "no devices of a flowtable": (lambda: nft.delete_flowtable("inet", "t", "f", ()), ValueError, "no device"),
    "every interface": (lambda: expanded(nft.match("iifname", "*")), ValueError, "every name"),
    "long interface": (lambda: expanded(nft.match("iifname", "x" * 16 + "*")), ValueError, "16 bytes of ifname"),
    "long interface in a set": (lambda: expanded(nft.match("iifname", {"x" * 16 + "*"})), ValueError, "16 bytes"),
    "elements in text": (lambda: nft.add_elements("inet", "t", "s", "10.0.0.1"), TypeError, "list.*'10.0.0.1'"),
    "one element": (lambda: nft.delete_elements("inet", "t", "s", nft.Element("x")), TypeError, "list or the like"),
    "no elements": (lambda: nft.add_set("inet", "t", "s", "mark", 7), TypeError, "list or the like, not 7"),
    "a type": (lambda: nft.add_set("inet", "t", "s", 7), TypeError, "data types.*7"),
    "a type without a size": (lambda: nft.add_set("inet", "t", "s", "mark . integer"), ValueError, "integer.*size"),
    "a value without a size": (lambda: nft.add_map("inet", "t", "s", "mark", "lladdr"), ValueError, "lladdr.*size"),
    "many parts": (lambda: nft.add_set("inet", "t", "s", " . ".join(["mark"] * 6)), ValueError, "at most 5 parts"),
    "a map to nothing": (lambda: nft.add_map("inet", "t", "s", "mark", None), TypeError, "map s"),
    "a map to no object": (lambda: nft.add_map("inet", "t", "s", "mark", "unspec"), ValueError, "'unspec'"),
    "expressions of a set": (
        lambda: nft.add_set("inet", "t", "s", "mark", expressions=nft.counter()),
        TypeError,
        "as a list",
    ),
    "a transaction of one": (lambda: nft.Transaction(nft.add_table("inet", "t")), TypeError, "a list of changes"),
    "genid of text": (lambda: nft.Transaction([], genid="7"), TypeError, "generation is a number, not '7'"),
    "negative genid": (lambda: nft.Transaction([], genid=-1), ValueError, "-1 is out of range"),
    "large genid": (lambda: nft.Transaction([], genid=1 << 32), ValueError, "out of range"),
    "rate": (lambda: nft.limit("x/second"), ValueError, "'x/second': a rate"),
    "rate in numbers": (lambda: nft.limit(10), TypeError, "a rate is a str"),
    "jump": (lambda: nft.jump(7), TypeError, "name of a chain"),
    "goto": (lambda: nft.goto(""), ValueError, "name of a chain"),
    "level of a group": (lambda: nft.log("x", group=1, level="info"), TypeError, "level"),
    "length of the kernel log": (lambda: nft.log("x", snaplen=80), TypeError, "snaplen"),
    "fields": (lambda: nft.match([], 7), ValueError, "no field"),
    "field": (lambda: nft.match(7, 7), TypeError, "named by a str, not 7"),
    "nothing": (lambda: nft.match("tcp dport", set()), ValueError, "match tcp dport"),
    "None": (lambda: nft.match("tcp dport", None), ValueError, "match tcp dport"),
    "verdicts": (lambda: nft.vmap("tcp dport", [1]), TypeError, "vmap tcp dport"),
    "a map without @": (lambda: nft.vmap("tcp dport", "web"), TypeError, "vmap tcp dport.*'web'"),
    "set of a rule": (lambda: nft.add_to_set(7, "ip saddr"), TypeError, "name of a set"),
    "state": (lambda: expanded(nft.match("ct state", "fresh")), ValueError, "'fresh' is not a word of ct_state"),
    "port": (lambda: expanded(nft.match("tcp dport", "ssh")), ValueError, "'ssh' is not a number of inet_service"),
    "address": (lambda: expanded(nft.match("ip saddr", {7})), TypeError, "7 is not an address"),
    "network": (lambda: expanded(nft.match("ip saddr", "::/0")), ValueError, "4 octets"),
    "range": (lambda: Range(5, IPv4Address(7)), TypeError, "5 and IPv4Address"),
    "range of families": (lambda: Range(IPv4Address(7), IPv6Address(8)), TypeError, "of one kind"),
    "a chain of rules, anywhere": (lambda: nft.rules(chain="c", reset=True), TypeError, "chain 'c'"),
    "a chain of rules of any family": (lambda: nft.rules(None, "t", "c"), TypeError, "chain 'c'"),
    "table of a list": (lambda: nft.chains("inet", 7), TypeError, "name of a table"),
}


@pytest.mark.parametrize(("call", "error", "text"), CALLS.values(), ids=CALLS)
def test_what_is_wrong(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_rule_beside_one_of_another_transaction():
    one, other = nft.add_rule("inet", "t", "c"), nft.add_rule("inet", "t", "c")
    beside = nft.add_rule("inet", "t", "c", before=one)
    for changes in ([beside], [other, beside], [beside, one]):
        with pytest.raises(ValueError, match="'add rule to inet t c' is not in this transaction, before"):
            nft.Transaction(changes).plan()
    assert len(nft.Transaction([one, beside]).plan().messages) == 3


def test_a_map_leads_somewhere():
    (objects,) = nft.add_map("inet", "t", "m", "mark", "counter").sets
    for wrong in (7, nft.Element(7, 8)):
        change = nft.add_elements("inet", "t", objects, [wrong])
        with pytest.raises(TypeError, match="name of an object"):
            nft.Transaction([change]).plan()
    change = nft.add_set("inet", "t", "s", "mark", {7: 8})
    with pytest.raises(TypeError, match="a set has no values"):
        nft.Transaction([change]).plan()


def test_words_as_nft_writes_them():
    assert nft.named("ct helper", "x").imm_type is nft.OBJECT.CT_HELPER
    assert nft.named("ct expectation", "x").imm_type is nft.OBJECT.CT_EXPECT
    (known,) = nft.add_map("inet", "t", "m", "mark", "ct timeout").sets
    assert known.obj_type is nft.OBJECT.CT_TIMEOUT
    assert [Range("9", "10"), Range("0x9", 10)] == [Range(9, 10)] * 2
    assert Range("10.0.0.1", IPv4Address("10.0.0.9")).first == IPv4Address("10.0.0.1")
    assert nft.TYPES["boolean"].write("false") == b"\0"


def test_sets_whose_names_have_blanks_are_not_mixed_up():
    one, other = (nft.add_elements("inet", *place, [7]) for place in (("a b", "c"), ("a", "b c")))
    assert len(nft.Transaction([one, other]).late) == 2
    assert len({*one.late, *nft.add_elements("inet", "a b", "c", [8]).late}) == 1


def test_what_must_be_looked_up_is_known_as_changes_are_added():
    change = nft.Transaction()
    change.add(nft.add_elements("inet", "t", "before", [7]), nft.add_set("inet", "t", "made", "mark"))
    change.add(nft.add_elements("inet", "t", "made", [7]), nft.add_elements("inet", "t", "after", [7]))
    assert [one.set for one in change.late] == ["before", "after"]


# google/nftables#367
def test_elements_that_make_no_sense():
    def told(known, *elements):
        message = nl.Message(nft.MSG.NEWSETELEM, 0, nft.RawElements(table="t", set="s", elements=elements))
        unfolding = nft.elements("inet", "t", known).unfolding()
        return [*unfolding.feed(message), *unfolding.rest()]

    def raw(data):
        return nft.RawElement(key=nft.Data(value=data))

    plain, interval, pair = (
        nft.add_set("inet", "t", "s", kind, interval=wide).sets[0]
        for kind, wide in (("ipv4_addr", False), ("ipv4_addr", True), ("mark . mark", True))
    )
    upside_down = nft.RawElement(key=nft.Data(value=bytes(4) + b"\1" * 4), key_end=nft.Data(value=bytes(8)))
    for known, elements in ((plain, [raw(b"\1\1")]), (plain, [nft.RawElement(key=nft.Data())])):
        with pytest.raises(nl.DecodeError):
            told(known, *elements)
    # What is in order as bytes, or is not, is told as it is; what a dump met twice is told once.
    ((first, last),) = (one.key for one in told(pair, upside_down))
    assert (first, last.first, last.last) == (0, 0x01010101, 0)
    assert len(told(interval, raw(b"\1\0\0\0"), raw(b"\1\0\0\0"))) == 1


def test_a_set_of_keys_that_no_kernel_has():
    known = nft.Set(table="t", name="s", key_type=7, key_len=1 << 30, flags=nft.SET_F(0))
    message = nl.Message(nft.MSG.NEWSETELEM, 0, listed(1, "t", "s", b""))
    assert Reading(known.shape).feed(message) == []


def test_times_of_four_bytes():
    told = bytes((0, 4)) + (1).to_bytes(4, sys.byteorder)
    known = nft.Set(table="t", name="s", key_type=18, key_len=4, flags=nft.SET_F(0), userdata=told)
    key = nft.Data(value=(7).to_bytes(4, sys.byteorder))
    lists = nft.RawElements(table="t", set="s", elements=(nft.RawElement(key=key),))
    assert [one.key for one in nft.read_elements(known, lists)] == [7]


def test_the_verdict_of_what_is_none():
    for data in (None, nft.Immediate(dreg=0), nft.Immediate(dreg=0, data=nft.Data())):
        expression = nft.Expression(name="immediate") if data is None else nft.Expression(data=data)
        assert nft.Rule(expressions=(expression,)).verdict is None
