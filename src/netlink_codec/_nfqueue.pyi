"""Queued packets, received many at a time: recvmmsg(2), and where in a datagram things stand."""

from typing import Any, Self, TypeVar, final

from typing_extensions import disjoint_base

_W = TypeVar("_W", bound=Waiting)

@disjoint_base
class Waiting:
    """A datagram that holds a packet, and whose it is."""

    @property
    def owner(self) -> Any: ...
    @property
    def datagram(self) -> bytes: ...
    @property
    def id(self) -> int: ...
    def place(self, code: int) -> tuple[int, int] | None:
        """Where the payload of the first such attribute is, as (start, end); None if there is none."""
    def plain(self, queue: int, verdict: int) -> bytes:
        """The message of this verdict, whose sequence number is the packet's number in network order."""

@final
class Receiver:
    """Receives up to 32 datagrams in one call. One thread at a time."""

    def __new__(cls, size: int) -> Self: ...
    def receive(self, fd: int, owner: object, kind: type[_W]) -> tuple[list[_W], list[bytes]] | None:
        """Packets, of this subclass of Waiting, and other datagrams, as two lists; None if there is nothing.

        OSError with the errno; EMSGSIZE, which names the lengths, if one was longer than the buffer's share.
        """
