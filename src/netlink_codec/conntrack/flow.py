"""Tracked connections: CTA_* of <linux/netfilter/nfnetlink_conntrack.h>. Numbers are big-endian, but in filters."""

from ipaddress import IPv4Address, IPv6Address
from typing import Any

from ..records import (
    BYTES,
    IP4,
    IP6,
    STRING,
    U8,
    U16BE,
    U32,
    U32BE,
    U64BE,
    IPAddress,
    Record,
    Struct,
    as_enum,
    as_flags,
    attr,
    fixed,
    nested,
)
from .enums import CTA, CTA_FILTER_F, DCCP_CONNTRACK, IPPROTO, IPS, SCTP_CONNTRACK, TCP_CONNTRACK


class Addresses(Record):
    """Both ends: CTA_IP_*."""

    v4_src: IPv4Address | None = attr(1, IP4)
    v4_dst: IPv4Address | None = attr(2, IP4)
    v6_src: IPv6Address | None = attr(3, IP6)
    v6_dst: IPv6Address | None = attr(4, IP6)


class Protocol(Record):
    """What tells connections between two hosts apart: CTA_PROTO_*."""

    number: IPPROTO | None = attr(1, as_enum(U8, IPPROTO))
    src_port: int | None = attr(2, U16BE)
    dst_port: int | None = attr(3, U16BE)
    icmp_id: int | None = attr(4, U16BE)
    icmp_type: int | None = attr(5, U8)
    icmp_code: int | None = attr(6, U8)
    icmpv6_id: int | None = attr(7, U16BE)
    icmpv6_type: int | None = attr(8, U8)
    icmpv6_code: int | None = attr(9, U8)


class Tuple(Record):
    """One direction of a connection: CTA_TUPLE_*. The properties are what one asks most."""

    addresses: Addresses | None = attr(1, nested(Addresses))
    protocol: Protocol | None = attr(2, nested(Protocol))
    zone: int | None = attr(3, U16BE)
    """Where only this direction is in a zone."""

    @property
    def src(self) -> IPAddress | None:
        addresses = self.addresses
        if addresses is None:
            return None
        source = addresses.v4_src
        return addresses.v6_src if source is None else source

    @property
    def dst(self) -> IPAddress | None:
        addresses = self.addresses
        if addresses is None:
            return None
        destination = addresses.v4_dst
        return addresses.v6_dst if destination is None else destination

    @property
    def proto(self) -> IPPROTO | None:
        protocol = self.protocol
        return None if protocol is None else protocol.number

    @property
    def sport(self) -> int | None:
        """The source port; None of protocols without ports."""
        protocol = self.protocol
        return None if protocol is None else protocol.src_port

    @property
    def dport(self) -> int | None:
        """The destination port; None of protocols without ports."""
        protocol = self.protocol
        return None if protocol is None else protocol.dst_port

    def __str__(self) -> str:
        """`udp 10.0.0.1:40000 > 10.0.0.2:53`"""
        proto = self.proto
        words = ["-" if proto is None else proto.word, _end(self.src, self.sport), ">", _end(self.dst, self.dport)]
        protocol = self.protocol or Protocol()
        for kind, id in ((protocol.icmp_type, protocol.icmp_id), (protocol.icmpv6_type, protocol.icmpv6_id)):
            if kind is not None:
                words += [f"type={kind}", f"id={id}"]
        return " ".join(words)


def _end(address: IPAddress | None, port: int | None) -> str:
    text = "-" if address is None else str(address)
    if port is None:
        return text
    return f"[{text}]:{port}" if ":" in text else f"{text}:{port}"


class TcpFlags(Struct):
    """struct nf_ct_tcp_flags"""

    flags: int = fixed(U8, default=0)
    mask: int = fixed(U8, default=0)


class TcpInfo(Record):
    """CTA_PROTOINFO_TCP_*"""

    state: TCP_CONNTRACK | None = attr(1, as_enum(U8, TCP_CONNTRACK))
    wscale_orig: int | None = attr(2, U8)
    wscale_reply: int | None = attr(3, U8)
    flags_orig: TcpFlags | None = attr(4, nested(TcpFlags))
    flags_reply: TcpFlags | None = attr(5, nested(TcpFlags))


class DccpInfo(Record):
    """CTA_PROTOINFO_DCCP_*"""

    state: DCCP_CONNTRACK | None = attr(1, as_enum(U8, DCCP_CONNTRACK))
    role: int | None = attr(2, U8)
    handshake_seq: int | None = attr(3, U64BE)


class SctpInfo(Record):
    """CTA_PROTOINFO_SCTP_*"""

    state: SCTP_CONNTRACK | None = attr(1, as_enum(U8, SCTP_CONNTRACK))
    vtag_orig: int | None = attr(2, U32BE)
    vtag_reply: int | None = attr(3, U32BE)


class ProtoInfo(Record):
    """CTA_PROTOINFO_*"""

    tcp: TcpInfo | None = attr(1, nested(TcpInfo))
    dccp: DccpInfo | None = attr(2, nested(DccpInfo))
    sctp: SctpInfo | None = attr(3, nested(SctpInfo))


class Counters(Record):
    """What went in one direction: CTA_COUNTERS_*. Only where net.netfilter.nf_conntrack_acct is on."""

    packets: int | None = attr(1, U64BE)
    bytes: int | None = attr(2, U64BE)


class Timestamp(Record):
    """CTA_TIMESTAMP_*, in nanoseconds since 1970. Only where net.netfilter.nf_conntrack_timestamp is on."""

    start: int | None = attr(1, U64BE)
    stop: int | None = attr(2, U64BE)


class NatPorts(Record):
    """CTA_PROTONAT_*"""

    port_min: int | None = attr(1, U16BE)
    port_max: int | None = attr(2, U16BE)


class Nat(Record):
    """What addresses a new connection is given: CTA_NAT_*; only in requests."""

    v4_minip: IPv4Address | None = attr(1, IP4)
    v4_maxip: IPv4Address | None = attr(2, IP4)
    ports: NatPorts | None = attr(3, nested(NatPorts))
    v6_minip: IPv6Address | None = attr(4, IP6)
    v6_maxip: IPv6Address | None = attr(5, IP6)


class SeqAdj(Record):
    """CTA_SEQADJ_*"""

    correction_pos: int | None = attr(1, U32BE)
    offset_before: int | None = attr(2, U32BE)
    offset_after: int | None = attr(3, U32BE)


class Help(Record):
    """CTA_HELP_*"""

    name: str | None = attr(1, STRING)
    info: bytes | None = attr(2, BYTES)


class SecCtx(Record):
    """CTA_SECCTX_*"""

    name: str | None = attr(1, STRING)


class SynProxy(Record):
    """CTA_SYNPROXY_*"""

    isn: int | None = attr(1, U32BE)
    its: int | None = attr(2, U32BE)
    tsoff: int | None = attr(3, U32BE)


class Filter(Record):
    """CTA_FILTER_*: which parts of the tuples beside it a dump looks at."""

    orig_flags: CTA_FILTER_F | None = attr(1, as_flags(U32, CTA_FILTER_F))
    reply_flags: CTA_FILTER_F | None = attr(2, as_flags(U32, CTA_FILTER_F))


class Flow(Record, identity=("family", "zone", "orig")):
    """A tracked connection: struct nfgenmsg and CTA_*."""

    family: int = fixed(U8, default=0)
    """AF_INET (2) or AF_INET6 (10)."""
    version: int = fixed(U8, default=0)
    res_id: int = fixed(U16BE, default=0)
    orig: Tuple | None = attr(CTA.TUPLE_ORIG, nested(Tuple))
    """As the one who began it sends."""
    reply: Tuple | None = attr(CTA.TUPLE_REPLY, nested(Tuple))
    """As the other end answers: not the reverse, where addresses are translated."""
    status: IPS | None = attr(CTA.STATUS, as_flags(U32BE, IPS))
    protoinfo: ProtoInfo | None = attr(CTA.PROTOINFO, nested(ProtoInfo))
    help: Help | None = attr(CTA.HELP, nested(Help))
    nat_src: Nat | None = attr(CTA.NAT_SRC, nested(Nat))
    timeout: int | None = attr(CTA.TIMEOUT, U32BE)
    """Seconds until it is forgotten, unless there is traffic."""
    mark: int | None = attr(CTA.MARK, U32BE)
    counters_orig: Counters | None = attr(CTA.COUNTERS_ORIG, nested(Counters))
    counters_reply: Counters | None = attr(CTA.COUNTERS_REPLY, nested(Counters))
    use: int | None = attr(CTA.USE, U32BE)
    id: int | None = attr(CTA.ID, U32BE)
    nat_dst: Nat | None = attr(CTA.NAT_DST, nested(Nat))
    master: Tuple | None = attr(CTA.TUPLE_MASTER, nested(Tuple))
    """The connection that announced it."""
    seq_adj_orig: SeqAdj | None = attr(CTA.SEQ_ADJ_ORIG, nested(SeqAdj))
    seq_adj_reply: SeqAdj | None = attr(CTA.SEQ_ADJ_REPLY, nested(SeqAdj))
    secmark: int | None = attr(CTA.SECMARK, U32BE)
    zone: int | None = attr(CTA.ZONE, U16BE)
    """None is zone 0."""
    secctx: SecCtx | None = attr(CTA.SECCTX, nested(SecCtx))
    timestamp: Timestamp | None = attr(CTA.TIMESTAMP, nested(Timestamp))
    mark_mask: int | None = attr(CTA.MARK_MASK, U32BE)
    labels: bytes | None = attr(CTA.LABELS, BYTES)
    labels_mask: bytes | None = attr(CTA.LABELS_MASK, BYTES)
    synproxy: SynProxy | None = attr(CTA.SYNPROXY, nested(SynProxy))
    filter: Filter | None = attr(CTA.FILTER, nested(Filter))
    status_mask: IPS | None = attr(CTA.STATUS_MASK, as_flags(U32BE, IPS))
    timestamp_event: int | None = attr(CTA.TIMESTAMP_EVENT, U64BE)
    """When the event happened, in nanoseconds since 1970; since Linux 6.14."""

    @property
    def counters(self) -> tuple[Counters, Counters] | None:
        """What went there and back; None where the kernel does not count."""
        there, back = self.counters_orig, self.counters_reply
        return None if there is None or back is None else (there, back)

    @property
    def state(self) -> Any:
        """How far it is: a member of TCP_CONNTRACK, DCCP_CONNTRACK or SCTP_CONNTRACK; None of other protocols."""
        info = self.protoinfo
        if info is None:
            return None
        for one in (info.tcp, info.sctp, info.dccp):
            if one is not None:
                return one.state
        return None
