"""What the kernel tests need of netfilter: tracking, and packets that are queued, without any tool."""

import socket
import struct
from contextlib import ExitStack, contextmanager

import netlink_codec as nl
import nft
from namespaces import network
from netlink_codec import rtnl

NEWCHAIN, NEWRULE = 10 << 8 | 3, 10 << 8 | 6
PREROUTING, INPUT, FORWARD, OUTPUT, POSTROUTING = range(5)


def _encoder(family):
    return nl.AttributeEncoder(struct.pack(">BBH", family, 0, 0), byteorder="big")


def _expression(encoder, name, *fields):
    with encoder.nested(1):  # NFTA_LIST_ELEM
        encoder.string(1, name)
        with encoder.nested(2):
            for code, value in fields:
                if isinstance(value, int):
                    encoder.u32(code, value)
                else:
                    encoder.data(code, value)


def chain(name, hook, family=2, priority=0):
    encoder = _encoder(family)
    encoder.string(1, "test")
    encoder.string(3, name)
    with encoder.nested(4):
        encoder.u32(1, hook)
        encoder.s32(2, priority)
    encoder.string(7, "filter")
    return nl.Message(NEWCHAIN, nft.CREATE, encoder)


def rule(name, *expressions, family=2):
    """Each expression is a name and its attributes."""
    encoder = _encoder(family)
    encoder.string(1, "test")
    encoder.string(2, name)
    with encoder.nested(4):
        for expression in expressions:
            _expression(encoder, *expression)
    return nl.Message(NEWRULE, nft.CREATE | nl.NLM_F_APPEND, encoder)


def table(family=2):
    encoder = _encoder(family)
    encoder.string(1, "test")
    return nl.Message(nft.NEWTABLE, nft.CREATE, encoder)


def ports(protocol, port):
    """Expressions: of this protocol, to this port."""
    return (
        ("meta", (2, 16), (1, 1)),  # the protocol, into register 1
        ("cmp", (1, 1), (2, 0), (3, nl.marshal_attributes([nl.Attribute(1, bytes([protocol]))]))),
        ("payload", (1, 1), (2, 2), (3, 2), (4, 2)),
        ("cmp", (1, 1), (2, 0), (3, nl.marshal_attributes([nl.Attribute(1, port.to_bytes(2, "big"))]))),
    )


CT_STATE = (("ct", (2, 0), (1, 1)),)


def to_queue(number, total=1, flags=0):
    """The expression that queues: the target of iptables, since the one of nftables may be missing."""
    return ("target", (1, b"NFQUEUE\0"), (2, 3), (3, struct.pack("=HHH", number, total, flags) + bytes(2)))


def commit(*messages):
    with nl.Conn(nl.NETLINK_NETFILTER, timeout=10) as conn:
        conn.send_messages(nft.batch(*(one.replace(flags=one.flags | nl.NLM_F_ACK) for one in messages)))
        for _ in messages:
            conn.receive()


@contextmanager
def tracked(*families):
    """In a namespace with a loopback interface, whose connections are tracked."""
    with network():
        with nl.Conn(nl.NETLINK_ROUTE, timeout=10) as conn:
            conn.do(rtnl.set_link("lo", up=True))
        for family in families or (2,):
            commit(table(family), chain("out", OUTPUT, family), rule("out", *CT_STATE, family=family))
        yield


def queue(number, protocol=17, port=4000, *, hook=INPUT, family=2, flags=0):
    """Have what comes to this port queued."""
    name = f"to{number}"
    expressions = (*ports(protocol, port), to_queue(number, flags=flags))
    commit(table(family), chain(name, hook, family), rule(name, *expressions, family=family))


def logged(group, prefix, *, family=2, threshold=1, hook=INPUT):
    """Have what comes to UDP port 4000 logged."""
    log = ("log", (1, group.to_bytes(2, "big")), (2, prefix.encode() + b"\0"), (4, threshold.to_bytes(2, "big")))
    commit(table(family), chain("logs", hook, family), rule("logs", *ports(17, 4000), log, family=family))


@contextmanager
def udp(port=4000, host="127.0.0.1"):
    """A socket that receives there, and one that sends there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as receiver, socket.socket(family, socket.SOCK_DGRAM) as sender:
        receiver.bind((host, port))
        receiver.settimeout(10)
        sender.connect((host, port))
        yield receiver, sender


def set_sysctl(name, value):
    with open(f"/proc/sys/net/{name}", "w") as file:
        file.write(str(value))


class packets_to:
    """For a page of documentation, in a namespace: sends UDP that is queued, and receives what came through."""

    def __init__(self, number, port=4000):
        with nl.Conn(nl.NETLINK_ROUTE, timeout=10) as conn:
            conn.do(rtnl.set_link("lo", up=True))
        commit(table())
        queue(number, port=port)
        self._stack = ExitStack()
        self._receiver, self._sender = self._stack.enter_context(udp(port))
        self.close = self._stack.close

    def send(self, data):
        self._sender.send(data)

    def receive(self):
        return self._receiver.recv(1 << 16)
