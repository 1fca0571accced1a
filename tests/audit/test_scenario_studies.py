"""Whole studies of scenarios, from label files to findings: nothing planted, and one model that differs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from stereotrope.audit import Audit
from stereotrope.run import Run

RATIO = {"attribute": "perceived_gender"}
WITHIN = {"within": ["generator", "prompt_group"]}
MEASURES = [
    {"female_ratio": {**RATIO, "by": ["generator", "prompt_group", "scenario"]}},
    {"female_ratio": {**RATIO, "by": ["generator", "prompt_group", "scenario", "variation"]}},
    {"female_ratio": {**RATIO, "by": ["generator", "prompt_group"]}},
    {"mean_ratio": "female_ratio", **WITHIN},
    {"model_deviation": "female_ratio", "within": ["prompt_group"]},
    {"ratio_change": "female_ratio", "group": "generator", "within": ["prompt_group"]},
    {"variation_effect": "female_ratio", **WITHIN},
    {
        "share_difference": {
            **RATIO,
            "of": ["female", "male"],
            "group": "generator",
            "baseline": "a",
            "within": ["prompt_group"],
        }
    },
]
NULL = ("model_deviation", "variation_effect", "ratio_change", "share_difference")


def study(base: Path, rng: np.random.Generator, *, skewed: bool, more: float = 0.0) -> Run:
    """Three models that show women alike, but for ``more`` of one; five wordings of each of 16 scenarios."""
    share = rng.beta(0.4, 0.4, 16) if skewed else np.full(16, 0.5)
    rows = []
    for model in "abc":
        for scenario, usual in enumerate(share):
            for variation in range(5):
                shown = rng.beta(9 * usual + 1e-9, 9 * (1 - usual) + 1e-9) if skewed else usual
                shown = min(1.0, shown + more * (model == "b"))
                scope = (
                    model,
                    "jobs",
                    f"person at job {scenario}",
                    f"v{variation}",
                    f"v{variation}, {scenario}",
                )
                female = rng.random(6) < shown
                rows += [
                    (f"{model}-{scenario}-{variation}-{k}.png", *scope, "female" if is_so else "male")
                    for k, is_so in enumerate(female)
                ]
    names = ("file_name", "model", "prompt_group", "scenario", "variation", "prompt", "perceived_gender")
    pl.DataFrame(rows, schema=list(names), orient="row").write_csv(base / "labels.csv")
    asked = {
        "generators": [
            {"labels": "labels.csv", "name_from": "model", "factors": list(names[2:5]), "prompt": "prompt"}
        ],
        "annotators": [{"labels": "labels.csv", "name": "people", "attributes": ["perceived_gender"]}],
        "measures": MEASURES,
    }
    return Audit.from_text(json.dumps(asked), base=base).run(base / "run")


def told(run: Run) -> list[str]:
    """Sentences of the list of differences."""
    return run.findings.filter(list="difference")["sentence"].to_list()


def test_where_models_are_alike_the_first_sentence_says_so_and_one_that_is_not_is_named(tmp_path) -> None:
    rng = np.random.default_rng(4)
    for name, more in (("alike", 0.0), ("planted", 0.3)):
        (tmp_path / name).mkdir()
        run = study(tmp_path / name, rng, skewed=True, more=more)
        first = run.findings["sentence"][0]
        if more:
            # Pictures of “b” beside those of “a”; ratios of “b” beside those of “a”, of “c” and of all.
            assert "4 of 9 comparisons differ beyond chance" in first
            assert all("“b”" in sentence for sentence in told(run))
        else:
            assert first.startswith("No difference beyond chance in 9 comparisons")
            assert not told(run)


@pytest.mark.slow
@pytest.mark.parametrize("skewed", [False, True])
def test_whole_studies_without_any_effect(tmp_path, skewed, capsys) -> None:
    false, held = 0, []
    for seed in range(14):
        (tmp_path / str(seed)).mkdir()
        run = study(tmp_path / str(seed), np.random.default_rng([9, seed]), skewed=skewed)
        false += bool(told(run))
        rows = run.estimates.filter(pl.col("measure").is_in(NULL), pl.col("scenario").is_null())
        inside = (pl.col("low") <= 1e-9) & (pl.col("high") >= -1e-9)
        held += rows.drop_nulls("low").select(inside).to_series().to_list()
    with capsys.disabled():
        print(f"\nskewed {skewed}: {false} of 14 told, {np.mean(held):.3f} of {len(held)} intervals held")
    assert false <= 3
    assert 0.92 <= np.mean(held) <= 0.99
