"""What a section of the report is: blocks of a page, lines for the first screen, tables for the files.

A section is registered beside its code and reads what the run stores::

    from stereotrope.report.contract import Block, add_section

    def blocks(material, shown):
        return [Block("text", ["12 labels were changed by hand."])]

    add_section("hands", "Labels changed by hand", place=65, make=blocks)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import polars as pl

from stereotrope.errors import did_you_mean
from stereotrope.plugins import OURS, Registry, version_of
from stereotrope.report.datatable import Table
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material
from stereotrope.report.panels import Figure
from stereotrope.report.series import Series, series_in

KINDS = (
    "averages", "card", "cases", "distribution", "figures", "findings", "gallery", "lexicon", "lines",
    "methods", "missing", "note", "pictures", "profile", "regions", "sheets", "table", "text",
)  # fmt: skip
"""Forms that a block can have: those of ``templates/blocks.html.j2``."""
SCORES = 40
"""Place of the first section of scores: what stands before it is told first in the terminal, too."""


@dataclass(frozen=True)
class Block:
    """What stands in one place of a section.

    kind: Its form. For any section: ``text`` and ``note`` (``content``: paragraphs), ``table`` (a
        :class:`~stereotrope.report.datatable.Table`), ``pictures`` (what
        :meth:`~stereotrope.report.exhibits.Exhibits.groups` gives), ``figures``, ``lines``
        (:class:`~stereotrope.report.arrangement.Disclosure`, whose figures stand in ``figures`` too). Others
        serve sections of ours. Every text is escaped where it is shown.
    content: What its form shows.
    figures: Charts of it: drawn in the page and written as files.
    drawings: Vega-Lite charts by name that are written as files only: the page shows the same in another
        form; their colours are variables of the style sheet (``var(--ink)``).
    replaces: Measures whose own figures are not drawn, because it shows their rows.
    heading: Title and lead of the section in place of its own.
    """

    kind: str = "figures"
    content: Any = None
    figures: Sequence[Figure] = ()
    drawings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    replaces: frozenset[str] = frozenset()
    heading: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            hint = did_you_mean(self.kind, KINDS, otherwise=f"there are {', '.join(KINDS)}")
            raise ValueError(f"no kind of block {self.kind!r}; {hint}")
        _require(self.kind, self.content)
        _require("draws", self.figures)


@dataclass(frozen=True)
class Section:
    """One section of the page, shown where it has a block or the figure of a measure.

    id: Its anchor, and what the words of a measure name it by.
    title, lead: What stands above it.
    place: Sections stand by their place: :data:`SCORES` and more for scores.
    make: Its blocks; the figures of its measures stand behind them.
    draws: Measures whose figures it draws itself.
    repeated: What is said in place of an open figure of a measure that the section shows in another form, as
        the measure's words say in ``repeats``.
    large, small: Pictures that it shows, which are drawn before others.
    headline: For the first screen: sentences, and tables ``{title, columns, rows, estimates, replaces}``
        whose ``replaces`` are the measures that they show whole, with ``notes``, sentences, where there are.
    tables: Tables for the files by name, with their captions.
    """

    id: str
    title: str
    lead: str = ""
    place: int = 100
    make: Callable[[Material, Exhibits], Sequence[Block]] = lambda material, shown: ()
    draws: Mapping[str, Callable[[Material], Sequence[Figure]]] = field(default_factory=dict)
    repeated: str = ""
    large: Callable[[Material], Sequence[str]] | None = None
    small: Callable[[Material], Sequence[str]] | None = None
    headline: Callable[[Material], tuple[Sequence[str], Sequence[Mapping[str, Any]]]] | None = None
    tables: Callable[[Material], Mapping[str, tuple[str, pl.DataFrame]]] | None = None


SECTIONS: Registry[Section] = Registry("sections", "stereotrope.report.sections", always=True)
"""Every section by its id."""
_SHAPES: Mapping[str, Any] = {
    **{name: [str] for name in ("text", "note", "large", "small")},
    **dict.fromkeys(("title", "lead", "repeated"), str),
    "place": int,
    "table": Table,
    "make": [Block],
    "draws": [Figure],
    "headline": ([str], [{str: object}]),
    "tables": {str: (str, pl.DataFrame)},
}
"""What a block holds or a function of a section gives: a type, some of one, a mapping, a tuple of these."""


def _require(name: str, made: Any, shape: Any = None) -> Any:
    """What is of its shape, as it is; ValueError for another."""
    shape = shape or _SHAPES.get(name, object)
    kind = shape if isinstance(shape, type) else Mapping if isinstance(shape, dict) else Sequence
    fits = isinstance(made, kind) and not (kind is Sequence and isinstance(made, str))
    if not fits or (isinstance(shape, tuple) and len(made) != len(shape)):
        raise ValueError(f"{name} must hold {kind.__name__}, found {made!r:.80}")
    if not isinstance(shape, type):
        parts, of = (made.items(), [*shape.items()]) if kind is Mapping else (made, shape)
        for part, wanted in zip(parts, of if isinstance(of, tuple) else repeat(of[0]), strict=False):
            _require(name, part, wanted)
    return made


def add_section(id: str, title: str, **facts: Any) -> None:
    """Register a section; ``facts`` are fields of :class:`Section`."""

    def held(name: str, fact: Callable[..., Any]) -> Callable[..., Any]:
        return SECTIONS.blamed(id)(lambda *given: _require(name, fact(*given)))

    draws = {name: held("draws", draw) for name, draw in facts.pop("draws", {}).items()}
    facts = {name: (held if callable(fact) else _require)(name, fact) for name, fact in facts.items()}
    SECTIONS.add(id, Section(id, _require("title", title), draws=draws, **facts))


def stored_sections(before: Mapping[str, Any]) -> dict[str, Any]:
    """What ``run.json`` says of other packages' sections; of those that are gone what it said ``before``."""
    told = {name: one for name, one in before.items() if name not in SECTIONS}
    for name, one in SECTIONS.items():
        if (package := SECTIONS.origin(name)) != OURS:
            of = f"{package} {version_of(package) or ''}".strip()
            told[name] = {"title": one.title, "place": one.place, "from": of}
    return told


def sections_in_order(info: Mapping[str, Any]) -> list[Section]:
    """Every section in the order of the page; for one of a run's that is gone a section that says so."""
    stored = (info.get("sections") or {}).items()
    gone = [_gone(name, **told) for name, told in stored if name not in SECTIONS]
    return sorted([*SECTIONS.values(), *gone], key=lambda section: (section.place, section.id))


def _gone(name: str, title: str, place: int, **told: str) -> Section:
    line = f"This section is made by the package {told['from']}, which is not installed here: it is left out."
    return Section(name, title, place=place, make=lambda material, shown: [Block("note", [line])])


def series_in_order(material: Material) -> list[Series]:
    """Every series of a run as its sections stand; those of sections before the scores come last."""
    sections = sections_in_order(material.info)
    sections.sort(key=lambda section: section.place < SCORES)
    places = {section.id: at for at, section in enumerate(sections)}
    return material.prose.in_order(series_in(material.estimates), places)
