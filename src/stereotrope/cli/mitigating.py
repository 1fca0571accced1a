"""``stereotrope mitigate``: rewrite the prompts of a run, and audit what comes of it in the same run."""

from pathlib import Path
from typing import Annotated

import typer

from stereotrope.commands import settings


def mitigate_run(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, for example runs/first.")],
    strategies: Annotated[
        list[str],
        typer.Option(
            "--with",
            "-w",
            metavar="STRATEGY",
            help="Strategy to carry out, repeatable: ethical, 'suffix:in many styles', or an entry such as "
            "'{suffix: in many styles, name: styles}'; `stereotrope strategies` lists them.",
        ),
    ],
    prompts_only: Annotated[
        bool,
        typer.Option(
            "--prompts-only",
            help="Write the prompts into mitigated.csv of the run folder and stop: edit them.",
        ),
    ] = False,
    max_cost: Annotated[
        float | None,
        typer.Option(
            "--max-cost",
            min=0,
            metavar="DOLLARS",
            help="Begin no further call to a model once so many US dollars are spent in this run folder, "
            "earlier runs included.",
        ),
    ] = None,
    open_report: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
) -> None:
    """Rewrite the prompts of a run by some strategies, and audit what comes of it.

    Every strategy is a further condition of the same run: a level of the factor
    mitigation, beside none, drawn, looked at and measured as the rest. The
    prompts stand in mitigated.csv of the run folder; those that are there stay,
    edited or not. The same command again continues; only what is missing is done.

    Exit codes: 0 done, 2 a mistake, 3 something is missing, 4 the cap on
    spending is reached, 130 stopped (143 by SIGTERM).
    """
    from stereotrope.audit.mitigating import Mitigation
    from stereotrope.cli.console import carry_out_in_terminal, working
    from stereotrope.cli.entries import entry_of
    from stereotrope.terminal import console, print_line, safe

    example = "--with '{suffix: in many styles, name: styles}'"
    asked = Mitigation(
        folder, [entry_of(text, "--with", example=example) for text in strategies], max_cost=max_cost
    )
    if prompts_only:
        with working(settings) as (watcher, stop):
            told = asked.rewrite(watcher=watcher, stop=stop)
        for sentence in told:
            print_line(safe(sentence), console(settings))
        return
    carry_out_in_terminal(
        lambda watcher, stop: asked.run(watcher=watcher, stop=stop), folder, settings, open_report=open_report
    )
