"""A container's network: a veth pair, its far end in the container's namespace, with an address and a default route.

Safe to run twice. As a CNI plugin does: `python container.py PID host-interface 10.0.0.2/24 10.0.0.1`.
"""

import sys

import netlink_codec as nl
from netlink_codec import rtnl


def attach(pid: int, host_if: str, address: str, gateway: str, bridge: str = "br0") -> int:
    """Connect the process's namespace to the bridge; returns the index of the host's end."""
    pod_ns = nl.NetNS.pid(pid)
    with nl.Conn(nl.NETLINK_ROUTE) as host, nl.Conn(nl.NETLINK_ROUTE, netns=pod_ns) as pod:
        peer = rtnl.Link(name="eth0", mtu=1450, netns=pod_ns)
        try:  # one message: the pair made, named, moved, enslaved, and the host's end raised
            veth = host.do(rtnl.add_link(host_if, rtnl.Veth(peer=peer), master=bridge, mtu=1450, up=True))
        except nl.Exists as exists:
            try:
                veth = host.do(rtnl.link(host_if))
            except nl.NotFound:  # so it is the far end that is in the way
                exists.hint = f"there is no {host_if}: the container has an eth0 of its own already"
                raise exists from None
        pod.batch(
            [
                rtnl.set_link("lo", up=True),
                rtnl.set_link("eth0", up=True),  # the connection looks the name up, once
                rtnl.add_address(address, "eth0", exist_ok=True),
                rtnl.replace_route("default", via=gateway, dev="eth0"),
            ]
        )
        return veth.index  # from the kernel's echo: it was not looked up


def detach(host_if: str) -> None:
    """Take it away again; the far end goes with it."""
    with nl.Conn(nl.NETLINK_ROUTE) as host:
        host.do(rtnl.delete_link(host_if, missing_ok=True))


if __name__ == "__main__":
    print(attach(int(sys.argv[1]), *sys.argv[2:5]))
