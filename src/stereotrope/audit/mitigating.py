"""Strategies carried out on a run: prompts rewritten, and audited again in the same run folder."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope import mitigate
from stereotrope.audit.conductor import Audit
from stereotrope.audit.mitigated import (
    FACTOR,
    ORIGINAL,
    MitigatedPrompt,
    draws,
    originals,
    read_mitigated,
    write_mitigated,
)
from stereotrope.audit.plan import Plan
from stereotrope.audit.work import Silent, Watcher, carry_out, said_of, task_of
from stereotrope.clients import Account
from stereotrope.errors import BudgetError, IncompleteError, UsageError
from stereotrope.mitigate import Case, Strategy
from stereotrope.run import Run, RunFolder
from stereotrope.run import open as open_run

MITIGATE = "mitigate"
"""Name of the stage in the ledger."""


@dataclass(frozen=True)
class _Unit:
    """A prompt as it was designed, for one model or for all."""

    generator: str | None
    original: Mapping[str, Any]


class Mitigation:
    """Strategies, and the run that they are carried out on.

    folder: The run folder.
    strategies: Entries: ``ethical``, ``suffix:in many styles``, ``refine:openai:gpt-4o``, a mapping …

    Raises UsageError: A strategy cannot be made, two have one name, or nothing of the run can be drawn again.
    """

    def __init__(
        self,
        folder: Path | str,
        strategies: Sequence[str | Mapping[str, Any]],
        *,
        max_cost: float | None = None,
    ) -> None:
        self.folder, self._max_cost = Path(folder), max_cost
        run = open_run(self.folder)
        if run.info.get("judge_cards") and "check" in run.info.get("factors", ()):
            raise UsageError(f"{folder}: is a calibration; strategies are carried out on an audit's run")
        self.audit = Audit.from_run(self.folder)
        self._account = Account(max_cost)
        self.strategies = [self._made(spec) for spec in strategies]
        names = [one.name for one in self.strategies]
        if twice := next((name for name in names if names.count(name) > 1 or name == ORIGINAL), None):
            raise UsageError(
                f"two strategies would be the level {twice!r} of {FACTOR}; give one another name: "
                "'{suffix: in many styles, name: styles}'"
            )
        self._require_drawing(self.plan())

    def _made(self, spec: str | Mapping[str, Any]) -> Strategy:
        return mitigate.create(spec, relative_to=self.audit.source.base, account=self._account)

    def plan(self) -> Plan:
        """The audit with the prompts that strategies made so far."""
        return self.audit.plan(folder=self.folder, max_cost=self._max_cost)

    def _require_drawing(self, plan: Plan) -> None:
        if not any(draws(plan.requests, one.name) for one in plan.generators):
            raise UsageError(
                f"{self.folder}: its pictures were made elsewhere, and no generator of its audit can draw "
                "what a strategy asks for; add one to `generators` of the audit file, and run it again"
            )

    def rewrite(self, *, watcher: Watcher | None = None, stop: threading.Event | None = None) -> list[str]:
        """Have every strategy rewrite what it has not; say what came of it, a sentence each.

        The prompts stand in ``mitigated.csv`` of the run folder, to be read and edited. What is there stays.

        Raises BudgetError, IncompleteError: Models did not say all; what they said is kept, the file is not
            changed.
        """
        watcher, stop = watcher or Silent(), stop or threading.Event()
        with RunFolder(self.folder) as into:
            plan, rows = self.plan(), read_mitigated(self.folder)
            there = {row.place for row in rows}
            cases = {
                one.name: [
                    (unit, Case(unit.original["text"], unit.original["text"]))
                    for unit in _units(one, plan)
                    if (one.name, unit.generator, unit.original["prompt_id"]) not in there
                ]
                for one in self.strategies
            }
            made = self._ask(cases, into, watcher, stop)
            new = [
                _row(one, 1, unit, made[one.key_of(case)])
                for one in self.strategies
                for unit, case in cases[one.name]
            ]
            if new:
                write_mitigated(self.folder, [*rows, *new])
        return [_told(one, [row for row in new if row.mitigation == one.name]) for one in self.strategies]

    def _ask(
        self,
        cases: Mapping[str, Sequence[tuple[_Unit, Case]]],
        into: RunFolder,
        watcher: Watcher,
        stop: threading.Event,
    ) -> Mapping[str, Mapping[str, Any]]:
        """What is kept of every case by its key, asked where it is not there yet."""
        self._account.attach(into.ledger)
        self._account.stop, self._account.say = stop, watcher.say
        tasks = []
        for one in self.strategies:
            items = {one.key_of(case): case for _, case in cases[one.name]}
            commit: Callable[..., Any] = partial(_payload, one)
            tasks.append(task_of(one, MITIGATE, list(items.items()), commit=commit))
        missing = carry_out([task for task in tasks if task.job.items], into.ledger, watcher, stop)
        self._account.attach(None)
        if missing:
            over = any(one.budget for one in missing)
            then = "with a higher --max-cost goes on from here" if over else "tries again"
            told = f"{said_of(missing)}. What was answered is kept; the same command {then}"
            raise BudgetError(told) if over else IncompleteError(told)
        return into.ledger.get_all(MITIGATE)

    def run(self, *, watcher: Watcher | None = None, stop: threading.Event | None = None) -> Run:
        """Rewrite the prompts, and carry the audit out with them: draw, look, measure, report.

        Called again, only what is missing is done.

        Raises Interrupted, BudgetError, IncompleteError: As :meth:`stereotrope.Audit.run`.
        """
        watcher = watcher or Silent()
        for sentence in self.rewrite(watcher=watcher, stop=stop):
            watcher.say(sentence)
        return self.audit.run(self.folder, watcher=watcher, stop=stop, max_cost=self._max_cost)


def _payload(strategy: Strategy, key: str, case: Case, result: Any) -> Mapping[str, Any]:
    return strategy.payload(result)


def _units(strategy: Strategy, plan: Plan) -> list[_Unit]:
    """What a strategy rewrites: every prompt once, or once for every model that draws."""
    own = originals(plan.prompts).filter(pl.col(FACTOR) == ORIGINAL).drop_nulls("text").to_dicts()
    models = (
        [one.name for one in plan.generators if draws(plan.requests, one.name)] if strategy.looks else [None]
    )
    return [_Unit(model, row) for model in models for row in own]


def _row(strategy: Strategy, number: int, unit: _Unit, made: Mapping[str, Any]) -> MitigatedPrompt:
    original = unit.original
    place = (strategy.name, number, unit.generator, original["prompt_id"], original["text"])
    return MitigatedPrompt(*place, made["text"], made["status"], made["reason"], strategy.by)


def _told(strategy: Strategy, new: Sequence[MitigatedPrompt]) -> str:
    counts = {status: sum(row.status == status for row in new) for status in ("rewritten", "kept")}
    lost = len(new) - sum(counts.values())
    parts = [f"{n:,} {status}" for status, n in counts.items() if n or status == "rewritten"]
    return f"{strategy.name}: {', '.join([*parts, *([f'{lost:,} without a usable prompt'] if lost else [])])}"
