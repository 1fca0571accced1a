"""What annotators look at, and how each is asked: images, regions and sets of them, texts of prompts."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from stereotrope.annotate import Annotator, Scope, Subject, subject_id, taxonomy_scope
from stereotrope.audit.ordering import ordered
from stereotrope.audit.plan import Plan
from stereotrope.audit.work import ANNOTATE
from stereotrope.run import Items, Run, file_stem
from stereotrope.tables import (
    CONSTRAINTS,
    QUALITY_ATTRIBUTES,
    SUBJECTS,
    factors_of,
    kept_images,
    polars_types,
)

LEAST_LEFT = 40
"""Images a prompt from which those seen in discovery are left out of the scores; below, too few stay."""

_SHOWN = ("image_id", "sha256", "path", "width", "height")


class Look(NamedTuple):
    """One subject to look at, with the annotator as it is asked about it, and the part of the design.

    seen: What is looked at: of pictures that a mitigation kept those that they are kept from.
    """

    annotator: Annotator
    subject: Subject
    levels: Mapping[str, str]
    seen: Subject

    @property
    def key(self) -> str:
        """Content key of the look in the ledger."""
        return self.annotator.key_of(self.seen)


class Subjects:
    """What each annotator of a plan looks at.

    plan: The audit; its annotators know what was discovered so far (see :func:`remember`).
    images: Those that are there.
    before: The run as it was measured before, where nothing is drawn or looked at: its sets are taken.
    halted: Generators that were stopped; where given, what finds attributes waits for their images alone.

    Sets are made of all images that were asked for. One with an image that is still to come waits.
    """

    def __init__(
        self,
        plan: Plan,
        images: pl.DataFrame,
        before: Run | None = None,
        halted: Collection[str] | None = None,
    ) -> None:
        self.plan, self.images, self._before, self._halted = plan, images, before, halted
        coming = plan.requests.join(images, on="image_id", how="anti")
        self._coming = coming.unique("image_id", keep="last", maintain_order=True)
        prompts = plan.prompts
        self._texts = dict(prompts.select("prompt_id", "text").iter_rows())
        self._levels = {row["prompt_id"]: row for row in prompts.drop("text", "negative").to_dicts()}
        self._there = images.filter(pl.col("status") == "ok").select(*_SHOWN, "generator", "prompt_id")
        self._kept = {**plan.kept, **kept_images(images)}
        self._made: dict[tuple[str, str, Scope], Annotator | None] = {}

    def levels(self, generator: str, prompt_id: str, by: Sequence[str] = ()) -> dict[str, str]:
        """Part of the design that a picture belongs to; ``by`` names further factors that tell parts
        apart."""
        known = self._levels.get(prompt_id, {})
        named = {name: known[name] for name in ("object", *by) if known.get(name) is not None}
        return {"generator": generator, **named}

    @cached_property
    def _rows(self) -> dict[str, dict[str, Any]]:
        """Image → its row, for what is not looked at picture by picture."""
        return {row["image_id"]: row for row in self._there.to_dicts()}

    def looks(self, annotator: Annotator, labels: pl.DataFrame | None = None) -> Items:
        """What an annotator looks at, a :class:`Look` each; ``labels`` are those that it needs, of regions.

        What belongs to a part whose attributes could not be discovered is left until they are: each
        subject is asked everything in one call.
        """
        if annotator.subject == "image":
            return self._looks_at_pictures(annotator)
        listed = [look for look, _ in self._all(annotator, labels) if look is not None]
        return Items.of((look.key, look) for look in listed)

    def _looks_at_pictures(self, annotator: Annotator) -> Items:
        """Looks of which a few alone are objects at a time."""
        pictures = self._pictures(annotator)
        asked: dict[tuple[str, str], tuple[Annotator, Mapping[str, str]]] = {}
        for generator, prompt_id in pictures.select("generator", "prompt_id").unique().iter_rows():
            levels = self.levels(generator, prompt_id, annotator.asked_by)
            if not self._is_shown(annotator, prompt_id) or annotator.has(levels):
                continue
            if (bound := self._bound(annotator, levels)) is not None:
                asked[generator, prompt_id] = bound, levels
        cells = pl.DataFrame(list(asked), {"generator": pl.String, "prompt_id": pl.String}, orient="row")
        rows = pictures.join(cells, on=cells.columns, how="semi", maintain_order="left")

        def made(part: pl.DataFrame) -> Iterator[Look]:
            for row in part.iter_rows(named=True):
                subject, cell = self._seen(annotator, Subject("image", row["image_id"], (row,)))
                bound, levels = asked[cell]
                yield Look(bound, subject, levels, self._origin(subject))

        keys = pl.Series([look.key for look in made(rows)], dtype=pl.String)
        return Items(keys, lambda places: made(rows[places]))

    def waiting(self, annotator: Annotator) -> list[Mapping[str, str]]:
        """Parts of the design of the sets whose pictures are not all there."""
        return [levels for look, levels in self._all(annotator, None) if look is None]

    def n_sets(self, annotator: Annotator) -> int:
        """How many sets an annotator is shown in all, those of pictures that may still come included."""
        sets = (subject for subject, _ in self._subjects(annotator, None))
        return sum(one is None or one.images[0]["image_id"] not in self._kept for one in sets)

    def _all(
        self, annotator: Annotator, labels: pl.DataFrame | None
    ) -> Iterator[tuple[Look | None, Mapping[str, str]]]:
        for subject, (generator, prompt_id) in self._subjects(annotator, labels):
            levels = self.levels(generator, prompt_id, annotator.asked_by)
            if not self._is_shown(annotator, prompt_id) or annotator.has(levels):
                continue
            bound = self._bound(annotator, levels)
            if bound is not None:
                yield None if subject is None else Look(bound, subject, levels, self._origin(subject)), levels

    def _origin(self, subject: Subject) -> Subject:
        """The subject whose pictures these are, where they are kept from others; else itself."""
        ids = [row["image_id"] for row in subject.images]
        if not ids or not self._kept.keys() >= set(ids):
            return subject
        rows = tuple(self._rows[self._kept[each]] for each in ids)
        own = [self._kept[each] for each in ids]
        at = own[0] if subject.kind == "image" else subject_id(*own, *filter(None, [subject.region]))
        return replace(subject, id=at, images=rows)

    def _is_shown(self, annotator: Annotator, prompt_id: str) -> bool:
        shown = self.plan.shown.get(annotator.name)
        return shown is None or prompt_id in shown

    def _subjects(
        self, annotator: Annotator, labels: pl.DataFrame | None
    ) -> Iterator[tuple[Subject | None, tuple[str, str]]]:
        """Each subject with generator and prompt of its first picture; None for a set that waits."""
        match annotator.subject:
            case "region":
                for image_id, box in self._regions(annotator, labels):
                    row, at = self._rows[image_id], subject_id(image_id, box)
                    yield self._seen(annotator, Subject("region", at, (row,), region=box))
            case "set":
                frame = self._frame(annotator)
                coming = set(self._coming["image_id"])
                places = {i: (g, p) for i, p, g in frame.select(*_PLACED).iter_rows()}
                for ids in self._sets(annotator, frame):
                    rows = tuple(self._rows[each] for each in ids if each in self._rows)
                    text = self._texts[places[ids[0]][1]] if annotator.shows_prompt else None
                    if annotator.shows_prompt and text is None:
                        continue
                    if len(rows) == len(ids):
                        yield Subject("set", subject_id(*ids), rows, text=text), places[ids[0]]
                    elif not coming.isdisjoint(ids) and ids[0] not in self._kept:
                        yield None, places[ids[0]]
            case "text":
                texts = self.plan.prompts.select("prompt_id", "text").drop_nulls()
                for prompt_id, text in texts.unique("text", maintain_order=True).iter_rows():
                    yield Subject("text", prompt_id, text=text), ("", prompt_id)
                for sentence in annotator.sentences:
                    yield Subject("text", sentence, text=sentence), ("", sentence)

    def _seen(self, annotator: Annotator, subject: Subject) -> tuple[Subject, tuple[str, str]]:
        """A picture or region as it is shown, with its generator and prompt."""
        (row,) = subject.images
        if annotator.shows_prompt:
            subject = replace(subject, text=self._texts[row["prompt_id"]])
        return subject, (row["generator"], row["prompt_id"])

    def _pictures(self, annotator: Annotator) -> pl.DataFrame:
        """Pictures that can be looked at; where the prompt is part of the question, those that have one."""
        if not annotator.shows_prompt:
            return self._there
        texts = self.plan.prompts.drop_nulls("text")
        return self._there.join(texts, on="prompt_id", how="semi", maintain_order="left")

    def _regions(self, annotator: Annotator, labels: pl.DataFrame | None) -> Iterator[tuple[str, str]]:
        """Each picture with each region that labels of what the annotator needs have, once."""
        if labels is None:
            return
        givers = [a.name for a in self.plan.annotators if set(a.gives) & set(annotator.needs)]
        pictures = self._pictures(annotator).select(subject_id="image_id")
        wanted = pl.col("attribute").is_in(list(annotator.needs)) | pl.col("annotator").is_in(givers)
        found = labels.filter(wanted, pl.col("region").is_not_null(), subject_kind="image", status="ok")
        boxes = found.select("subject_id", "region").unique(maintain_order=True)
        yield from boxes.join(pictures, on="subject_id", how="semi", maintain_order="left").iter_rows()

    def _sets(self, annotator: Annotator, frame: pl.DataFrame) -> Sequence[tuple[str, ...]]:
        """Image ids of each set; of a run that is measured again those that were there then."""
        if self._before is None or not self._before.subjects.height or annotator.stage != ANNOTATE:
            made = annotator.sets(frame.filter(~pl.col("image_id").is_in(list(self._kept))))
            return made if annotator.stage != ANNOTATE else [*made, *self._kept_sets(made)]
        own = pl.col("annotators").str.json_decode(pl.List(pl.String)).list.contains(annotator.name)
        sets = self._before.subjects.filter(own.fill_null(True), subject_kind="set")
        sets = sets.sort("position", maintain_order=True)
        return list(map(tuple, sets.group_by("subject_id", maintain_order=True).agg("image_id")["image_id"]))

    def _kept_sets(self, sets: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
        """The sets of pictures that are kept from those of others, in the same order."""
        of: dict[str, dict[str, str]] = {}
        for image, origin in self._kept.items():
            if image in self._rows:
                of.setdefault(self._rows[image]["prompt_id"], {})[origin] = image
        for ids in sets:
            for images in of.values():
                if images.keys() >= set(ids):
                    yield tuple(images[each] for each in ids)

    def _frame(self, annotator: Annotator) -> pl.DataFrame:
        """Images with their factors, those that may still come as if they were there, in the plan's order."""
        rows = self.images.select(*_PLACED, "seed", "status")
        coming = self._coming
        if self._halted is not None and annotator.stage != ANNOTATE:
            coming = coming.filter(pl.col("drawn_by").is_in(list(self._halted)))
        more = coming.select(*_PLACED, "seed", pl.lit("ok").alias("status"))
        order = self.plan.requests.select("image_id").with_row_index().unique("image_id", keep="last")
        rows = pl.concat([rows, more]).join(order, on="image_id", how="left", maintain_order="left")
        return self.with_factors(rows.sort("index", maintain_order=True, nulls_last=True).drop("index"))

    def with_factors(self, images: pl.DataFrame) -> pl.DataFrame:
        """Images with the factors and the text of their prompts."""
        prompts = self.plan.prompts
        factors = [name for name in factors_of(prompts.columns) if name not in images.columns]
        of_prompts = prompts.select("prompt_id", *factors, "text")
        return images.join(of_prompts, on="prompt_id", how="left", maintain_order="left")

    def _bound(self, annotator: Annotator, levels: Mapping[str, str]) -> Annotator | None:
        key = (annotator.name, annotator.stage, taxonomy_scope(levels))
        if key not in self._made:
            self._made[key] = annotator.within(levels)
        return self._made[key]

    def _parts(self, labels: pl.DataFrame) -> Iterator[tuple[Annotator, Look]]:
        """Each region and set with each annotator that looks at it."""
        for one in ordered(self.plan.annotators):
            if one.looks and one.subject in ("region", "set"):
                yield from ((one, look) for part in self.looks(one, labels).parts() for _, look in part)

    def _lost_sets(self) -> Iterator[tuple[Annotator, Subject, str]]:
        """Sets that nobody looks at because a picture of them cannot be: each with its first prompt."""
        coming = set(self._coming["image_id"])
        for one in self.plan.annotators:
            if not one.looks or one.subject != "set" or one.stage != ANNOTATE:
                continue
            frame = self._frame(one)
            prompts = dict(frame.select("image_id", "prompt_id").iter_rows())
            for ids in self._sets(one, frame):
                whole = self._rows.keys() >= set(ids)
                if not whole and coming.isdisjoint(ids) and self._is_shown(one, prompts[ids[0]]):
                    rows = tuple({"image_id": each} for each in ids)
                    yield one, Subject("set", subject_id(*ids), rows), prompts[ids[0]]

    def table(self, labels: pl.DataFrame) -> pl.DataFrame:
        """The table ``subjects``: the images of each region and set that an annotator looks at, or would."""
        known: dict[str, tuple[Subject, list[str]]] = {}
        for one, look in self._parts(labels):
            known.setdefault(look.subject.id, (look.subject, []))[1].append(one.name)
        for one, lost, _ in self._lost_sets():
            known.setdefault(lost.id, (lost, []))[1].append(one.name)
        for one in self.plan.annotators:
            for at, ids in one.labelled_sets.items():
                subject = Subject("set", at, tuple({"image_id": each} for each in ids))
                known.setdefault(at, (subject, []))[1].append(one.name)
        rows = [
            (subject.kind, subject.id, row["image_id"], position, subject.region, json.dumps(names))
            for subject, names in known.values()
            for position, row in enumerate(subject.images)
        ]
        given: dict[tuple[str, str, str], list[str]] = {}
        for one, regions in self._labelled_elsewhere(labels):
            for part in regions:
                given.setdefault(part, []).append(one.name)
        rows += [
            ("region", part, image, 0, box, json.dumps(names))
            for (part, image, box), names in given.items()
            if part not in known
        ]
        return pl.DataFrame(rows, schema=polars_types(SUBJECTS), orient="row")

    def _labelled_elsewhere(
        self, labels: pl.DataFrame
    ) -> Iterator[tuple[Annotator, list[tuple[str, str, str]]]]:
        """Annotators that know regions and look at none, each with id, image and box of these."""
        found = labels.filter(pl.col("region").is_not_null(), subject_kind="image", status="ok")
        for one in ordered(self.plan.annotators):
            if one.subject == "region" and one.process is None:
                own = found.filter(pl.col("attribute").is_in(one.needs)).select("subject_id", "region")
                pairs = own.unique(maintain_order=True).iter_rows()
                yield one, [(subject_id(image, box), image, box) for image, box in pairs]

    def asked_of_parts(self, labels: pl.DataFrame) -> pl.DataFrame:
        """``image_id, annotator, attribute``: what should have been answered about every region and set."""
        rows = [
            (look.subject.id, one.name, name)
            for one, look in self._parts(labels)
            for name in look.annotator.asked(self._levels[look.subject.images[0]["prompt_id"]])
        ]
        rows += [
            (lost.id, one.name, name)
            for one, lost, prompt in self._lost_sets()
            for name in self._asked(one, self.levels("", prompt, one.asked_by)).asked(self._levels[prompt])
        ]
        rows += [
            (part, one.name, name)
            for one in self.plan.annotators
            for part, name in labels.filter(annotator=one.name, subject_kind="set")
            .select("subject_id", "attribute")
            .iter_rows()
            if part in one.labelled_sets
        ]
        rows += [
            (part, one.name, name)
            for one, regions in self._labelled_elsewhere(labels)
            for part, _, _ in regions
            for name in one.attributes
        ]
        return pl.DataFrame(rows, schema=_ASKED, orient="row")

    def asked(self) -> pl.DataFrame:
        """``image_id, annotator, attribute``: what should have been answered about every picture."""
        cells = self.images.select("generator", "prompt_id").unique(maintain_order=True)
        rows = [
            (generator, prompt_id, one.name, name)
            for one in self.plan.annotators
            if one.subject == "image"
            for generator, prompt_id in cells.iter_rows()
            if self._is_shown(one, prompt_id)
            for name in self._asked(one, self.levels(generator, prompt_id)).asked(self._levels[prompt_id])
            if name in CONSTRAINTS or name not in QUALITY_ATTRIBUTES
        ]
        named = dict.fromkeys((*cells.columns, "annotator", "attribute"), pl.String)
        asked = pl.DataFrame(rows, schema=named, orient="row")
        return self.images.select(_PLACED).join(asked, on=cells.columns).select(*_ASKED)

    def _asked(self, annotator: Annotator, levels: Mapping[str, str]) -> Annotator:
        bound = self._bound(annotator, levels) if annotator.looks else None
        return annotator if bound is None else bound

    def taxonomy(self) -> pl.DataFrame | None:
        """Value lists by part of the design, None where no attribute was discovered.

        With the annotator, where two have different lists of one attribute.
        """
        if not any(one.taxonomies for one in self.plan.annotators):
            return None
        pairs = self.images.select("generator", "prompt_id").unique(maintain_order=True).iter_rows()
        parts = dict.fromkeys(taxonomy_scope(self.levels(*pair)) for pair in pairs)
        lists = [
            (scope, one.name, name, values)
            for scope in parts
            for one in self.plan.annotators
            for name, values in self._asked(one, dict(scope)).attributes.items()
            if values and name not in QUALITY_ATTRIBUTES
        ]
        differ = len({(s, n, v) for s, _, n, v in lists}) > len({(s, n) for s, _, n, _ in lists})
        rows = [
            {**dict(scope), **({"annotator": who} if differ else {}), "attribute": name, "value": value}
            for scope, who, name, values in lists
            for value in values
        ]
        return pl.DataFrame(rows).unique(maintain_order=True)


_PLACED = ("image_id", "prompt_id", "generator")
_ASKED = dict.fromkeys(("image_id", "annotator", "attribute"), pl.String)


def file_of(folder: Path, annotator: Annotator) -> Path | None:
    """Where an annotator keeps what it found, to be read and edited; None where it keeps nothing."""
    return folder / annotator.keeps / f"{file_stem(annotator.name)}.yaml" if annotator.keeps else None


def remember(plan: Plan, folder: Path) -> None:
    """Let annotators read what was found in a run folder so far; no model is asked."""
    for one in ordered(plan.annotators):
        if (file := file_of(folder, one)) is not None:
            one.reopen(file)


def leaves_out(plan: Plan) -> bool:
    """Whether pictures that attributes were discovered on are left out of their annotator's scores."""
    choice = plan.spec.discovery_images
    return choice == "out" or (choice == "auto" and plan.images_per_prompt >= LEAST_LEFT)
