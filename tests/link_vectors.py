"""What iproute2 6.1 sends for a command, after the nlmsghdr, and the record that says the same.

Taken from its sendmsg(2). It sends what it is told, whether the kernel has that kind of interface or not.
"""

from ipaddress import IPv4Address, IPv6Address

from netlink_codec import rtnl
from netlink_codec.rtnl import Bond, Bridge, Link, LinkInfo, PortData, Veth, Vf, Vlan, Vxlan

SENT = {
    "link add vlan5 link ifb0 type vlan id 5 protocol 802.1ad reorder_hdr off gvrp on loose_binding on"
    " egress-qos-map 0:1 3:5 ingress-qos-map 2:6": (
        "0000000000000000000000000000000008000500020000000a000300766c616e350000005800120008000100766c616e4c00"
        "020006000100050000000600050088a800001c0003000c00010000000000010000000c000100030000000500000010000400"
        "0c00010002000000060000000c0002000600000007000000",
        Link(
            name="vlan5",
            link=2,
            info=LinkInfo(
                data=Vlan(
                    id=5,
                    protocol=0x88A8,
                    flags=rtnl.VlanFlags(
                        flags=rtnl.VLAN_FLAG.GVRP | rtnl.VLAN_FLAG.LOOSE_BINDING,
                        mask=rtnl.VLAN_FLAG.REORDER_HDR | rtnl.VLAN_FLAG.GVRP | rtnl.VLAN_FLAG.LOOSE_BINDING,
                    ),
                    egress_qos=(rtnl.VlanQos(to=1), rtnl.VlanQos(from_=3, to=5)),
                    ingress_qos=(rtnl.VlanQos(from_=2, to=6),),
                )
            ),
        ),
    ),
    "link add bond0 type bond mode 802.3ad miimon 100 updelay 200 downdelay 300 lacp_rate fast ad_select bandwidth"
    " xmit_hash_policy layer3+4 min_links 2 ad_actor_sys_prio 100 ad_actor_system 02:00:00:00:00:99"
    " lacp_active off": (
        "000000000000000000000000000000000a000300626f6e64300000006c00120008000100626f6e6460000200050001000400"
        "0000080003006400000008000400c8000000080005002c0100000500150001000000050016000100000005000e0001000000"
        "080012000200000006001800640000000a001a00020000000099000005001d0000000000",
        Link(
            name="bond0",
            info=LinkInfo(
                data=Bond(
                    mode=rtnl.BOND_MODE.LACP,
                    miimon=100,
                    updelay=200,
                    downdelay=300,
                    ad_lacp_rate=rtnl.AD_LACP_RATE.FAST,
                    ad_select=rtnl.AD_SELECT.BANDWIDTH,
                    xmit_hash_policy=rtnl.BOND_XMIT_POLICY.LAYER34,
                    min_links=2,
                    ad_actor_sys_prio=100,
                    ad_actor_system="02:00:00:00:00:99",
                    ad_lacp_active=0,
                )
            ),
        ),
    ),
    "link add bond1 type bond mode active-backup arp_interval 500 arp_ip_target 192.0.2.1,192.0.2.2"
    " ns_ip6_target 2001:db8::1 arp_validate all arp_all_targets all primary_reselect better fail_over_mac active"
    " num_grat_arp 3 arp_missed_max 4 peer_notify_delay 500": (
        "000000000000000000000000000000000a000300626f6e64310000008400120008000100626f6e6478000200050001000100"
        "000008000700f40100001400080008000000c000020108000100c000020218001f001400000020010db80000000000000000"
        "00000001080009000300000008000a000100000005000c000100000005000d0001000000050010000300000005001e000400"
        "000008001c00f4010000",
        Link(
            name="bond1",
            info=LinkInfo(
                data=Bond(
                    mode=rtnl.BOND_MODE.ACTIVEBACKUP,
                    arp_interval=500,
                    arp_ip_target=(IPv4Address("192.0.2.1"), IPv4Address("192.0.2.2")),
                    ns_ip6_target=(IPv6Address("2001:db8::1"),),
                    arp_validate=rtnl.BOND_ARP_VALIDATE.ALL,
                    arp_all_targets=rtnl.BOND_ARP_TARGETS.ALL,
                    primary_reselect=rtnl.BOND_PRI_RESELECT.BETTER,
                    fail_over_mac=rtnl.BOND_FOM.ACTIVE,
                    num_peer_notif=3,
                    missed_max=4,
                    peer_notif_delay=500,
                )
            ),
        ),
    ),
    "link set ifb0 type bond_slave queue_id 3": (
        "00000000020000000000000000000000200012000e000100626f6e645f736c61766500000c0005000600050003000000",
        # As `ip` says that it is about a port.
        Link(
            index=2, info=LinkInfo(kind="bond_slave", slave_data=PortData.from_bytes(bytes.fromhex("0600050003000000")))
        ),
    ),
    "link add red type vrf table 1000": (
        "0000000000000000000000000000000008000300726564001800120007000100767266000c00020008000100e8030000",
        Link(name="red", info=LinkInfo(data=rtnl.Vrf(table=1000))),
    ),
    "link add dummy0 mtu 1400 type dummy": (
        "0000000000000000000000000000000008000400780500000b00030064756d6d79300000100012000900010064756d6d79000000",
        Link(name="dummy0", mtu=1400, info=LinkInfo(kind="dummy")),
    ),
    "link add ipv0 link ifb0 type ipvlan mode l3s private": (
        "000000000000000000000000000000000800050002000000090003006970763000000000240012000a0001006970766c616e"
        "00001400020006000100020000000600020001000000",
        Link(
            name="ipv0",
            link=2,
            info=LinkInfo(data=rtnl.Ipvlan(mode=rtnl.IPVLAN_MODE.L3S, flags=rtnl.IPVLAN_F.PRIVATE)),
        ),
    ),
    "link add mv0 link ifb0 type macvlan mode source macaddr set 02:00:00:00:00:01 02:00:00:00:00:02 bcqueuelen 500": (
        "000000000000000000000000000000000800050002000000080003006d763000480012000b0001006d6163766c616e003800"
        "020008000300030000001c0005000a00040002000000000100000a000400020000000002000008000700f401000008000100"
        "10000000",
        Link(
            name="mv0",
            link=2,
            info=LinkInfo(
                data=rtnl.Macvlan(
                    mode=rtnl.MACVLAN_MODE.SOURCE,
                    macaddr_mode=rtnl.MACVLAN_MACADDR.SET,
                    macaddr_data=("02:00:00:00:00:01", "02:00:00:00:00:02"),
                    bc_queue_len=500,
                )
            ),
        ),
    ),
    "link add mt0 link ifb0 type macvtap mode bridge": (
        "000000000000000000000000000000000800050002000000080003006d7430001c0012000b0001006d616376746170000c00"
        "02000800010004000000",
        Link(name="mt0", link=2, info=LinkInfo(data=rtnl.Macvtap(mode=rtnl.MACVLAN_MODE.BRIDGE))),
    ),
    "link add v0 type veth peer name v1 mtu 1400": (
        "0000000000000000000000000000000007000300763000003400120008000100766574682800020024000100000000000000"
        "0000000000000000000008000400780500000700030076310000",
        Link(name="v0", info=LinkInfo(data=Veth(peer=Link(name="v1", mtu=1400)))),
    ),
    "link add vx0 type vxlan id 42 group 239.1.1.1 dev ifb0 dstport 4789 srcport 5000 6000 ttl 8 tos inherit nolearning"
    " ageing 60 maxaddress 100 proxy rsc l2miss l3miss udpcsum noudp6zerocsumtx gbp df set": (
        "000000000000000000000000000000000800030076783000a00012000900010076786c616e00000090000200080003000200"
        "000008000a001388177005000500080000000500060001000000080008003c000000080009006400000005000b0001000000"
        "05000c000100000005000d000100000005000e0001000000050012000100000005001300000000000400170005001d000100"
        "0000080001002a00000008000200ef010101050007000000000006000f0012b50000",
        Link(
            name="vx0",
            info=LinkInfo(
                data=Vxlan(
                    id=42,
                    group=IPv4Address("239.1.1.1"),
                    link=2,
                    port=4789,
                    port_range=rtnl.VxlanPorts(low=5000, high=6000),
                    ttl=8,
                    tos=1,
                    learning=0,
                    ageing=60,
                    limit=100,
                    proxy=1,
                    rsc=1,
                    l2miss=1,
                    l3miss=1,
                    udp_csum=1,
                    udp_zero_csum6_tx=0,
                    gbp=True,
                    df=rtnl.VXLAN_DF.SET,
                )
            ),
        ),
    ),
    "link add vx1 type vxlan id 43 remote 2001:db8::2 local 2001:db8::1 dev ifb0 flowlabel 0xabcde ttl inherit": (
        "000000000000000000000000000000000800030076783100600012000900010076786c616e00000050000200080003000200"
        "000008001a00000abcde04001c00080001002b0000001400110020010db80000000000000000000000011400100020010db8"
        "0000000000000000000000020500070001000000",
        Link(
            name="vx1",
            info=LinkInfo(
                data=Vxlan(
                    id=43,
                    group6=IPv6Address("2001:db8::2"),
                    local6=IPv6Address("2001:db8::1"),
                    link=2,
                    label=0xABCDE,
                    ttl_inherit=True,
                    learning=1,
                )
            ),
        ),
    ),
    "link add vx2 type vxlan external vnifilter dstport 4790 gpe": (
        "000000000000000000000000000000000800030076783200380012000900010076786c616e00000028000200050019000100"
        "000005001e000100000004001b00050007000000000006000f0012b60000",
        Link(
            name="vx2",
            info=LinkInfo(data=Vxlan(collect_metadata=1, vnifilter=1, gpe=True, learning=0, port=4790)),
        ),
    ),
    "link add br0 type bridge forward_delay 400 hello_time 300 max_age 1000 ageing_time 6000 stp_state 1 priority 4096"
    " vlan_filtering 1 vlan_protocol 802.1ad vlan_default_pvid 7 group_fwd_mask 8 mcast_snooping 0"
    " mcast_query_interval 5000 no_linklocal_learn 1 nf_call_iptables 1": (
        "0000000000000000000000000000000008000300627230008c0012000a00010062726964676500007c000200080001009001"
        "0000080002002c01000008000300e80300000800040070170000080005000100000006000600001000000500070001000000"
        "0600080088a800000600270007000000060009000800000005001700000000000c0021008813000000000000050024000100"
        "00000c002e000100000001000000",
        Link(
            name="br0",
            info=LinkInfo(
                data=Bridge(
                    forward_delay=4,
                    hello_time=3,
                    max_age=10,
                    ageing_time=60,
                    stp_state=1,
                    priority=4096,
                    vlan_filtering=1,
                    vlan_protocol=0x88A8,
                    vlan_default_pvid=7,
                    group_fwd_mask=8,
                    mcast_snooping=0,
                    mcast_query_intvl=50,
                    nf_call_iptables=1,
                    multi_boolopt=rtnl.BridgeOptions(
                        optval=rtnl.BR_BOOLOPT.NO_LL_LEARN, optmask=rtnl.BR_BOOLOPT.NO_LL_LEARN
                    ),
                )
            ),
        ),
    ),
    "link set dev ifb0 vf 2 mac 02:00:00:00:00:07 vlan 100 qos 3 proto 802.1ad spoofchk on trust on state disable"
    " min_tx_rate 10 max_tx_rate 20 query_rss off": (
        "0000000002000000000000000000000088001600840001002800010002000000020000000007000000000000000000000000"
        "000000000000000000000000000018000c001400010002000000640000000300000088a800000c0004000200000001000000"
        "0c00090002000000010000000c00050002000000020000000c000700020000000000000010000600020000000a0000001400"
        "0000",
        Link(
            index=2,
            vfinfo_list=rtnl.Vfs(
                info=(
                    Vf(
                        mac=rtnl.VfMac(vf=2, mac=bytes.fromhex("020000000007") + bytes(26)),
                        vlan_list=(rtnl.VfVlanInfo(vf=2, vlan=100, qos=3, vlan_proto=0x88A8),),
                        spoofchk=rtnl.VfSetting(vf=2, setting=1),
                        trust=rtnl.VfSetting(vf=2, setting=1),
                        link_state=rtnl.VfLinkState(vf=2, link_state=rtnl.IFLA_VF_LINK_STATE.DISABLE),
                        rss_query_en=rtnl.VfSetting(vf=2, setting=0),
                        rate=rtnl.VfRate(vf=2, min_tx_rate=10, max_tx_rate=20),
                    ),
                )
            ),
        ),
    ),
    "link set ifb0 addrgenmode none": (
        "0000000002000000000000000000000010001a000c000a000500080001000000",
        Link(index=2, af_spec=rtnl.LinkAfSpec(inet6=rtnl.Inet6(addr_gen_mode=rtnl.IN6_ADDR_GEN_MODE.NONE))),
    ),
    "link property add dev ifb0 altname another-name altname short": (
        "000000000200000000000000000000002400348011003500616e6f746865722d6e616d65000000000a00350073686f7274000000",
        Link(index=2, prop_list=rtnl.PropList(alt_ifname=("another-name", "short"))),
    ),
    "link set ifb0 xdp off": (
        "0000000002000000000000000000000014002b0008000100ffffffff0800030001000000",
        Link(index=2, xdp=rtnl.Xdp(fd=-1, flags=rtnl.XDP_FLAGS.UPDATE_IF_NOEXIST)),
    ),
    "link set ifb1 nomaster up arp off multicast off mtu 1300 alias hello txqlen 5 address 02:00:00:00:00:05": (
        "0000000003000000810000008110000008000a000000000008000400140500000900140068656c6c6f00000008000d000500"
        "00000a0001000200000000050000",
        Link(
            index=3,
            flags=rtnl.IFF.UP | rtnl.IFF.NOARP,
            change=rtnl.IFF.UP | rtnl.IFF.NOARP | rtnl.IFF.MULTICAST,
            master=0,
            mtu=1300,
            alias="hello",
            txqlen=5,
            address="02:00:00:00:00:05",
        ),
    ),
}
