"""The state of what is watched: gathered by dumps, told as events, and kept track of."""

from collections import deque
from collections.abc import Generator, Hashable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from ._socket import Socket
from .changes import Changed, Deleted, New, Sync
from .errors import DumpInterrupted, NetlinkError, Overrun
from .lookups import Filling
from .pool import Pool
from .replies import Answer
from .requests import Dump, Watch

# A dump that is interrupted is run again so often, before all begins anew.
_RETRIES = 10
_AT_ONCE = 16

# What there is to tell, perhaps nothing; None if something must happen first.
_Told = Generator[list[Any] | None, None, None]


class Known:
    """The last record of each thing."""

    def __init__(self, watch: Watch[Any]) -> None:
        self._identity = watch.identity
        self._records: dict[Hashable, Any] = {}

    def tell(self, event: Any) -> Any:
        """The event, in the light of what is known; None if that does not change."""
        if isinstance(event, New | Changed):
            return self._tell(self._identity(event.record), event.record)
        if isinstance(event, Deleted):
            return Deleted(event.record, self._records.pop(self._identity(event.record), event.old))
        return event

    def _tell(self, key: Hashable, record: Any) -> Any:
        old = self._records.get(key)
        if old == record:
            return None
        self._records[key] = record
        return New(record) if old is None else Changed(record, old)

    def compare(self, records: list[Any]) -> Iterator[Any]:
        """The events that lead from what is known to these records."""
        there = set()
        for record in records:
            key = self._identity(record)
            there.add(key)
            if (event := self._tell(key, record)) is not None:
                yield event
        for key in [key for key in self._records if key not in there]:
            old = self._records.pop(key)
            yield Deleted(old, old)


class Resync:
    """The state told once, in steps, none of which waits.

    After one that brought nothing, either `unfilled` has late values that are to be found out
    and handed back to `fill`, or there will be something to receive on `socket`, or
    it may just go on.
    """

    unfilled: Filling | None = None
    socket: Socket | None = None

    def __init__(self, pool: Pool, watch: Watch[Any]) -> None:
        self._pool = pool
        self._dumps: tuple[Dump[Any], ...] = watch.resync
        self.known: Final = Known(watch) if watch.track else None
        self._lost: int | None = 0
        self._steps: _Told | None = None
        self._busy = False
        if watch.initial:
            self.begin(0)

    @property
    def under_way(self) -> bool:
        return self._steps is not None

    def begin(self, lost: int | None) -> None:
        """Tell the state, from its beginning, now that so much was lost."""
        self.cancel()
        self._lost = lost
        self._steps = self._run()

    def cancel(self) -> None:
        """Tell no more of it."""
        steps, self._steps = self._steps, None
        self.unfilled = None
        if steps is not None:
            with suppress(ValueError):  # a signal handler closes what it interrupts
                steps.close()

    def fill(self, filling: Filling) -> None:
        """Its late values are found out, unless it has begun anew meanwhile."""
        if self.unfilled is filling:
            self.unfilled = None

    def step(self, queue: deque[Any]) -> bool:
        """Go on; False if nothing came of it."""
        steps = self._steps
        if steps is None:
            return False
        if self._busy:
            raise RuntimeError("who is asked for the state asks for it: a decoder, or a signal handler")
        self._busy = True
        try:
            events = next(steps)
        except StopIteration:
            self._steps = None
            return True
        except BaseException:
            # Told again from the beginning when somebody asks again.
            self.begin(self._lost)
            raise
        finally:
            self._busy = False
        if events is None:
            return False
        queue.extend(events)
        return True

    def _run(self) -> _Told:
        while True:
            yield [Sync("begin", self._lost)]
            records: list[Any] = []
            if (yield from self._gather(records)):
                break
            yield None
        state = map(New, records) if self.known is None else self.known.compare(records)
        while events := list(islice(state, _AT_ONCE)):
            yield events
        yield [Sync("end", self._lost)]

    def _gather(self, records: list[Any]) -> Generator[list[Any] | None, None, bool]:
        """Run the dumps; False if one was interrupted each time."""
        with Filling(self._dumps) as filling:
            if filling:
                self.unfilled = filling
                while self.unfilled is not None:
                    yield None
            for dump in self._dumps:
                for _ in range(1 + _RETRIES):
                    found: list[Any] = []
                    try:
                        filled = filling.filled(dump)
                    except NetlinkError as error:
                        if error.errno in dump.tolerated:
                            break
                        raise
                    if (yield from self._dump(filled, dump, found)):
                        break
                else:
                    return False
                records += found
        # Whether it is up to date shows before the first of it is told.
        yield []
        return True

    def _dump(self, filled: Dump[Any], dump: Dump[Any], found: list[Any]) -> Generator[list[Any] | None, None, bool]:
        """Run a dump; False if it was interrupted."""
        answer = Answer(self._pool, filled.message, dump, None)
        try:
            while True:
                while (part := answer.take()) is not None:
                    if (record := filled.decode(part) if filled.decode else part) is not None:
                        found.append(record)
                if answer.done or (socket := answer.socket) is None:
                    return True
                if answer.fill(socket):
                    yield []
                else:
                    self.socket = socket
                    yield None
                    self.socket = None
        except DumpInterrupted:
            return False
        except Overrun as error:
            answer.failed(error)
            return False
        finally:
            self.socket = None
            answer.close()
