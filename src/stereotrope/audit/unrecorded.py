"""Pictures that lie in a run folder without a record: what stops leave, and what a lost log leaves.

A picture is kept before its row is committed, so a stop leaves some without. Of models that are asked there
are never more than the calls that the ledger has as answered: that row is durable before the picture is kept.
Others are counted at each start, so that those of many stops do not add up.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.annotate import Annotator
from stereotrope.audit.outstanding import outstanding
from stereotrope.audit.plan import Plan
from stereotrope.audit.probing import PROBE
from stereotrope.audit.work import GENERATE
from stereotrope.errors import RunDamaged
from stereotrope.generate import Generator, RemoteGenerator
from stereotrope.run import Ledger, PictureStore
from stereotrope.run import open as open_run
from stereotrope.run.disk import QUARANTINE, write_atomic

UNRECORDED = "unrecorded"
"""Name in the ledger of pictures that stops have left, by path."""
_LIST = "unrecorded.txt"
_FEW = 16
"""What a stop may have left of a generator that the audit does not name any more."""
_AT_ONCE = 64
"""Batches that a lane of quick work has in hand at most; also of others, whose batch may have been larger."""
_LANES = 8
"""Most lanes of a generator that draws here."""
_EXTENSIONS = ("png", "jpg", "webp")


def refuse_unrecorded(plan: Plan, folder: Path, ledger: Ledger | None = None) -> None:
    """Refuse to pay again where more pictures lie in the folder than its ledger and stops account for.

    Nothing is listed where no picture is to be drawn, or no model is asked. Pictures at another place are not
    counted: several runs may keep theirs there.

    ledger: The run's own, opened to be written: what stops have left is noted there. None where all is read.
    Raises RunDamaged: The ledger lacks such pictures; a file that names them was written where ``ledger`` is
        given, and the ledger is as it was, so that its log can be put back.
    """
    asks = [one.expect(plan.requests.clear()) for one in plan.generators]
    asks += [one.expect(1) for one in plan.annotators]
    file = folder / "ledger.db"
    nothing_asked = plan.cells is not None or all(expected is None for expected in asks)
    if nothing_asked or not file.is_file() or PictureStore(folder).place is not None:
        return
    with Ledger(file, readonly=True) as reading:
        if reading.missing_at(GENERATE, plan.requests["image_id"]).is_empty():
            return
        found = unrecorded(folder, reading)
        left = found - _accepted(folder)
        most = _left_by_a_stop(plan)
        if len(left) > most:
            most += _left_by_others(plan, folder, reading)
    if len(left) > most and any(row.expected and row.expected.calls for row in outstanding(plan, folder)):
        if ledger is not None:
            (folder / QUARANTINE).mkdir(exist_ok=True)
            _write(folder / _LIST, left)
        raise RunDamaged(
            f"{file}: lacks what this run finished and spent, as when its log (ledger.db-wal) is lost: "
            f"{len(left):,} pictures lie in pictures/ without a record, and stops can have left {most:,}; "
            "models would be paid again, and a cap begin anew; nothing was asked. Put ledger.db back with "
            f"the log that belongs to it or, to have them made and paid for again, move {_LIST}, in which "
            f"`stereotrope run` names them, into {QUARANTINE}/; then run the same command again"
        )
    if ledger is not None:
        if found:
            ledger.put_many(UNRECORDED, {path: {} for path in sorted(found)})
        for accepted in (folder / _LIST, folder / QUARANTINE / _LIST):
            accepted.unlink(missing_ok=True)


def accept_unrecorded(folder: Path) -> None:
    """Keep pictures without a record from being told once more: the user was told, and asked what to do."""
    if PictureStore(folder).place is not None:
        return
    with Ledger(folder / "ledger.db", readonly=True) as ledger:
        found = unrecorded(folder, ledger)
    if found:
        (folder / QUARANTINE).mkdir(exist_ok=True)
        _write(folder / QUARANTINE / _LIST, found | _accepted(folder))


def unrecorded(folder: Path, ledger: Ledger) -> set[str]:
    """Return the paths of pictures in the folder that a ledger does not speak of."""
    left = set(PictureStore(folder).paths)
    others = [stage for stage in ledger.totals() if not stage.startswith("calls:") and stage != UNRECORDED]
    # Looks are many, and few of them keep a picture: they are read only where something is left.
    for stage in sorted(others, key=lambda name: (name != GENERATE, name != PROBE)):
        for payloads in ledger.parts(stage) if left else ():
            left.difference_update(path for payload in payloads.values() for path in _paths(payload))
    for payloads in ledger.parts(UNRECORDED) if left else ():
        left -= payloads.keys()
    return left


def _paths(payload: Mapping[str, Any]) -> Iterator[str]:
    """Paths of the pictures that a row of the ledger speaks of."""
    if path := payload.get("path"):
        yield path
    if drawn := payload.get("drawn"):  # by a probe, beside the picture that was drawn first
        yield from (f"pictures/{drawn[:2]}/{drawn}.{extension}" for extension in _EXTENSIONS)
    for key in ("made", "readings"):
        listed = payload.get(key)
        for one in listed if isinstance(listed, list) else ():
            if isinstance(one, Mapping) and (path := one.get("path")):
                yield path


def _left_by_a_stop(plan: Plan) -> int:
    """Pictures that one stop can have left of what is drawn or made here; calls to models are counted."""
    here: list[Generator | Annotator] = [
        one for one in plan.generators if not isinstance(one, RemoteGenerator)
    ]
    here += [one for one in plan.annotators if one.__class__.made is not Annotator.made]
    return _FEW + sum(
        max(one.concurrency * one.batch * (_AT_ONCE if one.quick else 1), _AT_ONCE) for one in here
    )


def _left_by_others(plan: Plan, folder: Path, ledger: Ledger) -> int:
    """Pictures without a row that models gave at most, and what else was drawn by none of this audit."""
    remote = [one for one in plan.generators if isinstance(one, RemoteGenerator)]
    calls = open_run(folder).spending.filter(kind="image")
    gave = calls.select(pl.max_horizontal("images", "ok")).to_series().sum()
    ids = {image for one in remote for image in plan.drawn_by(one.name)["image_id"]}
    asked = set(plan.requests["image_id"])
    recorded: set[str] = set()
    more = 0
    for payloads in ledger.parts(GENERATE):
        recorded |= {row["path"] for key, row in payloads.items() if key in ids and row.get("path")}
        was_free = (key not in asked and row.get("latency") is None for key, row in payloads.items())
        more = more or (_LANES * _AT_ONCE if any(was_free) else 0)
    return more + max(int(gave) - len(recorded), 0)


def _accepted(folder: Path) -> set[str]:
    """Paths that the user wants to have made again, by moving the file that names them."""
    file = folder / QUARANTINE / _LIST
    return set(file.read_text(encoding="utf-8").split()) if file.is_file() else set()


def _write(file: Path, paths: set[str]) -> None:
    write_atomic(file, "".join(f"{path}\n" for path in sorted(paths)).encode())
