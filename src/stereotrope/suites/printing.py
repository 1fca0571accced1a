"""What a paper says, beside what its own tables give, in a terminal."""

import textwrap
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from stereotrope.commands import settings
from stereotrope.escape import terminal
from stereotrope.suites.check import AGREES, DIFFERS, PARTLY, VERDICTS, FigureCheck, Reproduction
from stereotrope.terminal import console, print_json, print_line, table_lines

_STYLES = {AGREES: "green", PARTLY: "yellow", DIFFERS: "bold red"}
_UNCHECKED_STYLE = "cyan"
_MOST_ROWS = 12
_WIDEST = 110
_INDENT = 2
_NAME = 12


def print_reproduction(found: Reproduction, *, as_json: bool = False) -> None:
    """Print every check of a paper's figures with its verdict, or all of it as JSON."""
    if as_json:
        print_json(found.as_dict())
        return
    out = console(settings)
    print_line(Text(terminal(found.title), style="bold"), out)
    print_line(Text(f"Figures of {terminal(found.source)}, {terminal(found.licence)}.", style="dim"), out)
    out.print()
    for section, checks in groupby(found.checks, key=lambda check: check.section):
        print_line(Text(terminal(section), style="bold"), out)
        for check in checks:
            _print_check(check, out)
    print_line(Text(found.counted, style="bold"), out)
    for verdict, meaning in VERDICTS.items():
        print_line(Text.assemble((verdict, _STYLES.get(verdict, _UNCHECKED_STYLE)), f": {meaning}"), out)
    line = "Every figure behind a check: stereotrope reproduce"
    print_line(Text(f"{line} {terminal(found.suite)} --json", style="dim"), out)


def _print_check(check: FigureCheck, out: Console) -> None:
    """The verdict at the left, everything else in a column beside it; no line ends in spaces."""
    column = max(len(verdict) for verdict in VERDICTS) + 2 * _INDENT
    room = min(out.width, _WIDEST) - column
    lines = [Text(line) for line in _wrapped(check.what, room)]
    for name, text in (("published", check.published), ("recomputed", check.recomputed)):
        if text:
            first, *rest = _wrapped(text, room - _NAME)
            lines.append(Text.assemble((name.ljust(_NAME), "dim"), first))
            lines += [Text(" " * _NAME + line) for line in rest]
    lines += [Text(line, style="dim") for line in _wrapped(check.explanation, room)]
    if check.verdict != AGREES and 0 < len(check.details) <= _MOST_ROWS:
        rows = [[*map(_words, row.values())] for row in check.details]
        head, *below = table_lines(list(check.details[0]), rows, room)
        lines += [Text(head.plain, style="dim"), *below]
    verdict = Text(check.verdict.ljust(column - _INDENT), style=_STYLES.get(check.verdict, _UNCHECKED_STYLE))
    for number, line in enumerate(lines):
        before = Text(" " * _INDENT) + verdict if number == 0 else Text(" " * column)
        out.print(before + line, soft_wrap=True)
    out.print()


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False)


def _words(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value).replace("_", " ")
