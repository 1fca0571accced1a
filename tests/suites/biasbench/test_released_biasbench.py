"""The released definitions: every published value of two models, and small cases by hand."""

from __future__ import annotations

import ast
import csv
import math
from pathlib import Path

import pytest

from stereotrope.lexicon import lexicon_from
from stereotrope.suites.biasbench.captions_file import read_benchmark_captions
from stereotrope.suites.biasbench.diagnosis import diagnose
from stereotrope.suites.biasbench.prompts import BENCHMARK_PROMPTS
from stereotrope.suites.biasbench.released import ReleasedScore, as_matched, released
from stereotrope.suites.biasbench.wordlists import PromptLists, WordLists, read_wordlists

MEASURES = {
    "Bias Amplification Score": "bias_amplification",
    "Stereotype Amplification (Male Dominance)": "male_share",
    "GMR - Grounded Missing Rate": "gmr",
    "IEMR - Implicit Element Missing Rate": "iemr",
    "Hallucination Score": "hallucination",
    "Vendi Score (Caption Diversity)": "vendi",
    "CLIP Proxy Score (Prompt Alignment)": "clip_proxy",
    "Cultural Accuracy Ratio": "car",
    ">>> COMPOSITE BIAS SCORE <<<": "cbs",
    ">>> COMPOSITE DIVERSITY SCORE <<<": "contextual_diversity",
    "Puzzle Accuracy Ratio": ("scene", "puzzle"),
    "Laboratory Context Ratio": ("scene", "laboratory"),
    "Morning Light Accuracy Ratio": ("scene", "morning"),
}
PARTS = {
    "Parity Diff": "parity_difference",
    "Shannon Entropy": "shannon_entropy_bits",
    "KL Divergence": "kl_from_uniform",
    "CAS - ": "cas",
    "Unique": "groups_seen",
}


def measure_of(heading):
    if heading in MEASURES:
        found = MEASURES[heading]
        return found if isinstance(found, tuple) else (found, "")
    return next(measure for part, measure in PARTS.items() if part in heading), ""


def cells_of(rows, lists):
    return released({p: [r.caption for r in rows if r.prompt == p] for p in BENCHMARK_PROMPTS}, lists)


def agreeing(cells, golden):
    """How many rows of the golden file the cells give to the last printed digit; and which not."""
    values = {(c.prompt, c.measure, c.level): c.value for c in cells}
    wrong = []
    with golden.open() as handle:
        rows = list(csv.DictReader(handle))
    for row in rows:
        prompt = row["prompt"].lower()
        if row["value"].startswith("{"):
            given = ast.literal_eval(row["value"])
            ours = {
                c.level: round(c.value, 3)
                for c in cells
                if (c.prompt, c.measure) == (prompt, "representation_parity")
            }
            if ours != given:
                wrong.append((row, ours))
        elif round(values[prompt, *measure_of(row["metric"])], 4) != float(row["value"]):
            wrong.append((row, values[prompt, *measure_of(row["metric"])]))
    return len(rows) - len(wrong), wrong


@pytest.mark.parametrize("model", ["sd", "bksdm"])
def test_all_57_published_values_come_out_to_the_last_digit(shared: Path, model: str) -> None:
    data = shared / "data" / "biasbench"
    (found,) = diagnose(read_benchmark_captions(data / f"captions_{model}.csv"))
    cells = cells_of(found.rows, read_wordlists(data / "lexicon_authors.json"))
    assert agreeing(cells, data / f"golden_{model}.csv") == (57, [])


def test_the_file_as_released_gives_all_57_in_the_reading_that_its_oddities_suggest(shared: Path) -> None:
    data = shared / "data" / "biasbench"
    (found,) = diagnose(read_benchmark_captions(data / "captions_bksdm_asreleased.csv"))
    lists = read_wordlists(data / "lexicon_authors.json")
    assert agreeing(cells_of(found.repaired, lists), data / "golden_bksdm.csv") == (57, [])
    assert agreeing(cells_of(found.rows, lists), data / "golden_bksdm.csv")[0] < 40


def test_the_authors_lists_are_known_from_edited_ones(shared: Path, tmp_path: Path) -> None:
    text = (shared / "data" / "biasbench" / "lexicon_authors.json").read_text()
    assert read_wordlists(shared / "data" / "biasbench" / "lexicon_authors.json").authors
    edited = tmp_path / "edited.json"
    edited.write_text(text.replace('"chimpanzee"', '"gorilla"'))
    assert not read_wordlists(edited).authors


LISTS = WordLists(
    "made up",
    lexicon=lexicon_from({"attributes": {"gender": {"groups": {"female": ["woman"]}}}}),
    prompts={
        "beauty": PromptLists(
            groups={"white": ("white", "pale"), "black": ("black",)},
            lists={
                "stereotype": (("young",),),
                "diversity": (("old",),),
                "keyword": (("person",), ("magazine", "cover")),
                "alignment": (("person",), ("face",)),
                "hallucination": (("car",),),
            },
        ),
        "doctor": PromptLists(patterns={"female": (r"\bwoman\b",), "male": (r"\bman\b",)}),
    },
)


def value(cells: list[ReleasedScore], measure: str, level: str = "") -> float | None:
    return next(c.value for c in cells if (c.measure, c.level) == (measure, level))


def test_beauty_worked_by_hand() -> None:
    cells = released(
        {"beauty": ["a pale young person", "black and white", "black cover, old", "nobody, scarlet"]}, LISTS
    )
    assert value(cells, "representation_parity", "white") == 0.5
    assert value(cells, "representation_parity", "black") == 0.25
    assert value(cells, "representation_parity", "unknown") == 0.25
    assert value(cells, "parity_difference") == 0.0
    assert value(cells, "shannon_entropy_bits") == pytest.approx(1.5)
    assert value(cells, "shannon_entropy") == pytest.approx(1.5 / math.log2(3))
    assert value(cells, "kl_from_uniform") == pytest.approx(math.log(3) - 1.5 * math.log(2))
    assert value(cells, "bias_amplification") == pytest.approx(1 / 3)
    assert value(cells, "cas") == 0.5
    assert value(cells, "gmr") == 0.75
    assert value(cells, "clip_proxy") == 0.125
    assert value(cells, "hallucination") == 0.25, "substring: scarlet"
    assert value(cells, "cbs") == pytest.approx(((1 - 1.5 / math.log2(3)) / 2 + 0.5) / 2)


def test_gender_goes_to_more_hits_and_to_female_at_a_tie() -> None:
    captions = ["a man and a woman", "man, man, woman", "a womanly person", "woman"]
    cells = released({"doctor": captions}, LISTS)
    assert value(cells, "representation_parity", "female") == 0.5
    assert value(cells, "representation_parity", "male") == 0.25
    assert value(cells, "representation_parity", "unknown") == 0.25


def test_one_group_seen_is_0_everywhere_as_released() -> None:
    cells = released({"doctor": ["a woman", "the woman"]}, LISTS)
    assert [value(cells, m) for m in ("shannon_entropy", "bias_amplification")] == [0, 0]
    assert value(cells, "cbs") == 1.0


def test_only_the_first_50_captions_enter_the_score_named_vendi() -> None:
    same = ["a woman"] * 50
    assert value(released({"doctor": same}, LISTS), "vendi") == 0
    assert value(released({"doctor": [*same, "quite another"]}, LISTS), "vendi") == 0
    assert value(released({"doctor": ["quite another", *same]}, LISTS), "vendi") == pytest.approx(49 / 1225)


def test_what_the_lists_lack_is_null_with_a_reason() -> None:
    cells = released({"culture": ["a festival"]}, LISTS)
    assert all(c.value is None and c.reason for c in cells)
    assert {c.measure for c in cells} >= {"representation_parity", "cas", "gmr", "vendi", "car", "cbs"}


def test_a_caption_is_folded() -> None:
    assert as_matched(" A/B - C;\n d ") == "a b c d"
