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
EngineOption = Annotated[
    str,
    typer.Option(
        "--engine", metavar="local|ray", help="Who draws and looks: this computer, or a Ray cluster."
    ),
]
RayAddressOption = Annotated[
    str | None,
    typer.Option(
        "--ray-address",
        metavar="ADDRESS",
        help="Of the Ray cluster; else RAY_ADDRESS, else a Ray on this computer.",
    ),
]
PicturesOption = Annotated[
    str | None,
    typer.Option(
        "--pictures",
        metavar="URL",
        help="Keep pictures there and not in the run folder: s3://bucket/first, as fsspec has it.",
    ),
]
