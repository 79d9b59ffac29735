"""Which kind of interface a link is, and what that kind adds: IFLA_LINKINFO of <linux/if_link.h>.

A kind that is missing here is a few lines in your own program:

    class Geneve(rtnl.LinkData, kind="geneve"):
        id: int | None = attr(1, U32)

From then on links of that kind have their `info.data` read as this.
"""

from ..records import BYTES, STRING, Record, attr, chosen


class IFLA_INFO:
    KIND = 1
    DATA = 2
    XSTATS = 3
    SLAVE_KIND = 4
    SLAVE_DATA = 5


class LinkData(Record):
    """What a kind of interface adds; of a kind that is not known here, everything is in `unknown`."""


class PortData(Record):
    """What an interface has as a port of another; of a kind that is not known here, everything is in `unknown`."""


class LinkInfo(Record):
    """IFLA_LINKINFO: which kind of interface it is, and of which kind that is whose port it is."""

    kind: str | None = attr(IFLA_INFO.KIND, STRING)
    """As in `ip link add … type KIND`: "veth", "vlan", "bridge". None of hardware and of `lo`."""
    data: LinkData | None = attr(IFLA_INFO.DATA, chosen(LinkData, by="kind"))
    """What the kind adds; read and written by `kind`, which writing it fills in."""
    xstats: bytes | None = attr(IFLA_INFO.XSTATS, BYTES)
    """Counters of the kind's own."""
    slave_kind: str | None = attr(IFLA_INFO.SLAVE_KIND, STRING)
    """The kind of its master: "bridge", "bond", "vrf"."""
    slave_data: PortData | None = attr(IFLA_INFO.SLAVE_DATA, chosen(PortData, by="slave_kind"))
    """What it has as a port of that."""
