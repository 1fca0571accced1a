"""Mistakes and damage, end to end: one clear message, and nothing that was there is lost."""

import contextlib
import csv
import hashlib
import json
import re
import shutil
import sqlite3

import polars as pl
import pytest
from PIL import Image, ImageDraw
from tests.conftest import WRITE_FIGURES, WRITING

from stereotrope import __version__, report
from stereotrope.audit import Audit
from stereotrope.calibrate import calibrate
from stereotrope.errors import (
    AuditFileError,
    IncompleteError,
    RunDamaged,
    RunError,
    StereotropeError,
    UsageError,
)
from stereotrope.run import RunFolder
from stereotrope.run import open as open_run

DRAWN = """\
suite: objects
objects: [cup]
dimensions: {gender: [women]}
images_per_prompt: 2
generators: [{calibrated: , size: 64}]
annotators: [blank, colour]
permutations: 99
resamples: 100
"""
FAST = {"permutations": 99, "resamples": 100}


def plan(text, base=None):
    return Audit.from_text(text, base=base).plan()


def files_of(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "report" not in path.parts and path.name not in (".lock", "ledger.db-shm")
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "first"
    Audit.from_text(DRAWN).run(folder)
    return folder


@pytest.fixture
def run_folder(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


LAUGHS = "suite: &a [lol,lol,lol,lol,lol,lol,lol,lol]\n" + "".join(
    f"{key}: &{key} [{','.join([f'*{before}'] * 8)}]\n"
    for before, key in zip("abcdefg", "bcdefgh", strict=True)
)
OF_THINGS = """\
prompts: {template: "a {thing}", thing: [cup, car]}
generators: [calibrated]
annotators: [colour]
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, r"more than 500,000 values, aliases .* written out"),
        ("a: &a {x: 1}\n<<: *a\n" + DRAWN, r":1: unknown key 'a'"),
        (f"objects: {'[' * 1000}{']' * 1000}\n", r":1: not readable as YAML: nested too deeply"),
        (f"seed: {'9' * 5000}\n", r":1: not readable as YAML: .*4300 digits"),
        ("? \n: x\n" + DRAWN, r":1: the file: a key must be a text, found None"),
        ("1: x\n" + DRAWN, r":1: a key must be a text, found 1; put it in quotes"),
        (DRAWN + 'report: {title: "\\ud800"}\n', r":9: report.title must be .* found half a surrogate pair"),
        (DRAWN.replace("{calibrated: ,", '{calibrated: "a\\0b",'), r":5: .* found a NUL character"),
        (DRAWN.replace("[cup]", '[!!binary "aGVsbG8="]'), r":2: entry 1 of objects .*, found a bytes"),
        (DRAWN.replace("[cup]", "!!python/tuple [cup]"), r":2: objects .*, found !!python/tuple; remove"),
        (DRAWN + "report: {title: !mine x}\n", r":9: report.title .*, found !mine; remove the tag"),
        (DRAWN + "# a\0b\n", r":9: not readable as YAML: found the control character U\+0000; remove it"),
        (DRAWN + "\x0cseed: 1\n", r":9: not readable as YAML: found the control character U\+000C; rem"),
        (DRAWN + "report: {title: x}\n~: 1\n", r":10: the file: a key must be a text, found None"),
        (DRAWN.replace("[cup]", "[cup, 'cup ']"), r":2: objects lists 'cup' twice, found .* list each once"),
        (DRAWN.replace("size: 64", "refuse: {women: 2}"),
         r":5: .* refuse must be shares between 0 and 1 \(women: 2 is none\).*; correct it"),
        (OF_THINGS + "measures: [share, vac]\n",
         r":4: measure 'vac': compares the levels of a factor; add `group: FACTOR`, or `baseline: "),
        (DRAWN + "max_excluded: .nan\n", r":9: max_excluded must be a finite number, found nan"),
        (DRAWN + "seed: 99999999999\n", r":9: seed must be less than 2,147,483,648"),
        (DRAWN + "report: [a]\n", r":9: report must be a mapping, found \['a'\]"),
        (DRAWN.replace("{gender: [women]}", "{}"), r":3: dimensions must list at least 1"),
        (DRAWN.replace("gender:", '"":'), r":3: dimensions.* must not be empty"),
        (DRAWN + "mitigations: {a: [x]}\n", r":9: mitigations must be a text"),
        (DRAWN + "baseline: {text: x}\n", r":9: baseline: no factor 'text'; the prompts have object"),
        (DRAWN.replace("prompt: 2", "prompt: 100000").replace("[women]", "[a, b, c, d, e, f, g, h, i, j, k]"),
         r":4: images_per_prompt: 12 prompts × 100,000 are 1,200,000 pictures, at most 1,000,000"),
        (DRAWN.replace("{calibrated: , size: 64}", f"{{folder: {'a' * 5000}}}"),
         r":5: folder .* no such folder"),
        (DRAWN.replace("colour]", "{labels: l.csv, name: h, key: [a]}]"),
         r":6: annotator labels: key must be a text, found"),
    ],
)  # fmt: skip
def test_a_mistake_in_an_audit_file_is_one_message_with_its_line(text, message):
    with pytest.raises(
        AuditFileError, match=rf"^audit\.yaml{message}" if message[0] == ":" else message
    ) as error:
        plan(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("prompts", "message"),
    [
        ("{template: 'a cup {a}', a: [b], negative: [1]}", r"negative must be a text, found \[1\]"),
        ("{template: 'a {a}', a: [[cup]]}", r"every level of factor 'a' must be a text, found \['cup'\]"),
        ("{template: 'a {a}', a: [null, cup]}", r"every level of factor 'a' must be a text, found nothing"),
        ("[{text: cup, a: [1]}]", r"a of entry 1 must be a text, found \[1\]"),
        ("[{text: cup, generator: x}]", r"factor 'generator': this name is reserved"),
        ("'*.csv'", r"no file '\*\.csv' beside the audit file"),
        (f"{'a' * 5000}.csv", r"no file 'aaa.* beside the audit file"),
        ("empty.csv", r"empty\.csv:3: column 'text' must hold the prompt, found nothing; fill it in"),
        ("ragged.csv", r"ragged\.csv:2: must have 2 fields as the header, found 3"),
        ("other.csv", r"other\.csv:1: no column 'text' \(what is sent to the model\)"),
        ("{template: 'cup " + "".join(f"{{f{i}}}" for i in range(9)) + "', "
         + ", ".join(f"f{i}: [a, b, c, d, e, f, g, h, i]" for i in range(9)) + "}",
         r"the factors combine to 387,420,489 prompts, at most 200,000"),
    ],
)  # fmt: skip
def test_a_mistake_in_prompts_of_ones_own_is_one_message(prompts, message, tmp_path):
    (tmp_path / "empty.csv").write_text("text,a\na cup,b\n,c\n")
    (tmp_path / "ragged.csv").write_text("text,a\na cup,b,c\n")
    (tmp_path / "other.csv").write_text("txt,a\na cup,b\n")
    with pytest.raises(AuditFileError, match=rf"^audit\.yaml:2: prompts: {message}"):
        plan(f"generators: [calibrated]\nprompts: {prompts}\n", tmp_path)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (
            "{bds: , within: {a: 3}}",
            r"within must be a list of texts, found .*; see `stereotrope measures bds`",
        ),
        ("{bds: , within: 3}", r"no factor '3'"),
        ("{bds: , within: [[object]]}", r"within must be a list of texts"),
        ("{bds: , within: [group]}", r"'group' is compared and cannot be in within"),
        ("{bds: , within: [object, object]}", r"'object' is given twice in within"),
        ("{bds: , baseline: nope}", r"no row has group = 'nope'; found 'base', 'women'"),
        ("{bds: , attributes: [3]}", r"no annotator labels '3'"),
        ("{bds: , n_permutations: 1.5}", r"n_permutations must be a whole number, found 1.5"),
        ("{bds: , n_permutations: -5}", r"n_permutations must be"),
        ("{bds: , definition: x}", r"definition must be one of"),
        ("{share: product_colour, level: 2}", r"level must lie between 0 and 1, found 2"),
        ("{share: product_colour, level: x}", r"level must be a number, found 'x'"),
        (
            "{share: product_colour, value: true}",
            r"value must be a text or a list of texts, found True; put it in quotes",
        ),
        ("{share: product_colour, value: [1, false]}", r"found \[1, False\]; put it in quotes"),
        (
            "{female_ratio: product_colour, male: no, female: true}",
            r"female must be a text, found True; put it",
        ),
        ("{cds: , pairs: often}", r"pairs must be true or false, found 'often'"),
        ("{vac: , taxonomy: [a]}", r"taxonomy must be a mapping of lists of texts, found \['a'\]"),
        ("female_ratio", r"no attribute 'gender'"),
    ],
)
def test_an_argument_a_measure_refuses_is_told_before_a_picture_is_drawn(measure, message):
    with pytest.raises(AuditFileError, match=rf"^audit\.yaml:9: measure '\w+': .*{message}"):
        plan(DRAWN + f"measures: [{measure}]\n")


def test_without_labels_of_looks_only_refusals_are_measured():
    blank = DRAWN.replace("[blank, colour]", "[blank]")
    assert [call.name for call in plan(blank).measures] == ["refusal_rate"]
    with pytest.raises(
        AuditFileError, match=r":9: measure 'bds': needs labels .* no annotator gives any; add one"
    ):
        plan(blank + "measures: [refusal_rate, bds]\n")


def test_a_calibration_needs_an_annotator_of_looks(tmp_path):
    with pytest.raises(UsageError, match=r"none of the annotators \(blank, duplicates\) labels how"):
        calibrate(["blank", "duplicates"], tmp_path / "run")
    with pytest.raises(UsageError, match=r"^annotator 'color' is unknown; did you mean 'colour'"):
        calibrate(["color"], tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_agreement_needs_a_second_annotator():
    with pytest.raises(AuditFileError, match=r":9: measure 'agreement': no attribute is labelled by another"):
        plan(DRAWN + "measures: [agreement]\n")


@pytest.mark.parametrize("looks", ["0", "three", "null", "OPEN", "true", "2.5", "1001", "1" * 30])
def test_looks_are_a_number_or_open(looks):
    with pytest.raises(AuditFileError, match=r":9: looks must be open, or a whole number .*write looks: 3$"):
        plan(DRAWN + f"looks: {looks}\n")


def test_a_measure_that_pools_the_models_has_a_report(run_folder, monkeypatch):
    monkeypatch.setattr(WRITING, "write_figures", WRITE_FIGURES)
    Audit.from_text(DRAWN + "measures: [{bds: , within: []}]\n").measure(run_folder)
    run = open_run(run_folder)
    assert run.estimates["generator"].null_count() > 0
    assert WRITING.write(run).is_file()


def test_measure_loses_no_label_that_the_ledger_lost(run_folder):
    with contextlib.closing(sqlite3.connect(run_folder / "ledger.db")) as ledger, ledger:
        ledger.execute("DELETE FROM items WHERE stage = 'annotate'")
    before = files_of(run_folder)
    with pytest.raises(RunDamaged, match=r"the ledger lacks 8 of 8 looks .* tables are left as they are"):
        Audit.from_run(run_folder).measure(run_folder)
    assert {k: v for k, v in files_of(run_folder).items() if k in before} == before
    Audit.from_text(DRAWN).run(run_folder)
    assert open_run(run_folder).labels.height > 0


def test_a_run_without_its_ledger_is_left_as_it_is_and_one_without_labels_makes_them(run_folder):
    ledger = (run_folder / "ledger.db").read_bytes()
    (run_folder / "ledger.db").unlink()
    before = files_of(run_folder)
    for again in (Audit.from_run(run_folder).measure, Audit.from_text(DRAWN).run):
        with pytest.raises(RunDamaged, match=r"ledger\.db: the record of what this run .* is missing"):
            again(run_folder)
    assert {k: v for k, v in files_of(run_folder).items() if k in before} == before
    (run_folder / "ledger.db").write_bytes(ledger)
    (run_folder / "labels.parquet").unlink()
    Audit.from_text(DRAWN).run(run_folder)
    assert open_run(run_folder).labels.height > 0


TABLES = ("prompts", "images", "labels", "estimates", "findings")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_another_shape_is_told(run_folder, name):
    pl.DataFrame({"a": [1]}).write_parquet(run_folder / f"{name}.parquet")
    with pytest.raises(
        RunDamaged, match=rf"{name}\.parquet: was changed \(column '\w+' is not as it was written"
    ):
        report.headline(open_run(run_folder))


def test_tables_of_another_shape_are_made_anew(finished, run_folder):
    for name in TABLES:
        pl.DataFrame({"a": [1]}).write_parquet(run_folder / f"{name}.parquet")
    Audit.from_text(DRAWN).run(run_folder)
    for name in TABLES:
        assert (run_folder / f"{name}.parquet").read_bytes() == (finished / f"{name}.parquet").read_bytes()


@pytest.mark.parametrize(
    ("change", "found"),
    [({"generators": "x"}, "generators has another type"), ({"audit_base": 3}, "audit_base has another type"),
     ({"seed": True}, "seed has another type"), (None, "no JSON"), ([], "no format_version"),
     ({"format_version": None}, "format_version is null"),
     ({"format_version": True}, "format_version is true"),
     ({"format_version": {"a": 1}}, 'format_version is {"a": 1}')],
)  # fmt: skip
def test_a_changed_run_json_is_told_and_moved_aside(run_folder, change, found):
    file = run_folder / "run.json"
    whole = {**json.loads(file.read_text()), **change} if isinstance(change, dict) else change
    file.write_text("{" if change is None else json.dumps(whole))
    with pytest.raises(
        RunDamaged, match=rf"run\.json: is not what stereotrope wrote \({found}\); run the audit"
    ):
        Audit.from_run(run_folder)
    with RunFolder(run_folder) as into:
        assert "it was moved to quarantine/1-run.json" in into.notes[0]
        assert found in into.notes[0]
    assert open_run(run_folder).info == {"format_version": 2, "stereotrope_version": __version__}


def test_measure_without_the_frozen_audit_says_how_to_get_it_back(run_folder):
    (run_folder / "audit.yaml").unlink()
    with pytest.raises(RunError, match=r"audit\.yaml: is gone, .*, or continue it with `stereotrope run"):
        Audit.from_run(run_folder)


HOSTILE = (
    "<script>hit=1</script>", "{{7*7}}", '=HYPERLINK("http://x.example")', "\\input{/etc/passwd}",
    "\x1b[31mred\x07", "\u202eRTL", "a|b", "+1+1", "@SUM(A1)", "</script><img src=x onerror=hit=1>",
    "[l](javascript:alert(1))", "line\nbreak",
)  # fmt: skip
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, reported):
    """A finished run whose factors, levels, prompts, labels, model and files are all hostile."""
    base = tmp_path_factory.mktemp("hostile")
    (base / "p").mkdir()
    rows, said = [], []
    for number, text in enumerate(HOSTILE):
        name = f"=f({number})|<b>.png"
        picture = Image.new("RGB", (64, 64), (240, 240, 240))
        ImageDraw.Draw(picture).ellipse((8, 8, 50 - number, 56), fill=(number * 20, 90, 30))
        picture.save(base / "p" / name)
        rows.append(
            [name, text, ("base", text)[number % 2], "x" * 1_000_000 if number == 0 else text, HOSTILE[0]]
        )
        said.append([name, text, ("unclear", text)[number % 2]])
    (base / "p" / "page.png").write_text("<html><script>hit=1</script></html>")
    rows.append(["page.png", "a", "base", "a", HOSTILE[0]])
    rows.append(["../../etc/passwd", "a", "base", "a", HOSTILE[0]])
    with (base / "p" / "metadata.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["file_name", "<script>f</script>", "c|d", "prompt", "model"], *rows])
    with (base / "l.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["source", "=attribute()", "\\input{a}"], *said])
    audit = {
        "generators": [{"folder": "p", "name_from": "model", "prompt": "prompt",
                        "factors": ["<script>f</script>", "c|d"]}],
        "annotators": ["blank", {"labels": "l.csv", "name": "=cmd|' /C calc'!A0"}],
        "baseline": {"c|d": "base"},
        "measures": ["refusal_rate", {"share": "=attribute()"}, "bds"],
        "report": {"title": "</title><script>hit=1</script>{{7*7}}\u202e"},
        **FAST,
    }  # fmt: skip
    with pytest.raises(IncompleteError, match=r"2 of 14 pictures cannot be used"):
        Audit.from_text(json.dumps(audit), base=base).run(base / "run")
    return base / "run"


def test_hostile_texts_are_inert_in_every_table(hostile):
    for path in (hostile / "report" / "tables").iterdir():
        if path.suffix == ".parquet":
            continue
        text = path.read_text(encoding="utf-8")
        assert not CONTROL.search(text), path.name
        if path.suffix == ".csv":
            cells = [cell for row in csv.reader(text.splitlines(keepends=True)) for cell in row]
            assert not [c for c in cells if re.match(r"[=+@\t\r]|-(?![\d.])", c)], path.name
        elif path.suffix == ".tex":
            assert r"\input" not in text
        else:
            assert "<" not in text
            bars = {len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("|")}
            assert len(bars) == 1, path.name


def test_hostile_texts_are_inert_on_the_page(hostile):
    page = (hostile / "report" / "index.html").read_text(encoding="utf-8")
    assert "<script>hit" not in page
    assert "<img src=x" not in page
    assert not CONTROL.search(page)
    assert len(page) < 5_000_000


def test_hostile_texts_are_kept_as_they_are_in_the_run(hostile):
    run = open_run(hostile)
    assert run.prompts["text"].str.len_chars().max() == 1_000_000
    assert set(HOSTILE) - {"line\nbreak"} <= set(run.prompts["<script>f</script>"])
    assert sorted(run.images.filter(status="excluded")["source"]) == ["../../etc/passwd", "page.png"]


LABELLED = DRAWN.replace("[blank, colour]", "[blank, colour, {labels: l.csv, name: p}]")
WHOLE = r"'all': this name is taken: in the estimates it stands for all attributes together; rename"


@pytest.mark.parametrize("rows", ["image_id,all\na,b\n", "image_id,attribute,value\na,all,b\n"])
def test_an_attribute_of_a_label_file_is_not_called_all(tmp_path, rows):
    (tmp_path / "l.csv").write_text(rows)
    with pytest.raises(StereotropeError, match=r"l\.csv:2: attribute " + WHOLE):
        Audit.from_text(LABELLED, base=tmp_path).plan()


def test_a_run_that_was_moved_says_where_it_looks_for_what_it_reads(tmp_path):
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "l.csv").write_text("source,shape\n")
    (tmp_path / "study" / "l.csv").write_text("image_id,shape\nx,round\n")
    with contextlib.suppress(IncompleteError):
        Audit.from_text(LABELLED, base=tmp_path / "study").run(tmp_path / "study" / "run")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "study" / "run").rename(tmp_path / "elsewhere" / "run")
    base = re.escape(str(tmp_path / "elsewhere"))
    told = rf"looked for relative to {base} .audit_base in run\.json.*was moved"
    with pytest.raises(StereotropeError, match=told):
        Audit.from_run(tmp_path / "elsewhere" / "run").measure(tmp_path / "elsewhere" / "run")
