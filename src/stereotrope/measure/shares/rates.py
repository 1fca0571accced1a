"""Two looks at the same images: how often the pairs of their labels are a hit."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import polars as pl

from stereotrope.errors import UsageError
from stereotrope.measure.cells import SMALL_N
from stereotrope.measure.contract import REGISTRY
from stereotrope.measure.join import NOT_LABELLED
from stereotrope.measure.tidy import estimate_frame, factor_names, read_labels
from stereotrope.stats import wilson

NO_PAIR = "no image with a usable label from both"
PAIRED = ("image_id", "attribute")


def factors_beside(by: Sequence[str], measure: str) -> tuple[str, ...]:
    """The factors in ``by``, which must hold ``attribute``: values of different attributes do not mix."""
    listed = factor_names(by, measure=measure, what="by")
    if "attribute" not in listed:
        raise UsageError(
            f"{measure}: by must hold 'attribute'; answers about different attributes do not mix"
        )
    return tuple(name for name in listed if name != "attribute")


def other_look(labels: Any, name: str) -> pl.DataFrame:
    """The other look of a pair; ``""`` where its label counts, so that null means no label."""
    read = read_labels(labels, factors=())
    return read.select(
        *PAIRED,
        pl.when(pl.col("excluded").is_null()).then("value").alias(f"{name}_value"),
        pl.col("excluded").fill_null("").alias(f"{name}_excluded"),
    )


def beside(
    looks: pl.DataFrame, other: Any, name: str, *, how: Literal["left", "inner"] = "left"
) -> pl.DataFrame:
    """Looks with what the other look says of each."""
    return looks.join(other_look(other, name), on=PAIRED, how=how, maintain_order="left")


def reason_of(name: str) -> pl.Expr:
    """Why the label of the other look does not count, null where it does."""
    given = pl.col(f"{name}_excluded").fill_null(NOT_LABELLED)
    return pl.when(given != "").then(given)


def hit_rates(
    measure: str,
    judged: pl.DataFrame,
    hits: Mapping[str, pl.Expr],
    factors: Sequence[str],
    level: float,
    undefined: str,
    further: Callable[[dict[str, Any], pl.DataFrame], list[dict[str, Any]]] = lambda row, entered: [],
) -> pl.DataFrame:
    """Estimates of rates: of the pictures of a cell without a ``reason`` those hit.

    hits: Definition → what is a hit by it.
    further: More rows, from the row of a rate and what entered it.
    """
    rows = []
    for key, part in judged.group_by(["attribute", *factors], maintain_order=True):
        entered = part.filter(pl.col("reason").is_null())
        n = entered.height
        for definition, hit in hits.items():
            row = {
                "measure": measure,
                "definition": definition,
                **dict(zip(("attribute", *factors), key, strict=True)),
                "level": level,
                "n": n,
                "excluded": dict(part["reason"].drop_nulls().value_counts().iter_rows()),
                "flags": {"small_n": n < SMALL_N},
                "method": "Wilson",
                "source": REGISTRY[measure].source,
            }
            if n:
                k = entered.select(hit.sum()).item()
                low, high = wilson(k, n, level=level)
                row |= {"value": k / n, "low": float(low), "high": float(high)}
            else:
                row["undefined"] = undefined
            rows += [row, *further(row, entered)]
    return estimate_frame(rows, factors=factors)
