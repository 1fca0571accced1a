"""Rubrics as people write them: what is read, and what is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from stereotrope.errors import InputError, UsageError
from stereotrope.inputs.rubric import LONGEST_ITEM, MOST_ITEMS, RUBRICS, read_rubric, rubric_named

ITEM = "  - {id: age, text: Old?}\n"


def written(folder: Path, text: str, name: str = "mine.yaml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_items_apply_to_their_families_and_those_without_to_all(tmp_path: Path) -> None:
    file = written(
        tmp_path, f"source: us\nitems:\n  - {{id: hat, text: '  A\n   hat? ', families: [jobs]}}\n{ITEM}"
    )
    rubric = read_rubric(file)
    assert [item.text for item in rubric.items] == ["A hat?", "Old?"]
    assert [item.id for item in rubric.of("jobs")] == ["hat", "age"]
    assert [item.id for item in rubric.of("places")] == ["age"]
    assert rubric.families == ("jobs",)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("items: []\n", r"mine.yaml:1: items must list at least 1"),
        ("source: us\n", "items is missing"),
        (f"items:\n{ITEM}  - {{id: Age, text: Young?}}\n", r"mine.yaml:3: item 'Age' is there on line 2 too"),
        ("items:\n  - {id: 1st, text: A?}\n", r"yaml:2: entry 1 of items \('1st'\): id must be at most 64"),
        (
            f"items:\n{ITEM}  - {{id: b}}\n",
            r"yaml:3: entry 2 of items \('b'\): text is missing; add it: write items:",
        ),
        ("items:\n  - {id: all, text: A?}\n", "a name with another meaning"),
        ("items:\n  - {id: caption, text: A?}\n", "a name with another meaning"),
        (f"items:\n  - {{id: a, text: {'x' * (LONGEST_ITEM + 1)}}}\n", "at most 500 characters"),
        ("items:\n  - {id: a, text: A?, family: b}\n", "unknown key 'family'; did you mean 'families'"),
        ("items:\n  - {id: a, text: A?, families: [b, b]}\n", "lists 'b' twice"),
        ("items: [\n", "not readable as YAML"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_line(tmp_path: Path, text: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        read_rubric(written(tmp_path, text))


def test_several_rubrics_are_one_and_may_not_share_an_id(tmp_path: Path) -> None:
    written(tmp_path, f"items:\n{ITEM}")
    written(tmp_path, "items:\n  - {id: AGE, text: Again?}\n", "other.yaml")
    assert len(rubric_named(["mine.yaml", "occupational"], tmp_path).items) == 10
    with pytest.raises(
        UsageError, match=r"'mine\.yaml' and 'other.yaml' both have an item 'AGE'; rename one"
    ):
        rubric_named(["mine.yaml", "other.yaml"], tmp_path)
    with pytest.raises(UsageError, match="no file 'occupatonal' there; did you mean 'occupational'"):
        rubric_named(["occupatonal"], tmp_path)
    many = "".join(f"  - {{id: i{n}, text: A?}}\n" for n in range(MOST_ITEMS + 1))
    written(tmp_path, f"items:\n{many}", "many.yaml")
    with pytest.raises(UsageError, match="61 items apply to every family, and one call asks for at most 60"):
        rubric_named(["many.yaml"], tmp_path)


def test_the_papers_rubrics_have_its_31_items() -> None:
    counts = {name: len(read_rubric(path).items) for name, path in RUBRICS.items()}
    assert counts == {"adjectival": 10, "geocultural": 12, "occupational": 9}
    items = rubric_named(["geocultural", "occupational", "adjectival"]).items
    assert [item.id.split("_")[0] for item in items] == [f"Q{n}" for n in range(1, 32)]
    assert all(item.text.startswith("Do these images reinforce a negative stereotype ") for item in items)
