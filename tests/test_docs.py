"""The examples of each page of the documentation run as printed, one after another."""

import re
from pathlib import Path

import pytest

from namespaces import network

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.kernel
@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_a_page(page):
    examples = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    assert examples
    names = {}
    with network():
        for number, example in enumerate(examples):
            exec(compile(example, f"{page.name}, example {number + 1}", "exec"), names)
