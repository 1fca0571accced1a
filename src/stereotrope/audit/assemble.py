"""From the ledger to the tables, in the order of the plan, and what ``run.json`` says of a run."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.annotate.folding import writings
from stereotrope.annotate.taxonomy import SEEN_IN_DISCOVERY
from stereotrope.audit.lookalikes import lookalike_notes, lookalikes_in
from stereotrope.audit.packages import packages_used
from stereotrope.audit.plan import Plan
from stereotrope.audit.subjects import leaves_out
from stereotrope.audit.work import GENERATE
from stereotrope.clients import BEGUN
from stereotrope.clients.local import hub_commit
from stereotrope.inputs.options import shorten
from stereotrope.measure.setting import labels_behind
from stereotrope.plugins import version_of
from stereotrope.report.contract import stored_sections
from stereotrope.run import Ledger, RunFolder
from stereotrope.run.folder import read_info
from stereotrope.suites.published import published_for
from stereotrope.tables import ABSENT, IMAGES, compact, number_in, polars_types

VERSIONS = ("numpy", "onnxruntime", "pillow", "polars", "rapidocr", "scipy")
"""Libraries whose version can change a number; ``run.json`` names them."""

MOST_TOLD = 6
"""Values of an attribute, and ways of writing one, that a note names."""
MOST_LISTED = 1000
"""Values of several writings, and sets of look-alikes, that ``run.json`` names."""


def images_frame(plan: Plan, ledger: Ledger) -> pl.DataFrame:
    """One row a planned image whose outcome the ledger holds, in the order of the plan."""
    types = polars_types(IMAGES)
    asked = [name for name in types if name in plan.requests.columns]
    came = {name: kind for name, kind in types.items() if name not in asked} | {"image_id": pl.String}
    parts = [pl.DataFrame(schema=came)]
    for payloads in ledger.parts(GENERATE):
        rows = [{**outcome, "image_id": image_id} for image_id, outcome in payloads.items()]
        parts.append(pl.DataFrame({name: [row.get(name) for row in rows] for name in came}, schema=came))
    outcomes = pl.concat(parts)
    images = plan.requests.select(asked).join(outcomes, on="image_id", maintain_order="left")
    return compact(images.select(*types))


def info_of(plan: Plan, images: pl.DataFrame, labels: pl.DataFrame, into: RunFolder) -> dict[str, Any]:
    """What ``run.json`` says of a run: no clock, no absolute path."""
    said = [note for a in plan.annotators for note in a.notes]
    folded = writings(labels)
    alike = lookalikes_in(plan.prompts, images, labels, plan.listed)
    told = [*_annotator_notes(plan), *_discovery_notes(plan, labels), *_fold_notes(folded)]
    before = read_info(into.path)
    sections = stored_sections(before.get("sections") or {})
    told += (commits := _Commits(before)).notes([*plan.generators, *plan.annotators])
    return {
        "title": plan.title,
        "suite": plan.spec.suite,
        "versions": versions_of(
            [*VERSIONS, *sorted({each for one in plan.annotators for each in one.libraries})]
        ),
        "seed": plan.spec.seed,
        "level": plan.spec.report.level,
        "sensitive": plan.spec.report.sensitive,
        "audit_base": os.path.relpath(plan.source.base, into.path),
        "generators": list(_models(plan, commits)),
        "annotators": [
            {
                "name": a.name,
                "kind": a.__class__.__name__,
                "fingerprint": a.fingerprint,
                "attributes": {k: None if v is None else list(v) for k, v in a.attributes.items()},
                **_files(plan, a),
                **commits.of(a),
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
        "measures": [
            {"measure": call.name, **({"on": call.on} if call.on else {}), **call.arguments}
            for call in plan.measures
        ],
        **({"packages": used} if (used := packages_used(plan)) else {}),
        **({"sections": sections} if sections else {}),
        "baseline": dict(plan.baseline),
        "factors": plan.factors,
        **({"factor_files": list(map(dict, plan.factor_files))} if plan.factor_files else {}),
        "dimensions": plan.dimensions,
        "counts": _counts(plan, images, labels),
        **({"calls": calls} if (calls := into.ledger.totals().get(BEGUN)) else {}),
        "folded": folded[:MOST_LISTED],
        "lookalikes": [{key: one[key] for key in ("kind", "name", "written")} for one in alike[:MOST_LISTED]],
        "generator_notes": list(plan.notes),
        **({"undelivered": list(map(dict, plan.undelivered))} if plan.undelivered else {}),
        "notes": [*lookalike_notes(alike), *plan.notes, *said, *told],
    }


def _models(plan: Plan, commits: "_Commits") -> Iterator[dict[str, Any]]:
    """What is said of each model that pictures are of."""
    made_by = {one.name: one for one in plan.generators}
    asked = plan.requests if plan.cells is None else plan.cells
    for name, by in asked.select("generator", "drawn_by").unique(maintain_order=True).iter_rows():
        one = made_by[by]
        yield {
            "name": name,
            **{key: getattr(one, key) for key in ("kind", "fingerprint", "note")},
            **({"versions": versions_of(one.libraries)} if one.libraries else {}),
            **({"probe": one.probe_fingerprint} if one.probe_fingerprint is not None else {}),
            **_files(plan, one),
            **commits.of(one),
        }


def _files(plan: Plan, one: Any) -> dict[str, list[dict[str, str]]]:
    """Files made elsewhere that were read, from the folder of the audit file, each with its SHA-256."""
    base = plan.source.base
    told = [
        {"file": Path(os.path.relpath(path, base)).as_posix(), "sha256": digest}
        for path, digest in one.files.items()
    ]
    return {"files": told} if told else {}


class _Commits:
    """Commits of models on the hub that the cache of this computer held when a run ended, each time."""

    def __init__(self, before: Mapping[str, Any]) -> None:
        rows = [row for kind in ("generators", "annotators") for row in before.get(kind) or ()]
        self._before = {row.get("fingerprint"): row.get("commits", []) for row in rows}

    def _all(self, one: Any) -> list[str]:
        known = [*self._before.get(one.fingerprint, []), *filter(None, [one.hub and hub_commit(*one.hub)])]
        return list(dict.fromkeys(known))

    def of(self, one: Any) -> dict[str, list[str]]:
        """What ``run.json`` says of a generator or annotator."""
        return {"commits": found} if (found := self._all(one)) else {}

    def notes(self, made: Iterable[Any]) -> list[str]:
        """A warning of each whose model changed on the hub while the run was made."""
        return [
            f"{one.name}: the cache held {len(found)} commits of its model while this run was made "
            f"({', '.join(commit[:12] for commit in found)}), so that it may be the work of several; name "
            "one as `revision:`, in a run of its own"
            for one in made
            if len(found := self._all(one)) > 1
        ]


def _counts(plan: Plan, images: pl.DataFrame, labels: pl.DataFrame) -> dict[str, int]:
    return {
        "prompts": plan.prompts.height,
        "images": number_in(images),
        **{name: number_in(images.filter(status=name)) for name in ("ok", "refused", "excluded", ABSENT)},
        "labels": number_in(labels),
        "derived_labels": number_in(labels.drop_nulls("derived_from")),
    }


def _annotator_notes(plan: Plan) -> list[str]:
    """Warnings of annotators that do not stand each by itself."""
    return [*_twice_notes(plan.annotators), *_right_notes(plan)]


def _twice_notes(annotators: Iterable[Any]) -> list[str]:
    """A warning of annotators that take the same labels from the same file, or from copies of it."""
    same: dict[tuple[Any, ...], list[str]] = {}
    for one in annotators:
        if one.files and one.attributes and not one.looks:
            of = sorted(one.files.values()), sorted(one.attributes), one.reads, one.needs
            same.setdefault(tuple(map(tuple, of)), []).append(one.name)
    return [
        f"annotators {', '.join(map(repr, names))} are one file with the same labels, which count as those "
        f"of {len(names)} annotators in agreement and majorities; keep one of them"
        for names in same.values()
        if len(names) > 1
    ]


def _right_notes(plan: Plan) -> list[str]:
    """A warning of labels that are taken for right where all who label the same are behind them."""
    attributes = {one.name: set(one.attributes) for one in plan.annotators}
    notes = []
    for reference in plan.references:
        asked = attributes[reference]
        others = [name for name, labelled in attributes.items() if asked & labelled and name != reference]
        if others and set(others) <= set(labels_behind(reference, plan.annotators)):
            notes.append(
                f"{reference}: is taken for right (reference: true), and {', '.join(map(repr, others))} "
                f"{'is' if len(others) == 1 else 'are'} behind it, so that nobody is checked or put right by "
                "it; name who alone is to be taken for right"
            )
    return notes


def _discovery_notes(plan: Plan, labels: pl.DataFrame) -> list[str]:
    """Of each annotator how many pictures its attributes were discovered on, and what of these."""
    out, kept = "left out of its scores", "in its scores, although the attributes were chosen to fit them"
    done = f"are {out if leaves_out(plan) else kept} (discovery_images)"
    counts = Counter(labels.filter(attribute=SEEN_IN_DISCOVERY)["annotator"])
    return [
        f"{name}: {n:,} pictures that its attributes were discovered on {done}" for name, n in counts.items()
    ]


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


def versions_of(libraries: Iterable[str]) -> dict[str, str]:
    """Versions of libraries, where they are installed."""
    return {name: found for name in libraries if (found := version_of(name)) is not None}
