"""The check of a lexicon in a terminal: what is odd first, then what to doubt, the worst first."""

import re
import textwrap
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from stereotrope.commands import settings
from stereotrope.lexicon.parts import THINGS
from stereotrope.lexicon.surroundings import noun_after
from stereotrope.report.escape import terminal, visible
from stereotrope.report.numbers import count
from stereotrope.report.terminal import console, print_json, print_line, print_rows, safe
from stereotrope.suites.biasbench.lexicon_check import CheckedLexicon

_TERMS = 8
"""Terms of a section, and values of a list, that are printed; JSON has them all."""
_WIDEST = 110
_MARKS = 4
"""Columns of the quotation marks and dots around a caption."""
_WORDS, _LONGEST_WORD = 4, 32
_INSIDE = "the letters are there and the word is not"
_NOUN = "perhaps said of clothes, hair or a background"
_GLUED = "set off only by case or a digit, so that this matching does not see them"
_FORMS = "plurals, -ed, words run together and compounds count as the term"
_LEFT = "they hold the letters of a term of a list and do not count as it"

Row = Mapping[str, Any]
Fits = Callable[[str, int, int], bool]


class _Entry(NamedTuple):
    """A count, the term it is of, what that stands for, where it is found, and a caption."""

    number: str
    term: str
    of: str
    where: str
    caption: str


def print_lexicon_check(found: CheckedLexicon, *, as_json: bool = False) -> None:
    """Print what the terms of a lexicon hit in captions, or all of it as JSON."""
    if as_json:
        print_json(found.as_dict())
        return
    out = console(settings)
    _head(found, out)
    _values(found, out)
    terms = list(found.audit.terms.iter_rows(named=True))
    _inside(terms, out)
    _before_nouns(terms, out)
    _several(list(found.audit.several.iter_rows(named=True)), out)
    _glued(terms, out)
    _of_words(terms, "n_by_form", "form_words", "Other forms of a term", _FORMS, out)
    listed = [row for row in terms if row["prompt"] is not None]
    _of_words(listed, "n_kept_out", "kept_out_words", "Longer words left alone", _LEFT, out)
    _never(terms, out)
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


def _inside(terms: Sequence[Row], out: Console) -> None:
    doubted = [(row["n_inside"] - row["n_forms"], row) for row in terms if "*" not in row["term"]]
    entries = [
        _Entry(
            f"{n} of {row['n_hits']}",
            row["term"],
            _stands_for(row),
            f"in {_listed(row['inside_words'])}",
            _first(row["examples_inside"]),
        )
        for n, row in sorted(doubted, key=lambda pair: -pair[0])
        if n
    ]
    _section("Inside longer words", _INSIDE, entries, _stands_inside, out)


def _before_nouns(terms: Sequence[Row], out: Console) -> None:
    doubted = [row for row in terms if row["n_noun"]]
    doubted.sort(key=lambda row: (row["attribute"] in THINGS, -row["n_noun"]))
    entries = [
        _Entry(
            f"{row['n_noun']} of {row['n_hits']}",
            row["term"],
            _stands_for(row),
            f"before {_listed(row['nouns'])}",
            _first(row["examples_noun"]),
        )
        for row in doubted
    ]
    _section("Before a noun", _NOUN, entries, _stands_before_noun, out)


def _glued(terms: Sequence[Row], out: Console) -> None:
    missed = [row for row in terms if row["n_missed_glued"]]
    if not missed:
        return
    missed.sort(key=lambda row: -row["n_missed_glued"])
    _title("Run together with other words", _GLUED, out)
    shown = [f"{terminal(row['term'])} {row['n_missed_glued']}" for row in missed[: 3 * _TERMS]]
    _wrapped(", ".join(shown), out)
    _more(len(missed) - len(shown), "term", out)
    print_line(Text("Matching {split_case: true} sees them.", style="dim"), out)
    out.print()


def _of_words(rows: Sequence[Row], n: str, words: str, title: str, meaning: str, out: Console) -> None:
    """Terms with the words that counted, or did not, most frequent first."""
    found = sorted((row for row in rows if row[n]), key=lambda row: -row[n])
    if not found:
        return
    _title(title, meaning, out)
    for row in found[: 2 * _TERMS]:
        of = f"{row['term']} ({_stands_for(row)}), {row[n]}: {_listed(row[words])}"
        _wrapped(terminal(of), out)
    _more(len(found) - 2 * _TERMS, "term", out)
    out.print()


def _several(rows: Sequence[Row], out: Console) -> None:
    entries = []
    for row in rows:
        counted = ", ".join(f"{one['value']} {one['n']}" for one in row["counted_as"])
        own = [one["value"] for one in row["counted_as"]] == [row["groups"]]
        what = "a value of its own" if own else f"counted as {counted}"
        count_of = f"{row['n']} of {row['n_captions']}"
        entries.append(_Entry(count_of, row["groups"], row["attribute"], what, _first(row["examples"])))
    _section("Several groups in one caption", "", entries, None, out, what="combination")


def _never(terms: Sequence[Row], out: Console) -> None:
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
    title: str, meaning: str, entries: Sequence[_Entry], fits: Fits | None, out: Console, what: str = "term"
) -> None:
    """Entries with a caption each; a term of several lists that hits the same is one."""
    if not entries:
        return
    _title(title, meaning, out)
    merged: dict[tuple[str, ...], list[str]] = {}
    for entry in entries:
        merged.setdefault((entry.number, entry.term, entry.where, entry.caption), []).append(entry.of)
    shown = list(merged.items())[:_TERMS]
    width = max(len(key[0]) for key, _ in shown)
    room = max(20, min(out.width, _WIDEST) - width - 4)
    for (number, term, where, caption), of in shown:
        text = terminal(f"{term} ({', '.join(of)}): {where}")
        first, *rest = textwrap.wrap(text, room, break_on_hyphens=False) or [""]
        out.print(Text.assemble("  ", (number.rjust(width), "bold yellow"), "  ", first), soft_wrap=True)
        piece = excerpt(caption, term if fits else "", fits or _stands_inside, room - _MARKS)
        for line in (*map(Text, rest), piece):
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


def _place(row: Row) -> str:
    return f"{row['prompt']} {row['attribute']}" if row["prompt"] else str(row["attribute"])


def _stands_for(row: Row) -> str:
    own = "" if row["element"] == row["term"] else f" {row['element']}"
    return f"{_place(row)}{own}"


def _first(captions: Sequence[str]) -> str:
    return captions[0] if captions else ""


def _listed(words: Sequence[str]) -> str:
    return ", ".join(w if len(w) <= _LONGEST_WORD else f"{w[:_LONGEST_WORD]}…" for w in words[:_WORDS])


def excerpt(caption: str, term: str, fits: Fits, about: int) -> Text:
    """Return the words around the first place of a term that ``fits``, the term marked, all of it inert.

    caption, term: The caption and a term in it; where the term is empty or not found, the caption's
        beginning.
    fits: Says of a caption, a start and an end whether that place is wanted.
    about: Columns of a terminal that the words may take.
    """
    words = [re.escape(word) for word in re.split(r"[\W_]+", term.strip("*")) if word]
    pattern = re.compile(r"[\W_]*".join(words) or re.escape(term), re.IGNORECASE)
    places = [found.span() for found in pattern.finditer(caption)] if term else []
    start, end = next((p for p in places if fits(caption, *p)), places[0] if places else (0, 0))
    left, right = _window(caption, start, end, about)
    if cell_len(caption[left:right]) > about:
        left, right = _window(caption, start, end, about // 2)
    return Text.assemble(
        ("“…" if left else "“", "dim"),
        (_inert(caption[left:start]), "dim"),
        (_inert(caption[start:end]), "bold underline"),
        (_inert(caption[end:right]), "dim"),
        ("…”" if right < len(caption) else "”", "dim"),
    )


def _window(caption: str, start: int, end: int, about: int) -> tuple[int, int]:
    """Return about so many characters around a place, from a word's beginning on."""
    left = max(0, start - max(0, about - (end - start)) // 2) if end else 0
    right = min(len(caption), max(end, left + about))
    if left:
        left = _word_edge(caption, left, start)
    while end < right < len(caption) and unicodedata.combining(caption[right]):
        right -= 1
    return left, right


def _word_edge(caption: str, left: int, start: int) -> int:
    """Move to the beginning of the next word, where one begins before the hit."""
    blank = caption.find(" ", left, start)
    return blank + 1 if blank >= 0 else left


def _inert(text: str) -> str:
    return re.sub(r"\s+", " ", visible(text))


def _stands_inside(text: str, start: int, end: int) -> bool:
    return (start > 0 and text[start - 1].isalpha()) or (end < len(text) and text[end].isalpha())


def _stands_before_noun(text: str, start: int, end: int) -> bool:
    return noun_after(text, end) is not None
