"""Values of label files from the file to the tables: signs, blanks, cases, scripts; nothing counted twice."""

import csv
import unicodedata
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

import stereotrope as st
from stereotrope import measure
from stereotrope.audit import Audit
from stereotrope.report import headline
from stereotrope.run import Run

AUDIT = """\
prompts: {template: "a photo of a {occupation}", occupation: [ceo, nurse]}
generators: [{folder: pictures, metadata: metadata.csv, name: painter}]
annotators: [%s]
measures: [share]
resamples: 100
"""
LABELS = "{labels: people.csv, name: people}"


def pictures(folder: Path, n: int) -> list[str]:
    """Small pictures that differ, half of each occupation."""
    (folder / "pictures").mkdir()
    names = [f"{i}.png" for i in range(n)]
    for i, name in enumerate(names):
        Image.new("RGB", (16, 16), (i * 7 % 256, i * 31 % 256, 90)).save(folder / "pictures" / name)
    rows = [f"{name},{('ceo', 'nurse')[i % 2]}" for i, name in enumerate(names)]
    (folder / "pictures" / "metadata.csv").write_text("file,occupation\n" + "\n".join(rows))
    return names


def run_of(folder: Path, values: list[str], annotators: str = LABELS, attribute: str = "value_seen") -> Run:
    """An audit of as many pictures, each with its value in a label file."""
    names = pictures(folder, len(values))
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file_name", attribute])
        writer.writerows(zip(names, values, strict=True))
    return Audit.from_text(AUDIT % annotators, base=folder).run(folder / "run")


TABLE = [
    (["-1", "1", "+1", "0", "-1", "1"], {"-1": 2, "1": 2, "+1": 1, "0": 1}),
    (["-0.5", "0.5", ".5", "1.0", "10", "1,5"], {"-0.5": 1, "0.5": 1, ".5": 1, "1.0": 1, "10": 1, "1,5": 1}),
    (["A-", "A", "A+", "a-", "A ", "A-"], {"a-": 3, "a": 2, "a+": 1}),
    (["-", "--", "+", "?", "_", "-"], {"-": 2, "--": 1, "+": 1, "?": 1, "_": 1}),
    (["C++", "C#", "C", "c++", "C", "C"], {"c++": 2, "c#": 1, "c": 3}),
    (
        ["<30", ">30", "30-40", "30–40", "3040", "30 40"],
        dict.fromkeys(("<30", ">30", "30-40", "30–40", "3040", "30 40"), 1),
    ),
    (["50%", "50", "#1", "1", "$", "€"], dict.fromkeys(("50%", "50", "#1", "1", "$", "€"), 1)),
    (
        ["Rose-Gold", "rose gold", "rose_gold", "ROSE  GOLD", "rose\u00a0gold", "red"],
        {"rose gold": 5, "red": 1},
    ),
    (
        ["серый", "Серый", "светло-серый", "светло серый", "红", "红"],
        {"серый": 2, "светло серый": 2, "红": 2},
    ),
    (["café", "cafe\u0301", "CAFÉ", "cafe", "café ", "Cafés"], {"café": 5, "cafe": 1}),
    (["👩🏽", "👩", "👩🏿", "👩🏽", "👩", "👩\u200d🦰"], {"👩🏽": 2, "👩": 2, "👩🏿": 1, "👩\u200d🦰": 1}),
    (["s", "ss", "S", "cups", "cup", "Cup"], {"s": 2, "ss": 1, "cup": 3}),
]


@pytest.mark.parametrize(("given", "counted"), TABLE, ids=lambda each: repr(each)[:24])
def test_values_of_a_label_file_count_as_they_are_told_apart(tmp_path, given, counted):
    run = run_of(tmp_path, given)
    assert dict(run.labels["value"].value_counts().iter_rows()) == counted
    shares = run.estimates.filter(measure="share", occupation="ceo")
    assert not shares["category"].is_in([""]).any()
    assert set(shares["category"]) == set(counted)
    listed = {one["value"]: sum(form["n"] for form in one["written"]) for one in run.info["folded"]}
    written = {value: {v.strip() for v in given if _same(run, v.strip(), value)} for value in counted}
    assert listed == {value: counted[value] for value, forms in written.items() if len(forms) > 1}


def _same(run: Run, written: str, value: str) -> bool:
    """Whether a label holds the value for what was written; composed as a reader of files composes it."""
    composed = unicodedata.normalize("NFC", written)
    same = run.labels.filter(pl.coalesce("written", "value") == composed, pl.col("value") == value)
    return bool(same.height)


def test_every_merge_is_told_with_what_was_written(tmp_path, reported):
    run = run_of(tmp_path, ["Rose-Gold", "rose gold", "Reds", "red", "-1", "1"])
    assert run.info["folded"] == [
        {
            "annotator": "people",
            "attribute": "value_seen",
            "value": value,
            "written": [{"written": each, "n": 1} for each in sorted(written)],
        }
        for value, written in (("red", ["Reds", "red"]), ("rose gold", ["Rose-Gold", "rose gold"]))
    ]
    told = [note for note in headline(run)["missing"]["notes"] if "count as one value" in note]
    assert told == [
        "people: ways of writing 'value_seen' that count as one value (labels each): "
        "'red' for 'Reds' 1, 'red' 1; 'rose gold' for 'Rose-Gold' 1, 'rose gold' 1"
    ]
    page = (run.path / "report" / "index.html").read_text(encoding="utf-8")
    assert "count as one value" in page
    assert run.labels.select("value", "written").rows()[:2] == [
        ("rose gold", "Rose-Gold"),
        ("rose gold", None),
    ]


def test_of_many_merges_a_note_names_some_and_the_run_all(tmp_path):
    values = ["ab cd", "ef gh", "ij kl", "mn op", "qr st", "uv wx", "yz ab", "ba ba"]
    run = run_of(tmp_path, [form for value in values for form in (value, value.upper())])
    assert len(run.info["folded"]) == 8
    note = next(note for note in run.info["notes"] if "count as one value" in note)
    assert note.endswith("; 2 more, in the column `written` of labels")


def test_labels_are_counted_alike_everywhere_and_never_twice(tmp_path):
    given = ["Red", "red", "blue", "Blue", "-1", "1", "1", "green"]
    run = run_of(tmp_path, given, f"duplicates, colour, {LABELS}")
    n = len(given)
    told = headline(run)
    assert run.labels.height == run.info["counts"]["labels"] == told["counts"]["labels"]
    table = told["missing"]
    column = table["columns"].index("labels")
    assert sum(int(row[column]) for row in table["rows"]) == run.labels.height
    for attribute, one in run.labels.group_by("attribute"):
        assert one["subject_id"].n_unique() == one.height, attribute
    assert run.labels.filter(attribute="product_colour").height == n
    tidy = measure.tidy_labels(run.prompts, run.images, run.labels)
    seen = tidy.filter(attribute="value_seen")
    assert seen.height == n
    assert dict(seen["value"].value_counts().iter_rows()) == {
        "red": 2,
        "blue": 2,
        "-1": 1,
        "1": 2,
        "green": 1,
    }
    naive = run.labels.filter(attribute="value_seen").rename({"subject_id": "image_id"})
    shares = measure.share(naive, by=[])
    assert shares["n"].unique().to_list() == [n]
    by_run = run.estimates.filter(measure="share", attribute="value_seen")
    again = measure.share(tidy.filter(attribute="value_seen"), by=["generator", "annotator", "occupation"])
    keys = ["occupation", "category"]
    assert by_run.select(*keys, "value").sort(keys).equals(again.select(*keys, "value").sort(keys))


def test_what_follows_from_other_labels_says_from_whose(tmp_path):
    run = run_of(tmp_path, ["a"] * 4, f"duplicates, {LABELS}")
    looked = run.labels.filter(pl.col("derived_from").is_null())
    assert set(looked["attribute"]) == {"perceptual_hash", "value_seen"}
    copy = (tmp_path / "pictures" / "1.png").read_bytes()
    (tmp_path / "pictures" / "3.png").write_bytes(copy)
    again = Audit.from_text(AUDIT % f"duplicates, {LABELS}", base=tmp_path).run(tmp_path / "again")
    derived = again.labels.filter(pl.col("derived_from").is_not_null())
    assert derived.select("attribute", "annotator", "derived_from").unique().rows() == [
        ("exact_duplicate_of", "duplicates", "duplicates")
    ]
    assert again.info["counts"]["derived_labels"] == derived.height == 1
    assert headline(again)["counts"]["derived_labels"] == 1


def test_runs_whose_folded_values_are_rows_of_their_own_open_as_others_do(tmp_path):
    run = run_of(tmp_path, ["Rose-Gold", "rose gold", "Reds", "red"], f"duplicates, colour, {LABELS}")
    now = run.labels
    drawn = ["product_colour", "background_colour", "value_seen"]
    given = now.with_columns(value=pl.coalesce("written", "value")).drop("written", "derived_from")
    copies = now.filter(pl.col("attribute").is_in(drawn)).with_columns(
        annotator=pl.lit("folded:") + pl.col("annotator")
    )
    before = pl.concat([given, copies.drop("written", "derived_from")])
    before.write_parquet(run.path / "labels.parquet")
    assert st.open(run.path).labels.equals(now)
    assert headline(st.open(run.path)) == headline(run)
