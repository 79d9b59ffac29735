"""Names of messages and flags, and the headers of families."""

import pytest

import netlink_codec as nl
from decoding import error, lines
from netlink_codec import names
from netlink_codec.debug import format_datagram
from oracle import attribute_bytes, message_bytes


@pytest.mark.parametrize(
    ("protocol", "type", "name"),
    [
        (nl.NETLINK_ROUTE, 0, "type 0"),
        (nl.NETLINK_ROUTE, 1, "NLMSG_NOOP (1)"),
        (nl.NETLINK_NETFILTER, 4, "NLMSG_OVERRUN (4)"),
        (nl.NETLINK_ROUTE, 18, "RTM_GETLINK (18)"),
        (nl.NETLINK_ROUTE, 68, "RTM_NEWNDUSEROPT (68)"),
        (nl.NETLINK_ROUTE, 122, "RTM_GETTUNNEL (122)"),
        (nl.NETLINK_ROUTE, 23, "type 23"),
        (nl.NETLINK_NETFILTER, 0x0A06, "NFT_MSG_NEWRULE (0x0a06)"),
        (nl.NETLINK_NETFILTER, 0x0A21, "NFT_MSG_GETSETELEM_RESET (0x0a21)"),
        (nl.NETLINK_NETFILTER, 0x0A77, "NFNL_SUBSYS_NFTABLES 119 (0x0a77)"),
        (nl.NETLINK_NETFILTER, 0x0107, "IPCTNL_MSG_CT_GET_UNCONFIRMED (0x0107)"),
        (nl.NETLINK_NETFILTER, 0x0303, "NFQNL_MSG_VERDICT_BATCH (0x0303)"),
        (nl.NETLINK_NETFILTER, 0x060F, "IPSET_CMD_GET_BYINDEX (0x060f)"),
        (nl.NETLINK_NETFILTER, 0x0011, "NFNL_MSG_BATCH_END (0x0011)"),
        (nl.NETLINK_NETFILTER, 0xFF01, "subsystem 255 1 (0xff01)"),
        (nl.NETLINK_GENERIC, 16, "GENL_ID_CTRL (16)"),
        (nl.NETLINK_GENERIC, 29, "type 29"),
        (nl.NETLINK_SOCK_DIAG, 20, "SOCK_DIAG_BY_FAMILY (20)"),
        (nl.NETLINK_XFRM, 40, "XFRM_MSG_GETDEFAULT (40)"),
        (nl.NETLINK_AUDIT, 1300, "type 1300"),
        (99, 16, "type 16"),
    ],
)
def test_message_names(protocol, type, name):
    assert names.message_name(protocol, type) == name


@pytest.mark.parametrize(
    ("protocol", "type", "command", "flags", "expected"),
    [
        (nl.NETLINK_ROUTE, 18, 0, 0x301, "REQUEST|DUMP"),
        (nl.NETLINK_ROUTE, 18, 0, 0x105, "REQUEST|ACK|ROOT"),
        (nl.NETLINK_ROUTE, 18, 0, 0x600, "MATCH|ATOMIC"),
        (nl.NETLINK_ROUTE, 16, 0, 0xF05, "REQUEST|ACK|REPLACE|EXCL|CREATE|APPEND"),
        (nl.NETLINK_ROUTE, 17, 0, 0x301, "REQUEST|NONREC|BULK"),
        (nl.NETLINK_ROUTE, 17, 0, 0x401, "REQUEST|0x400"),
        (nl.NETLINK_ROUTE, 99, 0, 0x301, "REQUEST|DUMP"),
        (nl.NETLINK_ROUTE, 99, 0, 0x100, "0x100"),
        (nl.NETLINK_ROUTE, 2, 0, 0x300, "CAPPED|ACK_TLVS"),
        (nl.NETLINK_NETFILTER, 3, 0, 0x232, "MULTI|DUMP_INTR|DUMP_FILTERED|ACK_TLVS"),
        (nl.NETLINK_NETFILTER, 0x0A0A, 0, 0x300, "DUMP"),
        (nl.NETLINK_NETFILTER, 0x0A0B, 0, 0x100, "NONREC"),
        (nl.NETLINK_NETFILTER, 0x0A1B, 0, 0x100, "NONREC"),
        (nl.NETLINK_NETFILTER, 0x0100, 0, 0x600, "EXCL|CREATE"),
        (nl.NETLINK_NETFILTER, 0x0300, 0, 0x8000, "0x8000"),
        (nl.NETLINK_GENERIC, 16, 3, 0x301, "REQUEST|DUMP"),
        (nl.NETLINK_GENERIC, 16, 1, 0x408, "ECHO|CREATE"),
        (nl.NETLINK_GENERIC, 29, 3, 0x400, "0x400"),
        (nl.NETLINK_SOCK_DIAG, 20, 0, 0x100, "ROOT"),
        (nl.NETLINK_SOCK_DIAG, 21, 0, 0x100, "NONREC"),
    ],
)
def test_flags_by_kind_of_message(protocol, type, command, flags, expected):
    assert names.flag_names(flags, names.kind(protocol, type, command)) == expected


def test_no_two_names_share_a_number():
    for table in (names.PROTOCOLS, *names._TYPES.values()):
        assert len(set(table.values())) == len(table)


# --- family headers ---------------------------------------------------------------------------------------------------

U32 = attribute_bytes(1, b"\x01\0\0\0")
INET_DIAG_REQUEST = bytes([nl.NETLINK_ROUTE + 2]) + bytes(55)


@pytest.mark.parametrize(
    ("protocol", "type", "flags", "payload", "header", "size"),
    [
        (nl.NETLINK_ROUTE, 36, 0, bytes(20) + U32, "tcmsg", 20),
        (nl.NETLINK_ROUTE, 90, 0, bytes(4) + U32, "rtgenmsg", 4),
        (nl.NETLINK_ROUTE, 82, 0, bytes(1), "netconfmsg", 1),
        # A dump may be asked for by a family alone, or with a longer header than the answers have.
        (nl.NETLINK_ROUTE, 22, 0x301, bytes(1), "rtgenmsg", 1),
        (nl.NETLINK_ROUTE, 18, 0x301, bytes(4), "rtgenmsg", 4),
        (nl.NETLINK_ROUTE, 22, 0x301, bytes(16) + U32, "ifinfomsg", 16),
        (nl.NETLINK_ROUTE, 22, 0x301, bytes(8) + U32, "ifaddrmsg", 8),
        (nl.NETLINK_NETFILTER, 0x0A06, 0, b"\x02\0\0\0" + U32, "nfgenmsg", 4),
        (nl.NETLINK_GENERIC, 16, 0, b"\x03\x01\0\0" + U32, "genlmsghdr", 4),
        (nl.NETLINK_GENERIC, 30, 0, b"\x03\x01\0\0" + U32, "genlmsghdr", 4),
        (nl.NETLINK_GENERIC, 30, 0, b"\x03\x01\0\0\x01\0\0\0" + U32, "genlmsghdr and 4 bytes by guess", 8),
        (nl.NETLINK_SOCK_DIAG, 20, 0x301, INET_DIAG_REQUEST + U32, "inet_diag_req_v2", 56),
        (nl.NETLINK_SOCK_DIAG, 20, 2, b"\x02" + bytes(71) + U32, "inet_diag_msg", 72),
        (nl.NETLINK_SOCK_DIAG, 20, 2, b"\x01" + bytes(15) + U32, "unix_diag_msg", 16),
        (nl.NETLINK_SOCK_DIAG, 18, 0x301, b"\x02" + bytes(59) + U32, "inet_diag_req", 60),
        (nl.NETLINK_XFRM, 18, 0, bytes(24) + U32, "xfrm_usersa_id", 24),
        (nl.NETLINK_ROUTE, 68, 0, bytes(24) + U32, "header by guess", 24),
        (nl.NETLINK_RDMA, 5120, 0, bytes(64) + U32, "header by guess", 64),
    ],
)
def test_family_headers(protocol, type, flags, payload, header, size):
    printed = lines(message_bytes(type, flags, payload), protocol)
    assert printed[1].startswith(f"16    {header} ")
    attribute = 16 + (size + 3) // 4 * 4
    assert printed[-1].startswith(f"{attribute}    [1] 01 00 00 00" if payload.endswith(U32) else "16    ")
    assert error(message_bytes(type, flags, payload), protocol) is None


@pytest.mark.parametrize(
    ("protocol", "type", "flags", "payload"),
    [
        (nl.NETLINK_ROUTE, 16, 0, bytes(15)),
        (nl.NETLINK_ROUTE, 18, 0x301, b""),
        (nl.NETLINK_ROUTE, 22, 0x301, bytes(5)),
        (nl.NETLINK_NETFILTER, 0x0A06, 0, bytes(3)),
        (nl.NETLINK_GENERIC, 29, 0, b""),
        (nl.NETLINK_SOCK_DIAG, 20, 0, b"\x02"),
    ],
)
def test_header_too_short(protocol, type, flags, payload):
    printed = lines(message_bytes(type, flags, payload), protocol)
    assert len(printed) == 2
    assert printed[1].startswith(f"16  error: {len(payload)} bytes at offset 16 are less than a struct ")


def test_generic_netlink_commands():
    assert "= CTRL_CMD_GETPOLICY, version 2" in format_datagram(message_bytes(16, 1, b"\x0a\x02\0\0"), 16)
    assert "= command 99, version 2" in format_datagram(message_bytes(16, 1, b"\x63\x02\0\0"), 16)
    assert "= command 1, version 0" in format_datagram(message_bytes(33, 1, b"\x01\0\0\0"), 16)


def test_payload_of_unknown_shape():
    assert lines(message_bytes(77, 0, b"\xff" * 5), 99)[1:] == ["16    payload ff ff ff ff ff"]
    assert lines(message_bytes(77), 99)[1:] == []
    assert lines(message_bytes(0, 0, b"abc"))[1:] == ['16    payload 61 62 63 = "abc"']
    assert lines(message_bytes(4, 0, U32 + U32))[1:][0].startswith("16    payload ")
    audit = lines(message_bytes(1300, 0, b"audit(1700000000.000:1): a=b"), nl.NETLINK_AUDIT)
    assert audit[1] == '16    payload 28 bytes = "audit(1700000000.000:1): a=b":'


def test_connector_says_everything_with_done():
    printed = lines(message_bytes(3, 0, bytes(16) + b"\x04\0\0\0" + b"\1\2\3\4"), nl.NETLINK_CONNECTOR)
    assert printed[1] == "16    cn_msg " + "00 " * 16 + "04 00 00 00"
    assert printed[2].startswith("36    payload 01 02 03 04")


def test_kernel_events_are_text():
    event = b"add@/devices/x\0ACTION=add\0\0NAME=\x1b[31m\0"
    assert lines(event, nl.NETLINK_KOBJECT_UEVENT) == [
        '0  "add@/devices/x"',
        '15  "ACTION=add"',
        "27  bytes 4e 41 4d 45 3d 1b 5b 33 31 6d",
    ]
    assert lines(b"", nl.NETLINK_KOBJECT_UEVENT) == []
