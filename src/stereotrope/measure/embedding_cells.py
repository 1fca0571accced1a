"""Vectors of pictures beside their prompts, and the cells that measures of vectors are of."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import TableError
from stereotrope.measure.cells import SMALL_N
from stereotrope.measure.join import picture_reason, with_factors
from stereotrope.measure.pace import paced
from stereotrope.measure.seeds import across_units
from stereotrope.measure.tidy import as_number, as_text, factor_names, reason_given, to_polars
from stereotrope.measure.units import SEED_COLUMN, SEEDS_COUNTED, Claim, prompt_codes, units_of
from stereotrope.stats import Across, normal_quantile
from stereotrope.stats.arrays import Floats
from stereotrope.tables import factors_of

NO_VECTOR = "no embedding"
NO_DIRECTION = "a vector of zeros"
_COSINES = -1 - 1e-6, 1 + 1e-6
VECTORS_AT_ONCE = 4_096
"""Vectors that are held as double-precision numbers together."""


def embeddings_frame(
    prompts: Any, images: Any, embeddings: Any, *, encoders: Sequence[str] | None = None
) -> pl.DataFrame:
    """Join prompts, images and vectors to the frame that measures of embeddings read.

    prompts, images, embeddings: The tables of a run.
    encoders: Names of the encoders that were to encode every picture; those seen when None. One that gave no
        vector at all has its rows too.

    Returns: ``image_id, prompt_id, generator, seed, <factors>, annotator, vector, cosine, excluded``, a row
    an image and encoder: ``annotator`` is the encoder's name, ``cosine`` that of the picture's vector and its
    prompt's, null where either is missing. ``excluded`` is null where there is a vector of the picture, else
    ``refused by the generator``, ``picture excluded``, ``picture not at hand`` (the encoder has vectors of
    none of those) or ``no embedding``.

    Raises TableError: A column is missing, a subject has two vectors of one encoder, or these differ in
    length.
    """
    keys = ["subject_kind", "subject_id", "encoder"]
    given = to_polars(embeddings, what="embeddings", needs=(*keys, "vector"))
    single = given.schema["vector"] == pl.List(pl.Float32)  # as runs store them: a cast would double them
    numbers = pl.List(pl.Float32 if single else pl.Float64)
    given = given.select(*keys, pl.col("vector").cast(numbers))
    if (doubled := given.filter(given.select(keys).is_duplicated())).height:
        kind, subject, encoder, _ = doubled.row(0)
        raise TableError(f"embeddings: {kind} {subject!r} has two vectors by {encoder!r}; keep one")
    factors = factors_of(to_polars(prompts, what="prompts").columns)
    design = ("image_id", "prompt_id", "generator", *factors)
    made = with_factors(prompts, images)
    drawn = [SEED_COLUMN] if SEED_COLUMN in made.columns else []
    rows = made.select(*design, *drawn, _picture="status")
    names = list(encoders) if encoders is not None else given["encoder"].unique(maintain_order=True).to_list()
    empty = rows.clear().with_columns(
        annotator=pl.lit(None, pl.String),
        vector=pl.lit(None, numbers),
        cosine=pl.lit(None, pl.Float64),
    )
    found = pl.concat(
        [
            empty,
            *(_of_encoder(rows, taken(given, (given["encoder"] == name).arg_true()), name) for name in names),
        ]
    )
    has_vector = pl.col("vector").is_not_null()
    reason = pl.coalesce(
        picture_reason(pl.col("_picture"), has_vector), pl.when(~has_vector).then(pl.lit(NO_VECTOR))
    )
    return found.with_columns(excluded=reason).drop("_picture")


def _of_encoder(rows: pl.DataFrame, given: pl.DataFrame, name: str) -> pl.DataFrame:
    lengths = given["vector"].list.len().unique().sort().to_list()
    if len(lengths) > 1:
        raise TableError(
            f"embeddings: vectors by {name!r} must have one length, found {lengths[0]} and {lengths[-1]}; "
            "keep those of one model"
        )
    places = given.drop("vector").with_row_index("place")
    of_pictures = places.filter(subject_kind="image").select(image_id="subject_id", picture="place")
    of_texts = places.filter(subject_kind="text").select(prompt_id="subject_id", text="place")
    joined = rows.join(of_pictures, on="image_id", how="left", maintain_order="left").join(
        of_texts, on="prompt_id", how="left", maintain_order="left"
    )
    vectors = given["vector"]  # joins of places: one of vectors would copy them each time
    cosines = np.full(joined.height, np.nan)
    both = np.flatnonzero((joined["picture"].is_not_null() & joined["text"].is_not_null()).to_numpy())
    for start in range(0, len(both), VECTORS_AT_ONCE):
        at = both[start : start + VECTORS_AT_ONCE]
        part = joined[at.tolist()]
        pictures, texts = (unit_rows(vectors.gather(part[column])) for column in ("picture", "text"))
        cosines[at] = np.einsum("ij,ij->i", pictures, texts)
    return joined.select(
        *rows.columns,
        pl.lit(name).alias("annotator"),
        vectors.gather(joined["picture"]).alias("vector"),
        pl.Series(cosines).fill_nan(None).alias("cosine"),
    )


def taken(frame: pl.DataFrame, places: pl.Series) -> pl.DataFrame:
    """Rows of a frame at places that rise; the frame itself, uncopied, where these are all."""
    return frame if len(places) == frame.height else frame[places]


def unit_rows(vectors: pl.Series) -> Floats:
    """Vectors as the rows of a matrix, at unit length; zero vectors stay."""
    flat = vectors.explode().to_numpy().astype(np.float64)
    x = flat.reshape(len(vectors), -1) if len(vectors) else np.zeros((0, 0))
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(np.divide(x, lengths, out=np.zeros_like(x), where=lengths > 0), np.float64)


@dataclass(frozen=True)
class EmbeddingCell:
    """The pictures of one encoder in one combination of factors, and what rows of it have in common."""

    vectors: pl.DataFrame
    units: NDArray[np.int64]
    claim: Claim
    across: Across | None
    shared: dict[str, Any]

    @property
    def jackknife(self) -> str:
        """How its intervals are made."""
        seeds = f", {SEEDS_COUNTED}" if self.across else ""
        return f"interval: Student's t, jackknife by {'prompt' if self.claim.clustered else 'picture'}{seeds}"

    def reach(self, moved: Callable[[], Floats], level: float) -> float:
        """How many times as far its intervals reach for seeds that prompts share.

        moved: By how much each picture moves the score.
        """
        return 1.0 if self.across is None else self.across.reach(moved(), level=level)

    def reaches(self, moved: Callable[[Floats], Floats], level: float) -> dict[str, float]:
        """Of a score that bends: how many times as far, and the standard error beside.

        moved: By how much each picture moves the score where pictures weigh as told (:meth:`Across.bend`).
        """
        if self.across is None:
            return {}
        slopes = moved(np.ones((len(self.units), 1)))[:, 0]
        return {
            "reach": self.across.reach(slopes, level=level),
            "bend": self.across.bend(moved, level=level),
        }


def _without_direction(data: pl.DataFrame) -> pl.Expr:
    """Which vectors are zeros alone, so that no angle to them is known.

    Raises TableError: A vector is none, holds what is no number, or has not as many as others by its encoder.
    """
    kind = data.schema["vector"]
    if kind == pl.Null:
        return pl.lit(False)
    if not (isinstance(kind, pl.List | pl.Array) and kind.inner.is_numeric()):
        raise TableError(f"embeddings: column 'vector' must hold a list of numbers a row, found {kind}")
    each = pl.col("vector").arr if isinstance(kind, pl.Array) else pl.col("vector").list
    told = data.select(
        "image_id",
        "annotator",
        n=each.len(),
        sound=each.sum().cast(pl.Float64).is_finite() & ~each.contains(None, nulls_equal=True),
    ).drop_nulls("sound")
    if (wrong := told.filter(~pl.col("sound"))).height:
        raise TableError(
            f"embeddings: the vector of image {wrong['image_id'][0]!r} holds a number that is missing or not "
            "finite; make it again, or give null for it"
        )
    if (other := told.filter(pl.col("n") != pl.col("n").first().over("annotator"))).height:
        image, encoder, n, _ = other.row(0)
        raise TableError(
            f"embeddings: the vector of image {image!r} has {n} numbers, and others by {encoder!r} have not; "
            "name each encoder in the column annotator"
        )
    return (each.min() == 0) & (each.max() == 0)


def embedding_cells(
    frame: Any, by: Sequence[str], measure: str, column: str, lacks: str, source: str, level: float
) -> Iterator[EmbeddingCell]:
    """The cells of a design; rows without ``column`` are left out for the reason ``lacks``.

    Raises TableError: A vector is none, or an image stands twice.
    """
    normal_quantile(level)
    keys = ["annotator", *factor_names(by, measure=measure, taken=("annotator",), what="by")]
    data = to_polars(frame, what="embeddings", needs=("image_id", column, *keys))
    zero = _without_direction(data) if column == "vector" else pl.lit(False)
    if column != "vector":
        data = data.with_columns(as_number(data, column, what="embeddings", scale=_COSINES))
    lacking = pl.when(pl.col(column).is_null()).then(pl.lit(lacks)).when(zero).then(pl.lit(NO_DIRECTION))
    data = data.with_columns(
        *[as_text(data, name) for name in keys], excluded=pl.coalesce(reason_given(data), lacking)
    )
    if (doubled := data.filter(data.select("image_id", *keys).is_duplicated())).height:
        raise TableError(f"embeddings: image {doubled['image_id'][0]!r} stands there twice; keep one vector")
    places = data.select(*keys, "excluded").with_row_index("place")  # vectors are copied a cell at a time
    for key, part in paced(list(places.group_by(keys, maintain_order=True))):
        kept = taken(data, part.filter(pl.col("excluded").is_null())["place"])
        n = kept.height
        claim, (units,) = units_of(prompt_codes(kept))
        claim, across = across_units(kept, claim, units)
        shared = {
            "measure": measure,
            "definition": "paper",
            **dict(zip(keys, key, strict=True)),
            "level": level,
            "n": n,
            "excluded": dict(part.group_by("excluded").len().drop_nulls().iter_rows()),
            "flags": {"small_n": n < SMALL_N, **claim.flags},
            "source": source,
        }
        yield EmbeddingCell(kept, units, claim, across, shared)
