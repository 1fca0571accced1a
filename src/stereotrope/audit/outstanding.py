"""What a run would still do, and what that may cost: the answer of ``stereotrope run --plan``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from stereotrope.audit.assemble import images_frame
from stereotrope.audit.assignment import DISCOVER, found_before, kept_before
from stereotrope.audit.embedding import EMBED, picture_keys
from stereotrope.audit.plan import Plan, encodes, looks
from stereotrope.audit.reserve import Reserve, discoveries, reserve_of
from stereotrope.audit.work import ANNOTATE, GENERATE, annotation_key
from stereotrope.clients import Expectation
from stereotrope.run import Ledger, refuse_lost_ledger
from stereotrope.tables import ABSENT

__all__ = ["Work", "outstanding", "reserve_in"]


@dataclass(frozen=True)
class Work:
    """One line of a plan.

    Attributes
    ----------
    verb, name
        What is done, and with which generator or annotator.
    total, done
        Items asked for, and those that the run folder holds.
    expected
        Calls, tokens, dollars and seconds that the rest may take; None where no model server is asked.
    """

    verb: str
    name: str
    total: int
    done: int
    expected: Expectation | None = None


def outstanding(plan: Plan, folder: Path | str) -> list[Work]:
    """Count what is asked for and what the run folder's ledger already holds; reads only.

    Pictures that are not drawn yet count as not looked at. Pictures that turn out byte-identical are
    looked at once, so there may be less to do.

    Raises
    ------
    RunDamaged
        The folder holds pictures, and the ledger that records them is not there.
    """
    folder = Path(folder)
    refuse_lost_ledger(folder)
    file = folder / "ledger.db"
    ledger = Ledger(file, readonly=True) if file.is_file() else None
    try:
        return [*_drawing(plan, ledger), *_looking(plan, ledger, folder)]
    finally:
        if ledger is not None:
            ledger.close()


def reserve_in(plan: Plan, folder: Path | str) -> Reserve:
    """What the labels of a run folder may cost at most, as a run would keep it back; reads only."""
    folder = Path(folder)
    file = folder / "ledger.db"
    if not file.is_file():
        return reserve_of(plan, folder, None)
    ledger = Ledger(file, readonly=True)
    try:
        return reserve_of(plan, folder, ledger)
    finally:
        ledger.close()


def _drawing(plan: Plan, ledger: Ledger | None) -> list[Work]:
    drawn = ledger.get_all(GENERATE) if ledger is not None else {}
    work = []
    for generator in plan.generators:
        requests = {r.image_id: r for made_by, r in plan.requests if made_by is generator}
        left = [request for image_id, request in requests.items() if image_id not in drawn]
        drawn_before = len(requests) - len(left)
        work.append(Work(GENERATE, generator.name, len(requests), drawn_before, generator.expect(left)))
    return work


def _looking(plan: Plan, ledger: Ledger | None, folder: Path) -> list[Work]:
    keys: dict[str, set[str]] = {}
    assignment = found_before(plan, folder)
    images = images_frame(plan, ledger) if ledger is not None else None
    if ledger is not None and images is not None:
        assignment = kept_before(plan, folder, images, ledger)
        said = ledger.get_all(ANNOTATE)
        for annotator in filter(looks, plan.annotators):
            asked = (annotation_key(a, row["sha256"]) for a, row in assignment.looks(annotator, images))
            keys[annotator.name] = {key for key in asked if key in said}
    work = [
        Work(DISCOVER, name, total, total - left, expected)
        for name, total, left, expected in discoveries(plan, assignment)
    ]
    for annotator in filter(looks, plan.annotators):
        total, done = _pictures(plan, annotator.name, images), len(keys.get(annotator.name, ()))
        expect = getattr(annotator, "expect", None)
        expected = expect(total - done) if expect is not None else None
        work.append(Work(ANNOTATE, annotator.name, total, done, expected))
    return work + _encoding(plan, ledger, images)


def _encoding(plan: Plan, ledger: Ledger | None, images: pl.DataFrame | None) -> list[Work]:
    """Pictures that each encoder has encoded; the few texts of the prompts are not counted."""
    made = ledger.get_all(EMBED) if ledger is not None else {}
    work = []
    for encoder in filter(encodes, plan.annotators):
        keys = picture_keys(encoder, images) if images is not None else {}
        total = _pictures(plan, encoder.name, images)
        work.append(Work(EMBED, encoder.name, total, sum(key in made for key in keys)))
    return work


def _pictures(plan: Plan, annotator: str, images: pl.DataFrame | None) -> int:
    """How many different pictures an annotator is shown; those that are not drawn yet count one each."""
    shown = plan.shown.get(annotator)
    at_hand = [request for _, request in plan.requests if not request.absent]
    asked = {r.image_id for r in at_hand if shown is None or r.prompt_id in shown}
    if images is None:
        return len(asked)
    own = images.filter(pl.col("status") != ABSENT)
    own = own if shown is None else own.filter(pl.col("prompt_id").is_in(list(shown)))
    return len(asked) - own["image_id"].n_unique() + own.filter(status="ok")["sha256"].n_unique()
