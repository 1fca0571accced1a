"""What there is: suites, measures, generators and annotators, one line each or a page."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from stereotrope.cli.console import console
from stereotrope.errors import UsageError

if TYPE_CHECKING:
    from stereotrope.cli.app import Settings

__all__ = ["print_annotators", "print_generators", "print_measures", "print_suites"]


def print_suites(name: str | None, settings: Settings) -> None:
    """Print every suite in one line, or the data of one."""
    from stereotrope.audit.suite import load_suite, suite_names

    if name is None:
        _print_list(((n, load_suite(n)["summary"]) for n in suite_names()), settings)
        return
    data = load_suite(name)
    out = console(settings)
    out.print(Text(data["summary"], style="bold"))
    out.print(Text(f"Source: {data['source']}"))
    out.print(Text(f"Objects: {', '.join(data['objects'])}"))
    for dimension, groups in data["dimensions"].items():
        out.print(Text(f"{dimension}: {', '.join(groups)}"))
    for kind, template in data["templates"].items():
        out.print(Text(f"{kind}: {template}"))
    out.print(Text(f"Phrasings: {', '.join(data['known_phrasings'])}"))
    out.print(
        Text(f"Mitigations: {', '.join(f'{k} ({v})' for k, v in data['known_mitigations'].items() if v)}")
    )
    out.print(Text(f"Annotators: {', '.join(data['annotators'])}"))
    out.print(Text(f"Measures: {', '.join(data['measures'])}"))
    out.print(Text(f"Audit file: stereotrope init {name} > audit.yaml"))


def print_measures(name: str | None, settings: Settings) -> None:
    """Print every measure in one line, or the page of one."""
    from stereotrope.measure import REGISTRY

    if name is None:
        _print_list(((entry.name, entry.summary) for entry in REGISTRY.values()), settings)
        return
    if name not in REGISTRY:
        raise UsageError(f"no measure {name!r}; {_nearest(name, list(REGISTRY))}")
    entry = REGISTRY[name]
    out = console(settings)
    low, high = entry.bounds
    out.print(Text(f"{entry.name}{inspect.signature(entry.function)}", style="bold"))
    out.print(Text(f"Suite: {entry.suite}. Range: {_end(low)} to {_end(high)}; {entry.direction}."))
    out.print(Text(f"Source: {entry.source}\n"))
    out.print(Text(inspect.getdoc(entry.function) or ""))


def print_generators(settings: Settings) -> None:
    """Print the kinds of generators."""
    from stereotrope.generate import KINDS

    _print_list(KINDS.items(), settings)


def print_annotators(settings: Settings) -> None:
    """Print the annotators."""
    from stereotrope.annotate import NAMES

    _print_list(NAMES.items(), settings)


def _print_list(rows: Iterable[tuple[str, str]], settings: Settings) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for name, summary in rows:
        table.add_row(Text(name, style="bold"), Text(summary))
    console(settings).print(table)


def _nearest(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"


def _end(value: float | None) -> str:
    return "no bound" if value is None else f"{value:g}"
