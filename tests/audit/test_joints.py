"""What the parts of a run say of one another: estimates, findings, and an audit file that asks twice."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import stereotrope as st
from stereotrope.audit import Audit
from stereotrope.errors import AuditFileError

GROUPS = ("base", "women", "men")
ATTRIBUTES = ("gender", "colour")
Picture = Mapping[str, Any]


def pictures(rng: np.random.Generator, most: int = 8) -> list[dict[str, Any]]:
    """Pictures of two models, two objects and three groups, each with labels or without."""
    values = {"gender": ["female", "male", "both"], "colour": ["red", "light grey", "teal"]}
    made = []
    for model in ("m1", "m2"):
        for thing in ("car", "cup"):
            for group in GROUPS:
                shares = rng.dirichlet([0.7] * 3)
                for i in range(int(rng.integers(0, most))):
                    row = {"file_name": f"{model}/{thing}-{group}-{i}.png", "model": model, "object": thing}
                    row |= {"group": group, "prompt": f"a {thing} {group} {i % 2}", "seed": str(i)}
                    for name, words in values.items():
                        lacks = rng.random() < 0.25
                        row[name] = rng.choice(
                            ["", "unclear", "refused"] if lacks else words, p=None if lacks else shares
                        )
                    made.append(row)
    return made


def audit(
    folder: Path,
    rows: Sequence[Picture],
    measures: Sequence[Any],
    attributes: Sequence[str] = ATTRIBUTES,
    **more: Any,
) -> Audit:
    folder.mkdir(exist_ok=True)
    with (folder / "labels.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    listed = {
        "labels": "labels.csv",
        "name_from": "model",
        "factors": ["object", "group"],
        "prompt": "prompt",
    }
    said = {"labels": "labels.csv", "name": "people", "attributes": list(attributes), "model": "model"}
    content = {"generators": [listed], "annotators": [said], "measures": list(measures), **more}
    content = {"baseline": {"group": "base"}, "permutations": 99, "resamples": 100, **content}
    return Audit.from_text(json.dumps(content), base=folder)


MEASURES = (
    "share",
    "share_difference",
    "female_ratio",
    "bds",
    "vac",
    "deterministic_share",
    "dominance_shift",
)


VALUE, SMALL = pl.col("value"), 1e-12
BROKEN = {
    "null has a reason, and only null": VALUE.is_null() == pl.col("undefined").is_null(),
    "null has no interval": VALUE.is_null() & (pl.col("low").is_not_null() | pl.col("p_value").is_not_null()),
    "an interval holds its value": (pl.col("low") - SMALL > VALUE) | (pl.col("high") + SMALL < VALUE),
    "bounds do": (pl.col("bound_low") - SMALL > VALUE) | (pl.col("bound_high") + SMALL < VALUE),
    "q is no less than p": pl.col("q_value") < pl.col("p_value") - SMALL,
    "excess is above the floor": (VALUE - pl.col("floor") - pl.col("excess")).abs() > SMALL,
    "a share is of its counts": (
        VALUE
        - pl.col("numerator") / pl.col("denominator")
        + (pl.col("numerator_reference") / pl.col("n_reference")).fill_null(0.0)
    ).abs()
    > SMALL,
}  # fmt: skip
"""What estimates promise → where one breaks it."""


def require_sound(rows: Sequence[Picture], run: st.Run) -> None:
    """What estimates promise, what enters and is left out, and what findings say of both."""
    estimates = run.estimates
    for promise, broken in BROKEN.items():
        assert estimates.filter(broken).height == 0, promise
    for row in estimates.iter_rows(named=True):
        assert sum(json.loads(row["excluded"] or "{}").values()) == row["n_excluded"]
    keys = ["generator", "object", "group"]
    made = pl.DataFrame(rows).rename({"model": "generator"}).group_by(keys).len("asked")
    base = made.filter(group="base").drop("group").rename({"asked": "asked_of_base"})
    of_one = estimates.filter(pl.col("attribute") != "all", pl.col("group").is_not_null())
    joined = of_one.join(made, on=keys, how="left").join(base, on=keys[:2], how="left").fill_null(0)
    asked = pl.col("asked") + pl.when(pl.col("reference") == "base").then("asked_of_base").otherwise(0)
    assert joined.filter(pl.col("n") + pl.col("n_reference") + pl.col("n_excluded") != asked).height == 0
    for finding in told(run).iter_rows(named=True):
        k, n, value = TOLD.search(finding["sentence"]).groups()  # type: ignore[union-attr]
        where = {**json.loads(finding["scope"]), "attribute": finding["attribute"], "category": value}
        (share,) = estimates.filter(measure="share", **where).iter_rows(named=True)
        assert (share["numerator"], share["denominator"]) == (int(k), int(n))


TOLD = re.compile(r"n (\d+) of (\d+) pictures .*?“([^”]+)”")
"""Count, whole and value of a finding."""


def told(run: st.Run) -> pl.DataFrame:
    """What findings tell of pictures."""
    return run.findings.filter(pl.col("list").is_in(["difference", "common"]))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], st.Run]:
    rows = pictures(np.random.default_rng(11), most=16)
    folder = tmp_path_factory.mktemp("study") / "whole"
    return rows, audit(folder, rows, MEASURES).run(folder / "run")


def test_estimates_and_findings_keep_to_what_they_promise(study: tuple[list[Any], st.Run]) -> None:
    rows, run = study
    assert told(run).height > 1
    require_sound(rows, run)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_all_kinds_of_small_studies_keep_to_it(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = pictures(rng, most=int(rng.choice([2, 4, 9, 25])))
    if any(row["group"] == "base" for row in rows):
        require_sound(rows, audit(tmp_path, rows, MEASURES).run(tmp_path / "run"))


@pytest.mark.parametrize("change", ["order", "another model", "another condition"])
def test_what_has_nothing_to_do_with_a_row_changes_nothing_of_it(
    study: tuple[list[Any], st.Run], tmp_path: Path, change: str
) -> None:
    rows, before = study[0], study[1].estimates
    if change == "order":
        rows = [rows[i] for i in np.random.default_rng(3).permutation(len(rows))]
    else:
        column = "model" if change == "another model" else "group"
        level = {"model": "m1", "group": "women"}[column]
        rows = rows + [
            r | {column: "another", "file_name": "more/" + r["file_name"]} for r in rows if r[column] == level
        ]
    now = audit(tmp_path, rows, MEASURES).run(tmp_path / "run").estimates
    scope = ["measure", "generator", "object", "group", "contrast", "reference", "attribute", "category"]
    told = ["value", "low", "high", "p_value", "floor", "n", "n_excluded", "undefined", "flags"]
    kept = before.filter(pl.col("group").is_not_null()).sort(scope).select(*scope, *told)
    assert kept.equals(
        kept.select(scope).join(now, on=scope, how="left", nulls_equal=True).sort(scope).select(kept.columns)
    )


def test_findings_count_the_pictures_that_their_scores_count(tmp_path: Path) -> None:
    seen = {"base": ["red", "blue"] * 20, "women": ["red"] * 30 + ["red"] * 10 + ["blue"] * 20}
    rows = [
        {"file_name": f"{g}{i}.png", "model": "m1", "object": "car", "group": g, "prompt": g}
        | {"colour": colour, "several_products": "no"}
        | {"people_present": "yes" if g == "women" and i >= 30 else "no"}
        for g, colours in seen.items()
        for i, colour in enumerate(colours)
    ]  # fmt: skip
    attributes = ("colour", "people_present", "several_products")
    asked = audit(tmp_path, rows, ["share_difference", "deterministic_share"], attributes, violations="out")
    run = asked.run(tmp_path / "run")
    assert run.estimates.filter(measure="share_difference", category="red")["n"].to_list() == [30]
    (sentence,) = told(run)["sentence"]
    assert sentence.startswith("In 30 of 30 pictures for women the colour of the car is “red”")
    assert len(json.loads(told(run)["image_ids"][0])) == 30


@pytest.mark.parametrize(
    "measures",
    [
        ["share", {"share": "gender", "of": ["female", "male"]}],
        [{"share": "gender"}, {"share": "gender", "value": "male"}],
        ["bds", {"bds": ["colour"]}],
        ["cds", {"cds": {"pairs": True}}],
        ["vac", "vac"],
    ],
)
def test_scores_that_nothing_would_tell_apart_are_refused_before_anything_is_done(
    tmp_path: Path, measures: list[Any]
) -> None:
    rows = pictures(np.random.default_rng(1))
    name = measures[1] if isinstance(measures[1], str) else next(iter(measures[1]))
    with pytest.raises(
        AuditFileError, match=f"measure '{name}': the '{name}' listed before gives .* tell the two apart"
    ):
        audit(tmp_path, rows, measures).plan()


def test_answers_that_are_none_are_counted_by_attribute_and_condition(tmp_path: Path) -> None:
    rows = pictures(np.random.default_rng(2))
    estimates = audit(tmp_path, rows, ["nonanswer_rate"]).run(tmp_path / "run").estimates
    asked = [row for row in rows if (row["model"], row["object"], row["group"]) == ("m1", "car", "women")]
    unclear = sum(row["gender"] == "unclear" for row in asked)
    where = {"generator": "m1", "object": "car", "group": "women", "attribute": "gender"}
    (row,) = estimates.filter(definition="unclear", **where).iter_rows(named=True)
    assert row["value"] == unclear / row["n"]
    assert row["n"] + row["n_excluded"] == len(asked)
    with pytest.raises(
        AuditFileError, match="'unfounded_rate': needs 'known', which an audit file cannot give"
    ):
        audit(tmp_path, rows, ["unfounded_rate"]).plan()


def test_scores_that_columns_tell_apart_may_be_listed_together(tmp_path: Path) -> None:
    listed = [
        {"share": "gender", "value": "male"},
        {"share": "gender", "value": "female"},
        {"share": "colour"},
    ]
    listed += ["bds", {"bds": {"definition": "released"}}, {"share": "gender", "by": ["generator"]}]
    listed += ["female_ratio", {"average": "bds", "over": "object"}, {"average": "bds", "over": "generator"}]
    assert len(audit(tmp_path, pictures(np.random.default_rng(1)), listed).plan().measures) == len(listed)
