"""What the kernel says of a queued packet: NFQA_* of <linux/netfilter/nfnetlink_queue.h>. Numbers are big-endian."""

from enum import IntFlag

from ..records import (
    BYTES,
    STRING,
    U8,
    U16BE,
    U32BE,
    U64BE,
    OpenEnum,
    Record,
    Struct,
    as_enum,
    as_flags,
    attr,
    blob,
    fixed,
    nested,
)


class NFQA:
    PACKET_HDR = 1
    VERDICT_HDR = 2
    MARK = 3
    TIMESTAMP = 4
    IFINDEX_INDEV = 5
    IFINDEX_OUTDEV = 6
    IFINDEX_PHYSINDEV = 7
    IFINDEX_PHYSOUTDEV = 8
    HWADDR = 9
    PAYLOAD = 10
    CT = 11
    CT_INFO = 12
    CAP_LEN = 13
    SKB_INFO = 14
    EXP = 15
    UID = 16
    GID = 17
    SECCTX = 18
    VLAN = 19
    L2HDR = 20
    PRIORITY = 21


class HOOK(OpenEnum):
    """Where in its way the packet is: NF_INET_*."""

    PRE_ROUTING = 0
    LOCAL_IN = 1
    FORWARD = 2
    LOCAL_OUT = 3
    POST_ROUTING = 4


class SKB(IntFlag):
    """NFQA_SKB_*"""

    CSUMNOTREADY = 1
    """The checksum is left to the network card."""
    GSO = 2
    """It will be cut into several packets."""
    CSUM_NOTVERIFIED = 4
    """The checksum of a packet that came was not looked at yet."""


class Header(Struct):
    """struct nfqnl_msg_packet_hdr"""

    id: int = fixed(U32BE, default=0)
    hw_protocol: int = fixed(U16BE, default=0)
    """ETH_P_*: 0x0800 is IPv4, 0x86DD is IPv6."""
    hook: HOOK = fixed(as_enum(U8, HOOK), default=HOOK.PRE_ROUTING)


class Hardware(Struct):
    """struct nfqnl_msg_packet_hw"""

    length: int = fixed(U16BE, default=0)
    reserved: int = fixed(U16BE, default=0)
    octets: bytes = fixed(blob(8), default=bytes(8))

    @property
    def address(self) -> str:
        return self.octets[: self.length].hex(":")


class Timestamp(Struct):
    """struct nfqnl_msg_packet_timestamp"""

    sec: int = fixed(U64BE, default=0)
    usec: int = fixed(U64BE, default=0)


class Vlan(Record):
    """NFQA_VLAN_*"""

    proto: int | None = attr(1, U16BE)
    tci: int | None = attr(2, U16BE)


class Queued(Record):
    """A queued packet: struct nfgenmsg and NFQA_*."""

    family: int = fixed(U8, default=0)
    version: int = fixed(U8, default=0)
    queue: int = fixed(U16BE, default=0)
    header: Header | None = attr(NFQA.PACKET_HDR, nested(Header))
    mark: int | None = attr(NFQA.MARK, U32BE)
    timestamp: Timestamp | None = attr(NFQA.TIMESTAMP, nested(Timestamp))
    """When it came in."""
    indev: int | None = attr(NFQA.IFINDEX_INDEV, U32BE)
    outdev: int | None = attr(NFQA.IFINDEX_OUTDEV, U32BE)
    physindev: int | None = attr(NFQA.IFINDEX_PHYSINDEV, U32BE)
    """The port of a bridge."""
    physoutdev: int | None = attr(NFQA.IFINDEX_PHYSOUTDEV, U32BE)
    hardware: Hardware | None = attr(NFQA.HWADDR, nested(Hardware))
    """Who sent it on the link."""
    payload: bytes | None = attr(NFQA.PAYLOAD, BYTES)
    ct: bytes | None = attr(NFQA.CT, BYTES)
    ct_info: int | None = attr(NFQA.CT_INFO, U32BE)
    cap_len: int | None = attr(NFQA.CAP_LEN, U32BE)
    """The length of the packet, where the payload is shorter."""
    skb_info: SKB | None = attr(NFQA.SKB_INFO, as_flags(U32BE, SKB))
    exp: bytes | None = attr(NFQA.EXP, BYTES)
    uid: int | None = attr(NFQA.UID, U32BE)
    gid: int | None = attr(NFQA.GID, U32BE)
    secctx: str | None = attr(NFQA.SECCTX, STRING)
    vlan: Vlan | None = attr(NFQA.VLAN, nested(Vlan))
    l2hdr: bytes | None = attr(NFQA.L2HDR, BYTES)
    priority: int | None = attr(NFQA.PRIORITY, U32BE)
