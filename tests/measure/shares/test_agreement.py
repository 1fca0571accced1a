from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from stereotrope.errors import TableError, UsageError
from stereotrope.measure import agreement, confusion


def given(values: list[str | None], attribute: str = "text", **more: object) -> pl.DataFrame:
    ids = [f"i{k}" for k in range(len(values))]
    frame = pl.DataFrame({"image_id": ids, "attribute": attribute, "value": values, **more})
    return frame.with_columns(pl.col("value").cast(pl.String))


def test_accuracy_and_kappa_by_hand() -> None:
    machine = given(["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15)
    human = given(["y"] * 25 + ["n"] * 25)
    found = agreement(machine, human)
    assert found["definition"].to_list() == ["accuracy", "cohen_kappa"]
    assert found["value"].to_list() == pytest.approx([0.7, 0.4])
    assert (found["low"] < found["value"]).all()
    assert (found["high"] > found["value"]).all()


def test_pairs_without_a_usable_label_are_counted_by_side() -> None:
    row = agreement(given(["y", "unclear", None, "n"]), given(["y", "y", "n", "invalid"])).row(0, named=True)
    assert row["n"] == 1
    assert row["excluded"] == '{"label: missing": 1, "label: unclear": 1, "reference: invalid": 1}'


def test_images_that_one_side_lacks_are_counted() -> None:
    row = agreement(given(["y", "n"]), given(["y", "n", "n"])).row(0, named=True)
    assert (row["n"], row["excluded"]) == (2, '{"label: not labelled": 1}')
    row = agreement(given(["y", "n", "n"]), given(["y", "n"])).row(0, named=True)
    assert (row["n"], row["excluded"]) == (2, '{"reference: not labelled": 1}')


def test_nothing_in_common_is_undefined() -> None:
    found = agreement(given([None, "unclear"]), given(["y", "y"]))
    assert found["value"].to_list() == [None, None]
    assert found["undefined"].to_list() == ["no image with a usable label from both"] * 2


def test_kappa_is_undefined_without_variation_and_full_agreement_has_no_kappa_interval() -> None:
    found = agreement(given(["y"] * 12), given(["y"] * 12))
    assert found["undefined"].to_list() == [None, "both gave one value throughout"]
    assert found["value"].to_list() == [1.0, None]
    row = agreement(given(["y", "n"] * 6), given(["y", "n"] * 6)).row(1, named=True)
    assert (row["value"], row["low"], row["flags"]) == (1.0, None, "no_prompt_id,no_variation")


def test_factors_split_the_agreement() -> None:
    machine = given(["y", "n", "y", "y"], generator=["a", "a", "b", "b"])
    found = agreement(machine, given(["y", "n", "n", "y"]), by=("attribute", "generator"))
    accuracy = found.filter(definition="accuracy")
    assert accuracy.select("generator", "value").rows() == [("a", 1.0), ("b", 0.5)]


def test_kappa_interval_covers() -> None:
    rng = np.random.default_rng(14)
    # Two raters right with probability 0.85 on balanced classes: p_o = 0.745, κ = 0.49.
    hits = []
    for _ in range(150):
        truth = rng.integers(0, 2, size=120)
        sides = [np.where(rng.uniform(size=120) < 0.85, truth, 1 - truth) for _ in "ab"]
        frames = [given(side.astype(str).tolist()) for side in sides]
        row = agreement(*frames).row(1, named=True)
        hits.append(row["low"] <= 0.49 <= row["high"])
    assert 0.91 < np.mean(hits) < 0.985


def test_confusion_drops_nothing() -> None:
    counted = confusion(given(["y", "unclear", "n"]), given(["y", "y", "y", "n"]))
    assert counted.rows() == [
        ("text", "n", "(not labelled)", 1),
        ("text", "y", "(unclear)", 1),
        ("text", "y", "n", 1),
        ("text", "y", "y", 1),
    ]
    assert counted["n"].sum() == 4


def test_agreement_over_attributes_together_or_of_double_labels_is_refused() -> None:
    with pytest.raises(UsageError, match="by must hold 'attribute'"):
        agreement(given(["y"]), given(["y"]), by=("generator",))
    with pytest.raises(TableError, match="has two labels"):
        agreement(given(["y"]), pl.concat([given(["y"]), given(["n"])]))


def test_accuracy_over_four_prompts_speaks_of_prompts_like_these() -> None:
    wrong = ["n"] * 8 + ["y"] * 24
    alone, together = (
        agreement(given(wrong, prompt_id=prompts), given(["y"] * 32)).row(0, named=True)
        for prompts in (["p"] * 32, [f"p{at // 8}" for at in range(32)])
    )
    assert alone["value"] == together["value"] == 0.75
    assert (alone["holds_for"], together["holds_for"]) == ("these prompts", "prompts like these")
    assert together["high"] - together["low"] > 1.5 * (alone["high"] - alone["low"])
