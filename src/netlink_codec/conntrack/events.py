"""What happens to connections."""

from typing import Any, Literal

from .._core import Message
from ..constants import NLM_F_CREATE, NLM_F_EXCL
from ..nfnetlink import NFNLGRP
from ..records import reader
from ..requests import Changed, Deleted, New, Watch
from .flow import Flow
from .flows import DELETE, NEW

_GROUPS = {
    "new": NFNLGRP.CONNTRACK_NEW,
    "update": NFNLGRP.CONNTRACK_UPDATE,
    "destroy": NFNLGRP.CONNTRACK_DESTROY,
}
_NEW, _GONE = reader(Flow, NEW), reader(Flow, DELETE)


def watch(
    *kinds: Literal["new", "update", "destroy"], rcvbuf: int | None = None
) -> Watch[New[Flow] | Changed[Flow] | Deleted[Flow]]:
    """What happens to connections, as `New`, `Changed` and `Deleted`; all kinds if none is named.

    `rcvbuf` is the receive buffer in bytes: connections come and go fast, and what does not fit is `Lost`.
    An event of "destroy" has the counters, if the kernel counts.
    """
    unknown = set(kinds) - set(_GROUPS)
    if unknown:
        raise ValueError(f"{', '.join(map(repr, unknown))}: the kinds of events are {', '.join(_GROUPS)}")
    return Watch([_GROUPS[kind] for kind in kinds or _GROUPS], _decode, receive_buffer=rcvbuf)


def _decode(message: Message, group: int) -> Any:
    flow = _NEW(message)
    if flow is None:
        gone = _GONE(message)
        return None if gone is None else Deleted(gone)
    return New(flow) if message.flags & (NLM_F_CREATE | NLM_F_EXCL) else Changed(flow)
