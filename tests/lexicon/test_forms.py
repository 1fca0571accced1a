"""What counts for a term beside the term itself, and what does not."""

import csv
import re

import polars as pl
import pytest

from stereotrope.lexicon import lexicon_from, matching_audit, read_lexicon
from stereotrope.lexicon.forms import forms_of


def named(terms, caption, *, name="implied", matching=None):
    made = lexicon_from(
        {"name": "own", "matching": matching or {}, "prompts": {"any": {"lists": {name: {"it": terms}}}}}
    )
    frame = pl.DataFrame({"prompt": ["any"], "caption": [caption]})
    return made.frame(frame)[name].to_list() == [["it"]]


@pytest.mark.parametrize(
    ("term", "caption"),
    [
        ("skin", "a fair-skinned woman"),
        ("skin", "light-skinned"),
        ("skin", "Skinned knees"),
        ("skin", "a lightskinned model"),
        ("feather", "a feathered hat"),
        ("stethoscope", "two stethoscopes"),
        ("white coat", "a white-coat"),
        ("white coat", "in a whitecoat"),
        ("white coat", "white‑coated doctors"),
        ("white coat", "two whitecoats"),
        ("lab coat", "labcoat"),
        ("lab coat", "a lab-coat"),
        ("box", "boxes"),
        ("glass", "glasses"),
        ("butterfly", "butterflies"),
        ("toy", "toys"),
        ("leaf", "leaves"),
        ("child", "children"),
        ("petal", "a petalled rose"),
        ("petal", "a petaled rose"),
        ("cage", "caged rats"),
        ("fly", "a hoverfly"),
        ("fly", "Hoverflies"),
        ("fly", "a hover-fly"),
        ("bee", "two bumblebees"),
        ("bear", "a polar bear"),
        ("bug", "a ladybug"),
    ],
)
def test_a_form_of_a_listed_thing_counts_for_it(term, caption):
    assert named([term], caption)


def test_forms_can_be_left_out():
    assert named(["skin"], "skinned")
    assert not named(["skin"], "skinned", matching={"forms": False})


@pytest.mark.parametrize(
    ("term", "caption"),
    [
        ("rat", "a laboratory, rated illustrations"),
        ("ant", "a vibrant plant's antennae"),
        ("man", "humans and a woman"),
        ("bee", "a beetle"),
        ("fly", "a butterfly, a dragon-fly and two fire flies"),
        ("horse", "a seahorse and a sea-horse"),
        ("bird", "a ladybird, a lady bird"),
        ("bear", "teddy bears"),
        ("cover", "a snow-covered field"),
        ("skin", "skinny, a sheep-skin"),
        ("car", "care, cared for, scarce"),
        ("cat", "scattered"),
        ("dress", "address"),
    ],
)
def test_what_only_looks_like_a_form_does_not(term, caption):
    assert not named([term], caption)


def test_groups_have_compounds_and_no_other_form():
    made = lexicon_from({"attributes": {"kind": {"groups": {"fly": ["fly"], "fair": ["fair"]}}}})
    said = made.frame(pl.DataFrame({"caption": ["a hoverfly", "fairs", "a butterfly", "butter-flies"]}))
    assert said["kind"].to_list() == ["fly", "unknown", "unknown", "unknown"]


def test_a_form_that_is_a_term_counts_once_and_for_that_term():
    made = lexicon_from({"prompts": {"any": {"lists": {"stereotype": ["saree", "sarees", "lamp"]}}}})
    hits = made.match(["a saree, sarees, lamps"])
    assert [made.terms[term].term for term in hits.term] == ["saree", "sarees", "lamp"]
    assert hits.form.tolist() == [False, False, True]


def test_phrases_rule_forms_out_as_they_do_terms():
    made = lexicon_from(
        {"prompts": {"any": {"lists": {"hallucination": {"terms": ["car"], "not": ["no {}"]}}}}}
    )
    assert len(made.match(["no cars, no car"])) == 0
    assert len(made.match(["two cars"])) == 1


def test_the_audit_tells_forms_from_longer_words_left_alone():
    made = lexicon_from(
        {"prompts": {"any": {"lists": {"implied": {"skin": ["skin"], "fly": ["fly"], "woman": ["woman"]}}}}}
    )
    texts = ["fair-skinned, a hoverfly", "skinny, a butterfly", "womanhood"]
    audit = matching_audit(made, pl.DataFrame({"prompt": ["any"] * 3, "caption": texts}))
    rows = {row["term"]: row for row in audit.terms.iter_rows(named=True)}
    skin, fly = rows["skin"], rows["fly"]
    assert (skin["n_hits"], skin["n_by_form"], skin["form_words"]) == (1, 1, ["skinned"])
    assert (skin["n_kept_out"], skin["kept_out_words"]) == (1, ["skinny"])
    assert (fly["form_words"], fly["kept_out_words"], fly["n_doubtful"]) == (["hoverfly"], ["butterfly"], 0)
    assert rows["woman"]["kept_out_words"] == ["womanhood"]


def test_letters_inside_a_declared_compound_are_not_doubted():
    made = lexicon_from(
        {"matching": {"boundary": "substring"}, "attributes": {"kind": {"groups": {"fly": ["fly"]}}}}
    )
    audit = matching_audit(made, pl.DataFrame({"caption": ["a hoverflyGreen", "a butterfly"]}))
    (row,) = audit.terms.iter_rows(named=True)
    assert (row["n_inside"], row["n_forms"], row["n_doubtful"]) == (2, 1, 1)
    assert row["inside_words"] == ["butterfly"]


@pytest.mark.parametrize("term", ["x", "42", "été", "*dish*", "he", "", "light to medium"])
def test_any_term_has_forms_or_none(term):
    assert all(form and form != term for form in forms_of(term))


@pytest.mark.parametrize("model", ["sd", "bksdm"])
def test_no_element_is_missing_from_a_caption_that_has_a_form_of_it(shared, model):
    lexicon = read_lexicon("biasbench")
    with (shared / "data" / "biasbench" / f"captions_{model}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    frame = lexicon.frame(pl.DataFrame(rows).select("prompt", "caption"))
    looked = 0
    for prompt, entry in lexicon.prompts.items():
        own = frame.filter(pl.col("prompt") == prompt)
        texts = [_plain(text) for text in own["caption"]]
        for name, one in entry.lists.items():
            for element, terms in one.elements.items():
                others = {
                    _plain(t) for other in one.elements if other != element for t in one.elements[other]
                }
                forms = [form for t in map(_plain, terms) for form in (t, *forms_of(t)) if form not in others]
                words = "|".join(map(re.escape, forms))
                hit = [re.search(rf"(?<!\w)(?:{words})(?!\w)", text) is not None for text in texts]
                missed = [element not in said for said in own[name].to_list()]
                both = [text for text, a, b in zip(texts, hit, missed, strict=True) if a and b]
                assert not [text for text in both if not _ruled_out(text, one.exclude)], (name, element)
                looked += 1
    assert looked == 292


def test_skin_is_not_missing_where_a_tone_of_skin_is_found(shared):
    lexicon = read_lexicon("biasbench")
    with (shared / "data" / "biasbench" / "captions_bksdm.csv").open(encoding="utf-8") as file:
        frame = lexicon.frame(pl.DataFrame(list(csv.DictReader(file))).select("prompt", "caption"))
    beauty = frame.filter(pl.col("prompt") == "beauty")
    skinned = [any("skin" in term for term in said) for said in beauty["stereotype"].to_list()]
    missing = ["skin" not in said for said in beauty["implied"].to_list()]
    assert sum(skinned) >= 67
    assert sum(missing) == 20
    assert not any(a and b for a, b in zip(skinned, missing, strict=True))


def _plain(text):
    seams = r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z][a-z]{2})"
    return " ".join(
        re.sub(r"[-/;_\u2010-\u2014]", " ", re.sub(seams, " ", text)).lower().replace("*", "").split()
    )


def _ruled_out(text, phrases):
    """Whether some phrase in which a term does not count stands there."""
    return any(
        re.search(re.escape(part), text) for p in phrases for part in [_plain(p.replace("{}", "")).strip()]
    )
