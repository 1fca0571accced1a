"""A real small run for the kill tests: pictures by threads, labels by coroutines, tables.

``python -m tests.run.small_run FOLDER LOG`` carries it out; each call that would cost money adds a line
to LOG. ``… FOLDER LOG STEP`` does it again in a fresh folder for every STEP-th point at which something
becomes durable, killed there, continued, and compared with an undisturbed one.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from PIL import Image
from tests.run.kill import tables

from stereotrope.run import Items, Job, Ledger, Needs, RunFolder, Stage, engine, engine_of
from stereotrope.tables import IMAGES, LABELS

PICTURES = int(os.environ.get("SMALL_RUN_PICTURES", "40"))
ENGINE = os.environ.get("SMALL_RUN_ENGINE", "local")
THREADS, REQUESTS = 4, 6
IN_FLIGHT = max(THREADS, REQUESTS)


def main(folder: Path, log: Path, by: str = ENGINE) -> None:
    """Carry the run out, or continue it."""
    keys = [hashlib.sha256(str(i).encode()).hexdigest()[:16] for i in range(PICTURES)]
    with RunFolder(folder) as run, engine_of(by).crew(run, Needs()) as crew:
        run.verify_pictures("generate")
        run.write_audit("title: small\n")
        job = Job(
            Stage("generate", lambda: _Draw(log), concurrency=THREADS),
            Items.of(zip(keys, range(PICTURES), strict=True)),
            commit=lambda _key, _item, data: run.store.put(data)._asdict(),
        )
        engine.run([job], ledger=run.ledger, crew=crew)
        pictures = run.ledger.get_all("generate")
        looking = Stage("label", lambda: _Look(log), "async", concurrency=REQUESTS)
        shown = Items.of((p["sha256"], p) for p in pictures.values())
        engine.run([Job(looking, shown)], ledger=run.ledger, crew=crew)
        _write_tables(run, pictures)
        run.write_info({"title": "small", "counts": {"images": len(pictures)}})


class _Draw:
    def __init__(self, log: Path) -> None:
        self.log = log

    def process(self, number: int) -> bytes:
        _pay(self.log, f"draw {number}")
        time.sleep(0.002 + number % 5 / 500)
        sink = io.BytesIO()
        Image.fromarray(np.full((24, 24, 3), (number % 256, number // 256, 7), dtype=np.uint8)).save(
            sink, "PNG"
        )
        return sink.getvalue()


class _Look:
    def __init__(self, log: Path) -> None:
        self.log = log

    async def process(self, picture: dict[str, Any]) -> dict[str, Any]:
        _pay(self.log, f"look {picture['sha256']}")
        await asyncio.sleep(0.002 + int(picture["sha256"][0], 16) / 2000)
        return {"value": picture["sha256"][:1]}


def _pay(log: Path, line: str) -> None:
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


def _write_tables(run: RunFolder, pictures: dict[str, dict[str, Any]]) -> None:
    said = run.ledger.get_all("label")
    images = [{"image_id": key, "status": "ok", **picture} for key, picture in pictures.items()]
    labels = [
        {"subject_id": key, "attribute": "first", "value": said[p["sha256"]]["value"]}
        for key, p in pictures.items()
    ]
    for name, rows, columns in (("images", images, IMAGES), ("labels", labels, LABELS)):
        frame = pl.DataFrame({c.name: [row.get(c.name) for row in rows] for c in columns})
        run.write_table(name, frame, columns)


def die_at_every_point(folder: Path, log: Path, step: int) -> int:
    """Kill the run at each ``step``-th durable point, continue it, compare; return the number of points."""
    undisturbed = folder / "undisturbed"
    points = _in_child(lambda: _count_points(undisturbed, log))
    expected = tables(undisturbed)
    for point in range(0, points, step):
        again, paid = folder / f"point{point}", folder / f"point{point}.log"
        _in_child(lambda at=point, into=again, out=paid: _die(into, out, at))  # type: ignore[misc]
        _in_child(lambda into=again, out=paid: main(into, out))  # type: ignore[misc]
        assert tables(again) == expected, f"other tables after a kill at point {point}"
        lines = paid.read_text().split("\n")[:-1]
        assert len(lines) - len(set(lines)) <= IN_FLIGHT, f"paid twice after a kill at point {point}"
        shutil.rmtree(again)
    return points


def _count_points(folder: Path, log: Path) -> None:
    counter = _count_to(None)
    main(folder, log)
    (folder.parent / "points").write_text(str(counter[0]))


def _die(folder: Path, log: Path, point: int) -> None:
    _count_to(point)
    main(folder, log)


def _count_to(point: int | None) -> list[int]:
    """Count the calls that make something durable, and die before or after the chosen one."""
    counter = [0]
    guard = threading.Lock()

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*arguments: Any, **options: Any) -> Any:
            with guard:
                mine = counter[0]
                counter[0] += 1
            if mine == point and mine % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            result = call(*arguments, **options)
            if mine == point:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return wrapper

    os.fsync, os.replace, os.unlink, os.mkdir = map(counted, (os.fsync, os.replace, os.unlink, os.mkdir))
    Ledger._commit = counted(Ledger._commit)  # type: ignore[method-assign]
    return counter


def _in_child(work: Callable[[], object]) -> int:
    """Do the work in a forked child, so that the imports are paid once; return the points it counted."""
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), f"the child ended with {status}"
    count = Path(sys.argv[1]) / "points"
    return int(count.read_text()) if count.exists() else 0


if __name__ == "__main__":
    if len(sys.argv) == 3:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
    else:
        print(die_at_every_point(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
