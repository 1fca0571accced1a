"""An audit judged with errors of a known size: what it says of judge, shares and divergences is so."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from tests.calibrate.conftest import rows_of, spec, unseen

import stereotrope as st
from stereotrope.stats import js_divergence

ERRORS = {"none": 0.0, "tenth": 0.1, "quarter": 0.25}
TEXTS = ("text_presence", "background_text_presence")
IMAGES = 40
KEYS = ("object", "group", "attribute")


@pytest.fixture(scope="module")
def audited(checked, tmp_path_factory):
    """An audit that takes the check of three judges, and the planted share of every value."""
    server = checked.server
    painter = {"images": "openai:painter", "base_url": server.url, "key": None, "seed": True, "price": 0}
    judges = [
        spec(name, server.url, price=0, concurrency=2, check=str(checked.calibration.run.path))
        for name in ERRORS
    ]
    audit = {
        "suite": "objects",
        "objects": ["cup", "car"],
        "dimensions": {"ethnicity": ["White", "Asian"]},
        "images_per_prompt": IMAGES,
        "permutations": 99,
        "resamples": 100,
        "generators": [painter],
        "annotators": judges,
        "measures": ["share", "bds"],
    }
    folder = tmp_path_factory.mktemp("known")
    with unseen():
        run = st.Audit.from_text(json.dumps(audit), name="audit.yaml").run(folder / "run")
    planted = {
        (row["object"], row["group"], attribute): shares
        for row in run.prompts.iter_rows(named=True)
        for attribute, shares in server.plant.shares("painter", row["text"]).items()
    }
    return run, planted


def beside(audited, *attributes: str) -> pl.DataFrame:
    """Corrected and raw shares with the planted ones, and whether these are inside their intervals."""
    run, planted = audited
    found = run.estimates.filter(
        pl.col("measure").is_in(["corrected_share", "raw_share"]), pl.col("attribute").is_in(attributes)
    )
    true = [planted[tuple(row[k] for k in KEYS)].get(row["category"], 0.0) for row in found.to_dicts()]
    return found.with_columns(planted=pl.Series(true)).with_columns(
        inside=pl.col("planted").is_between(pl.col("low") - 1e-9, pl.col("high") + 1e-9)
    )


def covered(shares: pl.DataFrame, judge: str, measure: str) -> float:
    own = shares.filter(annotator=judge, measure=measure)
    assert own["inside"].null_count() == 0
    return float(own["inside"].mean())


def planted_divergence(planted, thing: str, group: str, attributes: list[str]) -> float:
    found = []
    for attribute in attributes:
        sides = [planted[thing, g, attribute] for g in ("base", group)]
        values = sorted({*sides[0], *sides[1]})
        found.append(js_divergence(*(np.array([s.get(v, 0.0) for v in values]) * 1e6 for s in sides)))
    return float(np.mean(found))


def test_each_card_tells_the_error_that_was_planted(checked) -> None:
    cards = {card["annotator"]: card for card in checked.calibration.cards}
    for name, error in ERRORS.items():
        accuracies = list(rows_of(cards[name], "accuracy").values())
        assert len(accuracies) == 4
        assert sum(row["low"] <= 1 - error <= row["high"] for row in accuracies) >= 3
    # At the very limit of 0.9, neither is claimed.
    assert [cards[name]["fit"] for name in ERRORS] == [True, None, False]
    assert "quarter is unfit: accuracy (" in cards["quarter"]["sentence"]


def test_the_audit_keeps_the_cards_of_its_judges(checked, audited) -> None:
    run, _ = audited
    told = {card["annotator"]: card["sentence"] for card in run.info["judge_cards"]}
    sentences = {card["annotator"]: card["sentence"] for card in checked.calibration.cards}
    assert told == {name: sentences[name] for name in ERRORS}


def test_corrected_intervals_hold_planted_shares_that_raw_ones_of_a_judge_that_errs_miss(audited) -> None:
    shares = beside(audited, *TEXTS, "product_colour")
    for name in ERRORS:
        assert covered(shares, name, "corrected_share") >= 0.9
    assert covered(shares, "none", "raw_share") >= 0.9
    texts = beside(audited, *TEXTS)
    for name in ("tenth", "quarter"):
        assert covered(texts, name, "raw_share") < covered(texts, name, "corrected_share")
    assert covered(texts, "quarter", "raw_share") < 0.5


def test_corrected_shares_are_nearer_on_average_and_say_that_they_are_less_certain(audited) -> None:
    shares = beside(audited, *TEXTS).filter(category="present")
    for name in ("tenth", "quarter"):
        raw, corrected = (shares.filter(annotator=name, measure=m) for m in ("raw_share", "corrected_share"))
        off = [(frame["value"] - frame["planted"]).mean() for frame in (raw, corrected)]
        assert abs(off[1]) < off[0]
        wider = (corrected["high"] - corrected["low"]) > (raw["high"] - raw["low"])
        inner = (corrected["low"] > 0) & (corrected["high"] < 1)  # an end of the range cuts the others
        assert inner.sum() >= 3 or name == "quarter"
        assert wider.filter(inner).all()
        assert (corrected["n"] == IMAGES).all()
        assert (corrected["n_reference"] == 240).all()


def test_a_label_that_no_checked_picture_truly_had_leaves_the_raw_share_alone(audited) -> None:
    # The calibrated generator has fewer backgrounds than the judges' slips.
    shares = beside(audited, "background_colour").filter(annotator="quarter")
    corrected, raw = (shares.filter(measure=m) for m in ("corrected_share", "raw_share"))
    assert corrected["value"].null_count() == corrected.height == raw.height
    assert corrected["undefined"].str.starts_with("never checked: ").all()
    assert raw["value"].null_count() == 0


def test_errors_alike_for_all_groups_hide_divergences_and_make_none(audited) -> None:
    run, planted = audited
    every = run.estimates.filter(measure="bds")
    attributes = sorted(set(every["attribute"]) - {"all"})
    scores = every.filter(attribute="all").sort("annotator", "object", "group")
    nothing = scores.filter(group="White")
    assert nothing.height == 2 * len(ERRORS)
    assert (nothing["adjusted_low"] <= 0).all()
    # All annotators read the same pictures: what chance made of an object's comes up more than once in six.
    assert (nothing["q_value"] <= 0.05).sum() <= 2
    assert (nothing["p_value"] > 0.05 / 12).all()
    cued = scores.filter(pl.col("group") != "White")
    true = {
        (row["object"], row["group"]): planted_divergence(planted, row["object"], row["group"], attributes)
        for row in cued.to_dicts()
    }
    means = {name: cued.filter(annotator=name)["adjusted"].mean() for name in ERRORS}
    assert means["quarter"] < means["tenth"] < means["none"]
    for row in cued.to_dicts():
        if row["annotator"] == "none":
            assert row["adjusted_low"] <= true[row["object"], row["group"]] <= row["adjusted_high"]
        if row["annotator"] == "quarter":
            assert row["adjusted"] < true[row["object"], row["group"]]
