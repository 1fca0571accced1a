"""In which order annotators come, each after those that give what it needs."""

from collections.abc import Iterator, Sequence

import polars as pl

from stereotrope.annotate import Annotator
from stereotrope.errors import UsageError, did_you_mean
from stereotrope.inputs.yaml import Source


def waves(annotators: Sequence[Annotator]) -> Iterator[list[Annotator]]:
    """Yield annotators and their parts in groups, each after the groups that give what it needs.

    What needs nothing is in the first group; in a group they stand as in the audit file. Those of a circle
    come in no group.
    """
    left = [one for each in annotators for one in (each, *each.parts)]
    while left:
        waits = {one.name for one in left}
        ready = [
            one for one in left if _given_to(one, left).isdisjoint(one.needs) and waits.isdisjoint(one.reads)
        ]
        if not ready:
            return
        yield ready
        left = [one for one in left if one not in ready]


def ordered(annotators: Sequence[Annotator]) -> list[Annotator]:
    """Return annotators and their parts so that each stands after those that give what it needs."""
    return [one for wave in waves(annotators) for one in wave]


def _given_to(annotator: Annotator, others: Sequence[Annotator]) -> set[str]:
    """What others than the annotator itself give."""
    return {name for one in others if one is not annotator for name in (*one.attributes, *one.gives)}


def tell_sentences(annotators: Sequence[Annotator], source: Source) -> None:
    """Tell encoders of which sentences others want vectors.

    Raises AuditFileError: One that is named has none.
    """
    for index, annotator in enumerate(annotators):
        for one in annotators:
            if annotator.wants and one.name in annotator.reads:
                try:
                    one.also_encode(annotator.wants)
                except UsageError as error:
                    raise source.error(
                        f"annotator {annotator.name!r}: {error}", "annotators", index
                    ) from None


def require_sets(
    annotators: Sequence[Annotator], prompts: pl.DataFrame, requests: pl.DataFrame, source: Source
) -> None:
    """Refuse an annotator of sets where the pictures that are asked for make none.

    Raises AuditFileError: They are too few.
    """
    asked = requests.unique("image_id", keep="last", maintain_order=True)
    told = prompts.drop("negative", strict=False)
    images = asked.select("image_id", "prompt_id", "generator", "seed", status=pl.lit("ok"))
    for index, one in enumerate(annotators):
        if one.subject != "set" or not one.looks or asked.is_empty():
            continue
        if not one.sets(images.join(told, on="prompt_id", how="left", maintain_order="left")):
            most = max(asked.group_by("generator", "prompt_id").len()["len"])
            raise source.error(
                f"annotator {one.name!r}: a set is of {one.size} pictures of a prompt, found at most {most}; "
                f"raise `images_per_prompt:`, or write `size: {most}`",
                *("annotators", index),
            )


def require_needs(annotators: Sequence[Annotator], source: Source) -> None:
    """Refuse an annotator that needs what none gives or says, and those that wait for one another."""
    parts = [one for each in annotators for one in (each, *each.parts)]
    placed, names = ordered(annotators), [one.name for one in annotators]
    for index, annotator in enumerate(annotators):
        for one in (annotator, *annotator.parts):
            if lacking := [need for need in one.needs if need not in _given_to(one, parts)]:
                add = one.remedies.get(lacking[0], "one that does (see `stereotrope annotators`)")
                raise source.error(
                    f"annotator {annotator.name!r} needs {lacking[0]!r}, and no other gives that; add {add}",
                    *("annotators", index),
                )
        if lacking := [name for name in annotator.reads if name not in names]:
            hint = did_you_mean(lacking[0], names, otherwise=f"there is: {', '.join(names)}")
            raise source.error(
                f"annotator {annotator.name!r}: reads {lacking[0]!r}, which is no annotator; {hint}",
                *("annotators", index),
            )
        try:
            annotator.require_of([one for one in annotators if one.name in annotator.reads])
        except UsageError as error:
            raise source.error(str(error), "annotators", index) from None
        if annotator not in placed:
            circle = ", ".join(repr(one.name) for one in annotators if one not in placed)
            raise source.error(
                f"annotators {circle}: each needs what another gives, so none can begin; leave one out",
                *("annotators", index),
            )
