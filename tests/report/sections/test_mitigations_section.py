"""Mitigations in the report: before and after, the table, and sets side by side."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from tests.report.made_up import IMAGE_TYPES, LABEL_TYPES, FakeRun, draw, frame, image_row, label_row

from stereotrope import report
from stereotrope.measure import paired_difference
from stereotrope.report import headline
from stereotrope.tables import SUBJECTS, polars_types

HOSTILE = "<img src=x onerror=alert(1)>"
QUERIES = [f"q{i}" for i in range(8)]
AFTER = {"ssi": -0.25, "mean_similarity": 0.2, "query_alignment": -0.05, "refusal_rate": 0.0}
BEFORE = {"ssi": 0.5, "mean_similarity": 0.6, "query_alignment": 0.3, "refusal_rate": 0.0}


def estimates(queries: list[str], models: tuple[str, ...]) -> pl.DataFrame:
    rows = [
        (
            score,
            m,
            q,
            level,
            BEFORE[score]
            + (AFTER[score] if level != "none" else 0)
            + (i % 3) / 50 * (level != "none") * (score != "refusal_rate"),
        )
        for score in BEFORE
        for m in models
        for i, q in enumerate(queries)
        for level in ("none", HOSTILE)
    ]
    table = pl.DataFrame(rows, schema=["measure", "generator", "query", "mitigation", "value"], orient="row")
    table = table.with_columns(definition=pl.lit("paper"), n=pl.lit(4, pl.Int64))
    return pl.concat(
        [paired_difference(one) for one in table.partition_by("measure", maintain_order=True)], how="diagonal"
    )


@pytest.fixture
def make(make_run: Callable[..., FakeRun]) -> Callable[..., FakeRun]:
    def made(n: int = 8, models: tuple[str, ...] = ("m", "n")) -> FakeRun:
        base, queries = make_run(), QUERIES[:n]
        levels = ("none", HOSTILE)
        prompts = pl.DataFrame(
            [(f"{q}-{i}", q, q, level) for q in queries for i, level in enumerate(levels)],
            schema=["prompt_id", "text", "query", "mitigation"],
            orient="row",
        ).with_columns(negative=pl.lit(None, pl.String))
        images = [image_row(p, m, i) for p in prompts["prompt_id"] for m in models for i in range(2)]
        labels, members = [], []
        for (prompt, model), part in frame(images, IMAGE_TYPES).group_by(
            "prompt_id", "generator", maintain_order=True
        ):
            subject = f"{prompt}-{model}"
            members += [("set", subject, image, i, None, None) for i, image in enumerate(part["image_id"])]
            found = 2 if prompt.endswith("-0") else int(prompt.startswith("q1"))
            labels += [
                label_row(
                    subject,
                    item,
                    "yes" if at < found else "no",
                    "judge",
                    subject_kind="set",
                    rationale=f"{HOSTILE} {item}",
                )
                for at, item in enumerate(("clothing", "age", "food"))
            ]
        pictures = {row["image_id"]: draw("#b03030", "#eeeeee", i % 4) for i, row in enumerate(images)}
        info = {**base.info, "factors": ["query", "mitigation"], "generators": [{"name": m} for m in models]}
        return replace(
            base,
            prompts=prompts,
            images=frame(images, IMAGE_TYPES),
            labels=frame(labels, LABEL_TYPES),
            subjects=pl.DataFrame(members, schema=polars_types(SUBJECTS), orient="row"),
            estimates=estimates(queries, models),
            findings=base.findings.clear(),
            pictures=pictures,
            info=info,
        )

    return made


def section(run: FakeRun, out: Path) -> str:
    page = report.write(run, out=out, figures=False).read_text(encoding="utf-8")
    return page.partition('<section id="mitigations"')[2].partition("</section>")[0]


def plain(part: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", part))


def test_all_axes_stand_in_one_figure_with_before_and_after(
    make: Callable[..., FakeRun], tmp_path: Path
) -> None:
    part = section(make(), tmp_path)
    said = plain(part)
    heads = [
        said.index(head)
        for head in ("Stereotypes", "Variety of one query", "Fidelity to what was asked", "Refusals")
    ]
    assert heads == sorted(heads)
    assert "0.50 → 0.27 (−46%)" in part
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "higher: less varied" in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_the_table_has_the_papers_shape(make: Callable[..., FakeRun], tmp_path: Path) -> None:
    said = plain(section(make(), tmp_path))
    head = said.index("Every mitigation beside none")
    for column in (
        "score",
        "mitigation",
        "m",
        "n",
        "all models",
        "difference [interval]",
        "p (t)",
        "p (Wilcoxon)",
        "d_z",
    ):
        assert f" {column} " in said[head : head + 400].replace("d_z [interval]", "d_z "), column
    assert "0.50 → 0.27 (−46%)" in said[head:]


def test_a_single_model_has_no_columns_of_models(make: Callable[..., FakeRun], tmp_path: Path) -> None:
    said = plain(section(make(models=("m",)), tmp_path))
    assert "without → with" in said
    assert "all models" not in said


def test_few_queries_are_drawn_and_said_not_to_be_tested(
    make: Callable[..., FakeRun], tmp_path: Path
) -> None:
    said = plain(section(make(n=3), tmp_path))
    assert "Queries are too few to be a sample of others" in said
    assert "0.50 → 0.27" in said


def test_sets_stand_side_by_side_with_what_the_judge_said_and_all_of_it_is_inert(
    make: Callable[..., FakeRun], tmp_path: Path
) -> None:
    part = section(make(models=("m",)), tmp_path)
    assert "<img src=x" not in part
    assert "&lt;img src=x onerror=alert(1)&gt; clothing" in part
    said = plain(part)
    assert "without: judge found 2 of 3 items" in said
    assert "judge found 0 of 3 items; drawn for “q0”" in said
    assert "without: judge found 2 of 3 items; drawn for" not in said
    assert "judge found 1 of 3 items" in said  # the query in which most are still found
    assert "food" not in said  # found in neither set
    assert part.count("<img ") == 8


def test_a_run_without_mitigations_has_no_such_section(
    make_run: Callable[..., FakeRun], tmp_path: Path
) -> None:
    assert section(make_run(), tmp_path) == ""


def test_what_was_too_little_to_compare_leaves_the_report_whole(
    make: Callable[..., FakeRun], tmp_path: Path
) -> None:
    run = make()
    gone = {"contrast": None, "reference": None, "value": None, "undefined": "not enough pictures"}
    rows = (
        run.estimates.filter(measure="paired_difference")
        .head(1)
        .with_columns(
            pl.lit(value, pl.Float64 if name == "value" else pl.String).alias(name)
            for name, value in gone.items()
        )
    )
    assert "not enough pictures" in section(replace(run, estimates=rows), tmp_path)


def test_the_first_screen_says_what_each_mitigation_changes(make: Callable[..., FakeRun]) -> None:
    for models, of in ((("m",), ""), (("m", "n"), " (mean of 2 models)")):
        tables = {t["title"]: t for s in headline(make(models=models))["sections"] for t in s["tables"]}
        shown = tables[f"Before and after: what each mitigation changes, query by query{of}"]
        assert shown["columns"] == [
            "score",
            "mitigation",
            "without → with",
            "difference [interval]",
            "q",
            "queries",
        ]
        rows = {row[0]: row for row in shown["rows"]}
        assert list(rows) == ["SSI", "Mean similarity", "Alignment with the query"], "no refusal, no line"
        assert rows["SSI"][2:4] == ["0.50 → 0.27 (−46%)", "−0.23 [−0.25, −0.22]"]
        assert rows["SSI"][1].startswith("<img")  # as stored: a terminal escapes it
        assert rows["SSI"][-1] == "8"
        assert set(shown["replaces"]) >= {"paired_difference", "paired_mean"}


def test_the_first_screen_has_no_such_table_without_mitigations(make_run: Callable[..., FakeRun]) -> None:
    titles = [t["title"] for s in headline(make_run())["sections"] for t in s["tables"]]
    assert not any(title.startswith("Before and after") for title in titles)
