"""Counters of interfaces, six times cheaper than with the rest: RTM_GETSTATS, IFLA_STATS_* of <linux/if_link.h>."""

import errno
from enum import IntFlag
from typing import overload

from .._core import Message
from ..constants import NLM_F_DUMP
from ..records import (
    BYTES,
    S32,
    U8,
    U16,
    U32,
    U64,
    Record,
    Struct,
    always,
    as_flags,
    attr,
    fixed,
    nested,
    reader,
    repeated,
)
from ..requests import Dump, Request
from .constants import RTM_GETSTATS, RTM_NEWSTATS
from .counters import Counters
from .encap import Inner
from .spelling import Dev, called, device, resolved


class IFLA_STATS:
    LINK_64 = 1
    LINK_XSTATS = 2
    LINK_XSTATS_SLAVE = 3
    LINK_OFFLOAD_XSTATS = 4
    AF_SPEC = 5


class STATS(IntFlag):
    """Which counters to ask for: IFLA_STATS_FILTER_BIT of IFLA_STATS_*."""

    LINK_64 = 0x01
    LINK_XSTATS = 0x02
    LINK_XSTATS_SLAVE = 0x04
    LINK_OFFLOAD_XSTATS = 0x08
    AF_SPEC = 0x10


class VlanCounters(Struct):
    """Of one VLAN of a bridge: struct bridge_vlan_xstats."""

    rx_bytes: int = fixed(U64, default=0)
    rx_packets: int = fixed(U64, default=0)
    tx_bytes: int = fixed(U64, default=0)
    tx_packets: int = fixed(U64, default=0)
    vid: int = fixed(U16, default=0)
    flags: int = fixed(U16, default=0)
    """BRIDGE_VLAN_INFO_*."""


class StpCounters(Struct):
    """Of the spanning tree of a bridge: struct bridge_stp_xstats."""

    transition_blk: int = fixed(U64, default=0)
    transition_fwd: int = fixed(U64, default=0)
    rx_bpdu: int = fixed(U64, default=0)
    tx_bpdu: int = fixed(U64, default=0)
    rx_tcn: int = fixed(U64, default=0)
    tx_tcn: int = fixed(U64, default=0)


class BridgeCounters(Record):
    """BRIDGE_XSTATS_*."""

    vlans: tuple[VlanCounters, ...] = repeated(1, nested(VlanCounters))
    mcast: bytes | None = attr(2, BYTES)
    """struct br_mcast_stats."""
    stp: StpCounters | None = attr(4, nested(StpCounters))


class KindCounters(Record):
    """What interfaces of one kind count: LINK_XSTATS_TYPE_*."""

    bridge: BridgeCounters | None = attr(1, nested(BridgeCounters))
    bond: Inner | None = attr(2, nested(Inner))
    """BOND_XSTATS_*."""


class HardwareCounters(Struct):
    """struct rtnl_hw_stats64."""

    rx_packets: int = fixed(U64, default=0)
    tx_packets: int = fixed(U64, default=0)
    rx_bytes: int = fixed(U64, default=0)
    tx_bytes: int = fixed(U64, default=0)
    rx_errors: int = fixed(U64, default=0)
    tx_errors: int = fixed(U64, default=0)
    rx_dropped: int = fixed(U64, default=0)
    tx_dropped: int = fixed(U64, default=0)
    multicast: int = fixed(U64, default=0)


class OffloadCounters(Record):
    """IFLA_OFFLOAD_XSTATS_*: what the hardware forwards, and what it leaves to the processor."""

    cpu_hit: Counters | None = attr(1, nested(Counters))
    hw_s_info: Inner | None = attr(2, nested(Inner))
    l3_stats: HardwareCounters | None = attr(3, nested(HardwareCounters))


class IfStats(Record, identity=("index",)):
    """The counters of an interface: RTM_NEWSTATS, struct if_stats_msg, IFLA_STATS_*."""

    family: int = fixed(U8, default=0)
    index: int = fixed(S32, default=0)
    """Of the interface."""
    filter_mask: STATS = fixed(as_flags(U32, STATS), default=STATS(0))
    """Which counters were asked for."""
    link: Counters = always(IFLA_STATS.LINK_64, nested(Counters))
    """What every interface counts."""
    xstats: KindCounters | None = attr(IFLA_STATS.LINK_XSTATS, nested(KindCounters))
    """What its kind counts."""
    xstats_slave: KindCounters | None = attr(IFLA_STATS.LINK_XSTATS_SLAVE, nested(KindCounters))
    """What it counts as a port of a bridge or a bond."""
    offload_xstats: OffloadCounters | None = attr(IFLA_STATS.LINK_OFFLOAD_XSTATS, nested(OffloadCounters))
    af_spec: Inner | None = attr(IFLA_STATS.AF_SPEC, nested(Inner))
    """By address family; MPLS (28) alone counts."""


@overload
def stats(*, dev: None = None, what: STATS = STATS.LINK_64) -> Dump[IfStats]: ...
@overload
def stats(*, dev: Dev, what: STATS = STATS.LINK_64) -> Request[IfStats]: ...
def stats(*, dev: Dev | None = None, what: STATS = STATS.LINK_64) -> Dump[IfStats] | Request[IfStats]:
    """The counters of all interfaces, a Dump; or of one, a Request."""
    record = IfStats(filter_mask=what)
    if dev is None:
        return Dump(Message(RTM_GETSTATS, NLM_F_DUMP, record), reader(IfStats, RTM_NEWSTATS), doing="list counters")
    message, late = resolved(lambda index: Message(RTM_GETSTATS, 0, record.replace(index=index)), device(dev))
    return Request(
        message,
        IfStats.from_message,
        late=late,
        single=True,
        not_found=[errno.ENODEV],
        doing=f"get the counters of {called(dev)}",
        record=IfStats,
    )
