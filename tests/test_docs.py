"""What the docs say is true: pages are fresh, audit files plan, links lead somewhere, examples run."""

import importlib.util
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from stereotrope.audit import Audit
from stereotrope.audit.file import validate
from stereotrope.errors import StereotropeError
from stereotrope.inputs.yaml import Source
from stereotrope.measure import REGISTRY
from stereotrope.suites.reading import audit_template

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROMISES = re.compile(r"\b(unbiased|compliant|debiased|debiasing)\b", re.IGNORECASE)


def generated():
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PAGES


@pytest.mark.parametrize("name", sorted(generated()))
def test_generated_pages_are_fresh(name):
    stored = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert stored == generated()[name]().rstrip() + "\n", "run `make docs`"


def test_the_page_of_measures_names_each_and_leaves_no_markup_behind():
    page = generated()["measures.md"]()
    for name in REGISTRY:
        assert f"\n## {name}\n" in page
    assert ":math:" not in page
    assert ":func:" not in page
    assert "\n----" not in page
    assert page.index("numpy.random.default_rng") < page.index("\n## ")
    assert "n_bootstrap, seed**\nAs for" in page
    assert not re.findall(r"\*\*by, .*\*\*\n(?!As for)", page)
    for named in ("Base versus demographic divergence (BDS)", "Cross-demographic disparity (CDS)"):
        assert f"\n{named}: " in page
    assert "\nVisual attribute concentration (VAC): " in page


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_within_the_repository_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if not target.startswith(("http", "<http")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("kind", ["tutorials", "how-to", "explanation"])
def test_every_page_is_linked_from_the_readme(kind):
    linked = re.findall(rf"\(docs/{kind}/([^)#]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert set(linked) == {page.name for page in (ROOT / "docs" / kind).glob("*.md")}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_whole_audit_files_in_the_docs_are_valid(page):
    for block in re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
        if "generators:" in block:
            assert validate(Source(block, page.name, ROOT)).generators


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_no_page_promises_what_no_measurement_can(page):
    assert not PROMISES.search(page.read_text(encoding="utf-8"))


def test_every_command_the_readme_names_exists():
    from typer.main import get_command

    from stereotrope.cli import app

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\$ stereotrope (\w+)", text, flags=re.MULTILINE))
    assert named
    assert named <= set(get_command(app).list_commands(None))
    targets = set(re.findall(r"^\$ make (\w+)", text, flags=re.MULTILINE))
    assert targets == {"demo", "test"}
    for target in targets:
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)


def test_the_suite_and_demo_audit_files_plan():
    from importlib import resources

    for name in ("suites/objects/audit.yaml", "cli/demo.yaml"):
        text = (resources.files("stereotrope") / name).read_text("utf-8")
        assert Audit.from_text(text, name=name).plan().requests.height


def test_the_mistake_of_the_first_tutorial_gets_the_message_it_shows():
    page = (ROOT / "docs" / "tutorials" / "first-audit.md").read_text(encoding="utf-8")
    shown = re.search(r"^error: (.*unknown key.*)$", page, flags=re.MULTILINE).group(1)
    before, after = re.search(r"Change `([^`]+)` in the file to `([^`]+)`", page).groups()
    template = audit_template("objects")
    assert before in template
    with pytest.raises(StereotropeError) as raised:
        Audit.from_text(template.replace(before, after), name="audit.yaml")
    assert str(raised.value) == shown


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder that holds the runs which the docs speak of."""
    folder = tmp_path_factory.mktemp("docs")
    text = "suite: objects\nobjects: [cup]\ndimensions: {gender: [women]}\nimages_per_prompt: 3\n"
    text += (
        "generators: [{calibrated: , size: 128}]\nannotators: [colour]\npermutations: 99\nresamples: 100\n"
    )
    run = Audit.from_text(text).run(folder / "runs" / "first")
    shutil.copytree(run.path, folder / "runs" / "demo")
    return folder


def write_files_of(page, folder):
    """Write the YAML files that a page shows under their names, and its captions."""
    text = page.read_text(encoding="utf-8")
    for name, block in re.findall(r"```yaml\n# (\S+\.yaml)\n(.*?)```", text, flags=re.DOTALL):
        (folder / name).write_text(block, encoding="utf-8")
    for block in re.findall(r"```csv\n(.*?)```", text, flags=re.DOTALL):
        (folder / "captions.csv").write_text(block, encoding="utf-8")


_INSTALLED = [f"write-{what}.md" for what in ("a-measure", "a-plugin", "a-suite", "a-table", "an-annotator")]
PYTHON = [
    page
    for page in PAGES
    if page.parent.name != "reference"
    and "```python" in page.read_text("utf-8")
    # What it registers would stay; tests install it as a package.
    and page.name not in _INSTALLED
]


@pytest.mark.parametrize("page", PYTHON, ids=lambda p: p.name)
def test_python_in_the_docs_runs(page, finished, monkeypatch):
    monkeypatch.chdir(finished)
    labels = [
        {"image_id": f"{group}{i}", "generator": "m", "object": "car", "group": group,
         "attribute": "product_colour", "value": "pink" if i % 2 else "grey"}
        for group in ("base", "women") for i in range(4)
    ]  # fmt: skip
    names = {"labels": pl.DataFrame(labels)}
    found = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    # What a block registers would stay; tests/generate/test_plugin.py installs it.
    blocks = [block for block in found if "@generator(" not in block]
    assert blocks
    write_files_of(page, finished)
    for block in blocks:
        exec(compile(block, page.name, "exec"), names)
    assert {"st", "generator", "server"} & set(names)


@pytest.mark.parametrize(
    "name", ["own-prompts-and-lexicons", pytest.param("plan-an-audit", marks=pytest.mark.slow)]
)
def test_a_command_on_the_files_of_a_page_prints_what_the_page_shows(name, tmp_path, monkeypatch, capsys):
    from stereotrope.cli import main

    page = ROOT / "docs" / "how-to" / f"{name}.md"
    write_files_of(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    shown = re.search(r"```console\n\$ stereotrope (.*?)\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL)
    with pytest.raises(SystemExit, match="0"):
        main(shown.group(1).split())
    assert capsys.readouterr().out.strip() == shown.group(2).strip()
