"""What strategies would still do on a run, and what that may cost: the least and the most."""

import inspect
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import Any

from stereotrope.audit.cases import DrawnPrompts
from stereotrope.audit.mitigated import MitigatedPrompt, read_mitigated
from stereotrope.audit.mitigating import (
    MITIGATE,
    Mitigation,
    PromptTurn,
    case_of,
    level_of,
    mitigated_row,
    without_rows,
)
from stereotrope.audit.outstanding import Work, outstanding
from stereotrope.clients import Expectation
from stereotrope.mitigate import Strategy
from stereotrope.run import Ledger, PictureStore
from stereotrope.run import open as open_run


def foreseen(asked: Mitigation) -> list[Work]:
    """What is left to do; reads only.

    What a model will write is not known before it does: the most is that it rewrites every prompt in every
    round, the least that it keeps what it may keep, and that no round follows the first.
    """
    rows, work = read_mitigated(asked.folder), []
    plan = asked.plan(rows)
    drawn, kept = None, {}
    if asked.looks and asked.is_measured():
        drawn = DrawnPrompts(plan, open_run(asked.folder), PictureStore(asked.folder).get)
    file = asked.folder / "ledger.db"
    with closing(Ledger(file, readonly=True)) if file.is_file() else nullcontext() as ledger:
        kept = {} if ledger is None else ledger.get_all(MITIGATE)
    most, least, certain = [*rows], [*rows], [*rows]
    for number in range(1, asked.rounds + 1):
        for one in asked.strategies_of(number):
            units = asked.units(one, number, plan, most)
            left = without_rows(level_of(one, number), units, plan, rows)
            known = {id(unit): _known(asked, one, number, unit, drawn, kept, certain) for unit in left}
            open_ = [unit for unit in left if known[id(unit)] is None]
            queries = [unit.original["text"] for unit in open_]
            expected = one.expect(queries)
            if expected is not None and (number > 1 or (asked.target is not None and drawn is None)):
                expected = _down_to(expected, None)
            work.append(Work(MITIGATE, level_of(one, number), len(units), len(units) - len(open_), expected))
            for unit in left:
                made = known[id(unit)]
                most.append(_stand_in(one, number, unit, made, rewritten=True))
                certain += [most[-1]] if made is not None else []
                if number == 1 or made is not None:
                    may_keep = one.may_keep or (asked.target is not None and drawn is None)
                    least.append(_stand_in(one, number, unit, made, rewritten=not may_keep))
    lower = {(row.verb, row.name): row.expected for row in outstanding(asked.plan(least), asked.folder)}
    upper = outstanding(asked.plan(most), asked.folder)
    return work + [
        row
        if row.expected is None
        else replace(row, expected=_down_to(row.expected, lower.get((row.verb, row.name))))
        for row in upper
    ]


def _known(
    asked: Mitigation,
    strategy: Strategy,
    number: int,
    unit: PromptTurn,
    drawn: DrawnPrompts | None,
    kept: Mapping[str, Mapping[str, Any]],
    certain: Sequence[MitigatedPrompt],
) -> Mapping[str, Any] | None:
    """What will come of a prompt, where that can be said before."""
    if number == 1 and (why := asked.keeps(strategy, unit, drawn, certain)) is not None:
        return {"text": unit.before["text"], "status": "kept", "reason": why}
    at = unit.original["prompt_id"]
    followed = [(strategy.follows, unit.generator, at), (strategy.follows, None, at)]
    if strategy.follows is not None and not any(row.place in followed for row in certain):
        return None
    if strategy.looks and (drawn is None or number > 1):
        return None
    case = case_of(strategy, unit, drawn)
    if strategy.key_of(case) in kept:
        return kept[strategy.key_of(case)]
    if strategy.looks or inspect.iscoroutinefunction(strategy.process):
        return None
    result: Any = strategy.process(case)
    return strategy.payload(result)


def _stand_in(
    strategy: Strategy, number: int, unit: PromptTurn, made: Mapping[str, Any] | None, *, rewritten: bool
) -> MitigatedPrompt:
    """A row as it may come to be; its text stands for one that nobody knows yet."""
    text = unit.original["text"]
    if made is None:
        told = f"{text}, {level_of(strategy, number)} {unit.generator or ''}" if rewritten else text
        made = {"text": told.rstrip(), "status": "rewritten" if rewritten else "kept", "reason": None}
    return mitigated_row(level_of(strategy, number), number, unit, made, None)


def _down_to(most: Expectation, least: Expectation | None) -> Expectation:
    """An expectation whose lower ends are those of another; 0 where there is none."""
    ends: dict[str, Any] = {}
    for name in ("input_tokens", "output_tokens", "cost", "seconds"):
        high, low = getattr(most, name), getattr(least, name) if least is not None else (0, 0)
        ends[name] = None if high is None or low is None else (min(low[0], high[1]), high[1])
    return Expectation(calls=most.calls, **ends)


def foreseen_notes(asked: Mitigation, work: Sequence[Work]) -> list[str]:
    """What there is to say of a plan: what its range is made of."""
    notes = []
    keeping = [one.name for one in asked.strategies if one.may_keep]
    if keeping:
        notes.append(
            f"{', '.join(keeping)}: draws only what the model finds biased; the range begins at none of it."
        )
    if asked.rounds > 1:
        notes.append(f"Rounds: the range reaches from one to {asked.rounds}, each with every prompt.")
    if asked.target is not None:
        notes.append(f"Target: prompts with {asked.target} are left as they are, and cost nothing.")
    return notes
