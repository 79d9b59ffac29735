"""Devices by their names, where rules compare, or set, an index: the connection looks it up before."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..late import Device
from .datatypes import DataType
from .elements import Element
from .fields import Field

if TYPE_CHECKING:
    from .match import Context


def device_named(kind: DataType, value: Any) -> Device | None:
    """The device, where an index is wanted and a name is given: there are some of digits."""
    if kind.name != "iface_index" or not isinstance(value, str) or value.startswith("@"):
        return None
    return Device(value)


def _apart(fields: Sequence[Field], value: Any) -> Iterator[tuple[DataType, Any]]:
    if isinstance(value, set | frozenset | list | Mapping):
        for one in value:
            yield from _apart(fields, one)
    elif isinstance(value, Element):
        yield from _apart(fields, value.key)
    elif len(fields) == 1:
        yield fields[0].type, value
    elif isinstance(value, tuple):
        yield from zip((one.type for one in fields), value, strict=False)


def devices_among(fields: Sequence[Field], value: Any) -> Iterator[Device]:
    """Those that are named where their index is compared."""
    for kind, one in _apart(fields, value):
        device = device_named(kind, one)
        if device is not None:
            yield device


def with_indices(context: "Context", fields: Sequence[Field], value: Any) -> Any:
    """The same, with the indices of devices for their names."""
    if all(one.type.name != "iface_index" for one in fields):
        return value
    if isinstance(value, set | frozenset | list):
        return [with_indices(context, fields, one) for one in value]
    if isinstance(value, Mapping):
        return {with_indices(context, fields, key): one for key, one in value.items()}
    if isinstance(value, Element):
        return value.with_key(with_indices(context, fields, value.key))
    if len(fields) > 1:
        if not isinstance(value, tuple) or len(value) != len(fields):
            return value
        return tuple(with_indices(context, (kind,), one) for kind, one in zip(fields, value, strict=True))
    device = device_named(fields[0].type, value)
    return value if device is None else context.index(device)
