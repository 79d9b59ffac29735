"""Procedures under way; who does their steps is the connection."""

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import Any, Generic, Literal, Self, TypeVar

from .requests import Dump, Procedure, Request, Step

T = TypeVar("T")

# Who is closed so often, and yields each time, is left.
_PATIENCE = 10


class Running(Generic[T]):
    """A procedure from its first step to its result: `step` is to be done, and `answered` or `failed` told of it.

    At the end of the `with` block its generator is closed.
    """

    step: Step
    begun = False
    over = False
    result: T

    def __init__(self, procedure: Procedure[T]) -> None:
        self._doing = procedure.doing
        self._generator = procedure.make()
        if not isinstance(self._generator, Generator):
            raise TypeError(f"{procedure!r} made no generator, but {type(self._generator).__name__}")

    def answered(self, result: Any) -> None:
        """This came of the step; to begin with, None."""
        self._resume(self._generator.send, result)

    def failed(self, error: Exception) -> None:
        """This the step has raised."""
        self._resume(self._generator.throw, error)

    def _resume(self, resume: Callable[[Any], Step], value: Any) -> None:
        try:
            self.step = resume(value)
        except StopIteration as stop:
            self.over = True
            self.result = stop.value

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, *_: object) -> None:
        # What interrupts the caller goes before whatever a generator raises that does not want to end.
        for _attempt in range(_PATIENCE):
            with suppress(RuntimeError):
                self._generator.close()
                break
        if isinstance(error, Exception) and self._doing:
            error.add_note(f"in a procedure: {self._doing}")


def method(step: Step) -> Literal["do", "collect", "batch"]:
    """What the connection does with a step."""
    if isinstance(step, Dump):
        return "collect"
    if isinstance(step, Request):
        return "do"
    if isinstance(step, Sequence) and not isinstance(step, str | bytes):
        return "batch"
    raise TypeError(f"a procedure yields requests, dumps and lists of requests, not {type(step).__name__}")
