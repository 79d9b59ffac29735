"""What an interface has counted: struct rtnl_link_stats64 of <linux/if_link.h>.

In IFLA_STATS64 of a link, and in IFLA_STATS_LINK_64 of RTM_GETSTATS, which is
the cheap way to ask.
"""

from ..records import U64, Struct, fixed, grown


class Counters(Struct):
    """Counters since the interface was made: struct rtnl_link_stats64. None is what an older kernel does not count."""

    rx_packets: int = fixed(U64, default=0)
    tx_packets: int = fixed(U64, default=0)
    rx_bytes: int = fixed(U64, default=0)
    tx_bytes: int = fixed(U64, default=0)
    rx_errors: int = fixed(U64, default=0)
    """All that was received wrongly; the details below are included."""
    tx_errors: int = fixed(U64, default=0)
    rx_dropped: int = fixed(U64, default=0)
    """Received and dropped on this side: no room, no such protocol."""
    tx_dropped: int = fixed(U64, default=0)
    multicast: int = fixed(U64, default=0)
    """Multicast packets received."""
    collisions: int = fixed(U64, default=0)
    rx_length_errors: int = fixed(U64, default=0)
    rx_over_errors: int = fixed(U64, default=0)
    rx_crc_errors: int = fixed(U64, default=0)
    rx_frame_errors: int = fixed(U64, default=0)
    rx_fifo_errors: int = fixed(U64, default=0)
    rx_missed_errors: int = fixed(U64, default=0)
    """Dropped by the device, since the host did not take them in time."""
    tx_aborted_errors: int = fixed(U64, default=0)
    tx_carrier_errors: int = fixed(U64, default=0)
    tx_fifo_errors: int = fixed(U64, default=0)
    tx_heartbeat_errors: int = fixed(U64, default=0)
    tx_window_errors: int = fixed(U64, default=0)
    rx_compressed: int = fixed(U64, default=0)
    tx_compressed: int = fixed(U64, default=0)
    rx_nohandler: int | None = grown(U64)
    """Received while the interface was not to receive, as the spare link of a bond; since Linux 4.6."""
    rx_otherhost_dropped: int | None = grown(U64)
    """Received for another hardware address, and dropped; since Linux 5.19."""
