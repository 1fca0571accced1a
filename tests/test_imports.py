"""How the modules import each other: in no circle, whatever an import is for."""

import subprocess
import sys
from graphlib import TopologicalSorter

import grimp
import pytest

from stereotrope.stats import special


def test_no_module_imports_itself_through_others():
    graph = grimp.build_graph("stereotrope", include_external_packages=False)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 300
    assert set(TopologicalSorter(imports).static_order()) == set(imports)


@pytest.mark.parametrize("room", ["measure", "audit", "cli"])
def test_what_takes_long_to_import_waits_until_it_is_needed(room: str) -> None:
    told = f"import sys, stereotrope.{room}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert "polars" in imported or room == "cli"
    assert imported.isdisjoint({"scipy", "narwhals", "sklearn", "torch", "ray"})


def test_functions_of_scipy_are_there_when_they_are_called() -> None:
    assert special.ndtr(0.0) == 0.5
    with pytest.raises(AttributeError):
        _ = special.no_such_function
