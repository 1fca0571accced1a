"""Where discovered attributes stand: one file an annotator, whatever its name."""

from pathlib import Path

import pytest

from stereotrope.annotate import Annotator
from stereotrope.audit.subjects import file_of


def taxonomies_file(folder: Path, name: str) -> Path | None:
    annotator = Annotator()
    annotator.name, annotator.keeps = name, "taxonomies"
    return file_of(folder, annotator)


def test_a_plain_name_is_the_name_of_the_file(tmp_path):
    assert taxonomies_file(tmp_path, "gpt-4o") == tmp_path / "taxonomies" / "gpt-4o.yaml"


@pytest.mark.parametrize(
    "names", [("裁判", "法官"), ("org/model", "org-model"), ("n" * 300 + "1", "n" * 300 + "2")]
)
def test_names_that_differ_have_files_that_differ(names):
    files = {taxonomies_file(Path("run"), name).name for name in names}
    assert len(files) == 2
    assert all(len(file) < 130 for file in files)


def test_no_name_leads_out_of_the_folder(tmp_path):
    for name in ("../../x", "/etc/passwd", "..", "a\\..\\b", "."):
        assert taxonomies_file(tmp_path, name).parent == tmp_path / "taxonomies"
