"""``stereotrope run --plan``: pictures, calls, tokens, price and time, before anything is spent."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from stereotrope.escape import terminal
from stereotrope.report.numbers import count, dollars
from stereotrope.terminal import console, print_line, print_rows, safe

if TYPE_CHECKING:
    from rich.console import Console

    from stereotrope.audit import Plan
    from stereotrope.audit.outstanding import Work
    from stereotrope.clients import Expectation
    from stereotrope.commands import Settings

    Asking = Sequence[tuple[Work, Expectation]]

_HERE = "none"
_ROUNDING = 1e-9


def print_plan(plan: Plan, folder: Path, settings: Settings, *, max_cost: float | None = None) -> None:
    """Print what a run would do, and what it may cost, without doing it; how far a cap would last."""
    from stereotrope.audit.loss import lost_work
    from stereotrope.audit.outstanding import outstanding
    from stereotrope.audit.unrecorded import refuse_unrecorded
    from stereotrope.run import open as open_run

    work = outstanding(plan, folder)
    told = lost_work(plan, folder, work)
    if not told:
        refuse_unrecorded(plan, folder)
    out = console(settings)
    factors = f"factors: {', '.join(plan.factors) or 'none'}"
    print_line(Text(terminal(plan.title), style="bold"), out)
    for line in (
        f"{count(plan.prompts.height, 'prompt')}, {factors}",
        *_prompts(plan, whole=settings.verbose),
    ):
        print_line(safe(line), out)
    asking = print_work(work, out)
    calling = [(row, expected) for row, expected in asking if expected.calls]
    names = ", ".join(dict.fromkeys(call.name for call in plan.measures))
    spent = float(open_run(folder).spending["cost"].sum()) if (folder / "run.json").is_file() else 0.0
    lines = (
        told,
        *_notes(work),
        *_regions(plan, work),
        _found(work),
        price_told(asking),
        f"Spent in this run folder before: {dollars(spent)}" if spent else "",
        _cap(plan, asking, folder, spent, max_cost),
        _time(plan, calling),
        _keys(plan, calling),
        f"Measures: {names}",
        *(f"{generator.name}: {note}" for generator in plan.generators if (note := generator.note)),
    )
    lacking = (str(one["sentence"]) for one in plan.undelivered)
    for line in (*lines, *lacking, *plan.notes, *plan.key_remarks):
        if line:
            print_line(safe(line), out)


def print_work(work: Sequence[Work], out: Console) -> Asking:
    """Print what is to be done, and what the calls to models take; return the steps that make such calls."""
    columns = ["step", "with", "in all", "done", "to do", "calls"]
    print_rows("", columns, [*map(_steps, work)], out, named=2)
    asking = [(row, row.expected) for row in work if row.expected is not None]
    if asking:
        out.print()
        columns = ["step", "with", "tokens in", "tokens out", "price", "time"]
        asked = [[row.verb, row.name, *_takes(expected)] for row, expected in asking]
        print_rows("What the calls take", columns, asked, out, named=2)
    return asking


def _prompts(plan: Plan, *, whole: bool) -> list[str]:
    """The first and the last prompt, or all of them: what the models will read."""
    texts = plan.prompts["text"].drop_nulls().unique(maintain_order=True).to_list()
    if len(texts) < 3:
        return [f"Prompt: {text}" for text in texts]
    if whole:
        return [f"Prompt {i}: {text}" for i, text in enumerate(texts, start=1)]
    between = count(len(texts) - 2, "further prompt")
    return [
        f"First prompt: {texts[0]}",
        f"Last prompt: {texts[-1]}",
        f"Between them: {between}; `stereotrope --verbose run … --plan` prints all.",
    ]


def _cap(plan: Plan, asking: Asking, folder: Path, spent: float, cap: float | None) -> str:
    """For how many pictures with their labels a cap lasts, and whether it ends before the first."""
    from stereotrope.audit.outstanding import reserve_in

    if cap is None:
        return ""
    option, room = f"`--max-cost {cap:g}`", cap - spent
    costs = [expected.cost for _, expected in asking if expected.calls]
    if None in costs:
        return f"{option} cannot be kept without a price of every model."
    if sum(cost[1] for cost in costs if cost is not None) <= room + _ROUNDING:
        return f"{option} lasts for all of it."
    drawing = [(row, expected) for row, expected in asking if row.verb == "generate"]
    left = sum(row.total - row.done for row, _ in drawing)
    reserve = reserve_in(plan, folder)
    cost = sum(expected.cost[1] for _, expected in drawing if expected.cost)
    one = (cost / left if left else 0.0) + reserve.each
    lasts = int((room - reserve.pending) / one + _ROUNDING) if one else left
    if lasts < 1 and (left or reserve.pending > room):
        first = f"{dollars(one)} for a picture and its labels" if left else "what is left to label"
        before = f" after {dollars(reserve.pending)} for what comes before" if reserve.pending else ""
        least = dollars(math.ceil(round(100 * (spent + reserve.pending + one), 6)) / 100)
        return (
            f"Warning: {option} ends before the first label: it takes up to {first}{before}. Nothing is "
            f"drawn that could not be judged; raise it to at least {least}."
        )
    return (
        f"{option} lasts for at least {min(lasts, left)} of {count(left, 'picture')} with their labels; no "
        "picture is drawn whose labels it could not pay for."
    )


def _steps(row: Work) -> list[str]:
    calls = 0 if row.expected is None else row.expected.calls
    return [row.verb, row.name, *map(str, (row.total, row.done, row.total - row.done, calls))]


def _takes(expected: Expectation) -> list[str]:
    """Tokens in and out, price and time of the calls of a step."""
    if not expected.calls:
        return [_HERE, _HERE, "$0", _HERE]
    return [
        _HERE if expected.input_tokens is None else _range(expected.input_tokens, _count),
        _HERE if expected.output_tokens is None else _range(expected.output_tokens, _count),
        "not known" if expected.cost is None else _range(expected.cost, dollars),
        "no limit given" if expected.seconds is None else _range(expected.seconds, _duration),
    ]


def price_told(asking: Asking) -> str:
    """What the calls of a plan may cost."""
    if not asking:
        return "Price: $0. Every generator and annotator of this audit works on this computer."
    if not any(expected.calls for _, expected in asking):
        return "Price: $0. No model has anything left to do."
    known = [expected.cost for _, expected in asking if expected.cost is not None]
    unknown = [row.name for row, expected in asking if expected.cost is None]
    total = _range((sum(low for low, _ in known), sum(high for _, high in known)), dollars)
    if not unknown:
        return f"Price: {total} for what is left. `--max-cost` sets a cap: once it is spent, no call begins."
    begun = "Price: not known" if not known else f"Price: {total} and what is not known"
    return (
        f"{begun}: {', '.join(unknown)} has no price here. Give it under `price:` in US dollars "
        "({image: 0.04}, or {input: 2.5, output: 10} a million tokens); a cap needs it."
    )


def _notes(work: Sequence[Work]) -> list[str]:
    return [
        f"{row.verb}: {row.name} takes {row.note} for each of {count(row.total - row.done, 'picture')}."
        for row in work
        if row.note and row.total > row.done
    ]


def _found(work: Sequence[Work]) -> str:
    if not any(row.verb == "discover" for row in work):
        return ""
    return (
        "discover looks once at a sample of each model's pictures of each thing; these samples are counted."
    )


def _regions(plan: Plan, work: Sequence[Work]) -> list[str]:
    """Of each annotator of regions that nobody knows yet how many there are."""
    looking = {one.name: one for one in plan.annotators if one.subject == "region" and one.needs}
    left = [row for row in work if row.total > row.done and row.name not in looking]
    return [
        f"{name}: how many regions it looks at is known once others have given {', '.join(one.needs)}; those "
        "that are not there yet stand in no count and no price here."
        for name, one in looking.items()
        if left
    ]


def _server(plan: Plan, row: Work) -> tuple[str | None, str | None]:
    """Address and key of what a line of the plan asks."""
    entries = plan.generators if row.verb == "generate" else plan.annotators
    endpoint = next((getattr(one, "endpoint", None) for one in entries if one.name == row.name), None)
    return getattr(endpoint, "base_url", None), getattr(endpoint, "key", None)


def _keys(plan: Plan, calling: Asking) -> str:
    """Which keys the rest needs that this shell has not."""
    unset: dict[str, list[str]] = {}
    for row, _ in calling:
        _, key = _server(plan, row)
        if key is not None and not os.environ.get(key, "").strip():
            unset.setdefault(key, []).append(row.name)
    said = [f"{key} (needed by {', '.join(dict.fromkeys(names))})" for key, names in unset.items()]
    return f"Not set in this shell: {'; '.join(said)}. Set it before the run." if said else ""


def _time(plan: Plan, calling: Asking) -> str:
    again = "A run can be stopped and continued."
    if not calling:
        return f"Time: depends on this computer; the progress bars show the rate. {again}"
    at: dict[str, dict[Any, float]] = {}  # those that share a server and key share its limit
    for row, expected in calling:
        if expected.seconds is not None:
            servers, server = at.setdefault(row.verb, {}), _server(plan, row)
            servers[server] = servers.get(server, 0.0) + expected.seconds[0]
    least = sum(max(servers.values()) for servers in at.values())
    if not least:
        return (
            "Time: not known; no limit is given (`requests_per_minute:`), and calls go out as fast as the "
            f"servers let them. {again}"
        )
    return f"Time: at least {_duration(least)} at the limits given, models side by side. {again}"


def _range(pair: tuple[float, float], show: Any) -> str:
    low, high = (show(value) for value in pair)
    return str(low) if low == high else f"{low}–{high}"


def _count(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 10 * size or (value >= size and size > 1e3):
            return f"{value / size:.1f}{letter}"
    return f"{value:,.0f}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5_400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.1f} h"
