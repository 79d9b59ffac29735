"""What type checkers say of links; checked, never run."""

from typing import assert_type

from netlink_codec import NETLINK_ROUTE, AsyncConn, Conn, NetNS, rtnl
from netlink_codec.requests import Dump, Procedure, Request


def fields(link: rtnl.Link) -> None:
    assert_type(link.index, int)
    assert_type(link.name, str)
    assert_type(link.mtu, int | None)
    assert_type(link.flags, rtnl.IFF)
    assert_type(link.operstate, rtnl.IF_OPER | None)
    assert_type(link.kind, str | None)
    assert_type(link.up, bool)
    assert_type(link.altnames, tuple[str, ...])
    assert_type(link.stats64, rtnl.Counters | None)
    if link.inet6 is not None:
        assert_type(link.inet6.addr_gen_mode, rtnl.IN6_ADDR_GEN_MODE | None)
    match link.info:
        case rtnl.LinkInfo(data=rtnl.Vlan(id=int(number))):
            assert_type(number, int)
        case rtnl.LinkInfo(data=rtnl.Bridge() as bridge):
            assert_type(bridge.forward_delay, float | None)
        case _:
            pass


def requests(conn: Conn, ns: NetNS, link: rtnl.Link) -> None:
    pair = rtnl.Veth(peer=rtnl.Link(name="eth0", mtu=1450, netns=ns))
    assert_type(rtnl.add_link("v0", pair, master="br0", mtu=1450, up=True), Procedure[rtnl.Link])
    assert_type(rtnl.add_link("i0", "ifb", netns=ns), Request[None])
    assert_type(rtnl.replace_link("br0", rtnl.Bridge(ageing_time=60.5)), Procedure[rtnl.Link])
    assert_type(rtnl.link("eth0"), Request[rtnl.Link])
    assert_type(rtnl.links(kind="veth", master=link), Dump[rtnl.Link])
    assert_type(rtnl.set_link(link, name="lan0", up=True, mtu=None, netns="blue"), Request[None])
    assert_type(rtnl.delete_link(3, missing_ok=True), Request[None])
    assert_type(conn.do(rtnl.add_link("i0", "ifb")), rtnl.Link)
    for one in conn.dump(rtnl.links()):
        assert_type(one, rtnl.Link)


async def requests_of_asyncio() -> None:
    async with AsyncConn(NETLINK_ROUTE) as conn:
        assert_type(await conn.do(rtnl.link("lo")), rtnl.Link)
        assert_type(await conn.collect(rtnl.links()), list[rtnl.Link])


def mistakes(link: rtnl.Link) -> None:
    rtnl.Link(mtu="1500")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    rtnl.Link(ifname="lan0")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    rtnl.LinkInfo(data=rtnl.BridgePort())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    rtnl.set_link("eth0", mtuu=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    rtnl.add_link("eth0", 3)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    link.mtu = 3  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
