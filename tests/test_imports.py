"""How the modules import each other: in no circle, whatever an import is for."""

from graphlib import TopologicalSorter

import grimp


def test_no_module_imports_itself_through_others():
    graph = grimp.build_graph("stereotrope", include_external_packages=False)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 300
    assert set(TopologicalSorter(imports).static_order()) == set(imports)
