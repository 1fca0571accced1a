"""Ways to tamper with a run: every table, its JSON, its audit file, its pictures, its ledger."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

TABLES = ("prompts", "images", "labels", "estimates", "findings")
ODD = (
    None,
    True,
    7,
    -1.5,
    "x",
    "",
    [],
    [1],
    {},
    {"a": 1},
    [{}],
    [None],
    [["a"]],
    {"a": None},
    "\u202e",
    10**30,
)
TEXTS = (None, "", "x", "{", "[]", "null", '{"a": 1}', "[1, 2]", "nan")


def of_tables() -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Each column dropped, of another type, null or foreign; rows dropped, doubled, foreign."""
    for table in TABLES:
        yield f"{table}: gone", lambda run, t=table: (run / f"{t}.parquet").unlink()
        yield f"{table}: a folder", lambda run, t=table: _folder(run / f"{t}.parquet")
        yield f"{table}: cut", lambda run, t=table: _cut(run / f"{t}.parquet")
        yield f"{table}: zeroed", lambda run, t=table: _zeroed(run / f"{t}.parquet")
        yield f"{table}: no rows", lambda run, t=table: _edit(run, t, lambda f: f.clear())
        yield f"{table}: first row only", lambda run, t=table: _edit(run, t, lambda f: f.head(1))
        yield f"{table}: doubled", lambda run, t=table: _edit(run, t, lambda f: pl.concat([f, f]))
        yield f"{table}: reversed", lambda run, t=table: _edit(run, t, lambda f: f.reverse())
        yield (
            f"{table}: one more",
            lambda run, t=table: _edit(run, t, lambda f: f.with_columns(extra=pl.lit(1))),
        )


def of_columns(run: Path) -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Each column of each table of a run, changed in every way."""
    for table in TABLES:
        frame = pl.read_parquet(run / f"{table}.parquet")
        for column, dtype in frame.schema.items():
            at = f"{table}.{column}"
            yield f"{at}: dropped", lambda r, t=table, c=column: _edit(r, t, lambda f: f.drop(c))
            other = pl.Int64 if dtype == pl.String else pl.String
            yield (
                f"{at}: another type",
                lambda r, t=table, c=column, o=other: _edit(
                    r, t, lambda f: f.with_columns(pl.lit(None).cast(o).alias(c))
                ),
            )
            values = TEXTS if dtype == pl.String else (None, 0, -1, 10**12)
            if dtype == pl.Float64:
                values = (*values, float("nan"), float("inf"))
            for value in values:
                for whole in (True, False):
                    yield (
                        f"{at}: {'all' if whole else 'first'} {value!r}",
                        lambda r, t=table, c=column, v=value, d=dtype, w=whole: _edit(
                            r, t, lambda f: _with(f, c, v, d, w)
                        ),
                    )


def of_info(run: Path) -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Each entry of ``run.json``, at any depth up to three, replaced and removed."""
    whole = json.loads((run / "run.json").read_text())
    for path in _paths(whole, 3):
        yield f"run.json {path}: removed", lambda r, p=path: _info(r, p, remove=True)
        for value in ODD:
            yield f"run.json {path}: {value!r}", lambda r, p=path, v=value: _info(r, p, v)
    for text in ("", "{", "null", "[]", "7", '"x"', "{}", "[" * 5000):
        yield f"run.json: {text[:8]!r}", lambda r, t=text: _text(r / "run.json", t)


def of_files() -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Files gone, cut, in the place of folders, or folders in theirs."""
    for name in ("run.json", "audit.yaml", "ledger.db"):
        yield f"{name}: gone", lambda run, n=name: (run / n).unlink()
        yield f"{name}: a folder", lambda run, n=name: _folder(run / n)
        yield f"{name}: cut", lambda run, n=name: _cut(run / n)
        yield f"{name}: zeroed", lambda run, n=name: _zeroed(run / n)
    for text in ("", "- a\n", "suite: objects\n", "a: [\n", "\x00", "suite: nothing\n"):
        yield f"audit.yaml: {text!r}", lambda run, t=text: _text(run / "audit.yaml", t)
    yield "pictures: gone", lambda run: shutil.rmtree(run / "pictures")
    yield (
        "pictures: a file",
        lambda run: _file(run / "pictures"),
    )
    yield (
        "report: a file",
        lambda run: _file(run / "report"),
    )
    yield "index.html: a folder", lambda run: _folder(run / "report" / "index.html")
    yield (
        "tables: a file",
        lambda run: _file(run / "report" / "tables"),
    )
    yield "a table's file: a folder", lambda run: _folder(run / "report" / "tables" / "findings.csv")
    yield "embeddings: a file", lambda run: _text(run / "embeddings", "x")
    for name in ("reference", "lexicon_terms"):
        yield (
            f"{name}: foreign",
            lambda run, n=name: pl.DataFrame({"a": [1]}).write_parquet(run / f"{n}.parquet"),
        )
        yield f"{name}: a folder", lambda run, n=name: (run / f"{n}.parquet").mkdir()
    for what in ("gone", "cut", "a folder"):
        yield f"a picture: {what}", lambda run, w=what: _picture(run, w)


def _picture(run: Path, what: str) -> None:
    file = sorted((run / "pictures").rglob("*.*"))[0]
    {"gone": Path.unlink, "cut": _cut, "a folder": _folder}[what](file)


def _file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("x")


def _text(path: Path, text: str) -> None:
    path.write_text(text)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _zeroed(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))


def _edit(run: Path, table: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    file = run / f"{table}.parquet"
    change(pl.read_parquet(file)).write_parquet(file)


def _with(frame: pl.DataFrame, column: str, value: object, dtype: pl.DataType, whole: bool) -> pl.DataFrame:
    if not frame.height:
        return frame
    values = [value] * frame.height if whole else [value, *frame[column].to_list()[1:]]
    return frame.with_columns(pl.Series(column, values, dtype=dtype, strict=False))


def _paths(tree: object, depth: int) -> Iterator[tuple[str | int, ...]]:
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree[:1]) if isinstance(tree, list) else ()
    for key, value in pairs:
        yield (key,)
        if depth > 1:
            for rest in _paths(value, depth - 1):
                yield (key, *rest)


def _info(run: Path, path: tuple[str | int, ...], value: object = None, *, remove: bool = False) -> None:
    file = run / "run.json"
    whole = at = json.loads(file.read_text())
    for key in path[:-1]:
        at = at[key]
    if remove:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    file.write_text(json.dumps(whole))
