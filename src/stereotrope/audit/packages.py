"""Which packages of others a run needs, said in ``run.json`` and asked for when it goes on."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from stereotrope.annotate import ANNOTATORS
from stereotrope.audit.plan import DEFAULT_ANNOTATORS, Plan
from stereotrope.errors import AuditFileError, PluginError, RunError, UsageError, did_you_mean
from stereotrope.generate import GENERATORS
from stereotrope.measure import REGISTRY
from stereotrope.measure.contract import measure_of_rows
from stereotrope.plugins import OURS, Registry, version_of
from stereotrope.report.contract import SECTIONS
from stereotrope.report.prose import listing
from stereotrope.run import open as open_run
from stereotrope.suites import SUITES
from stereotrope.suites.reading import load_suite

_KINDS: Sequence[Registry[Any]] = (SUITES, GENERATORS, ANNOTATORS, REGISTRY)
"""What an audit may need of other packages."""


def packages_used(plan: Plan) -> dict[str, dict[str, Any]]:
    """Package of others → its ``version``, and kind → what of it the audit uses, for ``run.json``."""
    spec = plan.spec
    suite = load_suite(spec.suite) if spec.suite else {}
    asked: Sequence[Sequence[Any] | None] = (
        [spec.suite],
        spec.generators,
        suite.get("annotators", DEFAULT_ANNOTATORS) if spec.annotators is None else spec.annotators,
        [call.name for call in plan.measures],
    )
    found: dict[str, dict[str, Any]] = {}
    for registry, items in zip(_KINDS, asked, strict=True):
        names = (name for item in items or () for name in (item if isinstance(item, Mapping) else [item]))
        for name in dict.fromkeys(name for name in names if name in registry):
            if (package := registry.origin(name)) != OURS:
                kinds = found.setdefault(package, {"version": version_of(package)})
                kinds.setdefault(registry.group, []).append(name)
    return found


def section_notes(words: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Of words that name a section that there is not, what is wrong and where the measure stands."""
    for name, told in words.items():
        if (section := told.get("section")) is not None and section not in SECTIONS:
            info = measure_of_rows(name)
            package = REGISTRY.origin(info.name) if info is not None else OURS
            hint = did_you_mean(section, SECTIONS, otherwise="it stands among the other scores")
            yield f"words.yaml of the package {package}: {name}: no section {section!r}; {hint}"


def _gone(info: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Packages of a run with their version, and by kind what is not installed of them."""
    for package, kinds in (info.get("packages") or {}).items():
        named = ((registry, kinds.get(registry.group, ())) for registry in _KINDS)
        absent = {r.group: gone for r, names in named if (gone := [n for n in names if n not in r])}
        if absent:
            yield f"{package} {kinds.get('version') or ''}".strip(), absent


def require_packages(folder: Path, info: Mapping[str, Any]) -> None:
    """Refuse a run that needs what is not installed.

    Raises PluginError: Something that the run names is not there; the message says which package had it.
    """
    for package, absent in _gone(info):
        told = listing([f"{kind} {listing(list(map(repr, names)))}" for kind, names in absent.items()])
        raise PluginError(
            f"{folder}: this run needs {told} of the package {package}, which is not installed; install it, "
            "or use `report` and `show`, which do not need it"
        )


@contextlib.contextmanager
def packages_told(folder: Path) -> Iterator[None]:
    """Plan an audit; of a name that is not known, say which package the run in the folder has it from."""
    try:
        yield
    except (AuditFileError, UsageError) as error:
        told = str(error)
        with contextlib.suppress(RunError):
            for package, absent in _gone(open_run(folder).info):
                named = {repr(name) for names in absent.values() for name in names}
                if names := sorted(name for name in named if name in told):
                    which = f"{listing(names)} from the package {package}, which is not installed here"
                    error.args = (f"{told}. This run has {which}",)
        raise
