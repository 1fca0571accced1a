"""Reading inside generators while they draw: each picture once, in the ledger as it lands."""

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from stereotrope.audit.drawing import requested, stored_image
from stereotrope.audit.plan import Plan
from stereotrope.audit.work import GENERATE, Missing, Watcher, carry_out, task_of
from stereotrope.generate import Generator, ImageRequest, ImageResult
from stereotrope.probe import ProbeReading
from stereotrope.run import Items, Ledger, RunFolder

PROBE = "probe"
"""Name of the stage in the ledger."""


def probe_images(
    plan: Plan, into: RunFolder, watcher: Watcher, stop: threading.Event | None
) -> list[Missing]:
    """Draw what is to be read inside and was not yet; a picture that is not there lands with it.

    What fails leaves the pictures to those that draw.
    """
    tasks = []
    for generator, items in probed_items(plan):
        commit = partial(_keep, into, str(generator.probe_fingerprint))
        tasks.append(task_of(generator, PROBE, items, make=partial(_Prober, generator), commit=commit))
    return carry_out(tasks, into.ledger, watcher, stop, into.crew)


def probed_items(plan: Plan) -> Iterator[tuple[Generator, Items]]:
    """Each generator that is read inside, with the requests of which it is and their keys in the ledger."""
    for generator in plan.generators:
        if (fingerprint := generator.probe_fingerprint) is not None:
            chosen = generator.probed(plan.drawn_by(generator.name))
            yield generator, requested(chosen, f"{fingerprint}-")


class _Prober:
    """Lets a generator draw and read."""

    def __init__(self, generator: Generator) -> None:
        self.process_batch = generator.probe_batch

    def process(self, request: ImageRequest) -> Any:
        (result,) = self.process_batch([request])
        return result


def _keep(
    into: RunFolder,
    fingerprint: str,
    key: str,
    request: ImageRequest,
    result: tuple[ImageResult, Sequence[ProbeReading]],
) -> dict[str, Any]:
    image, readings = result
    drawn = stored_image(into, request.image_id, request, image)
    into.ledger.put(GENERATE, request.image_id, drawn)  # the first that was drawn stays
    kept = []
    for reading in readings:
        row = {name: value for name, value in vars(reading).items() if value is not None and name != "data"}
        if reading.data is not None:
            row["sha256"], row["path"] = into.store.put(reading.data)
        kept.append(row)
    return {
        "fingerprint": fingerprint,
        "image_id": request.image_id,
        "drawn": drawn.get("sha256"),
        "readings": kept,
    }


def readings_of(ledger: Ledger, images: Any, fingerprints: Collection[str]) -> list[Mapping[str, Any]]:
    """What probes of these fingerprints read in images that are there, a mapping a reading."""
    if not fingerprints:
        return []
    there = dict(images.select("image_id", "sha256").iter_rows())
    return [
        {**row, "image_id": one["image_id"], "same_picture": _same(one["drawn"], there[one["image_id"]])}
        for one in ledger.get_all(PROBE).values()
        if one["fingerprint"] in fingerprints and one["image_id"] in there
        for row in one["readings"]
    ]


def _same(drawn: str | None, there: str | None) -> str:
    return "yes" if drawn == there else "no"
