"""``stereotrope reproduce SUITE --captions``: what is odd about the captions, then every number."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.text import Text

from stereotrope.cli.console import console
from stereotrope.cli.scores import print_line, print_rows
from stereotrope.report.escape import terminal

if TYPE_CHECKING:
    from stereotrope.cli.app import Settings
    from stereotrope.suites.biasbench.compare import CaptionsReproduction, ComparedCell, ComparedModel
    from stereotrope.suites.biasbench.diagnosis import Remark
    from stereotrope.suites.biasbench.hits import Hits

__all__ = ["run_captions"]

_LINES = 12


def run_captions(
    suite: str, settings: Settings, captions: Path, lexicon: Path | None, *, as_json: bool
) -> None:
    """Print every number of the captions beside the paper's, or all of it as JSON.

    Raises
    ------
    UsageError
        There is no such suite, or its numbers are not made of captions.
    InputError
        The captions or the lexicon cannot be used.
    """
    from stereotrope.suites import reproduce_captions

    found = reproduce_captions(suite, captions, lexicon)
    if as_json:
        typer.echo(json.dumps(found.as_dict(), ensure_ascii=False, indent=2))
        return
    out = console(settings)
    _head(found, out)
    for model in found.models:
        _model(model, out)
    counted = ", ".join(f"{verdict} {n}" for verdict, n in found.counts().items())
    n = sum(found.counts().values())
    print_line(Text(f"{n} numbers: {counted or 'none'}.", style="bold"), out)
    for verdict in found.counts():
        print_line(Text(f"{verdict}: {found.as_dict()['verdicts'][verdict]}"), out)


def _head(found: CaptionsReproduction, out: Console) -> None:
    print_line(Text("T2I-BiasBench: captions counted again", style="bold"), out)
    kind = "the authors' lists, unchanged" if found.authors_lexicon else "not the authors' lists"
    line = f"Figures of {found.source}, {found.licence}. Lexicon: {found.lexicon}, {kind}."
    print_line(Text(terminal(line), style="dim"), out)
    for skipped in found.skipped:
        print_line(Text(f"Not read: {terminal(skipped)}"), out)
    out.print()


def _model(model: ComparedModel, out: Console) -> None:
    known = f", in the paper {model.published_as}" if model.published_as else ", not in the paper"
    print_line(Text(terminal(f"{model.model}: {model.captions} captions{known}"), style="bold"), out)
    if not model.remarks:
        print_line(Text("Nothing odd about the captions was found."), out)
    for remark in model.remarks:
        what = f"{terminal(remark.what)}; {terminal(remark.effect)}."
        print_line(Text(f"- {remark.kind}{_where(remark)}: {what}"), out)
    out.print()
    for prompt, cells in groupby(model.cells, key=lambda cell: cell.prompt):
        _prompt(prompt, list(cells), out)
    if model.hits:
        _hits(model.hits, out)


def _hits(hits: Sequence[Hits], out: Console) -> None:
    columns = ["value", "captions", "as a word", "inside words only", "before such a noun only", "read again"]
    rows = [
        [
            f"{hit.attribute} {hit.value}",
            hit.n,
            "–" if hit.whole_word is None else hit.whole_word,
            hit.inside_only,
            hit.noun_only,
            ", ".join(f"{group} {n}" for group, n in hit.named.items()),
        ]
        for hit in hits
    ]
    print_rows("What the terms hit, read as letters anywhere", columns, rows, out)
    line = "Such a noun is of clothes, hair or a background; read again: by the built-in lexicon."
    print_line(Text(line, style="dim"), out)
    out.print()


def _where(remark: Remark) -> str:
    if not remark.lines:
        return ""
    more = f" and {len(remark.lines) - _LINES} more" if len(remark.lines) > _LINES else ""
    shown = ", ".join(map(str, remark.lines[:_LINES]))
    return f" (line{'s' if len(remark.lines) > 1 else ''} {shown}{more})"


def _prompt(prompt: str, cells: list[ComparedCell], out: Console) -> None:
    paper = any(cell.paper is not None for cell in cells)
    repaired = any(cell.repaired is not None for cell in cells)
    published = any(cell.published is not None for cell in cells)
    columns = ["measure", *["paper formula"] * paper, "released", *["after repair"] * repaired]
    columns += [*["published", "where", "verdict"] * published]
    rows = [
        [
            f"{cell.measure} {cell.level}".strip(),
            *[_value(cell, cell.paper)] * paper,
            _value(cell, cell.released),
            *[_value(cell, cell.repaired)] * repaired,
            *[cell.published or "–", cell.place, _verdict(cell)] * published,
        ]
        for cell in cells
    ]
    print_rows(f"{prompt}, n = {cells[0].n}", columns, rows, out)
    for cell in cells:
        if cell.explanation and (cell.published is not None or cell.paper is None):
            line = f"{cell.measure} {cell.level}".strip() + f": {cell.explanation}"
            print_line(Text(terminal(line), style="dim"), out)
    out.print()


def _verdict(cell: ComparedCell) -> str:
    return "" if cell.published is None and cell.released is not None else cell.verdict


def _value(cell: ComparedCell, value: float | None) -> str:
    if value is None:
        return "–"
    if cell.measure == "groups_seen":
        return f"{value:.0f}"
    return f"{value:.{3 if cell.measure == 'representation_parity' else 4}f}"
