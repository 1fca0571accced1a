"""Means, totals and shares that the SODA paper gives, recomputed from its tables."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import scipy

from stereotrope.report.numbers import thousands
from stereotrope.suites.check import AGREES, DIFFERS, OPEN_VERDICT, PARTLY, FigureCheck
from stereotrope.suites.objects.matrix import LAST_DIGIT, change, listed, models, percent, table, three

__all__ = ["concentration", "disparity", "divergences", "judges", "shifts", "significance", "variations"]

_MODELS, _OBJECTS, _CONDITIONS, _GROUPS, _ATTRIBUTES, _IMAGES = 5, 8, 10, 9, 8, 20
_LARGEST_DISTANCE = math.sqrt(math.log(2))


def divergences(figures: pl.DataFrame) -> list[FigureCheck]:
    """Table 2 from Table 11."""
    every = table(figures, "11", ["generator", "object"], "group").reshape(_MODELS, _OBJECTS, _GROUPS)
    means = np.vstack([every.mean(axis=1), every.mean(axis=(0, 1))])
    two = figures.filter(table="2")
    overall = two.filter(pl.col("generator").is_null())["value"].to_numpy()
    printed = np.vstack([table(figures, "2", "generator", "group"), overall])
    same = int((np.abs(means - printed) <= LAST_DIGIT).sum())
    names = [*models(figures, "2"), "overall"]
    groups = two["group"].unique(maintain_order=True).to_list()
    details = [
        {"model": m, "group": g, "Table 2": three(printed[i, j]), "from Table 11": f"{means[i, j]:.4f}"}
        for i, m in enumerate(names)
        for j, g in enumerate(groups)
    ]
    return [
        FigureCheck(
            "table-2",
            "Divergence from the baseline (Tables 2 and 11)",
            "Table 2 is the mean over eight objects of Table 11, its last row the mean over all 40",
            "54 cells",
            f"{same} of 54 cells, to the third decimal",
            AGREES if same == means.size else DIFFERS,
            "Every object counts the same, and every model in the last row.",
            details,
        )
    ]


def concentration(figures: pl.DataFrame) -> list[FigureCheck]:
    """Table 4, and the 852 deterministic cases."""
    section = "Concentration and deterministic cases (section 5.3, Table 4)"
    means = table(figures, "4", "generator", "object").mean(axis=1)
    printed = figures.filter(pl.col("table") == "4", pl.col("object").is_null())["value"].to_numpy()
    same = int((np.abs(means - printed) <= LAST_DIGIT).sum())
    cells = _MODELS * _OBJECTS * _CONDITIONS * _ATTRIBUTES
    combinations, groups_only = _MODELS * _OBJECTS * _GROUPS, _MODELS * _OBJECTS * _GROUPS * _ATTRIBUTES
    return [
        FigureCheck(
            "table-4",
            section,
            "The last column of Table 4 is the mean over eight objects",
            listed([three(x) for x in printed]),
            f"{same} of {_MODELS}: {listed([three(x) for x in means])}",
            AGREES if same == len(means) else DIFFERS,
            "Every object counts the same.",
            [
                {"model": m, "Table 4": three(p), "recomputed": f"{x:.4f}"}
                for m, p, x in zip(models(figures, "4"), printed, means, strict=True)
            ],
        ),
        FigureCheck(
            "deterministic-share",
            section,
            "852 cases in which all 20 images share one value, “26.6% of all model-object-demographic "
            "combinations”",
            "852; 26.6%",
            f"852 / {thousands(cells)} = {percent(852 / cells)}",
            PARTLY,
            f"26.6% is of {_MODELS} models × {_OBJECTS} objects × {_CONDITIONS} conditions × "
            f"{_ATTRIBUTES} attributes: the unit is a condition and attribute, the baseline included. "
            f"There are only {combinations} combinations of model, object and group; without the baseline "
            f"there would be {groups_only} cells ({percent(852 / groups_only)}). The count itself cannot "
            "be recomputed, for the labels are not published.",
            [
                {"unit": "model × object × group", "cells": combinations, "852 is": "more than there are"},
                {
                    "unit": "… × attribute, groups only",
                    "cells": groups_only,
                    "852 is": percent(852 / groups_only),
                },
                {"unit": "… × attribute, with baseline", "cells": cells, "852 is": percent(852 / cells)},
            ],
        ),
        FigureCheck(
            "images",
            section,
            "8,000 images; violation rates of 56.4% (SDXL) and 22.2% (Imagen) of 1,600 each",
            "8,000; 1,600",
            f"{thousands(_MODELS * _OBJECTS * _CONDITIONS * _IMAGES)}; "
            f"{thousands(_OBJECTS * _CONDITIONS * _IMAGES)}",
            AGREES,
            "5 × 8 × 10 × 20, and 8 × 10 × 20 a model. The rates are possible shares of 1,600: 902 and "
            "355 images round to them. The labels behind them are not published.",
        ),
    ]


def disparity(figures: pl.DataFrame) -> list[FigureCheck]:
    """The order of Table 3."""
    sums = table(figures, "3", "attribute", "dimension").sum(axis=1)
    ordered = bool((np.diff(sums) <= 0).all())
    names = figures.filter(table="3")["attribute"].unique(maintain_order=True).to_list()
    return [
        FigureCheck(
            "table-3-order",
            "Disparity between groups (Table 3)",
            "The ten attributes stand in the order of their sum over three dimensions",
            "ordered",
            f"ordered, {three(sums[0])} to {three(sums[-1])}" if ordered else "not ordered",
            AGREES if ordered else DIFFERS,
            "The scores themselves are means over models and, for two rows, objects; they cannot be "
            "recomputed.",
            [{"attribute": n.replace("_", " "), "sum": three(s)} for n, s in zip(names, sums, strict=True)],
        )
    ]


def variations(figures: pl.DataFrame) -> list[FigureCheck]:
    """Table 5 against Table 6."""
    section = "Prompt variations (Tables 5 and 6)"
    six = figures.filter(table="6")
    checks = []
    for measure, name in (("cds_change", "ΔCDS"), ("vac_change", "ΔVAC")):
        single = six.filter(measure=measure)["value"].to_numpy()
        pooled = figures.filter(table="5", measure=measure, mitigation="no stereotypes")["value"].item()
        mean = float(single.mean())
        same = abs(mean - pooled) <= LAST_DIGIT + 0.0005
        checks.append(
            FigureCheck(
                f"table-5-{measure.replace('_', '-')}",
                section,
                f"{name} under “avoiding stereotypical styles” in Table 5, as the mean of three models in "
                "Table 6",
                change(pooled),
                change(mean),
                AGREES if same else DIFFERS,
                f"The mean of {listed([change(x) for x in single])} misses it by more than rounding "
                "explains. A mean that weighs the models unequally, such as the change of a pooled "
                "score, lies between them as the published figure does; the paper does not say how it "
                "averaged.",
                [
                    {"model": m, name: change(x)}
                    for m, x in zip(six.filter(measure=measure)["generator"], single, strict=True)
                ],
            )
        )
    five = figures.filter(table="5", measure="cds_change")["value"].to_numpy()
    both = six.group_by("generator", maintain_order=True).agg(better=(pl.col("value") < 0).all())
    alone = both.filter("better")["generator"].to_list()
    checks += [
        FigureCheck(
            "largest-reduction",
            section,
            "“avoiding stereotypical styles” has the largest reduction of CDS; only Flux improves both "
            "scores",
            "−30.9%; Flux",
            f"{change(five.min())}; {listed(alone)}",
            AGREES if five.argmin() == 3 and alone == ["FLUX 2 Pro"] else DIFFERS,
            "Read off Tables 5 and 6. The text of section 5.5.1 points to Table 6 for figures that stand "
            "in Table 5.",
        ),
        FigureCheck(
            "paired-tests",
            section,
            "Paired t-tests of the reduction: p = 0.042 (age), 0.002 (gender), < 0.001 (ethnicity)",
            "0.042; 0.002; < 0.001",
            "",
            OPEN_VERDICT,
            "The tests need CDS of each model, object and dimension under both prompts; only means are "
            "published. There are six pairs a dimension (three models, two objects).",
        ),
    ]
    return checks


def judges(figures: pl.DataFrame) -> list[FigureCheck]:
    """Table 9: what can be said of pooled correlations."""
    section = "Agreement between judges (Table 9)"
    nine = figures.filter(table="9")
    single = nine.filter(pl.col("generator").is_not_null())
    pooled = nine.filter(pl.col("generator").is_null())["value"].to_numpy()
    low, high = float(single["value"].to_numpy().min()), float(single["value"].to_numpy().max())
    p = _correlation_p(low, _GROUPS)
    means = [float(part["value"].to_numpy().mean()) for part in single.partition_by("annotator", "reference")]
    return [
        FigureCheck(
            "pooled-correlation",
            section,
            "Pooled Pearson correlations over 27 pairs of BDS",
            listed([three(x) for x in pooled]),
            "",
            OPEN_VERDICT,
            "A pooled correlation also depends on how the three combinations differ in level, so the "
            f"nine single ones do not give it (their means are {listed([three(x) for x in means])}). It "
            "needs the 27 BDS of each judge; Table 11 is no substitute, for Table 9 was made with "
            "free-form attributes.",
        ),
        FigureCheck(
            "correlation-range",
            section,
            "Single correlations from 0.768 to 0.971, all with p < 0.05; pooled ones with p < 0.0001",
            "0.768 to 0.971; p < 0.05",
            f"{three(low)} to {three(high)}; largest p = {p:.3f}",
            AGREES if p < 0.05 and _correlation_p(pooled.min(), 27) < 0.0001 else DIFFERS,
            "t tests of a correlation with n = 9 and n = 27. They take the nine groups as independent, "
            "though all nine BDS of a combination share one baseline.",
        ),
    ]


def _correlation_p(r: float, n: int) -> float:
    t = r * math.sqrt((n - 2) / (1 - r * r))
    return float(2 * scipy.stats.t.sf(abs(t), n - 2))


def significance(figures: pl.DataFrame) -> list[FigureCheck]:
    """Totals of Table 10."""
    section = "Permutation tests (appendix F, Table 10)"
    counts = table(figures, "10", "generator", "group")
    totals = figures.filter(pl.col("table") == "10", pl.col("group").is_null())["value"].to_numpy()
    whole, cells = int(counts.sum()), counts.size * _OBJECTS
    names = figures.filter(table="10")["group"].drop_nulls().unique(maintain_order=True).to_list()
    middle = names.index("middle-aged")
    fewest = [m for m, row in zip(models(figures, "10"), counts, strict=True) if row[middle] == row.min()]
    others = [m for m in models(figures, "10") if m not in fewest]
    columns = counts.sum(axis=0)
    return [
        FigureCheck(
            "table-10",
            section,
            "269 of 360 combinations are significant at p < 0.01 (74.7%); totals of each model",
            "269; 74.7%; 70, 67, 62, 52, 18",
            f"{whole}; {percent(whole / cells)}; {', '.join(str(int(x)) for x in counts.sum(axis=1))}",
            AGREES if whole == 269 and (counts.sum(axis=1) == totals).all() else DIFFERS,
            "Sums of the cells of Table 10. 292 of 360 at p < 0.05 is 81.1%, as printed; that count has "
            "no table. No correction for 360 tests is made: at p < 0.01 about 4 would come by chance.",
            [{"group": g, "significant of 40": int(k)} for g, k in zip(names, columns, strict=True)],
        ),
        FigureCheck(
            "fewest-significant",
            section,
            "“Across all models, Middle-Aged consistently yields the fewest significant cases”",
            "all models",
            f"fewest or tied in {listed(fewest)}; not in {listed(others)}",
            PARTLY if others and columns.argmin() == middle else AGREES,
            f"Summed over models it has the fewest ({int(columns[middle])} of 40). Flux has fewer for "
            "White, Qwen for Asian; GPT ties with Asian, SDXL with Young adults and Men.",
        ),
        FigureCheck(
            "sdxl-ethnicity",
            section,
            "SDXL's 18 significant combinations are predominantly those of ethnicity",
            "predominantly",
            f"{int(counts[-1, 5:].sum())} of {int(counts[-1].sum())}",
            AGREES,
            "Four of nine groups are of ethnicity, so 8 of 18 would be their share.",
        ),
    ]


def shifts(figures: pl.DataFrame) -> list[FigureCheck]:
    """Counts of Table 13."""
    section = "Dominance shifts (appendix I, Table 13)"
    rows = figures.filter(table="13")
    listed_rows = rows.filter(group="base").height
    named = {"GPT Image-1": 36, "FLUX 2 Pro": 32, "Qwen Image": 32, "Imagen 4": 9, "SDXL": 0}
    shown = {m: rows.filter(group="base", generator=m).height for m in named}
    least = float(rows["value"].to_numpy().min())
    return [
        FigureCheck(
            "table-13-counts",
            section,
            "109 shifts in all: 36, 32, 32, 9 and 0 by model",
            "109",
            f"{sum(named.values())}, of which Table 13 lists {listed_rows}",
            AGREES if sum(named.values()) == 109 else DIFFERS,
            f"The counts in the text add up. Table 13, called comprehensive, shows {listed_rows}; the other "
            f"{109 - listed_rows} are not published. 109 of 2880 comparisons are 3.8%.",
            [{"model": m, "in the text": k, "in Table 13": shown[m]} for m, k in named.items()],
        ),
        FigureCheck(
            "table-13-threshold",
            section,
            "Dominance of at least 0.70 on both sides of every shift",
            "≥ 0.70",
            f"lowest {least:.2f}",
            AGREES if least >= 0.70 else DIFFERS,
            "At n = 20 a dominance of 0.70 has the 95% interval [0.48, 0.85]: another 20 pictures may "
            "fall below.",
        ),
    ]
