"""Text that a model puts at one place of its pictures, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stereotrope.measure.sentences import clean, quoted
from stereotrope.measure.tidy import to_polars

__all__ = ["mark_warnings"]

_MOST_READ = 3
"""Readings of one mark that are quoted, where OCR reads it differently each time."""

Warned = tuple[dict[str, str], str, list[str], str]
"""Scope, sentence, images, and the mark."""


def mark_warnings(marks: Any | None) -> Iterator[Warned]:
    """One warning a model and mark.

    Parameters
    ----------
    marks
        ``generator, annotator, image_id, mark, words, place, of``, one row a reading; None for none.
    """
    if marks is None:
        return
    keys = ["generator", "annotator", "mark", "place", "of"]
    for key, part in to_polars(marks, what="marks").group_by(keys, maintain_order=True):
        generator, annotator, mark, place, of = key
        shown = part["image_id"].unique(maintain_order=True).to_list()
        read = part["words"].value_counts(sort=True)
        alike = int(read["count"][0]) * 2 >= part.height
        what = f"the same mark {quoted(str(mark))}" if alike else "a mark"
        where = f"at one place ({clean(str(place))})"
        words = read.sort("count", "words", descending=[True, False])["words"].head(_MOST_READ)
        told = "" if alike else f", read as {', '.join(map(quoted, words))} and otherwise"
        sentence = (
            f"{clean(str(generator))}: the text read in {len(shown)} of {of} pictures is {what} {where}"
            f"{told}; it is not counted as text of the pictures."
        )
        yield {"generator": str(generator), "annotator": str(annotator)}, sentence, shown, str(mark)
