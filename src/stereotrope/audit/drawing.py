"""Drawing: each picture that is asked for once, in the ledger as it lands."""

import threading
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import polars as pl

from stereotrope.audit.ordering import ordered
from stereotrope.audit.plan import Plan
from stereotrope.audit.work import GENERATE, Missing, Watcher, carry_out, said_of, task_of
from stereotrope.errors import ModelUnusable, PictureError, PictureUnavailable
from stereotrope.generate import ImageRequest, ImageResult, image_requests
from stereotrope.pictures import inspect as inspect_picture
from stereotrope.run import Items, RunFolder

_PASSING = (
    "file is missing",
    "link leads nowhere",
    "file cannot be read",
    "file was changed while the audit ran",
    "memory is short",
)
_OF_BYTES = ("damaged", "truncated")
"""Beginnings of reasons: what has nothing to do with a picture's bytes, and what is read out of them."""


def generate_images(
    plan: Plan, into: RunFolder, watcher: Watcher, stop: threading.Event | None
) -> list[Missing]:
    """Ask for every picture that the ledger does not hold; say what is missing.

    Generators work side by side: none waits for another's limits, and a model that cannot be reached
    leaves the others alone.
    """
    tasks = []
    for generator in plan.generators:
        items = requested(plan.drawn_by(generator.name))
        tasks.append(task_of(generator, GENERATE, items, commit=partial(stored_image, into)))
    missing = carry_out(tasks, into.ledger, watcher, stop, into.crew)
    if kept := plan.kept:
        drawn = into.ledger.get_some(GENERATE, {*kept, *kept.values()})
        new = {image: {**drawn[of], "cost": 0.0} for image, of in kept.items() if of in drawn}
        into.ledger.put_many(GENERATE, {image: each for image, each in new.items() if image not in drawn})
    return missing


def requested(requests: pl.DataFrame, prefix: str = "") -> Items:
    """A frame of requests as items of a stage; their keys are their ids behind a prefix."""
    keys = requests["image_id"]
    return Items(
        pl.select(pl.lit(prefix) + keys).to_series() if prefix else keys,
        lambda places: image_requests(requests[places]),
    )


def require_reachable(plan: Plan, into: RunFolder, missing: Sequence[Missing]) -> None:
    """Stop where no generator gave a single answer: there is nothing to look at, and nothing to measure.

    Raises AuditFileError: What the file says of every generator cannot be right, or a key is not set.
    Raises PictureUnavailable: Pictures made elsewhere that cannot be read just now.
    Raises ModelUnusable: A server that does not answer, or does not let this key in.
    """
    asked = plan.requests["image_id"].unique()
    answered = asked.len() - into.ledger.missing_at(GENERATE, asked).len()
    if answered or not missing or any(one.budget for one in missing):
        return
    if all(one.unavailable for one in missing):
        raise PictureUnavailable(
            f"no picture can be read, so there is nothing to measure: {said_of(missing)}; the same command "
            "tries again"
        )
    none = f"no generator gave a picture, so there is nothing to measure: {said_of(missing)}"
    if all(one.misconfigured for one in missing):
        index = [generator.name for generator in plan.generators].index(missing[0].name)
        raise plan.source.error(f"{none}. Mend that, and run the same command again", "generators", index)
    raise ModelUnusable(
        f"{none}. See that the server runs, lets you in and gives pictures; the same command tries again"
    )


def stored_image(into: RunFolder, key: str, request: ImageRequest, result: ImageResult) -> dict[str, Any]:
    """Keep a picture; return what the ledger says of it."""
    payload: dict[str, Any] = {
        **({"proven": True} if result.status == "excluded" else {}),
        "status": result.status,
        "reason": result.reason,
        "revised_prompt": result.revised_prompt,
        "latency": result.latency,
        "cost": result.cost,
    }
    if result.data is None:
        return payload
    try:
        width, height = result.size or inspect_picture(result.data)
    except PictureError as error:
        return {**payload, "status": "excluded", "reason": error.reason, "proven": True}
    sha256, path = into.store.put(result.data)
    return {**payload, "sha256": sha256, "path": path, "width": width, "height": height}


def retry_passing(plan: Plan, into: RunFolder) -> None:
    """Forget outcomes that no bytes prove, so that what they are of is tried again.

    A file that was missing may be there now. What a ledger holds without saying that the bytes prove it may
    have been for want of memory: pictures that are at hand, or are kept in the run, are looked at again.
    """
    at_hand = cache(lambda: set(plan.requests.filter(pl.col("source").is_not_null())["image_id"]))

    def passing(stage: str, key: str, payload: Mapping[str, Any]) -> bool:
        if stage == GENERATE:
            reason = payload["reason"] if payload["status"] == "excluded" else None
            unproven = reason is not None and key in at_hand()
        else:
            labels = payload.get("labels", ())
            reason = payload.get("reason") or next((label["rationale"] for label in labels), None)
            unproven = all(label["status"] == "invalid" for label in labels)
        if reason is None or not isinstance(reason, str):
            return False
        return reason.startswith(_PASSING) or (
            unproven and not payload.get("proven") and reason.startswith(_OF_BYTES)
        )

    for stage in dict.fromkeys([GENERATE, *(one.stage for one in ordered(plan.annotators))]):
        for payloads in into.ledger.parts(stage):
            keys = [key for key, payload in payloads.items() if passing(stage, key, payload)]
            if keys:
                into.ledger.forget(stage, keys)
