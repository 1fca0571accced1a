"""A run, opened to be read: any number of readers, at any time, beside a writer."""

import contextlib
import copy
import functools
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

import polars as pl
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from stereotrope.clients import BEGUN, totals_of
from stereotrope.errors import RunDamaged, RunError, UsageError
from stereotrope.further_tables import TABLES
from stereotrope.run.disk import require_folder_name
from stereotrope.run.folder import AUDIT, EMBEDDINGS_FOLDER, INFO, read_info
from stereotrope.run.ledger import Ledger
from stereotrope.run.lock import writer_of
from stereotrope.run.looks import looks_in
from stereotrope.run.migration import estimates_of_format_1, findings_of_now, with_own_definitions
from stereotrope.run.seal import was_written
from stereotrope.run.store import PictureStore
from stereotrope.tables import (
    COMPARISONS,
    COUNTS,
    EMBEDDINGS,
    ROBUSTNESS,
    RUN_TABLES,
    SUBJECTS,
    Column,
    plain_scores,
    polars_types,
)

_SHOWN_FINDINGS = 5


@functools.lru_cache(maxsize=8)
def _loaded(text: str) -> Any:
    """An audit file, parsed once for a run, its report, and who opens it afterwards."""
    return YAML(typ="safe").load(text)


class Run:
    """What a run folder holds, read when first asked for.

    The tables are Polars frames: ``run.scores.filter(measure="bds")``.

    info: ``run.json``: versions, seed, generators, annotators, factors, counts, notes.
    Raises RunError: There is no run at ``path``.
    Raises RunFormatError: It is a run of another format version.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        require_folder_name(self.path)
        if not self.path.exists():
            raise RunError(f"{self.path}: there is no such folder; give the folder of a run")
        if not (self.path / INFO).is_file():
            raise RunError(f"{self.path}: is no run folder ({INFO} is missing); give the folder of a run")
        self.info = read_info(self.path)

    @functools.cached_property
    def audit_text(self) -> str:
        """The frozen audit file as it was written."""
        file = self.path / AUDIT
        if not file.is_file():
            raise self._missing(file, "is not there yet")
        try:
            return file.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise self._no_audit(error) from error

    @functools.cached_property
    def audit(self) -> dict[str, Any]:
        """The frozen audit file, parsed."""
        try:
            parsed = copy.deepcopy(_loaded(self.audit_text))
        except YAMLError as error:
            raise self._no_audit(error) from error
        if not isinstance(parsed, dict):
            raise self._no_audit("no mapping")
        return parsed

    def _missing(self, file: Path, not_yet: str) -> RunError:
        if was_written(self.path, file.name):
            return RunDamaged(
                f"{file}: is gone, and was there when the run ended; put it back, or {_CONTINUE}"
            )
        if writer := writer_of(self.path):
            return RunError(f"{file}: {not_yet}; wait for {writer}, or where that has ended {_CONTINUE}")
        return RunError(f"{file}: {not_yet}; {_CONTINUE}")

    def _no_audit(self, found: object) -> RunDamaged:
        told = " ".join(str(found).split())
        return RunDamaged(f"{self.path / AUDIT}: is not the audit file that was frozen ({told}); {_CONTINUE}")

    @functools.cached_property
    def prompts(self) -> pl.DataFrame:
        """One row a prompt with its factors."""
        return self._table("prompts")

    @functools.cached_property
    def images(self) -> pl.DataFrame:
        """One row a request, refusals and excluded files included."""
        return self._table("images")

    @functools.cached_property
    def labels(self) -> pl.DataFrame:
        """One row for each thing an annotator said or that follows from it.

        Nothing stands in two rows: an open value that was folded has the value as it was written beside it,
        in ``written``. ``derived_from`` tells what follows from other labels (hits of a lexicon, copies,
        marks) from what somebody saw; of a run that does not record it, it is taken from ``run.json``.
        """
        return self._table("labels")

    @functools.cached_property
    def counts(self) -> pl.DataFrame:
        """How many images and regions are alike in a run that counts label files; empty in others.

        Such a run has no row an image and none a label.
        """
        return self._later("counts", COUNTS)

    @functools.cached_property
    def estimates(self) -> pl.DataFrame:
        """One row a number, with what is needed to believe it."""
        return self._table("estimates")

    @property
    def scores(self) -> pl.DataFrame:
        """The measures' own numbers among the estimates: no means, no scores of a subset, no differences."""
        return plain_scores(self.estimates)

    @functools.cached_property
    def findings(self) -> pl.DataFrame:
        """What is worth a person's look, most first."""
        return self._table("findings")

    @functools.cached_property
    def comparisons(self) -> pl.DataFrame:
        """Every comparison that was tested and how it ends; empty in runs that did not keep them."""
        return self._later("comparisons", COMPARISONS)

    @functools.cached_property
    def robustness(self) -> pl.DataFrame:
        """Findings of differences in other ways; empty in runs that did not keep them."""
        return self._later("robustness", ROBUSTNESS)

    def _later(self, name: str, columns: Sequence[Column]) -> pl.DataFrame:
        """A table that runs of this format had not from its beginning."""
        there = (self.path / f"{name}.parquet").is_file()
        return self._table(name) if there else pl.DataFrame(schema=polars_types(columns))

    @functools.cached_property
    def looks(self) -> pl.DataFrame:
        """One row a look at the run as it grew: ``look, pictures, planned, alpha, told, time``.

        ``told`` counts differences. Empty where none was made, or by a version that recorded none.
        """
        file = self.path / "ledger.db"
        rows: list[tuple[Any, ...]] = []
        if file.is_file():
            with Ledger(file, readonly=True) as ledger:
                told = enumerate(looks_in(ledger), start=1)
                rows = [
                    (number, o.pictures, o.planned and str(o.planned), o.alpha, len(o.told), o.time)
                    for number, o in told
                ]
        return pl.DataFrame(rows, schema=_LOOKS, orient="row")

    def scan(self, name: str) -> pl.LazyFrame:
        """Return ``images`` or ``labels`` to be read in parts: only rows and columns that are asked for."""
        file, known = self.path / f"{name}.parquet", polars_types(RUN_TABLES[name])
        with contextlib.suppress(pl.exceptions.PolarsError, OSError):
            stored = pl.read_parquet_schema(file)
            if name not in self.__dict__ and known.items() <= dict(stored).items():
                return pl.scan_parquet(file, glob=False)
        return pl.LazyFrame(getattr(self, name))

    @functools.cached_property
    def embeddings(self) -> pl.DataFrame:
        """One row a vector of a picture or a prompt's text, by encoder; empty where there are none."""
        files = sorted((self.path / EMBEDDINGS_FOLDER).glob("*.parquet"))
        names = [f"{EMBEDDINGS_FOLDER}/{file.stem}" for file in files]
        empty = pl.DataFrame(schema=polars_types(EMBEDDINGS))
        return pl.concat([empty, *(self._table(name, EMBEDDINGS) for name in names)])

    @functools.cached_property
    def subjects(self) -> pl.DataFrame:
        """The images of each region and set that an annotator looks at; empty where there are none."""
        there = (self.path / "subjects.parquet").is_file()
        return self._table("subjects") if there else pl.DataFrame(schema=polars_types(SUBJECTS))

    @functools.cached_property
    def reference(self) -> pl.DataFrame | None:
        """Labels known to be true, None where the run has none."""
        return self._table("reference") if (self.path / "reference.parquet").is_file() else None

    @functools.cached_property
    def further(self) -> dict[str, str]:
        """Name → caption of each further table that this run has; :meth:`table` opens it."""
        stored = self.info.get("tables")
        if stored is not None:
            return {name: str(one["caption"]) for name, one in stored.items()}
        known = {name: each.caption for name, each in TABLES.items()}
        return {name: text for name, text in known.items() if (self.path / f"{name}.parquet").is_file()}

    def table(self, name: str) -> pl.DataFrame:
        """Return a further table; empty where this run has none of it.

        Raises UsageError: The run has no such table, and nothing that is installed makes one.
        """
        columns = TABLES[name].columns if name in TABLES else None
        if name in self.further:
            return self._table(name, columns or ())
        if columns is None:
            have = ", ".join(self.further) or "none"
            raise UsageError(f"{self.path}: has no table {name!r}, and no package makes it; it has {have}")
        return pl.DataFrame(schema=polars_types(columns))

    @functools.cached_property
    def spending(self) -> pl.DataFrame:
        """Calls to model servers, one row a model and kind: how they ended, tokens, US dollars.

        ``begun`` counts calls sent, ``unanswered`` those of which nothing came back before the run was
        stopped: they may have been charged. ``cost`` is what is known, ``unpriced`` the calls whose price
        is not. Empty where every generator and annotator works here.
        """
        file = self.path / "ledger.db"
        if not file.is_file():
            return pl.DataFrame(schema=_SPENDING)
        with Ledger(file, readonly=True) as ledger:
            totals = totals_of(ledger.get_all(BEGUN), ledger.get_all("calls:answered"))
        return pl.DataFrame([asdict(total) for total in totals], schema=_SPENDING)

    def picture(self, image_id: str) -> bytes:
        """Return the original bytes of an image.

        Raises UsageError: There is no such image, or it has no picture (refused, excluded or absent).
        Raises RunDamaged: The picture is missing or was changed.
        """
        found = self._stored.filter(pl.col("image_id") == image_id)
        if found.is_empty():
            raise UsageError(f"{self.path}: has no image {image_id!r}; image ids are in `run.images`")
        _, path, status, reason = found.row(0)
        if path is None:
            raise UsageError(f"image {image_id!r} has no picture: {status} ({reason or 'no reason given'})")
        return self._store.get(path)

    @functools.cached_property
    def _store(self) -> PictureStore:
        return PictureStore(self.path)

    def stamps(self, image_ids: Sequence[str]) -> dict[str, str]:
        """Return of each image that has a picture what stays while the picture's file is as it was."""
        store, named = self._store, pl.Series(image_ids, dtype=pl.String)
        rows = self._stored.filter(pl.col("image_id").is_in(named.implode())).select("image_id", "path")
        stamps = {image: store.stamp(path) for image, path in rows.drop_nulls().iter_rows()}
        return {image: stamp for image, stamp in stamps.items() if stamp is not None}

    def __repr__(self) -> str:
        counts = self.info.get("counts") or {}
        told = ", ".join(
            f"{counts[name]} {name}" for name in ("prompts", "images", "labels") if name in counts
        )
        return f"<stereotrope run {str(self.path)!r}: {told or 'unfinished'}>"

    def _repr_html_(self) -> str:
        """Title, counts and first findings, for a notebook."""
        title = self.info.get("title") or self.path.name
        names = [str(generator.get("name")) for generator in self.info.get("generators") or []]
        counts = self.info.get("counts") or {}
        lines = [f"<strong>{escape(str(title))}</strong>"]
        if names:
            lines.append(f"generators: {escape(', '.join(names))}")
        if counts:
            lines.append(escape(", ".join(f"{n} {name}" for name, n in counts.items())))
        items = ""
        if (self.path / "findings.parquet").is_file():
            sentences = self.findings.sort("rank", nulls_last=True).head(_SHOWN_FINDINGS)["sentence"]
            items = "".join(f"<li>{escape(str(sentence))}</li>" for sentence in sentences)
        elif not counts:
            lines.append("unfinished: no tables yet")
        return f"<div>{'<br>'.join(lines)}{f'<ul>{items}</ul>' if items else ''}</div>"

    @functools.cached_property
    def _stored(self) -> pl.DataFrame:
        return self.scan("images").select("image_id", "path", "status", "reason").collect()

    def _table(self, name: str, columns: Sequence[Column] | None = None) -> pl.DataFrame:
        file = self.path / f"{name}.parquet"
        if not file.is_file():
            raise self._missing(file, "is not there yet; the run has not come that far")
        data = file.read_bytes()
        try:
            table = pl.read_parquet(io.BytesIO(data))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise RunDamaged(
                f"{file}: is torn or was changed ({error}); {_CONTINUE}: tables are made anew"
            ) from error
        if name == "labels" and "written" not in table.columns:
            table = _one_row_a_label(table, self.info)
        if name == "subjects" and "annotators" not in table.columns:
            table = table.with_columns(annotators=pl.lit(None, pl.String))
        if name == "findings":
            table = findings_of_now(table)
        if name == "estimates":
            table = with_own_definitions(estimates_of_format_1(table))
        known = polars_types(RUN_TABLES[name] if columns is None else columns)
        wrong = [column for column, kind in known.items() if table.schema.get(column) != kind]
        if wrong:
            raise RunDamaged(
                f"{file}: was changed (column {wrong[0]!r} is not as it was written); {_CONTINUE}: tables "
                "are made anew"
            )
        return table


def _one_row_a_label(table: pl.DataFrame, info: Mapping[str, Any]) -> pl.DataFrame:
    """Labels of a run whose folded values are rows of their own: each beside the label it was made from."""
    columns = ["subject_kind", "subject_id", "region", "attribute", "annotator"]
    if not {*columns, "value"} <= set(table.columns):
        return table
    mark, time = "folded:", pl.int_range(pl.len()).over(columns).alias("time")
    folds = pl.col("annotator").str.starts_with(mark).fill_null(False)
    copies = table.filter(folds).with_columns(pl.col("annotator").str.strip_prefix(mark))
    copies = copies.select(*columns, time, folded="value")
    readers = {one.get("annotator"): one.get("captioner") for one in info.get("lexicons", ())}
    itself = pl.col("attribute").is_in(["exact_duplicate_of", "near_duplicate_of", "seen_in_discovery"])
    joined = (
        table.filter(~folds)
        .with_columns(time)
        .join(copies, on=[*columns, "time"], how="left", nulls_equal=True, maintain_order="left")
    )
    return joined.with_columns(
        value=pl.coalesce("folded", "value"),
        written=pl.when(pl.col("folded") != pl.col("value")).then("value"),
        derived_from=pl.when(itself)
        .then("annotator")
        .otherwise(pl.col("annotator").replace_strict(readers, default=None, return_dtype=pl.String)),
    ).drop("folded", "time")


_SPENDING = {
    **dict.fromkeys(("provider", "model", "kind"), pl.String),
    **dict.fromkeys(("begun", "ok", "refused", "failed", "unanswered"), pl.Int64),
    **dict.fromkeys(("input_tokens", "output_tokens", "images"), pl.Int64),
    "cost": pl.Float64,
    "unpriced": pl.Int64,
}
_LOOKS = {
    **dict.fromkeys(("look", "pictures"), pl.Int64),
    "planned": pl.String,
    "alpha": pl.Float64,
    "told": pl.Int64,
    "time": pl.String,
}
_CONTINUE = "continue it with `stereotrope run audit.yaml -o <this folder>`"


def open(path: str | os.PathLike[str]) -> Run:
    """Open a run folder to read it; see :class:`Run`."""
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"open: a run folder must be a path or text, found {path!r}")
    return Run(Path(path))
