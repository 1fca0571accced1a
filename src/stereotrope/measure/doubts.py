"""What a run itself says against a finding: few pictures, copies, an instrument that failed its check."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import polars as pl

from stereotrope.measure.cells import SMALL_N
from stereotrope.measure.evidence import FindingEvidence
from stereotrope.measure.finder import Candidate

LOW_ACCURACY = 0.90
"""Agreement with a reference below which the annotator itself is a finding: our choice, not a standard."""


def disagreeing(estimates: pl.DataFrame) -> pl.DataFrame:
    """The rows of accuracies that are too low."""
    if not {"definition", "attribute"} <= set(estimates.columns):
        return estimates.clear()
    return estimates.filter(
        pl.col("measure") == "agreement", pl.col("definition") == "accuracy", pl.col("value") < LOW_ACCURACY
    )


class Doubts:
    """Reasons why a pattern must not lead, though a test supports it.

    Parameters
    ----------
    estimates
        Agreement of annotators with a reference, among others.
    failed
        Annotator and attribute of each check that an annotator failed elsewhere; attribute None for all.
    images
        The table ``images``, for copies; None leaves these out.
    marks
        Readings of text that are marks, ``generator, annotator`` and more. Annotators that do not know a
        model's mark may count it as text.
    """

    def __init__(
        self,
        estimates: pl.DataFrame,
        failed: Collection[tuple[str, str | None]],
        images: pl.DataFrame | None,
        marks: pl.DataFrame,
    ) -> None:
        low = disagreeing(estimates)
        names = low["annotator"] if "annotator" in low.columns else [None] * low.height
        self._failed = {*failed, *zip(names, low["attribute"], strict=True)}
        self._marking: dict[str, set[str]] = {}
        for generator, reader in marks.select("generator", "annotator").iter_rows():
            self._marking.setdefault(generator, set()).add(reader)
        self._bytes: dict[str, str] = {}
        if images is not None:
            known = images.filter(pl.col("sha256").is_not_null())
            self._bytes = dict(known.select("image_id", "sha256").iter_rows())

    def cast(self, candidates: Sequence[Candidate], pictures: FindingEvidence) -> list[Candidate]:
        """The candidates, each with what the run itself says against it."""
        cast = []
        for c in candidates:
            sides: list[list[str]] = []
            if c.attribute is not None and c.wording is not None:
                both = pictures.sides(c.attribute, c.scope, c.wording)
                sides = [[i for listed in side.values() for i in listed] for side in both if side]
            cast.append(replace(c, doubt=self._of(c.scope, c.attribute, sides)))
        return cast

    def _of(
        self, scope: Mapping[str, str], attribute: str | None, sides: Sequence[Collection[str]]
    ) -> str | None:
        name = scope.get("annotator")
        if attribute is not None and self._failed & {(name, attribute), (None, attribute), (name, None)}:
            return "the annotator failed a check of it"
        readers = self._marking.get(scope.get("generator", ""), {name})
        if name is not None and name not in readers and "text" in (attribute or "").split("_"):
            return "the model puts a mark on its pictures, which may be what is read"
        for pictures in sides:
            distinct = len({self._bytes.get(image, image) for image in pictures})
            if distinct < SMALL_N:
                what = "distinct pictures" if distinct < len(pictures) else "pictures"
                return f"it rests on {distinct} {what}"
        return None
