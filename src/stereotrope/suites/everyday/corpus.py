"""Captions of a corpus that name all that a scenario names: pictures that a reference is counted on."""

import glob
import importlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import MetadataError, TableError, UsageError, did_you_mean
from stereotrope.inputs.options import shorten
from stereotrope.shipped import shipped

MOST, FEWEST = 10_000, 50
"""Captions kept of a scenario, and those that a ratio needs: “Large-scale gender analysis”, section 4."""
_BATCH = 50_000
_WORD = r"[\p{L}\p{N}]+(?:['’]\p{L}+)?"


def _json_lines(file: Path) -> pl.LazyFrame:
    """JSON lines, all plain values as texts: further down a column may hold what its first rows do not."""
    itself = glob.escape(str(file))
    found = pl.scan_ndjson(itself, infer_schema_length=10_000).collect_schema()
    return pl.scan_ndjson(
        itself, schema={name: kind if kind.is_nested() else pl.String for name, kind in found.items()}
    )


_SCANS: dict[str, Any] = {
    ".parquet": partial(pl.scan_parquet, glob=False),
    ".csv": partial(pl.scan_csv, infer_schema=False, glob=False),
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
}


@dataclass(frozen=True)
class CorpusMatches:
    """What was found.

    counts: ``scenario, matched, kept``: captions that name all that it names, and those that were kept.
    kept: ``scenario``, the corpus' columns and ``row`` (from 0 over all files), in the corpus' order.
    n_captions: Captions that were read, those without words included.
    without_words: Scenarios that name nothing: every word of theirs is a stop word.
    """

    counts: pl.DataFrame
    kept: pl.DataFrame
    n_captions: int
    without_words: tuple[str, ...]


def match_captions(
    files: Sequence[Path | str],
    prompts: pl.DataFrame,
    *,
    caption: str = "caption",
    most: int = MOST,
    seed: int = 0,
) -> CorpusMatches:
    """Find the captions that hold every word of a scenario but stop words, in any of their forms.

    A word is held by a caption where a form of one of its lemmas is: *baking* by *bake*, *bakes*, *baked*.
    No part of speech is guessed, so that *plants* finds *planted* too. The files are read twice, batch by
    batch; what is kept in memory is the matches.

    files: Parquet, CSV (UTF-8) or JSON lines, read in this order.
    prompts: Prompts of scenarios: ``text``, ``scenario`` and ``variation`` (the subject, whose words do not
        count).
    caption: Column of the captions.
    most: Captions kept of a scenario, drawn at random where there are more.
    seed: Chooses which.
    Raises UsageError: There is no scenario, ``most`` is below 1, or a file is of another kind.
    Raises MetadataError: A file cannot be read, or has no such column.
    """
    if most < 1:
        raise UsageError(f"match_captions: most must be at least 1, found {most}")
    words = scenario_words(prompts)
    names = pl.Series("scenario", list(words), dtype=pl.String)
    wanted, forms = _tables(list(words.values()))
    parts, n, n_matched = [], 0, pl.DataFrame(schema={"at": pl.UInt32, "matched": pl.UInt32})
    for batch in _batches(files, caption):
        found = _found(batch.with_row_index("row", offset=n), caption, wanted, forms)
        n += batch.height
        n_matched = pl.concat([n_matched, found.group_by("at").agg(matched=pl.len())])
        parts.append(found.with_columns(rank=pl.Series(_ranks(found["row"].to_numpy(), seed))))
        if sum(part.height for part in parts) > 20 * _BATCH:
            parts = [_least(parts, most)]
    chosen = _least(parts, most).drop("rank").sort("row", "at")
    totals = n_matched.group_by("at").agg(pl.col("matched").sum())
    kept_of = chosen.group_by("at").agg(kept=pl.len())
    counts = (
        pl.DataFrame({"scenario": names}).with_row_index("at")
        .join(totals, on="at", how="left").join(kept_of, on="at", how="left")
        .sort("at").select("scenario", pl.col("matched", "kept").fill_null(0).cast(pl.Int64))
    )  # fmt: skip
    empty = tuple(name for name, each in words.items() if not each)
    chosen = chosen.with_columns(scenario=names.gather(chosen["at"])).drop("at")
    return CorpusMatches(counts, _rows(files, caption, chosen), n, empty)


def scenario_words(prompts: pl.DataFrame) -> dict[str, tuple[str, ...]]:
    """Words of each scenario beside those of its subject and stop words, in the order in which they stand.

    >>> scenario_words(pl.DataFrame({
    ...     "text": ["a person who is baking a cake"], "variation": ["a person"],
    ...     "scenario": ["a person who is baking a cake"],
    ... }))
    {'a person who is baking a cake': ('baking', 'cake')}
    """
    if missing := {"text", "scenario", "variation"} - set(prompts.columns):
        raise TableError(
            f"prompts: column {min(missing)!r} is missing; prompts of scenarios have it: write `prompts: "
            "{groups: …}`, or take the suite `everyday`"
        )
    stop = set(shipped("suites.everyday", "stop_words.yaml")["words"].split())
    words: dict[str, tuple[str, ...]] = {}
    firsts = prompts.unique("scenario", keep="first", maintain_order=True)
    for text, scenario, subject in firsts.select("text", "scenario", "variation").iter_rows():
        told = [word for word in _split(text.removeprefix(subject)) if word not in stop]
        words[scenario] = tuple(dict.fromkeys(told))
    if not words:
        raise UsageError("match_captions: there is no scenario; write `prompts: {groups: …}`")
    return words


def _split(text: str) -> list[str]:
    return re.findall(r"\w+(?:['’]\w+)?", text.lower())


@cache
def word_forms(word: str) -> frozenset[str]:
    """Every form of a word's lemmas, in lower case, and the word itself.

    >>> sorted(word_forms("baking"))
    ['bake', 'baked', 'bakes', 'baking']
    """
    lemminflect: Any = importlib.import_module("lemminflect")
    lemmas = {word, *(one for given in lemminflect.getAllLemmas(word).values() for one in given)}
    inflected = (lemminflect.getAllInflections(lemma) for lemma in lemmas)
    forms = (form for told in inflected for given in told.values() for form in given)
    return frozenset(each.lower() for each in (*lemmas, *forms))


def _tables(words: Sequence[Sequence[str]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """``key, at, needed`` of the words that scenarios need, and ``form, key`` of how they may be written."""
    keys = {word: key for key, word in enumerate(dict.fromkeys(w for each in words for w in each))}
    rows = [(keys[word], at, len(each)) for at, each in enumerate(words) for word in each]
    forms = [(form, key) for word, key in keys.items() for form in sorted(word_forms(word))]
    return (
        pl.DataFrame(rows, {"key": pl.UInt32, "at": pl.UInt32, "needed": pl.UInt32}, orient="row"),
        pl.DataFrame(forms, {"form": pl.String, "key": pl.UInt32}, orient="row"),
    )


def _found(batch: pl.DataFrame, caption: str, wanted: pl.DataFrame, forms: pl.DataFrame) -> pl.DataFrame:
    """``row, at``: each caption with each scenario whose words it holds."""
    told = batch.select("row", form=pl.col(caption).str.to_lowercase().str.extract_all(_WORD))
    held = told.explode("form").join(forms, on="form").select("row", "key").unique()
    n = held.join(wanted, on="key").group_by("row", "at").agg(pl.len(), pl.col("needed").first())
    return n.filter(pl.col("len") == pl.col("needed")).select("row", "at")


def _least(parts: Sequence[pl.DataFrame], most: int) -> pl.DataFrame:
    """Of each scenario the ``most`` rows of least rank."""
    empty = pl.DataFrame(schema={"row": pl.UInt32, "at": pl.UInt32, "rank": pl.UInt64})
    every = pl.concat([empty, *parts], how="vertical_relaxed")
    return every.filter(pl.col("rank").rank("ordinal").over("at") <= most)


def _ranks(rows: NDArray[Any], seed: int) -> NDArray[np.uint64]:
    """A number a row that looks random: SplitMix64 of row and seed (Steele, Lea and Flood 2014)."""
    mixed = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= np.uint64(np.random.default_rng(seed).integers(2**63))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), np.uint64)


def _scan(file: Path | str, caption: str) -> pl.LazyFrame:
    path = Path(file)
    if path.suffix.lower() not in _SCANS:
        raise UsageError(f"{path}: must end in {', '.join(_SCANS)}; write the captions as one of these")
    if not path.is_file():
        raise UsageError(f"{path}: no file there; check the name")
    with _reading(path):
        frame: pl.LazyFrame = _SCANS[path.suffix.lower()](path)
        columns = frame.collect_schema().names()
    if caption not in columns:
        hint = did_you_mean(caption, columns, otherwise=f"it has {shorten(', '.join(columns))}")
        raise MetadataError(f"{path}: no column {caption!r}, which the captions are read from; {hint}")
    return frame.with_columns(pl.col(caption).cast(pl.String))


@contextmanager
def _reading(file: Path | str) -> Iterator[None]:
    """Turn what cannot be read into one message, with the line where that can be known."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        found = " ".join(str(error).split())[:200]
        raise MetadataError(
            f"{file}{_line_of_trouble(Path(file))}: cannot be read to its end ({found}); mend it there, and "
            "check that it is whole, in UTF-8 and what its ending says"
        ) from None


def _line_of_trouble(file: Path) -> str:
    """The first line that is no UTF-8 or, of JSON lines, no object."""
    kind = file.suffix.lower()
    if kind == ".parquet" or not file.is_file():
        return ""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                text = line.decode()
                if kind != ".csv" and text.strip() and not isinstance(json.loads(text), dict):
                    return f":{number}"
            except ValueError:
                return f":{number}"
    return ""


def _batches(files: Sequence[Path | str], caption: str) -> Iterator[pl.DataFrame]:
    for file, frame in [
        (file, _scan(file, caption)) for file in files
    ]:  # all are looked at before one is read
        with _reading(file):
            yield from frame.select(caption).collect_batches(chunk_size=_BATCH, maintain_order=True)


def _rows(files: Sequence[Path | str], caption: str, chosen: pl.DataFrame) -> pl.DataFrame:
    """The chosen rows with the columns of their files, all as texts."""
    parts, start = [], 0
    for file in files:
        frame = _scan(file, caption)
        kinds = frame.collect_schema().items()
        flat = [name for name, kind in kinds if not kind.is_nested() and name not in ("scenario", "row")]
        with _reading(file):
            n = int(frame.select(pl.len()).collect().item())
            here = chosen.filter(pl.col("row") >= start, pl.col("row") < start + n)
            told = (
                frame.select(pl.col(flat).cast(pl.String))
                .with_row_index("row", offset=start)
                .join(here.select("row").unique().lazy(), on="row", how="semi")
                .collect(engine="streaming")
            )
        parts.append(here.join(told, on="row", how="left", maintain_order="left"))
        start += n
    made = pl.concat(parts, how="diagonal")
    return made.select("scenario", "row", *(name for name in made.columns if name not in ("scenario", "row")))
