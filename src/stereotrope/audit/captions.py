"""Measures of captions in an audit: whose captions, by which lexicon, and what it says of the prompts."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope import measure
from stereotrope.annotate.lexicon import LexiconAnnotator
from stereotrope.errors import UsageError, did_you_mean
from stereotrope.inputs.options import shorten
from stereotrope.measure.captions import Declared, caption_measures, captions_frame, declared_of
from stereotrope.measure.definitions import check_definition
from stereotrope.tables import CAPTION, CAPTION_LISTS, factors_of

__all__ = ["CaptionReader", "caption_arguments", "caption_reader"]

CHOICES = ("attribute", "unknown", "epsilon", "definition", "level", "n_bootstrap", "seed")
"""What an audit file may say of a measure of captions; the lexicon says the rest."""

BESIDE = {"cbs": ("cbs_without_occluded", "unknown_share", "occluded_share")}
"""Rows that stand beside a measure where the lexicon lists what covers a person."""


class CaptionReader:
    """What the measures of captions of one audit share: all are computed once, each takes its rows.

    Parameters
    ----------
    annotator, captioner
        Names of the lexicon's annotator and of the one that writes the captions.
    factor
        Factor that names the lexicon's prompts.
    by
        Further factors whose combinations are the cells.
    declared
        What the lexicon declares of the audit's prompts.
    among_others
        Whether the audit has other lexicons too: then rows say in ``annotator`` whose they are.
    """

    def __init__(
        self,
        annotator: str,
        captioner: str,
        factor: str,
        by: Sequence[str],
        declared: Mapping[str, Declared],
        *,
        among_others: bool = False,
    ) -> None:
        self.annotator, self.captioner, self.factor = annotator, captioner, factor
        self.by, self.declared = tuple(by), declared
        self.among_others = among_others
        self._last: tuple[pl.DataFrame, dict[str, Any], pl.DataFrame] | None = None

    def frame(self, prompts: pl.DataFrame, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """The captions frame of a run, also where nothing was captioned."""
        said = labels.filter(pl.col("annotator") == self.captioner, pl.col("attribute") == CAPTION)
        read = self.annotator if self.annotator in labels["annotator"].to_list() else None
        if not said.height:
            frame = measure.with_factors(prompts, images).with_columns(
                pl.lit(None, pl.String).alias(CAPTION), pl.lit("not captioned").alias("excluded")
            )
        else:
            frame = captions_frame(prompts, images, labels, annotator=read, captioner=self.captioner)
        return self._complete(frame)

    def made_up(self, images: pl.DataFrame) -> pl.DataFrame:
        """A captions frame of made-up pictures, to try the measures on."""
        return self._complete(
            images.drop("status", "reason").with_columns(pl.lit("a picture").alias(CAPTION))
        )

    def _complete(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Add a column for each attribute and list that is declared and that no label has."""
        attributes = {name for one in self.declared.values() for name in one.groups}
        lists = [name for name in CAPTION_LISTS if name not in frame.columns]
        return frame.with_columns(
            *(
                pl.lit(None, pl.String).alias(name)
                for name in sorted(attributes)
                if name not in frame.columns
            ),
            *(pl.lit([], pl.List(pl.String)).alias(name) for name in lists),
        )

    def rows(self, name: str, data: pl.DataFrame, arguments: Mapping[str, Any]) -> pl.DataFrame:
        """The estimates of one measure."""
        shared = {key: value for key, value in arguments.items() if key not in ("attribute", "by")}
        last = self._last
        if last is None or last[0] is not data or last[1] != shared:
            made = caption_measures(data, self.declared, prompt=self.factor, by=self.by, **shared)
            if self.among_others:
                made = made.with_columns(pl.lit(self.annotator).alias("annotator"))
            self._last = last = (data, shared, self._asked(made, data))
        wanted = (name, *measure.REGISTRY[name].also, *BESIDE.get(name, ()))
        found = last[2].filter(pl.col("measure").is_in(wanted))
        attribute = arguments.get("attribute")
        return found if attribute is None else found.filter(pl.col("attribute") == attribute)

    def _asked(self, made: pl.DataFrame, data: pl.DataFrame) -> pl.DataFrame:
        """Without the rows of prompts that no model was asked for, but for the composite that is missing."""
        if self.factor not in made.columns:
            return made
        there = pl.col(self.factor).is_in(data[self.factor].drop_nulls().unique().to_list())
        return made.filter(there | pl.col("measure").is_in(measure.REGISTRY["profile"].reads))


def caption_reader(
    annotators: Sequence[Any], prompts: pl.DataFrame, lexicon: str | None = None
) -> CaptionReader:
    """Find out who writes captions, what reads them, and what is declared of the audit's prompts.

    Raises
    ------
    UsageError
        No annotator writes captions, or none reads them; there are several and none is named; or the
        lexicon says nothing of the audit's prompts.
    """
    lexicons = [a for a in annotators if isinstance(a, LexiconAnnotator)]
    chosen = _lexicon(lexicons, lexicon)
    captioner = _captioner([a.name for a in annotators if CAPTION in a.attributes], chosen)
    factors = factors_of(prompts.columns)
    if chosen.factor not in factors:
        raise UsageError(
            f"lexicon {chosen.name!r} finds its prompts by the factor {chosen.factor!r}, and the audit has "
            f"{', '.join(factors) or 'none'}; name one with `{{lexicon: {chosen.lexicon.name}, factor: …}}`"
        )
    levels = {str(level).strip().casefold() for level in prompts[chosen.factor].drop_nulls()}
    every = declared_of(chosen.lexicon)
    declared = {name: one for name, one in every.items() if name.casefold() in levels}
    if not declared:
        raise UsageError(
            f"lexicon {chosen.name!r} says nothing of the audit's prompts ({chosen.factor}: "
            f"{shorten(sorted(levels), 200)}); it knows {', '.join(every)}"
        )
    by = ["generator", *(f for f in factors if f not in (chosen.factor, "dimension"))]
    return CaptionReader(chosen.name, captioner, chosen.factor, by, declared, among_others=len(lexicons) > 1)


def _lexicon(there: Sequence[LexiconAnnotator], name: str | None) -> LexiconAnnotator:
    names = [one.name for one in there]
    if not there:
        raise UsageError(
            "reads what a lexicon finds in captions, and no annotator is a lexicon; add one, for example "
            "`annotators: [{caption: openai:gpt-4o}, {lexicon: biasbench}]`"
        )
    if name is None and len(there) > 1:
        raise UsageError(
            f"there are {len(there)} lexicons, {', '.join(names)}; choose one with `lexicon: {names[0]}`"
        )
    if name is not None and name not in names:
        hint = did_you_mean(name, names, otherwise=f"there is: {', '.join(names)}")
        raise UsageError(f"no lexicon {shorten(name)}; {hint}")
    return there[0] if name is None else there[names.index(name)]


def _captioner(names: Sequence[str], lexicon: LexiconAnnotator) -> str:
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
    return lexicon.of or names[0]


def caption_arguments(
    name: str, given: Mapping[str, Any], known: Mapping[str, Any], reader: CaptionReader
) -> dict[str, Any]:
    """What a measure of captions is called with: what the file says, else what the audit has.

    Raises
    ------
    UsageError
        Something is given that the lexicon declares, or an attribute that it does not have.
    """
    takes = inspect.signature(measure.REGISTRY[name].function).parameters
    allowed = [key for key in CHOICES if key in takes or key in ("n_bootstrap", "seed")]
    for key in given:
        if key not in allowed:
            told = "the lexicon declares that; change it there" if key in takes else None
            hint = told or did_you_mean(str(key), allowed, otherwise=f"it takes {', '.join(allowed)}")
            raise UsageError(f"takes no {shorten(key)}; {hint}")
    if "definition" in given:
        try:
            check_definition(given["definition"], name)
        except UsageError as error:
            raise UsageError(str(error).removeprefix(f"{name}: ")) from None
    attributes = list(dict.fromkeys(a for one in reader.declared.values() for a in one.groups))
    if given.get("attribute") is not None and given["attribute"] not in attributes:
        raise UsageError(
            f"the lexicon has no attribute {shorten(given['attribute'])} of these prompts; it has "
            f"{', '.join(attributes) or 'none'}"
        )
    defaults = {key: known[key] for key in ("level", "n_bootstrap", "seed")}
    return {"by": list(reader.by), **defaults, **given}
