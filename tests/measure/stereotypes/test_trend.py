"""Mean and greatest score of a concept, and how they go with a covariate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import stereotrope as st
from stereotrope import measure
from stereotrope.errors import AuditFileError, MetadataError, TableError, UsageError
from stereotrope.suites.published import published

PLAIN = ["measure", "definition", "generator", "concept", "attribute", "category", "value"]


def users(names: list[str], values: list[float], **columns) -> pl.DataFrame:
    frame = pl.DataFrame({"concept": names, "covariate": values})
    return frame.with_columns(pl.lit(value).alias(name) for name, value in columns.items())


NATIONS = ["Indian person", "Mexican person", "Iranian person"]


def test_figure_3_follows_from_table_1_but_for_flux() -> None:
    scores = published("oasis").filter(measure="stereotype_score").select(PLAIN)
    found = measure.stereotype_trend(scores, users(NATIONS, [881.3, 96.8, 78.1], source="WPR", year=2024))
    trend = found.filter(measure="stereotype_trend")
    told = {(r["generator"], r["category"]): (r["value"], r["p_value"]) for r in trend.iter_rows(named=True)}
    third = pytest.approx(1 / 3)
    for model in ("SDv2", "SDv3"):
        assert told[model, "mean"] == told[model, "greatest"] == (pytest.approx(-1.0), third)
    assert told["FLUX.1", "mean"] == told["FLUX.1", "greatest"] == (pytest.approx(-0.5), 1.0)
    assert trend["source"].unique().to_list() == ["OASIS, section 4.2; covariate: WPR, 2024"]
    mean = found.filter(measure="stereotype_mean", generator="SDv3", concept="Iranian person")
    assert mean["value"].item() == pytest.approx((49.8 + 68.8 + 47 + 44.1 + 65.7) / 500)
    most = found.filter(measure="stereotype_greatest", generator="SDv3", concept="Iranian person")
    assert most.select("value", "category").row(0) == (pytest.approx(0.688), "turban")


def labels(
    shares: dict[str, dict[str, float]], n: int, rng: np.random.Generator, model: str = "m"
) -> pl.DataFrame:
    parts = [
        pl.DataFrame(
            {
                "image_id": [f"{concept}-{i}" for i in range(n)],
                "attribute": attribute,
                "concept": concept,
                "generator": model,
                "value": np.where(rng.uniform(size=n) < share, "yes", "no"),
            }
        )
        for concept, told in shares.items()
        for attribute, share in told.items()
    ]
    return pl.concat(parts)


def known(shares: dict[str, dict[str, float]]) -> pl.DataFrame:
    rows = [(c, a, x, "made up") for c, told in shares.items() for a, x in told.items()]
    return pl.DataFrame(rows, schema=["concept", "attribute", "reference", "source"], orient="row")


@pytest.mark.slow
def test_where_nothing_is_above_both_read_their_floors() -> None:
    rng = np.random.default_rng(3)
    shares = {"one": {"a": 0.5, "b": 0.2, "c": 0.05}}
    many = pl.concat([labels(shares, 25, rng, model=f"m{i}") for i in range(150)])
    found = measure.stereotype_trend(measure.stereotype_score(many, known(shares)))
    floors = {}
    for kind in ("mean", "greatest"):
        rows = found.filter(measure=f"stereotype_{kind}")
        assert rows.height == 150
        (floors[kind],) = rows["floor"].round(9).unique()
        error = rows["value"].std() / np.sqrt(150)
        assert rows["value"].mean() == pytest.approx(floors[kind], abs=3.5 * error)
    assert floors["greatest"] > 1.5 * floors["mean"]


def test_without_a_covariate_there_are_levels_alone_and_what_lacks_is_counted() -> None:
    shares = {"one": {"a": 0.5, "b": 0.2}, "two": {"a": 0.5, "b": 0.2}}
    true = known(shares).with_columns(
        reference=pl.when((pl.col("concept") == "two") | (pl.col("attribute") == "b"))
        .then(None)
        .otherwise("reference")
    )
    scores = measure.stereotype_score(labels(shares, 25, np.random.default_rng(1)), true)
    found = measure.stereotype_trend(scores)
    assert found["measure"].unique().sort().to_list() == ["stereotype_greatest", "stereotype_mean"]
    one, two = (found.filter(concept=c, measure="stereotype_mean").row(0, named=True) for c in ("one", "two"))
    assert (one["n"], one["excluded"], one["flags"]) == (1, '{"no true share": 1}', "one_level")
    assert (two["value"], two["undefined"]) == (None, "no attribute has a score")


def test_too_few_or_constant_concepts_have_no_trend() -> None:
    scores = published("oasis").filter(measure="stereotype_score", generator="SDv2").select(PLAIN)
    few = measure.stereotype_trend(scores, users(["Indian person", "nobody"], [1.0, 2.0]))
    row = few.filter(measure="stereotype_trend").row(0, named=True)
    assert (row["undefined"], row["n"]) == ("fewer than 3 concepts with score and covariate", 1)
    assert row["excluded"] == '{"not in the covariate": 2}'
    same = measure.stereotype_trend(scores, users(NATIONS, [1.0] * 3)).filter(measure="stereotype_trend")
    assert set(same["undefined"]) == {"scores or covariate do not vary"}
    with pytest.raises(
        TableError, match="covariate: concept 'Indian person' stands twice; keep one row each"
    ):
        measure.stereotype_trend(scores, users(["Indian person"] * 2, [1.0, 2.0]))


AUDIT = """\
prompts: {template: "A photo of a/an {concept}", concept: [Mexican person, Indian person]}
generators: ['openai:x']
annotators: [{questions: 'openai:judge', attributes: {hat: ["yes", "no"]}}]
measures:
  - {stereotype_score: {reference: oasis}}
  - {stereotype_trend: {covariate: users.csv}}
"""


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (
            None,
            AuditFileError,
            r"audit.yaml:6: measure 'stereotype_trend': covariate: no file 'users.csv' there",
        ),
        (
            "concept,covariate,source\nx,many,WPR\n",
            MetadataError,
            r"users.csv:2: column 'covariate' must hold a number",
        ),
        (
            "concept,covariate,source\nx,inf,WPR\n",
            MetadataError,
            r"users.csv:2: .* must hold a number, found 'inf'",
        ),
        (
            "concept,users,source\nx,3,WPR\n",
            MetadataError,
            r"users.csv:1: no column 'covariate' \(the number\)",
        ),
        ("concept,covariate\nx,3\n", MetadataError, r"users.csv:1: no column 'source'"),
    ],
)
def test_a_covariate_that_cannot_be_used_is_told_with_its_line(tmp_path: Path, text, error, message) -> None:
    if text is not None:
        (tmp_path / "users.csv").write_text(text)
    with pytest.raises(error, match=message):
        st.Audit.from_text(AUDIT, base=tmp_path).plan()


def test_an_audit_names_a_file(tmp_path: Path) -> None:
    (tmp_path / "users.csv").write_text("concept,covariate,source,year\nIndian person,881.3,WPR,2024\n")
    call = st.Audit.from_text(AUDIT, base=tmp_path).plan().measures[-1]
    assert call.tables["covariate"].row(0) == ("Indian person", "WPR", "2024", 881.3)
    assert call.arguments["within"] == ["generator"]


def test_scores_of_further_factors_are_refused_and_not_left_out() -> None:
    scores = (
        published("oasis").filter(measure="stereotype_score").select(PLAIN).with_columns(style=pl.lit("x"))
    )
    with pytest.raises(
        TableError, match=r"no row tells only 'concept' and within=\['generator'\] apart, .*'style'"
    ):
        measure.stereotype_trend(scores)


def test_scores_may_have_been_in_pandas() -> None:
    shares = {"one": {"a": 0.5, "b": 0.2}, "two": {"a": 0.5, "b": 0.2}}
    scores = measure.stereotype_score(labels(shares, 25, np.random.default_rng(1)), known(shares))
    assert measure.stereotype_trend(scores.to_pandas()).equals(measure.stereotype_trend(scores))


@pytest.mark.parametrize("wrong", [-1, 1.5, None])
def test_draws_that_are_none_are_refused(wrong: object) -> None:
    scores = published("oasis").filter(measure="stereotype_score").select(PLAIN)
    for name in ("seed", "n_permutations"):
        with pytest.raises(UsageError, match=f"stereotype_trend: {name} must be 0 or more and whole"):
            measure.stereotype_trend(scores, **{name: wrong})
