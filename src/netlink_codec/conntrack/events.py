"""What happens to connections, and to what is expected."""

from typing import Any, Literal

from .._core import Message
from ..constants import NLM_F_CREATE, NLM_F_EXCL
from ..nfnetlink import NFNLGRP
from ..records import Record, reader
from ..requests import Changed, Deleted, New, Watch
from . import expects
from .expect import Expectation
from .flow import Flow
from .flows import DELETE, NEW

Happening = Literal["new", "update", "destroy"]

_FLOWS = {
    "new": NFNLGRP.CONNTRACK_NEW,
    "update": NFNLGRP.CONNTRACK_UPDATE,
    "destroy": NFNLGRP.CONNTRACK_DESTROY,
}
_EXPECTATIONS = {
    "new": NFNLGRP.CONNTRACK_EXP_NEW,
    "update": NFNLGRP.CONNTRACK_EXP_UPDATE,
    "destroy": NFNLGRP.CONNTRACK_EXP_DESTROY,
}


def watch(*kinds: Happening, rcvbuf: int | None = None) -> Watch[New[Flow] | Changed[Flow] | Deleted[Flow]]:
    """What happens to connections, as `New`, `Changed` and `Deleted`; all kinds if none is named.

    `rcvbuf` is the receive buffer in bytes: connections come and go fast, and what does not fit is `Lost`.
    An event of "destroy" has the counters, if the kernel counts.
    """
    return _watch(_FLOWS, kinds, rcvbuf, reader(Flow, NEW), reader(Flow, DELETE))


def watch_expectations(
    *kinds: Happening, rcvbuf: int | None = None
) -> Watch[New[Expectation] | Changed[Expectation] | Deleted[Expectation]]:
    """What happens to what is expected, as `watch` tells it of connections."""
    return _watch(_EXPECTATIONS, kinds, rcvbuf, reader(Expectation, expects.NEW), reader(Expectation, expects.DELETE))


def _watch(groups: dict[str, int], kinds: tuple[str, ...], rcvbuf: int | None, there: Any, gone: Any) -> Watch[Any]:
    unknown = [kind for kind in kinds if kind not in groups]
    if unknown:
        raise ValueError(f"{', '.join(map(repr, unknown))}: the kinds of events are {', '.join(groups)}")

    def decode(message: Message, group: int) -> New[Record] | Changed[Record] | Deleted[Record] | None:
        record = there(message)
        if record is None:
            record = gone(message)
            return None if record is None else Deleted(record)
        # New and changed are of one type, and told apart by this alone.
        return New(record) if message.flags & (NLM_F_CREATE | NLM_F_EXCL) else Changed(record)

    return Watch([groups[kind] for kind in dict.fromkeys(kinds) or groups], decode, receive_buffer=rcvbuf)
