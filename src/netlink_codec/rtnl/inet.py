"""What an address family keeps about a link: IFLA_AF_SPEC and IFLA_PROTINFO.

IFLA_INET_* and IFLA_INET6_* of <linux/if_link.h>; the settings are IPV4_DEVCONF_* of
<linux/ip.h> and DEVCONF_* of <linux/ipv6.h>, which are the files of
/proc/sys/net/ipv4/conf/NAME and /proc/sys/net/ipv6/conf/NAME.
"""

from enum import IntFlag
from ipaddress import IPv6Address

from ..records import (
    BYTES,
    IP6,
    S32,
    U8,
    U16,
    U32,
    U64,
    OpenEnum,
    Record,
    Struct,
    array,
    as_enum,
    as_flags,
    attr,
    fixed,
    grown,
    nested,
    packed,
    repeated,
    scaled,
)
from .bridge import BRIDGE_FLAGS, BridgeMrp, BridgeMstEntry, BridgePort, BridgeVlan, BridgeVlanTunnel
from .constants import AF_BRIDGE, AF_INET, AF_INET6, AF_UNSPEC

AF_MCTP = 45


class InetConf(Struct):
    """Settings of IPv4. None is what an older kernel does not have.

    This is how the kernel sends them; it takes them in another form, or by sysctl.
    """

    forwarding: int = fixed(S32, default=0)
    mc_forwarding: int = fixed(S32, default=0)
    proxy_arp: int = fixed(S32, default=0)
    accept_redirects: int = fixed(S32, default=0)
    secure_redirects: int = fixed(S32, default=0)
    send_redirects: int = fixed(S32, default=0)
    shared_media: int = fixed(S32, default=0)
    rp_filter: int = fixed(S32, default=0)
    accept_source_route: int = fixed(S32, default=0)
    bootp_relay: int = fixed(S32, default=0)
    log_martians: int = fixed(S32, default=0)
    tag: int = fixed(S32, default=0)
    arpfilter: int = fixed(S32, default=0)
    medium_id: int = fixed(S32, default=0)
    noxfrm: int = fixed(S32, default=0)
    nopolicy: int = fixed(S32, default=0)
    force_igmp_version: int = fixed(S32, default=0)
    arp_announce: int = fixed(S32, default=0)
    arp_ignore: int = fixed(S32, default=0)
    promote_secondaries: int = fixed(S32, default=0)
    arp_accept: int = fixed(S32, default=0)
    arp_notify: int = fixed(S32, default=0)
    accept_local: int = fixed(S32, default=0)
    src_vmark: int = fixed(S32, default=0)
    proxy_arp_pvlan: int = fixed(S32, default=0)
    route_localnet: int = fixed(S32, default=0)
    igmpv2_unsolicited_report_interval: int = fixed(S32, default=0)
    """Milliseconds."""
    igmpv3_unsolicited_report_interval: int = fixed(S32, default=0)
    """Milliseconds."""
    ignore_routes_with_linkdown: int | None = grown(S32)
    drop_unicast_in_l2_multicast: int | None = grown(S32)
    drop_gratuitous_arp: int | None = grown(S32)
    bc_forwarding: int | None = grown(S32)
    arp_evict_nocarrier: int | None = grown(S32)


class Inet6Conf(Struct):
    """Settings of IPv6. None is what an older kernel does not have. Times are in milliseconds, unless they say so."""

    forwarding: int = fixed(S32, default=0)
    hoplimit: int = fixed(S32, default=0)
    mtu6: int = fixed(S32, default=0)
    accept_ra: int = fixed(S32, default=0)
    accept_redirects: int = fixed(S32, default=0)
    autoconf: int = fixed(S32, default=0)
    dad_transmits: int = fixed(S32, default=0)
    rtr_solicits: int = fixed(S32, default=0)
    rtr_solicit_interval: int = fixed(S32, default=0)
    rtr_solicit_delay: int = fixed(S32, default=0)
    use_tempaddr: int = fixed(S32, default=0)
    temp_valid_lft: int = fixed(S32, default=0)
    """Seconds."""
    temp_prefered_lft: int = fixed(S32, default=0)
    """Seconds."""
    regen_max_retry: int = fixed(S32, default=0)
    max_desync_factor: int = fixed(S32, default=0)
    """Seconds."""
    max_addresses: int = fixed(S32, default=0)
    force_mld_version: int = fixed(S32, default=0)
    accept_ra_defrtr: int = fixed(S32, default=0)
    accept_ra_pinfo: int = fixed(S32, default=0)
    accept_ra_rtr_pref: int = fixed(S32, default=0)
    rtr_probe_interval: int = fixed(S32, default=0)
    accept_ra_rt_info_max_plen: int = fixed(S32, default=0)
    proxy_ndp: int = fixed(S32, default=0)
    optimistic_dad: int = fixed(S32, default=0)
    accept_source_route: int = fixed(S32, default=0)
    mc_forwarding: int = fixed(S32, default=0)
    disable_ipv6: int = fixed(S32, default=0)
    accept_dad: int = fixed(S32, default=0)
    force_tllao: int = fixed(S32, default=0)
    ndisc_notify: int = fixed(S32, default=0)
    mldv1_unsolicited_report_interval: int | None = grown(S32)
    mldv2_unsolicited_report_interval: int | None = grown(S32)
    suppress_frag_ndisc: int | None = grown(S32)
    accept_ra_from_local: int | None = grown(S32)
    use_optimistic: int | None = grown(S32)
    accept_ra_mtu: int | None = grown(S32)
    stable_secret: int | None = grown(S32)
    use_oif_addrs_only: int | None = grown(S32)
    accept_ra_min_hop_limit: int | None = grown(S32)
    ignore_routes_with_linkdown: int | None = grown(S32)
    drop_unicast_in_l2_multicast: int | None = grown(S32)
    drop_unsolicited_na: int | None = grown(S32)
    keep_addr_on_down: int | None = grown(S32)
    rtr_solicit_max_interval: int | None = grown(S32)
    seg6_enabled: int | None = grown(S32)
    seg6_require_hmac: int | None = grown(S32)
    enhanced_dad: int | None = grown(S32)
    addr_gen_mode: int | None = grown(S32)
    disable_policy: int | None = grown(S32)
    accept_ra_rt_info_min_plen: int | None = grown(S32)
    ndisc_tclass: int | None = grown(S32)
    rpl_seg_enabled: int | None = grown(S32)
    ra_defrtr_metric: int | None = grown(U32)
    ioam6_enabled: int | None = grown(S32)
    ioam6_id: int | None = grown(U32)
    ioam6_id_wide: int | None = grown(U32)
    """The lower 32 of its 64 bits."""
    ndisc_evict_nocarrier: int | None = grown(S32)
    accept_untracked_na: int | None = grown(S32)
    accept_ra_min_lft: int | None = grown(S32)
    """Seconds."""
    force_forwarding: int | None = grown(S32)


class IN6_ADDR_GEN_MODE(OpenEnum):
    """How the kernel makes addresses of its own."""

    EUI64 = 0
    """From the hardware address."""
    NONE = 1
    """It does not."""
    STABLE_PRIVACY = 2
    """From a secret (RFC 7217)."""
    RANDOM = 3
    """The same, from a secret made when it is needed."""

    @classmethod
    def words(cls) -> dict[str, str]:
        return {"STABLE_PRIVACY": "stable_secret"}


class IF6_FLAGS(IntFlag):
    """The state of IPv6 on a link (IF_*)."""

    RS_SENT = 0x10
    """Routers were asked."""
    RA_RCVD = 0x20
    """A router has told of itself."""
    RA_MANAGED = 0x40
    """It says that addresses are to be had by DHCP."""
    RA_OTHERCONF = 0x80
    """It says that the rest is to be had by DHCP."""
    READY = 0x80000000


class Inet6Cache(Struct):
    """struct ifla_cacheinfo."""

    max_reasm_len: int = fixed(U32, default=0)
    """The longest packet that is put together, in bytes."""
    tstamp: float = fixed(scaled(U32, 0.01), default=0.0)
    """When it was changed last, in seconds since the system started."""
    reachable_time: float = fixed(scaled(U32, 0.001), default=0.0)
    """Seconds that a neighbour is taken for reachable."""
    retrans_time: float = fixed(scaled(U32, 0.001), default=0.0)
    """Seconds between questions for a neighbour."""


class Inet(Record):
    """IPv4 on a link: IFLA_INET_*."""

    conf: InetConf | None = attr(1, nested(InetConf))


class Inet6(Record):
    """IPv6 on a link: IFLA_INET6_*. Of these, a request can set `token` and `addr_gen_mode`."""

    flags: IF6_FLAGS | None = attr(1, as_flags(U32, IF6_FLAGS))
    conf: Inet6Conf | None = attr(2, nested(Inet6Conf))
    stats: tuple[int, ...] | None = attr(3, packed(U64))
    """The first says how many there are. The order is that of IPSTATS_MIB_*, and differs between kernels."""
    mcast: bytes | None = attr(4, BYTES)
    cacheinfo: Inet6Cache | None = attr(5, nested(Inet6Cache))
    icmp6stats: tuple[int, ...] | None = attr(6, packed(U64))
    """As `stats`, of ICMP6_MIB_*."""
    token: IPv6Address | None = attr(7, IP6)
    """The lower half of addresses that the kernel makes; :: is none."""
    addr_gen_mode: IN6_ADDR_GEN_MODE | None = attr(8, as_enum(U8, IN6_ADDR_GEN_MODE))
    ra_mtu: int | None = attr(9, U32)
    """The MTU that a router told; since Linux 5.15."""


class Mctp(Record):
    """MCTP on a link: IFLA_MCTP_*."""

    net: int | None = attr(1, U32)
    phys_binding: int | None = attr(2, U8)


class AfSpec(Record):
    """IFLA_AF_SPEC; of a family that is not known here, everything is in `unknown`."""


class LinkAfSpec(AfSpec, kind=AF_UNSPEC):
    """IFLA_AF_SPEC in messages of AF_UNSPEC: what each family has."""

    inet: Inet | None = attr(AF_INET, nested(Inet))
    inet6: Inet6 | None = attr(AF_INET6, nested(Inet6))
    mctp: Mctp | None = attr(AF_MCTP, nested(Mctp))


class Others(Record):
    """Attributes that have no fields yet: all of them are in `unknown`."""


class BridgeMrps(Record):
    """IFLA_BRIDGE_MRP."""

    info: tuple[BridgeMrp, ...] = repeated(7, nested(BridgeMrp))


class BridgeAfSpec(AfSpec, kind=AF_BRIDGE):
    """IFLA_AF_SPEC in messages of AF_BRIDGE: IFLA_BRIDGE_*."""

    flags: BRIDGE_FLAGS | None = attr(0, as_flags(U16, BRIDGE_FLAGS))
    """In requests; a request without it is for the port's bridge."""
    mode: int | None = attr(1, U16)
    """BRIDGE_MODE_*: 0 VEB, 1 VEPA; 0xffff: none."""
    vlan_info: tuple[BridgeVlan, ...] = repeated(2, nested(BridgeVlan))
    vlan_tunnel_info: tuple[BridgeVlanTunnel, ...] = repeated(3, nested(BridgeVlanTunnel))
    mrp: BridgeMrps | None = attr(4, nested(BridgeMrps))
    cfm: Others | None = attr(5, nested(Others))
    mst: tuple[BridgeMstEntry, ...] | None = attr(6, array(nested(BridgeMstEntry), code=1))


class ProtInfo(Record):
    """IFLA_PROTINFO; of a family that is not known here, everything is in `unknown`."""


class BridgeProtInfo(BridgePort, ProtInfo, kind=AF_BRIDGE):
    """IFLA_PROTINFO in messages of AF_BRIDGE: what an interface has as a port of a bridge."""


class Inet6ProtInfo(Inet6, ProtInfo, kind=AF_INET6):
    """IFLA_PROTINFO in messages of AF_INET6."""
