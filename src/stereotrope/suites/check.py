"""What a check of a paper's figures says."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from stereotrope.suites.contract import suite_named
from stereotrope.suites.reading import load_yaml

AGREES = "agrees"
PARTLY = "agrees in part"
DIFFERS = "differs"
NO_DATA = "cannot be recomputed"
NOT_GIVEN = "not in the paper"

VERDICTS: Mapping[str, str] = {
    AGREES: "other published figures, or the definition named, give the same to the last digit",
    PARTLY: "part of what is said follows, part does not; the explanation says which",
    DIFFERS: "other published figures, or the definition named, give something else",
    NO_DATA: "what is published does not suffice; the explanation says what is missing",
    NOT_GIVEN: "the paper gives no such figure; ours follows from its tables and the assumptions named",
}
"""Every verdict with its meaning."""


@dataclass(frozen=True)
class FigureCheck:
    """One claim of a paper (``what``) set beside what its own tables give, with a verdict.

    ``recomputed`` is empty where nothing can be; ``details`` are figures behind it, a mapping a row.
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

    @property
    def counted(self) -> str:
        """How many checks there are, and how many with each verdict."""
        counts = ", ".join(f"{verdict} {n}" for verdict, n in self.counts().items())
        return f"{len(self.checks)} checks: {counts}."

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data for JSON, the meaning of the verdicts included."""
        return {**asdict(self), "verdicts": dict(VERDICTS), "counts": self.counts()}


class Recomputed(NamedTuple):
    """What came out of the claim of a key; ``words`` fill in what the claim's texts leave open."""

    key: str
    verdict: str
    figures: str
    details: Sequence[Mapping[str, Any]] = ()
    words: Mapping[str, Any] = {}


def agreed(holds: Any) -> str:
    """The verdict on a claim that holds or does not."""
    return AGREES if holds else DIFFERS


def reproduction(suite: str, results: Iterable[Recomputed]) -> Reproduction:
    """Set the claims of a suite's ``checks.yaml`` beside what came out of them."""
    data = load_yaml(suite_named(suite).folder / "checks.yaml")
    by_key = {result.key: result for result in results}
    checks = []
    for section in data["sections"]:
        for claim in section["checks"]:
            key, verdict, figures, details, words = by_key[claim["key"]]
            what, published, why = (
                claim.get(name, "").format(**words) for name in ("what", "published", "explanation")
            )
            one = FigureCheck(key, section["section"], what, published, figures, verdict, why, details)
            checks.append(one)
    return Reproduction(suite, data["title"], data["source"], data["licence"], checks)
