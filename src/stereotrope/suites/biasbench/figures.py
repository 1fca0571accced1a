"""The figures the paper prints, with the number of digits it prints them to."""

import csv
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from stereotrope.suites.biasbench.captions_file import FILLERS
from stereotrope.suites.biasbench.prompts import data_of
from stereotrope.suites.published import bare_name


@dataclass(frozen=True)
class PrintedFigure:
    """One figure: where it stands, what it is of, and the value as printed."""

    place: str
    model: str
    prompt: str
    measure: str
    level: str
    text: str
    source: str

    @property
    def value(self) -> float:
        """The figure as a number."""
        return float(self.text)

    @property
    def places(self) -> int:
        """Digits printed after the point."""
        return len(self.text.partition(".")[2])

    def covers(self, value: float) -> bool:
        """Whether the value, rounded to the digits printed, is this figure (either way at a tie)."""
        return abs(value - self.value) <= float(f"5e-{self.places + 1}") + 1e-9


@cache
def figures() -> tuple[PrintedFigure, ...]:
    """Return every figure of the paper's tables and text that is carried, in the order they stand."""
    shared, folder = data_of("published/figures.yaml"), Path(__file__).parent / "published"
    found = []
    for table in shared["tables"]:
        for row in csv.DictReader((folder / table["file"]).read_text("utf-8").splitlines()):
            place = row.pop("place", "") or table["place"]
            source = shared["source"].format(place=place)
            found.append(PrintedFigure(place=place, text=row.pop("value"), source=source, **row))
    return tuple(found)


def printed(model: str, prompt: str, measure: str, level: str = "") -> list[PrintedFigure]:
    """Figures of one cell; the paper repeats some, and not always to the same digits."""
    cell = (model, prompt, measure, level)
    return [f for f in figures() if (f.model, f.prompt, f.measure, f.level) == cell]


def published_name(model: str) -> str | None:
    """Return the paper's name of a model, None where the paper has no such model.

    Case, spaces and signs do not count, nor what stands before a last slash, nor words that say nothing of a
    model (``koala_all``, ``captions of Koala``); nicknames do only where they are listed with the figures.
    """
    words = re.split(r"[\W_]+", model.rsplit("/", 1)[-1].removesuffix(".csv"))
    telling = " ".join(word for word in words if word.lower() not in FILLERS)
    for bare in filter(None, (bare_name(model), bare_name(telling))):
        for name, others in data_of("published/figures.yaml")["names"].items():
            if bare in {bare_name(name), *map(bare_name, others)}:
                return str(name)
    return None
