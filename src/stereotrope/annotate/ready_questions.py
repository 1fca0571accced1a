"""What an entry asks a model: attributes of its own, and ready questions by name."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from stereotrope.annotate.attributes import OPEN
from stereotrope.errors import UsageError, did_you_mean
from stereotrope.inputs.options import Options, Text, Texts
from stereotrope.shipped import shipped


def _given(attributes: dict[str, Any] | None) -> dict[str, Any] | None:
    for name, values in (attributes or {}).items():
        if values is None:
            raise ValueError(f"has no values for {name!r}; list them, or write {OPEN}")
    return attributes


def _sets() -> Mapping[str, Any]:
    return dict(shipped("annotate", "ready_questions.yaml")["sets"])


def _ready(names: list[str]) -> list[str]:
    for name in names:
        if name not in _sets():
            known = f"known are {', '.join(_sets())}"
            raise ValueError(f"must list ready questions; {did_you_mean(name, _sets(), otherwise=known)}")
    return names


class WantedOptions(Options):
    """``attributes`` of one's own; ``sets`` are ready questions: ``gender``, ``gender_nonbinary``, ``race``,
    ``age`` of people, ``prompt_following`` of whole pictures.
    """

    attributes: Annotated[dict[str, Any] | None, AfterValidator(_given)] = Field(
        None, examples=["{body_type: [sedan, SUV], rim_colour: open}"]
    )
    order_seed: int = Field(0, ge=0)
    regions: Text | None = None
    sets: Annotated[Texts, AfterValidator(_ready)] | None = Field(None, examples=["[gender, race, age]"])

    def wanted(self, entry: str, *, given: bool = False, briefly: bool = False) -> dict[str, Any]:
        """Return ``attributes`` with those of the ready questions, their ``meanings``, and those ``forced``.

        entry: The model as it is written.
        given: Whether attributes come from elsewhere too.
        briefly: Whether each is a question of its own; else a line among others.

        Raises UsageError: An attribute is asked twice, or regions are shown and nothing is asked.
        """
        if self.sets is None:
            if self.regions is not None and self.attributes is None and not given:
                raise UsageError(
                    f"annotator {entry!r}: say what to ask of regions; write `sets: [gender]` or "
                    "`attributes:`"
                )
            return {"attributes": self.attributes}
        asked = dict(self.attributes or {})
        ready = [_sets()[name] for name in self.sets]
        for one in ready:
            if one["attribute"] in asked:
                raise UsageError(f"annotator {entry!r}: {one['attribute']!r} is asked twice; remove one")
            asked[one["attribute"]] = list(one["values"])
        return {
            "attributes": asked,
            "meanings": {one["attribute"]: one["question" if briefly else "meaning"] for one in ready},
            "forced": [one["attribute"] for one in ready if one.get("forced")],
        }
