"""Connections to the real kernel, blocking and asynchronous, used in one way."""

import asyncio
import inspect

import pytest

import netlink_codec as nl

KINDS = ["blocking", "asyncio"]


class Peer:
    """A connection of either kind, whose calls wait for their results."""

    def __init__(self, kind, protocol=nl.NETLINK_ROUTE, *, kernel=None, **options):
        """`kernel` is a fake one."""
        self.asynchronous = kind == "asyncio"
        self.loop = asyncio.Runner() if self.asynchronous else None
        if self.loop is not None:
            self.loop.get_loop()  # whose descriptors are open from now on
        if kernel is not None:
            self.conn = (kernel.async_conn if self.asynchronous else kernel.conn)(**options)
        else:
            self.conn = (nl.AsyncConn if self.asynchronous else nl.Conn)(protocol, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.conn.close()
        if self.loop is not None:
            self.loop.close()

    def finished(self, result):
        """What a call returned, waited for if it must be."""
        if not inspect.isawaitable(result):
            return result

        async def wait():
            return await result

        return self.loop.run(wait())

    def do(self, request, **options):
        return self.finished(self.conn.do(request, **options))

    def collect(self, dump, **options):
        return self.finished(self.conn.collect(dump, **options))

    def batch(self, requests, **options):
        return self.finished(self.conn.batch(requests, **options))

    def dump(self, dump, *, count=None, **options):
        """The first results of a dump, or all."""
        seen = []

        async def walk():
            results = self.conn.dump(dump, **options)
            async for result in results:
                seen.append(result)
                if len(seen) == count:
                    results.close()
                    break

        if self.asynchronous:
            self.loop.run(walk())
        else:
            with self.conn.dump(dump, **options) as results:
                for result in results:
                    seen.append(result)
                    if len(seen) == count:
                        break
        return seen

    def watch(self, watch):
        return Events(self, self.conn.watch(watch))


class Events:
    """What is watched, on a connection of either kind."""

    def __init__(self, peer, events):
        self.peer = peer
        self.events = events

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.events.close()

    def next(self, timeout=None):
        return self.peer.finished(self.events.next(timeout))

    def take(self, count):
        return [self.next(30) for _ in range(count)]

    def until(self, event):
        """All up to one that is equal to this."""
        seen = [self.next(30)]
        while seen[-1] != event:
            if seen[-1] is None:
                pytest.fail(f"{event} does not come, after {seen}")
            seen.append(self.next(30))
        return seen

    def ready(self):
        return self.events.ready()
