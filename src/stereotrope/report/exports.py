"""The report's tables as CSV, Parquet, LaTeX and Markdown, its figures as SVG and PNG."""

import contextlib
import hashlib
import io
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope import escape
from stereotrope.errors import RunError
from stereotrope.report.charts.drawing import CONFIG, inert_chart, side_by_side
from stereotrope.report.charts.engine import Chart, DrawnChart
from stereotrope.report.charts.lanes import draw_charts
from stereotrope.report.datatable import pairs_of
from stereotrope.report.kept import FOLDER, KeptTexts, bytes_at
from stereotrope.report.panels import Figure
from stereotrope.run import make_folder, refuse_stopped, write_atomic

MOST_TEXT_ROWS = 1000
"""Rows up to which a table is also written as LaTeX and Markdown."""

_DRAWN = (".svg", ".png")
_BEYOND = re.compile("[\U00010000-\U0010ffff]")
_PAINTED = re.compile("(?:.*C|c)olor|stroke|fill|background")
"""Keys of a chart that hold a colour."""
_WITHIN = {"condition", "range", "scale", "value"}
"""Keys through which a channel of colour says which."""
_COLOUR = re.compile(r"(--[a-z0-9-]+):\s*light-dark\((#[0-9a-fA-F]{6})")
_STACK = re.compile(r"\n\s+at ")
_REFUSED = re.compile(r"Error: (?!.*\(os error \d)")
"""What the renderer says of a chart, not of the machine."""
_TEXT_DIGITS = 4
_BROKEN = ("sentence", "pattern_sentence", "method", "source", "undefined")
_PAIRS, _LISTS = ("excluded", "scope"), ("image_ids", "pattern_extent")
"""Columns of sentences, broken over lines; of pairs, which read as words; of lists, which are not printed."""


class Exports:
    """The files of a report below one folder, each written whole or not at all; ``written`` has their paths.

    A file that holds the same bytes already stays as it is.

    folder: Where they go; made if it is not there.
    stop: When set, the file at hand is finished and :class:`~stereotrope.errors.Interrupted` raised.

    Raises RunError: The disk is full.
    """

    def __init__(self, folder: Path, stop: threading.Event | None = None) -> None:
        self.folder, self.stop = make_folder(folder), stop
        self.written: list[Path] = []

    def write(self, name: str, data: bytes) -> None:
        """Write one file."""
        path = self.folder / name
        if bytes_at(path) != data:
            write_atomic(path, data)
        self.written.append(path)
        refuse_stopped(self.stop, f"report: stopped after {self.folder.name}/{name}")


def write_table(frame: pl.DataFrame, out: Exports, name: str, *, caption: str) -> None:
    """Write one table: Parquet untouched, CSV with every digit and no text that reads as a formula.

    LaTeX and Markdown are for print: four significant digits, what all rows have in common said once below,
    no lists of pictures, and at most :data:`MOST_TEXT_ROWS` rows.
    """
    guarded = frame.with_columns(_guarded(frame))
    texts = {"csv": guarded.rename({c: escape.csv(c) for c in frame.columns}).write_csv()}
    if frame.height <= MOST_TEXT_ROWS:
        texts |= {"md": _markdown(frame, caption), "tex": _latex(frame, caption, name)}
    for ending, text in texts.items():
        out.write(f"{name}.{ending}", text.encode("utf-8"))
    parquet = io.BytesIO()
    frame.write_parquet(parquet, compression="zstd", statistics=True)
    out.write(f"{name}.parquet", parquet.getvalue())


def _guarded(frame: pl.DataFrame) -> Iterator[pl.Expr]:
    """Each different text of a column is guarded once: most columns hold few, and few hold any to guard."""
    different = frame.select(pl.col(pl.String).unique().implode()).to_dict(as_series=False)
    for name, (texts,) in different.items():
        if changed := {text: safe for text in texts if text and (safe := escape.csv(text)) != text}:
            yield pl.col(name).replace(changed)


def _for_print(frame: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """The columns that tell rows apart, and in words what all rows have in common."""
    filled = [s for s in frame if s.null_count() < max(len(s), 1) and s.name not in _LISTS]
    alike = {s.name: _text(s[0], s.name) for s in filled if len(s) > 1 and s.n_unique() == 1}
    alike = alike if len(alike) < len(filled) else {}
    said = "; ".join(f"{name.replace('_', ' ')}: {text}" for name, text in alike.items())
    return pl.DataFrame([s for s in filled if s.name not in alike]), f"In all rows: {said}." if said else ""


def _text(value: Any, column: str) -> str:
    if value is None:
        return ""
    if column in _PAIRS and (pairs := pairs_of(str(value))) is not None:
        return ", ".join(f"{key}: {inner}" for key, inner in pairs.items())
    return f"{value:.{_TEXT_DIGITS}g}".replace("-", "−") if isinstance(value, float) else str(value)


def _rows(frame: pl.DataFrame, escaped: Callable[[str, int], str]) -> list[tuple[str, ...]]:
    escape_once = cache(lambda text: escaped(text, escape.SENTENCE))
    columns = [[escape_once(_text(value, s.name)) for value in s] for s in frame]
    return [tuple(map(escape_once, frame.columns)), *zip(*columns, strict=True)]


def _markdown(frame: pl.DataFrame, caption: str) -> str:
    printed, note = _for_print(frame)
    head, *rows = [f"| {' | '.join(row)} |" for row in _rows(printed, escape.markdown)]
    rule = f"|{'|'.join(' --- ' for _ in printed.columns)}|"
    below = ["", escape.markdown(note, escape.SENTENCE)] if note else []
    return "\n".join([escape.markdown(caption), "", head, rule, *rows, *below, ""])


def _latex(frame: pl.DataFrame, caption: str, name: str) -> str:
    printed, note = _for_print(frame)
    align = "".join(
        "r" if s.dtype.is_numeric() else r"p{0.4\linewidth}" if s.name in _BROKEN else "l" for s in printed
    )
    head, *rows = [" & ".join(row) + r" \\" for row in _rows(printed, escape.latex)]
    label = re.sub("[^a-z0-9-]", "-", name.lower())
    below = rf"\noindent{{\footnotesize {escape.latex(note, escape.SENTENCE)}\par}}"
    lines = [
        "% needs \\usepackage{longtable,booktabs} and \\usepackage[T1]{fontenc}",
        rf"\begin{{longtable}}{{{align}}}",
        rf"\caption{{{escape.latex(caption)}}}\label{{tab:{label}}}\\",
        *(r"\toprule", head, r"\midrule\endfirsthead"),
        *(r"\toprule", head, r"\midrule\endhead"),
        *rows,
        *(r"\bottomrule", r"\end{longtable}", *[below] * bool(note), ""),
    ]
    return "\n".join(lines)


class DrawnFigures:
    """The figures that the last report of a run drew: files of its folder, known by what they were drawn of.

    A file that is not as it was written counts as none.
    """

    def __init__(self, run: Path) -> None:
        self.folder = run / "report" / "figures"
        self._kept = KeptTexts(run / FOLDER / "figures")

    def find(self, name: str, chart: Chart) -> DrawnChart | None:
        """The drawing of a chart, None where it must be drawn."""
        kept = (self._kept.get(_key(chart)) or "").split()
        files = [bytes_at(self.folder / f"{name}{ending}") for ending in _DRAWN[: len(kept)]]
        if not files or kept != [hashlib.sha256(data or b"").hexdigest() for data in files]:
            return None
        svg, png = [*files, None][:2]
        return DrawnChart(svg or b"", png)

    def put(self, chart: Chart, drawing: DrawnChart) -> None:
        """Remember what was written of a chart."""
        digests = [hashlib.sha256(data).hexdigest() for data in drawing if data is not None]
        self._kept.put(_key(chart), " ".join(digests))

    def saved(self, out: Exports) -> contextlib.AbstractContextManager[None]:
        """Save at the end of the work what was written, if that was in this folder."""
        return self._kept.saved() if out.folder == self.folder else contextlib.nullcontext()


def _key(chart: Chart) -> str:
    told = f"vl-convert {version('vl-convert-python')} {chart.png} {chart.text}"
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


def write_figures(
    figures: Sequence[Figure],
    drawings: Mapping[str, Mapping[str, Any]],
    out: Exports,
    *,
    style: str,
    drawn: DrawnFigures,
) -> None:
    """Write every chart as SVG in the light theme without a browser.

    As PNG too, where one has room and is no detail of another. What ``drawn`` has is not drawn again.
    """
    # The first value of each variable is of the light theme.
    colours = {f"var({name})": value for name, value in reversed(_COLOUR.findall(style))}
    vector = {f.name for f in figures if f.detail}
    specs: dict[str, Mapping[str, Any]] = {
        f.name: side_by_side(
            [(p.title, p.spec) for p in f.panels], title=f.title, columns=1 if f.stacked else 2
        )
        for f in figures
        if f.panels
    }
    charts = {
        name: Chart(_chart_text(spec, colours), name not in vector)
        for name, spec in {**specs, **drawings}.items()
    }
    there = {name: found for name, chart in charts.items() if (found := drawn.find(name, chart))}
    missing = [chart for name, chart in charts.items() if name not in there]
    with contextlib.closing(draw_charts(missing)) as made, drawn.saved(out):
        for name, chart in charts.items():
            drawing = there.pop(name, None) or next(made)
            if isinstance(drawing, ValueError):
                raise RunError(f"figure {name}: cannot be drawn ({_reason(drawing)}") from drawing
            out.write(f"{name}.svg", drawing.svg)
            if drawing.png is not None:
                out.write(f"{name}.png", drawing.png)
            drawn.put(chart, drawing)


def _reason(problem: ValueError) -> str:
    told = f"{' '.join(_STACK.split(str(problem))[0].split())[:200]})"
    if _REFUSED.search(told):
        return (
            f"{told}: this is a fault of stereotrope, please report it; with `report: {{figures: false}}` in "
            "the audit file all else is written"
        )
    return f"{told}; files or memory may be short: close other programs, then run the same command again"


def _chart_text(spec: Mapping[str, Any], colours: Mapping[str, str]) -> str:
    whole = {**inert_chart(spec), "config": {**CONFIG, "background": "var(--paper)"}, "padding": 12}
    text = json.dumps(_coloured(whole, colours), ensure_ascii=False, sort_keys=True)
    # Vega cuts long labels by UTF-16 units; half of a character beyond the basic plane is no text.
    return _BEYOND.sub("\N{WHITE SQUARE}", text)


def _coloured(part: Any, colours: Mapping[str, str], painted: bool = False) -> Any:
    """A chart with the values of its variables where it has colours; data and texts stay as they are."""
    if isinstance(part, Mapping):
        return {
            key: inner
            if key in ("data", "datasets")
            else _coloured(inner, colours, bool(_PAINTED.fullmatch(key)) or (painted and key in _WITHIN))
            for key, inner in part.items()
        }
    if isinstance(part, list | tuple):
        return [_coloured(inner, colours, painted) for inner in part]
    return colours.get(part, part) if painted and isinstance(part, str) else part
