"""Files of true shares: figures, formulas, what is assumed, and every mistake with its line."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import stereotrope as st
from stereotrope.errors import AuditFileError, InputError
from stereotrope.measure.stereotypes.formula import Formula
from stereotrope.measure.stereotypes.true_shares import read_true_shares

FILE = """\
source: a census
year: 2020
figures:
  with_mustache: {share: 0.5, assumed: true}
  bearded: {share: 0.6, range: [0.5, 0.7], source: a survey, year: 2019}
shares:
  Mexican person:
    man: {share: 0.48, range: [0.47, 0.5]}
    mustache: {formula: with_mustache * man}
    beard: {formula: (bearded * man)}
    hat: {share: 0.5, assumed: true}
    perceived_gender=male: {formula: man}
"""


def written(tmp_path: Path, text: str = FILE) -> Path:
    path = tmp_path / "true.yaml"
    path.write_text(text)
    return path


def test_figures_formulas_and_assumptions_are_read(tmp_path: Path) -> None:
    found = read_true_shares(written(tmp_path))
    rows = {(r["attribute"], r["category"]): r for r in found.iter_rows(named=True)}
    man, mustache = rows["man", None], rows["mustache", None]
    assert (man["reference"], man["low"], man["high"], man["source"], man["year"]) == (
        0.48, 0.47, 0.5, "a census", "2020",
    )  # fmt: skip
    assert mustache["reference"] == pytest.approx(0.24)
    assert mustache["formula"] == "with_mustache * man with with_mustache = 0.5, man = 0.48"
    assert (mustache["assumed"], man["assumed"], rows["hat", None]["assumed"]) == (True, False, True)
    beard = rows["beard", None]
    assert beard["low"] == pytest.approx(0.288 - ((0.1 * 0.48) ** 2 + (0.6 * 0.01) ** 2) ** 0.5)
    assert (beard["source"], beard["assumed"]) == ("a survey, 2019; a census, 2020", False)
    assert rows["perceived_gender", "male"]["reference"] == 0.48


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5 * a", 0.1),
        ("1 - a - b", 0.5),
        ("a / (a + b)", 0.4),
        ("-a + 2 * b", 0.4),
        ("a", 0.2),
        ("0.25", 0.25),
    ],
)
def test_a_formula_is_arithmetic(text: str, value: float) -> None:
    assert Formula.parsed(text).value({"a": 0.2, "b": 0.3}) == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "a.real",
        "a ** 9",
        "[a][0]",
        "a if a else b",
        "lambda: 1",
        "a < b",
        "'a' * 3",
        "True * a",
        "a := 3",
        "1j * a",
        "f'{a}'",
        "a; b",
        "",
        "((((",
        "a\0b",
    ],
)
def test_what_is_no_arithmetic_is_refused_and_never_carried_out(text: str) -> None:
    with pytest.raises(ValueError, match="no arithmetic"):
        Formula.parsed(text)


def test_a_formula_without_end_or_number_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 200 characters"):
        Formula.parsed("1+" * 200 + "1")
    with pytest.raises(ValueError, match="no finite number; look at what it divides by"):
        Formula.parsed("1 / (a - a)").value({"a": 0.2})
    with pytest.raises(ValueError, match="no finite number"):
        Formula.parsed("1e308 * 1e308").value({})


MAN = "shares:\n  doctor:\n    man: "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            MAN + "{share: 62, source: x}",
            r"true.yaml:3: shares.doctor.man.share must be at most 1, found 62; l",
        ),
        (
            MAN + "{share: 0.6}",
            r"true.yaml:3: man: has no source; add `source:` and `year:`, or `assumed: true`",
        ),
        (MAN + "{source: x}", r"true.yaml:3: man: needs either `share` or `formula`, found both or none"),
        (MAN + "{share: 0.6, formula: 1 - 0.4, source: x}", r"3: man: needs either `share` or `formula`"),
        (
            MAN + "{share: 0.6, range: [0.7, 0.8], source: x}",
            r"3: man: `range` must hold the share 0.6 .* found 0.7 to 0.8; write \[low, high\]",
        ),
        (MAN + "{share: 0.6, range: [0.5], source: x}", r"true.yaml:3: shares.doctor.man.range"),
        (MAN + "{formula: 0.5 * woman, source: x}", r"3: man: `formula` needs 'woman', which is no figure; "),
        (
            MAN + "{formula: man, source: x}",
            r"3: man: `formula` needs 'man', which is computed from it; give one",
        ),
        (
            MAN + "{formula: 1 - woman}\n    woman: {formula: 1 - man}",
            r"4: woman: `formula` needs 'man', which is computed from it",
        ),
        (MAN + "{formula: open('x'), source: x}", r"true.yaml:3: man: `formula` holds what is no arithmetic"),
        (
            MAN + "{formula: 3 * 0.5, source: x}",
            r"3: man: `formula` must come to a share in \[0, 1\], found 1.5",
        ),
        (MAN + "{formula: 1 / 0, source: x}", r"3: man: `formula` comes to no finite number"),
        (MAN + "{shares: 0.5}", r"true.yaml:3: .*'?shares'?"),
        ("source: x\n", r"true.yaml:1: shares is missing"),
        ("shares: [1\n", r"true.yaml:\d: not readable as YAML"),
    ],
)
def test_a_mistake_is_one_message_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_true_shares(written(tmp_path, text))


AUDIT = """\
prompts: {template: "A photo of a {concept}", concept: [Mexican person]}
generators: ['openai:x']
annotators: [{questions: 'openai:judge', attributes: {hat: ["yes", "no"]}}]
measures:
  - {stereotype_score: {MORE}}
"""


def planned(tmp_path: Path, more: str, text: str = FILE) -> pl.DataFrame:
    written(tmp_path, text)
    audit = AUDIT.replace("MORE", more)
    return st.Audit.from_text(audit, base=tmp_path).plan().measures[-1].tables["reference"]


def test_an_audit_names_a_file(tmp_path: Path) -> None:
    found = planned(tmp_path, "reference: true.yaml")
    assert found.filter(attribute="hat")["reference"].to_list() == [0.5]
    call = measure_call(tmp_path)
    assert (call.arguments["within"], call.arguments["over"]) == (["generator"], "concept")


def measure_call(tmp_path: Path):
    audit = AUDIT.replace("MORE", "reference: true.yaml")
    return st.Audit.from_text(audit, base=tmp_path).plan().measures[-1]


@pytest.mark.parametrize(
    ("more", "text", "error", "message"),
    [
        ("margin: 0.1", FILE, AuditFileError, r":5: .* needs `reference:`, the true shares .* found none"),
        ("reference: mine.yaml", FILE, AuditFileError, r":5: .* no file 'mine.yaml' there; name a YAML file"),
        (
            "reference: true.yaml, over: nation",
            FILE,
            AuditFileError,
            r"no factor 'nation', whose true shares",
        ),
        (
            "reference: true.yaml",
            FILE.replace("Mexican person", "Mexican"),
            AuditFileError,
            "it has no concept that is asked for, such as 'Mexican person', but 'Mexican'; write them alike",
        ),
        ("reference: true.yaml", FILE.replace("0.48", "4.8"), InputError, r"true.yaml:8: .* at most 1"),
    ],
)
def test_what_an_audit_cannot_use_is_told_with_its_line(tmp_path, more, text, error, message) -> None:
    with pytest.raises(error, match=message):
        planned(tmp_path, more, text)
