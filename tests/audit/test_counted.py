"""Label files that are counted: the same numbers as picture by picture, and no picture kept by itself."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from bench.everyday_study import write_study
from polars.testing import assert_frame_equal

import stereotrope as st
from stereotrope.audit import counting
from stereotrope.audit.outstanding import outstanding
from stereotrope.audit.tally import Tally
from stereotrope.audit.work import Silent
from stereotrope.errors import IncompleteError, InputError, StereotropeError
from stereotrope.inputs.scan import scan_rows
from stereotrope.report import headline
from stereotrope.report.write import write
from stereotrope.run import Ledger

AUDIT = """\
suite: everyday
prompts: listed
generators:
  - {labels: images.parquet, name_from: model, factors: [prompt_group, scenario, variation], status: status}
annotators:
  - {boxes: people.parquet, name: detector}
  - {labels: people.parquet, regions: person, attributes: [perceived_gender], name: judge}
  - {consensus: judge, regions: detector, attributes: [perceived_gender], name: shown}
"""
COMPARED = """\
baseline: {generator: model-a}
permutations: 99
measures:
  - {share: {attribute: perceived_gender, by: [generator, prompt_group, scenario]}}
  - {share_difference: {attribute: perceived_gender, group: generator, of: [female, male]}}
  - {share: n_people, by: [generator, prompt_group]}
  - {refusal_rate: {group: generator, by: [prompt_group]}}
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    write_study(folder, share=0.0012, pictures=12)
    return folder


def audit(base: Path, text: str = AUDIT, *, counted: bool = True) -> st.Audit:
    return st.Audit.from_text(text + "counted: true\n" * counted, base=base)


@pytest.fixture(scope="module")
def runs(study: Path) -> dict[bool, st.Run]:
    return {counted: audit(study, counted=counted).run(study / f"run-{counted}") for counted in (False, True)}


def assert_same(one: pl.DataFrame, two: pl.DataFrame) -> None:
    assert_frame_equal(one, two, rel_tol=1e-12, abs_tol=1e-12)


def test_both_ways_give_the_same_estimates(runs: dict[bool, st.Run]) -> None:
    assert_same(runs[True].estimates, runs[False].estimates)
    assert set(runs[True].estimates["measure"]) >= {"share", "female_ratio", "stability", "refusal_rate"}
    assert runs[True].prompts.equals(runs[False].prompts)


def test_what_was_planted_is_recovered(runs: dict[bool, st.Run], study: Path) -> None:
    planted = pl.read_parquet(study / "planted.parquet")
    rows = runs[True].estimates.filter(pl.col("variation").is_null(), measure="female_ratio")
    assert rows.height == planted.select("model", "scenario").n_unique() == 5 * 5
    for row in rows.iter_rows(named=True):
        own = planted.filter(model=row["generator"], scenario=row["scenario"])
        n = dict(own.select("told", "n").iter_rows())
        assert row["numerator"] == n.pop("female", 0)
        assert row["n"] == row["numerator"] + n.pop("male", 0)
        assert json.loads(row["excluded"]) == n


def test_counts_are_those_of_the_labels_and_no_picture_is_kept(runs: dict[bool, st.Run]) -> None:
    whole, counted = runs[False], runs[True]
    told = ("annotator", "attribute", "value", "status")
    labels = (
        whole.labels.filter(pl.col("attribute") != "person").group_by(told).agg(n=pl.len().cast(pl.Int64))
    )
    counts = counted.counts.drop_nulls(["annotator", "status"])
    summed = counts.group_by(told).agg(n=pl.col("n_subjects").sum())
    assert_frame_equal(summed, labels, check_row_order=False)
    assert counted.images.height == counted.labels.height == 0
    assert whole.counts.height == 0
    kept = ("prompts", "images", "ok", "refused", "excluded", "absent", "derived_labels")
    assert {k: counted.info["counts"][k] for k in kept} == {k: whole.info["counts"][k] for k in kept}
    with Ledger(counted.path / "ledger.db", readonly=True) as ledger:
        assert set(ledger.totals()) <= {"files", "looks"}
        assert set(ledger.get_all("files")) == {one["sha256"] for one in counted.info["files"]}
    (people,) = {one.get("rows") for one in counted.info["files"]} - {None}
    assert people == pl.scan_parquet(counted.path.parent / "people.parquet").select(pl.len()).collect().item()


def test_the_report_counts_them_too(runs: dict[bool, st.Run]) -> None:
    told = {counted: headline(run) for counted, run in runs.items()}
    assert told[True]["missing"]["rows"][0][:6] == told[False]["missing"]["rows"][0][:6]
    page = write(runs[True], figures=False).read_text(encoding="utf-8")
    assert re.search(r"1\D{0,3}500 pictures asked of 5 models under", plain(page))
    assert "how many were refused is not known" not in page
    assert not (runs[True].path / "report" / "tables" / "labels.csv").exists()


def plain(page: str) -> str:
    return re.sub(r"\s+", " ", page.replace("\u202f", " ").replace("\u2009", " ").replace("\u00a0", " "))


class Parts(Silent):
    """Counts parts."""

    def __init__(self) -> None:
        self.parts = 0

    def stage(self, name: str, total: int = 0, done: int = 0) -> None:
        if name == counting.COUNT:
            self.parts = total


def test_pictures_are_counted_in_parts_of_which_each_reads_its_own_rows(
    study: Path, runs: dict[bool, st.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    take = counting.CountedPart.rows

    def taken(part: counting.CountedPart, *given: object) -> object:
        fresh = not part._read
        found = take(part, *given)  # type: ignore[arg-type]
        read.extend([found.n_read] * fresh)
        return found

    monkeypatch.setattr(counting.CountedPart, "rows", taken)
    monkeypatch.setattr(counting, "AT_ONCE", 300)
    parts = Parts()
    counts = counting.count_labels(audit(study).plan(), parts, None)
    assert parts.parts == len(read) == 5
    assert sum(read) == pl.scan_parquet(study / "people.parquet").select(pl.len()).collect().item()
    assert max(read) < 0.4 * sum(read)
    assert counts.equals(runs[True].counts)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_csv_says_the_same_and_a_name_with_signs_of_a_pattern_is_that_of_one_file(
    study: Path, runs: dict[bool, st.Run], suffix: str
) -> None:
    write_study(study / f"{suffix}1", share=0.0012, pictures=3, suffix=suffix)
    folder = study / f"{suffix}[1]"
    write_study(folder, share=0.0012, pictures=12, suffix=suffix)
    run = audit(folder, AUDIT.replace("parquet", suffix)).run(folder / "run")
    assert_same(run.estimates, runs[True].estimates)


def test_it_is_continued_and_measured_again_and_one_look(study: Path, runs: dict[bool, st.Run]) -> None:
    again = st.Audit.from_run(runs[True].path)
    assert again.run(runs[True].path).estimates.equals(runs[True].estimates)
    assert again.measure(runs[True].path).counts.equals(runs[True].counts)
    (work,) = outstanding(again.plan(), runs[True].path)
    assert (work.verb, work.total) == ("count", runs[True].info["counts"]["images"])


def test_findings_and_comparisons_are_those_of_labels_each(study: Path) -> None:
    both = {
        counted: audit(study, AUDIT + COMPARED, counted=counted).run(study / f"compared-{counted}")
        for counted in (False, True)
    }
    whole, counted = both[False], both[True]
    assert_same(counted.estimates, whole.estimates)
    assert_same(counted.comparisons, whole.comparisons)
    assert_same(counted.findings.drop("image_ids"), whole.findings.drop("image_ids"))
    assert counted.comparisons.height > 10
    assert counted.looks.drop("time").equals(whole.looks.drop("time"))


def small(folder: Path, images: str, people: str, more: str = "") -> st.Audit:
    (folder / "images.csv").write_text("image,model,job,status\n" + images)
    (folder / "people.csv").write_text("image,box,perceived_gender\n" + people)
    text = AUDIT.replace("parquet", "csv").replace("[prompt_group, scenario, variation]", "[job]")
    return audit(folder, text.replace("suite: everyday\n", "measures: [{share: perceived_gender}]\n") + more)


IMAGES = "a.png,m,x,\nb.png,m,x,ok\nc.png,k,x,refused\n"
PEOPLE = 'a.png,"[1, 2, 3, 4]",Female\nb.png,"[1, 2, 3, 4]",female\nb.png,"[5, 2, 6, 4]",\n'


def test_rows_that_say_the_same_count_once_and_words_are_folded(tmp_path: Path) -> None:
    people = PEOPLE.replace('4]",\n', '4]",unclear\n') + 'a.png,"[1, 2, 3, 4]",Female\n'
    run = small(tmp_path, IMAGES + "a.png,m,x,\n", people).run(tmp_path / "run")
    assert run.info["counts"]["images"] == 3
    row = run.estimates.filter(generator="m", category="female").row(0, named=True)
    assert (row["numerator"], row["n"]) == (2, 2)
    written = run.counts.filter(annotator="judge", status="ok").select("value", "written", "n_subjects")
    assert sorted(written.rows(), key=str) == [("female", "Female", 1), ("female", None, 1)]
    assert any("count as one value" in note for note in run.info["notes"])


def test_a_picture_with_a_region_that_nobody_labelled_has_no_label(tmp_path: Path) -> None:
    run = small(tmp_path, IMAGES, PEOPLE).run(tmp_path / "run")
    row = run.estimates.filter(generator="m").row(0, named=True)
    assert json.loads(row["excluded"]) == {"not labelled": 1}
    assert row["n"] == 1


def test_rows_of_no_picture_are_noted(tmp_path: Path) -> None:
    people = PEOPLE + 'x.png,"[1, 2, 3, 4]",male\n'
    notes = " ".join(small(tmp_path, IMAGES, people).run(tmp_path / "run").info["notes"])
    assert "people.csv: 1 row matches no image" in notes
    strange = PEOPLE.replace("a.png", "a").replace("b.png", "b")
    with pytest.raises(IncompleteError, match=r"people.csv: none of its rows \(3\) matches .* ending"):
        small(tmp_path, IMAGES, strange).run(tmp_path / "other")


@pytest.mark.parametrize(
    ("images", "people", "message"),
    [
        (IMAGES + "a.png,m,y,\n", PEOPLE, r"images.csv:4: 'a.png' must be listed once, .*first in row 1"),
        (IMAGES + "a.png,k,x,\n", PEOPLE, r"people.csv:1: 'image' must name one image, found several for 'a"),
        (
            IMAGES.replace("refused", "gone"),
            PEOPLE,
            r"images.csv:3: column 'status' must be ok, refused, excl",
        ),
        (IMAGES, PEOPLE + "a.png,,male\n", r"people.csv:4: a label of a region needs its box"),
        (
            IMAGES,
            PEOPLE + 'a.png,"[1, 2, 3, 4]",male\n',
            r"people.csv:4: a region has one label of an attribute, .*'male' here and 'Female' in row 1",
        ),
        (IMAGES.replace(",m,", ",,"), PEOPLE, r"images.csv:1: column 'model' must name the model"),
    ],
)
def test_mistakes_in_files_are_told_by_their_row(
    tmp_path: Path, images: str, people: str, message: str
) -> None:
    with pytest.raises(StereotropeError, match=message):
        small(tmp_path, images, people).run(tmp_path / "run")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  - {boxes", "  - blank\n  - {boxes", r"annotator 'blank': label files are counted .*by itself"),
        (
            "name: judge}",
            "name: judge, reference: true}",
            r"'judge': .* `reference` needs each picture by itself",
        ),
        (
            "{labels: images.csv,",
            "{folder: ., metadata: images.csv,",
            r"generator .*: label files are counted",
        ),
        (
            "[{share: perceived_gender}]",
            "[{bds: perceived_gender}]",
            r"'bds': .*must see each picture by itself",
        ),
        ("measures:", "merge_colours: 2\nmeasures:", r"merge_colours: label files are counted"),
        ("images.csv", "images.jsonl", r"images.jsonl: of a study that is counted it must be Parquet or CSV"),
        ("images.csv", "none.csv", r"none.csv: cannot be read \(No such file"),
        ("status: status", "status: nothing", r"images.csv: no column 'nothing' \(status\)"),
        (
            "{boxes: people.csv,",
            "{boxes: boxes.csv,",
            r"'judge': .* found the boxes in boxes.csv \('detector'\) and the labels in people.csv: join",
        ),
        ("{boxes: people.csv,", "{boxes: people.csv, box: image,", r"'judge': .* name the same columns"),
        (
            "attributes: [perceived_gender], name: judge",
            "attributes: [x], name: judge",
            r"no column 'x' \(attrib",
        ),
    ],
)
def test_what_cannot_be_counted_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = small(tmp_path, IMAGES, PEOPLE).source.text
    assert old in text
    (tmp_path / "images.jsonl").write_text("{}")
    (tmp_path / "boxes.csv").write_text((tmp_path / "people.csv").read_text() + 'a.png,"[7, 8, 9, 9]",\n')
    changed = text.replace(old, new, 1).replace("status: status, ", "").replace("baseline", "baseline")
    if "folder" in new:
        changed = changed.replace(", status: status", "")
    with pytest.raises(StereotropeError, match=message):
        st.Audit.from_text(changed, base=tmp_path).plan()


def test_a_tidy_file_and_texts_of_prompts_are_counted(tmp_path: Path) -> None:
    (tmp_path / "images.csv").write_text("id;text;negative\n1;a car;\n2;a car;\n3;a cup;red\n")
    (tmp_path / "said.csv").write_text(
        "id,attribute,value,status\n1,colour,pink,\n2,colour,,unclear\n3,colour,1.0,\n3,size,big,\n"
    )
    text = """\
generators: [{labels: images.csv, name: m, prompt: text, negative: negative}]
annotators: [{labels: said.csv, name: people}]
measures: [{share: [colour, size]}]
"""
    both = [audit(tmp_path, text, counted=counted).run(tmp_path / f"{counted}") for counted in (True, False)]
    assert_same(both[0].estimates, both[1].estimates)
    assert both[0].prompts.equals(both[1].prompts)
    (tmp_path / "said.csv").write_text("id,attribute,value,status\n1,colour,pink,maybe\n1,size,big,\n")
    with pytest.raises(
        StereotropeError, match=r"said.csv:1: 'status' must be ok, unclear, refused, invalid or"
    ):
        audit(tmp_path, text).run(tmp_path / "wrong")


def test_columns_are_read_as_text(tmp_path: Path) -> None:
    frame = pl.DataFrame({" a ": [1.0, None], "b": [True, False], "c": [" x", " "], "d": [0.5, float("nan")]})
    frame.write_parquet(tmp_path / "x.parquet")
    file = scan_rows(tmp_path / "x.parquet")
    assert file.texts(["a", "b", "c", "d"]).collect().rows() == [
        (1, "1", "true", "x", "0.5"),
        (2, None, "false", "", None),
    ]
    frame.with_columns(c=pl.lit([1])).write_parquet(tmp_path / "y.parquet")
    with pytest.raises(InputError, match=r"y.parquet: column 'c' must hold text, numbers, true or false"):
        scan_rows(tmp_path / "y.parquet").texts(["c"])
    frame.rename({"b": "a"}).write_parquet(tmp_path / "z.parquet")
    with pytest.raises(InputError, match=r"z.parquet: column 'a' is there twice"):
        scan_rows(tmp_path / "z.parquet")
    frame.clear().write_parquet(tmp_path / "e.parquet")
    with pytest.raises(InputError, match=r"e.parquet: must have at least one row"):
        scan_rows(tmp_path / "e.parquet")


def test_too_many_different_labels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stereotrope.audit.tally.MOST_COUNTED", 20)
    tally = Tally("people: 'colour'", ["value"], 10)
    tally.add(pl.Series([0, 1]), pl.DataFrame({"value": ["a", "b"]}))
    with pytest.raises(InputError, match=r"people: 'colour': 1 different labels over 10 prompts and models"):
        tally.add(pl.Series([2]), pl.DataFrame({"value": ["c"]}))
