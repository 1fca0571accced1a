"""Shares that people would find, from their labels of some pictures and an annotator's of all."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import UsageError
from stereotrope.measure.cells import NO_LABEL, NO_REFERENCE, SMALL_N, Key, as_names, reference_of
from stereotrope.measure.contract import MeasureCall, register
from stereotrope.measure.estimates import estimate_frame, with_q_values
from stereotrope.measure.setting import RunTables
from stereotrope.measure.shares.pairs import sources_of
from stereotrope.measure.shares.sampled import SampledCell, sampled_cells
from stereotrope.measure.tidy import factor_names
from stereotrope.measure.units import SEEDS_COUNTED, Claim, claim_of
from stereotrope.stats import PoweredShare, newcombe, newcombe_p

_SOURCE = "Angelopoulos, Duchi and Zrnic 2023 (PPI++)"
_RATIO = "ppi_female_ratio"
FEWEST_LABELLED = 5
"""Pictures of a side that people must have labelled; of one the share would be 0 or 1."""
_TOO_FEW = f"fewer than {FEWEST_LABELLED} pictures labelled by people"
SAMPLE_UNLIKE = "sample_unlike"
NO_RANDOM_PART = "no random part: "
"""What the method says of a sample before why."""
_CLOSED = {
    "reference": "write `reference: true` at the entry of the annotator whose labels are taken for right, "
    "and these rows stand beside those of every share and difference"
}


def people_beside(
    call: MeasureCall | None, tables: RunTables, name: str
) -> Iterator[tuple[Any, Any, list[str]]]:
    """Labels of each annotator, those of the reference, and the attributes that both label.

    What the reference was made from is not put right by it, nor an attribute of which it labelled every
    picture.
    """
    if call is None or call.name != name:
        return
    asked = as_names(call.arguments.get("attribute"), what="attribute")
    looks = tables.looks.filter(pl.col("attribute").is_in(list(asked))) if asked else tables.looks
    usable = pl.col("excluded").is_null()
    for reference in tables.references:
        people = looks.filter(annotator=reference)
        right = people.filter(usable)
        behind = {*tables.references, *sources_of(reference, tables.labels)}
        for annotator in looks["annotator"].unique(maintain_order=True):
            if annotator in behind:
                continue
            labels = looks.filter(annotator=annotator)
            alone = labels.filter(usable).join(right, on=["image_id", "attribute"], how="anti")
            if known := sorted(set(people["attribute"]) & set(alone["attribute"])):
                yield labels, people, known


def _beside_share(call: MeasureCall | None, tables: RunTables) -> pl.DataFrame | None:
    """Beside raw shares and female ratios, powered ones where a reference labelled some of the pictures."""
    taken = {"by": ["generator"], **(call.arguments if call else {})}
    more = {name: taken[name] for name in ("value", "of", "level") if taken.get(name) is not None}
    by = list(dict.fromkeys([*taken["by"], "annotator"]))
    ratio = call is not None and call.name == "female_ratio"
    if call is not None and ratio:
        call = replace(call, arguments={"attribute": "gender", **call.arguments})
        female = taken.get("female", "female")
        more |= {"value": female, "of": (female, taken.get("male", "male"))}
    parts = people_beside(call, tables, "female_ratio" if ratio else "share")
    made = [ppi_share(labels, people, known, by=by, **more) for labels, people, known in parts]
    if not made:
        return None
    found = pl.concat(made, how="diagonal")
    return found.with_columns(measure=pl.lit(_RATIO)) if ratio else found


def _beside_difference(call: MeasureCall | None, tables: RunTables) -> pl.DataFrame | None:
    """Beside raw differences of shares, powered ones."""
    if call is None or call.arguments.get("baseline") is None:
        return None
    names = ("group", "baseline", "value", "of", "level")
    more = {name: call.arguments[name] for name in names if call.arguments.get(name) is not None}
    held = [*call.arguments.get("within", ("generator", "object")), call.arguments.get("dimension")]
    within = list(dict.fromkeys([*filter(None, held), "annotator"]))
    parts = people_beside(call, tables, "share_difference")
    made = [ppi_difference(labels, people, known, within=within, **more) for labels, people, known in parts]
    return pl.concat(made, how="diagonal") if made else None


@register(
    bounds=(0.0, 1.0),
    direction="higher: people would say so more often; wider than the raw interval of all labels",
    source=_SOURCE,
    also=(_RATIO,),
    closed=_CLOSED,
    unasked=_beside_share,
)
def ppi_share(
    labels: Any,
    reference: Any,
    attribute: str | Sequence[str] | None = None,
    *,
    value: str | Sequence[str] | None = None,
    of: Sequence[str] | None = None,
    by: Sequence[str] = ("generator",),
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How often people would find each value: their labels of some pictures, an annotator's of all.

    Formula
    -------
    :math:`θ_v = \bar y_n + λ(\bar f_N - \bar f_n)`: the share :math:`\bar y_n` that people found in ``n``
    pictures, moved by how much more often the annotator found it in the ``N`` that people did not label than
    in those; λ is tuned in each cell to the least variance
    (:func:`stereotrope.stats.prediction_powered_share`).

    Parameters
    ----------
    labels, attribute, value, of, by, level
        As for :func:`stereotrope.measure.share`, of one annotator.
    reference
        Tidy frame ``image_id, attribute, value`` of people's labels, of some of these pictures. Which they
        are must not depend on what they show: draw them at random.

    Returns
    -------
    polars.DataFrame
        One row a cell, attribute and ``category``: ``value`` in [0, 1] with Wilson's interval at the
        effective number of labels; where no other cell tells how alike pictures of a prompt are, as much
        narrower or wider as that of the likelihood of people's labels is. ``n`` counts pictures with a usable
        label of the annotator, ``n_reference`` those of them that people labelled; ``excluded`` says why
        others do not enter. In an audit the rows beside :func:`stereotrope.measure.female_ratio` are called
        ``ppi_female_ratio``.

    Undefined
    ---------
    ``no usable label``; ``no usable label of the reference``: people labelled no picture of the cell; ``fewer
    than 5 pictures labelled by people``; ``no label is …`` as for :func:`stereotrope.measure.share`, of the
    annotator or of people; ``people and the annotator have no value in common``: they write them in other
    words.

    Notes
    -----
    Whatever the annotator's errors, and however they differ between groups, the interval is right about
    what people would say; the better the annotator, the narrower. It is never wider than that of a
    ``share`` of people's labels by more than noise: how alike pictures of a prompt are is learned of what
    people said in all cells, as there, and an annotator that tells nothing leaves that very interval. It
    covers at 20 labels of people and more as that of their labels alone does, at rare values too: where
    people gave fewer than five labels of one of both answers, theirs stand alone
    (docs/explanation/annotator-errors.md). Where people labelled more pictures of one level of a factor
    that is pooled than of another, or of some prompts alone, or the annotator said other values of these
    pictures than of the rest (within prompts; by whole prompts or sets where these were taken whole; p <
    0.01 each), the row is flagged ``sample_unlike`` and ``method`` says why: they are no random part.
    Below ten it is flagged ``small_n``. The raw share stands in ``share``. Shares of a cell need not sum
    to 1. Pictures of which one of both cannot say are left out; where these are over 5%, ``bound_low``
    and ``bound_high`` are what they allow, and where the annotator says otherwise of those that people
    could not tell, ``sample_unlike`` is flagged too. Where people labelled pictures of four prompts or
    more, prompts are the units, and seeds that these share count. Where they took whole prompts, errors
    that are more alike within these than the answers are count as well.

    References
    ----------
    Angelopoulos, Duchi and Zrnic (2023), PPI++: Efficient prediction-powered inference, arXiv:2311.01453.

    Examples
    --------
    >>> import polars as pl
    >>> said = pl.DataFrame({
    ...     "image_id": [str(i) for i in range(420)], "attribute": "gender", "generator": "m",
    ...     "value": ["f"] * 8 + ["m"] * 12 + ["f"] * 200 + ["m"] * 200,
    ... })
    >>> people = said.head(20).with_columns(value=pl.Series(["f"] * 10 + ["m"] * 10))
    >>> found = ppi_share(said, people, value="f")
    >>> found.select(pl.col("value", "low", "high").round(2), "n", "n_reference").rows()
    [(0.57, 0.41, 0.71, 420, 20)]
    """
    by = factor_names(by, measure="ppi_share", what="by")
    rows = []
    for cell, categories in sampled_cells(labels, reference, attribute, value, of, by):
        claim, told = claim_of(cell.sampled), unpowered(categories)
        if cell.n_labelled >= FEWEST_LABELLED and categories and cell.trouble is None:
            shares = cell.powered(categories, claim, level)
            ends = cell.interval(categories, shares, level)
            kind = "likelihood of people's labels, and Wilson" if cell.stands_alone else "Wilson"
            told = powered_numbers([cell], claim, kind, [shares], shares.value, *ends, categories)
            if bounds := cell.bounds(shares.value):
                _with_bounds(told, *bounds)
        row = {"measure": "ppi_share", **powered_row(cell, by, level), "n_reference": cell.n_labelled}
        rows += [{**row, "category": category, **numbers} for category, numbers in told.items()]
    return estimate_frame(rows, factors=by)


@register(
    bounds=(-1.0, 1.0),
    direction="above 0: people would say so more often for the group; below 0: less often",
    source=f"{_SOURCE}; Newcombe 1998, method 10",
    closed=_CLOSED,
    unasked=_beside_difference,
)
def ppi_difference(
    labels: Any,
    reference: Any,
    attribute: str | Sequence[str] | None = None,
    *,
    group: str = "group",
    baseline: str = "base",
    value: str | Sequence[str] | None = None,
    of: Sequence[str] | None = None,
    within: Sequence[str] = ("generator", "object"),
    level: float = 0.95,
) -> pl.DataFrame:
    """How much more often people would find a value for a group than for the baseline.

    Formula
    -------
    :math:`θ_v^{g} - θ_v^{r}`, each side as in :func:`ppi_share`, with Newcombe's interval at the effective
    numbers of labels.

    Parameters
    ----------
    labels, reference, attribute, value, of, level
        As for :func:`ppi_share`. People must have labelled pictures of both sides.
    group, baseline, within
        As for :func:`stereotrope.measure.share_difference`.

    Returns
    -------
    polars.DataFrame
        ``value`` in [−1, 1], positive where the group shows it more often than the baseline, ``reference``.
        ``n`` and ``n_reference`` count the pictures of the group and of the baseline, labelled by the
        annotator; ``method`` says how many of these people labelled. ``p_value`` is that of the interval: at
        most 1 − level just where it leaves 0 out (:func:`stereotrope.stats.newcombe_p`); ``q_value`` is
        Benjamini–Hochberg over the table. No finding rests on it.

    Undefined
    ---------
    Where :func:`ppi_share` of a side is, and where there is no baseline (``no usable label of the
    reference``).

    Notes
    -----
    As for :func:`ppi_share`. An annotator that errs more on one group shows a difference that is not there,
    and this one does not.

    References
    ----------
    As for :func:`ppi_share`; Newcombe (1998), Statistics in Medicine 17, method 10.

    Examples
    --------
    >>> import polars as pl
    >>> said = pl.DataFrame({
    ...     "image_id": [str(i) for i in range(400)], "attribute": "hue", "generator": "m", "object": "car",
    ...     "group": ["women"] * 200 + ["base"] * 200, "value": (["red"] * 120 + ["blue"] * 80) * 2,
    ... })
    >>> people = said.gather_every(4).with_columns(value=pl.Series(["red"] * 20 + ["blue"] * 80))
    >>> ppi_difference(said, people, value="red").select(pl.col("value").round(2)).item()
    0.4
    """
    within = factor_names(within, measure="ppi_difference", taken=(group,))
    by, rows = (*within, group), []
    cells = list(sampled_cells(labels, reference, attribute, value, of, by, "within"))
    bases: dict[str, dict[Key, SampledCell]] = {}
    for cell, _ in cells:
        if cell.key[-1] == baseline:
            bases.setdefault(cell.attribute, {})[cell.key[:-1]] = cell
    if not bases:
        raise UsageError(f"ppi_difference: no {group} {baseline!r}; name the level compared with as baseline")
    for cell, categories in cells:
        if cell.key[-1] == baseline:
            continue
        base, told = reference_of(cell.key[:-1], bases.get(cell.attribute, {})), unpowered(categories)
        labelled = min(cell.n_labelled, base.n_labelled) if base is not None else 0
        if base is not None and labelled >= FEWEST_LABELLED and categories and not cell.trouble:
            claim = claim_of(cell.sampled, base.sampled)
            sides = [side.powered(categories, claim, level) for side in (cell, base)]
            counts = [x for side in sides for x in (side.value * side.n_effective, side.n_effective)]
            ends = newcombe(*counts, level=level)
            told = powered_numbers(
                [cell, base], claim, "Newcombe", sides, sides[0].value - sides[1].value, *ends, categories
            )
            allowed = [side.bounds(share.value) for side, share in zip((cell, base), sides, strict=True)]
            if any(allowed):
                both = [of or (s.value, s.value) for of, s in zip(allowed, sides, strict=True)]
                _with_bounds(told, both[0][0] - both[1][1], both[0][1] - both[1][0])
            for numbers, p in zip(told.values(), newcombe_p(*counts), strict=True):
                numbers |= {"p_value": p, "method": f"{numbers['method']}; p: where this interval reaches 0"}
        row = {"measure": "ppi_difference", **powered_row(cell, by, level), "contrast": group}
        row |= {"reference": baseline, "n_reference": base.pictures.height if base else 0}
        if base is not None and cell.n_labelled and 0 < labelled < FEWEST_LABELLED:
            row["undefined"] = cell.trouble or _TOO_FEW
        rows += [{**row, "category": category, **numbers} for category, numbers in told.items()]
    return with_q_values(estimate_frame(rows, factors=by))


def _with_bounds(
    told: dict[str | None, dict[str, Any]], low: NDArray[np.float64], high: NDArray[np.float64]
) -> None:
    for numbers, least, most in zip(told.values(), low.tolist(), high.tolist(), strict=True):
        numbers |= {"bound_low": least, "bound_high": most}


def powered_row(cell: SampledCell, by: Sequence[str], level: float) -> dict[str, Any]:
    """What all rows of a cell say, undefined as long as no number stands in its place."""
    return {
        "definition": "ppi",
        **dict(zip(by, cell.key, strict=True)),
        "attribute": cell.attribute,
        "level": level,
        "n": cell.pictures.height,
        "excluded": cell.excluded,
        "undefined": cell.trouble or _why_not(cell),
        "source": _SOURCE,
    }


def _why_not(cell: SampledCell) -> str:
    if not cell.pictures.height:
        return NO_LABEL
    return _TOO_FEW if 0 < cell.n_labelled < FEWEST_LABELLED else NO_REFERENCE


def unpowered(categories: Sequence[str]) -> dict[str | None, dict[str, Any]]:
    """A row a value without a number; one in all where there is no value either."""
    names: Sequence[str | None] = categories or [None]
    return {name: {} for name in names}


def powered_numbers(
    cells: Sequence[SampledCell],
    claim: Claim,
    kind: str,
    sides: Sequence[PoweredShare],
    value: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    categories: Sequence[str],
) -> dict[str | None, dict[str, Any]]:
    """What each value's row says of its number."""
    people = " and ".join(str(cell.n_labelled) for cell in cells)
    crossed = any(cell.across(claim) for cell in cells)
    seeds = f", {SEEDS_COUNTED}" if crossed else ""
    unlike = "; ".join(dict.fromkeys(filter(None, (cell.unlike(claim) for cell in cells))))
    shared = {
        "undefined": None,
        "holds_for": claim.holds_for,
        "flags": {
            **claim.flags,
            "clustered": claim.clustered or crossed,
            "small_n": min(cell.n_labelled for cell in cells) < SMALL_N,
            SAMPLE_UNLIKE: bool(unlike),
        },
    }
    told: dict[str | None, dict[str, Any]] = {}
    for at, category in enumerate(categories):
        numbers = " and ".join(f"{side.n_effective[at]:.1f}" for side in sides)
        tuned = " and ".join(f"{side.tuning[at]:.2f}" for side in sides)
        method = f"PPI++, λ {tuned}; labelled by people {people}; {kind} at effective n {numbers}{seeds}"
        method += f"; {NO_RANDOM_PART}{unlike}" if unlike else ""
        told[category] = {**shared, "value": value[at], "low": low[at], "high": high[at], "method": method}
    return told
