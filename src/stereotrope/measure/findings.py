"""What is worth a look: the strongest patterns of a run, in sentences, with the pictures that show them."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import polars as pl

from stereotrope.errors import TableError
from stereotrope.measure.combined import by_all_annotators, by_all_readers, moved_most, strongest, with_doubts
from stereotrope.measure.finder import FINDERS, Candidate, Finder, RunEvidence
from stereotrope.measure.tidy import reason_given, to_polars
from stereotrope.tables import ESTIMATES, FINDINGS, IMAGES, LABELS, Column, plain_scores, polars_types

_MOST_NAMED = 6
"""Annotators that one sentence names."""


def findings(
    estimates: Any,
    labels: Any,
    *,
    images: Any | None = None,
    read: Any | None = None,
    frames: Mapping[str, Sequence[Any]] = MappingProxyType({}),
    said: Mapping[str, Any] = MappingProxyType({}),
    failed: Collection[tuple[str, str | None]] = (),
    limit: int = 50,
    alpha: float = 0.05,
) -> pl.DataFrame:
    """Rank what is worth a person's look, the largest effect first.

    The finders (:data:`stereotrope.measure.finder.FINDERS`) say what enters. Where several patterns are about
    one attribute of one condition, one finding is made; where several annotators label it, too, with the
    counts of each, and one that sees less than half of the shift is said to differ. The rank goes by effect,
    never by p, as a mean over the annotators, 0 for one without a finding. After all others comes, with the
    reason, what rests on fewer than ten distinct pictures, on an annotator that failed its check, or on text
    of a model that marks its pictures, read by an annotator that does not know marks. Warnings about
    instruments come last but are never cut off by ``limit``.

    estimates: Estimates of any measures, in one frame; their null factors do not scope.
    labels: Tidy labels (:func:`stereotrope.measure.tidy_labels`) that they were made from.
    images: The table ``images``, to report byte-for-byte copies; None leaves that out.
    read: The table ``labels``: all that annotators read, for what they say of themselves.
    frames: Frames that measures took, by what these need, such as ``captions``: they lead from a finding to
        its pictures.
    said: What further tables say of the run, as in ``run.json``.
    failed: Annotator and attribute of each check that an annotator failed elsewhere; attribute None for all.
    limit: Most findings returned.
    alpha: False discovery rate at which a comparison is shown.

    Returns: :data:`stereotrope.tables.FINDINGS`. Values are quoted as data; sentences speak of what
    annotators read in pictures, never of identity or intent.
    """
    needs = ("measure", "attribute", "value", "contrast")
    table = plain_scores(_table(estimates, ESTIMATES, what="estimates", needs=needs))
    tidy = to_polars(labels, needs=("image_id", "attribute", "value"))
    tidy = tidy.with_columns(excluded=reason_given(tidy))
    finders = sorted(FINDERS.values(), key=lambda f: (f.place, f.name))
    evidence = RunEvidence(
        table,
        tidy,
        images=_table(images, IMAGES, what="images"),
        read=_table(read, LABELS),
        frames={name: [to_polars(one, what=name) for one in some] for name, some in frames.items()},
        said=said,
        failed=failed,
        alpha=alpha,
        compares={measure for finder in finders for measure in finder.compares},
    )
    drawn = None if images is None else set(evidence.images["image_id"])
    found: list[Candidate] = []
    for finder in finders:
        with FINDERS.blamed(finder.name):
            for one in finder.function(evidence):
                _require_candidate(one, finder, drawn)
                found.append(one)
    order = {kind: at for at, kind in enumerate(dict.fromkeys(k for f in finders for k in f.kinds))}
    warnings = [c for c in found if c.warning][:limit]
    of_labels = strongest([c for c in found if c.wording is not None], evidence.pictures, order)
    ranked = sorted(
        [
            *by_all_annotators(with_doubts(of_labels, evidence), evidence, order),
            *by_all_readers([c for c in found if c.wording is None and not c.warning]),
        ],
        key=lambda c: (
            c.doubt is not None,
            -c.effect,
            order[c.kind],
            json.dumps(c.scope, sort_keys=True),
            c.attribute or "",
        ),
    )
    rows = [
        {"rank": rank, **_row(candidate, evidence)}
        for rank, candidate in enumerate([*ranked[: limit - len(warnings)], *warnings], start=1)
    ]
    return pl.DataFrame(rows, schema=polars_types(FINDINGS))


def _require_candidate(one: Any, finder: Finder, drawn: Collection[str] | None) -> None:
    """Refuse, by a ValueError, what a finder must not give; ``drawn`` are all images, where known."""
    if not isinstance(one, Candidate):
        raise ValueError(f"it must give candidates, found {type(one).__name__}")
    strange = set() if drawn is None else set(one.images) - set(drawn)
    wrong = {
        f"the kind {one.kind!r}, which is not among {finder.kinds}": one.kind not in finder.kinds,
        f"the sentence {one.sentence!r}": not isinstance(one.sentence, str)
        or not (one.sentence or (one.wording and one.attribute)),
        f"the effect {one.effect}, which is not in [−1, 1]": not -1 <= round(one.effect, 9) <= 1,
        f"the measure {one.measure!r}": not isinstance(one.measure, str),
        f"images that the run has not, such as {next(iter(strange), None)!r}": strange,
    }
    if told := [what for what, is_so in wrong.items() if is_so]:
        raise ValueError(f"a candidate has {told[0]}")


def _table(
    data: Any, columns: Sequence[Column], *, what: str = "labels", needs: Sequence[str] = ()
) -> pl.DataFrame:
    """The frame with each of these columns, null where it has none; without rows where there is no frame."""
    types = polars_types(columns)
    if data is None:
        return pl.DataFrame(schema=types)
    frame = to_polars(data, what=what, needs=needs)
    return frame.with_columns(pl.lit(None, types[c]).alias(c) for c in types if c not in frame.columns)


def _row(candidate: Candidate, evidence: RunEvidence) -> dict[str, Any]:
    """One row of the table."""
    c = candidate
    sentence, images = (c.sentence, list(c.images)) if c.sentence else _share(c, evidence)
    where = json.dumps(c.scope, ensure_ascii=False, sort_keys=True)
    shown, left = c.others[:_MOST_NAMED], c.others[_MOST_NAMED:]
    further = [f"{len(left)} more annotators"] if left else []
    identity = json.dumps([c.kind, where, c.attribute, c.measure, *c.parts], ensure_ascii=False)
    return {
        "finding_id": hashlib.sha256(identity.encode()).hexdigest()[:12],
        "kind": c.kind,
        "scope": where,
        "attribute": c.attribute,
        "sentence": "; ".join([sentence.removesuffix("."), *shown, *further, *filter(None, [c.doubt])]) + ".",
        "measure": c.measure,
        "image_ids": json.dumps(images, ensure_ascii=False),
    }


def _share(candidate: Candidate, evidence: RunEvidence) -> tuple[str, list[str]]:
    """How often a value is labelled in a condition and in its reference, and the pictures that show it."""
    scope, wording, attribute = candidate.scope, candidate.wording, candidate.attribute
    if wording is None or attribute is None:
        raise TableError(
            f"finding {candidate.kind!r}: without a sentence it needs a wording and an attribute"
        )
    here, before = evidence.pictures.sides(attribute, scope, wording)
    value = candidate.category or moved_most(here, before)
    seen, seen_before = evidence.counted(candidate, value)
    every = seen[1] == sum(map(len, here.values()))
    sentence = wording.share(
        attribute,
        scope,
        value,
        seen,
        seen_before,
        level=evidence.level,
        beside=evidence.pictures.agreed(attribute, wording.reference_scope(scope)),
        tail=candidate.tail,
        what="pictures" if every else "counted pictures",
    )
    # A value that went away is shown by what came instead: every picture of the condition.
    return sentence, here.get(value) or [image for listed in here.values() for image in listed]
