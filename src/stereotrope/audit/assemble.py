"""From the ledger to the tables, in the order of the plan, and what ``run.json`` says of a run."""

import contextlib
import json
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.annotate import ANNOTATORS, discount_marks, fold_labels
from stereotrope.annotate.taxonomy import SEEN_IN_DISCOVERY
from stereotrope.audit.lookalikes import lookalike_notes, lookalikes_in
from stereotrope.audit.plan import DEFAULT_ANNOTATORS, Plan
from stereotrope.audit.subjects import leaves_out
from stereotrope.audit.work import GENERATE
from stereotrope.errors import PluginError, TableError
from stereotrope.further_tables import TABLES, Filled, FurtherTable, TableSources
from stereotrope.generate import GENERATORS
from stereotrope.inputs.options import shorten
from stereotrope.measure import REGISTRY
from stereotrope.plugins import OURS, Registry
from stereotrope.report.prose import listing
from stereotrope.run import Ledger, RunFolder
from stereotrope.run.folder import arrow_table, read_info
from stereotrope.suites import SUITES
from stereotrope.suites.published import published_for
from stereotrope.suites.reading import load_suite
from stereotrope.tables import ABSENT, IMAGES, QUALITY_ATTRIBUTES, polars_types

VERSIONS = ("numpy", "onnxruntime", "pillow", "polars", "rapidocr", "scipy")
"""Libraries whose version can change a number; ``run.json`` names them."""

MOST_TOLD = 6
"""Values of an attribute, and ways of writing one, that a note names."""
MOST_LISTED = 1000
"""Values of several writings, and sets of look-alikes, that ``run.json`` names."""

_KINDS: Sequence[Registry[Any]] = (SUITES, GENERATORS, ANNOTATORS, REGISTRY)
"""What an audit may need of other packages."""


def images_frame(plan: Plan, ledger: Ledger) -> pl.DataFrame:
    """One row a planned image whose outcome the ledger holds, in the order of the plan."""
    types = polars_types(IMAGES)
    asked = [name for name in types if name in plan.requests.columns]
    came = {name: kind for name, kind in types.items() if name not in asked} | {"image_id": pl.String}
    rows = [{**outcome, "image_id": image_id} for image_id, outcome in ledger.get_all(GENERATE).items()]
    outcomes = pl.DataFrame({name: [row.get(name) for row in rows] for name in came}, schema=came)
    images = plan.requests.select(asked).join(outcomes, on="image_id", maintain_order="left")
    return images.select(*types)


def fold_and_discount(plan: Plan, labels: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Fold open values and count no text where all that was read is a mark; the merges beside."""
    folding = {
        a.name: [n for n, values in a.attributes.items() if values is None and n not in QUALITY_ATTRIBUTES]
        for a in plan.annotators
    }
    folded, folds = fold_labels(labels, folding, listed=_listed(plan), merge=plan.spec.merge_colours)
    return discount_marks(folded), folds


def _listed(plan: Plan) -> dict[str, list[str]]:
    """Attribute → values that some annotator lists for it."""
    listed: dict[str, list[str]] = {}
    for each in plan.annotators:
        for name, values in each.attributes.items():
            listed.setdefault(name, []).extend(values or ())
    return listed


def info_of(
    plan: Plan, images: pl.DataFrame, labels: pl.DataFrame, into: RunFolder, folds: pl.DataFrame
) -> dict[str, Any]:
    """What ``run.json`` says of a run: no clock, no absolute path."""
    said = [note for a in plan.annotators for note in a.notes]
    folded = _folded(folds)
    made_by = {one.name: one for one in plan.generators}
    drawn_by = dict(plan.requests.select("generator", "drawn_by").unique(maintain_order=True).rows())
    alike = lookalikes_in(plan.prompts, images, labels, _listed(plan))
    told = [*_discovery_notes(plan, labels), *_fold_notes(folded)]
    return {
        "title": plan.title,
        "suite": plan.spec.suite,
        "versions": _versions(plan),
        "seed": plan.spec.seed,
        "level": plan.spec.report.level,
        "sensitive": plan.spec.report.sensitive,
        "audit_base": os.path.relpath(plan.source.base, into.path),
        "generators": [
            {"name": name, **{key: getattr(made_by[by], key) for key in ("kind", "fingerprint", "note")}}
            for name, by in drawn_by.items()
        ],
        "annotators": [
            {
                "name": a.name,
                "kind": a.__class__.__name__,
                "fingerprint": a.fingerprint,
                "attributes": {k: None if v is None else list(v) for k, v in a.attributes.items()},
            }
            for a in plan.annotators
        ],
        "published": published_for(
            plan.spec.suite, plan.prompts, images["generator"].unique(maintain_order=True).to_list()
        ),
        "taxonomies": [
            {
                "annotator": one.name,
                **dict(scope),
                "attributes": {name: list(values or ()) for name, values in taxonomy.attributes.items()},
            }
            for one in plan.annotators
            for scope, taxonomy in one.taxonomies.items()
        ],
        "measures": [{"measure": call.name, **_plain(call.arguments)} for call in plan.measures],
        **({"packages": used} if (used := plugins_used(plan)) else {}),
        "baseline": dict(plan.baseline),
        "factors": plan.factors,
        "dimensions": plan.dimensions,
        "counts": _counts(plan, images, labels),
        "folded": folded[:MOST_LISTED],
        "lookalikes": [{key: one[key] for key in ("kind", "name", "written")} for one in alike[:MOST_LISTED]],
        "generator_notes": list(plan.notes),
        "notes": [*lookalike_notes(alike), *plan.notes, *said, *told],
    }


def _counts(plan: Plan, images: pl.DataFrame, labels: pl.DataFrame) -> dict[str, int]:
    status = Counter(images["status"].to_list())
    return {
        "prompts": plan.prompts.height,
        "images": images.height,
        **{name: status[name] for name in ("ok", "refused", "excluded", ABSENT)},
        "labels": labels.height,
        "derived_labels": labels["derived_from"].count(),
    }


def _discovery_notes(plan: Plan, labels: pl.DataFrame) -> list[str]:
    """Of each annotator how many pictures its attributes were discovered on, and what of these."""
    out, kept = "left out of its scores", "in its scores, although the attributes were chosen to fit them"
    done = f"are {out if leaves_out(plan) else kept} (discovery_images)"
    counts = Counter(labels.filter(attribute=SEEN_IN_DISCOVERY)["annotator"])
    return [
        f"{name}: {n:,} pictures that its attributes were discovered on {done}" for name, n in counts.items()
    ]


def _folded(folds: pl.DataFrame) -> list[dict[str, Any]]:
    """Each value that was written in several ways, with these and how often each was given."""
    order = folds.sort("n", "written", descending=[True, False])
    forms = pl.struct("written", "n", "distance").alias("written")
    told = order.group_by("annotator", "attribute", "value", maintain_order=True).agg(forms).to_dicts()
    for one in told:
        one["written"] = [{k: v for k, v in form.items() if v is not None} for form in one["written"]]
    return told


def _fold_notes(folded: Sequence[Mapping[str, Any]]) -> list[str]:
    """One note an annotator and attribute: which values count several ways of writing."""
    notes: dict[tuple[str, str], list[str]] = {}
    for one in folded:
        forms = [f"{shorten(form['written'])} {form['n']:,}" for form in one["written"]]
        told = f"{shorten(one['value'])} for {_first(forms, ', ')}"
        notes.setdefault((one["annotator"], one["attribute"]), []).append(told)
    return [
        f"{who}: ways of writing {attribute!r} that count as one value (labels each): {_first(told, '; ')}"
        for (who, attribute), told in notes.items()
    ]


def _first(told: Sequence[str], mark: str) -> str:
    left = len(told) - MOST_TOLD
    return mark.join([*told[:MOST_TOLD], *[f"{left:,} more, in the column `written` of labels"] * (left > 0)])


def _versions(plan: Plan) -> dict[str, str]:
    """Versions of the libraries at work; those of an annotator where they are installed."""
    found = {name: version(name) for name in VERSIONS}
    for name in sorted({library for one in plan.annotators for library in one.libraries}):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in arguments.items()}


def fill_tables(sources: TableSources, info: Mapping[str, Any]) -> dict[str, Filled]:
    """Return what there is of each further table; none takes a key of ``run.json`` that others have."""
    filled: dict[str, Filled] = {}
    later = ("format_version", "judge_cards", "missing", "packages", "stereotrope_version", "tables", "words")
    taken = {*info, *later}
    for name, table in TABLES.items():
        with TABLES.blamed(name):
            if (one := table.fill(sources)) is not None:
                _require_filled(one, table, taken)
                filled[name] = one
                taken |= one[1].keys()
    return filled


def _require_filled(one: Any, table: FurtherTable, taken: Collection[str]) -> None:
    match one:
        case (pl.DataFrame() as frame, Mapping() as beside):
            json.dumps({"": None, **beside}, sort_keys=True, allow_nan=False)  # as it will be written
        case _:
            raise ValueError("it must give a frame and a mapping, or None")
    if both := sorted(taken & beside.keys()):
        raise ValueError(f"its mapping has {listing(list(map(repr, both)))}, a key of run.json; rename it")
    try:
        arrow_table(table.name, frame, table.columns)
    except TableError as error:
        raise ValueError(error) from error


def write_further_tables(filled: Mapping[str, Filled], into: RunFolder) -> tuple[dict[str, Any], list[str]]:
    """Write them; return what ``run.json`` says of them, and notes.

    A table of an earlier end of the run goes where it is not filled any more. One of a package that is not
    installed stays as it was made, and a note says so.
    """
    for name in TABLES:
        if name in filled:
            into.write_table(name, filled[name][0], TABLES[name].columns)
        else:
            into.remove_table(name)
    written = {name: {"caption": TABLES[name].caption, "from": TABLES.origin(name)} for name in filled}
    before = read_info(into.path).get("tables") or {}
    kept = {
        name: one
        for name, one in before.items()
        if name not in TABLES and (into.path / f"{name}.parquet").is_file()
    }
    notes = [
        f"table {name!r} is made by {one['from']}, which is not installed here; it is as it was made before"
        for name, one in kept.items()
    ]
    return {**written, **kept}, notes


def plugins_used(plan: Plan) -> dict[str, dict[str, list[str]]]:
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


def require_plugins(folder: Path, info: Mapping[str, Any]) -> None:
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
