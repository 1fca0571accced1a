"""The audit of a calibration: planted pictures, and check pictures where a model is to be checked."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from ruamel.yaml import YAML

from stereotrope import generate
from stereotrope.audit import Audit, Plan
from stereotrope.audit.plan import StoredRun
from stereotrope.calibrate.checks import CHECK_KINDS, INJECTIONS, PLAIN, checks
from stereotrope.calibrate.judging import InstrumentCheck
from stereotrope.calibrate.pictures import CheckPictures, Motif, values_frame
from stereotrope.design import BASE
from stereotrope.errors import UsageError
from stereotrope.generate import ImageRequest, KnownGenerator, request_id, requests_frame
from stereotrope.run import open as open_run
from stereotrope.shipped import shipped
from stereotrope.tables import QUALITY_ATTRIBUTES, factors_of, prompt_id

_AUDIT: Mapping[str, Any] = shipped("calibrate", "audit.yaml")
MOST_CLAIMS = 2
"""Attributes of one annotator that painted words are about: each takes its own pictures."""


class CheckAudit(Audit):
    """The audit of a calibration, with the checks of the models among its annotators.

    Each annotator that asks a model is checked: check pictures are added to the planted ones, and two
    variants of it (options reversed, no picture sent) look at the pictures without a cue.
    """

    def plan(
        self,
        *,
        folder: Path | str | None = None,
        max_cost: float | None = None,
        stored: StoredRun | None = None,
    ) -> Plan:
        """Resolve the audit; does nothing else. ``stored`` is what a calibration's run asked for."""
        plain = stored
        if stored is not None and "check" in stored.prompts.columns:
            planted = stored.prompts.filter(pl.col("check") == PLAIN).drop("check", "claim")
            plain = stored._replace(prompts=planted)
        plan = super().plan(max_cost=max_cost, stored=plain)
        return _with_checks(plan, None if stored is None else stored.prompts)


def calibration_audit(
    annotators: Sequence[str | Mapping[str, Any]], *, images: int = 20, seed: int = 0
) -> CheckAudit:
    """Return the audit that a calibration carries out: four objects, two dimensions, planted truth."""
    asked = {"images_per_prompt": images, "seed": seed, "annotators": list(annotators)}
    text = io.StringIO()
    YAML().dump({**_AUDIT, **asked}, text)
    return CheckAudit.from_text(text.getvalue(), name="calibrate.yaml")


def audit_of(folder: Path | str, *, seed: int | None = None) -> Audit:
    """Return the audit of a run folder, which knows the checks where the run is a calibration."""
    run = open_run(Path(folder))
    # Audits that take a check of their judge keep its card too, but have no planted truth.
    planted = "judge_cards" in run.info and run.reference is not None
    return (CheckAudit if planted else Audit).from_run(folder, seed=seed)


def known_generator(plan: Plan) -> KnownGenerator:
    """Return what the planted pictures of a calibration are drawn by.

    Raises UsageError: The first generator of the audit is none whose truth is known.
    """
    first = plan.generators[0] if plan.generators else generate.create(plan.spec.generators[0])
    if not isinstance(first, KnownGenerator):
        raise UsageError("a calibration draws with the calibrated generator; it is not in this audit")
    return first


def planted_labels(plan: Plan, generator: KnownGenerator) -> pl.DataFrame:
    """What was put into each planted picture: ``image_id, attribute, value``."""
    drawn = plan.requests.filter(drawn_by=generator.name)
    return values_frame(generator, drawn.select("image_id", "text", pl.col("seed").fill_null(0)))


def _with_checks(plan: Plan, stored: pl.DataFrame | None) -> Plan:
    inner = known_generator(plan)
    tested = list(plan.annotators)
    judges: list[Any] = [a for a in tested if a.variants]
    for judge in judges:
        if judge.parts:
            raise UsageError(
                f"annotator {judge.name!r}: a check needs attributes that are known beforehand, found "
                "`discover: true`; leave it out, or list them under `attributes`"
            )
    if not judges:
        return replace(plan, check=InstrumentCheck(plan, tested, inner))
    plan, prompts = (plan, stored) if stored is not None else _extended(plan, _claims(judges, inner))
    drawer = _drawer(prompts, inner, judges)
    variants = tuple(judge.variant(which) for judge in judges for which in judge.variants)
    plain, base = (
        frozenset(prompts.filter(check=PLAIN, **more)["prompt_id"]) for more in ({}, {"group": BASE})
    )
    shown = {a.name: plain for a in plan.annotators if a not in judges}
    shown |= {variant.name: base for variant in variants}
    return replace(
        plan,
        prompts=prompts,
        generators=(*plan.generators, drawer) if stored is None else plan.generators,
        requests=plan.requests if stored is not None else _requests(prompts, drawer, plan),
        annotators=(*plan.annotators, *variants),
        shown=shown,
        check=InstrumentCheck(replace(plan, prompts=prompts), tested, inner, drawer),
    )


def _claims(judges: Sequence[Any], inner: KnownGenerator) -> list[str]:
    """Attributes that painted words are about: of each judge the first two, planted colours first."""
    claimed: dict[str, None] = {}
    for judge in judges:
        first = sorted(_options([judge], inner), key=lambda name: judge.attributes[name] is not None)
        claimed |= dict.fromkeys(first[:MOST_CLAIMS])
    return list(claimed)


def _options(judges: Sequence[Any], inner: KnownGenerator) -> dict[str, tuple[str, ...]]:
    """Attribute → values that painted words may name: its list, or the planted colours."""
    found: dict[str, tuple[str, ...]] = {}
    for name, values in (pair for judge in judges for pair in judge.attributes.items()):
        named = inner.colours if values is None and name in checks()["colours"] else values
        # No painted word about text in the picture is false.
        about_text = any(word in name.lower() for word in checks()["about_text"])
        if named is not None and not about_text and name not in QUALITY_ATTRIBUTES:
            found.setdefault(name, tuple(named))
    return found


def _extended(plan: Plan, claims: Sequence[str]) -> tuple[Plan, pl.DataFrame]:
    """The plan and its prompts with the factors ``check`` and ``claim``, and the prompts of the checks."""
    factors = [*plan.factors, "check", "claim"]
    rows, renamed = [], {}
    for row in plan.prompts.iter_rows(named=True):
        plain = {**row, "check": PLAIN, "claim": None}
        plain["prompt_id"] = prompt_id(row["text"], row["negative"], {f: plain[f] for f in factors})
        renamed[row["prompt_id"]] = plain["prompt_id"]
        rows.append(plain)
    for row in [row for row in rows if row["group"] == BASE]:
        for kind in CHECK_KINDS[1:]:
            for claim in claims if kind in INJECTIONS else [None]:
                words = (claim or "").replace("_", " ")
                text = checks()["prompts"][kind].format(base=row["text"], attribute=words)
                made = {**row, "check": kind, "claim": claim, "text": text}
                made["prompt_id"] = prompt_id(text, row["negative"], {f: made[f] for f in factors})
                rows.append(made)
    prompts = pl.DataFrame(rows, schema=dict.fromkeys(("prompt_id", *factors, "text", "negative"), pl.String))
    requests = plan.requests.with_columns(pl.col("prompt_id").replace_strict(renamed))
    return replace(plan, requests=requests), prompts


def _drawer(prompts: pl.DataFrame, inner: KnownGenerator, judges: Sequence[Any]) -> CheckPictures:
    design = [f for f in factors_of(prompts.columns) if f not in ("check", "claim")]
    plain = prompts.filter(check=PLAIN).select(*design, base="text")
    painted = prompts.filter(pl.col("check") != PLAIN)
    painted = painted.join(plain, on=design, nulls_equal=True, maintain_order="left")
    motifs = {
        text: Motif(*of) for text, *of in painted.select("text", "check", "base", "object", "claim").rows()
    }
    return CheckPictures(inner, motifs, _options(judges, inner))


def _requests(prompts: pl.DataFrame, drawer: CheckPictures, plan: Plan) -> pl.DataFrame:
    """Those of the plan, and those of the check pictures."""
    seeds = plan.requests["seed"].unique(maintain_order=True)
    texts = prompts.filter(pl.col("check") != PLAIN).select("prompt_id", "text", "negative")
    image_id = partial(request_id, drawer.fingerprint, params={})
    further = requests_frame(
        ImageRequest(image_id(text, negative, seed), prompt_id, drawer.name, text, negative, seed)
        for prompt_id, text, negative in texts.iter_rows()
        for seed in seeds
    )
    return pl.concat([plan.requests, further.with_columns(drawn_by=pl.lit(drawer.name))])
