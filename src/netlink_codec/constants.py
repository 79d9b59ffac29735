"""The protocol's own numbers, from linux/netlink.h; families bring theirs."""

from typing import Final

# Protocols: the third argument of socket(AF_NETLINK, SOCK_RAW, protocol).
NETLINK_ROUTE: Final = 0
NETLINK_USERSOCK: Final = 2
NETLINK_SOCK_DIAG: Final = 4
NETLINK_XFRM: Final = 6
NETLINK_SELINUX: Final = 7
NETLINK_ISCSI: Final = 8
NETLINK_AUDIT: Final = 9
NETLINK_FIB_LOOKUP: Final = 10
NETLINK_CONNECTOR: Final = 11
NETLINK_NETFILTER: Final = 12
NETLINK_KOBJECT_UEVENT: Final = 15
NETLINK_GENERIC: Final = 16
NETLINK_SCSITRANSPORT: Final = 18
NETLINK_RDMA: Final = 20
NETLINK_CRYPTO: Final = 21
NETLINK_SMC: Final = 22

# nlmsg_type below NLMSG_MIN_TYPE.
NLMSG_NOOP: Final = 1
NLMSG_ERROR: Final = 2
NLMSG_DONE: Final = 3
NLMSG_OVERRUN: Final = 4
NLMSG_MIN_TYPE: Final = 0x10

NLMSG_HDRLEN: Final = 16
NLA_HDRLEN: Final = 4

# nlmsg_flags, of any message.
NLM_F_REQUEST: Final = 0x01
NLM_F_MULTI: Final = 0x02
NLM_F_ACK: Final = 0x04
NLM_F_ECHO: Final = 0x08
NLM_F_DUMP_INTR: Final = 0x10
NLM_F_DUMP_FILTERED: Final = 0x20
# … of a GET request.
NLM_F_ROOT: Final = 0x100
NLM_F_MATCH: Final = 0x200
NLM_F_ATOMIC: Final = 0x400
NLM_F_DUMP: Final = NLM_F_ROOT | NLM_F_MATCH
# … of a NEW request.
NLM_F_REPLACE: Final = 0x100
NLM_F_EXCL: Final = 0x200
NLM_F_CREATE: Final = 0x400
NLM_F_APPEND: Final = 0x800
# … of a DELETE request.
NLM_F_NONREC: Final = 0x100
NLM_F_BULK: Final = 0x200
# … of NLMSG_ERROR and NLMSG_DONE.
NLM_F_CAPPED: Final = 0x100
NLM_F_ACK_TLVS: Final = 0x200

# nla_type.
NLA_F_NESTED: Final = 0x8000
NLA_F_NET_BYTEORDER: Final = 0x4000
NLA_TYPE_MASK: Final = 0x3FFF

# Attributes of an extended acknowledgement.
NLMSGERR_ATTR_MSG: Final = 1
NLMSGERR_ATTR_OFFS: Final = 2
NLMSGERR_ATTR_COOKIE: Final = 3
NLMSGERR_ATTR_POLICY: Final = 4
NLMSGERR_ATTR_MISS_TYPE: Final = 5
NLMSGERR_ATTR_MISS_NEST: Final = 6

# setsockopt(SOL_NETLINK, …).
SOL_NETLINK: Final = 270
NETLINK_ADD_MEMBERSHIP: Final = 1
NETLINK_DROP_MEMBERSHIP: Final = 2
NETLINK_PKTINFO: Final = 3
NETLINK_BROADCAST_ERROR: Final = 4
NETLINK_NO_ENOBUFS: Final = 5
NETLINK_LISTEN_ALL_NSID: Final = 8
NETLINK_LIST_MEMBERSHIPS: Final = 9
NETLINK_CAP_ACK: Final = 10
NETLINK_EXT_ACK: Final = 11
NETLINK_GET_STRICT_CHK: Final = 12
