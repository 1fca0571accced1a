"""The run folder, as its one writer sees it."""

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from stereotrope import tables
from stereotrope.errors import RunDamaged, RunError, RunFormatError, TableError
from stereotrope.run.disk import (
    TMP_PREFIX,
    file_stem,
    full_is_run_error,
    quarantine,
    require_folder_name,
    sweep,
    sync_folder,
    write_atomic,
    written_atomic,
)
from stereotrope.run.engine import Crew
from stereotrope.run.ledger import Ledger
from stereotrope.run.lock import LOCK_FILES, RunLock
from stereotrope.run.looks import restore_looks
from stereotrope.run.migration import info_of_format_1, refuse_taken_factors
from stereotrope.run.place import record
from stereotrope.run.salvage import SALVAGED
from stereotrope.run.seal import LEDGER, break_seal
from stereotrope.run.store import PictureStore
from stereotrope.version import __version__

FORMAT_VERSION = 2
READABLE = (1, FORMAT_VERSION)
"""Formats that are read; what the first says otherwise is migrated on reading."""
INFO, AUDIT = "run.json", "audit.yaml"
FORGOTTEN = "forgotten"
"""Name in the ledger of items whose picture was lost, by key, until they are made again."""
EMBEDDINGS_FOLDER = "embeddings"
_ZSTD_LEVEL = 3
_ROW_GROUP, _VECTORS = 65_536, 16_384
"""Rows that are written together, and those with a vector each."""


class RunFolder:
    """A run, opened to be written: created where there is none, continued where there is one.

    Use it as a context manager; it holds the run's lock from entering to leaving.

    path: The folder. It must be absent, empty, or a run.
    pictures: URL where its pictures are to lie, if not in the folder; what was said once holds.
    crew: Who carries its stages out; the threads of this process where None.
    notes: What was found and mended on opening, one sentence each; for the user and for ``run.json``.
    Raises RunLocked: Another process writes it.
    Raises RunFormatError: It is a run of another format version.
    Raises RunDamaged: It holds pictures, and the ledger that records them is not there.
    Raises RunError: The folder holds something else than a run, or pictures cannot be written at their place.
    Raises UsageError: Its pictures lie elsewhere, or ``pictures`` is no URL that can be used.
    """

    ledger: Ledger

    def __init__(self, path: Path | str, *, pictures: str | None = None) -> None:
        self.path = Path(path)
        self.crew: Crew | None = None
        self._pictures = pictures
        self.store = PictureStore(self.path, pictures)
        self.notes: list[str] = []

    def __enter__(self) -> Self:
        self._refuse_strangers()
        with full_is_run_error(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = RunLock(self.path)
            died = self._lock.acquire()
        with contextlib.ExitStack() as undo:
            undo.callback(self._lock.release)
            if died is not None:
                self.notes.append(died)
            sweep(self.path)
            if self._pictures is not None:
                record(self.path, self._pictures)
            self._begin()
            self.ledger = Ledger(self.path / LEDGER)
            undo.callback(self.ledger.close)
            restored = restore_looks(self.ledger, read_info(self.path).get("looks", ()))
            undo.pop_all()
        self.notes += self.ledger.notes
        if restored:
            lacked = f"looks of {INFO} that the ledger lacked: {restored}"
            self.notes.append(f"{lacked}; their error stays spent, and what they told is tested anew")
        return self

    def __exit__(self, *_: object) -> None:
        self.ledger.close()
        self._lock.release()

    def verify_pictures(self, stage: str) -> None:
        """Check every picture the ledger speaks of; what is damaged is made again.

        A picture that is missing or changed moves to ``quarantine/``, its item is forgotten, which the ledger
        notes, and :attr:`notes` says so. Payloads of ``stage`` name their picture in ``path``; those without
        one (refusals) are left alone.

        Raises RunDamaged: All pictures are gone, with their folder: it may have been moved.
        """
        whole: bool | None = None
        n_lost = 0
        gone: dict[str, str] = {}
        noted = self.ledger.get_all(FORGOTTEN).keys()
        for payloads in self.ledger.parts(stage):
            if made := noted & payloads.keys():
                self.ledger.forget(FORGOTTEN, made)
            paths = {key: payload["path"] for key, payload in payloads.items() if payload.get("path")}
            whole = self.store.has_room if whole is None and paths else whole
            n_lost += 0 if whole else len(paths)
            damaged = self.store.damaged(set(paths.values()) - gone.keys()) if whole else {}
            self.store.remove_damaged(damaged)
            gone |= damaged
            if lost := [key for key, path in paths.items() if path in gone]:
                self.ledger.put_many(FORGOTTEN, {key: {} for key in lost})
                self.ledger.forget(stage, lost)
        if n_lost:
            where, anew = str(self.path / "pictures"), "make an empty folder there"
            if self.store.place is not None:
                where, anew = self.store.place.url, "choose a new run folder"
            raise RunDamaged(
                f"{where}: the folder with {n_lost:,} pictures of this run is missing; "
                f"put it back, and run the same command again. To make all anew, {anew}"
            )
        self.notes += [f"picture {path} was {reason}; it is made again" for path, reason in gone.items()]

    def write_audit(self, text: str) -> None:
        """Freeze the audit file. A different older one is kept beside it.

        The older text keeps its content under ``audit-<first 12 digits of its SHA-256>.yaml``.
        """
        path = self.path / AUDIT
        data = text.encode()
        if path.is_file() and (before := path.read_bytes()) != data:
            break_seal(self.path)
            write_atomic(self.path / f"audit-{hashlib.sha256(before).hexdigest()[:12]}.yaml", before)
        write_atomic(path, data)

    def write_table(
        self, name: str, frame: pl.DataFrame, columns: Sequence[tables.Column], factors: Sequence[str] = ()
    ) -> Path:
        """Write ``<name>.parquet``: whole or not at all, and the same bytes for the same rows.

        The order of the rows is the caller's; column docs travel in the file.

        Raises TableError: A column is missing, unknown, or of a type that does not fit.
        """
        wanted, path = tables.schema(columns, factors), self.path / f"{name}.parquet"
        packed = {"compression": "zstd", "compression_level": _ZSTD_LEVEL}
        n = _VECTORS if "vector" in wanted.names else _ROW_GROUP
        with written_atomic(path) as sink, pq.ParquetWriter(sink, wanted, **packed) as writer:
            for part in frame.iter_slices(n) if frame.height else (frame,):
                writer.write_table(arrow_table(name, part, columns, factors), row_group_size=n)
        return path

    def write_tables(self, frames: Mapping[str, pl.DataFrame | None]) -> None:
        """Write :data:`stereotrope.tables.RUN_TABLES`: further columns are factors, None removes a table.

        Raises TableError: As :meth:`write_table`.
        """
        break_seal(self.path)
        for name, frame in frames.items():
            if frame is None:
                self.remove_table(name)
                continue
            columns = tables.RUN_TABLES[name]
            known = {column.name for column in columns}
            further = [each for each in frame.columns if each not in known]
            self.write_table(name, frame, columns, further if name in ("prompts", "estimates") else ())
        pa.default_memory_pool().release_unused()

    def write_embeddings(self, frame: pl.DataFrame) -> None:
        """Write ``embeddings/<encoder>.parquet``, one an encoder; those of encoders no longer there go.

        Raises TableError: As :meth:`write_table`.
        """
        folder = self.path / EMBEDDINGS_FOLDER
        written = set()
        encoders = frame["encoder"].unique(maintain_order=True)
        for encoder in encoders:
            part = frame.filter(encoder=encoder) if len(encoders) > 1 else frame
            with full_is_run_error(folder):
                folder.mkdir(exist_ok=True)
            name = f"{EMBEDDINGS_FOLDER}/{file_stem(str(encoder))}"
            written.add(self.write_table(name, part, tables.EMBEDDINGS))
        for file in folder.glob("*.parquet"):
            if file not in written:
                file.unlink()
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()

    def remove_table(self, name: str) -> None:
        """Remove ``<name>.parquet``, where it is there: of an audit that no longer has it."""
        (self.path / f"{name}.parquet").unlink(missing_ok=True)

    def write_info(self, info: Mapping[str, Any]) -> None:
        """Write ``run.json``; ``format_version`` and ``stereotrope_version`` are set here."""
        whole = {**info, "format_version": FORMAT_VERSION, "stereotrope_version": __version__}
        text = json.dumps(whole, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
        write_atomic(self.path / INFO, f"{text}\n".encode())

    def _refuse_strangers(self) -> None:
        require_folder_name(self.path)
        if self.path.exists() and not self.path.is_dir():
            raise RunError(f"{self.path}: is a file; a run is a folder, choose another path")
        if not self.path.is_dir() or (self.path / INFO).exists() or (self.path / LEDGER).exists():
            return
        others = sorted(
            entry.name
            for entry in self.path.iterdir()
            if entry.name not in LOCK_FILES and not entry.name.startswith(TMP_PREFIX)
        )
        if others:
            raise RunError(
                f"{self.path}: is not empty and holds no run ({INFO} is missing; found {others[0]!r}"
                + (f" and {len(others) - 1} more" if len(others) > 1 else "")
                + "); choose a new or empty folder"
            )

    def _begin(self) -> None:
        """Check the version of a run, or make a new one recognisable before anything else is in it."""
        if (self.path / INFO).exists():
            refuse_lost_ledger(self.path)
            try:
                read_info(self.path)
                return
            except RunDamaged as error:
                moved = quarantine(self.path, self.path / INFO)
                found = str(error).split("; ")[0]
                self.notes.append(
                    f"{found}; it was moved to {moved.relative_to(self.path)} and is written anew"
                )
        self.write_info({})
        sync_folder(self.path.parent)


def refuse_lost_ledger(path: Path) -> None:
    """Refuse a run whose pictures are there and whose ledger is not: all would be paid for once more.

    Raises RunDamaged: It is so.
    """
    file = path / LEDGER
    if file.exists() or file.with_name(SALVAGED).exists() or not PictureStore(path).is_there:
        return
    raise RunDamaged(
        f"{file}: the record of what this run finished and spent is missing, and its pictures are there; put "
        "it back, and run the same command again. To make and pay for all anew, choose a new folder"
    )


def arrow_table(
    name: str, frame: pl.DataFrame, columns: Sequence[tables.Column], factors: Sequence[str] = ()
) -> pa.Table:
    """A frame as the Arrow table that is written of it; TableError as of :meth:`RunFolder.write_table`."""
    wanted = tables.schema(columns, factors)
    wrong = {
        "no": [name for name in wanted.names if name not in frame.columns],
        "unknown": [name for name in frame.columns if name not in wanted.names],
    }
    told = [f"{what} column {', '.join(map(repr, names))}" for what, names in wrong.items() if names]
    if told:
        raise TableError(f"table {name}: {'; '.join(told)}; it must have exactly {', '.join(wanted.names)}")
    try:
        plain = frame.select(wanted.names).with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
        return plain.to_arrow().cast(wanted).combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableError(f"table {name}: does not fit its schema ({error})") from error


def read_info(path: Path) -> dict[str, Any]:
    """Read ``run.json`` of a run folder and check its format version.

    Raises RunFormatError: Another format version.
    Raises RunDamaged: It is no JSON object, or has no version.
    """
    file = path / INFO
    try:
        info = json.loads(file.read_bytes())
        version = info["format_version"]
    except (ValueError, RecursionError):
        raise _foreign(file, "no JSON") from None
    except (KeyError, TypeError):
        raise _foreign(file, "no format_version") from None
    if isinstance(version, bool) or not isinstance(version, int | str):
        raise _foreign(file, f"format_version is {json.dumps(version)[:40]}")
    if version not in READABLE:
        hint = (
            "install a newer stereotrope"
            if isinstance(version, int) and version > FORMAT_VERSION
            else f"read it with the stereotrope that wrote it ({info.get('stereotrope_version', 'unknown')})"
        )
        raise RunFormatError(
            f"{path}: is a run of format {version!r}, this stereotrope ({__version__}) writes format "
            f"{FORMAT_VERSION}; {hint}, or run the audit into a new folder"
        )
    for key, kind in _KINDS.items():
        if key in info and not _is(info[key], kind):
            raise _foreign(file, f"{key} has another type")
    for key, kinds in _ENTRIES.items():
        for entry in info.get(key, ()):
            wrong = next((name for name, kind in kinds.items() if not _is(entry.get(name), kind)), None)
            if wrong is not None:
                raise _foreign(file, f"one of {key} has no {wrong}, or of another type")
    refuse_taken_factors(path, info)
    return dict(info) if version == FORMAT_VERSION else info_of_format_1(info)


def _foreign(file: Path, found: str) -> RunDamaged:
    return RunDamaged(
        f"{file}: is not what stereotrope wrote ({found}); run the audit into this folder again, which "
        "writes it anew from the ledger"
    )


def _is(value: object, kind: Any) -> bool:
    if isinstance(kind, tuple):
        return isinstance(value, list) and all(isinstance(entry, kind[0]) for entry in value)
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


INFO_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("annotators", "folded", "generators", "judge_cards", "lookalikes", "looks"), (dict,)),
    **dict.fromkeys(("measures", "missing", "published", "taxonomies", "undelivered"), (dict,)),
    **dict.fromkeys(("factors", "generator_notes", "notes"), (str,)),
    **dict.fromkeys(("baseline", "counts", "dimensions", "packages", "records"), dict),
    **dict.fromkeys(("sections", "tables", "versions", "words"), dict),
    **dict.fromkeys(("audit_base", "stereotrope_version", "title"), str),
    "calls": int,
    "format_version": int | str,
    "level": int | float,
    "seed": int,
    "sensitive": bool,
    "suite": str | None,
}
"""Key of ``run.json`` → its type, where it is there; a tuple has the type of the entries of a list.

Others are keys of further tables."""
_KINDS = {**INFO_KINDS, "lexicons": (dict,)}
_ENTRIES: Mapping[str, Mapping[str, Any]] = {
    "undelivered": {"generators": (str,), "prompts": (dict,), "sentence": str},
    "annotators": {"name": str},
    "generators": {"name": str, "note": str | None},
    "looks": {"look": int, "pictures": int, "alpha": int | float, "told": int},
    "missing": {"stage": str, "name": str, "n": int, "of": int, "reason": str},
}
"""Key of ``run.json`` → what each of its entries must have."""
