"""What a fake kernel may be told to send, and when."""

import errno as _errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from .. import _socket
from .._core import Message, marshal_messages
from .._socket import Datagram
from ..constants import NLMSG_NOOP


class Pause(NamedTuple):
    """In an answer: what follows arrives so many seconds later, by the kernel's clock.

    >>> from netlink_codec import Conn, Message, NETLINK_ROUTE, Timeout
    >>> from netlink_codec.testing import FakeKernel, Pause, ack
    >>> kernel = FakeKernel(NETLINK_ROUTE, lambda requests: [Pause(3600), ack(requests[0])])
    >>> with kernel.conn(timeout=60) as conn:
    ...     try:
    ...         conn.execute(Message(18))
    ...     except Timeout:
    ...         print("gave up after", kernel.clock(), "seconds")
    gave up after 60.0 seconds
    """

    seconds: float


class Fault(NamedTuple):
    """In an answer: receiving fails, once, after what comes before it was received.

    `lost` is how many datagrams the kernel then says it dropped.

    >>> import errno
    >>> from netlink_codec import Message, NETLINK_ROUTE, NetlinkError
    >>> from netlink_codec.testing import FakeKernel, Fault
    >>> with FakeKernel(NETLINK_ROUTE, lambda requests: Fault(errno.ENOMEM)).conn() as conn:
    ...     try:
    ...         conn.execute(Message(18))
    ...     except NetlinkError as error:
    ...         print(error.errno == errno.ENOMEM)
    True
    """

    errno: int
    lost: int = 0


def overrun(lost: int = 1) -> Fault:
    """In an answer: the receive buffer was full at this point, and so many datagrams were dropped.

    >>> from netlink_codec import Conn, Message, NETLINK_ROUTE, Overrun
    >>> from netlink_codec.testing import FakeKernel, overrun, reply
    >>> kernel = FakeKernel(NETLINK_ROUTE, lambda requests: [reply(requests[0], 16), overrun(lost=7)])
    >>> with kernel.conn() as conn, conn.execute_iter(Message(18)) as replies:
    ...     print(next(replies).type)
    ...     try:
    ...         next(replies)
    ...     except Overrun as error:
    ...         print("lost", error.lost)
    16
    lost 7
    """
    return Fault(_errno.ENOBUFS, lost)


class Heard(NamedTuple):
    """What was sent to a group, as one of its members gets it."""

    datagram: Datagram


# A message, bytes and a list of messages are a datagram each; what is callable is called when all before it was
# received and there is somebody who asks for more.
Item: TypeAlias = Message | bytes | Sequence[Message] | Datagram | Heard | Pause | Fault | Callable[[], object]
Answer: TypeAlias = Item | Iterable[Item] | None


def foreign(*messages: Message, sender: int) -> Datagram:
    """In an answer: a datagram that is not the kernel's, but that of the socket with this port id.

    The kernel refuses it where the receiver is connected, as those of requests are.

    >>> from netlink_codec import Message, NETLINK_ROUTE
    >>> from netlink_codec.testing import FakeKernel, foreign
    >>> kernel = FakeKernel(NETLINK_ROUTE)
    >>> with kernel.conn() as conn:
    ...     kernel.deliver(conn.pid, foreign(Message(16), sender=99), Message(17))
    ...     print([message.type for message in conn.receive()], conn.stats.foreign)
    [17] 1
    """
    return Datagram(marshal_messages(messages), sender, 0, None)


def notification(group: int, *messages: Message, nsid: int | None = None) -> Datagram:
    """In an answer: a datagram that all who have joined the multicast group get, the asking socket among them.

    `nsid` is the number of another namespace that it tells of, which sockets with
    NETLINK_LISTEN_ALL_NSID hear too.

    >>> from netlink_codec import Message, NETLINK_ROUTE, Watch
    >>> from netlink_codec.testing import FakeKernel, ack, notification, reply
    >>> kernel = FakeKernel(NETLINK_ROUTE, lambda requests: [notification(1, Message(16)), ack(requests[0])])
    >>> with kernel.conn() as conn, conn.watch(Watch([1], lambda message, group: message.type)) as events:
    ...     conn.execute(Message(16)), events.ready()
    ([], [16])
    """
    return Datagram(marshal_messages(messages), 0, group, nsid)


def truncated(*messages: Message) -> bytes:
    """In an answer: a datagram that begins with these messages, and is longer than the buffer that receives it.

    >>> from netlink_codec import Message, NETLINK_ROUTE, NetlinkError
    >>> from netlink_codec.testing import FakeKernel, reply, truncated
    >>> kernel = FakeKernel(NETLINK_ROUTE, lambda requests: truncated(reply(requests[0], 16)))
    >>> with kernel.conn() as conn:
    ...     try:
    ...         conn.execute(Message(18))
    ...     except NetlinkError as error:
    ...         print(error.strerror)
    a datagram of 131088 bytes was cut to 131072
    """
    data = marshal_messages(messages)
    return data + bytes(Message(NLMSG_NOOP, 0, bytes(max(_socket.BUFFER_SIZE - len(data), 0))))


def items_of(answer: Answer) -> Iterator[Item]:
    """The answer as one item after another."""
    if answer is None:
        return iter(())
    if isinstance(answer, Message | bytes | Datagram | Heard | Pause | Fault) or callable(answer):
        return iter((answer,))
    return iter(answer)


def datagram_of(item: Message | bytes | Sequence[Message] | Datagram | Heard) -> Datagram:
    """What arrives. The kernel pads the last message too."""
    if isinstance(item, Heard):
        return item.datagram
    if isinstance(item, Datagram):
        return item
    if isinstance(item, Message):
        item = marshal_messages([item])
    elif not isinstance(item, bytes):
        item = marshal_messages(item)
    return Datagram(item, 0, 0, None)
