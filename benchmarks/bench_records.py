"""Dumps of the real kernel, read as records."""

import pytest

from benchmarks import records

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def works(request):
    """Everything that is read in one network."""
    with records.dumps(request.param) as works:
        yield works


READS = [
    pytest.param(name, read, id=f"{name}-{read}")
    for name, (reading, count) in records.READINGS.items()
    if count <= 10_000
    for read in range(len(reading.reads))
]


@pytest.mark.parametrize(("works", "read"), READS, indirect=["works"])
def test_dump(compare, works, read):
    compare(works[read], "codec")


def test_routes_are_held():
    assert records.held(100_000) < 200
