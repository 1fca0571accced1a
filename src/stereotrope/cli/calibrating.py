"""``stereotrope calibrate``: what an instrument reads, set beside what was planted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.console import Console
from rich.text import Text

from stereotrope.cli.console import working
from stereotrope.cli.entries import entry_of
from stereotrope.cli.scores import MOST_SCORES
from stereotrope.clients import is_model, redact
from stereotrope.errors import AuditFileError, BudgetError, IncompleteError, UsageError
from stereotrope.escape import visible
from stereotrope.report.numbers import number, probability
from stereotrope.terminal import console, print_json, print_line, print_rows, safe

if TYPE_CHECKING:
    from stereotrope.calibrate import Calibration
    from stereotrope.commands import Settings
    from stereotrope.run import Engine

_EXAMPLE = "-a '{questions: openai:gpt-4o, base_url: http://localhost:8000/v1}'"
FIT = {True: "fit", False: "unfit", None: "undecided"}


@dataclass(frozen=True)
class CalibrationOptions:
    """What ``stereotrope calibrate`` was asked for."""

    annotators: Sequence[str]
    folder: Path
    images: int = 20
    base_url: str | None = None
    key: str | None = None
    requests_per_minute: float | None = None
    max_cost: float | None = None
    engine: Engine | str = "local"
    plan: bool = False
    as_json: bool = False


def annotator_specs(asked: CalibrationOptions) -> list[str | dict[str, Any]]:
    """Read the annotators of the command line: names, ``provider:model``, or YAML mappings.

    Raises UsageError: A mapping cannot be read, or an option for models is given and no annotator is one.
    """
    options = ("base_url", "key", "requests_per_minute")
    given: dict[str, Any] = {n: value for n in options if (value := getattr(asked, n)) is not None}
    if asked.key is not None and asked.key.lower() == "none":
        given["key"] = None
    specs: list[str | dict[str, Any]] = []
    used = False
    for text in asked.annotators:
        spec = entry_of(text, "--annotator", example=_EXAMPLE)
        values: Iterable[Any] = [spec] if isinstance(spec, str) else spec.values()
        if given and any(isinstance(value, str) and is_model(value) for value in values):
            used = True
            spec = {**given, **({"questions": spec} if isinstance(spec, str) else spec)}
        specs.append(spec)
    if given and not used:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageError(
            f"{names}: is for models, and none of the annotators "
            f"({redact(', '.join(asked.annotators))}) is one; name one, for example --annotator openai:gpt-4o"
        )
    return specs


def run_calibration(asked: CalibrationOptions, settings: Settings) -> None:
    """Calibrate, print the result, and end with exit code 3 where an instrument is not fit."""
    try:
        _run(asked, settings)
    except AuditFileError as error:  # the file that calibrate writes for itself is not the user's
        said = str(error).removeprefix(f"{error.file}:{error.line}: ")
        raise UsageError(f"--annotator: {said}") from None


def _run(asked: CalibrationOptions, settings: Settings) -> None:
    from stereotrope.calibrate import calibrate, calibration_audit, found_in, planned
    from stereotrope.cli.planning import print_plan
    from stereotrope.run import open as open_run

    specs, seed = annotator_specs(asked), settings.seed or 0
    audit = calibration_audit(specs, images=asked.images, seed=seed)
    if asked.plan:
        print_plan(planned(audit)[0], asked.folder, settings, max_cost=asked.max_cost)
        return
    missing: IncompleteError | BudgetError | None = None
    with working(settings) as (watcher, stop):
        given: dict[str, Any] = {
            "images": asked.images,
            "seed": seed,
            "max_cost": asked.max_cost,
            "engine": asked.engine,
        }
        try:
            found = calibrate(specs, asked.folder, **given, watcher=watcher, stop=stop)
        except (IncompleteError, BudgetError) as error:
            missing, found = error, found_in(open_run(asked.folder), *planned(audit))
    if asked.as_json:
        print_json(_as_json(found))
    else:
        _print(found, asked.folder, settings)
    if missing is not None:
        raise missing
    if found.unfit:
        raise IncompleteError(
            f"{' '.join(found.unfit)} Estimates made with it say more about the instrument than about the "
            "model; use another, or leave out what it reads badly"
        )
    if found.undecided:
        raise IncompleteError(f"{' '.join(found.undecided)} Ask for more with --images")


def _as_json(found: Calibration) -> dict[str, Any]:
    tables = ("accuracy", "confusion", "shares", "divergences")
    told = {name: getattr(found, name).to_dicts() for name in tables}
    return {"judge_cards": found.cards, **told, "unfit": found.unfit, "undecided": found.undecided}


def _print(found: Calibration, folder: Path, settings: Settings) -> None:
    out = console(settings)
    for card in found.cards:
        _print_card(card, out)
    out.print()
    _print_confusions(found, out)
    out.print()
    inside = found.shares["inside"].sum()
    out.print(f"Planted shares inside their 95% interval: {inside} of {found.shares.height}")
    out.print()
    _print_divergences(found, out)
    out.print()
    out.print(Text(f"Report: {visible(str(folder / 'report' / 'index.html'))}"))


def _print_card(card: Mapping[str, Any], out: Console) -> None:
    """The sentence of a card and its checks, attribute by attribute where it matters."""
    out.print()
    print_line(Text(f"{FIT[card['fit']]}: ", style="bold") + safe(card["sentence"]), out)
    print_line(safe(f"Checked on {card['checked_on']}."), out)
    rows = [
        [
            _words(row["check"]), _words(row["attribute"]), _number(row["value"], row["reason"]),
            _interval(row), row["n"], _number(row["limit"]), row["verdict"],
        ]
        for row in card["rows"]
    ]  # fmt: skip
    print_rows("", ["check", "attribute", "value", "95% interval", "n", "limit", "verdict"], rows, out)


def _print_divergences(found: Calibration, out: Console) -> None:
    several = found.divergences.height > 0 and found.divergences["annotator"].n_unique() > 1
    rows = [
        [
            *([r["annotator"]] if several else []),
            r["object"], r["group"], _number(r["planted"]), _number(r["adjusted"]), _interval(r),
            probability(r["q_value"]), {True: "yes", False: "no", None: "not defined"}[r["inside"]],
        ]
        for r in found.divergences.iter_rows(named=True)
    ]  # fmt: skip
    columns = ["object", "group", "planted", "measured", "95% interval", "q", "planted inside"]
    title = "Divergence from the baseline in bits: planted, and measured (adjusted for the noise floor)"
    print_rows(title, [*(["annotator"] if several else []), *columns], rows, out)


def _print_confusions(found: Calibration, out: Console) -> None:
    wrong = found.confusion.filter(pl.col("reference_value") != pl.col("value")).sort("n", descending=True)
    if not wrong.height:
        out.print("No confusion: every label is what was planted.")
        return
    first = wrong.select("annotator", "attribute", "reference_value", "value", "n").head(MOST_SCORES)
    rows = [[name, _words(attribute), *rest] for name, attribute, *rest in first.iter_rows()]
    most = f" (the {len(rows)} most frequent of {wrong.height} confusions)" * (wrong.height > len(rows))
    print_rows(
        f"What was taken for what{most}", ["annotator", "attribute", "planted", "read", "n"], rows, out
    )


def _words(name: str) -> str:
    return {"kappa": "Cohen's κ"}.get(name, name.replace("_", " "))


def _number(value: float | None, reason: str | None = None) -> str:
    return ": ".join(filter(None, ("not defined", reason))) if value is None else number(value, places=3)


def _interval(row: Mapping[str, Any]) -> str:
    if row["low"] is None or row["high"] is None:
        return "not defined"
    return f"[{_number(row['low'])}, {_number(row['high'])}]"
