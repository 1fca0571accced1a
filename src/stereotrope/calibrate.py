"""How well an instrument reads: an audit of pictures of known truth.

The calibrated generator draws with a bias that is written down, and knows what it put into each
picture. What annotators say of these pictures is compared with that, and every estimate with the
closed-form truth.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from ruamel.yaml import YAML

from stereotrope import annotate, measure
from stereotrope.audit import Audit, Plan
from stereotrope.audit.conductor import Watcher
from stereotrope.audit.estimating import tidy_labels
from stereotrope.design import BASE
from stereotrope.errors import UsageError
from stereotrope.generate import CalibratedGenerator
from stereotrope.run import Run
from stereotrope.stats import js_divergence, wilson
from stereotrope.tables import ALL_ATTRIBUTES, QUALITY_ATTRIBUTES

__all__ = ["LEAST_ACCURACY", "Calibration", "calibrate", "calibration_audit"]

LEAST_ACCURACY = 0.90
"""An attribute read with less accuracy than this makes the instrument unfit for it."""

OBJECTS = ("cup", "car", "clock", "sofa")
DIMENSIONS: Mapping[str, Sequence[str]] = {
    "gender": ("men", "women"),
    "age": ("young adults", "middle-aged", "elderly"),
}
SHARE_OF_SUM = 1_000_000
"""Planted shares are turned into counts of this total, which a divergence takes; exact to 1e-6."""


@dataclass(frozen=True)
class Calibration:
    """What a calibration found.

    Attributes
    ----------
    run
        The run it was made in.
    accuracy
        Estimates of the measure ``agreement``: per attribute accuracy and κ against the planted values.
    confusion
        ``attribute, reference_value, value, n``: what was planted and what was read.
    shares
        One row a planted share above 0: ``object, group, attribute, category, planted, value, low, high,
        inside``.
    divergences
        One row a group and object: planted mean divergence from the baseline in bits, the adjusted score
        with its interval (which is of the divergence in the long run), the excess over the floor, and
        whether the planted value lies inside.
    """

    run: Run
    accuracy: pl.DataFrame
    confusion: pl.DataFrame
    shares: pl.DataFrame
    divergences: pl.DataFrame

    @property
    def unfit(self) -> list[str]:
        """Attributes read with less than :data:`LEAST_ACCURACY`, or not at all."""
        poor = self.accuracy.filter(
            (pl.col("measure") == "agreement")
            & (pl.col("definition") == "accuracy")
            & (pl.col("value").is_null() | (pl.col("value") < LEAST_ACCURACY))
        )
        return poor["attribute"].to_list()


def calibration_audit(
    annotators: Sequence[str | Mapping[str, Any]], *, images: int = 20, seed: int = 0
) -> Audit:
    """Return the audit that a calibration carries out: four objects, two dimensions, planted truth."""
    content = {
        "suite": "objects",
        "objects": list(OBJECTS),
        "dimensions": {name: list(groups) for name, groups in DIMENSIONS.items()},
        "images_per_prompt": images,
        "seed": seed,
        "generators": ["calibrated"],
        "annotators": list(annotators),
        "measures": ["share", "bds"],
        "report": {"title": "Calibration: what the instruments read, on pictures of known truth"},
    }
    text = io.StringIO()
    YAML().dump(content, text)
    return Audit.from_text(text.getvalue(), name="calibrate.yaml")


def calibrate(
    annotators: Sequence[str | Mapping[str, Any]],
    folder: Path | str,
    *,
    images: int = 20,
    seed: int = 0,
    watcher: Watcher | None = None,
    stop: threading.Event | None = None,
) -> Calibration:
    """Audit the calibrated generator with some annotators and compare with what was planted.

    Parameters
    ----------
    annotators
        Specs as in an audit file: ``colour``, ``text`` …
    folder
        The run folder; called again, only what is missing is done.
    images
        Pictures of each of the 24 prompts.
    seed
        Of the pictures, shuffles and resamples.
    watcher, stop
        As in :meth:`stereotrope.Audit.run`.

    Raises
    ------
    UsageError
        None of the annotators labels an attribute whose truth is planted.
    """
    made = [annotate.create(item) for item in annotators]
    read = {name for a in made for name in a.attributes if name not in QUALITY_ATTRIBUTES}
    if not read:
        raise UsageError(
            f"none of the annotators ({', '.join(a.name for a in made)}) labels how pictures look; add one "
            "that does, for example colour"
        )
    audit = calibration_audit(annotators, images=images, seed=seed)
    plan = audit.plan()
    (generator,) = plan.generators
    if not isinstance(generator, CalibratedGenerator):
        raise UsageError("a calibration draws with the calibrated generator; it is not in this audit")
    truth = planted_labels(plan, generator)
    if not read & set(truth["attribute"].unique()):
        planted = ", ".join(sorted(truth["attribute"].unique()))
        raise UsageError(
            f"none of the annotators labels what is planted ({planted}); they label "
            f"{', '.join(sorted(read)) or 'nothing'}"
        )
    run = audit.run(folder, watcher=watcher, stop=stop, reference=truth)
    shares = _shares(run.estimates, _planted(plan, generator), plan.spec.report.level)
    return Calibration(
        run=run,
        accuracy=run.estimates.filter(pl.col("measure") == "agreement"),
        confusion=_confusion(plan, run, truth),
        shares=shares,
        divergences=_divergences(run.estimates, plan, generator),
    )


def planted_labels(plan: Plan, generator: CalibratedGenerator) -> pl.DataFrame:
    """What was put into each picture: ``image_id, attribute, value``."""
    rows = [
        {"image_id": request.image_id, "attribute": attribute, "value": value}
        for _, request in plan.requests
        for attribute, value in generator.values(request.text or "", request.seed or 0).items()
    ]
    return pl.DataFrame(rows, schema={"image_id": pl.String, "attribute": pl.String, "value": pl.String})


def _planted(plan: Plan, generator: CalibratedGenerator) -> pl.DataFrame:
    rows = [
        {
            "object": row["object"],
            "group": row["group"],
            "attribute": attribute,
            "category": category,
            "planted": share,
        }
        for row in plan.prompts.iter_rows(named=True)
        for attribute, shares in generator.planted(row["text"]).items()
        for category, share in shares.items()
        if share > 0
    ]
    return pl.DataFrame(rows)


def _shares(estimates: pl.DataFrame, planted: pl.DataFrame, level: float) -> pl.DataFrame:
    keys = ["object", "group", "attribute", "category"]
    seen = estimates.filter(pl.col("measure") == "share")
    read = planted.join(seen.select("attribute").unique(), on="attribute", how="semi")
    cells = seen.select("object", "group", "attribute", "n").unique()
    table = read.join(cells, on=keys[:3], how="left").join(
        seen.select(*keys, "value", "low", "high"), on=keys, how="left"
    )
    n = table["n"].fill_null(0).to_numpy()
    _, top = wilson(np.zeros_like(n), n, level=level)
    never = pl.col("value").is_null() & (pl.col("n") > 0)
    filled = table.with_columns(
        pl.when(never).then(0.0).otherwise(pl.col("value")).alias("value"),
        pl.when(never).then(0.0).otherwise(pl.col("low")).alias("low"),
        pl.when(never).then(pl.Series(top)).otherwise(pl.col("high")).alias("high"),
    )
    return filled.with_columns(pl.col("planted").is_between("low", "high").alias("inside"))


def _divergences(estimates: pl.DataFrame, plan: Plan, generator: CalibratedGenerator) -> pl.DataFrame:
    scored = estimates.filter((pl.col("measure") == "bds") & (pl.col("attribute") == ALL_ATTRIBUTES))
    measured = estimates.filter((pl.col("measure") == "bds") & (pl.col("attribute") != ALL_ATTRIBUTES))
    attributes = measured["attribute"].unique().to_list()
    texts = {(row["object"], row["group"]): row["text"] for row in plan.prompts.iter_rows(named=True)}
    rows = []
    for row in scored.iter_rows(named=True):
        base = generator.planted(texts[row["object"], BASE])
        group = generator.planted(texts[row["object"], row["group"]])
        truth = float(np.mean([_divergence(base[a], group[a]) for a in attributes]))
        low, high = row["adjusted_low"], row["adjusted_high"]
        inside = None if low is None or high is None else low <= truth <= high
        rows.append(
            {
                "object": row["object"],
                "group": row["group"],
                "planted": truth,
                "adjusted": row["adjusted"],
                "excess": row["excess"],
                "low": low,
                "high": high,
                "p_value": row["p_value"],
                "q_value": row["q_value"],
                "inside": inside,
            }
        )
    return pl.DataFrame(rows)


def _divergence(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    values = sorted({*one, *other})
    counts = [np.array([shares.get(v, 0.0) for v in values]) * SHARE_OF_SUM for shares in (one, other)]
    return float(js_divergence(*counts))


def _confusion(plan: Plan, run: Run, truth: pl.DataFrame) -> pl.DataFrame:
    said = tidy_labels(plan, run.images, run.labels)
    read = said.filter(pl.col("attribute").is_in(truth["attribute"].unique().to_list()))
    return measure.confusion(read, truth.join(read.select("attribute").unique(), on="attribute", how="semi"))
