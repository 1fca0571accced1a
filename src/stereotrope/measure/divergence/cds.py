"""Cross-demographic disparity: how far the groups of a dimension are from each other."""

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import Any

import polars as pl

from stereotrope.measure.cells import require_text
from stereotrope.measure.contract import register
from stereotrope.measure.definitions import check_definition
from stereotrope.measure.divergence.coded import code_labels
from stereotrope.measure.divergence.rows import Comparison, compare_groups
from stereotrope.measure.divergence.uncertainty import Resampling
from stereotrope.measure.estimates import estimate_frame, with_q_values
from stereotrope.measure.tidy import factor_names
from stereotrope.tables import ALL_ATTRIBUTES


@register(
    suite="objects",
    bounds=(0.0, 1.0),
    direction="0: groups look alike; 1: no value in common; compare with the floor, never with 0",
    source="SODA, eq. 2",
    subsets=True,
)
def cds(
    labels: Any,
    group: str = "group",
    *,
    dimension: str | None = "dimension",
    baseline: str | None = "base",
    within: Sequence[str] = ("generator", "object"),
    attributes: Collection[str] | None = None,
    pairs: bool = False,
    definition: str = "paper",
    level: float = 0.95,
    n_permutations: int = 10_000,
    n_bootstrap: int = 2_000,
    seed: int = 0,
) -> pl.DataFrame:
    r"""Cross-demographic disparity (CDS): how far the groups of a dimension are from each other.

    Formula
    -------
    :math:`CDS(G) = \frac{1}{|A|} \sum_{a \in A} \binom{|G|}{2}^{-1} \sum_{g < h} JS(P^a_g, P^a_h)` in
    bits: for each attribute the mean over unordered pairs of groups, then the mean over attributes.

    Parameters
    ----------
    labels
        Tidy frame as for :func:`stereotrope.measure.bds`.
    group, dimension
        The factor compared, and the factor that says which of its levels belong together. With
        ``dimension=None`` all groups but the baseline form one dimension.
    baseline
        Level that is no group of any dimension; None when there is none.
    within
        Factors held equal: one score for each combination of their levels and dimension.
    attributes
        Attributes to average over; all but those of a picture's quality when None.
    pairs
        Also give each pair of groups: the one in the column ``group`` and the other as ``reference``.
    definition
        ``paper`` or ``released``: the same divergence in bits, in [0, 1]. The name is kept so that
        rows stand with the BDS and VAC of their own definition only.
    level, n_permutations, n_bootstrap, seed
        As for :func:`stereotrope.measure.bds`.

    Returns
    -------
    polars.DataFrame
        For each cell and dimension one row with ``attribute`` = ``all`` and one an attribute. ``value`` lies
        in [0, 1]; 0 when all groups look alike. ``floor`` is the mean of the closed-form floors of the pairs,
        each from the pair's own pooled counts (over prompts that of shuffled ones). ``p_value`` is against
        exchangeable images among all groups of the dimension, as that of :func:`stereotrope.measure.bds`: of
        more than two groups the divergence is tested by shuffles, and the value that shifts most exactly,
        each group against the others. ``n`` counts the images of all groups. ``q_value`` has four families:
        mean or single attribute, dimension or pair.

    Undefined
    ---------
    ``fewer than two groups with a usable label``; ``no attribute with a usable label of two groups``. A group
    without a usable label of an attribute is left out of that attribute's pairs, flagged ``few_groups``; an
    attribute undefined in a cell is left out of its mean, flagged ``few_attributes``.

    Notes
    -----
    Interval, floor, p and adjusted score, over prompts and seeds too, are to be read as those of
    :func:`stereotrope.measure.bds`.

    References
    ----------
    SODA, eq. 2 (cross-demographic disparity); Lin (1991), eq. 4.1.

    Examples
    --------
    >>> import polars as pl
    >>> labels = pl.DataFrame({
    ...     "image_id": [str(i) for i in range(40)], "attribute": "product_colour",
    ...     "value": ["grey"] * 20 + ["pink"] * 20, "generator": "m", "object": "car",
    ...     "dimension": "gender", "group": ["men"] * 20 + ["women"] * 20,
    ... })
    >>> row = cds(labels, n_permutations=999, n_bootstrap=500).row(0, named=True)
    >>> row["dimension"], row["value"], row["adjusted"], row["p_value"] == row["p_least"]
    ('gender', 1.0, 1.0, True)
    """
    check_definition(definition, "cds")
    if baseline is not None:
        require_text(baseline, what="cds: baseline")
    extra = (dimension,) if dimension is not None else ()
    factors = (*factor_names(within, measure="cds", taken=(group, dimension)), *extra)
    how = Resampling("cds", level, n_permutations, n_bootstrap, seed)
    coded = code_labels(labels, factors=factors, group=group, attributes=attributes)
    comparisons: list[Comparison] = []
    for scope in coded.scopes():
        if dimension is not None and scope.levels[-1] is None:
            continue
        names = sorted(name for name in scope.groups if name != baseline)
        # All groups together, and each pair under its names.
        compared: list[tuple[str, ...]] = [(), *(combinations(names, 2) if pairs else ())] if names else []
        for sides in compared:
            images = [scope.groups[name] for name in sides or names]
            row = {
                "measure": "cds",
                "definition": definition,
                **dict(zip(factors, scope.levels, strict=True)),
                **dict(zip((group, "reference"), sides, strict=False)),
                "contrast": group,
                "source": "SODA, eq. 2; Lin 1991, eq. 4.1",
            }
            comparisons.append(Comparison(row, images, scope.attributes, reference=bool(sides)))
    rows = compare_groups(coded, comparisons, how)
    estimates = estimate_frame(rows, factors=(*factors, group) if pairs else factors)
    families = (pl.col("attribute") == ALL_ATTRIBUTES, pl.col("reference").is_null())
    return with_q_values(estimates, *families)
