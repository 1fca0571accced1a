"""Whether a picture breaks what its prompt asked for: people, more than one product."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from stereotrope.annotate.asking import MAX_SIDE, ModelAnnotator
from stereotrope.annotate.chat import ChatOptions
from stereotrope.annotate.registry import annotator
from stereotrope.clients import ChatClient
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import Text
from stereotrope.tables import CONSTRAINTS


class ConstraintAnnotator(ModelAnnotator):
    """Asks a chat model whether people or several products are in a picture: ``yes``, ``no``, ``unclear``.

    The prompts of the objects suite end in "one product only, no people"; pictures that break it look
    diverse for the wrong reason (arXiv:2508.03483v3, section 5.3). The wording is ours, and the same
    whatever the product is.

    Its parameters are those of :class:`~stereotrope.annotate.QuestionAnnotator`.
    """

    kind = "constraints"

    def __init__(
        self,
        client: ChatClient,
        *,
        name: str,
        order_seed: int = 0,
        max_side: int = MAX_SIDE,
        version: str | None = None,
    ) -> None:
        super().__init__(
            client,
            name=name,
            attributes=dict.fromkeys(CONSTRAINTS, ("yes", "no")),
            order_seed=order_seed,
            max_side=max_side,
            version=version,
        )


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
