from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.report.sections.captions.made_up_captions import captions_material, captions_run, row

from stereotrope.measure.estimates import estimate_frame
from stereotrope.report import headline
from stereotrope.report.material import Material
from stereotrope.report.sections.captions.parts import captions_tables


def tables(tmp_path: Path, **of: Any) -> dict[str, dict[str, Any]]:
    return {t["what"]: t for t in captions_tables(captions_material(tmp_path, **of))}


def test_composites_come_by_prompt_and_model_in_words_of_bands(tmp_path: Path) -> None:
    made = tables(tmp_path)["composites"]
    assert made["columns"] == ["prompt", "score", "model 0", "model 1"]
    assert made["rows"][0] == [
        "prompt 0",
        "CBS",
        "0.20 [0.15, 0.25] moderate",
        "0.25 [0.20, 0.30] moderate",
    ]
    assert "[95% interval]" in made["title"]


def test_a_score_beside_an_edge_has_the_digits_that_show_its_band(tmp_path: Path) -> None:
    near = row("cbs", 0.3004, generator="model 0", prompt="prompt 9", band="moderate")
    rows = tables(tmp_path, extra=[near])["composites"]["rows"]
    assert rows[-1][2] == "0.3004 [0.2504, 0.3504] moderate"


def test_a_score_of_captions_that_mostly_name_no_group_says_so_after_its_band(tmp_path: Path) -> None:
    of = {"generator": "model 0", "prompt": "prompt 9", "flags": "mostly_unknown", "band": "high"}
    rows = tables(tmp_path, extra=[row("cbs", 0.65, **of)])["composites"]["rows"]
    assert rows[-1][2] == "0.65 [0.60, 0.70] high, mostly unknown"


def test_high_contextual_diversity_is_said_to_be_low_diversity(tmp_path: Path) -> None:
    of = {"generator": "model 0", "prompt": "prompt 9", "band": "high"}
    rows = tables(tmp_path, extra=[row("contextual_diversity", 0.9, **of)])["composites"]["rows"]
    assert rows[-1][1] == "contextual diversity (high: low diversity)"


def test_the_mean_over_prompts_stands_last(tmp_path: Path) -> None:
    extra = [row("composite_mean", 0.4, generator="model 0", n=2)]
    rows = tables(tmp_path, extra=extra)["composites"]["rows"]
    assert rows[-1] == ["mean of 2 prompts", "", "0.40 [0.35, 0.45]", ""]


def test_only_declared_sides_are_told_with_their_sign(tmp_path: Path) -> None:
    made = tables(tmp_path, prompts=1)["parity"]
    assert [r[0] for r in made["rows"]] == ["female less male", "dark + medium less all other groups"]
    assert all(r[1].startswith("−0.30") for r in made["rows"])


def test_a_column_that_would_say_nothing_is_left_out(tmp_path: Path) -> None:
    made = tables(tmp_path, prompts=1)
    assert made["parity"]["columns"][0] == "sides"
    assert made["missing"]["columns"][:2] == ["element", "list"]
    assert all(row[0] for table in made.values() for row in table["rows"])


def test_the_three_elements_missed_most_are_told(tmp_path: Path) -> None:
    made = tables(tmp_path, elements=9)["missing"]
    assert [r[:3] for r in made["rows"]] == [
        ["prompt 0", "element 8", "keyword"],
        ["prompt 0", "element 8", "implied"],
        ["prompt 1", "element 8", "keyword"],
    ]


def test_of_many_models_each_gets_a_line(tmp_path: Path) -> None:
    made = tables(tmp_path, models=5, prompts=1)["composites"]
    assert made["columns"] == ["prompt", "score", "model", "value"]
    assert [r[2] for r in made["rows"]] == [f"model {i}" for i in range(5)]


def test_definitions_are_told_apart(tmp_path: Path) -> None:
    made = captions_tables(captions_material(tmp_path, definitions=("paper", "released")))
    assert [t["follows"] for t in made] == ["paper"] * 3 + ["released"] * 3
    assert all(f"(definition {t['follows']})" in t["title"] for t in made)


def test_lexicons_are_told_apart_and_none_is_dropped(tmp_path: Path) -> None:
    extra = [row("cbs", 0.9, generator="model 0", prompt="prompt 0", annotator="second", band="high")]
    of: dict[str, Any] = {"lexicons": ("first", "second"), "prompts": 1}
    made = captions_tables(captions_material(tmp_path, **of, definitions=("paper", "released")))
    assert [t["lexicon"] for t in made] == [*["first"] * 3, *["second"] * 3] * 2
    assert made[-1]["title"].endswith("(definition released, by lexicon second)")
    alone = captions_run(tmp_path, **of)
    kept = [r for r in alone.estimates.iter_rows(named=True) if r["measure"] != "cbs"]
    factors = ["generator", "prompt", "annotator"]
    alone.estimates = estimate_frame([*kept, {**extra[0], "definition": "paper"}], factors=factors)
    composites = [t for t in captions_tables(Material(alone)) if t["what"] == "composites"]
    assert [(t["lexicon"], t["rows"][0][2]) for t in composites] == [("second", "0.90 [0.85, 0.95] high")]


def test_what_is_not_defined_is_told_with_its_reason(tmp_path: Path) -> None:
    made = tables(tmp_path, undefined=True, prompts=1)
    assert made["composites"]["rows"][0][2] == "not defined: no usable caption"
    assert made["composites"]["estimates"][0]["value"] is None


def test_the_headline_of_a_run_holds_them_as_json(tmp_path: Path, objects_run: Any) -> None:
    head = headline(captions_run(tmp_path))
    assert [t["what"] for s in head["sections"] for t in s["tables"]] == ["composites", "parity", "missing"]
    assert json.loads(json.dumps(head, allow_nan=False)) == head
    assert not any(s["tables"] for s in headline(objects_run)["sections"])
