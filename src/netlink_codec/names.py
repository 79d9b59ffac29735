"""The kernel's names for protocols, message types and family headers; for printing only.

Numbers and names are those of the kernel's uapi headers (linux/netlink.h, rtnetlink.h,
xfrm.h, sock_diag.h, genetlink.h and netfilter/*.h).
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from . import constants
from .constants import (
    NETLINK_AUDIT,
    NETLINK_CONNECTOR,
    NETLINK_FIB_LOOKUP,
    NETLINK_GENERIC,
    NETLINK_ISCSI,
    NETLINK_NETFILTER,
    NETLINK_ROUTE,
    NETLINK_SCSITRANSPORT,
    NETLINK_SELINUX,
    NETLINK_SOCK_DIAG,
    NETLINK_XFRM,
    NLM_F_REQUEST,
    NLMSG_DONE,
    NLMSG_ERROR,
    NLMSG_MIN_TYPE,
)


def _numbered(prefix: str, groups: Mapping[int, str]) -> dict[int, str]:
    """Names that count up from each group's number."""
    return {
        number: prefix + name for first, names in groups.items() for number, name in enumerate(names.split(), first)
    }


PROTOCOLS: Final = _numbered(
    "NETLINK_",
    {
        0: "ROUTE",
        2: "USERSOCK FIREWALL SOCK_DIAG NFLOG XFRM SELINUX ISCSI AUDIT FIB_LOOKUP CONNECTOR NETFILTER",
        13: "IP6_FW DNRTMSG KOBJECT_UEVENT GENERIC",
        18: "SCSITRANSPORT ECRYPTFS RDMA CRYPTO SMC",
    },
)

_CONTROL: Final = _numbered("NLMSG_", {1: "NOOP ERROR DONE OVERRUN"})

_ROUTE: Final = _numbered(
    "RTM_",
    {
        16: "NEWLINK DELLINK GETLINK SETLINK NEWADDR DELADDR GETADDR",
        24: "NEWROUTE DELROUTE GETROUTE",
        28: "NEWNEIGH DELNEIGH GETNEIGH",
        32: "NEWRULE DELRULE GETRULE",
        36: "NEWQDISC DELQDISC GETQDISC",
        40: "NEWTCLASS DELTCLASS GETTCLASS",
        44: "NEWTFILTER DELTFILTER GETTFILTER",
        48: "NEWACTION DELACTION GETACTION",
        52: "NEWPREFIX",
        56: "NEWMULTICAST DELMULTICAST GETMULTICAST",
        60: "NEWANYCAST DELANYCAST GETANYCAST",
        64: "NEWNEIGHTBL",
        66: "GETNEIGHTBL SETNEIGHTBL NEWNDUSEROPT",
        72: "NEWADDRLABEL DELADDRLABEL GETADDRLABEL",
        78: "GETDCB SETDCB NEWNETCONF DELNETCONF GETNETCONF",
        84: "NEWMDB DELMDB GETMDB",
        88: "NEWNSID DELNSID GETNSID",
        92: "NEWSTATS",
        94: "GETSTATS SETSTATS NEWCACHEREPORT",
        100: "NEWCHAIN DELCHAIN GETCHAIN",
        104: "NEWNEXTHOP DELNEXTHOP GETNEXTHOP",
        108: "NEWLINKPROP DELLINKPROP GETLINKPROP",
        112: "NEWVLAN DELVLAN GETVLAN",
        116: "NEWNEXTHOPBUCKET DELNEXTHOPBUCKET GETNEXTHOPBUCKET",
        120: "NEWTUNNEL DELTUNNEL GETTUNNEL",
    },
)

_XFRM: Final = _numbered(
    "XFRM_MSG_",
    {
        16: "NEWSA DELSA GETSA NEWPOLICY DELPOLICY GETPOLICY ALLOCSPI ACQUIRE EXPIRE UPDPOLICY UPDSA POLEXPIRE",
        28: "FLUSHSA FLUSHPOLICY NEWAE GETAE REPORT MIGRATE NEWSADINFO GETSADINFO NEWSPDINFO GETSPDINFO MAPPING",
        39: "SETDEFAULT GETDEFAULT",
    },
)

_SOCK_DIAG: Final = _numbered("", {18: "TCPDIAG_GETSOCK DCCPDIAG_GETSOCK SOCK_DIAG_BY_FAMILY SOCK_DESTROY"})

_GENERIC: Final = _numbered("GENL_ID_", {16: "CTRL VFS_DQUOT PMCRAID"})
GENL_ID_CTRL: Final = 16
CTRL_COMMANDS: Final = _numbered(
    "CTRL_CMD_",
    {0: "UNSPEC NEWFAMILY DELFAMILY GETFAMILY NEWOPS DELOPS GETOPS NEWMCAST_GRP DELMCAST_GRP GETMCAST_GRP GETPOLICY"},
)

_SUBSYSTEMS: Final = _numbered(
    "NFNL_SUBSYS_",
    {
        0: "NONE CTNETLINK CTNETLINK_EXP QUEUE ULOG OSF IPSET ACCT CTNETLINK_TIMEOUT CTHELPER NFTABLES NFT_COMPAT HOOK",
    },
)
_NETFILTER: Final = {
    **_numbered("NFNL_MSG_", {0x10: "BATCH_BEGIN BATCH_END"}),
    **_numbered("IPCTNL_MSG_CT_", {0x100: "NEW GET DELETE GET_CTRZERO GET_STATS_CPU GET_STATS GET_DYING"}),
    **_numbered("IPCTNL_MSG_CT_", {0x107: "GET_UNCONFIRMED"}),
    **_numbered("IPCTNL_MSG_EXP_", {0x200: "NEW GET DELETE GET_STATS_CPU"}),
    **_numbered("NFQNL_MSG_", {0x300: "PACKET VERDICT CONFIG VERDICT_BATCH"}),
    **_numbered("NFULNL_MSG_", {0x400: "PACKET CONFIG"}),
    **_numbered("OSF_MSG_", {0x500: "ADD REMOVE"}),
    **_numbered("IPSET_CMD_", {0x600: "NONE PROTOCOL CREATE DESTROY FLUSH RENAME SWAP LIST SAVE ADD DEL TEST HEADER"}),
    **_numbered("IPSET_CMD_", {0x60D: "TYPE GET_BYNAME GET_BYINDEX"}),
    **_numbered("NFNL_MSG_ACCT_", {0x700: "NEW GET GET_CTRZERO DEL OVERQUOTA"}),
    **_numbered("IPCTNL_MSG_TIMEOUT_", {0x800: "NEW GET DELETE DEFAULT_SET DEFAULT_GET"}),
    **_numbered("NFNL_MSG_CTHELPER_", {0x900: "NEW GET DEL"}),
    **_numbered(
        "NFT_MSG_",
        {
            0xA00: "NEWTABLE GETTABLE DELTABLE NEWCHAIN GETCHAIN DELCHAIN NEWRULE GETRULE DELRULE NEWSET GETSET DELSET",
            0xA0C: "NEWSETELEM GETSETELEM DELSETELEM NEWGEN GETGEN TRACE NEWOBJ GETOBJ DELOBJ GETOBJ_RESET",
            0xA16: "NEWFLOWTABLE GETFLOWTABLE DELFLOWTABLE GETRULE_RESET DESTROYTABLE DESTROYCHAIN DESTROYRULE",
            0xA1D: "DESTROYSET DESTROYSETELEM DESTROYOBJ DESTROYFLOWTABLE GETSETELEM_RESET",
        },
    ),
    **_numbered("NFNL_MSG_", {0xB00: "COMPAT_GET", 0xC00: "HOOK_GET"}),
}

_TYPES: Final[Mapping[int, Mapping[int, str]]] = {
    NETLINK_ROUTE: _ROUTE,
    NETLINK_SOCK_DIAG: _SOCK_DIAG,
    NETLINK_XFRM: _XFRM,
    NETLINK_NETFILTER: _NETFILTER,
    NETLINK_GENERIC: _GENERIC,
}

ERROR_ATTRIBUTES: Final = _numbered("NLMSGERR_ATTR_", {1: "MSG OFFS COOKIE POLICY MISS_TYPE MISS_NEST"})


def message_name(protocol: int, type: int) -> str:
    """The type's name and number, or only the number."""
    name = _CONTROL.get(type) if type < NLMSG_MIN_TYPE else _TYPES.get(protocol, {}).get(type)
    if protocol == NETLINK_NETFILTER and type >= NLMSG_MIN_TYPE:
        subsystem = _SUBSYSTEMS.get(type >> 8, f"subsystem {type >> 8}")
        return f"{name or f'{subsystem} {type & 0xFF}'} (0x{type:04x})"
    return f"{name} ({type})" if name else f"type {type}"


# --- flags ------------------------------------------------------------------------------------------------------------


def _flags(names: str) -> dict[int, str]:
    return {getattr(constants, "NLM_F_" + name): name for name in names.split()}


_ANY: Final = _flags("REQUEST MULTI ACK ECHO DUMP_INTR DUMP_FILTERED")
# What the upper byte means depends on what is asked for; the whole of DUMP comes before its halves.
_MODIFIERS: Final = {
    "GET": _flags("DUMP ROOT MATCH ATOMIC"),
    "NEW": _flags("REPLACE EXCL CREATE APPEND"),
    "DEL": _flags("NONREC BULK"),
    "END": _flags("CAPPED ACK_TLVS"),
    # REPLACE with EXCL would make no sense, so both bits together are a dump even if the request is not known.
    "": _flags("DUMP"),
}
_VERB: Final = re.compile(r"_(GET|LIST|SAVE|BY_FAMILY|NEW|SET|ADD|CREATE|UPD|DEL|DESTROY|REMOVE|FLUSH)")
_KIND_OF_VERB: Final = {
    **dict.fromkeys(("GET", "LIST", "SAVE", "BY_FAMILY"), "GET"),
    **dict.fromkeys(("NEW", "SET", "ADD", "CREATE", "UPD"), "NEW"),
    **dict.fromkeys(("DEL", "DESTROY", "REMOVE", "FLUSH"), "DEL"),
}


def kind(protocol: int, type: int, command: int | None = None) -> str:
    """GET, NEW, DEL, END (of what was asked) or "" where it is not known; `command` is generic netlink's."""
    if type in (NLMSG_ERROR, NLMSG_DONE):
        return "END"
    name = _TYPES.get(protocol, {}).get(type, "")
    if protocol == NETLINK_GENERIC:
        name = CTRL_COMMANDS.get(-1 if command is None else command, "") if type == GENL_ID_CTRL else ""
    verb = _VERB.search(name)
    return _KIND_OF_VERB[verb[1]] if verb else ""


def flag_names(flags: int, kind: str) -> str:
    """The flags' names joined by |; bits without a name as one number."""
    names = []
    for table in (_ANY, _MODIFIERS[kind]):
        for bits, name in table.items():
            if flags & bits == bits:
                names.append(name)
                flags &= ~bits
    return "|".join([*names, *([hex(flags)] if flags else [])])


# --- family headers ---------------------------------------------------------------------------------------------------


class FamilyHeader(NamedTuple):
    """The struct between nlmsghdr and what follows it, at the next multiple of 4."""

    name: str
    size: int
    attributes: bool = True  # whether attributes follow


# By the first of a group of four types. RTM_NEWNDUSEROPT (68) has options of any length before its attributes.
_ROUTE_HEADERS: Final = {
    16: FamilyHeader("ifinfomsg", 16),
    20: FamilyHeader("ifaddrmsg", 8),
    24: FamilyHeader("rtmsg", 12),
    28: FamilyHeader("ndmsg", 12),
    32: FamilyHeader("fib_rule_hdr", 12),
    36: FamilyHeader("tcmsg", 20),
    40: FamilyHeader("tcmsg", 20),
    44: FamilyHeader("tcmsg", 20),
    48: FamilyHeader("tcamsg", 4),
    52: FamilyHeader("prefixmsg", 12),
    56: FamilyHeader("ifaddrmsg", 8),
    60: FamilyHeader("ifaddrmsg", 8),
    64: FamilyHeader("ndtmsg", 4),
    72: FamilyHeader("ifaddrlblmsg", 12),
    76: FamilyHeader("dcbmsg", 4),
    80: FamilyHeader("netconfmsg", 1),
    84: FamilyHeader("br_port_msg", 8),
    88: FamilyHeader("rtgenmsg", 1),
    92: FamilyHeader("if_stats_msg", 12),
    96: FamilyHeader("rtgenmsg", 1),
    100: FamilyHeader("tcmsg", 20),
    104: FamilyHeader("nhmsg", 8),
    108: FamilyHeader("ifinfomsg", 16),
    112: FamilyHeader("br_vlan_msg", 8),
    116: FamilyHeader("nhmsg", 8),
    120: FamilyHeader("tunnel_msg", 8),
}

# As 64-bit kernels lay them out.
_XFRM_HEADERS: Final = {
    **dict.fromkeys((16, 26), FamilyHeader("xfrm_usersa_info", 224)),
    **dict.fromkeys((17, 18), FamilyHeader("xfrm_usersa_id", 24)),
    **dict.fromkeys((19, 25), FamilyHeader("xfrm_userpolicy_info", 168)),
    **dict.fromkeys((20, 21, 33), FamilyHeader("xfrm_userpolicy_id", 64)),
    22: FamilyHeader("xfrm_userspi_info", 232),
    23: FamilyHeader("xfrm_user_acquire", 280),
    24: FamilyHeader("xfrm_user_expire", 232),
    27: FamilyHeader("xfrm_user_polexpire", 176),
    28: FamilyHeader("xfrm_usersa_flush", 1),
    29: FamilyHeader("nothing", 0),
    **dict.fromkeys((30, 31), FamilyHeader("xfrm_aevent_id", 48)),
    32: FamilyHeader("xfrm_user_report", 60),
    **dict.fromkeys((34, 35, 36, 37), FamilyHeader("flags", 4)),
    38: FamilyHeader("xfrm_user_mapping", 64),
    **dict.fromkeys((39, 40), FamilyHeader("xfrm_userpolicy_default", 3)),
}

# By the socket's family, the first byte: what is sent, what is received.
_INET: Final = (FamilyHeader("inet_diag_req_v2", 56), FamilyHeader("inet_diag_msg", 72))
_SOCK_DIAG_HEADERS: Final = {
    1: (FamilyHeader("unix_diag_req", 24), FamilyHeader("unix_diag_msg", 16)),
    2: _INET,
    10: _INET,
    16: (FamilyHeader("netlink_diag_req", 20), FamilyHeader("netlink_diag_msg", 28)),
    17: (FamilyHeader("packet_diag_req", 20), FamilyHeader("packet_diag_msg", 16)),
    40: (FamilyHeader("vsock_diag_req", 24), FamilyHeader("vsock_diag_msg", 32)),
    43: (FamilyHeader("smc_diag_req", 52), FamilyHeader("smc_diag_msg", 64)),
    44: (FamilyHeader("xdp_diag_req", 20), FamilyHeader("xdp_diag_msg", 16)),
}
_INET_OLD: Final = FamilyHeader("inet_diag_req", 60)

_NFGENMSG: Final = FamilyHeader("nfgenmsg", 4)
_GENLMSGHDR: Final = FamilyHeader("genlmsghdr", 4)
# The connector sends everything as NLMSG_DONE.
_CN_MSG: Final = FamilyHeader("cn_msg", 20, attributes=False)
_NO_ATTRIBUTES: Final = (NETLINK_SELINUX, NETLINK_ISCSI, NETLINK_AUDIT, NETLINK_FIB_LOOKUP, NETLINK_SCSITRANSPORT)
NOTHING: Final = FamilyHeader("nothing", 0, attributes=False)


def family_header(protocol: int, type: int, flags: int, family: int | None) -> FamilyHeader | None:
    """What the message begins with, if that is known; `family` is the payload's first byte."""
    if type < NLMSG_MIN_TYPE:
        return _CN_MSG if protocol == NETLINK_CONNECTOR and type == NLMSG_DONE else None
    if protocol == NETLINK_ROUTE:
        return _ROUTE_HEADERS.get(type & ~3)
    if protocol == NETLINK_NETFILTER:
        return _NFGENMSG
    if protocol == NETLINK_GENERIC:
        return _GENLMSGHDR
    if protocol == NETLINK_XFRM:
        return _XFRM_HEADERS.get(type)
    if protocol == NETLINK_SOCK_DIAG:
        request = bool(flags & NLM_F_REQUEST)
        if type in (18, 19):
            return _INET_OLD if request else _INET[1]
        headers = _SOCK_DIAG_HEADERS.get(-1 if family is None else family)
        return headers and headers[not request]
    return NOTHING if protocol in _NO_ATTRIBUTES else None
