"""A log is told now and then what is done and how far; a terminal has bars."""

import threading

from stereotrope.cli.console import working
from stereotrope.cli.heartbeat import Heartbeat
from stereotrope.commands import Settings


def test_the_line_names_what_is_under_way_and_how_far_it_is():
    told = Heartbeat(print)
    assert told.line == "reading the audit"
    told.advance("generate", 0, 40_000)
    told.advance("generate", 1_200)
    assert told.line == "generate: 1,200 of 40,000 done"
    told.advance("annotate:colour", 5, 40_000)
    assert told.line == "generate: 1,200 of 40,000 done; annotate:colour: 5 of 40,000 done"
    told.advance("generate", 40_000)
    told.advance("annotate:colour", 40_000)
    assert told.line == "after annotate:colour: at work"
    told.advance("measure", 4, 12)
    told.doing("measure", "cds 300 of 6,300")
    assert told.line == "measure: cds 300 of 6,300, 4 of 12 done"
    told.advance("measure", 12)
    told.doing("measure", "findings 3 of 31")
    assert told.line == "measure: findings 3 of 31, 12 of 12 done"
    told.doing("measure", "")
    told.advance("report", 0, 1)
    assert told.line == "report: at work"
    told.doing("report", "figures")
    assert told.line == "report: figures"


def test_it_is_said_again_and_again_until_the_work_ends():
    lines, twice = [], threading.Event()

    def say(line):
        lines.append(line)
        if len(lines) == 2:
            twice.set()

    with Heartbeat(say).beating(every=0.001):
        assert twice.wait(60)
    n = len(lines)
    assert lines[0].startswith("reading the audit (")
    assert "heartbeat" not in {thread.name for thread in threading.enumerate()}
    assert len(lines) == n


def test_it_ends_with_work_that_fails():
    try:
        with Heartbeat(print).beating(every=60):
            raise ValueError
    except ValueError:
        pass
    assert "heartbeat" not in {thread.name for thread in threading.enumerate()}


def test_a_log_has_it_and_neither_a_terminal_nor_a_quiet_command(monkeypatch):
    def beats():
        return "heartbeat" in {thread.name for thread in threading.enumerate()}

    with working(Settings()):
        assert beats()
    silent = Settings()
    silent.quiet = True
    with working(silent):
        assert not beats()
    monkeypatch.setenv("FORCE_COLOR", "1")
    with working(Settings()):
        assert not beats()
