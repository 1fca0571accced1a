"""Public names stand in a package's ``__init__`` alone, explicit and sorted."""

import importlib
import pkgutil
import subprocess
import sys
import types

import pytest

import stereotrope

PACKAGES = [
    f"stereotrope.{module.name}"
    for module in pkgutil.iter_modules(stereotrope.__path__)
    if module.ispkg and module.name != "suites"
]


@pytest.mark.parametrize("name", PACKAGES)
def test_all_lists_what_is_public_and_nothing_else(name):
    module = importlib.import_module(name)
    there = {
        member
        for member, thing in vars(module).items()
        if not member.startswith("_") and not isinstance(thing, types.ModuleType)
    } - {"annotations"}
    modules = {m for m in module.__all__ if isinstance(getattr(module, m), types.ModuleType)}
    assert set(module.__all__) - modules == there


def test_the_package_offers_what_it_lists():
    for member in stereotrope.__all__:
        assert getattr(stereotrope, member) is not None
    assert dir(stereotrope) == sorted(stereotrope.__all__)


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_thing_has_a_docstring(name):
    module = importlib.import_module(name)
    for member in module.__all__:
        thing = getattr(module, member)
        if callable(thing):
            assert thing.__doc__, f"{name}.{member} has no docstring"


@pytest.mark.parametrize("name", ["annotate", "audit", "calibrate", "generate", "report", "suites"])
def test_every_path_that_a_public_function_takes_may_be_a_text(name):
    module = importlib.import_module(f"stereotrope.{name}")
    for member in module.__all__:
        thing = getattr(module, member)
        makers = (
            [m for m in vars(thing).values() if isinstance(m, classmethod)] if isinstance(thing, type) else []
        )
        for function in (thing, *(maker.__func__ for maker in makers)):
            if not isinstance(function, types.FunctionType):
                function = getattr(function, "__init__", None)
            for parameter, kind in getattr(function, "__annotations__", {}).items():
                if parameter != "return" and str(kind).startswith("Path"):
                    assert "str" in kind, f"{name}.{member}: {parameter} takes no text"


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, stereotrope; print([m for m in ('numpy', 'polars', 'pyarrow') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        stereotrope.nothing  # noqa: B018


def test_no_public_class_has_the_name_of_another():
    modules = pkgutil.walk_packages(stereotrope.__path__, "stereotrope.")
    names = [module.name for module in modules if not module.name.endswith("__main__")]
    found: dict[str, set[str]] = {}
    for name in names:
        for member, thing in vars(importlib.import_module(name)).items():
            if isinstance(thing, type) and thing.__module__ == name and not member.startswith("_"):
                found.setdefault(member, set()).add(name)
    assert {member: modules for member, modules in found.items() if len(modules) > 1} == {}
