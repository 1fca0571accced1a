"""What a report is made of: a run's tables joined once, its conditions named and ordered."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

import polars as pl

from stereotrope.report.finding_lists import FindingList, first_lists
from stereotrope.report.numbers import count
from stereotrope.report.prose import MeasureProse, Prose
from stereotrope.report.series import Series
from stereotrope.report.sheets import MOST_IN_PAGE, Places, Sheet, most_of_each, prompt_cells
from stereotrope.run import Run
from stereotrope.tables import (
    ESTIMATE_COLUMNS,
    MADE,
    N_SUBJECTS,
    PROMPTS,
    QUALITY_ATTRIBUTES,
    levels_of_subjects,
    plain_scores,
)

QUALITY = QUALITY_ATTRIBUTES
"""Attributes that say whether a picture can be used, not what it shows."""

_LEXICON = "LexiconAnnotator"
_HIGHLIGHTS = 3
"""Images by which findings show one condition beside its strips."""
_FEW_COMPARISONS = 4
"""Comparisons up to which each is named."""
_PLACE = "__place"
_LABEL = ["generator", "prompt_id", "attribute", "annotator", "status"]
_FIXED_PROMPTS = {c.name for c in PROMPTS}


Words = Callable[[], Mapping[str, Any]]
"""Makes the words of measures, for a run that stores none."""


def words(name: str) -> str:
    """An identifier as words: ``product_colour`` → ``product colour``."""
    return name.replace("_", " ")


def level_words(column: str, level: Any) -> str:
    """A level of a factor in words; *none* says of what."""
    if level is None:
        return "–"
    if level == "none" and column not in ESTIMATE_COLUMNS:
        return f"no {words(column)}"
    return words(str(level)) if column == "attribute" else str(level)


class Material:
    """A run made ready to be shown.

    changed: Files of the run that were changed by hand.
    factors: Factor columns of the prompts.
    tested: How many comparisons were tested and how many differ, and of few which, in sentences; None where
        none was.
    shown: Those that tell conditions apart: no constants, none that another one implies.
    row_factor: The factor whose levels are set side by side, the contrast of most estimates.
    """

    def __init__(self, run: Run, words: Words | None = None, *, changed: Iterable[str] = ()) -> None:
        self.run, self.changed = run, tuple(changed)
        self.info = run.info
        stored = run.info.get("words")
        self.prose = Prose(words() if stored is None and words is not None else stored or {})
        self.prompts = run.prompts
        self.estimates = run.estimates
        self.findings = run.findings.sort("rank", maintain_order=True)
        counted = next(iter(self.findings.filter(list="summary")["sentence"]), None)
        self.tested = counted and " ".join([counted, *_compared(run.comparisons)])
        self.factors = [c for c in self.prompts.columns if c not in _FIXED_PROMPTS]
        self.shown = _irredundant(self.prompts.select(self.factors))
        used = self.estimates["contrast"].drop_nulls().value_counts(sort=True, name="n")["contrast"]
        self.row_factor = next((name for name in [*used, *self.shown[-1:]] if name in self.shown), None)
        self._found: dict[tuple[tuple[str, Any], ...], Sheet | None] = {}

    def explain(self, series: Series | str, definition: str | None = None) -> MeasureProse:
        """Words for a series, or for a measure's own scores, of one definition where these differ."""
        return self.prose.explain(series, definition)

    @cached_property
    def looks(self) -> list[str]:
        """Every look at the run in a sentence, where there were several."""
        looks = self.info.get("looks") or []
        return [
            f"Look {one['look']}: {count(one['pictures'], 'picture')}, error {one['alpha']:.3g}, "
            f"{count(one['told'], 'difference')} found."
            for one in looks
            if len(looks) > 1
        ]

    @cached_property
    def scores(self) -> pl.DataFrame:
        """The measures' own numbers: no means, no scores of a subset, no differences."""
        return plain_scores(self.estimates)

    @cached_property
    def generators(self) -> list[str]:
        """Names of the generators, in the order of the run."""
        named = [g["name"] for g in self.info.get("generators", [])]
        seen = self.pictures["generator"].unique(maintain_order=True).drop_nulls().to_list()
        return [g for g in named if g in seen] + [g for g in seen if g not in named]

    @cached_property
    def lexicons(self) -> list[str]:
        """Names of the annotators that read captions by a lexicon, in the order of the run."""
        return [str(a["name"]) for a in self.info.get("annotators", []) if a.get("kind") == _LEXICON]

    @cached_property
    def named_generators(self) -> list[str]:
        """Names of all generators that were asked for, those without any picture included."""
        named = [str(g["name"]) for g in self.info.get("generators", [])]
        return named + [g for g in self.generators if g not in named]

    @property
    def counted(self) -> bool:
        """Whether the run counts label files, so that it has no row an image or label."""
        return not self.run.counts.is_empty()

    @property
    def images(self) -> pl.LazyFrame:
        """Every image with the levels of its prompt; read in parts, and only what is asked for."""
        return self._with_levels(self.run.scan("images"))

    @cached_property
    def n_images(self) -> int:
        """How many images have a row."""
        return sum(sheet.n for sheet in self.sheets)

    @cached_property
    def pictures(self) -> pl.DataFrame:
        """All that were asked for, with the factors: how many (``n_subjects``) ended alike."""
        if self.counted:
            own = self.run.counts.filter(pl.col("annotator").is_null())
            return self._with_levels(own.drop("status").rename({"image_status": "status"}).lazy()).collect()
        by = ["generator", "prompt_id", "status", "reason"]
        return self._with_levels(_alike(self._numbered("images"), by)).collect()

    @cached_property
    def outcomes_known(self) -> bool:
        """Whether it is known of pictures that are not at hand that their requests were not refused."""
        return bool((self.pictures["reason"] == MADE).any())

    def _with_levels(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        levels = self.prompts.lazy().select("prompt_id", *self.factors)
        return rows.join(levels, on="prompt_id", how="left", maintain_order="left")

    @property
    def labels(self) -> pl.LazyFrame:
        """Labels of whole images with generator and prompt, in any order; read in parts, as images are."""
        images = self.run.scan("images").select("generator", "prompt_id", subject_id="image_id")
        of_images = self._numbered("labels").filter(pl.col("subject_kind") == "image")
        return of_images.join(images, on="subject_id")

    def _numbered(self, name: str) -> pl.LazyFrame:
        """The rows of a table with their places in it: parts are read in any order."""
        return self.run.scan(name).with_row_index(_PLACE)

    @cached_property
    def label_counts(self) -> pl.DataFrame:
        """How many labels of whole images are alike, with the factors, in the order of the run."""
        by = [*_LABEL, "value"]
        return self._with_levels(_alike(self.labels, by)).collect()

    @cached_property
    def every_label(self) -> pl.DataFrame:
        """Labels of whole images, and of regions and sets with what all their images are of: how many
        (``n_subjects``) there are of each outcome."""
        if self.counted:
            told = self.run.counts.drop_nulls(["annotator", "status"])
            return self._with_levels(told.lazy()).collect()
        by = [*_LABEL, "derived_from"]
        whole = self._with_levels(_alike(self.labels, by)).collect()
        subjects, levels = self.run.subjects, ["generator", *self.factors]
        if subjects.is_empty():
            return whole
        theirs = self.images.select("image_id", *levels).filter(
            pl.col("image_id").is_in(subjects["image_id"].unique().implode())
        )
        of = levels_of_subjects(subjects, theirs.collect(), levels).lazy()
        rows = self._numbered("labels").join(of, on="subject_id")
        parts = _alike(rows, [*levels, *_LABEL[2:], "derived_from"]).collect()
        return pl.concat([whole, parts], how="diagonal")

    @cached_property
    def shown_labels(self) -> pl.DataFrame:
        """How many labels of what pictures show are alike."""
        return self.label_counts.filter(~pl.col("attribute").is_in(QUALITY))

    @cached_property
    def quality_counts(self) -> dict[str, int]:
        """How many pictures have what each attribute of their quality speaks of, where any has."""
        rows = self.labels.filter(
            pl.col("value") != "no", pl.col("attribute").is_in(list(QUALITY)), pl.col("status") == "ok"
        )
        return dict(rows.group_by("attribute").agg(pl.col("subject_id").n_unique()).collect().iter_rows())

    def labels_of(self, images: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
        """``image_id`` → (attribute, value) of its first usable label of each attribute."""
        named = pl.Series(images, dtype=pl.String).implode()
        of_these = pl.col("subject_id").is_in(named) & ~pl.col("attribute").is_in(QUALITY)
        said = self.run.scan("labels").filter(of_these, pl.col("status") == "ok")
        found: dict[str, dict[str, str]] = {}
        told = said.select("subject_id", "attribute", "value").drop_nulls("value").collect()
        for image, attribute, value in told.iter_rows():
            found.setdefault(image, {}).setdefault(attribute, value)
        return {image: list(pairs.items()) for image, pairs in found.items()}

    def image_row(self, image: str) -> dict[str, Any]:
        """The row of an image."""
        return self.run.scan("images").filter(pl.col("image_id") == image).collect().row(0, named=True)

    @cached_property
    def level_order(self) -> dict[str, list[str]]:
        """Levels of each factor, in the order in which the design gives them."""
        orders = {f: self.prompts[f].drop_nulls().unique(maintain_order=True).to_list() for f in self.factors}
        for factor, level in (self.info.get("baseline") or {}).items():
            if level in orders.get(factor, []):
                orders[factor].remove(level)
                orders[factor].insert(0, level)
        orders["generator"] = self.generators
        return orders

    @cached_property
    def sheets(self) -> list[Sheet]:
        """Every condition of every generator, ordered by generator and by the design's levels."""
        return self._sheets[0]

    @cached_property
    def listed(self) -> pl.Series:
        """The first usable images of each condition."""
        return pl.Series([image for sheet in self.sheets for image in sheet.usable], dtype=pl.String)

    @cached_property
    def sheet_of(self) -> Places:
        """``image_id`` → the sheet it lies on."""
        return self._sheets[1]

    @cached_property
    def _sheets(self) -> tuple[list[Sheet], Places]:
        cells = prompt_cells(self.run.scan("images"))
        known = self.prompts.select("prompt_id", "text", *self.factors)
        cells = cells.join(known, on="prompt_id", how="left", maintain_order="left")
        bare, of_cell = [], []
        for at, part in enumerate(self.parts(cells, ["generator", *self.shown]).values()):
            first = part.row(0, named=True)
            scope = {f: first[f] for f in self.factors if first[f] is not None}
            counts = part.select(pl.col("n", "n_usable", "n_absent", "n_labelled").sum())
            bare.append(
                Sheet(
                    f"sheet-{at + 1}",
                    first["generator"],
                    scope,
                    self.title(scope),
                    **counts.row(0, named=True),
                    texts=part["text"].drop_nulls().unique(maintain_order=True).to_list(),
                )
            )
            of_cell.append(part.select("generator", "prompt_id", sheet=pl.lit(at, pl.UInt32)))
        no_cell = cells.select("generator", "prompt_id", sheet=pl.lit(0, pl.UInt32)).clear()
        places = Places(self.run.scan("images"), pl.concat([no_cell, *of_cell]), sheets := [])
        rows = self._first_rows(places, most_of_each([sheet.n_usable for sheet in bare], MOST_IN_PAGE))
        sheets += [replace(sheet, images=rows.get(at, [])) for at, sheet in enumerate(bare)]
        return sheets, places

    def _first_rows(self, places: Places, most: int) -> dict[int, list[dict[str, Any]]]:
        """The first images of each sheet: their rows by its number."""
        first = places.frame.lazy().filter(pl.col("rank") < most).select("image_id", "sheet", "turn")
        columns = ("image_id", "prompt_id", "generator", "seed", "status", "reason")
        told = self.run.scan("images").select(columns).join(first, on="image_id")
        by_sheet: dict[int, list[dict[str, Any]]] = {}
        for row in told.sort("sheet", "turn").collect(engine="streaming").iter_rows(named=True):
            by_sheet.setdefault(row["sheet"], []).append(row)
        return by_sheet

    def position(self, factor: str, level: str | None) -> tuple[int, str]:
        """Sort key of a level: the design's order, then the alphabet."""
        order = self.level_order.get(factor, [])
        return (order.index(level) if level in order else len(order), level or "")

    def parts(self, frame: pl.DataFrame, by: Sequence[str]) -> dict[tuple[Any, ...], pl.DataFrame]:
        """Levels → their rows, in the order of the design; all rows by no column."""
        if not by:
            return {(): frame}
        levels = frame.select(by).unique(maintain_order=True).rows()
        parts = dict(zip(levels, frame.partition_by(by, maintain_order=True), strict=True))
        return {key: parts[key] for key in sorted(levels, key=lambda key: [*map(self.position, by, key)])}

    def title(self, scope: Mapping[str, Any], *, leave_out: Sequence[str] = ()) -> str:
        """A condition in words: the levels of the factors that tell conditions apart."""
        levels = [level_words(f, scope[f]) for f in self.shown if scope.get(f) and f not in leave_out]
        return ", ".join(levels) or "all conditions"

    def find_sheet(self, scope: Mapping[str, Any]) -> Sheet | None:
        """The first sheet that a scope covers, None where it names nothing that has pictures."""
        given = tuple((f, scope[f]) for f in ("generator", *self.factors) if scope.get(f) is not None)
        if given and given not in self._found:
            covered = (s for s in self.sheets if set(given) <= {*s.scope.items(), ("generator", s.generator)})
            self._found[given] = next(covered, None)
        return self._found[given] if given else None

    def reference_of(self, sheet: Sheet, contrast: str, reference: str) -> Sheet | None:
        """The sheet that a level of a factor, or another model, puts beside this one; None for itself."""
        return self._beside(sheet, {contrast: reference})

    def baseline_of(self, sheet: Sheet) -> Sheet | None:
        """The baseline's sheet beside this one: same generator, same other factors; None for itself."""
        named = self.info.get("baseline") or {}
        return self._beside(sheet, {f: v for f, v in named.items() if f in self.shown})

    def _beside(self, sheet: Sheet, levels: Mapping[str, str]) -> Sheet | None:
        own = {**sheet.scope, "generator": sheet.generator}
        if not levels or all(own.get(f) == v for f, v in levels.items()):
            return None
        # A baseline may lack factors that its conditions have.
        complete = [f for f in self.shown if not self.prompts[f].null_count()]
        shared = {f: own[f] for f in ("generator", *complete)}
        return self.find_sheet({**own, **levels}) or self.find_sheet({**shared, **levels})

    def scope_columns(self, frame: pl.DataFrame) -> list[str]:
        """Factor columns of a frame of estimates that vary in it, implied ones left out."""
        return _irredundant(frame.select(c for c in frame.columns if c not in ESTIMATE_COLUMNS))

    @cached_property
    def first_findings(self) -> list[FindingList]:
        """The lists of findings with what stands of each on the first screen."""
        return first_lists(self.findings, self.run.comparisons)

    @property
    def without_findings(self) -> bool:
        """Whether nothing was tested for a list of findings, and nothing else stood out."""
        return not self.tested and not self.first_findings

    @property
    def untested(self) -> str | None:
        """That no difference was looked for, and what to do; None where some comparison was tested."""
        # Older versions told what stood out without a word on what they had tested.
        if self.tested or any(one.name is None for one in self.first_findings):
            return None
        if self.estimates["contrast"].is_in(["generator", *self.factors]).any():
            return (
                "No comparison of this run could be tested, so that no difference can be told from chance; "
                "the tables say of each why not. More pictures or prompts a condition may help."
            )
        return (
            "The measures of this audit compare nothing, so that no difference was looked for: what the "
            "numbers below show is not tested. To look for differences, add a measure that compares "
            "conditions or models to `measures:`, such as `share_difference`."
        )

    @cached_property
    def blank(self) -> frozenset[str]:
        """Images that are blank, which no score counts, among the first of each condition."""
        said = self.run.scan("labels").filter(
            (pl.col("attribute") == "blank") & (pl.col("status") == "ok") & (pl.col("value") != "no"),
            (pl.col("subject_kind") == "image") & pl.col("subject_id").is_in(self.listed.implode()),
        )
        return frozenset(said.select("subject_id").collect()["subject_id"])

    @cached_property
    def highlighted(self) -> dict[str, list[str]]:
        """Anchor of a sheet → the first usable images by which findings show it; of others there is none.

        Findings point at what their scope covers and at what their pictures are of: the first of each, the
        strongest first, before the second of any.
        """
        told = [self._pointed_at(row) for row in self.findings.iter_rows(named=True)]
        found = [at for turn in zip_longest(*(sheets for sheets, _ in told)) for at in turn if at is not None]
        named = dict.fromkeys(image for _, images in told for image in images)
        usable = self.sheet_of.of(named).filter("usable").group_by("sheet", maintain_order=True)
        first = dict(usable.agg(pl.col("image_id").head(_HIGHLIGHTS)).iter_rows())
        return {self.sheets[at].anchor: first.get(at, []) for at in dict.fromkeys(found)}

    def _pointed_at(self, finding: Mapping[str, Any]) -> tuple[list[int], list[str]]:
        """Numbers of the sheets that a finding is about, those with its images first, and these."""
        images, scope = image_ids(finding), json.loads(finding["scope"] or "{}")
        levels = {f: level for f, level in scope.items() if f in self._sheet_levels.columns}
        covered = self._sheet_levels.with_row_index("at").filter(**levels)["at"].to_list() if levels else []
        theirs = self.sheet_of.of(images)["sheet"].drop_nulls().unique(maintain_order=True).to_list()
        return list(dict.fromkeys([*theirs, *covered])), images

    @cached_property
    def _sheet_levels(self) -> pl.DataFrame:
        """The model and the levels of every sheet."""
        names = dict.fromkeys(["generator", *self.factors], pl.String())
        rows = ({**sheet.scope, "generator": sheet.generator} for sheet in self.sheets)
        return pl.DataFrame([[row.get(name) for name in names] for row in rows], schema=names, orient="row")


def _alike(rows: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """How many rows have the same of some columns, in the order of the first of each."""
    number = pl.len().cast(pl.Int64).alias(N_SUBJECTS)
    counted = rows.group_by(by).agg(pl.col(_PLACE).min(), number)
    return counted.collect(engine="streaming").sort(_PLACE).drop(_PLACE).lazy()


def image_ids(finding: Mapping[str, Any]) -> list[str]:
    """The images that a finding names."""
    return [str(i) for i in json.loads(finding["image_ids"] or "[]")]


def _compared(comparisons: pl.DataFrame) -> list[str]:
    """What was compared, where it is little, in a sentence."""
    if not 0 < comparisons.height <= _FEW_COMPARISONS:
        return []
    told = []
    for row in comparisons.iter_rows(named=True):
        scope = json.loads(row["scope"] or "{}")
        level = scope.pop(row["contrast"], None) if row["contrast"] and row["reference"] else None
        what = words(row["attribute"] or row["kind"])
        if level is not None:
            what += f" with {words(row['contrast'])} “{level}” and “{row['reference']}”"
        where = ", ".join(f"{words(factor)} “{level}”" for factor, level in scope.items())
        told.append(f"{what} ({where})" if where else what)
    return [f"Compared: {'; '.join(told)}."]


def _irredundant(frame: pl.DataFrame) -> list[str]:
    """Columns that vary and are not a function of another kept column."""
    values = frame.unique().to_dict(as_series=False)
    levels = {column: len(set(named)) for column, named in values.items()}
    kept = [column for column in frame.columns if levels[column] > 1]
    for column in list(kept):
        for other in kept:
            if other == column or levels[other] < levels[column]:
                continue
            pairs = set(zip(values[column], values[other], strict=True))
            # What is not given names nothing, though it may imply a level of another.
            unsaid = any(finer is None and level is not None for level, finer in pairs)
            more = any(level is None and finer is not None for level, finer in pairs)
            first = levels[other] > levels[column] or more or kept.index(other) < kept.index(column)
            if len(pairs) == levels[other] and not unsaid and first:
                kept.remove(column)
                break
    return kept
