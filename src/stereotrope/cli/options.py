"""Arguments and options that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

RunFolderArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run folder, for example runs/first.")
]
PlanOption = Annotated[
    bool, typer.Option("--plan", help="Say what would be done, what it may cost and how long; do nothing.")
]
MaxCostOption = Annotated[
    float | None,
    typer.Option(
        "--max-cost",
        min=0,
        metavar="DOLLARS",
        help="Begin no further call to a model once so many US dollars are spent in this run folder, "
        "earlier runs included.",
    ),
]
OpenOption = Annotated[bool, typer.Option("--open", help="Open the report in the browser.")]
