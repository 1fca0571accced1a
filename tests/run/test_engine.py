from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from stereotrope.errors import InputError, Interrupted, PictureError, RunError
from stereotrope.run import Items, Job, Ledger, Stage, Summary, engine

KINDS = ("threads", "async")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.db") as ledger:
        yield ledger


class Worker:
    """Doubles numbers; watches how many are in flight."""

    def __init__(self, fails: dict[int, Exception] | None = None, seconds: float = 0.001) -> None:
        self.fails, self.seconds = fails or {}, seconds
        self.guard = threading.Lock()
        self.flying = self.most = 0
        self.seen: list[int] = []

    def begin(self, item: int) -> None:
        with self.guard:
            self.flying += 1
            self.most = max(self.most, self.flying)
            self.seen.append(item)

    def end(self, item: int) -> dict[str, int]:
        with self.guard:
            self.flying -= 1
        if item in self.fails:
            raise self.fails[item]
        return {"v": 2 * item}


class Threaded(Worker):
    def process(self, item: int) -> dict[str, int]:
        self.begin(item)
        time.sleep(self.seconds)
        return self.end(item)


class Awaited(Worker):
    async def process(self, item: int) -> dict[str, int]:
        self.begin(item)
        await asyncio.sleep(self.seconds)
        return self.end(item)


def of(kind: str, **options: Any) -> Worker:
    return Threaded(**options) if kind == "threads" else Awaited(**options)


def pairs(n: int) -> list[tuple[str, int]]:
    return [(f"k{i:03}", i) for i in range(n)]


def carried(
    stage: Stage,
    items: list[tuple[str, int]],
    *,
    ledger: Ledger,
    stop: threading.Event | None = None,
    **more: Any,
) -> Summary:
    """Carry out one stage alone."""
    return engine.run([Job(stage, Items.of(items), **more)], ledger=ledger, stop=stop)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_is_missing_is_done(ledger: Ledger, kind: Any) -> None:
    worker = of(kind)
    stage = Stage("s", lambda: worker, kind, concurrency=4)
    assert carried(stage, pairs(10), ledger=ledger) == Summary(total=10, done=10)
    assert carried(stage, pairs(15), ledger=ledger) == Summary(total=15, skipped=10, done=5)
    assert sorted(worker.seen) == list(range(15))
    assert ledger.get_all("s") == {key: {"v": 2 * i} for key, i in pairs(15)}


@pytest.mark.parametrize("kind", KINDS)
def test_no_more_is_in_flight_than_asked_for(ledger: Ledger, kind: Any) -> None:
    worker = of(kind, seconds=0.005)
    carried(Stage("s", lambda: worker, kind, concurrency=5), pairs(60), ledger=ledger)
    assert worker.most == 5


@pytest.mark.parametrize("kind", KINDS)
def test_items_that_are_missing_alone_are_made_and_only_when_their_turn_comes(
    ledger: Ledger, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stereotrope.run.engine.stage._MADE_AT_ONCE", 4)
    ledger.put_many("s", {f"k{i:03}": {} for i in range(0, 30, 3)})
    made: list[int] = []

    def make(places: pl.Series) -> list[int]:
        made.extend(places.to_list())
        return places.to_list()

    worker = of(kind, fails={19: InputError("odd")})
    stage = Stage("s", lambda: worker, kind, halting=(InputError,))
    items = Items(pl.Series([f"k{i % 30:03}" for i in range(40)]), make)
    (summary,) = engine.run([Job(stage, items)], ledger=ledger)
    assert made == [i for i in range(24) if i % 3]
    assert (summary.total, summary.skipped, summary.done, summary.left) == (30, 10, 12, 8)


@pytest.mark.parametrize("kind", KINDS)
def test_items_are_in_the_ledger_the_moment_they_land(ledger: Ledger, kind: Any) -> None:
    worker = of(kind)
    seen = []
    carried(
        Stage("s", lambda: worker, kind, concurrency=2),
        pairs(20),
        ledger=ledger,
        progress=lambda done, total: seen.append((done, total, ledger.totals().get("s", 0))),
    )
    assert [done for done, _, _ in seen] == list(range(21))
    assert all(total == 20 and done <= recorded for done, total, recorded in seen)


@pytest.mark.parametrize(("seconds", "most"), [(0.0, 64), (0.05, 1)])
def test_quick_work_is_recorded_together_and_slow_work_at_once(
    ledger: Ledger, seconds: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: next(clock) * seconds)
    landed = [0]
    stage = Stage("s", lambda: of("threads"), "threads", quick=True)
    carried(stage, pairs(200), ledger=ledger, progress=lambda done, total: landed.append(done))
    assert max(np.diff(landed)) == most
    assert len(ledger.get_all("s")) == 200


def test_what_was_done_before_something_unexpected_is_kept(ledger: Ledger) -> None:
    worker = of("threads", fails={150: ZeroDivisionError()})
    with pytest.raises(ZeroDivisionError):
        carried(Stage("s", lambda: worker, "threads", quick=True), pairs(200), ledger=ledger)
    assert sorted(ledger.get_all("s")) == [key for key, _ in pairs(150)]


@pytest.mark.parametrize("kind", KINDS)
def test_an_expected_failure_lets_the_rest_go_on_and_is_tried_again(ledger: Ledger, kind: Any) -> None:
    error = PictureError("truncated")
    worker = of(kind, fails={3: error})
    stage = Stage("s", lambda: worker, kind, concurrency=4)
    summary = carried(stage, pairs(10), ledger=ledger)
    assert (summary.done, summary.failed) == (9, {"k003": error})
    assert ledger.missing("s", ["k003"]) == ["k003"]
    worker.fails.clear()
    assert carried(stage, pairs(10), ledger=ledger) == Summary(total=10, skipped=9, done=1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_failure_is_recorded_where_the_caller_says_how(ledger: Ledger, kind: Any) -> None:
    worker = of(kind, fails={3: PictureError("truncated")})
    summary = carried(
        Stage("s", lambda: worker, kind),
        pairs(5),
        ledger=ledger,
        on_failure=lambda key, item, error: {"failed": f"{key} {item} {error}"},
    )
    assert (summary.done, summary.recorded, summary.left, list(summary.failed)) == (4, 1, 0, ["k003"])
    assert ledger.get_all("s")["k003"] == {"failed": "k003 3 truncated"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_stage_says_which_exceptions_it_expects(ledger: Ledger, kind: Any) -> None:
    worker = of(kind, fails={1: TimeoutError("slow")})
    stage = Stage("s", lambda: worker, kind, expected=(TimeoutError,))
    assert list(carried(stage, pairs(3), ledger=ledger).failed) == ["k001"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_unexpected_exception_stops_after_what_is_in_flight(ledger: Ledger, kind: Any) -> None:
    worker = of(kind, fails={20: ZeroDivisionError("bug")}, seconds=0.004)
    with pytest.raises(ZeroDivisionError, match="bug"):
        carried(Stage("s", lambda: worker, kind, concurrency=4), pairs(200), ledger=ledger)
    assert worker.flying == 0
    assert 20 <= len(worker.seen) < 200
    assert sorted(ledger.get_all("s")) == [f"k{i:03}" for i in sorted(worker.seen) if i != 20]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["make", "setup", "commit", "progress"])
def test_an_exception_anywhere_reaches_the_caller(ledger: Ledger, kind: Any, where: str) -> None:
    def fail(*_: Any) -> Any:
        raise LookupError(where)

    worker = of(kind)
    if where == "setup":
        worker.setup = fail  # type: ignore[attr-defined]
    with pytest.raises(LookupError, match=where):
        carried(
            Stage("s", fail if where == "make" else lambda: worker, kind, concurrency=3),
            pairs(50),
            ledger=ledger,
            commit=fail if where == "commit" else None,
            progress=fail if where == "progress" else None,
        )


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_of_the_run_folder_is_nobodys_item_failure(ledger: Ledger, kind: Any) -> None:
    def full(*_: Any) -> Any:
        raise RunError("disk full")

    worker = of(kind)
    with pytest.raises(RunError, match="disk full"):
        carried(Stage("s", lambda: worker, kind), pairs(5), ledger=ledger, commit=full)
    assert len(worker.seen) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_stop_finishes_what_is_in_flight_and_says_how_to_go_on(ledger: Ledger, kind: Any) -> None:
    stop = threading.Event()
    worker = of(kind, seconds=0.004)
    stage = Stage("s", lambda: worker, kind, concurrency=4)
    with pytest.raises(Interrupted, match=r"s: stopped after \d+ of 500; everything finished is kept"):
        carried(
            stage, pairs(500), ledger=ledger, stop=stop, progress=lambda done, _: done >= 10 and stop.set()
        )
    assert worker.flying == 0
    assert ledger.totals()["s"] == len(worker.seen) < 500
    stop.clear()
    before = len(worker.seen)
    assert carried(stage, pairs(500), ledger=ledger, stop=stop).done == 500 - before
    assert ledger.totals() == {"s": 500}
    assert len(worker.seen) == 500


def test_stop_after_the_last_item_is_no_interruption(ledger: Ledger) -> None:
    stop = threading.Event()
    worker = Threaded()
    summary = carried(
        Stage("s", lambda: worker),
        pairs(5),
        ledger=ledger,
        stop=stop,
        progress=lambda d, t: d == t and stop.set(),
    )
    assert summary.done == 5


@pytest.mark.parametrize("kind", KINDS)
def test_ctrl_c_once_finishes_what_is_in_flight(ledger: Ledger, kind: Any) -> None:
    worker = of(kind, seconds=0.004)

    def press(done: int, _: int) -> None:
        if done == 10:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="the same command continues"):
        carried(Stage("s", lambda: worker, kind, concurrency=4), pairs(300), ledger=ledger, progress=press)
    assert worker.flying == 0
    assert ledger.totals()["s"] == len(worker.seen) < 300


def test_ctrl_c_twice_leaves_at_once(ledger: Ledger) -> None:
    released = threading.Event()

    def press(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    two_land = Stage("s", lambda: _LastHangs(released), concurrency=3)
    with pytest.raises(KeyboardInterrupt):
        carried(two_land, pairs(3), ledger=ledger, progress=press)
    assert ledger.totals()["s"] == 2
    released.set()


class _LastHangs:
    def __init__(self, released: threading.Event) -> None:
        self.released = released

    def process(self, item: int) -> dict[str, int]:
        if item == 2:
            self.released.wait(60)
        return {"v": item}


def test_setup_runs_once_for_each_worker(ledger: Ledger) -> None:
    made = []

    class Own(Threaded):
        ready = 0

        def setup(self) -> None:
            self.ready += 1

        def process(self, item: int) -> dict[str, int]:
            assert self.ready == 1
            return super().process(item)

    def make() -> Own:
        made.append(Own())
        return made[-1]

    carried(Stage("own", make, concurrency=3), pairs(30), ledger=ledger)
    assert [worker.ready for worker in made] == [1, 1, 1]
    shared = Own()
    carried(Stage("shared", lambda: shared, concurrency=3), pairs(30), ledger=ledger)
    assert shared.ready == 1


def test_a_failed_batch_is_tried_item_by_item(ledger: Ledger) -> None:
    batches = []

    class Batched(Threaded):
        def process_batch(self, items: list[int]) -> list[dict[str, int]]:
            batches.append(items)
            if 5 in items:
                raise InputError("one of them")
            return [{"v": 2 * item} for item in items]

    worker = Batched()
    summary = carried(Stage("s", lambda: worker, batch_size=4), pairs(10), ledger=ledger)
    assert batches == [[0, 1, 2, 3], [4, 5, 6, 7], [4], [5], [6], [7], [8, 9]]
    assert (summary.done, list(summary.failed)) == (9, ["k005"])


def test_of_equal_keys_the_first_item_counts(ledger: Ledger) -> None:
    worker = Threaded()
    assert carried(Stage("s", lambda: worker), [("a", 1), ("a", 2)], ledger=ledger).total == 1
    assert ledger.get_all("s") == {"a": {"v": 2}}


def test_nothing_to_do_makes_no_worker(ledger: Ledger) -> None:
    def make() -> Any:
        raise AssertionError

    for kind in KINDS:
        assert carried(Stage("s", make, kind), [], ledger=ledger) == Summary()  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_it_works_inside_a_running_event_loop(ledger: Ledger, kind: Any) -> None:
    worker = of(kind)

    async def notebook() -> Summary:
        return carried(Stage("s", lambda: worker, kind, concurrency=3), pairs(9), ledger=ledger)

    assert asyncio.run(notebook()).done == 9


def test_a_stage_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Stage("s", Threaded, concurrency=0)
    with pytest.raises(ValueError, match="at least 1"):
        Stage("s", Awaited, "async", batch_size=0)


class AwaitedBatches(Awaited):
    """Answers batches; item 3 fails alone, a batch with item 5 fails as a whole."""

    closed = 0

    async def process_batch(self, items: list[int]) -> list[Any]:
        if 5 in items and len(items) > 1:
            raise InputError("the batch as a whole")
        self.begin(items[0])
        await asyncio.sleep(self.seconds)
        self.flying -= 1
        return [InputError("this one") if item == 3 else {"v": 2 * item} for item in items]

    async def close(self) -> None:
        self.closed += 1


def test_an_awaited_batch_keeps_what_came_and_fails_item_by_item(ledger: Ledger) -> None:
    worker = AwaitedBatches()
    summary = carried(
        Stage("s", lambda: worker, "async", concurrency=2, batch_size=4), pairs(8), ledger=ledger
    )
    assert list(summary.failed) == ["k003"]
    assert ledger.totals()["s"] == 7
    assert worker.seen == [0, 4, 5, 6, 7]
    assert worker.closed == 1


class Unusable(InputError):
    """Nothing more can succeed."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_halting_failure_lets_no_further_item_begin(ledger: Ledger, kind: Any) -> None:
    worker = of(kind, fails={10: Unusable("no key")})
    stage = Stage("s", lambda: worker, kind, concurrency=2, halting=(Unusable,))
    summary = carried(stage, pairs(200), ledger=ledger)
    assert isinstance(summary.halted, Unusable)
    assert len(worker.seen) < 20
    assert summary.done == ledger.totals()["s"] == len(worker.seen) - len(summary.failed)


def test_stages_run_side_by_side_and_one_that_fails_leaves_the_others(ledger: Ledger) -> None:
    dead = Awaited(fails={0: Unusable("no key")})
    slow, quick = Awaited(seconds=0.01), Threaded()
    told: list[tuple[str, int, int]] = []
    jobs = [
        Job(Stage("dead", lambda: dead, "async", concurrency=1, halting=(Unusable,)), Items.of(pairs(20))),
        Job(Stage("slow", lambda: slow, "async", concurrency=4), Items.of(pairs(20))),
        Job(
            Stage("quick", lambda: quick, concurrency=2),
            Items.of(pairs(20)),
            progress=lambda done, total: told.append(("quick", done, total)),
        ),
    ]
    died, *lived = engine.run(jobs, ledger=ledger)
    assert (died.done, died.halted is not None) == (0, True)
    assert [(s.done, s.halted) for s in lived] == [(20, None)] * 2
    assert told[-1] == ("quick", 20, 20)


def test_items_of_which_nothing_comes_back_are_an_error_that_says_so(ledger: Ledger) -> None:
    class Idle:
        notes: list[str] = []  # noqa: RUF012

        def start(self, works: object) -> list[threading.Thread]:
            return []

    with pytest.raises(RunError, match=r"s: 3 of 3 items were handed out and nothing came back of them"):
        engine.run([Job(Stage("s", Worker), Items.of(pairs(3)))], ledger=ledger, crew=Idle())


class Waiting(Awaited):
    """Waits before it begins, and looks at ``stop`` while it waits."""

    def __init__(self, stop: threading.Event) -> None:
        super().__init__()
        self.stop = stop

    async def process(self, item: int) -> dict[str, int]:
        for _ in range(1_000):
            if self.stop.is_set():
                raise Interrupted("not begun")
            if item < 4:
                break
            await asyncio.sleep(0.01)
        return await super().process(item)


def test_a_worker_that_waits_gives_up_when_stop_is_set(ledger: Ledger) -> None:
    stop = threading.Event()
    worker = Waiting(stop)
    with pytest.raises(Interrupted, match="stopped after 4 of 20"):
        carried(
            Stage("s", lambda: worker, "async", concurrency=8),
            pairs(20),
            ledger=ledger,
            stop=stop,
            progress=lambda done, _: done == 4 and stop.set(),
        )


@pytest.mark.parametrize("asked", ["stop", "nothing"])
def test_quick_work_that_becomes_slow_lands_each_and_can_be_stopped(ledger: Ledger, asked: str) -> None:
    stop, late = threading.Event(), []

    class Slowing:
        def process(self, item: int) -> dict[str, int]:
            if item >= 100:
                time.sleep(0.03)
                late.append(item)
                if asked == "stop":
                    stop.set()
            return {"v": item}

    stage, landed = Stage("s", Slowing, quick=True), [0]
    work = {"ledger": ledger, "stop": stop, "progress": lambda done, total: landed.append(done)}
    if asked == "stop":
        with pytest.raises(Interrupted):
            carried(stage, pairs(200), **work)
        assert late == [100]
        return
    carried(stage, pairs(110), **work)
    assert np.diff(landed)[-8:].tolist() == [1] * 8
