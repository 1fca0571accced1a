"""Measures and annotators that another package brings, installed beside this one."""

import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from PIL import Image
from tests.processes import python, together

import stereotrope as st

DOCS = Path(__file__).resolve().parents[1] / "docs" / "how-to"
PAGES = [(DOCS / f"write-{page}.md").read_text(encoding="utf-8") for page in ("a-measure", "an-annotator")]
WORDS = re.findall(r"```yaml\n(.*?)```", PAGES[0], flags=re.DOTALL)[0]
CODE = re.findall(r"```python\n(.*?)```", "\n".join(PAGES), flags=re.DOTALL)
MEASURE, FRAME, FINDER, SECTION, ANNOTATOR = CODE
AUDIT = """\
suite: objects
objects: [cup]
dimensions: {gender: [women]}
images_per_prompt: 2
generators: [{calibrated: , size: 128}]
annotators: [colour]
measures: [label_count]
report: {figures: false}
"""


def install(site, code, groups=("measures", "annotators")):
    (site / "counting").mkdir()
    (site / "counting" / "__init__.py").write_text("")
    (site / "counting" / "measures.py").write_text(code)
    (site / "counting" / "words.yaml").write_text(WORDS)
    info = site / "counting-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: counting\nVersion: 1.0\n")
    points = "".join(f"[stereotrope.{group}]\nours = counting\n" for group in groups)
    (info / "entry_points.txt").write_text(points)


def test_a_measure_of_another_package_is_listed_and_computed_with_its_finding_and_its_section(tmp_path):
    install(tmp_path, f"{MEASURE}\n{FINDER}\n{SECTION}", groups=("measures", "finders", "sections"))
    (tmp_path / "audit.yaml").write_text(AUDIT)
    listed, done = together(tmp_path, "measures", "run audit.yaml -o run", site=tmp_path)
    assert "How many labels there are. (from counting)" in listed.stdout, listed.stderr
    assert done.returncode == 0, done.stderr
    found = pl.read_parquet(tmp_path / "run" / "estimates.parquet").filter(measure="label_count")
    assert found["value"].to_list() == [4.0, 4.0]
    assert st.open(tmp_path / "run").estimates.filter(measure="label_count")["n"].to_list() == [4, 4]
    assert list(st.open(tmp_path / "run").info["words"]) == ["label_count"]
    page = (tmp_path / "run/report/index.html").read_text()
    assert "How many labels each model has" in page
    assert page.index('<section id="counts"') > page.index('<section id="other"')
    assert page.count("<p>calibrated was labelled 4 times.</p>") == 2
    assert "What was counted\ncalibrated was labelled 4 times." in done.stdout
    told = st.open(tmp_path / "run").findings.filter(kind="few_labels")
    assert told["sentence"].to_list() == ["calibrated has 4 labels."] * 2


def test_a_measure_reads_the_frame_of_another_package(tmp_path):
    counted = MEASURE.replace('source="none', 'needs="sizes", source="none').replace(
        "label_count", "size_count"
    )
    install(tmp_path, f"{FRAME}\n{counted}", groups=("frames", "measures"))
    (tmp_path / "counting" / "words.yaml").write_text(WORDS.replace("label_count", "size_count"))
    (tmp_path / "audit.yaml").write_text(AUDIT.replace("label_count", "size_count"))
    (done,) = together(tmp_path, "run audit.yaml -o run", site=tmp_path)
    assert done.returncode == 0, done.stderr
    found = pl.read_parquet(tmp_path / "run" / "estimates.parquet").filter(measure="size_count")
    assert found["value"].to_list() == [4.0]


@pytest.mark.parametrize(
    ("groups", "code", "message"),
    [
        (
            ("measures",),
            MEASURE.replace("    rows = [", "    raise KeyError('colour')\n    rows = ["),
            "measures: 'label_count' of the package counting fails (KeyError: 'colour'); mend the package",
        ),
        (
            ("measures", "finders"),
            MEASURE + FINDER.replace("    for row", "    len(None)\n    for row"),
            "finders: 'few_labels' of the package counting fails (TypeError: object of type 'NoneType'",
        ),
        (
            ("measures",),
            MEASURE.replace("float(part.height)", "None"),
            "measures: 'label_count' of the package counting fails (ValueError: a value that is null has its "
            "reason in the column undefined; a row of label_count has none); mend the package",
        ),
        (
            ("measures", "finders"),
            MEASURE + FINDER.replace('row["measure"], sentence)', 'row["measure"], lambda: len(None))'),
            "finders: 'few_labels' of the package counting fails (TypeError: object of type 'NoneType'",
        ),
        (
            ("measures", "finders"),
            MEASURE + FINDER.replace('row["measure"], sentence)', 'row["measure"], sentence, p=0.5)'),
            "finders: 'few_labels' of the package counting fails (ValueError: a tested candidate of the kind "
            "'few_labels' has a sentence and no interval; give it",
        ),
        (
            ("measures", "tables"),
            f"{MEASURE}\nfrom stereotrope.further_tables import further_table\n"
            "further_table((), caption='counts')(lambda sources: None)",
            "tables: counting brings '<lambda>'; a table has the name of its function, of letters",
        ),
        (
            ("measures", "sections"),
            MEASURE + SECTION.replace("    return [f", "    raise OSError('no')\n    return [f"),
            "sections: 'counts' of the package counting fails (OSError: no); mend the package",
        ),
    ],
)
def test_code_of_another_package_that_fails_is_one_message_that_names_it(tmp_path, groups, code, message):
    install(tmp_path, code, groups=groups)
    (tmp_path / "audit.yaml").write_text(AUDIT)
    (done,) = together(tmp_path, "run audit.yaml -o run", site=tmp_path)
    assert done.returncode == 2, done.stderr
    assert f"error: {message}" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_annotator_of_another_package_is_listed_and_looks(tmp_path):
    install(tmp_path, ANNOTATOR)
    for name, key in (("audit", "limit"), ("other", "limt")):
        text = AUDIT.replace("[colour]", f"[{{brightness: , {key}: 0}}]")
        (tmp_path / f"{name}.yaml").write_text(text.replace("label_count", "{share: brightness}"))
    listed, done, refused = together(
        tmp_path, "annotators", "run audit.yaml -o run", "run other.yaml -o other", site=tmp_path
    )
    listing = " ".join(listed.stdout.split())
    assert "is the picture bright or dark: {brightness: , limit: 128} (from counting)" in listing
    assert done.returncode == 0, done.stderr
    assert set(st.open(tmp_path / "run").labels["value"]) == {"bright"}
    message = "annotator brightness: unknown key 'limt'; did you mean 'limit'?"
    assert message in " ".join(refused.stderr.split())


def test_options_of_another_package_that_fail_are_one_message_that_names_it(tmp_path):
    fails = "    @field_validator('limit')\n    @classmethod\n    def fails(cls, value):\n"
    fails += "        raise KeyError('limit')\n"
    code = ANNOTATOR.replace("le=255)\n", f"le=255)\n\n{fails}").replace(
        "import Field", "import Field, field_validator"
    )
    install(tmp_path, code)
    (tmp_path / "audit.yaml").write_text(AUDIT.replace("[colour]", "[{brightness: , limit: 5}]"))
    (done,) = together(tmp_path, "run audit.yaml -o run", site=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert "annotators: 'brightness' of the package counting fails (KeyError: 'limit'); mend" in done.stderr


def test_modules_whose_name_begins_with_an_underscore_are_left_alone(tmp_path):
    install(tmp_path, MEASURE)
    (tmp_path / "counting" / "_heavy.py").write_text("1 / 0")
    (listed,) = together(tmp_path, "measures", site=tmp_path)
    assert "(from counting)" in listed.stdout


HALVED = """

def _computed(call, estimates):
    return halved(estimates, **call.arguments).with_columns(flags=pl.lit("computed"))


def _at_the_end(call, tables):
    row = {"measure": "pictures", "value": float(tables.images.height), "n": tables.images.height}
    return estimate_frame([row], factors=()) if call is None else None


@register(
    summary="A part of another measure.",
    suite="general",
    bounds=(0.0, None),
    direction="higher: more",
    source="none; an example",
    needs="estimates",
    on="label_count",
    closed={"secret": "it is ours; leave it out"},
    compute=_computed,
    unasked=_at_the_end,
    also=("pictures",),
)
def halved(estimates: pl.DataFrame, *, part: float = 0.5, secret: int = 0) -> pl.DataFrame:
    return estimates.with_columns(measure=pl.lit("halved"), value=part * pl.col("value"))
"""


def test_a_measure_of_another_package_reads_another_and_says_how_it_is_called(tmp_path):
    install(tmp_path, MEASURE + HALVED)
    written = {
        "audit": "label_count, {halved: label_count, part: 0.25}",
        "many": "{halved: , part: [a]}",
        "secret": "{halved: , secret: 3}",
    }
    for name, measures in written.items():
        (tmp_path / f"{name}.yaml").write_text(AUDIT.replace("label_count", measures))
    commands = [f"run {name}.yaml -o {name}" for name in written]
    done, *refused = together(tmp_path, *commands, site=tmp_path)
    assert done.returncode == 0, done.stderr
    found = pl.read_parquet(tmp_path / "audit" / "estimates.parquet")
    assert found.filter(measure="halved").select("value", "flags").rows() == [
        (1.0, "computed"), (1.0, "computed")
    ]  # fmt: skip
    assert found.filter(measure="pictures")["value"].to_list() == [4.0]
    messages = (
        "part must be a number, found ['a']; see `stereotrope measures halved`",
        "secret cannot be given here: it is ours, found 3; leave it out",
    )
    for message, each in zip(messages, refused, strict=True):
        assert message in " ".join(each.stderr.split()), each.stderr


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            MEASURE.replace("label_count", "share"),
            "measures: counting brings 'share', and stereotrope has it already; rename one, or uninstall",
        ),
        ("import nothing_of_this_name", "measures: counting cannot be loaded (ModuleNotFoundError:"),
        (
            "1 / 0",
            "measures: counting cannot be loaded (ZeroDivisionError: division by zero); mend the package",
        ),
    ],
)
def test_a_package_that_cannot_be_taken_is_named_in_one_message(tmp_path, code, message):
    install(tmp_path, code)
    (refused,) = together(tmp_path, "measures", site=tmp_path)
    assert refused.returncode == 2
    assert message in " ".join(refused.stderr.split())
    assert "Traceback" not in refused.stderr


SUITE = dict(
    re.findall(r"```\w+\n# lamps/(\S+)\n(.*?)```", (DOCS / "write-a-suite.md").read_text("utf-8"), re.DOTALL)
)


def install_suite(site, files):
    (site / "lamps").mkdir()
    for name, text in files.items():
        (site / "lamps" / name).write_text(text)
    info = site / "lighting-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lighting\nVersion: 1.0\n")
    points = "".join(f"[stereotrope.{group}]\nours = lamps\n" for group in ("suites", "commands"))
    (info / "entry_points.txt").write_text(points)


def test_a_suite_of_another_package_is_listed_printed_and_audited_with(tmp_path):
    install_suite(tmp_path, SUITE)
    (tmp_path / "pictures").mkdir()
    Image.new("RGB", (8, 8), "red").save(tmp_path / "pictures" / "a.png")
    (tmp_path / "pictures" / "metadata.csv").write_text("file_name,prompt\na.png,lamp\n")
    (tmp_path / "audit.yaml").write_text(SUITE["audit.yaml"])
    (tmp_path / "other.yaml").write_text(SUITE["audit.yaml"].replace("lamps", "lamp"))
    commands = ("suites", "init lamps", "run audit.yaml --plan", "run other.yaml --plan")
    listed, template, planned, refused = together(tmp_path, *commands, site=tmp_path)
    assert "Lamps, as somebody asked for them (from lighting)" in listed.stdout
    assert template.stdout == SUITE["audit.yaml"]
    assert (planned.returncode, "colour" in planned.stdout) == (0, True), planned.stderr
    assert "other.yaml:1: suite: no suite 'lamp'; did you mean 'lamps'?" in refused.stderr


def test_a_command_of_another_package_is_in_the_help_with_its_origin_and_runs(tmp_path):
    install_suite(tmp_path, SUITE)
    commands = ("--help", "lamps", "lamps count", "lamps count --json")
    whole, group, counted, as_json = together(tmp_path, *commands, site=tmp_path)
    assert "Look at lamps. (from lighting)" in whole.stdout
    assert "Count the lamps. (from lighting)" in group.stdout
    assert (counted.stdout, as_json.stdout) == ("3\n", '{\n  "lamps": 3\n}\n')


@pytest.mark.parametrize(
    ("fails", "code", "message"),
    [
        (
            "raise KeyError('lamps')",
            2,
            "error: commands: 'lamps count' of the package lighting fails (KeyError: 'lamps')",
        ),
        ("import typer; raise typer.Exit(3)", 3, ""),
        ("import typer; raise typer.BadParameter('no lamps')", 2, "no lamps"),
        ("raise SystemExit(4)", 4, ""),
    ],
)
def test_a_command_of_another_package_that_fails_names_it_and_one_that_ends_does_not(
    tmp_path, fails, code, message
):
    failing = SUITE["commands.py"].replace(
        "    from stereotrope.terminal", f"    {fails}\n    from stereotrope.terminal"
    )
    install_suite(tmp_path, SUITE | {"commands.py": failing})
    (done,) = together(tmp_path, "lamps count", site=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert message in done.stderr
    assert ("lighting" in done.stderr) == ("lighting" in message)


@pytest.mark.parametrize(("file", "command"), [("suite.yaml", "suites"), ("audit.yaml", "init lamps")])
def test_a_suite_that_was_installed_without_its_data_says_how_to_bring_it_along(tmp_path, file, command):
    install_suite(tmp_path, {name: text for name, text in SUITE.items() if name != file})
    (refused,) = together(tmp_path, command, site=tmp_path)
    assert (refused.returncode, "Traceback" in refused.stderr) == (2, False)
    message = rf"'lamps' of the package lighting .*{file} was not installed; name YAML as package data"
    assert re.search(message, " ".join(refused.stderr.split()))


@pytest.mark.parametrize("name", ["run", "run lamps", "reproduce", "lexicon check"])
def test_a_command_does_not_take_the_name_of_another(tmp_path, name):
    install_suite(tmp_path, SUITE | {"commands.py": SUITE["commands.py"].replace("lamps count", name)})
    listed, refused = together(tmp_path, "suites", "--help", site=tmp_path)
    assert listed.returncode == 0
    message = f"commands: lighting brings '{name}', and stereotrope has ('{name.split()[0]}'|it) already"
    assert (refused.returncode, "Traceback" in refused.stderr) == (2, False)
    assert re.search(message, " ".join(refused.stderr.split())), refused.stderr


def test_a_suite_that_does_not_say_what_it_is_is_named(tmp_path):
    install_suite(tmp_path, SUITE | {"suite.yaml": "source: ours"})
    (refused,) = together(tmp_path, "suites", site=tmp_path)
    assert (refused.returncode, "Traceback" in refused.stderr) == (2, False)
    told = r"error: suite 'lamps' of the package lighting: \S+suite.yaml:1: summary is missing; add it"
    assert re.search(told, " ".join(refused.stderr.split()))


def test_a_measure_an_annotator_and_a_suite_of_ours_are_a_file_or_a_folder_each(tmp_path):
    shutil.copytree(
        Path(st.__file__).parent, tmp_path / "stereotrope", ignore=shutil.ignore_patterns("*.pyc")
    )
    rooms = tmp_path / "stereotrope"
    (rooms / "measure" / "label_count.py").write_text(MEASURE)
    with (rooms / "measure" / "words.yaml").open("a", encoding="utf-8") as words:
        words.write(f"\n{WORDS}")
    (rooms / "annotate" / "brightness.py").write_text(ANNOTATOR)
    (rooms / "suites" / "lamps").mkdir()
    for name, text in SUITE.items():
        (rooms / "suites" / "lamps" / name).write_text(text)
    (tmp_path / "pictures").mkdir()
    Image.new("RGB", (8, 8), "red").save(tmp_path / "pictures" / "a.png")
    (tmp_path / "pictures" / "metadata.csv").write_text("file_name,prompt\na.png,lamp\n")
    asked = "annotators: [{brightness: , limit: 0}]\nmeasures: [label_count]\nreport: {figures: false}\n"
    (tmp_path / "audit.yaml").write_text(SUITE["audit.yaml"] + asked)
    lists = ("measures", "annotators", "suites")
    *listed, counted, done = together(tmp_path, *lists, "lamps count", "run audit.yaml -o run", site=tmp_path)
    said = " ".join(" ".join(each.stdout.split()) for each in listed)
    for words in (
        "How many labels there are.",
        "is the picture bright or dark",
        "Lamps, as somebody asked for",
    ):
        assert words in said
    assert "(from" not in said
    assert counted.stdout == "3\n"
    assert done.returncode == 0, done.stderr
    assert pl.read_parquet(tmp_path / "run" / "labels.parquet")["value"].to_list() == ["bright"]
    assert pl.read_parquet(tmp_path / "run" / "estimates.parquet")["value"].to_list() == [1.0]
    assert "How many labels each model has" in (tmp_path / "run/report/index.html").read_text()
    assert "packages" not in st.open(tmp_path / "run").info


def test_an_annotator_of_another_package_looks_in_other_processes_and_is_still_blamed(tmp_path):
    install(tmp_path, ANNOTATOR)
    send = """
import pickle
from stereotrope.annotate import create
with open("one", "wb") as file:
    pickle.dump(create("brightness"), file)
"""
    sent = python(tmp_path, "-c", send, site=tmp_path)
    assert sent.returncode == 0, sent.stderr
    look = """
import io, pickle
from PIL import Image
one = pickle.load(open("one", "rb"))
from stereotrope.annotate import Annotator, Picture
file = io.BytesIO()
Image.new("RGB", (8, 8), (250, 250, 250)).save(file, "PNG")
print(isinstance(one, Annotator), [label.value for label in one.process(Picture("i", "s", file.getvalue()))])
one.process(None)
"""
    looked = python(tmp_path, "-c", look, site=tmp_path)
    assert looked.stdout == "True ['bright']\n", looked.stderr
    assert (
        "PluginError: annotators: 'brightness' of the package counting fails (AttributeError" in looked.stderr
    )
