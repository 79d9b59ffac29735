"""Connections to fake kernels, blocking and asynchronous, looked at in one way."""

import asyncio
import threading

import netlink_codec as nl
from netlink_codec.testing import multipart, reply

KINDS = ["blocking", "asyncio"]


class Peer:
    """Runs what a test asks on a connection of either kind, and tells what came of it."""

    def __init__(self, kernel, kind, **options):
        self.asynchronous = kind == "asyncio"
        self.conn = kernel.async_conn(**options) if self.asynchronous else kernel.conn(**options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.conn.close()

    def __getattr__(self, name):
        """A method of the connection; of the asynchronous one, run to its end."""
        method = getattr(self.conn, name)
        if not self.asynchronous:
            return method

        async def run(*arguments, **options):
            return await method(*arguments, **options)

        return lambda *arguments, **options: asyncio.run(run(*arguments, **options))

    def walk(self, start, *, on=()):
        """What an iteration delivers, and the error that ends it, if any; errors of the classes `on` do not."""
        taken = []

        def note(error):
            taken.append(error)
            return isinstance(error, on)

        async def run():
            iterator = aiter(start(self.conn))
            while True:
                try:
                    taken.append(await anext(iterator))
                except StopAsyncIteration:
                    return
                except nl.NetlinkError as error:
                    if not note(error):
                        return

        if self.asynchronous:
            asyncio.run(run())
        else:
            iterator = iter(start(self.conn))
            while True:
                try:
                    taken.append(next(iterator))
                except StopIteration:
                    break
                except nl.NetlinkError as error:
                    if not note(error):
                        break
        error = taken.pop() if taken and isinstance(taken[-1], nl.NetlinkError) else None
        return taken, error


class Waiter(threading.Thread):
    """Calls something that waits, in a thread; `outcome` is what it returns, or the error."""

    def __init__(self, call):
        super().__init__()
        self.call = call
        self.outcome = None
        self.start()

    def run(self):
        try:
            self.outcome = self.call()
        except Exception as error:
            self.outcome = error

    def result(self):
        self.join(60)
        assert not self.is_alive()
        return self.outcome


# Messages of one number.


def data(request, *numbers, flags=0, **numbers_of):
    return [reply(request, 16, bytes([number]), flags=flags, **numbers_of) for number in numbers]


def decode(message):
    return message.data[0]


def series(*sizes, **options):
    return lambda request: multipart(request, data(request, 1, 2, 3), split=sizes, **options)
