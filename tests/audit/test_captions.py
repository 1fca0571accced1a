"""Captions and a lexicon in an audit: labels of what they say, none of it taken for looks."""

import polars as pl
import pytest

import stereotrope as st
from stereotrope.audit import Audit
from stereotrope.errors import AuditFileError

AUDIT = """\
suite: objects
objects: [cup]
dimensions: {gender: [men, women]}
images_per_prompt: 2
generators: [{calibrated: , size: 64}]
annotators: [blank, colour%s]
permutations: 199
resamples: 100
"""
LEXICON = """\
attributes:
  material: {groups: {clay: [clay], glass: [glass]}, of: [cup]}
prompts:
  cup: {lists: {keyword: [cup, saucer]}}
"""


def test_captions_are_read_by_a_lexicon_and_enter_no_measure_of_looks(tmp_path):
    folder = tmp_path / "run"
    Audit.from_text(AUDIT % "").run(folder)
    before = st.open(folder)
    ids = before.images["image_id"].to_list()
    lines = [f'{image},"A Rose-Gold clay cup, number {number}"\n' for number, image in enumerate(ids[:-1])]
    (tmp_path / "captions.csv").write_text("image_id,caption\n" + "".join(lines), encoding="utf-8")
    (tmp_path / "words.yaml").write_text(LEXICON, encoding="utf-8")
    more = ", {lexicon: words.yaml, factor: object}, {captions: captions.csv, name: blip}"
    Audit.from_text(AUDIT % more, base=tmp_path).run(folder)
    after = st.open(folder)
    said = after.labels.filter(pl.col("annotator").is_in(["blip", "words"]))
    assert dict(
        said.group_by("attribute", "value").len().drop("len").filter(attribute="material").iter_rows()
    ) == {"material": "clay"}
    counts = dict(said["attribute"].value_counts().iter_rows())
    n = len(ids) - 1
    assert counts == {"caption": n, "material": n, "keyword": n}
    assert "A Rose-Gold clay cup, number 0" in said["value"].to_list()
    assert dict(said.select("annotator", "derived_from").unique().iter_rows()) == {
        "blip": None,
        "words": "blip",
    }
    assert said["written"].null_count() == said.height
    measured = set(after.estimates["attribute"].drop_nulls())
    assert "material" in measured
    assert measured.isdisjoint({"caption", "keyword"})
    assert any("1 of" in note and "have no caption" in note for note in after.info["notes"])


def test_what_a_lexicon_reads_may_not_have_the_name_of_a_factor(tmp_path):
    (tmp_path / "words.yaml").write_text(LEXICON.replace("material", "object"), encoding="utf-8")
    (tmp_path / "captions.csv").write_text("image_id,caption\na,b\n", encoding="utf-8")
    text = AUDIT % ", {lexicon: words.yaml, factor: object}, {captions: captions.csv, name: blip}"
    with pytest.raises(
        AuditFileError, match=r"'object' is what it reads, or labels by that, and a factor .*; rename"
    ):
        Audit.from_text(text, base=tmp_path).plan()
