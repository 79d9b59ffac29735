"""The package as such: what it holds, what importing it costs, and rules for the .pyx that no compiler knows."""

import ast
import importlib.metadata
import importlib.resources
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import netlink_codec
from netlink_codec import _core

ROOT = Path(__file__).parent.parent
FILES = importlib.resources.files("netlink_codec")
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
INSTALLED = any(importlib.metadata.distributions(name="netlink-codec"))


def printed_by(program, *, folder, options=()):
    """What another interpreter prints that runs elsewhere and finds this package."""
    command = [sys.executable, *options, "-c", program]
    # Not measured: Cython's plugin for coverage finds nothing there, and says so.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    environment["PYTHONPATH"] = str(FILES.parent)
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.skipif(not INSTALLED, reason="built in place, so there is no metadata")
def test_is_installed_with_the_version_of_the_sources():
    assert importlib.metadata.version("netlink-codec") == VERSION


def test_changelog_begins_with_this_version():
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1] == VERSION


@pytest.mark.parametrize("name", ["py.typed", "_core.pyi", "_core.pxd"])
def test_ships_what_type_checkers_and_cython_read(name):
    assert (FILES / name).is_file()


def test_offers_all_that_the_stub_lists():
    names = [
        node.name
        for node in ast.parse((FILES / "_core.pyi").read_text()).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
    ]
    # What the conversation and the records are built on, and nothing else.
    names = sorted(set(names) - {"Scan", "Decoder", "Results", "marshal_series", "acknowledges", "whole_answer"})
    assert "Message" in names
    assert [name for name in names if getattr(netlink_codec, name, None) is not getattr(_core, name)] == []


def test_offers_every_constant():
    constants = [name for name in vars(netlink_codec.constants) if name.isupper()]
    assert "NLM_F_REQUEST" in constants
    assert [name for name in constants if not hasattr(netlink_codec, name)] == []


@pytest.mark.parametrize("module", ["asyncio", "argparse", "json", "subprocess", "typing_extensions"])
def test_import_leaves_alone(module, tmp_path):
    program = f"import netlink_codec, sys; print(netlink_codec.Message(1).length, {module!r} in sys.modules)"
    assert printed_by(program, folder=tmp_path, options=["-S"]) == "16 False"


def test_import_leaves_the_gil_as_it_was(tmp_path):
    program = (
        "import sys; enabled = getattr(sys, '_is_gil_enabled', lambda: True); before = enabled();"
        "import netlink_codec; print(before == enabled())"
    )
    assert printed_by(program, folder=tmp_path, options=["-W", "error"]) == "True"


@pytest.mark.parametrize(
    ("forbidden", "reason"),
    [
        pytest.param(r"\[::?1?\]\s+\w+\s*[,)=]", "a typed memoryview costs 100 ns for each call", id="memoryview"),
        pytest.param(
            r"<\s*(const\s+)?u?int(16|32|64)_t\s*\*\s*>", "buffers need not be aligned", id="unaligned access"
        ),
        pytest.param(r"^\s*DEF\s", "deprecated; `cdef enum` it is", id="DEF"),
        pytest.param(r"\bassert\b", "bad input raises the package's own errors", id="assert"),
        pytest.param(r"^\s*print\(", "nothing here prints", id="print"),
    ],
)
def test_source_has_no(forbidden, reason):
    lines = (ROOT / "netlink_codec.pyx").read_text().splitlines()
    assert [line for line in lines if re.search(forbidden, line)] == [], reason
