"""Open values written differently but meaning the same, folded together."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import ImageColor

from stereotrope.annotate import palette
from stereotrope.annotate.cielab import ciede2000, srgb_to_lab
from stereotrope.folding import fold
from stereotrope.tables import LABELS

_FOLDS = {
    **dict.fromkeys(("annotator", "attribute", "value", "written"), pl.String),
    "n": pl.Int64,
    "distance": pl.Float64,
}


def fold_labels(
    labels: pl.DataFrame,
    attributes: Mapping[str, Sequence[str]],
    *,
    listed: Mapping[str, Sequence[str]] | None = None,
    merge: float | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Fold open values where they stand, and list every merge.

    labels: The columns of :data:`stereotrope.tables.LABELS`.
    attributes: Annotator → its open attributes.
    listed: Attribute → values that somebody lists for it. A value written as one of these stays; one that
        folds to the same as a listed one becomes it.
    merge: CIEDE2000 distance up to which two colour words count as one, None to merge none. Only words with a
        known colour (CSS names, names of the palette) merge, each into the more frequent one.

    Returns the labels, in their order: ``value`` folded, ``written`` the value as it was given, where that is
    another. And ``annotator, attribute, value, written, n, distance``: every way of writing each value that
    has several, how often it was given, and how far apart two colours are that merged.
    """
    pairs = [(name, attribute) for name, open_ones in attributes.items() for attribute in open_ones]
    keys = ["annotator", "attribute"]
    given = (
        labels.filter(pl.col("value").is_not_null())
        .join(pl.DataFrame(pairs, schema=dict.fromkeys(keys, pl.String), orient="row"), on=keys, how="semi")
        .group_by(*keys, written="value", maintain_order=True)
        .agg(n=pl.len().cast(pl.Int64))
    )
    rows: list[tuple[object, ...]] = []
    for (name, attribute), part in given.group_by(keys, maintain_order=True):
        counts = dict(part.select("written", "n").iter_rows())
        folded = _folded(counts, (listed or {}).get(str(attribute), ()))
        merged = {} if merge is None else _colour_merges(counts, folded, merge)
        for written, n in counts.items():
            value, distance = merged.get(folded[written], (folded[written], None))
            rows.append((name, attribute, value, written, n, distance))
    found = pl.DataFrame(rows, schema=_FOLDS, orient="row")
    joined = labels.drop("written", strict=False).join(
        found.select(*keys, value="written", folded="value"),
        on=[*keys, "value"],
        how="left",
        maintain_order="left",
    )
    changed = pl.col("folded") != pl.col("value")
    done = joined.with_columns(
        written=pl.when(changed).then("value"), value=pl.coalesce("folded", "value")
    ).select(column.name for column in LABELS)
    return done, found.filter(pl.len().over(*keys, "value") > 1)


def _folded(written: Iterable[str], listed: Sequence[str]) -> dict[str, str]:
    """Each way of writing → the value it counts as: a listed one as it is listed, any other folded."""
    as_listed = {fold(value): value for value in reversed(listed)} | {value: value for value in listed}
    return {text: as_listed.get(text) or as_listed.get(fold(text)) or fold(text) for text in written}


def _colour_merges(
    counts: Mapping[str, int], folded: Mapping[str, str], limit: float
) -> dict[str, tuple[str, float]]:
    """Each colour word that merges: into the nearest of the more frequent words that stay, and how near."""
    words: Counter[str] = Counter()
    for written, n in counts.items():
        words[folded[written]] += n
    kept: dict[str, NDArray[np.float64]] = {}
    merges: dict[str, tuple[str, float]] = {}
    for word, _ in sorted(words.items(), key=lambda pair: (-pair[1], pair[0])):
        lab = _colour_of(word)
        if lab is None:
            continue
        distance, nearest = min(
            ((float(ciede2000(lab, at)), name) for name, at in kept.items()), default=(np.inf, "")
        )
        if distance <= limit:
            merges[word] = nearest, distance
        else:
            kept[word] = lab
    return merges


def _colour_of(word: str) -> NDArray[np.float64] | None:
    name = word.replace(" ", "")
    if name in ImageColor.colormap:
        return srgb_to_lab(np.array(ImageColor.getrgb(name)[:3], dtype=np.uint8))
    known = palette.read_palette()
    return next(
        (lab for anchor, lab in zip(known.anchors, known.lab, strict=True) if anchor.name == word), None
    )
