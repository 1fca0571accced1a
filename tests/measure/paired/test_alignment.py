"""How near pictures are to the query, whatever a mitigation made of its text."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from stereotrope.measure import query_alignment
from stereotrope.measure.embedding_cells import embeddings_frame
from stereotrope.measure.paired.alignment import query_embeddings_frame

RNG = np.random.default_rng(3)
PROMPTS = pl.DataFrame(
    {
        "prompt_id": ["a0", "a1", "a2", "b0", "b1", "c1"],
        "text": ["a", "a, nicely", "a in a park", "b", "b, nicely", "c, nicely"],
        "negative": None,
        "query": ["a", "a", "a", "b", "b", "c"],
        "family": [None] * 6,
        "mitigation": ["none", "ethical", "refine", "none", "ethical", "ethical"],
    },
    schema_overrides={"negative": pl.String, "family": pl.String},
)
VECTORS = {
    name: RNG.normal(size=4)
    for name in [*PROMPTS["prompt_id"], *(f"{p}-{i}" for p in PROMPTS["prompt_id"] for i in range(2))]
}


def tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    images = pl.DataFrame(
        [(f"{p}-{i}", p, "m", "ok") for p in PROMPTS["prompt_id"] for i in range(2)],
        schema=["image_id", "prompt_id", "generator", "status"],
        orient="row",
    )
    kinds = [("text", p) for p in PROMPTS["prompt_id"]] + [("image", i) for i in images["image_id"]]
    embeddings = pl.DataFrame(
        {
            "subject_kind": [kind for kind, _ in kinds],
            "subject_id": [name for _, name in kinds],
            "encoder": "clip",
            "vector": [VECTORS[name].tolist() for _, name in kinds],
        }
    )
    return images, embeddings


def cosine(one: str, other: str) -> float:
    a, b = VECTORS[one], VECTORS[other]
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_every_picture_is_set_beside_the_query_and_not_the_prompt_that_was_sent() -> None:
    frame = query_embeddings_frame(PROMPTS, *tables())
    by_image = dict(frame.select("image_id", "cosine").iter_rows())
    for prompt, query in (("a0", "a0"), ("a1", "a0"), ("a2", "a0"), ("b0", "b0"), ("b1", "b0")):
        assert by_image[f"{prompt}-1"] == pytest.approx(cosine(f"{prompt}-1", query), abs=1e-6)
    assert by_image["c1-0"] is None
    found = query_alignment(frame, by=("generator", "query", "mitigation"))
    row = found.filter(query="a", mitigation="refine").row(0, named=True)
    assert row["value"] == pytest.approx(np.mean([cosine(f"a2-{i}", "a0") for i in range(2)]), abs=1e-6)
    lost = found.filter(query="c").row(0, named=True)
    assert (lost["value"], lost["undefined"]) == (None, "no vector of the query's text")


def test_without_a_mitigation_it_is_the_alignment_with_the_prompt() -> None:
    images, embeddings = tables()
    plain = PROMPTS.drop("mitigation")
    assert query_embeddings_frame(plain, images, embeddings).equals(
        embeddings_frame(plain, images, embeddings)
    )
