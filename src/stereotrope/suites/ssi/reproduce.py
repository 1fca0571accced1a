"""The arithmetic of the paper on the Social Stereotype Index, checked from its own tables and sentences."""

from collections.abc import Iterator
from itertools import chain

import numpy as np
import polars as pl

from stereotrope.report.prose import listing
from stereotrope.stats import benjamini_hochberg, special
from stereotrope.suites.check import (
    NO_DATA,
    NOT_GIVEN,
    PARTLY,
    Recomputed,
    Reproduction,
    agreed,
    reproduction,
)
from stereotrope.suites.ssi.printed import (
    ALL,
    HUNDREDTH,
    INITIAL,
    OURS,
    WHOLE,
    beside_initial,
    hundredths,
    per_cent,
    printed_table,
    printed_text,
)
from stereotrope.suites.ssi.reproduce_judge import judge_and_people

_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


def reproduce_ssi() -> Reproduction:
    """Check what the paper says about its figures against the figures themselves.

    Neither pictures nor the judge's answers are printed, so this recomputes means, percentages, tests and
    shares from the tables.
    """
    index, families = printed_table("table05"), printed_table("families")
    compared = beside_initial(index)
    parts = (_means(index), _percentages(compared), _reductions(compared, families), _order(compared))
    tests = (_tests(compared, families), _items(index, families), judge_and_people(index, families))
    return reproduction("ssi", chain(*parts, *tests))


def _means(index: pl.DataFrame) -> Iterator[Recomputed]:
    wide = index.pivot("model", index=["family", "approach"], values="SSI", maintain_order=True)
    mean = wide.select(pl.mean_horizontal(pl.exclude("family", "approach", ALL))).to_series()
    same = (mean - wide[ALL]).abs() <= HUNDREDTH
    details = [
        {"family": f, "approach": a, "Overall": f"{printed:.2f}", "mean of models": f"{own:.4f}"}
        for f, a, printed, own in zip(wide["family"], wide["approach"], wide[ALL], mean, strict=True)
    ]
    yield Recomputed("table-5-means", agreed(same.all()), f"{same.sum()} of {wide.height}", details)


def _percentages(compared: pl.DataFrame) -> Iterator[Recomputed]:
    same = int((compared["follows"] - compared["difference"]).abs().le(WHOLE).sum())
    yield Recomputed("table-5-percent", agreed(same == compared.height), f"{same} of {compared.height}")
    details = [
        {
            "family": row["family"],
            "SSI": f"{row['before']:.2f} → {row['SSI']:.2f}",
            "follows": per_cent(row["follows"], 1),
            "rounding allows": f"{per_cent(row['least'], 1)} to {per_cent(row['most'], 1)}",
        }
        for row in compared.filter(approach=OURS, model=ALL).iter_rows(named=True)
    ]
    ranges = "; ".join(row["rounding allows"] for row in details)
    yield Recomputed("table-5-rounding", NOT_GIVEN, ranges, details)


def _reductions(compared: pl.DataFrame, families: pl.DataFrame) -> Iterator[Recomputed]:
    """The percentages of the abstract, the introduction and the conclusion."""
    ours = compared.filter(approach=OURS, model=ALL).join(families, on="family", maintain_order="left")
    ours = ours.with_columns(
        in_abstract=(pl.col("abstract") + pl.col("follows")).abs() <= WHOLE,
        possible=pl.col("introduction").is_between(-pl.col("least") - WHOLE, -pl.col("most") + WHOLE),
        as_said=(pl.col("introduction") + pl.col("follows")).abs() <= WHOLE,
    )
    falls = [-x for x in ours["follows"]]
    follow = ", ".join(per_cent(x, 1) for x in falls)
    yield Recomputed("reductions-abstract", agreed(ours["in_abstract"].all()), follow)
    details = [
        {
            "family": row["family"],
            "abstract": per_cent(row["abstract"]),
            "introduction": per_cent(row["introduction"]),
            "Table 5": per_cent(-row["follows"], 1),
            "rounding allows the introduction's": "yes" if row["possible"] else "no",
        }
        for row in ours.iter_rows(named=True)
    ]
    yield Recomputed("reductions-introduction", agreed(ours["as_said"].all()), follow, details)
    mean, said = float(np.mean(falls)), float(np.mean(ours["introduction"].to_numpy()))
    holds = abs(mean - printed_text()["average_reduction"]) <= WHOLE
    words = {"introduction": per_cent(said, 1), "most": per_cent(-float(np.mean(ours["most"].to_numpy())), 1)}
    yield Recomputed("average-reduction", agreed(holds), per_cent(mean, 1), words=words)


def _order(compared: pl.DataFrame) -> Iterator[Recomputed]:
    """Who has the lowest index, and whose reductions differ least between models."""
    others = compared.filter(pl.col("approach") != OURS)
    best = others.sort("SSI", maintain_order=True).group_by("family", "model", maintain_order=True).first()
    beside = compared.filter(approach=OURS).join(
        best.select("family", "model", "approach", other="SSI"), on=["family", "model"], maintain_order="left"
    )
    single, whole = beside.filter(pl.col("model") != ALL), beside.filter(model=ALL)
    lower, overall = (int((part["SSI"] < part["other"]).sum()) for part in (single, whole))
    details = [
        {"family": f, "model": m, "our approach": f"{x:.2f}", "lowest other": f"{who} {y:.2f}"}
        for f, m, x, y, who in single.filter(pl.col("SSI") >= pl.col("other"))
        .select("family", "model", "SSI", "other", "approach_right")
        .iter_rows()
    ]
    verdict = PARTLY if overall == whole.height and details else agreed(not details)
    counted = f"{overall} of {whole.height} overall, {lower} of {single.height} by model"
    yield Recomputed("lowest", verdict, counted, details)
    spread = (
        compared.filter(pl.col("model") != ALL)
        .group_by("family", "approach", maintain_order=True)
        .agg(least=pl.max("follows"), most=pl.min("follows"))
        .with_columns(width=pl.col("least") - pl.col("most"))
    )
    narrowest = spread.sort("width").group_by("family").first()
    steady = int((narrowest["approach"] == OURS).sum())
    details = [
        {"family": f, "approach": a, "models from": per_cent(x), "to": per_cent(y), "points": round(z)}
        for f, a, x, y, z in spread.iter_rows()
    ]
    holds = steady == narrowest.height and overall == whole.height
    yield Recomputed("consistent", agreed(holds), f"{steady} of {narrowest.height}", details)


def _tests(compared: pl.DataFrame, families: pl.DataFrame) -> Iterator[Recomputed]:
    """Stars of the paired tests by the number of pairs, and what their t says of sizes."""
    tested = compared.filter(model=ALL).join(families, on="family", maintain_order="left")
    t, queries = tested["t"].to_numpy(), tested["queries"].to_numpy()
    stars = tested["stars"].fill_null("").to_list()
    sizes = {"queries": queries, "queries × models": queries * printed_text()["models"]}
    p = {name: 2 * special.stdtr(n - 1, -t) for name, n in sizes.items()}
    follow = {name: [_stars(one) == own for one, own in zip(p[name], stars, strict=True)] for name in sizes}
    details = [
        {
            "family": f,
            "approach": a,
            "t": f"{x:g}{s}",
            **{f"p, {n} as pairs": f"{p[n][i]:.3g}" for n in sizes},
        }
        for i, (f, a, x, s) in enumerate(
            zip(tested["family"], tested["approach"], t.tolist(), stars, strict=True)
        )
    ]
    counted = "; ".join(f"{sum(same)} of {len(same)} with {name} as pairs" for name, same in follow.items())
    verdict = agreed(all(follow["queries"])) if any(map(all, follow.values())) else PARTLY
    yield Recomputed("stars", verdict, counted, details)
    yield _sizes(tested, sizes["queries × models"], p["queries × models"])
    yield Recomputed("against-baselines", NO_DATA, "")


def _stars(p: float) -> str:
    return next((stars for limit, stars in _STARS if p < limit), "")


def _sizes(tested: pl.DataFrame, n: np.ndarray, p: np.ndarray) -> Recomputed:
    """Differences with the interval that their t implies, d_z and q."""
    t, change = tested["t"].to_numpy(), (tested["SSI"] - tested["before"]).to_numpy()
    reach = special.stdtrit(n - 1, 0.975) * np.abs(change) / t
    q = benjamini_hochberg(p)
    names = zip(tested["family"], tested["approach"], strict=True)
    figures = zip(change, reach, -t / np.sqrt(n), q, strict=True)
    details = [
        {
            "family": family,
            "approach": approach,
            "difference": hundredths(d),
            "95%": f"{hundredths(d - r)} to {hundredths(d + r)}",
            "d_z": hundredths(d_z),
            "q": f"{own:.2g}",
        }
        for (family, approach), (d, r, d_z, own) in zip(names, figures, strict=True)
    ]
    return Recomputed("sizes", NOT_GIVEN, f"q ≤ 0.05 in {int((q <= 0.05).sum())} of {len(q)}", details)


def _items(index: pl.DataFrame, families: pl.DataFrame) -> Iterator[Recomputed]:
    """What Figure 2's shares can be, and which scores a single set can have."""
    initial = index.filter(approach=INITIAL, model=ALL).join(families, on="family", maintain_order="left")
    named = (
        printed_table("figure02")
        .group_by("family")
        .agg(named=pl.len(), told=pl.sum("initial"), greatest=pl.max("initial"))
    )
    rows = initial.join(named, on="family", maintain_order="left").with_columns(
        others=(100 * pl.col("SSI") * pl.col("items") - pl.col("told")) / (pl.col("items") - pl.col("named"))
    )
    details = [
        {
            "family": row["family"],
            "mean over all items": per_cent(100 * row["SSI"]),
            "named items, at most": per_cent(row["greatest"], 1),
            "the others' mean would be": per_cent(row["others"]),
        }
        for row in rows.iter_rows(named=True)
    ]
    yield Recomputed("figure-2", NOT_GIVEN, listing([per_cent(x) for x in rows["others"]]), details)
    felon, n = printed_text()["felon"], families.filter(family="occupational")["items"].item()
    near = {name: min(range(n + 1), key=lambda k: abs(k / n - told)) for name, told in felon.items()}
    holds = [abs(k / n - felon[name]) <= HUNDREDTH for name, k in near.items()]
    recomputed = ", ".join(f"{k} of {n} = {k / n:.4f}" for k in near.values())
    yield Recomputed("felon", agreed(True) if all(holds) else PARTLY, recomputed)
