"""The report's tables as CSV, Parquet, LaTeX and Markdown, its figures as SVG and PNG."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.report import charts, escape
from stereotrope.report.panels import Figure

__all__ = ["light_colours", "write_figures", "write_specs", "write_table"]

_VARIABLE = re.compile(r"var\((--[a-z0-9-]+)\)")
_COLOUR = re.compile(r"(--[a-z0-9-]+):\s*light-dark\((#[0-9a-fA-F]{6})")
_PNG_SCALE = 2.0
_TEXT_DIGITS = 6


def light_colours(style: str) -> dict[str, str]:
    """The colours of the light theme: the first value that the style sheet gives each variable."""
    return dict(reversed(_COLOUR.findall(style)))


def write_table(frame: pl.DataFrame, folder: Path, name: str, *, caption: str) -> list[Path]:
    """Write one table in four formats; Parquet holds the values untouched.

    CSV holds every digit and guards texts against being read as formulas. LaTeX and Markdown are for
    reading: numbers to six significant digits, undefined ones as an empty cell with the reason in its
    column.
    """
    texts = {
        "csv": _csv(frame),
        "md": _markdown(frame, caption),
        "tex": _latex(frame, caption, name),
    }
    written = []
    for ending, text in texts.items():
        path = folder / f"{name}.{ending}"
        path.write_bytes(text.encode("utf-8"))
        written.append(path)
    path = folder / f"{name}.parquet"
    frame.write_parquet(path, compression="zstd", statistics=True)
    return [*written, path]


def _csv(frame: pl.DataFrame) -> str:
    guarded = frame.with_columns(
        pl.col(pl.String).map_elements(escape.csv, return_dtype=pl.String, skip_nulls=True)
    )
    return guarded.rename({c: escape.csv(c) for c in frame.columns}).write_csv()


def _filled(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select([s.name for s in frame if s.null_count() < len(s)])


def _cell(value: Any, text: Callable[[str], str]) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return text(f"{value:.{_TEXT_DIGITS}g}".replace("-", "−"))
    return text(str(value))


def _markdown(frame: pl.DataFrame, caption: str) -> str:
    shown = _filled(frame)
    head = "| " + " | ".join(escape.markdown(c) for c in shown.columns) + " |"
    rule = "|" + "|".join(" --- " for _ in shown.columns) + "|"
    rows = ["| " + " | ".join(_cell(v, escape.markdown) for v in row) + " |" for row in shown.iter_rows()]
    return "\n".join([escape.markdown(caption), "", head, rule, *rows, ""])


def _latex(frame: pl.DataFrame, caption: str, name: str) -> str:
    shown = _filled(frame)
    align = "".join("r" if dtype.is_numeric() else "l" for dtype in shown.dtypes)
    head = " & ".join(escape.latex(c) for c in shown.columns) + r" \\"
    rows = [" & ".join(_cell(v, escape.latex) for v in row) + r" \\" for row in shown.iter_rows()]
    lines = [
        "% needs \\usepackage{longtable,booktabs} and \\usepackage[T1]{fontenc}",
        rf"\begin{{longtable}}{{{align}}}",
        rf"\caption{{{escape.latex(caption)}}}\label{{tab:{re.sub('[^a-z0-9-]', '-', name.lower())}}}\\",
        r"\toprule",
        head,
        r"\midrule\endfirsthead",
        r"\toprule",
        head,
        r"\midrule\endhead",
        *rows,
        r"\bottomrule",
        r"\end{longtable}",
    ]
    return "\n".join([*lines, ""])


def write_figures(figures: Sequence[Figure], folder: Path, *, style: str) -> list[Path]:
    """Write every figure as SVG and PNG in the light theme, without a browser."""
    specs = {
        f.name: charts.side_by_side([(p.title, p.spec) for p in f.panels], title=f.title)
        for f in figures
        if f.panels
    }
    return write_specs(specs, folder, style=style)


def write_specs(specs: Mapping[str, Mapping[str, Any]], folder: Path, *, style: str) -> list[Path]:
    """Draw Vega-Lite charts into ``folder``."""
    import vl_convert  # noqa: PLC0415

    colours = light_colours(style)
    written = []
    for name, spec in specs.items():
        whole = {**spec, "config": {**charts.CONFIG, "background": colours["--paper"]}, "padding": 12}
        text = _VARIABLE.sub(
            lambda m: colours[m.group(1)], json.dumps(whole, ensure_ascii=False, sort_keys=True)
        )
        svg = folder / f"{name}.svg"
        drawn = vl_convert.vegalite_to_svg(text, allowed_base_urls=[])
        svg.write_bytes(drawn.encode("utf-8"))
        png = folder / f"{name}.png"
        png.write_bytes(vl_convert.svg_to_png(drawn, scale=_PNG_SCALE))
        written += [svg, png]
    return written
