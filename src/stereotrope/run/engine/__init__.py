"""Carrying out stages: many items, a few at a time, each committed the moment it lands."""

from stereotrope.run.engine.computer import ThisComputer, begun_process, end_process, processors
from stereotrope.run.engine.needs import Needs
from stereotrope.run.engine.stage import Commit, Items, Job, OnFailure, Pair, Stage, Summary
from stereotrope.run.engine.work import Crew, Threads, refuse_stopped, run

__all__ = [
    "Commit",
    "Crew",
    "Items",
    "Job",
    "Needs",
    "OnFailure",
    "Pair",
    "Stage",
    "Summary",
    "ThisComputer",
    "Threads",
    "begun_process",
    "end_process",
    "processors",
    "refuse_stopped",
    "run",
]
