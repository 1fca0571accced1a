"""Captions in an audit: whose they are, by which lexicon they are read, and what it says of the prompts."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import polars as pl

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.inputs.options import shorten
from stereotrope.lexicon.declared import declared_of
from stereotrope.measure.captions.frame import NOT_CAPTIONED, captions_frame
from stereotrope.measure.captions.profile import COMPOSITE_ROWS
from stereotrope.measure.captions.together import caption_measures
from stereotrope.measure.contract import FRAMES, Calls, MeasureCall, MeasureFrame, MeasureInfo
from stereotrope.measure.join import with_factors
from stereotrope.measure.setting import GENERATOR, MeasureSetting, RunTables
from stereotrope.tables import CAPTION, CAPTION_LISTS


class _Captions(MeasureFrame):
    """The captions frame of the lexicon that is chosen."""

    words = "a captions frame"
    options: ClassVar[Mapping[str, Any]] = {"lexicon": str | None, "n_bootstrap": int, "seed": int}

    def call(
        self, info: MeasureInfo, given: dict[str, Any], setting: MeasureSetting, calls: Calls
    ) -> MeasureCall:
        reader = CaptionReader(setting, given.pop("lexicon", None))
        # Calls that share a lexicon share its frame and resamples.
        before = (call.frame for call in calls if isinstance(call.frame, CaptionReader))
        reader = next((other for other in before if other.annotator == reader.annotator), reader)
        attributes = list(dict.fromkeys(a for one in reader.declared.values() for a in one.groups))
        if given.get("attribute") is not None and given["attribute"] not in attributes:
            raise UsageError(
                f"the lexicon has no attribute {shorten(given['attribute'])} of these prompts; it has "
                f"{', '.join(attributes) or 'none'}"
            )
        known = {name: getattr(setting, name) for name in ("level", "n_bootstrap", "seed")}
        arguments = {"by": list(reader.by), **known, **given}
        if not info.shared:
            arguments = {name: value for name, value in arguments.items() if name in info.parameters}
            arguments["by"] = [*reader.by, reader.factor]
        return MeasureCall(info.name, arguments, reader)


class CaptionReader(MeasureFrame):
    """What the measures of captions of one lexicon share: all are computed once, each takes its rows.

    annotator, captioner: Names of the lexicon's annotator and of the one that writes the captions.
    factor: Factor that names the lexicon's prompts.
    by: Further factors whose combinations are the cells.
    declared: What the lexicon declares of the audit's prompts.

    Raises UsageError: No annotator writes captions, or none reads them; there are several and none is named;
    or the lexicon says nothing of the audit's prompts.
    """

    def __init__(self, setting: MeasureSetting, lexicon: str | None) -> None:
        lexicons = [one for one in setting.annotators if getattr(one, "lexicon", None) is not None]
        chosen = _lexicon(lexicons, lexicon)
        self.annotator = str(chosen.name)
        self.captioner = _captioner([a.name for a in setting.annotators if CAPTION in a.attributes], chosen)
        self.factor = str(chosen.factor)
        self.among_others = len(lexicons) > 1
        if self.factor not in setting.factors:
            raise UsageError(
                f"lexicon {self.annotator!r} finds its prompts by the factor {self.factor!r}, and the audit "
                f"has {', '.join(setting.factors) or 'none'}; name one with `{{lexicon: "
                f"{chosen.lexicon.name}, factor: …}}`"
            )
        levels = {str(level).strip().casefold() for level in setting.prompts[self.factor].drop_nulls()}
        every = declared_of(chosen.lexicon)
        self.declared = {name: one for name, one in every.items() if name.casefold() in levels}
        if not self.declared:
            raise UsageError(
                f"lexicon {self.annotator!r} says nothing of the audit's prompts ({self.factor}: "
                f"{shorten(sorted(levels), 200)}); it knows {', '.join(every)}"
            )
        self.by = (GENERATOR, *(f for f in setting.factors if f not in (self.factor, "dimension")))
        self._last: tuple[pl.DataFrame, dict[str, Any], pl.DataFrame] | None = None

    def of(self, tables: RunTables) -> pl.DataFrame:
        """The captions frame of a run, also where nothing was captioned."""
        labels = tables.labels
        if labels.filter(annotator=self.captioner, attribute=CAPTION).is_empty():
            frame = with_factors(tables.prompts, tables.images).with_columns(
                pl.lit(None, pl.String).alias(CAPTION), pl.lit(NOT_CAPTIONED).alias("excluded")
            )
        else:
            lexicon = self.annotator if self.annotator in labels["annotator"] else None
            frame = captions_frame(
                tables.prompts, tables.images, labels, annotator=lexicon, captioner=self.captioner
            )
        return self._complete(frame)

    def made_up(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """A captions frame of made-up pictures."""
        return self._complete(
            images.drop("status", "reason").with_columns(pl.lit("a picture").alias(CAPTION))
        )

    def _complete(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Add a column for each attribute and list that is declared and that no label has."""
        attributes = {name for one in self.declared.values() for name in one.groups} - set(frame.columns)
        lists = [name for name in CAPTION_LISTS if name not in frame.columns]
        return frame.with_columns(
            *(pl.lit(None, pl.String).alias(name) for name in sorted(attributes)),
            *(pl.lit([], pl.List(pl.String)).alias(name) for name in lists),
        )

    def rows(self, call: MeasureCall, data: pl.DataFrame) -> pl.DataFrame:
        """The estimates of one measure, from those of all."""
        attribute = call.arguments.get("attribute")
        shared = {name: value for name, value in call.arguments.items() if name not in ("attribute", "by")}
        if self._last is None or self._last[0] is not data or self._last[1] != shared:
            made = caption_measures(data, self.declared, prompt=self.factor, by=self.by, **shared)
            made = made.with_columns(instrument=pl.lit(self.annotator))
            if self.among_others:
                made = made.with_columns(pl.lit(self.annotator).alias("annotator"))
            self._last = (data, shared, self._asked(made, data))
        rows = self._last[2].filter(pl.col("measure").is_in(call.rows))
        return rows if attribute is None else rows.filter(pl.col("attribute") == attribute)

    def _asked(self, made: pl.DataFrame, data: pl.DataFrame) -> pl.DataFrame:
        """Without the rows of prompts that no model was asked for, but for the composite that is missing."""
        if self.factor not in made.columns:
            return made
        asked = pl.col(self.factor).is_in(data[self.factor].drop_nulls().unique().to_list())
        over_prompts = pl.col(self.factor).is_null()
        return made.filter(asked | over_prompts | pl.col("measure").is_in(COMPOSITE_ROWS))


def _lexicon(lexicons: Sequence[Any], name: str | None) -> Any:
    names = [one.name for one in lexicons]
    if not lexicons:
        raise UsageError(
            "reads what a lexicon finds in captions, and no annotator is a lexicon; add one, for example "
            "`annotators: [{caption: openai:gpt-4o}, {lexicon: biasbench}]`"
        )
    if name is None and len(names) > 1:
        raise UsageError(
            f"there are {len(names)} lexicons, {', '.join(names)}; choose one with `lexicon: {names[0]}`"
        )
    if name is not None and name not in names:
        hint = did_you_mean(name, names, otherwise=f"there is: {', '.join(names)}")
        raise UsageError(f"no lexicon {shorten(name)}; {hint}")
    return lexicons[0 if name is None else names.index(name)]


def _captioner(names: Sequence[str], lexicon: Any) -> str:
    written = f"{{lexicon: {lexicon.lexicon.name}, of: {names[0] if names else '…'}}}"
    if not names:
        raise UsageError(
            "reads captions, and no annotator writes any; add `{caption: openai:gpt-4o}`, or "
            "`{captions: FILE, name: NAME}` for captions made elsewhere"
        )
    if lexicon.of is None and len(names) > 1:
        raise UsageError(f"captions are by {' and '.join(names)}; say whose are read: {written}")
    if lexicon.of is not None and lexicon.of not in names:
        hint = did_you_mean(lexicon.of, names, otherwise=f"captions are by {', '.join(names)}")
        raise UsageError(f"lexicon {lexicon.name!r}: no captions by {shorten(lexicon.of)}; {hint}")
    return str(lexicon.of or names[0])


FRAMES.add("captions", _Captions())
