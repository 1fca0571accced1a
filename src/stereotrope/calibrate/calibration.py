"""How well an instrument reads: what annotators say of pictures of known truth, against what was planted.

Models are checked further: see ``checks.yaml``.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from stereotrope import annotate
from stereotrope.audit import Plan
from stereotrope.audit.work import Watcher
from stereotrope.calibrate.checks import PLAIN
from stereotrope.calibrate.design import CheckAudit, calibration_audit, known_generator, planted_labels
from stereotrope.design import BASE
from stereotrope.errors import UsageError
from stereotrope.generate import KnownGenerator
from stereotrope.run import Engine, Run
from stereotrope.stats import js_divergence, wilson
from stereotrope.tables import ALL_ATTRIBUTES, QUALITY_ATTRIBUTES

_SHARE_OF_SUM = 1_000_000
"""Planted shares are turned into counts of this total, which a divergence takes; exact to 1e-6."""


@dataclass(frozen=True)
class Calibration:
    """What a calibration found.

    cards: One judge card an annotator, as in ``run.json``: see ``cards.py``.
    accuracy: Estimates of the measure ``agreement``: per annotator and attribute accuracy and κ against the
        planted values.
    confusion: ``annotator, attribute, reference_value, value, n``: what was planted and what was read.
    shares: One row a planted share above 0: ``annotator, object, group, attribute, category, planted, value,
        low, high, inside``.
    divergences: One row an annotator, group and object: planted mean divergence from the baseline in bits,
        the adjusted score with its interval (which is of the divergence in the long run), the excess over the
        floor, and whether the planted value lies inside.
    """

    run: Run
    cards: list[dict[str, Any]]
    accuracy: pl.DataFrame
    confusion: pl.DataFrame
    shares: pl.DataFrame
    divergences: pl.DataFrame

    @property
    def unfit(self) -> list[str]:
        """Sentences of the cards of annotators that a check found unfit."""
        return [card["sentence"] for card in self.cards if card["fit"] is False]

    @property
    def undecided(self) -> list[str]:
        """Sentences of the cards of annotators that the evidence says neither yes nor no to."""
        return [card["sentence"] for card in self.cards if card["fit"] is None]


def planned(audit: CheckAudit, *, max_cost: float | None = None) -> tuple[Plan, KnownGenerator]:
    """Return the plan of a calibration and its generator, once the annotators are found to fit.

    Raises UsageError: None of the annotators labels an attribute whose truth is planted.
    """
    made = [annotate.create(item) for item in audit.spec.annotators or ()]
    read = {name for a in made for name in a.attributes if name not in QUALITY_ATTRIBUTES}
    if not read:
        names = ", ".join(annotator.name for annotator in made)
        raise UsageError(
            f"none of the annotators ({names}) labels how pictures look; add one that "
            "does, for example colour"
        )
    plan = audit.plan(max_cost=max_cost)
    generator = known_generator(plan)
    planted = sorted(planted_labels(plan, generator)["attribute"].unique())
    if not read & set(planted):
        raise UsageError(
            f"none of the annotators labels what is planted ({', '.join(planted)}); they label "
            f"{', '.join(sorted(read)) or 'nothing'}"
        )
    return plan, generator


def calibrate(
    annotators: Sequence[str | Mapping[str, Any]],
    folder: Path | str,
    *,
    images: int = 20,
    seed: int = 0,
    max_cost: float | None = None,
    watcher: Watcher | None = None,
    stop: threading.Event | None = None,
    engine: str | Engine = "local",
) -> Calibration:
    """Audit the calibrated generator with some annotators and compare with what was planted.

    annotators: Specs as in an audit file: ``colour``, ``text``, ``openai:gpt-4o``, a mapping …
    folder: The run folder; called again, only what is missing is done.
    images: Pictures of each of the 24 prompts, and of each prompt of the checks.
    max_cost: US dollars that calls to models may cost, those of earlier calls in this folder included.
    watcher, stop, engine: As in :meth:`stereotrope.Audit.run`.
    Raises UsageError: None of the annotators labels an attribute whose truth is planted.
    Raises RunError: The folder holds a run of another audit.
    """
    audit = calibration_audit(annotators, images=images, seed=seed)
    audit.refuse_other_run(folder)
    plan, generator = planned(audit, max_cost=max_cost)
    truth = planted_labels(plan, generator)
    how: dict[str, Any] = {"watcher": watcher, "stop": stop, "max_cost": max_cost, "engine": engine}
    run = audit.run(folder, reference=truth, **how)
    return found_in(run, plan, generator)


def found_in(run: Run, plan: Plan, generator: KnownGenerator) -> Calibration:
    """Return what a calibration found, from its run and its plan (see :func:`planned`)."""
    cards: list[dict[str, Any]] = run.info["judge_cards"]
    confused = [{"annotator": card["annotator"], **row} for card in cards for row in card["confusion"]]
    named = ("annotator", "attribute", "reference_value", "value")
    schema = {**dict.fromkeys(named, pl.String), "n": pl.Int64}
    return Calibration(
        run=run,
        cards=cards,
        accuracy=run.estimates.filter(pl.col("measure") == "agreement"),
        confusion=pl.DataFrame(confused, schema=schema, orient="row"),
        shares=_shares(run.scores, _planted(plan, generator), plan.spec.report.level),
        divergences=_divergences(run.scores, plan, generator),
    )


def _plain(plan: Plan) -> pl.DataFrame:
    return plan.prompts.filter(pl.col("check") == PLAIN) if "check" in plan.factors else plan.prompts


def _planted(plan: Plan, generator: KnownGenerator) -> pl.DataFrame:
    rows = [
        (row["object"], row["group"], attribute, category, share)
        for row in _plain(plan).iter_rows(named=True)
        for attribute, shares in generator.planted(row["text"]).items()
        for category, share in shares.items()
        if share > 0
    ]
    return pl.DataFrame(rows, schema=["object", "group", "attribute", "category", "planted"], orient="row")


def _shares(estimates: pl.DataFrame, planted: pl.DataFrame, level: float) -> pl.DataFrame:
    keys = ["annotator", "object", "group", "attribute", "category"]
    seen = _by_annotator(estimates.filter(pl.col("measure") == "share"))
    read = seen.select("annotator", "attribute").unique().join(planted, on="attribute")
    table = read.sort(keys)
    for by, figures in ((keys[:4], ["n"]), (keys, ["value", "low", "high"])):
        found = seen.select(*by, *figures).unique()
        table = table.join(found, on=by, how="left", nulls_equal=True, maintain_order="left")
    n = table["n"].fill_null(0).to_numpy()
    never = pl.col("value").is_null() & (pl.col("n") > 0)
    top = pl.Series(wilson(np.zeros_like(n), n, level=level)[1])
    of_none: dict[str, Any] = {"value": 0.0, "low": 0.0, "high": top}
    filled = table.with_columns(
        pl.when(never).then(figure).otherwise(pl.col(name)).alias(name) for name, figure in of_none.items()
    )
    return filled.with_columns(pl.col("planted").is_between("low", "high").alias("inside"))


def _divergences(estimates: pl.DataFrame, plan: Plan, generator: KnownGenerator) -> pl.DataFrame:
    estimates = _by_annotator(estimates.filter(pl.col("measure") == "bds"))
    scored = estimates.filter(pl.col("attribute") == ALL_ATTRIBUTES)
    measured = estimates.filter(pl.col("attribute") != ALL_ATTRIBUTES)
    texts = {(row["object"], row["group"]): row["text"] for row in _plain(plan).iter_rows(named=True)}
    truths: list[float | None] = []
    for annotator, thing, group in scored.select("annotator", "object", "group").iter_rows():
        own = measured.filter(pl.col("annotator").eq_missing(pl.lit(annotator, pl.String)))
        attributes = own["attribute"].unique().sort().to_list()
        base, other = (generator.planted(texts[thing, which]) for which in (BASE, group))
        known = set(attributes) <= set(generator.attributes)
        truths.append(float(np.mean([_divergence(base[a], other[a]) for a in attributes])) if known else None)
    columns = ("annotator", "object", "group", "planted", "adjusted", "excess", "low", "high")
    return (
        scored.drop("low", "high")
        .rename({"adjusted_low": "low", "adjusted_high": "high"})
        .with_columns(planted=pl.Series(truths, dtype=pl.Float64))
        .filter(pl.col("planted").is_not_null())
        .select(*columns, "p_value", "q_value", inside=pl.col("planted").is_between("low", "high"))
    )


def _by_annotator(estimates: pl.DataFrame) -> pl.DataFrame:
    """Estimates with the column ``annotator``, null where no two label the same."""
    if "annotator" in estimates.columns:
        return estimates
    return estimates.with_columns(annotator=pl.lit(None, pl.String))


def _divergence(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    values = sorted({*one, *other})
    counts = [np.array([shares.get(v, 0.0) for v in values]) * _SHARE_OF_SUM for shares in (one, other)]
    return float(js_divergence(*counts))
