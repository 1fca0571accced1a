"""Finding terms: against a loop of regular expressions, and by hand."""

import re
import unicodedata
from dataclasses import replace

import numpy as np
import pytest

from stereotrope.lexicon import lexicon_from, search
from stereotrope.lexicon.plain import Plain
from stereotrope.lexicon.spelling import folded, spell


def lexicon(terms, *, matching=None, exclude=()):
    lists = {"lists": {"keyword": {"terms": list(terms), "not": list(exclude)}}}
    return lexicon_from({"name": "test", "matching": matching or {}, "prompts": {"any": lists}})


def found(made, captions):
    hits = made.match(captions)
    return [
        (int(c), made.terms[t].term, hits.captions[c][s:e])
        for c, t, s, e in zip(hits.caption, hits.term, hits.start, hits.end, strict=True)
    ]


def by_regex(terms, captions, *, whole, split):
    """One regular expression a term, one caption at a time."""
    rows = []
    for number, caption in enumerate(captions):
        text = caption
        if split:
            seams = r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z][a-z]{2})"
            text = re.sub(seams, " ", text)
        text = re.sub(r"[\s/;_-]+", " ", text).lower()
        for at, term in enumerate(terms):
            pattern = rf"(?<!\w){re.escape(term)}(?!\w)" if whole else re.escape(term)
            rows += [(number, at)] * len(re.findall(pattern, text))
    return sorted(rows)


@pytest.mark.parametrize("boundary", ["word", "substring"])
@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("table", [50_000_000, 0])
def test_hits_are_those_of_a_regular_expression_for_each_term(boundary, split, table, monkeypatch):
    monkeypatch.setattr(search, "_TABLE", table)
    rng = np.random.default_rng(7)
    parts = [
        "ra",
        "t",
        "bee",
        "tle",
        "Male",
        "Fair",
        "20s",
        "45",
        "lab",
        "o",
        "ry",
        " ",
        " ",
        "-",
        "; ",
        ". ",
        "_",
    ]
    captions = ["".join(rng.choice(parts, rng.integers(0, 30))) for _ in range(600)]
    words = ["ra", "t", "rat", "bee", "beetle", "male", "fair", "20s", "male fair", "lab o", "ry bee", "tt"]
    made = lexicon(words, matching={"boundary": boundary, "split_case": split, "forms": False})
    hits = made.match(captions)
    ours = sorted(zip(hits.caption.tolist(), hits.term.tolist(), strict=True))
    assert ours == by_regex(words, captions, whole=boundary == "word", split=split)
    assert len(ours) > 500


def test_a_hit_says_where_it_stands_in_the_caption():
    made = lexicon(["light skinned", "strasse", "male"], matching={"split_case": True})
    captions = ["A light-\nskinned person", "Große Straße", "SurgeonMaleFair", None]
    assert found(made, captions) == [
        (0, "light skinned", "light-\nskinned"),
        (1, "strasse", "Straße"),
        (2, "male", "Male"),
    ]


def test_seam_tells_words_from_glued_columns_and_longer_words():
    made = lexicon(["male", "rat"], matching={"boundary": "substring"})
    hits = made.match(["male", "SurgeonMaleFair", "female", "laboratory", "Male2", "rat."])
    assert hits.seam.tolist() == [0, 1, 2, 2, 1, 0]


def test_composed_and_decomposed_letters_are_one():
    made = lexicon(["café"])
    assert found(made, [unicodedata.normalize("NFD", "CAFÉ"), "cafés"]) == [(0, "café", "CAFÉ")]


def test_marks_belong_to_words_and_scripts_without_blanks_have_no_inside():
    made = lexicon(["हिन्दी", "医生", "हिन"])
    assert found(made, ["हिन्दी भाषा", "一位女医生在医院"]) == [(0, "हिन्दी", "हिन्दी"), (1, "医生", "医生")]


def test_a_star_lets_a_term_stand_inside_a_longer_word_at_that_end():
    made = lexicon(["symmetr*", "*male", "*fe*"])
    captions = ["symmetrical, asymmetry", "female males", "cafeteria"]
    assert found(made, captions) == [
        (0, "symmetr*", "symmetr"),
        (1, "*fe*", "fe"),
        (1, "*male", "male"),
        (2, "*fe*", "fe"),
    ]


def test_a_phrase_of_not_takes_the_hits_in_it_out_and_keeps_them_apart():
    made = lexicon(["people", "crowd"], exclude=["no {}", "without any {}", "no one in the crowd"])
    captions = ["No people; some people", "without any crowd", "no one in the crowd of people"]
    assert found(made, captions) == [(0, "people", "people"), (2, "people", "people")]
    gone = made.match(captions).excluded
    assert [(int(c), made.terms[t].term) for c, t in zip(gone.caption, gone.term, strict=True)] == [
        (0, "people"),
        (1, "crowd"),
        (2, "crowd"),
    ]


def test_chunks_do_not_change_what_is_found(monkeypatch):
    captions = ["a rat", "", "the laboratory rat", "Rat" * 10, "b"] * 20
    made = lexicon(["rat", "rat*"])
    whole = made.match(captions)
    monkeypatch.setattr("stereotrope.lexicon.search._CHUNK", 15)
    parts = made.match(captions)
    for name in ("caption", "term", "start", "end", "seam"):
        assert getattr(whole, name).tolist() == getattr(parts, name).tolist()
    assert len(whole) == 80 + 20


def test_no_captions_have_no_hits():
    assert len(lexicon(["a"]).match([])) == 0
    assert len(lexicon(["a"]).match(["", None])) == 0


@pytest.mark.parametrize("split", [False, True])
def test_a_text_of_ascii_is_folded_as_every_text_is(split):
    rng = np.random.default_rng(5)
    signs = list("aBz Z09-/;_.,'\t\n\x1c(")
    for _ in range(500):
        text = "".join(rng.choice(signs, 12))
        spelt = spell([text], split=split).characters[:-1]
        assert folded(text, split=split) == "".join(map(chr, spelt.tolist())).strip()


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("boundary", ["word", "substring"])
def test_texts_in_ascii_read_as_bytes_say_what_any_text_says(split, boundary, monkeypatch):
    rng = np.random.default_rng(7)
    signs = np.array(list("aabB z09-/;_.'\t\né\u3042"))
    captions = ["".join(rng.choice(signs[: 12 if at % 3 else None], 14)) for at in range(400)]
    terms = ["a", "ab", "b a", "a b", "9", "z09", "*ab", "ba*", "aab", "é", "b-z"]
    made = lexicon_from(
        {
            "matching": {"boundary": boundary, "split_case": split, "forms": False},
            "prompts": {"any": {"lists": {"keyword": terms if boundary == "word" else terms[:6]}}},
        }
    )
    quick = made.match(captions)
    of = Plain.of
    odd = []

    def all_odd(texts, **options):
        read = of([""] * len(texts), **options)
        odd.append(len(texts))
        return replace(read, odd=np.ones(len(texts), bool))

    monkeypatch.setattr("stereotrope.lexicon.search.Plain.of", all_odd)
    slow = made.match(captions)
    assert odd == [400]
    assert len(quick) > 100
    for name in ("caption", "term", "start", "end", "seam"):
        assert getattr(quick, name).tolist() == getattr(slow, name).tolist()
