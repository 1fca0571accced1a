"""The stereotype score: by how much an attribute is shown more often than it is true of the concept."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from stereotrope.errors import UsageError
from stereotrope.measure.cell_reading import read_cells
from stereotrope.measure.cells import NO_LABEL, Cell, as_names, bound_columns, share_row
from stereotrope.measure.contract import PAPER, register
from stereotrope.measure.definitions import check_definition
from stereotrope.measure.estimates import estimate_frame, with_q_values
from stereotrope.measure.named import named_values
from stereotrope.measure.stereotypes.true_shares import (
    call_with_true_shares,
    checked_true_shares,
    has_true_shares,
)
from stereotrope.measure.tidy import as_number, as_text, factor_names, reason_given, to_polars
from stereotrope.stats import (
    above_interval,
    above_p,
    expected_above,
    normal_quantile,
    posterior_log_odds,
    special,
)
from stereotrope.tables import N_SUBJECTS, NOT_VALUES

POSTERIOR = "posterior"
"""Definition that takes all pictures together as evidence of one value."""

NO_TRUE_SHARE = "no true share"
_CONTRADICT = "pictures are certain of opposite values"
_SOURCE = "OASIS, eq. 3"

_Rows = list[dict[str, Any]]


@register(
    suite="oasis",
    bounds=(0.0, 1.0),
    direction="0: shown no more often than it is true; higher: shown more often by so much",
    source="OASIS, definition 1 and eq. 3; Wilson 1927; Zou and Donner 2008",
    needs="labels",
    also=("stereotype_difference", "true_share"),
    own_bounds={"stereotype_difference": (-1.0, 1.0), "true_share": (0.0, 1.0)},
    biased=("stereotype_score",),
    counted=True,
    call=call_with_true_shares,
    due=has_true_shares,
)
def stereotype_score(
    labels: Any,
    reference: Any,
    attribute: str | Sequence[str] | None = None,
    *,
    over: str = "concept",
    value: str = "yes",
    within: Sequence[str] = ("generator",),
    margin: float = 0.0,
    definition: str = PAPER,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""By how much an attribute is shown more often than it is true of a concept, and the signed difference.

    Formula
    -------
    :math:`Ψ = \max(0, P - P^*)`, with :math:`P` the share of the concept's pictures that are labelled with
    the attribute and :math:`P^*` its true share. ``definition="posterior"`` is equation 4:
    :math:`P = Π_i p_i / (Π_i p_i + Π_i (1-p_i))`, with :math:`p_i` the label's ``confidence``.

    Parameters
    ----------
    labels
        Tidy frame as for :func:`stereotrope.measure.share`, with the factors ``over`` and ``within``.
    reference
        A frame with ``over, attribute, reference`` (:math:`P^*`) and ``source``; optional ``category`` (the
        value whose share it is), ``low, high`` (its 95% interval), ``assumed`` and ``year``. In an audit file
        the name of a YAML file of true shares, or of a registry that comes with stereotrope.
    attribute
        One or several; when None those of which a true share is known or a label is ``value``.
    over, value, within
        The factor of concepts; the value that says an attribute is there, where the reference names none;
        the other factors whose combinations are the cells.
    margin, level
        :math:`ζ`: the null hypothesis is :math:`P - P^* ≤ ζ`; nominal coverage.

    Returns
    -------
    polars.DataFrame
        Estimates, three rows a cell, attribute and ``category``. ``stereotype_score``: Ψ in [0, 1] with its
        ``floor`` (what it reads on average where nothing is above), one-sided ``p_value``, the least that
        it could have been (``p_least``: every picture shows the attribute, and each tells as much as one)
        and ``q_value`` (Benjamini–Hochberg over them), :math:`P` being ``numerator`` of ``denominator``.
        ``stereotype_difference``: :math:`P - P^*` in [−1, 1]. ``true_share``: :math:`P^*`. What rests on an
        assumption is flagged ``assumed``. Labels that are missing give bounds as those of a share. What has
        neither a label nor a true share was not asked of a concept, and has no row.

    Undefined
    ---------
    ``no true share``; ``no usable label``; ``no label is …`` (see :func:`stereotrope.measure.share`); of the
    posterior ``pictures are certain of opposite values``, as 0-or-1 labels nearly always are. Ψ has no
    interval where the whole interval of the difference is at most 0.

    Notes
    -----
    Ψ says nothing of an attribute that is shown too rarely: look at the difference. A true share that is only
    ``assumed`` makes Ψ an assumption as well. The interval squares and adds Wilson's, at the effective number
    where prompts are the units (see :func:`stereotrope.measure.share`), and that of :math:`P^*`. p is exact
    for pictures as units and a known :math:`P^*`; an uncertain one is averaged over.
    The posterior asks whether *all* pictures show the attribute or none does. It runs to 0 or 1 over more
    than a few pictures, so that it tells no shares apart: the paper's tables are shares.

    References
    ----------
    Dehdashtian et al. (2025), OASIS, ICLR, definition 1, eq. 3 and 4; Zou and Donner (2008), Statistics in
    Medicine 27; Clopper and Pearson (1934), Biometrika 26.

    Examples
    --------
    >>> import polars as pl
    >>> labels = pl.DataFrame({
    ...     "image_id": [str(i) for i in range(40)], "attribute": "beard", "generator": "m",
    ...     "value": ["yes"] * 34 + ["no"] * 6, "concept": "Iranian person",
    ... })
    >>> known = pl.DataFrame({
    ...     "concept": ["Iranian person"], "attribute": "beard", "reference": 0.34, "source": "a survey",
    ... })
    >>> found = stereotype_score(labels, known)
    >>> found.select("measure", pl.col("value").round(2)).rows()
    [('stereotype_score', 0.51), ('stereotype_difference', 0.51), ('true_share', 0.34)]
    """
    normal_quantile(level)
    check_definition(definition, "stereotype_score", (PAPER, POSTERIOR))
    above_p(1, 1, 0.0, 0.0, 0.0, margin=margin)
    by = (*factor_names(within, measure="stereotype_score", taken=(over,)), over)
    known = checked_true_shares(reference, over)
    frame = to_polars(labels, needs=("attribute", "value", *by))
    names = as_names(attribute, what="attribute") or _attributes(frame, known, value)
    asked = {name: _categories(known, name, value) for name in names}
    counted = list(dict.fromkeys(category for listed in asked.values() for category in listed))
    meant = named_values(frame, names, counted, None)
    spelt = dict(zip(counted, meant.wanted, strict=True))
    odds = _posterior(meant.labels, by, spelt) if definition == POSTERIOR else None
    rows: _Rows = []
    for cell in read_cells(meant.labels, by=by, attributes=names, argument="within") if names else ():
        for category in asked[cell.attribute]:
            shared = {
                **share_row(cell, by),
                "definition": definition,
                "category": category,
                "level": level,
                "source": _SOURCE if odds is None else "OASIS, eq. 3 and 4",
            }
            told = true_share_of(known, over, shared)
            if told is None and not cell.n:
                continue
            why = meant.why_not(cell.attribute, shared) or (None if cell.n else NO_LABEL)
            of = None if odds is None else odds.get((*cell.key, cell.attribute, spelt[category]), np.nan)
            rows += _rows(cell, spelt[category], shared, told, why, margin, of)
    return with_q_values(estimate_frame(rows, factors=by), "measure")


def _attributes(frame: pl.DataFrame, known: pl.DataFrame, value: str) -> tuple[str, ...]:
    """Attributes of which a true share is known, or that some picture is labelled to have."""
    labelled = frame.select("attribute", pl.col("value").cast(pl.String)).unique()
    has = labelled.filter(
        (pl.col("value") == value) | pl.col("attribute").is_in(known["attribute"].implode())
    )
    return tuple(has["attribute"].drop_nulls().cast(pl.String).unique().sort())


def _categories(known: pl.DataFrame, attribute: str, value: str) -> list[str]:
    """The values of an attribute whose true shares are known; else the one that says it is there."""
    told = known.filter(attribute=attribute)["category"].fill_null(value)
    return told.unique(maintain_order=True).to_list() or [value]


def true_share_of(known: pl.DataFrame, over: str, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """What is known of an attribute in a concept."""
    category = pl.col("category").fill_null(row["category"]) == row["category"]
    found = known.filter(category, pl.col(over) == row[over], pl.col("attribute") == row["attribute"])
    told = found.filter(pl.col("_share").is_not_null())
    return told.row(0, named=True) if told.height else None


def _rows(
    cell: Cell,
    category: str,
    shared: dict[str, Any],
    told: dict[str, Any] | None,
    why: str | None,
    margin: float,
    odds: float | None,
) -> _Rows:
    """Score, signed difference and true share of one attribute in one cell."""
    names = ("stereotype_score", "stereotype_difference", "true_share")
    score, difference, true = ({**shared, "measure": name} for name in names)
    for column in ("n", "n_excluded", "excluded"):
        true[column] = None
    if told is None:
        return [{**row, "undefined": NO_TRUE_SHARE} for row in (score, difference, true)]
    share, low, high = (told[name] for name in ("_share", "_low", "_high"))
    assumed = {"assumed": told["_assumed"]}
    true |= {"value": share, "flags": assumed, "source": told["_told"]}
    true |= {"low": low, "high": high} if low < high else {"level": None}
    both = [score, difference]
    for row in both:
        row["source"] = f"{shared['source']}; true share: {told['_told']}"
    if odds is not None and odds != odds:
        why = why or _CONTRADICT
    if why is not None:
        return [*({**row, "undefined": why, "flags": assumed} for row in both), true]
    if odds is not None:
        away = float(special.expit(odds)) - share
        told_how = {"flags": {**cell.flags, **assumed}, "method": f"log odds of all pictures: {odds:.6g}"}
        return [
            {**score, "value": max(0.0, away), **told_how},
            {**difference, "value": away, **told_how},
            true,
        ]
    return [*_counted(cell, category, both, (share, low, high), margin, assumed), true]


def _counted(
    cell: Cell,
    category: str,
    both: _Rows,
    true: tuple[float, float, float],
    margin: float,
    assumed: Mapping[str, bool],
) -> _Rows:
    """Score and signed difference of a share of pictures."""
    score, difference = both
    share, level = true[0], score["level"]
    k, n = cell.effective(category, level=level)
    low, high = (float(end) for end in above_interval(k, n, *true, level=level))
    away = cell.count(category) / cell.n - share
    counts = {
        "numerator": cell.count(category),
        "denominator": cell.n,
        "flags": {**cell.flags, **assumed},
        "holds_for": cell.claim.holds_for,
    }
    unit = f"effective n {n:.1f} over {len(cell.prompts)} prompts" if cell.claim.clustered else f"n {cell.n}"
    known = "" if true[1] < true[2] else ", the true share as known"
    method = f"Wilson at {unit}{known}; square-and-add"
    bounds = {name: end - share for name, end in bound_columns(category, cell).items()}
    difference |= {**counts, "value": away, "low": low, "high": high, "method": method, **bounds}
    floor = float(expected_above(n, share))
    reach = {"low": max(0.0, low), "high": high} if high > 0 else {"holds_for": cell.claim.holds_for}
    p = above_p(k, n, *true, margin=margin, level=level)
    # Prompts whose pictures are alike count less; how alike is seen, and what could have been must not be.
    least = above_p(cell.n, cell.n, *true, margin=margin, level=level)
    value = max(0.0, away)
    score |= {
        **counts,
        **reach,
        "value": value,
        "p_value": p,
        "p_least": least,
        "floor": floor,
        "excess": value - floor,
    }
    score |= {name: max(0.0, end) for name, end in bounds.items()}
    score["method"] = f"{method}; p: binomial, one-sided, above {margin:g}"
    if share + floor < 1:
        score["adjusted"] = (value - floor) / (1 - share - floor)
    return [score, difference]


def _posterior(labels: pl.DataFrame, by: Sequence[str], spelt: Mapping[str, str]) -> dict[Any, float]:
    """Cell, attribute and value → log odds that every picture shows the value, against that none does."""
    frame = to_polars(labels)
    if N_SUBJECTS in frame.columns:
        raise UsageError(
            "stereotype_score: the posterior needs each picture by itself, and these are counted"
        )
    own = pl.lit(None, pl.Float64)
    if "confidence" in frame.columns:
        own = as_number(frame, "confidence", what="labels", scale=(0.0, 1.0))
    told = frame.select(
        *(as_text(frame, name) for name in (*by, "attribute", "value")),
        _sure=own.fill_null(1.0),
        _why=reason_given(frame),
    ).filter(pl.col("_why").is_null(), pl.col("value").is_not_null(), ~pl.col("value").is_in(NOT_VALUES))
    found = {}
    for value in spelt.values():
        p = pl.when(pl.col("value") == value).then("_sure").otherwise(1 - pl.col("_sure"))
        for key, part in told.with_columns(_p=p).group_by(*by, "attribute"):
            found[*key, value] = posterior_log_odds(part["_p"].to_numpy())
    return found
