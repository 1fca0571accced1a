"""The arithmetic of the SODA paper, checked from its own tables: means, totals, shares, ranks and bounds."""

import math
from collections.abc import Iterator

import numpy as np
import polars as pl

from stereotrope.report.numbers import thousands
from stereotrope.report.prose import listing
from stereotrope.stats import special
from stereotrope.suites.check import AGREES, NO_DATA, PARTLY, Recomputed, Reproduction, agreed, reproduction
from stereotrope.suites.objects.defaults import defaults
from stereotrope.suites.objects.definition import definitions
from stereotrope.suites.objects.matrix import LAST_DIGIT, models, percent, signed_percent, table, three
from stereotrope.suites.published import published

_MODELS, _OBJECTS, _CONDITIONS, _GROUPS, _ATTRIBUTES, _IMAGES = 5, 8, 10, 9, 8, 20


def reproduce_objects() -> Reproduction:
    """Check what the SODA paper says about its figures against the figures themselves.

    Nothing of the paper's pictures or labels is published, so this recomputes means, counts, ranks and
    bounds from its tables, not the scores from pictures.
    """
    figures = published("objects")
    parts = (_divergences, _concentration, _disparity, _variations, _judges, _significance, _shifts)
    return reproduction("objects", (one for part in (*parts, defaults, definitions) for one in part(figures)))


def _divergences(figures: pl.DataFrame) -> Iterator[Recomputed]:
    """Table 2 from Table 11."""
    every = table(figures, "11", ["generator", "object"], "group").reshape(_MODELS, _OBJECTS, _GROUPS)
    means = np.vstack([every.mean(axis=1), every.mean(axis=(0, 1))])
    two = figures.filter(table="2")
    overall = two.filter(pl.col("generator").is_null())["value"].to_numpy()
    printed = np.vstack([table(figures, "2", "generator", "group"), overall])
    same = int((np.abs(means - printed) <= LAST_DIGIT).sum())
    groups = two["group"].unique(maintain_order=True).to_list()
    details = [
        {"model": m, "group": g, "Table 2": three(printed[i, j]), "from Table 11": f"{means[i, j]:.4f}"}
        for i, m in enumerate([*models(figures, "2"), "overall"])
        for j, g in enumerate(groups)
    ]
    recomputed = f"{same} of 54 cells, to the third decimal"
    yield Recomputed("table-2", agreed(same == means.size), recomputed, details)


def _concentration(figures: pl.DataFrame) -> Iterator[Recomputed]:
    """Table 4, and the 852 deterministic cases."""
    means = table(figures, "4", "generator", "object").mean(axis=1)
    printed = figures.filter(pl.col("table") == "4", pl.col("object").is_null())["value"].to_numpy()
    same = int((np.abs(means - printed) <= LAST_DIGIT).sum())
    yield Recomputed(
        "table-4",
        agreed(same == len(means)),
        f"{same} of {_MODELS}: {listing([three(x) for x in means])}",
        [
            {"model": m, "Table 4": three(p), "recomputed": f"{x:.4f}"}
            for m, p, x in zip(models(figures, "4"), printed, means, strict=True)
        ],
    )
    combinations, cells = _MODELS * _OBJECTS * _GROUPS, _MODELS * _OBJECTS * _CONDITIONS * _ATTRIBUTES
    without = combinations * _ATTRIBUTES
    share = percent(852 / without)
    yield Recomputed(
        "deterministic-share",
        PARTLY,
        f"852 / {thousands(cells)} = {percent(852 / cells)}",
        [
            {"unit": "model × object × group", "cells": combinations, "852 is": "more than there are"},
            {"unit": "… × attribute, groups only", "cells": without, "852 is": share},
            {"unit": "… × attribute, with baseline", "cells": cells, "852 is": percent(852 / cells)},
        ],
        {"combinations": combinations, "without": without, "share": share},
    )
    of_model = _OBJECTS * _CONDITIONS * _IMAGES
    yield Recomputed("images", AGREES, f"{thousands(_MODELS * of_model)}; {thousands(of_model)}")


def _disparity(figures: pl.DataFrame) -> Iterator[Recomputed]:
    """The order of Table 3."""
    sums = table(figures, "3", "attribute", "dimension").sum(axis=1)
    ordered = bool((np.diff(sums) <= 0).all())
    names = figures.filter(table="3")["attribute"].unique(maintain_order=True).to_list()
    recomputed = f"ordered, {three(sums[0])} to {three(sums[-1])}" if ordered else "not ordered"
    details = [{"attribute": n.replace("_", " "), "sum": three(s)} for n, s in zip(names, sums, strict=True)]
    yield Recomputed("table-3-order", agreed(ordered), recomputed, details)


def _variations(figures: pl.DataFrame) -> Iterator[Recomputed]:
    """Table 5 against Table 6."""
    six = figures.filter(table="6")
    for measure, name in (("cds_change", "ΔCDS"), ("vac_change", "ΔVAC")):
        single = six.filter(measure=measure)["value"].to_numpy()
        pooled = figures.filter(table="5", measure=measure, mitigation="no stereotypes")["value"].item()
        mean = float(single.mean())
        names = six.filter(measure=measure)["generator"]
        yield Recomputed(
            f"table-5-{measure.replace('_', '-')}",
            agreed(abs(mean - pooled) <= LAST_DIGIT + 0.0005),
            signed_percent(mean),
            [{"model": m, name: signed_percent(x)} for m, x in zip(names, single, strict=True)],
            {"models": listing([signed_percent(x) for x in single])},
        )
    five = figures.filter(table="5", measure="cds_change")["value"].to_numpy()
    both = six.group_by("generator", maintain_order=True).agg(better=(pl.col("value") < 0).all())
    alone = both.filter("better")["generator"].to_list()
    holds = five.argmin() == 3 and alone == ["FLUX 2 Pro"]
    yield Recomputed("largest-reduction", agreed(holds), f"{signed_percent(five.min())}; {listing(alone)}")
    yield Recomputed("paired-tests", NO_DATA, "")


def _judges(figures: pl.DataFrame) -> Iterator[Recomputed]:
    """Table 9: what can be said of pooled correlations."""
    nine = figures.filter(table="9")
    single = nine.filter(pl.col("generator").is_not_null())
    pooled = nine.filter(pl.col("generator").is_null())["value"].to_numpy()
    low, high = float(single["value"].to_numpy().min()), float(single["value"].to_numpy().max())
    p = _correlation_p(low, _GROUPS)
    means = [float(part["value"].to_numpy().mean()) for part in single.partition_by("annotator", "reference")]
    words = {"means": listing([three(x) for x in means])}
    yield Recomputed("pooled-correlation", NO_DATA, "", words=words)
    holds = p < 0.05 and _correlation_p(pooled.min(), 27) < 0.0001
    recomputed = f"{three(low)} to {three(high)}; largest p = {p:.3f}"
    yield Recomputed("correlation-range", agreed(holds), recomputed)


def _correlation_p(r: float, n: int) -> float:
    t = r * math.sqrt((n - 2) / (1 - r * r))
    return float(2 * special.stdtr(n - 2, -abs(t)))


def _significance(figures: pl.DataFrame) -> Iterator[Recomputed]:
    """Totals of Table 10."""
    counts = table(figures, "10", "generator", "group")
    totals = figures.filter(pl.col("table") == "10", pl.col("group").is_null())["value"].to_numpy()
    whole, cells, of_models = int(counts.sum()), counts.size * _OBJECTS, counts.sum(axis=1)
    names = figures.filter(table="10")["group"].drop_nulls().unique(maintain_order=True).to_list()
    columns = counts.sum(axis=0)
    yield Recomputed(
        "table-10",
        agreed(whole == 269 and (of_models == totals).all()),
        f"{whole}; {percent(whole / cells)}; {', '.join(str(int(x)) for x in of_models)}",
        [{"group": g, "significant of 40": int(k)} for g, k in zip(names, columns, strict=True)],
    )
    middle = names.index("middle-aged")
    fewest = [m for m, row in zip(models(figures, "10"), counts, strict=True) if row[middle] == row.min()]
    others = [m for m in models(figures, "10") if m not in fewest]
    yield Recomputed(
        "fewest-significant",
        PARTLY if others and columns.argmin() == middle else AGREES,
        f"fewest or tied in {listing(fewest)}; not in {listing(others)}",
        words={"fewest": int(columns[middle])},
    )
    ethnicity = f"{int(counts[-1, 5:].sum())} of {int(counts[-1].sum())}"
    yield Recomputed("sdxl-ethnicity", AGREES, ethnicity)


def _shifts(figures: pl.DataFrame) -> Iterator[Recomputed]:
    """Counts of Table 13."""
    rows = figures.filter(table="13")
    base = rows.filter(group="base")
    in_text = {"GPT Image-1": 36, "FLUX 2 Pro": 32, "Qwen Image": 32, "Imagen 4": 9, "SDXL": 0}
    total = sum(in_text.values())
    yield Recomputed(
        "table-13-counts",
        agreed(total == 109),
        f"{total}, of which Table 13 lists {base.height}",
        [
            {"model": m, "in the text": k, "in Table 13": base.filter(generator=m).height}
            for m, k in in_text.items()
        ],
        {"listed": base.height, "unlisted": 109 - base.height},
    )
    least = float(rows["value"].to_numpy().min())
    yield Recomputed("table-13-threshold", agreed(least >= 0.70), f"lowest {least:.2f}")
