"""The audit of a calibration: planted pictures, and check pictures where a model is to be checked."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from ruamel.yaml import YAML

from stereotrope import generate
from stereotrope.audit import Audit, Plan
from stereotrope.audit.plan import StoredRun
from stereotrope.calibrate.checks import CHECK_KINDS, INJECTIONS, PLAIN, about_text, checks, in_words
from stereotrope.calibrate.judging import InstrumentCheck
from stereotrope.calibrate.pictures import CheckPictures, Motif
from stereotrope.design import BASE
from stereotrope.errors import UsageError
from stereotrope.generate import CalibratedGenerator, ImageRequest, image_requests, request_id, requests_frame
from stereotrope.run import open as open_run
from stereotrope.tables import QUALITY_ATTRIBUTES, factors_of, prompt_id

OBJECTS = ("cup", "car", "clock", "sofa")
DIMENSIONS: Mapping[str, Sequence[str]] = {
    "gender": ("men", "women"),
    "age": ("young adults", "middle-aged", "elderly"),
}
MOST_CLAIMS = 2
"""Attributes of one annotator that painted words are about: each takes its own pictures."""
TITLE = "Calibration: what the instruments read, on pictures of known truth"


class CheckAudit(Audit):
    """The audit of a calibration, with the checks of the models among its annotators.

    Each annotator that asks a model is checked: check pictures are added to the planted ones, and two
    variants of it (options reversed, no picture sent) look at the pictures without a cue.
    """

    def plan(self, *, max_cost: float | None = None, stored: StoredRun | None = None) -> Plan:
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
    content = {
        "suite": "objects",
        "objects": list(OBJECTS),
        "dimensions": {name: list(groups) for name, groups in DIMENSIONS.items()},
        "images_per_prompt": images,
        "seed": seed,
        "generators": ["calibrated"],
        "annotators": list(annotators),
        "measures": ["share", "bds"],
        "report": {"title": TITLE},
    }
    text = io.StringIO()
    YAML().dump(content, text)
    return CheckAudit.from_text(text.getvalue(), name="calibrate.yaml")


def audit_of(folder: Path | str, *, seed: int | None = None) -> Audit:
    """Return the audit of a run folder, which knows the checks where the run is a calibration."""
    run = open_run(Path(folder))
    # Audits that take a check of their judge keep its card too, but have no planted truth.
    planted = "judge_cards" in run.info and run.reference is not None
    kind = CheckAudit if planted else Audit
    return kind.from_run(folder, seed=seed)


def planted_labels(plan: Plan, generator: CalibratedGenerator) -> pl.DataFrame:
    """What was put into each planted picture: ``image_id, attribute, value``."""
    rows = [
        {"image_id": request.image_id, "attribute": attribute, "value": value}
        for request in image_requests(plan.requests.filter(drawn_by=generator.name))
        for attribute, value in generator.values(request.text or "", request.seed or 0).items()
    ]
    return pl.DataFrame(rows, schema={"image_id": pl.String, "attribute": pl.String, "value": pl.String})


def _with_checks(plan: Plan, stored: pl.DataFrame | None) -> Plan:
    inner = plan.generators[0] if plan.generators else generate.create(plan.spec.generators[0])
    if not isinstance(inner, CalibratedGenerator):
        raise UsageError("a calibration draws with the calibrated generator; it is not in this audit")
    tested = [a for a in plan.annotators if a.looks]
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
    plain = frozenset(prompts.filter(pl.col("check") == PLAIN)["prompt_id"])
    base = frozenset(prompts.filter((pl.col("check") == PLAIN) & (pl.col("group") == BASE))["prompt_id"])
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


def _claims(judges: Sequence[Any], inner: CalibratedGenerator) -> list[str]:
    """Attributes that painted words are about: of each judge the first two, planted colours first."""
    claimed: dict[str, None] = {}
    for judge in judges:
        options = _options([judge], inner)
        first = sorted(options, key=lambda name: judge.attributes[name] is not None)
        claimed |= dict.fromkeys(first[:MOST_CLAIMS])
    return list(claimed)


def _options(judges: Sequence[Any], inner: CalibratedGenerator) -> dict[str, tuple[str, ...]]:
    """Attribute → values that painted words may name: its list, or the planted colours."""
    found: dict[str, tuple[str, ...]] = {}
    for judge in judges:
        for name, values in judge.attributes.items():
            if about_text(name) or name in QUALITY_ATTRIBUTES:
                continue
            if values is not None:
                found.setdefault(name, tuple(values))
            elif "colour" in name or "color" in name:
                found.setdefault(name, tuple(inner.truth.colours))
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
                text = checks()["prompts"][kind].format(base=row["text"], attribute=in_words(claim or ""))
                made = {**row, "check": kind, "claim": claim, "text": text}
                made["prompt_id"] = prompt_id(text, row["negative"], {f: made[f] for f in factors})
                rows.append(made)
    order = ["prompt_id", *factors, "text", "negative"]
    schema = dict.fromkeys(order, pl.String)
    prompts = pl.DataFrame({name: [row[name] for row in rows] for name in order}, schema=schema)
    requests = plan.requests.with_columns(pl.col("prompt_id").replace_strict(renamed))
    return replace(plan, requests=requests), prompts


def _drawer(prompts: pl.DataFrame, inner: CalibratedGenerator, judges: Sequence[Any]) -> CheckPictures:
    design = [f for f in factors_of(prompts.columns) if f not in ("check", "claim")]
    rows = list(prompts.iter_rows(named=True))
    base = {tuple(r[f] for f in design): r["text"] for r in rows if r["check"] == PLAIN}
    motifs = {
        row["text"]: Motif(row["check"], base[tuple(row[f] for f in design)], row["object"], row["claim"])
        for row in rows
        if row["check"] != PLAIN
    }
    return CheckPictures(inner, motifs, _options(judges, inner))


def _requests(prompts: pl.DataFrame, drawer: CheckPictures, plan: Plan) -> pl.DataFrame:
    """Those of the plan, and those of the check pictures."""
    seeds = plan.requests["seed"].unique(maintain_order=True)
    texts = prompts.filter(pl.col("check") != PLAIN).select("prompt_id", "text", "negative")
    further = requests_frame(
        ImageRequest(
            request_id(drawer.fingerprint, text, negative, seed, {}),
            prompt_id,
            drawer.name,
            text,
            negative,
            seed,
        )
        for prompt_id, text, negative in texts.iter_rows()
        for seed in seeds
    )
    return pl.concat([plan.requests, further.with_columns(drawn_by=pl.lit(drawer.name))])
