"""The examples in the docstrings give what they say."""

import doctest
import importlib

import pytest
from tests.conftest import ROOT

SOURCE = ROOT / "src"
MODULES = sorted(
    ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for file in SOURCE.rglob("*.py")
    if ">>>" in file.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module_run(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted
    assert result.failed == 0
