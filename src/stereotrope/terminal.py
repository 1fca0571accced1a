"""Text and tables that keep to the width of a terminal, numbers whole, inert, without colour on demand."""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from stereotrope.commands import Settings
from stereotrope.escape import SENTENCE, terminal

_GAP = "  "
_NARROWEST = 12
"""Cells that a column of words is cut down to; narrower, the words of a row stand in one column."""
_NARROWEST_WORDS = 16
_FILLER = "\x00"
_UNIT = "(?:[kMG]| s| min| h)"
_TOGETHER = re.compile(
    r"(?:\S+ )?\[[^\[\]]{1,40}\]|[^\s]+ [<>=≤≥] [\d.,−-]+|[\d.,]+ of [\d.,]+|"
    rf"\$[\d.,]+–\$[\d.,]+|[\d.,]+{_UNIT}?–[\d.,]+{_UNIT}\b"
)
"""What is one number to a reader: an interval, a comparison, a count of a total, a range with its unit."""
_JOINT = re.compile(r"(?<=[-_/.])")
_FIGURE = re.compile(r"[−+]?[\d\s]+(\.\d+)?%?|–?")
_NUMBER = re.compile(r"[\s\d.,<>=≤≥−–+%$*\[\]-]*")


def console(settings: Settings, *, stderr: bool = False) -> Console:
    """Return a console for stdout or stderr that keeps to NO_COLOR and ``--no-color``."""
    return Console(stderr=stderr, no_color=settings.no_color or None, highlight=False, soft_wrap=not stderr)


def safe(value: Any) -> Text:
    """A sentence with texts from a file, a model or a picture, made inert for the terminal."""
    return Text(terminal(str(value), SENTENCE))


def print_json(data: Any) -> None:
    """Print data for scripts."""
    typer.echo(json.dumps(data, ensure_ascii=False, indent=2))


def print_line(text: Text, out: Console) -> None:
    """Print a sentence: broken between words on a terminal, one line in a pipe."""
    out.print(text, soft_wrap=not out.is_terminal)


def print_wrapped(text: Text, out: Console) -> None:
    """Print a text broken between words, never inside a number, at the width of the terminal."""
    for line in _wrapped(text, out.width):
        out.print(line, soft_wrap=True)


def print_rows(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]], out: Console, *, named: int | None = None
) -> None:
    """Print a plain table no wider than the terminal; see :func:`table_lines`."""
    if title:
        print_wrapped(Text(terminal(title), style="bold"), out)
    for line in table_lines(heads, rows, out.width, named=named):
        out.print(line, soft_wrap=True)


def table_lines(
    heads: Sequence[str], rows: Sequence[Sequence[Any]], width: int, *, named: int | None = None
) -> Iterator[Text]:
    """Yield the lines of a plain table no wider than this, no number broken; text is made inert.

    Words are broken over lines, or put together in one column; else the numbers of a row stand below them.
    The first ``named`` columns are those of words; by their cells where it is None.
    """
    heads = [terminal(name) for name in heads]
    cells = [["" if cell is None else terminal(str(cell)) for cell in row] for row in rows]
    natural = [max(map(cell_len, column)) for column in zip(heads, *cells, strict=True)]
    columns_of = list(zip(*cells, strict=True)) or [()] * len(heads)
    least = [_least(head, column) for head, column in zip(heads, columns_of, strict=True)]
    widths = _shrunk(natural, least, width)
    if widths is not None:
        yield from _lines(heads, cells, widths)
        return
    valued = [
        any(_TOGETHER.search(c) or (c and _NUMBER.fullmatch(c)) for c in column) for column in columns_of
    ]
    worded = [i for i, has_value in enumerate(valued) if not has_value]
    said = worded if named is None else list(range(named))
    told = [i for i in range(len(heads)) if i not in said]
    words = [", ".join(row[i] for i in said if row[i] not in ("", "–")) for row in cells]
    room = width - _total([least[i] for i in told]) - len(_GAP) * bool(told)
    if room >= _NARROWEST_WORDS:
        together = [[which, *(row[i] for i in told)] for which, row in zip(words, cells, strict=True)]
        yield from _lines(["which", *(heads[i] for i in told)], together, [room, *(least[i] for i in told)])
        return
    for which, row in zip(words, cells, strict=True):
        numbers = "; ".join(f"{heads[i]} {row[i]}" for i in told if row[i])
        yield from _wrapped(Text(f"{which}\n{_GAP}{numbers}"), width)


def _least(head: str, column: Sequence[str]) -> int:
    """Cells that a column takes at least: numbers stay whole, words may be cut."""
    if all(map(_NUMBER.fullmatch, column)):
        return max(0, *(cell_len(head[a:b]) for a, b in _words(head)), *map(cell_len, column))
    whole = [cell_len(match.group()) for cell in column for match in _TOGETHER.finditer(cell)]
    natural = max(cell_len(head), *map(cell_len, column))
    return min(natural, max(_NARROWEST, *whole)) if whole else min(natural, _NARROWEST)


def _lines(heads: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[Text]:
    """Rows with their cells broken; plain figures stand at the right."""
    right = [bool(rows) and all(_FIGURE.fullmatch(row[i]) for row in rows) for i in range(len(heads))]
    for row in (heads, *rows):
        parts = [
            [cell[a:b] for a, b in _broken(cell, width)] for cell, width in zip(row, widths, strict=True)
        ]
        for line in zip_longest(*parts, fillvalue=""):
            blanks = [" " * (width - cell_len(text)) for text, width in zip(line, widths, strict=True)]
            padded = [
                f"{blank}{text}" if figures else f"{text}{blank}"
                for text, blank, figures in zip(line, blanks, right, strict=True)
            ]
            yield Text(_GAP.join(padded).rstrip())


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * max(len(widths) - 1, 0)


def _shrunk(widths: Sequence[int], least: Sequence[int], whole: int) -> list[int] | None:
    """Widths that fit, the widest that may be narrower made so first; None where none may."""
    found = list(widths)
    while _total(found) > whole:
        loose = [i for i, width in enumerate(found) if width > least[i]]
        if not loose:
            return None
        found[max(loose, key=found.__getitem__)] -= 1
    return found


def _wrapped(text: Text, width: int) -> Iterator[Text]:
    for line in text.split("\n", allow_blank=True):
        yield from (line[start:end] for start, end in _broken(line.plain, max(width, 1)))


def _words(text: str) -> Iterator[tuple[int, int]]:
    whole = _TOGETHER.sub(lambda match: match.group().replace(" ", _FILLER), text)
    for match in re.finditer(r"[^ ]+", whole):
        yield match.span()


def _broken(text: str, width: int) -> list[tuple[int, int]]:
    """Where the lines of a text begin and end; a word longer than a line is cut, at a joint if it has one."""
    lines: list[tuple[int, int]] = []
    begin = end = 0
    for start, stop in _words(text):
        if end and cell_len(text[begin:stop]) > width:
            lines.append((begin, end))
            begin = start
        while cell_len(text[begin:stop]) > width:
            cut = begin + 1
            while cut < stop and cell_len(text[begin : cut + 1]) <= width:
                cut += 1
            cut = max((m.start() for m in _JOINT.finditer(text, begin + 1, cut)), default=cut)
            lines.append((begin, cut))
            begin = cut
        end = stop
    return [*lines, (begin, end)] if end > begin or not lines else lines
