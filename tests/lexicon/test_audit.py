"""The matching audit: by hand, and on published captions whose artefacts are known."""

import json

import polars as pl
import pytest

from stereotrope.lexicon import lexicon_from, matching_audit, model, read_lexicon

SUBSTRING = {"boundary": "substring"}


def grouped(groups, *, matching=None, **more):
    return lexicon_from(
        {"name": "test", "matching": matching or {}, "attributes": {"kind": {"groups": groups, **more}}}
    )


def captions(*texts):
    return pl.DataFrame({"caption": texts}, schema={"caption": pl.String})


def term(audit, name):
    return audit.terms.row(by_predicate=pl.col("term") == name, named=True)


def label(audit, value, attribute=None):
    of = pl.lit(True) if attribute is None else pl.col("attribute") == attribute
    return audit.labels.row(by_predicate=of & (pl.col("value") == value), named=True)


def texts(audit, places):
    return [audit.captions[each["caption"]] for each in places]


def test_hits_inside_longer_words_are_counted_and_named():
    made = grouped({"rat": ["rat"], "dog": ["dog"]}, matching=SUBSTRING)
    audit = matching_audit(made, captions("a laboratory", "the Laboratory", "an illustration", "a rat", "-"))
    rat = term(audit, "rat")
    assert (rat["n_hits"], rat["n_inside"], rat["never"]) == (4, 3, False)
    assert rat["inside_words"] == ["laboratory", "illustration"]
    assert texts(audit, rat["places_inside"]) == ["a laboratory", "the Laboratory", "an illustration"]
    assert (label(audit, "rat")["n"], label(audit, "rat")["n_inside_only"]) == (4, 3)
    assert term(audit, "dog")["never"] is True


def test_word_boundaries_keep_longer_words_out_and_miss_glued_columns():
    made = grouped({"male": ["male"]})
    row = term(matching_audit(made, captions("SurgeonMaleFair", "a female", "male", "Male20s")), "male")
    assert (row["n_hits"], row["n_missed_glued"], row["n_kept_out"]) == (1, 2, 1)
    split = grouped({"male": ["male"]}, matching={"split_case": True})
    row = term(matching_audit(split, captions("SurgeonMaleFair", "a female", "male", "Male20s")), "male")
    assert (row["n_hits"], row["n_glued"], row["n_missed_glued"], row["n_kept_out"]) == (3, 2, 0, 1)


@pytest.mark.parametrize(
    ("text", "noun"),
    [
        ("black hooded fur coat", "hooded"),
        ("pink and black stylized typography", "typography"),
        ("with black capWinged eyeliner", "cap"),
        ("black. A coat", None),
        ("a black woman in a coat", None),
        ("black one two three four five coat", None),
    ],
)
def test_a_noun_that_the_term_is_said_of_is_named(text, noun):
    row = term(matching_audit(grouped({"black": ["black"]}), captions(text)), "black")
    assert row["nouns"] == ([noun] if noun else [])
    assert row["n_noun"] == (noun is not None)


def test_double_mentions_and_phrases_that_rule_out_are_counted():
    made = grouped({"female": ["woman"], "male": ["man"]}, **{"not": ["no {}"]})
    audit = matching_audit(made, captions("a woman and a man", "no man", "a man", None))
    man = term(audit, "man")
    assert (man["n_captions"], man["n_captions_hit"], man["n_double"], man["n_excluded"]) == (3, 2, 1, 1)
    assert [label(audit, v)["n"] for v in ("female", "male", "female and male", "unknown")] == [0, 1, 1, 1]


def test_a_second_lexicon_reads_what_is_unknown_again():
    first, second = grouped({"male": ["man"]}), grouped({"male": ["masculine"], "female": ["feminine"]})
    audit = matching_audit(first, captions("a man", "masculine", "feminine", "none"), second=second)
    unknown = label(audit, "unknown")
    assert (unknown["n"], unknown["n_named"]) == (3, 2)
    assert {each["value"]: each["n"] for each in unknown["named"]} == {"male": 1, "female": 1}
    assert texts(audit, unknown["places"]) == ["masculine", "feminine"]


def test_no_captions_make_an_audit_in_which_nothing_is_found():
    audit = matching_audit(grouped({"a": ["b"]}), captions())
    assert term(audit, "b")["never"] is True
    assert label(audit, "unknown")["n"] == 0


@pytest.fixture(scope="module")
def authors(shared):
    """The authors' lists, matched as substrings, gender with the boundaries of their expressions."""
    lists = json.loads((shared / "data/biasbench/lexicon_authors.json").read_text(encoding="utf-8"))

    def attribute(groups, prompt):
        return {"groups": groups, "priority": list(groups), "of": [prompt]}

    def one_each(terms):
        return {name: [name] for name in terms}

    prompts = {name: {} for name in ("beauty", "doctor", "animal", "nature", "culture")}
    attributes = {
        "ethnicity": attribute(lists["ethnicity_map"], "beauty"),
        "species": attribute(one_each(lists["animal_types"]), "animal"),
        "insect": attribute(one_each(lists["insect_types"]), "nature"),
    }
    words = {
        side: [p.strip("^").replace("\\b", "") for p in patterns if p.startswith("\\b")]
        for side, patterns in lists["gender_patterns"].items()
        if side != "rule"
    }
    words["female"].remove("female")
    words["male"].remove("male")
    gender = {
        "gender": attribute(
            {"female": [*words["female"], "*female*"], "male": [*words["male"], "male*"]}, "doctor"
        )
    }
    return (
        lexicon_from({"name": "a", "matching": SUBSTRING, "attributes": attributes, "prompts": prompts}),
        lexicon_from({"name": "b", "attributes": gender, "prompts": prompts}),
    )


@pytest.fixture(scope="module")
def published(shared):
    return pl.read_csv(shared / "data/biasbench/captions_sd.csv")


def test_no_published_rat_is_a_rat(authors, published):
    rat = label(matching_audit(authors[0], published), "rat", "species")
    assert (rat["n"], rat["n_word"]) == (45, 0)
    # The one that is not inside a longer word is the glued double mention "Mouse / RatN/A".
    assert rat["n_inside_only"] == 44


def test_most_published_bees_are_beetles(authors, published):
    audit = matching_audit(authors[0], published)
    bee = label(audit, "bee", "insect")
    assert (bee["n"], bee["n_inside_only"]) == (31, 24)
    row = audit.terms.row(
        by_predicate=(pl.col("attribute") == "insect") & (pl.col("term") == "bee"), named=True
    )
    assert row["inside_words"][0] == "beetle"


def test_no_published_black_is_said_of_a_person(authors, published):
    black = label(matching_audit(authors[0], published), "black", "ethnicity")
    assert (black["n"], black["n_noun_only"]) == (12, 12)


def test_half_of_the_published_unknown_doctors_are_called_male(authors, published):
    audit = matching_audit(authors[1], published, second=read_lexicon("biasbench"))
    unknown = label(audit, "unknown", "gender")
    assert unknown["n"] == 42
    assert {each["value"]: each["n"] for each in unknown["named"]}["male"] == 21


@pytest.mark.parametrize(
    ("words", "doubtful"),
    [("woman, dark hair", 0), ("a white woman in a hat", 0), ("a white hat", 1), ("MaleWhite coat", 1)],
)
def test_a_word_for_a_person_is_not_said_of_the_noun_behind_it(words, doubtful):
    made = grouped({"a": ["woman", "white woman", "male"], "b": ["white"]}, matching={"split_case": True})
    assert matching_audit(made, captions(words)).terms["n_noun"].sum() == doubtful


def test_captions_read_some_at_a_time_are_read_as_all_at_once(monkeypatch):
    made = lexicon_from(
        {
            "name": "test",
            "attributes": {"gender": {"groups": {"female": ["woman"], "male": ["man"]}}},
            "prompts": {
                name: {"lists": {"keyword": {"terms": ["lamp", "bench"], "not": ["bench press"]}}}
                for name in "abc"
            },
        }
    )
    said = [
        "a woman at a lamp",
        "a man, a bench",
        None,
        "lamps",
        "a woman and a man beside a bench",
        "a bench press",
    ]
    frame = pl.DataFrame({"prompt": ["a", "b", "c", "a", "other", "b"], "caption": said})
    whole = made.frame(frame), matching_audit(made, frame)
    monkeypatch.setattr(model, "_AT_ONCE", 2)
    parts = made.frame(frame), matching_audit(made, frame)
    assert parts[0].equals(whole[0])
    assert repr(parts[1]) == repr(whole[1])
    assert model.Reading(made, frame).matches.term.size < len(made.match(said))
