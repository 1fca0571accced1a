"""What the instruments of an audit need wherever they work."""

from collections.abc import Iterable, Iterator
from typing import Any

from stereotrope.audit.assemble import VERSIONS, versions_of
from stereotrope.run import Needs

_DRAWN_AND_READ_WITH = ("pillow", "rapidocr", "onnxruntime")
"""What decodes pictures and reads texts, beside what ``run.json`` names."""


def needs_of(instruments: Iterable[Any]) -> Needs:
    """What generators, annotators or strategies need of the computer that they work on."""
    all_of = [*_with_parts(instruments)]
    libraries = {each for one in all_of for each in getattr(one, "libraries", ())}
    keys = {one.endpoint.key for one in all_of if getattr(one, "endpoint", None) is not None}
    return Needs(
        versions_of(["stereotrope", *VERSIONS, *_DRAWN_AND_READ_WITH, *sorted(libraries)]),
        tuple(sorted(key for key in keys if key is not None)),
        tuple(sorted({one.on_disk for one in all_of if getattr(one, "on_disk", None) is not None})),
        tuple(sorted({getattr(one, "device", "cpu") for one in all_of})),
    )


def _with_parts(instruments: Iterable[Any]) -> Iterator[Any]:
    for one in instruments:
        yield one
        yield from _with_parts(getattr(one, "parts", ()))
