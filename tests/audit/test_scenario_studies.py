"""Whole everyday studies, from label file to findings: nothing planted, or one model that differs.

Each has three models, eight topics of five scenarios of five wordings, four pictures of each: 2,400 rows
that are counted. Models alike share the ratio of each scenario; each draws the wordings of it in its own way.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import special
from scipy import stats as sps

from stereotrope.audit import Audit
from stereotrope.run import Run

MODELS, TOPICS, EACH, WORDINGS, PICTURES = "abc", 8, 5, 5, 4
KINDS = ("even", "skewed", "low", "topics")
NAMES = ("file_name", "model", "prompt_group", "scenario", "variation", "prompt", "perceived_gender")
GENDER = {"attribute": "perceived_gender"}
BY = ["generator", "prompt_group"]
MEASURES: list[dict[str, Any]] = [
    {"female_ratio": {**GENDER, "by": [*BY, "scenario"]}},
    {"female_ratio": {**GENDER, "by": [*BY, "scenario", "variation"]}},
    {"female_ratio": {**GENDER, "by": BY}},
    {"mean_ratio": "female_ratio", "within": BY},
    {"cluster_ratio": "female_ratio", "within": ["prompt_group"]},
    {"amplification": "female_ratio", "reference": "reference.csv", "within": BY},
    {"model_agreement": "female_ratio", "within": ["prompt_group"]},
    {"model_deviation": "female_ratio", "within": ["prompt_group"]},
    {"ratio_change": "female_ratio", "group": "generator", "within": ["prompt_group"]},
    {"variation_effect": "female_ratio", "within": BY},
    {
        "share_difference": {
            **GENDER,
            "of": ["female", "male"],
            "group": "generator",
            "baseline": "a",
            "within": ["prompt_group"],
        }
    },
]


@dataclass
class Study:
    """A kind of study: how ratios of scenarios lie, and what is planted.

    shift: On the logit scale, of the ratios of model b.
    alike: Intra-class correlation of the pictures of one wording.
    """

    kind: str
    seed: int
    shift: float = 0.0
    alike: float = 0.1

    def rng(self, *more: int) -> np.random.Generator:
        return np.random.default_rng([11, KINDS.index(self.kind), self.seed, *more])

    def usual(self, each: int, rng: np.random.Generator) -> np.ndarray:
        """Ratios of scenarios, shape ``(topics, each)``; topics are those of the seed."""
        if self.kind == "topics":
            topic = self.rng(1).normal(0, 1.2, (TOPICS, 1))
            return special.expit(topic - 0.5 + rng.normal(0, 0.8, (TOPICS, each)))
        shapes = {"even": (1e6, 1e6), "skewed": (0.4, 0.4), "low": (0.5, 3.0)}
        return rng.beta(*shapes[self.kind], (TOPICS, each)).clip(1e-4, 1 - 1e-4)

    def of_model(self, model: str, usual: np.ndarray) -> np.ndarray:
        return special.expit(special.logit(usual) + self.shift * (model == "b"))

    def wordings(self, ratios: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Ratios of the wordings of scenarios."""
        of = 1 / self.alike - 1 if self.alike else 1e9
        each = np.repeat(ratios[..., None], WORDINGS, axis=-1)
        return rng.beta(each * of + 1e-9, (1 - each) * of + 1e-9)

    def run(self, base: Path) -> Run:
        rng = self.rng()
        usual, rows = self.usual(EACH, rng), []
        for model in MODELS:
            shown = self.wordings(self.of_model(model, usual), rng).reshape(-1, WORDINGS)
            female = rng.random((*shown.shape, PICTURES)) < shown[..., None]
            unclear = rng.random(female.shape) < 0.08
            for (job, wording, k), is_so in np.ndenumerate(female):
                scope = (model, "jobs", f"job {job}", f"v{wording}", f"v{wording} of job {job}")
                told = "unclear" if unclear[job, wording, k] else "female" if is_so else "male"
                rows.append((f"{model}-{job}-{wording}-{k}.png", *scope, told))
        pl.DataFrame(rows, schema=list(NAMES), orient="row").write_csv(base / "labels.csv")
        jobs = pl.DataFrame({"scenario": [f"job {i}" for i in range(usual.size)]})
        topic = pl.Series("cluster", np.arange(usual.size) // EACH).cast(pl.String)
        jobs.with_columns(topic).write_csv(base / "clusters.csv")
        known = jobs.with_columns(reference=pl.Series(usual.ravel()), source=pl.lit("planted"), year=2022)
        known.write_csv(base / "reference.csv")
        listed = {
            "labels": "labels.csv",
            "name_from": "model",
            "factors": list(NAMES[2:5]),
            "prompt": "prompt",
        }
        asked = {
            "prompts": "listed",
            "counted": True,
            "baseline": {"generator": "a"},
            "factors": ["clusters.csv"],
            "generators": [listed],
            "annotators": [{"labels": "labels.csv", "name": "people", "attributes": ["perceived_gender"]}],
            "measures": MEASURES,
            "report": {"figures": False},
        }
        return Audit.from_text(json.dumps(asked), base=base).run(base / "run")

    def held(self, run: Run) -> Iterator[tuple[str, bool]]:
        """Of every interval whether it holds what scenarios, wordings and pictures like these read."""
        rng = self.rng(2)
        usual = self.usual(4_000, rng)
        ratios = {m: self.of_model(m, usual) for m in MODELS}
        mine = {m: self.of_model(m, self.usual(EACH, self.rng())).ravel() for m in MODELS}
        seen = {m: self._seen(ratios[m].ravel(), rng) for m in MODELS}
        everywhere = np.mean([ratios[m].mean(axis=1) for m in MODELS], axis=0)
        for row in run.estimates.drop_nulls("low").iter_rows(named=True):
            model, other = row["generator"], row["reference"]
            match row["measure"]:
                case "female_ratio" if row["scenario"] and row["variation"] is None:
                    true = mine[model][int(row["scenario"].split()[1])]
                case "mean_ratio":
                    true = ratios[model].mean()
                case "cluster_ratio":
                    of = ratios[model].mean(axis=1) if model else everywhere
                    true = of[int(row["cluster"])]
                case "amplification_mean":
                    true = (usual - ratios[model]).mean()
                case "ratio_change":
                    true = ratios[model].mean() - ratios[other].mean()
                case "model_agreement":
                    true = 0.0 if self.kind == "even" else sps.spearmanr(seen[model], seen[other]).statistic
                case _:
                    continue
            yield row["measure"], bool(row["low"] <= true <= row["high"])

    def _seen(self, ratios: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Ratios that so many pictures read."""
        shown = self.wordings(ratios, rng)
        n = rng.binomial(PICTURES, 0.92, shown.shape)
        return rng.binomial(n, shown).sum(axis=1) / n.sum(axis=1).clip(1)


def told(run: Run) -> list[str]:
    """Sentences of the list of differences."""
    return run.findings.filter(list="difference")["sentence"].to_list()


def test_where_models_are_alike_the_first_sentence_says_so(tmp_path: Path) -> None:
    run = Study("topics", 1).run(tmp_path)
    assert run.findings["sentence"][0].startswith("No difference beyond chance in ")
    assert not told(run)


def test_a_model_that_differs_is_named_and_no_other(tmp_path: Path) -> None:
    study = Study("skewed", 1, shift=1.2)
    run = study.run(tmp_path)
    assert told(run)
    assert all("generator “b”" in sentence for sentence in told(run))
    held = [one for _, one in study.held(run)]
    assert np.mean(held) > 0.9


@pytest.mark.slow
def test_whole_studies_tell_of_nothing_where_nothing_is_planted_and_of_no_other_model(
    tmp_path, capsys
) -> None:
    nulls = [Study(kind, seed, alike=a) for kind in KINDS for a in (0.0, 0.1, 0.3) for seed in range(5)]
    planted = [Study(kind, 100 + seed, shift=1.0) for kind in KINDS for seed in range(5)]
    false, found, wrong, held = 0, 0, 0, defaultdict(list)
    for number, study in enumerate([*nulls, *planted]):
        (tmp_path / str(number)).mkdir()
        run = study.run(tmp_path / str(number))
        sentences = told(run)
        false += bool(sentences) and not study.shift
        found += len(sentences) if study.shift else 0
        wrong += sum("generator “b”" not in one for one in sentences) if study.shift else 0
        for measure, one in study.held(run):
            held[measure].append(one)
    with capsys.disabled():
        print(f"\n{false} of {len(nulls)} null studies tell something; {wrong} of {found} told are false")
        for measure, each in held.items():
            print(f"{measure}: {np.mean(each):.3f} of {len(each):,} intervals hold")
    assert false <= 0.1 * len(nulls)
    assert found >= len(planted)
    assert wrong <= 0.05 * found
    assert all(np.mean(each) >= 0.91 for each in held.values())
