"""Words of the report: how a measure is explained, what perceived means."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any

from stereotrope.escape import visible
from stereotrope.report.numbers import count
from stereotrope.report.series import Series
from stereotrope.tables import ALL_ATTRIBUTES

ALL_ZERO = "Every value is 0, so nothing is drawn; the table has the intervals."
OTHER = "other"
"""Section of measures whose words name none."""

PERCEIVED = (
    "Where labels speak of people (gender, age, skin tone, ethnicity …), they are perceived presentation "
    "as labelled by an annotator, never identity. The pictures show no one: there is no person behind them "
    "who has a gender or an origin. The categories are those of the label set, they are coarse, and another "
    "label set would give other numbers."
)


@dataclass(frozen=True)
class MeasureProse:
    """Title, definition and reading of a measure; ``beneath`` names the one below which it is shown.

    ``scale`` is ``rank``, ``signed`` where the sign is a direction, or nothing; ``sense`` is what high means
    where the name says otherwise, ``undrawn`` why no chart would show more than that of another measure.
    ``left_out`` is what ``n_excluded`` counts, in the singular, and ``left_out_of_all`` what it counts in
    rows over all attributes where that is something else. ``axis`` is which of the three that a mitigation is
    judged by it measures, ``axis_scale`` ``reversed`` where higher is less of it. ``screen`` says how a
    terminal shows it among the main scores, if it does.
    """

    name: str
    section: str = OTHER
    title: str = ""
    short: str = ""
    abbreviation: str = ""
    unit: str = ""
    scale: str = ""
    sense: str = ""
    undrawn: str = ""
    definition: str = ""
    reads: str = ""
    source: str = ""
    beneath: str = ""
    repeats: str = ""
    left_out: str = "picture"
    left_out_of_all: str = ""
    axis: str = ""
    axis_scale: str = ""
    screen: Mapping[str, str] = field(default_factory=dict)

    @property
    def heading(self) -> str:
        """The short name, with a capital."""
        return f"{self.short[:1].upper()}{self.short[1:]}"

    def counts_left_out(self, attribute: str | None) -> str:
        """What ``n_excluded`` of a row counts, in the singular; empty where it is not known."""
        return (self.left_out_of_all if attribute == ALL_ATTRIBUTES else "") or self.left_out


_FIELDS = {one.name for one in fields(MeasureProse)} - {"name"}


class Prose:
    """The words that a run stores for its measures.

    stored: ``words`` of ``run.json``: by name of the rows, in the order in which they are read.
    """

    def __init__(self, stored: Mapping[str, Any]) -> None:
        self._explained = cache(self._explain)
        self._stored = {str(name): told for name, told in stored.items() if isinstance(told, Mapping)}

    def explain(self, series: Series | str, definition: str | None = None) -> MeasureProse:
        """Words for a series, a name standing for a measure's own scores; without any it goes by its name.

        ``definition`` chooses the words of one definition where these differ.
        """
        return self._explained(Series(series) if isinstance(series, str) else series, definition)

    def _explain(self, series: Series, definition: str | None) -> MeasureProse:
        known = self._stored.get(series.measure)
        if known is None:
            name = series.name.replace("_", " ")
            return MeasureProse(series.name, title=name[:1].upper() + name[1:], short=name, left_out="")
        definitions = known.get("definitions")
        differs = definitions.get(definition) if isinstance(definitions, Mapping) else None
        told = {"abbreviation": known.get("short", ""), **known}
        told |= differs if isinstance(differs, Mapping) else {}
        texts: dict[str, Any] = {k: visible(str(v)) for k, v in told.items() if k in _FIELDS - {"screen"}}
        screen = told.get("screen")
        if isinstance(screen, Mapping):
            texts["screen"] = {str(k): visible(str(v)) for k, v in screen.items()}
        prose = MeasureProse(series.name, **texts)
        prose = prose if series.subset is None else _of_subset(prose, series.subset)
        prose = _averaged(prose) if series.mean else prose
        return _compared(prose) if series.difference else prose

    def in_order(self, present: Iterable[Series], places: Mapping[str, int]) -> list[Series]:
        """Series by place of the section and order of the words, each before what derives from it."""
        order, last = {name: at for at, name in enumerate(self._stored)}, max(places.values(), default=0)

        def place(series: Series) -> tuple[int, int, str, int, str]:
            section = places.get(self.explain(series.measure).section, last)
            return section, order.get(series.measure, len(order)), series.measure, series.steps, series.name

        return sorted(present, key=place)


def _averaged(of: MeasureProse) -> MeasureProse:
    return replace(
        of,
        title=f"{of.title}, on average",
        short=f"{of.short}, average",
        definition=f"Mean of {of.short}, every level counting the same; the tables say of how many.",
        reads="The interval says how the mean would vary with other such levels, not with other pictures.",
        left_out="score",
        left_out_of_all="",
    )


def _of_subset(of: MeasureProse, subset: str) -> MeasureProse:
    named = subset.replace("_", " ")
    kept, definition = f", {named}", of.definition
    if subset == "without_violations":
        kept = ", without pictures that break the prompt"
        definition += (
            " Computed a second time without the pictures that an annotator says break their prompt (people, "
            "or several products); these are counted as left out."
        )
    return replace(of, title=f"{of.title}{kept}", short=f"{of.short}, {named}", definition=definition.strip())


def _compared(of: MeasureProse) -> MeasureProse:
    return replace(
        of,
        title=f"{of.title}, less that of the baseline model",
        short=f"{of.short}, difference from the baseline model",
        unit="difference of two scores",
        scale="signed",
        definition=(
            f"{of.short} of a model less that of the baseline model, for the same prompt and group. The "
            "interval joins those of the two scores by square-and-add."
        ),
        reads=(
            "Above 0 the score is higher than the baseline model's, which is a model like the others and no "
            "standard. Scores that depend on the number of captions do not compare where that differs; the "
            "warnings say where."
        ),
    )


def listing(items: list[str], *, most: int = 8) -> str:
    """``a, b and c``; a long list is cut and counted."""
    cut = [] if len(items) <= most else [count(len(items) - most + 1, "more", "more")]
    shown = [*items[: most - len(cut)], *cut]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)
