from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import polars as pl
import pytest

from stereotrope import escape
from stereotrope.report import exports

NASTY = {
    "script": "<script>alert(1)</script>",
    "attribute": '" onerror="alert(1)',
    "template": "{{7*7}}{% for x in y %}",
    "formula": '=HYPERLINK("http://evil.example","x")',
    "latex": r"\input{/etc/passwd}",
    "ansi": "\x1b[31mred\x1b]8;;http://evil.example\x07",
    "bidi": "abc\u202etxt.exe",
    "isolate": "\u2066hidden\u2069",
    "markdown": "a | b [x](http://evil.example) ![y](z) `c` http://evil.example",
    "controls": "a\x00b\x9bc\u2028d",
}


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
@pytest.mark.parametrize("function", ["html", "csv", "latex", "markdown", "terminal", "visible"])
def test_no_control_or_direction_character_survives(function: str, text: str) -> None:
    out = str(getattr(escape, function)(text))
    assert not [c for c in out if ord(c) < 0x20 or 0x7F <= ord(c) <= 0x9F or c in "\u202e\u2066\u2069\u2028"]


@pytest.mark.parametrize("sign", [*"=+-@", "\t", "\r", "＝"])
def test_csv_cells_that_look_like_formulas_are_text(sign: str) -> None:
    assert escape.csv(f"{sign}1+1").startswith("'")


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
def test_a_plain_line_stays_as_it_is(text: str) -> None:
    line = escape.plain_line(text)
    assert escape.is_plain_line(line)
    assert escape.plain_line(line) == line
    assert escape.is_plain_line(text) == (line == " ".join(text.split()))


def test_joiners_are_part_of_a_plain_line_and_other_invisible_letters_are_not() -> None:
    assert escape.plain_line("خانه\u200cها wo\u00adman\ufeff a\u200b \u200d b") == "خانه\u200cها woman a b"
    assert escape.is_printable("خانه\u200cها")
    assert not escape.is_printable("wo\u00adman")


def test_csv_leaves_plain_text_alone() -> None:
    assert escape.csv("rose gold, a-b = c") == "rose gold, a-b = c"
    assert escape.csv("") == ""


def test_html_is_escaped_in_text_and_attributes() -> None:
    assert escape.html("<b a='1'>\"&") == "&lt;b a=&#39;1&#39;&gt;&#34;&amp;"


@pytest.mark.parametrize("sign", list("{}$&#%_"))
def test_latex_signs_are_escaped(sign: str) -> None:
    assert escape.latex(sign) == "\\" + sign


def test_latex_commands_become_text() -> None:
    assert escape.latex(r"\input{x}") == r"\textbackslash{}input\{x\}"


def test_markdown_has_no_column_break_link_or_html_left() -> None:
    out = escape.markdown(NASTY["markdown"] + "<b>\n# t")
    assert "\\|" in out
    assert "](" not in out.replace("\\](", "").replace("\\]\\(", "")
    assert "http://" not in out
    assert "<b>" not in out
    assert "\n" not in out


def test_terminal_text_is_one_line_without_escapes() -> None:
    assert escape.terminal("a\n\x1b[2Jb") == "a ‹U+001B›[2Jb"


def test_directions_are_named() -> None:
    assert escape.visible("a\u202eb") == "a‹U+202E›b"


def test_a_megabyte_is_shortened_and_its_length_said() -> None:
    out = escape.ellipsis("x" * 1_000_000)
    assert len(out) < 400
    assert out.endswith("… (1\u202f000\u202f000 characters)")


def test_embedded_json_cannot_end_the_script_and_keeps_its_meaning() -> None:
    data = {"t": "</script><!--\u2028\u2029&"}
    out = str(escape.json_script(data))
    assert not set("<>&\u2028\u2029") & set(out)
    assert json.loads(out) == data


def test_embedded_json_refuses_nan() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        escape.json_script({"v": float("nan")})


def test_a_guarded_cell_survives_a_csv_reader() -> None:
    out = io.StringIO()
    csv.writer(out).writerow([escape.csv(t) for t in NASTY.values()])
    assert all(cell[0] not in "=+-@" for cell in next(csv.reader(io.StringIO(out.getvalue()))))


@pytest.mark.parametrize("text", ["[b]", "*", "*[2em]", "[", "]", "a--b---c", "`x`", "[\\input{x}]"])
def test_no_latex_cell_can_be_taken_for_an_argument_or_a_ligature(text: str) -> None:
    out = escape.latex(text)
    bare = out.replace("{[}", "").replace("{]}", "").replace("{*}", "").replace("-{}-", "")
    assert not set("[]*`") & set(bare)
    assert "--" not in out


def test_printed_tables_hold_what_tells_rows_apart_and_say_the_rest_once(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "measure": "cbs",
            "prompt": ["cook", "nurse"],
            "value": [0.123456, 0.5],
            "excluded": ['{"not captioned": 2}', "not JSON"],
            "scope": ['{"generator": "m"}'] * 2,
            "sentence": ["words " * 80, "few"],
            "image_ids": ['["1", "2"]', '["3"]'],
            "flags": [None, None],
        },
        schema_overrides={"flags": pl.String},
    )
    exports.write_table(frame, exports.Exports(tmp_path), "t", caption="c")
    tex, markdown = (tmp_path / "t.tex").read_text(), (tmp_path / "t.md").read_text()
    assert r"\begin{longtable}{lrlp{0.4\linewidth}}" in tex
    assert "prompt & value & excluded & sentence \\\\" in tex
    assert "cook & 0.1235 & not captioned: 2 & " + "words " * 79 in tex
    assert "nurse & 0.5 & not JSON & few" in tex
    assert r"\footnotesize In all rows: measure: cbs; scope: generator: m.\par" in tex
    assert "| cook | 0\\.1235 | not captioned: 2 |" in markdown
    assert markdown.endswith("\n\nIn all rows: measure: cbs; scope: generator: m\\.\n")
    assert pl.read_csv(tmp_path / "t.csv").columns == frame.columns


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_a_printed_table_keeps_columns_that_tell_no_rows_apart_where_there_are_no_others(
    tmp_path: Path, rows: int
) -> None:
    frame = pl.DataFrame({"a": ["x"] * rows, "b": [1] * rows}, schema={"a": pl.String, "b": pl.Int64})
    exports.write_table(frame, exports.Exports(tmp_path), "t", caption="c")
    assert (tmp_path / "t.md").read_text().count("| x | 1 |") == rows
    assert "a & b" in (tmp_path / "t.tex").read_text()


def test_rows_of_a_latex_table_begin_with_no_bracket_or_star(tmp_path: Path) -> None:
    frame = pl.DataFrame({"[a": ["[0.1, 0.2]", "*", "x"], "*": ["[", "*", "]"]})
    exports.write_table(frame, exports.Exports(tmp_path), "t", caption="[c] *")
    text = (tmp_path / "t.tex").read_text()
    assert not re.search(r"(\\\\|rule|head)\s*[\[*]", text)
    assert "{[}0.1, 0.2{]} & {[}" in text
