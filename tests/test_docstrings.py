"""What `help()` shows is what the stub says: one text, in two places that must agree."""

import ast
import inspect
from pathlib import Path

import pytest

import netlink_codec
from netlink_codec import _core

STUB = ast.parse(Path(netlink_codec.__file__).with_name("_core.pyi").read_text())


def documented(body, prefix=""):
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            if text := ast.get_docstring(node):
                yield prefix + node.name, text
            if isinstance(node, ast.ClassDef):
                yield from documented(node.body, f"{node.name}.")


@pytest.mark.parametrize(("name", "text"), list(documented(STUB.body)))
def test_a_docstring(name, text):
    item = _core
    for part in name.split("."):
        item = getattr(item, part)
    # What __len__ and its like say is CPython's, not ours to set.
    if not name.endswith("__"):
        assert inspect.getdoc(item) == text


def test_the_modules_docstring():
    """Who owns what, and what threads may do."""
    assert inspect.getdoc(_core) == ast.get_docstring(STUB)
