import csv
import unicodedata
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stereotrope.confusables import MOST_WRITINGS, lookalikes
from stereotrope.errors import did_you_mean

E = "U+0065 LATIN SMALL LETTER E"


@pytest.mark.parametrize(
    ("other", "how"),
    [
        ("f\u0435male", f"has U+0435 CYRILLIC SMALL LETTER IE for {E}"),
        ("f\u0435mal\u0435", f"has U+0435 CYRILLIC SMALL LETTER IE × 2 for {E} × 2"),
        ("fem\u03b1le", "has U+03B1 GREEK SMALL LETTER ALPHA for U+0061 LATIN SMALL LETTER A"),
        ("F\u0415male", f"has U+0415 CYRILLIC CAPITAL LETTER IE for {E}, and differs in case"),
        ("\uff46emale", "has U+FF46 FULLWIDTH LATIN SMALL LETTER F for U+0066 LATIN SMALL LETTER F"),
        ("\U0001d41female", "has U+1D41F MATHEMATICAL BOLD SMALL F for U+0066 LATIN SMALL LETTER F"),
        ("Female", "differs in case"),
        ("FEMALE", "differs in case"),
        ("fe\u200bmale", "has U+200B ZERO WIDTH SPACE"),
        ("\ufefffemale", "has U+FEFF ZERO WIDTH NO-BREAK SPACE"),
        ("fem\u00adale", "has U+00AD SOFT HYPHEN"),
        ("female\u200f", "has U+200F RIGHT-TO-LEFT MARK"),
        ("female\ufe0f", "has U+FE0F VARIATION SELECTOR-16"),
        ("female ", "has U+0020 SPACE"),
        (" female  ", "has U+0020 SPACE × 3"),
        ("female\u00a0", "has U+00A0 NO-BREAK SPACE"),
        ("fem\x07ale", "has U+0007 without a name"),
    ],
)
def test_what_reads_alike_is_found_with_the_characters_that_differ(other, how):
    [found] = lookalikes({"male": 70, "female": 40, other: 3, "unknown": 2})
    assert found.written == (("female", 40), (other, 3))
    assert found.differs == ("", how)


@pytest.mark.parametrize(
    ("one", "other", "how"),
    [
        (
            "caf\u00e9",
            "cafe\u0301",
            f"has {E} and U+0301 COMBINING ACUTE ACCENT for U+00E9 LATIN SMALL LETTER E WITH ACUTE",
        ),
        ("a nurse", "a  nurse", "has U+0020 SPACE"),
        ("a nurse", "a\u00a0nurse", "has U+00A0 NO-BREAK SPACE for U+0020 SPACE"),
        ("a nurse", "a\u2009nurse", "has U+2009 THIN SPACE for U+0020 SPACE"),
        ("-1", "\u22121", "has U+2212 MINUS SIGN for U+002D HYPHEN-MINUS"),
        ("18-24", "18\u201324", "has U+2013 EN DASH for U+002D HYPHEN-MINUS"),
        ("10", "\uff110", "has U+FF11 FULLWIDTH DIGIT ONE for U+0031 DIGIT ONE"),
        ("men's", "men\u2019s", "has U+2019 RIGHT SINGLE QUOTATION MARK for U+0027 APOSTROPHE"),
        ("woman", "w\u03bfman", "has U+03BF GREEK SMALL LETTER OMICRON for U+006F LATIN SMALL LETTER O"),
        ("нос", "Нос", "differs in case"),
        (
            "\u0438\u0306",
            "\u0439",
            "has U+0439 CYRILLIC SMALL LETTER SHORT I for U+0438 CYRILLIC SMALL LETTER I and "
            "U+0306 COMBINING BREVE",
        ),
        ("q\u0323\u0307", "q\u0307\u0323", "has its characters in another order"),
        ("1", "1.0", "is the same number"),
        ("-3", "-3.00", "is the same number"),
        ("7", "007", "is the same number"),
        ("0.5", "0,50", "is the same number"),
        ("0", "-0.0", "is the same number"),
        ("2", "2.", "is the same number"),
        ("2", "2 ", "has U+0020 SPACE"),
    ],
)
def test_signs_blanks_compositions_and_scripts_are_told(one, other, how):
    [found] = lookalikes({one: 2, other: 1})
    assert found.differs[1] == how


@pytest.mark.parametrize(
    "apart",
    [
        ["-1", "1", "+1"],
        ["-1.0", "1", "+1.00", "10", "100", "0.1", "0.01"],
        ["1,000", "1", "1000.5", "1.5"],
        ["1.0.0", "1.0", "1.0 m", "1e0"],
        ["A-", "A+", "A", "B"],
        ["l", "1", "o", "0"],
        ["C++", "C#", "C"],
        ["rose gold", "rose-gold", "rosegold"],
        ["👩", "👩🏽", "👨"],
        [
            "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
            "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        ],
        ["e", "é", "è"],
        ["да", "нет", "не"],
        ["m2", "m²"],
        ["红", "紅"],
        [],
        ["", "a"],
    ],
)
def test_what_anybody_tells_apart_is_no_lookalike(apart):
    assert lookalikes(dict.fromkeys(apart, 1)) == []


def test_with_known_writings_only_what_reads_like_one_of_them_is_found():
    given = {"nurs\u0435": 3, "Cook": 2, "cook": 1, "ceo": 4, "CEO": 1}
    assert [found.written for found in lookalikes(given, ["nurse", "ceo"])] == [
        (("nurse", 0), ("nurs\u0435", 3)),
        (("ceo", 4), ("CEO", 1)),
    ]
    assert lookalikes({}, ["ceo", "CEO"]) == []


def test_three_scripts_and_two_cases_are_one_set():
    given = {"B": 5, "\u0412": 4, "\u0432": 3, "b": 2, "\u0392": 1, "x": 9}
    [found] = lookalikes(given)
    assert [text for text, _ in found.written] == ["B", "\u0412", "\u0432", "b", "\u0392"]
    for order in (sorted(given), sorted(given, reverse=True)):
        assert lookalikes({text: given[text] for text in order})[0].written == found.written


def test_a_sentence_names_what_it_is_of_and_is_bounded():
    [found] = lookalikes({"a" + "\u200b" * n: 30 - n for n in range(20)})
    sentence = found.sentence("values of 'x'")
    assert sentence.startswith("values of 'x': 'a' (30), 'a\\u200b' (29: has U+200B ZERO WIDTH SPACE), ")
    assert sentence.endswith(
        f"{20 - MOST_WRITINGS} more read alike and count apart; write them one way if they mean the same"
    )
    assert sentence.isprintable()
    assert len(lookalikes({"a" * 9999: 1, "A" * 9999: 1})[0].sentence("values")) < 300


@given(st.lists(st.text(max_size=8), unique=True, max_size=12))
def test_every_writing_is_in_one_set_at_most_and_case_never_tells_two_apart(texts):
    sets = lookalikes(dict.fromkeys(texts, 1))
    members = [text for found in sets for text, _ in found.written]
    assert len(members) == len(set(members))
    assert set(members) <= set(texts)
    for text in texts:
        for other in (text.upper(), f" {text}", f"{text}\u200b", unicodedata.normalize("NFD", text)):
            if other != text and other.casefold() == text.casefold():
                assert len(lookalikes({text: 1, other: 1})) == 1


def test_the_table_holds_single_characters_and_says_where_it_is_from():
    text = (resources.files("stereotrope") / "confusables.csv").read_text(encoding="utf-8")
    head = [line for line in text.splitlines() if line.startswith("#")]
    assert "UTS #39" in "".join(head)
    assert "Unicode-DFS-2016" in "".join(head)
    rows = list(csv.DictReader(text.splitlines()[len(head) :]))
    for row in rows:
        character = chr(int(row["code_point"], 16))
        assert not character.isascii()
        assert unicodedata.name(character) == row["name"]
        assert row["looks_like"].isascii()
        assert len(row["looks_like"]) == 1
    assert len({row["code_point"] for row in rows}) == len(rows)


def test_a_hint_says_which_character_differs():
    assert did_you_mean("g\u0435nder", ["gender", "text"]) == (
        f"did you mean 'gender'? What is written has U+0435 CYRILLIC SMALL LETTER IE for {E}"
    )
    assert did_you_mean("\u0441\u0435\u043e", ["ceo"]).startswith(
        "did you mean 'ceo'? What is written has U+0441"
    )
    assert did_you_mean("gender\u200b", ["gender"]).endswith("What is written has U+200B ZERO WIDTH SPACE")
    assert did_you_mean("Gender", ["gender"]) == "did you mean 'gender'?"
