"""What a calibration computes of its instruments beside the measures of an audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from PIL import ImageColor

from stereotrope import measure
from stereotrope.annotate.cielab import ciede2000, srgb_to_lab
from stereotrope.calibrate.cards import judge_card
from stereotrope.calibrate.checks import BLANK, INJECTIONS, PLAIN, checks
from stereotrope.calibrate.pictures import VALUES, CheckPictures, values_frame
from stereotrope.design import BASE
from stereotrope.generate import KnownGenerator
from stereotrope.measure.join import NOT_LABELLED

if TYPE_CHECKING:
    from stereotrope.audit import Plan

VARIANTS = ("reversed", "blind")
"""How a judge is asked again: the options in reverse order, the picture left out."""


class InstrumentCheck:
    """The checks of the annotators of a calibration.

    plan: The calibration, its prompts with the factors ``check`` and ``claim`` where models are checked.
    tested: The annotators that a card is made for.
    drawer: Draws the check pictures; None where no model is checked.
    """

    def __init__(
        self, plan: Plan, tested: Sequence[Any], inner: KnownGenerator, drawer: CheckPictures | None = None
    ) -> None:
        self.tested, self.inner, self.drawer = tuple(tested), inner, drawer
        self.level = plan.spec.report.level
        self.prompts = plan.prompts
        self.judges = [a for a in tested if drawer is not None and a.variants]

    def read(self, tidy: pl.DataFrame) -> pl.DataFrame:
        """The labels that the measures of the audit take: of planted pictures, as asked, colours read."""
        plain = self._coloured(tidy).filter(pl.col("annotator").is_in([a.name for a in self.tested]))
        return plain if self.drawer is None else plain.filter(pl.col("check") == PLAIN)

    def estimates(self, tidy: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
        """The rates of the checks, one row an annotator and attribute."""
        none = measure.estimate_frame([], factors=("annotator",))
        if self.drawer is None:
            return none
        said = self._coloured(tidy)
        rates = [rate for judge in self.judges for rate in self._of(judge, said, images, self.drawer)]
        return pl.concat([none, *rates])

    def cards(
        self, estimates: pl.DataFrame, tidy: pl.DataFrame, images: pl.DataFrame
    ) -> list[dict[str, Any]]:
        """A card an annotator, as JSON values."""
        read, truth = self.read(tidy), self.truth(images)
        made = []
        for annotator in self.tested:
            own = read.filter(annotator=annotator.name)
            labelled = truth.join(own.select("attribute").unique(), on="attribute", how="semi")
            if not labelled.height:
                continue
            known = own.join(labelled.select("attribute").unique(), on="attribute", how="semi")
            confusion = measure.confusion(known, labelled)
            made.append(judge_card(annotator, estimates, self._checked_on(annotator, tidy), confusion))
        return made

    def truth(self, images: pl.DataFrame) -> pl.DataFrame:
        """What is planted in each picture that was drawn: ``image_id, attribute, value``."""
        return values_frame(self.inner, self._drawn(images, self.inner.name))

    def _of(
        self, judge: Any, said: pl.DataFrame, images: pl.DataFrame, drawer: CheckPictures
    ) -> list[pl.DataFrame]:
        own = said.filter(annotator=judge.name)
        by: dict[str, Any] = {"by": ("attribute", "annotator"), "level": self.level}
        plain = own.filter(check=PLAIN)
        base = plain.filter(group=BASE)
        closed = [name for name, values in judge.attributes.items() if values is not None]
        planted = [name for name in judge.attributes if name in self.inner.attributes]
        known, claims = self._known(images, drawer)
        turned, blind = (
            said.filter(annotator=f"{judge.name} ({which})", check=PLAIN, group=BASE).with_columns(
                annotator=pl.lit(judge.name)
            )
            for which in VARIANTS
        )
        offered, asked = (pl.col("attribute").is_in(names) for names in (closed, planted))
        rates = [
            measure.order_flip_rate(base.filter(offered), turned, **by),
            measure.unfounded_rate(blind, None, definition="no_picture", **by),
            measure.unfounded_rate(own.filter(check=BLANK), known, definition="blank_picture", **by),
            measure.nonanswer_rate(plain.filter(asked), **by),
        ]
        for kind in INJECTIONS:
            painted = own.filter(check=kind)
            under = self._underneath(painted, base, images)
            rates.append(measure.injection_rate(painted, under, claims, definition=kind, **by))
        return rates

    def _known(self, images: pl.DataFrame, drawer: CheckPictures) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Values to be seen in empty pictures, and the false values that painted words name."""
        drawn = self._drawn(images, drawer.name, "check")
        blank = pl.col("check") == BLANK
        claims = [
            (image_id, *claim)
            for image_id, text, seed, _ in drawn.filter(~blank).iter_rows()
            if (claim := drawer.claim(text, seed)) is not None
        ]
        known = values_frame(drawer, drawn.filter(blank).drop("check"))
        return known, pl.DataFrame(claims, schema=VALUES, orient="row")

    def _drawn(self, images: pl.DataFrame, name: str, *further: str) -> pl.DataFrame:
        """Id, text and seed of the pictures of a generator, and further columns of their prompts."""
        prompts = self.prompts.select("prompt_id", "text", *further)
        own = images.filter(generator=name).join(prompts, on="prompt_id", how="left", maintain_order="left")
        return own.select("image_id", "text", "seed", *further)

    def _underneath(self, painted: pl.DataFrame, base: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
        """What was said of the pictures under the painted words, under the ids of the painted ones."""
        seeds = images.select("image_id", "seed")
        above = painted.select("image_id", "object").unique(maintain_order=True).join(seeds, on="image_id")
        below = base.join(seeds, on="image_id", maintain_order="left").rename({"image_id": "below"})
        return above.join(below, on=["object", "seed"], maintain_order="left").select(
            "image_id", "attribute", "value", "excluded"
        )

    def _coloured(self, tidy: pl.DataFrame) -> pl.DataFrame:
        """Labels of models with their colour words read as planted colours."""
        models = {judge.name for judge in self.judges}
        models |= {f"{name} ({which})" for name in models for which in VARIANTS}
        for attribute, part in checks()["colours"].items():
            here = (pl.col("attribute") == attribute) & pl.col("annotator").is_in(sorted(models))
            words = tidy.filter(here)["value"].drop_nulls().unique()
            read = {word: planted_colour(word, self.inner.colours, part) for word in words}
            value = pl.when(here).then(pl.col("value").replace(read)).otherwise(pl.col("value"))
            tidy = tidy.with_columns(value=value)
        return tidy

    def _checked_on(self, annotator: Any, tidy: pl.DataFrame) -> str:
        own = tidy.filter(pl.col("excluded").ne_missing(NOT_LABELLED), annotator=annotator.name)
        if annotator not in self.judges:
            plain = own if self.drawer is None else own.filter(check=PLAIN)
            return f"{plain['image_id'].n_unique()} drawn pictures of known truth"
        n_of: Mapping[str, int] = dict(own.group_by("check").agg(pl.col("image_id").n_unique()).iter_rows())
        again = own.filter((pl.col("check") == PLAIN) & (pl.col("group") == BASE))["image_id"].n_unique()
        return (
            f"{n_of.get(PLAIN, 0)} drawn pictures of known truth ({again} of them also with the options "
            f"reversed and without the picture), {n_of.get(BLANK, 0)} empty pictures, and pictures with "
            f"painted words: {n_of.get(INJECTIONS[0], 0)} captions, {n_of.get(INJECTIONS[1], 0)} instructions"
        )


def planted_colour(word: str, swatches: Mapping[str, Any], part: str) -> str:
    """The planted colour that a colour word names, or the word itself where it names none.

    In this order: the longest ending that is a name or another spelling of one (``light blue`` is blue,
    ``dark gray`` grey, ``deep navy blue`` navy); a CSS colour, which is the planted colour nearest by
    CIEDE2000.

    word: Folded: lower case, single spaces.
    swatches: Planted colour → what it looks like.
    part: ``product`` or ``background``: which of the two swatches is compared.

    >>> from stereotrope.generate import CalibratedGenerator
    >>> swatches = CalibratedGenerator().truth.colours
    >>> [planted_colour(w, swatches, "product") for w in ("dark gray", "navy blue", "crimson", "tartan")]
    ['grey', 'navy', 'red', 'tartan']
    """
    words, spellings = word.split(" "), checks()["spellings"]
    for first in range(len(words)):
        ending = " ".join(words[first:])
        if (named := spellings.get(ending, ending)) in swatches:
            return str(named)
    plain = word.replace(" ", "")
    if plain not in ImageColor.colormap:
        return word
    lab = _lab(ImageColor.getrgb(plain)[:3])
    distances = {name: ciede2000(lab, _lab(getattr(one, part))) for name, one in swatches.items()}
    return min(distances, key=lambda name: float(distances[name]))


def _lab(rgb: Sequence[int]) -> Any:
    return srgb_to_lab(np.array(rgb, dtype=np.uint8))
