"""Visual attribute concentration."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from stereotrope.errors import UsageError
from stereotrope.measure import vac
from stereotrope.stats import chao_shen_entropy

MakeLabels = Callable[..., pl.DataFrame]
QUICK = {"n_bootstrap": 300}
SCOPE = ("m", "car")


def plain(found: pl.DataFrame, **levels: str) -> dict[str, object]:
    rows = found.filter(measure="vac", **levels)
    assert rows.height == 1
    return rows.row(0, named=True)


@pytest.fixture
def styles(make_labels: MakeLabels) -> pl.DataFrame:
    return make_labels(
        {
            (*SCOPE, "base"): {"a": 6, "b": 3, "c": 3},
            (*SCOPE, "women"): {"a": 12},
            (*SCOPE, "men"): {"a": 6, "b": 6},
        },
        "style",
    )


def test_a_case_worked_by_hand(styles: pl.DataFrame) -> None:
    # Three values are seen in the cell; H(1/2, 1/4, 1/4) = 1.5 bits, H(1/2, 1/2) = 1 bit.
    found = vac(styles, **QUICK)
    values = {g: plain(found, group=g, attribute="all")["value"] for g in ("base", "men", "women")}
    greatest = math.log2(3)
    assert values == pytest.approx({"base": 1 - 1.5 / greatest, "men": 1 - 1 / greatest, "women": 1.0})
    assert found["floor"].null_count() == found.height


def test_a_taxonomy_says_how_many_values_there_are(styles: pl.DataFrame) -> None:
    found = vac(styles, taxonomy={"style": ["a", "b", "c", "d"]}, **QUICK)
    row = plain(found, group="base", attribute="style")
    assert row["value"] == pytest.approx(1 - 1.5 / 2)
    assert "4 values listed, of which 12 images could show 4" in str(row["method"])


def test_a_value_outside_the_taxonomy_is_invalid_and_counted(styles: pl.DataFrame) -> None:
    row = plain(vac(styles, taxonomy={"style": ["a", "b"]}, **QUICK), group="base", attribute="style")
    assert json.loads(str(row["excluded"])) == {"invalid": 3}
    assert row["value"] == pytest.approx(1 - (math.log2(9) - 6 / 9 * math.log2(6) - 3 / 9 * math.log2(3)))


def test_capped_asks_no_more_values_of_the_images_than_they_could_show(make_labels: MakeLabels) -> None:
    frame = make_labels({(*SCOPE, "base"): {"a": 1, "b": 1, "c": 1, "d": 1}}, "style")
    listed = {"style": [f"v{i}" for i in range(60)] + ["a", "b", "c", "d"]}
    row = plain(vac(frame, taxonomy=listed, definition="capped", **QUICK), attribute="style")
    assert row["value"] == pytest.approx(0.0, abs=1e-12)
    assert (row["definition"], row["flags"]) == ("capped", "small_n,no_prompt_id")
    # Equation 3 of the paper divides by log2 of all 64 values, of which four images show 2 bits of 6.
    row = plain(vac(frame, taxonomy=listed, **QUICK), attribute="style")
    assert (row["definition"], row["value"]) == ("paper", pytest.approx(1 - 2 / 6))


def rarefied(found: pl.DataFrame, **levels: str) -> dict[str, object]:
    return found.filter(measure="vac_rarefied", **levels).row(0, named=True)


def test_a_rarefied_score_worked_by_hand(make_labels: MakeLabels) -> None:
    frame = make_labels({(*SCOPE, "base"): {"a": 2, "b": 1}, (*SCOPE, "women"): {"a": 3}}, "style")
    found = vac(frame, pictures=2, **QUICK)
    # Two of aab are alike in one of three draws, else 1 bit; of values without end any two differ: 1 bit.
    row = rarefied(found, group="base", attribute="style")
    assert row["value"] == pytest.approx(1 - 2 / 3)
    assert "expected of 2 pictures" in str(row["method"])
    # Of a list of two, two draws differ half of the time.
    listed = vac(frame, pictures=2, taxonomy={"style": ["a", "b"]}, **QUICK)
    assert rarefied(listed, group="base", attribute="style")["value"] == pytest.approx(1 - (2 / 3) / 0.5)
    # All agree: of the share u of others, two draws hold one of them with 2u(1 − u), two unlike with u².
    row = rarefied(found, group="women", attribute="all")
    u = 1 - 0.025 ** (1 / 3)
    assert (row["value"], row["high"]) == (1.0, 1.0)
    assert row["low"] == pytest.approx(1 - 2 * u * (1 - u) - u * u)


def test_too_few_labels_have_no_rarefied_score(make_labels: MakeLabels) -> None:
    ten = make_labels({(*SCOPE, "base"): {"a": 6, "b": 4}, (*SCOPE, "women"): {"a": 5, "b": 4}}, "style")
    three = make_labels({(*SCOPE, "base"): {"x": 2, "y": 1}}, "size")
    found = vac(pl.concat([ten, three]), **QUICK)
    row = rarefied(found, group="women", attribute="style")
    assert (row["value"], row["low"], row["undefined"]) == (None, None, "fewer than 10 usable labels")
    mean = rarefied(found, group="base", attribute="all")
    assert mean["value"] == pytest.approx(rarefied(found, group="base", attribute="style")["value"])
    assert "few_attributes" in str(mean["flags"])
    assert plain(found, group="base", attribute="all")["flags"] == "small_n,no_prompt_id"
    assert mean["n"] == 10
    with pytest.raises(UsageError, match="vac: pictures must be at least 2, found 1"):
        vac(ten, pictures=1)


def draws(shares: list[float], n: int, conditions: int, attributes: int, seed: int) -> pl.DataFrame:
    """Labels of conditions drawn from one population."""
    values = np.random.default_rng(seed).choice(len(shares), conditions * n * attributes, p=shares)
    return pl.DataFrame(
        {
            "image_id": np.repeat(np.arange(conditions * n), attributes).astype(str),
            "attribute": [f"a{i}" for i in range(attributes)] * (conditions * n),
            "value": values.astype(str),
            "group": np.repeat(np.arange(conditions), n * attributes).astype(str),
        }
    )


def zipf(k: int) -> list[float]:
    shares = 1 / np.arange(1, k + 1)
    return list(shares / shares.sum())


@pytest.mark.parametrize(
    ("shares", "n"),
    [
        # One number of images of each population.
        pytest.param(shares, n, marks=[] if i % 3 == j else pytest.mark.slow)
        for i, shares in enumerate([zipf(5), zipf(30), [1 / 100] * 100, [0.9, *[0.1 / 11] * 11]])
        for j, n in enumerate((10, 20, 60))
    ],
)
def test_rarefied_scores_compare_whatever_the_number_of_images(shares: list[float], n: int) -> None:
    """Mean and interval hold what ten pictures of the population read, of values without end too."""
    found = vac(draws(shares, n, 300, 1, 4), within=[], n_bootstrap=200)
    found = found.filter(measure="vac_rarefied", attribute="all")
    ten = np.random.default_rng(9).multinomial(10, shares, 50_000) / 10
    true = float(1 + (ten * np.log2(np.maximum(ten, 1e-300))).sum(axis=1).mean() / np.log2(10))
    sd = float(found["value"].std()) / math.sqrt(300)
    assert found["value"].mean() == pytest.approx(true, abs=4 * sd + 0.002)
    held = ((found["low"] <= true) & (true <= found["high"])).mean()
    assert held >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / 300)


def test_chao_shen_stands_beside_the_plug_in(styles: pl.DataFrame) -> None:
    found = vac(styles, **QUICK)
    corrected = found.filter(measure="vac_chao_shen", group="base", attribute="style").row(0, named=True)
    expected = 1 - float(chao_shen_entropy([6, 3, 3])) / math.log2(3)
    assert corrected["value"] == pytest.approx(expected, abs=1e-12)
    assert (corrected["low"], corrected["high"]) == (None, None)
    assert "no interval" in corrected["method"]
    assert corrected["value"] < plain(found, group="base", attribute="style")["value"]
    assert set(vac(styles, definition="released", **QUICK)["measure"]) == {"vac"}


def test_images_that_all_agree_have_an_interval_with_a_width(styles: pl.DataFrame) -> None:
    row = plain(vac(styles, **QUICK), group="women", attribute="style")
    assert (row["value"], row["high"]) == (1.0, 1.0)
    other = 1 - 0.025 ** (1 / 12)
    shares = np.array([1 - other, other / 2, other / 2])
    assert row["low"] == pytest.approx(1 + float(shares @ np.log2(shares)) / math.log2(3), abs=1e-9)
    mean = plain(vac(styles, **QUICK), group="women", attribute="all")
    assert mean["low"] == pytest.approx(row["low"])


def test_without_resamples_there_is_no_end_of_an_interval(styles: pl.DataFrame) -> None:
    found = vac(styles, n_bootstrap=0)
    assert found["value"].count() > 0
    assert found.select("low", "high").count().row(0) == (0, 0)


def test_an_attribute_of_one_value_is_excluded_and_said(styles: pl.DataFrame) -> None:
    constant = styles.with_columns(attribute=pl.lit("text"), value=pl.lit("absent"))
    found = vac(pl.concat([styles, constant]), **QUICK)
    text = plain(found, group="base", attribute="text")
    assert (text["value"], text["undefined"], text["n"]) == (None, "only one value is possible", 12)
    mean = plain(found, group="base", attribute="all")
    assert mean["value"] == pytest.approx(1 - 1.5 / math.log2(3))
    assert mean["flags"] == "few_attributes,no_prompt_id"


def test_conditions_without_a_score_say_why(make_labels: MakeLabels) -> None:
    frame = make_labels(
        {(*SCOPE, "base"): {"a": 5, "b": 5}, (*SCOPE, "men"): {"unclear": 2}, (*SCOPE, "women"): {"a": 1}}
    )
    found = vac(frame, **QUICK)
    men, women = (plain(found, group=g, attribute="all") for g in ("men", "women"))
    assert (men["value"], men["undefined"], men["n"], men["n_excluded"]) == (None, "no usable label", 0, 2)
    assert (women["value"], women["undefined"]) == (None, "a single image shows no concentration")
    assert (women["low"], women["high"]) == (None, None)


def test_released_drops_scores_under_5_per_cent(make_labels: MakeLabels) -> None:
    even = make_labels({(*SCOPE, "base"): {"a": 6, "b": 6}}, "style")
    uneven = make_labels({(*SCOPE, "base"): {"a": 11, "b": 1}}, "text")
    found = vac(pl.concat([even, uneven]), definition="released", **QUICK)
    assert plain(found, attribute="style")["undefined"] == "under 0.05: dropped by the released definition"
    assert plain(found, attribute="all")["value"] == plain(found, attribute="text")["value"]


def test_both_definitions_reproduce_the_simulated_concentrations(shared: Path) -> None:
    with (shared / "data/soda/noise_floor.csv").open(newline="") as file:
        rows = {(row[0], row[1]): row[-2:] for row in csv.reader(file)}
    rng = np.random.default_rng(7)
    cases = {"(.95,.05) x8": [0.95, 0.05], "skew (.9,.1) x8": [0.9, 0.1], "uniform k=5 x8": [0.2] * 5}
    for name, shares in cases.items():
        released, paper = (float(x) for x in rows[name, "20"])
        conditions, n, k = 60, 20, len(shares)
        drawn = rng.choice(k, (conditions, n, 8), p=shares)
        frame = pl.DataFrame(
            {
                "image_id": np.repeat(np.arange(conditions * n), 8).astype(str),
                "attribute": [f"a{i}" for i in range(8)] * (conditions * n),
                "value": drawn.reshape(-1).astype(str),
                "group": np.repeat(np.arange(conditions), n * 8).astype(str),
            }
        )
        taxonomy = {f"a{i}": [str(v) for v in range(k)] for i in range(8)}
        for definition, expected in (("paper", paper), ("released", released)):
            found = vac(frame, within=[], taxonomy=taxonomy, definition=definition, n_bootstrap=0)
            scores = found.filter(measure="vac", attribute="all")["value"].drop_nulls()
            assert abs(scores.mean() - expected) < 4 * scores.std() / math.sqrt(len(scores)) + 0.002


def test_intervals_hold_the_score_expected_at_this_n() -> None:
    rng = np.random.default_rng(8)
    shares = [0.5, 0.25, 0.15, 0.1]
    conditions, n = 200, 20
    frame = pl.DataFrame(
        {
            "image_id": np.arange(conditions * n * 4).astype(str),
            "attribute": np.tile(["a", "b", "c", "d"], conditions * n),
            "value": rng.choice(4, conditions * n * 4, p=shares).astype(str),
            "group": np.repeat(np.arange(conditions), n * 4).astype(str),
        }
    )
    taxonomy = {a: ["0", "1", "2", "3"] for a in "abcd"}
    found = vac(frame, within=[], taxonomy=taxonomy, n_bootstrap=300).filter(measure="vac", attribute="all")
    counts = rng.multinomial(n, shares, 100_000) / n
    expected = float(1 + (counts * np.log2(np.maximum(counts, 1e-300))).sum(axis=1).mean() / 2)
    held = ((found["low"] <= expected) & (expected <= found["high"])).mean()
    assert held >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / conditions)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"taxonomy": {"style": "abc"}}, "taxonomy of 'style' must be a list of values, found 'abc'"),
        ({"taxonomy": {"style": []}}, "taxonomy of 'style' must be a list of values"),
        (
            {"taxonomy": ["style"]},
            "taxonomy must be a mapping of lists of texts, found \\['style'\\]; or a frame",
        ),
        ({"pooled": "phrasing"}, "pooled must be a list of factors"),
        ({"n_bootstrap": -2}, "n_bootstrap must be 0 or more and whole, found -2"),
        ({"level": 0}, "level must lie between 0 and 1"),
        (
            {"definition": "code"},
            "vac: definition must be one of 'paper', 'capped', 'released', found 'code'",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    styles: pl.DataFrame, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        vac(styles, **arguments)


def test_a_baseline_without_a_phrasing_shares_its_values_with_every_phrasing(make_labels) -> None:
    factors = ("object", "phrasing", "group")
    labels = make_labels(
        {
            ("car", None, "base"): {"grey": 20},
            ("car", "for", "women"): {"pink": 10, "grey": 10},
            ("car", "targeted at", "women"): {"red": 10, "grey": 10},
            ("cup", None, "base"): {"blue": 20},
        },
        factors=factors,
    )
    found = vac(labels, within=["object", "phrasing"], n_bootstrap=0).filter(
        measure="vac", attribute="product_colour"
    )
    scores = {(r["object"], r["phrasing"]): (r["value"], r["undefined"]) for r in found.iter_rows(named=True)}
    half = 1 - 1 / math.log2(3)
    assert scores["car", None] == (1.0, None)
    assert scores["car", "for"][0] == pytest.approx(half)
    assert scores["car", "targeted at"][0] == pytest.approx(half)
    assert scores["cup", None] == (None, "only one value is possible")


def test_values_seen_count_over_phrasings_and_mitigations_also_with_a_baseline_in_each(make_labels) -> None:
    factors = ("object", "phrasing", "mitigation", "group")
    labels = make_labels(
        {
            ("car", "for", "none", "base"): {"grey": 20},
            ("car", "for", "none", "women"): {"pink": 10, "grey": 10},
            ("car", "for", "avoiding", "base"): {"grey": 20},
            ("car", "for", "avoiding", "women"): {"red": 10, "grey": 10},
            ("cup", "for", "none", "base"): {"blue": 20},
        },
        factors=factors,
    )

    def score(found: pl.DataFrame, mitigation: str) -> object:
        levels = {"object": "car", "mitigation": mitigation, "group": "women"}
        return plain(found, attribute="product_colour", **levels)["value"]

    within = ["object", "phrasing", "mitigation"]
    found = vac(labels, within=within, n_bootstrap=0)
    three = 1 - 1 / math.log2(3)
    assert (score(found, "none"), score(found, "avoiding")) == (pytest.approx(three),) * 2
    apart = vac(labels, within=within, pooled=(), n_bootstrap=0)
    assert (score(apart, "none"), score(apart, "avoiding")) == (pytest.approx(0, abs=1e-12),) * 2
    assert plain(found, object="cup", attribute="product_colour")["undefined"] == "only one value is possible"


def test_single_attributes_of_few_images_are_held_by_t() -> None:
    rng = np.random.default_rng(32)
    shares = 0.5 ** np.arange(12)
    drawn = rng.choice(12, size=(400, 20), p=shares / shares.sum())
    many = rng.choice(12, size=(4_000, 20), p=shares / shares.sum())
    found = np.stack([(many == value).sum(axis=1) for value in range(12)]) / 20
    bits = -np.where(found > 0, found * np.log2(np.maximum(found, 1e-9)), 0.0).sum(axis=0)
    at = np.arange(drawn.size)
    labels = pl.DataFrame({"image_id": at.astype(str), "object": (at // 20).astype(str)}).with_columns(
        pl.Series("value", [f"v{value}" for value in drawn.ravel()]),
        attribute=pl.lit("hue"),
        group=pl.lit("base"),
        generator=pl.lit("m"),
    )
    taxonomy = {"hue": [f"v{value}" for value in range(12)]}
    rows = vac(labels, taxonomy=taxonomy, within=["object"], n_bootstrap=200)
    rows = rows.filter(measure="vac", attribute="hue")
    true = (1 - bits / np.log2(12)).mean()
    assert ((rows["low"] <= true) & (rows["high"] >= true)).mean() >= 0.91  # by the normal law 0.88
    assert rows["method"].str.contains("t of the bootstrap").all()
