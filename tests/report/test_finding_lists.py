"""Of a pattern one finding stands on the first screen, with a line; the others are folded beneath it."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stereotrope.cli.console import print_headline
from stereotrope.commands import Settings
from stereotrope.report import headline, write
from stereotrope.report.finding_lists import first_lists

LINE = "The same in 3 of 4 objects: cup, car and <b>; none is told the other way."
EXTENT = {"varies": ["object"], "n_same": 3, "n_tested": 4, "n_opposite": 0}


def differences(run: Any, patterns: list[str | None]) -> Any:
    """A run with a difference each, in their order."""
    one = run.findings[2:3]
    rows = [
        one.with_columns(
            finding_id=pl.lit(f"f{rank}"),
            list=pl.lit("difference"),
            rank=pl.lit(rank, pl.Int64),
            sentence=pl.lit(f"Difference {rank} of it."),
            pattern_id=pl.lit(name, pl.String),
            pattern_sentence=pl.lit(name and LINE, pl.String),
            pattern_extent=pl.lit(name and json.dumps(EXTENT), pl.String),
        )
        for rank, name in enumerate(patterns, start=1)
    ]
    return replace(run, findings=pl.concat(rows))


@pytest.mark.parametrize(
    ("patterns", "shown", "folded"),
    [
        (["p", None, "p", "p"], [1, 2], {"p": [3, 4]}),
        (["p", "q", "q", "p", None], [1, 2, 5], {"p": [4], "q": [3]}),
        ([None] * 5 + ["p", "p"], [1, 2, 3, 4, 5], {}),
        (["p"] * 12 + [None] * 6, [1, 13, 14, 15, 16], {"p": list(range(2, 13))}),
    ],
)
def test_every_finding_is_shown_folded_or_counted(
    objects_run: Any, patterns: list[str | None], shown: list[int], folded: dict[str, list[int]]
) -> None:
    run = differences(objects_run, patterns)
    (one,) = first_lists(run.findings, run.comparisons)
    assert [row["rank"] for row in one.rows] == shown
    assert {name: [row["rank"] for row in rows] for name, rows in one.again.items()} == folded
    left = len(patterns) - len(shown) - sum(map(len, folded.values()))
    assert one.more == (f"{left} more in tables/findings.csv" if left else "")
    left += sum(map(len, folded.values()))
    assert one.more_unfolded == (f"{left} more in tables/findings.csv" if left else "")


def test_findings_of_one_id_are_counted_each(objects_run: Any) -> None:
    run = differences(objects_run, [None] * 7)
    (one,) = first_lists(run.findings.with_columns(finding_id=pl.lit("same")), run.comparisons)
    assert (len(one.rows), one.n_more) == (5, 2)


def test_the_line_and_the_others_stand_in_the_page_the_headline_and_the_files(
    objects_run: Any, tmp_path: Path
) -> None:
    run = differences(objects_run, ["p", None, "p"])
    page = write(run, out=tmp_path, figures=False)
    (listed,) = re.findall(r'<ol class="findings">(.*?)</ol>', page.read_text("utf-8"), flags=re.DOTALL)
    first, second = listed.split("<li>\n<p>")[1:]
    assert '<p class="pattern">The same in 3 of 4 objects: cup, car and &lt;b&gt;;' in first
    assert re.search(r"<details><summary>The other one</summary>.*Difference 3 of it", first, re.DOTALL)
    assert "pattern" not in second
    assert "Difference 3" not in second
    table = pl.read_csv(tmp_path / "tables" / "findings.csv")
    assert table["pattern_id"].to_list() == ["p", None, "p"]
    assert json.loads(table["pattern_extent"][0]) == EXTENT
    told = headline(run)
    assert [one["pattern"] for one in told["findings"]] == [
        {"id": "p", "sentence": LINE, "others": ["Difference 3 of it."], **EXTENT},
        None,
    ]
    assert told["more"] == {"What differs": "1 more in tables/findings.csv"}


def test_a_terminal_shows_the_line_and_counts_the_others(
    objects_run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    print_headline(headline(differences(objects_run, ["p", None, "p"])), Settings())
    said = capsys.readouterr().out
    assert f"1. Difference 1 of it.\n{LINE}\n2. Difference 2 of it.\n1 more in tables/findings.csv" in said
