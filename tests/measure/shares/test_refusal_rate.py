from __future__ import annotations

import polars as pl
import pytest
from scipy import stats as scipy_stats

from stereotrope.errors import TableError, UsageError
from stereotrope.measure import refusal_rate


def requests(**groups: dict[str, int]) -> pl.DataFrame:
    rows = [
        {
            "generator": "m",
            "group": group,
            "status": status,
            "reason": "torn" if status == "excluded" else None,
        }
        for group, counts in groups.items()
        for status, n in counts.items()
        for _ in range(n)
    ]
    schema = dict.fromkeys(("generator", "group", "status", "reason"), pl.String)
    return pl.DataFrame(rows, schema=schema).with_row_index("image_id")


def test_excluded_pictures_are_neither_refused_nor_drawn() -> None:
    row = refusal_rate(requests(base={"ok": 6, "refused": 2, "excluded": 3})).row(0, named=True)
    assert (row["value"], row["n"], row["n_excluded"], row["excluded"]) == (0.25, 8, 3, '{"torn": 3}')
    assert (row["attribute"], row["category"]) == (None, None)


def test_no_refusal_still_has_an_interval() -> None:
    row = refusal_rate(requests(base={"ok": 20})).row(0, named=True)
    assert (row["value"], row["low"]) == (0.0, 0.0)
    assert row["high"] == pytest.approx(0.161, abs=1e-3)


def test_a_group_gives_rates_and_differences_with_p_and_q() -> None:
    found = refusal_rate(requests(base={"ok": 20}, women={"ok": 12, "refused": 8}), "group")
    assert found["measure"].to_list() == ["refusal_rate", "refusal_rate", "refusal_rate_difference"]
    row = found.row(2, named=True)
    assert (row["group"], row["reference"], row["value"]) == ("women", "base", 0.4)
    assert row["p_value"] == pytest.approx(scipy_stats.fisher_exact([[8, 12], [0, 20]])[1])
    assert row["q_value"] == row["p_value"]


def test_a_cell_with_excluded_pictures_only_is_undefined() -> None:
    found = refusal_rate(requests(base={"ok": 2}, women={"excluded": 4}), "group")
    assert found.filter(group="women")["undefined"].to_list() == ["no request answered"] * 2
    assert found.filter(group="women")["value"].to_list() == [None, None]


def test_an_unknown_status_or_a_missing_column_is_refused() -> None:
    with pytest.raises(TableError, match="status 'done' is none of ok, refused, excluded"):
        refusal_rate(requests(base={"done": 1}))
    with pytest.raises(TableError, match="no column 'status'"):
        refusal_rate(requests(base={"ok": 1}).drop("status"))


def test_no_request_gives_no_rate() -> None:
    none = requests(base={})
    assert refusal_rate(none).height == 0
    with pytest.raises(UsageError, match="no group 'base'; found none"):
        refusal_rate(none, "group")
