"""Results out of messages, without a socket."""

from netlink_codec import _core


class Given(_core.Scan):
    """An exchange whose datagrams are there already."""

    def __init__(self, datagrams, seq):
        super().__init__(seq, 1)
        self.datagrams = iter(datagrams)
        self.closed = 0

    def more(self):
        datagram = next(self.datagrams, None)
        if datagram is None:
            self.done = True
        else:
            self.feed(datagram)

    def close(self):
        self.closed += 1


class Reading:
    """What iterates, and says how often its exchange was closed."""

    def __init__(self, scan, decode):
        self.scan = scan
        self.results = _core.Results(scan, decode)

    def __iter__(self):
        return self.results

    def __next__(self):
        return next(self.results)

    def __enter__(self):
        assert self.results.__enter__() is self.results
        return self

    def __exit__(self, *error):
        self.results.__exit__(*error)

    def close(self):
        self.results.close()

    def scan_closed(self):
        return self.scan.closed


def results(messages, decode, seq=7, raw=False):
    return Reading(Given(messages if raw else [bytes(message) for message in messages], seq), decode)
