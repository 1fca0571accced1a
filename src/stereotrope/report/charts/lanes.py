"""Charts drawn side by side on all processors."""

import contextlib
import queue
import subprocess
import sys
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from stereotrope.report.charts import engine as drawing
from stereotrope.report.charts.drawing import drawing_engine
from stereotrope.report.charts.engine import Chart, DrawnChart
from stereotrope.run.engine import processors

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
        free: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        with contextlib.suppress(OSError):  # no further process can be started
            for _ in range(lanes if sys.executable else 0):
                free.put(_started(ending))
        if not free.qsize():
            yield from (_judged(chart, engine) for chart in charts)
            return
        pool = ThreadPoolExecutor(free.qsize())
        ending.callback(pool.shutdown, cancel_futures=True)
        yield from pool.map(lambda chart: _by_any(chart, free), charts)


def _started(ending: contextlib.ExitStack) -> subprocess.Popen[bytes]:
    """A process that draws, ended with the work."""
    command = [sys.executable, "-P", str(drawing.__file__)]
    # In a group of its own Ctrl-C does not reach it: when to end is ours to say.
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)
    ending.callback(_end, process)
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def _by_any(chart: Chart, free: "queue.SimpleQueue[subprocess.Popen[bytes]]") -> DrawnChart | ValueError:
    process = free.get()
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        return drawing.ask(chart, process.stdin, process.stdout)
    except (EOFError, OSError) as error:
        return ValueError(str(error))
    except ValueError as error:
        return error
    finally:
        free.put(process)


def _judged(chart: Chart, engine: Any) -> DrawnChart | ValueError:
    try:
        return drawing.draw_chart(chart, engine)
    except ValueError as error:
        return error
