"""Write a run's report into its folder."""

import re
import threading
from collections.abc import Callable
from pathlib import Path

import polars as pl

from stereotrope.errors import RunError
from stereotrope.report.charts.engine import MOST_PIXELS
from stereotrope.report.contract import sections_in_order
from stereotrope.report.document import asset
from stereotrope.report.exhibits import BUDGET
from stereotrope.report.exports import MOST_TEXT_ROWS, DrawnFigures, Exports, write_figures, write_table
from stereotrope.report.material import Material, Words
from stereotrope.report.page import build
from stereotrope.report.series import series_in
from stereotrope.report.standing import StandingReport
from stereotrope.run import Run, changes_told, make_folder, sweep
from stereotrope.run.disk import TMP_PREFIX
from stereotrope.tables import N_SUBJECTS

_PAGE = "index.html"
_MARK = b'<meta name="generator" content="stereotrope '
_HEAD = 4_000
"""Bytes at the beginning of a page within which the mark of ours stands."""
_ENDINGS = {"tables": {".csv", ".md", ".tex", ".parquet"}, "figures": {".svg", ".png"}}


def write(
    run: Run,
    *,
    out: Path | str | None = None,
    figures: bool = True,
    budget: int = BUDGET,
    words: Words | None = None,
    stop: threading.Event | None = None,
    say: Callable[[str], None] | None = None,
    doing: Callable[[str], None] = lambda part: None,
) -> Path:
    """Write the report of a run: the page, its tables and its figures, each file whole or not at all.

    The same run gives the same bytes with the same versions of polars and vl-convert. Thumbnails and figures
    whose pictures and data are as they were are taken from the last report (``cache`` in the run's folder,
    which may be removed at any time); the others are made on all processors. A report stays as it is where
    neither anything that it shows nor any file of it has changed.

    run: An opened run. Only what it stores is read.
    out: Folder of the report; ``report`` in the run's folder when None, where files of an earlier report that
        are not made again are removed.
    figures: Also draw the figures as SVG and PNG; without, none of an earlier report stay.
    budget: Bytes of all thumbnails in the page; beyond it pictures are left out, evenly over the conditions,
        and the page says so.
    words: Makes the words of measures where the run stores none, as older ones do.
    stop: When set, the file at hand is finished and :class:`~stereotrope.errors.Interrupted` raised.
    say: Is told how many pictures can no longer be read, where there are some.
    doing: Is told which part is made now: the page, the tables or the figures; nothing at the end.

    Returns: The page, ``index.html``: one file, no script or picture from elsewhere.

    Raises RunError: The run has no tables yet, or the disk is full: files of an earlier report stay. Or
        ``out`` holds files and is no report.
    """
    if out is not None:
        _refuse_strangers(Path(out))
    with changes_told(run.path) as changed:
        standing = StandingReport(run, figures=figures, budget=budget) if out is None else None
        if standing is not None and standing.is_as_written():
            return run.path / "report" / _PAGE
        material = Material(run, words, changed=changed)
        folder = make_folder(Path(out) if out is not None else run.path / "report")
        tables, drawings = (Exports(folder / name, stop) for name in _ENDINGS)
        for place in (folder, tables.folder, drawings.folder):
            sweep(place, below=False)
        doing("page")
        page = build(material, budget=budget, stop=stop)
        if page.lost is not None and say is not None:
            say(page.lost)
        Exports(folder, stop).write(_PAGE, page.html.encode("utf-8"))
        doing("tables")
        _write_tables(material, tables)
        _readme(tables, _FEW_ROWS, ".tex", ".csv", ".parquet")
        if figures:
            doing("figures")
            drawn = DrawnFigures(run.path)
            write_figures(page.figures, page.drawings, drawings, style=asset("style.css"), drawn=drawn)
            _readme(drawings, _VECTOR_ONLY, ".png", ".svg")
        if out is None:
            for made in (tables, drawings):
                endings = _ENDINGS[made.folder.name]
                ours = {p for p in made.folder.iterdir() if p.suffix in endings or p.name == "README.txt"}
                for path in ours.difference(made.written):
                    path.unlink()
        if standing is not None and page.lost is None:
            standing.keep()
    doing("")
    return folder / _PAGE


def _refuse_strangers(folder: Path) -> None:
    """Keep files that are of no report; what a killed report left, folders without files, may be there."""
    page = folder / _PAGE
    if page.is_file():
        with page.open("rb") as read:
            if _MARK in read.read(_HEAD):
                return
    files = (path for path in folder.rglob("*") if not path.is_dir() and not path.name.startswith(TMP_PREFIX))
    if (other := next(files, None)) is not None:
        raise RunError(
            f"{folder}: must be empty, or a report that stereotrope wrote, found {other.name!r} in it; "
            "choose a new or empty folder"
        )


def _write_tables(material: Material, out: Exports) -> None:
    for series in series_in(material.estimates):
        rows, name = series.rows(material.estimates), re.sub("[^0-9A-Za-z_-]", "_", series.name)[:80]
        write_table(rows, out, name, caption=material.explain(series).title)
    write_table(material.findings, out, "findings", caption="Findings")
    if material.run.comparisons.height:
        write_table(material.run.comparisons, out, "comparisons", caption="Comparisons and how they end")
    if material.run.robustness.height:
        write_table(material.run.robustness, out, "robustness", caption="Differences looked at in other ways")
    for section in sections_in_order(material.info):
        for name, (caption, frame) in (section.tables(material) if section.tables else {}).items():
            write_table(frame, out, name, caption=caption)
    for name, caption in material.run.further.items():
        if (table := material.run.table(name)).height:
            write_table(table, out, name, caption=caption)
    by = ["generator", *material.factors, "attribute", "annotator", "status", "value"]
    if material.counted:  # the table `counts` of the run says it
        return
    alike = material.label_counts.group_by(by, maintain_order=True)
    counts = alike.agg(pl.col(N_SUBJECTS).sum().cast(pl.UInt32).alias("labels"))
    write_table(counts, out, "labels", caption="Labels by condition, counted")


_FEW_ROWS = f"CSV and Parquet hold every row. LaTeX and Markdown end at {MOST_TEXT_ROWS} rows; without them:"
_VECTOR_ONLY = (
    "SVG only: figures of single attributes beside an overview of very many conditions, and figures that "
    f"do not fit into {MOST_PIXELS} pixels."
)


def _readme(out: Exports, sentence: str, lacking: str, *endings: str) -> None:
    """Say in ``README.txt`` what is there with these endings and not with another."""
    there = {path.stem for path in out.written if path.suffix == lacking}
    left = [path.stem for path in out.written if path.suffix == endings[0] and path.stem not in there]
    if left:
        lines = [", ".join(f"{name}{ending}" for ending in endings) for name in left]
        out.write("README.txt", "\n".join([sentence, "", *lines, ""]).encode("utf-8"))
