"""Judges beside people: against scikit-learn, scipy and simulated truth, and in an audit with a file of
theirs."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, cohen_kappa_score, precision_recall_fscore_support

import stereotrope as st
from stereotrope import measure
from stereotrope.annotate.label import labels_frame
from stereotrope.errors import AuditFileError, MetadataError, UsageError
from stereotrope.measure import estimate_frame
from stereotrope.measure.rubric.findings import disagreeing_judges
from stereotrope.stats import wilson
from stereotrope.testing import Loopback, SetJudge

ITEMS = ("x", "y", "z")


def both_sides(seed: int, n: int = 40, seen: int = 40, *, error: float = 0.2) -> pl.DataFrame:
    """Answers of a judge, three times, about n sets, and of people about some."""
    rng = np.random.default_rng(seed)
    rows = []
    for one in range(n):
        for item in ITEMS:
            truth = rng.uniform() < 0.4
            if one < seen:
                rows.append((f"s{one}", f"s{one}", item, "yes" if truth else "no", "people"))
            for k in range(3):
                said = truth != (rng.uniform() < error)
                rows.append((f"s{one}-{k}", f"s{one}", item, "yes" if said else "no", "judge"))
    schema = ["image_id", "images", "attribute", "value", "annotator"]
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        prompt_id="images", generator=pl.lit("m")
    )


def votes(labels: pl.DataFrame) -> tuple[list[str], list[str]]:
    """What people say of each set and item, and the majority of the judge."""
    people = {(r["images"], r["attribute"]): r["value"] for r in labels.filter(annotator="people").to_dicts()}
    said: dict[tuple[str, str], list[str]] = {}
    for row in labels.filter(annotator="judge").to_dicts():
        said.setdefault((row["images"], row["attribute"]), []).append(row["value"])
    keys = list(people)
    return [people[key] for key in keys], [max(set(said[key]), key=said[key].count) for key in keys]


def test_accuracy_kappa_precision_and_recall_are_those_of_scikit_learn() -> None:
    labels = both_sides(1)
    found = measure.set_agreement(labels, "people")
    people, judge = votes(labels)
    of = dict(found.filter(pl.col("category").is_null()).select("definition", "value").iter_rows())
    assert of["accuracy"] == pytest.approx(accuracy_score(people, judge))
    assert of["cohen_kappa"] == pytest.approx(cohen_kappa_score(people, judge))
    precision, recall, f1, _ = precision_recall_fscore_support(
        people, judge, pos_label="yes", average="binary"
    )
    yes = dict(found.filter(category="yes").select("definition", "value").iter_rows())
    assert yes == pytest.approx({"precision": precision, "recall": recall, "f1": f1})
    assert set(found["n"].drop_nulls()) >= {120}
    assert set(found["annotator"]) == {"judge"}
    assert set(found["reference"]) == {"people"}


def test_items_can_be_told_apart() -> None:
    labels = both_sides(2)
    found = measure.set_agreement(labels, "people", by=["attribute"]).filter(definition="accuracy")
    for item in ITEMS:
        people, judge = votes(labels.filter(attribute=item))
        assert found.filter(attribute=item)["value"][0] == pytest.approx(accuracy_score(people, judge))


def test_as_many_answers_yes_as_no_are_none() -> None:
    labels = both_sides(3, 6, 6, error=0.5).filter(~pl.col("image_id").str.ends_with("-2"))
    row = measure.set_agreement(labels, "people").row(0, named=True)
    assert "label: as many answers yes as no" in row["excluded"]


@pytest.mark.slow
def test_the_index_of_people_is_found_from_a_sample_of_theirs() -> None:
    inside, widths = [], []
    for seed in range(30):
        labels = both_sides(100 + seed, 120, 30, error=0.3)
        row = measure.ppi_ssi(labels, "people").row(0, named=True)
        raw = measure.ssi(labels.filter(annotator="judge"))["value"][0]
        inside.append(row["low"] <= 0.4 <= row["high"])
        widths.append(abs(raw - 0.4) > abs(row["value"] - 0.4))
        assert (row["n"], row["n_reference"]) == (360, 90)
    assert np.mean(inside) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 30)
    # The raw index reads 0.4·0.78 + 0.6·0.22 = 0.45.
    assert np.mean(widths) > 0.5


def sets_of_two_levels(rng: np.random.Generator) -> pl.DataFrame:
    """A judge's answers about three sets of each of 20 queries, plain and refined, to eight items each."""
    rows = []
    for level in ("none", "refine"):
        for at in range(60):
            often = 0.8 if rng.random() < 0.4 else 0.1
            rows += [
                (f"{level}{at}", f"Q{i}", "yes" if rng.random() < often else "no", level, f"q{at % 20}")
                for i in range(8)
            ]
    schema = ["image_id", "attribute", "value", "mitigation", "query"]
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.with_columns(generator=pl.lit("m"), prompt_id="query", annotator=pl.lit("judge"))


def test_people_who_saw_sets_of_one_level_alone_are_flagged_and_those_of_random_sets_are_not() -> None:
    flagged = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        judge = sets_of_two_levels(rng)
        names = judge["image_id"].unique().sort().to_list()
        for seen in (rng.permutation(names)[:36], rng.permutation(names[:60])[:25]):
            people = judge.filter(pl.col("image_id").is_in(seen.tolist()))
            both = pl.concat([judge, people.with_columns(annotator=pl.lit("people"))])
            row = measure.ppi_ssi(both, "people").row(0, named=True)
            if len(seen) == 36:
                flagged += "sample_unlike" in row["flags"]
            else:
                why = "people labelled 0 of 480 pictures with mitigation “refine”, but 200 of 480"
                assert why in row["method"]
    assert flagged <= 2


def test_a_reference_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="no annotator 'peple'; there is: people, judge"):
        measure.set_agreement(both_sides(4, 3, 3), "peple")


AUDIT = """\
suite: ssi
prompts:
  - {{text: A photo of a CEO, family: occupational, query: A photo of a CEO}}
  - {{text: A photo of a cook, family: occupational, query: A photo of a cook}}
images_per_prompt: 4
generators: [{{images: 'openai:a', base_url: '{url}'}}, {{images: 'openai:b', base_url: '{url}'}}]
annotators:
  - {{judge: 'openai:judge', base_url: '{url}', rubric: occupational, query: query}}
  - {{set_labels: human.csv, name: people}}
measures:
  - {{ssi: {{by: [generator, family]}}}}
  - item_flip_rate
  - {{set_agreement: {{reference: people, by: [generator, family]}}}}
  - {{ppi_ssi: {{reference: people, by: [family]}}}}
"""


def written(folder: Path, rows: list[list[str]], columns: list[str]) -> None:
    with (folder / "human.csv").open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])


def test_what_people_say_of_sets_is_read_from_a_file_and_set_beside_the_judge(tmp_path: Path) -> None:
    judge = SetJudge(lambda model, prompt, item: 0.5)
    columns = ["generator", "query", "Q13_gender", "Q14_race"]
    ceo = "A photo of a CEO"
    # The people say the reverse of what is planted in one model's pictures, and just that in the other's.
    truth = {
        (model, item): judge.truth(model, ceo, range(4), item)
        for model in "ab"
        for item in ("Q13_gender", "Q14_race")
    }
    first = ["a", ceo, *(str(int(not truth["a", item])) for item in ("Q13_gender", "Q14_race"))]
    second = ["b", ceo, "yes" if truth["b", "Q13_gender"] else "no", "unclear"]
    written(tmp_path, [first, second, ["c", ceo, "1", "1"]], columns)
    with Loopback(judge=judge) as server:
        audit = st.Audit.from_text(AUDIT.format(url=server.url), base=tmp_path)
        run = audit.run(tmp_path / "run")
    people = run.labels.filter(annotator="people")
    assert people["status"].to_list() == ["ok", "ok", "ok", "unclear"]
    words = [{True: "yes", False: "no"}[truth["a", item] == 0] for item in ("Q13_gender", "Q14_race")]
    assert people["value"].to_list() == [*words, "yes" if truth["b", "Q13_gender"] else "no", None]
    assert run.subjects.filter(pl.col("subject_id").is_in(people["subject_id"].implode())).height == 8
    assert any("1 row (line 4) of no set of this run" in note for note in run.info["notes"])
    found = run.estimates.filter(measure="set_agreement", definition="accuracy")
    assert found.sort("generator")["value"].to_list() == [0.0, 1.0]
    assert found["n"].sum() == 3
    assert run.estimates.filter(measure="ppi_ssi")["n_reference"].to_list() == [3]
    # A file of answers does not look again.
    assert set(run.estimates.filter(measure="item_flip_rate")["instrument"]) == {"judge"}
    told = run.findings.filter(list="instrument")["sentence"].to_list()
    assert not [one for one in told if "answers as “people” does on" in one]  # two answers are too few
    own = run.estimates.filter(measure="ssi", annotator="people")
    assert own["n"].to_list() == [1, 1]


@pytest.mark.parametrize(("n", "told"), [(1, []), (3, []), (4, ["0 of 4"]), (10, ["0 of 10"])])
def test_a_judge_is_named_for_what_it_answers_where_its_answers_are_enough(n, told):
    row = {"measure": "set_agreement", "definition": "accuracy", "attribute": "all", "generator": "a"}
    row |= {"annotator": "judge", "reference": "people", "value": 0.0, "low": 0.0, "n": n}
    row["high"] = float(wilson(0, n)[1])
    estimates = estimate_frame([row], factors=("generator", "annotator", "reference"))
    named = [one.sentence for one in disagreeing_judges(SimpleNamespace(estimates=estimates))]
    assert [" ".join(sentence.split(" does on ")[1].split()[:3]) for sentence in named] == told


CEO, WHO = "A photo of a CEO", ["generator", "query", "Q13_gender"]


@pytest.mark.parametrize(
    ("rows", "columns", "match"),
    [
        ([[CEO, "1"]], ["query", "Q13_gender"], r"human.csv:2: must name one set of 4 images, found 2"),
        ([["a", CEO, "most"]], WHO, r"human.csv:2: 'Q13_gender' must be yes or no"),
        ([["a", CEO, "1"]] * 2, WHO, r"human.csv:3: is of the set of line 2 too"),
        ([["1", "0"]], ["Q13_gender", "Q14_race"], "a column must say which set a row is of"),
        ([[CEO, "1"]], ["qury", "Q13_gender"], "a column must say which set a row is of"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_line(rows, columns, match, tmp_path: Path) -> None:
    written(tmp_path, rows, columns)
    one = st.annotate.create({"set_labels": "human.csv", "name": "people"}, relative_to=tmp_path)
    with pytest.raises(MetadataError, match=match):
        read(one, two_sets("query"))


def read(one, images: pl.DataFrame) -> pl.DataFrame:
    """What a file says of sets, beside nobody else."""
    one.tell_design(DESIGN)
    return one.derive(images, NO_LABELS)


DESIGN = {"query": {CEO}, "text": set(), "prompt": set()}
NO_LABELS = labels_frame([])


def two_sets(*alike: str) -> pl.DataFrame:
    """Images of two models, whose prompts have this in common."""
    images = pl.DataFrame(
        {
            "image_id": [f"{m}{k}" for m in "ab" for k in range(4)],
            "prompt_id": ["p"] * 4 + ["q"] * 4, "generator": ["a"] * 4 + ["b"] * 4, "status": "ok",
        }
    )  # fmt: skip
    return images.with_columns(pl.lit(CEO).alias(name) for name in (*alike, "text"))


def test_a_row_without_a_mitigation_is_of_the_prompt_as_it_was_designed(tmp_path: Path) -> None:
    written(tmp_path, [[CEO, "1.0", ""]], ["query", "Q13_gender", "Q14_race"])
    one = st.annotate.create({"set_labels": "human.csv", "name": "people"}, relative_to=tmp_path)
    one.tell_design(DESIGN)
    images = two_sets("query").with_columns(generator=pl.lit("a"))
    said = one.derive(
        images.with_columns(mitigation=pl.Series(["ethical"] * 4 + ["none"] * 4)),
        labels_frame([{"subject_kind": "set", "attribute": "Q14_race", "annotator": "judge"}]),
    )
    assert said.select("attribute", "value", "status").rows() == [("Q13_gender", "yes", "ok")]
    assert one.labelled_sets[said["subject_id"][0]] == ("b0", "b1", "b2", "b3")
    assert one.notes == [
        "human.csv: column 'Q13_gender' is an item that nobody else answers; others are Q14_race"
    ]


def test_sets_of_pictures_that_are_not_at_hand_count_and_those_of_refused_ones_do_not(tmp_path: Path) -> None:
    written(tmp_path, [["a", CEO, "1"], ["b", CEO, "1"]], ["generator", "query", "Q13_gender"])
    one = st.annotate.create({"set_labels": "human.csv", "name": "people"}, relative_to=tmp_path)
    status = ["absent"] * 4 + ["ok"] * 3 + ["refused"]
    said = read(one, two_sets("query").with_columns(status=pl.Series(status)))
    assert said.height == 1
    assert list(one.labelled_sets.values()) == [("a0", "a1", "a2", "a3")]
    assert any("1 row (line 3) of no set of this run, or of one with" in note for note in one.notes)


def test_a_column_of_mitigations_says_which_set_a_row_is_of_before_there_are_any(tmp_path: Path) -> None:
    written(tmp_path, [[CEO, "none", "0"]], ["query", "mitigation", "Q13_gender"])
    one = st.annotate.create({"set_labels": "human.csv", "name": "people"}, relative_to=tmp_path)
    said = read(one, two_sets("query").head(4))
    assert said.select("attribute", "value").rows() == [("Q13_gender", "no")]


def test_an_audit_names_people_that_are_there(tmp_path: Path) -> None:
    written(tmp_path, [["a", "A photo of a CEO", "1"]], ["generator", "query", "Q13_gender"])
    text = AUDIT.format(url="http://127.0.0.1:1").replace(
        "reference: people, by: [generator", "reference: peple, by: [generator"
    )
    with pytest.raises(
        AuditFileError,
        match="reference must be an annotator of sets beside a judge, found 'peple'; did you mean 'people'",
    ):
        st.Audit.from_text(text, base=tmp_path).plan()
