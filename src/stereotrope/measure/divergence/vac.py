"""Visual attribute concentration: how uniform the pictures of one condition are."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import UsageError
from stereotrope.measure.cells import NO_LABEL, SMALL_N, Key
from stereotrope.measure.contract import register
from stereotrope.measure.definitions import check_definition
from stereotrope.measure.divergence.coded import CodedLabels, CodedScope, Codes, Ints, code_labels
from stereotrope.measure.divergence.concentration import Scored, Scoring, ends, score, together
from stereotrope.measure.divergence.leave_outs import LeaveOuts
from stereotrope.measure.divergence.scores import parts_by
from stereotrope.measure.divergence.value_lists import ValueLists, read_value_lists
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.pace import paced
from stereotrope.measure.tidy import factor_names, require_whole
from stereotrope.measure.units import SEEDS_COUNTED, Claim, units_of
from stereotrope.stats import normal_quantile, resampled_counts, special
from stereotrope.stats.arrays import Floats
from stereotrope.tables import ALL_ATTRIBUTES

_DEFINITIONS = ("paper", "capped", "released")
"""``capped``: H_max is of as many values as there are images, where the list is longer."""

CORRECTED = "vac_chao_shen"
RAREFIED = "vac_rarefied"
"""What stands for the excess of VAC, which has no floor by shuffling: what so many pictures would read."""

_DROPPED = 0.05
"""Scores under this are dropped by the authors' released script."""

ONE_VALUE = "only one value is possible"
ONE_IMAGE = "a single image shows no concentration"
LISTED = "values listed"
DROPPED = "under 0.05: dropped by the released definition"


@dataclass(frozen=True)
class _Values:
    """How many values an attribute can take, and who says so."""

    lists: ValueLists
    parting: tuple[str, ...]
    """Factors that part the values seen of an attribute without a list."""
    pools: Mapping[Key, Ints]
    """Levels of these → rows of the images that share them."""

    def of(
        self, coded: CodedLabels, codes: Codes, column: int, levels: Mapping[str, str | None], how: Scoring
    ) -> tuple[int, str]:
        if how.released:
            return len(np.unique(codes[codes >= 0])), "values seen in the condition"
        listed = self.lists.of(coded.attributes[column], levels)
        if listed is not None:
            return len(listed), LISTED
        everyone = coded.codes[self.pools[tuple(levels[name] for name in self.parting)], column]
        return len(np.unique(everyone[everyone >= 0])), "values seen in the cell"


@register(
    suite="objects",
    bounds=(0.0, 1.0),
    direction="0: all values equally often; 1: one value only; too high at small n",
    source="SODA, eq. 3",
    also=(CORRECTED, RAREFIED),
    own_bounds={CORRECTED: (None, 1.0), RAREFIED: (None, 1.0)},
    subsets=True,
)
def vac(
    labels: Any,
    group: str = "group",
    *,
    within: Sequence[str] = ("generator", "object"),
    attributes: Collection[str] | None = None,
    taxonomy: Mapping[str, Sequence[str]] | Any | None = None,
    pooled: Sequence[str] = ("phrasing", "mitigation"),
    pictures: int = 10,
    definition: str = "paper",
    level: float = 0.95,
    n_bootstrap: int = 2_000,
    seed: int = 0,
) -> pl.DataFrame:
    r"""Visual attribute concentration (VAC): how far a condition's pictures share few values.

    Formula
    -------
    :math:`VAC = \frac{1}{|A|} \sum_{a \in A} \left(1 - H(P^a) / H^a_{max}\right)`, with
    :math:`H^a_{max} = \log_2 K_a`. Rarefied to :math:`m` pictures: :math:`1 - E_m[H] / E_m[H_{max}]`, with
    the entropy expected of :math:`m` of the pictures, and that of :math:`m` draws from :math:`K_a` equally
    frequent values of a list, or from values without end (:math:`\log_2 m`) where there is none.

    Parameters
    ----------
    labels
        Tidy frame as for :func:`stereotrope.measure.bds`.
    group
        Factor whose levels, baseline included, each get a score.
    within
        Factors held equal: one score for each combination of their levels and group.
    attributes
        Attributes to average over; all but those of a picture's quality when None.
    taxonomy
        Value lists of closed attributes: attribute → values, or a frame with one row a value,
        ``attribute``, ``value`` and any of ``within`` that the list is for (null: every level).
        :math:`K_a` is the length of the list, and a value outside it is left out as ``invalid``.
    pooled
        Factors that do not part the values of an attribute without a list: there :math:`K_a` is the number
        of values seen in the same combination of the other factors of ``within``, over all groups and over
        all levels of these, so that scores of two phrasings have one scale. A factor that is null for
        some images, such as the phrasing that a baseline has not, does not part them either.
    pictures
        The :math:`m` that scores are rarefied to, at least 2.
    definition
        ``paper``: as above. ``capped``: :math:`H^a_{max} = \log_2 \min(K_a, n_a)`, since n images show no
        more values than that. ``released``: :math:`K_a` is the number of values seen in the condition itself
        (one value scores 1), and scores under 0.05 are dropped.
    level, n_bootstrap, seed
        Nominal coverage; resamples of the interval where pictures are the units (0: null, whatever the units
        are); seed of the resamples.

    Returns
    -------
    polars.DataFrame
        For each cell and group one row with ``attribute`` = ``all`` and one an attribute. ``value`` lies in
        [0, 1]: 0 when all values are equally frequent, 1 when all images agree. But under ``released`` each
        row is followed by one of ``vac_chao_shen``, in which the entropy is Chao and Shen's: not bounded
        below by 0, since there may be more values than listed; and one of ``vac_rarefied``, what
        ``pictures`` of them would read, on a scale on which 0 is even and 1 one value, whatever the n: the
        score to compare. It may fall a little below 0 by chance. ``method`` says what :math:`H_{max}` is.

    Undefined
    ---------
    ``no usable label``; ``only one value is possible``: K = 1, the attribute says nothing; ``a single
    image shows no concentration``; under ``released``, ``under 0.05: dropped by the released
    definition``; rarefied, ``fewer than 10 usable labels``. Such an attribute is left out of the mean, which
    is flagged ``few_attributes``.

    Notes
    -----
    Over four prompts or more that have several pictures these are the units (``clustered``, ``holds_for`` =
    ``prompts like these``; a frame without ``prompt_id`` cannot tell: ``no_prompt_id``); of fewer prompts
    pictures are, and intervals speak of ``these prompts``, as does a mean over attributes of which one is
    seen in fewer. Pictures of one prompt are alike, which makes them look concentrated: over prompts
    ``vac_rarefied`` is less its jackknife's bias, and is what ``pictures`` of as many prompts read (at most
    0.03 off; without, up to 0.12 too high over four prompts that correlate by 0.3). Both intervals are there
    the t interval of the jackknife that leaves out each prompt in turn, on the logit scale, with what the
    score's curve adds in the dimensions in which prompts differ; where labels but the most frequent are few,
    the lower end is at most the score at the greatest share that they may have
    (:func:`stereotrope.stats.cluster_share_interval`). Over 4 to 20 prompts of 5 to 20 pictures, 2 to 8
    values of ten shapes, correlated by 0, 0.1 and 0.3, they covered 0.92 to 1.00 of single attributes (over 4
    and 6 prompts 0.99 and 0.98 on average, over 10 and 20 0.98 and 0.97). ``vac_rarefied`` has none where
    without one of the prompts fewer than ``pictures`` labels are left. All reach further where four prompts
    or more share four seeds or more (:class:`stereotrope.stats.Across`); such scores read a little high
    (``vac_rarefied`` by 0.02 over five seeds that explain 0.2 of what varies). Of independent pictures: At
    small n VAC reads too high (0.07 at 20 images of 5 equally frequent values), and where more values are
    possible than there are images it cannot reach 0. Its interval is of the score expected at this n, and no
    more: score ± t times the bootstrap's standard deviation and √(n/(n−1)). ``vac_chao_shen`` has no
    interval: what its correction leaves is more than that shows (coverage of 0.01 to 1.00 of the true value,
    for 3 to 200 values). ``vac_rarefied`` has no bias then. Its interval is the t interval of the bootstrap's
    standard deviation on the logit scale, ending above at 1.3 times its reach at most; it held what
    ``pictures`` of the population read in 0.93 to 1.00 of nine in ten settings, 0.88 in the worst (3 to 200
    values of four shapes, 10 to 200 images). Where all images agree, lower ends are the score at
    :math:`(1-u)^n = (1 - level)/2`, with the share u spread evenly over the other values.

    References
    ----------
    SODA, eq. 3 (visual attribute concentration); Chao and Shen (2003), eq. 8; Hurlbert (1971), Ecology 52.

    Examples
    --------
    >>> import polars as pl
    >>> labels = pl.DataFrame({
    ...     "image_id": [str(i) for i in range(40)], "attribute": "style",
    ...     "value": ["old", "new"] * 10 + ["new"] * 20,
    ...     "generator": "m", "object": "car", "group": ["base"] * 20 + ["women"] * 20,
    ... })
    >>> found = vac(labels, taxonomy={"style": ["old", "new"]}, n_bootstrap=500)
    >>> found.filter(pl.col("attribute") == "all", pl.col("measure") == "vac")["value"].to_list()
    [0.0, 1.0]
    """
    check_definition(definition, "vac", _DEFINITIONS)
    require_whole("vac", n_bootstrap=n_bootstrap, seed=seed)
    if pictures < 2:
        raise UsageError(f"vac: pictures must be at least 2, found {pictures}: one shows no concentration")
    normal_quantile(level)
    factors = factor_names(within, measure="vac", taken=(group,))
    lists = read_value_lists(taxonomy, within=factors, measure="vac")
    over = factor_names(pooled, measure="vac", taken=(group,), what="pooled")
    coded = code_labels(labels, factors=factors, group=group, attributes=attributes, lists=lists)
    how, values = (
        Scoring(definition, level, n_bootstrap, seed, pictures),
        _Values(lists, *_pools(coded, over)),
    )
    rows: list[dict[str, Any]] = []
    for scope in paced(list(coded.scopes())):
        levels = dict(zip(factors, scope.levels, strict=True))
        for name, images in scope.groups.items():
            row = {"definition": definition, **levels, group: name, "level": level}
            rows += [row | numbers for numbers in _condition(coded, scope, images, levels, values, how)]
    return estimate_frame(rows, factors=(*factors, group))


def _pools(coded: CodedLabels, over: Sequence[str]) -> tuple[tuple[str, ...], dict[Key, Ints]]:
    compared = coded.images.with_row_index("_row").drop_nulls(coded.group)
    parting = tuple(name for name in coded.factors if name not in over and not compared[name].null_count())
    pools = {tuple(levels.values()): part["_row"] for levels, part in parts_by(compared, parting)}
    return parting, {levels: rows.to_numpy().astype(np.int64) for levels, rows in pools.items()}


def _condition(
    coded: CodedLabels,
    scope: CodedScope,
    images: Ints,
    levels: Mapping[str, str | None],
    values: _Values,
    how: Scoring,
) -> list[dict[str, Any]]:
    """Rows of one condition: the mean over attributes, then each attribute."""
    columns = scope.attributes
    claim, claims = _claims(coded, images, columns)
    of = partial(_scored, coded, images, columns, levels=levels, values=values, how=how)
    single = of([one.clustered for one in claims])
    used = [result is not None for _, result in single]
    scored = [(row, result) for row, result in single if result is not None]
    mine = [one for one, there in zip(claims, used, strict=True) if there]
    claim = replace(claim, prompts=all(one.prompts for one in mine or claims))
    mean = _counted(coded, images, columns, columns[used] if scored else columns)
    few = mean["n"] < SMALL_N or any(row["n"] < SMALL_N for row, _ in scored)
    mean |= {
        "attribute": ALL_ATTRIBUTES,
        "method": "H_max as of each attribute",
        "flags": {"few_attributes": not all(used), "small_n": few},
    }
    mean_score = None
    if scored:
        # Where some attribute is seen in too few prompts, pictures are the units of all.
        mixed = not claim.prompts and any(one.clustered for one in mine)
        every = of([False] * len(columns)) if mixed else single
        mean_score = together([result for _, result in every if result is not None])
    else:
        mean["undefined"] = "; ".join(sorted({row["undefined"] for row, _ in single})) or NO_LABEL
    rows = []
    parts = [(columns, mean, mean_score), *((columns[[at]], *one) for at, one in enumerate(single))]
    for (some, row, result), one in zip(parts, [claim, *claims], strict=True):
        row["flags"] |= one.flags
        reach = _reach(coded, images, some, result, one, how.level)
        rows += _rows(row, result, how, reach, one)
    return rows


def _claims(coded: CodedLabels, images: Ints, columns: Ints) -> tuple[Claim, list[Claim]]:
    """What the units of a condition are, and those of each attribute."""
    labelled = coded.labelled(images, columns)
    some = np.asarray(labelled.any(axis=1))
    claim, *claims = (units_of(coded.prompts[images[used]])[0] for used in (some, *labelled.T))
    dependent = claim.dependent or coded.across(images, some) is not None
    return replace(claim, dependent=dependent), [replace(one, dependent=dependent) for one in claims]


def _scored(
    coded: CodedLabels,
    images: Ints,
    columns: Ints,
    whole: Sequence[bool],
    levels: Mapping[str, str | None],
    values: _Values,
    how: Scoring,
) -> list[tuple[dict[str, Any], Scored | None]]:
    """Each attribute with its score; ``whole``: where prompts are left out, else images are drawn again."""
    own = coded.codes[np.ix_(images, columns)]
    drawn: list[NDArray[np.int32] | None] = [None] * len(columns)
    if how.n_bootstrap and not all(whole):
        drawn = list(resampled_counts(own, n_resamples=how.n_bootstrap, seed=how.seed))
    prompts = np.unique(coded.prompts[images], return_inverse=True)[1].astype(np.int64)
    return [
        _attribute(
            coded, images, column, LeaveOuts.of(codes, prompts) if left else counts, levels, values, how
        )
        for column, codes, left, counts in zip(columns.tolist(), own.T, whole, drawn, strict=True)
    ]


def _reach(
    coded: CodedLabels, images: Ints, columns: Ints, result: Scored | None, claim: Claim, level: float
) -> float:
    """How many times as far intervals reach with what seeds do; 0 where prompts share none."""
    labelled = np.asarray(coded.labelled(images, columns).any(axis=1))
    across = coded.across(images, labelled) if result is not None else None
    if result is None or across is None:
        return 0.0
    of = result.moved

    def moved(weights: Floats) -> Floats:
        whole = np.ones((len(labelled), weights.shape[1]))
        whole[labelled] = weights
        return np.asarray(of(whole)[labelled])

    those: dict[str, Any] = {"level": level, "of_members": not claim.clustered}
    reach = across.reach(moved(np.ones((labelled.sum(), 1)))[:, 0], **those)
    sd = result.sd[2]
    return float(np.hypot(reach, across.bend(moved, **those) / sd)) if sd > 0 else reach


def _attribute(
    coded: CodedLabels,
    images: Ints,
    column: int,
    drawn: NDArray[np.int32] | LeaveOuts | None,
    levels: Mapping[str, str | None],
    values: _Values,
    how: Scoring,
) -> tuple[dict[str, Any], Scored | None]:
    codes = coded.codes[images, column]
    n_values, where = values.of(coded, codes, column, levels, how)
    row = _counted(coded, images, np.array([column]), np.array([column]))
    n = row["n"]
    row |= {
        "attribute": coded.attributes[column],
        "flags": {"small_n": n < SMALL_N},
        "method": f"H_max = log2 {how.most(n_values, max(n, 1))}: {n_values} {where}, of which {n} images "
        f"could show {min(n, n_values)}",
    }
    if n == 0:
        return {**row, "undefined": NO_LABEL}, None
    if n_values == 1 and not how.released:
        return {**row, "undefined": ONE_VALUE}, None
    if n == 1:
        return {**row, "undefined": ONE_IMAGE}, None
    result = score(codes, drawn, n_values, how, listed=where == LISTED)
    if how.released and result.scores[0, 0] < _DROPPED:
        return {**row, "undefined": DROPPED}, None
    return row, result


def _counted(coded: CodedLabels, images: Ints, columns: Ints, used: Ints) -> dict[str, Any]:
    n = int(coded.labelled(images, used).any(axis=1).sum())
    return {"n": n, "excluded": coded.excluded(images, columns)}


def _rows(
    row: Mapping[str, Any], result: Scored | None, how: Scoring, reach: float, claim: Claim
) -> list[dict[str, Any]]:
    """The row of the plain score and, but for the released definition, of the corrected and the rarefied."""
    source = "SODA, eq. 3"
    plain = {**row, "measure": "vac", "source": source}
    rows = [plain]
    if not how.released:
        others = ((CORRECTED, "Chao and Shen 2003, eq. 8"), (RAREFIED, "Hurlbert 1971"))
        rows += [{**row, "measure": name, "source": f"{source}; {further}"} for name, further in others]
    if result is not None:
        for at, made in enumerate(rows):
            _number(made, at, result, how, reach, claim)
    return rows


def _number(row: dict[str, Any], at: int, result: Scored, how: Scoring, reach: float, claim: Claim) -> None:
    """Give a row the score of a kind, its interval and how it is made."""
    value = float(result.scores[at, 0])
    if np.isnan(value):
        row["undefined"] = f"fewer than {how.pictures} usable labels"
        return
    row["value"] = value
    rarefied = row["measure"] == RAREFIED
    if row["measure"] == CORRECTED:
        row["method"] += "; no interval: it would not hold what the correction leaves"
        return
    if rarefied:
        row["flags"] = {**row["flags"], "few_attributes": row["flags"].get("few_attributes") or result.few}
        row["method"] += f"; expected of {how.pictures} pictures, over that of even shares"
    sd = float(result.sd[at]) * (reach or 1.0)
    if np.isnan(sd) or not how.n_bootstrap:
        if result.prompts is not None and how.n_bootstrap:
            least = how.pictures if rarefied else 2
            row["method"] += f"; no interval: without one of the prompts fewer than {least} labels are left"
        return
    half = sd * float(special.stdtrit(result.freedom(row["n"]), 0.5 + how.level / 2))
    row["low"], row["high"] = _interval(row, value, half, result, at)
    row["holds_for"] = claim.holds_for
    drawn = f"{how.n_bootstrap} resamples of images, seed {how.seed}"
    if result.prompts is not None:
        drawn = f"jackknife of {result.freedom(0) + 1} prompts"
    kind = "t on the logit scale" if rarefied or result.prompts is not None else "t of the bootstrap"
    row["method"] += f"; interval: {kind}, {drawn}" + (f", {SEEDS_COUNTED}" if reach else "")


def _interval(
    row: Mapping[str, Any], value: float, half: float, result: Scored, at: int
) -> tuple[float, float]:
    """The ends of an interval that reaches as far as told."""
    unseen = float(result.unseen[at])
    least = result.least if row["measure"] == RAREFIED else 0.0
    if result.prompts is not None:
        low, high = ends(value, half, 0.0, least)
        return min(value, max(low - unseen, min(least, 0.0))), max(value, high)
    if row["measure"] == RAREFIED:
        return ends(value, half, unseen, least)
    half *= float(np.sqrt(row["n"] / (row["n"] - 1)))
    return max(0.0, value - float(np.hypot(half, unseen))), min(1.0, value + half)
