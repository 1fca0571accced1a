from __future__ import annotations

from pathlib import Path

import pytest

from stereotrope.errors import MetadataError
from stereotrope.generate.metadata import read_metadata


def written(tmp_path: Path, name: str, content: bytes | str) -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(tmp_path: Path, name: str, content: bytes | str) -> str:
    with pytest.raises(MetadataError) as caught:
        read_metadata(written(tmp_path, name, content))
    return str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        "file_name,group\na.png,men\nb.png,women\n",
        "\ufefffile_name,group\r\na.png,men\r\nb.png,women",
        "\r\n\r\nfile_name,group\r\n\r\na.png,men\r\n,\r\nb.png,women\r\n\r\n",
        "file_name,group\ra.png,men\rb.png,women\r",
        ',file_name, group \n0,a.png,"men"\n1,"b.png", women\n',
    ],
    ids=["plain", "BOM and CRLF", "blank lines", "old Mac", "index column and blanks"],
)
def test_messy_csv_reads_like_a_plain_one(tmp_path: Path, content: str) -> None:
    metadata = read_metadata(written(tmp_path, "m.csv", content))
    assert metadata.columns == ("file_name", "group")
    assert [(row.raw("file_name"), row.text("group")) for row in metadata.rows] == [
        ("a.png", "men"),
        ("b.png", "women"),
    ]


def test_quotes_commas_and_line_breaks_stay_inside_a_value(tmp_path: Path) -> None:
    text = 'file_name,prompt\na.png,"a ""red"" car,\nat night"\n\nb.png,x\n'
    first, second = read_metadata(written(tmp_path, "m.csv", text)).rows
    assert first.raw("prompt") == 'a "red" car,\nat night'
    assert (first.line, second.line) == (2, 5)


def test_a_field_of_a_megabyte_is_read(tmp_path: Path) -> None:
    (row,) = read_metadata(written(tmp_path, "m.csv", f"file_name,prompt\na.png,{'x' * 2**20}\n")).rows
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
            "m.csv:2: is not well-formed CSV (unexpected end of data)",
        ),
        ('file_name,group\n\na.png,"men" x\n', "m.csv:3: is not well-formed CSV"),
        ("file_name;group\na.png;men\n", "m.csv:1: columns must be separated by commas, found ';'"),
        ("file_name\tgroup\na.png\tmen\n", "m.csv:1: columns must be separated by commas, found '\\t'"),
        (
            "file_name,group,group\na.png,x,y\n",
            "m.csv:1: column 'group' is there twice; rename or remove one",
        ),
        ("file_name,group\n", "m.csv:1: has no rows; it needs one row a picture"),
        ("", "m.csv:1: has no rows"),
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
    first, second = read_metadata(written(tmp_path, "m.jsonl", lines)).rows
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
        ("\n\n", "m.jsonl:1: has no rows"),
    ],
)
def test_a_json_mistake_is_named_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    assert refusal(tmp_path, "m.jsonl", content).startswith(message)


@pytest.mark.parametrize(
    ("value", "found"),
    [("[1, 2]", "found list [1, 2]"), ('{"a": 1}', "found an object"), ("NaN", "found float nan")],
)
def test_a_nested_value_is_refused_only_where_it_is_used(tmp_path: Path, value: str, found: str) -> None:
    (row,) = read_metadata(written(tmp_path, "m.jsonl", f'{{"file_name": "a.png", "objects": {value}}}')).rows
    assert row.text("file_name") == "a.png"
    with pytest.raises(MetadataError) as caught:
        row.text("objects")
    assert str(caught.value).startswith(
        "m.jsonl:1: column 'objects' must hold text, a number, true, false or null"
    )
    assert found in str(caught.value)


def test_a_missing_column_names_the_nearest(tmp_path: Path) -> None:
    metadata = read_metadata(written(tmp_path, "m.csv", "file_name,occupation\na.png,nurse\n"))
    with pytest.raises(
        MetadataError, match=r"m.csv:1: no column 'ocupation' \(factor\); did you mean 'occupation'\? There"
    ):
        metadata.require("ocupation", "factor")


def test_other_kinds_and_absent_files_are_refused(tmp_path: Path) -> None:
    assert "metadata must be a .csv or .jsonl file; convert it" in refusal(tmp_path, "m.xlsx", "x")
    with pytest.raises(MetadataError, match=r"cannot be read \(No such file or directory\); check the path"):
        read_metadata(tmp_path / "absent.csv")
