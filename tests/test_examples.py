"""The programs in examples/ on the real kernel, as they stand."""

import asyncio
import contextlib
import importlib.util
import subprocess
import sys
import threading
from collections import Counter
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

import netlink_codec as nl
from iproute import ip, ip_json, needs_ip
from namespaces import network
from netlink_codec import conntrack as ct
from netlink_codec import rtnl

EXAMPLES = Path(__file__).parent.parent / "examples"

pytestmark = pytest.mark.kernel


def example(name):
    specification = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@contextlib.contextmanager
def container():
    """The pid of a process in a network namespace of its own."""
    waits = [sys.executable, "-I", "-c", "print(flush=True); input()"]
    with subprocess.Popen(["unshare", "-n", *waits], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()  # it runs, so it is there
        try:
            yield process.pid
        finally:
            process.stdin.write(b"\n")
            process.stdin.close()


def test_container():
    program = example("container")
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=10) as conn, container() as pid:
        bridge = conn.do(rtnl.add_link("br0", "bridge", up=True))
        index = program.attach(pid, "veth0", "10.0.0.2/24", "10.0.0.1")
        assert program.attach(pid, "veth0", "10.0.0.2/24", "10.0.0.1") == index  # again changes nothing
        veth = conn.do(rtnl.link("veth0"))
        assert (veth.index, veth.master, veth.mtu, veth.up, veth.kind) == (index, bridge.index, 1450, True, "veth")
        with nl.Conn(nl.NETLINK_ROUTE, netns=nl.NetNS.pid(pid), timeout=10) as pod:
            far = pod.do(rtnl.link("eth0"))
            assert (far.mtu, far.up) == (1450, True)
            (address,) = pod.collect(rtnl.addresses(dev="eth0", family=2))
            assert str(address.interface) == "10.0.0.2/24"
            default = next(route for route in pod.dump(rtnl.routes(family=2)) if not route.dst.prefixlen)
            assert (default.via, default.oif) == (IPv4Address("10.0.0.1"), far.index)
        program.detach("veth0")
        program.detach("veth0")
        with pytest.raises(nl.NotFound):
            conn.do(rtnl.link("veth0"))


def test_a_container_that_has_an_eth0():
    program = example("container")
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=10) as conn, container() as pid:
        conn.do(rtnl.add_link("br0", "bridge", up=True))
        with nl.Conn(nl.NETLINK_ROUTE, netns=nl.NetNS.pid(pid), timeout=10) as pod:
            pod.do(rtnl.add_link("eth0", "ifb"))
        with pytest.raises(nl.Exists, match=r"add link veth0: .*no veth0: the container has an eth0 of its own"):
            program.attach(pid, "veth0", "10.0.0.2/24", "10.0.0.1")


@needs_ip
def test_follow_routes_that_the_kernel_removes_in_silence():
    program = example("follow_routes")
    fib, stop = {}, []
    steps = (
        "link set dev red down",
        "link set dev red up",
        "route add 10.1.0.0/16 via 10.0.0.2",
        "route append 10.1.0.0/16 via 10.0.1.2",
        "route del 10.1.0.0/16 via 10.0.0.2",
        "-6 route del 2001:db8:7::/48 via 2001:db8:1::2",
        "addr del 10.0.1.1/24 dev blue",
        "link del blue",
    )
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=10) as conn:
        for number, name in enumerate(("red", "blue")):
            conn.do(rtnl.add_link(name, "ifb"))
            conn.do(rtnl.set_link(name, addr_gen_mode="none"))
            conn.do(rtnl.set_link(name, up=True))
            conn.do(rtnl.add_address(f"10.0.{number}.1/24", name))
            conn.do(rtnl.add_address(f"2001:db8:{number}::1/64", name, flags=rtnl.IFA_F.NODAD))
        ip(
            "route add 10.2.0.0/16 via 10.0.0.2",
            "route add 10.3.0.0/16 dev red src 10.0.1.1",
            "route add 10.4.0.0/16 via 10.0.1.2",
            "-6 route add 2001:db8:7::/48 nexthop via 2001:db8::2 nexthop via 2001:db8:1::2",
        )
        follower = threading.Thread(target=program.follow, args=(fib, stop))
        follower.start()
        try:
            until(lambda: followed(fib) == told())
            for step in steps:
                ip(step)
                wanted = told()
                until(lambda wanted=wanted: followed(fib) == wanted)
        finally:
            stop.append(True)
            ip("route add blackhole 10.9.0.0/16")  # so that it need not wait a second
            follower.join()


def followed(fib):
    return sorted(
        (str(route.dst), sorted(str(way.via) for way in route.multipath or (route,))) for route in list(fib.values())
    )


def told():
    """The main table, as `ip` tells it; of two routes to one destination, the one in use."""
    routes = {}
    for route in [route for family in "46" for route in ip_json(f"-{family} route show table main")]:
        routes.setdefault(route["dst"], sorted(str(way.get("gateway")) for way in route.get("nexthops", [route])))
    return sorted(routes.items())


def test_follow_routes():
    program = example("follow_routes")
    fib, stop = {}, []
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=10) as conn:
        conn.do(rtnl.set_link("lo", up=True))
        conn.do(rtnl.add_route("10.1.0.0/16", dev="lo"))
        follower = threading.Thread(target=program.follow, args=(fib, stop))  # begins in this thread's namespace
        follower.start()
        try:
            until(lambda: len(networks(fib)) == 1)
            conn.do(rtnl.add_route("10.2.0.0/16", dev="lo"))
            conn.do(rtnl.delete_route("10.1.0.0/16"))
            until(lambda: networks(fib) == {IPv4Network("10.2.0.0/16")})
        finally:
            stop.append(True)
            conn.do(rtnl.add_route("10.3.0.0/16", dev="lo"))  # so that it need not wait a second
            follower.join()


def networks(fib):
    return {route.dst for route in list(fib.values()) if route.dst.version == 4}


def until(there):
    """Look again until it is so."""
    patience = threading.Event()
    for _ in range(60_000):
        if there():
            return
        patience.wait(0.001)
    raise AssertionError("it did not come about")


def test_exporter():
    program = example("exporter")
    with network(), nl.Conn(nl.NETLINK_ROUTE, timeout=10) as conn:
        conn.batch([nl.Request(nl.Message(rtnl.RTM_NEWLINK, nl.NLM_F_CREATE, link("ifb7")))])
        lines = program.scrape()
        told = [next(lines) for _ in range(2)]
        lines.close()
        assert told == [f'rx_bytes{{if="{name}"}} 0\ntx_bytes{{if="{name}"}} 0' for name in ("lo", "ifb7")]


def link(name):
    return rtnl.Link(name=name, info=rtnl.LinkInfo(kind="ifb"))


def test_flows():
    program = example("flows")
    here, there = IPv4Address("10.0.0.1"), IPv4Address("10.0.0.2")
    flows = [ct.flow("udp", here, there, 1000 + number, 53 + number, timeout=100, zone=7) for number in range(3)]

    async def main():
        totals = Counter()
        watching = asyncio.create_task(program.watch(totals))
        await asyncio.sleep(0)  # it listens
        async with nl.AsyncConn(nl.NETLINK_NETFILTER, timeout=10) as conn:
            await conn.batch([ct.create(flow) for flow in flows])
            await program.drop(7, 53)
            left = await conn.collect(ct.flows(zone=7))
            assert sorted(flow.orig.dport for flow in left) == [54, 55]
            while not totals:  # no packet went: nothing, but told
                await asyncio.sleep(0)
            assert totals == {"10.0.0.2": 0}
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching

    with network():
        Path("/proc/sys/net/netfilter/nf_conntrack_acct").write_text("1")
        asyncio.run(main())
