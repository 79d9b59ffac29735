"""n attributes of n bytes, or n attributes of one u32."""

import pytest

from benchmarks import workloads

pytestmark = pytest.mark.parametrize("by", ["codec", "struct"])
NOT_EMPTY = workloads.ATTRIBUTES[1:]


@pytest.mark.parametrize("count", workloads.ATTRIBUTES)
def test_marshal_attributes(compare, count, by):
    compare(workloads.marshal_attributes(count), by)


@pytest.mark.parametrize("count", workloads.ATTRIBUTES)
def test_unmarshal_attributes(compare, count, by):
    compare(workloads.unmarshal_attributes(count), by)


@pytest.mark.parametrize("count", workloads.ATTRIBUTES)
def test_walk(compare, count, by):
    compare(workloads.walk_attributes(count), by)


@pytest.mark.parametrize("count", NOT_EMPTY)
def test_find(compare, count, by):
    compare(workloads.find(count), by)


@pytest.mark.parametrize("count", NOT_EMPTY)
def test_read_u32(compare, count, by):
    compare(workloads.read_u32(count), by)


@pytest.mark.parametrize("count", NOT_EMPTY)
def test_write_u32(compare, count, by):
    compare(workloads.write_u32(count), by)
