"""The main scores of a run in a screenful: one row each, the noise floor beside the value."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from rich.console import Console
from rich.text import Text

from stereotrope.escape import cut_short, terminal
from stereotrope.report.numbers import WHOSE_Q, count, interval, number, probability, thousands
from stereotrope.tables import ESTIMATE_COLUMNS, LIKE_THESE, warnings_of
from stereotrope.terminal import print_rows, print_wrapped

MOST_SCORES = 15
"""Rows of a table that are printed; the report has them all. A single further one is printed too."""

_FEWEST_LEVELS = 3
"""Of a mean that is printed. The interval of a mean of two is wider than the score; the report has it."""
_LONGEST_LABEL = 28
_LONGEST_CELL = 48
_MOST_LEVELS_BESIDE = 3

_Row = Mapping[str, Any]
_T = TypeVar("_T")


def print_scores(
    tables: Sequence[Mapping[str, Any]],
    out: Console,
    *,
    leading: Sequence[Mapping[str, Any]] = (),
    n_requests: int | None = None,
) -> None:
    """Print the main scores of a headline, those whose words have a ``screen``, and name the others.

    tables: ``tables`` of :func:`stereotrope.report.headline`.
    out: Where to print.
    leading: Tables of its ``sections``, printed first.
    n_requests: Pictures that were asked for; added up over the rows of a rate when None.
    """
    plain = [t for t in tables if t["subset"] is None and not t["difference"]]
    found = {measure: _Scores.of(measure, plain) for measure in dict.fromkeys(t["measure"] for t in plain)}
    events = [scores for scores in found.values() if scores.form == "events"]
    shown: set[str] = set()
    for table in leading:
        cells = [[cut_short(cell, _LONGEST_CELL) for cell in row] for row in table["rows"]]
        _print(table["title"], list(table["columns"]), cells, out, len(cells))
        for note in table.get("notes", ()):
            print_wrapped(Text(terminal(note), style="dim"), out)
        shown |= set(table["replaces"])
    for scores in (*events, *(one for one in found.values() if one not in events)):
        beneath = [one for one in found.values() if one.beneath == scores.measure]
        if scores.measure in shown:
            continue
        if scores.titles and _FORMS.get(scores.form, _table)(scores, beneath, out):
            shown |= {scores.measure, *(one.measure for one in beneath if scores.form == "ranking")}
    rest = [t for t in tables if t["subset"] or t["difference"] or t["measure"] not in shown]
    for scores in events:
        if (leading or not shown) and all(r["value"] == 0 for r in scores.rows):
            print_wrapped(Text(f"\n{_no_events(scores, n_requests)}"), out)
            rest = [t for t in rest if t["measure"] != scores.measure]
    if not shown and rest:
        _print_table(rest[0]["title"], _complete(rest[0]["estimates"]), out)
        rest = rest[1:]
    quiet = {scores.measure for scores in events}
    quiet |= {scores.measure for scores in found.values() if scores.beneath in quiet}
    named_alone = [t for t in rest if t["measure"] not in quiet and not t["difference"]]
    if named := [_inside(terminal(t["title"])) for t in named_alone]:
        named = list(dict.fromkeys(named))
        named += ["differences from the baseline model"] * any(t["difference"] for t in rest)
        out.print()
        print_wrapped(Text(f"In the report and its tables: {'; '.join(named)}."), out)


@dataclass(frozen=True)
class _Scores:
    """A measure's own scores and means, and the title of those of each definition on this screen."""

    measure: str
    title: str
    rows: list[_Row]
    titles: Mapping[str | None, str]
    form: str
    beneath: str
    none: str
    neutral: float | None

    @classmethod
    def of(cls, measure: str, tables: Sequence[Mapping[str, Any]]) -> Self:
        own = [t for t in tables if t["measure"] == measure]
        titles = {row.get("definition"): t["screen"].get("title") for t in own for row in t["estimates"]}
        screen = own[0]["screen"]
        return cls(
            measure,
            title=own[0]["title"],
            rows=_complete([row for t in own for row in t["estimates"]]),
            titles={name: terminal(title) for name, title in titles.items() if title},
            form=screen.get("form", ""),
            beneath=screen.get("beneath", ""),
            none=terminal(screen.get("none", "")),
            neutral=float(screen["neutral"]) if "neutral" in screen else None,
        )

    def by_definition(self) -> Iterator[tuple[str, list[_Row]]]:
        """The rows to print together: one definition at a time, named where there are several."""
        for name, title in self.titles.items():
            which = f" (definition: {terminal(str(name))})" if len(self.titles) > 1 else ""
            yield f"{title}{which}", [row for row in self.rows if row["definition"] == name]

    def strength(self, row: _Row) -> float:
        """How far a score is from what it would read if there were nothing: that value, its floor, or 0."""
        if self.neutral is not None:
            return float(abs(row["value"] - self.neutral))
        return _strength(row)


def _counted(title: str, rows: Sequence[_Row]) -> str:
    """Which value all rows count, where the title does not say it and so no column does."""
    counted = {row.get("category") for row in rows}
    value = counted.pop() if len(counted) == 1 else None
    named = value is None or re.search(rf"\b{re.escape(value.lower())}\b", title.lower())
    return "" if named else f": {_label(value, 'category')}"


def _complete(rows: Sequence[_Row]) -> list[_Row]:
    """The rows with every column that one of them has, or says its levels are compared in."""
    named = {str(row["contrast"]) for row in rows if row.get("contrast")}
    columns = dict.fromkeys([*ESTIMATE_COLUMNS, *(c for row in rows for c in row), *sorted(named)])
    return [{**columns, **row} for row in rows]


def _strength(row: _Row) -> float:
    """How far a score is from what it would read if there were nothing: its floor, or 0."""
    value = abs(row["value"])
    return float(value - row["floor"] if row["floor"] is not None else value)


def _strongest(rows: Iterable[_Row], strength: Callable[[_Row], float] = _strength) -> list[_Row]:
    """Rows by strength, behind them those whose floor is not known, then undefined ones."""
    listed = list(rows)
    floors = any(row.get("floor") is not None for row in listed)

    def place(row: _Row) -> tuple[bool, bool, float]:
        if row["value"] is None:
            return True, True, 0.0
        return False, floors and row["floor"] is None, -strength(row)

    return sorted(listed, key=place)


def _table(scores: _Scores, beneath: Sequence[_Scores], out: Console) -> bool:
    for title, rows in scores.by_definition():
        _print_table(title, rows, out, strength=scores.strength)
    return True


def _print_table(
    title: str,
    rows: Sequence[_Row],
    out: Console,
    *,
    scope: Sequence[str] | None = None,
    strength: Callable[[_Row], float] = _strength,
) -> None:
    """One row a score, the strongest first; means over a factor come last, or first where rows are cut."""
    title += _counted(title, rows)
    scope = _scope(rows) if scope is None else scope
    known = _strongest((r for r in rows if r["value"] is not None), strength)
    single = [r for r in known if not _averaged(r, scope)]
    means = [r for r in known if _averaged(r, scope) and ((r["n"] or 0) >= _FEWEST_LEVELS or not single)]
    ordered = [*single, *means] if len(single) + len(means) <= MOST_SCORES + 1 else [*means, *single]
    floor = any(r.get("floor") is not None for r in rows)
    tested = any(r.get("q_value") is not None for r in rows)
    columns = [*(c.replace("_", " ") for c in scope), _value_head(rows), *["noise floor"] * floor]
    columns += [*["q"] * tested, "n"]
    lines = []
    for row in _first(ordered):
        line = [*_labels(row, scope), _value(row)]
        line += [number(row.get("floor"), row.get("n"))] * floor
        line += [probability(row.get("q_value"))] * tested
        none = row.get("n") is None or _averaged(row, scope)
        lines.append([*line, "" if none else thousands(row["n"])])
    if lines:
        _print(title, columns, lines, out, len(ordered))
    else:
        out.print()
        print_wrapped(Text(title, style="bold"), out)
    if floor and len(ordered) > 1 and known == _strongest(known):
        apart = ", means apart" * bool(single and means)
        out.print(Text(f"In the order of the distance above the noise floor{apart}.", style="dim"))
    if tested and lines:
        print_wrapped(Text(WHOSE_Q, style="dim"), out)
    _print_undefined(rows, out)
    if means:
        over = (_averaged(means[0], scope) or "").replace("_", " ")
        holds_for = {row.get("holds_for") for row in means} - {None}
        of_these = f"; its interval is of these alone, and not about another choice of {over}"
        of_others = f"; its interval is about another choice of {over}, not of pictures"
        which = of_others if LIKE_THESE in holds_for else of_these if holds_for else ""
        print_wrapped(Text(f"A mean counts each {over} alike{which}.", style="dim"), out)


def _print_undefined(rows: Sequence[_Row], out: Console) -> None:
    """How many rows are not defined, by reason."""
    reasons = Counter(str(row["undefined"] or "no reason given") for row in rows if row["value"] is None)
    if reasons:
        told = "; ".join(f"{terminal(reason)} ({thousands(n)})" for reason, n in reasons.most_common())
        of = f"{thousands(reasons.total())} of {count(len(rows), 'row')}"
        print_wrapped(Text(f"Not defined: {of}: {told}.", style="dim"), out)


def _ranking(scores: _Scores, beneath: Sequence[_Scores], out: Console) -> bool:
    """One line a model: the levels compared in the order of their rank, and what is said of the ranking."""
    for title, rows in scores.by_definition():
        contrast = next((r["contrast"] for r in rows if r.get("contrast")), "group")
        scope = [c for c in _scope(rows) if c != contrast]
        said: dict[tuple[str, ...], str] = {}
        for one in beneath:
            for row in one.rows:
                if row["definition"] == rows[0]["definition"]:
                    key = tuple(_labels(row, scope))
                    said[key] = f"{said.get(key, '')}. {one.title}: {_value(row)}"
        models: dict[tuple[str, ...], list[_Row]] = {}
        for row in rows:
            models.setdefault(tuple(_labels(row, scope)), []).append(row)
        lines = [
            f"{', '.join(key)}{': ' * bool(key)}{_ranked(ranked, contrast, said.get(key, ''))}."
            for key, ranked in models.items()
        ]
        out.print()
        print_wrapped(Text(title, style="bold"), out)
        for line in _first(lines):
            print_wrapped(Text(line), out)
        _print_rest(len(lines), out)
    return True


def _ranked(rows: Sequence[_Row], contrast: str, said: str) -> str:
    known = [r for r in rows if r["value"] is not None]
    known.sort(key=lambda r: (r["value"], str(r.get(contrast))))
    text = ", ".join(f"{_label(r.get(contrast), contrast)} {_rank(r)}" for r in known) or _undefined(rows[0])
    missing = [_label(r.get(contrast), contrast) for r in rows if r["value"] is None]
    text += f"; not defined: {', '.join(missing)}" if known and missing else ""
    few = any("few_levels" in warnings_of(r.get("flags")) for r in known)
    return text + said + (f". Too few rankings for intervals: {rows[0]['n']}" if few else "")


def _first(lines: Sequence[_T]) -> Sequence[_T]:
    return lines if len(lines) <= MOST_SCORES + 1 else lines[:MOST_SCORES]


def _print_rest(n: int, out: Console) -> None:
    if n > MOST_SCORES + 1:
        out.print(Text(f"… and {thousands(n - MOST_SCORES)} more: see the report", style="dim"))


def _beside(scores: _Scores, beneath: Sequence[_Scores], out: Console) -> bool:
    """A factor with two or three levels, the instruction for instance, stands side by side."""
    for title, rows in scores.by_definition():
        *scope, last = _scope(rows) or [""]
        levels = list(dict.fromkeys(str(r.get(last)) for r in rows)) if last else []
        nested = any(r.get(last) is None for r in rows)
        if not scope or nested or not 2 <= len(levels) <= _MOST_LEVELS_BESIDE:
            _print_table(title, rows, out, strength=scores.strength)
            continue
        cells: dict[tuple[str, ...], dict[str, _Row]] = {}
        for row in _strongest(rows, scores.strength):
            cells.setdefault(tuple(_labels(row, scope)), {})[str(row.get(last))] = row
        columns = [c.replace("_", " ") for c in scope]
        columns += [_value_head(rows, terminal(level), "") for level in levels]
        columns += [f"n {terminal(level)}" for level in levels]
        lines = [
            [
                *key,
                *(_value(own[level]) if level in own else "" for level in levels),
                *(thousands(own[level].get("n") or 0) if level in own else "" for level in levels),
            ]
            for key, own in cells.items()
        ]
        _print(f"{title}{_counted(title, rows)}", columns, lines, out, len(lines))
    return True


def _kinds(scores: _Scores, beneath: Sequence[_Scores], out: Console) -> bool:
    """Definitions that say what was measured, such as accuracy and κ, are rows of one table as they stand."""
    scope = [c for c in _scope(scores.rows) if c not in ("attribute", "definition")]
    scope += ["attribute", "definition"]
    title = next(iter(scores.titles.values()))
    _print_table(title, scores.rows, out, scope=scope, strength=lambda row: 0.0)
    return True


def _events(scores: _Scores, beneath: Sequence[_Scores], out: Console) -> bool:
    """Only where something happened."""
    happened = [row for row in scores.rows if row["value"]]
    for title, rows in scores.by_definition():
        if some := [row for row in rows if row in happened]:
            _print_table(title, some, out, scope=_scope(rows))
    return bool(happened)


def _no_events(scores: _Scores, n: int | None) -> str:
    """Rates that are all 0, as one sentence."""
    asked = sum(r["n"] or 0 for r in scores.rows) if n is None else n
    highest = max((r["high"] for r in scores.rows if r.get("high") is not None), default=None)
    reach = "" if highest is None else f"; by condition the interval ends at {number(highest)} at most"
    return f"{scores.none.replace('{n}', thousands(asked))}{reach}."


_FORMS: Mapping[str, Callable[[_Scores, Sequence[_Scores], Console], bool]] = {
    "beside": _beside,
    "events": _events,
    "kinds": _kinds,
    "ranking": _ranking,
}
"""Forms of a measure on this screen that its words can name; else it is a table."""


def _scope(rows: Sequence[_Row]) -> list[str]:
    """Columns that tell the rows apart: factors, and attribute and category where they vary."""
    present = dict.fromkeys(c for c in next(iter(rows), {}) if c not in ESTIMATE_COLUMNS)  # all have the same
    if len(rows) == 1:
        return [c for c in present if c != "generator" and rows[0][c] is not None]
    present |= dict.fromkeys(("attribute", "category"))
    return [c for c in present if len({r.get(c) for r in rows}) > 1]


def _averaged(row: _Row, scope: Sequence[str]) -> str | None:
    """The factor that a mean was taken over."""
    return next((c for c in scope if c == row.get("aggregate") and row.get(c) is None), None)


def _labels(row: _Row, scope: Sequence[str]) -> list[str]:
    mean = _averaged(row, scope)
    return [f"mean of {row['n']}" if c == mean else _label(row.get(c), c) for c in scope]


def _label(value: Any, column: str) -> str:
    if value is None:
        return "–"
    text = terminal(str(value))
    text = text.replace("_", " ") if column in ("attribute", "definition") else text
    return cut_short(text, _LONGEST_LABEL)


def _value(row: _Row) -> str:
    if row["value"] is None:
        return _undefined(row)
    return interval(row["value"], row.get("low"), row.get("high"), row.get("n"))


def _rank(row: _Row) -> str:
    ends = (row["value"], row.get("low"), row.get("high"))
    places = 0 if all(x is None or float(x).is_integer() for x in ends) else 1
    return interval(*ends, places=places)


def _undefined(row: _Row) -> str:
    return f"not defined: {terminal(str(row.get('undefined') or 'no reason given'))}"


def _value_head(rows: Sequence[_Row], name: str = "value", what: str = " interval") -> str:
    """What heads values, with the level of their intervals where any has one."""
    level = next((r["level"] for r in rows if r["level"] is not None), 0.95)
    bare = all(r.get("low") is None or r.get("high") is None for r in rows)
    return name if bare else f"{name} [{round(100 * level)}%{what}]"


def _inside(title: str) -> str:
    """A title inside a sentence: ``Share`` → ``share``; ``VAC`` and ``Social Stereotype Index`` stay."""
    is_name = title[1:2].isupper() or title.partition(" ")[2][:1].isupper()
    return title if is_name else title[:1].lower() + title[1:]


def _print(title: str, columns: list[str], lines: list[list[str]], out: Console, n: int) -> None:
    """Print the first of ``n`` lines."""
    out.print()
    print_rows(title, columns, _first(lines), out)
    _print_rest(n, out)
