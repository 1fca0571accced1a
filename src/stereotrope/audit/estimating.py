"""From labels to estimates and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from stereotrope import measure
from stereotrope.audit.assemble import folders, open_attributes
from stereotrope.audit.plan import Plan
from stereotrope.tables import ESTIMATES, QUALITY_ATTRIBUTES

if TYPE_CHECKING:
    from stereotrope.audit.conductor import Watcher

__all__ = ["estimate", "tidy_labels"]


def tidy_labels(plan: Plan, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """The frame that measures take: one row a label that counts or is excluded with its reason.

    Open values are taken from their folded labels; attributes about the picture's quality are left out
    after they excluded what they exclude.
    """
    folded = {folds.name: name for name, folds in folders(plan).items()}
    raw = pl.any_horizontal(
        pl.lit(False),
        *(
            (pl.col("annotator") == name) & pl.col("attribute").is_in(attributes)
            for name, attributes in open_attributes(plan).items()
        ),
    )
    unfolded = labels.filter(~raw).with_columns(pl.col("annotator").replace(folded))
    asked = {a.name: [n for n in a.attributes if n not in QUALITY_ATTRIBUTES] for a in plan.annotators}
    tidy = measure.tidy_labels(plan.prompts, images, unfolded, asked=asked)
    return tidy.filter(~pl.col("attribute").is_in(list(QUALITY_ATTRIBUTES)))


def estimate(
    plan: Plan,
    tidy: pl.DataFrame,
    images: pl.DataFrame,
    watcher: Watcher,
    *,
    reference: pl.DataFrame | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compute every measure of the plan, and what is worth a look."""
    drawn = measure.with_factors(plan.prompts, images)
    done: list[pl.DataFrame] = []
    watcher.stage("measure", len(plan.measures), 0)
    for call in plan.measures:
        if call.needs == "images":
            data = drawn
        elif call.needs == "estimates":
            data = _stack(done)
        else:
            data = tidy
        done.append(call(data))
        watcher.advance("measure", len(done))
    if reference is not None:
        done.append(_agreement(plan, tidy, reference))
    estimates = _stack(done)
    return estimates, measure.findings(estimates, tidy, images=images)


def _agreement(plan: Plan, tidy: pl.DataFrame, reference: pl.DataFrame) -> pl.DataFrame:
    drawn = tidy.filter(pl.col("attribute").is_in(reference["attribute"].unique().to_list()))
    known = reference.join(drawn.select("image_id", "attribute").unique(), on=["image_id", "attribute"])
    return measure.agreement(
        drawn,
        known,
        level=plan.spec.report.level,
        n_bootstrap=plan.spec.resamples,
        seed=plan.spec.seed,
    )


def _stack(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Estimates of several measures in one frame; a factor a measure does not use is null.

    ``generator`` is there even where every measure pools the models: readers of a run count on it.
    """
    fixed = [column.name for column in ESTIMATES]
    frames = [measure.estimate_frame([], factors=("generator",)), *frames]
    together = pl.concat(frames, how="diagonal")
    factors = [c for c in together.columns if c not in fixed]
    return together.select(*fixed[:2], *factors, *fixed[2:])
