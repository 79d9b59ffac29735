"""Links, which is to say interfaces: RTM_NEWLINK, struct ifinfomsg and IFLA_* of <linux/if_link.h> (Linux 6.18)."""

import sys

from ..netns import NetNS
from ..records import (
    BYTES,
    MAC,
    S32,
    STRING,
    U8,
    U16,
    U32,
    U64,
    UINT,
    Record,
    Struct,
    always,
    as_enum,
    as_flags,
    attr,
    chosen,
    custom,
    fixed,
    grown,
    nested,
    present,
    repeated,
)
from .constants import AF_INET6
from .counters import Counters
from .inet import AfSpec, Inet, Inet6, LinkAfSpec, ProtInfo
from .info import LinkInfo
from .linkenums import ARPHRD, IF_LINK_MODE, IF_OPER, IFF, IFLA_EVENT, RTEXT_FILTER, XDP_ATTACHED, XDP_FLAGS
from .vf import VfPort, VfPorts, Vfs


class IFLA:
    ADDRESS = 1
    BROADCAST = 2
    IFNAME = 3
    MTU = 4
    LINK = 5
    QDISC = 6
    STATS = 7
    COST = 8
    PRIORITY = 9
    MASTER = 10
    WIRELESS = 11
    PROTINFO = 12
    TXQLEN = 13
    MAP = 14
    WEIGHT = 15
    OPERSTATE = 16
    LINKMODE = 17
    LINKINFO = 18
    NET_NS_PID = 19
    IFALIAS = 20
    NUM_VF = 21
    VFINFO_LIST = 22
    STATS64 = 23
    VF_PORTS = 24
    PORT_SELF = 25
    AF_SPEC = 26
    GROUP = 27
    NET_NS_FD = 28
    EXT_MASK = 29
    PROMISCUITY = 30
    NUM_TX_QUEUES = 31
    NUM_RX_QUEUES = 32
    CARRIER = 33
    PHYS_PORT_ID = 34
    CARRIER_CHANGES = 35
    PHYS_SWITCH_ID = 36
    LINK_NETNSID = 37
    PHYS_PORT_NAME = 38
    PROTO_DOWN = 39
    GSO_MAX_SEGS = 40
    GSO_MAX_SIZE = 41
    PAD = 42
    XDP = 43
    EVENT = 44
    NEW_NETNSID = 45
    TARGET_NETNSID = 46
    CARRIER_UP_COUNT = 47
    CARRIER_DOWN_COUNT = 48
    NEW_IFINDEX = 49
    MIN_MTU = 50
    MAX_MTU = 51
    PROP_LIST = 52
    ALT_IFNAME = 53
    PERM_ADDRESS = 54
    PROTO_DOWN_REASON = 55
    PARENT_DEV_NAME = 56
    PARENT_DEV_BUS_NAME = 57
    GRO_MAX_SIZE = 58
    TSO_MAX_SIZE = 59
    TSO_MAX_SEGS = 60
    ALLMULTI = 61
    DEVLINK_PORT = 62
    GSO_IPV4_MAX_SIZE = 63
    GRO_IPV4_MAX_SIZE = 64
    DPLL_PIN = 65
    MAX_PACING_OFFLOAD_HORIZON = 66
    NETNS_IMMUTABLE = 67
    HEADROOM = 68
    TAILROOM = 69


class Counters32(Struct):
    """struct rtnl_link_stats: the lower halves of `Counters`, which begin again at 0."""

    rx_packets: int = fixed(U32, default=0)
    tx_packets: int = fixed(U32, default=0)
    rx_bytes: int = fixed(U32, default=0)
    tx_bytes: int = fixed(U32, default=0)
    rx_errors: int = fixed(U32, default=0)
    tx_errors: int = fixed(U32, default=0)
    rx_dropped: int = fixed(U32, default=0)
    tx_dropped: int = fixed(U32, default=0)
    multicast: int = fixed(U32, default=0)
    collisions: int = fixed(U32, default=0)
    rx_length_errors: int = fixed(U32, default=0)
    rx_over_errors: int = fixed(U32, default=0)
    rx_crc_errors: int = fixed(U32, default=0)
    rx_frame_errors: int = fixed(U32, default=0)
    rx_fifo_errors: int = fixed(U32, default=0)
    rx_missed_errors: int = fixed(U32, default=0)
    tx_aborted_errors: int = fixed(U32, default=0)
    tx_carrier_errors: int = fixed(U32, default=0)
    tx_fifo_errors: int = fixed(U32, default=0)
    tx_heartbeat_errors: int = fixed(U32, default=0)
    tx_window_errors: int = fixed(U32, default=0)
    rx_compressed: int = fixed(U32, default=0)
    tx_compressed: int = fixed(U32, default=0)
    rx_nohandler: int | None = grown(U32)
    """Since Linux 4.6."""


class LinkMap(Struct):
    """struct rtnl_link_ifmap: where an old device is found."""

    mem_start: int = fixed(U64, default=0)
    mem_end: int = fixed(U64, default=0)
    base_addr: int = fixed(U64, default=0)
    irq: int = fixed(U16, default=0)
    dma: int = fixed(U8, default=0)
    port: int = fixed(U8, default=0)


class Xdp(Record):
    """A program that sees packets first: IFLA_XDP_*."""

    fd: int | None = attr(1, S32)
    """In requests: the program; -1 takes it away."""
    attached: XDP_ATTACHED | None = attr(2, as_enum(U8, XDP_ATTACHED))
    flags: XDP_FLAGS | None = attr(3, as_flags(U32, XDP_FLAGS))
    prog_id: int | None = attr(4, U32)
    drv_prog_id: int | None = attr(5, U32)
    skb_prog_id: int | None = attr(6, U32)
    hw_prog_id: int | None = attr(7, U32)
    expected_fd: int | None = attr(8, S32)


class PropList(Record):
    """IFLA_PROP_LIST."""

    alt_ifname: tuple[str, ...] = repeated(IFLA.ALT_IFNAME, STRING)


class ProtoDownReason(Record):
    """Why protocols are down, 32 reasons whose meaning is up to the administrator: IFLA_PROTO_DOWN_REASON_*."""

    mask: int | None = attr(1, U32)
    """In requests: which bits to set."""
    value: int | None = attr(2, U32)


class DevlinkPort(Record):
    """What devlink calls it: DEVLINK_ATTR_*. Empty where it does not know it."""

    bus_name: str | None = attr(1, STRING)
    dev_name: str | None = attr(2, STRING)
    port_index: int | None = attr(3, U32)


class DpllPin(Record):
    """The pin by which its clock is kept: DPLL_A_PIN_*. Empty where there is none."""

    id: int | None = attr(1, U32)


def _descriptor(data: bytes) -> int:
    if len(data) != 4:
        raise ValueError(f"{len(data)} bytes are no descriptor")
    return int.from_bytes(data, sys.byteorder)


def _number(netns: NetNS | int) -> bytes:
    number = netns if isinstance(netns, int) else netns.fileno()
    return number.to_bytes(4, sys.byteorder)


class Link(Record, identity=("index",)):
    """An interface: RTM_NEWLINK, struct ifinfomsg, IFLA_*.

    Everything by its kernel name, but for these: `name` (IFLA_IFNAME), `info`
    (IFLA_LINKINFO), `alias` (IFLA_IFALIAS) and `netns` (IFLA_NET_NS_FD).
    """

    family: int = fixed(U8, default=0)
    """AF_UNSPEC (0); AF_BRIDGE (7) and AF_INET6 (10) in answers and notifications of theirs."""
    type: ARPHRD = fixed(as_enum(U16, ARPHRD), default=ARPHRD.NETROM)
    index: int = fixed(S32, default=0)
    """Unique in its namespace."""
    flags: IFF = fixed(as_flags(U32, IFF), default=IFF(0))
    change: IFF = fixed(as_flags(U32, IFF), default=IFF(0))
    """In requests: which of the flags to set. In notifications: which have changed; all bits of a new link."""
    address: str | None = attr(IFLA.ADDRESS, MAC)
    """The hardware address, "02:00:00:00:00:01"; of tunnels an IP address."""
    broadcast: str | None = attr(IFLA.BROADCAST, MAC)
    name: str = always(IFLA.IFNAME, STRING)
    mtu: int | None = attr(IFLA.MTU, U32)
    """The largest packet that it sends, in bytes."""
    link: int | None = attr(IFLA.LINK, U32)
    """The index of the one that it is on top of, or of a veth's peer; in the namespace `link_netnsid`."""
    qdisc: str | None = attr(IFLA.QDISC, STRING)
    """Of its root: "noqueue", "fq_codel"."""
    stats: Counters32 | None = attr(IFLA.STATS, nested(Counters32))
    cost: bytes | None = attr(IFLA.COST, BYTES)
    priority: bytes | None = attr(IFLA.PRIORITY, BYTES)
    master: int | None = attr(IFLA.MASTER, U32)
    """The index of the bridge, bond or VRF that it is a port of; 0 in requests: of none."""
    wireless: bytes | None = attr(IFLA.WIRELESS, BYTES)
    protinfo: ProtInfo | None = attr(IFLA.PROTINFO, chosen(ProtInfo, by="family"))
    """In messages of AF_BRIDGE and AF_INET6."""
    txqlen: int | None = attr(IFLA.TXQLEN, U32)
    """Packets that may wait to be sent."""
    map: LinkMap | None = attr(IFLA.MAP, nested(LinkMap))
    weight: int | None = attr(IFLA.WEIGHT, U32)
    operstate: IF_OPER | None = attr(IFLA.OPERSTATE, as_enum(U8, IF_OPER))
    linkmode: IF_LINK_MODE | None = attr(IFLA.LINKMODE, as_enum(U8, IF_LINK_MODE))
    info: LinkInfo | None = attr(IFLA.LINKINFO, nested(LinkInfo))
    """Which kind it is, and what that adds."""
    net_ns_pid: int | None = attr(IFLA.NET_NS_PID, U32)
    """In requests: to the namespace of this process."""
    alias: str | None = attr(IFLA.IFALIAS, STRING)
    """A text for people, up to 255 bytes."""
    num_vf: int | None = attr(IFLA.NUM_VF, U32)
    """How many virtual functions it has; on request alone, as `vfinfo_list` is."""
    vfinfo_list: Vfs | None = attr(IFLA.VFINFO_LIST, nested(Vfs))
    stats64: Counters | None = attr(IFLA.STATS64, nested(Counters))
    """What it has counted; on request alone. `stats()` is the cheap way to ask."""
    vf_ports: VfPorts | None = attr(IFLA.VF_PORTS, nested(VfPorts))
    port_self: VfPort | None = attr(IFLA.PORT_SELF, nested(VfPort))
    af_spec: AfSpec | None = attr(IFLA.AF_SPEC, chosen(AfSpec, by="family"))
    """What address families keep about it; `inet` and `inet6` are the usual ones."""
    group: int | None = attr(IFLA.GROUP, U32)
    netns: NetNS | int | None = attr(IFLA.NET_NS_FD, custom(_descriptor, _number))
    """In requests: to this namespace. It stands here as the number of its descriptor, and reads as that: keep
    the NetNS open until the request was sent."""
    ext_mask: RTEXT_FILTER | None = attr(IFLA.EXT_MASK, as_flags(U32, RTEXT_FILTER))
    """In requests: what else to answer."""
    promiscuity: int | None = attr(IFLA.PROMISCUITY, U32)
    """How many want it promiscuous."""
    num_tx_queues: int | None = attr(IFLA.NUM_TX_QUEUES, U32)
    num_rx_queues: int | None = attr(IFLA.NUM_RX_QUEUES, U32)
    carrier: int | None = attr(IFLA.CARRIER, U8)
    """1: there is one."""
    phys_port_id: bytes | None = attr(IFLA.PHYS_PORT_ID, BYTES)
    """Links with the same share a physical port."""
    carrier_changes: int | None = attr(IFLA.CARRIER_CHANGES, U32)
    phys_switch_id: bytes | None = attr(IFLA.PHYS_SWITCH_ID, BYTES)
    link_netnsid: int | None = attr(IFLA.LINK_NETNSID, S32)
    """Which namespace `link` is in, as this one numbers them, from 0; None: in this one."""
    phys_port_name: str | None = attr(IFLA.PHYS_PORT_NAME, STRING)
    proto_down: int | None = attr(IFLA.PROTO_DOWN, U8)
    """1: switched off by a protocol, which a port of a switch then shows as no carrier."""
    gso_max_segs: int | None = attr(IFLA.GSO_MAX_SEGS, U32)
    gso_max_size: int | None = attr(IFLA.GSO_MAX_SIZE, U32)
    """Bytes of what is segmented late."""
    pad: bool = present(IFLA.PAD)
    xdp: Xdp | None = attr(IFLA.XDP, nested(Xdp))
    event: IFLA_EVENT | None = attr(IFLA.EVENT, as_enum(U32, IFLA_EVENT))
    """In notifications."""
    new_netnsid: int | None = attr(IFLA.NEW_NETNSID, S32)
    """In the notification that it left: where it is now, as this namespace numbers them; -1: that has no number."""
    target_netnsid: int | None = attr(IFLA.TARGET_NETNSID, S32)
    """Which namespace is asked, or meant, as this one numbers them."""
    carrier_up_count: int | None = attr(IFLA.CARRIER_UP_COUNT, U32)
    carrier_down_count: int | None = attr(IFLA.CARRIER_DOWN_COUNT, U32)
    new_ifindex: int | None = attr(IFLA.NEW_IFINDEX, S32)
    """Its index where it is now, beside `new_netnsid`; or that to have in another namespace."""
    min_mtu: int | None = attr(IFLA.MIN_MTU, U32)
    max_mtu: int | None = attr(IFLA.MAX_MTU, U32)
    """0: no limit."""
    prop_list: PropList | None = attr(IFLA.PROP_LIST, nested(PropList))
    """Its other names; `altnames` has them."""
    alt_ifname: str | None = attr(IFLA.ALT_IFNAME, STRING)
    """In requests for one link: by whichever of its names."""
    perm_address: str | None = attr(IFLA.PERM_ADDRESS, MAC)
    """The hardware address that it was made with."""
    proto_down_reason: ProtoDownReason | None = attr(IFLA.PROTO_DOWN_REASON, nested(ProtoDownReason))
    parent_dev_name: str | None = attr(IFLA.PARENT_DEV_NAME, STRING)
    """Of its device: "0000:00:1f.6"."""
    parent_dev_bus_name: str | None = attr(IFLA.PARENT_DEV_BUS_NAME, STRING)
    """"pci", "virtio"."""
    gro_max_size: int | None = attr(IFLA.GRO_MAX_SIZE, U32)
    tso_max_size: int | None = attr(IFLA.TSO_MAX_SIZE, U32)
    tso_max_segs: int | None = attr(IFLA.TSO_MAX_SEGS, U32)
    allmulti: int | None = attr(IFLA.ALLMULTI, U32)
    """How many want it to receive all multicast; since Linux 6.0."""
    devlink_port: DevlinkPort | None = attr(IFLA.DEVLINK_PORT, nested(DevlinkPort))
    gso_ipv4_max_size: int | None = attr(IFLA.GSO_IPV4_MAX_SIZE, U32)
    gro_ipv4_max_size: int | None = attr(IFLA.GRO_IPV4_MAX_SIZE, U32)
    dpll_pin: DpllPin | None = attr(IFLA.DPLL_PIN, nested(DpllPin))
    max_pacing_offload_horizon: int | None = attr(IFLA.MAX_PACING_OFFLOAD_HORIZON, UINT)
    """Nanoseconds that its hardware can hold packets back; since Linux 6.13."""
    netns_immutable: int | None = attr(IFLA.NETNS_IMMUTABLE, U8)
    """1: it cannot leave its namespace; since Linux 6.15."""
    headroom: int | None = attr(IFLA.HEADROOM, U16)
    """Bytes to keep free before a packet; since Linux 6.18."""
    tailroom: int | None = attr(IFLA.TAILROOM, U16)

    @property
    def up(self) -> bool:
        """Whether it is switched on."""
        return bool(self.flags & IFF.UP)

    @property
    def running(self) -> bool:
        """Whether it can carry packets."""
        return bool(self.flags & IFF.RUNNING)

    @property
    def kind(self) -> str | None:
        """Which kind it is: "veth", "bridge"; None of hardware and of `lo`."""
        info = self.info
        return None if info is None else info.kind

    @property
    def altnames(self) -> tuple[str, ...]:
        """Its other names."""
        names = self.prop_list
        return () if names is None else names.alt_ifname

    @property
    def inet(self) -> Inet | None:
        """What IPv4 keeps about it."""
        spec = self.af_spec
        return spec.inet if isinstance(spec, LinkAfSpec) else None

    @property
    def inet6(self) -> Inet6 | None:
        """What IPv6 keeps about it."""
        spec = self.protinfo if self.family == AF_INET6 else self.af_spec
        if isinstance(spec, Inet6):
            return spec
        return spec.inet6 if isinstance(spec, LinkAfSpec) else None
