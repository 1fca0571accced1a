"""What estimates of one figure have in common: a definition, and a lexicon where a run has several."""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from stereotrope.report.contract import Block
from stereotrope.report.material import Material, words
from stereotrope.report.panels import Figure, safe_name
from stereotrope.report.series import series_in

_LONGEST_MARK = 40


@dataclass(frozen=True)
class Basis:
    """Estimates that may stand in one figure.

    definition: The definition that they follow.
    lexicon: The lexicon that read the captions, where the run has several; else None.
    frame: The estimates.
    told: What tells them from the others, in words; empty where nothing has to.
    marks: The same, as parts of the name of a figure.
    """

    definition: str | None
    lexicon: str | None
    frame: pl.DataFrame
    told: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()

    @property
    def named(self) -> str:
        """The end of a title: `` (definition paper, by lexicon second)``."""
        return f" ({', '.join(self.told)})" if self.told else ""

    def called(self, name: str) -> str:
        """The name of a figure."""
        return "-".join([name, *self.marks])


def bases_of(material: Material, frame: pl.DataFrame) -> list[Basis]:
    """The estimates apart by definition and by lexicon, in the order of the frame and of the run.

    Estimates by no lexicon, and those of a run that has one alone, are apart by definition only; an
    ``annotator`` that is none is an encoder and tells nothing apart here.
    """
    definitions = frame["definition"].unique(maintain_order=True).to_list()
    found = []
    for definition in definitions:
        same = frame.filter(pl.col("definition").eq_missing(definition))
        several = len(definitions) > 1 and bool(definition)
        told = (f"definition {words(str(definition))}",) * several
        marks = (str(definition),) * several
        for lexicon, rows in _by_lexicon(material, same):
            whose = (f"by lexicon {lexicon}",) if lexicon else ()
            own = (_mark(material, lexicon),) if lexicon else ()
            found.append(Basis(definition, lexicon, rows, (*told, *whose), (*marks, *own)))
    return found


def block_by_basis(
    material: Material, frame: pl.DataFrame, figure: Callable[[Material, Basis], Figure]
) -> Block | None:
    """A figure of each basis, in place of the figures that its measures would have; None of no estimate."""
    if not frame.height:
        return None
    figures = [figure(material, basis) for basis in bases_of(material, frame)]
    return Block(figures=figures, replaces=frozenset(series.name for series in series_in(frame)))


def _mark(material: Material, lexicon: str) -> str:
    """The name of a lexicon where it can be one of a file, else its place in the run."""
    safe = safe_name(lexicon) == lexicon and len(lexicon) <= _LONGEST_MARK
    return lexicon if safe else f"lexicon_{material.lexicons.index(lexicon) + 1}"


def _by_lexicon(material: Material, frame: pl.DataFrame) -> list[tuple[str | None, pl.DataFrame]]:
    if "annotator" not in frame.columns:
        return [(None, frame)]
    there = set(frame["annotator"].to_list())
    parts: list[tuple[str | None, pl.DataFrame]] = [
        (name, frame.filter(pl.col("annotator") == name)) for name in material.lexicons if name in there
    ]
    rest = frame.filter(~pl.col("annotator").is_in(material.lexicons).fill_null(False))
    return [*parts, (None, rest)] if rest.height or not parts else parts
