"""Charts drawn side by side on all processors."""

import contextlib
import queue
import subprocess
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from stereotrope.report.charts import engine as drawing
from stereotrope.report.charts.drawing import drawing_engine
from stereotrope.report.charts.engine import Chart, DrawnChart
from stereotrope.run.engine import begun_process, end_process, processors

_Free = queue.SimpleQueue[subprocess.Popen[bytes]]
_MOST_LANES = 16
_A_LANE = 6
"""Charts for which a process is worth its start, which takes as long as four."""


def draw_charts(charts: Sequence[Chart], *, most: int | None = None) -> Generator[DrawnChart | ValueError]:
    """Draw charts, in their order; for one that cannot be drawn the reason.

    most: Processes at most; as many as there are processors when None, one for few charts.
    """
    if not charts:
        return
    engine = drawing_engine()
    lanes = max(1, min(most or processors(), _MOST_LANES, len(charts) // _A_LANE))
    with contextlib.ExitStack() as ending:
        free: _Free = queue.SimpleQueue()
        with contextlib.suppress(OSError):  # no further process can be started
            for _ in range(lanes):
                free.put(_started(ending))
        if not free.qsize():
            yield from (_judged(chart, engine) for chart in charts)
            return
        pool = ThreadPoolExecutor(free.qsize())
        ending.callback(pool.shutdown, cancel_futures=True)
        yield from pool.map(lambda chart: _by_any(chart, free, ending), charts)


def _started(ending: contextlib.ExitStack) -> subprocess.Popen[bytes]:
    """A process that draws, ended with the work."""
    process = begun_process(drawing)
    ending.callback(end_process, process)
    return process


def _by_any(chart: Chart, free: _Free, ending: contextlib.ExitStack) -> DrawnChart | ValueError:
    process = free.get()
    try:
        try:
            return _drawn_by(process, chart)
        except (EOFError, OSError):  # killed, perhaps for another chart: another process tries once more
            process = _started(ending)
            return _drawn_by(process, chart)
    except (EOFError, OSError) as error:
        return ValueError(str(error))
    except ValueError as error:
        return error
    finally:
        free.put(process)


def _drawn_by(process: subprocess.Popen[bytes], chart: Chart) -> DrawnChart:
    assert process.stdin is not None
    assert process.stdout is not None
    return drawing.ask(chart, process.stdin, process.stdout)


def _judged(chart: Chart, engine: Any) -> DrawnChart | ValueError:
    try:
        return drawing.draw_chart(chart, engine)
    except ValueError as error:
        return error
