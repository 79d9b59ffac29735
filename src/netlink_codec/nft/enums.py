"""Numbers of nf_tables: <linux/netfilter/nf_tables.h>, and which data types the `nft` tool knows."""

from enum import IntFlag
from typing import Self

from ..nfnetlink import NFNL_SUBSYS_NFTABLES, message_type
from ..nfnetlink import NFPROTO as NFPROTO
from ..records import OpenEnum


class MSG:
    """nlmsg_type of each message: NFT_MSG_*."""

    (
        NEWTABLE, GETTABLE, DELTABLE, NEWCHAIN, GETCHAIN, DELCHAIN, NEWRULE, GETRULE, DELRULE, NEWSET, GETSET, DELSET,
        NEWSETELEM, GETSETELEM, DELSETELEM, NEWGEN, GETGEN, TRACE, NEWOBJ, GETOBJ, DELOBJ, GETOBJ_RESET, NEWFLOWTABLE,
        GETFLOWTABLE, DELFLOWTABLE, GETRULE_RESET, DESTROYTABLE, DESTROYCHAIN, DESTROYRULE, DESTROYSET, DESTROYSETELEM,
        DESTROYOBJ, DESTROYFLOWTABLE, GETSETELEM_RESET,
    ) = (message_type(NFNL_SUBSYS_NFTABLES, number) for number in range(34))  # fmt: skip
    BATCH_BEGIN = 16
    BATCH_END = 17


class VERDICT(OpenEnum):
    """What becomes of a packet, or where it goes on: enum nft_verdicts, NF_*."""

    RETURN = -5
    GOTO = -4
    JUMP = -3
    BREAK = -2
    CONTINUE = -1
    DROP = 0
    ACCEPT = 1
    STOLEN = 2
    QUEUE = 3
    REPEAT = 4


class HOOK(OpenEnum):
    """NF_INET_*"""

    PREROUTING = 0
    INPUT = 1
    FORWARD = 2
    OUTPUT = 3
    POSTROUTING = 4
    INGRESS = 5


class TABLE_F(IntFlag):
    DORMANT = 1
    OWNER = 2
    PERSIST = 4


class CHAIN_F(IntFlag):
    BASE = 1
    HW_OFFLOAD = 2
    BINDING = 4


class SET_F(IntFlag):
    ANONYMOUS = 0x1
    CONSTANT = 0x2
    INTERVAL = 0x4
    MAP = 0x8
    TIMEOUT = 0x10
    EVAL = 0x20
    """Rules may add to it: "dynamic"."""
    OBJECT = 0x40
    CONCAT = 0x80
    EXPR = 0x100


class SET_POL(OpenEnum):
    PERFORMANCE = 0
    MEMORY = 1


class ELEM_F(IntFlag):
    INTERVAL_END = 1
    CATCHALL = 2


class OBJECT(OpenEnum):
    """NFT_OBJECT_*"""

    UNSPEC = 0
    COUNTER = 1
    QUOTA = 2
    CT_HELPER = 3
    LIMIT = 4
    CONNLIMIT = 5
    TUNNEL = 6
    CT_TIMEOUT = 7
    SECMARK = 8
    CT_EXPECT = 9
    SYNPROXY = 10

    @classmethod
    def of(cls, value: int | str) -> Self:
        """As `nft` writes it, too: "ct helper", "ct timeout", "ct expectation"."""
        if isinstance(value, str):
            value = value.replace(" ", "-").replace("ct-expectation", "ct-expect")
        return super().of(value)

    @classmethod
    def named(cls, word: str) -> Self | None:
        """The type of this name, if it is one."""
        try:
            found = cls.of(word)
        except ValueError:
            return None
        return None if found is cls.UNSPEC or word.isdecimal() else found


class FLOWTABLE_F(IntFlag):
    HW_OFFLOAD = 1
    COUNTER = 2


class REG:
    """Registers: four of 16 bytes, or sixteen of 4 in the same place."""

    VERDICT = 0
    R1, R2, R3, R4 = 1, 2, 3, 4
    R32_00 = 8


class CMP(OpenEnum):
    EQ, NEQ, LT, LTE, GT, GTE = range(6)

    @classmethod
    def words(cls) -> dict[str, str]:
        return {"EQ": "==", "NEQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}


class RANGE(OpenEnum):
    EQ, NEQ = range(2)


class BITWISE(OpenEnum):
    MASK_XOR, LSHIFT, RSHIFT, AND, OR, XOR = range(6)


class BYTEORDER(OpenEnum):
    NTOH, HTON = range(2)


class INV(IntFlag):
    """Of lookups, limits and connection limits: the other way round."""

    INV = 1


class DYNSET(OpenEnum):
    ADD, UPDATE, DELETE = range(3)


class DYNSET_F(IntFlag):
    INV = 1
    EXPR = 2


class PAYLOAD(OpenEnum):
    """Where an offset counts from."""

    LL_HEADER, NETWORK_HEADER, TRANSPORT_HEADER, INNER_HEADER, TUN_HEADER = range(5)


class PAYLOAD_CSUM(OpenEnum):
    NONE, INET, SCTP = range(3)


class PAYLOAD_CSUM_F(IntFlag):
    L4CSUM_PSEUDOHDR = 1


class EXTHDR(OpenEnum):
    IPV6, TCPOPT, IPV4, SCTP, DCCP = range(5)


class EXTHDR_F(IntFlag):
    PRESENT = 1


class META(OpenEnum):
    """What is known of a packet beside its bytes."""

    (
        LEN, PROTOCOL, PRIORITY, MARK, IIF, OIF, IIFNAME, OIFNAME, IIFTYPE, OIFTYPE, SKUID, SKGID, NFTRACE, RTCLASSID,
        SECMARK, NFPROTO, L4PROTO, BRI_IIFNAME, BRI_OIFNAME, PKTTYPE, CPU, IIFGROUP, OIFGROUP, CGROUP, PRANDOM,
        SECPATH, IIFKIND, OIFKIND, BRI_IIFPVID, BRI_IIFVPROTO, TIME_NS, TIME_DAY, TIME_HOUR, SDIF, SDIFNAME,
        BRI_BROUTE, BRI_IIFHWADDR,
    ) = range(37)  # fmt: skip


class RT(OpenEnum):
    CLASSID, NEXTHOP4, NEXTHOP6, TCPMSS, XFRM = range(5)


class HASH(OpenEnum):
    JENKINS, SYM = range(2)


class SOCKET(OpenEnum):
    TRANSPARENT, MARK, WILDCARD, CGROUPV2 = range(4)


class CT(OpenEnum):
    """What is known of a packet's connection."""

    (
        STATE, DIRECTION, STATUS, MARK, SECMARK, EXPIRATION, HELPER, L3PROTOCOL, SRC, DST, PROTOCOL, PROTO_SRC,
        PROTO_DST, LABELS, PKTS, BYTES, AVGPKT, ZONE, EVENTMASK, SRC_IP, DST_IP, SRC_IP6, DST_IP6, ID,
    ) = range(24)  # fmt: skip


class CT_STATE(IntFlag):
    INVALID = 1
    ESTABLISHED = 2
    RELATED = 4
    NEW = 8
    UNTRACKED = 64


class LIMIT(OpenEnum):
    PKTS, PKT_BYTES = range(2)


class LOG_LEVEL(OpenEnum):
    EMERG, ALERT, CRIT, ERR, WARNING, NOTICE, INFO, DEBUG, AUDIT = range(9)

    @classmethod
    def words(cls) -> dict[str, str]:
        return {"WARNING": "warn"}


class LOG_F(IntFlag):
    TCPSEQ = 1
    TCPOPT = 2
    IPOPT = 4
    UID = 8
    NFLOG = 16
    MACDECODE = 32


class QUEUE_F(IntFlag):
    BYPASS = 1
    CPU_FANOUT = 2


class QUOTA_F(IntFlag):
    INV = 1
    DEPLETED = 2


class REJECT(OpenEnum):
    ICMP_UNREACH, TCP_RST, ICMPX_UNREACH = range(3)


class ICMPX(OpenEnum):
    NO_ROUTE, PORT_UNREACHABLE, HOST_UNREACHABLE, ADMIN_PROHIBITED = range(4)


class NAT(OpenEnum):
    SNAT, DNAT = range(2)


class NAT_RANGE(IntFlag):
    MAP_IPS = 1
    PROTO_SPECIFIED = 2
    PROTO_RANDOM = 4
    PERSISTENT = 8
    PROTO_RANDOM_FULLY = 16
    PROTO_OFFSET = 32
    NETMAP = 64


class FIB(OpenEnum):
    UNSPEC, OIF, OIFNAME, ADDRTYPE = range(4)


class FIB_F(IntFlag):
    SADDR = 1
    DADDR = 2
    MARK = 4
    IIF = 8
    OIF = 16
    PRESENT = 32


class OSF_F(IntFlag):
    VERSION = 1


class SYNPROXY_F(IntFlag):
    MSS = 1
    WSCALE = 2
    SACK_PERM = 4
    TIMESTAMP = 8
    ECN = 16


class XFRM(OpenEnum):
    UNSPEC, DADDR_IP4, DADDR_IP6, SADDR_IP4, SADDR_IP6, REQID, SPI = range(7)


class TRACE(OpenEnum):
    UNSPEC, POLICY, RETURN, RULE = range(4)


class NG(OpenEnum):
    INCREMENTAL, RANDOM = range(2)


class TUNNEL(OpenEnum):
    PATH, ID = range(2)


class TUNNEL_MODE(OpenEnum):
    NONE, RX, TX = range(3)
