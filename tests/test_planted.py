"""Planted biases are recovered: on pictures by the instruments, over 60 repetitions by the intervals."""

import shutil

import numpy as np
import polars as pl
import pytest
from tests.conftest import unwritten

import stereotrope as st
from stereotrope.calibrate import calibrate
from stereotrope.calibrate.checks import limit_of
from stereotrope.generate import CalibratedGenerator
from stereotrope.shipped import shipped

AUDIT = shipped("calibrate", "audit.yaml")
ATTRIBUTES = ("product_colour", "background_colour", "text_presence", "background_text_presence")
NULL_GROUP = "middle-aged"
REPETITIONS = 60
TOGETHER = 20
"""Repetitions measured by one call, each as a model of its own: most of a call is spent once."""
PER_CONDITION = 20
IMAGES = 2


@pytest.fixture(scope="module")
def calibration(tmp_path_factory):
    """Offline instruments that looked at pictures; the rehearsal of an endpoint makes a page of a check."""
    with unwritten():
        return calibrate(["colour", "text"], tmp_path_factory.mktemp("calibration") / "run", images=IMAGES)


def test_every_offline_attribute_is_read_with_at_least_97_percent_accuracy(calibration):
    accuracy = calibration.accuracy.filter(definition="accuracy")
    assert set(accuracy["attribute"]) == set(ATTRIBUTES)
    assert (accuracy["n"] == 24 * IMAGES).all()
    assert (accuracy["value"] >= 0.97).all()
    assert calibration.unfit == []
    assert limit_of("accuracy")[0] < 0.97


def test_the_confusions_add_up_to_every_picture(calibration):
    counted = calibration.confusion.group_by("attribute").agg(pl.col("n").sum())
    assert dict(counted.iter_rows()) == dict.fromkeys(ATTRIBUTES, 24 * IMAGES)


def test_planted_shares_and_divergences_are_set_beside_their_estimates(calibration):
    assert calibration.shares["inside"].mean() > 0.9
    assert calibration.shares["low"].null_count() == 0
    null = calibration.divergences.filter(group=NULL_GROUP)
    assert null.height == len(AUDIT["objects"])
    assert null["planted"].to_list() == [0.0] * len(AUDIT["objects"])
    assert null["inside"].all()
    assert (calibration.divergences.filter(pl.col("group") != NULL_GROUP)["planted"] > 0).all()


def test_the_report_shows_the_instrument(calibration):
    agreement = st.open(calibration.run.path).estimates.filter(measure="agreement")
    assert set(agreement["definition"]) == {"accuracy", "cohen_kappa"}


def test_measuring_a_calibration_again_keeps_what_it_says_of_the_instrument(calibration, tmp_path):
    folder = tmp_path / "again"
    shutil.copytree(calibration.run.path, folder)
    again = st.Audit.from_run(folder).measure(folder)
    assert again.estimates.equals(st.open(calibration.run.path).estimates)


def test_a_run_without_a_reference_keeps_none_of_an_earlier_one(calibration, tmp_path):
    folder = tmp_path / "plain"
    shutil.copytree(calibration.run.path, folder)
    run = st.Audit.from_run(folder).run(folder)
    assert run.reference is None
    assert run.estimates.filter(measure="agreement").height == 0


def test_an_instrument_that_reads_this_well_is_fit(calibration):
    assert {card["annotator"]: card["fit"] for card in calibration.cards} == {"colour": True, "text": True}


def confusion_of(calibration):
    """Attribute → planted value → values read and their shares."""
    shares: dict[str, dict[str, tuple[list[str], np.ndarray]]] = {}
    for (attribute, planted), part in calibration.confusion.group_by("attribute", "reference_value"):
        counts = part["n"].to_numpy()
        shares.setdefault(attribute, {})[planted] = (part["value"].to_list(), counts / counts.sum())
    return shares


def labels_of(truth, confusion, rng, model):
    """Labels of one repetition: planted shares, read with the instrument's confusions."""
    frames = []
    for (thing, group), attributes in truth.items():
        for attribute, shares in attributes.items():
            planted = rng.choice(list(shares), PER_CONDITION, p=list(shares.values()))
            read = _read(confusion[attribute], planted, rng)
            frames.append({
                "image_id": [f"{thing}-{group}-{i}" for i in range(PER_CONDITION)],
                "generator": [model] * PER_CONDITION,
                "object": [thing] * PER_CONDITION,
                "group": [group] * PER_CONDITION,
                "attribute": [attribute] * PER_CONDITION,
                "value": read,
            })  # fmt: skip
    return pl.concat([pl.DataFrame(frame) for frame in frames])


def _read(confusion, planted, rng):
    read = planted.astype(object)
    for value in sorted(set(planted) & set(confusion)):
        values, shares = confusion[value]
        read[planted == value] = rng.choice(np.array(values, object), (planted == value).sum(), p=shares)
    return read.tolist()


@pytest.fixture(scope="module")
def repetitions(calibration):
    generator = CalibratedGenerator()
    groups = ["base", NULL_GROUP, "women", "men"]
    assert NULL_GROUP in AUDIT["dimensions"]["age"]
    truth = {}
    for thing in AUDIT["objects"]:
        for group in groups:
            cue = "" if group == "base" else f" for {group}"
            planted = generator.planted(f"{thing}{cue}, one product only, no people")
            truth[thing, group] = {a: {v: s for v, s in planted[a].items() if s > 0} for a in ATTRIBUTES}
    confusion = confusion_of(calibration)
    rng = np.random.default_rng(20)
    inside, p_values, null_inside = [], [], []
    for batch in range(REPETITIONS // TOGETHER):
        labels = pl.concat([labels_of(truth, confusion, rng, f"m{i}") for i in range(TOGETHER)])
        shares = st.measure.share(labels, by=["generator", "object", "group"])
        for _, own in shares.group_by("generator", maintain_order=True):
            inside += covered(own, truth)
        scores = st.measure.bds(
            labels.filter(pl.col("group").is_in(["base", NULL_GROUP])),
            n_permutations=499, n_bootstrap=300, seed=batch,
        ).filter(attribute="all")  # fmt: skip
        p_values += scores["p_value"].to_list()
        null_inside += ((scores["adjusted_low"] <= 0) & (scores["adjusted_high"] >= 0)).to_list()
    return np.array(inside), np.array(p_values), np.array(null_inside)


def covered(shares, truth):
    """Whether each planted share strictly between 0 and 1 lies in its interval."""
    rows = {
        (r["object"], r["group"], r["attribute"], r["category"]): (r["low"], r["high"])
        for r in shares.iter_rows(named=True)
    }
    z2 = 1.959963984540054**2
    never = (0.0, z2 / (PER_CONDITION + z2))
    found = []
    for (thing, group), attributes in truth.items():
        for attribute, planted in attributes.items():
            for value, share in planted.items():
                if share < 1:
                    low, high = rows.get((thing, group, attribute, value), never)
                    found.append(low <= share <= high)
    return found


def test_planted_shares_lie_in_their_95_percent_intervals_93_to_97_percent_of_the_time(repetitions):
    inside, _, _ = repetitions
    assert inside.size > 10_000
    assert 0.93 <= inside.mean() <= 0.97


def test_null_groups_are_called_significant_no_more_often_than_chance(repetitions):
    _, p_values, _ = repetitions
    assert p_values.size == REPETITIONS * len(AUDIT["objects"])
    for level in (0.01, 0.05, 0.20):
        slack = 3 * np.sqrt(level * (1 - level) / p_values.size)
        assert (p_values <= level).mean() <= level + slack


def test_the_adjusted_score_of_a_null_group_is_0_within_its_interval(repetitions):
    _, _, null_inside = repetitions
    assert null_inside.mean() >= 0.95
