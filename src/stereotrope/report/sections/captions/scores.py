"""Scores of captions: which may stand in one figure, of which prompt, in which band."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from stereotrope.report.datatable import Table, TableCell, estimate_cell, pictures_cell, table_by
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import interval, number
from stereotrope.report.panels import safe_name
from stereotrope.report.series import Estimate
from stereotrope.tables import BANDS, Band, warnings_of

COMPOSITE_MEASURES = ("cbs", "cbs_without_association", "contextual_diversity")
"""The two composites; a prompt has one of them."""
_PROMPT = "prompt"
_DOUBTED = "mostly_unknown"
_NAMES = [band.name for band in BANDS]
_SLACK = 1e-12
_MOST_PLACES = 4
_LONGEST_MARK = 40


@dataclass(frozen=True)
class Basis:
    """Estimates that may stand in one figure.

    definition: The definition that they follow.
    lexicon: The lexicon that read the captions, where the run has several; else None.
    told: What tells them from the others, in words; empty where nothing has to.
    marks: The same, as parts of the name of a figure.
    """

    definition: str | None
    lexicon: str | None
    frame: pl.DataFrame
    told: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()

    @property
    def named(self) -> str:
        """The end of a title: `` (definition paper, by lexicon second)``."""
        return f" ({', '.join(self.told)})" if self.told else ""


def bases_of(material: Material, frame: pl.DataFrame) -> list[Basis]:
    """The estimates apart by definition and by lexicon, in the order of the frame and of the run.

    Estimates by no lexicon, and those of a run that has one alone, are apart by definition only; an
    ``annotator`` that is none is an encoder and tells nothing apart here.
    """
    definitions = frame["definition"].unique(maintain_order=True).to_list()
    found = []
    for definition in definitions:
        told, marks = [], []
        if len(definitions) > 1 and definition:
            told, marks = [f"definition {words(definition)}"], [definition]
        for lexicon, rows in _by_lexicon(material, frame.filter(pl.col("definition").eq_missing(definition))):
            by = [f"by lexicon {lexicon}"] if lexicon else []
            mark = [_mark(material, lexicon)] if lexicon else []
            found.append(Basis(definition, lexicon, rows, (*told, *by), (*marks, *mark)))
    return found


def _by_lexicon(material: Material, frame: pl.DataFrame) -> list[tuple[str | None, pl.DataFrame]]:
    if "annotator" not in frame.columns:
        return [(None, frame)]
    whose = pl.col("annotator")
    parts = [(name, frame.filter(whose == name)) for name in material.lexicons]
    rest = frame.filter(~whose.is_in(material.lexicons).fill_null(False))
    return [(name, rows) for name, rows in [*parts, (None, rest)] if rows.height]


def _mark(material: Material, lexicon: str) -> str:
    """The name of a lexicon where it can be one of a file, else its place in the run."""
    safe = safe_name(lexicon) == lexicon and len(lexicon) <= _LONGEST_MARK
    return lexicon if safe else f"lexicon_{material.lexicons.index(lexicon) + 1}"


@dataclass(frozen=True)
class ScoreGrid:
    """Scores by prompt and model: one definition, lexicon and level of each further factor.

    scope: Levels of the factors that are neither model nor prompt.
    lines: Columns that tell the prompts apart.
    named: What tells it from other grids, in words; empty where there is only one.
    """

    material: Material
    basis: Basis
    scope: Mapping[str, str | None]
    lines: Sequence[str]
    frame: pl.DataFrame
    named: str

    @property
    def suffix(self) -> str:
        """The end of a title."""
        return f" ({self.named})" if self.named else ""

    @property
    def models(self) -> list[str]:
        """The models that have a score, in the order of the run."""
        there = set(self.frame["generator"])
        return [model for model in self.material.named_generators if model in there]

    def label(self, row: Estimate) -> str:
        """The prompt of an estimate in words."""
        return ", ".join(str(row[f]) for f in self.lines if row[f] is not None) or "–"

    def rows_by(self, *further: str) -> list[list[dict[str, Any]]]:
        """The rows of each prompt, and of each level of further columns, in the order of the design."""
        return [part.to_dicts() for part in self.material.parts(self.frame, [*self.lines, *further]).values()]

    def cells(self, line: Sequence[Estimate]) -> list[tuple[str, list[Estimate]]]:
        """The rows of one prompt, of each model."""
        return [(model, [row for row in line if row["generator"] == model]) for model in self.models]

    def table(
        self,
        title: str,
        rows: Sequence[Any],
        columns: Mapping[str, Callable[[Any], TableCell | str | int | None]],
        files: str,
        *,
        of: Callable[[Any], Estimate] = lambda row: row,
    ) -> Table:
        """A table of some rows, a maker of cells each column; ``of`` gives the estimate with the pictures."""
        pictures = {"pictures": lambda row: pictures_cell(self.material, of(row))}
        return table_by(title, rows, {**columns, **pictures}, files)

    def value_cell(self, row: Estimate) -> TableCell:
        """Value and interval."""
        return estimate_cell(self.material, row)


def score_grids(material: Material, frame: pl.DataFrame) -> list[ScoreGrid]:
    """The estimates apart by definition, lexicon and further factors, in the order of run and design.

    Prompts are told by the factor ``prompt``, else by the last one that the rows have.
    """
    there = [f for f in material.factors if f in frame.columns and frame[f].null_count() < frame.height]
    if not there:
        return []
    prompt = _PROMPT if _PROMPT in there else there[-1]
    further = [c for c in material.scope_columns(frame) if c not in ("generator", "annotator", prompt)]
    finer = [f for f in further if frame.select(f, prompt).unique().height == frame[f].n_unique()]
    by = [f for f in further if f not in finer]
    grids = []
    for basis in bases_of(material, frame):
        for group in material.parts(basis.frame, by).values():
            scope = {f: group[f][0] for f in by}
            named = ", ".join([*(str(level) for level in scope.values() if level is not None), *basis.told])
            grids.append(ScoreGrid(material, basis, scope, [prompt, *finer], group, named))
    return grids


def composite_grids(material: Material) -> list[ScoreGrid]:
    """The composite scores."""
    frame = material.scores.filter(pl.col("measure").is_in(COMPOSITE_MEASURES))
    return score_grids(material, frame) if frame.height else []


def composite_files(frame: pl.DataFrame) -> str:
    """The files of the composites among some estimates."""
    there = set(frame["measure"])
    return " and ".join(f"tables/{measure}.csv" for measure in COMPOSITE_MEASURES if measure in there)


def tentative(row: Estimate) -> bool:
    """Whether a score rests on captions most of which name no group, so that its band says little."""
    return _DOUBTED in warnings_of(row.get("flags"))


def band_words(row: Estimate) -> str:
    """The band that a score lies in, with its doubt: ``high, mostly unknown``; empty where there is none."""
    band = row.get("band") or ""
    return f"{band}, {words(_DOUBTED)}" if band and tentative(row) else band


def warnings(row: Estimate, *, banded: bool = False) -> str:
    """The warnings of a row in words; of one that is ``banded`` without the doubt beside its band."""
    told = [flag for flag in warnings_of(row.get("flags")) if not (banded and flag == _DOUBTED)]
    return ", ".join(map(words, told))


def band_of(row: Estimate, column: str = "value") -> int | None:
    """Place in ``BANDS`` of a score's band, or of one end of its interval; None without a number.

    The band of the score itself is the one that is stored.
    """
    if row[column] is None:
        return None
    if column == "value" and row.get("band") in _NAMES:
        return _NAMES.index(row["band"])
    inside = (i for i, band in enumerate(BANDS) if row[column] <= band.most + _SLACK)
    return next(inside, len(BANDS) - 1)


def in_band(row: Estimate, least: int = 2) -> str:
    """Value and interval to ``least`` digits, or to so many that none of the three seems in another band."""
    ends = [row[c] for c in ("value", "low", "high") if row[c] is not None]

    def bands(values: Iterable[float]) -> list[int | None]:
        return [band_of({"value": value}) for value in values]

    exact = (p for p in range(least, _MOST_PLACES + 1) if bands(round(end, p) for end in ends) == bands(ends))
    return interval(row["value"], row["low"], row["high"], places=next(exact, _MOST_PLACES))


def reach(row: Estimate) -> list[str]:
    """The band in words with its doubt, ``low, mostly unknown``, and what the interval reaches beside."""
    at = band_of(row)
    if at is None:
        return []
    down, up = (at if (end := band_of(row, side)) is None else end for side in ("low", "high"))
    said = [f"down to {_NAMES[down]}"] * (down < at) + [f"up to {_NAMES[up]}"] * (up > at)
    doubt = [words(_DOUBTED)] * tentative(row)
    return [", ".join([_NAMES[at], *doubt]), *[" and ".join(said)] * bool(said)]


def edges_text(band: Band) -> str:
    """Which numbers a band holds, in words."""
    at = BANDS.index(band)
    below = f"above {number(BANDS[at - 1].most, places=2)}" if at else ""
    most = f"up to {number(band.most, places=2)}" if at < len(BANDS) - 1 else ""
    return ", ".join(filter(None, (below, most)))
