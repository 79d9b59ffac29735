"""Elements of sets, and few rules."""

import pytest

from benchmarks import nftables

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("name", nftables.SETS)
def test_elements(compare, name):
    with nftables.dumps(name) as work:
        compare(work, "codec")


@pytest.mark.parametrize("known", [0, 1], ids=["record", "name"])
def test_one_element(compare, known):
    with nftables.changes(1000) as changes:
        compare(changes[known], "codec")


@pytest.mark.parametrize("count", [1, 8, 64])
def test_few_rules(compare, count):
    with nftables.few_rules(count) as work:
        compare(work, "codec")
