"""What the labels of pictures may cost, kept back before a picture is drawn that could not be judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.annotate import taxonomy_for
from stereotrope.audit.assemble import images_frame
from stereotrope.audit.assignment import Assignment, found_before, kept_before
from stereotrope.audit.plan import Plan, looks
from stereotrope.audit.work import ANNOTATE, GENERATE, Missing, annotation_key
from stereotrope.clients import Expectation
from stereotrope.run import Ledger

__all__ = ["Reserve", "affords_more", "discoveries", "reserve_of"]


@dataclass(frozen=True)
class Reserve:
    """US dollars that a run folder still needs, at most, for what its models have to say.

    Attributes
    ----------
    each
        For the labels of one more picture.
    pending
        For those of the pictures that are there, and for the attributes that are still to be discovered.
    """

    each: float = 0.0
    pending: float = 0.0


def reserve_of(plan: Plan, folder: Path, ledger: Ledger | None) -> Reserve:
    """Say what labels cost: what calls to their model did cost so far, before the first what they may.

    Without a price, or a model, the labels cost nothing here.
    """
    images = images_frame(plan, ledger) if ledger is not None else None
    assignment = found_before(plan, folder)
    said = ledger.get_all(ANNOTATE) if ledger is not None else {}
    if ledger is not None and images is not None:
        assignment = kept_before(plan, folder, images, ledger)
    each = pending = 0.0
    for annotator in filter(looks, plan.annotators):
        price = _price(plan, annotator)
        each += price
        if price and images is not None:
            pending += price * _unseen(plan, annotator, images, assignment, said)
    pending += sum(expected.cost[1] for *_, expected in discoveries(plan, assignment) if expected.cost)
    return Reserve(each, pending)


def _price(plan: Plan, annotator: Any) -> float:
    """What one look costs."""
    expect = getattr(annotator, "expect", None)
    expected = expect(1) if expect is not None else None
    if expected is None or expected.cost is None:
        return 0.0
    provider = getattr(getattr(annotator, "endpoint", None), "provider", "")
    known = plan.account.mean(provider, getattr(annotator, "model", ""), "chat")
    return float(expected.cost[1]) if known is None else known * expected.calls


def _unseen(plan: Plan, annotator: Any, images: pl.DataFrame, assignment: Assignment, said: Any) -> int:
    """Pictures that are there and that an annotator has not looked at."""
    shown = plan.shown.get(annotator.name)
    usable = images.filter(pl.col("status") == "ok")
    own = usable if shown is None else usable.filter(pl.col("prompt_id").is_in(list(shown)))
    asked = {annotation_key(a, row["sha256"]) for a, row in assignment.looks(annotator, images)}
    return int(own["sha256"].n_unique()) - sum(key in said for key in asked)


def discoveries(plan: Plan, assignment: Assignment) -> Iterator[tuple[str, int, int, Expectation]]:
    """Yield each annotator that finds attributes: parts of the design, those it has still to ask of, and
    what that may take, one call each."""
    scopes = {assignment.scope(request.generator, request.prompt_id) for _, request in plan.requests}
    for annotator in plan.annotators:
        discoverer = getattr(annotator, "discoverer", None)
        if discoverer is not None:
            known = assignment.taxonomies.get(annotator.name, {})
            left = sum(taxonomy_for(known, dict(scope)) is None for scope in scopes)
            yield annotator.name, len(scopes), left, discoverer.expect(left)


def affords_more(plan: Plan, reserve: Reserve, missing: Sequence[Missing]) -> bool:
    """Whether pictures were held back that the cap turns out to have room for."""
    cap = plan.account.max_cost
    held = [one for one in missing if one.budget and one.stage == GENERATE]
    if cap is None or not held or len(held) < len(missing):
        return False
    names = {one.name for one in held}
    models = [
        (getattr(generator, "provider", ""), getattr(generator, "model", ""))
        for generator in plan.generators
        if generator.name in names
    ]
    prices = [plan.account.mean(*model, "image") for model in models]
    room = cap - plan.account.spent - reserve.pending - reserve.each
    return any(price is not None and price <= room for price in prices)
