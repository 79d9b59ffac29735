"""Bytes of finished connections by where they went, under asyncio; the loss of events is visible."""

import asyncio
from collections import Counter

import netlink_codec as nl
from netlink_codec import conntrack as ct


async def watch(totals: Counter[str]) -> None:
    """Add up, until cancelled. The kernel counts if net.netfilter.nf_conntrack_acct is 1."""
    async with nl.AsyncConn(nl.NETLINK_NETFILTER) as conn:
        async for event in conn.watch(ct.watch("destroy", rcvbuf=8 << 20)):
            match event:
                case nl.Lost(count):
                    print("events lost:", count)  # an event, not an exception that ends the loop
                case nl.Deleted(flow) if flow.counters is not None and flow.orig is not None:
                    totals[str(flow.orig.dst)] += sum(counters.bytes or 0 for counters in flow.counters)
                case _:
                    pass  # the kernel did not count it


async def drop(zone: int, dport: int) -> None:
    """Forget the connections of a zone to a port."""
    async with nl.AsyncConn(nl.NETLINK_NETFILTER) as conn:
        flows = await conn.collect(ct.flows(zone=zone))
        await conn.batch([ct.delete(flow, missing_ok=True) for flow in flows if flow.orig and flow.orig.dport == dport])


if __name__ == "__main__":
    asyncio.run(watch(Counter()))
