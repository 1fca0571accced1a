"""Whether a run is what was made: its tables, its records, its pictures, and the files it was made from."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from stereotrope.audit.work import GENERATE
from stereotrope.errors import PictureUnavailable, StereotropeError
from stereotrope.run import LEDGER, SEAL, Ledger, PictureStore, changed_files, damage_of
from stereotrope.run import open as open_run

_OUTCOME = ("status", "reason", "path", "sha256")
"""Columns of a picture that its record has too."""


class Verified(NamedTuple):
    """What was compared, and what is not as it was.

    faults: One line each.
    notes: What could not be compared, and why.
    n_pictures: Pictures whose bytes were looked at.
    """

    faults: list[str]
    notes: list[str]
    n_pictures: int


def verify_run(folder: Path) -> Verified:
    """Compare a run with what was written of it; changes nothing, and asks nobody.

    Tables, ``run.json`` and the audit file with their seal; every record of the ledger with its checksum, and
    how many there are of each stage with ``run.json``; ``images`` with the records; each picture's bytes with
    its name; and the files that labels and lists of pictures came from, where they still are, with the digest
    that ``run.json`` has of them. Who writes the seal and the checksums anew is not found out.

    Raises RunError: There is no run, or it has no tables yet.
    """
    run, faults, notes = open_run(folder), list(_of_seal(folder)), list[str]()
    paths: list[str] = []
    try:
        images = run.scan("images").select("image_id", *_OUTCOME).collect()
        paths = images["path"].drop_nulls().unique(maintain_order=True).to_list()
        faults += _of_ledger(folder, images, run.info.get("records", {}))
    except StereotropeError as error:
        if SEAL not in changed_files(folder) and not faults:
            raise
        notes.append(f"images.parquet: cannot be read, so that pictures were not compared ({error})")
    try:
        damaged = PictureStore(folder).damaged(paths)
    except PictureUnavailable as error:
        notes.append(f"pictures were not compared: {error}")
        damaged, paths = {}, []
    faults += [f"{path}: {_PICTURE[reason]}" for path, reason in sorted(damaged.items())]
    if (folder / "pictures.url").is_file() and paths:
        notes.append("pictures lie elsewhere (pictures.url): what is missing was looked for, no bytes read")
    for name, file, digest in _sources(run.info):
        path = folder / str(run.info.get("audit_base", "")) / file
        now = _digest(path)
        if now is None:
            notes.append(f"{file} (of {name}): is not at hand; its SHA-256 was {digest}")
            continue
        if now != digest:
            faults.append(
                f"{file} (of {name}): was changed since it was read: SHA-256 {digest[:12]}… then, "
                f"{now[:12]}… now"
            )
    return Verified(faults, notes, len(paths))


def _digest(path: Path) -> str | None:
    """The SHA-256 of a file; None of what is not at hand, is no file (a pipe never ends), or of no name."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None


_PICTURE = {
    "missing": "is missing",
    "changed": "was changed: its bytes are not those of its name",
    "no path of a picture": "is no path of a picture in a run",
}


def _of_seal(folder: Path) -> Iterator[str]:
    for name, digest in changed_files(folder).items():
        if name == SEAL:
            yield f"{SEAL}: is not there or cannot be read; nothing says what the other files were"
        elif digest is None:
            yield f"{name}: was not there when the run ended"
        elif (folder / name).is_file():
            yield f"{name}: was changed since the run was measured"
        else:
            yield f"{name}: is gone, and was there when the run ended"


def _of_ledger(folder: Path, images: pl.DataFrame, records: Mapping[str, Any]) -> Iterator[str]:
    file = folder / LEDGER
    if not file.is_file():
        yield f"{LEDGER}: is not there; nothing says what was made, answered and spent"
        return
    mode = "mode=ro" if file.with_name(f"{LEDGER}-wal").exists() else "immutable=1"
    if damage := damage_of(file, uri=f"{file.resolve().as_uri()}?{mode}"):
        yield f"{LEDGER}: is damaged ({damage})"
        return
    with Ledger(file, readonly=True) as ledger:
        found = pl.concat([_outcomes({}), *map(_outcomes, ledger.parts(GENERATE))])
        there = ledger.totals()
    for stage, n in records.items():
        if isinstance(n, int) and (left := there.get(stage, 0)) < n:
            yield f"{LEDGER}: has {left:,} records of {stage}, and had {n:,} when the run ended"
    same = found.unique().join(images, on=found.columns, how="semi", nulls_equal=True)
    strange = images.join(same, on="image_id", how="anti", maintain_order="left")
    if strange.height:
        yield (
            f"images.parquet: {strange.height:,} of {images.height:,} pictures are not as {LEDGER} has "
            f"them; the first is {json.dumps(strange['image_id'][0])}"
        )


def _outcomes(payloads: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    rows = [(key, *(payload.get(name) for name in _OUTCOME)) for key, payload in payloads.items()]
    return pl.DataFrame(rows, schema=dict.fromkeys(("image_id", *_OUTCOME), pl.String), orient="row")


def _sources(info: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Name of who read a file, the file, and its SHA-256; each file once."""
    known = dict[tuple[str, str], str]()
    for one in (*info.get("generators", ()), *info.get("annotators", ())):
        files = one.get("files")
        for file in (f for f in (files if isinstance(files, list) else ()) if isinstance(f, Mapping)):
            told = (str(file.get("file")), str(file.get("sha256")))
            known.setdefault(told, str(one.get("name")))
    yield from ((name, file, digest) for (file, digest), name in known.items())
