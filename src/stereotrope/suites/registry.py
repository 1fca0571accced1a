"""The suites by name, and what each can do beyond its audit file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.suites.biasbench.compare import CaptionsReproduction
from stereotrope.suites.biasbench.reproduce import reproduce_biasbench, reproduce_biasbench_captions
from stereotrope.suites.check import Reproduction
from stereotrope.suites.objects.reproduce import reproduce_objects

__all__ = ["SUITES", "Suite", "reproduce", "reproduce_captions"]


@dataclass(frozen=True)
class Suite:
    """A published method; what cannot be done for it is None.

    ``reproduce`` checks its paper's figures against each other, ``captions`` against captions of a file or
    folder with a lexicon.
    """

    name: str
    reproduce: Callable[[], Reproduction] | None = None
    captions: Callable[[Path, Path | None], CaptionsReproduction] | None = None


SUITES: Mapping[str, Suite] = {
    "objects": Suite("objects", reproduce_objects),
    "biasbench": Suite("biasbench", reproduce_biasbench, reproduce_biasbench_captions),
}
"""Every suite by its name."""


def reproduce(name: str) -> Reproduction:
    """Check the published figures of a suite's paper against each other.

    Parameters
    ----------
    name
        Name of a suite, such as ``objects``.

    Returns
    -------
    Reproduction
        One check a claim, with its verdict. Nothing is drawn, asked or written.

    Raises
    ------
    UsageError
        There is no such suite, or nothing of it can be reproduced; the message names what can.

    Examples
    --------
    >>> reproduce("objects").checks[0].verdict
    'agrees'
    """
    able = [suite.name for suite in SUITES.values() if suite.reproduce is not None]
    work = _suite(name).reproduce
    if work is None:
        have = "has" if len(able) == 1 else "have"
        raise UsageError(f"suite {name!r}: has no published figures to check; {', '.join(able)} {have}")
    return work()


def reproduce_captions(
    name: str, captions: Path | str, lexicon: Path | str | None = None
) -> CaptionsReproduction:
    """Set every number of captions beside the figures a suite's paper printed.

    Parameters
    ----------
    name
        Name of a suite whose numbers are made of captions: ``biasbench``.
    captions
        A CSV or JSONL file with columns model, prompt, image and caption, or a folder of such files.
    lexicon
        The authors' lists as JSON, or a lexicon of ours as YAML; our own where it is None.

    Returns
    -------
    CaptionsReproduction
        By model, what is odd about its captions, then every number with its verdict.

    Raises
    ------
    UsageError
        There is no such suite, or its numbers are not made of captions.
    InputError
        The captions or the lexicon cannot be used.
    """
    work = _suite(name).captions
    if work is None:
        able = ", ".join(suite.name for suite in SUITES.values() if suite.captions is not None)
        raise UsageError(f"suite {name!r}: its numbers are not made of captions; those of {able} are")
    return work(Path(captions), None if lexicon is None else Path(lexicon))


def _suite(name: str) -> Suite:
    if name not in SUITES:
        hint = did_you_mean(name, SUITES, otherwise=f"there is: {', '.join(SUITES)}")
        raise UsageError(f"no suite {name!r}; {hint}")
    return SUITES[name]
