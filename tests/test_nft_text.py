"""Rules in the words of the `nft` tool: what it makes of them is what was told."""

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

import netlink_codec as nl
from namespaces import network
from netlink_codec import nft
from netlink_codec.nft.fields import FIELDS
from netlink_codec.nft.words import BITS, WORDS
from nft_tool import NFT, needs_nft, nft_run, nft_text
from test_nft_expressions import VECTORS, rule_of
from test_nft_tool import NAT, RULES

MORE = (Path(__file__).parent / "vectors" / "nft_more_rules.tsv").read_text().splitlines()
CORPUS = sorted({tuple(line[:2]) for line in VECTORS} | {tuple(line.split("\t")) for line in MORE})
FAMILIES = sorted({family for family, _ in CORPUS})

BUILT = {shown[0]: built for shown, built in RULES} | {shown: built for shown, _, built in NAT}

RAW = {
    'meta day "Monday"',
    'meta hour "10:00"-"12:00"',
    "meta mark & 0xff > 5",
    "ct expiration 10s",
    "ct expiration 1s",
    "ct expiration < 10s",
    "ct label 3",
    "ct event set new,destroy",
    "rt ipsec exists",
    'osf name "Linux"',
    'osf ttl loose version "Linux:4.20"',
    "exthdr frag exists",
    "frag frag-off 1",
    "rt type 0",
    "tcp option maxseg exists",
    "tcp option maxseg size 1000",
    "tcp option maxseg size set 1400",
    "ip option ra exists",
    "sctp chunk data exists",
    "ipsec in reqid 1",
    "ipsec out spi 5",
    "ipsec in ip saddr 192.0.2.1",
    "udp checksum set 0",
    "ip ttl set 5",
    "snat ip prefix to ip saddr map { 10.0.0.0/24 : 192.0.2.0/24 }",
    "tcp dport 80 dnat ip to 192.0.2.1 : tcp dport map { 80 : 8080 }",
}
"""That there are no words for."""

SETS = """
table inet t {
 set plain { type ipv4_addr; flags interval; }
 set marks { type mark; flags interval; }
 set pairs { type ipv4_addr . inet_service; }
 set dyn { type ipv4_addr; flags dynamic,timeout; size 100; }
 set seen { type ipv4_addr; flags dynamic,timeout; size 100; }
 map om { type ipv4_addr : counter; }
 map am { type ipv4_addr : ipv4_addr; }
 map mm { type inet_service : mark; }
 map dm { type ipv4_addr : ipv4_addr . inet_service; }
 map dynmap { type ipv4_addr : mark; flags dynamic; size 100; }
 map verdicts { type inet_service : verdict; }
 counter cn { }
 counter hits { }
 quota qn { 25 mbytes }
 limit ln { rate 10/second }
 chain other { }
}
"""
CHAINS = {
    "filter": "type filter hook input priority 0",
    "raw": "type filter hook prerouting priority -300",
    "forward": "type filter hook forward priority 0",
    "out": "type filter hook output priority 0",
    "leaving": "type nat hook postrouting priority 100",
    "coming": "type nat hook prerouting priority -100",
}
ODD = """
table inet t {
 synproxy sp { mss 1460; wscale 7; timestamp sack-perm; }
 ct helper h { type "ftp" protocol tcp; }
 ct timeout to {
  protocol tcp;
  policy = { established: 100 }
 }
 ct expectation e { protocol tcp; l3proto ip; dport 9; timeout 1h; size 5; }
}
"""


def nft_error(ruleset):
    """Why `nft` or the kernel does not take it."""
    return subprocess.run([NFT, "-f", "-"], input=ruleset, text=True, capture_output=True).stderr


def nft_tries(ruleset):
    return not nft_error(ruleset)


@pytest.fixture
def conn():
    with network(), nl.Conn(nl.NETLINK_NETFILTER, timeout=30) as conn:
        nft_run(SETS)
        nft_tries(ODD)  # of what not every kernel has
        for family in FAMILIES:
            for name, how in CHAINS.items():
                if family == "netdev":
                    how = "type filter hook ingress device lo priority 0"
                nft_tries(f"table {family} t {{ chain {name} {{ {how}; }}; }}")
        yield conn


def made(conn, family, chain):
    (rule,) = conn.collect(nft.rules(family, "t", chain))
    return rule


def normal(conn, rule):
    """Its expressions; in the place of a set without a name, what it is."""
    found = []
    for expression in rule.expressions:
        shown = expression.to_dict()
        name = shown.get("data", {}).get("set", "")
        if name.startswith("__"):
            one = conn.do(nft.set_(rule.family, rule.table, name))
            elements = sorted(repr(element) for element in conn.dump(nft.elements(rule.family, rule.table, one)))
            facts = one.flags, one.key_type, one.key_len, one.data_type, one.data_len
            shown["data"]["set"] = facts, elements
        found.append(shown)
    return found


def is_raw(text):
    """Addresses with ports have brackets, too."""
    return "[" in text.replace("[2001:", "")


def told_again(conn, rule):
    """The rule in words, and whether nft makes the same of them: None if they are not all words."""
    text = conn.do(nft.describe(rule))
    before = normal(conn, rule)
    nft_run(f"flush chain {rule.family.word} t {rule.chain}")
    if is_raw(text):
        return text, None
    if not nft_tries(f"add rule {rule.family.word} t {rule.chain} {text}"):
        return text, False
    after = normal(conn, made(conn, rule.family, rule.chain))
    nft_run(f"flush chain {rule.family.word} t {rule.chain}")
    return text, before == after


@pytest.mark.kernel
@needs_nft
@pytest.mark.parametrize("family", FAMILIES)
def test_what_nft_makes_is_told_so_that_it_makes_it_again(conn, family):
    told, raw, wrong = 0, set(), {}
    rules = [text for one, text in CORPUS if one == family]
    for rule in rules:
        chain = next((name for name in CHAINS if nft_tries(f"add rule {family} t {name} {rule}")), None)
        if chain is None:
            continue  # this kernel has no such expression
        text, same = told_again(conn, made(conn, family, chain))
        told += bool(same)
        raw |= {rule} if same is None else set()
        wrong |= {rule: text} if same is False else {}
    assert wrong == {}
    assert raw <= RAW
    assert told > 0.7 * len(rules) - 6


@pytest.mark.kernel
@needs_nft
@pytest.mark.parametrize("built", BUILT.values(), ids=BUILT)
def test_what_is_built_here_is_told_so_that_nft_shows_the_same(conn, built):
    """How it is built differs in places, and what it does does not."""
    chains = ["filter", "forward", "leaving", "coming"]
    while True:
        chain = chains.pop(0)
        try:
            conn.do(nft.add_rule("inet", "t", chain, *built))
        except OSError:
            if not chains:
                raise
        else:
            break
    shown = nft_text(f"list chain inet t {chain}")
    text = conn.do(nft.describe(made(conn, "inet", chain)))
    assert not is_raw(text)
    nft_run(f"flush chain inet t {chain}\nadd rule inet t {chain} {text}")
    assert nft_text(f"list chain inet t {chain}") == shown


VALUES = {
    "ifname": "lo",
    "ipv4_addr": "10.0.0.1",
    "ipv6_addr": "2001:db8::1",
    "ether_addr": "02:00:00:00:00:01",
    "ct_state": "new",
    "ct_status": 4,
    "string": "ftp",
    "inet_proto": 6,
    "ecn": 3,
    "boolean": True,
}
ONE_BIT = ("vlan dei", "frag more-fragments")
SHOWN_RAW = {
    *("icmp id", "icmp sequence", "icmpv6 id", "icmpv6 sequence"),
    *("rt ipsec", "ipsec in reqid", "ipsec in spi", "ipsec out reqid", "ipsec out spi", "osf name"),
    *("frag frag-off", "frag more-fragments", "tcp option mptcp subtype"),
    *("meta time", "meta hour"),
}
NOT_OF_NFT = {"ct label", "ct expiration", "meta nftrace"}


@pytest.mark.kernel
@needs_nft
def test_every_field(conn):
    wrong, missing = {}, set()
    for name, field in FIELDS.items():
        family = "arp" if name.startswith("arp") else "bridge" if "brname" in name else "inet"
        value = 1 if name in ONE_BIT or name.endswith(" check") else 5
        match = [nft.match(name, VALUES.get(field.type.name, value))] if name not in NOT_OF_NFT else []
        if "proto-" in name:
            match.insert(0, nft.match("l4proto", "tcp"))
        for chain in CHAINS if match else ():
            try:
                conn.do(nft.add_rule(family, "t", chain, *match))
            except OSError:
                continue
            text, same = told_again(conn, made(conn, family, chain))
            if name in SHOWN_RAW:
                assert is_raw(text) or "@th" in text
            elif re.sub(" check$", " oif exists", name.removeprefix("meta ")) not in text or not same:
                wrong[name] = text
            break
        else:
            missing.add(name)
    assert wrong == {}
    assert missing <= NOT_OF_NFT | {"meta ibrname", "meta obrname", "ct event"}


def merged(expressions):
    """Bytes side by side that are compared one after another, as one comparison: `nft` does so at times."""
    found = []
    for one in expressions:
        found.append(one)
        if [each["name"] for each in found[-4:]] != ["payload", "cmp", "payload", "cmp"]:
            continue
        first, second = ((load["data"], compare["data"]) for load, compare in (found[-4:-2], found[-2:]))
        if all(compare["op"] == "==" for _, compare in (first, second)) and (
            first[0]["base"],
            first[0]["offset"] + first[0]["len"],
        ) == (second[0]["base"], second[0]["offset"]):
            load = first[0] | {"len": first[0]["len"] + second[0]["len"]}
            value = first[1]["data"]["value"] + second[1]["data"]["value"]
            found[-4:] = [
                {"name": "payload", "data": load},
                {"name": "cmp", "data": first[1] | {"data": {"value": value}}},
            ]
    return found


def listed():
    """What `nft` shows of a rule that it did not make: it may be no text at all, and `nft` may die of it."""
    return subprocess.run([NFT, "list", "chain", "inet", "t", "raw"], capture_output=True).stdout


REFUSED = ("has no effect", "datatype mismatch", "conflicting protocols")
"""What `nft` says of rules that it would not make, and whose words are none the less true."""


@pytest.mark.kernel
@needs_nft
def test_rules_out_of_order(conn):
    """With expressions missing, or moved, it is told what is there, or shown raw; and nothing fails."""
    generator = random.Random(7)
    rules = [rule_of(sent) for family, text, sent, _ in VECTORS if family == "inet" and "__" not in text]
    tried = 0
    for _ in range(300):
        pool = [one for rule in generator.sample(rules, 2) for one in rule.expressions]
        some = [one for one in pool if generator.random() < 0.75]
        if generator.random() < 0.4:
            generator.shuffle(some)
        try:
            conn.do(nft.add_rule("inet", "t", "raw", *some))
        except (OSError, ValueError):
            continue
        rule = made(conn, "inet", "raw")
        shown = listed()
        text = conn.do(nft.describe(rule))
        nft_run("flush chain inet t raw")
        if is_raw(text) or not text:
            continue
        error = nft_error(f"add rule inet t raw {text}")
        if any(one in error for one in REFUSED):
            continue
        assert error == "", text
        again = made(conn, "inet", "raw")
        assert merged(normal(conn, again)) == merged(normal(conn, rule)) or listed() == shown, text
        nft_run("flush chain inet t raw")
        tried += 1
    assert tried > 20


def test_nothing_fails_for_strange_bytes():
    generator = random.Random(5)
    for _, _, sent, _ in VECTORS:
        data = bytearray.fromhex(sent)
        for _ in range(30):
            changed = bytearray(data)
            for _ in range(generator.randint(1, 4)):
                changed[generator.randrange(len(changed))] = generator.choice((0, 1, 8, 0x80, 0xFF))
            assert nft.rule_text(rule_of(changed.hex())) is not None


def test_without_a_connection():
    """What the words depend on is asked for; unknown sets, fields that need a family, and strange things stay raw."""
    texts = {text: sent for family, text, sent, _ in VECTORS if family == "inet"}

    def told(text, sets=None):
        rule = rule_of(texts[text])
        return nft.rule_text(rule.replace(family=nft.NFPROTO.INET), sets)

    assert told("ip saddr != 192.0.2.0/25") == "ip saddr != 192.0.2.0/25"
    assert nft.rule_text(rule_of(texts["ip saddr 192.0.2.1"])) == "meta nfproto ipv4 @nh,96,32 0xc0000201"
    looked_up = told("ip saddr != @plain")
    assert looked_up.startswith("meta nfproto ipv4 [payload dreg=1 base=network-header offset=12 len=4] [lookup ")
    assert "set=plain" in looked_up
    assert "flags=(INV)" in looked_up
    plain = nft.Set(family=nft.NFPROTO.INET, table="t", name="plain", key_type=7, key_len=4)
    assert told("ip saddr != @plain", lambda name: nft.KnownSet(plain, lambda shape: [])) == "ip saddr != @plain"
    wide = plain.replace(key_len=8)
    assert "[lookup" in told("ip saddr != @plain", lambda name: nft.KnownSet(wide, lambda shape: []))


def test_registers_have_two_numbers():
    def told(first, second):
        load = nft.Payload(dreg=first, base=nft.PAYLOAD.NETWORK_HEADER, offset=12, len=4)
        compare = nft.Cmp(sreg=second, op=nft.CMP.EQ, data=nft.Data(value=bytes((10, 0, 0, 1))))
        expressions = tuple(nft.Expression(data=one) for one in (load, compare))
        return nft.rule_text(nft.Rule(family=nft.NFPROTO.IPV4, expressions=expressions))

    assert told(1, 8) == told(8, 1) == told(2, 12) == "ip saddr 10.0.0.1"
    assert told(1, 2).startswith("[payload dreg=1 ")
    assert told(1, 99).startswith("[payload dreg=1 ")


def test_what_an_unknown_expression_reads_is_shown():
    load = nft.Payload(dreg=1, base=nft.PAYLOAD.NETWORK_HEADER, offset=12, len=4)
    compare = nft.Cmp(sreg=1, op=nft.CMP.EQ, data=nft.Data(value=bytes((10, 0, 0, 1))))
    future = nft.Expression(name="future")
    expressions = (nft.Expression(data=load), nft.Expression(data=compare), future, nft.Expression(data=compare))
    told = nft.rule_text(nft.Rule(family=nft.NFPROTO.IPV4, expressions=expressions))
    raw = "[payload dreg=1 base=network-header offset=12 len=4]"
    assert told == f"{raw} ip saddr 10.0.0.1 [future] [cmp sreg=1 op=== data={{value=0a000001}}]"


@needs_nft
def test_the_words_are_those_of_nft():
    for name, table in {**WORDS, **BITS}.items():
        asked = {"ecn": "ip ecn", "ct_event": "ct event"}.get(name, name).split()
        shown = subprocess.run([NFT, "describe", *asked], capture_output=True, text=True, check=True).stdout
        theirs = {word: int(number, 0) for word, number in re.findall(r"^\t(\S+)\s+(\w+)$", shown, re.M)}
        swapped = name in ("ether_type", "arp_op") and sys.byteorder == "little"
        for number, word in table.items():
            if (name, word) == ("ct_event", "synproxy"):  # newer than some of theirs
                continue
            if name == "day":
                word = word.capitalize()
            if name != "inet_proto":  # which are those of a file of the machine, but for a few
                assert theirs[word] == (int.from_bytes(number.to_bytes(2, "big"), "little") if swapped else number)
