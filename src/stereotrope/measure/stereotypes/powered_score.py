"""Stereotype scores that people would find, from their labels of some pictures and an annotator's of all."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from stereotrope.measure.contract import PAPER, MeasureCall, register
from stereotrope.measure.estimates import estimate_frame, with_q_values
from stereotrope.measure.setting import RunTables
from stereotrope.measure.shares.powered import (
    FEWEST_LABELLED,
    people_beside,
    powered_numbers,
    powered_row,
)
from stereotrope.measure.shares.sampled import SampledCell, sampled_cells
from stereotrope.measure.stereotypes.score import NO_TRUE_SHARE, true_share_of
from stereotrope.measure.stereotypes.true_shares import checked_true_shares
from stereotrope.measure.tidy import factor_names
from stereotrope.measure.units import claim_of
from stereotrope.stats import above_interval, above_p

_SOURCE = "OASIS, eq. 3; Angelopoulos, Duchi and Zrnic 2023 (PPI++)"
_BESIDE = "these rows stand beside stereotype_score where an annotator has `reference: true`; write it there"
_Rows = list[dict[str, Any]]


def _beside_score(call: MeasureCall | None, tables: RunTables) -> pl.DataFrame | None:
    """Beside raw stereotype scores, powered ones where a reference labelled some of the pictures."""
    if call is None or call.name != "stereotype_score":
        return None
    given, true = call.arguments, call.tables["reference"]
    if given.get("definition", PAPER) != PAPER:
        return None
    more = {name: given[name] for name in ("over", "value", "level", "margin") if given.get(name) is not None}
    within = list(dict.fromkeys([*given.get("within", ("generator",)), "annotator"]))
    made = []
    for labels, people, known in people_beside(call, tables, call.name):
        if names := [name for name in known if name in set(true["attribute"])]:
            made.append(ppi_stereotype_score(labels, people, names, reference=true, within=within, **more))
    return pl.concat(made, how="diagonal") if made else None


@register(
    suite="oasis",
    bounds=(0.0, 1.0),
    direction="higher: people would find it shown more often than it is true, by so much",
    source=f"{_SOURCE}; Zou and Donner 2008",
    also=("ppi_stereotype_difference",),
    own_bounds={"ppi_stereotype_difference": (-1.0, 1.0)},
    closed={"people": _BESIDE, "reference": _BESIDE},
    unasked=_beside_score,
)
def ppi_stereotype_score(
    labels: Any,
    people: Any,
    attribute: str | Sequence[str],
    *,
    reference: Any,
    over: str = "concept",
    value: str = "yes",
    within: Sequence[str] = ("generator",),
    margin: float = 0.0,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""By how much people would find an attribute shown more often than it is true of a concept.

    Formula
    -------
    :math:`Ψ = \max(0, θ - P^*)`, with :math:`θ` the share that people would find
    (:func:`stereotrope.measure.ppi_share`) and :math:`P^*` the true share.

    Parameters
    ----------
    labels, people
        As ``labels`` and ``reference`` of :func:`stereotrope.measure.ppi_share`.
    attribute, reference, over, value, within, margin, level
        As for :func:`stereotrope.measure.stereotype_score`.

    Returns
    -------
    polars.DataFrame
        Two rows a cell, attribute and ``category``: ``ppi_stereotype_score``, Ψ in [0, 1], and
        ``ppi_stereotype_difference``, :math:`θ - P^*` in [−1, 1], with intervals that square and add Wilson's
        at the effective number of labels and that of :math:`P^*`. ``n`` counts pictures with a usable label
        of the annotator, ``n_reference`` those of them that people labelled. What rests on an assumption is
        flagged ``assumed``. Ψ has the one-sided ``p_value`` of :func:`stereotrope.measure.stereotype_score`
        at the effective number of labels, and ``q_value`` (Benjamini–Hochberg over them).

    Undefined
    ---------
    ``no true share``, and where :func:`stereotrope.measure.ppi_share` is. Ψ has no interval where the whole
    interval of the difference is at most 0.

    Notes
    -----
    As for :func:`stereotrope.measure.ppi_share`: right whatever the annotator's errors, if people labelled a
    random part of the pictures. A classifier that finds beards too often makes a stereotype of them; this
    score does not have it. Ψ reads above 0 by chance as the raw one does: look at its interval and p. In 45
    settings of 20 to 200 labels the test at 5% rejected a true null in 0 to 6% of samples, in one 7% (a share
    of 0.05 and an annotator that seldom errs).

    References
    ----------
    Dehdashtian et al. (2025), OASIS, ICLR, eq. 3; Angelopoulos, Duchi and Zrnic (2023), PPI++,
    arXiv:2311.01453; Zou and Donner (2008), Statistics in Medicine 27.

    Examples
    --------
    >>> import polars as pl
    >>> said = pl.DataFrame({
    ...     "image_id": [str(i) for i in range(400)], "attribute": "beard", "generator": "m",
    ...     "value": ["yes", "no"] * 200, "concept": "Iranian person",
    ... })
    >>> people = said.head(40).with_columns(value=pl.Series(["yes", "no", "no", "no"] * 10))
    >>> known = pl.DataFrame({
    ...     "concept": ["Iranian person"], "attribute": "beard", "reference": 0.34, "source": "a survey",
    ... })
    >>> found = ppi_stereotype_score(said, people, "beard", reference=known)
    >>> found.select("measure", pl.col("value").round(2)).rows()
    [('ppi_stereotype_score', 0.0), ('ppi_stereotype_difference', -0.09)]
    """
    by = (*factor_names(within, measure="ppi_stereotype_score", taken=(over,)), over)
    known = checked_true_shares(reference, over)
    rows: _Rows = []
    for name in [attribute] if isinstance(attribute, str) else attribute:
        told = known.filter(attribute=name)["category"].fill_null(value).unique(maintain_order=True)
        categories = told.to_list() or [value]
        for cell, _ in sampled_cells(labels, people, name, categories, None, by, "within"):
            for category in categories:
                rows += _rows(cell, category, known, over, by, margin, level)
    return with_q_values(estimate_frame(rows, factors=by), "measure")


def _rows(
    cell: SampledCell,
    category: str,
    known: pl.DataFrame,
    over: str,
    by: Sequence[str],
    margin: float,
    level: float,
) -> _Rows:
    """Score and signed difference of one attribute in one cell."""
    shared = {**powered_row(cell, by, level), "category": category, "n_reference": cell.n_labelled}
    told = true_share_of(known, over, shared)
    if told is None:
        shared["undefined"] = NO_TRUE_SHARE
    else:
        shared |= {
            "source": f"{_SOURCE}; true share: {told['_told']}",
            "flags": {"assumed": told["_assumed"]},
        }
    score, difference = ({**shared, "measure": f"ppi_stereotype_{kind}"} for kind in ("score", "difference"))
    if told is None or cell.n_labelled < FEWEST_LABELLED or cell.trouble is not None:
        return [score, difference]
    claim = claim_of(cell.sampled)
    share = cell.powered([category], claim, level)
    true = (told["_share"], told["_low"], told["_high"])
    k, n = share.value * share.n_effective, share.n_effective
    ends = above_interval(k, n, *true, level=level)
    p = above_p(float(k[0]), float(n[0]), *true, margin=margin, level=level)
    away = share.value - told["_share"]
    numbers = powered_numbers([cell], claim, "Wilson", [share], away, *ends, [category])[category]
    numbers["flags"] = {**numbers["flags"], **shared["flags"]}
    numbers["method"] += "; square-and-add"
    low, high = float(ends[0][0]), float(ends[1][0])
    reach = {"low": max(0.0, low), "high": high} if high > 0 else {"low": None, "high": None}
    return [
        {
            **score,
            **numbers,
            **reach,
            "value": max(0.0, float(away[0])),
            "p_value": p,
            "method": f"{numbers['method']}; p: binomial, one-sided, above {margin:g}",
        },
        {**difference, **numbers},
    ]
