"""What a queue is told when it begins: NFQA_CFG_*."""

import struct

from .._core import AttributeEncoder, Message
from ..constants import NLM_F_ACK, NLM_F_REQUEST
from .packet import CONFIG

_CMD, _PARAMS, _MAXLEN, _MASK, _FLAGS = 1, 2, 3, 4, 5
_BIND = 1
_COPY_META, _COPY_PACKET = 1, 2
FAIL_OPEN, CONNTRACK, GSO, UID_GID, SECCTX = (1 << bit for bit in range(5))
MOST = 0xFFFF - 4
"""The longest payload: that of an attribute."""


def bind(number: int, *, copy_range: int, maxlen: int | None, flags: int, seq: int) -> Message:
    """All at once: the kernel has no packet for it before it is as it should be."""
    if not 0 <= number <= 0xFFFF:
        raise ValueError(f"{number} is no queue: these are 0 to 65535")
    if copy_range < 0:
        raise ValueError(f"{copy_range} bytes cannot be copied")
    if maxlen is not None and not 0 <= maxlen <= 0xFFFFFFFF:
        raise ValueError(f"{maxlen} packets cannot wait: maxlen is 0 to 4294967295")
    encoder = AttributeEncoder(struct.pack(">BBH", 0, 0, number), byteorder="big")
    encoder.data(_CMD, struct.pack(">BxH", _BIND, 0))
    mode = _COPY_PACKET if copy_range else _COPY_META
    encoder.data(_PARAMS, struct.pack(">IB", min(copy_range, MOST), mode))
    if flags:
        encoder.u32(_FLAGS, flags)
        encoder.u32(_MASK, flags)
    if maxlen is not None:
        encoder.u32(_MAXLEN, maxlen)
    return Message(CONFIG, NLM_F_REQUEST | NLM_F_ACK, encoder, seq=seq)
