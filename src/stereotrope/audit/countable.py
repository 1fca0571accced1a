"""What an audit whose label files are counted may ask for: what rows of files alone can say."""

from collections.abc import Sequence
from typing import Any

from stereotrope.annotate import Annotator
from stereotrope.annotate.counted import CountedFile
from stereotrope.audit.file import AuditSpec
from stereotrope.generate import CountableGenerator, Generator
from stereotrope.inputs.yaml import Source

_HERE = "label files are counted (`counted: true`)"


def require_countable(
    spec: AuditSpec, generators: Sequence[Generator], prefixes: Sequence[str], source: Source
) -> list[CountableGenerator]:
    """Refuse what single pictures would have to be known for; return the generators.

    Raises AuditFileError: A generator is no file that lists pictures, or an option needs single pictures.
    """
    if spec.merge_colours is not None:
        raise source.error(
            f"merge_colours: {_HERE}, and colour words are not merged; remove it", "merge_colours"
        )
    for index, (generator, prefix) in enumerate(zip(generators, prefixes, strict=True)):
        if not isinstance(generator, CountableGenerator):
            raise source.error(
                f"generator {generator.name!r}: {_HERE}, and pictures come of files that list them; write "
                "{labels: images.parquet, …}, or take out `counted`",
                *("generators", index),
            )
        if prefix:
            raise source.error(
                f"prefix: the pictures of {generator.name!r} were made elsewhere; remove it",
                *("generators", index),
            )
    return [one for one in generators if isinstance(one, CountableGenerator)]


def require_counting(
    annotators: Sequence[Annotator], checked: Sequence[Any], right: Sequence[Any], source: Source
) -> None:
    """Refuse annotators that look at pictures, or whose labels say something of each by itself.

    Raises AuditFileError: There is such a one.
    """
    for index, (annotator, check, reference) in enumerate(zip(annotators, checked, right, strict=True)):
        at = ("annotators", index) if source.tree.get("annotators") else ("generators",)
        if annotator.derive_part is None:
            raise source.error(
                f"annotator {annotator.name!r}: {_HERE}, and it needs each picture by itself; label with "
                "{labels: FILE}, {boxes: FILE} and {consensus: …} alone, or take out `counted`",
                *at,
            )
        if check is not None or reference:
            raise source.error(
                f"annotator {annotator.name!r}: {_HERE}, and `{'reference' if reference else 'check'}` needs "
                "each picture by itself; remove it, or take out `counted`",
                *at,
            )
        if message := _of_other_rows(annotator, annotators):
            raise source.error(f"annotator {annotator.name!r}: {message}", *at)


def _of_other_rows(annotator: Annotator, annotators: Sequence[Annotator]) -> str | None:
    """What is wrong with labels of regions whose boxes another file lists: regions are told apart by rows."""
    if not isinstance(annotator, CountedFile) or annotator.box is None or annotator.subject != "region":
        return None
    for one in annotators:
        if isinstance(one, CountedFile) and one.gives and set(one.attributes) & set(annotator.needs):
            if one.rows.digest != annotator.rows.digest:
                return (
                    f"{_HERE}, and labels of regions stand in the rows of their boxes; found the boxes in "
                    f"{one.file} ({one.name!r}) and the labels in {annotator.file}: join both by picture and "
                    "box into one file (docs/how-to/import-labels.md has the command) and name it in both "
                    "entries, or take out `counted`"
                )
            here, there = ((by.key, by.model, by.box) for by in (annotator, one))
            if here != there:
                return (
                    f"{_HERE}, and rows of {one.file} are read as boxes by {there} and as labels by {here} "
                    "(picture, model, box); name the same columns"
                )
    return None
