"""Captions in a terminal: what is odd about them, then every number beside the paper's."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from stereotrope.commands import settings
from stereotrope.errors import InputError, UsageError, did_you_mean
from stereotrope.escape import terminal
from stereotrope.report.numbers import count
from stereotrope.run import write_atomic
from stereotrope.suites.biasbench.compare import (
    CELL_VERDICTS,
    NOT_PRINTED,
    CaptionsReproduction,
    ComparedCell,
    ComparedModel,
    compare_captions,
)
from stereotrope.suites.biasbench.formulas import JUDGED, MATCHINGS, PaperValue
from stereotrope.suites.biasbench.hits import Hits
from stereotrope.suites.biasbench.page import findings_of, reproduction_page
from stereotrope.suites.biasbench.reproduce import reproduce_biasbench
from stereotrope.suites.printing import print_reproduction
from stereotrope.terminal import console, print_json, print_line, print_rows

_LINES = 12
_ALL = "all"
_PAGES = (".html", ".htm")
_HEADS = {"letters": "by letters", "word": "by words", "split": "split words"}
_INTERVAL, _WHERE = "interval", "where"
_GAP, _NARROWEST = 2, 80
"""Columns between two of a table, and those that a terminal is taken to have at least."""


def run_reproduction(
    captions: Path | None,
    lexicon: Path | None,
    *,
    matching: str | None = None,
    report: Path | None = None,
    as_json: bool = False,
) -> None:
    """Check the paper's figures; with captions, print their numbers beside these, or write a page of them.

    matching: A way of :data:`MATCHINGS`; None for the one that figures are judged by; ``all``, which leaves
        the intervals out.
    report: The page that holds the numbers; the terminal then says only what comes out.
    Raises UsageError: No such matching, no such page, or what is for captions is given without any.
    Raises InputError: The captions or the lexicon cannot be used.
    """
    if captions is None:
        for option, given in (("--lexicon", lexicon), ("--matching", matching), ("--report", report)):
            if given is not None:
                raise UsageError(
                    f"reproduce: {option} is for counting captions; give them with --captions FILE"
                )
        print_reproduction(reproduce_biasbench(), as_json=as_json)
        return
    matching = matching or JUDGED
    if matching not in (*MATCHINGS, _ALL):
        hint = did_you_mean(matching, MATCHINGS, otherwise=f"it is {', '.join(MATCHINGS)} or {_ALL}")
        raise UsageError(f"reproduce: --matching: no {matching!r}; {hint}")
    shown = list(MATCHINGS) if matching == _ALL else [matching]
    if report is not None:
        _check_page(report, captions, lexicon)
    found = compare_captions(captions, lexicon)
    if report is not None:
        _write_page(found, report, captions, lexicon)
    if as_json:
        print_json(found.as_dict())
        return
    out = console(settings)
    if report is not None:
        _skipped(found, out)
        for sentence in findings_of(found):
            print_line(Text(f"- {terminal(sentence)}"), out)
        print_line(Text(f"Page: {terminal(str(report))}", style="bold"), out)
        return
    _head(found, out)
    for model in found.models:
        _model(model, shown, out)
    counted = ", ".join(f"{verdict} {n}" for verdict, n in found.counts().items())
    n = sum(found.counts().values())
    print_line(Text(f"{n} numbers: {counted or 'none'}.", style="bold"), out)
    for verdict in found.counts():
        print_line(Text(f"{verdict}: {CELL_VERDICTS[verdict]}"), out)
    for how in shown:
        print_line(Text(f"{_HEADS[how]}: the paper's formula; {MATCHINGS[how]}", style="dim"), out)
    line = "All three ways to find a term, with intervals: --json, or --report FILE.html for a page"
    print_line(Text(line, style="dim"), out)


def _check_page(report: Path, captions: Path, lexicon: Path | None) -> None:
    """Refuse a page that would take the place of something else."""
    read = [given.resolve() for given in (captions, lexicon) if given is not None]
    problems = {
        f"must end in .html, found {report.name!r}": report.suffix.lower() not in _PAGES,
        f"{report} is a folder; name a file in it": report.is_dir(),
        f"there is no folder {report.parent}; make it first": not report.absolute().parent.is_dir(),
        f"{report} is what is read; name another file": report.resolve() in read,
    }
    for problem, found in problems.items():
        if found:
            raise UsageError(f"reproduce: --report: {problem}")


def _write_page(found: CaptionsReproduction, report: Path, captions: Path, lexicon: Path | None) -> None:
    command = ["stereotrope", "reproduce", found.suite, "--captions", captions.absolute().name]
    command += [] if lexicon is None else ["--lexicon", lexicon.name]
    page = reproduction_page(found, command=[*command, "--report", report.name])
    try:
        write_atomic(report, page.encode("utf-8"))
    except OSError as error:
        raise InputError(f"{report}: the page cannot be written ({error.strerror})") from error


def _head(found: CaptionsReproduction, out: Console) -> None:
    print_line(Text("T2I-BiasBench: captions counted again", style="bold"), out)
    kind = "the authors' lists, unchanged" if found.authors_lexicon else "not the authors' lists"
    line = f"Figures of {found.source}, {found.licence}. Lexicon: {found.lexicon}, {kind}."
    print_line(Text(terminal(line), style="dim"), out)
    _skipped(found, out)
    out.print()


def _skipped(found: CaptionsReproduction, out: Console) -> None:
    """Files of the folder that hold no captions: told whatever else is printed."""
    for skipped in found.skipped:
        print_line(Text(f"Not read: {terminal(skipped)}", style="yellow"), out)


def _model(model: ComparedModel, matchings: Sequence[str], out: Console) -> None:
    known = f", in the paper {model.published_as}" if model.published_as else ", not in the paper"
    captions = count(model.captions, "caption")
    print_line(Text(terminal(f"{model.model}: {captions}{known}"), style="bold"), out)
    if not model.remarks:
        print_line(Text("Nothing odd about the captions was found."), out)
    for remark in model.remarks:
        what = f"{terminal(remark.what)}; {terminal(remark.effect)}."
        print_line(Text(f"- {remark.kind}{remark.where(_LINES)}: {what}"), out)
    out.print()
    for prompt, cells in groupby(model.cells, key=lambda cell: cell.prompt):
        _prompt(prompt, list(cells), matchings, out)
    if model.hits:
        _hits(model.hits, out)


def _hits(hits: Sequence[Hits], out: Console) -> None:
    columns = ["value", "captions", "as a word", "inside words", "before a noun", "read again"]
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
    for line in (
        "Inside words: captions that rest on letters inside longer words alone; before a noun: on words",
        "before one of clothes, hair or a background alone; read again: by the built-in lexicon.",
    ):
        print_line(Text(line, style="dim"), out)
    out.print()


def _prompt(prompt: str, cells: list[ComparedCell], matchings: Sequence[str], out: Console) -> None:
    """A row a number. Where lines get too long, the interval goes first, then where a figure stands."""
    rows = _rows(cells, matchings)
    for spared in ((), (_INTERVAL,), (_INTERVAL, _WHERE)):
        columns = [name for name in rows[0] if name not in spared and any(row[name] != "" for row in rows)]
        if _width(columns, rows) <= max(out.width, _NARROWEST):
            break
    table = [[row[name] for name in columns] for row in rows]
    print_rows(f"{prompt}, n = {cells[0].n}", columns, table, out)
    for cell in cells:
        if cell.explanation and (cell.published is not None or not cell.paper):
            print_line(Text(terminal(f"{_measure(cell)}: {cell.explanation}"), style="dim"), out)
    out.print()


def _rows(cells: Sequence[ComparedCell], matchings: Sequence[str]) -> list[dict[str, str]]:
    """Every column of every number; one without content is empty in all rows."""
    given = [how for how in matchings if any(how in cell.paper for cell in cells)]
    only = given[0] if len(given) == 1 == len(matchings) else ""
    none = PaperValue(None, None, None, None, "")
    repaired = any(cell.repaired is not None for cell in cells)
    published = any(cell.published is not None for cell in cells)
    return [
        {
            "measure": _measure(cell),
            **{_HEADS[how]: cell.digits(cell.paper.get(how, none).value) for how in given},
            _INTERVAL: cell.paper.get(only, none).interval,
            "released": cell.digits(cell.released),
            "after repair": cell.digits(cell.repaired) if repaired else "",
            "published": (cell.published or "–") if published else "",
            _WHERE: cell.place,
            "verdict": cell.verdict if published and cell.verdict != NOT_PRINTED else "",
        }
        for cell in cells
    ]


def _width(columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> int:
    widths = [max(cell_len(terminal(text)) for text in (name, *(r[name] for r in rows))) for name in columns]
    return sum(widths) + _GAP * (len(widths) - 1)


def _measure(cell: ComparedCell) -> str:
    name = "share" if cell.measure == "representation_parity" else cell.measure
    return f"{name} {cell.level}".strip()
