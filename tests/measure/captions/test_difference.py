"""Two models over all prompts that both describe: by hand, against every exchange, and simulated."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from tests.measure.captions.test_findings import NO_LABELS, cell, frame, lexicon

from stereotrope import measure
from stereotrope.errors import UsageError
from stereotrope.measure.captions import caption_measures, delta, representation_difference

Row = dict[str, Any]


def described(
    a: dict[str, int], b: dict[str, int], n: int | tuple[int, int] = 10, **more: Any
) -> list[dict[str, Any]]:
    """Captions of two models: of each prompt how many of ``n`` name the side ``female``."""
    sizes = (n, n) if isinstance(n, int) else n
    rows = []
    for model, counts, size in (("a", a, sizes[0]), ("b", b, sizes[1])):
        for prompt, k in counts.items():
            rows += cell(size, model=model, prompt=prompt, kind={"female": k, "male": size - k}, **more)
    return rows


def prompts(*counts: int) -> dict[str, int]:
    return {f"p{at}": k for at, k in enumerate(counts)}


def compared(rows: list[dict[str, Any]] | pl.DataFrame, **more: Any) -> Row:
    """The only row."""
    given = rows if isinstance(rows, pl.DataFrame) else frame(rows)
    told = representation_difference(given, "kind", of=["female"], groups=["female", "male"], **more)
    return told.row(0, named=True)


A, B = (2, 7, 5, 9, 3, 6, 4, 8), (4, 8, 4, 10, 7, 8, 5, 9)


def test_mean_interval_and_p_are_those_of_the_prompts_differences() -> None:
    row = compared(described(prompts(*A), prompts(*B)))
    gaps = (np.array(A) - np.array(B)) / 10
    assert (row["generator"], row["reference"], row["category"], row["contrast"]) == (
        "a",
        "b",
        "female",
        "generator",
    )
    assert (row["n"], row["n_reference"], row["holds_for"]) == (8, 8, "prompts like these")
    assert row["value"] == pytest.approx(gaps.mean()) == pytest.approx(-0.1375)
    # Student's, drawn on the logit scale of −1 to 1: by hand.
    reach = stats.t.ppf(0.975, 7) * gaps.std(ddof=1) / np.sqrt(8)
    below, above = 1 + gaps.mean(), 1 - gaps.mean()
    at, far = np.log(below / above), reach * (1 / below + 1 / above)
    ends = [2 / (1 + np.exp(-(at + sign * far))) - 1 for sign in (-1, 1)]
    assert [row["low"], row["high"]] == pytest.approx(ends)
    sums = [abs(np.dot(signs, gaps)) for signs in product((1, -1), repeat=8)]
    assert row["p_value"] == pytest.approx(np.mean(np.array(sums) >= abs(gaps.sum()) - 1e-9))
    assert row["p_least"] == pytest.approx(2**-7)


def test_swapped_models_flip_the_sign_and_nothing_else() -> None:
    one, other = compared(described(prompts(*A), prompts(*B))), compared(described(prompts(*B), prompts(*A)))
    assert one["value"] == pytest.approx(-other["value"])
    assert [one["low"], one["high"]] == pytest.approx([-other["high"], -other["low"]])
    assert (one["p_value"], one["p_least"]) == (other["p_value"], other["p_least"])


def test_least_p_is_the_same_however_sides_are_exchanged() -> None:
    turned = [(b, a) if at % 2 else (a, b) for at, (a, b) in enumerate(zip(A, B, strict=True))]
    mixed = compared(described(*(prompts(*side) for side in zip(*turned, strict=True))))
    assert mixed["p_least"] == compared(described(prompts(*A), prompts(*B)))["p_least"]
    assert mixed["p_value"] > 0.5


def test_each_prompt_counts_alike_whatever_its_captions() -> None:
    rows = [
        *described(prompts(10, 10, 10, 10), prompts(0, 0, 0, 0)),
        *described({"q": 100}, {"q": 100}, 100),
    ]
    assert compared(rows)["value"] == pytest.approx(0.8)


def test_below_four_prompts_captions_are_the_units_and_it_holds_for_these_prompts() -> None:
    row = compared(described(prompts(9, 5, 2), prompts(6, 3, 0)))
    assert row["holds_for"] == "these prompts"
    assert row["value"] == pytest.approx(7 / 30)
    assert 0 < row["low"] < 0.05 < row["value"] < row["high"]
    assert "captions exchanged inside prompts" in row["method"]
    assert row["p_least"] < 1e-5


def test_few_captions_of_one_side_cannot_tell_what_is_rare() -> None:
    """One of twenty in each of ten prompts, and none of one: so it is where both are alike, too."""
    row = compared(described(prompts(*[1] * 10), prompts(*[0] * 10), n=(20, 1)))
    assert row["p_value"] > 0.2
    assert row["low"] < 0 < row["high"]
    varied = compared(described(prompts(1, 2, 1, 1, 2, 1, 1, 1, 2, 1), prompts(*[0] * 10), n=(20, 1)))
    assert varied["p_value"] > 0.2
    assert varied["low"] < 0 < varied["high"]


def test_prompts_that_all_differ_alike_have_an_interval_of_their_captions() -> None:
    row = compared(described(prompts(*[6] * 8), prompts(*[4] * 8)))
    assert "no_variation" in row["flags"].split(",")
    assert row["low"] < 0.2 < row["high"]
    assert row["low"] is not None
    assert compared(described(prompts(*A), prompts(*B)))["flags"] == "clustered"


def test_prompts_of_one_model_alone_are_left_out_and_counted() -> None:
    rows = described(prompts(*A), prompts(*B[:6]))
    row = compared(rows)
    assert row["n"] == 6
    assert json.loads(row["excluded"]) == {"of a prompt that the other does not describe": 20}
    none = compared(described({"x": 5}, {"y": 5}))
    assert (none["value"], none["undefined"], none["n"]) == (None, "no prompt that both describe", 0)


def test_prompts_are_told_by_their_ids_and_wordings_of_a_scenario_are_one() -> None:
    rows = described(prompts(*A), prompts(*B))
    ids = frame(rows).with_columns(prompt_id="prompt", prompt=pl.lit("doctor"))
    assert compared(ids)["n"] == 8
    pairs = pl.col("prompt_id").str.extract(r"(\d)").cast(pl.Int64) // 2
    assert compared(ids.with_columns(scenario=pairs.cast(pl.String)))["n"] == 4


def test_seeds_that_prompts_share_widen_it_by_what_they_do_to_one_model() -> None:
    rng = np.random.default_rng(3)
    rows = []
    for model, lucky in (("a", [1, 0] * 5), ("b", [1, 1, 0, 1, 1, 0, 0, 1, 0, 1])):
        for at in range(12):
            for seed in range(10):
                share = 0.9 if lucky[seed] else 0.2
                kind = "female" if rng.random() < share else "male"
                rows.append({"generator": model, "prompt": f"p{at}", "seed": seed, "kind": kind})
    seeded, alone = compared(frame(rows)), compared(frame(rows).drop("seed"))
    assert seeded["high"] - seeded["low"] > 1.3 * (alone["high"] - alone["low"])
    assert seeded["p_value"] > alone["p_value"]
    assert "shared seeds counted" in seeded["method"]


def test_no_group_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="of has no group"):
        representation_difference(frame(described(prompts(1), prompts(2))), "kind", of=[])


def declared(names: list[str]) -> dict[str, Any]:
    """A lexicon of these prompts."""
    whole = lexicon()
    return {**whole, "prompts": dict.fromkeys(names, whole["prompts"]["doctor"])}


def told(rows: list[dict[str, Any]] | pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Estimates and findings."""
    captions = rows if isinstance(rows, pl.DataFrame) else frame(rows)
    names = captions["prompt"].unique(maintain_order=True).to_list()
    estimates = caption_measures(captions, declared(names), n_bootstrap=0)
    return estimates, measure.findings(estimates, NO_LABELS, frames={"captions": [captions]})


def test_a_shift_that_no_prompt_shows_is_told_first_with_its_prompts() -> None:
    shifted = prompts(*(k + 2 for k in (8, 10, 6, 12, 9, 11, 7, 10, 8, 12, 5, 9)))
    shifted["p0"] += 1
    rows = [
        *described(prompts(8, 10, 6, 12, 9, 11, 7, 10, 8, 12, 5, 9), shifted, 20),
        *described({"q": 19}, {"q": 20}, 20),
    ]
    estimates, found = told(rows)
    assert found["sentence"][0].startswith("3 of 40 comparisons differ beyond chance")
    row = found.row(1, named=True)
    assert row["sentence"].startswith(
        "Captions of pictures by b call the kind “female” more often than those by a, over 13 prompts; the "
        "mean difference is 0.10 ["
    )
    assert (row["measure"], row["scope"], row["kind"]) == (
        "representation_difference",
        "{}",
        "model_difference",
    )
    assert len(json.loads(row["image_ids"])) == sum(shifted.values()) + 20
    stored = estimates.filter(measure="representation_difference").row(0, named=True)
    assert (stored["prompt"], stored["n"], stored["value"]) == (None, 13, pytest.approx(-row["value"]))
    # Single prompts with a larger difference stand behind it.
    assert found["value"][2] > row["value"]


def test_each_two_of_three_models_are_a_comparison_over_prompts() -> None:
    rows = described(prompts(*A), prompts(*B))
    rows += [{**row, "generator": "c"} for row in rows if row["generator"] == "a"]
    estimates, found = told(rows)
    pairs = estimates.filter(measure="representation_difference").select("generator", "reference").rows()
    assert pairs == [("a", "b"), ("a", "c"), ("b", "c")]
    # Eight prompts of a pair or two sides of three models, eight of the clearest pair, and three pairs.
    assert "35 comparisons" in found["sentence"][0]


def test_comparisons_name_the_model_that_shows_more_and_the_other() -> None:
    captions = frame(described(prompts(*A), prompts(*B)))
    names = captions["prompt"].unique(maintain_order=True).to_list()
    estimates = caption_measures(captions, declared(names), n_bootstrap=0)
    compared = measure.comparisons(estimates, NO_LABELS, frames={"captions": [captions]})
    for row in compared.filter(kind="model_difference").iter_rows(named=True):
        assert row["contrast"] == "generator"
        assert {json.loads(row["scope"])["generator"], row["reference"]} == {"a", "b"}
        assert row["value"] >= 0


def test_two_prompts_are_told_as_these_and_a_single_one_is_not_compared_again() -> None:
    rows = described({"x": 38, "y": 20}, {"x": 20, "y": 4}, 40)
    _, found = told(rows)
    assert "over these 2 prompts; the mean difference is 0.42" in found["sentence"][1]
    estimates, _ = told(described({"x": 38}, {"x": 20}, 40))
    assert "representation_difference" not in estimates["measure"].to_list()


def test_many_wordings_of_a_single_prompt_are_compared_by_these() -> None:
    rows = frame(described(prompts(*A), prompts(*B)))
    estimates, found = told(rows.with_columns(prompt_id="prompt", prompt=pl.lit("doctor")))
    row = estimates.filter(measure="representation_difference").row(0, named=True)
    assert (row["prompt"], row["n"]) == ("doctor", 8)
    assert found.height


def test_differences_from_a_baseline_model_leave_it_out() -> None:
    estimates, _ = told(described(prompts(*A), prompts(*B)))
    assert "representation_difference" not in delta(estimates, "a")["measure"].to_list()


BASES = (0.1, 0.75)


def drawn(rng: np.random.Generator, n_prompts: int, shift: float, alike: float, n: int = 20) -> pl.DataFrame:
    """Captions of two models: prompts of different base rates, which a model draws away from by itself."""
    base = rng.uniform(*BASES, n_prompts)
    parts = []
    for model, own in (("a", base), ("b", base + shift)):
        share = own if not alike else rng.beta(own * (1 / alike - 1), (1 - own) * (1 / alike - 1))
        kinds = np.where(rng.random((n_prompts, n)) < share[:, None], "female", "male").ravel()
        names = np.repeat([f"p{at}" for at in range(n_prompts)], n)
        parts.append(pl.DataFrame({"generator": model, "prompt": names, "kind": kinds}))
    told = pl.concat(parts).with_row_index("image_id").with_columns(pl.col("image_id").cast(pl.String))
    lists = (pl.lit([], pl.List(pl.String)).alias(name) for name in ("keyword", "implied"))
    return told.with_columns(*lists, prompt_id="prompt", caption=pl.lit("a text"))


def simulated(n_prompts: int, alike: float, audits: int, shift: float = 0.0) -> tuple[float, float]:
    """Part of audits with p ≤ 0.05, and part whose interval covers the truth."""
    rng = np.random.default_rng([n_prompts, round(100 * alike), round(100 * shift)])
    told, covered = 0, 0
    for _ in range(audits):
        row = compared(drawn(rng, n_prompts, shift, alike))
        told += row["p_value"] <= 0.05
        covered += row["low"] <= -shift <= row["high"]
    return told / audits, covered / audits


@pytest.mark.slow
@pytest.mark.parametrize("alike", [0.0, 0.1])
def test_it_keeps_its_level_and_covers(alike: float) -> None:
    false, covered = simulated(12, alike, 120)
    assert false <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 120)
    assert abs(covered - 0.95) <= 3 * np.sqrt(0.05 * 0.95 / 120)


def test_a_shift_of_a_seventh_is_told_in_a_list_of_a_hundred() -> None:
    rng = np.random.default_rng(5)
    firsts = [told(drawn(rng, 30, 0.15, 0.0))[1] for _ in range(2)]
    assert all("over 30 prompts" in found["sentence"][1] for found in firsts)
    assert all("comparisons differ" in found["sentence"][0] for found in firsts)


@pytest.mark.slow
@pytest.mark.parametrize("n_prompts", [4, 8, 30, 200])
@pytest.mark.parametrize("alike", [0.0, 0.1, 0.3])
def test_levels_and_coverage_over_many_audits(n_prompts: int, alike: float) -> None:
    audits = 1_000 if n_prompts < 200 else 300
    error = 3 * np.sqrt(0.05 * 0.95 / audits)
    false, covered = simulated(n_prompts, alike, audits)
    print(f"{n_prompts} prompts, correlation {alike}: level {false:.3f}, coverage {covered:.3f}")
    assert false <= 0.05 + error
    assert 0.95 - error <= covered <= (0.97 if n_prompts > 4 else 1.0) + error
    shifted = simulated(n_prompts, alike, audits, shift=0.15)[1]
    print(f"shifted by 0.15: coverage {shifted:.3f}")
    assert 0.95 - error <= shifted <= (0.97 if n_prompts > 4 else 1.0) + error


@pytest.mark.slow
@pytest.mark.parametrize(("n_prompts", "audits"), [(30, 40), (200, 10)])
@pytest.mark.parametrize("alike", [0.0, 0.1])
def test_lists_of_whole_audits(n_prompts: int, audits: int, alike: float) -> None:
    """Of a planted shift the first difference is the one over prompts; without any it is hardly told."""
    rng = np.random.default_rng([n_prompts, round(10 * alike)])

    def over_prompts(shift: float) -> float:
        lists = [told(drawn(rng, n_prompts, shift, alike))[1] for _ in range(audits)]
        return float(np.mean([f"over {n_prompts} prompts" in (*found["sentence"], "")[1] for found in lists]))

    planted, none = over_prompts(0.15), over_prompts(0.0)
    print(f"{n_prompts} prompts, correlation {alike}: told {planted:.2f} planted, {none:.2f} without")
    assert planted >= (0.9 if n_prompts == 200 or not alike else 0.2)
    assert none <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / audits)
