"""Public names stand in a package's ``__init__`` alone, explicit and sorted."""

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import stereotrope

ROOT = Path(stereotrope.__path__[0])
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
                words = re.findall(r"\w+", str(kind))
                if parameter != "return" and "Path" in words:
                    assert "str" in words, f"{name}.{member}: {parameter} takes no text"


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, stereotrope; print([m for m in ('numpy', 'polars', 'pyarrow') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_the_parts_of_scipy_that_few_commands_need_are_loaded_late():
    heavy = ("scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.spatial", "scipy.stats")
    code = f"import sys, stereotrope.audit; print([m for m in sys.modules if m.startswith({heavy})])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_to_show_a_run_neither_measures_nor_lexicons_are_loaded():
    heavy = ("scipy", "pydantic", "stereotrope.measure", "stereotrope.lexicon", "stereotrope.annotate")
    code = (
        f"import sys, stereotrope.report.headline; print([m for m in sys.modules if m.startswith({heavy})])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        stereotrope.nothing  # noqa: B018


SHARED_WORDS = {"create", "labels", "register"}
"""Words of the contracts, said alike of each kind: ``create`` makes an annotator or a generator from a line
of an audit file, ``register`` adds a measure, a command or a suite, and both an annotator and a generator are
written as ``labels`` in an audit file, which names their functions."""


def test_no_public_name_is_bound_in_two_modules():
    bound: dict[str, set[str]] = {}
    for path in ROOT.rglob("*.py"):
        if path.name == "__main__.py":
            continue
        for node in ast.parse(path.read_text("utf-8")).body:
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    names = [name]
                case ast.Assign(targets=targets):
                    names = [target.id for target in targets if isinstance(target, ast.Name)]
                case ast.AnnAssign(target=ast.Name(id=name)):
                    names = [name]
                case _:
                    names = []
            for name in names:
                if not name.startswith("_"):
                    bound.setdefault(name, set()).add(path.relative_to(ROOT).as_posix())
    twins = {name: sorted(paths) for name, paths in bound.items() if len(paths) > 1}
    assert {name: paths for name, paths in twins.items() if name not in SHARED_WORDS} == {}
    assert set(twins) >= SHARED_WORDS, "a word that is shared no more: take it off"
