"""The test kit's documentation: each part has an example, and the examples run. And what it costs, and needs."""

import doctest
import importlib
import os
import pkgutil
import subprocess
import sys

import pytest

import netlink_codec.testing
from namespaces import network

PARTS = {
    name: part
    for name, part in vars(netlink_codec.testing).items()
    if callable(part) and not (isinstance(part, type) and issubclass(part, Exception))
}
MODULES = [module.name for module in pkgutil.iter_modules(netlink_codec.testing.__path__)]


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_a_part_has_an_example(part):
    assert ">>> " in part.__doc__


@pytest.mark.kernel
@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module(name):
    """Some talk to the kernel."""
    module = importlib.import_module(f"netlink_codec.testing.{name}")
    with network():
        results = doctest.testmod(module, raise_on_error=False, verbose=False)
    assert results.failed == 0


def printed(program):
    environment = {**os.environ, "PYTHONPATH": ":".join(path for path in sys.path if path)}
    command = [sys.executable, "-W", "error", "-c", program]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.strip()


def test_the_package_does_not_import_it():
    assert printed("import netlink_codec, sys; print('netlink_codec.testing' in sys.modules)") == "False"


@pytest.mark.parametrize("module", ["pytest", "hypothesis", "asyncio"])
def test_it_does_not_import(module):
    assert printed(f"import netlink_codec.testing, sys; print({module!r} in sys.modules)") == "False"
