"""How far a model's scores are from those of a named baseline model."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.measure.definitions import require_one_definition
from stereotrope.measure.tidy import estimate_frame, to_polars
from stereotrope.tables import ESTIMATES

__all__ = ["DELTA", "against_baseline"]

DELTA = "_delta"
"""Ends the name of a score that is a difference from the baseline model's."""

NO_BASELINE = "no score of the baseline"
NO_SCORE = "no score to compare"

_BESIDE = frozenset(column.name for column in ESTIMATES)
_ALIKE = ("measure", "definition", "attribute", "category", "reference")


def against_baseline(estimates: Any, baseline: str, *, factor: str = "generator") -> pl.DataFrame:
    r"""Difference of every score from that of a baseline model.

    Formula
    -------
    :math:`Δμ_m = μ_m - μ_{baseline}`.

    Parameters
    ----------
    estimates
        Estimates of several models, as the measures of captions give them.
    baseline
        Level of ``factor`` to compare with.
    factor
        Column that names the model.

    Returns
    -------
    polars.DataFrame
        Estimates: one row for each row of another model whose measure, definition, further factors,
        attribute, category and reference the baseline has too; ``measure`` ends in ``_delta``,
        ``contrast`` is ``factor`` and ``reference`` the baseline. The interval joins those of the two
        scores by the square-and-add rule (Newcombe's for two Wilson intervals), which takes the models'
        captions as independent; null where either has none.

    Undefined
    ---------
    ``no score of the baseline``; ``no score to compare``: the one or the other is null.

    Raises
    ------
    UsageError
        The baseline is no level of ``factor``.
    DefinitionError
        A measure stands there under two definitions.

    Notes
    -----
    Above 0 says *further from equal shares than the baseline* for most measures, not more harmful: the
    baseline is a model like others. Scores that read too high at small n are not comparable with a
    baseline of fewer captions: 15 against 100 alone moves BA of seven groups by 0.3.

    References
    ----------
    T2I-BiasBench, eq. 25; Newcombe (1998), Statistics in Medicine 17; Zou and Donner (2008), Statistics in
    Medicine 27.

    Examples
    --------
    >>> import polars as pl
    >>> rows = pl.DataFrame({
    ...     "measure": "cbs", "definition": "paper", "generator": ["a", "b"], "prompt": "doctor",
    ...     "value": [0.5, 0.2], "low": [0.4, 0.1], "high": [0.6, 0.3],
    ... })
    >>> against_baseline(rows, "b").select("measure", "generator", pl.col("value").round(6)).rows()
    [('cbs_delta', 'a', 0.3)]
    """
    frame = to_polars(estimates, what="estimates")
    require_one_definition(frame)
    if factor not in frame.columns:
        raise UsageError(f"against_baseline: estimates have no column {factor!r}")
    levels = frame[factor].cast(pl.String).unique().drop_nulls().sort().to_list()
    if baseline not in levels:
        hint = did_you_mean(baseline, levels, otherwise=f"found {', '.join(map(repr, levels))}")
        raise UsageError(f"against_baseline: no {factor} {baseline!r}; {hint}")
    factors = [name for name in frame.columns if name not in _BESIDE]
    if factor not in factors:
        factors = [factor, *factors]
    alike = [name for name in (*_ALIKE, *factors) if name in frame.columns and name != factor]
    known = {tuple(row[name] for name in alike): row for row in _of(frame, factor, baseline)}
    rows = []
    for row in frame.iter_rows(named=True):
        if row[factor] == baseline or row["measure"].endswith(DELTA):
            continue
        other = known.get(tuple(row[name] for name in alike))
        rows.append(_difference(row, other, baseline, factor, factors))
    return estimate_frame(rows, factors=factors)


def _of(frame: pl.DataFrame, factor: str, level: str) -> list[dict[str, Any]]:
    return list(frame.filter(pl.col(factor) == level).iter_rows(named=True))


def _difference(
    row: dict[str, Any], other: dict[str, Any] | None, baseline: str, factor: str, factors: list[str]
) -> dict[str, Any]:
    kept = ("definition", "attribute", "category", "level", "n", "n_excluded", "excluded", "flags")
    made = {name: row.get(name) for name in (*kept, *factors)}
    made |= {
        "measure": f"{row['measure']}{DELTA}",
        "contrast": factor,
        "reference": baseline,
        "n_reference": other.get("n") if other else None,
        "source": "T2I-BiasBench, eq. 25",
    }
    if other is None or other["value"] is None:
        return {**made, "undefined": NO_BASELINE}
    if row["value"] is None:
        return {**made, "undefined": row.get("undefined") or NO_SCORE}
    made["value"] = row["value"] - other["value"]
    ends = [one.get(name) for one in (row, other) for name in ("low", "high")]
    if any(end is None for end in ends):
        return made
    low1, high1, low2, high2 = ends
    below = np.hypot(max(0.0, row["value"] - low1), max(0.0, high2 - other["value"]))
    above = np.hypot(max(0.0, high1 - row["value"]), max(0.0, other["value"] - low2))
    return made | {
        "low": float(made["value"] - below),
        "high": float(made["value"] + above),
        "method": "interval: square-and-add of the two intervals",
    }
