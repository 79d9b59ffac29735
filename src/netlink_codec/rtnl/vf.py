"""Virtual functions of an adapter, and their ports: IFLA_VFINFO_LIST, IFLA_VF_PORTS of <linux/if_link.h>.

The kernel sends them on request alone (`links(vfs=True)`).
"""

from ..records import (
    BYTES,
    STRING,
    U8,
    U16,
    U16BE,
    U32,
    U64,
    OpenEnum,
    Record,
    Struct,
    array,
    as_enum,
    attr,
    blob,
    fixed,
    nested,
    present,
    repeated,
)


class IFLA_VF_LINK_STATE(OpenEnum):
    """What a virtual function is told of its link."""

    AUTO = 0
    """As the adapter's own is."""
    ENABLE = 1
    """Always up."""
    DISABLE = 2
    """Always down."""


class VfMac(Struct):
    """struct ifla_vf_mac."""

    vf: int = fixed(U32, default=0)
    """Its number, from 0; as in all of these."""
    mac: bytes = fixed(blob(32), default=bytes(32))
    """Filled up with zeros."""

    @property
    def address(self) -> str:
        """As of Ethernet: the first six bytes."""
        return self.mac[:6].hex(":")


class VfVlan(Struct):
    """struct ifla_vf_vlan."""

    vf: int = fixed(U32, default=0)
    vlan: int = fixed(U32, default=0)
    """0: none."""
    qos: int = fixed(U32, default=0)


class VfVlanInfo(Struct):
    """struct ifla_vf_vlan_info."""

    vf: int = fixed(U32, default=0)
    vlan: int = fixed(U32, default=0)
    qos: int = fixed(U32, default=0)
    vlan_proto: int = fixed(U16BE, default=0)
    """0x8100 or 0x88a8; in network order."""


class VfTxRate(Struct):
    """struct ifla_vf_tx_rate."""

    vf: int = fixed(U32, default=0)
    rate: int = fixed(U32, default=0)
    """Megabits a second; 0: no limit."""


class VfRate(Struct):
    """struct ifla_vf_rate; in megabits a second."""

    vf: int = fixed(U32, default=0)
    min_tx_rate: int = fixed(U32, default=0)
    max_tx_rate: int = fixed(U32, default=0)


class VfSetting(Struct):
    """struct ifla_vf_spoofchk, ifla_vf_trust, ifla_vf_rss_query_en."""

    vf: int = fixed(U32, default=0)
    setting: int = fixed(U32, default=0)
    """0: off. 1: on. 0xffffffff: the driver does not say."""


class VfLinkState(Struct):
    """struct ifla_vf_link_state."""

    vf: int = fixed(U32, default=0)
    link_state: IFLA_VF_LINK_STATE = fixed(as_enum(U32, IFLA_VF_LINK_STATE), default=IFLA_VF_LINK_STATE.AUTO)


class VfGuid(Struct):
    """struct ifla_vf_guid, of InfiniBand."""

    vf: int = fixed(U32, default=0)
    guid: int = fixed(U64, default=0)


class VfStats(Record):
    """IFLA_VF_STATS_*."""

    rx_packets: int | None = attr(0, U64)
    tx_packets: int | None = attr(1, U64)
    rx_bytes: int | None = attr(2, U64)
    tx_bytes: int | None = attr(3, U64)
    broadcast: int | None = attr(4, U64)
    multicast: int | None = attr(5, U64)
    pad: bool = present(6)
    rx_dropped: int | None = attr(7, U64)
    tx_dropped: int | None = attr(8, U64)


class Vf(Record):
    """One virtual function: IFLA_VF_*."""

    mac: VfMac | None = attr(1, nested(VfMac))
    vlan: VfVlan | None = attr(2, nested(VfVlan))
    tx_rate: VfTxRate | None = attr(3, nested(VfTxRate))
    spoofchk: VfSetting | None = attr(4, nested(VfSetting))
    """Whether frames with another source address are dropped."""
    link_state: VfLinkState | None = attr(5, nested(VfLinkState))
    rate: VfRate | None = attr(6, nested(VfRate))
    rss_query_en: VfSetting | None = attr(7, nested(VfSetting))
    """Whether it may ask how packets are spread over queues."""
    stats: VfStats | None = attr(8, nested(VfStats))
    trust: VfSetting | None = attr(9, nested(VfSetting))
    """Whether it may change its hardware address, and be promiscuous."""
    ib_node_guid: VfGuid | None = attr(10, nested(VfGuid))
    ib_port_guid: VfGuid | None = attr(11, nested(VfGuid))
    vlan_list: tuple[VfVlanInfo, ...] | None = attr(12, array(nested(VfVlanInfo), code=1))
    broadcast: bytes | None = attr(13, BYTES)
    """A hardware address, filled up with zeros to 32 bytes."""


class VSI(Struct):
    """struct ifla_port_vsi (802.1Qbg)."""

    mgr_id: int = fixed(U8, default=0)
    type_id: bytes = fixed(blob(3), default=bytes(3))
    type_version: int = fixed(U8, default=0)
    reserved: bytes = fixed(blob(3), default=bytes(3))


class VfPort(Record):
    """The port of a switch that a virtual function is connected to: IFLA_PORT_*."""

    vf: int | None = attr(1, U32)
    profile: str | None = attr(2, STRING)
    vsi_type: VSI | None = attr(3, nested(VSI))
    instance_uuid: bytes | None = attr(4, BYTES)
    host_uuid: bytes | None = attr(5, BYTES)
    request: int | None = attr(6, U8)
    """PORT_REQUEST_*: 0 preassociate, 1 the same and reserve, 2 associate, 3 disassociate."""
    response: int | None = attr(7, U16)
    """PORT_VDP_RESPONSE_*, from 0x100 on PORT_PROFILE_RESPONSE_*."""


class VfPorts(Record):
    """IFLA_VF_PORTS."""

    port: tuple[VfPort, ...] = repeated(1, nested(VfPort))


class Vfs(Record):
    """IFLA_VFINFO_LIST."""

    info: tuple[Vf, ...] = repeated(1, nested(Vf))
