"""What a run says of packages of others when they are no longer installed."""

import json
import shutil
from importlib.metadata import version

import pytest

import stereotrope as st
from stereotrope import report
from stereotrope.errors import AuditFileError, PluginError
from stereotrope.plugins import Registry, version_of
from stereotrope.report.contract import SECTIONS, Block, add_section

AUDIT = """\
prompts: [{thing: cup, text: a cup}]
images_per_prompt: 2
generators: [{calibrated: , size: 64}]
annotators: [blank]
measures: [refusal_rate]
report: {figures: false}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "run"
    st.Audit.from_text(AUDIT).run(folder)
    return folder


@pytest.fixture
def run(made, tmp_path):
    """A run, and what changes its ``run.json``."""
    folder = shutil.copytree(made, tmp_path / "run")

    def said(**more):
        file = folder / "run.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **more}))
        return folder

    return said


@pytest.mark.parametrize(
    ("kinds", "package"),
    [({"version": "1.0"}, "halves 1.0"), ({}, "halves"), ({"version": None}, "halves")],
)
def test_a_run_that_needs_what_is_gone_says_whose_it_is(run, kinds, package):
    folder = run(packages={"halves": {**kinds, "annotators": ["shade"], "measures": ["unlike", "share"]}})
    with pytest.raises(PluginError) as refused:
        st.Audit.from_run(folder)
    needs = (
        f"annotators 'shade' and measures 'unlike' of the package {package}, which is not installed; install"
    )
    assert f"this run needs {needs}" in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[blank]", "[blank, shade]", "audit.yaml:4: annotator 'shade' is unknown"),
        ("[blank]", "[{shade: 3}]", "audit.yaml:4: annotator 'shade' is unknown"),
        ("[refusal_rate]", "[unlike]", "audit.yaml:5: no measure 'unlike'"),
        ("[{calibrated: , size: 64}]", "[brush]", "audit.yaml:3: generator 'brush' is unknown"),
    ],
)
def test_an_unknown_name_is_told_with_the_package_that_the_run_has_it_from(run, old, new, message):
    kinds = {"version": "1.0", "annotators": ["shade"], "measures": ["unlike"], "generators": ["brush"]}
    folder = run(packages={"halves": kinds})
    audit = st.Audit.from_text(AUDIT.replace(old, new))
    for carry_out in (audit.run, audit.measure):
        if carry_out == audit.measure and "brush" in new:
            continue  # nothing is drawn then
        with pytest.raises(AuditFileError) as refused:
            carry_out(folder)
        assert str(refused.value).startswith(message)
        assert " from the package halves 1.0, which is not installed here" in str(refused.value)


def test_other_mistakes_in_an_audit_are_told_as_they_are(run):
    folder = run(packages={"halves": {"version": "1.0", "annotators": ["shade"]}})
    with pytest.raises(AuditFileError) as refused:
        st.Audit.from_text(AUDIT.replace("blank", "blnk")).run(folder)
    assert str(refused.value).endswith("annotator 'blnk' is unknown; did you mean 'blank'?")


@pytest.fixture
def hands(monkeypatch):
    """As long as a package ``pytest`` brings a section."""
    monkeypatch.setattr(SECTIONS, "_plugins", {**SECTIONS, **SECTIONS._plugins})
    monkeypatch.setattr(SECTIONS, "_origins", dict(SECTIONS._origins))
    monkeypatch.setattr(Registry, "_origin", "pytest")
    add_section("hands", "Labels changed by hand", place=65, make=lambda m, s: [Block("text", ["Twelve."])])


def test_a_section_that_is_gone_leaves_a_line_where_it_stood(made, tmp_path, request, reported):
    folder = shutil.copytree(made, tmp_path / "run")
    with pytest.MonkeyPatch.context() as patched:
        request.getfixturevalue("hands")
        st.Audit.from_run(folder).measure(folder)
        assert "<p>Twelve.</p>" in (folder / "report/index.html").read_text()
        told = {"title": "Labels changed by hand", "place": 65, "from": f"pytest {version('pytest')}"}
        assert st.open(folder).info["sections"] == {"hands": told}
        patched.delitem(SECTIONS._plugins, "hands")
        st.Audit.from_run(folder).measure(folder)
        page = (folder / "report/index.html").read_text()
        assert '<section id="hands"' in page
        assert "Labels changed by hand" in page
        assert f"made by the package pytest {version('pytest')}, which is not installed here" in page
        assert st.open(folder).info["sections"] == {"hands": told}
        assert report.headline(st.open(folder))


def test_the_version_of_what_is_no_distribution_is_not_known():
    assert version_of("pytest") == version("pytest")
    assert version_of("nothing-of-this-name") is None
