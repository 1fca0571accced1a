"""Carrying an audit out in a terminal: progress, Ctrl-C and the headline."""

from __future__ import annotations

import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from stereotrope.cli.heartbeat import Heartbeat
from stereotrope.cli.scores import print_scores
from stereotrope.cli.stopping import begins_to_keep, command_line, handling, stopped
from stereotrope.errors import BudgetError, IncompleteError, Interrupted
from stereotrope.escape import terminal, visible
from stereotrope.terminal import console, print_wrapped, safe

if TYPE_CHECKING:
    from stereotrope.commands import Settings
    from stereotrope.run import Run


class _Watcher:
    """Shows each stage of a run as a bar on a terminal, or in a log as a line and now and then one more."""

    def __init__(self, settings: Settings) -> None:
        self.console = console(settings, stderr=True)
        self.quiet = settings.quiet
        self.bars = Progress(
            TextColumn("{task.description:<22}", markup=False),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            console=self.console,
            disable=self.quiet or not self.console.is_terminal,
        )
        self.tasks: dict[str, TaskID] = {}
        self.heartbeat = Heartbeat(self.say)

    def under_way(self) -> AbstractContextManager[object]:
        """Show meanwhile how far it is: bars on a terminal, a line now and then in a log."""
        if self.console.is_terminal or self.quiet:
            return self.bars
        return self.heartbeat.beating()

    def stage(self, name: str, total: int, done: int) -> None:
        """Announce a stage; ``done`` of ``total`` were there already."""
        self.tasks[name] = self.bars.add_task(terminal(name), total=total, completed=done, rate="")
        self.heartbeat.advance(name, done, total)
        if not self.quiet and not self.console.is_terminal:
            self.console.print(safe(f"{name}: {total - done} to do, {done} done before"))

    def advance(self, name: str, done: int) -> None:
        """Say how many are done now."""
        task = self.bars.tasks[self.bars.task_ids.index(self.tasks[name])]
        speed = f"{task.speed:.1f}/s" if task.speed else ""
        self.bars.update(self.tasks[name], completed=done, rate=speed)
        self.heartbeat.advance(name, done)

    def doing(self, name: str, what: str) -> None:
        """Name what the stage is at beside its bar."""
        self.heartbeat.doing(name, what)
        self.bars.update(self.tasks[name], description=terminal(f"{name} {what}".strip()))

    def say(self, message: str) -> None:
        """Print one line beside the bars."""
        if not self.quiet:
            self.bars.console.print(safe(message))


@contextmanager
def working(settings: Settings) -> Iterator[tuple[_Watcher, threading.Event]]:
    """Progress on stderr, and Ctrl-C that keeps what is finished and says how to continue.

    The first Ctrl-C or SIGTERM lets what is in flight be finished; a second stops at once, and what was
    finished is on disk.

    Raises Interrupted: It was stopped; the exit code is 128 and the number of the first signal.
    """
    watcher, stop = _Watcher(settings), threading.Event()
    resume = command_line()
    received: list[int] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if stop.is_set():
            sys.stderr.write(f"\nstopped; continue with: {resume}\n")
            sys.stderr.flush()
            os._exit(128 + received[0])
        stop.set()
        watcher.say("Finishing what is in flight; Ctrl-C again stops at once.")

    begins_to_keep()
    with handling(on_signal), watcher.under_way():
        try:
            yield watcher, stop
            if stop.is_set():
                raise Interrupted("stopped; everything finished is kept")
        except Interrupted as error:
            raise stopped(str(error), received[0] if received else signal.SIGINT) from None


def known_words() -> dict[str, Any]:
    """Words of the measures that are installed, for a run that stores none: loaded only then."""
    from stereotrope.measure import measure_words

    return measure_words()


def carry_out_in_terminal(
    work: Callable[[_Watcher, threading.Event], Run],
    folder: Path,
    settings: Settings,
    *,
    open_report: bool = False,
) -> None:
    """Do the work of a run in a terminal and print the headline."""
    from stereotrope import report as reports
    from stereotrope.run import open as open_run

    missing: IncompleteError | BudgetError | None = None
    with working(settings) as (watcher, stop):
        try:
            work(watcher, stop)
        except (IncompleteError, BudgetError) as error:
            missing = error
    print_headline(reports.headline(open_run(folder), words=known_words, texts=False), settings)
    page = folder / "report" / "index.html"
    console(settings).print(Text(f"Report: {visible(str(page))}"))
    if open_report:
        webbrowser.open(page.resolve().as_uri())
    if missing is not None:
        raise missing


def print_headline(headline: dict[str, Any], settings: Settings) -> None:
    """Print the headline of a run: what was asked, what is missing, the findings, the main scores."""
    out = console(settings)
    out.print()
    print_wrapped(Text(terminal(str(headline["title"])), style="bold"), out)
    for line in headline["asked"]:
        print_wrapped(Text.assemble((f"{terminal(line['term'])}: ", "dim"), terminal(line["text"])), out)
    print_wrapped(safe(headline["summary"]), out)
    out.print(Text("\nWhat is missing", style="bold"))
    missing = headline["missing"]
    for line in (*missing["items"], missing["sentence"], *missing["notes"]):
        print_wrapped(safe(line), out)
    _print_sections((s for s in headline["sections"] if s["first"]), out)
    if tested := headline["tested"] or headline["untested"]:
        out.print(Text("\nWhat was tested", style="bold"))
        for line in (tested, *headline["looks"]):
            print_wrapped(safe(line), out)
    for title, told in groupby(headline["findings"], key=lambda finding: str(finding["title"])):
        out.print(Text(f"\n{terminal(title)}", style="bold"))
        for number, finding in enumerate(told, start=1):
            print_wrapped(Text(f"{number}. ") + safe(finding["sentence"]), out)
            if pattern := finding["pattern"]:
                print_wrapped(Text(terminal(pattern["sentence"]), style="dim"), out)
        if more := headline["more"].get(title):
            print_wrapped(Text(f"{more} of the report", style="dim"), out)
    leading = [t for s in headline["sections"] for t in s["tables"]]
    print_scores(headline["tables"], out, leading=leading, n_requests=headline["counts"]["images"])
    _print_sections((s for s in headline["sections"] if not s["first"]), out)
    out.print()


def _print_sections(sections: Iterable[dict[str, Any]], out: Console) -> None:
    for section in sections:
        if section["sentences"]:
            out.print(Text(f"\n{terminal(section['title'])}", style="bold"))
        for line in section["sentences"]:
            print_wrapped(safe(line), out)
