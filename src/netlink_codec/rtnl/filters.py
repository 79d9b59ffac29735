"""What a dump leaves out, on this side too: kernels before 4.20 send everything, and so do others if not strict."""

from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

from .._core import Message
from ..requests import Device, Dump
from .constants import AF_INET, AF_INET6

T = TypeVar("T")


INTERNET = frozenset({AF_INET, AF_INET6})
"""AF_INET and AF_INET6. A dump of all families has those that number otherwise what means the same here."""


class Filtered(Dump[T]):
    """A dump whose decoder is made of the message that asks, once that is known: what was asked for is let through."""

    __slots__ = ("decoder",)

    def __init__(
        self,
        message: Message | Callable[..., Message],
        decoder: Callable[[Message], Callable[[Message], T | None]],
        *,
        late: Sequence[Device] = (),
        not_found: Sequence[int] = (),
        doing: str,
    ) -> None:
        decode = decoder(message) if isinstance(message, Message) else _not_yet
        super().__init__(message, decode, late=late, not_found=not_found, doing=doing)
        self.decoder = decoder

    def filled(self, message: Message) -> Self:
        copy = super().filled(message)
        copy.decode = self.decoder(message)  # type: ignore[assignment]  # of a dump, it may return None
        return copy


def _not_yet(message: Message) -> None:
    raise RuntimeError("late values are not known yet")


def given(**fields: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in fields.items() if value is not None}
