"""The main scores of a run in a screenful: one row each, the noise floor beside the value."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from rich.console import Console
from rich.text import Text

from stereotrope.cli.fitting import print_fitted, print_wrapped
from stereotrope.report.escape import terminal
from stereotrope.report.numbers import count, interval, number, probability, thousands
from stereotrope.tables import ESTIMATES, warnings_of

MOST_SCORES = 15
"""Rows of a table that are printed; the report has them all. A single further one is printed too."""

_FEWEST_LEVELS = 3
"""Of a mean that is printed. The interval of a mean of two is wider than the score; the report has it."""
_LONGEST_LABEL = 28
_LONGEST_CELL = 48
_MOST_LEVELS_BESIDE = 3
_FIXED = {column.name for column in ESTIMATES}
_KINDS = ("agreement",)
"""Measures whose definitions say what was measured (accuracy, κ): rows of one table."""

Row = Mapping[str, Any]
T = TypeVar("T")


def print_scores(
    tables: Sequence[Mapping[str, Any]], out: Console, *, leading: Sequence[Mapping[str, Any]] = ()
) -> None:
    """Print the main scores of a headline and name the other measures.

    tables: ``tables`` of :func:`stereotrope.report.headline`.
    out: Where to print.
    leading: Tables of its ``sections``, printed first.
    """
    found: dict[str, list[Row]] = {}
    for table in tables:
        if table["subset"] is None and not table["difference"]:
            found.setdefault(table["measure"], []).extend(table["estimates"])
    found = {measure: _complete(rows) for measure, rows in found.items()}
    shown = {"default_rank_agreement"} if "default_rank" in found else set()
    for table in leading:
        _print(table["title"], list(table["columns"]), _cut(table["rows"]), out)
        shown |= set(table["replaces"])
    for measure, block in _BLOCKS.items():
        for part, which in _by_definition(found, measure):
            if block(part, out, which):
                shown.add(measure)
    rest = [t for t in tables if t["subset"] or t["difference"] or t["measure"] not in shown]
    refusals = found.get("refusal_rate", []) if leading or not shown else []
    if refusals and all(r["value"] == 0 for r in refusals):
        print_wrapped(Text(f"\n{_no_refusals(refusals)}"), out)
        rest = [t for t in rest if t["measure"] != "refusal_rate"]
    if not shown and rest:
        _divergence(rest[0]["title"], _complete(rest[0]["estimates"]), out)
        rest = rest[1:]
    quiet = ("refusal_rate", "refusal_rate_difference")
    named_alone = [t for t in rest if t["measure"] not in quiet and not t["difference"]]
    if named := [_inside(terminal(t["title"])) for t in named_alone]:
        named = list(dict.fromkeys(named))
        named += ["differences from the baseline model"] * any(t["difference"] for t in rest)
        out.print()
        print_wrapped(Text(f"In the report and its tables: {'; '.join(named)}."), out)


def _complete(rows: Sequence[Row]) -> list[Row]:
    """The rows with every column that one of them has, or says its levels are compared in."""
    named = {str(row["contrast"]) for row in rows if row.get("contrast")}
    columns = dict.fromkeys([*_FIXED, *(c for row in rows for c in row), *sorted(named)])
    return [{**columns, **row} for row in rows]


def _strength(row: Row) -> float:
    """How far a score is from what it would read if there were nothing: its floor, or 0."""
    value = abs(row["value"])
    return float(value - row["floor"] if row["floor"] is not None else value)


def _strongest(rows: Iterable[Row], strength: Callable[[Row], float] = _strength) -> list[Row]:
    """Rows by strength; equal ones as they stood, undefined ones last."""
    return sorted(rows, key=lambda row: -math.inf if row["value"] is None else strength(row), reverse=True)


def _by_definition(
    found: Mapping[str, list[Row]], measure: str
) -> Iterator[tuple[Mapping[str, list[Row]], str]]:
    """The rows to print together: one definition at a time, named where a measure has several."""
    names = list(dict.fromkeys(row.get("definition") for row in found.get(measure, [])))
    if len(names) < 2 or measure in _KINDS:
        if names:
            yield found, ""
        return
    for name in names:
        part = {m: [r for r in rows if r.get("definition") == name] for m, rows in found.items()}
        yield part, f" (definition: {terminal(str(name))})"


def _bds(found: Mapping[str, list[Row]], out: Console, which: str) -> bool:
    title = "Divergence from the baseline (BDS), bits: 0 the same, 1 nothing in common"
    if all(row.get("definition") == "released" for row in found["bds"]):
        title = "Distance from the baseline (BDS as released), nats: 0 the same, 0.83 nothing in common"
    return _divergence(title + which, found["bds"], out)


def _cds(found: Mapping[str, list[Row]], out: Console, which: str) -> bool:
    title = "Divergence between the groups of a dimension (CDS), bits: 0 the same, 1 nothing in common"
    return _divergence(title + which, found["cds"], out)


def _vac(found: Mapping[str, list[Row]], out: Console, which: str) -> bool:
    title = "Concentration (VAC): 0 all values equally frequent, 1 all pictures show the same"
    return _divergence(title + which, found["vac"], out)


def _divergence(
    title: str,
    rows: Sequence[Row],
    out: Console,
    *,
    among: Sequence[Row] | None = None,
    strength: Callable[[Row], float] = _strength,
) -> bool:
    """One row a score, the strongest first. Means over a factor come last; first where rows are cut.

    ``among`` are the rows that ``rows`` were chosen from: what tells those apart is shown.
    """
    scope = _scope(among or rows)
    known = _strongest((r for r in rows if r["value"] is not None), strength)
    single = [r for r in known if not _averaged(r, scope)]
    means = [r for r in known if _averaged(r, scope) and ((r["n"] or 0) >= _FEWEST_LEVELS or not single)]
    ordered = [*single, *means] if len(single) + len(means) <= MOST_SCORES + 1 else [*means, *single]
    floor = any(r.get("floor") is not None for r in rows)
    tested = any(r.get("q_value") is not None for r in rows)
    columns = [*(c.replace("_", " ") for c in scope), _value_head(rows), *["noise floor"] * floor]
    columns += [*["q"] * tested, "n"]
    lines = []
    for row in ordered:
        line = [*_labels(row, scope), _value(row)]
        line += [number(row.get("floor"), row.get("n"))] * floor
        line += [probability(row.get("q_value"))] * tested
        lines.append([*line, _size(row, scope)])
    if lines:
        _print(title, columns, lines, out)
    else:
        out.print()
        print_wrapped(Text(title, style="bold"), out)
    _print_undefined(rows, out)
    if means:
        over = (_averaged(means[0], scope) or "").replace("_", " ")
        note = f"A mean counts each {over} alike; its interval is about another choice of {over}, "
        note += "not of pictures."
        print_wrapped(Text(note, style="dim"), out)
    return True


def _print_undefined(rows: Sequence[Row], out: Console) -> None:
    """How many rows are not defined, by reason."""
    reasons = Counter(str(row["undefined"] or "no reason given") for row in rows if row["value"] is None)
    if reasons:
        told = "; ".join(f"{terminal(reason)} ({thousands(n)})" for reason, n in reasons.most_common())
        of = f"{thousands(reasons.total())} of {count(len(rows), 'row')}"
        print_wrapped(Text(f"Not defined: {of}: {told}.", style="dim"), out)


def _default_rank(found: Mapping[str, list[Row]], out: Console, which: str) -> bool:
    """One line a model: the groups in the order of their rank."""
    rows = found["default_rank"]
    contrast = next((r["contrast"] for r in rows if r.get("contrast")), "group")
    scope = [c for c in _scope(rows) if c != contrast]
    agreement = {tuple(_labels(r, scope)): r for r in found.get("default_rank_agreement", [])}
    lines = []
    models: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        models.setdefault(tuple(_labels(row, scope)), []).append(row)
    for key, ranked in models.items():
        known = sorted(
            (r for r in ranked if r["value"] is not None), key=lambda r: (r["value"], str(r.get(contrast)))
        )
        text = ", ".join(f"{_label(r.get(contrast), contrast)} {_rank(r)}" for r in known) or _undefined(
            ranked[0]
        )
        missing = [_label(r.get(contrast), contrast) for r in ranked if r["value"] is None]
        if known and missing:
            text += f"; not defined: {', '.join(missing)}"
        if (together := agreement.get(key)) is not None:
            text += f". Agreement of the rankings: {_value(together)}"
        if any("few_levels" in warnings_of(r.get("flags")) for r in known):
            text += f". Too few rankings for intervals: {ranked[0]['n']}"
        head = f"{', '.join(key)}: " if key else ""
        lines.append(f"{head}{text}.")
    title = "Implicit default: groups from the nearest to the prompt without a cue to the farthest"
    _print_lines(f"{title}{which}", lines, out)
    return True


def _print_lines(title: str, lines: Sequence[str], out: Console) -> None:
    """A title and a sentence a line, of many the first."""
    out.print()
    print_wrapped(Text(title, style="bold"), out)
    shown = _first(lines)
    for line in shown:
        print_wrapped(Text(line), out)
    _print_rest(len(lines) - len(shown), out)


def _first(lines: Sequence[T]) -> Sequence[T]:
    return lines if len(lines) <= MOST_SCORES + 1 else lines[:MOST_SCORES]


def _print_rest(left: int, out: Console) -> None:
    if left:
        out.print(Text(f"… and {thousands(left)} more: see the report", style="dim"))


def _deterministic(found: Mapping[str, list[Row]], out: Console, which: str) -> bool:
    """One line a model."""
    rows = found["deterministic_share"]
    scope = _scope(rows)
    title = "Deterministic cases: share of condition × attribute cells whose pictures all show one value"
    lines = []
    for row in _strongest(rows):
        if row["value"] is None:
            continue
        head = f"{', '.join(_labels(row, scope))}: " if scope else ""
        of = f", of {thousands(row['n'])} cells" if row.get("n") else ""
        floor = f"; noise floor {number(row['floor'], row.get('n'))}" if row.get("floor") is not None else ""
        lines.append(f"{head}{_value(row)}{of}{floor}")
    _print_lines(title + which, lines, out)
    _print_undefined(rows, out)
    return True


def _female_ratio(found: Mapping[str, list[Row]], out: Console, which: str) -> bool:
    """A factor with two or three levels, the instruction for instance, stands side by side."""
    rows = found["female_ratio"]
    scope = _scope(rows)
    title = "Female ratio: labelled female, of those labelled female or male (perceived presentation)"
    levels = list(dict.fromkeys(str(r.get(scope[-1])) for r in rows)) if scope else []
    if not 2 <= len(levels) <= _MOST_LEVELS_BESIDE or len(scope) < 2:
        return _divergence(title + which, rows, out, strength=_from_one_half)
    beside: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        beside.setdefault(tuple(_labels(row, scope[:-1])), {})[str(row.get(scope[-1]))] = row
    percent = round(100 * (rows[0]["level"] or 0.95))
    columns = [*(c.replace("_", " ") for c in scope[:-1])]
    columns += [f"{terminal(level)} [{percent}%]" for level in levels]
    columns += [f"n {terminal(level)}" for level in levels]
    lines = [
        [
            *key,
            *(_value(cells[level]) if level in cells else "" for level in levels),
            *(thousands(cells[level].get("n") or 0) if level in cells else "" for level in levels),
        ]
        for key, cells in sorted(beside.items(), key=lambda pair: -max(map(_from_one_half, pair[1].values())))
    ]
    _print(title + which, columns, lines, out)
    return True


def _from_one_half(row: Row) -> float:
    return -math.inf if row["value"] is None else abs(row["value"] - 0.5)


def _agreement(found: Mapping[str, list[Row]], out: Console, which: str) -> bool:
    """Accuracy and κ of an annotator, one row an attribute."""
    rows = found["agreement"]
    scope = [*[c for c in _scope(rows) if c not in ("attribute", "definition")], "attribute", "definition"]
    lines = [[*_labels(row, scope), _value(row), _size(row, scope)] for row in rows]
    columns = [*(c.replace("_", " ") for c in scope[:-1]), "what", _value_head(rows), "n"]
    _print(f"Agreement of the annotator with the reference{which}", columns, lines, out)
    return True


def _refusals(found: Mapping[str, list[Row]], out: Console, which: str) -> bool:
    """Only where something was refused."""
    rows = [r for r in found["refusal_rate"] if r["value"]]
    if not rows:
        return False
    title = f"Refusals: refused requests, of all requests{which}"
    return _divergence(title, rows, out, among=found["refusal_rate"])


def _no_refusals(rows: Sequence[Row]) -> str:
    """Rates that are all 0, as one sentence."""
    asked = sum(r["n"] or 0 for r in rows)
    highest = max((r["high"] for r in rows if r.get("high") is not None), default=None)
    reach = "" if highest is None else f"; by condition the interval ends at {number(highest)} at most"
    return f"Refusals: 0 of {thousands(asked)} requests{reach}."


def _cut(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [
        [cell if len(cell) <= _LONGEST_CELL else f"{cell[: _LONGEST_CELL - 1]}…" for cell in row]
        for row in rows
    ]


_BLOCKS = {
    "refusal_rate": _refusals,
    "female_ratio": _female_ratio,
    "bds": _bds,
    "cds": _cds,
    "vac": _vac,
    "default_rank": _default_rank,
    "deterministic_share": _deterministic,
    "agreement": _agreement,
}


def _scope(rows: Sequence[Row]) -> list[str]:
    """Columns that tell the rows apart: factors, and attribute and category where they vary."""
    present = dict.fromkeys(c for r in rows for c in r if c not in _FIXED)
    if len(rows) == 1:
        return [c for c in present if c != "generator" and rows[0][c] is not None]
    present |= dict.fromkeys(("attribute", "category"))
    return [c for c in present if len({r.get(c) for r in rows}) > 1]


def _averaged(row: Row, scope: Sequence[str]) -> str | None:
    """The factor that a mean was taken over."""
    return next((c for c in scope if c == row.get("aggregate") and row.get(c) is None), None)


def _labels(row: Row, scope: Sequence[str]) -> list[str]:
    mean = _averaged(row, scope)
    return [f"mean of {row['n']}" if c == mean else _label(row.get(c), c) for c in scope]


def _label(value: Any, column: str) -> str:
    if value is None:
        return "–"
    text = terminal(str(value))
    text = text.replace("_", " ") if column in ("attribute", "definition") else text
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…"


def _size(row: Row, scope: Sequence[str]) -> str:
    return "" if row.get("n") is None or _averaged(row, scope) else thousands(row["n"])


def _value(row: Row) -> str:
    if row["value"] is None:
        return _undefined(row)
    return interval(row["value"], row.get("low"), row.get("high"), row.get("n"))


def _rank(row: Row) -> str:
    ends = (row["value"], row.get("low"), row.get("high"))
    places = 0 if all(x is None or float(x).is_integer() for x in ends) else 1
    return interval(*ends, places=places)


def _undefined(row: Row) -> str:
    return f"not defined: {terminal(str(row.get('undefined') or 'no reason given'))}"


def _value_head(rows: Sequence[Row]) -> str:
    level = next((r["level"] for r in rows if r["level"] is not None), 0.95)
    return f"value [{round(100 * level)}% interval]"


def _inside(title: str) -> str:
    """A title inside a sentence: ``Share`` → ``share``; ``VAC`` stays."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def _print(title: str, columns: list[str], lines: list[list[str]], out: Console) -> None:
    out.print()
    shown = _first(lines)
    print_fitted(title, columns, shown, out)
    _print_rest(len(lines) - len(shown), out)
