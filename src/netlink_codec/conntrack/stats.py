"""What connection tracking counts: CTA_STATS_*. Numbers are big-endian."""

from typing import Any

from .._core import Message
from ..constants import NLM_F_DUMP
from ..nfnetlink import NFNL_SUBSYS_CTNETLINK, NFNL_SUBSYS_CTNETLINK_EXP, message_type
from ..records import U8, U16BE, U32BE, Record, always, attr, fixed, reader
from ..requests import Dump, Request

GET_STATS_CPU = message_type(NFNL_SUBSYS_CTNETLINK, 4)
GET_STATS = message_type(NFNL_SUBSYS_CTNETLINK, 5)
EXP_GET_STATS_CPU = message_type(NFNL_SUBSYS_CTNETLINK_EXP, 3)
# The kernel answers in the name of the other subsystem.
_EXP_STATS_CPU = message_type(NFNL_SUBSYS_CTNETLINK, 3)


class CpuStats(Record, identity=("cpu",)):
    """What one CPU counted: struct nfgenmsg and CTA_STATS_*. What a kernel does not count is None."""

    family: int = fixed(U8, default=0)
    version: int = fixed(U8, default=0)
    cpu: int = fixed(U16BE, default=0)
    searched: int | None = attr(1, U32BE)
    found: int | None = attr(2, U32BE)
    new: int | None = attr(3, U32BE)
    invalid: int | None = attr(4, U32BE)
    """Packets that could not be tracked."""
    ignore: int | None = attr(5, U32BE)
    delete: int | None = attr(6, U32BE)
    delete_list: int | None = attr(7, U32BE)
    insert: int | None = attr(8, U32BE)
    insert_failed: int | None = attr(9, U32BE)
    drop: int | None = attr(10, U32BE)
    """Packets dropped, since there was no room for their connections."""
    early_drop: int | None = attr(11, U32BE)
    """Connections forgotten to make room."""
    error: int | None = attr(12, U32BE)
    search_restart: int | None = attr(13, U32BE)
    clash_resolve: int | None = attr(14, U32BE)
    chain_toolong: int | None = attr(15, U32BE)


class Stats(Record):
    """How full the table is: struct nfgenmsg and CTA_STATS_GLOBAL_*."""

    family: int = fixed(U8, default=0)
    version: int = fixed(U8, default=0)
    res_id: int = fixed(U16BE, default=0)
    entries: int = always(1, U32BE)
    max_entries: int | None = attr(2, U32BE)
    """Since Linux 4.18."""


class ExpectStats(Record, identity=("cpu",)):
    """What one CPU counted of expectations: struct nfgenmsg and CTA_STATS_EXP_*."""

    family: int = fixed(U8, default=0)
    version: int = fixed(U8, default=0)
    cpu: int = fixed(U16BE, default=0)
    new: int | None = attr(1, U32BE)
    create: int | None = attr(2, U32BE)
    delete: int | None = attr(3, U32BE)


def stats() -> Request[Stats]:
    """How many connections there are, and may be."""
    decode: Any = reader(Stats, GET_STATS)
    return Request(Message(GET_STATS, 0, Stats()), decode, doing="count connections")


def cpu_stats() -> Dump[CpuStats]:
    """What each CPU counted."""
    message = Message(GET_STATS_CPU, NLM_F_DUMP, CpuStats())
    return Dump(message, reader(CpuStats, GET_STATS_CPU), doing="list statistics of connections")


def expectation_stats() -> Dump[ExpectStats]:
    """What each CPU counted of expectations."""
    message = Message(EXP_GET_STATS_CPU, NLM_F_DUMP, ExpectStats())
    return Dump(message, reader(ExpectStats, _EXP_STATS_CPU), doing="list statistics of expectations")
