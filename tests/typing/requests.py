"""What type checkers know of requests, and of what comes of them."""

from collections.abc import Generator
from typing import Any, assert_type

import netlink_codec as nl
from netlink_codec import (
    Changed,
    Deleted,
    Device,
    Dump,
    Family,
    Lost,
    Message,
    Namespace,
    New,
    Procedure,
    Request,
    Sync,
)


class Link:
    name: str


class Route:
    table: int


def link(message: Message) -> Link:
    raise NotImplementedError


def route(message: Message) -> Route | None:
    return Route() if message.length else None


def link_event(message: Message, group: int) -> New[Link] | Deleted[Link] | None: ...


REQUEST = Request(Message(18), link)


def message(index: int, number: int = 0, descriptor: int = 0) -> Message:
    return Message(18, 0, bytes([index, number, descriptor]))


LATE = Request(
    message,
    link,
    late=[Device("lo"), Family("nlctrl"), Namespace("blue")],
    record=Link,
)
CHANGE: Request[None] = Request(Message(16), doing="change it")
LINKS = Dump(Message(18), link)
ROUTES = Dump(message, route, late=(Device("lo"),))


def steps(name: str) -> Generator[Any, Any, int]:
    yield REQUEST
    return len(name)


def requests(conn: nl.Conn) -> None:
    assert_type(conn.do(CHANGE), None)
    assert_type(conn.do(REQUEST), Link)
    assert_type(conn.do(LATE), Link)
    assert_type(conn.do(LATE.tolerate(2)), Link | None)
    assert_type(conn.collect(ROUTES), list[Route])
    assert_type(conn.collect(ROUTES.tolerate(2)), list[Route])
    assert_type(LATE.message, Message)
    procedure = Procedure(lambda: steps("lo"), doing="take steps")
    assert_type(conn.do(procedure), int)
    assert_type(conn.do(procedure.tolerate(2)), int | None)
    Request("text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Device(1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Procedure(steps("lo"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    LATE.nonsense  # type: ignore[attr-defined]  # pyright: ignore  # noqa: B018


async def tasks(conn: nl.AsyncConn) -> None:
    assert_type(await conn.do(LATE), Link)
    assert_type(await conn.do(Procedure(lambda: steps("lo"))), int)
    assert_type(await conn.collect(ROUTES), list[Route])
    async for found in conn.dump(ROUTES):
        assert_type(found, Route)


def watches(conn: nl.Conn) -> None:
    watch = nl.Watch([1], link_event, resync=[LINKS], initial=True, track=True, identity=lambda link: link.name)
    for event in conn.watch(watch):
        match event:
            case New(record):
                assert_type(record, Link)
            case Changed(record, old):
                assert_type(record, Link)
                assert_type(old, Link | None)
            case Deleted(record, old):
                assert_type(record, Link)
            case Sync(_, lost):
                assert_type(lost, int | None)
            case Lost(count):
                assert_type(count, int | None)
    plain = nl.Watch([1], lambda message, group: group)
    assert_type(next(conn.watch(plain)), int | Lost)
