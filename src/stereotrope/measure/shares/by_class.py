"""How an annotator does on each value: precision, recall and F1 against a reference."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from stereotrope.measure.cells import SMALL_N, as_names
from stereotrope.measure.contract import register
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.shares.agreement import agreement_call, has_rater
from stereotrope.measure.shares.pairs import (
    NO_PAIR,
    beside_reference,
    factors_beside,
    paired_looks,
    rate_of,
    units_in,
    with_apart,
)

_NEVER = {
    "precision": "the annotator never gives this value",
    "recall": "the reference never has this value",
    "f1": "neither has this value",
}


@register(
    bounds=(0.0, 1.0),
    direction="1: this value is given exactly where the reference has it",
    source="Van Rijsbergen 1979; Wilson 1927",
    call=agreement_call,
    due=has_rater,
)
def class_agreement(
    labels: Any,
    reference: Any,
    *,
    attribute: str | Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    by: Sequence[str] = ("attribute",),
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How well an annotator finds each value: precision, recall and F1 against a reference.

    Formula
    -------
    Of images with a usable label from both, :math:`t` have value ``c`` from both, :math:`a` from the
    annotator and :math:`r` from the reference: precision :math:`t/a`, recall :math:`t/r`,
    :math:`F_1 = 2t/(a + r)`.

    Parameters
    ----------
    labels, reference, attribute, raters, by
        As of :func:`stereotrope.measure.agreement` with a reference.
    level
        Nominal coverage.

    Returns
    -------
    polars.DataFrame
        Estimates, three rows a cell and value (``category``): ``definition`` ``precision``, ``recall`` and
        ``f1``, all in [0, 1]. ``n`` counts what the rate is of: images that the annotator, the reference, or
        either gives this value; ``excluded`` images that lack a usable label from both.

    Undefined
    ---------
    ``no image with a usable label from both``; where both write ten labels or more and no value alike;
    precision of a value that the annotator never gives, recall of one that the reference never has.

    Notes
    -----
    Precision depends on how frequent a value is among the images, recall does not: that of a sample with as
    many of each value says nothing of precision elsewhere. Images that the annotator calls unclear enter
    neither.

    The interval is Wilson's over images, or by the likelihood over whole prompts where there are four or more
    (:func:`stereotrope.stats.cluster_share_interval`). That of :math:`F_1 = 2J/(1 + J)` is that of
    :math:`J = t/(a + r - t)`, which is a share of images, on that scale.

    References
    ----------
    Van Rijsbergen (1979), Information Retrieval, chapter 7; Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> human = pl.DataFrame({"image_id": list("abcd"), "attribute": "text", "value": list("yynn")})
    >>> machine = human.with_columns(value=pl.Series(list("yyny")))
    >>> class_agreement(machine, human).select("category", "definition", pl.col("value").round(3)).rows()[-3:]
    [('y', 'precision', 0.667), ('y', 'recall', 1.0), ('y', 'f1', 0.8)]
    """
    factors = factors_beside(by, "class_agreement")
    names = as_names(attribute, what="attribute") or None
    looks, truth, factors, told = beside_reference(labels, reference, factors, names, raters)
    pairs = with_apart(paired_looks(looks, truth, factors))
    rows = [
        {**row, **told}
        for key, part in pairs.group_by(["attribute", *factors], maintain_order=True)
        for row in _of_cell(dict(zip(("attribute", *factors), key, strict=True)), part, level)
    ]
    return estimate_frame(rows, factors=tuple(dict.fromkeys([*factors, *(("annotator",) if told else ())])))


def _of_cell(cell: dict[str, Any], part: pl.DataFrame, level: float) -> Iterator[dict[str, Any]]:
    """Three rows of each value that either side has."""
    both = part.filter(pl.col("reason").is_null())
    units = units_in(both)
    shared = {
        "measure": "class_agreement",
        **cell,
        "level": level,
        "excluded": dict(part["reason"].drop_nulls().value_counts().sort("reason").iter_rows()),
        "source": "Van Rijsbergen 1979; Wilson 1927",
    }
    given, true = both["value"].to_numpy(), both["reference_value"].to_numpy()
    if not both.height or both["apart"][0]:
        why = {"n": both.height, "undefined": both["apart"][0] if both.height else NO_PAIR}
        yield from ({**shared, "definition": name, **why} for name in _NEVER)
        return
    for value in sorted({*given, *true}):
        has, is_so = given == value, true == value
        among = {"precision": has, "recall": is_so, "f1": has | is_so}
        for name, of in among.items():
            n = int(of.sum())
            row = {**shared, "definition": name, "category": value, "n": n}
            if not n:
                yield {**row, "undefined": _NEVER[name]}
                continue
            found = rate_of((has & is_so)[of], units.among(of), level)
            if name == "f1":
                found |= {end: 2 * found[end] / (1 + found[end]) for end in ("low", "high")}
                found["value"] = float(2 * (has & is_so).sum() / (has.sum() + is_so.sum()))
            yield {**row, **found, "flags": {**units.claim.flags, "small_n": n < SMALL_N}}
