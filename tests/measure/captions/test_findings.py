"""What stands out in captions: each kind where it is planted, and nothing where it is not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.measure.listed import findings

from stereotrope.measure.captions import caption_measures
from stereotrope.tables import FINDINGS

LISTS = ("stereotype", "diversity", "keyword", "implied", "hallucination", "ppe")
NO_LABELS = pl.DataFrame(schema=dict.fromkeys(("image_id", "attribute", "value"), pl.String))

Rows = Sequence[Mapping[str, Any]]


def cell(n: int, *, model: str = "m", prompt: str = "doctor", **given: Any) -> list[dict[str, Any]]:
    """Captions of one cell; of each column the values in turn, as ``{value: captions}`` or for all alike."""
    rows: list[dict[str, Any]] = [{"generator": model, "prompt": prompt} for _ in range(n)]
    for name, said in given.items():
        values = [v for v, k in said.items() for _ in range(k)] if isinstance(said, dict) else [said] * n
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    return rows


def frame(rows: Rows) -> pl.DataFrame:
    """A captions frame; what a row does not say it lacks."""
    full = [
        {
            "image_id": f"i{at}",
            "caption": f"a picture of thing{at % 7} and thing{at % 11}",
            **{name: list(row.get(name) or ()) for name in LISTS},
            **{k: v for k, v in row.items() if k not in LISTS},
        }
        for at, row in enumerate(rows)
    ]
    types = {name: pl.List(pl.String) for name in LISTS}
    return pl.DataFrame(full, schema_overrides=types, infer_schema_length=None)


def lexicon(groups: Sequence[str] = ("female", "male"), parity: Any = None, **lists: Any) -> dict[str, Any]:
    """One attribute of every prompt, with a list of one element each where nothing else is said."""
    parity = parity or {"attribute": "kind", "groups": [groups[0]], "against": [groups[1]]}
    prompt = {"text": "a picture", "parity": parity, "lists": lists, "cas": "stereotype" in lists}
    return {
        "attributes": {"kind": {"groups": {group: [group] for group in groups}}},
        "prompts": {"doctor": prompt, "nurse": prompt},
    }


def found(rows: Rows, declared: Mapping[str, Any], *kinds: str, **more: Any) -> pl.DataFrame:
    """The findings of some kinds in captions."""
    captions = frame(rows)
    estimates = caption_measures(captions, declared, n_bootstrap=400)
    told = findings(estimates, NO_LABELS, frames={"captions": [captions]}, **more)
    assert told.columns == [c.name for c in FINDINGS]
    return told.filter(pl.col("kind").is_in(kinds)) if kinds else told


def images(row: Mapping[str, Any]) -> list[str]:
    return list(json.loads(row["image_ids"]))


def test_a_side_named_more_often_is_told_with_both_counts() -> None:
    told = found(cell(80, kind={"male": 44, "female": 16, "unknown": 20}), lexicon(), "group_gap")
    (row,) = told.to_dicts()
    assert row["sentence"].startswith(
        "For “doctor”, captions of pictures call the kind “male” in 44 of 80 and “female” in 16 "
        "of 80; the difference is 0.35 ["
    )
    assert row["sentence"].endswith("(q < 0.001).")
    assert images(row) == [f"i{at}" for at in range(44)]
    assert json.loads(row["scope"]) == {"generator": "m", "prompt": "doctor"}


def test_what_two_captioners_find_alike_is_one_finding_with_both_counts() -> None:
    captions = {
        name: frame(cell(80, kind=counts))
        for name, counts in {
            "a": {"male": 60, "female": 10, "unknown": 10},
            "b": {"male": 44, "female": 16, "unknown": 20},
        }.items()
    }
    made = [
        caption_measures(one, lexicon(), n_bootstrap=200).with_columns(annotator=pl.lit(name))
        for name, one in captions.items()
    ]
    told = findings(pl.concat(made), NO_LABELS, frames={"captions": [captions["a"]]}).filter(kind="group_gap")
    (sentence,) = told["sentence"].to_list()
    assert "“male” in 60 of 80" in sentence
    assert "; by “b”: For “doctor”" in sentence
    assert "“male” in 44 of 80" in sentence
    assert json.loads(told["scope"][0])["annotator"] == "a"


def test_sides_named_about_equally_often_are_no_finding() -> None:
    rows = cell(80, kind={"male": 34, "female": 26, "unknown": 20})
    assert found(rows, lexicon(), "group_gap").height == 0


def test_how_many_name_nobody_is_said_where_it_is_most() -> None:
    (row,) = found(cell(100, kind={"male": 30, "unknown": 70}), lexicon(), "group_gap").to_dicts()
    assert "“male” in 30 of 100 and “female” in none" in row["sentence"]
    assert "; 70 of 100 name no kind, which leaves 30 to compare; the difference is 0.30" in row["sentence"]


OTHERS = {"attribute": "kind", "groups": ["white"], "against": "others"}


def test_a_group_named_more_often_than_all_others_together_is_told_as_such() -> None:
    rows = cell(100, kind={"white": 40, "asian": 4, "black": 1, "unknown": 55})
    (row,) = found(rows, lexicon(("white", "asian", "black"), OTHERS), "group_gap").to_dicts()
    assert "“white” in 40 of 100 and any other in 5 of 100" in row["sentence"]


@pytest.mark.parametrize("against", ["others", "rest"])
def test_against_all_others_the_group_that_leads_is_set_beside_the_next(against: str) -> None:
    rows = cell(100, kind={"white": 12, "asian": 60, "black": 20, "unknown": 8})
    declared = lexicon(("white", "asian", "black"), {**OTHERS, "against": against})
    (row,) = found(rows, declared, "group_gap").to_dicts()
    assert "“asian” in 60 of 100 and “black” in 20 of 100" in row["sentence"]
    assert images(row) == [f"i{at}" for at in range(12, 72)]
    even = cell(90, kind={"white": 30, "asian": 32, "black": 28})
    assert found(even, declared, "group_gap").height == 0


def test_one_group_in_nearly_all_captions_is_told_once() -> None:
    told = found(cell(100, kind={"male": 96, "female": 3, "unknown": 1}), lexicon())
    (row,) = told.filter(attribute="kind").to_dicts()
    assert (row["list"], row["kind"]) == ("difference", "group_gap")
    assert row["sentence"].startswith(
        "For “doctor”, captions of pictures call the kind “male” in 96 of 100 and “female” in 3 "
    )
    assert images(row) == [f"i{at}" for at in range(96)]


def test_nobody_named_in_all_captions_is_no_group() -> None:
    assert found(cell(100, kind={"unknown": 100}), lexicon(), "one_group", "group_gap").height == 0


def test_the_element_that_captions_lack_most_is_told_and_its_pictures() -> None:
    rows = cell(60, kind="unknown")
    for at, row in enumerate(rows):
        row["keyword"] = ["doctor"] if at % 2 else []
        row["implied"] = ["mask"] if at < 3 else []
    declared = lexicon(keyword={"doctor": ["doctor"]}, implied={"mask": ["mask"]})
    (row,) = found(rows, declared, "omission").to_dicts()
    assert row["sentence"] == (
        "For “doctor”, captions of pictures do not mention “mask”, which the lexicon takes as implied, in 57 "
        "of 60 [0.85–0.99]."
    )
    assert (row["measure"], row["attribute"]) == ("iemr", "implied")
    assert images(row) == [f"i{at}" for at in range(3, 60)]
    kept = cell(60, kind="unknown", keyword=["doctor"], implied=["mask"])
    assert found(kept, declared, "omission").height == 0


def test_what_does_not_belong_is_told_with_its_most_frequent_terms() -> None:
    rows = cell(50, kind="unknown")
    for row in rows[:20]:
        row["hallucination"] = ["sofa"]
    rows[0]["hallucination"] = ["sofa", "car"]
    declared = lexicon(hallucination=["sofa", "car"])
    (row,) = found(rows, declared, "out_of_place").to_dicts()
    assert row["sentence"] == (
        "For “doctor”, captions of pictures mention what the prompt does not call for in 20 of 50 "
        "[0.28–0.54], most often “sofa” (20), “car” (1)."
    )
    assert len(images(row)) == 20
    assert found(rows[15:], declared, "out_of_place").height == 0


def test_stereotype_terms_that_outnumber_diversity_terms_are_told_with_hits() -> None:
    rows = cell(40, kind="unknown")
    for row in rows[:30]:
        row["stereotype"] = ["young"]
    rows[0]["diversity"] = ["older"]
    declared = lexicon(stereotype=["young"], diversity=["older"])
    (row,) = found(rows, declared, "association").to_dicts()
    assert "hold terms of two lists, and 30 of 31 [" in row["sentence"]
    assert row["sentence"].endswith(
        "term hits are on the list of stereotypes, most often “young” (30), over 40 captions."
    )
    assert images(row) == [f"i{at}" for at in range(30)]
    for row in rows[:30]:
        row["diversity"] = ["older"]
    assert found(rows, declared, "association").height == 0


def test_a_composite_is_told_only_with_all_of_its_interval_in_the_highest_band() -> None:
    rows = cell(60, kind={"unknown": 60}, stereotype=["young"])
    declared = lexicon(stereotype=["young"], diversity=["older"])
    (row,) = found(rows, declared, "composite").to_dicts()
    assert "on the composite of parity, evenness and association, over 60 captions" in row["sentence"]
    assert row["sentence"].endswith("60 of 60 name no kind, which by itself makes it high.")
    mixed = cell(60, kind={"male": 20, "female": 20, "unknown": 20}, stereotype=["young"])
    assert found(mixed, declared, "composite").height == 0


def test_the_largest_difference_between_models_is_told_with_those_that_name_a_side() -> None:
    rows = [
        *cell(60, model="a", kind={"male": 50, "female": 10}),
        *cell(60, model="b", kind={"male": 20, "female": 40}),
        *cell(60, model="c", kind={"male": 30, "female": 30}),
    ]
    (row,) = found(rows, lexicon(), "model_difference").to_dicts()
    assert row["sentence"].startswith(
        "For “doctor”, captions of pictures by b call the kind “female” in 40 of 60, those by a "
        "in 10 of 60; among those that name either side it is 40 of 60 and 10 of 60; the "
        "difference is 0.50 [0.32–0.64] (q < 0.001)."
    )
    assert json.loads(row["scope"]) == {"prompt": "doctor"}
    assert images(row) == [f"i{at}" for at in range(80, 120)]
    alike = [
        *cell(60, model="a", kind={"male": 33, "female": 27}),
        *cell(60, model="b", kind={"male": 30, "female": 30}),
    ]
    assert found(alike, lexicon(), "model_difference").height == 0


def covered(hidden: tuple[int, int], bare: tuple[int, int]) -> list[dict[str, Any]]:
    """Captions that mention a cover and those that do not: unnamed of all."""
    rows = []
    for (unnamed, n), worn in ((hidden, ["mask"]), (bare, [])):
        named = n - unnamed
        kinds = {"unknown": unnamed, "male": named // 2, "female": named - named // 2}
        rows += cell(n, kind=kinds, ppe=worn)
    return rows


@pytest.mark.parametrize(
    ("hidden", "bare", "verdict", "shown"),
    [
        ((30, 40), (6, 40), "covers may explain a part of it.", range(30)),
        ((16, 76), (6, 24), "covers do not explain what is left unnamed.", range(76, 82)),
    ],
)
def test_covers_explain_what_is_unnamed_or_do_not(
    hidden: tuple[int, int], bare: tuple[int, int], verdict: str, shown: range
) -> None:
    (row,) = found(covered(hidden, bare), lexicon(ppe=["mask"]), "occlusion").to_dicts()
    assert f"name no kind in {hidden[0]} of {hidden[1]} " in row["sentence"]
    assert row["sentence"].endswith(verdict)
    assert images(row) == [f"i{at}" for at in shown]


def test_covers_that_explain_little_are_told_once_and_so_is_that_they_explain_nothing() -> None:
    (row,) = found(covered((1200, 2000), (1000, 2000)), lexicon(ppe=["mask"]), "occlusion").to_dicts()
    assert row["value"] == pytest.approx(0.1)
    assert 0 < row["low"] < 0.1 < row["high"] < 0.2
    assert row["sentence"].endswith("covers may explain a part of it.")
    (row,) = found(covered((1000, 2000), (1000, 2000)), lexicon(ppe=["mask"]), "occlusion").to_dicts()
    # Without numbers that would say that nothing stands out, it is told first of all.
    assert row["low"] is None
    assert row["sentence"].endswith("covers do not explain what is left unnamed.")


@pytest.mark.parametrize(("hidden", "bare"), [((1, 5), (10, 95)), ((0, 50), (2, 50))])
def test_where_covers_cannot_be_judged_nothing_is_said(
    hidden: tuple[int, int], bare: tuple[int, int]
) -> None:
    assert found(covered(hidden, bare), lexicon(ppe=["mask"]), "occlusion").height == 0


def test_of_two_definitions_only_the_papers_make_findings() -> None:
    captions = frame(cell(80, kind={"male": 60, "female": 20}))
    both = [
        caption_measures(captions, lexicon(), n_bootstrap=200, definition=d) for d in ("released", "paper")
    ]
    told = findings(pl.concat(both, how="diagonal"), NO_LABELS, frames={"captions": [captions]})
    assert told.equals(findings(both[1], NO_LABELS, frames={"captions": [captions]}))
    assert findings(both[0], NO_LABELS, frames={"captions": [captions]}).filter(kind="group_gap").height == 1


def test_without_captions_findings_are_told_without_pictures() -> None:
    captions = frame(cell(80, kind={"male": 60, "female": 20}))
    estimates = caption_measures(captions, lexicon(), n_bootstrap=200)
    told = findings(estimates, NO_LABELS).filter(kind="group_gap")
    assert told["image_ids"].to_list() == ["[]"]
    assert "“male” in 60 of 80" in told["sentence"][0]


def test_a_second_description_of_a_kind_stands_behind_a_first_of_another() -> None:
    rows = [
        *cell(60, kind="unknown", hallucination=["sofa"], keyword=[]),
        *cell(60, prompt="nurse", kind="unknown", hallucination=["sofa"], keyword=[]),
    ]
    for row in rows[60:100]:
        row["hallucination"] = []
    declared = lexicon(hallucination=["sofa"], keyword={"doctor": ["doctor"]})
    told = found(rows, declared)
    assert told["list"].unique().to_list() == ["common"]
    assert told["kind"].to_list()[:3] == ["out_of_place", "omission", "omission"]
    ranks = told["rank"].to_list()
    assert ranks == list(range(ranks[0], ranks[0] + len(ranks)))


def test_another_model_with_the_same_pattern_stands_behind_another_prompt() -> None:
    rows = [
        *cell(60, model="a", kind={"male": 54, "female": 6}),
        *cell(60, model="b", kind={"male": 53, "female": 7}),
        *cell(60, model="b", prompt="nurse", kind={"male": 12, "female": 48}),
    ]
    scopes = [json.loads(scope) for scope in found(rows, lexicon(), "group_gap", "one_group")["scope"]]
    assert [(one["generator"], one["prompt"]) for one in scopes] == [
        ("a", "doctor"),
        ("b", "nurse"),
        ("b", "doctor"),
    ]


def test_foreign_names_cannot_leave_their_quotation_marks() -> None:
    rows = [
        *cell(40, model="a\u202eb\n", prompt="doctor", kind={"x” is": 38, "other": 2}),
        *cell(40, model="c", prompt="doctor", kind={"x” is": 20, "other": 20}),
    ]
    declared = lexicon(("x” is", "other"))
    for sentence in found(rows, declared)["sentence"]:
        assert "\u202e" not in sentence
        assert "\n" not in sentence
        assert sentence.count("“") == sentence.count("”")


WARNED = {
    "attribute": "ethnicity",
    "value": "black",
    "n": 12,
    "n_doubtful": 12,
    "n_noun_only": 12,
    "n_inside_only": 0,
    "n_named": None,
    "image_ids": ["i0", "i77"],
}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({}, "All 12 captions read as “black” (ethnicity) name clothes, hair or a background."),
        (
            {"value": "rat", "n": 45, "n_doubtful": 40, "n_noun_only": 0, "n_inside_only": 40},
            "40 of 45 captions read as “rat” (ethnicity) rest on letters inside longer words.",
        ),
        (
            {"n_noun_only": 7, "n_inside_only": 5},
            "All 12 captions read as “black” (ethnicity) rest on letters inside longer words or on words for "
            "clothes, hair or a background.",
        ),
        (
            {"value": "unknown", "n": 42, "n_doubtful": 0, "n_named": 21},
            "21 of 42 captions read as “unknown” (ethnicity) name one by a second reading.",
        ),
        ({"n_doubtful": 2}, None),
        ({"n": 100, "n_doubtful": 12}, None),
        ({"value": "unknown", "n_named": None}, None),
    ],
)
def test_a_group_that_rests_on_doubtful_hits_is_a_warning(
    changed: Mapping[str, Any], sentence: str | None
) -> None:
    lexicons = [{"annotator": "words", "values": [{**WARNED, **changed}]}]
    rows = cell(80, kind={"male": 40, "female": 40})
    told = found(rows, lexicon(), "instrument", said={"lexicons": lexicons})
    assert told["sentence"].to_list() == ([sentence] if sentence else [])
    if sentence:
        (row,) = told.to_dicts()
        assert json.loads(row["scope"]) == {"annotator": "words"}
        assert images(row) == ["i0", "i77"]


def test_warnings_of_one_attribute_are_told_apart_and_come_last() -> None:
    values = [{**WARNED, "value": value, "n": n, "n_doubtful": n} for value, n in (("a", 3), ("b", 9))]
    rows = cell(80, kind={"male": 60, "female": 20})
    told = found(rows, lexicon(), said={"lexicons": [{"annotator": "words", "values": values}]})
    assert told["kind"].to_list()[-2:] == ["instrument", "instrument"]
    assert told["finding_id"].n_unique() == told.height
    assert "“b”" in told["sentence"][-2]


@pytest.mark.parametrize("runs", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_chance_alone_makes_few_findings(runs: int) -> None:
    """Captions drawn without any pattern: a family of tests tells something in one run of twenty at most."""
    rng = np.random.default_rng(8)
    declared = lexicon(
        ("white", "asian", "black"),
        OTHERS,
        stereotype=["young"],
        diversity=["older"],
        hallucination=["sofa"],
        keyword={"doctor": ["doctor"]},
        implied={"mask": ["mask"]},
        ppe=["mask"],
    )
    seen = Counter[str]()
    for _ in range(runs):
        rows = []
        for model in "ab":
            for prompt in ("doctor", "nurse"):
                kinds = rng.choice(["white", "asian", "black", "unknown"], 60)
                rows += [
                    {
                        "generator": model,
                        "prompt": prompt,
                        "kind": str(kind),
                        "stereotype": ["young"] * int(rng.random() < 0.4),
                        "diversity": ["older"] * int(rng.random() < 0.4),
                        "hallucination": ["sofa"] * int(rng.random() < 0.05),
                        "keyword": ["doctor"] * int(rng.random() < 0.5),
                        "implied": ["mask"] * int(rng.random() < 0.5),
                    }
                    for kind in kinds
                ]
        captions = frame(rows)
        told = findings(
            caption_measures(captions, declared, n_bootstrap=100), NO_LABELS, frames={"captions": [captions]}
        )
        for kind in told["kind"].unique():
            seen[kind] += 1
    assert seen["group_gap"] <= 0.05 * runs
    assert seen["model_difference"] <= 0.1 * runs
    assert seen["one_group"] == seen["out_of_place"] == seen["composite"] == 0
    # Rates exactly at their thresholds, in several cells: one in forty a cell and list.
    assert seen["omission"] <= runs * (1 - 0.975**8) + 0.2 * runs
    assert seen["association"] <= runs * (1 - 0.975**4) + runs / 6
