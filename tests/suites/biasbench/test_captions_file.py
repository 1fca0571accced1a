"""Captions are read as they come: other headings, orders, delimiters, encodings; or it is said why not."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from stereotrope.errors import InputError
from stereotrope.suites.biasbench.captions_file import prompt_of_name, read_benchmark_captions
from stereotrope.suites.biasbench.diagnosis import diagnose
from stereotrope.suites.biasbench.figures import published_name
from stereotrope.suites.biasbench.prompts import prompt_texts

HEADER = "model,prompt,image,caption\n"
ROWS = (
    ("flux", "beauty", "Beauty_0.jpg", "Female, pale; a red dress"),
    ("flux", "doctor", "Gender_1.jpg", 'a "surgeon", masked'),
    ("flux", "nature", "Nature_2.jpg", "a bee on a flower"),
    ("flux", "culture", "Cultural_3.jpg", "diyas and colours"),
)
NAMED = ("model", "prompt", "image", "caption")


def table(
    headings: Sequence[str],
    cells: Callable[[tuple[str, str, str, str]], Sequence[str]] = lambda row: row,
    *,
    delimiter: str = ",",
    newline: str = "\n",
    encoding: str = "utf-8",
) -> bytes:
    made = io.StringIO()
    writer = csv.writer(made, delimiter=delimiter, lineterminator=newline)
    writer.writerows([headings, *map(cells, ROWS)])
    return made.getvalue().encode(encoding)


VARIATIONS: dict[str, bytes] = {
    "plain.csv": table(NAMED),
    "renamed.csv": table(("Generator", "Category", "File Name", "Image Caption")),
    "some_caption.csv": table(("model", "prompt", "image-name", "gemini_caption")),
    "order.csv": table(("caption", "image", "model", "prompt"), lambda r: (r[3], r[2], r[0], r[1])),
    "case.csv": table(("MODEL", "PROMPT", "IMAGE", "CAPTION"), lambda r: (r[0], f" {r[1].upper()} ", *r[2:])),
    "bom.csv": table(NAMED, encoding="utf-8-sig"),
    "utf16.csv": table(NAMED, encoding="utf-16"),
    "windows.csv": table((*NAMED, "note"), lambda r: (*r, "caf\xe9 “x”"), encoding="cp1252"),
    "semicolon.csv": table(NAMED, delimiter=";", newline="\r\n"),
    "tab.tsv": table(NAMED, delimiter="\t"),
    "blank.csv": table(NAMED).replace(b"\n", b"\n\n\n"),
    "extra.csv": table(("n", *NAMED, "seed", "description", ""), lambda r: ("7", *r, "1", "decoy", "")),
    "trailing.csv": table(NAMED, lambda r: (*r, "", "")),
    "folders.csv": table(("model", "image", "caption"), lambda r: (r[0], f"out\\Run 1\\{r[2]}", r[3])),
    "texts.csv": table(NAMED, lambda r: (r[0], prompt_texts()[r[1]], *r[2:])),
    "lines.jsonl": "\n".join(json.dumps(dict(zip(NAMED, row, strict=True))) for row in ROWS).encode(),
    "list.json": json.dumps([dict(zip(NAMED, row, strict=True)) for row in ROWS], indent=1).encode(),
    "no_header.csv": table(NAMED).partition(b"\n")[2],
}


@pytest.mark.parametrize("name", VARIATIONS)
def test_captions_are_read_as_they_come(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(VARIATIONS[name])
    (read,) = read_benchmark_captions(file)
    assert [(r.model, r.prompt, r.image.split("\\")[-1], r.caption) for r in read.rows] == list(ROWS)
    assert bool(read.notes) == (name == "windows.csv")


def test_the_prompt_of_a_picture_is_in_its_name_whatever_its_folder() -> None:
    assert prompt_of_name("a/Beauty/Gender_12.png") == "doctor"
    assert prompt_of_name(r"C:\beauty\Neutral_1.png") == "animal"
    assert prompt_of_name("sunset_1.png") is None


@pytest.mark.parametrize(
    ("image", "prompt"),
    [
        ("sdxl_doctor_017.png", "doctor"),
        ("FLUX-Cultural-3.webp", "culture"),
        ("imgBeauty12.jpg", "beauty"),
        ("NATURE_5.PNG", "nature"),
        ("neutral_nature_1.png", "animal"),
        ("runs/doctor/0001.png", "doctor"),
        (r"beauty\animal\seed 3\4.png", "animal"),
        ("signature_2.png", None),
        ("0001.png", None),
    ],
)
def test_any_word_of_a_name_or_a_folder_says_the_prompt(image: str, prompt: str | None) -> None:
    assert prompt_of_name(image) == prompt


def test_files_named_for_a_prompt_are_of_the_model_of_their_folder(tmp_path: Path) -> None:
    (folder := tmp_path / "flux").mkdir()
    for name in ("beauty.csv", "Doctor_captions.csv", "sdxl_nature.csv"):
        (folder / name).write_text("image,caption\n0001.png,a person\n", "utf-8")
    rows = [row for file in read_benchmark_captions(folder) for row in file.rows]
    assert {(row.model, row.prompt) for row in rows} == {
        ("flux", "beauty"),
        ("flux", "doctor"),
        ("sdxl", "nature"),
    }


def test_of_several_columns_for_captions_the_first_known_name_counts(tmp_path: Path) -> None:
    file = tmp_path / "two.csv"
    file.write_text("text,image,caption\ndecoy,Gender_1,a doctor\n", encoding="utf-8")
    assert read_benchmark_captions(file)[0].rows[0].caption == "a doctor"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", b"", "holds no row"),
        ("a.csv", b"one\n", r"a\.csv:1: a column must give the caption \(caption, captions, .*found 'one'"),
        ("a.csv", b"model,prompt,metric,value\nm,beauty,cas,0.5\n", r"found 'model', 'prompt', 'metric'"),
        ("a.csv", HEADER.encode() + b"m,beauty,Beauty_0,a, b\n", ":2: 4 columns expected, found 5; quote"),
        ("a.csv", HEADER.encode() + b"m,beauty,Beauty_0\n", ":2: 4 columns expected, found 3; is a quote"),
        ("a.csv", b'image,caption\nGender_1,"a\nGender_2,b\n', ":2: a quote is opened in this row and never"),
        ("a.csv", b"image,caption\na,\x00\n", "holds bytes that are no text"),
        ("a.csv", b"\xff\xfea", "begins as UTF-16 and is not"),
        ("a.csv", b"image,caption\nx,\x81\x8d\n", "neither UTF-8 nor Windows-1252"),
        ("a.jsonl", b"{\n", r"a\.jsonl:1: not JSON"),
        ("a.jsonl", b"[" * 100_000, r"a\.jsonl:1: not JSON"),
        ("a.jsonl", b"[1]\n", "expected an object with a caption, found 1"),
        ("a.jsonl", b'{"caption": {"a": 1}}', r"caption must be a text, found \{'a': 1\}"),
        ("a.jsonl", b'{"caption": NaN}', "caption must be a text, found nan"),
        ("a.jsonl", b"\n", "holds no row"),
        ("a.json", b"[]", "holds no row"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=message):
        read_benchmark_captions(tmp_path / name)


def test_half_a_character_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"image": "Gender_1", "caption": "\\ud800 man"}', encoding="utf-8")
    assert read_benchmark_captions(file)[0].rows[0].caption == "\ufffd man"


def test_a_folder_without_captions_says_so(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"holds no \.csv, \.tsv, \.jsonl, \.ndjson, \.json file of captions, found no file"
    ):
        read_benchmark_captions(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_benchmark_captions(tmp_path / "absent.csv")
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\x00" + os.urandom(8))
    with pytest.raises(InputError, match="none of its 1 files holds captions"):
        read_benchmark_captions(tmp_path)


def test_the_published_folder_is_read_with_its_tables_and_lists_told(shared: Path) -> None:
    files = read_benchmark_captions(shared / "data" / "biasbench")
    assert [file.path.stem for file in files if not file.skipped] == [
        "captions_bksdm",
        "captions_bksdm_asreleased",
        "captions_sd",
    ]
    assert {file.path.name for file in files if file.skipped} >= {"lexicon_authors.json", "golden_sd.csv"}


def test_every_file_of_a_folder_is_read_or_told(tmp_path: Path) -> None:
    (tmp_path / "koala_all.csv").write_text("image_id,captions\nBeauty_1,a face\n", "utf-8")
    (tmp_path / "Gemini.csv").write_text("File Name,Image Description \nBeauty_1.png,a face\n", "utf-8")
    (tmp_path / "scores.json").write_text('{\n "cas": 1,\n "terms": ["a"]\n}\n', "utf-8")
    (tmp_path / "sheet.xlsx").write_bytes(b"PK\x03\x04\0")
    (tmp_path / ".hidden.csv").write_text("x\n", "utf-8")
    files = {file.path.name: file for file in read_benchmark_captions(tmp_path)}
    assert sorted(files) == ["Gemini.csv", "koala_all.csv", "scores.json", "sheet.xlsx"]
    assert [file.rows[0].caption for file in files.values() if not file.skipped] == ["a face", "a face"]
    assert "captions are read from .csv, .tsv" in files["sheet.xlsx"].skipped
    assert "a column must give the caption" in files["scores.json"].skipped


@pytest.mark.parametrize(
    ("file", "model"),
    [
        ("koala_all.csv", "Koala Lightning"),
        ("captions_koala.csv", "Koala Lightning"),
        ("BK-SDM captions.csv", "BK-SDM Base"),
        ("Gemini.csv", "Gemini 2.5 Flash"),
        ("gemini-2.5-flash_image_descriptions.csv", "Gemini 2.5 Flash"),
        ("SD v1.5 - all captions.csv", "SD v1.5"),
        ("sdxl_all.csv", None),
        ("all_captions.csv", None),
    ],
)
def test_the_name_of_a_file_says_the_model_of_the_paper(tmp_path: Path, file: str, model: str | None) -> None:
    (tmp_path / file).write_text("image,caption\nBeauty_1,a face\nGender_1,a doctor\n", "utf-8")
    (read,) = read_benchmark_captions(tmp_path / file)
    assert published_name(read.rows[0].model) == model


def test_one_sheet_a_prompt_is_of_the_model_that_the_names_share(tmp_path: Path) -> None:
    for name in (
        "koala_beauty.csv",
        "Koala.xlsx - Doctor.csv",
        "koala_captions_Culture.csv",
        "KoalaNature.csv",
    ):
        (tmp_path / name).write_text("image,caption\n001.png,a face\n", "utf-8")
    rows = [row for file in read_benchmark_captions(tmp_path) for row in file.rows]
    assert {row.prompt for row in rows} == {"beauty", "doctor", "culture", "nature"}
    assert {published_name(row.model) for row in rows} == {"Koala Lightning"}
    assert [
        (found.model.casefold(), len(found.rows)) for found in diagnose(read_benchmark_captions(tmp_path))
    ] == [("koala", 4)]
