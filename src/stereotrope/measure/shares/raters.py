"""How far several annotators agree among themselves, none of them taken for the truth."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import TableError
from stereotrope.measure.cells import SMALL_N
from stereotrope.measure.named import other_word
from stereotrope.measure.sentences import quoted
from stereotrope.measure.shares.pairs import Units, compared_apart, units_in
from stereotrope.measure.tidy import read_labels, to_polars
from stereotrope.stats import (
    agreement_interval,
    effective_counts,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    rater_agreement,
    wilson,
)

_NO_TWO = "no image with two usable labels"
_ONE_VALUE = "all gave one value throughout"
_SOURCES = {
    "observed": "Fleiss 1971, eq. 2",
    "krippendorff_alpha": "Krippendorff 2011",
    "krippendorff_alpha_ordinal": "Krippendorff 2011",
    "fleiss_kappa": "Fleiss 1971; Gwet 2014",
    "gwet_ac1": "Gwet 2008",
}


def left_out_of(
    patterns: NDArray[np.int64], units: NDArray[np.int64], score: Callable[[NDArray[np.float64]], Any]
) -> NDArray[np.float64]:
    """A score of pattern counts, ``score(counts of shape (…, P))``, without each unit in turn.

    patterns, units: Pattern, and unit, of each picture.
    """
    p, m = int(patterns.max()) + 1, int(units.max()) + 1
    table = np.bincount(units * p + patterns, minlength=m * p).reshape(m, p)
    # Units that are alike leave the same score: of single pictures there are as many as patterns.
    unlike, which = np.unique(table, axis=0, return_inverse=True)
    return np.asarray(score((table.sum(axis=0) - unlike).astype(np.float64)))[which.ravel()]


def jackknifed(
    value: float,
    patterns: NDArray[np.int64],
    units: Units,
    score: Callable[[NDArray[np.float64]], Any],
    level: float,
) -> tuple[float, float]:
    """The interval of a score of pattern counts over the units of its pictures."""
    reach = 1.0
    if units.across is not None:
        reach = units.across.reach(left_out_of(patterns, np.arange(len(patterns)), score), level=level)
    return agreement_interval(value, left_out_of(patterns, units.number, score), level=level, reach=reach)


def between_raters(
    labels: Any,
    factors: Sequence[str],
    attributes: Sequence[str] | None,
    values: Mapping[str, Sequence[str]],
    ordinal: Mapping[str, Sequence[str]],
    level: float,
) -> Iterator[dict[str, Any]]:
    """Rows of the agreement of all annotators of an attribute.

    values, ordinal: Attribute → all values that could be given; the same, ascending.
    """
    frame = to_polars(labels, needs=("annotator",))
    keys = list(dict.fromkeys([*factors, "annotator"]))
    said = read_labels(frame, factors=keys, attributes=attributes, argument="by", seeds=True)
    if unknown := [name for name in ordinal if name not in set(said["attribute"])]:
        raise TableError(f"agreement: ordinal: no attribute {unknown[0]!r} is labelled; correct its name")
    apart = {name: _apart(part) for (name,), part in said.group_by(["attribute"])}
    for key, part in said.group_by(["attribute", *factors], maintain_order=True):
        attribute, raters = str(key[0]), part["annotator"].n_unique()
        if raters < 2:
            continue
        shared = {**dict(zip(("attribute", *factors), key, strict=True)), "measure": "agreement"}
        shared |= {"level": level, "excluded": _left_out(part)}
        rated = part.filter(pl.col("excluded").is_null()).filter(pl.len().over("image_id") > 1)
        scale = ordinal.get(attribute)
        for row in _scores(rated, values.get(attribute, ()), scale, raters, level, apart[attribute]):
            yield {**shared, **row}


def _weighed(score: Callable[..., Any], rows: NDArray[np.float64], weights: NDArray[np.float64]) -> Any:
    return score(rows, weights=weights)


def _apart(said: pl.DataFrame) -> str | None:
    """Why two of those who label an attribute cannot be compared by the values that they write."""
    usable = said.filter(pl.col("excluded").is_null())
    values = dict(usable.group_by("annotator", maintain_order=True).agg(pl.col("value").unique()).iter_rows())
    for one, other in combinations(values, 2):
        pair = set(values[one]), set(values[other])
        words = (other_word(value, theirs) for own, theirs in (pair, pair[::-1]) for value in own)
        if pair[0].isdisjoint(pair[1]) or any(words):
            both = usable.filter(annotator=one).join(usable.filter(annotator=other), on="image_id")
            if why := compared_apart(both["value"], both["value_right"], (quoted(one), quoted(other))):
                return why
    return None


def _left_out(part: pl.DataFrame) -> dict[str, int]:
    """Why pictures have not two labels that count, and how many."""
    usable = pl.col("excluded").is_null()
    pictures = part.group_by("image_id").agg(n=usable.sum(), why=pl.col("excluded").drop_nulls().unique())
    why = pl.col("why").list.sort().list.join(", ")
    lacking = pictures.filter(pl.col("n") < 2).select(
        pl.when(why == "").then(pl.lit("labelled once")).otherwise(why).alias("why")
    )
    return dict(lacking["why"].value_counts().sort("why").iter_rows())


def _scores(
    rated: pl.DataFrame,
    listed: Sequence[str],
    scale: Sequence[str] | None,
    raters: int,
    level: float,
    apart: str | None,
) -> Iterator[dict[str, Any]]:
    """A row of each coefficient."""
    seen = sorted(set(rated["value"]))
    names = list(dict.fromkeys([*(scale or listed), *seen]))
    counts, units = _counted(rated, names)
    n = len(counts)
    scores: dict[str, Callable[..., Any]] = {
        "observed": rater_agreement,
        "krippendorff_alpha": krippendorff_alpha,
        "fleiss_kappa": fleiss_kappa,
        "gwet_ac1": gwet_ac1,
    }
    if scale is not None:
        scores["krippendorff_alpha_ordinal"] = lambda c, **more: krippendorff_alpha(c, ordinal=True, **more)
    outside = [] if scale is None else [value for value in seen if value not in scale]
    jackknife = f"jackknife over {units.words}, on the scale of log(1 - score)"
    for name, score in scores.items():
        row: dict[str, Any] = {
            "definition": name,
            "n": n,
            "n_categories": len(names) if name == "gwet_ac1" else None,
            "flags": {**units.claim.flags, "small_n": n < SMALL_N},
            "method": f"{raters} annotators; {jackknife}",
            "source": _SOURCES[name],
        }
        if not n:
            yield {**row, "undefined": _NO_TWO}
        elif apart:
            yield {**row, "undefined": apart}
        elif name == "krippendorff_alpha_ordinal" and outside:
            yield {**row, "undefined": f"not in the order given: {', '.join(outside)}"}
        else:
            found = {"method": jackknife, **_estimated(score, counts, units, row["flags"], level)}
            yield {**row, **found, "method": f"{raters} annotators; {found['method']}"}


def _estimated(
    score: Callable[..., Any],
    counts: NDArray[np.float64],
    units: Units,
    flags: dict[str, bool],
    level: float,
) -> dict[str, Any]:
    value = float(score(counts))
    if np.isnan(value):
        return {"undefined": _ONE_VALUE}
    if score is rater_agreement and value in (0.0, 1.0):
        return _all_or_none(value, units, level)
    rows, patterns = np.unique(counts, axis=0, return_inverse=True)
    weighed = partial(_weighed, score, rows)
    low, high = jackknifed(value, patterns.ravel(), units, weighed, level)
    least = 0.0 if score is rater_agreement else -1.0
    return {
        "value": value,
        "low": max(low, least) if low == low else None,
        "high": high,
        "flags": {**flags, "no_variation": low != low},
        "holds_for": None if low != low else units.claim.holds_for,
    }


def _all_or_none(value: float, units: Units, level: float) -> dict[str, Any]:
    """Observed agreement in every picture, or in none: the jackknife sees nothing, Wilson's interval does."""
    n = np.bincount(units.number)
    k, trials, told = value * n.sum(), n.sum(), "Wilson"
    if units.claim.clustered:
        crossed = units.across and units.across.crossed(np.full(n.sum(), value))
        k, trials = effective_counts(n * value, n, level=level, crossed=crossed)
        told = f"Wilson; effective n {trials:.1f} over {units.words}"
    low, high = map(float, wilson(k, trials, level=level))
    return {"value": value, "low": low, "high": high, "holds_for": units.claim.holds_for, "method": told}


def _counted(rated: pl.DataFrame, names: Sequence[str]) -> tuple[NDArray[np.float64], Units]:
    """How often each picture was given each value, and the unit of each picture."""
    pictures = rated.drop("attribute", "value").unique("image_id", maintain_order=True)
    at = {image: row for row, image in enumerate(pictures["image_id"])}
    place = {value: column for column, value in enumerate(names)}
    counts = np.zeros((len(at), len(names)))
    for image, value in rated.select("image_id", "value").iter_rows():
        counts[at[image], place[value]] += 1
    return counts, units_in(pictures)
