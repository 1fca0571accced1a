"""Rows that are kept by column say what each says by itself."""

import math
from pathlib import Path

import polars as pl
import pytest

from stereotrope.errors import MetadataError
from stereotrope.inputs.row import LINE, Rows, composed_texts
from stereotrope.inputs.rows import read_rows


def test_columns_are_texts_as_each_row_has_them():
    cells = {
        "text": pl.Series(["  a ", "", None, "\u00a0\u001f", "e\u0301"]),
        "whole": pl.Series([1, None, -3, 0, 7]),
        "number": pl.Series([1.0, 0.1, None, -2.5e-9, 1e300]),
        "truth": pl.Series([True, None, False, True, True]),
        "kind": pl.Series(["x", "y", None, "x", " z"], dtype=pl.Categorical),
        "nothing": pl.Series([None] * 5),
        "mixed": ["1", 2, 3.5, None, True],
    }
    rows = Rows("m.csv", pl.Series([2, 3, 5, 8, 9]), cells)
    found = rows.texts(list(cells))
    assert found[LINE].to_list() == [2, 3, 5, 8, 9] == [row.line for row in rows]
    for name in cells:
        assert found[name].to_list() == [row.text(name) for row in rows], name
    assert [row.values for row in rows[1:3]] == [rows[1].values, rows[2].values]
    assert rows[1].values == {name: cells[name][1] for name in cells}


@pytest.mark.parametrize("odd", [[1], math.nan, {"a": 1}])
def test_what_is_no_plain_value_is_refused_with_its_line(odd):
    rows = Rows("m.jsonl", pl.Series([1, 4]), {"fine": pl.Series(["a", "b"]), "odd": ["x", odd]})
    with pytest.raises(MetadataError, match=r"^m\.jsonl:4: column 'odd' must hold text, .* found "):
        rows.texts(["fine", "odd"])


def test_a_parquet_column_without_an_end_is_refused_with_its_row(tmp_path: Path):
    pl.DataFrame({"file_name": ["a", "b"], "score": [0.5, math.inf]}).write_parquet(tmp_path / "m.parquet")
    with pytest.raises(MetadataError, match=r"^m\.parquet:2: column 'score' must hold text, .* float inf"):
        (found := read_rows(tmp_path / "m.parquet")).rows.texts(found.columns)


def test_what_a_row_lacks_is_nothing():
    rows = Rows.of("m", [(1, {"a": "x"}), (2, {"b": 2}), (4, {"a": None, "b": 3})])
    assert [row.values for row in rows] == [{"a": "x", "b": None}, {"a": None, "b": 2}, {"a": None, "b": 3}]


def test_texts_are_composed():
    texts = pl.Series(["plain", "e\u0301", None, "\u00e9"])
    assert composed_texts(texts).to_list() == ["plain", "\u00e9", None, "\u00e9"]
