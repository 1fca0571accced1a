"""Baseline and cued prompts for things: “car” against “car for women”.

Source of the layout: SODA, arXiv:2508.03483, section 3.1 and Table 1; its texts are data of the
``objects`` suite.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import polars as pl

from stereotrope.design.prompts import fields_of, fill, prompts_frame, refuse_too_many, wordings
from stereotrope.errors import UsageError
from stereotrope.tables import factors_of

BASE = "base"
"""The group level of the baseline: the prompt without a demographic cue."""
Rewording = str | Callable[[str], str]
"""A suffix behind a comma, none where it is empty, or what makes another text of one."""
_FIELDS = ("object", "phrasing", "group")


def cued_prompts(
    objects: Sequence[str],
    dimensions: Mapping[str, Sequence[str] | Mapping[str, str]],
    *,
    baseline: str,
    cue: str,
    phrasings: Sequence[str] = ("for",),
    mitigations: Mapping[str, Rewording] | None = None,
) -> pl.DataFrame:
    """Prompts of every object without a cue and with the cue of every group.

    dimensions: Dimension → groups. A group is its own wording, or maps to one (``Asian: Asian people``); a
        wording that holds ``{object}`` replaces phrasing and group (``Nigeria: "{object} in Nigeria"``).
        Intersections are groups like any other.
    baseline: Template with ``{object}``.
    cue: Template with ``{object}``, ``{phrasing}`` and ``{group}``.
    phrasings: Words that tie the group to the object. The baseline has none.
    mitigations: Name → suffix put after a comma at the end of every prompt, the baseline's too, or what makes
        another text of one; an empty suffix is none.
    Returns: ``prompts`` with factors ``object, dimension, group`` and, where more than one level is asked
        for, ``phrasing`` and ``mitigation``. The baseline has group ``base`` and no dimension or phrasing.
    Raises UsageError: A template lacks a field or holds an unknown one, a list is empty, a group is called
        ``base`` or stands in two dimensions, or two prompts read the same.
    """
    _check(objects, dimensions, baseline, cue, phrasings)
    suffixes = dict(mitigations) if mitigations else {"none": ""}
    n_cued = len(phrasings) * sum(map(len, dimensions.values()))
    refuse_too_many(len(objects) * len(suffixes) * (1 + n_cued))
    factors = ["object", "dimension", "group"]
    factors += ["phrasing"] if len(phrasings) > 1 else []
    factors += ["mitigation"] if len(suffixes) > 1 else []
    rows: list[dict[str, str | None]] = []
    for thing, (mitigation, suffix) in product(objects, suffixes.items()):
        scope: dict[str, str | None] = {"object": thing, "mitigation": mitigation}
        rows.append({**scope, "group": BASE, "text": _reworded(fill(baseline, {"object": thing}), suffix)})
        for phrasing, (dimension, groups) in product(phrasings, dimensions.items()):
            for group, wording in wordings(groups).items():
                cell = {"dimension": dimension, "group": group, "phrasing": phrasing}
                rows.append(
                    {**scope, **cell, "text": _reworded(_cued(cue, thing, phrasing, wording), suffix)}
                )
    return prompts_frame(rows, factors)


def varied_prompts(prompts: pl.DataFrame, mitigations: Mapping[str, Rewording]) -> pl.DataFrame:
    """Prompts of any design with every mitigation, as the factor ``mitigation`` where there are several.

    mitigations: As of :func:`cued_prompts`.

    Raises UsageError: The prompts have that factor already, or two read the same.
    """
    if len(mitigations) < 2:
        return prompts
    factors = factors_of(prompts.columns)
    if "mitigation" in factors:
        raise UsageError(
            "the prompts have a factor 'mitigation' already; rename it, or leave `mitigations` out"
        )
    refuse_too_many(prompts.height * len(mitigations))
    rows = [
        {**row, "mitigation": name, "text": _reworded(row["text"], one)}
        for name, one in mitigations.items()
        for row in prompts.drop("prompt_id").to_dicts()
    ]
    return prompts_frame(rows, [*factors, "mitigation"])


def _reworded(text: str, by: Rewording) -> str:
    if callable(by):
        return by(text)
    return f"{text}, {by}" if by else text


def _cued(template: str, thing: str, phrasing: str, wording: str) -> str:
    if "{object}" not in wording:
        return fill(template, {"object": thing, "phrasing": phrasing, "group": wording})
    if fields_of(wording) != ["object"]:
        raise UsageError(f"group wording {wording!r} may hold no field but {{object}}; remove the others")
    head = "{object} {phrasing} {group}"
    if head not in template:
        raise UsageError(
            f"group wording {wording!r} replaces {head!r}, which the cue template {template!r} does not "
            "hold; write the group without {object}"
        )
    return fill(template.replace(head, wording), {"object": thing})


def _check(
    objects: Sequence[str],
    dimensions: Mapping[str, Sequence[str] | Mapping[str, str]],
    baseline: str,
    cue: str,
    phrasings: Sequence[str],
) -> None:
    if not objects:
        raise UsageError("objects is empty; list at least one thing, for example `objects: [car]`")
    if not phrasings:
        raise UsageError("phrasings is empty; list at least one, for example `phrasings: [for]`")
    for name, template, known in (("baseline", baseline, _FIELDS[:1]), ("cue", cue, _FIELDS)):
        fields = fields_of(template)
        for field in known:
            if field not in fields:
                raise UsageError(f"{name} template {template!r} needs the field {{{field}}}")
        for field in fields:
            if field not in known:
                raise UsageError(
                    f"{name} template {template!r} may hold {', '.join(f'{{{f}}}' for f in known)}, found "
                    f"{{{field}}}; remove it"
                )
    dimension_of: dict[str, str] = {}
    for dimension, groups in dimensions.items():
        if not groups:
            raise UsageError(f"dimension {dimension!r} has no group; list at least one")
        if BASE in groups:
            raise UsageError(
                f"dimension {dimension!r}: {BASE!r} is the name of the baseline; rename the group"
            )
        for group in groups:
            if (other := dimension_of.setdefault(group, dimension)) != dimension:
                raise UsageError(
                    f"group {group!r} is in dimension {other!r} and in {dimension!r}, and would be counted "
                    "as one; give one of them another name"
                )
