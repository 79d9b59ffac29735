"""What the kernel says of a logged packet: NFULA_* of <linux/netfilter/nfnetlink_log.h>. Numbers are big-endian."""

from ..nfnetlink import NFNL_SUBSYS_ULOG, message_type
from ..nfqueue.message import HOOK, Hardware, Timestamp, Vlan
from ..records import BYTES, STRING, U8, U16BE, U32BE, Record, Struct, as_enum, attr, fixed, nested

PACKET, CONFIG = (message_type(NFNL_SUBSYS_ULOG, number) for number in range(2))


class NFULA:
    PACKET_HDR = 1
    MARK = 2
    TIMESTAMP = 3
    IFINDEX_INDEV = 4
    IFINDEX_OUTDEV = 5
    IFINDEX_PHYSINDEV = 6
    IFINDEX_PHYSOUTDEV = 7
    HWADDR = 8
    PAYLOAD = 9
    PREFIX = 10
    UID = 11
    SEQ = 12
    SEQ_GLOBAL = 13
    GID = 14
    HWTYPE = 15
    HWHEADER = 16
    HWLEN = 17
    CT = 18
    CT_INFO = 19
    VLAN = 20
    L2HDR = 21


class Header(Struct):
    """struct nfulnl_msg_packet_hdr"""

    hw_protocol: int = fixed(U16BE, default=0)
    """ETH_P_*: 0x0800 is IPv4, 0x86DD is IPv6."""
    hook: HOOK = fixed(as_enum(U8, HOOK), default=HOOK.PRE_ROUTING)
    reserved: int = fixed(U8, default=0)


class Logged(Record):
    """A logged packet: struct nfgenmsg and NFULA_*."""

    family: int = fixed(U8, default=0)
    version: int = fixed(U8, default=0)
    group: int = fixed(U16BE, default=0)
    header: Header | None = attr(NFULA.PACKET_HDR, nested(Header))
    mark: int | None = attr(NFULA.MARK, U32BE)
    timestamp: Timestamp | None = attr(NFULA.TIMESTAMP, nested(Timestamp))
    """When it came in; of packets of this machine, there is none."""
    indev: int | None = attr(NFULA.IFINDEX_INDEV, U32BE)
    outdev: int | None = attr(NFULA.IFINDEX_OUTDEV, U32BE)
    physindev: int | None = attr(NFULA.IFINDEX_PHYSINDEV, U32BE)
    """The port of a bridge."""
    physoutdev: int | None = attr(NFULA.IFINDEX_PHYSOUTDEV, U32BE)
    hardware: Hardware | None = attr(NFULA.HWADDR, nested(Hardware))
    """Who sent it on the link."""
    payload: bytes | None = attr(NFULA.PAYLOAD, BYTES)
    """From the network header on, or so much of it as was asked for."""
    prefix: str | None = attr(NFULA.PREFIX, STRING)
    """What the rule says of it."""
    uid: int | None = attr(NFULA.UID, U32BE)
    """Whose socket sent it."""
    seq: int | None = attr(NFULA.SEQ, U32BE)
    """Its number in this group, if the log counts."""
    seq_global: int | None = attr(NFULA.SEQ_GLOBAL, U32BE)
    gid: int | None = attr(NFULA.GID, U32BE)
    hwtype: int | None = attr(NFULA.HWTYPE, U16BE)
    """ARPHRD_*"""
    hwheader: bytes | None = attr(NFULA.HWHEADER, BYTES)
    hwlen: int | None = attr(NFULA.HWLEN, U16BE)
    ct: bytes | None = attr(NFULA.CT, BYTES)
    ct_info: int | None = attr(NFULA.CT_INFO, U32BE)
    vlan: Vlan | None = attr(NFULA.VLAN, nested(Vlan))
    l2hdr: bytes | None = attr(NFULA.L2HDR, BYTES)
