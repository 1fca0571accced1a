"""The part of the page that says what a lexicon's terms hit: complete, bounded and inert."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pytest

from stereotrope import report
from stereotrope.errors import RunDamaged

HOSTILE = "<script>alert(1)</script><img src=x onerror=y>\u202e\x1b[31m\x07\u2066{{ 7*7 }}"


def example(**pieces: str) -> dict[str, Any]:
    return {"image_id": "none", "generator": "m", "before": "a labo", "term": "rat", "after": "ory", **pieces}


def term(name: str = "rat", **more: Any) -> dict[str, Any]:
    return {
        "prompt": None, "attribute": "species", "element": name, "term": name, "n": 4, "n_hits": 5,
        "words": ["laboratory"], "examples": [example()], **more,
    }  # fmt: skip


def value(name: str = "rat", **more: Any) -> dict[str, Any]:
    return {
        "attribute": "species", "value": name, "n": 5, "n_word": 1, "n_inside_only": 4, "n_noun_only": 0,
        "n_doubtful": 4, "n_named": None, "named": {}, "words": ["laboratory"], "nouns": [],
        "by_generator": [{"generator": "m", "n": 5, "n_doubtful": 4, "n_named": None}],
        "image_ids": [], "examples": [example()], **more,
    }  # fmt: skip


def lexicon(**more: Any) -> dict[str, Any]:
    return {
        "annotator": "pets", "lexicon": "pets", "version": "3", "captioner": "people", "factor": "prompt",
        "matching": "letters anywhere", "second": "biasbench", "n_captions": 9, "n_terms": 70,
        "n_terms_hit": 2, "n_hits": 6, "n_values": 2, "n_valued": 6, "n_doubtful": 4, "n_unknown": 3,
        "n_named": 1,
        "values": [
            value(),
            value("unknown", n=3, n_doubtful=0, n_inside_only=0, n_named=1, named={"dog": 1}),
            value("dog", n=1, n_doubtful=0, n_inside_only=0),
        ],
        "inside": [term(), *[term(f"t{at}") for at in range(9)]],
        "before_nouns": [], "starred": [term("paw*")], "glued": [term("male", n_hits=2)],
        "double": [
            {"attribute": "species", "groups": "rat and dog", "n": 2, "n_captions": 9,
             "counted_as": {"rat": 2},
             "examples": [example(before="a ", between=" and a ", other="dog", after=" here")]}
        ],
        "n_several": 1, "n_never": 68,
        "never": [{"prompt": "pet", "attribute": "keyword", "element": "x", "term": f"never{at}"}
                  for at in range(60)],
        "n_unasked": 2, **more,
    }  # fmt: skip


@pytest.fixture(scope="module")
def page(make_run):
    def write(*lexicons: dict[str, Any], **more: Any) -> str:
        run = make_run(lexicons=list(lexicons), **more)
        return report.write(run, figures=False).read_text(encoding="utf-8")

    return write


def section(text: str) -> str:
    found = re.search(r'<section id="lexicon".*?</section>', text, re.DOTALL)
    return found[0] if found else ""


def test_values_doubts_and_what_was_never_found_are_told(page):
    text = section(page(lexicon()))
    assert "9 captions by people: 6 hits, of 2 of its 70 terms. Matching: letters anywhere." in text
    assert "Of 6 values read in captions, 4 rest on doubtful hits alone." in text
    assert "a second reading by the lexicon “biasbench” finds one 1 times" in text
    assert "species: rat" in text
    assert "a labo<mark>rat</mark>ory" in text
    assert "a <mark>rat</mark> and a <mark>dog</mark> here" in text
    assert "Never found: 68 terms" in text
    assert "8 more are in the file tables/lexicon_terms.csv" in text
    assert "own-prompts-and-lexicons" in text
    assert "stereotrope lexicon check pets --captions FILE" in text
    assert text.index("Values to doubt") < text.index("Inside longer words") < text.index("Never found")


@pytest.mark.parametrize(
    "change", [{"values": 5}, {"values": [5]}, {"double": "x"}, {"n_captions": HOSTILE}, {"never": None}]
)
def test_what_was_changed_behind_its_back_is_told(page, change):
    with pytest.raises(RunDamaged, match=r"run.json: `lexicons` is not what stereotrope wrote .*measure`"):
        page(lexicon(**change))
    with pytest.raises(RunDamaged, match=r"is not what stereotrope wrote \(KeyError: 'n_doubtful'\)"):
        page({"annotator": "pets"})


def test_the_section_is_in_the_contents_and_absent_without_a_lexicon(page):
    assert '<a href="#lexicon">' in page(lexicon())
    assert '<a href="#lexicon">' not in page()
    assert section(page()) == ""


def test_only_the_worst_terms_are_open_and_the_rest_is_behind_a_disclosure(page):
    text = section(page(lexicon()))
    assert "6 more terms" in text
    assert len(re.findall("<mark>", text)) == 1 + 10 + 1 + 2


def test_two_lexicons_stand_one_after_the_other_and_the_rule_is_told_once(page):
    text = section(page(lexicon(), lexicon(annotator="more")))
    assert text.count('<article class="lexicon"') == 2
    assert text.count("The rule errs too") == 1
    assert 'id="lexicon-1"' in text
    assert 'id="lexicon-2"' in text


def test_a_lexicon_that_read_nothing_or_doubts_nothing_says_so(page):
    calm = lexicon(
        values=[value(n_doubtful=0, n_inside_only=0)], inside=[], starred=[], glued=[], double=[], never=[],
        n_doubtful=0, n_never=0, n_unasked=0, n_unknown=0, n_named=0, second=None,
    )  # fmt: skip
    text = section(page(calm))
    assert "none rests on doubtful hits alone" in text
    assert "Values to doubt" not in text
    assert "<mark>" not in text
    nothing = section(page(lexicon(n_captions=0, n_hits=0, n_valued=0, values=[], inside=[])))
    assert "There are no captions that this lexicon could be looked for in." in nothing


def test_hostile_captions_terms_and_names_stay_inert(page):
    long = HOSTILE + "x" * 10_000
    bad = example(before=long, term=HOSTILE, after=long, generator=HOSTILE)
    one = lexicon(
        annotator=HOSTILE, lexicon=HOSTILE, version=HOSTILE, captioner=HOSTILE, matching=HOSTILE,
        second=HOSTILE,
        values=[
            value(HOSTILE, attribute=HOSTILE, named={HOSTILE: 1}, n_named=1, examples=[bad],
                  by_generator=[{"generator": HOSTILE, "n": 5, "n_doubtful": 4, "n_named": None}]),
        ],
        inside=[term(HOSTILE, words=[long], attribute=HOSTILE, prompt=HOSTILE, examples=[bad])],
        starred=[term(long, examples=[bad])], glued=[term(HOSTILE)],
        double=[{"attribute": HOSTILE, "groups": HOSTILE, "n": 1, "n_captions": 2,
                 "counted_as": {HOSTILE: 1}, "examples": [bad | {"between": long, "other": HOSTILE}]}],
        never=[{"prompt": HOSTILE, "attribute": HOSTILE, "element": HOSTILE, "term": long}],
    )  # fmt: skip
    text = section(page(one))
    assert "&lt;script&gt;alert(1)" in text
    assert not re.search(r"<script|<img src=x|[\u202e\u2066\x1b\x07]", text)
    assert "49" not in re.sub(r"&#?\w+;|\d{3,}", "", text.split("{{ 7*7 }}")[0])
    assert "{{ 7*7 }}" in text
    assert len(text) < 60_000


def test_terms_are_exported_with_the_other_tables(make_run):
    terms = pl.DataFrame({"lexicon": ["pets"], "term": ["=1+1"], "n_hits": [3]})
    run = make_run()
    run.terms = terms
    tables = report.write(run, figures=False).parent / "tables"
    assert pl.read_parquet(tables / "lexicon_terms.parquet").equals(terms)
    assert "'=1+1" in (tables / "lexicon_terms.csv").read_text()
