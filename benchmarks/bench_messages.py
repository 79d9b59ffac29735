"""n messages of 64 KiB, into fresh memory and into a buffer that is used again."""

import pytest

from benchmarks import workloads

pytestmark = pytest.mark.parametrize("by", ["codec", "struct"])


@pytest.mark.parametrize("count", workloads.MESSAGES)
def test_marshal_messages(compare, count, by):
    compare(workloads.marshal_messages(count), by)


@pytest.mark.parametrize("count", workloads.MESSAGES)
def test_marshal_into(compare, count, by):
    compare(workloads.marshal_into(count), by)
