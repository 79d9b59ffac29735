"""Numbers with names that links use: <linux/if.h>, <linux/if_arp.h>, <linux/if_link.h>. Words are those of `ip`."""

from enum import IntFlag

from ..records import OpenEnum


class IFF(IntFlag):
    """Flags of a link. A request sets those that its `change` names; the kernel alone sets the volatile ones."""

    UP = 0x1
    """Switched on. Whether it can carry packets is `RUNNING`."""
    BROADCAST = 0x2
    """Volatile: there is a broadcast address."""
    DEBUG = 0x4
    LOOPBACK = 0x8
    """Volatile."""
    POINTOPOINT = 0x10
    """Volatile: there is one other end."""
    NOTRAILERS = 0x20
    RUNNING = 0x40
    """Volatile: it can carry packets."""
    NOARP = 0x80
    """Without resolving addresses."""
    PROMISC = 0x100
    """Receive what is for others, too; what the kernel itself asks for is in `Link.promiscuity` alone."""
    ALLMULTI = 0x200
    """Receive all multicast; what the kernel itself asks for is in `Link.allmulti` alone."""
    MASTER = 0x400
    """Volatile: of a bond."""
    SLAVE = 0x800
    """Volatile: a port of a bond."""
    MULTICAST = 0x1000
    PORTSEL = 0x2000
    AUTOMEDIA = 0x4000
    DYNAMIC = 0x8000
    LOWER_UP = 0x10000
    """Volatile: there is a carrier."""
    DORMANT = 0x20000
    """Volatile: up, and waiting for something, such as 802.1X."""
    ECHO = 0x40000
    """Volatile: of CAN, what is sent is heard here, too."""


class IF_OPER(OpenEnum):
    """The operational state of a link (RFC 2863)."""

    UNKNOWN = 0
    """Its driver does not say; taken for up."""
    NOTPRESENT = 1
    DOWN = 2
    LOWERLAYERDOWN = 3
    """That below it is down."""
    TESTING = 4
    DORMANT = 5
    """Waiting for something, such as 802.1X."""
    UP = 6

    @property
    def word(self) -> str:
        return self.name


class IF_LINK_MODE(OpenEnum):
    """What comes before a link is up."""

    DEFAULT = 0
    DORMANT = 1
    """Somebody who says that it may be: 802.1X."""
    TESTING = 2

    @property
    def word(self) -> str:
        return self.name


class IFLA_EVENT(OpenEnum):
    """Why a notification was sent."""

    NONE = 0
    REBOOT = 1
    """The device was reset."""
    FEATURES = 2
    """Offloads changed."""
    BONDING_FAILOVER = 3
    """Another port of a bond is the active one."""
    NOTIFY_PEERS = 4
    """Neighbours are told again where the addresses are."""
    IGMP_RESEND = 5
    BONDING_OPTIONS = 6


class XDP_ATTACHED(OpenEnum):
    """Where a link's XDP program runs."""

    NONE = 0
    DRV = 1
    """In the driver."""
    SKB = 2
    """In the stack."""
    HW = 3
    """In the device."""
    MULTI = 4
    """Several do."""


class XDP_FLAGS(IntFlag):
    """How an XDP program is to be attached."""

    UPDATE_IF_NOEXIST = 0x1
    SKB_MODE = 0x2
    DRV_MODE = 0x4
    HW_MODE = 0x8
    REPLACE = 0x10


class RTEXT_FILTER(IntFlag):
    """What more, or less, a request for links is answered with (IFLA_EXT_MASK)."""

    VF = 0x1
    """What is known of its virtual functions."""
    BRVLAN = 0x2
    """The VLANs of bridges and their ports; to requests of AF_BRIDGE."""
    BRVLAN_COMPRESSED = 0x4
    """The same, as ranges."""
    SKIP_STATS = 0x8
    """No counters."""
    MRP = 0x10
    CFM_CONFIG = 0x20
    CFM_STATUS = 0x40
    MST = 0x80


class ARPHRD(OpenEnum):
    """What kind of hardware addresses a link has."""

    NETROM = 0
    ETHER = 1
    EETHER = 2
    AX25 = 3
    PRONET = 4
    CHAOS = 5
    IEEE802 = 6
    ARCNET = 7
    APPLETLK = 8
    DLCI = 15
    ATM = 19
    METRICOM = 23
    IEEE1394 = 24
    EUI64 = 27
    INFINIBAND = 32
    SLIP = 256
    CSLIP = 257
    SLIP6 = 258
    CSLIP6 = 259
    RSRVD = 260
    ADAPT = 264
    ROSE = 270
    X25 = 271
    HWX25 = 272
    CAN = 280
    MCTP = 290
    PPP = 512
    HDLC = 513
    LAPB = 516
    DDCMP = 517
    RAWHDLC = 518
    RAWIP = 519
    TUNNEL = 768
    """IPv4 in IPv4."""
    TUNNEL6 = 769
    """Over IPv6."""
    FRAD = 770
    SKIP = 771
    LOOPBACK = 772
    LOCALTLK = 773
    FDDI = 774
    BIF = 775
    SIT = 776
    """IPv6 in IPv4."""
    IPDDP = 777
    IPGRE = 778
    PIMREG = 779
    HIPPI = 780
    ASH = 781
    ECONET = 782
    IRDA = 783
    FCPP = 784
    FCAL = 785
    FCPL = 786
    FCFABRIC = 787
    IEEE802_TR = 800
    IEEE80211 = 801
    IEEE80211_PRISM = 802
    IEEE80211_RADIOTAP = 803
    IEEE802154 = 804
    IEEE802154_MONITOR = 805
    PHONET = 820
    PHONET_PIPE = 821
    CAIF = 822
    IP6GRE = 823
    NETLINK = 824
    LOWPAN6 = 825
    """ARPHRD_6LOWPAN."""
    VSOCKMON = 826
    NONE = 0xFFFE
    """No addresses: IP, and nothing before it."""
    VOID = 0xFFFF

    @classmethod
    def words(cls) -> dict[str, str]:
        return {
            "APPLETLK": "atalk",
            "TUNNEL": "ipip",
            "LOCALTLK": "ltalk",
            "IPDDP": "ip/ddp",
            "IPGRE": "gre",
            "FCFABRIC": "fcfb0",
            "IEEE802_TR": "tr",
            "IEEE80211": "ieee802.11",
            "IEEE80211_PRISM": "ieee802.11/prism",
            "IEEE80211_RADIOTAP": "ieee802.11/radiotap",
            "IEEE802154": "ieee802.15.4",
            "IEEE802154_MONITOR": "ieee802.15.4/monitor",
            "PHONET_PIPE": "phonet_pipe",
            "IP6GRE": "gre6",
            "LOWPAN6": "6lowpan",
        }
