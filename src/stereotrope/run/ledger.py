"""The ledger: one row a finished work item, durable before anything else happens to it."""

import contextlib
import json
import os
import queue
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, Self

import polars as pl

from stereotrope.errors import RunDamaged, RunError
from stereotrope.run.disk import explain_full
from stereotrope.run.salvage import INSERT, crc_of, mend_or_make

_GROUP = 1_000
_BUSY_SECONDS = 30.0
_CACHE_KIB = 64 * 1024
"""Of what is written; what is read is read in order, or lies in the system's own cache."""
_PART = 20_000
"""Items that are in memory at once where a stage is read in parts."""
_AMONG = "items.stage = ? AND items.key = asked.value"

Payloads = dict[str, dict[str, Any]]
"""Key → payload."""
_Order = tuple[str, list[tuple[Any, ...]], "Future[None]"]


class Ledger:
    """The finished work items of a run: ``(stage, key) → payload``.

    A damaged file is noticed when a writer opens it: every row that can still be proven sound is
    carried into a new file, the damaged one moves to ``quarantine/``, and :attr:`notes` says so.
    Writing is safe from any thread; what waits together is committed together (WAL,
    ``synchronous=FULL``), so durability costs one sync a group.

    path: The SQLite file; made when it is not there, unless ``readonly``.
    readonly: Read beside a writer: no lock is needed, and every read sees the last commit. Where nobody
        writes when it is opened, it goes on reading what there was then.
    """

    def __init__(self, path: Path | str, *, readonly: bool = False) -> None:
        self.path = Path(path)
        self.readonly = readonly
        self.notes: list[str] = []
        self._orders: queue.SimpleQueue[_Order | None] = queue.SimpleQueue()
        self._guard = threading.Lock()
        self._door = threading.Lock()
        self._broken: RunError | OSError | None = None
        self._thread: threading.Thread | None = None
        if readonly:
            self._reading = self._open_for_reading()
            return
        with self._explained():
            mended = mend_or_make(self.path)
            self.notes += [mended] if mended else []
            self._reading = self._connect()
            self._writing = self._connect()
            self._writing.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self._thread = threading.Thread(target=self._write_groups, name="stereotrope-ledger", daemon=True)
        self._thread.start()

    def put(self, stage: str, key: str, payload: Mapping[str, Any]) -> None:
        """Record one finished item; durable when this returns.

        A key that is there already keeps its first payload.

        Raises RunError: The disk is full or cannot be written; nothing of this item is recorded.
        """
        self.put_soon(stage, {key: payload}).result()

    def put_many(self, stage: str, payloads: Mapping[str, Mapping[str, Any]]) -> None:
        """Record several finished items in one commit; durable when this returns."""
        self.put_soon(stage, payloads).result()

    def put_soon(self, stage: str, payloads: Mapping[str, Mapping[str, Any]]) -> "Future[None]":
        """Record several finished items in one commit; durable when what this returns is done."""
        written = partial(json.dumps, sort_keys=True, separators=(",", ":"), allow_nan=False)
        rows = [(stage, key, written(payload)) for key, payload in payloads.items()]
        return self._order(INSERT, [(*row, crc_of(row)) for row in rows])

    def forget(self, stage: str, keys: Iterable[str]) -> None:
        """Drop items so that they are made again: those whose picture was lost or damaged."""
        self._order("DELETE FROM items WHERE stage = ? AND key = ?", [(stage, key) for key in keys]).result()

    def missing(self, stage: str, keys: Iterable[str]) -> list[str]:
        """Return the keys not finished yet, each once, in the order given."""
        named = pl.Series(list(keys), dtype=pl.String)
        return named.gather(self.missing_at(stage, named)).to_list()

    def missing_at(self, stage: str, keys: pl.Series) -> pl.Series:
        """Return where the keys stand that are not finished yet, each once, in their order."""
        places = keys.is_first_distinct().arg_true()
        if not self._read("SELECT 1 FROM items WHERE stage = ? LIMIT 1", (stage,)):
            return places
        finished = f"SELECT 1 FROM items WHERE {_AMONG}"
        asked = f"SELECT asked.key FROM json_each(?) AS asked WHERE NOT EXISTS ({finished})"
        left = [places.clear()]
        for at in range(0, places.len(), _PART):
            part = places.slice(at, _PART)
            rows = self._read(asked, (json.dumps(keys.gather(part).to_list()), stage))
            left.append(part.gather([place for (place,) in rows]))
        return pl.concat(left)

    def get_all(self, stage: str) -> Payloads:
        """Return every payload of a stage by key, in the order of the keys: of a stage of few items."""
        return _payloads(self._read("SELECT key, payload FROM items WHERE stage = ? ORDER BY key", (stage,)))

    def get_some(self, stage: str, keys: Iterable[str]) -> Payloads:
        """Return the payloads of these keys, as far as they are finished."""
        asked = f"SELECT items.key, items.payload FROM json_each(?) AS asked CROSS JOIN items ON {_AMONG}"
        return _payloads(self._read(asked, (json.dumps(list(keys)), stage)))

    def parts(self, stage: str) -> Iterator[Payloads]:
        """Yield every payload of a stage by key, some at a time, in the order in which they were recorded."""
        which = "stage = ? AND item > ? ORDER BY item LIMIT ?"
        asked = f"SELECT key, payload, item FROM items NOT INDEXED WHERE {which}"
        last = -1
        while rows := self._read(asked, (stage, last, _PART)):
            last = rows[-1][2]
            yield _payloads(row[:2] for row in rows)

    def totals(self) -> dict[str, int]:
        """Return the number of finished items a stage."""
        return dict(self._read("SELECT stage, count(*) FROM items GROUP BY stage ORDER BY stage", ()))

    def close(self) -> None:
        """Finish what waits, fold the log into the file and close it."""
        with self._door:  # what comes later is refused and not waited for
            writer, self._thread = self._thread, None
            self._orders.put(None)
        if writer is not None:
            writer.join()
            self._writing.close()
        with self._guard:
            self._reading.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _order(self, sql: str, rows: list[tuple[Any, ...]]) -> "Future[None]":
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()  # who waits no longer calls nothing off
        with self._door:
            if self._thread is None:
                raise RunError(
                    f"{self.path}: is {'open for reading' if self.readonly else 'closed'}; nothing can be "
                    "recorded"
                )
            self._orders.put((sql, rows, done))
        return done

    def _write_groups(self) -> None:
        closing = False
        while not closing:
            group: list[_Order] = []
            order = self._orders.get()
            while order is not None:
                group.append(order)
                if len(group) == _GROUP or self._orders.empty():
                    break
                order = self._orders.get()
            closing = order is None
            error = self._commit(group)
            for _, _, done in group:
                if error is None:
                    done.set_result(None)
                else:
                    done.set_exception(error)

    def _commit(self, group: Sequence[_Order]) -> RunError | OSError | None:
        if self._broken is not None or not group:
            return self._broken
        try:
            with self._explained():
                try:
                    self._writing.execute("BEGIN IMMEDIATE")
                    for sql, rows, _ in group:
                        self._writing.executemany(sql, rows)
                    self._writing.execute("COMMIT")
                finally:
                    if self._writing.in_transaction:
                        self._writing.execute("ROLLBACK")
        except (RunError, OSError) as error:
            self._broken = error
        return self._broken

    def _read(self, sql: str, arguments: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._guard, self._explained():
            return self._reading.execute(sql, arguments).fetchall()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path.absolute(), isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _open_for_reading(self) -> sqlite3.Connection:
        if not self.path.is_file():
            raise RunError(f"{self.path}: there is no ledger here; start the run first")
        # Where nobody writes: so that no log is left beside the file, in a folder that may be read-only.
        mode = "mode=ro" if self.path.with_name(self.path.name + "-wal").exists() else "immutable=1"
        uri = f"{self.path.resolve().as_uri()}?{mode}"
        with self._explained():
            connection = sqlite3.connect(uri, uri=True, check_same_thread=False, timeout=_BUSY_SECONDS)
            try:
                connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            except sqlite3.Error:
                connection.close()
                raise
            return connection

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            if name.startswith("SQLITE_BUSY"):
                raise RunError(
                    f"{self.path}: another program has held it for {_BUSY_SECONDS:.0f} s; close that "
                    "program, then run the same command again"
                ) from error
            if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")) or name == "SQLITE_NOMEM":
                # SQLite does not say why; the folder it lies in does, where too many files are open.
                os.close(os.open(self.path.parent, os.O_RDONLY))
                if self.path.exists():  # nor whether we may
                    os.close(os.open(self.path, os.O_RDONLY if self.readonly else os.O_RDWR))
            if name == "SQLITE_FULL" or name.startswith("SQLITE_IOERR"):
                raise explain_full(self.path, str(error)) from error
            again = "run the same command again"
            if self.readonly:
                again = f"continue the run with `stereotrope run audit.yaml -o {self.path.parent}`"
            raise RunDamaged(
                f"{self.path}: cannot be read or written ({error}); {again}: what is sound in it is salvaged"
            ) from error


def _payloads(rows: Iterable[tuple[str, str]]) -> Payloads:
    return {key: json.loads(payload) for key, payload in rows}
