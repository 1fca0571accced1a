"""What a run would still do: the answer of ``stereotrope run --plan``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from stereotrope.audit.plan import Plan, looks
from stereotrope.audit.stages import GENERATE, annotation_key, stage_of
from stereotrope.run import Ledger

__all__ = ["Work", "outstanding"]


class Work(NamedTuple):
    """One line of a plan."""

    verb: str
    name: str
    total: int
    done: int


def outstanding(plan: Plan, folder: Path | str) -> list[Work]:
    """Count what is asked for and what the run folder's ledger already holds; reads only.

    Pictures that are not drawn yet count as not looked at. Pictures that turn out byte-identical are
    looked at once, so there may be less to do.
    """
    file = Path(folder) / "ledger.db"
    ledger = Ledger(file, readonly=True) if file.is_file() else None
    drawn = ledger.get_all(GENERATE) if ledger else {}
    work = []
    for generator in plan.generators:
        ids = {request.image_id for made_by, request in plan.requests if made_by is generator}
        work.append(Work("generate", generator.name, len(ids), sum(i in drawn for i in ids)))
    wanted = {request.image_id for _, request in plan.requests}
    pictures = {o["sha256"] for i, o in drawn.items() if i in wanted and o.get("sha256")}
    not_drawn = sum(i not in drawn for i in wanted)
    for annotator in plan.annotators:
        if looks(annotator):
            said = ledger.get_all(stage_of(annotator)) if ledger else {}
            done = sum(annotation_key(annotator, sha256) in said for sha256 in pictures)
            work.append(Work("annotate", annotator.name, len(pictures) + not_drawn, done))
    if ledger:
        ledger.close()
    return work
