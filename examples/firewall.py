"""Firewall agent: make an nft set equal to a wanted list (50,000 networks) in one atomic transaction; races retried."""

from ipaddress import IPv4Network

import netlink_codec as nl
from netlink_codec import nft

SET = ("inet", "fw", "blocked")


def sync(conn: nl.Conn, wanted: set[IPv4Network]) -> int:
    """Add what is missing, delete what is too much; returns how many those were."""
    for _ in range(5):
        gen = conn.do(nft.generation()).id
        have = {e.key for e in conn.dump(nft.elements(*SET)) if isinstance(e.key, IPv4Network)}
        gone, new = have - wanted, wanted - have
        if not gone and not new:
            return 0
        tx = nft.Transaction(genid=gen)  # a Request: the same value runs on AsyncConn
        tx.add(nft.delete_elements(*SET, gone), nft.add_elements(*SET, new))
        try:
            conn.do(tx, timeout=10)  # any size: split under 64 KiB, one sendmsg, few ACKs
            return len(gone) + len(new)
        except nft.GenerationMoved:
            continue  # someone else committed in between: look again
    raise TimeoutError("the ruleset keeps changing")


if __name__ == "__main__":
    with nl.Conn(nl.NETLINK_NETFILTER) as conn:
        print(sync(conn, {IPv4Network("192.0.2.0/24"), IPv4Network("198.51.100.0/24")}), "changed")
