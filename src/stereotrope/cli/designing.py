"""``stereotrope design``: the files of words, factors and sentences that an audit reads."""

from pathlib import Path
from typing import Annotated

import typer

from stereotrope.commands import settings


def design_audit(
    audit: Annotated[Path, typer.Argument(metavar="AUDIT.yaml", help="The audit file.")],
    plan: Annotated[
        bool, typer.Option("--plan", help="Say what models would be asked and what it may cost; do nothing.")
    ] = False,
    max_cost: Annotated[
        float | None,
        typer.Option(
            "--max-cost",
            min=0,
            metavar="DOLLARS",
            help="Begin no further call to a model once so many US dollars are spent on this audit's design, "
            "earlier calls included.",
        ),
    ] = None,
) -> None:
    """Make the files that an audit reads: words by a model, clusters, topics, attributes.

    Files that are there stay as they are but for what they lack: edit them, and
    run the audit. Neither pictures nor labels hang on them. Models that are asked
    are asked once: what they say is kept beside the audit file.

    Exit codes: 0 done, 2 a mistake in the audit file, 3 something is missing,
    4 the cap on spending is reached, 130 stopped (143 by SIGTERM).
    """
    from stereotrope.audit import Audit
    from stereotrope.audit.preparing import planned_work
    from stereotrope.cli.console import working
    from stereotrope.cli.planning import price_told, print_work
    from stereotrope.terminal import console, print_line, safe

    asked, out = Audit.from_yaml(audit, seed=settings.seed), console(settings)
    if plan:
        asking = print_work(planned_work(asked.spec, asked.source), out)
        print_line(safe(price_told(asking)), out)
        return
    with working(settings) as (watcher, stop):
        notes = asked.design(watcher=watcher, stop=stop, max_cost=max_cost)
    for note in notes:
        print_line(safe(note), out)
