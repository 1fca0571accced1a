"""Precision, recall and F1 by value: by hand, picture by picture, intervals, and what is undefined."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import stereotrope as st
from stereotrope.measure import agreement, class_agreement


def looks(truth, given, prompts=None):
    made = [
        pl.DataFrame({"image_id": [f"i{n}" for n in range(len(side))], "attribute": "gender", "value": side})
        for side in (truth, given)
    ]
    if prompts is not None:
        made[1] = made[1].with_columns(prompt_id=pl.Series(prompts))
    return made


def by_hand(found):
    return {row[:2]: row[2:] for row in found.select("category", "definition", "value", "n").iter_rows()}


def test_worked_by_hand():
    human, machine = looks(list("fffmmmmm"), list("ffmfmmmu"))
    machine = machine.with_columns(excluded=pl.when(pl.col("value") == "u").then(pl.lit("unclear")))
    found = class_agreement(machine, human)
    assert by_hand(found) == {
        ("f", "precision"): (2 / 3, 3),
        ("f", "recall"): (2 / 3, 3),
        ("f", "f1"): (2 / 3, 4),
        ("m", "precision"): (3 / 4, 4),
        ("m", "recall"): (3 / 4, 4),
        ("m", "f1"): (3 / 4, 5),
    }
    assert set(found["excluded"]) == {'{"label: unclear": 1}'}
    # F1 by its own definition, of counts
    assert found.filter(category="f", definition="f1")["value"].item() == 2 * 2 / (3 + 3)


def test_equal_to_a_count_picture_by_picture():
    rng = np.random.default_rng(5)
    values = np.array(["female", "male", "other"])
    truth = rng.choice(values, 300, p=[0.5, 0.4, 0.1]).tolist()
    given = [t if rng.random() < 0.8 else rng.choice(values) for t in truth]
    human, machine = looks(truth, given)
    found = by_hand(class_agreement(machine, human))
    for value in values:
        hits = misses = alarms = 0
        for t, v in zip(truth, given, strict=True):
            hits += t == v == value
            misses += t == value != v
            alarms += v == value != t
        precision, recall = hits / (hits + alarms), hits / (hits + misses)
        assert found[value, "precision"] == (pytest.approx(precision, abs=1e-12), hits + alarms)
        assert found[value, "recall"] == (pytest.approx(recall, abs=1e-12), hits + misses)
        harmonic = 2 / (1 / precision + 1 / recall)
        assert found[value, "f1"] == (pytest.approx(harmonic, abs=1e-12), hits + misses + alarms)


def test_a_value_that_one_side_never_has_is_undefined_with_its_reason():
    human, machine = looks(list("ffmm"), list("ffff"))
    found = class_agreement(machine, human)
    row = found.filter(category="m", definition="precision").row(0, named=True)
    assert (row["value"], row["low"], row["undefined"]) == (
        None,
        None,
        "the annotator never gives this value",
    )
    assert found.filter(category="m", definition="recall")["value"].item() == 0
    assert found.filter(category="m", definition="f1")["value"].item() == 0
    turned = class_agreement(human, machine)
    reason = turned.filter(category="m", definition="recall")["undefined"].item()
    assert reason == "the reference never has this value"
    empty = class_agreement(machine.with_columns(excluded=pl.lit("refused")), human)
    assert set(empty["undefined"]) == {"no image with a usable label from both"}


@pytest.mark.slow
@pytest.mark.parametrize("prompts", [1, 30])
def test_intervals_cover(prompts):
    rng = np.random.default_rng(7)
    hits = dict.fromkeys(("precision", "recall", "f1"), 0)
    share, good, n = 0.4, 0.85, 240
    true = {"recall": good, "precision": share * good / (share * good + (1 - share) * (1 - good))}
    true["f1"] = 2 * true["precision"] * true["recall"] / (true["precision"] + true["recall"])
    sides = [], []
    for study in range(200):
        truth = np.where(rng.random(n) < share, "f", "m")
        # With several prompts the annotator errs more on some of them.
        ability = np.full(n, good) if prompts == 1 else rng.beta(8.5, 1.5, prompts).repeat(n // prompts)
        given = np.where(rng.random(n) < ability, truth, np.where(truth == "f", "m", "f"))
        at = np.arange(prompts).repeat(n // prompts) if prompts > 1 else None
        for frames, frame in zip(sides, looks(truth.tolist(), given.tolist(), at), strict=True):
            frames.append(frame.with_columns(attribute=pl.lit(f"gender {study}")))
    human, machine = map(pl.concat, sides)
    found = class_agreement(machine, human).filter(category="f")
    assert found.height == 600
    for name, low, high in found.select("definition", "low", "high").iter_rows():
        hits[name] += low <= true[name] <= high
    assert all(0.90 <= n / 200 <= 0.995 for n in hits.values()), hits


def test_beside_accuracy_it_counts_the_same_pictures():
    human, machine = looks(list("fffmmmmm"), list("ffmfmmmm"))
    found = class_agreement(machine, human)
    accuracy = agreement(machine, human).filter(definition="accuracy").row(0, named=True)
    right = found.filter(definition="recall").select((pl.col("value") * pl.col("n")).sum()).item()
    assert right == pytest.approx(accuracy["value"] * accuracy["n"])


def test_an_audit_names_the_reference(tmp_path):
    rows = [f"{n}.png,person,{t}" for n, t in enumerate("ffmm")]
    (tmp_path / "human.csv").write_text("\n".join(["file,job,gender", *rows]))
    rows = [f"{n}.png,person,{t}" for n, t in enumerate("ffmf")]
    (tmp_path / "machine.csv").write_text("\n".join(["file,job,gender", *rows]))
    audit = st.Audit.from_text(
        "generators: [{labels: human.csv, name: model, factors: [job]}]\n"
        "annotators:\n  - {labels: human.csv, name: people, attributes: [gender]}\n"
        "  - {labels: machine.csv, name: machine, attributes: [gender]}\n"
        "measures:\n  - {class_agreement: {reference: people}}\n",
        base=tmp_path,
    )
    found = audit.run(tmp_path / "run").estimates.filter(measure="class_agreement")
    assert set(found["reference"]) == {"people"}
    assert by_hand(found)["f", "precision"] == (2 / 3, 3)
