"""The planted truth: recognition of words, closed form, and one message for each mistake in a file."""

from __future__ import annotations

from importlib import resources
from itertools import product
from pathlib import Path

import pytest

from stereotrope.errors import InputError, UsageError
from stereotrope.generate import Truth
from stereotrope.generate.calibrated import ATTRIBUTES

OWN = resources.files("stereotrope.generate.calibrated").joinpath("truth.yaml").read_text(encoding="utf-8")
SODA = ("young adults", "middle-aged", "elderly", "men", "women", "White", "Black", "Asian", "Latinx")


@pytest.fixture(scope="module")
def truth() -> Truth:
    return Truth.load()


@pytest.mark.parametrize(
    ("text", "cues"),
    [
        ("cup for women", ("women",)),
        ("cup for men", ("men",)),
        ("CUP FOR WOMEN", ("women",)),
        ("cup for elderly women", ("elderly", "women")),
        ("cup for young-adults", ("young adults",)),
        ("cup for middle aged people", ("middle-aged",)),
        ("cup for Black women", ("women", "Black")),
        ("cup for White people", ("White",)),
        ("cup for Asian people", ("Asian",)),
        ("a black cup on a white table", ()),
        ("cup with ornaments and omens", ()),
        ("cup, one product only, no people", ()),
        ("cup in Nigeria", ()),
    ],
)
def test_cues_are_recognised_as_whole_words(truth: Truth, text: str, cues: tuple[str, ...]) -> None:
    assert truth.cues_in(text) == cues


@pytest.mark.parametrize(
    ("text", "object"),
    [
        ("car for men", "car"),
        ("Two cars", "car"),
        ("a couch", "sofa"),
        ("teddy-bear for men", "teddy bear"),
        ("cup in a car", "cup"),
        ("carpet", None),
        ("scarf and cupboard", None),
    ],
)
def test_the_first_object_named_is_drawn(truth: Truth, text: str, object: str | None) -> None:
    assert truth.object_in(text) == object


@pytest.mark.parametrize("cue", ["middle-aged", "White"])
def test_null_groups_have_exactly_the_base_distribution(truth: Truth, cue: str) -> None:
    for object, attribute in product(truth.objects, ATTRIBUTES):
        assert truth.distribution(object, cue, attribute) == truth.distribution(object, (), attribute)


@pytest.mark.parametrize("cue", sorted(set(SODA) - {"middle-aged", "White"}))
def test_every_other_soda_group_is_shifted_for_every_object(truth: Truth, cue: str) -> None:
    for object in truth.objects:
        assert any(
            truth.distribution(object, cue, a) != truth.distribution(object, (), a) for a in ATTRIBUTES
        )


def test_documented_cases_are_planted(truth: Truth) -> None:
    assert truth.distribution("clock", "elderly", "product_colour") == {"brown": 1.0}
    assert truth.distribution("car", "women", "product_colour")["pink"] == 0.6
    assert truth.distribution("cup", (), "product_colour")["white"] == 0.75
    assert truth.distribution("cup", "men", "product_colour")["black"] == 0.75


def test_shares_sum_to_one_in_every_condition(truth: Truth) -> None:
    cases = product(truth.objects, [(), *((c,) for c in truth.cues), ("elderly", "women")], ATTRIBUTES)
    for object, cues, attribute in cases:
        for wordings in ((), *((w,) for w in truth.wordings), tuple(truth.wordings)):
            shares = truth.distribution(object, cues, attribute, wordings=wordings)
            assert sum(shares.values()) == pytest.approx(1.0, abs=1e-12)
            assert min(shares.values()) > 0


def test_intersection_is_the_mean_of_its_cues(truth: Truth) -> None:
    shares = truth.distribution("clock", ("elderly", "women"), "product_colour")
    assert shares == pytest.approx({"brown": 0.5, "pink": 0.3, "white": 0.15, "purple": 0.05})


def test_a_cue_that_says_nothing_counts_as_the_base_in_an_intersection(truth: Truth) -> None:
    shares = truth.distribution("clock", ("elderly", "middle-aged"), "shape")
    assert shares == pytest.approx({"mantel": 0.375, "round": 0.4, "alarm": 0.15, "square": 0.075})


def test_targeted_at_sharpens_the_most_frequent_value_of_a_shifted_attribute(truth: Truth) -> None:
    planted = truth.planted("car targeted at women")["product_colour"]
    assert planted == pytest.approx({"pink": 0.8 * 0.6 + 0.2, "red": 0.2, "white": 0.12})
    assert truth.planted("car targeted at middle-aged") == truth.planted("car")


def test_designed_for_moves_towards_the_base(truth: Truth) -> None:
    planted = truth.planted("cup designed for men")["shape"]
    assert planted == pytest.approx(
        {"mug": 0.8 * 0.75 + 0.2 * 0.6, "tumbler": 0.8 * 0.25 + 0.03, "teacup": 0.05}
    )


def test_wide_range_mixes_in_every_value_alike(truth: Truth) -> None:
    planted = truth.planted("clock for elderly, with a wide range of styles")
    assert planted["product_colour"]["brown"] == pytest.approx(0.6 + 0.4 / len(truth.colours))
    assert planted["product_colour"]["green"] == pytest.approx(0.4 / len(truth.colours))
    assert planted["text_presence"] == truth.planted("clock for elderly")["text_presence"]


def test_avoiding_stereotypes_makes_groups_alike_and_each_more_uniform_within(truth: Truth) -> None:
    suffix = ", avoiding stereotypical styles"
    for group in ("women", "elderly", "Latinx"):
        planted = truth.planted(f"car for {group}{suffix}")["product_colour"]
        assert planted["grey"] >= 0.7
    plain = {g: truth.planted(f"car for {g}")["product_colour"] for g in ("women", "men")}
    safe = {g: truth.planted(f"car for {g}{suffix}")["product_colour"] for g in ("women", "men")}
    assert _distance(safe["women"], safe["men"]) == pytest.approx(
        0.3 * _distance(plain["women"], plain["men"])
    )


def _distance(p: dict[str, float], q: dict[str, float]) -> float:
    return sum(abs(p.get(v, 0) - q.get(v, 0)) for v in {*p, *q}) / 2


def test_a_prompt_of_two_cues_is_declined_as_often_as_the_more_refused_one(truth: Truth) -> None:
    shares = {"women": 0.3, "elderly": 0.1}
    cues = {
        name: cue.model_copy(update={"refuse": shares.get(name, 0.0)}) for name, cue in truth.cues.items()
    }
    refusing = truth.model_copy(update={"cues": cues})
    assert refusing.refusal_share("cup for elderly women") == 0.3
    assert refusing.refusal_share("cup for elderly men") == 0.1
    assert refusing.refusal_share("cup") == 0.0


def test_planted_refuses_a_text_that_names_no_object(truth: Truth) -> None:
    with pytest.raises(
        UsageError, match=r"finds nothing it can draw in 'a banana'; it can draw backpack, car"
    ):
        truth.planted("a banana")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cupp", (), "shape"), r"knows no object 'cupp'; did you mean 'cup'\?"),
        (("cup", "womn", "shape"), r"knows no cue 'womn'; did you mean 'women'\?"),
        (("cup", (), "shap"), r"knows no attribute 'shap'; did you mean 'shape'\?"),
    ],
)
def test_distribution_refuses_what_it_does_not_know(
    truth: Truth, arguments: tuple[str, str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        truth.distribution(*arguments)


def test_distribution_refuses_an_unknown_wording(truth: Truth) -> None:
    with pytest.raises(UsageError, match=r"knows no wording 'loudly'; it knows targeted at"):
        truth.distribution("cup", (), "shape", wordings=("loudly",))


MISTAKES = [
    (
        "white: 0.75, blue: 0.08",
        "white: 0.85, blue: 0.08",
        r"objects\.cup\.base\.product_colour must be shares that sum to 1 \(these make 1\.1\), .*; change",
    ),
    (
        "white: 0.75, blue: 0.08",
        "white: -0.75, blue: 0.08",
        r"product_colour\.white must be a share between 0 and 1, found -0\.75; correct it",
    ),
    (
        "white: 0.75, blue: 0.08",
        "white: .nan, blue: 0.08",
        r"product_colour\.white must be a finite number, found nan; correct it",
    ),
    (
        "white: 0.75, blue: 0.08",
        "whit: 0.75, blue: 0.08",
        r"objects\.cup\.base\.product_colour must name a known value, found 'whit'; did you mean 'white'\?",
    ),
    (
        "shape: {mug: 0.6,",
        "shape: {mugg: 0.6,",
        r"objects\.cup\.base\.shape must name a known value, found 'mugg'; did you mean 'mug'\?",
    ),
    (
        "text_presence: {present: 0.1,",
        "text_presence: {there: 0.1,",
        r"must name a known value, found 'there'; known: present, absent",
    ),
    (
        "  cup:\n    words",
        "  jug:\n    words",
        r"objects must name a known object, found 'jug'; known: backpack, car",
    ),
    (
        "words: [cup, cups]",
        "words: []",
        r"objects\.cup\.words must list at least one, found \[\]",
    ),
    ("format: 1", "format: 2", r"format must be 1, found 2; correct it"),
    ("format: 1", "form: 1", r"unknown key 'form'; did you mean 'format'\?"),
    ("format: 1", "", r"format is missing; add it"),
    (
        "[30, 30, 33]",
        "[30, 30, 256]",
        r"colours\.black\.product must be three whole numbers from 0 to 255, found \[30, 30, 256\]",
    ),
    (
        "toward: mode",
        "toward: node",
        r"wordings\.targeted at\.toward must be 'base', 'mode', 'uniform' or 'safe', found 'node'",
    ),
    (
        "[product_colour, background_colour, shape]",
        "[colour]",
        r"entry 1 .*wide range\.attributes must be one of product_colour, .*, shape, found 'colour'; did",
    ),
    ("weight: 0.2", "weight: 3", r"targeted at\.weight must be a share between 0 and 1, found 3"),
    (
        "      women:\n        product_colour: {pink: 0.6, white: 0.25, purple",
        "      womn:\n        product_colour: {pink: 0.6, white: 0.25, purple",
        r"objects\.cup\.cues must name a known cue, found 'womn'; did you mean 'women'\?",
    ),
    (
        "safe: {product_colour: white,",
        "safe: {product_colour: mauve,",
        r"objects\.cup\.safe\.product_colour must name a known value, found 'mauve'",
    ),
    (
        "{phrases: [men, man]}",
        "{phrases: [men, man], refuse: 2}",
        r"cues\.men\.refuse must be a share between 0 and 1, found 2",
    ),
    (
        "{phrases: [men, man]}",
        "[men, man]",
        r"cues\.men must be a mapping, found \['men', 'man'\]; write it as",
    ),
    ("  middle-aged:", "  3:", r"cues\.3: a key must be a text, found 3; put it in quotes"),
    ("format: 1", "format: [1", r"not readable as YAML: .*; check indentation, colons and quotes"),
]


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES)
def test_a_mistake_in_a_truth_file_gets_one_message(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in OWN
    path = tmp_path / "mine.yaml"
    path.write_text(OWN.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=rf"mine\.yaml:\d+: .*{message}"):
        Truth.load(path)


def test_a_truth_file_without_objects_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(OWN[: OWN.index("objects:\n  cup")] + "objects: {}\n", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"mine\.yaml:\d+: objects must name at least one object, .*; add one of backpack"
    ):
        Truth.load(path)
