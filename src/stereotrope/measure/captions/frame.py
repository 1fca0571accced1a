"""The captions frame: one row an image, its caption, and what a lexicon found in it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from stereotrope.errors import TableError, UsageError
from stereotrope.measure.cells import Key
from stereotrope.measure.contract import register
from stereotrope.measure.join import PICTURE_ABSENT, PICTURE_EXCLUDED, PICTURE_REFUSED, with_factors
from stereotrope.measure.tidy import as_text, factor_names, to_polars
from stereotrope.stats import Resample, clusters
from stereotrope.tables import ABSENT, CAPTION, CAPTION_LISTS, LABELLED, PROMPTS

BY = ("generator", "prompt")
"""Factors whose combinations are the cells, unless said otherwise."""

EMPTY_CAPTION = "empty caption"
"""Reason where a picture was captioned without a word."""

NOT_CAPTIONED = "not captioned"
"""Reason where a picture has no caption."""

_DECLARED = (
    *("against", "association", "by", "column", "diversity", "elements", "groups", "keyword", "keywords"),
    *("of", "stereotype", "terms", "text"),
)
register_caption = partial(
    register,
    suite="biasbench",
    needs="captions",
    shared=True,
    closed=dict.fromkeys(_DECLARED, "the lexicon declares that; change it there"),
)
"""Registers a measure that :func:`caption_measures` computes together with the others."""


@dataclass(frozen=True)
class Captions:
    """Captions of one cell: those that count, and why others do not."""

    key: Key
    frame: pl.DataFrame
    excluded: dict[str, int]
    resample: Resample
    clustered: bool

    @property
    def n(self) -> int:
        """Captions that count."""
        return self.frame.height

    @property
    def texts(self) -> list[str]:
        """The captions."""
        return [str(text) for text in self.frame[CAPTION]]


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

    Parameters
    ----------
    prompts, images, labels
        The tables of a run.
    annotator
        Name of the lexicon whose labels enter; None where one annotator besides the captioner gave labels
        of list attributes, or where only captions are needed.
    captioner
        Name of the annotator whose captions enter; None where there is one.
    lists
        Attributes that become columns of lists; every other attribute of the lexicon is one label a
        caption and becomes a column of text.

    Returns
    -------
    polars.DataFrame
        ``image_id, prompt_id, generator, <factors>, text, caption, <one column an attribute>, excluded``,
        one row an image in the order of ``images``; ``text`` is the prompt's. ``excluded`` is null
        where the caption counts, else ``refused by the generator``, ``picture excluded``,
        ``picture not at hand`` (and the captioner has a caption of none of these),
        ``not captioned``, ``empty caption`` or the status of the caption's label. List columns are never
        null.

    Raises
    ------
    TableError
        No label is a caption, several annotators gave captions and none is chosen, the annotator or
        captioner is not there, or an image has two labels of an attribute that is no list.

    Examples
    --------
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
    made = with_factors(prompts, images)
    factors = [c for c in to_polars(prompts, what="prompts").columns if c not in {p.name for p in PROMPTS}]
    said = to_polars(labels)
    needed = ("subject_kind", "subject_id", "attribute", "value", "annotator", "status")
    if absent := [name for name in needed if name not in said.columns]:
        raise TableError(f"labels: no column {absent[0]!r}; found {', '.join(map(repr, said.columns))}")
    said = said.filter(pl.col("subject_kind") == "image").rename({"subject_id": "image_id"})
    written = said.filter(pl.col("attribute") == CAPTION)
    written = _only(written, captioner, what="captioner", of="captions")
    found = said.filter(pl.col("attribute") != CAPTION)
    found = found.filter(pl.col("annotator") == annotator) if annotator is not None else found.clear()
    if annotator is not None and not found.height and annotator not in said["annotator"].to_list():
        raise TableError(
            f"labels: no annotator {annotator!r}; found "
            f"{', '.join(map(repr, said['annotator'].unique().sort().to_list()))}"
        )
    frame = made.select("image_id", "prompt_id", "generator", *factors, pl.col("status").alias("_picture"))
    asked = to_polars(prompts, what="prompts").select("prompt_id", pl.col("text").cast(pl.String))
    frame = frame.join(asked, on="prompt_id", how="left", maintain_order="left")
    frame = frame.join(
        written.select("image_id", pl.col("value").alias(CAPTION), pl.col("status").alias("_status")),
        on="image_id",
        how="left",
        maintain_order="left",
    )
    for name in dict.fromkeys([*found["attribute"].unique(maintain_order=True).to_list(), *lists]):
        column = _column(found, name, name in lists)
        frame = frame.join(column, on="image_id", how="left", maintain_order="left")
    frame = frame.with_columns(pl.col(name).fill_null([]) for name in lists)
    return frame.with_columns(_reason().alias("excluded")).drop("_picture", "_status")


def _only(labels: pl.DataFrame, name: str | None, *, what: str, of: str) -> pl.DataFrame:
    names = labels["annotator"].unique().sort().to_list()
    if not names:
        raise TableError(f"labels: no label is a caption (attribute {CAPTION!r}); have pictures captioned")
    if name is None and len(names) > 1:
        raise TableError(
            f"labels: {len(names)} annotators gave {of}: {', '.join(map(repr, names))}; choose one with "
            f"{what}={names[0]!r}"
        )
    chosen = name if name is not None else names[0]
    kept = labels.filter(pl.col("annotator") == chosen)
    if not kept.height:
        raise TableError(f"labels: no {of} by {chosen!r}; found {', '.join(map(repr, names))}")
    doubled = kept.filter(pl.col("image_id").is_duplicated())
    if doubled.height:
        raise TableError(f"labels: image {doubled['image_id'][0]!r} has two captions; keep one an image")
    return kept


def _column(found: pl.DataFrame, name: str, listed: bool) -> pl.DataFrame:
    hits = found.filter((pl.col("attribute") == name) & pl.col("value").is_not_null())
    if listed:
        return hits.group_by("image_id", maintain_order=True).agg(pl.col("value").alias(name))
    doubled = hits.filter(pl.col("image_id").is_duplicated())
    if doubled.height:
        raise TableError(
            f"labels: image {doubled['image_id'][0]!r} has two labels of {name!r}; add {name!r} to lists= "
            "or keep one"
        )
    return hits.select("image_id", pl.col("value").alias(name))


def _reason() -> pl.Expr:
    absent = pl.col("_picture") == ABSENT
    return (
        pl.when(pl.col("_picture") == "refused")
        .then(pl.lit(PICTURE_REFUSED))
        .when(~pl.col("_picture").is_in(LABELLED))
        .then(pl.lit(PICTURE_EXCLUDED))
        .when(absent & ~(absent & pl.col("_status").is_not_null()).any())
        .then(pl.lit(PICTURE_ABSENT))
        .when(pl.col("_status").is_null())
        .then(pl.lit(NOT_CAPTIONED))
        .when(pl.col("_status") != "ok")
        .then(pl.col("_status"))
        .when(pl.col(CAPTION).is_null() | (pl.col(CAPTION).str.strip_chars() == ""))
        .then(pl.lit(EMPTY_CAPTION))
    )


def caption_table(
    data: Any,
    *,
    by: Sequence[str],
    measure: str,
    columns: Sequence[str] = (),
    lists: Sequence[str] = (),
    n_bootstrap: int = 0,
    seed: int = 0,
) -> list[Captions]:
    """Check a captions frame and part it into the cells of a design.

    Raises
    ------
    TableError
        A column is missing or not of its kind, or an image stands there twice.
    UsageError
        ``by`` is no list of factors, or a number of resamples or a seed is negative.
    """
    if n_bootstrap < 0 or seed < 0:
        raise UsageError(f"{measure}: n_bootstrap and seed must be 0 or more, found {n_bootstrap} and {seed}")
    factors = factor_names(by, measure=measure, what="by")
    frame = to_polars(data, what="captions")
    wanted = dict.fromkeys(["image_id", CAPTION, *factors, *columns, *lists])
    if absent := [name for name in wanted if name not in frame.columns]:
        raise TableError(f"captions: no column {absent[0]!r}; found {', '.join(map(repr, frame.columns))}")
    for name in lists:
        if not isinstance(frame.schema[name], pl.List):
            raise TableError(
                f"captions: column {name!r} must hold a list of elements a row, found {frame.schema[name]}; "
                "split the text, e.g. with .str.split(';')"
            )
    given = pl.col("excluded").cast(pl.String) if "excluded" in frame.columns else pl.lit(None, pl.String)
    text = as_text(frame, CAPTION)
    blank = text.is_null() | (text.str.strip_chars() == "")
    frame = frame.with_columns(
        pl.when(given.is_not_null()).then(given).when(blank).then(pl.lit(EMPTY_CAPTION)).alias("excluded"),
        text.alias(CAPTION),
        *[as_text(frame, name).alias(name) for name in (*factors, *columns) if name != CAPTION],
        *[pl.col(name).cast(pl.List(pl.String)).fill_null([]) for name in lists],
    )
    keys = ["image_id", *factors]
    doubled = frame.filter(frame.select(keys).is_duplicated())
    if doubled.height:
        raise TableError(f"captions: image {doubled['image_id'][0]!r} stands there twice; keep one caption")
    return list(_cells(frame, factors, n_bootstrap, seed))


def _cells(frame: pl.DataFrame, factors: Sequence[str], n_bootstrap: int, seed: int) -> Iterator[Captions]:
    parts: list[tuple[Key, pl.DataFrame]] = [((), frame)]
    if factors:
        parts = list(frame.group_by(list(factors), maintain_order=True))
    for stream, (key, part) in enumerate(parts):
        counts = part.group_by("excluded", maintain_order=True).len().drop_nulls()
        kept = part.filter(pl.col("excluded").is_null())
        prompts = kept["prompt_id"].to_numpy() if "prompt_id" in kept.columns else None
        units = clusters(prompts, kept.height)
        yield Captions(
            key=tuple(key),
            frame=kept,
            excluded={str(reason): int(n) for reason, n in counts.iter_rows()},
            resample=Resample(units, n_bootstrap, seed, stream),
            clustered=bool(kept.height) and int(units.max()) + 1 < kept.height,
        )
