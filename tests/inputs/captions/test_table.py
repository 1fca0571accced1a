"""One reader of captions: what it takes, an audit, the check of a lexicon and the reproduction take alike."""

import csv
import io
import json

import pytest

from stereotrope.errors import MetadataError
from stereotrope.inputs.captions import read_captions
from stereotrope.inputs.captions.headings import plain_heading
from stereotrope.inputs.captions.table import NoCaptions, read_caption_table
from stereotrope.suites.biasbench.captions_file import read_benchmark_captions as read_for_the_paper

ROWS = [
    ("koala", "beauty", "beauty_001.png", "A fair-skinned woman; studio light"),
    ("koala", "doctor", "gender_002.png", 'a "surgeon", masked'),
]


def table(headings, order=(2, 3), *, delimiter=",", encoding="utf-8", rows=ROWS):
    made = io.StringIO()
    csv.writer(made, delimiter=delimiter, lineterminator="\n").writerows(
        [headings, *([row[at] for at in order] for row in rows)]
    )
    return made.getvalue().encode(encoding)


FILES = {
    "trailing blank.csv": table(["File Name", "Image Description "]),
    "no-break blank.csv": table(["File\u00a0Name", "\u00a0Image\u00a0Description\u00a0"]),
    "mark.csv": table(["\ufeffFile Name", "Image Description"], encoding="utf-8"),
    "zero width.csv": table(["image\u200b", "caption\u200b"]),
    "case.csv": table(["FILE NAME", "IMAGE DESCRIPTION"]),
    "camel.csv": table(["fileName", "imageDescription"]),
    "underscores.csv": table(["_image_name_", "__Caption__"]),
    "signs.csv": table(["Image:", "Caption (BLIP)"]),
    "koala_all.csv": table(["image_id", "captions"]),
    "order.csv": table(["Caption", "Prompt Type", "Model", "Image"], (3, 1, 0, 2)),
    "index.csv": b"".join(
        f"{n},".encode() * (n >= 0) + line
        for n, line in enumerate(table(["Unnamed: 0", "x"]).splitlines(keepends=True), start=-1)
    ).replace(b"Unnamed: 0,x", b",image,caption"),
    "semicolons.csv": table(["image", "caption"], delimiter=";"),
    "bars.csv": table(["image", "caption"], delimiter="|"),
    "tabs.txt.csv": table(["image", "caption"], delimiter="\t"),
    "utf16.csv": table(["image", "caption"], encoding="utf-16"),
    "utf32.csv": table(["image", "caption"], encoding="utf-32"),
    "list.json": json.dumps([{"Image ": r[2], "CAPTION": r[3], "tags": ["x"]} for r in ROWS]).encode(),
    "lines.jsonl": "\n".join(json.dumps({"file_name": r[2], "text": r[3]}) for r in ROWS).encode(),
    "by values.csv": table(["thing", "said"], rows=[(*r[:3], r[3] + " " + "in a room " * 4) for r in ROWS]),
    "no header.csv": table(ROWS[0][2:], rows=ROWS[1:]),
    "twice.csv": table(["image", "caption", "caption"], (2, 3, 0)),
}


@pytest.mark.parametrize("name", FILES)
def test_all_commands_read_a_file_alike(tmp_path, name):
    file = tmp_path / name
    file.write_bytes(FILES[name])
    ours = read_captions(file, name=name).frame
    loose = read_captions(file, name=name, need_images=False).frame
    (theirs,) = read_for_the_paper(file)
    expected = [(row[2], row[3]) for row in ROWS]
    if name == "by values.csv":
        expected = [(image, caption + " " + ("in a room " * 4).strip()) for image, caption in expected]
    assert ours.select("image", "caption").rows() == expected
    assert loose.select("image", "caption").rows() == expected
    assert [(row.image, row.caption) for row in theirs.rows] == expected
    assert [row.prompt for row in theirs.rows] == ["beauty", "doctor"]


def test_what_was_made_of_a_file_is_told(tmp_path):
    (tmp_path / "a.csv").write_bytes("image,caption,caption\nx_1,caf\xe9,y\n".encode("cp1252"))
    found = read_captions(tmp_path / "a.csv", name="a.csv")
    assert found.notes == (
        "a.csv: the text is not UTF-8 and is read as Windows-1252; check letters with accents",
        "a.csv: column 'caption' is there twice; the first counts",
    )


def test_rows_without_an_image_count_where_no_image_is_needed(tmp_path):
    (tmp_path / "a.csv").write_text(
        "prompt,file_name,caption\nbeauty,,A\nbeauty,,B\nbeauty,x_1,C\nbeauty,x_1,D\n"
    )
    found = read_captions(tmp_path / "a.csv", name="a.csv", need_images=False)
    assert found.frame["caption"].to_list() == ["A", "B", "C", "D"]
    assert found.notes == ("a.csv: 1 further caption of images; each counts (line 5)",)
    (theirs,) = read_for_the_paper(tmp_path / "a.csv")
    assert [row.caption for row in theirs.rows] == ["A", "B", "C", "D"]
    assert read_captions(tmp_path / "a.csv", name="a.csv").frame["caption"].to_list() == ["C"]


def test_a_table_without_captions_is_told_from_one_that_is_broken(tmp_path):
    (tmp_path / "a.csv").write_text("model,value\nx,1\n")
    with pytest.raises(
        NoCaptions, match=r"a\.csv:1: a column must give the caption .*found 'model', 'value'"
    ):
        read_caption_table(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text('image,caption\nx_1,"open\n')
    with pytest.raises(MetadataError, match="a quote is opened in this row and never closed") as caught:
        read_caption_table(tmp_path / "b.csv")
    assert not isinstance(caught.value, NoCaptions)
    loose = 'image,caption\na.png,"foo"bar\n'
    (tmp_path / "c.csv").write_text(loose + 'b.png,"open\nc.png,lost\n')
    with pytest.raises(MetadataError, match=r"c\.csv:3: a quote is opened in this row and never closed"):
        read_caption_table(tmp_path / "c.csv")
    (tmp_path / "d.csv").write_text(loose + 'b.png,"two\nlines"\n\n')
    assert [row.values["caption"] for row in read_caption_table(tmp_path / "d.csv").rows] == [
        "foobar",
        "two\nlines",
    ]


def test_long_texts_are_captions_among_other_files_only_beside_images(tmp_path):
    (tmp_path / "a.csv").write_text("rule,reason\nx," + "because of many things " * 3 + "\n")
    assert read_caption_table(tmp_path / "a.csv").roles == {"caption": "reason"}
    with pytest.raises(NoCaptions, match="a column must give the caption"):
        read_caption_table(tmp_path / "a.csv", among_others=True)


@pytest.mark.parametrize(
    ("heading", "name"),
    [("", ""), ("--", ""), ("Überschrift", "überschrift"), ("图片", "图片"), ("imageID", "image_id")],
)
def test_headings_are_compared_without_case_blanks_and_signs(heading, name):
    assert plain_heading(heading) == name
