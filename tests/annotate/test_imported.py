from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from stereotrope.annotate import ImportedLabels
from stereotrope.errors import MetadataError, UsageError
from stereotrope.tables import LABELS

TABLE = pl.DataFrame(
    {
        "image_id": ["i1", "i2", "i3", "i4"],
        "source": ["a/1.jpg", "a/2.jpg", "b/2.jpg", "caf\u00e9.png"],
        "sha256": ["aa", "bb", "bb", "cc"],
        "status": ["ok", "ok", "ok", "ok"],
    }
)
NONE = pl.DataFrame(schema={c.name: pl.String for c in LABELS})


def imported(folder: Path, content: str | bytes, name: str = "human.csv", **options) -> ImportedLabels:
    data = content.encode() if isinstance(content, str) else content
    (folder / name).write_bytes(data)
    return ImportedLabels(name, name="rater-1", folder=folder, **options)


def said(labels: ImportedLabels, table: pl.DataFrame = TABLE) -> dict[tuple[str, str], str | None]:
    frame = labels.derive(table, NONE)
    assert frame.columns == [c.name for c in LABELS]
    return {(r["subject_id"], r["attribute"]): r["value"] for r in frame.iter_rows(named=True)}


def test_wide_files_have_a_column_an_attribute(tmp_path):
    labels = imported(tmp_path, "image_id,gender,race\ni1,female,asian\ni2,male,\n")
    assert said(labels) == {("i1", "gender"): "female", ("i2", "gender"): "male", ("i1", "race"): "asian"}
    assert dict(labels.attributes) == {"gender": None, "race": None}


def test_a_column_that_nobody_filled_in_is_an_attribute_without_labels(tmp_path):
    text = "image_id,gender,race\ni1,female,\ni2,male,\n"
    for options in ({}, {"attributes": ["gender", "race"]}):
        labels = imported(tmp_path, text, **options)
        assert dict(labels.attributes) == {"gender": None, "race": None}
        assert {attribute for _, attribute in said(labels)} == {"gender"}


@pytest.mark.parametrize("text", ["image_id\na\nb\n", "image_id,file_name\na,a.png\n"])
def test_a_file_without_a_column_of_labels_has_no_label_in_it(tmp_path, text):
    labels = imported(tmp_path, text, key="image_id")
    assert said(labels) == {}
    assert labels.trouble == f"{labels.file}: no label in it"


def test_tidy_files_have_a_row_a_label_and_may_say_more(tmp_path):
    head = "image_id,attribute,value,confidence,status,rationale\n"
    text = head + "i1,gender,female,0.8,,hair\ni2,gender,,,unclear,dark\n"
    frame = imported(tmp_path, text).derive(TABLE, NONE)
    assert frame.select("value", "confidence", "status", "rationale").rows() == [
        ("female", 0.8, "ok", "hair"),
        (None, None, "unclear", "dark"),
    ]
    assert frame["annotator"].to_list() == ["rater-1", "rater-1"]


def test_the_layout_can_be_given(tmp_path):
    text = "image_id,attribute,value\ni1,big,3\n"
    assert said(imported(tmp_path, text, layout="wide")) == {("i1", "attribute"): "big", ("i1", "value"): "3"}
    with pytest.raises(
        MetadataError, match=r"human.csv:1: no column 'attribute' \(a tidy file needs it; else give layout"
    ):
        imported(tmp_path, "image_id,x\ni1,1\n", layout="tidy")
    with pytest.raises(UsageError, match="'layout' must be 'tidy' or 'wide', found 'long'"):
        imported(tmp_path, text, layout="long")


def test_json_lines_are_read_like_rows(tmp_path):
    first = '{"image_id": "i1", "gender": "female", "age": 30, "sure": 2.5, "whole": 3.0, "old": false}'
    text = first + '\n\n{"image_id": "i2", "gender": null}\n'
    assert said(imported(tmp_path, text, "h.jsonl")) == {
        ("i1", "gender"): "female",
        ("i1", "age"): "30",
        ("i1", "sure"): "2.5",
        ("i1", "whole"): "3",
        ("i1", "old"): "false",
    }


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_byte_order_marks_blank_lines_and_delimiters_are_accepted(tmp_path, delimiter):
    text = "\ufeff\nimage_id,gender\r\n\r\ni1, female \r\n,\r\n".replace(",", delimiter)
    assert said(imported(tmp_path, text)) == {("i1", "gender"): "female"}


def test_none_and_na_are_values_and_an_empty_cell_is_missing(tmp_path):
    labels = imported(tmp_path, "image_id,text\ni1,None\ni2,NA\ni3,\n")
    assert said(labels) == {("i1", "text"): "None", ("i2", "text"): "NA"}
    assert labels.notes == [
        "human.csv: 2 of 4 images have no label of 'text'",
        "human.csv: 1 × 'None', 1 × 'NA' count as values; where there is no label leave the cell empty, or "
        "write unclear",
    ]


def test_words_that_mean_no_label_are_counted_where_they_count(tmp_path):
    labels = imported(tmp_path, "image_id,mitigation,g\ni1,none,none\ni2,none,male\nelsewhere,none,none\n")
    labels.leave_out(["mitigation"], None)
    assert len(said(labels)) == 2
    assert labels.notes[-1].startswith("human.csv: 1 × 'none' count as values; ")


@pytest.mark.parametrize("word", ["unclear", "Refused", "INVALID"])
def test_words_of_status_become_the_status(tmp_path, word):
    frame = imported(tmp_path, f"image_id,gender\ni1,{word}\n").derive(TABLE, NONE)
    assert frame.select("value", "status").rows() == [(None, word.lower())]


@pytest.mark.parametrize(
    ("key", "image"),
    [
        ("a/1.jpg", "i1"),
        ("a\\1.jpg", "i1"),
        ("./a//1.jpg", "i1"),
        ("downloads/a/1.jpg", "i1"),
        ("1.jpg", "i1"),
        ("cafe\u0301.png", "i4"),
    ],
)
def test_file_names_are_matched_however_they_are_written(tmp_path, key, image):
    for column in ("file_name", "source"):
        assert said(imported(tmp_path, f"{column},gender\n{key},female\n")) == {(image, "gender"): "female"}


def test_a_file_name_of_two_images_is_refused(tmp_path):
    labels = imported(tmp_path, "file_name,gender\na/1.jpg,male\n2.jpg,female\n")
    with pytest.raises(
        MetadataError,
        match=r"human.csv:3: 'file_name' must name one image, found 2 for '2.jpg'; give image_id or sha256",
    ):
        labels.derive(TABLE, NONE)


def test_a_hash_labels_every_image_of_these_bytes(tmp_path):
    assert said(imported(tmp_path, "sha256,gender\nBB,female\n")) == {
        ("i2", "gender"): "female",
        ("i3", "gender"): "female",
    }


def test_the_key_can_be_given(tmp_path):
    text = "image_id,file_name,gender\nzz,a/1.jpg,female\n"
    assert said(imported(tmp_path, text, key="file_name")) == {("i1", "gender"): "female"}
    assert said(imported(tmp_path, text)) == {}


def test_what_does_not_match_is_counted_and_named(tmp_path):
    rows = "".join(f"x{k},female\n" for k in range(7))
    labels = imported(tmp_path, "image_id,gender\ni1,male\n" + rows)
    labels.derive(TABLE, NONE)
    assert labels.notes == [
        "human.csv: 7 rows match no image (line 3, 4, 5, 6, 7 …); line 3 says 'x0', the pictures are called "
        "'a/1.jpg', 'a/2.jpg' …, and neither endings, case, numbers, folders, blanks nor another column "
        "explain it; check that the file belongs to these pictures",
        "human.csv: 3 of 4 images have no label of 'gender'",
    ]
    assert labels.trouble is None
    labels.derive(TABLE, NONE)
    assert len(labels.notes) == 2


def test_images_without_a_picture_get_no_label(tmp_path):
    labels = imported(tmp_path, "image_id,gender\ni1,male\n")
    assert said(labels, TABLE.with_columns(status=pl.lit("refused"))) == {}
    assert labels.notes == ["human.csv: 1 row is of a picture that cannot be used (line 2): 1 × refused"]
    assert labels.trouble == "human.csv: none of its rows (1) is of a picture that can be used: 1 × refused"


def test_a_row_given_twice_counts_once_and_a_conflict_names_both_lines(tmp_path):
    labels = imported(tmp_path, "image_id,gender\ni1,male\ni1,male\n")
    assert said(labels) == {("i1", "gender"): "male"}
    assert labels.notes[0] == "human.csv: 1 label given twice counts once"
    with pytest.raises(
        MetadataError, match=r"human.csv:4: .*'gender' 'female' here and 'male' on line 2 for 'i1'; keep one"
    ):
        imported(tmp_path, "image_id,gender\ni1,male\ni2,male\ni1,female\n")


def test_two_names_of_one_image_may_not_conflict(tmp_path):
    labels = imported(tmp_path, "file_name,gender\na/1.jpg,male\n1.jpg,female\n")
    with pytest.raises(MetadataError, match=r"human.csv:3: .*'female' here and 'male' on line 2"):
        labels.derive(TABLE, NONE)


def test_attributes_can_be_chosen(tmp_path):
    text = "image_id,model,gender\ni1,x,male\n"
    assert said(imported(tmp_path, text, attributes=["gender"])) == {("i1", "gender"): "male"}
    with pytest.raises(
        MetadataError, match=r"human.csv:1: no column 'race' \(attributes\); .*'model', 'gender'"
    ):
        imported(tmp_path, text, attributes=["race"])
    odd = imported(tmp_path, "image_id,caf\u00e9\ni1,open\n", attributes=[" cafe\u0301 "])
    assert list(odd.attributes) == ["caf\u00e9"]
    assert said(odd) == {("i1", "caf\u00e9"): "open"}
    tidy = "image_id,attribute,value\ni1,gender,male\n"
    assert said(imported(tmp_path, tidy, attributes=["gender"])) == {("i1", "gender"): "male"}
    with pytest.raises(
        MetadataError, match=r"human.csv: no label of attribute 'race', found gender; correct"
    ):
        imported(tmp_path, tidy, attributes=["race"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "human.csv:1: must have at least one row, found none; add the rows"),
        (b" \n\n", "human.csv:1: must have at least one row, found none; add the rows"),
        (b"image_id,g\n", "human.csv:1: must have at least one row, found none; add the rows"),
        (
            "image_id,gender\ni1,é".encode("latin-1"),
            "human.csv:2: must be UTF-8, found byte 0xE9; save",
        ),
        ("image_id,g\n".encode("utf-16"), "human.csv:1: must be UTF-8, found UTF-16 or UTF-32; save"),
        (
            b"image_id,g\ni1,\0\n",
            "human.csv:2: must be text, found a NUL character; save it as UTF-8 text, CSV or JSON lines",
        ),
        (
            b"who,gender\ni1,x\n",
            "human.csv:1: a column must name the picture (image_id, file_name, source, sha256), "
            "found who, gender; rename one, or name it with key: who",
        ),
        (
            b"image_id,\ni1,x\n",
            "human.csv:1: every column needs a name, found none for column 2 beside image_id",
        ),
        (b"image_id,g,g\ni1,x,y\n", "human.csv:1: column 'g' is there twice; rename or remove one"),
        (
            b"image_id,g\ni1,x\ni2\n",
            "human.csv:3: must have 2 fields as the header, found 1; add or remove commas",
        ),
        (
            b"image_id,g\ni1,x,y\n",
            "human.csv:2: must have 2 fields as the header, found 3; add or remove commas",
        ),
        (b'image_id,g\ni1,"x\n', "human.csv:2: a quote is opened in this row and never closed; close it"),
        (b"image_id,g\n,x\n", "human.csv:2: 'image_id' must name a picture, found nothing; fill it in"),
        (
            b"image_id,attribute,value\ni1,,x\n",
            "human.csv:2: 'attribute' must be given, found nothing; fill it in",
        ),
        (
            b"image_id,attribute,value,confidence\ni1,g,x,1.5\n",
            "human.csv:2: 'confidence' must be a number from 0 to 1, found '1.5'; correct it",
        ),
        (
            b"image_id,attribute,value,confidence\ni1,g,x,nan\n",
            "human.csv:2: 'confidence' must be a number from 0 to 1, found 'nan'; correct it",
        ),
        (
            b"image_id,attribute,value,confidence\ni1,g,x,high\n",
            "human.csv:2: 'confidence' must be a number from 0 to 1, found 'high'; correct it",
        ),
        (
            b"image_id,attribute,value,status\ni1,g,x,done\n",
            "human.csv:2: 'status' must be ok, unclear, refused, invalid or empty, found 'done'; correct it",
        ),
    ],
)
def test_mistakes_are_named_with_file_and_line(tmp_path, content, message):
    with pytest.raises(MetadataError, match=re.escape(message)):
        imported(tmp_path, content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"image_id": "i1"}\n{"image_id"\n',
            "human.jsonl:2: must be one JSON object a line (Expecting ':' delimiter",
        ),
        (
            '{"image_id": "i1"}\n[1]\n',
            "human.jsonl:2: must be one JSON object a line, found [1]; write {",
        ),
        (
            '{"image_id": "i1", "g": NaN}\n',
            "human.jsonl:1: must be one JSON object a line (NaN is no JSON number); mend the line",
        ),
        (
            '{"image_id": "i1", "g": {"a": 1}}\n',
            "human.jsonl:1: column 'g' must hold text, a number, true, false or null, found an object; write",
        ),
        (
            '{"image_id": "i1", "g": ["a"]}\n',
            "human.jsonl:1: column 'g' must hold text, a number, true, false or null, found list ['a'];",
        ),
        (
            '{"image_id": "i1", "g": "a", "g": "b"}\n',
            "human.jsonl:1: column 'g' is there twice; rename or remove one",
        ),
    ],
)
def test_mistakes_in_json_lines_are_named_with_file_and_line(tmp_path, content, message):
    with pytest.raises(MetadataError, match=re.escape(message)):
        imported(tmp_path, content, "human.jsonl")


def test_a_list_is_refused_in_a_column_that_is_not_asked_for(tmp_path):
    text = '{"image_id": "i1", "g": "a", "boxes": [1, 2]}\n'
    with pytest.raises(MetadataError, match=r"human.jsonl:1: column 'boxes' must hold text.* found list"):
        imported(tmp_path, text, "human.jsonl", attributes=["g"])


def test_messages_about_columns_name_the_line_of_the_header(tmp_path):
    with pytest.raises(MetadataError, match=r"human.csv:3: a column must name the picture"):
        imported(tmp_path, "\n\nwho;gender\ni1;x\n")
    with pytest.raises(
        MetadataError, match=r"human.csv:2: every column needs a name, found none for column 1"
    ):
        imported(tmp_path, "\n,image_id,g\n0,i1,x\n")


def test_values_are_stripped_and_composed(tmp_path):
    labels = imported(tmp_path, "image_id;g\ni1; cafe\u0301 \ni2; \n")
    assert said(labels) == {("i1", "g"): "caf\u00e9"}


def test_a_missing_file_and_a_wrong_key_are_named(tmp_path):
    with pytest.raises(
        MetadataError, match=r"no\.csv: cannot be read \(No such file or directory\); check the path"
    ):
        ImportedLabels("no.csv", name="r", folder=tmp_path)
    with pytest.raises(MetadataError, match=r"human.csv:1: no column 'path' \(key\); There"):
        imported(tmp_path, "image_id,g\ni1,x\n", key="path")
    with pytest.raises(MetadataError, match=r"human.csv:1: no column 'sha256' \(key\); There"):
        imported(tmp_path, "image_id,g\ni1,x\n", key="sha256")


def test_hostile_text_stays_text(tmp_path):
    value = "=HYPERLINK(1)<script>{{7*7}}\u202e"
    labels = imported(tmp_path, f"image_id,g\ni1,{value}\n../../etc/passwd,x\n")
    assert said(labels) == {("i1", "g"): value}


def test_a_huge_cell_is_refused_with_its_line(tmp_path):
    with pytest.raises(
        MetadataError, match=r"human.csv:2: a label must have at most 131072 characters, .* 1000000"
    ):
        imported(tmp_path, "image_id,g\ni1," + "x" * 1_000_000 + "\n")


def test_the_fingerprint_holds_the_files_bytes(tmp_path):
    first = imported(tmp_path, "image_id,g\ni1,x\n").fingerprint
    assert imported(tmp_path, "image_id,g\ni1,x\n").fingerprint == first
    assert imported(tmp_path, "image_id,g\ni1,y\n").fingerprint != first


def test_the_published_labels_of_real_pictures_are_matched(shared: Path):
    folder = shared / "data" / "occupations"
    files = sorted(p.name for p in (folder / "images").iterdir())
    table = pl.DataFrame(
        {
            "image_id": files,
            "source": [f"images/{f}" for f in files],
            "sha256": files,
            "status": ["ok"] * len(files),
        }
    )
    labels = ImportedLabels("labels.csv", name="published", folder=folder, attributes=["gender", "race"])
    frame = labels.derive(table, NONE)
    assert frame.height + frame["value"].null_count() >= 2 * len(files)
    assert not any("match no image" in note for note in labels.notes)


@pytest.mark.parametrize(
    "text",
    [
        "image_id,gender,,\ni1,female,,\n",
        "image_id,gender\ni1,female,,\n",
        "sep=;\nimage_id;gender\ni1;female\n",
        "sep=,\r\nimage_id,gender\r\ni1,female\r\n",
        "Unnamed: 0,image_id,gender\n0,i1,female\n",
        "Image ID,gender\ni1,female\n",
        "IMAGE_ID\tgender\ni1\tfemale\n",
        '"image_id";"gender"\r"i1";"female"\r',
    ],
)
def test_what_spreadsheets_make_of_a_file_is_read(tmp_path, text):
    assert said(imported(tmp_path, text)) == {("i1", "gender"): "female"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("l.xlsx", b"PK\x03\x04x", r"l\.xlsx:1: must be CSV or JSON lines, found an Excel workbook"),
        (
            "l.csv",
            b"PK\x03\x04\0\xff",
            r"found an Excel workbook or another zip archive; save the sheet as CSV",
        ),
        ("l.xls", b"\xd0\xcf\x11\xe0x", r"found an Excel workbook; save the sheet as CSV"),
        ("l.parquet", b"PAR1x", r"l\.parquet: is no Parquet file"),
        ("l.csv", b"PAR1x", r"found Parquet; call the file \.parquet"),
        ("l.csv.gz", b"\x1f\x8bx", r"found a gzip archive; unpack it"),
        ("l.csv", b"<!doctype html><html>", r"found a web page; fetch the file itself"),
        (
            "l.csv",
            b"version https://git-lfs.github.com/spec/v1\noid x\n",
            r"a pointer of Git LFS.*git lfs pull",
        ),
        ("l.json", b'[{"image_id": "i1"}]', r"found a JSON list; write one object a line"),
        ("l.jsonl", b'[\n{"image_id": "i1"}\n]', r"found a JSON list; write one object a line"),
        ("l.csv", b'"image_id,gender"\n"i1,female"\n', r"separated by commas.* found ',' in the only column"),
        (
            "l.csv",
            b"# by me\nimage_id,gender\ni1,x\n",
            r"l\.csv:2: must have 1 fields as the header, '# by me'",
        ),
        (
            "l.csv",
            b"a/1.jpg,male\na/2.jpg,male\n",
            r"the first line must be the header, found 'a/1\.jpg, male'",
        ),
        (
            "l.csv",
            b",image_id,g\n0,i1,x\n",
            r"column 1 beside image_id, g; name it, or leave it out \(pandas",
        ),
        (
            "l.csv",
            b"image_id,g\ni1,x\ni1,y\n",
            r"'x' on line 2 for 'i1'; keep one, give every rater a file",
        ),
    ],
)
def test_files_of_another_kind_are_told(tmp_path, name, content, message):
    with pytest.raises(MetadataError, match=message):
        imported(tmp_path, content, name)


def test_words_that_mean_no_label_are_told_and_count(tmp_path):
    labels = imported(tmp_path, "image_id,g\ni1,NaN\ni2,?\ni3,N/A\ni4,male\n")
    assert len(said(labels)) == 4
    assert labels.notes[0].startswith("human.csv: 1 × 'NaN', 1 × '?', 1 × 'N/A' count as values; where there")


def test_half_of_the_names_of_a_tidy_file_is_told(tmp_path):
    labels = imported(tmp_path, "image_id,label,value\ni1,gender,male\n")
    said(labels)
    assert (
        "there is a column 'value' and none 'attribute', so every column is taken for an" in labels.notes[0]
    )


def test_pictures_of_one_name_are_told_apart_by_the_model(tmp_path):
    table = TABLE.head(2).with_columns(source=pl.lit("1.jpg"), generator=pl.Series(["a", "b"]))
    text = "file_name,by,gender\n1.jpg,b,male\n1.jpg,a,female\n1.jpg,c,male\n"
    with pytest.raises(MetadataError, match=r"keep one"):
        imported(tmp_path, text)
    labels = imported(tmp_path, text, model="by")
    assert said(labels, table) == {("i1", "gender"): "female", ("i2", "gender"): "male"}
    with pytest.raises(
        MetadataError, match=r"found 2 for '1\.jpg'; give image_id or sha256, or name the column"
    ):
        imported(tmp_path, "file_name,gender\n1.jpg,male\n").derive(table, NONE)
    with pytest.raises(MetadataError, match=r"no column 'who' \(model\); .*There"):
        imported(tmp_path, text, model="who")
