"""``stereotrope mitigate``: rewrite the prompts of a run, and audit what comes of it in the same run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stereotrope.cli.options import (
    EngineOption,
    MaxCostOption,
    OpenOption,
    PlanOption,
    RayAddressOption,
    RunFolderArgument,
)
from stereotrope.commands import settings

if TYPE_CHECKING:
    from stereotrope.audit.mitigating import Mitigation

StrategiesOption = Annotated[
    list[str],
    typer.Option(
        "--with",
        "-w",
        metavar="STRATEGY",
        help="Strategy to carry out, repeatable: ethical, 'suffix:in many styles', refine:openai:gpt-4o, "
        "or an entry like '{faircritic: openai:gpt-4o, seed: 1}'; `stereotrope strategies` lists all.",
    ),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="MEASURE=VALUE",
        help="Leave prompts as they are whose score is at most this, such as ssi=0.1.",
    ),
]
RoundsOption = Annotated[
    int,
    typer.Option(
        "--rounds",
        min=1,
        max=20,
        help="Rewrite up to so often, each time by the pictures of the round before, until the target is "
        "reached or nothing is rewritten.",
    ),
]
PromptsOnlyOption = Annotated[
    bool,
    typer.Option(
        "--prompts-only", help="Write the prompts into mitigated.csv of the run folder and stop: edit them."
    ),
]


def mitigate_run(
    folder: RunFolderArgument,
    strategies: StrategiesOption,
    target: TargetOption = None,
    rounds: RoundsOption = 1,
    plan: PlanOption = False,
    prompts_only: PromptsOnlyOption = False,
    max_cost: MaxCostOption = None,
    engine: EngineOption = "local",
    ray_address: RayAddressOption = None,
    open_report: OpenOption = False,
) -> None:
    """Rewrite the prompts of a run by some strategies, and audit what comes of it.

    Every strategy is a further condition of the same run: a level of the factor
    mitigation, beside none, drawn, looked at and measured as the rest. The
    prompts stand in mitigated.csv of the run folder; those that are there stay,
    edited or not. A strategy that looks at pictures rewrites each prompt for each
    model by what that one drew; pictures that it leaves as they are stand for
    both conditions at no cost. The same command again continues; only what is
    missing is done.

    Exit codes: 0 done, 2 a mistake, 3 something is missing, 4 the cap on
    spending is reached, 130 stopped (143 by SIGTERM).
    """
    from stereotrope.audit.cases import Target
    from stereotrope.audit.mitigated import MITIGATED_FILE
    from stereotrope.audit.mitigating import Mitigation
    from stereotrope.cli.console import carry_out_in_terminal, working
    from stereotrope.cli.entries import entry_of
    from stereotrope.run import Engine
    from stereotrope.terminal import console, print_line, safe

    example = "--with '{suffix: in many styles, name: styles}'"
    asked = Mitigation(
        folder,
        [entry_of(text, "--with", example=example) for text in strategies],
        target=None if target is None else Target.read(target),
        rounds=rounds,
        max_cost=max_cost,
        engine=Engine(engine, ray_address),
    )
    if plan:
        _print_plan(asked)
    elif prompts_only:
        with working(settings) as (watcher, stop):
            asked.rewrite(watcher=watcher, stop=stop)
        asked.require_usable()
        told = f"{folder / MITIGATED_FILE}: edit it, then run this command without --prompts-only"
        print_line(safe(told), console(settings))
    else:
        carry_out_in_terminal(
            lambda watcher, stop: asked.run(watcher=watcher, stop=stop),
            folder,
            settings,
            open_report=open_report,
        )


def _print_plan(asked: Mitigation) -> None:
    from stereotrope.audit.foreseen import foreseen, foreseen_notes
    from stereotrope.cli.planning import price_told, print_work
    from stereotrope.terminal import console, print_line, safe

    work, out = foreseen(asked), console(settings)
    for line in (price_told(print_work(work, out)), *foreseen_notes(asked, work)):
        print_line(safe(line), out)
