"""The captions frame: one row an image, its caption, and what a lexicon found in it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import TableError
from stereotrope.measure.definitions import check_definition
from stereotrope.measure.join import PICTURE_ABSENT, PICTURE_EXCLUDED, PICTURE_REFUSED, with_factors
from stereotrope.measure.seeds import across_units
from stereotrope.measure.tidy import (
    as_text,
    factor_names,
    reason_given,
    require_filled,
    require_whole,
    to_polars,
)
from stereotrope.measure.units import SEED_COLUMN, Claim, prompt_codes, units_of
from stereotrope.stats import Resample, normal_quantile
from stereotrope.tables import ABSENT, CAPTION, CAPTION_LISTS, LABELLED, factors_of

BY = ("generator", "prompt")
"""Factors whose combinations are the cells, unless said otherwise."""

EMPTY_CAPTION = "empty caption"
"""Reason where a picture was captioned without a word."""

NOT_CAPTIONED = "not captioned"
"""Reason where a picture has no caption."""


@dataclass(frozen=True, eq=False)
class Captions:
    """Captions of one cell: those that count, why others do not, and by what definition they are scored."""

    key: Mapping[str, Any]
    """Factor → level."""
    frame: pl.DataFrame
    excluded: Mapping[str, int]
    resample: Resample
    claim: Claim
    definition: str
    level: float

    @property
    def clustered(self) -> bool:
        """Whether prompts are its units, and some has several captions."""
        return self.claim.clustered

    @property
    def n(self) -> int:
        """Captions that count."""
        return self.frame.height

    @property
    def texts(self) -> list[str]:
        """The captions."""
        return [str(text) for text in self.frame[CAPTION]]

    @property
    def released(self) -> bool:
        """Whether scores follow the authors' scripts."""
        return self.definition == "released"

    def labels(self, attribute: str) -> pl.Series:
        """Each caption's label of an attribute."""
        frame = to_polars(self.frame, what="captions", needs=[attribute])
        if frame[attribute].dtype == pl.String:
            return frame[attribute]
        return frame.select(as_text(frame, attribute)).to_series()

    def found(self, column: str) -> pl.Series:
        """The elements of a list that each caption has."""
        found = to_polars(self.frame, what="captions", needs=[column])[column]
        if not isinstance(found.dtype, pl.List):
            raise TableError(
                f"captions: column {column!r} must hold a list of elements a row, found {found.dtype}; "
                "split the text, e.g. with .str.split(';')"
            )
        return found.cast(pl.List(pl.String)).fill_null([])

    def hits(self, column: str, among: Iterable[str] | None = None) -> NDArray[np.float64]:
        """Elements that each caption has, each once; only those ``among``, where given."""
        found = map(frozenset, self.found(column).to_list())
        wanted = None if among is None else frozenset(among)
        return np.array([len(one if wanted is None else one & wanted) for one in found], np.float64)


def captions_frame(
    prompts: Any,
    images: Any,
    labels: Any,
    *,
    annotator: str | None = None,
    captioner: str | None = None,
    lists: Sequence[str] = CAPTION_LISTS,
) -> pl.DataFrame:
    """Join prompts, images and labels to the frame that measures of captions read.

    prompts, images, labels: The tables of a run.
    annotator: Name of the lexicon whose labels enter; None where only captions are needed.
    captioner: Name of the annotator whose captions enter; None where there is one.
    lists: Attributes that become columns of lists; every other one of the lexicon is one label a caption and
        becomes a column of text.

    Returns: ``image_id, prompt_id, generator, seed, <factors>, text, caption, <attributes>, excluded``, one
    row an image in the order of ``images``; ``text`` is the prompt's. ``excluded`` is null where the caption
    counts, else ``refused by the generator``, ``picture excluded``, ``picture not at hand`` (and the
    captioner has a caption of none of these), ``not captioned``, ``empty caption`` or the status of the
    caption's label. List columns are never null.

    Raises TableError: No label is a caption, several annotators gave captions and none is chosen, the
    annotator or captioner is not there, or an image has two labels of an attribute that is no list.

    >>> import polars as pl
    >>> prompts = pl.DataFrame({"prompt_id": ["p"], "prompt": ["doctor"], "text": ["a doctor"]})
    >>> images = pl.DataFrame({"image_id": ["i"], "prompt_id": ["p"], "generator": ["m"], "status": ["ok"]})
    >>> labels = pl.DataFrame({
    ...     "subject_kind": "image", "subject_id": "i", "attribute": ["caption", "gender", "keyword"],
    ...     "value": ["A woman in a hospital", "female", "hospital"], "status": "ok",
    ...     "annotator": ["captions", "biasbench", "biasbench"],
    ... })
    >>> captions_frame(prompts, images, labels, annotator="biasbench").select("gender", "keyword").rows()
    [('female', ['hospital'])]
    """
    asked = to_polars(prompts, what="prompts")
    factors = factors_of(asked.columns)
    said = to_polars(
        labels, needs=("subject_kind", "subject_id", "attribute", "value", "annotator", "status")
    )
    said = said.filter(subject_kind="image").rename({"subject_id": "image_id"})
    found = said.filter(pl.col("attribute") != CAPTION)
    found = found.clear() if annotator is None else found.filter(annotator=annotator)
    names = said["annotator"].unique().sort().to_list()
    if annotator is not None and annotator not in names:
        raise TableError(f"labels: no annotator {annotator!r}; found {', '.join(map(repr, names))}")
    made = with_factors(prompts, images)
    seeds = [SEED_COLUMN] if SEED_COLUMN in made.columns else []
    frame = made.select("image_id", "prompt_id", "generator", *seeds, *factors, _picture="status")
    attributes = dict.fromkeys([*found["attribute"].unique(maintain_order=True), *lists])
    columns = (_column(found, name, name in lists) for name in attributes)
    texts = asked.select("prompt_id", pl.col("text").cast(pl.String))
    for column in (texts, _captions_of(said.filter(attribute=CAPTION), captioner), *columns):
        frame = frame.join(column, on=column.columns[0], how="left", maintain_order="left")
    frame = frame.with_columns(pl.col(name).fill_null([]) for name in lists)
    return frame.with_columns(excluded=_reason()).drop("_picture", "_status")


def _captions_of(labels: pl.DataFrame, captioner: str | None) -> pl.DataFrame:
    """Captions by one annotator, with their status."""
    names = labels["annotator"].unique().sort().to_list()
    listed = ", ".join(map(repr, names))
    if not names:
        raise TableError(f"labels: no label is a caption (attribute {CAPTION!r}); have pictures captioned")
    if captioner is None and len(names) > 1:
        raise TableError(
            f"labels: {len(names)} annotators gave captions: {listed}; choose one with captioner={names[0]!r}"
        )
    kept = labels.filter(annotator=names[0] if captioner is None else captioner)
    if not kept.height:
        raise TableError(f"labels: no captions by {captioner!r}; found {listed}")
    _require_one_each(kept, "captions", "keep one an image")
    return kept.select("image_id", pl.col("value").alias(CAPTION), _status="status")


def _column(found: pl.DataFrame, name: str, listed: bool) -> pl.DataFrame:
    hits = found.filter(pl.col("value").is_not_null(), attribute=name)
    if listed:
        return hits.group_by("image_id", maintain_order=True).agg(pl.col("value").alias(name))
    _require_one_each(hits, f"labels of {name!r}", f"add {name!r} to lists= or keep one")
    return hits.select("image_id", pl.col("value").alias(name))


def _require_one_each(labels: pl.DataFrame, what: str, do: str) -> None:
    doubled = labels.filter(pl.col("image_id").is_duplicated())
    if doubled.height:
        raise TableError(f"labels: image {doubled['image_id'][0]!r} has two {what}; {do}")


def _reason() -> pl.Expr:
    picture, status = pl.col("_picture"), pl.col("_status")
    absent = picture == ABSENT
    reasons = (
        (picture == "refused", pl.lit(PICTURE_REFUSED)),
        (~picture.is_in(LABELLED), pl.lit(PICTURE_EXCLUDED)),
        (absent & ~(absent & status.is_not_null()).any(), pl.lit(PICTURE_ABSENT)),
        (status.is_null(), pl.lit(NOT_CAPTIONED)),
        (status != "ok", status),
        (_blank(pl.col(CAPTION)), pl.lit(EMPTY_CAPTION)),
    )
    return pl.coalesce(pl.when(holds).then(reason) for holds, reason in reasons)


def _blank(text: pl.Expr) -> pl.Expr:
    return text.is_null() | (text.str.strip_chars() == "")


def caption_cells(
    data: Any,
    *,
    measure: str,
    by: Sequence[str],
    definition: str = "paper",
    level: float = 0.95,
    n_bootstrap: int = 0,
    seed: int = 0,
) -> list[Captions]:
    """Check a captions frame and part it into the cells of a design.

    Raises TableError: A column is missing, or an image stands there twice.
    Raises UsageError: ``by`` is no list of factors, the definition or level is none, or a number of resamples
    or a seed is negative.
    """
    check_definition(definition, measure)
    normal_quantile(level)
    require_whole(measure, n_bootstrap=n_bootstrap, seed=seed)
    factors = factor_names(by, measure=measure, what="by")
    frame = to_polars(data, what="captions", needs=["image_id", CAPTION, *factors])
    require_filled(frame, ["image_id"], what="captions")
    text = as_text(frame, CAPTION)
    frame = frame.with_columns(
        *(as_text(frame, name).alias(name) for name in factors),
        text.alias(CAPTION),
        excluded=pl.coalesce(reason_given(frame), pl.when(_blank(text)).then(pl.lit(EMPTY_CAPTION))),
    )
    doubled = frame.filter(pl.struct("image_id", *factors).is_duplicated())
    if doubled.height:
        raise TableError(f"captions: image {doubled['image_id'][0]!r} stands there twice; keep one caption")
    parts = frame.partition_by(factors, maintain_order=True, as_dict=True) if factors else {(): frame}
    # Draws go by place: by that of ids, so that neither order of rows nor names decide what is drawn.
    places = sorted(parts, key=lambda key: (parts[key]["image_id"].min(), repr(key)))
    streams = {key: at for at, key in enumerate(places)}
    cells = []
    for key, part in parts.items():
        kept = part.filter(pl.col("excluded").is_null())
        claim, (units,) = units_of(prompt_codes(kept))
        if not claim.prompts:
            units = kept["image_id"].rank("ordinal").to_numpy().astype(np.int64) - 1
        claim, across = across_units(kept, claim, units)
        resample = Resample(units, n_bootstrap, seed, streams[key], across)
        reasons = Counter(part["excluded"].drop_nulls().to_list())
        place = dict(zip(factors, key, strict=True))
        cells.append(Captions(place, kept, reasons, resample, claim, definition, level))
    return cells
