"""A copy of a routing table that never lies: the state at first, what changes, and all again after a loss."""

import netlink_codec as nl
from netlink_codec import rtnl

Table = dict[tuple[object, ...], rtnl.Route]


def follow(fib: Table, stop: list[bool]) -> None:
    """Keep the main table in `fib`, by identity, until `stop` has something in it."""
    seen: set[tuple[object, ...]] = set()
    watch = rtnl.watch(rtnl.Route, initial=True, table=254)
    with nl.Conn(nl.NETLINK_ROUTE) as conn, conn.watch(watch) as events:
        while not stop:
            match events.next(timeout=1.0):
                case None:
                    continue  # a quiet second: look at `stop`
                case nl.Lost():
                    pass  # a Sync follows: the state comes again
                case nl.Sync("begin"):
                    seen.clear()
                case nl.Sync():  # "end"
                    for key in fib.keys() - seen:
                        del fib[key]  # routes that vanished while we were deaf
                case nl.New(route) | nl.Changed(route):
                    fib[route.identity] = route
                    seen.add(route.identity)
                case nl.Deleted(route):
                    fib.pop(route.identity, None)


if __name__ == "__main__":
    follow({}, [])
