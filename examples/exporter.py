"""Counters of all interfaces, each second, as Prometheus reads them."""

import time
from collections.abc import Iterator

import netlink_codec as nl
from netlink_codec import rtnl

STATS = rtnl.stats()  # a request is a value: made once, run for ever


def scrape() -> Iterator[str]:
    """Lines for one interface at a time; all of them, then a second's pause, and again."""
    with nl.Conn(nl.NETLINK_ROUTE) as conn:
        names: dict[int, str] = {}
        while True:
            rows = conn.collect(STATS)  # an interrupted dump is run again, within bounds
            if any(row.index not in names for row in rows):
                names = {link.index: link.name for link in conn.collect(rtnl.links())}
            for row in rows:
                counters, name = row.link, names.get(row.index, str(row.index))
                yield f'rx_bytes{{if="{name}"}} {counters.rx_bytes}\ntx_bytes{{if="{name}"}} {counters.tx_bytes}'
            time.sleep(1.0)


if __name__ == "__main__":
    for lines in scrape():
        print(lines)
