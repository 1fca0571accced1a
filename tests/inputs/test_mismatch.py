"""Files of labels, captions and vectors whose names fit no picture: the cause is found by trying."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from pathlib import Path

import polars as pl
import pytest

from stereotrope import annotate
from stereotrope.annotate.label import labels_frame
from stereotrope.inputs.mismatch import WAYS, likeliest_cause

NAMES = [f"images/Café_{i:04d}.jpg" for i in range(1, 9)]
IMAGES = pl.DataFrame(
    {
        "image_id": [hashlib.sha256(name.encode()).hexdigest()[:16] for name in NAMES],
        "prompt_id": "p",
        "source": NAMES,
        "sha256": [hashlib.sha256(name.upper().encode()).hexdigest() for name in NAMES],
        "path": None,
        "status": "ok",
        "reason": pl.Series([None] * len(NAMES), dtype=pl.String),
    }
)
PROMPTS = pl.DataFrame({"prompt_id": ["p"], "text": ["a café"]})
HASHES, IDS = IMAGES["sha256"].to_list(), IMAGES["image_id"].to_list()
KINDS = ("labels", "captions", "embeddings")

ENDING = "one has no ending, or another"
SPELT = {
    "no ending": ([n.removesuffix(".jpg") for n in NAMES], ENDING),
    "another ending": ([n.replace(".jpg", ".PNG") for n in NAMES], ENDING),
    "case": ([n.upper() for n in NAMES], "capitals differ"),
    "numbers": ([n.replace("000", "") for n in NAMES], "numbers are written otherwise"),
    "a spreadsheet's numbers": (
        [n.replace("000", "").replace(".jpg", ".0.jpg") for n in NAMES],
        "numbers are written otherwise",
    ),
    "bare numbers": ([str(i) for i in range(1, 9)], "numbers in the pictures' names only"),
    "numbers with decimals": ([f"{i}.0" for i in range(1, 9)], "numbers in the pictures' names only"),
    "other folders": ([n.replace("images/", "C:\\old\\") for n in NAMES], "the folders differ"),
    "another folder": ([n.replace("images/", "raters/") for n in NAMES], "the folders differ"),
    "blanks": ([n.replace("_", " ") for n in NAMES], "blanks, underscores or invisible characters"),
    "an invisible character": ([n.replace("C", "\u200bC") for n in NAMES], "invisible characters differ"),
    "a hard blank": ([n.replace("_", "\u00a0_") for n in NAMES], "invisible characters differ"),
    "wide letters": ([n.replace("C", "\uff23") for n in NAMES], "letters are composed otherwise"),
    "a web address": ([n.replace("é", "%C3%A9") for n in NAMES], "written as in a web address"),
    "quotes": ([f"'{n}'" for n in NAMES], "one stands in quotes"),
    "two at once": ([n.removesuffix(".jpg").upper() for n in NAMES], f"{ENDING}, and capitals differ"),
}


def of_kind(kind: str, folder: Path, names: list[str], column: str = "file_name", **more: list[str]):
    if kind == "embeddings":
        lines = [json.dumps({column: name, "vector": [1, i]}) for i, name in enumerate(names)]
        (folder / "f.jsonl").write_text("\n".join(lines), encoding="utf-8")
        return annotate.create({kind: "f.jsonl", "name": "n"}, relative_to=folder)
    value = "caption" if kind == "captions" else "gender"
    frame = pl.DataFrame({column: names, value: ["a woman"] * len(names), **more})
    frame.write_csv(folder / "f.csv")
    return annotate.create({kind: "f.csv", "name": "n"}, relative_to=folder)


def made_by(annotator, images: pl.DataFrame = IMAGES) -> int:
    if annotator.derive is None:
        return annotator.embed(images, PROMPTS, {}).height
    return annotator.derive(images, labels_frame([])).height


@pytest.mark.parametrize("spelling", SPELT)
def test_names_that_are_spelt_otherwise_are_told_with_an_example_of_each_side(tmp_path, spelling):
    names, cause = SPELT[spelling]
    annotator = of_kind("labels", tmp_path, names)
    assert made_by(annotator) == 0
    said = unicodedata.normalize("NFC", names[0].replace("\\", "/"))
    example = f"line 2 says {said!r}, the picture is {NAMES[0]!r}"
    assert annotator.trouble.startswith("f.csv: none of its rows (8) matches a picture of the run; likeliest")
    assert cause in annotator.trouble
    assert f"{example}; write 'file_name' as the pictures are called" in annotator.trouble
    assert [note for note in annotator.notes if cause in note]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spelling", ["case", "numbers", "blanks", "other folders"])
def test_all_files_made_elsewhere_tell_it(tmp_path, kind, spelling):
    names, cause = SPELT[spelling]
    if kind != "labels" and spelling == "other folders":
        names = [f"old/{name.removesuffix('.jpg')}x.jpg" for name in NAMES]
        cause = "check that the file belongs to these pictures"
    annotator = of_kind(kind, tmp_path, names, "image")
    assert made_by(annotator) == 0
    assert cause in annotator.trouble


@pytest.mark.parametrize(
    ("column", "names", "called"),
    [
        ("file_name", HASHES, "sha256"),
        ("file_name", IDS, "image_id"),
        ("sha256", IDS, "image_id"),
    ],
)
def test_names_of_another_kind_are_told(tmp_path, column, names, called):
    annotator = of_kind("labels", tmp_path, names, column)
    assert made_by(annotator) == 0
    assert f"holds what is called {called} here; call the column {called}" in annotator.trouble


@pytest.mark.parametrize("kind", ["captions", "embeddings"])
@pytest.mark.parametrize("names", [NAMES, IDS, HASHES], ids=["file_name", "image_id", "sha256"])
def test_captions_and_vectors_name_pictures_by_whatever_fits(tmp_path, kind, names):
    assert made_by(of_kind(kind, tmp_path, names)) == 8


@pytest.mark.parametrize("names", [NAMES, IDS, HASHES], ids=["file_name", "image_id", "sha256"])
def test_another_column_that_names_the_pictures_is_told_and_can_be_given(tmp_path, names):
    strange = [f"task {i}" for i in range(8)]
    annotator = of_kind("labels", tmp_path, strange, "image_id", picture=names)
    assert made_by(annotator) == 0
    assert "the column 'picture' names the pictures, not 'image_id'; write key: picture" in annotator.trouble
    keyed = annotate.create(
        {"labels": "f.csv", "name": "n", "key": "picture", "attributes": ["gender"]}, relative_to=tmp_path
    )
    assert made_by(keyed) == 8
    assert keyed.trouble is None


def test_a_file_without_any_cause_shows_what_both_sides_are_called(tmp_path):
    annotator = of_kind("labels", tmp_path, [f"https://x.org/{c}{c}" for c in "abcdefgh"])
    assert made_by(annotator) == 0
    assert (
        "line 2 says 'https:/x.org/aa', the pictures are called 'images/Café_0001.jpg', "
        "'images/Café_0002.jpg' …" in annotator.trouble
    )
    assert "check that the file belongs to these pictures" in annotator.trouble


def test_a_file_that_matches_a_few_pictures_says_why_the_others_do_not(tmp_path):
    annotator = of_kind("labels", tmp_path, [*NAMES[:2], *(n.upper() for n in NAMES[2:])])
    assert made_by(annotator) == 2
    assert annotator.trouble is None
    assert annotator.notes[0].startswith(
        "f.csv: 6 rows match no image (line 4, 5, 6, 7, 8 …); likeliest cause: capitals differ: line 4 says"
    )


def test_rows_of_a_model_that_is_not_there_are_not_taken_for_others_of_the_same_file_names(tmp_path):
    """Following “the folders differ” would put the labels of one model on the pictures of another."""
    other = [name.replace("images", "older") for name in NAMES]
    annotator = of_kind("labels", tmp_path, [*NAMES, *other])
    assert made_by(annotator) == 8
    (note,) = annotator.notes
    assert note == (
        "f.csv: 8 rows match no image (line 10, 11, 12, 13, 14 …); every picture of the run has a row "
        "already, so that these are of others"
    )
    half = of_kind("labels", tmp_path, [*NAMES[:7], *other])
    assert made_by(half) == 7
    assert "the folders differ" not in half.notes[0]


def test_a_name_of_several_pictures_is_said_to_be_one(tmp_path):
    twins = pl.concat([IMAGES, IMAGES.with_columns(source=pl.col("source").str.replace("images", "b"))])
    twins = twins.with_columns(image_id=pl.concat_str("image_id", pl.int_range(pl.len()).cast(pl.String)))
    annotator = of_kind("labels", tmp_path, [n.replace("images", "c") for n in NAMES])
    assert made_by(annotator, twins) == 0
    assert "there are 2 pictures so called, 'images/Café_0001.jpg' and 'b/Café_0001.jpg'" in annotator.trouble


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_pictures_that_cannot_be_used_are_told_with_the_reasons_counted(tmp_path, kind):
    reasons = ["file is missing"] * 2 + ["is damaged"]
    images = IMAGES.with_columns(
        status=pl.Series(["excluded"] * 3 + ["ok"] * 5),
        reason=pl.Series([*reasons, *[None] * 5], dtype=pl.String),
    )
    annotator = of_kind(kind, tmp_path, NAMES)
    assert made_by(annotator, images) == 5
    place = "line 1, 2, 3" if kind == "embeddings" else "line 2, 3, 4"
    assert any(
        f"3 rows are of pictures that cannot be used ({place}): 2 × file is missing, 1 × is damaged" in note
        for note in annotator.notes
    )
    assert annotator.trouble is None
    assert made_by(annotator, images.with_columns(status=pl.lit("excluded"))) == 0
    assert "is of a picture that can be used" in annotator.trouble


def test_pictures_are_found_by_their_file_in_the_run_folder(tmp_path):
    drawn = IMAGES.with_columns(
        source=pl.lit(None, pl.String), path=pl.concat_str(pl.lit("pictures/ab/"), "sha256", pl.lit(".png"))
    )
    annotator = of_kind("labels", tmp_path, [f"{one}.png" for one in HASHES])
    assert made_by(annotator, drawn) == 8


@pytest.mark.parametrize("count", [1, 3, 5000])
def test_a_cause_is_found_in_any_number_of_names(count):
    names = [f"{i:06d}.png" for i in range(count)]
    strays = {i + 2: str(i) for i in range(min(count, 200))}
    assert "has no ending" in likeliest_cause(strays, names, place="line", column="id")
    assert likeliest_cause({2: "zebra"}, names, place="line", column="id") is None
    assert len(WAYS) == 9


def test_digits_without_end_are_no_trouble():
    long = "9" * 10_000
    assert likeliest_cause({2: long}, [f"a{long}.png"], place="line", column="id") is not None
