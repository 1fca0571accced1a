"""Variety and fidelity of what strategies make, as an encoder of random weights sees them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from functools import cache
from math import gamma, pi, sqrt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from typer.testing import CliRunner

import stereotrope as st
from stereotrope.cli import app
from stereotrope.testing import Loopback
from stereotrope.testing.plant import uniform

WORDS = {"alike": "in the usual way", "varied": "in many ways", "away": "in no way at all"}
"""Level → words by which one picture is drawn for a query, or four and not two, or two far from it."""
TALL, SMALL = "a tall one", "a small one"
N, POOL, NEAR = 8, 120, 40
"""Queries; pictures that the server has; those of them that show a query."""


@cache
def drawing(number: int) -> bytes:
    """One of the pictures of which the server has some for each query."""
    blocks = np.random.default_rng(number).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(blocks.repeat(8, 0).repeat(8, 1)).save(out, "PNG")
    return out.getvalue()


class Encoded:
    """What the model makes of pictures and queries, by transformers alone."""

    def __init__(self, folder: Path, texts: list[str]) -> None:
        import torch
        from transformers import CLIPModel, CLIPProcessor

        model, processor = CLIPModel.from_pretrained(folder), CLIPProcessor.from_pretrained(folder)
        shown = [Image.open(io.BytesIO(drawing(i))).convert("RGB") for i in range(POOL)]
        asked = processor(text=texts, images=shown, return_tensors="pt", padding=True, truncation=True)
        with torch.no_grad():
            out = model.eval()(**asked)
        self.pictures = self._unit(out.image_embeds.numpy())
        self.texts = dict(zip(texts, self._unit(out.text_embeds.numpy()), strict=True))

    @staticmethod
    def _unit(rows):
        return rows.astype(float) / np.linalg.norm(rows, axis=1, keepdims=True)

    def drawn(self, prompt: str, number: int) -> int:
        """Which picture a prompt gets: two in turn that are near its query, or as a suffix says."""
        query = next(text for text in self.texts if prompt.startswith(text))
        level = next((level for level, words in WORDS.items() if words in prompt), "none")
        near = np.argsort(-self.pictures @ self.texts[query])
        if level == "away":
            return int(near[-1 - number % 2])
        return self._apart(near[:NEAR])[number % {"none": 2, "alike": 1, "varied": 4}[level]]

    def _apart(self, near: np.ndarray) -> list[int]:
        """The nearest, and three that are each as far as can be from those before."""
        kept = [int(near[0])]
        for _ in range(3):
            nearest = (self.pictures[near] @ self.pictures[kept].T).max(axis=1)
            kept.append(int(near[np.argmin(nearest)]))
        return [*kept[1:], kept[0]]


def chosen() -> list[dict[str, str]]:
    queries = pl.read_csv(Path(st.__file__).parent / "suites/ssi/queries.csv").filter(family="occupational")
    return queries.head(N).drop("named_in_paper").to_dicts()


def judge(question) -> dict[str, dict[str, object]]:
    """Finds most in sets of two pictures, and little in those of one and of four."""
    rate, found = 0.7 if len(set(question.shas)) == 2 else 0.2, {}
    for item in question.schema["properties"]:
        scored = uniform(*sorted(question.shas), item) < rate
        found[item] = {"reasoning": "", "images": [1] if scored else [], "score": int(scored)}
    return found


def carry_out(*command: str) -> None:
    done = CliRunner().invoke(app, ["--quiet", *command])
    assert done.exit_code == 0, (done.output, done.exception)


@pytest.fixture(scope="module")
def ran(tiny_clip: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Encoded, Path]]:
    """A folder with an audit file and its run, with an encoder and what three suffixes made."""
    folder = tmp_path_factory.mktemp("axes")
    prompts = chosen()
    encoded = Encoded(tiny_clip, [*(row["query"] for row in prompts), TALL, SMALL])
    with Loopback(
        judge=judge, painter=lambda model, prompt, number, size: drawing(encoded.drawn(prompt, number))
    ) as server:
        served = {"base_url": server.url, "key": None}
        file = {
            "suite": "ssi",
            "prompts": prompts,
            "generators": [{"images": "openai:m", "seed": True, **served}],
            "annotators": [
                {
                    "judge": "openai:judge",
                    "rubric": ["occupational"],
                    "query": "query",
                    "repetitions": 1,
                    **served,
                },
                {"encoder": f"clip:{tiny_clip}", "name": "clip"},
            ],
            "resamples": 100,
            "report": {"figures": False},
        }
        (folder / "audit.yaml").write_text(json.dumps(file))
        carry_out("run", str(folder / "audit.yaml"), "-o", str(folder / "run"))
        suffixes = [json.dumps({"suffix": words, "name": level}) for level, words in WORDS.items()]
        carry_out("mitigate", str(folder / "run"), *(part for one in suffixes for part in ("--with", one)))
        yield encoded, folder


def similarity(x: np.ndarray) -> float:
    return float((x @ x.T)[~np.eye(len(x), dtype=bool)].mean())


def vendi(x: np.ndarray) -> float:
    values = np.linalg.eigvalsh(x @ x.T / len(x))
    values = values[values > 1e-12]
    return float(np.exp(-(values * np.log(values)).sum()))


def of_queries(encoded: Encoded, run: st.Run, level: str, score: Callable[[np.ndarray, str], float]) -> float:
    """Mean of a score over the queries of a condition, of the vectors of what was drawn."""
    images = run.images.join(run.prompts, on="prompt_id").filter(mitigation=level)
    parts = images.group_by("query", "text", maintain_order=True).agg("seed").rows()
    shown = {query: [encoded.drawn(text, seed) for seed in seeds] for query, text, seeds in parts}
    return float(np.mean([score(encoded.pictures[drawn], query) for query, drawn in shown.items()]))


def test_what_is_planted_is_told_of_the_level_that_it_is_of_and_of_no_other(ran) -> None:
    told = st.open(ran[1] / "run").findings.filter(
        pl.col("kind").is_in(["homogenisation", "fidelity_change"])
    )
    levels = [json.loads(scope)["mitigation"] for scope in told["scope"]]
    keeps = ["keep less" in one for one in told["sentence"]]
    # Of the four varied pictures one is nearer to the query than both that are drawn without.
    assert sorted(zip(told["kind"], levels, keeps, strict=True)) == [
        ("fidelity_change", "away", True),
        ("fidelity_change", "varied", False),
        ("homogenisation", "alike", False),
    ]
    (more,) = told.filter(pl.Series(levels) == "varied")["sentence"]
    assert "the pictures keep more of what was asked for" in more


def test_likeness_and_fidelity_before_and_after_are_those_of_the_encoder(ran) -> None:
    encoded, folder = ran
    run = st.open(folder / "run")
    means = run.scores.filter(pl.col("family").is_null(), measure="paired_mean", generator="m")
    expected = {
        "mean_similarity": lambda x, query: similarity(x),
        "query_alignment": lambda x, query: float((x @ encoded.texts[query]).mean()),
    }
    for name, score in expected.items():
        for row in means.filter(definition=name).to_dicts():
            told = of_queries(encoded, run, row["mitigation"], score)
            assert row["value"] == pytest.approx(told, abs=1e-5)
        assert means.filter(definition=name)["mitigation"].n_unique() == 4


def wals(x: np.ndarray, direction: np.ndarray) -> float:
    """Centred, less what a direction at random reads."""
    u, sizes, _ = np.linalg.svd((x - x.mean(axis=0)).T, full_matrices=False)
    d = len(direction)
    along = np.abs(u.T @ direction / np.linalg.norm(direction))
    return float(sizes @ along / sizes.sum() - gamma(d / 2) / sqrt(pi) / gamma((d + 1) / 2))


def test_measures_of_ones_own_compare_vendi_scores_and_alignments(ran) -> None:
    encoded, folder = ran
    file = json.loads((folder / "audit.yaml").read_text())
    of, candidates = (
        ["generator", "family", "mitigation"],
        {"tall": {"positive": [TALL], "negative": [SMALL]}},
    )
    file["annotators"].append({"zero_shot": None, "encoder": "clip", "candidates": candidates})
    file["measures"] = [
        {"image_vendi": {"by": [*of, "query"]}},
        {"paired_difference": "image_vendi"},
        {"wals": {"over": "query", "within": of}},
        {"paired_difference": "wals"},
    ]
    (folder / "audit.yaml").write_text(json.dumps(file))
    carry_out("run", str(folder / "audit.yaml"), "-o", str(folder / "run"))
    run = st.open(folder / "run")
    means = run.scores.filter(measure="paired_mean", generator="m")
    told = {(row["definition"], row["mitigation"]): row for row in means.to_dicts() if row["n"]}
    direction = encoded.texts[TALL] - encoded.texts[SMALL]
    expected = {"image_vendi": lambda x, _: vendi(x), "wals": lambda x, _: wals(x, direction)}
    assert set(told) == {(name, level) for name in expected for level in ("none", *WORDS)} - {
        ("wals", "alike")
    }
    for (name, level), row in told.items():
        assert row["value"] == pytest.approx(of_queries(encoded, run, level, expected[name]), abs=1e-5)
    # Pictures that do not vary have no direction in which they do, and a Vendi score of 1.
    assert told["image_vendi", "alike"]["value"] == pytest.approx(1.0)
    lost = run.scores.filter(
        measure="paired_difference", definition="wals", mitigation="alike", generator="m"
    )
    assert lost.select("value", "n", "undefined").rows() == [(None, 0, "no query has a score on both sides")]
