"""Drawing by vl-convert, which holds the interpreter: many charts are drawn by processes side by side.

Each is this file run by the same Python, and knows nothing of the program that asks it: it imports neither
the package nor its caller's ``__main__``, so that notebooks and scripts without a guard can draw too. It ends
when its input does, whatever became of the caller.
"""

import base64
import contextlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, Any, NamedTuple

MOST_PIXELS = 4_000_000
"""Pixels of one PNG."""
_PNG_SCALE = 2.0
_LOGGED = re.compile(r"^ERROR (.*)", re.MULTILINE)
_SIZE = re.compile(r'<svg[^>]*? width="([\d.]+)" height="([\d.]+)"')


class Chart(NamedTuple):
    """A Vega-Lite chart as JSON, and whether it is wanted as PNG too."""

    text: str
    png: bool


class DrawnChart(NamedTuple):
    """A chart as SVG, and as PNG where that was wanted and has room in :data:`MOST_PIXELS`."""

    svg: bytes
    png: bytes | None


def draw_chart(chart: Chart, engine: Any) -> DrawnChart:
    """Draw a chart; ValueError where it cannot be drawn."""
    svg = engine.vegalite_to_svg(chart.text, allowed_base_urls=[])
    if "<text" not in svg:
        raise ValueError("Error: nothing is drawn")
    scale = _scale(svg) if chart.png else None
    return DrawnChart(svg.encode("utf-8"), engine.svg_to_png(svg, scale=scale) if scale else None)


def _scale(svg: str) -> float | None:
    """Pixels a unit of a drawing: two where they fit, at least one; None where it is too large for that."""
    if (size := _SIZE.search(svg)) is None:
        return _PNG_SCALE
    fits = (MOST_PIXELS / (float(size[1]) * float(size[2]))) ** 0.5
    return None if fits < 1 else min(_PNG_SCALE, fits)


def ask(chart: Chart, to: IO[bytes], by: IO[bytes]) -> DrawnChart:
    """Have a process draw a chart; ValueError where it cannot, EOFError where the process has ended."""
    to.write(json.dumps(chart).encode() + b"\n")
    to.flush()
    line = by.readline()
    if not line.endswith(b"\n"):
        raise EOFError("the process that draws has ended")
    svg, png, problem = json.loads(line)
    if problem is not None:
        raise ValueError(problem)
    return DrawnChart(svg.encode("utf-8"), None if png is None else base64.b64decode(png))


def _answers(lines: Iterable[bytes], engine: Any) -> Iterator[tuple[str | None, str | None, str | None]]:
    for line in lines:
        problem = None
        with _logged() as logged:
            try:
                svg, png = draw_chart(Chart(*json.loads(line)), engine)
            except ValueError as error:
                problem = str(error)
        if logged or problem:
            yield None, None, logged[0] if logged else problem
        else:
            yield svg.decode("utf-8"), None if png is None else base64.b64encode(png).decode("ascii"), None


@contextlib.contextmanager
def _logged() -> Iterator[list[str]]:
    """The errors that Vega meets within: it draws what there is, and writes them to standard error alone."""
    errors: list[str] = []
    before = os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)
        try:
            yield errors
        finally:
            os.dup2(before, 2)
            os.close(before)
        log.seek(0)
        errors += _LOGGED.findall(log.read().decode("utf-8", "replace"))


def _serve() -> None:
    import vl_convert  # noqa: PLC0415

    for answer in _answers(sys.stdin.buffer, vl_convert):
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    try:
        _serve()
    except BrokenPipeError:  # who asked was killed; what is left is written once more at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
