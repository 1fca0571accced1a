"""Mean probability of an answer: by hand, what is left out, intervals over pictures and over prompts."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from scipy import special, stats

import stereotrope as st
from stereotrope.errors import TableError
from stereotrope.measure import answer_probability


def frame(yes, **more):
    """Labels whose probability of yes is given, as an annotator writes them."""
    given = [(f"i{n}", "yes" if p >= 0.5 else "no", max(p, 1 - p)) for n, p in enumerate(yes)]
    made = pl.DataFrame(given, schema=["image_id", "value", "confidence"], orient="row")
    return made.with_columns(attribute=pl.lit("follows_prompt"), generator=pl.lit("m"), **more)


def test_the_mean_is_of_the_probability_of_yes_and_student_gives_its_interval_on_the_logit_scale():
    yes = [0.9, 0.3, 0.8, 0.65]
    row = answer_probability(frame(yes)).row(0, named=True)
    assert row["value"] == pytest.approx(np.mean(yes), abs=1e-12)
    mean = np.mean(yes)
    ends = stats.t.interval(0.95, 3, special.logit(mean), stats.sem(yes) / (mean * (1 - mean)))
    assert (row["low"], row["high"]) == pytest.approx(tuple(special.expit(ends)), abs=1e-12)
    assert (row["category"], row["n"], row["holds_for"]) == ("yes", 4, "these prompts")


def test_what_has_no_probability_is_left_out_and_counted():
    labels = frame([0.9, 0.2, 0.7, 0.8]).with_columns(
        confidence=pl.Series([0.9, None, 0.7, 0.8]),
        value=pl.Series(["yes", "no", "perhaps", None]),
        excluded=pl.Series([None, None, None, "refused"]),
    )
    row = answer_probability(labels).row(0, named=True)
    assert (row["value"], row["n"], row["low"]) == (0.9, 1, None)
    assert json.loads(row["excluded"]) == {
        "neither yes nor no": 1,
        "no probability given": 1,
        "refused": 1,
    }
    none = answer_probability(labels.with_columns(confidence=pl.lit(None, pl.Float64))).row(0, named=True)
    assert (none["value"], none["undefined"]) == (None, "no picture with a probability")


def test_over_prompts_the_interval_covers_where_pictures_of_one_prompt_are_alike():
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(150):
        level = rng.beta(8, 2, 12)
        yes = rng.beta(20 * level, 20 * (1 - level), (10, 12)).T.ravel()
        prompts = np.arange(12).repeat(10)
        row = answer_probability(frame(yes, prompt_id=pl.Series(prompts))).row(0, named=True)
        assert row["holds_for"] == "prompts like these"
        inside += row["low"] <= 0.8 <= row["high"]
    assert 0.9 <= inside / 150 <= 0.99


def test_two_labels_of_a_picture_are_refused_and_two_annotators_kept_apart():
    labels = frame([0.9, 0.8])
    with pytest.raises(TableError, match="image 'i0' has two labels of 'follows_prompt'; keep one"):
        answer_probability(pl.concat([labels, labels]))
    both = [labels.with_columns(annotator=pl.lit(name)) for name in "ab"]
    assert answer_probability(pl.concat(both))["annotator"].to_list() == ["a", "b"]


def test_an_audit_reads_confidences_of_a_file(tmp_path):
    told = {"a": "yes,0.9", "b": "no,0.8", "c": "yes,0.7"}
    rows = [f"{name}.png,x,follows_prompt,{said}" for name, said in told.items()]
    (tmp_path / "labels.csv").write_text("\n".join(["file,job,attribute,value,confidence", *rows]))
    audit = st.Audit.from_text(
        "generators: [{labels: labels.csv, name: model, factors: [job]}]\n"
        "annotators: [{labels: labels.csv, name: judge}]\n"
        "measures: [answer_probability]\n",
        base=tmp_path,
    )
    found = audit.run(tmp_path / "run").estimates.filter(measure="answer_probability")
    assert found["value"].to_list() == pytest.approx([(0.9 + 0.2 + 0.7) / 3])


def test_probabilities_are_numbers_from_0_to_1() -> None:
    rows = {"image_id": ["a", "b"], "attribute": "follows_prompt", "value": "yes", "generator": "m"}
    labels = pl.DataFrame(rows)
    found = answer_probability(labels.with_columns(confidence=pl.Series([0.9, float("nan")])))
    assert found.select("value", "excluded").row(0) == (0.9, '{"no probability given": 1}')
    for wrong, told in ((90, "from 0 to 1, found 90"), ("high", ", found 'high'; correct it")):
        with pytest.raises(TableError, match=f"labels: column 'confidence' must hold numbers.*{told}"):
            answer_probability(labels.with_columns(confidence=pl.lit(wrong)))
