"""Which packages of others a run needs, said in ``run.json`` and asked for when it goes on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stereotrope.annotate import ANNOTATORS
from stereotrope.audit.plan import DEFAULT_ANNOTATORS, Plan
from stereotrope.errors import PluginError
from stereotrope.generate import GENERATORS
from stereotrope.measure import REGISTRY
from stereotrope.plugins import OURS, Registry
from stereotrope.report.prose import listing
from stereotrope.suites import SUITES
from stereotrope.suites.reading import load_suite

_KINDS: Sequence[Registry[Any]] = (SUITES, GENERATORS, ANNOTATORS, REGISTRY)
"""What an audit may need of other packages."""


def packages_used(plan: Plan) -> dict[str, dict[str, list[str]]]:
    """Package → kind → what of it the audit uses, for ``run.json``; nothing of what comes with this one."""
    spec = plan.spec
    suite = load_suite(spec.suite) if spec.suite else {}
    asked: Sequence[Sequence[Any] | None] = (
        [spec.suite],
        spec.generators,
        suite.get("annotators", DEFAULT_ANNOTATORS) if spec.annotators is None else spec.annotators,
        [call.name for call in plan.measures],
    )
    found: dict[str, dict[str, list[str]]] = {}
    for registry, items in zip(_KINDS, asked, strict=True):
        names = (name for item in items or () for name in (item if isinstance(item, Mapping) else [item]))
        for name in dict.fromkeys(name for name in names if name in registry):
            if (package := registry.origin(name)) != OURS:
                found.setdefault(package, {}).setdefault(registry.group, []).append(name)
    return found


def require_packages(folder: Path, info: Mapping[str, Any]) -> None:
    """Refuse a run that needs what is not installed.

    Raises PluginError: Something that the run names is not there; the message says which package had it.
    """
    for package, kinds in (info.get("packages") or {}).items():
        gone = [
            f"{registry.group} {listing(absent)}"
            for registry in _KINDS
            if (absent := [repr(name) for name in kinds.get(registry.group, ()) if name not in registry])
        ]
        if gone:
            raise PluginError(
                f"{folder}: this run needs {listing(gone)} of the package {package}, which is not installed; "
                "install it, or use `report` and `show`, which need it not"
            )
