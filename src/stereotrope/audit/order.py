"""In which order annotators work: what one needs, another has given before."""

from collections.abc import Iterator, Sequence

from stereotrope.annotate import Annotator
from stereotrope.inputs.yaml import Source


def waves(annotators: Sequence[Annotator]) -> Iterator[list[Annotator]]:
    """Yield annotators and their parts in groups, each after the groups that give what it needs.

    What needs nothing is in the first group; in a group they stand as in the audit file. Those of a circle
    come in no group.
    """
    left = [one for each in annotators for one in (each, *each.parts)]
    while left:
        ready = [one for one in left if not _waits_for(one, left)]
        if not ready:
            return
        yield ready
        left = [one for one in left if one not in ready]


def ordered(annotators: Sequence[Annotator]) -> list[Annotator]:
    """Return annotators and their parts so that each stands after those that give what it needs."""
    return [one for wave in waves(annotators) for one in wave]


def _given(annotator: Annotator) -> set[str]:
    return {*annotator.attributes, *annotator.gives}


def _waits_for(annotator: Annotator, others: Sequence[Annotator]) -> list[Annotator]:
    return [other for other in others if other is not annotator and set(annotator.needs) & _given(other)]


def require_needs(annotators: Sequence[Annotator], source: Source) -> None:
    """Refuse an annotator that needs what none gives, and those that wait for one another.

    Raises AuditFileError: With the line of the annotator.
    """
    parts = [one for each in annotators for one in (each, *each.parts)]
    placed = ordered(annotators)
    for index, annotator in enumerate(annotators):
        for one in (annotator, *annotator.parts):
            given = set[str]().union(*(_given(other) for other in parts if other is not one))
            if lacking := [need for need in one.needs if need not in given]:
                add = one.remedies.get(lacking[0], "one that does (see `stereotrope annotators`)")
                raise source.error(
                    f"annotator {annotator.name!r} needs {lacking[0]!r}, and no other gives that; add {add}",
                    *("annotators", index),
                )
        if annotator not in placed:
            circle = ", ".join(repr(one.name) for one in annotators if one not in placed)
            raise source.error(
                f"annotators {circle}: each needs what another gives, so none can begin; leave one out",
                *("annotators", index),
            )
