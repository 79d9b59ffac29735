"""Which of many it is that the kernel refused: an element of a set, an expression of a rule."""

from collections.abc import Callable
from contextlib import suppress

from .._core import Message
from .elements import read_elements
from .enums import ELEM_F, MSG
from .ruleset import Rule
from .sets import RawElements, Set

_LISTS = {MSG.NEWRULE: 4, MSG.NEWSETELEM: 3, MSG.DELSETELEM: 3, MSG.DESTROYSETELEM: 3}
"""The attribute that has many, by nlmsg_type."""
_NFGENMSG = 4


def culprit(message: Message, offset: int, known: Callable[[RawElements], Set | None]) -> str | None:
    """What stands at this offset of the message: "element 10.0.0.1", "expression 3, lookup"; None if it is neither."""
    number = _index(message, offset)
    if number is None:
        return None
    if message.type == MSG.NEWRULE:
        return f"expression {number + 1}, {(Rule.from_message(message).expressions or ())[number].name}"
    some = RawElements.from_message(message)
    its = known(some)
    return None if its is None else _element(its, some, number)


def _index(message: Message, offset: int) -> int | None:
    code = _LISTS.get(message.type)
    for attribute in () if code is None else message.attributes(_NFGENMSG):
        if attribute.type == code:
            for number, one in enumerate(attribute.nested()):
                if one.offset <= offset < one.offset + 4 + len(one):
                    return number
    return None


def _element(its: Set, some: RawElements, number: int) -> str | None:
    raws = some.elements or ()

    def ends(position: int) -> bool:
        return bool(position < len(raws) and (raws[position].flags or 0) & ELEM_F.INTERVAL_END)

    if ends(number):
        number -= 1
    whole = raws[number : number + 2] if ends(number + 1) else raws[number : number + 1]
    # An error is told in any case.
    with suppress(ValueError, TypeError, ArithmeticError):
        for element in read_elements(its, some.replace(elements=whole)):
            key = element.key
            return f"element {' . '.join(map(str, key)) if isinstance(key, tuple) else key}"
    return None
