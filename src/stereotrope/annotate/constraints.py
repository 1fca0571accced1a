"""Whether a picture breaks what its prompt asked for: people, more than one product."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from stereotrope.annotate.asking import ChatOptions, ModelAnnotator
from stereotrope.annotate.label import Attributes
from stereotrope.annotate.registry import annotator
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import Text
from stereotrope.tables import CONSTRAINTS


class ConstraintAnnotator(ModelAnnotator):
    """Asks a chat model whether people or several products are in a picture: ``yes``, ``no``, ``unclear``.

    The prompts of the objects suite end in "one product only, no people"; pictures that break it look
    diverse for the wrong reason (arXiv:2508.03483v3, section 5.3). The wording is ours, and the same
    whatever the product is.

    client, name, order_seed, max_side, version: As of :class:`~stereotrope.annotate.QuestionAnnotator`.
    """

    kind = "constraints"
    attributes: Attributes = dict.fromkeys(CONSTRAINTS, ("yes", "no"))


class ConstraintOptions(ChatOptions):
    """As of :class:`ConstraintAnnotator`."""

    slips: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("attributes", "subject", "discover", "taxonomy"), "`constraints` does not take it."
    )

    constraints: Text
    order_seed: int = Field(0, ge=0)


@annotator(
    ConstraintOptions,
    summary="people or several products in the picture, by a chat model",
    example="{constraints: openai:gpt-4o}",
)
def constraints(options: ConstraintOptions, context: Context) -> ConstraintAnnotator:
    """Ask what breaks the prompt."""
    asked = options.asking(options.constraints, context, "{model} constraints")
    return ConstraintAnnotator(**asked, order_seed=options.order_seed)
