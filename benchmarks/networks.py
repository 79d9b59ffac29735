"""What is in the networks that are dumped: made here, by the codec, in the namespace of the calling thread."""

import struct
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path

import netlink_codec as nl
import rtnl

RTM_NEWROUTE = 24
RTA_DST, RTA_OIF, RTA_PRIORITY, RTA_TABLE = 1, 4, 6, 15
RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_LINK, RTN_UNICAST = 254, 4, 253, 1

NFNL_MSG_BATCH_BEGIN, NFNL_MSG_BATCH_END = 16, 17
NFNL_SUBSYS_CTNETLINK, NFNL_SUBSYS_NFTABLES = 1, 10
NFT_MSG_NEWTABLE, NFT_MSG_NEWCHAIN, NFT_MSG_NEWRULE, NFT_MSG_GETRULE = 0, 3, 6, 7
NFTA_TABLE_NAME = 1
NFTA_CHAIN_TABLE, NFTA_CHAIN_NAME = 1, 3
NFTA_RULE_TABLE, NFTA_RULE_CHAIN, NFTA_RULE_HANDLE, NFTA_RULE_EXPRESSIONS = 1, 2, 3, 4
NFTA_LIST_ELEM = 1
NFTA_EXPR_NAME, NFTA_EXPR_DATA = 1, 2
NFTA_IMMEDIATE_DREG, NFTA_IMMEDIATE_DATA = 1, 2
NFTA_DATA_VERDICT, NFTA_VERDICT_CODE = 2, 1
NFT_REG_VERDICT, NF_ACCEPT = 0, 1

IPCTNL_MSG_CT_NEW, IPCTNL_MSG_CT_GET = 0, 1
CTA_TUPLE_ORIG, CTA_TUPLE_REPLY, CTA_PROTOINFO, CTA_TIMEOUT = 1, 2, 4, 7
CTA_TUPLE_IP, CTA_TUPLE_PROTO = 1, 2
CTA_IP_V4_SRC, CTA_IP_V4_DST = 1, 2
CTA_PROTO_NUM, CTA_PROTO_SRC_PORT, CTA_PROTO_DST_PORT = 1, 2, 3
CTA_PROTOINFO_TCP = CTA_PROTOINFO_TCP_STATE = 1
IPPROTO_TCP, TCP_CONNTRACK_ESTABLISHED = 6, 3

CREATE = nl.NLM_F_CREATE | nl.NLM_F_EXCL


def address(number: int) -> bytes:
    """A different one for each number."""
    return (10 << 24 | number + 1).to_bytes(4, "big")


def _run(protocol: int, messages: Iterable[nl.Message]) -> None:
    with nl.Conn(protocol, timeout=60) as conn:
        conn.batch([nl.Request(message) for message in messages], acknowledge="last")


class Unavailable(Exception):
    """This kernel makes no such network."""


# The route family -----------------------------------------------------------------------------------------------------


def make_links(count: int) -> None:
    """All but one, which every namespace has."""
    _run(
        nl.NETLINK_ROUTE,
        (
            rtnl.link(rtnl.RTM_NEWLINK, flags=CREATE, name=f"ifb{number}", kind="ifb", mtu=1000 + number)
            for number in range(count - 1)
        ),
    )


def link_fields(count: int) -> set[tuple[str, int]]:
    return {("lo", 65536)} | {(f"ifb{number}", 1000 + number) for number in range(count - 1)}


def _address(index: int, local: bytes) -> nl.Message:
    encoder = nl.AttributeEncoder(rtnl.IFADDRMSG.pack(rtnl.AF_INET, 32, 0, 0, index))
    encoder.data(rtnl.IFA_LOCAL, local)
    encoder.data(rtnl.IFA_ADDRESS, local)
    return nl.Message(rtnl.RTM_NEWADDR, CREATE, encoder)


def make_addresses(count: int) -> None:
    """Two on each link; the first made has index 2."""
    make_links(count // 2 + 1)
    _run(nl.NETLINK_ROUTE, (_address(2 + number // 2, address(number)) for number in range(count)))


def address_fields(count: int) -> set[tuple[int, bytes]]:
    return {(2 + number // 2, address(number)) for number in range(count)}


def _route(destination: bytes, index: int) -> nl.Message:
    header = rtnl.RTMSG.pack(rtnl.AF_INET, 32, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_LINK, RTN_UNICAST, 0)
    encoder = nl.AttributeEncoder(header)
    encoder.data(RTA_DST, destination)
    encoder.u32(RTA_OIF, index)
    encoder.u32(RTA_PRIORITY, 100)
    return nl.Message(RTM_NEWROUTE, CREATE, encoder)


def make_routes(count: int) -> None:
    make_links(2)
    _run(nl.NETLINK_ROUTE, [rtnl.link(rtnl.RTM_NEWLINK, 2, up=True)])
    _run(nl.NETLINK_ROUTE, (_route(address(number), 2) for number in range(count)))


def route_fields(count: int) -> set[tuple[int, int]]:
    return {(2, RT_TABLE_MAIN)}


def route_destinations(count: int) -> set[tuple[bytes, int]]:
    return {(address(number), 2) for number in range(count)}


# Netfilter ------------------------------------------------------------------------------------------------------------


def netfilter(subsystem: int, kind: int, flags: int = 0, family: int = rtnl.AF_INET, resource: int = 0) -> nl.Message:
    return nl.Message(subsystem << 8 | kind, flags, _nfgenmsg(family, resource))


def _nfgenmsg(family: int, resource: int = 0) -> bytes:
    return struct.pack("=BB", family, 0) + resource.to_bytes(2, "big")


def _nft(kind: int, encoder: nl.AttributeEncoder) -> nl.Message:
    return nl.Message(NFNL_SUBSYS_NFTABLES << 8 | kind, nl.NLM_F_REQUEST | CREATE, encoder)


def _table() -> nl.Message:
    encoder = nl.AttributeEncoder(_nfgenmsg(rtnl.AF_INET))
    encoder.string(NFTA_TABLE_NAME, "table")
    return _nft(NFT_MSG_NEWTABLE, encoder)


def _chain() -> nl.Message:
    encoder = nl.AttributeEncoder(_nfgenmsg(rtnl.AF_INET))
    encoder.string(NFTA_CHAIN_TABLE, "table")
    encoder.string(NFTA_CHAIN_NAME, "chain")
    return _nft(NFT_MSG_NEWCHAIN, encoder)


def _rule() -> nl.Message:
    """Accept."""
    encoder = nl.AttributeEncoder(_nfgenmsg(rtnl.AF_INET))
    encoder.string(NFTA_RULE_TABLE, "table")
    encoder.string(NFTA_RULE_CHAIN, "chain")
    with encoder.nested(NFTA_RULE_EXPRESSIONS), encoder.nested(NFTA_LIST_ELEM):
        encoder.string(NFTA_EXPR_NAME, "immediate")
        with encoder.nested(NFTA_EXPR_DATA):
            encoder.u32be(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT)
            with encoder.nested(NFTA_IMMEDIATE_DATA), encoder.nested(NFTA_DATA_VERDICT):
                encoder.u32be(NFTA_VERDICT_CODE, NF_ACCEPT)
    return _nft(NFT_MSG_NEWRULE, encoder).replace(flags=nl.NLM_F_REQUEST | nl.NLM_F_CREATE | nl.NLM_F_APPEND)


def _transact(conn: nl.Conn, messages: list[nl.Message]) -> None:
    """All or none; the last one's acknowledgement tells."""
    last = messages.pop()
    begin, end = (
        netfilter(0, kind, nl.NLM_F_REQUEST, family=0, resource=NFNL_SUBSYS_NFTABLES)
        for kind in (NFNL_MSG_BATCH_BEGIN, NFNL_MSG_BATCH_END)
    )
    conn.send_messages([begin, *messages, last.replace(flags=last.flags | nl.NLM_F_ACK), end])
    conn.receive()


def _rules(count: int) -> Iterator[nl.Message]:
    yield _table()
    yield _chain()
    rule = _rule()
    for _ in range(count):
        yield rule


def make_rules(count: int) -> None:
    with nl.Conn(nl.NETLINK_NETFILTER, timeout=60) as conn:
        messages = _rules(count)
        while part := list(islice(messages, 500)):
            _transact(conn, part)


def rule_fields(count: int) -> set[tuple[str, int]]:
    """Handles count within a table, and the chain has the first."""
    return {("table", handle) for handle in range(2, count + 2)}


def _tuple(
    encoder: nl.AttributeEncoder, type: int, source: bytes, source_port: int, target: bytes, target_port: int
) -> None:
    with encoder.nested(type):
        with encoder.nested(CTA_TUPLE_IP):
            encoder.data(CTA_IP_V4_SRC, source)
            encoder.data(CTA_IP_V4_DST, target)
        with encoder.nested(CTA_TUPLE_PROTO):
            encoder.u8(CTA_PROTO_NUM, IPPROTO_TCP)
            encoder.u16be(CTA_PROTO_SRC_PORT, source_port)
            encoder.u16be(CTA_PROTO_DST_PORT, target_port)


def _flow(number: int) -> nl.Message:
    ends = address(number), 40000, address(number + 2**20), 1 + number % 60000
    encoder = nl.AttributeEncoder(_nfgenmsg(rtnl.AF_INET))
    _tuple(encoder, CTA_TUPLE_ORIG, *ends)
    _tuple(encoder, CTA_TUPLE_REPLY, *ends[2:], *ends[:2])
    with encoder.nested(CTA_PROTOINFO), encoder.nested(CTA_PROTOINFO_TCP):
        encoder.u8(CTA_PROTOINFO_TCP_STATE, TCP_CONNTRACK_ESTABLISHED)
    encoder.u32be(CTA_TIMEOUT, 100_000)
    return nl.Message(NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_NEW, CREATE, encoder)


def make_flows(count: int) -> None:
    _run(nl.NETLINK_NETFILTER, map(_flow, range(count)))


def flow_fields(count: int) -> set[tuple[bytes, int]]:
    return {(address(number + 2**20), 1 + number % 60000) for number in range(count)}


@contextmanager
def room_for_flows(count: int) -> Iterator[None]:
    """Inside, the kernel tracks so many: the limit is the machine's own, which is put back. Before any namespace."""
    limits = Path("/proc/sys/net/netfilter/nf_conntrack_max"), Path("/sys/module/nf_conntrack/parameters/hashsize")
    with ExitStack() as stack:
        for limit in limits:
            try:
                before = limit.read_text()
                if int(before) >= count:
                    continue
                limit.write_text(str(count))
            except OSError as error:
                raise Unavailable(f"{limit}: {error.strerror}") from error
            stack.callback(limit.write_text, before)
        yield
