"""Values that a caller names, where the labels spell them otherwise or have other words."""

from __future__ import annotations

import polars as pl
import pytest

from stereotrope.measure import female_ratio, refusal_rate, share, share_difference

GROUPS = (("m", "car", "women"), ("m", "car", "base"))


def people(make_labels, female: str, male: str, **also: int):
    return make_labels({g: {female: 6, male: 2, **also} for g in GROUPS}, attribute="gender")


@pytest.mark.parametrize(
    ("female", "male"),
    [
        ("Female", "Male"),
        ("FEMALE", "MALE"),
        ("female", "male"),
        (" female ", "Male"),
        ("fe\u0301male", "male"),
    ],
)
def test_capitals_and_blanks_make_no_other_value(make_labels, female, male):
    asked = ("fémale" if "\u0301" in female else "female").upper()
    row = female_ratio(people(make_labels, female, male), female=asked, male="male").row(0, named=True)
    assert (row["value"], row["n"], row["category"]) == (0.75, 16, female)
    labels = people(make_labels, female, male)
    assert share(labels, "gender", value=asked).row(0, named=True)["value"] == 0.75
    gap = share_difference(labels, "gender", value=asked, of=[asked, "MALE"], within=("generator",))
    assert gap.select("value", "n").rows() == [(0.0, 8)]


@pytest.mark.parametrize(
    ("female", "male"),
    [("F", "M"), ("woman", "man"), ("Women", "Men"), ("femme", "homme"), ("mujer", "hombre")],
)
def test_other_words_are_no_number_but_a_hint_how_to_name_them(make_labels, female, male):
    labels = people(make_labels, female, male, both=1)
    row = female_ratio(labels).row(0, named=True)
    assert (row["value"], row["low"], row["high"]) == (None, None, None)
    assert row["undefined"] == f"no label is 'female', and {female!r} is: name it, female: {female}"
    assert female_ratio(labels, female=female, male=male)["value"].to_list() == [0.75]
    row = share(labels, "gender", value="female").row(0, named=True)
    assert (row["value"], row["undefined"]) == (
        None,
        f"no label is 'female', and {female!r} is: name it, value: {female}",
    )
    gap = share_difference(labels, "gender", value="female", within=("generator",)).row(0, named=True)
    assert (gap["value"], gap["p_value"]) == (None, None)
    assert gap["undefined"].endswith(f"value: {female}")


def test_half_of_the_words_is_no_ratio_of_one(make_labels):
    row = female_ratio(people(make_labels, "female", "Man")).row(0, named=True)
    assert row["value"] is None
    assert row["undefined"] == "no label is 'male', and 'Man' is: name it, male: Man"
    assert row["n"] == 12


@pytest.mark.parametrize(
    ("other", "named"), [("F", "female"), ("Woman", "female"), ("weiblich", "female"), ("m", "male")]
)
def test_two_words_for_one_presentation_are_no_number(make_labels, other, named):
    labels = people(make_labels, "Female", "male", **{other: 9})
    row = female_ratio(labels).row(0, named=True)
    there = "Female" if named == "female" else "male"
    why = f"labels are both {there!r} and {other!r}, which may mean the same; write them alike"
    assert (row["value"], row["n"], row["undefined"]) == (None, 16, why)
    assert share(labels, "gender", value=named)["undefined"].to_list() == [why]
    gap = share_difference(labels, "gender", value=named, within=("generator",))
    assert gap["undefined"].to_list() == [why]
    whole = share(labels, "gender", value="female", of=["female", "male", other]).row(0, named=True)
    assert whole["value"] == pytest.approx(6 / 17)


def test_other_categories_and_other_annotators_are_no_second_word(make_labels):
    row = female_ratio(people(make_labels, "woman", "man", girl=4, boy=3, Lady=1), female="woman", male="man")
    assert row["value"].to_list() == [0.75]
    one = people(make_labels, "female", "male").with_columns(annotator=pl.lit("a"))
    two = people(make_labels, "F", "M").with_columns(annotator=pl.lit("b"))
    both = female_ratio(pl.concat([one, two]), by=["generator", "annotator"])
    assert both["value"].to_list() == [0.75, None]


def test_labels_without_any_of_the_values_say_which_there_are(make_labels):
    labels = people(make_labels, "1", "2")
    assert female_ratio(labels)["undefined"].to_list() == [
        "no label is 'female' or 'male'; there are '1', '2': name those that are meant with `female` and "
        "`male`"
    ]
    reason = "no label is 'a' or 'b'; there are '1', '2': name those that are meant with `of`"
    assert set(share(labels, "gender", of=["a", "b"])["undefined"]) == {reason}


def test_nobody_labelled_male_is_a_ratio_of_one(make_labels):
    labels = make_labels({("m", "car", "women"): {"female": 6, "both": 2}}, attribute="gender")
    assert female_ratio(labels).select("value", "n").rows() == [(1.0, 6)]


def test_two_spellings_that_differ_by_case_are_not_guessed_between(make_labels):
    labels = make_labels({("m", "car", "base"): {"Female": 6, "FEMALE": 2, "male": 2}}, attribute="gender")
    row = female_ratio(labels).row(0, named=True)
    assert row["undefined"] == "no label is 'female', and 'FEMALE' is: name it, female: FEMALE"


def test_a_value_that_nobody_shows_still_has_share_0(make_labels):
    labels = make_labels({("m", "car", "base"): {"grey": 6}})
    assert share(labels, value="pink")["value"].to_list() == [0.0]
    images = labels.with_columns(status=pl.lit("ok"))
    assert refusal_rate(images)["value"].to_list() == [0.0]


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        ("-1", "1"),
        ("1", "-1"),
        ("A-", "A"),
        ("A", "A-"),
        ("a+", "a"),
        ("1-0", "10"),
        ("<30", ">30"),
        ("_", "-"),
    ],
)
def test_a_value_that_differs_in_a_sign_is_never_taken_for_the_one_that_is_named(make_labels, asked, there):
    labels = make_labels({("m", "car", "base"): {there: 6, "other": 2}})
    assert share(labels, value=asked)["value"].to_list() == [0.0]
    assert share(labels, value=there)["value"].to_list() == [0.75]


def test_a_plural_or_a_joint_is_taken_for_the_value_that_labels_fold(make_labels):
    labels = make_labels({("m", "car", "base"): {"rose gold": 6, "other": 2}})
    assert share(labels, value="Rose-Golds")["value"].to_list() == [0.75]


@pytest.mark.parametrize(
    ("there", "how"),
    [
        ("f\u0435male", "has U+0435 CYRILLIC SMALL LETTER IE for U+0065 LATIN SMALL LETTER E"),
        ("female\u200b", "has U+200B ZERO WIDTH SPACE"),
        ("\uff26emale", "has U+FF26 FULLWIDTH LATIN CAPITAL LETTER F for U+0066 LATIN SMALL LETTER F, and"),
    ],
)
def test_a_value_that_only_looks_like_the_one_that_is_named_is_no_number(make_labels, there, how):
    row = female_ratio(people(make_labels, there, "male")).row(0, named=True)
    assert row["value"] is None
    assert row["undefined"].startswith(f"no label is 'female', and {there!r}, which {how}")
    assert row["undefined"].endswith("reads like it; write both alike")


def of_two(make_labels, one, two):
    parts = (("a", one), ("b", two))
    return pl.concat(
        make_labels(dict.fromkeys(GROUPS, counts), attribute="rating").with_columns(annotator=pl.lit(name))
        for name, counts in parts
    )


@pytest.mark.parametrize(
    ("named", "one", "two", "written"),
    [
        ("1", "1.0", "1", "1"),
        ("1", "1.0", "01", "1"),
        ("1", "1.0", "1.0", "1.0"),
        ("0.5", "0,50", "0.5", "0.5"),
        ("female", "Female", "female", "female"),
        ("rose-gold", "rose gold", "rose-gold", "rose-gold"),
    ],
)
def test_a_named_value_is_found_as_each_annotator_writes_it(make_labels, named, one, two, written):
    labels = of_two(make_labels, {one: 6, "7": 2}, {two: 4, "7": 4})
    rows = share(labels, "rating", value=named, by=["annotator"])
    assert rows.select("annotator", "category", "value", "undefined").rows() == [
        ("a", written, 0.75, None),
        ("b", written, 0.5, None),
    ]
    within = ("generator", "annotator")
    gaps = share_difference(labels, "rating", value=named, of=[named, "7"], within=within)
    assert gaps.select("annotator", "value", "n").rows() == [("a", 0.0, 8), ("b", 0.0, 8)]
    between = share_difference(labels, "rating", group="annotator", baseline="a", value=named, within=[])
    assert between["value"].to_list() == [-0.25]


def test_two_writings_of_one_annotator_are_not_guessed_between_and_others_keep_theirs(make_labels):
    labels = of_two(make_labels, {"1.0": 4, "01": 2, "7": 2}, {"1": 6, "7": 2})
    rows = share(labels, "rating", value="1", by=["annotator"])
    assert rows["value"].to_list() == [None, 0.75]
    why = "no label is '1', and '01', which is the same number, reads like it; write both alike"
    assert rows["undefined"][0] == why
    between = share_difference(labels, "rating", group="annotator", baseline="a", value="1", within=[])
    assert between.select("value", "undefined").rows() == [(None, why)]


def test_another_word_of_one_annotator_is_no_share_of_0_beside_one_that_has_the_value(make_labels):
    labels = of_two(make_labels, {"F": 6, "M": 2}, {"female": 6, "male": 2})
    rows = share(labels, "rating", value="female", by=["annotator"])
    assert rows["value"].to_list() == [None, 0.75]
    assert rows["undefined"][0] == "no label is 'female', and 'F' is: name it, value: F"


@pytest.mark.parametrize("slip", ["femal", "fmale", "femalle", "fmeale"])
def test_a_slip_in_a_name_is_no_share_of_0(make_labels, slip):
    row = share(people(make_labels, "female", "male"), "gender", value=slip).row(0, named=True)
    told = f"no label is {slip!r}, and 'female' is: name it, value: female"
    assert (row["value"], row["undefined"]) == (None, told)


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        ("male", "female"),
        ("employed", "unemployed"),
        ("moral", "amoral"),
        ("category 10", "category 11"),
        ("type II", "type III"),
        ("skin tone a", "skin tone b"),
        ("businesswoman", "businessman"),
        ("young woman", "young man"),
        ("East Asian", "West Asian"),
        ("strongly agree", "strongly disagree"),
        ("somewhat likely", "somewhat unlikely"),
        ("red", "blue"),
    ],
)
def test_a_value_that_nobody_saw_is_a_share_of_0_though_another_reads_like_it(make_labels, asked, there):
    labels = make_labels({g: {there: 8} for g in GROUPS}, attribute="a")
    assert share(labels, "a", value=asked)["value"].to_list() == [0.0]
