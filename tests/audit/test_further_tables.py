"""Further tables that a plug-in makes of the tables of a run."""

import re
from pathlib import Path

import polars as pl
import pytest

import stereotrope as st
from stereotrope.errors import PluginError, UsageError
from stereotrope.further_tables import TABLES, further_table
from stereotrope.tables import WHOLE, Column

AUDIT = """\
suite: objects
objects: [cup]
dimensions: {gender: [women]}
images_per_prompt: 2
generators: [{calibrated: , size: 64}]
annotators: [colour]
measures: [refusal_rate]
"""
PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "write-a-table.md"
COLUMNS = (Column("n", WHOLE, "how many"),)


@pytest.fixture
def counting():
    assert "lexicon_terms" in TABLES
    exec(re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)[0], {})
    yield
    TABLES._plugins.pop("label_counts", None)


def test_a_further_table_is_filled_written_opened_and_exported(tmp_path, counting, reported):
    run = st.Audit.from_text(AUDIT).run(tmp_path / "run")
    assert run.table("label_counts").rows() == [("colour", 8)]
    assert run.further == {"label_counts": "Labels by annotator"}
    assert run.info["counted"]
    exported = pl.read_csv(tmp_path / "run" / "report" / "tables" / "label_counts.csv")
    assert exported["n_labels"].to_list() == [8]
    assert run.table("lexicon_terms").is_empty()
    with pytest.raises(UsageError, match="no table 'counts', and no package makes it; it has label_counts"):
        run.table("counts")


def test_a_table_whose_package_is_gone_stays_and_a_note_says_so(tmp_path, counting):
    st.Audit.from_text(AUDIT).run(tmp_path / "run")
    del TABLES._plugins["label_counts"]
    run = st.Audit.from_run(tmp_path / "run").measure(tmp_path / "run")
    assert run.table("label_counts").rows() == [("colour", 8)]
    assert "label_counts" in run.further
    note = "table 'label_counts' is made by stereotrope, which is not installed here"
    assert any(one.startswith(note) for one in run.info["notes"])


def test_a_table_of_every_run_is_no_further_one():
    def labels(sources):
        return None

    with pytest.raises(PluginError, match="brings 'labels', which is a table of every run; rename"):
        further_table(COLUMNS, caption="")(labels)
