"""The check of a lexicon in a terminal: what is odd first, then what to doubt, the worst first."""

import re
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import polars as pl
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from stereotrope.commands import settings
from stereotrope.escape import terminal, visible
from stereotrope.lexicon.parts import THINGS
from stereotrope.report.numbers import count
from stereotrope.suites.biasbench.hits import excerpt, listed
from stereotrope.suites.biasbench.lexicon_check import CheckedLexicon
from stereotrope.terminal import console, print_json, print_line, print_rows, safe

_TERMS = 8
"""Terms of a section, and values of a list, that are printed; JSON has them all."""
_WIDEST = 110
_MARKS = 4
"""Columns of the quotation marks and dots around a caption."""
_INSIDE = "the letters are there and the word is not"
_NOUN = "perhaps said of clothes, hair or a background"
_GLUED = "set off only by case or a digit, so that this matching does not see them"
_FORMS = "plurals, -ed, words run together and compounds count as the term"
_LEFT = "they hold the letters of a term of a list and do not count as it"

_Row = Mapping[str, Any]


class _Entry(NamedTuple):
    """A count, the term it is of, what that stands for, where it is found, and its place in a caption."""

    number: str
    term: str
    of: str
    where: str
    place: Mapping[str, int] = {}


def print_lexicon_check(found: CheckedLexicon, *, as_json: bool = False) -> None:
    """Print what the terms of a lexicon hit in captions, or all of it as JSON."""
    if as_json:
        print_json(found.as_dict())
        return
    out = console(settings)
    _head(found, out)
    _values(found, out)
    terms, captions = found.audit.terms, found.audit.captions
    open_ended = pl.col("term").str.contains("*", literal=True)
    longer = pl.col("n_inside") - pl.col("n_forms")
    inside = _doubted(terms.filter(~open_ended), longer, "inside_words", "inside", "in")
    _section("Inside longer words", _INSIDE, inside, captions, out)
    before = _doubted(terms, pl.col("n_noun"), "nouns", "noun", "before", last=THINGS)
    _section("Before a noun", _NOUN, before, captions, out)
    several = map(_several, found.audit.several.iter_rows(named=True))
    _section("Several groups in one caption", "", several, captions, out, what="combination")
    _glued(terms, out)
    _of_words(terms, "n_by_form", "form_words", "Other forms of a term", _FORMS, out)
    of_lists = terms.filter(pl.col("prompt").is_not_null())
    _of_words(of_lists, "n_kept_out", "kept_out_words", "Longer words left alone", _LEFT, out)
    _never(list(terms.iter_rows(named=True)), out)
    print_line(Text("Every term, with its numbers and captions: --json.", style="dim"), out)


def _head(found: CheckedLexicon, out: Console) -> None:
    version = f" {found.lexicon.version}" if found.lexicon.version else ""
    captions = count(found.captions, "caption")
    title = f"Lexicon {found.lexicon.name}{version} on {captions} of {found.file}"
    print_line(Text(terminal(title), style="bold"), out)
    terms = found.audit.terms
    hitting = int((~terms["never"]).sum())
    hits = count(int(terms["n_hits"].sum()), "hit")
    line = f"{hits}, of {hitting} of its {count(terms.height, 'term')}. "
    print_line(safe(f"{line}Matching: {found.matching}."), out)
    out.print()
    _title("What is odd about the files", "", out)
    for remark in found.remarks:
        print_line(Text(f"- {terminal(remark.removeprefix(f'{found.file}: '))}"), out)
    if not found.remarks:
        print_line(Text("Nothing odd was found."), out)
    out.print()


def _values(found: CheckedLexicon, out: Console) -> None:
    """Values of which captions are to be doubted, and those without one that a second reading names."""
    labels = [row for row in found.audit.labels.iter_rows(named=True) if row["n_doubtful"] or row["n_named"]]
    if not labels:
        return
    labels.sort(key=lambda row: -(row["n_doubtful"] + (row["n_named"] or 0)))
    again = any(row["named"] for row in labels)
    columns = ["value", "captions", "inside words only", "before such a noun only"]
    rows = [
        [
            f"{row['attribute']} {row['value']}",
            row["n"],
            row["n_inside_only"],
            row["n_noun_only"],
            *[", ".join(f"{one['value']} {one['n']}" for one in row["named"])] * again,
        ]
        for row in labels
    ]
    title = "What the values of captions rest on"
    print_rows(title, [*columns, *["read again"] * again], rows[: 2 * _TERMS], out)
    _more(len(rows) - 2 * _TERMS, "value", out)
    line = "Such a noun is of clothes, hair or a background."
    if again:
        line += f" Read again: captions without a value, by the lexicon {found.audit.second}."
    print_line(Text(terminal(line), style="dim"), out)
    out.print()


def _doubted(
    terms: pl.DataFrame, number: pl.Expr, words: str, kind: str, where: str, *, last: Collection[str] = ()
) -> list[_Entry]:
    """Terms with hits of a kind, the most first; those of some attributes at the end."""
    rows = terms.with_columns(number=number).filter(pl.col("number") > 0)
    at_end = pl.col("attribute").is_in(list(last))
    rows = rows.sort(at_end, "number", descending=[False, True], maintain_order=True)
    return [
        _Entry(
            f"{row['number']} of {row['n_hits']}",
            row["term"],
            _stands_for(row),
            f"{where} {listed(row[words])}",
            *row[f"places_{kind}"][:1],
        )
        for row in rows.iter_rows(named=True)
    ]


def _glued(terms: pl.DataFrame, out: Console) -> None:
    missed = terms.filter(pl.col("n_missed_glued") > 0)
    if missed.is_empty():
        return
    missed = missed.sort("n_missed_glued", descending=True, maintain_order=True)
    _title("Run together with other words", _GLUED, out)
    shown = missed.head(3 * _TERMS).select("term", "n_missed_glued").iter_rows()
    _wrapped(", ".join(f"{terminal(term)} {n}" for term, n in shown), out)
    _more(missed.height - 3 * _TERMS, "term", out)
    print_line(Text("Matching {split_case: true} sees them.", style="dim"), out)
    out.print()


def _of_words(terms: pl.DataFrame, n: str, words: str, title: str, meaning: str, out: Console) -> None:
    """Terms with the words that counted, or did not, most frequent first."""
    found = terms.filter(pl.col(n) > 0).sort(n, descending=True, maintain_order=True)
    if found.is_empty():
        return
    _title(title, meaning, out)
    for row in found.head(2 * _TERMS).iter_rows(named=True):
        _wrapped(terminal(f"{row['term']} ({_stands_for(row)}), {row[n]}: {listed(row[words])}"), out)
    _more(found.height - 2 * _TERMS, "term", out)
    out.print()


def _several(row: _Row) -> _Entry:
    counted = ", ".join(f"{one['value']} {one['n']}" for one in row["counted_as"])
    own = [one["value"] for one in row["counted_as"]] == [row["groups"]]
    where = "a value of its own" if own else f"counted as {counted}"
    number = f"{row['n']} of {row['n_captions']}"
    return _Entry(number, row["groups"], row["attribute"], where, *row["places"][:1])


def _never(terms: Sequence[_Row], out: Console) -> None:
    never = [row for row in terms if row["never"] and row["n_captions"]]
    if never:
        _title(f"Never found: {count(len(never), 'term')}", "", out)
        for place, own in groupby(sorted(never, key=_place), key=_place):
            names = [terminal(row["term"]) for row in own]
            more = f" and {len(names) - 2 * _TERMS} more" if len(names) > 2 * _TERMS else ""
            _wrapped(f"{terminal(place)}: {', '.join(names[: 2 * _TERMS])}{more}", out)
        out.print()
    unasked = sorted({row["prompt"] or row["attribute"] for row in terms if not row["n_captions"]})
    if unasked:
        n = sum(not row["n_captions"] for row in terms)
        line = f"{n} terms were not looked for, since no caption is of their prompt: {', '.join(unasked)}."
        print_line(safe(line), out)
        out.print()


def _section(
    title: str,
    meaning: str,
    entries: Iterable[_Entry],
    captions: Sequence[str],
    out: Console,
    what: str = "term",
) -> None:
    """Entries with a caption each; a term of several lists that hits the same is one."""
    merged: dict[tuple[str, str, str], list[_Entry]] = {}
    for entry in entries:
        merged.setdefault((entry.number, entry.term, entry.where), []).append(entry)
    if not merged:
        return
    _title(title, meaning, out)
    shown = list(merged.values())[:_TERMS]
    width = max(len(same[0].number) for same in shown)
    room = max(20, min(out.width, _WIDEST) - width - 4)
    for same in shown:
        number, term, _, where, place = same[0]
        text = terminal(f"{term} ({', '.join(entry.of for entry in same)}): {where}")
        first, *rest = textwrap.wrap(text, room, break_on_hyphens=False) or [""]
        out.print(Text.assemble("  ", (number.rjust(width), "bold yellow"), "  ", first), soft_wrap=True)
        quoted = [_quoted(captions[place["caption"]], place["start"], place["end"], room)] if place else []
        for line in (*map(Text, rest), *quoted):
            out.print(Text(" " * (width + 4)) + line, soft_wrap=True)
    _more(len(merged) - len(shown), what, out)
    out.print()


def _title(title: str, meaning: str, out: Console) -> None:
    print_line(Text.assemble((title, "bold"), f": {meaning}" if meaning else ""), out)


def _wrapped(text: str, out: Console) -> None:
    width = max(20, min(out.width, _WIDEST))
    for line in textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    "):
        out.print(Text(line), soft_wrap=True)


def _more(n: int, what: str, out: Console) -> None:
    if n > 0:
        print_line(Text(f"  … and {n} more {what}{'s' if n != 1 else ''}", style="dim"), out)


def _place(row: _Row) -> str:
    return f"{row['prompt']} {row['attribute']}" if row["prompt"] else str(row["attribute"])


def _stands_for(row: _Row) -> str:
    own = "" if row["element"] == row["term"] else f" {row['element']}"
    return f"{_place(row)}{own}"


def _quoted(caption: str, start: int, end: int, width: int) -> Text:
    """The words around a hit, the hit marked, all of it inert, in so many columns."""
    width -= _MARKS
    shown = excerpt(caption, start, end, width)
    if cell_len("".join(vars(shown).values())) > width + _MARKS:
        shown = excerpt(caption, start, end, width // 2)
    before, hit, after = (re.sub(r"\s+", " ", visible(text)) for text in vars(shown).values())
    return Text.assemble((f"“{before}", "dim"), (hit, "bold underline"), (f"{after}”", "dim"))
