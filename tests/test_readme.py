"""The README's examples run as printed, one after another."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.skipif(not README.exists(), reason="the tests are here without the README")
def test_the_examples(capsys):
    names = {}
    examples = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)
    assert len(examples) == 5
    for example in examples:
        exec(compile(example, str(README), "exec"), names)
    printed = capsys.readouterr().out
    assert "1 lo 65536 00:00:00:00:00:00\n" in printed
    assert "delete link nosuchlink: " in printed
    assert "1 is called lo\n" in printed
    assert "1 sends packets of 65536 bytes\n" in printed
    # Who may not delete any interface is told so; who may, that this one is not there.
    assert re.search(r"^(1|19) ", printed, re.MULTILINE)
