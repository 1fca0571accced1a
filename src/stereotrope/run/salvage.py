"""The file of a ledger: how it is made, and how sound rows are carried out of a damaged one.

SQLite refuses a file whose first page is torn, and stops at the first bad page otherwise. What a row
holds may have been paid for, so the pages are read here directly: every leaf of a table, in the file
and in its write-ahead log, wherever it stands. A row counts only if its checksum says so.

The layout read here is https://www.sqlite.org/fileformat2.html, sections 1.5, 1.6, 2.1 and 4.1.
"""

import contextlib
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from stereotrope.errors import RunFormatError
from stereotrope.run.disk import quarantine, sync_folder

SALVAGED = "ledger.salvaged.db"
"""A complete new ledger that waits to take the place of the damaged one."""
_APPLICATION_ID = 0x53545250
_VERSION = 1
_PAGE_SIZE = 4096
# `item` counts upwards, so rows are appended to the tree; the content key is a unique index beside it.
# `crc` tells a sound row from a plausible one when a damaged file is salvaged.
_SCHEMA = f"""
PRAGMA page_size = {_PAGE_SIZE};
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {_VERSION};
CREATE TABLE items (
    item INTEGER PRIMARY KEY,
    stage TEXT NOT NULL,
    key TEXT NOT NULL,
    payload TEXT NOT NULL,
    crc INTEGER NOT NULL
);
CREATE UNIQUE INDEX items_by_key ON items (stage, key);
"""
INSERT = (
    "INSERT INTO items (stage, key, payload, crc) VALUES (?, ?, ?, ?) ON CONFLICT (stage, key) DO NOTHING"
)
_LEAF = 0x0D
_MAGIC = b"SQLite format 3\0"
_WAL_HEADER, _FRAME_HEADER, _FILE_HEADER = 32, 24, 100
_COLUMNS = 5
_LATER_VERSIONS = 1_000

LedgerRow = tuple[str, str, str]


def crc_of(row: LedgerRow) -> int:
    """Return what stands beside a row, to tell whether it is sound."""
    return zlib.crc32("\0".join(row).encode("utf-8", "surrogatepass"))


def mend_or_make(path: Path) -> str | None:
    """Leave a sound ledger at ``path``; say what was damaged, and what became of it.

    Raises RunFormatError: It is a sound ledger of a later version.
    """
    finish(path)
    if not path.exists():
        _build(path, ())
        return None
    damage = damage_of(path)
    if damage is None:
        return None
    rows = _salvaged(path)
    _build(path.with_name(SALVAGED), rows)
    moved = finish(path)
    return (
        f"{path.name} was damaged ({damage}); {len(rows)} finished items were salvaged, what was lost is "
        f"made again; the damaged file is {moved}"
    )


def _build(path: Path, rows: Iterable[LedgerRow]) -> None:
    """Make a complete ledger under a temporary name, then give it its own."""
    temporary = path.with_name(f".tmp-{path.name}")
    for suffix in ("", "-journal"):
        temporary.with_name(temporary.name + suffix).unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(temporary.absolute(), isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.executescript(_SCHEMA)
        connection.execute("BEGIN")
        connection.executemany(INSERT, ((*row, crc_of(row)) for row in rows))
        connection.execute("COMMIT")
    temporary.replace(path)
    sync_folder(path.parent)


def damage_of(path: Path, *, uri: str | None = None) -> str | None:
    """Say what is wrong with a ledger, None when every page and row is sound.

    uri: How it is opened, where not to be written.
    """
    with path.open("rb") as file:
        head = file.read(_FILE_HEADER)
    if not head.startswith(_MAGIC):
        return f"its header is not SQLite's; {path.stat().st_size} bytes"
    try:
        with contextlib.closing(sqlite3.connect(uri or path.absolute(), uri=uri is not None)) as connection:
            (found,) = connection.execute("PRAGMA application_id").fetchone()
            (number,) = connection.execute("PRAGMA user_version").fetchone()
            said = [text for (text,) in connection.execute("PRAGMA integrity_check(3)")]
            if said != ["ok"]:
                return "; ".join(said)
            if found != _APPLICATION_ID:
                return "it is another program's database"
            if number < _VERSION or number > _VERSION + _LATER_VERSIONS:
                return f"its header names version {number}"
            if number > _VERSION:
                raise RunFormatError(
                    f"{path}: is a ledger of version {number}, this stereotrope reads up to {_VERSION}; "
                    "install a newer stereotrope to continue this run"
                )
            if _made(connection) != _ours():
                return "its tables, indexes or triggers are not those it was made with"
            # Both ways of reading must agree, as `missing` reads the index and the tables the rows.
            bad = sum(
                crc_of((stage, key, payload)) != crc
                for stage, key, payload, crc in connection.execute(
                    "SELECT stage, key, payload, crc FROM items NOT INDEXED"
                )
            )
            fail = "row fails its" if bad == 1 else "rows fail their"
            return f"{bad} {fail} checksum" if bad else None
    except (sqlite3.DatabaseError, UnicodeDecodeError, TypeError, AttributeError) as error:
        return str(error)


def _made(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """What a database consists of, in SQL: an index that lacks or a trigger loses items without an error."""
    rows = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'"
    )
    return {(name, " ".join(str(sql).split())) for name, sql in rows}


@cache
def _ours() -> set[tuple[str, str]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_SCHEMA)
        return _made(connection)


def _salvaged(path: Path) -> list[LedgerRow]:
    """Return every row of a damaged ledger and its log that passes its checksum, the latest of each key."""
    data, log = path.read_bytes(), path.with_name(path.name + "-wal")
    parts = (data[at : at + _PAGE_SIZE] for at in range(0, len(data), _PAGE_SIZE))
    pages: dict[int, bytes] = {}
    rows: dict[tuple[str, str], LedgerRow] = {}
    for group in (dict(enumerate(parts, 1)), *(_commits(log.read_bytes()) if log.exists() else ())):
        pages.update(group)
        for number, page in group.items():
            rows |= {row[:2]: row for row in _rows_of(page, number, pages)}
    return list(rows.values())


def finish(path: Path) -> str | None:
    """Put a complete salvaged ledger in the place of the damaged one, also after a kill half-way.

    The log goes first: SQLite would apply a foreign one to the new file.
    """
    salvaged = path.with_name(SALVAGED)
    if not salvaged.exists():
        return None
    path.with_name(path.name + "-shm").unlink(missing_ok=True)
    moved = None
    for name in (path.name + "-wal", path.name):
        old = path.with_name(name)
        if old.exists():
            moved = quarantine(path.parent, old)
    os.replace(salvaged, path)
    sync_folder(path.parent)
    return str(moved.relative_to(path.parent)) if moved else None


def _commits(log: bytes) -> Iterator[dict[int, bytes]]:
    """Yield the pages of each commit in a write-ahead log: a row and its overflow pages come together."""
    group: dict[int, bytes] = {}
    for at in range(_WAL_HEADER, len(log) - _FRAME_HEADER, _FRAME_HEADER + _PAGE_SIZE):
        start = at + _FRAME_HEADER
        group[int.from_bytes(log[at : at + 4], "big")] = log[start : start + _PAGE_SIZE]
        if log[at + 4 : at + 8] != b"\0\0\0\0":
            yield group
            group = {}
    yield group


def _rows_of(page: bytes, number: int, pages: dict[int, bytes]) -> Iterator[LedgerRow]:
    start = _FILE_HEADER if number == 1 else 0
    if len(page) < start + 8 or page[start] != _LEAF:
        return
    count = int.from_bytes(page[start + 3 : start + 5], "big")
    for cell in range(count):
        at = start + 8 + 2 * cell
        offset = int.from_bytes(page[at : at + 2], "big")
        try:
            row, crc = _record(_payload(page, offset, pages))
        except (IndexError, ValueError, KeyError):
            continue
        if crc_of(row) == crc:
            yield row


def _payload(page: bytes, at: int, pages: dict[int, bytes]) -> bytes:
    size, at = _varint(page, at)
    _, at = _varint(page, at)
    if size > _PAGE_SIZE * len(pages):
        raise ValueError("longer than the file")
    # Section 1.6: how much of a long record stays on a table leaf.
    most, least = _PAGE_SIZE - 35, (_PAGE_SIZE - 12) * 32 // 255 - 23
    local = least + (size - least) % (_PAGE_SIZE - 4)
    here = size if size <= most else local if local <= most else least
    content = page[at : at + here]
    following = int.from_bytes(page[at + here : at + here + 4], "big") if here < size else 0
    while len(content) < size:
        overflow = pages[following]
        following = int.from_bytes(overflow[:4], "big")
        if len(overflow) <= 4:
            raise ValueError("cut off")
        content += overflow[4 : 4 + size - len(content)]
    return content


def _record(content: bytes) -> tuple[LedgerRow, int]:
    end, at = _varint(content, 0)
    kinds = []
    while at < end:
        kind, at = _varint(content, at)
        kinds.append(kind)
    if len(kinds) != _COLUMNS:
        raise ValueError("another table's row")
    texts = []
    for kind in kinds[1:4]:
        if kind < 13 or kind % 2 == 0:
            raise ValueError("not a text")
        length = (kind - 13) // 2
        texts.append(content[end : end + length].decode("utf-8"))
        end += length
    width = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 8: 0, 9: 0}[kinds[4]]
    checksum = (
        int(kinds[4] == 9) if not width else int.from_bytes(content[end : end + width], "big", signed=True)
    )
    return (texts[0], texts[1], texts[2]), checksum


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for position in range(8):
        byte = data[at + position]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + position + 1
    return value << 8 | data[at + 8], at + 9
