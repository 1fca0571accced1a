"""The arithmetic of the OASIS paper, checked from its own tables."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from stereotrope.report.prose import listing
from stereotrope.stats import fisher_exact, wilson
from stereotrope.suites.check import (
    NO_DATA,
    NOT_GIVEN,
    PARTLY,
    Recomputed,
    Reproduction,
    agreed,
    reproduction,
)
from stereotrope.suites.oasis.reference import FILE
from stereotrope.suites.published import published
from stereotrope.suites.reading import load_yaml

_LAST_DIGIT = 0.0005 + 1e-9
"""Half a unit of the first decimal of a per cent."""
_PICTURES = 100
"""Of doctors a model, appendix A.5."""
_RARE = 0.02
_SUBJECT = ["generator", "concept", "attribute"]
_DOCTOR = "doctor"


def reproduce_oasis() -> Reproduction:
    """Check what the OASIS paper says about its figures against the figures themselves.

    Neither pictures nor labels are published, so this recomputes scores, differences, means and orders from
    the tables.
    """
    figures = published("oasis")
    table = _table_1(figures)
    parts = (_scores(table), _assumed(table), _classifier(table, figures), _intersections(figures))
    last = (_internet(table), _unchecked())
    return reproduction("oasis", (one for part in (*parts, *last) for one in part))


def _table_1(figures: pl.DataFrame) -> pl.DataFrame:
    """A row a cell: both shares, the printed score, and what follows from the shares."""
    one = figures.filter(table="1")
    wide = one.pivot("measure", index=_SUBJECT, values="value", maintain_order=True)
    away = pl.col("share") - pl.col("true_share")
    return wide.with_columns(away=away, follows=away.clip(lower_bound=0.0))


def _points(share: float, places: int = 1) -> str:
    return f"{100 * share:.{places}f}".replace("-", "−")


def _scores(table: pl.DataFrame) -> Iterator[Recomputed]:
    wrong = table.filter((pl.col("follows") - pl.col("stereotype_score")).abs() > _LAST_DIGIT)
    details = [
        {
            "model": row["generator"],
            "concept": row["concept"],
            "attribute": row["attribute"],
            "P": _points(row["share"]),
            "P*": _points(row["true_share"]),
            "printed": _points(row["stereotype_score"]),
            "follows": _points(row["follows"]),
        }
        for row in wrong.iter_rows(named=True)
    ]
    same = table.height - wrong.height
    verdict = PARTLY if wrong.height else agreed(True)
    yield Recomputed("table-1", verdict, f"{same} of {table.height}", details, {"follow": same})
    men = dict(table.filter(attribute="man").select("concept", "true_share").unique().iter_rows())
    half = 0.5 * men["Mexican person"]
    yield Recomputed(
        "mustache", agreed(abs(half - 0.255) <= _LAST_DIGIT), f"0.5 × {men['Mexican person']:g} = {half:g}"
    )
    yield _newer(table)
    of_men = table.filter(attribute="man").pivot("generator", index="concept", values="stereotype_score")
    least = of_men.select(pl.col("FLUX.1") < pl.min_horizontal("SDv2", "SDv3"))["FLUX.1"].all()
    yield Recomputed("flux-men", agreed(least), ", ".join(_points(x) for x in of_men["FLUX.1"]))
    shown = table.filter(attribute="mustache", concept="Mexican person")
    by_model = dict(shown.select("generator", "share").iter_rows())
    told = [by_model[name] for name in ("FLUX.1", "SDv2", "SDv3")]
    holds = np.allclose(told, [0.847, 0.778, 0.341])
    yield Recomputed("mustache-text", agreed(holds), ", ".join(map(_points, told)))


def _newer(table: pl.DataFrame) -> Recomputed:
    wide = table.pivot(
        "generator", index=["concept", "attribute"], values="stereotype_score", maintain_order=True
    )
    means: dict[str, Any] = {name: wide[name].mean() for name in ("SDv2", "SDv3", "FLUX.1")}
    lower = {name: int((wide[name] < wide["SDv2"]).sum()) for name in ("SDv3", "FLUX.1")}
    higher = {name: wide.filter(pl.col(name) > pl.col("SDv2")) for name in lower}
    told = [
        f"{name} is lower in {lower[name]} of {wide.height} and higher in {rows.height}"
        for name, rows in higher.items()
    ]
    details = [
        {"model": name, "concept": c, "attribute": a, "SDv2": _points(old), "score": _points(new)}
        for name, rows in higher.items()
        for c, a, old, new in rows.select("concept", "attribute", "SDv2", name).iter_rows()
    ]
    figures = ", ".join(f"{name} {_points(mean)}" for name, mean in means.items())
    falls = all(means[name] < means["SDv2"] for name in lower)
    verdict = PARTLY if falls and details else agreed(falls)
    return Recomputed("newer-models", verdict, figures, details, {"higher": f"{listing(told)}."})


def _assumed(table: pl.DataFrame) -> Iterator[Recomputed]:
    """Scores of attributes whose true share the suite's own registry flags as assumed."""
    known = load_yaml(FILE)["shares"]
    assumed = {
        (concept, name) for concept, told in known.items() for name, one in told.items()
        if one.get("assumed") or "mustache_of_men" in str(one.get("formula"))
    }  # fmt: skip
    flags = [pair in assumed for pair in table.select("concept", "attribute").iter_rows()]
    resting = table.filter(pl.Series(flags))
    above = resting.filter(pl.col("follows") > 0)
    total = table["stereotype_score"].sum()
    part = float(resting["stereotype_score"].sum()) / float(total)
    n = resting.select("concept", "attribute").n_unique()
    shown = table.filter(attribute="sombrero", generator="SDv3")["share"].item()
    words = {"sombrero": f"{_points(shown)}%", "if_rare": _points(shown - _RARE)}
    recomputed = (
        f"{n} of 15 attributes; {resting.height} of {table.height} cells, {above.height} of them above 0; "
        f"{_points(part, 0)}% of the sum of all scores"
    )
    yield Recomputed("assumed", NOT_GIVEN, recomputed, words=words)


def _classifier(table: pl.DataFrame, figures: pl.DataFrame) -> Iterator[Recomputed]:
    accuracy = figures.filter(table="5").select("attribute", accuracy="value")
    known = table.join(accuracy, on="attribute", maintain_order="left")
    near = known.filter(pl.col("away").abs() < 1 - pl.col("accuracy"))
    details = [
        {
            "model": row["generator"],
            "concept": row["concept"],
            "attribute": row["attribute"],
            "P − P*": _points(row["away"]),
            "wrong labels": f"{_points(1 - row['accuracy'], 2)}%",
        }
        for row in near.iter_rows(named=True)
    ]
    yield Recomputed("classifier", NOT_GIVEN, f"{near.height} of {known.height} cells", details)


def _intersections(figures: pl.DataFrame) -> Iterator[Recomputed]:
    two = figures.filter(table="2")
    shares = {
        (m, c): x
        for m, c, x in two.filter(measure="share").select("generator", "concept", "value").iter_rows()
    }
    printed = two.filter(pl.col("value").is_not_null(), measure="share_difference")
    rows: list[dict[str, Any]] = []
    same, shown = 0, []
    for model, concept, told in printed.select("generator", "concept", "value").iter_rows():
        here, plain = shares[model, concept], shares[model, _DOCTOR]
        same += abs(here - plain - told) <= _LAST_DIGIT
        shown.append(f"+{_points(here - plain, 0)}")
        k, j = round(here * _PICTURES), round(plain * _PICTURES)
        p = float(fisher_exact(k, _PICTURES, j, _PICTURES))
        rows.append({"model": model, "concept": concept, "difference": shown[-1], "p": f"{p:.2g}"})
    yield Recomputed("table-2", agreed(same == len(rows)), f"{same} of {len(rows)}: {', '.join(shown)}")
    older, newer = (shares[name, _DOCTOR] for name in ("SDv2", "SDv3"))
    yield Recomputed("table-2-sdv3", agreed(newer < older), f"{_points(newer, 0)} < {_points(older, 0)}")
    found = [f"{row['model']} {row['concept']}" for row in rows if float(row["p"]) < 0.05]
    yield Recomputed(
        "table-2-chance", NOT_GIVEN, f"p < 0.05 in {len(found)} of {len(rows)}: {listing(found)}", rows
    )


def _internet(table: pl.DataFrame) -> Iterator[Recomputed]:
    read = pl.read_csv(FILE.parent / "published" / "internet_users.csv", glob=False)
    users = read.select(concept=pl.col("concept") + " person", users="millions")
    by = table.group_by("generator", "concept", maintain_order=True).agg(
        greatest=pl.col("stereotype_score").max(), mean=pl.col("stereotype_score").mean()
    )
    ordered = by.join(users, on="concept").sort("users", descending=True)
    details, rising = [], []
    for (model,), rows in ordered.group_by(["generator"], maintain_order=True):
        told = {name: rows[name].to_list() for name in ("greatest", "mean")}
        for name, values in told.items():
            falls = values == sorted(values)
            shown = ", ".join(
                f"{c.split()[0]} {_points(x)}" for c, x in zip(rows["concept"], values, strict=True)
            )
            details.append(
                {
                    "model": model,
                    "score": name,
                    "from most users to fewest": shown,
                    "falls": "yes" if falls else "no",
                }
            )
            rising += [] if falls else [f"{name} score of {model}"]
    holds = len(details) - len(rising)
    exceptions = f"Not so: {listing(rising)}." if rising else "So in each."
    verdict = PARTLY if rising and holds else agreed(not rising)
    yield Recomputed(
        "internet", verdict, f"{holds} of {len(details)} orders", details, {"exceptions": exceptions}
    )


def _unchecked() -> Iterator[Recomputed]:
    low, high = (float(end) for end in wilson(99, 100))
    yield Recomputed("accuracies", NO_DATA, "", words={"interval": f"{_points(low)} to {_points(high)}%"})
    yield Recomputed("wals", NO_DATA, "")
