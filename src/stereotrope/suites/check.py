"""What a check of a paper's figures says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = [
    "AGREES",
    "DIFFERS",
    "NOT_GIVEN",
    "OPEN_VERDICT",
    "PARTLY",
    "VERDICTS",
    "FigureCheck",
    "Reproduction",
]

AGREES = "agrees"
PARTLY = "agrees in part"
DIFFERS = "differs"
OPEN_VERDICT = "cannot be recomputed"
NOT_GIVEN = "not in the paper"

VERDICTS: Mapping[str, str] = {
    AGREES: "other published figures, or the definition named, give the same to the last digit",
    PARTLY: "part of what is said follows, part does not; the explanation says which",
    DIFFERS: "other published figures, or the definition named, give something else",
    OPEN_VERDICT: "what is published does not suffice; the explanation says what is missing",
    NOT_GIVEN: "the paper gives no such figure; ours follows from its tables and the assumptions named",
}
"""Every verdict with its meaning."""


@dataclass(frozen=True)
class FigureCheck:
    """One claim of a paper set beside what its own tables give.

    Attributes
    ----------
    key
        Short name, the same in every version.
    section
        Heading it stands under.
    what
        The claim, with the table or section it stands in.
    published, recomputed
        Both in words and figures; ``recomputed`` is empty where nothing can be.
    verdict
        One of :data:`VERDICTS`.
    explanation
        How it was computed, and what a difference may come from.
    details
        Figures behind it, one mapping a row, all with the same keys.
    """

    key: str
    section: str
    what: str
    published: str
    recomputed: str
    verdict: str
    explanation: str
    details: Sequence[Mapping[str, Any]] = field(default=())


@dataclass(frozen=True)
class Reproduction:
    """All checks of a suite's paper."""

    suite: str
    title: str
    source: str
    licence: str
    checks: Sequence[FigureCheck]

    def counts(self) -> dict[str, int]:
        """How many checks have each verdict, in the order of :data:`VERDICTS`."""
        found = Counter(check.verdict for check in self.checks)
        return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data for JSON, the meaning of the verdicts included."""
        return {**asdict(self), "verdicts": dict(VERDICTS), "counts": self.counts()}
