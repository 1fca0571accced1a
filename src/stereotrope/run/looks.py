"""The looks at a run, as its ledger records them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from stereotrope.run.ledger import Ledger

LOOKS = "looks"
"""Stage of the ledger: a row whenever a look tells something else than it did."""


@dataclass(frozen=True)
class RecordedLook:
    """One look at a run: findings of a set of pictures.

    identity: Hash of what was looked at.
    pictures: How many there were, those that are not at hand counted where they were labelled.
    alpha: Error that the look was given.
    told: Key of each place that it told → q.
    time: When it was first made.
    planned: How many looks the audit file planned then, or ``open``; None where that was not recorded.
    factors: Those that prompts had then; None where that was not recorded.
    texts: SHA-256 of some of their texts, by which they are known again.
    """

    identity: str
    pictures: int
    alpha: float
    told: Mapping[str, float] = field(default_factory=dict)
    time: str = ""
    planned: int | str | None = None
    factors: Sequence[str] | None = None
    texts: Sequence[str] | None = None


def looks_in(ledger: Ledger) -> list[RecordedLook]:
    """Every look in the order in which they were first made, each with what it told last.

    A run of a version that recorded none has none.
    """
    found: dict[str, RecordedLook] = {}
    for payload in ledger.get_all(LOOKS).values():
        one = RecordedLook(**payload)
        known = found.get(one.identity, one)
        found[one.identity] = replace(one, alpha=known.alpha, time=known.time, planned=known.planned)
    return list(found.values())


def record_look(ledger: Ledger, look: RecordedLook) -> None:
    """Record a look, durable when this returns; one that is recorded so already adds nothing."""
    known = {one.identity: one for one in looks_in(ledger)}.get(look.identity)
    if known is not None and replace(look, alpha=known.alpha, time=known.time) == known:
        return
    now = look.time or time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    last = max(map(int, ledger.get_all(LOOKS)), default=0)
    ledger.put(LOOKS, f"{last + 1:09d}", asdict(replace(look, time=now, told=dict(look.told))))


def restore_looks(ledger: Ledger, recorded: Sequence[Mapping[str, Any]]) -> int:
    """Record the looks that ``run.json`` knows and the ledger does not: their error stays spent.

    What they told is lost with the ledger; of the same pictures the look is the same, and tells it again.

    recorded: As :func:`looks_told` gave them.
    Returns: How many.
    """
    known = looks_in(ledger)
    names = {one.identity for one in known}
    lost = [
        one
        for at, one in enumerate(recorded)
        if (one["identity"] not in names if one.get("identity") else at >= len(known))
    ]
    for one in lost:
        identity = str(one.get("identity") or f"lost {one['look']}")
        alpha, planned = float(one["alpha"]), one.get("planned")
        record_look(ledger, RecordedLook(identity, one["pictures"], alpha, planned=planned))
    return len(lost)


def looks_told(ledger: Ledger) -> list[dict[str, Any]]:
    """What ``run.json`` says of the looks: no clock."""
    return [
        {
            "look": number,
            "identity": one.identity,
            "pictures": one.pictures,
            "planned": one.planned,
            "alpha": round(one.alpha, 9),
            "told": len(one.told),
        }
        for number, one in enumerate(looks_in(ledger), start=1)
    ]
