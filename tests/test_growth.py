"""A package with one of everything that can be added, installed from the page that explains it."""

import re
import shutil
import tomllib
from pathlib import Path

import polars as pl
import pytest
from tests.processes import stereotrope, together

import stereotrope as st

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "how-to" / "write-a-plugin.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`([\w./]+)`\n\n```\w+\n(.*?)```", PAGE, flags=re.DOTALL | re.MULTILINE))
AUDIT = """\
suite: halves
generators: [{calibrated: , size: 128}]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder of installed packages with the package in it."""
    folder = tmp_path_factory.mktemp("site")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    project = tomllib.loads(FILES["pyproject.toml"])["project"]
    info = folder / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in those.items())
        for group, those in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("".join(points))
    return folder


@pytest.fixture(scope="module")
def audited(site, tmp_path_factory):
    """A folder with an audit file and its run."""
    folder = tmp_path_factory.mktemp("grown")
    (folder / "audit.yaml").write_text(AUDIT)
    done = stereotrope(folder, "run", "audit.yaml", "-o", "run", site=site)
    assert done.returncode == 0, done.stderr
    return folder, done


def test_nothing_of_this_project_names_the_package():
    for file in (ROOT / "src").rglob("*.py"):
        assert "unlike_halves" not in file.read_text(encoding="utf-8")
        assert "HalvesAnnotator" not in file.read_text(encoding="utf-8")


def test_what_it_adds_is_listed_with_its_name(site, tmp_path):
    lines = {
        "annotators": "is a region dark",
        "measures": "How often one half of a picture is dark",
        "suites": "Halves — are the two halves",
        "strategies": "other words where pictures are alike",
    }
    *lists, explained = together(tmp_path, *lines, "annotators shade", site=site)
    for line, done in zip(lines.values(), lists, strict=True):
        listed = " ".join(done.stdout.split())
        assert line in listed
        assert "(from halves)" in listed.split(line)[1][:160]
    shown = explained.stdout
    assert "shade: is a region dark, by a limit of its mean level (from halves)" in shown
    assert "Entry: {shade: 128}" in shown
    assert "place of a file" not in shown  # what the base of its options says of itself


def test_an_installation_brings_its_data_along():
    """A build takes Python, and of other files those that are named."""
    data = tomllib.loads(FILES["pyproject.toml"])["tool"]["setuptools"]["package-data"]
    patterns = [f"{room}/{pattern}" for room, names in data.items() for pattern in names]
    named = {file for file in FILES if any(Path(file).match(pattern) for pattern in patterns)}
    assert named == {file for file in FILES if not file.endswith((".py", ".toml"))}


def test_regions_and_sets_are_looked_at_and_stored(audited):
    run = st.open(audited[0] / "run")
    labels = run.labels
    shades = labels.filter(attribute="shade")
    assert set(shades["subject_kind"]) == {"region"}
    assert shades["region"].null_count() == 0
    assert shades.height == 2 * run.images.height == 16
    sets = labels.filter(attribute="alike")
    assert set(sets["subject_kind"]) == {"set"}
    assert sets.height == 4
    members = run.subjects
    assert members.filter(subject_kind="set").group_by("subject_id").len()["len"].to_list() == [2] * 4
    assert set(members["image_id"]) == set(run.images["image_id"])


def test_again_nothing_is_looked_at_twice(audited, site):
    folder, first = audited
    before = st.open(folder / "run").labels
    again = stereotrope(folder, "run", "audit.yaml", "-o", "run", site=site)
    assert again.returncode == 0
    assert "shade" in first.stderr
    assert st.open(folder / "run").labels.equals(before)


def test_its_table_is_filled_and_opened(audited):
    run = st.open(audited[0] / "run")
    dark = run.labels.filter(attribute="shade", value="dark").height
    assert run.table("dark_halves")["n_dark"].sum() == dark
    assert set(run.table("dark_halves")["image_id"]) == set(run.images["image_id"])


def test_its_measure_is_computed_and_its_finder_finds(audited, site):
    folder, _ = audited
    run = st.open(folder / "run")
    rows = run.estimates.filter(measure="unlike_halves")
    things = dict(run.images.join(run.prompts, on="prompt_id").select("image_id", "thing").iter_rows())
    shades = run.labels.filter(attribute="shade").join(run.subjects, on="subject_id")
    values = shades.group_by("image_id").agg(pl.col("value").n_unique())
    for row in rows.to_dicts():
        own = values.filter(pl.col("image_id").replace_strict(things) == row["thing"])
        assert (row["value"], row["n"]) == ((own["value"] > 1).mean(), 4)
    assert rows.height == 2
    assert run.findings.filter(kind="alike_halves").height == rows.filter(value=0.0).height > 0
    alike = rows.filter(value=0.0)["thing"].to_list()
    told = re.findall(r"In all 4 pictures of (\w+) by calibrated both halves", audited[1].stdout)
    assert sorted(set(told)) == sorted(alike)


def test_a_mistake_in_its_options_is_told_with_the_line(site, tmp_path):
    (tmp_path / "dim.yaml").write_text(AUDIT + "annotators: [halves, {shade: dim}]\n")
    (tmp_path / "alone.yaml").write_text(AUDIT + "annotators: [shade]\n")
    dim, alone = together(tmp_path, *(f"run {name}.yaml -o run" for name in ("dim", "alone")), site=site)
    assert dim.returncode == alone.returncode == 2
    assert "dim.yaml:3: annotator shade: shade must be a whole number, found 'dim'" in dim.stderr
    assert "add `halves`" in alone.stderr


def test_the_report_shows_its_section_words_and_figure(audited):
    page = (audited[0] / "run" / "report" / "index.html").read_text(encoding="utf-8")
    assert "How often the two halves of a picture are unlike" in page
    assert "Halves of pictures" in page
    assert "of 16 halves are dark." in page


def test_the_report_shows_regions_in_their_pictures_and_sets_side_by_side(audited):
    page = (audited[0] / "run" / "report" / "index.html").read_text(encoding="utf-8")
    part = page.partition('<section id="subjects"')[2].partition("</section>")[0]
    assert "<p>shade: 6 of 8 pictures with their regions.</p>" in part
    assert part.count('class="box"') == 12
    assert '<rect class="inner" x="64" y="0" width="64" height="128"/>' in part
    assert len(re.findall(r"<li>half: (?:left|right); shade: (?:dark|light)</li>", part)) == 12
    assert "<p>alike: 4 sets.</p>" in part
    assert len(re.findall(r"calibrated: (?:cup|car)</a> · alike: (?:yes|no)", part)) == 4


def test_its_command_and_its_numbers_are_in_the_terminal(audited, site):
    folder, _ = audited
    helped, counted, shown = together(folder, "--help", "halves count run", "show run", site=site)
    assert "Look at halves of pictures" in helped.stdout
    dark = st.open(folder / "run").labels.filter(attribute="shade", value="dark").height
    assert counted.stdout.split() == [str(dark), "dark", "halves"], counted.stderr
    assert "unlike halves" in shown.stdout.lower()


def test_the_numbers_are_in_the_exports(audited):
    tables = audited[0] / "run" / "report" / "tables"
    assert pl.read_csv(tables / "unlike_halves.csv").height == 2
    assert pl.read_csv(tables / "dark_halves.csv").height == 8


@pytest.fixture(scope="module")
def mitigated(audited, site, tmp_path_factory):
    """A copy of the run with its strategy carried out, and what the command said."""
    folder = tmp_path_factory.mktemp("mitigated")
    shutil.copytree(audited[0] / "run", folder / "run")
    return folder, stereotrope(folder, "mitigate", "run", "--with", "vary:by night", site=site)


def test_its_strategy_rewrites_by_what_its_annotator_found(mitigated, audited):
    folder, done = mitigated
    assert done.returncode == 0, done.stderr
    rows = {row["query"]: row for row in pl.read_csv(folder / "run" / "mitigated.csv").to_dicts()}
    sets = st.open(audited[0] / "run").labels.filter(attribute="alike")
    first = st.open(audited[0] / "run").subjects.filter(subject_kind="set", position=0)
    prompts = st.open(audited[0] / "run").images.join(st.open(audited[0] / "run").prompts, on="prompt_id")
    of = sets.join(first, on="subject_id").join(prompts, on="image_id").group_by("text")
    for text, share in of.agg((pl.col("value") == "yes").mean()).rows():
        changed = share >= 0.5
        assert rows[text]["status"] == ("rewritten" if changed else "kept")
        assert rows[text]["prompt"] == (f"{text}, by night" if changed else text)
    run = st.open(folder / "run")
    assert set(run.prompts["mitigation"]) == {"none", "vary"}
    assert run.labels.filter(attribute="shade").height == 32


def test_a_strategy_of_a_package_that_is_gone_leaves_its_prompts(mitigated):
    folder, _ = mitigated
    refused, written = together(folder, "mitigate run --with vary", "report run")
    assert refused.returncode == 2
    assert "of the package halves 1.0, which is not installed" in " ".join(refused.stderr.split())
    assert "Traceback" not in refused.stderr
    assert set(st.open(folder / "run").prompts["mitigation"]) == {"none", "vary"}
    assert written.returncode == 0


@pytest.mark.parametrize(
    ("was", "broken", "rule"),
    [
        (
            "        alike = [",
            "        raise KeyError('alike')\n        alike = [",
            "fails (KeyError: 'alike')",
        ),
        pytest.param(
            'Rewrite(case.prompt, "kept"', 'Rewrite(None, "kept"', "status is one of", marks=pytest.mark.slow
        ),
        pytest.param(
            'return Rewrite(case.prompt, "kept", "its pictures differ")',
            "return case.prompt",
            "process must give",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "self.name, self.words = name, words",
            "self.name, self.words = '', words",
            "name must be of type str",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_strategy_that_fails_or_breaks_a_rule_is_named_and_nothing_of_it_is_kept(
    audited, site, tmp_path, was, broken, rule
):
    shutil.copytree(audited[0] / "run", tmp_path / "run")
    shutil.copytree(site, tmp_path / "site")
    file = tmp_path / "site" / "halves" / "strategies.py"
    assert was in file.read_text()
    file.write_text(file.read_text().replace(was, broken).replace("alike: yes", "nothing"))
    refused = stereotrope(tmp_path, "mitigate", "run", "--with", "vary", site=tmp_path / "site")
    said = " ".join(refused.stderr.split())
    assert refused.returncode == 2, said
    assert "strategies: 'vary' of the package halves fails" in said
    assert rule in said
    assert "Traceback" not in said
    assert not (tmp_path / "run" / "mitigated.csv").exists()
    mended = stereotrope(tmp_path, "mitigate", "run", "--with", "vary", "--prompts-only", site=site)
    assert mended.returncode == 0, mended.stderr


def test_a_run_outlives_the_package(audited):
    folder, _ = audited
    assert st.open(folder / "run").info["packages"]["halves"]["version"] == "1.0"
    commands = ("report run", "measure run", *("run audit.yaml -o run" + more for more in ("", " --plan")))
    shown, measured, *again = together(folder, *commands)
    assert shown.returncode == 0, shown.stderr
    page = (folder / "run" / "report" / "index.html").read_text(encoding="utf-8")
    assert "How often the two halves of a picture are unlike" in page
    part = page.partition('<section id="halves"')[2].partition("</section>")[0]
    assert "Halves of pictures" in part
    assert "This section is made by the package halves 1.0, which is not installed here" in part
    assert measured.returncode == 2
    (message,) = measured.stderr.strip().splitlines()
    named = "suites 'halves', annotators 'halves', 'shade' and 'alike' and measures 'unlike_halves'"
    needs = f"this run needs {named} of the package halves 1.0, which is not inst"
    assert message.startswith(f"error: run: {needs}")
    for refused in again:
        assert refused.returncode == 2
        assert "audit.yaml:1: suite: no suite 'halves'" in refused.stderr
        assert "This run has 'halves' from the package halves 1.0, which is not installed" in refused.stderr
