"""What the files of a run were when they were written: a changed file is told from a mistake of ours."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from stereotrope.errors import RunDamaged, StereotropeError
from stereotrope.run.disk import write_atomic

SEAL, LEDGER, _LAST = "seal.json", "ledger.db", "findings.parquet"
_SEALED = ("run.json", "audit.yaml", "*.parquet", "embeddings/*.parquet")


def write_seal(run: Path, *, before: Mapping[str, str | None] | None = None) -> None:
    """Write the SHA-256 of every table, of ``run.json`` and of the audit file, by name.

    before: What these were, of files whose change is to be told further on.
    """
    text = json.dumps({**sealed_digests(run), **(before or {})}, sort_keys=True, indent=2)
    write_atomic(run / SEAL, f"{text}\n".encode())


def break_seal(run: Path) -> None:
    """Take the seal away before files are written, so that none counts as changed by hand meanwhile."""
    (run / SEAL).unlink(missing_ok=True)


def is_sealed(run: Path) -> bool:
    """Whether every table is there as it was written last, to the end."""
    return (run / SEAL).is_file() and not changed_files(run)


@contextmanager
def changes_told(run: Path) -> Iterator[Mapping[str, str | None]]:
    """Tell of files that were changed since they were written, where work on a run fails in any other way.

    Gives their names, each with the SHA-256 that was written, and the ledger's where it is gone.

    Raises RunDamaged: Something failed that no error of ours explains, and a file was not what was written
        when the work began, or nothing says what was written.
    """
    changed = changed_files(run)
    try:
        lost = {} if (run / LEDGER).is_file() or not (run / SEAL).is_file() else {LEDGER: None}
        yield {**{name: digest for name, digest in changed.items() if name != SEAL}, **lost}
    except (StereotropeError, OSError, MemoryError):
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        if not changed:
            raise
        what = f"{', '.join(changed)} {'was' if len(changed) == 1 else 'were'} changed since the run was made"
        if [*changed] == [SEAL]:
            what = f"{SEAL}, which says what was written, is no longer there, and a file was changed"
        raise RunDamaged(
            f"{run}: {what} and cannot be read ({type(error).__name__}); continue the run with `stereotrope "
            "run audit.yaml -o <this folder>`: what was changed is made anew"
        ) from error


def was_written(run: Path, name: str) -> bool:
    """Whether a file was there when the run was written last, to the end."""
    return name in (_sealed(run) or ())


def _sealed(run: Path) -> dict[str, str] | None:
    try:
        sealed = json.loads((run / SEAL).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return sealed if sealed and isinstance(sealed, dict) else None


def changed_files(run: Path) -> dict[str, str | None]:
    """Names of files that are not as the seal has them, each with what it has; the seal's own without one."""
    sealed = _sealed(run)
    if sealed is None:
        return {SEAL: None} if (run / _LAST).exists() else {}
    found = sealed_digests(run)
    names = sorted({*sealed, *found})
    return {name: sealed.get(name) for name in names if sealed.get(name) != found.get(name)}


def sealed_digests(run: Path) -> dict[str, str]:
    """Return the SHA-256 of each file that a seal names, as it is now."""
    files = sorted(file for pattern in _SEALED for file in run.glob(pattern) if file.is_file())
    return {file.relative_to(run).as_posix(): _digest(file) for file in files}


def _digest(file: Path) -> str:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return "unreadable"
