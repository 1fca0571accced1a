"""Which pictures the ratios count, and why others do not."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from stereotrope.report.charts.drawing import PALETTE
from stereotrope.report.charts.stacks import stacks
from stereotrope.report.datatable import pairs_of, table_by
from stereotrope.report.material import words
from stereotrope.report.numbers import count, number, thousands
from stereotrope.report.panels import Panel, panel_words
from stereotrope.report.sections.scenarios.ratios import Ratios, ScenarioLine, reasons, scenario_figure

_COUNTED, _OTHER = "counted", "other reasons"
_MOST_REASONS = len(PALETTE) - 1


@dataclass(frozen=True)
class _Kept:
    """Pictures of one line and group by what became of them, and scenarios that are not drawn."""

    line: str
    group: str
    pictures: Mapping[str, int]
    scenarios: int
    left_out: Mapping[str, int]

    @property
    def total(self) -> int:
        """All pictures."""
        return sum(self.pictures.values())


def kept_line(ratios: Ratios) -> ScenarioLine | None:
    """Counted pictures and those left out by reason, a bar a line; none where all count."""
    every = _every(ratios)
    whole = Counter[str]()
    for one in every:
        whole.update(one.pictures)
    named = [why for why, n in whole.most_common() if why != _COUNTED and n]
    if not named:
        return None
    told = named if len(named) <= _MOST_REASONS else named[: _MOST_REASONS - 1]
    colours = dict(zip(told, PALETTE, strict=False))
    colours = {_COUNTED: "var(--group-other)", **colours}
    if len(told) < len(named):
        colours[_OTHER] = PALETTE[len(told)]
    panels = []
    for group in ratios.group_names:
        mine = [one for one in every if one.group == group and one.total]
        pieces = [piece for one in mine for piece in _pieces(one, colours)]
        if pieces:
            spec = stacks(pieces, lines=[one.line for one in mine], series=[""], colours=colours)
            drawn = [piece for piece in pieces if "group" in piece]
            panels.append(Panel(group, spec, panel_words("Pictures", group, drawn), len(mine)))
    columns: dict[str, Any] = {ratios.line_head: lambda one: one.line}
    if any(ratios.group_names):
        columns["group"] = lambda one: one.group
    columns |= {"pictures": lambda one: one.total, _COUNTED: lambda one: one.pictures.get(_COUNTED, 0)}
    columns |= {words(why): lambda one, why=why: one.pictures.get(why, 0) for why in named}
    columns |= {"scenarios": lambda one: one.scenarios, "not drawn": lambda one: reasons(one.left_out)}
    title = f"Which pictures count, and why others do not{ratios.named}"
    reads = (
        "Pictures of all scenarios, by what became of them. Which ones drop out is not random: pictures "
        "without people do, and of several, small or hidden ones, and with them prompts that ask for such; "
        "nobody knows what a ratio with them would be."
    )
    more: dict[str, Any] = {
        "title": title,
        "reads": reads,
        "notes": [],
        "table": table_by(title, every, columns),
    }
    name = f"scenarios-kept{ratios.named}"
    figure = scenario_figure(ratios, ratios.rows, ratios.measure, panels, name=name, **more)
    plain = replace(figure.prose, unit="share of pictures", definition="")
    figure = replace(figure, prose=plain, n=f"{count(sum(one.total for one in every), 'picture')}")
    return ScenarioLine("Which pictures count", [figure], ratios.rows.clear())


def _every(ratios: Ratios) -> list[_Kept]:
    found: dict[tuple[str, str], Counter[str]] = {}
    scenarios = Counter[tuple[str, str]]()
    columns = [c for c in ("generator", *ratios.groups, *ratios.crossing) if c in ratios.rows.columns]
    for part in ratios.material.parts(ratios.rows, columns).values():
        row = part.row(0, named=True)
        place = ratios.line_of(row), ratios.group_of(row)
        scenarios[place] = part.height
        of = found.setdefault(place, Counter())
        of[_COUNTED] = int(part["n"].fill_null(0).sum())
        for told in map(pairs_of, part["excluded"].drop_nulls()):
            of.update({words(str(why)): n for why, n in (told or {}).items() if isinstance(n, int)})
    places = [(cell.line, cell.group) for cell in ratios.cells]
    left = {(cell.line, cell.group): cell.left_out for cell in ratios.cells}
    return [_Kept(*place, found[place], scenarios[place], left[place]) for place in places]


def _pieces(one: _Kept, colours: Mapping[str, str]) -> list[dict[str, Any]]:
    """The pieces of a bar, and how many pictures there are behind it."""
    of = {why: one.pictures.get(why, 0) for why in colours if why != _OTHER}
    if _OTHER in colours:
        of[_OTHER] = one.total - sum(of.values())
    pieces: list[dict[str, Any]] = []
    start = 0.0
    for why, n in of.items():
        end = start + n / one.total
        if n:
            share = n / one.total
            tip = f"{one.line}: {thousands(n)} of {thousands(one.total)} {why} ({number(share, places=2)})"
            text = number(share, places=2)
            pieces.append(
                {
                    "line": one.line,
                    "series": "",
                    "group": why,
                    "start": start,
                    "end": min(end, 1.0),
                    "text": text,
                }
                | {"tip": tip}
            )
        start = end
    said = f"{thousands(one.total)} pictures"
    return [
        *pieces,
        {"line": one.line, "series": "", "said": said, "short": thousands(one.total), "tip": said},
    ]
