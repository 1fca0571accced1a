"""Open values written differently but meaning the same, folded together."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import ImageColor

from stereotrope.annotate import palette
from stereotrope.annotate.cielab import ciede2000, srgb_to_lab
from stereotrope.folding import fold
from stereotrope.tables import N_SUBJECTS, QUALITY_ATTRIBUTES


def fold_labels(
    labels: pl.DataFrame,
    annotator: str,
    attributes: Collection[str],
    listed: Mapping[str, Sequence[str]] | None = None,
    merge: float | None = None,
) -> pl.DataFrame:
    """Fold values of an annotator's open attributes where they stand.

    labels: The columns of :data:`stereotrope.tables.LABELS`.
    listed: Attribute → values that somebody lists for it. A value written as one of these stays; one that
        folds to the same as a listed one becomes it.
    merge: CIEDE2000 distance up to which two colour words count as one, None to merge none. Only words with a
        known colour (CSS names, names of the palette) merge, each into the more frequent one.

    Returns the labels, in their order: ``value`` folded, ``written`` the value as it was given, where that is
    another.
    """
    own = labels.filter(annotator=annotator).select("attribute", "value")
    counted = own.filter(pl.col("attribute").is_in(list(attributes))).drop_nulls("value")
    counted = counted.group_by("attribute", "value").len("n").sort("attribute", "value")
    folded = pl.col("value")
    for (attribute,), part in counted.group_by("attribute", maintain_order=True):
        counts = dict(part.select("value", "n").iter_rows())
        values = _folded(counts, (listed or {}).get(str(attribute), ()))
        merged = {} if merge is None else _colour_merges(counts, values, merge)
        new = {text: merged.get(value, value) for text, value in values.items()}
        if new := {text: value for text, value in new.items() if text != value}:
            its = (pl.col("annotator") == annotator) & (pl.col("attribute") == attribute)
            folded = pl.when(its).then(pl.col("value").replace(new)).otherwise(folded)
    changed = labels.select(pl.col("value"), folded=folded)
    if changed["value"].equals(changed["folded"]):
        return labels
    written = pl.when(pl.col("value") != changed["folded"]).then("value").otherwise("written")
    return labels.with_columns(written=written, value=changed["folded"])


def writings(labels: pl.DataFrame) -> list[dict[str, Any]]:
    """Each value that was written in several ways, with these, the most frequent first.

    Of each ``written`` way: ``n``, how often it was given, and the ``distance`` of a colour that merged.
    """
    keys = ["annotator", "attribute", "value"]
    number = pl.col(N_SUBJECTS).sum() if N_SUBJECTS in labels.columns else pl.len()
    counted = labels.group_by(*keys, written=pl.coalesce("written", "value")).agg(n=number)
    given = counted.filter(
        pl.col("value").is_not_null(), ~pl.col("attribute").is_in(list(QUALITY_ATTRIBUTES))
    )
    several = given.filter(pl.len().over(keys) > 1).sort(
        "n", "written", *keys, descending=[True, *[False] * 4]
    )
    told: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for *key, written, n in several.iter_rows():
        distance = _distance(written, key[-1])
        form = {"written": written, "n": n, **({} if distance is None else {"distance": distance})}
        told.setdefault(tuple(key), []).append(form)
    return [{**dict(zip(keys, key, strict=True)), "written": forms} for key, forms in told.items()]


def _distance(written: str, value: str) -> float | None:
    """How far apart two words are that merged by their colours; None for writings of one word."""
    word = fold(written)
    one, other = _colour_of(word), _colour_of(value)
    return None if word == fold(value) or one is None or other is None else float(ciede2000(one, other))


def _folded(written: Iterable[str], listed: Sequence[str]) -> dict[str, str]:
    """Each way of writing → the value it counts as: a listed one as it is listed, any other folded."""
    as_listed = {fold(value): value for value in reversed(listed)} | {value: value for value in listed}
    return {text: as_listed.get(text) or as_listed.get(fold(text)) or fold(text) for text in written}


def _colour_merges(counts: Mapping[str, int], folded: Mapping[str, str], limit: float) -> dict[str, str]:
    """Each colour word that merges: into the nearest of the more frequent words that stay."""
    words: Counter[str] = Counter()
    for written, n in counts.items():
        words[folded[written]] += n
    kept: dict[str, NDArray[np.float64]] = {}
    merges: dict[str, str] = {}
    for word, _ in sorted(words.items(), key=lambda pair: (-pair[1], pair[0])):
        lab = _colour_of(word)
        if lab is None:
            continue
        distance, nearest = min(
            ((float(ciede2000(lab, at)), name) for name, at in kept.items()), default=(np.inf, "")
        )
        if distance <= limit:
            merges[word] = nearest
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
