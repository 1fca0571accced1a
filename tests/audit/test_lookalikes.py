"""Values, levels and names that read alike are told with the characters that differ, and stay apart."""

from pathlib import Path

import polars as pl
import pytest
from PIL import Image

from stereotrope.annotate.label import labels_frame
from stereotrope.audit import Audit
from stereotrope.audit.lookalikes import MOST_SETS, lookalike_notes, lookalikes_in
from stereotrope.errors import AuditFileError, MetadataError, StereotropeError
from stereotrope.report import headline
from stereotrope.run import Run

IE = "has U+0435 CYRILLIC SMALL LETTER IE for U+0065 LATIN SMALL LETTER E"
AUDIT = """\
generators: [%s]
annotators: [{labels: people.csv, name: people}]
measures: [share]
resamples: 100
"""
DESIGN = 'prompts: {template: "a photo of a {occupation}", occupation: [ceo, nurse]}\n'
PAINTER = "{folder: pictures, metadata: metadata.csv, name: painter}"


def write(folder: Path, metadata: list[str], labels: list[str]) -> None:
    """Small pictures that differ, a row of metadata and one of labels each; the first rows are headers."""
    (folder / "pictures").mkdir()
    for i in range(len(labels) - 1):
        Image.new("RGB", (16, 16), (i * 40, i * 31, 90)).save(folder / "pictures" / f"{i}.png")
    for name, key, rows in (("pictures/metadata.csv", "file", metadata), ("people.csv", "file_name", labels)):
        lines = [f"{key},{rows[0]}", *(f"{i}.png,{row}" for i, row in enumerate(rows[1:]))]
        (folder / name).write_text("\n".join(lines), encoding="utf-8")


def run_of(folder: Path, design: str = "", generators: str = PAINTER) -> Run:
    return Audit.from_text(design + AUDIT % generators, base=folder).run(folder / "run")


def alike(run: Run) -> dict[tuple[str, str | None], list[str]]:
    """What a run says reads alike: kind and name → how the writings after the first differ."""
    return {
        (one["kind"], one["name"]): [form["differs"] for form in one["written"][1:]]
        for one in run.info["lookalikes"]
    }


def test_values_that_differ_in_a_lookalike_letter_are_told_and_stay_apart(tmp_path, reported):
    values = ["female", "female", "f\u0435male", "fe\u200bmale", "\uff46emale", "male"]
    write(tmp_path, ["occupation", *["ceo"] * 6], ["gender", *values])
    run = run_of(tmp_path)
    assert set(run.labels["value"]) == set(values)
    assert alike(run) == {
        ("values", "gender"): [
            IE,
            "has U+FF46 FULLWIDTH LATIN SMALL LETTER F for U+0066 LATIN SMALL LETTER F",
            "has U+200B ZERO WIDTH SPACE",
        ]
    }
    told = headline(run)["missing"]["notes"]
    assert told[0].startswith(f"values of 'gender': 'female' (2), 'f\u0435male' (1: {IE})")
    assert "'fe\\u200bmale' (1: has U+200B ZERO WIDTH SPACE)" in told[0]
    assert told[0].endswith("read alike and count apart; write them one way if they mean the same")
    page = (run.path / "report" / "index.html").read_text(encoding="utf-8")
    assert "U+0435 CYRILLIC SMALL LETTER IE" in page
    assert run.info["notes"] == Audit.from_run(run.path).measure(run.path).info["notes"]


def test_whole_numbers_that_became_decimals_beside_blanks_are_counted_and_told(tmp_path):
    write(tmp_path, ["occupation", *["ceo"] * 6], ["rating", "1.0", "", "2.0", "1.0", "", "3.0"])
    asked = (AUDIT % PAINTER).replace("[share]", "[{share: rating, value: '1'}]")
    run = Audit.from_text(asked, base=tmp_path).run(tmp_path / "run")
    assert run.estimates.select("category", "value").unique().rows() == [("1.0", 0.5)]
    (tmp_path / "others.csv").write_text("file_name,rating\n0.png,1\n2.png,2\n", encoding="utf-8")
    both = "name: people}, {labels: others.csv, name: others}"
    run = Audit.from_text(asked.replace("name: people}", both), base=tmp_path).run(tmp_path / "two")
    told = [note for note in run.info["notes"] if "values of 'rating'" in note]
    assert len(told) == 2
    assert told[0].startswith("values of 'rating': '1.0' (2), '1' (1: is the same number) read alike")
    assert run.estimates.select("category", "value").unique().rows() == [("1", 0.5)]


@pytest.mark.parametrize("named", ["value: 1", "value: 1.0", "value: [1, 2.0]", "value: 1, of: [1, 2, 3.0]"])
def test_a_number_in_an_audit_file_names_the_value_that_it_is(tmp_path, named):
    write(tmp_path, ["occupation", *["ceo"] * 6], ["rating", "1", "1", "2", "1", "3", "3"])
    asked = (AUDIT % PAINTER).replace("[share]", f"[{{share: rating, {named}}}]")
    rows = Audit.from_text(asked, base=tmp_path).run(tmp_path / "run").estimates
    assert rows.filter(category="1")["value"].to_list() == [0.5]


def test_what_folding_counts_as_one_value_is_no_lookalike(tmp_path):
    write(
        tmp_path,
        ["occupation", *["ceo"] * 5],
        ["gender", "Female", "female", "FEMALE", "fe  male", "fe male"],
    )
    run = run_of(tmp_path)
    assert alike(run) == {}
    assert {one["value"] for one in run.info["folded"]} == {"female", "fe male"}


def test_levels_and_factors_that_read_alike_are_told(tmp_path):
    rows = ["nurse,x", "nurs\u0435,x", "Nurse,x", "nur\u00adse,x", "ceo,x", "ce\u200do,y"]
    write(tmp_path, ["job,j\u043eb", *rows], ["gender", *["male"] * 6])
    run = run_of(tmp_path, generators=PAINTER.replace("}", ", factors: {job: job, j\u043eb: j\u043eb}}"))
    sets = [
        (one["kind"], one["name"], [w.get("differs") for w in one["written"]])
        for one in run.info["lookalikes"]
    ]
    assert sets == [
        ("factors", None, [None, "has U+043E CYRILLIC SMALL LETTER O for U+006F LATIN SMALL LETTER O"]),
        ("levels", "job", [None, "differs in case", IE, "has U+00AD SOFT HYPHEN"]),
        ("levels", "job", [None, "has U+200D ZERO WIDTH JOINER"]),
    ]


def test_attributes_that_read_alike_are_told(tmp_path):
    write(tmp_path, ["occupation", "ceo", "nurse"], ["gender,g\u0435nder,Gender", "a,a,b", "b,b,a"])
    assert alike(run_of(tmp_path)) == {("attributes", None): ["differs in case", IE]}


def test_generators_and_annotators_that_read_alike_are_told():
    prompts = pl.DataFrame({"prompt_id": ["p"], "text": ["a cup"], "negative": [None]})
    images = pl.DataFrame({"prompt_id": "p", "generator": ["sd 3", "sd\u00a03", "SD 3", "sd4"]})
    labels = labels_frame(
        [{"attribute": "a", "value": "x", "annotator": who} for who in ("vlm", "vlm", "vl\uff4d")]
    )
    found = lookalikes_in(prompts, images, labels)
    assert [(one["kind"], [form["n"] for form in one["written"]]) for one in found] == [
        ("generators", [1, 1, 1]),
        ("annotators", [2, 1]),
    ]
    assert lookalikes_in(prompts, images.head(1), labels.head(2)) == []
    assert lookalikes_in(prompts, images.head(0), labels.head(0)) == []


def test_values_are_compared_with_those_that_are_listed_and_with_words_of_a_status():
    prompts = pl.DataFrame({"prompt_id": ["p"], "text": ["a cup"], "negative": [None]})
    images = pl.DataFrame({"prompt_id": ["p"], "generator": ["sd"]})
    values = ["gr\u0435at", "uncl\u0435ar", "fine"]
    labels = labels_frame([{"attribute": "grade", "value": value, "annotator": "people"} for value in values])
    found = lookalikes_in(prompts, images, labels, {"grade": ["great", "GREAT", "A-"], "x": ["fine\u200b"]})
    assert [[(form["written"], form["n"]) for form in one["written"]] for one in found] == [
        [("gr\u0435at", 1), ("great", 0), ("GREAT", 0)],
        [("uncl\u0435ar", 1), ("unclear", 0)],
    ]
    assert lookalikes_in(prompts, images, labels.head(0), {"grade": ["great", "GREAT"]}) == []


@pytest.mark.parametrize(
    ("file", "column", "written", "message"),
    [
        ("people.csv", "file_name", "file_n\u0430me", r"reads like 'file_name' and has U\+0430 CYRILLIC"),
        ("people.csv", "file_name", "file_name\u200b", r"reads like 'file_name' and has U\+200B ZERO WIDTH"),
        ("pictures/metadata.csv", "file", "fil\u0435", r"reads like 'file' and has U\+0435 CYRILLIC"),
        (
            "pictures/metadata.csv",
            "occupation",
            "\u043eccupation",
            r"reads like 'occupation' and has U\+043E",
        ),
        ("pictures/metadata.csv", "occupation", "Occupation", "reads like 'occupation' and differs in case"),
    ],
)
def test_a_column_that_only_reads_like_the_one_sought_is_told(tmp_path, file, column, written, message):
    write(tmp_path, ["occupation", "nurse", "ceo"], ["gender", "male", "male"])
    path = tmp_path / file
    path.write_text(path.read_text(encoding="utf-8").replace(column, written, 1), encoding="utf-8")
    with pytest.raises(StereotropeError, match=message):
        run_of(tmp_path, DESIGN)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("{share: g\u0435nder}", r"'g\u0435nder' reads like 'gender' and has U\+0435"),
        ("{share: gender, by: [\u043eccupation]}", r"reads like 'occupation' and has U\+043E"),
    ],
)
def test_a_measure_of_a_name_that_only_reads_like_one_is_told(tmp_path, measure, message):
    write(tmp_path, ["occupation", "nurse", "ceo"], ["gender", "male", "male"])
    text = DESIGN + (AUDIT % PAINTER).replace("[share]", f"[{measure}]")
    with pytest.raises(AuditFileError, match=message):
        Audit.from_text(text, base=tmp_path).plan()


def test_captions_and_hashes_are_not_compared():
    prompts = pl.DataFrame({"prompt_id": ["p"], "text": ["a cup"], "negative": [None]})
    images = pl.DataFrame({"prompt_id": ["p"], "generator": ["sd"]})
    labels = labels_frame(
        [{"attribute": "caption", "value": value, "annotator": "vlm"} for value in ("A cup", "a cup")]
    )
    assert lookalikes_in(prompts, images, labels) == []


def test_texts_of_prompts_are_told_where_no_level_explains_them(tmp_path):
    rows = ["a photo of a nurse", "a photo  of a nurse", "A photo of a nurse"]
    write(tmp_path, ["prompt", *rows], ["gender", *["male"] * 3])
    run = run_of(tmp_path, generators=PAINTER.replace("}", ", prompt: prompt}"))
    assert sorted(alike(run)[("texts", None)]) == ["differs in case", "has U+0020 SPACE"]


def test_pictures_of_a_level_that_only_reads_as_designed_are_told(tmp_path):
    write(tmp_path, ["occupation", "nurse", "nurs\u0435", "ceo", "Ceo"], ["gender", *["male"] * 4])
    run = run_of(tmp_path, DESIGN)
    assert run.images.height == 2
    told = [note for note in run.info["notes"] if "in the design" in note]
    assert told == [
        "painter: 'occupation' in the metadata and in the design: 'ceo' (1), 'Ceo' (1: differs in case) "
        "read alike and count apart; write it as the design has it",
        f"painter: 'occupation' in the metadata and in the design: 'nurse' (1), 'nurs\u0435' (1: {IE}) "
        "read alike and count apart; write it as the design has it",
    ]


def test_where_no_picture_belongs_to_the_design_the_lookalike_is_in_the_message(tmp_path):
    write(tmp_path, ["occupation", "nurs\u0435", "nurs\u0435"], ["gender", "male", "male"])
    with pytest.raises(MetadataError, match=r"check the spelling.*U\+0435 CYRILLIC SMALL LETTER IE"):
        run_of(tmp_path, DESIGN)


def test_of_many_sets_notes_tell_some_and_say_how_many_more():
    sets = [{"sentence": f"values of 'a{n}'"} for n in range(MOST_SETS + 3)]
    assert lookalike_notes(sets)[MOST_SETS:] == [
        "3 more sets of writings that read alike stand in run.json under `lookalikes`"
    ]
    assert lookalike_notes(sets[:2]) == ["values of 'a0'", "values of 'a1'"]
