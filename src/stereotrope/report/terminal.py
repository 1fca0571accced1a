"""Text and tables in a terminal or a pipe, inert and without colour where that is asked for."""

import json
from collections.abc import Sequence
from typing import Any

import typer
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from stereotrope.commands import Settings
from stereotrope.report.escape import terminal


def console(settings: Settings, *, stderr: bool = False) -> Console:
    """Return a console for stdout or stderr that keeps to NO_COLOR and ``--no-color``."""
    return Console(stderr=stderr, no_color=settings.no_color or None, highlight=False, soft_wrap=not stderr)


def safe(value: Any) -> Text:
    """Text from a file, a model or a picture, made inert for the terminal."""
    return Text(terminal(str(value)))


def print_json(data: Any) -> None:
    """Print data for scripts."""
    typer.echo(json.dumps(data, ensure_ascii=False, indent=2))


def print_line(text: Text, out: Console) -> None:
    """Print a sentence: broken between words on a terminal, one line in a pipe."""
    out.print(text, soft_wrap=not out.is_terminal)


def print_rows(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], out: Console) -> None:
    """Print a plain table; text is made inert, numbers are right-aligned.

    No cell is broken: where the terminal is too narrow the whole line is.
    """
    if title:
        print_line(Text(terminal(title), style="bold"), out)
    table = Table(box=None, pad_edge=False)
    for column, name in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[column], (int, float)) for row in rows)
        table.add_column(Text(terminal(name)), justify="right" if numeric else "left", no_wrap=True)
    for row in rows:
        table.add_row(*("" if cell is None else Text(terminal(str(cell))) for cell in row))
    table.width = Measurement.get(out, out.options.update(max_width=1_000), table).maximum
    out.print(table, soft_wrap=True)
