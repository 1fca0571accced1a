"""Strategies carried out on a run: prompts rewritten, and audited again in the same run folder."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope import mitigate
from stereotrope.audit.cases import DrawnPrompts, Target
from stereotrope.audit.conductor import Audit
from stereotrope.audit.mitigated import (
    FACTOR,
    MITIGATED_FILE,
    MOST_ROUNDS,
    ORIGINAL,
    MitigatedPrompt,
    draws,
    mitigated_prompt,
    originals,
    read_mitigated,
    write_mitigated,
)
from stereotrope.audit.needs import needs_of
from stereotrope.audit.plan import Plan, make_plan
from stereotrope.audit.work import Silent, Watcher, carry_out, said_of, task_of
from stereotrope.clients import Account
from stereotrope.errors import BudgetError, IncompleteError, UsageError
from stereotrope.inputs.options import shorten
from stereotrope.mitigate import USABLE, Case, Strategy
from stereotrope.run import Engine, Items, Run, RunFolder, engine_of, is_sealed
from stereotrope.run import open as open_run
from stereotrope.tables import fingerprint_of

MITIGATE = "mitigate"
"""Name of the stage in the ledger."""


@dataclass(frozen=True)
class PromptTurn:
    """A prompt to rewrite for one model, or for all.

    original: As it was designed.
    before: The row of what was drawn last: the original, or what the round before made of it.
    """

    generator: str | None
    original: Mapping[str, Any]
    before: Mapping[str, Any]


class Mitigation:
    """Strategies, and the run that they are carried out on.

    folder: The run folder.
    strategies: Entries: ``ethical``, ``suffix:in many styles``, ``refine:openai:gpt-4o``, a mapping …
    target: Prompts whose score is there already are left as they are; every one is rewritten when None.
    rounds: How often strategies that look at pictures do so at most, each time at those of the round before.
    max_cost: US dollars that calls to models may cost, those of earlier runs in this folder included.
    engine: Who rewrites, draws and looks, as of :meth:`stereotrope.Audit.run`.

    Raises UsageError: A strategy cannot be made, two have one name, or nothing of the run can be drawn again.
    """

    def __init__(
        self,
        folder: Path | str,
        strategies: Sequence[str | Mapping[str, Any]],
        *,
        target: Target | None = None,
        rounds: int = 1,
        max_cost: float | None = None,
        engine: str | Engine = "local",
    ) -> None:
        self.folder, self.target, self.rounds, self._max_cost = Path(folder), target, rounds, max_cost
        self._engine = engine_of(engine)
        run = open_run(self.folder)
        if run.reference is not None:
            raise UsageError(f"{folder}: is a calibration; strategies are carried out on the run of an audit")
        if not 1 <= rounds <= MOST_ROUNDS:
            raise UsageError(f"--rounds must be 1 to {MOST_ROUNDS}, found {rounds}; correct it")
        self.audit = Audit.from_run(self.folder)
        self._account = Account(max_cost)
        self._planned: tuple[tuple[MitigatedPrompt, ...], Plan] | None = None
        self.strategies = [self._made(spec) for spec in strategies]
        names = [one.name for one in self.strategies]
        if twice := next((name for name in names if names.count(name) > 1 or name == ORIGINAL), None):
            raise UsageError(
                f"two strategies would be the level {twice!r} of {FACTOR}; give one another name: "
                "'{suffix: in many styles, name: styles}'"
            )
        self._require_drawing(self.plan())
        rows = read_mitigated(self.folder)
        for one in self.strategies:
            _refuse_another(one, rows)
        there = [row.mitigation for row in rows]
        for at, one in enumerate(self.strategies):
            if one.follows is not None and one.follows not in [*names[:at], *there]:
                raise UsageError(
                    f"{one.name!r} follows {one.follows!r}, which is no strategy before it and no level of "
                    f"this run; name it before: --with {one.follows}:… --with {one.name}:{one.follows}"
                )

    def _made(self, spec: str | Mapping[str, Any]) -> Strategy:
        return mitigate.create(spec, relative_to=self.audit.source.base, account=self._account)

    def plan(self, rows: Sequence[MitigatedPrompt] | None = None) -> Plan:
        """The audit with the prompts that strategies made so far, or with these."""
        made = tuple(read_mitigated(self.folder) if rows is None else rows)
        if self._planned is None or self._planned[0] != made:
            plan = make_plan(self.audit.spec, self.audit.source, mitigated=made, max_cost=self._max_cost)
            self._planned = made, plan
        return self._planned[1]

    def _require_drawing(self, plan: Plan) -> None:
        if not _drawing(plan):
            raise UsageError(
                f"{self.folder}: its pictures were made elsewhere, and no generator of its audit can draw "
                "what a strategy asks for; add one to `generators` of the audit file, and run it again"
            )

    @property
    def looks(self) -> bool:
        """Whether the run must be measured before the first prompt is rewritten."""
        return self.target is not None or any(one.looks for one in self.strategies)

    def run(self, *, watcher: Watcher | None = None, stop: threading.Event | None = None) -> Run:
        """Rewrite the prompts, and carry the audit out with them: draw, look, measure, report; in rounds.

        Called again, only what is missing is done.

        Raises Interrupted, BudgetError, IncompleteError: As :meth:`stereotrope.Audit.run`, and where a
            strategy made no usable prompt at all.
        """
        run: Run | None = None
        for number in range(1, self.rounds + 1):
            if not self.rewrite(number, watcher=watcher, stop=stop):
                break
            run = None if self.is_measured() else self._audited(watcher, stop)
        run = run or self._audited(watcher, stop)
        self.require_usable()
        return run

    def require_usable(self) -> None:
        """Refuse strategies of which no prompt can be used.

        Raises IncompleteError: There is one.
        """
        rows = read_mitigated(self.folder)
        for one in self.strategies:
            own = [row for row in rows if row.mitigation == one.name]
            if own and all(row.prompt is None and row.status not in USABLE for row in own):
                why = next((row.reason for row in own if row.reason), own[0].status)
                raise IncompleteError(
                    f"mitigate: {one.name}: none of {len(own):,} prompts has a mitigated one, the first "
                    f"because: {shorten(why, 200)}. Delete its rows from {MITIGATED_FILE}, and the same "
                    "command asks again; or write prompts into them"
                )

    def rewrite(
        self, number: int = 1, *, watcher: Watcher | None = None, stop: threading.Event | None = None
    ) -> bool:
        """Have the strategies rewrite what they have not in a round; say whether there is anything to draw.

        The prompts stand in ``mitigated.csv`` of the run folder, to be read and edited. What is there stays.

        Raises BudgetError, IncompleteError: Models did not say all; what they said is kept, the file is not
            changed. Or, where pictures are looked at, those that are missing could not be drawn.
        """
        watcher, stop = watcher or Silent(), stop or threading.Event()
        if self.looks and not self.is_measured():
            self._audited(watcher, stop)
        needs = needs_of(self.strategies)
        with RunFolder(self.folder) as into, self._engine.crew(into, needs, watcher.say) as into.crew:
            plan, rows = self.plan(), read_mitigated(self.folder)
            drawn = DrawnPrompts(plan, open_run(self.folder), into.store.get) if self.looks else None
            made, unused = [*rows], list[str]()
            for one in self.strategies_of(number):
                new = self._rewritten(one, number, plan, made, drawn, into, watcher, stop)
                made += [row for row, _ in new]
                unused += [key for row, key in new if key is not None and row.status not in USABLE]
            if made != rows:
                # The rows say it from here on: from one that is deleted the model is asked again.
                into.ledger.forget(MITIGATE, unused)
                write_mitigated(self.folder, made)
        levels = {level_of(one, number) for one in self.strategies}
        return any(row.mitigation in levels for row in made)

    def strategies_of(self, number: int) -> list[Strategy]:
        """Those that have something to do in a round: after the first, those that look."""
        return [one for one in self.strategies if number == 1 or one.looks]

    def _rewritten(
        self,
        strategy: Strategy,
        number: int,
        plan: Plan,
        rows: Sequence[MitigatedPrompt],
        drawn: DrawnPrompts | None,
        into: RunFolder,
        watcher: Watcher,
        stop: threading.Event,
    ) -> list[tuple[MitigatedPrompt, str | None]]:
        """What a strategy makes in a round, of what it has not yet, and by which key; nothing where it would
        keep all.
        """
        level = level_of(strategy, number)
        units = without_rows(level, self.units(strategy, number, plan, rows), plan, rows)
        kept = {id(unit): self.keeps(strategy, unit, drawn, rows) for unit in units}
        cases = {id(unit): case_of(strategy, unit, drawn) for unit in units if kept[id(unit)] is None}
        outcomes = self._ask(strategy, list(cases.values()), into, watcher, stop)
        new, keys = [], []
        for unit in units:
            key = strategy.key_of(cases[id(unit)]) if id(unit) in cases else None
            made: Mapping[str, Any] = {
                "text": unit.before["text"],
                "status": "kept",
                "reason": kept[id(unit)],
            }
            if key is not None:
                made = _drawable(outcomes[key], unit, plan)
            by = strategy.by if key is not None else None
            new.append(mitigated_row(level, number, unit, made, by, identity_of(strategy)))
            keys.append(key)
        if units:
            watcher.say(_told(level, new))
        is_more = number == 1 or any(row.mitigation == level for row in rows)
        is_used = is_more or any(row.status == "rewritten" for row in new)
        return list(zip(new, keys, strict=True)) if is_used else []

    def units(
        self, strategy: Strategy, number: int, plan: Plan, rows: Sequence[MitigatedPrompt]
    ) -> list[PromptTurn]:
        """What a strategy rewrites in a round: every prompt, for each model where what was drawn matters."""
        own = originals(plan.prompts).filter(pl.col(FACTOR) == ORIGINAL).drop_nulls("text").to_dicts()
        models: Iterable[str | None] = [None]
        if strategy.looks or strategy.follows is not None or self.target is not None:
            models = _drawing(plan)
        earlier = {row.place: row.prompt for row in rows}
        units = []
        for model in models:
            for original in own:
                before = original
                for past in range(1, number):
                    level = level_of(strategy, past)
                    at = original["prompt_id"]
                    text = earlier.get((level, model, at), earlier.get((level, None, at)))
                    before = mitigated_prompt(original, level, text) if text is not None else before
                units.append(PromptTurn(model, original, before))
        return units

    def keeps(
        self,
        strategy: Strategy,
        unit: PromptTurn,
        drawn: DrawnPrompts | None,
        rows: Sequence[MitigatedPrompt],
    ) -> str | None:
        """Why a prompt is kept without asking: it has reached the target, or the strategy follows another."""
        if self.target is not None and drawn is not None and unit.generator is not None:
            score = drawn.score(self.target, unit.generator, unit.before)
            if score is not None and score <= self.target.value:
                return str(self.target)
        if strategy.follows is not None:
            place = unit.generator, unit.original["prompt_id"]
            known = {row.place[1:]: row.status for row in rows if row.mitigation == strategy.follows}
            if known.get(place, known.get((None, place[1]))) == "kept":
                return f"as in {strategy.follows}"
        return None

    def _ask(
        self,
        strategy: Strategy,
        cases: Sequence[Case],
        into: RunFolder,
        watcher: Watcher,
        stop: threading.Event,
    ) -> Mapping[str, Mapping[str, Any]]:
        """What is kept of every case by its key, asked where it is not there yet."""
        if not cases:
            return {}
        self._account.attach(into.ledger)
        self._account.stop, self._account.say = stop, watcher.say
        commit: Callable[..., Any] = partial(_payload, strategy)
        items = {strategy.key_of(case): case for case in cases}
        missing = carry_out(
            [task_of(strategy, MITIGATE, Items.of(items.items()), commit=commit)],
            into.ledger,
            watcher,
            stop,
            into.crew,
        )
        self._account.attach(None)
        if missing:
            over = any(one.budget for one in missing)
            then = "with a higher --max-cost goes on from here" if over else "tries again"
            told = f"{said_of(missing)}. What was answered is kept; the same command {then}"
            raise BudgetError(told) if over else IncompleteError(told)
        return into.ledger.get_all(MITIGATE)

    def _audited(self, watcher: Watcher | None, stop: threading.Event | None) -> Run:
        how: dict[str, Any] = {"max_cost": self._max_cost, "engine": self._engine}
        return self.audit.run(self.folder, watcher=watcher, stop=stop, **how)

    def is_measured(self) -> bool:
        """Whether the tables of the run are of all that its audit asks for."""
        run = open_run(self.folder)
        if run.info.get("missing") or not is_sealed(self.folder):
            return False
        return set(run.images["image_id"]) == set(self.plan().requests["image_id"])


def level_of(strategy: Strategy, number: int) -> str:
    """Level of the factor in a round."""
    return strategy.name if number == 1 else f"{strategy.name}, round {number}"


def identity_of(strategy: Strategy) -> str:
    """Hash of all that decides what a strategy makes of a prompt."""
    shown = strategy.n_pictures if strategy.looks else None
    parameters = {"strategy": strategy.fingerprint, "follows": strategy.follows, "pictures": shown}
    return fingerprint_of(MITIGATE, 1, parameters)


def without_rows(
    level: str, units: Sequence[PromptTurn], plan: Plan, rows: Sequence[MitigatedPrompt]
) -> list[PromptTurn]:
    """Those of which a level has no row. A row for all models is of each; one for all that some models have
    rows of their own of is left for the others.
    """
    there, left = {row.place for row in rows}, list[PromptTurn]()
    for unit in units:
        at = unit.original["prompt_id"]
        if {(level, None, at), (level, unit.generator, at)} & there:
            continue
        lacking = [model for model in _drawing(plan) if (level, model, at) not in there]
        if unit.generator is not None or len(lacking) == len(_drawing(plan)):
            left.append(unit)
        else:
            left += [replace(unit, generator=model) for model in lacking]
    return left


def _drawing(plan: Plan) -> list[str]:
    """Models that draw what a strategy asks for."""
    return [one.name for one in plan.generators if draws(plan.requests, one.name)]


def _refuse_another(strategy: Strategy, rows: Sequence[MitigatedPrompt]) -> None:
    """Refuse a strategy whose level holds prompts of another."""
    levels = {level_of(strategy, number) for number in range(1, MOST_ROUNDS + 1)}
    own = [row for row in rows if row.mitigation in levels]
    others = [row for row in own if row.strategy not in (None, identity_of(strategy))]
    if others:
        raise UsageError(
            f"{MITIGATED_FILE}: {len(others):,} of {len(own):,} prompts of {strategy.name!r} (the first: "
            f"{shorten(others[0].prompt or others[0].query)}) are of another strategy, or of this one with "
            f"other options; give this one a level of its own (`name: {strategy.name}-2`), or delete those "
            "rows, and it makes them"
        )


def _payload(strategy: Strategy, key: str, case: Case, result: Any) -> Mapping[str, Any]:
    return strategy.payload(result)


def case_of(strategy: Strategy, unit: PromptTurn, drawn: DrawnPrompts | None) -> Case:
    """What a strategy is told of a prompt."""
    query = unit.original["text"]
    if not strategy.looks or drawn is None or unit.generator is None:
        return Case(query, unit.before["text"])
    return drawn.case(unit.generator, query, unit.before, strategy.n_pictures)


def _drawable(made: Mapping[str, Any], unit: PromptTurn, plan: Plan) -> Mapping[str, Any]:
    """What was made of a prompt, where its models can draw it; what came back as it was is kept."""
    if made["status"] == "rewritten" and made["text"] == unit.before["text"]:
        return {**made, "status": "kept", "reason": made["reason"] or "given back as it was"}
    for one in plan.generators if made["text"] is not None else ():
        if unit.generator in (None, one.name) and (why := one.check(made["text"], unit.original["negative"])):
            return {"text": None, "status": "invalid", "reason": f"{one.name} cannot draw it: {why}"}
    return made


def mitigated_row(
    level: str,
    number: int,
    unit: PromptTurn,
    made: Mapping[str, Any],
    by: str | None,
    strategy: str | None = None,
) -> MitigatedPrompt:
    """The row of what was made of a prompt."""
    original = unit.original
    place = (level, number, unit.generator, original["prompt_id"], original["text"])
    return MitigatedPrompt(*place, made["text"], made["status"], made["reason"], by, strategy)


def _told(level: str, new: Sequence[MitigatedPrompt]) -> str:
    counts = {status: sum(row.status == status for row in new) for status in USABLE}
    lost = len(new) - sum(counts.values())
    parts = [f"{n:,} {status}" for status, n in counts.items() if n or status == "rewritten"]
    return f"{level}: {', '.join([*parts, *([f'{lost:,} without a usable prompt'] if lost else [])])}"
