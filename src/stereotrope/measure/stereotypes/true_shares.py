"""True shares of attributes in concepts: read from a file of figures and formulas, and set beside labels."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import Field

from stereotrope.errors import TableError, UsageError, did_you_mean
from stereotrope.inputs.files import read_text
from stereotrope.inputs.options import Options, Text, shorten, validated
from stereotrope.inputs.yaml import YamlFile
from stereotrope.measure.contract import Calls, MeasureCall, MeasureInfo
from stereotrope.measure.ratios.references import REFERENCES
from stereotrope.measure.setting import MeasureSetting
from stereotrope.measure.stereotypes.formula import Formula, inputs_shown
from stereotrope.measure.tidy import as_number, as_text, to_polars

_EXAMPLE = "write shares: {doctor: {man: {share: 0.62, source: a register of doctors, year: 2023}}}"
_COLUMNS = {
    **dict.fromkeys(("concept", "attribute", "category"), pl.String),
    **dict.fromkeys(("reference", "low", "high"), pl.Float64),
    "assumed": pl.Boolean,
    **dict.fromkeys(("formula", "source", "year"), pl.String),
}


class _Figure(Options):
    """A share that is known, computed or assumed."""

    share: float | None = Field(None, ge=0, le=1)
    formula: Text | None = None
    range: list[float] | None = Field(None, min_length=2, max_length=2)
    assumed: bool = False
    source: Text | None = None
    year: int | None = None


class _File(Options):
    """What a file of true shares may say."""

    source: Text | None = None
    year: int | None = None
    figures: dict[Text, _Figure] = Field(default_factory=dict)
    shares: dict[Text, dict[Text, _Figure]] = Field(min_length=1)


def read_true_shares(path: Path | str) -> pl.DataFrame:
    """Read a file of true shares.

    path: A YAML file: ``shares``, concept → attribute → ``{share: 0.34, source: …, year: …}``, and optionally
        ``range: [low, high]``, a 95% interval, or ``assumed: true`` where nobody counted. ``formula: 0.5 *
        man`` instead of ``share`` computes it from the concept's own attributes and from ``figures``. An
        attribute with values of its own names one: ``perceived_gender=male``.

    Returns: ``concept, attribute, category, reference, low, high, assumed, formula, source, year``, a row an
        attribute and concept; ``category`` is null where the file names none. What follows from something
        assumed is assumed.

    Raises InputError: It cannot be read or used; the message begins with ``file:line:``.
    """
    absent = "name a file of true shares, or a registry that comes with stereotrope"
    file = YamlFile(read_text(path, what="a file of true shares", absent=absent), str(path))
    given = validated(_File, file, example=_EXAMPLE)
    rows = []
    for concept, attributes in given.shares.items():
        known = _Known(file, given, concept, attributes)
        for name in attributes:
            attribute, _, category = name.partition("=")
            told = known.row(name)
            rows.append({"concept": concept, "attribute": attribute, "category": category or None, **told})
    return pl.DataFrame(rows, schema=_COLUMNS)


class _Known:
    """The shares of one concept, each computed once, with those that its formula needs first."""

    def __init__(self, file: YamlFile, given: _File, concept: str, own: Mapping[str, _Figure]) -> None:
        self._file, self._given, self._concept, self._own = file, given, concept, own
        self._done: dict[str, dict[str, Any]] = {}
        self._open: list[str] = []

    def row(self, name: str) -> dict[str, Any]:
        """The share of an attribute, or a figure, with what it rests on."""
        if name not in self._done:
            self._open.append(name)
            figure = self._own[name] if name in self._own else self._given.figures[name]
            self._done[name] = self._made(name, figure)
            self._open.pop()
        return self._done[name]

    def _error(self, name: str, message: str, *inner: str) -> Exception:
        where = ("shares", self._concept) if name in self._own else ("figures",)
        return self._file.error(f"{name}: {message}", *where, name, *inner)

    def _made(self, name: str, figure: _Figure) -> dict[str, Any]:
        if (figure.share is None) == (figure.formula is None):
            raise self._error(name, "needs either `share` or `formula`, found both or none; keep one")
        if figure.formula is None:
            value = low = high = float(figure.share)  # type: ignore[arg-type]
            shown, assumed, sources = None, figure.assumed, []
        else:
            value, low, high, shown, rests = self._computed(name, figure.formula)
            assumed = figure.assumed or any(one["assumed"] for one in rests)
            sources = [", ".join(filter(None, (one["source"], one["year"]))) for one in rests]
        if figure.range is not None:
            low, high = map(float, figure.range)
            if not 0 <= low <= value <= high <= 1:
                raise self._error(
                    name,
                    f"`range` must hold the share {value:g} and lie in [0, 1], found {low:g} to {high:g}; "
                    "write [low, high]",
                    "range",
                )
        source = figure.source or "; ".join(dict.fromkeys(sources)) or self._given.source
        year = figure.year if figure.year is not None else None if figure.formula else self._given.year
        if source is None and not assumed:
            raise self._error(
                name, "has no source; add `source:` and `year:`, or `assumed: true` where nobody counted"
            )
        told = {"assumed": assumed, "formula": shown, "source": source or "assumed"}
        return {
            "reference": value,
            "low": low,
            "high": high,
            **told,
            "year": None if year is None else str(year),
        }

    def _computed(self, name: str, text: str) -> tuple[float, float, float, str, list[dict[str, Any]]]:
        try:
            formula = Formula.parsed(text)
        except ValueError as error:
            raise self._error(name, f"`formula` {error}", "formula") from None
        for needed in formula.names:
            if needed in self._open:
                raise self._error(
                    name,
                    f"`formula` needs {needed!r}, which is computed from it; give one a share",
                    "formula",
                )
            known = [*self._own, *self._given.figures]
            if needed not in known:
                hint = did_you_mean(needed, known, otherwise="add it under `figures:`")
                raise self._error(name, f"`formula` needs {needed!r}, which is no figure; {hint}", "formula")
        rests = {needed: self.row(needed) for needed in formula.names}
        numbers = {needed: one["reference"] for needed, one in rests.items()}
        ends = {needed: (one["low"], one["high"]) for needed, one in rests.items()}
        try:
            value = formula.value(numbers)
            low, high = formula.interval(numbers, ends)
        except ValueError as error:
            raise self._error(name, f"`formula` {error}", "formula") from None
        if not 0 <= value <= 1:
            raise self._error(
                name, f"`formula` must come to a share in [0, 1], found {value:g}; correct it", "formula"
            )
        return value, max(0.0, low), min(1.0, high), inputs_shown(formula, numbers), list(rests.values())


def checked_true_shares(reference: Any, over: str) -> pl.DataFrame:
    """A frame of true shares, checked: ``over, attribute, category, _share, _low, _high, _assumed, _told``.

    Raises TableError: A column is missing, a share lies outside [0, 1] or its interval, or stands twice.
    """
    frame = to_polars(reference, what="reference", needs=(over, "attribute", "reference", "source"))
    share = as_number(frame, "reference", what="reference")
    ends = {
        f"_{end}": as_number(frame, end, what="reference").fill_null(share) if end in frame.columns else share
        for end in ("low", "high")
    }
    known = (
        as_text(frame, "category", "reference") if "category" in frame.columns else pl.lit(None, pl.String)
    )
    words = [as_text(frame, name) for name in ("source", "year", "formula") if name in frame.columns]
    table = frame.select(
        as_text(frame, over).alias(over),
        as_text(frame, "attribute"),
        category=known,
        _share=share,
        **ends,
        _assumed=pl.col("assumed").fill_null(False) if "assumed" in frame.columns else pl.lit(False),
        _told=pl.concat_str(words, separator=", ", ignore_nulls=True),
    )
    if (twice := table.filter(table.select(over, "attribute", "category").is_duplicated())).height:
        raise TableError(
            f"reference: {twice['attribute'][0]!r} of {twice[over][0]!r} stands twice; keep one row each"
        )
    held = (pl.col("_low") <= pl.col("_share")) & (pl.col("_share") <= pl.col("_high"))
    wrong = table.filter(~(held & (pl.col("_low") >= 0) & (pl.col("_high") <= 1)))
    for row in wrong.iter_rows(named=True):
        raise TableError(
            f"reference: the share of {row['attribute']!r} in {row[over]!r} must lie in [0, 1] and in its "
            f"interval, found {row['_share']:g} in {row['_low']:g} to {row['_high']:g}; divide percents by "
            "100"
        )
    return table


def call_with_true_shares(
    info: MeasureInfo, given: dict[str, Any], setting: MeasureSetting, calls: Calls
) -> MeasureCall:
    """The call of a measure whose argument ``reference`` an audit file gives by name, or as a file.

    Factors that it does not name are pooled: the wordings of a prompt are one concept.

    Raises UsageError: There is none of that name, or it has none of the concepts that are asked for.
    """
    named = given.get("reference")
    known = f"a YAML file, or one that comes with stereotrope: {', '.join(REFERENCES)}"
    if not isinstance(named, str):
        found = "none" if named is None else shorten(named)
        raise UsageError(f"needs `reference:`, the true shares to compare with, found {found}; name {known}")
    call = info.frame.call(info, {"within": setting.scope, **given}, setting, calls)
    over = given.get("over", info.parameters["over"].default)
    if over not in setting.factors:
        have = ", ".join(setting.factors) or "none"
        raise UsageError(f"no factor {shorten(over)}, whose true shares are known; the prompts have {have}")
    asked = setting.prompts[over].drop_nulls().unique(maintain_order=True)
    if named in REFERENCES:
        with REFERENCES.blamed(named):
            table = to_polars(REFERENCES[named](asked), what="reference")
    elif (path := setting.base / named).is_file():
        table = read_true_shares(path).rename({"concept": over})
    else:
        hint = did_you_mean(named, REFERENCES, otherwise=f"name {known}")
        raise UsageError(f"reference: no file {shorten(named)} there; {hint}")
    table = checked_true_shares(table, over).rename(
        {"_share": "reference", "_low": "low", "_high": "high", "_assumed": "assumed", "_told": "source"}
    )
    if asked.len() and not table[over].is_in(asked.implode()).any():
        other = f", but {shorten(table[over][0])}" if table.height else ""
        raise UsageError(
            f"reference: it has no {over} that is asked for, such as {shorten(asked[0])}{other}; write them "
            "alike on both sides"
        )
    return replace(call, tables={"reference": table})


def has_true_shares(given: Mapping[str, Any], setting: MeasureSetting, calls: Calls) -> bool:
    """Whether what an entry of a suite names has any of the concepts that an audit asks for."""
    over = given.get("over", "concept")
    if over not in setting.factors or given["reference"] not in REFERENCES:
        return False
    return not REFERENCES[given["reference"]](setting.prompts[over].drop_nulls().unique()).is_empty()
