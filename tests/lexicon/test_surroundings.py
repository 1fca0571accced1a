"""Nouns behind a hit, found for all hits at once, and forms of a term."""

import numpy as np
import polars as pl
import pytest

from stereotrope.lexicon.surroundings import is_form, longer_word, nouns


def noun_after(caption, end):
    one = np.zeros(1, dtype=np.int64)
    place = int(nouns().after([caption], one, one + end)[0])
    return None if place < 0 else list(nouns().kinds.items())[place]


@pytest.mark.parametrize(
    ("before", "after", "noun"),
    [
        ("black", " coat", "coat"),
        ("black", " lace mesh sleeveless garment", "lace"),
        ("Black", " Hair", "hair"),
        ("BLACK", " HAIR", "hair"),
        ("black", "-haired", "haired"),
        ("a black", " and white background", "background"),
        ("black", "", None),
        ("black", " (on a wall)", None),
        ("a dog", " wearing a coat", None),
        ("Fair", "Dark brown hair", None),
        ("black", " individual in a coat", None),
        ("black", "; a coat", None),
        ("black", " coats, hats", "coats"),
        ("light skin", ", hair", None),
        ("blue eyes", ", lipstick", None),
        ("black", " coatwater", None),
        ("黒い black", " coat", "coat"),
        ("black", " ﬁne coat", "coat"),
    ],
)
def test_a_noun_is_found_or_the_search_ends(before, after, noun):
    found = noun_after(before + after, len(before))
    assert (found and found[0]) == noun


@pytest.mark.slow
def test_many_hits_at_once_find_what_each_finds_alone(shared):
    texts = pl.read_csv(shared / "data" / "biasbench" / "captions_sd.csv")["caption"].to_list()
    rng = np.random.default_rng(3)
    caption = np.sort(rng.integers(0, len(texts), 3000))
    end = np.array([rng.integers(0, len(texts[one]) + 1) for one in caption])
    found = nouns().after(texts, caption, end)
    for one, at, place in zip(caption.tolist(), end.tolist(), found.tolist(), strict=True):
        alone = noun_after(texts[one], at)
        assert alone == (None if place < 0 else list(nouns().kinds.items())[place])
    assert (found >= 0).sum() > 100


def test_no_hits_and_hits_at_the_end_of_the_last_caption_find_nothing():
    none = np.zeros(0, dtype=np.int64)
    assert nouns().after(["coat"], none, none).tolist() == []
    assert noun_after("", 0) is None


def test_every_word_of_the_list_is_told_apart():
    kinds = nouns().kinds
    assert all(name.isascii() and name.isalpha() and name.islower() for name in nouns().meanings)
    assert [noun_after(f"black {name}", 5) for name in kinds] == list(kinds.items())


@pytest.mark.parametrize(
    ("text", "term", "form"),
    [
        ("sarees", "saree", True),
        ("a fair-skinned man", "fair-skin", True),
        ("SareesGold", "Saree", True),
        ("beetle", "bee", False),
        ("laboratory", "rat", False),
        ("vibrants", "ant", False),
        ("antenna", "ant", False),
    ],
)
def test_an_ending_makes_a_form_and_another_word_does_not(text, term, form):
    start = text.index(term)
    assert is_form(text, start, start + len(term)) is form


def test_a_very_long_word_is_told_near_the_hit():
    text = f"{'x' * 9000}rat{'y' * 9000}"
    assert len(longer_word(text, 9000, 9003)) < 100
