"""What rules put into sets, and take out of them."""

from collections.abc import Iterator, Sequence
from typing import Any

from .enums import DYNSET, REG
from .exprs import Dynset, Expr
from .fields import Field
from .match import Compared, Context, Deferred, Source, alike, compared, expressions_of, first_register, sets_among
from .spelling import name_of
from .values import source


class _AddToSet(Deferred):
    def __init__(
        self, fields: tuple[Field, ...], settings: dict[str, Any], expressions: Sequence[Expr], value: Any
    ) -> None:
        self.fields = fields
        self.names = (*sets_among(fields), settings["set_name"])
        self.settings = settings
        self.expressions = expressions
        self.value = value
        if value is not None:
            self.names += value.names if isinstance(value, Source) else ()

    def expand(self, context: Context) -> Iterator[Expr]:
        if isinstance(self.value, Source):
            yield from context.need(self.value.fields)
        yield from context.load(self.fields, shifted=True)
        expressions = expressions_of(self.expressions, context.family, context.table, context.assembly)[0]
        beside: dict[str, Any] = {}
        if len(expressions) == 1:
            beside["expr"] = expressions[0]
        elif expressions:
            beside["expressions"] = expressions
        known = context.known(self.settings["set_name"])
        if known is not None:
            alike(self.fields, known)
        first = first_register(self.fields)
        if self.value is not None:
            kinds = () if known is None else known.shape.data
            if not kinds:
                raise ValueError(f"{self.settings['set_name']} is no map of values, and has no place for one")
            behind = REG.R32_00 + sum(one.type.padded for one in self.fields) // 4
            yield from source(self.value, *kinds).into(context, kinds, behind)
            beside["sreg_data"] = behind
        number = None if known is None else known.id
        yield Dynset(sreg_key=first, set_id=number, **self.settings, **beside)


def add_to_set(
    set: str,
    fields: Compared,
    *expressions: Expr,
    value: Any = None,
    timeout: float | None = None,
    update: bool = False,
) -> Deferred:
    """Put what the packet has into a set: `add_to_set("seen", "ip saddr", timeout=60)`.

    With `update`, the timeout of one that is there begins anew. `expressions` belong to the
    element: `limit("10/second")` lets the rule go on as long as this element's limit does. `value`
    is what a map gets for it: `add_to_set("marks", "ip saddr", value=load("meta mark"))`.
    """
    op = DYNSET.UPDATE if update else DYNSET.ADD
    name = name_of("set", set).removeprefix("@")
    return _AddToSet(compared(fields), {"set_name": name, "op": op, "timeout": timeout}, expressions, value)


def delete_from_set(set: str, fields: Compared) -> Deferred:
    """Take what the packet has out of a set: `delete_from_set("seen", "ip saddr")`."""
    name = name_of("set", set).removeprefix("@")
    return _AddToSet(compared(fields), {"set_name": name, "op": DYNSET.DELETE}, (), None)
