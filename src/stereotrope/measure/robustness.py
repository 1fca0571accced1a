"""Whether a difference depends on a choice: by each annotator, as written, without some pictures."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import polars as pl

from stereotrope.measure.evidence import Pictures, difference_of
from stereotrope.measure.finder import Candidate, RunEvidence
from stereotrope.measure.selection import at_level
from stereotrope.measure.sentences import decimals_of, quoted
from stereotrope.tables import CONSTRAINTS

_AS_TOLD = "as told"
_BY_ANNOTATOR = "annotator"
_AS_WRITTEN = "as written"
_NOT_VIOLATING = "without violations"

_BY_CHOICE = {_AS_TOLD, _BY_ANNOTATOR, _AS_WRITTEN, _NOT_VIOLATING}
_FEWEST = 10
"""Pictures a side of a level of which a difference may be said to be another."""
_ERROR = 0.05

_FIXED = {"generator", "object", "dimension", "annotator"}
"""Factors that say what a difference is about, and not how it was asked."""

_Sides = tuple[Mapping[str, Pictures], Mapping[str, Pictures]]


def unlike_levels(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, str]:
    r"""Words on findings whose difference is another in one level of a factor than in another, by finding.

    Of the levels with the least and the greatest difference :math:`d`, with ends :math:`l` and :math:`u` of
    their intervals: :math:`d_1 - d_0 > \sqrt{(d_1 - l_1)^2 + (u_0 - d_0)^2}`, at an error of 0.05 over all
    pairs of levels, factors and findings. Of made-up differences that are the same in all levels (2, 3 and 5
    of 10 to 50 pictures a side, not 0) at most 0.05 were said to be others at an error of 0.05, and 0.001 at
    one of 0.001; where both sides show one half up to 0.08, and 0.007.

    rows: Finding → its rows of :data:`stereotrope.tables.ROBUSTNESS`, of factors over which it is pooled.
    Source: Zou and Donner (2008), Statistics in Medicine 27, section 2 (the interval of the gap).
    """
    asked: list[tuple[str, str, list[Mapping[str, Any]]]] = []
    for finding, some in rows.items():
        for factor in dict.fromkeys(row["way"] for row in some if row["way"] not in _BY_CHOICE):
            levels = [
                row for row in some if row["way"] == factor and min(row["n"], row["n_reference"]) >= _FEWEST
            ]
            if len(levels) > 1:
                asked.append((finding, factor, levels))
    pairs = sum(math.comb(len(levels), 2) for *_, levels in asked)
    told: dict[str, list[str]] = {}
    for finding, factor, levels in asked:
        least, most = (of(levels, key=lambda row: row["value"]) for of in (min, max))
        ends = [
            at_level((row["value"], row["low"], row["high"]), row["level"], 1 - _ERROR / pairs, least=-1.0)
            for row in (least, most)
        ]
        (low, _, above), (high, below, _) = ends
        if above is not None and below is not None and high - low > math.hypot(above - low, high - below):
            words = (f"{decimals_of(row['value'])} ({quoted(row['level_of'])})" for row in (least, most))
            told.setdefault(finding, []).append(f"by {quoted(factor)} it is from {' to '.join(words)}")
    return {finding: "; ".join(words) for finding, words in told.items()}


class Robustness:
    """The same comparison in other ways, for what is told of the value of an attribute.

    Each way is a difference of shares with a plain interval, neither widened for having been selected nor
    tested: it says whether the finding depends on a choice.

    - ``as told``: the labels that the finding counts.
    - ``annotator``: the labels of each annotator of the attribute, where there are several; not of those who
      write no value as the one that is told does.
    - ``as written``: words before they were folded, of the one that was written most.
    - ``without violations``: without pictures that break their prompt, where an annotator says which.
    - a factor such as ``phrasing``: each of its levels alone.
    """

    def __init__(self, evidence: RunEvidence) -> None:
        self.evidence = evidence

    def rows(self, finding: str, c: Candidate) -> list[dict[str, Any]]:
        """Rows of :data:`stereotrope.tables.ROBUSTNESS`; none where only one way is open, or none."""
        value = c.category
        if c.sentence or c.wording is None or c.attribute is None or value is None:
            return []
        told = self._row(_AS_TOLD, None, self._sides(c, c.scope), value)
        others = [
            row
            for way, level, sides, name in self._ways(c, value)
            if (row := self._row(way, level, sides, name))
        ]
        return [{"finding_id": finding, **row} for row in (told, *others) if row] if told and others else []

    def _ways(self, c: Candidate, value: str) -> Iterator[tuple[str, str | None, _Sides, str]]:
        attribute = str(c.attribute)
        readers = self.evidence.readers.get(attribute, [])
        reader = c.scope.get("annotator") or (readers[0] if len(readers) == 1 else None)
        several = readers if len(readers) > 1 else ()
        alike = [name for name in several if self.evidence.write_alike(attribute, reader or name, name)]
        for name in alike if len(alike) > 1 else ():
            yield _BY_ANNOTATOR, name, self._sides(c, {**c.scope, "annotator": name}), value
        sides = self._sides(c, c.scope)
        if written := self._written(attribute, reader, sides):
            as_written = tuple(
                _renamed(side, lambda image, value: written.get(image, value)) for side in sides
            )
            forms = Counter(written.get(image, value) for side in sides for image in side.get(value, ()))
            form = min(forms, key=lambda one: (-forms[one], one), default=value)
            if set(forms) - {value}:
                yield _AS_WRITTEN, form, (as_written[0], as_written[1]), form
        if any(image in self._broken for side in sides for images in side.values() for image in images):
            broken = self._broken
            kept = tuple(
                _renamed(side, lambda image, value: None if image in broken else value) for side in sides
            )
            yield _NOT_VIOLATING, None, (kept[0], kept[1]), value
        pictures = self.evidence.pictures
        for factor in pictures.varying:
            if factor in _FIXED or c.wording is None or factor == c.wording.contrast:
                continue
            rest = {name: level for name, level in c.scope.items() if name != factor}
            place = pictures.factors.index(factor)
            levels = dict.fromkeys(one[place] for one in pictures.conditions(attribute, rest))
            for level in levels if len(levels) > 1 else ():
                if level is not None:
                    yield factor, level, self._sides(c, {**rest, factor: level}), value

    def _sides(self, c: Candidate, scope: Mapping[str, str]) -> _Sides:
        if c.wording is None or c.attribute is None:
            return {}, {}
        return self.evidence.pictures.sides(c.attribute, scope, c.wording)

    def _row(self, way: str, level: str | None, sides: _Sides, value: str) -> dict[str, Any] | None:
        one, other = (self.evidence.pictures.cell_of(side) for side in sides)
        if not one.n or not other.n:
            return None
        difference, low, high = difference_of(one, other, value, level=self.evidence.level)
        return {
            "way": way,
            "level_of": level,
            "numerator": one.count(value),
            "n": one.n,
            "numerator_reference": other.count(value),
            "n_reference": other.n,
            "value": difference,
            "low": low,
            "high": high,
            "level": self.evidence.level,
        }

    @cached_property
    def _broken(self) -> frozenset[str]:
        """Pictures that break their prompt, by any annotator that says so."""
        said = self.evidence.read.filter(pl.col("attribute").is_in(list(CONSTRAINTS)), value="yes")
        return frozenset(said["subject_id"])

    @cached_property
    def _folded(self) -> dict[tuple[Any, ...], pl.DataFrame]:
        """Attribute and annotator → pictures whose word was folded, and the word that was written."""
        folded = self.evidence.read.filter(subject_kind="image").drop_nulls("written")
        told = folded.select("attribute", "annotator", "subject_id", "written")
        return told.partition_by("attribute", "annotator", include_key=False, as_dict=True)

    def _written(self, attribute: str, annotator: str | None, sides: _Sides) -> dict[str, str]:
        """Picture → the word that was written, of those of both sides whose word was folded."""
        folded = self._folded.get((attribute, annotator))
        if folded is None:
            return {}
        shown = [image for side in sides for images in side.values() for image in images]
        return dict(folded.filter(pl.col("subject_id").is_in(shown)).iter_rows())


def _renamed(side: Mapping[str, Pictures], name: Callable[[str, str], str | None]) -> dict[str, Pictures]:
    """Pictures of a side by what ``name`` makes of their id and value; without those it gives none."""
    found: dict[str, Pictures] = {}
    for value, images in side.items():
        for image, prompt in zip(images, images.prompts, strict=True):
            if (named := name(image, value)) is not None:
                found.setdefault(named, Pictures()).add(image, prompt)
    return found
