"""How large told differences of scores are, as `stereotrope power` says: held against formulas."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, norm
from typer.testing import CliRunner

import stereotrope as st
from stereotrope import measure
from stereotrope.audit.detection import AuditDetection
from stereotrope.audit.made_run import Making, made_scores
from stereotrope.audit.power import Power
from stereotrope.cli.app import app
from stereotrope.errors import UsageError
from stereotrope.suites.reading import audit_template

MODELS = "".join(
    f"  - {{images: openai:{name}, base_url: 'http://localhost:1/v1', price: {{image: 0.01}}}}\n"
    for name in ("one", "two")
)


@pytest.fixture(autouse=True)
def key(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none is used")


@cache
def stereotypes(n: int, size: float = 0.3) -> AuditDetection:
    """Fifteen scores of one model, each beside a share that is known."""
    text = audit_template("oasis").replace("images_per_prompt: 50", f"images_per_prompt: {n}")
    assert f"images_per_prompt: {n}\n" in text
    return AuditDetection(st.Audit.from_text(text).plan(), size)


@cache
def true_shares() -> np.ndarray:
    plan = st.Audit.from_text(audit_template("oasis")).plan()
    rows = made_scores(plan, 1.0, Making([0])).estimates.filter(measure="true_share")
    return rows["value"].drop_nulls().to_numpy()


def exact_power(size: float, n: int) -> float:
    """How often a share that is so much above the true one is told: binomial p times as many as there are."""
    told = []
    for true in true_shares():
        counts = np.arange(n + 1)
        p = binom.sf(counts - 1, n, true)
        # Every score could have as small a p: its greatest count is that of each picture.
        enough = p * true_shares().size <= stereotypes(n).level
        if true + size <= 1:
            told.append(binom.pmf(counts, n, true + size)[enough].sum())
    return float(np.mean(told))


@pytest.mark.parametrize("n", [20, 50])
def test_scores_beside_known_shares_are_told_as_often_as_the_binomial_law_says(n: int) -> None:
    (kind,) = stereotypes(n).kinds
    assert (kind.measure, kind.contrast, kind.n_comparisons) == ("stereotype_score", None, 15)
    least = kind.smallest(0.8)
    assert least is not None
    assert exact_power(least, n) == pytest.approx(0.8, abs=0.08)
    for size in (0.1, 0.2, 0.3):
        assert kind.power(size) == pytest.approx(exact_power(size, n), abs=0.08)


def test_as_many_pictures_as_are_named_tell_what_is_wanted() -> None:
    detection = stereotypes(50, 0.18)
    (kind,) = detection.kinds
    n = detection.pictures(kind)
    assert n is not None
    assert exact_power(0.18, n) == pytest.approx(0.8, abs=0.12)
    once, more = detection.price(50), detection.price(n)
    assert once is not None
    assert more == pytest.approx([cost * n / 50 for cost in once])
    assert stereotypes(50).pictures(kind) == 50, "as many as are asked for are enough"


def test_values_that_come_evenly_are_as_frequent_whatever_the_pictures() -> None:
    plan = stereotypes(50).plan
    few, many = (
        made_scores(plan, factor, Making([3], evenly=True)).estimates.filter(measure="share")
        for factor in (1.0, 8.0)
    )
    chance = made_scores(plan, 1.0, Making([3])).estimates.filter(measure="share")
    place = ["concept", "attribute", "category"]

    def beside(one: pl.DataFrame) -> float:
        both = one.join(many.select(*place, end="value"), on=place)
        return float((both["value"] - both["end"]).abs().max())

    assert few["n"].max() == 50
    assert beside(few) <= 2 / 50
    assert beside(chance) > 4 / 50


def test_models_differ_only_where_they_are_made_unlike() -> None:
    text = audit_template("everyday")
    start, end = text.index("generators:\n"), text.index("# Who looks at the pictures")
    plan = st.Audit.from_text(text[:start] + "generators:\n" + MODELS + text[end:]).plan()
    apart = []
    for unlike in (0.0, 1.0):
        made = made_scores(plan, 5.0, Making([1], unlike=unlike, evenly=True)).estimates
        ratios = made.filter(measure="mean_ratio")["value"].to_numpy()
        apart.append(np.ptp(ratios))
    assert apart[0] < 0.01 < apart[1]


def deviation(seed: int, odds: float) -> tuple[float, float]:
    """p of two models' deviation over 25 scenarios of five wordings by 8 pictures, and its true size."""
    rng = np.random.default_rng(seed)
    share = rng.random(25)
    shares = np.stack([share, share * odds / (1 - share + share * odds)], axis=1)
    drawn = np.sqrt(0.1) * rng.normal(size=(25, 2, 5, 1)) + np.sqrt(0.9) * rng.normal(size=(25, 2, 5, 8))
    seen = (drawn < norm.ppf(shares)[:, :, None, None]).mean(axis=(2, 3))
    rows = [("ab"[m], "all", f"s{s}", seen[s, m], 40) for s, m in np.ndindex(*seen.shape)]
    ratios = pl.DataFrame(
        rows, schema=["generator", "prompt_group", "scenario", "value", "n"], orient="row"
    ).with_columns(
        measure=pl.lit("female_ratio"),
        definition=pl.lit("everyday"),
        attribute=pl.lit("gender"),
        category=pl.lit("female"),
    )
    (p,) = measure.model_deviation(ratios, within=["prompt_group"])["p_value"].drop_nulls().unique()
    return float(p), float(abs((shares[:, 1] - shares[:, 0]).mean()) / 2)


@pytest.mark.slow
def test_deviations_of_models_are_told_as_often_as_in_studies_made_elsewhere(capsys) -> None:
    text = audit_template("everyday")
    start, end = text.index("generators:\n"), text.index("# Who looks at the pictures")
    plan = st.Audit.from_text(text[:start] + "generators:\n" + MODELS + text[end:]).plan()
    detection = AuditDetection(plan)
    (kind,) = [one for one in detection.kinds if one.measure == "model_deviation"]
    for odds in (1.3, 1.5, 1.8):
        made = [deviation(seed, odds) for seed in range(1_000)]
        told = np.mean([p * detection.n_comparisons <= detection.level for p, _ in made])
        size = float(np.mean([size for _, size in made]))
        with capsys.disabled():
            print(f"\na deviation of {size:.3f}: predicted {kind.power(size):.2f}, is {told:.2f}")
        # An audit has one such comparison: what is predicted for other seeds strays by 0.04.
        assert kind.power(size) == pytest.approx(told, abs=0.12)


def test_what_power_says_is_not_said_again_and_what_cannot_be_told_has_no_line() -> None:
    text = """\
suite: objects
objects: [car, cup]
dimensions: {kind: [us, them]}
images_per_prompt: 8
generators: [calibrated]
annotators: [colour]
measures: [refusal_rate, share_difference]
"""
    plan = st.Audit.from_text(text).plan()
    detection = AuditDetection(plan, besides=Power(plan).measures)
    assert detection.n_comparisons == 2 * 2 * 3
    assert detection.kinds == []


def test_what_compares_nothing_has_no_kinds_and_what_cannot_be_is_refused() -> None:
    text = "prompts: {template: 'a {thing}', thing: [cup, car]}\nimages_per_prompt: 4\n"
    text += "generators: [calibrated]\nannotators: [colour]\nmeasures: [{share: product_colour}]\n"
    plan = st.Audit.from_text(text).plan()
    assert AuditDetection(plan).kinds == []
    with pytest.raises(UsageError, match=r"detection: icc must lie in \[0, 1\), found 1"):
        AuditDetection(plan, icc=1)
    with pytest.raises(UsageError, match=r"detection: size must be above 0, found 0"):
        AuditDetection(plan, 0)


def test_what_is_too_large_to_be_made_up_so_often_has_no_kinds() -> None:
    text = audit_template("oasis").replace("images_per_prompt: 50", "images_per_prompt: 6000")
    detection = AuditDetection(st.Audit.from_text(text).plan())
    assert detection.too_large
    assert detection.kinds == []


def test_the_command_says_it_in_words_and_for_scripts(tmp_path) -> None:
    file = tmp_path / "audit.yaml"
    file.write_text(audit_template("oasis"), encoding="utf-8")
    words = CliRunner().invoke(app, ["power", str(file)])
    assert words.exit_code == 0
    assert "Differences of scores, 50 pictures a prompt, one alone among 15 comparisons" in words.output
    told = json.loads(CliRunner().invoke(app, ["power", str(file), "--json"]).output)
    (kind,) = told["others"]
    assert told["all_comparisons"] == kind["comparisons"] == 15
    assert kind["by"] == ["generator", "concept"]
    assert 0.2 < kind["smallest"] < 0.35
    assert kind["pictures"] == 50
    assert kind["cost"][0] > 0
