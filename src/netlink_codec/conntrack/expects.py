"""Requests for what is expected: list, get, create, delete, flush. IPCTNL_MSG_EXP_*."""

import errno
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from .._core import Message
from ..constants import NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL
from ..nfnetlink import NFNL_SUBSYS_CTNETLINK_EXP, message_type
from ..records import IPAddress, reader
from ..requests import Dump, Request
from .expect import Expectation
from .flow import Addresses, Flow, Protocol, Tuple
from .tuples import About, family_of

NEW, GET, DELETE = (message_type(NFNL_SUBSYS_CTNETLINK_EXP, number) for number in range(3))


def expectation(
    master: Flow | Tuple, expected: Tuple, *, mask: Tuple | None = None, timeout: int, **fields: Any
) -> Expectation:
    """What `create_expectation` takes: a connection, the direction of one that it announces, and for how many seconds.

    `mask` says which bits of the source are compared; by default all of address and port, where there are
    such, since the kernel compares the destination always. `fields` are other fields of Expectation. A helper
    of the kernel expects for as long as it always does, whatever `timeout` is.
    """
    orig = master.orig if isinstance(master, Flow) else master
    if isinstance(master, Flow) and master.zone is not None:
        fields.setdefault("zone", master.zone)
    return Expectation(
        family=family_of(expected),
        master=orig,
        tuple=expected,
        mask=_mask(expected) if mask is None else mask,
        timeout=timeout,
        **fields,
    )


def expectations(*, family: int | None = None, master: Flow | None = None) -> Dump[Expectation]:
    """What is expected, in all or because of one connection."""
    fields: dict[str, Any] = {}
    if master is not None:
        if master.orig is None:
            raise ValueError("the connection has no orig, by which it would be named")
        family = master.family if family is None else family
        fields = {"master": master.orig, "zone": master.zone}
    where = {} if family is None else {"family": family}
    message = Message(GET, NLM_F_DUMP, Expectation(family=family or 0, **fields))
    # The kernel looks for the master, and says that it is not there.
    not_found = [] if master is None else [errno.ENOENT]
    return Dump(message, reader(Expectation, NEW, **where), not_found=not_found, doing="list expectations")


def get_expectation(expectation: Expectation | Tuple, *, zone: int | None = None) -> Request[Expectation]:
    """One expectation, by one that was read before, or by what is expected."""
    decode: Any = reader(Expectation, NEW)
    message = Message(GET, 0, _named(expectation, zone))
    doing = About("get expectation of", _expected(expectation))
    return Request(message, decode, not_found=[errno.ENOENT], doing=doing, record=Expectation)


def create_expectation(expectation: Expectation) -> Request[None]:
    """A new expectation. The connection that announces it must have a helper: see `Help`."""
    return Request(
        Message(NEW, NLM_F_CREATE | NLM_F_EXCL, expectation),
        not_found=[errno.ENOENT],
        exists=[errno.EEXIST, errno.EBUSY],
        doing=About("create expectation of", _expected(expectation)),
        record=Expectation,
    )


def delete_expectation(
    expectation: Expectation | Tuple, *, zone: int | None = None, missing_ok: bool = False
) -> Request[None]:
    """Expect it no longer. One that was read before goes only if it is still that one."""
    request: Request[Any] = Request(
        Message(DELETE, 0, _named(expectation, zone)),
        not_found=[errno.ENOENT],
        doing=About("delete expectation of", _expected(expectation)),
        record=Expectation,
    )
    return request.tolerate(errno.ENOENT) if missing_ok else request


def flush_expectations(*, helper: str | None = None) -> Request[None]:
    """Expect nothing any longer, or nothing of what a helper made."""
    return Request(Message(DELETE, 0, Expectation(help_name=helper)), doing="flush expectations")


def _expected(expectation: Expectation | Tuple) -> Tuple | None:
    return expectation if isinstance(expectation, Tuple) else expectation.tuple


def _named(expectation: Expectation | Tuple, zone: int | None) -> Expectation:
    if isinstance(expectation, Tuple):
        return Expectation(family=family_of(expectation), tuple=expectation, zone=zone)
    # Without it, the kernel would take a request to delete for one to flush.
    if expectation.tuple is None:
        raise ValueError("the expectation has no tuple, by which it would be named")
    return Expectation(
        family=expectation.family,
        tuple=expectation.tuple,
        id=expectation.id,
        zone=expectation.zone if zone is None else zone,
    )


def _mask(expected: Tuple) -> Tuple:
    source: IPAddress | None = expected.src
    ends: dict[str, IPAddress] = {}
    if isinstance(source, IPv4Address):
        any4 = IPv4Address(0)
        ends = {"v4_src": IPv4Address(0xFFFFFFFF) if source != any4 else any4, "v4_dst": IPv4Address(0xFFFFFFFF)}
    elif source is not None:
        any6, all6 = IPv6Address(0), IPv6Address(2**128 - 1)
        ends = {"v6_src": all6 if source != any6 else any6, "v6_dst": all6}
    protocol = expected.protocol
    fields: dict[str, Any] = {"number": None if protocol is None else protocol.number}
    if protocol is not None and protocol.src_port is not None:
        fields |= {"src_port": 0xFFFF if protocol.src_port else 0, "dst_port": 0xFFFF}
    return Tuple(addresses=Addresses(**ends), protocol=Protocol(**fields))  # type: ignore[arg-type]
