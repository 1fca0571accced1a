"""Ratios of clusters of scenarios and their ranks."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats as sps

import stereotrope as st
from stereotrope import measure
from stereotrope.errors import AuditFileError, TableError, UsageError
from stereotrope.stats import wilson


def named(clusters: list[str | None]) -> pl.DataFrame:
    return pl.DataFrame({"scenario": [f"s{i}" for i in range(len(clusters))], "cluster": clusters})


def together(found: pl.DataFrame, name: str) -> pl.DataFrame:
    return found.filter(pl.col("generator").is_null(), measure=name)


def test_means_spreads_and_ranks_are_those_counted_by_hand(ratios) -> None:
    frames = [ratios([0.9, 0.7, 0.1, 0.3]), ratios([0.7, 0.7, 0.3, 0.1], generator="o")]
    found = measure.cluster_ratio(pl.concat(frames), named(["care", "care", "metal", "metal"]))
    rows = {(r["measure"], r["generator"], r["cluster"]): r["value"] for r in found.iter_rows(named=True)}
    assert rows["cluster_ratio", None, "care"] == pytest.approx(0.75)
    assert rows["cluster_ratio", "m", "care"] == pytest.approx(0.8)
    assert rows["cluster_spread", None, "care"] == pytest.approx(np.std([0.8, 0.7], ddof=1))
    assert [rows["cluster_rank", g, c] for g in (None, "m", "o") for c in ("care", "metal")] == [1, 2] * 3
    row = together(found, "cluster_ratio").row(0, named=True)
    # Two scenarios speak of themselves: Wilson's of four shares of 200 pictures, squared and added.
    shares = np.array([0.9, 0.7, 0.7, 0.7])
    low, high = wilson(200 * shares, 200)
    reach = [np.sqrt(((end - shares) ** 2).sum()) / 4 for end in (low, high)]
    assert (row["low"], row["high"]) == pytest.approx((0.75 - reach[0], 0.75 + reach[1]))
    assert (row["n"], row["holds_for"]) == (2, "these prompts")
    whole = measure.cluster_ratio(frames[0], named(["care"] * 4))
    row = together(whole, "cluster_ratio").row(0, named=True)
    x, reach = 0.0, sps.t.ppf(0.975, 3) * np.std([0.9, 0.7, 0.1, 0.3], ddof=1) / 2 / 0.25
    assert (row["low"], row["high"]) == pytest.approx(tuple(1 / (1 + np.exp([x + reach, x - reach]))))
    assert (row["n"], row["holds_for"]) == (4, "prompts like these")


def test_scenarios_that_a_model_did_not_keep_are_in_no_mean_over_models(ratios) -> None:
    frames = [ratios([0.9, None, 0.1]), ratios([0.7, 0.5, 0.3], generator="o")]
    found = measure.cluster_ratio(pl.concat(frames), named(["care", "care", "metal"]))
    row = together(found, "cluster_ratio").row(0, named=True)
    assert (row["value"], row["n"], row["excluded"]) == (pytest.approx(0.8), 1, '{"not kept": 1}')
    own = found.filter(generator="o", measure="cluster_ratio", cluster="care").row(0, named=True)
    assert (own["value"], own["n"]) == (pytest.approx(0.6), 2)


def test_a_cluster_of_one_scenario_or_of_equal_ones_is_flagged(ratios) -> None:
    found = measure.cluster_ratio(
        ratios([0.5, *[0.2] * 4, None, 0.4, 0.9]), named(["a", *"bbbb", "c", "d", "d"])
    )
    rows = {(r["measure"], r["cluster"]): r for r in found.filter(generator="m").iter_rows(named=True)}
    one, equal, empty = (rows["cluster_ratio", name] for name in "abc")
    assert (one["value"], one["low"], one["flags"]) == (0.5, None, "one_level")
    assert (equal["low"], equal["flags"]) == (None, "no_variation")
    assert (empty["value"], empty["undefined"]) == (None, "no scenario has a share")
    assert rows["cluster_spread", "a"]["undefined"] == "a single scenario has no spread"
    assert rows["cluster_spread", "b"]["value"] == 0
    assert rows["cluster_rank", "a"]["flags"] == "one_level"
    assert rows["cluster_rank", "a"]["low"] is not None
    assert rows["cluster_rank", "c"]["undefined"] == "no scenario has a share"
    nothing = measure.cluster_ratio(ratios([None, None]), named(["a", "a"]))
    assert nothing["undefined"].unique().to_list() == ["no scenario has a share"]


def test_ranks_have_no_interval_where_nothing_says_how_scenarios_vary(ratios) -> None:
    single = measure.cluster_ratio(ratios([0.5, 0.2]), named(["a", "b"])).filter(measure="cluster_rank")
    assert single["value"].to_list() == [1, 2, 1, 2]
    assert single["low"].null_count() == 4
    assert single["holds_for"].null_count() == 4


def test_ties_share_their_mean_rank(ratios) -> None:
    found = measure.cluster_ratio(ratios([0.5, 0.25, 0.25, 0.5, 0.0]), named(["a", "a", "b", "b", "c"]))
    assert together(found, "cluster_rank")["value"].to_list() == [1.5, 1.5, 3]


def test_clusters_can_stand_in_the_estimates(ratios) -> None:
    clusters = named(["care", "care", "metal"])
    frame = ratios([0.9, 0.7, 0.1])
    inside = frame.join(clusters, on="scenario", maintain_order="left")
    apart = frame.with_columns(cluster=pl.lit(None, pl.String))
    found = measure.cluster_ratio(pl.concat([inside, apart]))
    assert found.equals(measure.cluster_ratio(frame, clusters))


def test_what_does_not_fit_is_one_message(ratios) -> None:
    with pytest.raises(TableError, match="no column 'cluster', and no clusters are given; pass a frame"):
        measure.cluster_ratio(ratios([0.5]))
    twice = pl.concat([named(["a"]), named(["b"])])
    with pytest.raises(TableError, match="scenario 's0' is in 'a' and in 'b'; keep it in one"):
        measure.cluster_ratio(ratios([0.5]), twice)
    with pytest.raises(UsageError, match="'cluster' is compared and cannot be in within"):
        measure.cluster_ratio(ratios([0.5]), named(["a"]), within=["cluster"])


@pytest.mark.slow
def test_every_cluster_of_a_study_of_the_published_size_has_its_ratio(ratios) -> None:
    rng = np.random.default_rng(5)
    shares = rng.beta(0.5, 0.8, 3217)
    frame = pl.concat(
        [ratios((rng.binomial(200, shares) / 200).tolist(), generator=f"m{k}") for k in range(5)]
    )
    clusters = named([f"c{i % 394}" for i in range(3217)])
    assert measure.cluster_ratio(frame, clusters).height == 394 * 6 * 3


AUDIT = """\
prompts:
  - {text: a nurse, scenario: nurse, cluster: care}
  - {text: a carer, scenario: carer, cluster: care}
  - {text: a welder, scenario: welder, cluster: metal}
generators: ['openai:x']
annotators: [{questions: 'openai:judge', attributes: {perceived_gender: [female, male]}}]
measures:
  - {female_ratio: {attribute: perceived_gender, by: [generator, scenario]}}
  - {cluster_ratio: female_ratio, within: [], MORE}
"""


def test_an_audit_takes_clusters_from_its_prompts() -> None:
    call = st.Audit.from_text(AUDIT.replace(", MORE", "")).plan().measures[-1]
    assert call.tables["clusters"].rows() == [("nurse", "care"), ("carer", "care"), ("welder", "metal")]
    with pytest.raises(AuditFileError, match=r":9: .* no factor 'topic'; the prompts have scenario, cluster"):
        st.Audit.from_text(AUDIT.replace("MORE", "cluster: topic")).plan()
    with pytest.raises(AuditFileError, match="clusters cannot be given here: those of an audit are a factor"):
        st.Audit.from_text(AUDIT.replace("MORE", "clusters: mine.csv")).plan()
