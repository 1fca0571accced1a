"""Base versus demographic divergence: how far a group's pictures are from those without a cue."""

import math
from collections.abc import Collection, Sequence
from typing import Any

import polars as pl

from stereotrope.errors import UsageError
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
    direction="0: the cue changes nothing; 1: no value in common; compare with the floor, never with 0",
    source="SODA, eq. 1",
    own_bounds={"released": (0.0, math.sqrt(math.log(2.0)))},
    subsets=True,
)
def bds(
    labels: Any,
    group: str = "group",
    *,
    baseline: str = "base",
    within: Sequence[str] = ("generator", "object"),
    attributes: Collection[str] | None = None,
    definition: str = "paper",
    level: float = 0.95,
    n_permutations: int = 10_000,
    n_bootstrap: int = 2_000,
    seed: int = 0,
) -> pl.DataFrame:
    r"""Base versus demographic divergence (BDS): how far a group is from the prompt without a cue.

    Formula
    -------
    :math:`BDS(g) = \frac{1}{|A|} \sum_{a \in A} JS(P^a_{base}, P^a_g)`, with :math:`P^a` the
    distribution of attribute ``a``'s values and :math:`JS(P, Q) = H((P+Q)/2) - (H(P)+H(Q))/2` in bits.

    Parameters
    ----------
    labels
        Tidy frame, any narwhals-compatible one: ``image_id``, ``attribute``, ``value``, the factor
        columns, and optionally ``excluded`` (a reason, or null).
    group, baseline
        The factor compared, and its level that is the reference. A baseline row that is null in a
        factor of ``within`` serves each of its levels that has no baseline of its own.
    within
        Factors held equal: one score for each combination of their levels and group.
    attributes
        Attributes to average over; all but those of a picture's quality when None.
    definition
        ``paper``: divergence in bits, in [0, 1]. ``released``: mean of the Jensen–Shannon *distance*,
        :math:`\sqrt{JS \cdot \ln 2}` as SciPy has it, in [0, 0.8326].
    level, n_permutations, n_bootstrap, seed
        Nominal coverage; shuffles for p (0: null); resamples for the interval (0: null); seed of all draws.

    Returns
    -------
    polars.DataFrame
        For each cell and group one row with ``attribute`` = ``all`` and one an attribute. ``value`` is 0
        for equal distributions and greatest for disjoint ones. ``floor`` is what it reads at this n when the
        cue does nothing, ``adjusted`` is 0 there and 1 for disjoint distributions, negative by chance below
        the floor. ``p_value`` is against exchangeable images (or prompts, see Notes), of an attribute with
        nothing drawn, and may be as small as it is; ``p_least`` the least that these counts allow.
        ``q_value`` is Benjamini–Hochberg over the rows ``all``, and separately over the single attributes.
        ``n_excluded`` counts labels left out on either side.

    Undefined
    ---------
    ``no usable label`` and ``no usable label of the reference``: the side has none; ``no attribute with a
    usable label of two groups``: both have some, of other attributes. An attribute undefined in a cell is
    left out of that cell's mean, flagged ``few_attributes``; it is no 0.

    Notes
    -----
    Biased upward at small n by about the floor (0.05 to 0.09 bits at 20 images), which differs between
    cells: compare ``excess``, not ``value``. ``adjusted`` is a reading aid: 0 and 1 are what they say, but
    between them it is too high where there are many values (a true 0.44 of 30 reads 0.63 at 20 images, its
    excess 0.35). The interval is of the divergence in the long run on the scale of ``value`` (true 0 lies at
    ``floor``), from below the excess to above the adjusted score (:func:`stereotrope.stats.js_interval`); it
    held it in 0.93 to 1.00 (2 to 60 values, 20 to 400 images). Under ``released`` it is of the score expected
    at this n. Where all images agree, or nearly all, its upper end is the greatest
    divergence that this is compatible with (:func:`stereotrope.stats.greatest_js`). ``low`` lies above
    ``floor`` only where the test agrees (p ≤ (1 − level)/2; over prompts p ≤ 1 − level).

    p of an attribute is Cauchy's combination of the exact mid-p of the divergence
    (:func:`stereotrope.stats.js_tail`) and of the value that shifts most
    (:func:`stereotrope.stats.greatest_shift`); that of ``all`` combines the shuffles of the mean, those of
    the sum of squared positive z, which sees that few attributes differ, and the attributes' p. Of null
    attributes 0.03 to 0.056 had p ≤ 0.05 (2 to 40 values, 12 to 100 images a side); over margins as they come
    0.3 α to 1.12 α had p ≤ α, of the worst margins 1.24 α; of null means of eight attributes 0.051. One of
    eight shifted by 0.5 at 20 images had p ≤ 0.01 in 0.83 of cases, and ``all`` in 0.56; by shuffles of score
    and mean alone 0.76 and 0.15.

    Where each side spans four prompts or more, prompts with several images are the units (``clustered``,
    ``holds_for`` = ``prompts like these``; a frame without ``prompt_id`` cannot tell: ``no_prompt_id``).
    Floor and p are then of shuffled whole prompts, each way once where there are no more than
    ``n_permutations``; where two sides have the same prompts, twelve or more, such as two models, of prompts
    whose sides are exchanged, and what a prompt does to both is no noise. Shuffles of few prompts end early
    (4 and 4: 2/70): there p goes on, by half as many digits at most, by beta-binomial counts of the value
    that shifts most (:func:`stereotrope.stats.beyond_exact`). Prompts of groups that vary unlike could be
    told apart by exchange though all show values as often: p is at least that of their own noise
    (:func:`stereotrope.stats.behrens_fisher_test`). Where groups' prompts differ in their numbers of images
    (up to a quarter; beyond there is no p), it is the greater of that of images and that of prompts' shares.
    The interval is a unified one by the scatter of prompts
    (:func:`stereotrope.stats.cluster_js_interval`; ``released``: a smoothed t bootstrap): one-sided near no
    difference, two-sided further away. Over 4 to 40 prompts a side of 2 to 30 images, correlated by 0 to 0.3,
    it held the true divergence of attributes and of means in 0.92 to 1.00, from eight prompts on in 0.94 to
    0.97 on average, and in 0.95 to 0.99 over four and five. Where such prompts share four seeds or more
    (column ``seed``), what these do to one side alone is noise too: floor, p and interval are of as much more
    of it as pictures of one seed look alike. Over 4 to 20 prompts of four images, p ≤ 0.05 came in 0.02 to
    0.05 of null ones. Where prompts of one side have over 1.25 times as many usable images as those of
    another, shuffled ones are alike no more: floor, interval and p are null, and the row is flagged
    ``unlike_prompts``.

    Values mistaken alike for every group make a divergence smaller and never make one; errors that differ
    between groups may do anything. The authors' scripts average in a missing combination as 0 and call the
    distance a divergence; ``paper`` does neither, ``released`` only the second.

    References
    ----------
    SODA, eq. 1 (base versus demographic divergence); Lin (1991), eq. 4.1; permutation p of Phipson
    and Smyth (2010), eq. 2; Liu and Xie (2020), eq. 1.

    Examples
    --------
    >>> import polars as pl
    >>> labels = pl.DataFrame({
    ...     "image_id": [str(i) for i in range(40)], "attribute": "product_colour",
    ...     "value": ["red", "blue"] * 10 + ["pink"] * 15 + ["blue"] * 5,
    ...     "generator": "m", "object": "car", "group": ["base"] * 20 + ["women"] * 20,
    ... })
    >>> row = bds(labels, n_permutations=999, n_bootstrap=500).row(0, named=True)
    >>> row["group"], row["attribute"], round(row["value"], 3), round(row["floor"], 3)
    ('women', 'all', 0.656, 0.038)
    >>> f"{row['p_value']:.0e}"
    '9e-08'
    """
    check_definition(definition, "bds")
    factors = factor_names(within, measure="bds", taken=(group,))
    how = Resampling("bds", level, n_permutations, n_bootstrap, seed, distance=definition == "released")
    coded = code_labels(labels, factors=factors, group=group, attributes=attributes)
    levels = coded.images[group].drop_nulls().unique().sort().to_list()
    if baseline not in levels:
        raise UsageError(
            f"bds: no row has {group} = {baseline!r}; found {', '.join(map(repr, levels)) or 'no level'}; "
            "name the reference with baseline="
        )
    comparisons: list[Comparison] = []
    for scope in coded.scopes(baseline=baseline):
        reference = scope.groups[baseline]
        for name, images in scope.groups.items():
            if name == baseline:
                continue
            row = {
                "measure": "bds",
                "definition": definition,
                **dict(zip(factors, scope.levels, strict=True)),
                group: name,
                "contrast": group,
                "reference": baseline,
                "source": "SODA, eq. 1; Lin 1991, eq. 4.1",
            }
            comparisons.append(Comparison(row, (images, reference), scope.attributes, reference=True))
    estimates = estimate_frame(compare_groups(coded, comparisons, how), factors=(*factors, group))
    return with_q_values(estimates, pl.col("attribute") == ALL_ATTRIBUTES)
