from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

from stereotrope.errors import MetadataError
from stereotrope.inputs.files import read_whole
from stereotrope.inputs.row import Rows
from stereotrope.inputs.rows import RowFile, read_rows


def written(tmp_path: Path, name: str, content: bytes | str) -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(tmp_path: Path, name: str, content: bytes | str) -> str:
    with pytest.raises(MetadataError) as caught:
        read_rows(written(tmp_path, name, content))
    return str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        "file_name,group\na.png,men\nb.png,women\n",
        "\ufefffile_name,group\r\na.png,men\r\nb.png,women",
        "\r\n\r\nfile_name,group\r\n\r\na.png,men\r\n,\r\nb.png,women\r\n\r\n",
        "file_name,group\ra.png,men\rb.png,women\r",
        ',file_name, group \n0,a.png,"men"\n1,"b.png", women\n',
        "file_name;group\na.png;men\n;\nb.png;women\n",
        "file_name\tgroup\r\n\t\r\na.png\tmen\r\nb.png\twomen\r\n",
        '"file_name";"group"\n"a.png";"men"\nb.png;"women"\n',
    ],
    ids=[
        "plain",
        "BOM and CRLF",
        "blank lines",
        "old Mac",
        "index column and blanks",
        "semicolons",
        "tabs",
        "quoted header",
    ],
)
def test_messy_csv_reads_like_a_plain_one(tmp_path: Path, content: str) -> None:
    found = read_rows(written(tmp_path, "m.csv", content))
    assert found.columns == ("file_name", "group")
    assert [(row.raw("file_name"), row.text("group")) for row in found.rows] == [
        ("a.png", "men"),
        ("b.png", "women"),
    ]


def test_quotes_commas_and_line_breaks_stay_inside_a_value(tmp_path: Path) -> None:
    text = 'file_name,prompt\na.png,"a ""red"" car,\nat night"\n\nb.png,x\n'
    first, second = read_rows(written(tmp_path, "m.csv", text)).rows
    assert first.raw("prompt") == 'a "red" car,\nat night'
    assert (first.line, second.line) == (2, 5)


def test_a_field_of_a_megabyte_is_read(tmp_path: Path) -> None:
    (row,) = read_rows(written(tmp_path, "m.csv", f"file_name,prompt\na.png,{'x' * 2**20}\n")).rows
    assert len(row.raw("prompt") or "") == 2**20


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "file_name,group\na.png,men\nb.png\n",
            "m.csv:3: must have 2 fields as the header, found 1; add or",
        ),
        ("file_name,group\na.png,red, white\n", "m.csv:2: must have 2 fields as the header, found 3"),
        (
            'file_name,group\na.png,"men\nb.png,x\n',
            "m.csv:2: a quote is opened in this row and never closed; close it, or double it",
        ),
        ('file_name,group\n\na.png,"men" x\n', "m.csv:3: is not well-formed CSV"),
        (
            "\nfile_name|group\na.png|men\n",
            "m.csv:2: columns must be separated by commas, semicolons or tabs, found '|' in the only column "
            "'file_name|group'; save it so",
        ),
        (
            "file_name group\na.png men\n",
            "m.csv:1: columns must be separated by commas, semicolons or tabs, found a space in the only "
            "column 'file_name group'; save it so",
        ),
        (
            '"file_name;group"\n"a.png;men"\n',
            "m.csv:1: columns must be separated by commas, semicolons or tabs, found ';' in the only column",
        ),
        (
            "file_name;group\na.png;men;old\n",
            "m.csv:2: must have 2 fields as the header, found 3; add or remove semicolons, and put",
        ),
        (
            "\ncaf\u00e9,cafe\u0301\nx,y\n",
            "m.csv:2: column 'caf\u00e9' is there twice; rename or remove one",
        ),
        (
            "file_name,group,group\na.png,x,y\n",
            "m.csv:1: column 'group' is there twice; rename or remove one",
        ),
        ("file_name,group\n", "m.csv:1: must have at least one row, found none; add the rows"),
        ("\n\nfile_name\n\n", "m.csv:3: must have at least one row"),
        ("", "m.csv:1: must have at least one row"),
        (b"file_name,group\na.png,m\xe4nner\n", "m.csv:2: must be UTF-8, found byte 0xE4; save it as UTF-8"),
        (
            "file_name,group\na.png,x\n".encode("utf-16"),
            "m.csv:1: must be UTF-8, found UTF-16 or UTF-32",
        ),
        ("file_name,group\na.png,x\n".encode("utf-32"), "m.csv:1: must be UTF-8, found UTF-16"),
        ("file_name,group\na.png,x\nb\0.png,y\n", "m.csv:3: must be text, found a NUL character"),
    ],
)
def test_a_csv_mistake_is_named_with_its_line(tmp_path: Path, content: bytes | str, message: str) -> None:
    assert refusal(tmp_path, "m.csv", content).startswith(message)


def test_json_values_become_text(tmp_path: Path) -> None:
    lines = (
        '{"file_name": "a.png", "i": 3, "f": 2.5, "whole": 3.0, "yes": true, "no": false, "none": null, '
        '"s": " x "}\r\n'
        "\n"
        '{"file_name": "b.png", "i": 12345678901234567890, "later": "\\u00e9\\u2028"}'
    )
    first, second = read_rows(written(tmp_path, "m.jsonl", lines)).rows
    assert [first.text(c) for c in ("i", "f", "whole", "yes", "no", "none", "s", "later")] == [
        "3",
        "2.5",
        "3",
        "true",
        "false",
        None,
        "x",
        None,
    ]
    assert first.raw("s") == " x "
    assert (second.line, second.text("i"), second.text("i")) == (
        3,
        "12345678901234567890",
        "12345678901234567890",
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"file_name": "a.png"}\n{"file_name": \n',
            "m.jsonl:2: must be one JSON object a line (Expecting",
        ),
        ('["a.png"]', "m.jsonl:1: must be one JSON object a line, found ['a.png']; write"),
        ('{"a": 1, "a": 2}', "m.jsonl:1: column 'a' is there twice"),
        ("[" * 100_000, "m.jsonl:1: must be one JSON object a line ("),
        ('{"a": "\\ud800"}', "m.jsonl:1: must be Unicode text, found half a surrogate pair"),
        ('{"a": ' + "9" * 5000 + "}", "m.jsonl:1: must be one JSON object a line ("),
        ("\n\n", "m.jsonl:1: must have at least one row"),
        ('{"a": NaN}', "m.jsonl:1: must be one JSON object a line (NaN is no JSON number); mend the line"),
        ('{"a": 1}\n{"b": [-Infinity]}', "m.jsonl:2: must be one JSON object a line (-Infinity is no JSON"),
        ('{"a": 1, " a ": 2}', "m.jsonl:1: column 'a' is there twice"),
        ("a,b\n1,2\n", "m.jsonl:1: must be one JSON object a line (Expecting value"),
    ],
)
def test_a_json_mistake_is_named_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    assert refusal(tmp_path, "m.jsonl", content).startswith(message)


@pytest.mark.parametrize(
    ("value", "found"),
    [("[1, 2]", "found list [1, 2]"), ('{"a": 1}', "found an object"), ("1e999", "found float inf")],
)
def test_a_nested_value_is_refused_only_where_it_is_used(tmp_path: Path, value: str, found: str) -> None:
    (row,) = read_rows(written(tmp_path, "m.jsonl", f'{{"file_name": "a.png", "objects": {value}}}')).rows
    assert row.text("file_name") == "a.png"
    with pytest.raises(MetadataError) as caught:
        row.text("objects")
    assert str(caught.value).startswith(
        "m.jsonl:1: column 'objects' must hold text, a number, true, false or null"
    )
    assert found in str(caught.value)


def test_a_missing_column_names_the_nearest(tmp_path: Path) -> None:
    found = read_rows(written(tmp_path, "m.csv", "file_name,occupation\na.png,nurse\n"))
    with pytest.raises(
        MetadataError, match=r"m.csv:1: no column 'ocupation' \(factor\); did you mean 'occupation'\? There"
    ):
        found.require("ocupation", "factor")


def test_a_column_is_found_however_its_accents_and_blanks_are_written(tmp_path: Path) -> None:
    found = read_rows(written(tmp_path, "m.csv", "file_name, cafe\u0301 \na.png, x \n"))
    assert found.columns == ("file_name", "caf\u00e9")
    assert found.require("cafe\u0301", "factor") == "caf\u00e9"
    assert found.rows[0].text("cafe\u0301") == "x"
    (row,) = read_rows(written(tmp_path, "m.jsonl", '{" cafe\u0301": "x"}')).rows
    assert row.text("caf\u00e9") == "x"


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("text\nx", ["text"]),
        ('text,"a;b;c"\nx,y', ["text", "a;b;c"]),
        ('"x ""y, z"", u, v"; b\nx;y', ['x "y, z", u, v', "b"]),
        ('"a\nb, c, d";e\nx;y', ["a\nb, c, d", "e"]),
        ('size (5");b\nx;y', ['size (5")', "b"]),
        ("a;b\tc;d\nx;y;z", ["a", "b\tc", "d"]),
        ("  \na;b\nx;y", ["a", "b"]),
        (",,\na,b,c;d\nx,y,z", ["a", "b", "c;d"]),
        (",,\na,b;c;d,e\nx,y,z", ["a", "b;c;d", "e"]),
        ("a|b,c\nx,y", ["a|b", "c"]),
    ],
)
def test_the_delimiter_is_the_one_the_header_has_most_of_outside_quotes(
    tmp_path: Path, text: str, columns: list[str]
) -> None:
    found = read_rows(written(tmp_path, "m.csv", text))
    assert list(found.columns) == columns
    assert list(found.rows[0].values.values()) == ["x", "y", "z"][: len(columns)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.tsv", "a\tb\n1\t2\n"),
        ("m.CSV", "a,b\n1,2\n"),
        ("m.ndjson", '{"a": 1, "b": 2}\n'),
        ("m.txt", "a;b\n1;2\n"),
        ("m", '\ufeff\n {"a": "1", "b": 2}\n'),
    ],
)
def test_the_kind_of_file_follows_its_suffix_else_its_content(
    tmp_path: Path, name: str, content: str
) -> None:
    (row,) = read_rows(written(tmp_path, name, content)).rows
    assert (row.text("a"), row.text("b")) == ("1", "2")


def test_columns_without_a_name_are_left_out_and_counted(tmp_path: Path) -> None:
    found = read_rows(written(tmp_path, "m.csv", "\n,a, \n0,x,y\n"))
    assert (found.columns, found.unnamed, found.header) == (("a",), (1, 3), 2)
    assert found.rows[0].values == {"a": "x"}


def test_messages_call_the_file_as_its_reader_does(tmp_path: Path) -> None:
    path = written(tmp_path, "m.csv", "a\n")
    with pytest.raises(MetadataError, match=r"^here/m\.csv:1: must have at least one row"):
        read_rows(path, name="here/m.csv")
    with pytest.raises(MetadataError, match=r"^here/no\.csv: cannot be read \(No such file"):
        read_rows(tmp_path / "no.csv", name="here/no.csv")


def test_other_kinds_and_absent_files_are_refused(tmp_path: Path) -> None:
    assert "m.xlsx:1: must be CSV or JSON lines, found an Excel workbook or another zip archive" in refusal(
        tmp_path, "m.xlsx", b"PK\x03\x04\x14\x00\x06"
    )
    assert "m.csv:1: must be CSV, as .csv says, found a JSON object; call the file .jsonl" in refusal(
        tmp_path, "m.csv", '{"a": 1}\n'
    )
    with pytest.raises(MetadataError, match=r"cannot be read \(No such file or directory\); check the path"):
        read_rows(tmp_path / "absent.csv")


def test_a_file_without_end_is_read_no_further_than_the_limit(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="larger than 100 bytes"):
        read_whole(Path("/dev/zero"), 100)
    with pytest.raises(OSError, match="larger than 2 bytes"):
        read_whole(written(tmp_path, "a.csv", "abc"), 2)
    assert read_whole(written(tmp_path, "a.csv", "abc"), 3) == b"abc"


def test_columns_of_parquet_are_called_as_those_of_other_files(tmp_path):
    def read(columns: dict[str, list[str | None]]) -> RowFile:
        pl.DataFrame(columns).write_parquet(tmp_path / "labels.parquet")
        return read_rows(tmp_path / "labels.parquet")

    with pytest.raises(MetadataError, match=r"labels.parquet: column 'g' is there twice; rename or remove"):
        read({"g": ["a"], " g": ["b"]})
    found = read({"g": ["a"], "": ["b"], " ": [None]})
    assert (found.columns, found.unnamed) == (("g",), (2,))


def test_whatever_python_takes_for_blank_is_cut_off_columns() -> None:
    blanks = "".join(filter(str.isspace, map(chr, range(sys.maxunicode + 1))))
    rows = Rows("f", pl.Series([1]), {"a": pl.Series([f"{blanks}x{blanks}"])})
    assert rows.texts(["a"])["a"].to_list() == [rows[0].text("a")] == ["x"]
