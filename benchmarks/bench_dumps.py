"""Loops over recorded dumps."""

import pytest

from benchmarks import workloads

pytestmark = [pytest.mark.parametrize("by", ["codec", "struct"]), pytest.mark.parametrize("name", workloads.DUMPS)]


def test_messages(compare, name, by):
    compare(workloads.dump_messages(name), by)


def test_messages_and_attributes(compare, name, by):
    compare(workloads.dump_attributes(name), by)
