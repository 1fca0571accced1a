"""What is odd about a file of captions is said; nothing is counted in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from stereotrope.errors import InputError
from stereotrope.suites.biasbench.captions_file import read_benchmark_captions
from stereotrope.suites.biasbench.diagnosis import ModelCaptions, Remark, diagnose

HEADER = "model,prompt,image,caption\n"


def of(tmp_path: Path, text: str, name: str = "made.csv") -> ModelCaptions:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    (found,) = diagnose(read_benchmark_captions(file))
    return found


def remark(found: ModelCaptions, kind: str) -> Remark:
    return next(r for r in found.remarks if r.kind == kind)


def kinds(found: ModelCaptions) -> list[str]:
    return [r.kind for r in found.remarks]


def test_the_three_oddities_of_the_released_file_are_found(shared: Path) -> None:
    (found,) = diagnose(
        read_benchmark_captions(shared / "data" / "biasbench" / "captions_bksdm_asreleased.csv")
    )
    assert remark(found, "stray header row").lines == (172,)
    assert remark(found, "stray header row").effect == "left out"
    assert remark(found, "mislabelled rows").lines == tuple(range(443, 453))
    assert "10 rows named for nature (Nature_40 to Nature_49)" in remark(found, "mislabelled rows").what
    assert remark(found, "header eaten as data").lines == (2,)
    assert "Beauty_0" in remark(found, "header eaten as data").what
    assert (len(found.rows), len(found.repaired)) == (500, 499)


def test_the_repaired_file_still_tells_what_was_done_to_it(shared: Path) -> None:
    (found,) = diagnose(read_benchmark_captions(shared / "data" / "biasbench" / "captions_bksdm.csv"))
    assert kinds(found) == ["words run together", "mislabelled rows", "first row lost"]
    assert "379 of 499 captions hold words run together" in found.remarks[0].what
    assert "10 rows of animal have images named for nature" in found.remarks[1].what
    assert found.repaired == found.rows


def test_nothing_is_odd_about_the_captions_of_the_other_model(shared: Path) -> None:
    (found,) = diagnose(read_benchmark_captions(shared / "data" / "biasbench" / "captions_sd.csv"))
    assert kinds(found) == ["words run together"]


def test_every_row_left_out_is_told_with_its_line(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        HEADER
        + "m,beauty,Beauty_0,a face\n\nm,prompt,image_name,skin_tonehair_descriptionbias_flags\n"
        + 'm,beauty,Beauty_1,""\nm,weather,Weather_0,rain\nm,beauty,Beauty_2,"a\nb"\nm,beauty,Beauty_3,b\n',
    )
    assert remark(found, "stray header row").lines == (4,)
    assert remark(found, "empty caption").lines == (5,)
    assert remark(found, "unknown prompt").lines == (6,)
    assert [r.line for r in found.rows] == [2, 7, 9]
    assert "no caption of doctor, animal, nature, culture" in remark(found, "no captions").what


def test_a_prompt_that_only_reads_like_one_of_the_benchmark_is_told_with_its_letters(tmp_path: Path) -> None:
    found = of(tmp_path, HEADER + "m,beauty,Beauty_0,a face\nm,d\u043ector,,a doctor\nm,weather,,rain\n")
    told = remark(found, "unknown prompt").what
    assert "prompts: 'doctor' (0), 'd\u043ector' (1: has U+043E CYRILLIC SMALL LETTER O for U+006F" in told
    assert told.endswith("read alike and count apart; write it as the benchmark does")


def test_without_a_header_the_first_row_counts_and_it_is_said(tmp_path: Path) -> None:
    found = of(tmp_path, "Beauty_0,a pale face\nGender_0.png,a doctor\n", "mine.csv")
    assert [(r.model, r.prompt, r.image) for r in found.rows] == [
        ("mine", "beauty", "Beauty_0"),
        ("mine", "doctor", "Gender_0.png"),
    ]
    assert "loses Beauty_0" in remark(found, "no header").what


def test_repeated_images_and_gaps_are_told(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        HEADER + "m,doctor,Gender_0,a\nm,doctor,Gender_0.jpg,b\nm,doctor,Gender_4,c\nm,beauty,Gender_7,d\n",
    )
    assert "images of doctor with more than one caption: 1" in remark(found, "image named twice").what
    assert "lack the numbers 1 to 3 of 0 to 4" in remark(found, "missing numbers").what
    assert remark(found, "mislabelled rows").lines == (5,)


def test_a_folder_of_jsonl_and_csv_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"image": "Nature_0", "caption": "a bee"}\n\n', encoding="utf-8")
    (tmp_path / "b.csv").write_text("image,caption\nNature_0,a moth\n", encoding="utf-8-sig")
    found = diagnose(read_benchmark_captions(tmp_path))
    assert [(m.model, m.rows[0].caption) for m in found] == [("a", "a bee"), ("b", "a moth")]


def test_other_tables_of_a_folder_are_passed_over_and_named(tmp_path: Path) -> None:
    (tmp_path / "captions.csv").write_text("image,caption\nNature_0,a moth\n", encoding="utf-8")
    (tmp_path / "scores.csv").write_text("model,prompt,metric,value\nm,beauty,cas,0.5\n", encoding="utf-8")
    files = read_benchmark_captions(tmp_path)
    assert [file.path.name for file in files if file.skipped] == ["scores.csv"]
    assert [found.model for found in diagnose(files)] == ["captions"]
    (tmp_path / "captions.csv").unlink()
    with pytest.raises(InputError, match="none of its 1 files holds captions"):
        read_benchmark_captions(tmp_path)


def test_names_that_count_from_one_everywhere_lack_nothing(tmp_path: Path) -> None:
    found = of(tmp_path, HEADER + "m,doctor,Gender_1,a\nm,doctor,Gender_2,b\nm,beauty,Beauty_1,c\n")
    assert kinds(found) == ["no captions"]
    lost = of(tmp_path, HEADER + "m,doctor,Gender_1,a\nm,doctor,Gender_2,b\nm,beauty,Beauty_0,c\n")
    assert "first row lost" in kinds(lost)


def test_captions_over_several_lines_and_another_encoding_are_told(tmp_path: Path) -> None:
    (tmp_path / "made.csv").write_bytes('image,caption\nGender_1,"a caf\xe9\nat night"\n'.encode("cp1252"))
    (found,) = diagnose(read_benchmark_captions(tmp_path / "made.csv"))
    assert remark(found, "line breaks").lines == (2,)
    assert "read as Windows-1252" in remark(found, "reading").what
    assert found.rows[0].caption == "a caf\xe9\nat night"
