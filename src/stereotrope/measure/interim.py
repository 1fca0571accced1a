"""Looking at a run more than once while it grows."""

import hashlib
import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


@dataclass(frozen=True)
class InterimLook:
    """One of several looks at a run that grows: an interim analysis.

    Each look has an error of its own (:func:`stereotrope.stats.look_alpha`), and what one of them told stays
    told. So the union of all lists holds the sum of the errors.

    number: 1 for the first.
    planned: How many were planned beforehand; None for any number.
    told: What looks before told: key of the place (:func:`place_key`) → q with which they did.
    changed: Sentence on a plan that was changed between looks; empty where it was not.
    joined: Of each look before whose design lacked some factors, these and the level of each in which its
        prompts stand now.
    postponed: No part of something that was asked for is there, such as every label of one annotator: all
        error is left to later looks.
    """

    number: int = 1
    planned: int | None = None
    told: Mapping[str, float] = field(default_factory=dict)
    changed: str = ""
    joined: Sequence[Mapping[str, str]] = ()
    postponed: bool = False

    @property
    def lead(self) -> str:
        """Words that begin a sentence about it; none where it is the only one so far."""
        if self.number == 1 and self.planned in (None, 1):
            return ""
        if self.number > len(_ORDINALS):
            return f"Look {self.number} at this run: "
        of = f" of {self.planned} planned looks" if self.number <= (self.planned or 0) else " look"
        return f"{_ORDINALS[self.number - 1].capitalize()}{of} at this run: "

    @property
    def silent(self) -> str:
        """What is said of a look without error: it waits, or those before have spent the whole."""
        if self.postponed:
            return (
                "This look tests nothing: a part of what was asked for, such as the labels of an annotator, "
                "is missing entirely, so the error is left to the look at the whole. What was told stays. "
                "The same command asks for what is missing."
            )
        over = self.planned is not None and self.number > self.planned and not self.changed
        before = f"{self.planned} planned looks" if over else "looks before this one"
        return (
            f"The {before} have spent the whole error of this run, so this one tells no new difference, and "
            "intervals have no error left. What was told stays. To test what is new, run the audit with "
            "another seed into a new folder."
        )


ONLY_LOOK = InterimLook()
"""The look of a single computation."""


def place_key(conditions: Hashable, *about: Hashable, factors: Sequence[str] = ()) -> str:
    """A short name for what a comparison is about, which stays when the design grows around it.

    conditions: What is compared; where ``factors`` are given, combinations of their levels. A factor that a
        condition has no level of does not count, so that one that joins the design changes no name.
    about: What it is compared with, and in what.
    """
    return _named(_written(conditions, tuple(factors)), *about)


def earlier_key(
    conditions: Hashable, *about: Hashable, factors: Sequence[str] = (), joined: Mapping[str, str]
) -> str | None:
    """The name that a comparison had before some factors joined the design; None where there was none.

    joined: Factor → its level of the prompts that were there. Where levels are pooled, those of these prompts
        are what the comparison was about.
    """
    if isinstance(conditions, tuple):
        places = {factors.index(f): level for f, level in joined.items() if f in factors}
        there = [one for one in conditions if all(one[at] in (None, of) for at, of in places.items())]
        before = tuple(tuple(None if at in places else x for at, x in enumerate(one)) for one in there)
        return place_key(tuple(dict.fromkeys(before)), *about, factors=factors) if there else None
    # A place that is told by its sentence has its scope as a text, and its parts behind that.
    *kept, scope, parts = (conditions, *about)
    levels = dict(conditions if isinstance(conditions, frozenset) else json.loads(str(scope)))
    if any(levels.get(f, of) != of for f, of in joined.items()):
        return None
    rest = sorted(pair for pair in levels.items() if pair[0] not in joined)
    if isinstance(conditions, frozenset):
        return place_key(frozenset(rest), *about, factors=factors)
    return place_key(*kept, json.dumps(rest, ensure_ascii=False), parts)


def _named(*what: Hashable) -> str:
    text = json.dumps(what, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@lru_cache(maxsize=10_000)
def _written(conditions: Hashable, factors: tuple[str, ...]) -> str:
    """Conditions as a text; many comparisons share those of all models, say."""
    told: object = conditions
    if factors and isinstance(conditions, tuple):
        named = [{f: x for f, x in zip(factors, one, strict=True) if x is not None} for one in conditions]
        told = sorted(json.dumps(one, ensure_ascii=False, sort_keys=True) for one in named)
    elif isinstance(conditions, frozenset):
        told = sorted(map(list, conditions))
    return json.dumps(told, ensure_ascii=False)
