"""Connections that are expected, since another one announced them: CTA_EXPECT_*. Numbers are big-endian."""

from enum import IntFlag

from ..records import STRING, U8, U16BE, U32BE, Record, as_flags, attr, fixed, nested
from .flow import Tuple


class CTA_EXPECT:
    MASTER = 1
    TUPLE = 2
    MASK = 3
    TIMEOUT = 4
    ID = 5
    HELP_NAME = 6
    ZONE = 7
    FLAGS = 8
    CLASS = 9
    NAT = 10
    FN = 11


class NF_CT_EXPECT(IntFlag):
    """What becomes of an expectation."""

    PERMANENT = 1 << 0
    """It stays when what it expects has come."""
    INACTIVE = 1 << 1
    USERSPACE = 1 << 2
    """A program made it, and not a helper of the kernel."""


class ExpectNat(Record):
    """CTA_EXPECT_NAT_*: how what comes is translated."""

    dir: int | None = attr(1, U32BE)
    tuple: Tuple | None = attr(2, nested(Tuple))


class Expectation(Record, identity=("family", "zone", "tuple", "mask")):
    """A connection that is expected: struct nfgenmsg and CTA_EXPECT_*."""

    family: int = fixed(U8, default=0)
    version: int = fixed(U8, default=0)
    res_id: int = fixed(U16BE, default=0)
    master: Tuple | None = attr(CTA_EXPECT.MASTER, nested(Tuple))
    """The original direction of the connection that announced it."""
    tuple: Tuple | None = attr(CTA_EXPECT.TUPLE, nested(Tuple))
    """What is expected, where the mask has bits."""
    mask: Tuple | None = attr(CTA_EXPECT.MASK, nested(Tuple))
    timeout: int | None = attr(CTA_EXPECT.TIMEOUT, U32BE)
    """Seconds until it is expected no longer."""
    id: int | None = attr(CTA_EXPECT.ID, U32BE)
    help_name: str | None = attr(CTA_EXPECT.HELP_NAME, STRING)
    zone: int | None = attr(CTA_EXPECT.ZONE, U16BE)
    """None is zone 0."""
    flags: NF_CT_EXPECT | None = attr(CTA_EXPECT.FLAGS, as_flags(U32BE, NF_CT_EXPECT))
    class_: int | None = attr(CTA_EXPECT.CLASS, U32BE)
    nat: ExpectNat | None = attr(CTA_EXPECT.NAT, nested(ExpectNat))
    fn: str | None = attr(CTA_EXPECT.FN, STRING)
    """What is called when it comes."""
