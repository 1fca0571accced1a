"""What a run itself says against a finding: few pictures, copies, an instrument that failed its check."""

from collections.abc import Sequence
from dataclasses import replace

from stereotrope.measure.cells import SMALL_N
from stereotrope.measure.finder import Candidate, RunEvidence
from stereotrope.measure.instrument_warnings import disagreeing, marks_read


def with_doubts(candidates: Sequence[Candidate], evidence: RunEvidence) -> list[Candidate]:
    """Candidates with the reason, if any, why each must not lead, though a test supports it."""
    low = disagreeing(evidence.estimates)
    names = low["annotator"] if "annotator" in low.columns else [None] * low.height
    failed = {*evidence.failed, *zip(names, low["attribute"], strict=True)}
    marks = set(marks_read(evidence).select("generator", "annotator").iter_rows())
    marking = {generator for generator, _ in marks}
    known = evidence.images.drop_nulls("sha256")
    copies = dict(known.select("image_id", "sha256").iter_rows())

    def doubt(c: Candidate) -> str | None:
        model, name = c.scope.get("generator", ""), c.scope.get("annotator")
        if c.attribute is not None and failed & {(name, c.attribute), (None, c.attribute), (name, None)}:
            return "the annotator failed a check of it"
        # Annotators that do not know a model's mark may count it as text.
        unaware = name is not None and model in marking and (model, name) not in marks
        if unaware and "text" in (c.attribute or "").split("_"):
            return "the model puts a mark on its pictures, which may be what is read"
        if c.attribute is None or c.wording is None:
            return None
        for side in filter(None, evidence.pictures.sides(c.attribute, c.scope, c.wording)):
            pictures = [image for listed in side.values() for image in listed]
            distinct = len({copies.get(image, image) for image in pictures})
            if distinct < SMALL_N:
                what = "distinct pictures" if distinct < len(pictures) else "pictures"
                return f"it rests on {distinct} {what}"
        return None

    return [replace(candidate, doubt=doubt(candidate)) for candidate in candidates]
