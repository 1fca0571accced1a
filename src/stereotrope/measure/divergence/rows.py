"""Rows of estimates for divergences between groups: what is compared, how much of it, and why not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereotrope.measure.cells import NO_LABEL, NO_REFERENCE, SMALL_N
from stereotrope.measure.divergence.coded import CodedLabels, Codes, Ints
from stereotrope.measure.divergence.shared_seeds import SeedsApart, seeds_of_groups
from stereotrope.measure.divergence.uncertainty import (
    Resampling,
    image_scores,
    prompt_scores,
    unlike_prompts,
)
from stereotrope.measure.pace import paced
from stereotrope.measure.units import SEEDS_COUNTED, Claim, units_of
from stereotrope.tables import ALL_ATTRIBUTES

NOT_SHARED = "no attribute with a usable label of two groups"


@dataclass(frozen=True)
class Comparison:
    """Groups that are compared, each with its rows of the coded labels; a reference is the last one.

    row: What the rows of estimates have in common.
    """

    row: Mapping[str, Any]
    groups: Sequence[Ints]
    attributes: Ints
    reference: bool


def compare_groups(
    coded: CodedLabels, comparisons: Sequence[Comparison], how: Resampling
) -> list[dict[str, Any]]:
    """Rows of every comparison: the mean over attributes, then each attribute.

    An attribute enters where at least two groups have a usable label of it; the mean leaves out the
    others and is flagged ``few_attributes``. Whole prompts are the units where each group with a label spans
    enough of them (:mod:`stereotrope.measure.units`).
    """
    seeds = seeds_of_groups(coded, [(one.groups, one.attributes) for one in comparisons])
    return [
        {**one.row, **row}
        for one, shared in paced(list(zip(comparisons, seeds, strict=True)))
        for row in _compared(coded, one, shared, how)
    ]


def _compared(
    coded: CodedLabels, comparison: Comparison, seeds: Mapping[int, SeedsApart], how: Resampling
) -> list[dict[str, Any]]:
    """Rows of one comparison; seeds: what those that prompts share do to groups apart, by attribute."""
    columns, groups = comparison.attributes, comparison.groups
    labelled = np.array([coded.labelled(g, columns).sum(axis=0) for g in groups])
    defined = (labelled > 0).sum(axis=0) > 1
    names = [coded.attributes[column] for column in columns]
    used = [g[coded.labelled(g, columns[defined]).any(axis=1)] for g in groups]
    claim, _ = units_of(*(coded.prompts[g] for g in used if len(g)))
    if seeds:  # pictures that share some are not independent, though each be of its own prompt
        claim = replace(claim, dependent=True)
    rows = [_counted(coded, comparison, ALL_ATTRIBUTES, columns, labelled, how, claim)]
    for at, name in enumerate(names):
        one = slice(at, at + 1)
        rows.append(_counted(coded, comparison, name, columns[one], labelled[:, one], how, claim))
    if defined.any():
        scored = [rows[0], *(row for row, known in zip(rows[1:], defined, strict=True) if known)]
        pooled, group = _pool(coded, groups, columns[defined])
        codes = _compact(coded.codes[np.ix_(pooled, columns[defined])])
        if claim.clustered:
            prompts = coded.prompts[pooled].astype(np.int64)
            peers = np.stack([coded.icc_priors(g, columns[defined]) for g in used if len(g)], axis=1)
            crossed = [seeds.get(column) for column in columns[defined].tolist()]
            numbers = prompt_scores(codes, group, prompts, peers, how, seeds=crossed)
            for row, apart in zip(scored, unlike_prompts(codes, group, prompts), strict=True):
                row["flags"]["unlike_prompts"] = bool(apart)
        else:
            crossed, numbers = [], image_scores(codes, group, how)
        words = [one.words if one else "" for one in crossed] or [""] * (len(scored) - 1)
        told = [SEEDS_COUNTED if any(words) else "", *words]
        for row, found, of_seeds in zip(scored, numbers, told, strict=True):
            row |= found
            rests = bool(how.n_permutations or how.n_bootstrap)
            row["holds_for"] = claim.holds_for if rests else None
            row["method"] += f"; {of_seeds}" if rests and of_seeds else ""
    return rows


def _compact(codes: Codes) -> Codes:
    """Codes from 0 on in the same order, where an open attribute has more values than these images."""
    if codes.max(initial=0) < len(codes):
        return codes
    for at, column in enumerate(codes.T):
        found, inverse = np.unique(column, return_inverse=True)
        codes[:, at] = inverse - (found[0] < 0)
    return codes


def _counted(
    coded: CodedLabels,
    comparison: Comparison,
    attribute: str,
    columns: Ints,
    labelled: NDArray[np.int64],
    how: Resampling,
    claim: Claim,
) -> dict[str, Any]:
    """A row without its numbers: attribute, counts, what is left out and why it may be undefined."""
    groups, defined = comparison.groups, (labelled > 0).sum(axis=0) > 1
    entered = columns[defined] if defined.any() else columns
    counts: list[int] = labelled.sum(axis=1).tolist()
    if len(columns) > 1:
        counts = [int(coded.labelled(g, entered).any(axis=1).sum()) for g in groups]
    entering = labelled[:, defined]
    flags = {
        **claim.flags,
        "few_attributes": attribute == ALL_ATTRIBUTES and not defined.all(),
        "few_groups": len(groups) > 2 and (labelled == 0).any(),
        "small_n": min(counts) < SMALL_N or (entering[entering > 0] < SMALL_N).any(),
    }
    return {
        "attribute": attribute,
        "level": how.level,
        "n": sum(counts[:-1] if comparison.reference else counts),
        "n_reference": counts[-1] if comparison.reference else None,
        "excluded": coded.excluded(np.concatenate(groups), columns),
        "undefined": _undefined(counts, comparison.reference, shared=bool(defined.any())),
        "flags": flags,
        "method": how.method(whole_prompts=claim.clustered),
    }


def _undefined(counts: Sequence[int], reference: bool, *, shared: bool) -> str | None:
    if sum(n > 0 for n in counts) > 1:
        return None if shared else NOT_SHARED
    if not reference:
        return "fewer than two groups with a usable label"
    return NO_REFERENCE if not counts[-1] and any(counts[:-1]) else NO_LABEL


def _pool(coded: CodedLabels, groups: Sequence[Ints], used: Ints) -> tuple[Ints, Ints]:
    """Rows with a usable label, in the order of the image ids whatever their group, and their groups."""
    rows = np.concatenate(groups)
    group = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    kept = coded.labelled(rows, used).any(axis=1)
    rows, group = rows[kept], group[kept]
    order = np.argsort(rows, kind="stable")
    _, renumbered = np.unique(group[order], return_inverse=True)
    return rows[order], renumbered.astype(np.int64)
