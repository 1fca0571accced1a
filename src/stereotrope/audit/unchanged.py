"""What a run that has nothing new to measure need not measure again: what it measured, by its content."""

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.annotate import ANNOTATORS
from stereotrope.audit.interim import RunLook
from stereotrope.audit.plan import Plan
from stereotrope.measure import FRAMES, REGISTRY
from stereotrope.measure.finder import FINDERS
from stereotrope.plugins import OURS
from stereotrope.report.kept import FOLDER, bytes_at, keep, read_kept
from stereotrope.run import Ledger
from stereotrope.run.looks import looks_in
from stereotrope.version import program_text_hash

_FILE = "measured"
_MEASURED = ("estimates", "comparisons", "findings", "robustness")
"""Tables that measuring makes."""
_AT_ONCE = 100_000


def measured_key(
    plan: Plan, info: Mapping[str, Any], frames: Mapping[str, pl.DataFrame | None], at: RunLook, **more: Any
) -> str | None:
    """Hash of all that estimates and findings hang on; None where nobody can say.

    That is the frames that are measured, what ``run.json`` says of measures and annotators, the audit file,
    the look, and the text of this program. Packages that add measures or annotators can change without a new
    version: of a run with them there is no key. Nor is there one of a calibration, which makes cards of what
    it measures.

    frames: What is measured, by name.
    at: The look that it is.
    more: What else decides, as JSON has it.
    """
    ours = all(some.origin(name) == OURS for some in (FRAMES, REGISTRY, FINDERS) for name in some)
    asked = any(ANNOTATORS.group in kinds for kinds in info.get("packages", {}).values())
    if plan.check is not None or not ours or asked:
        return None
    look = replace(at.recorded, told={}, time="")
    tables = {f"{i} {name}": one for i, call in enumerate(plan.measures) for name, one in call.tables.items()}
    confusions = {f"check {name}": check.confusion for name, check in plan.checks.items()}
    told = {
        "program": program_text_hash(),
        "audit": plan.spec.model_dump(mode="json"),
        "info": {
            key: info[key] for key in ("annotators", "measures", "taxonomies", "versions", "seed", "level")
        },
        "calls": [
            [call.name, call.reads, call.on, call.definition, call.factor, call.subset]
            for call in plan.measures
        ],
        "references": plan.references,
        "undelivered": [dict(one) for one in plan.undelivered],
        "cards": {name: check.card for name, check in plan.checks.items()},
        "look": [asdict(at.look), asdict(look)],
        "frames": {
            name: None if one is None else _digest(one)
            for name, one in {**frames, **tables, **confusions}.items()
        },
        **more,
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


class LastMeasured:
    """The tables that a run folder has of its last measuring, while they are as they were written.

    run: The run folder.
    key: That of what is to be measured now, of :func:`measured_key`.
    at: The look that it is: what was recorded of it in the ledger must be there still.
    """

    def __init__(self, run: Path, key: str | None, ledger: Ledger, at: RunLook) -> None:
        self._run, self._key, self._ledger = run, key, ledger
        self._look = at.recorded.identity

    def tables(self) -> dict[str, pl.DataFrame] | None:
        """The tables, None where anything is not as it was."""
        data = read_kept(self._run / FOLDER / _FILE)
        files = self._files()
        if self._key is None or data is None or json.loads(data) != self._told(files):
            return None
        return {name: pl.read_parquet(io.BytesIO(file)) for name, file in files.items()}

    def keep(self) -> None:
        """Remember what was written by now."""
        if self._key is not None:
            keep(self._run / FOLDER / _FILE, json.dumps(self._told(self._files())).encode())

    def _files(self) -> dict[str, bytes]:
        return {name: bytes_at(self._run / f"{name}.parquet") or b"" for name in _MEASURED}

    def _told(self, files: Mapping[str, bytes]) -> dict[str, Any]:
        recorded = next((one for one in looks_in(self._ledger) if one.identity == self._look), None)
        return {
            "key": self._key,
            "tables": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
            "look": recorded and asdict(recorded),
        }


def _digest(frame: pl.DataFrame) -> str:
    """Hash of the rows of a frame, of their types and of the names of its columns."""
    coded = pl.col(pl.Categorical, pl.Enum).cast(pl.String)
    found = hashlib.sha256(repr(list(frame.schema)).encode())
    for part in frame.iter_slices(_AT_ONCE) if frame.height else (frame,):
        written = io.BytesIO()
        plain = part.with_columns(coded).rechunk()
        plain.write_ipc(written, compat_level=pl.CompatLevel.oldest())  # texts in the order of the rows
        found.update(written.getbuffer())
    return found.hexdigest()
