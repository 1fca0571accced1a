"""How probable an annotator finds a value, picture by picture, on average."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from stereotrope.errors import TableError
from stereotrope.measure.cells import SMALL_N
from stereotrope.measure.contract import register
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.shares.pairs import units_in
from stereotrope.measure.tidy import as_number, as_text, factor_names, reason_given, to_polars
from stereotrope.stats import mean_over_units
from stereotrope.tables import PROMPT_FOLLOWING

_NO_PROBABILITY = "no probability given"
_NONE = "no picture with a probability"


@register(
    suite="everyday",
    bounds=(0.0, 1.0),
    direction="1: sure of the value in every picture",
    source="Lin et al. 2024, eq. 1; Tukey 1958",
)
def answer_probability(
    labels: Any,
    attribute: str = PROMPT_FOLLOWING,
    *,
    value: str = "yes",
    other: str = "no",
    by: Sequence[str] = ("generator",),
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How probable an annotator finds a value on average, such as that pictures show what was asked for.

    Formula
    -------
    :math:`\frac1n Σ_i P_i`, with :math:`P_i` the probability of ``value`` in picture :math:`i`: the
    ``confidence`` of its label, or 1 less that of the label ``other``.

    Parameters
    ----------
    labels
        Tidy frame with ``confidence``, the probability of the label among the two.
    attribute, value, other
        An attribute of two values: the one whose probability is averaged, and the other.
    by, level
        Factors whose combinations are the cells, annotators always apart where there are several; nominal
        coverage.

    Returns
    -------
    polars.DataFrame
        Estimates, a row a cell; ``value`` in [0, 1], ``category`` the value.

    Undefined
    ---------
    ``no picture with a probability``: chat endpoints give it with ``logprobs: true`` alone, files in the
    column ``confidence``. No interval for one picture, or where all probabilities are the same.

    Notes
    -----
    A mean of 0.8 is not that 80% of pictures show it: models are often more sure than right, or less. Compare
    generators by one annotator. With ``sets: [prompt_following]`` it is VQAScore's quantity, by the model
    that was asked and renormalised over yes and no; VQAScore is the name of that by CLIP-FlanT5. The interval
    is Student's on the logit scale, over pictures, or by the jackknife over whole prompts (scenarios) where
    there are four or more, and takes in Gaffke's where these lie unevenly
    (:func:`stereotrope.stats.mean_interval`): over 4 to 60 scenarios of correlation 0.3 and 0.6, a share of
    0.1 and of one half, it covered 0.95 to 0.98.

    References
    ----------
    Lin et al. (2024), Evaluating text-to-visual generation with image-to-text generation, ECCV, eq. 1;
    “Large-scale gender analysis”, appendix D.3; Tukey (1958), Annals of Mathematical Statistics 29.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": ["a", "b"], "attribute": "follows_prompt", "value": ["yes", "no"],
    ...     "confidence": [0.9, 0.7], "generator": "m",
    ... })
    >>> answer_probability(frame)["value"].round(3).to_list()
    [0.6]
    """
    frame = to_polars(labels, needs=("image_id", "attribute", "value", "confidence"))
    factors = factor_names(by, measure="answer_probability", what="by")
    keys = [
        *factors,
        *(("annotator",) if "annotator" in frame.columns and "annotator" not in factors else ()),
    ]
    frame = to_polars(frame.filter(attribute=attribute), needs=keys)
    if (doubled := frame.filter(frame.select("image_id", *keys).is_duplicated())).height:
        raise TableError(
            f"labels: image {doubled['image_id'][0]!r} has two labels of {attribute!r}; keep one"
        )
    frame = frame.with_columns(as_number(frame, "confidence", what="labels", scale=(0.0, 1.0)))
    probability, why = _probability(value, other)
    read = frame.with_columns(
        *[as_text(frame, name) for name in keys],
        _p=probability,
        _why=pl.coalesce(reason_given(frame), why),
    )
    rows = []
    for key, part in read.group_by(keys, maintain_order=True):
        kept = part.filter(pl.col("_why").is_null())
        row = {
            "measure": "answer_probability",
            **dict(zip(keys, key, strict=True)),
            "attribute": attribute,
            "category": value,
            "level": level,
            "n": kept.height,
            "excluded": dict(part["_why"].drop_nulls().value_counts().sort("_why").iter_rows()),
            "source": "Lin et al. 2024, eq. 1; Tukey 1958",
        }
        rows.append({**row, **(_mean(kept, level) if kept.height else {"undefined": _NONE})})
    return estimate_frame(rows, factors=keys)


def _mean(kept: pl.DataFrame, level: float) -> dict[str, Any]:
    """The mean of the probabilities, with its interval over the units."""
    units, given = units_in(kept), kept["_p"].to_numpy()
    reach = units.across.reach(given, level=level) if units.across else 1.0
    mean, low, high, how = mean_over_units(given, units.number, level=level, scale=(0.0, 1.0), reach=reach)
    known = low == low
    return {
        "value": mean,
        "low": low if known else None,
        "high": high if known else None,
        "holds_for": units.claim.holds_for if known else None,
        "flags": {**units.claim.flags, "small_n": kept.height < SMALL_N},
        "method": f"jackknife over {units.words}; interval: {how}",
    }


def _probability(value: str, other: str) -> tuple[pl.Expr, pl.Expr]:
    """The probability of a value in each picture, and why there is none."""
    given, sure = pl.col("value"), pl.col("confidence")
    why = (
        pl.when(given.is_null())
        .then(pl.lit("missing"))
        .when(~given.is_in([value, other]))
        .then(pl.format("neither {} nor {}", pl.lit(value), pl.lit(other)))
        .when(sure.is_null())
        .then(pl.lit(_NO_PROBABILITY))
    )
    return pl.when(given == value).then(sure).when(given == other).then(1 - sure), why
