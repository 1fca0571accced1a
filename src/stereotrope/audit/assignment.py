"""What each annotator is asked about each picture: fixed attributes, and those discovered for its kind.

Attributes are discovered per part of the design (generator × object) on a small sample, kept in a file
that may be edited, and then asked of every picture of that part.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from stereotrope import annotate
from stereotrope.annotate.lexicon import LexiconAnnotator
from stereotrope.audit.plan import Plan, looks
from stereotrope.audit.watcher import Watcher
from stereotrope.audit.work import HALTING, Missing, Task, carry_out, picture_of
from stereotrope.run import Job, Ledger, RunFolder, Stage, file_stem
from stereotrope.tables import CONSTRAINTS, QUALITY_ATTRIBUTES

__all__ = [
    "DISCOVER",
    "Assignment",
    "Look",
    "Scope",
    "discover",
    "found_before",
    "kept_before",
    "taxonomies_file",
]

PER_CONDITION = 2
"""Pictures of each condition in the sample that attributes are discovered on (SODA, section 3.2.1)."""

DISCOVER = "discover"
"""Name of the stage in the ledger."""

LEAST_LEFT = 40
"""Images a prompt from which those seen in discovery are left out of the scores; below, too few stay."""

SEEN_IN_DISCOVERY = "seen_in_discovery"

Scope = annotate.Scope
Taxonomies = Mapping[str, Mapping[Scope, annotate.Taxonomy]]


class Look(NamedTuple):
    """One picture to look at, with the annotator as it is to be asked about it."""

    annotator: annotate.PictureAnnotator
    row: Mapping[str, Any]


class Assignment:
    """Who is asked what about which picture.

    Parameters
    ----------
    plan
        The audit.
    taxonomies
        Annotator → part of the design → the attributes discovered or written down for it.
    """

    def __init__(self, plan: Plan, taxonomies: Taxonomies | None = None) -> None:
        self.plan, self.taxonomies = plan, taxonomies or {}
        self._objects = (
            dict(plan.prompts.select("prompt_id", "object").iter_rows()) if "object" in plan.factors else {}
        )
        self._made: dict[tuple[str, Scope], annotate.PictureAnnotator | None] = {}

    def scope(self, generator: str, prompt_id: str) -> Scope:
        """Part of the design that a picture belongs to."""
        thing = self._objects.get(prompt_id)
        return annotate.scope_of({"generator": generator, **({"object": thing} if thing is not None else {})})

    def looks(self, annotator: Any, images: pl.DataFrame) -> list[Look]:
        """Each usable picture with the annotator bound to what is asked about it.

        Pictures of a part whose attributes could not be discovered are left until they are: each is
        asked everything in one call.
        """
        usable = images.filter((pl.col("status") == "ok") & self._shown(annotator))
        rows = usable.select("image_id", "sha256", "path", "generator", "prompt_id").to_dicts()
        found = []
        for row in rows:
            bound = self._bound(annotator, self.scope(row["generator"], row["prompt_id"]))
            if bound is not None:
                found.append(Look(bound, row))
        return found

    def _shown(self, annotator: Any) -> pl.Expr:
        """Which pictures an annotator looks at."""
        prompts = self.plan.shown.get(annotator.name)
        return pl.lit(True) if prompts is None else pl.col("prompt_id").is_in(sorted(prompts))

    def _bound(self, annotator: Any, scope: Scope) -> annotate.PictureAnnotator | None:
        key = (annotator.name, scope)
        if key not in self._made:
            self._made[key] = self._bind(annotator, scope)
        return self._made[key]

    def _bind(self, annotator: Any, scope: Scope) -> annotate.PictureAnnotator | None:
        if not hasattr(annotator, "asking"):
            return annotator  # type: ignore[no-any-return]
        own = annotate.taxonomy_for(self.taxonomies.get(annotator.name, {}), dict(scope))
        if own is None and annotator.discoverer is not None:
            return None
        attributes = {**annotator.attributes, **(own.attributes if own is not None else {})}
        return annotator.asking(attributes, subject=dict(scope).get("object"))  # type: ignore[no-any-return]

    def asked(self, images: pl.DataFrame) -> pl.DataFrame:
        """``image_id, annotator, attribute``: what should have been answered about every picture."""
        rows = []
        for annotator in self.plan.annotators:
            mine = images.filter(self._shown(annotator))
            levels = self._levels(getattr(annotator, "factor", None))
            for image_id, generator, prompt_id in mine.select(
                "image_id", "generator", "prompt_id"
            ).iter_rows():
                attributes = self._attributes(annotator, self.scope(generator, prompt_id), CONSTRAINTS)
                if isinstance(annotator, LexiconAnnotator):
                    attributes = {n: attributes[n] for n in annotator.labels_of(levels.get(prompt_id))}
                rows += [(image_id, annotator.name, name) for name in attributes]
        schema = dict.fromkeys(("image_id", "annotator", "attribute"), pl.String)
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _levels(self, factor: str | None) -> dict[str, str]:
        """Prompt → its level of a factor, where the prompts have that."""
        prompts = self.plan.prompts
        return dict(prompts.select("prompt_id", factor).iter_rows()) if factor in self.plan.factors else {}

    def _attributes(self, annotator: Any, scope: Scope, also: Sequence[str] = ()) -> annotate.Attributes:
        """Attributes of looks that an annotator labels in a part of the design, and those of ``also``."""
        bound = self._bound(annotator, scope) if looks(annotator) else None
        attributes: annotate.Attributes = (bound if bound is not None else annotator).attributes
        return {name: v for name, v in attributes.items() if name in also or name not in QUALITY_ATTRIBUTES}

    def taxonomy(self, images: pl.DataFrame) -> pl.DataFrame | None:
        """Value lists by part of the design, None where no attribute was discovered."""
        if not any(self.taxonomies.values()):
            return None
        several = sum(hasattr(a, "asking") for a in self.plan.annotators) > 1
        pairs = images.select("generator", "prompt_id").unique(maintain_order=True).iter_rows()
        scopes = dict.fromkeys(self.scope(*pair) for pair in pairs)
        rows = [
            {**dict(scope), **({"annotator": a.name} if several else {}), "attribute": name, "value": value}
            for scope in scopes
            for a in self.plan.annotators
            for name, values in self._attributes(a, scope).items()
            for value in values or ()
        ]
        return pl.DataFrame(rows).unique(maintain_order=True)

    def marks(self, images: pl.DataFrame) -> list[dict[str, Any]]:
        """Labels that say which pictures an annotator's attributes were discovered on."""
        usable = images.filter(pl.col("status") == "ok")["image_id"].to_list()
        return [
            {
                "subject_kind": "image",
                "subject_id": image_id,
                "attribute": SEEN_IN_DISCOVERY,
                "value": "yes",
                "annotator": name,
                "status": "ok",
                "derived_from": name,
            }
            for name, seen in self._seen().items()
            for image_id in usable
            if image_id in seen
        ]

    @property
    def leaves_out(self) -> bool:
        """Whether pictures that attributes were discovered on are left out of their annotator's scores."""
        choice = self.plan.spec.discovery_images
        return choice == "out" or (choice == "auto" and self.plan.images_per_prompt >= LEAST_LEFT)

    def notes(self, images: pl.DataFrame) -> list[str]:
        """Say of each annotator how many pictures its attributes were discovered on, and what of these."""
        counts = Counter(mark["annotator"] for mark in self.marks(images))
        done = (
            "are left out of its scores"
            if self.leaves_out
            else "are in its scores, although the attributes were chosen to fit them"
        )
        return [
            f"{name}: {n:,} pictures that its attributes were discovered on {done} (discovery_images)"
            for name, n in counts.items()
        ]

    def _seen(self) -> dict[str, frozenset[str]]:
        return {
            name: frozenset(image_id for taxonomy in found.values() for image_id in taxonomy.pictures)
            for name, found in self.taxonomies.items()
        }

    def listed(self) -> list[dict[str, Any]]:
        """The discovered attributes as plain data, for ``run.json``."""
        return [
            {
                "annotator": name,
                **dict(scope),
                "attributes": {a: list(values or ()) for a, values in taxonomy.attributes.items()},
            }
            for name, found in self.taxonomies.items()
            for scope, taxonomy in found.items()
        ]


class _Discovering:
    """Lets the discoverer of an annotator look at the sample of one part of the design."""

    def __init__(self, annotator: Any, into: RunFolder) -> None:
        self.annotator, self.into = annotator, into

    async def process(self, item: tuple[Scope, Sequence[Mapping[str, Any]]]) -> annotate.Taxonomy:
        scope, rows = item
        pictures = tuple(picture_of(row, self.into) for row in rows)
        sample = annotate.Sample(dict(scope), _subject(self.annotator, scope), pictures)
        taxonomy: annotate.Taxonomy = await self.annotator.discoverer.process(sample)
        return taxonomy

    async def close(self) -> None:
        await self.annotator.discoverer.close()


def taxonomies_file(folder: Path, annotator: str) -> Path:
    """Where the attributes discovered for an annotator stand, to be read and edited."""
    return folder / "taxonomies" / f"{file_stem(annotator)}.yaml"


def discover(
    plan: Plan,
    images: pl.DataFrame,
    into: RunFolder,
    watcher: Watcher,
    stop: threading.Event | None,
    undrawn: Sequence[Missing] = (),
) -> tuple[Assignment, list[Missing]]:
    """Discover attributes for every part of the design that has none yet; say what is missing.

    A part that stands in the annotator's file keeps what stands there; without its entry it gets what was
    found before for the same model, question and pictures, else it is discovered. What is found is kept, so
    a part waits where its generator was stopped (``undrawn``) before every condition had its pictures for
    the sample.
    """
    tasks: list[Task] = []
    waiting: list[Missing] = []
    early = _undecided(plan, images, {one.name: one for one in undrawn if one.halted})
    for annotator in _discovering(plan):
        known = _known(annotator, into.path)
        samples = {
            scope: rows
            for scope, rows in _samples(plan, images).items()
            if annotate.taxonomy_for(known, dict(scope)) is None
        }
        if wait := [early[scope] for scope in samples if scope in early]:
            why = f"waits until each condition has {PER_CONDITION} pictures that can be shown"
            budget = any(one.budget for one in wait)
            waiting.append(Missing(DISCOVER, annotator.name, len(wait), len(samples), why, budget))
        samples = {scope: rows for scope, rows in samples.items() if scope not in early}
        stage = Stage(
            DISCOVER,
            make=partial(_Discovering, annotator, into),
            kind="async",
            concurrency=annotator.concurrency,
            halting=HALTING,
        )
        items = [(_key(annotator, scope, rows), (scope, rows)) for scope, rows in samples.items()]
        tasks.append(
            Task(
                DISCOVER,
                annotator.name,
                Job(stage, items, commit=lambda key, item, found: found.to_payload()),
            )
        )
    missing = carry_out([task for task in tasks if task.job.items], into, watcher, stop)
    for annotator, task in zip(_discovering(plan), tasks, strict=True):
        done = into.ledger.get_all(task.job.stage.name)
        new = {
            scope: annotate.Taxonomy.from_payload(done[key])
            for key, (scope, _) in task.job.items
            if key in done
        }
        if new:
            file = taxonomies_file(into.path, annotator.name)
            file.parent.mkdir(exist_ok=True)
            annotate.write_taxonomies(file, {**_known(annotator, into.path), **new})
    return found_before(plan, into.path), missing + waiting


def found_before(plan: Plan, folder: Path) -> Assignment:
    """What was discovered in a run folder so far, or stands in a file; no model is asked."""
    given = {a.name: found for a in plan.annotators if (found := getattr(a, "taxonomies", None))}
    return Assignment(plan, {**given, **{a.name: _known(a, folder) for a in _discovering(plan)}})


def kept_before(plan: Plan, folder: Path, images: pl.DataFrame, ledger: Ledger) -> Assignment:
    """Like :func:`found_before`, with what a run would put back into the files from its ledger."""
    found = found_before(plan, folder)
    kept: dict[str, Mapping[Scope, annotate.Taxonomy]] = dict(found.taxonomies)
    for annotator in _discovering(plan):
        done, known = ledger.get_all(DISCOVER), kept[annotator.name]
        keys = {scope: _key(annotator, scope, rows) for scope, rows in _samples(plan, images).items()}
        back = {
            scope: annotate.Taxonomy.from_payload(done[key])
            for scope, key in keys.items()
            if key in done and annotate.taxonomy_for(known, dict(scope)) is None
        }
        kept[annotator.name] = {**known, **back}
    return Assignment(plan, kept)


def _discovering(plan: Plan) -> list[Any]:
    return [a for a in plan.annotators if getattr(a, "discoverer", None) is not None]


def _known(annotator: Any, folder: Path) -> dict[Scope, annotate.Taxonomy]:
    file = taxonomies_file(folder, annotator.name)
    return dict(annotate.read_taxonomies(file)) if file.is_file() else {}


def _subject(annotator: Any, scope: Scope) -> str | None:
    subject: str | None = dict(scope).get("object", annotator.subject)
    return subject


def _key(annotator: Any, scope: Scope, rows: Sequence[Mapping[str, Any]]) -> str:
    """Content key of one discovery: who is asked, about what, and the pictures; no name of a generator."""
    shown = [[row["image_id"], row["sha256"]] for row in rows]
    content = json.dumps([annotator.discoverer.fingerprint, _subject(annotator, scope), shown])
    return hashlib.sha256(content.encode()).hexdigest()


def _sampled_prompts(plan: Plan) -> frozenset[str]:
    """Prompts whose pictures are shown: of the first phrasing and the first mitigation, as in the paper."""
    firsts = [
        pl.col(f).is_null() | (pl.col(f) == plan.prompts[f].drop_nulls().first())
        for f in ("phrasing", "mitigation")
        if f in plan.factors
    ]
    prompts = plan.prompts.filter(*firsts) if firsts else plan.prompts
    return frozenset(prompts["prompt_id"].to_list())


def _undecided(plan: Plan, images: pl.DataFrame, stopped: Mapping[str, Missing]) -> dict[Scope, Missing]:
    """Parts of generators that were stopped whose sample may still change, with what stopped each."""
    pairs = images.select("generator", "prompt_id")
    came = Counter(pairs.iter_rows())
    usable = Counter(pairs.filter(images["status"] == "ok").iter_rows())
    asked = Counter((request.generator, request.prompt_id) for _, request in plan.requests)
    assignment, shown = Assignment(plan), _sampled_prompts(plan)
    return {
        assignment.scope(generator, prompt): stopped[generator]
        for (generator, prompt), n in asked.items()
        if generator in stopped
        and prompt in shown
        and usable[generator, prompt] < PER_CONDITION
        and came[generator, prompt] < n
    }


def _samples(plan: Plan, images: pl.DataFrame) -> dict[Scope, list[dict[str, Any]]]:
    """Part of the design → the first pictures of each condition; the discoverer shuffles them."""
    assignment = Assignment(plan)
    usable = images.filter(
        (pl.col("status") == "ok") & pl.col("prompt_id").is_in(sorted(_sampled_prompts(plan)))
    )
    first = usable.group_by("generator", "prompt_id", maintain_order=True).head(PER_CONDITION)
    samples: dict[Scope, list[dict[str, Any]]] = {}
    for row in first.select("image_id", "sha256", "path", "generator", "prompt_id").to_dicts():
        samples.setdefault(assignment.scope(row["generator"], row["prompt_id"]), []).append(row)
    return samples
