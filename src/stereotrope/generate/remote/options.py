"""Options of an entry that asks a model for pictures."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from stereotrope.inputs.options import Text
from stereotrope.inputs.serving import ModelOptions


def _seed(value: Any) -> Any:
    if value is not None and not isinstance(value, bool):
        raise ValueError("must be true or false; seeds are numbered from the audit's `seed:`")
    return value


class ImageModelOptions(ModelOptions):
    """A model behind a server, by ``provider:model``.

    name: In the ``generator`` column; the model's where None.
    batch: Pictures a call.
    seed, negative: Whether a seed and a negative prompt are sent; None leaves it to the adapter.
    version: Tells one deployment of a model from another; part of the fingerprint.
    """

    slips: ClassVar[Mapping[str, str]] = {
        "model": "did you mean 'images'?",
        **dict.fromkeys(("n", "num_images", "sampleCount"), "did you mean 'batch'?"),
        **dict.fromkeys(("negative_prompt", "negativePrompt"), "did you mean 'negative'?"),
    }
    decided: ClassVar[Mapping[str, str]] = {
        "prompt": "the prompt comes from the design; remove it",
        "seed": "seeds are numbered from the audit's `seed:`; remove it",
        **dict.fromkeys(("n", "sampleCount"), "`batch:` says how many pictures a call brings; remove it"),
        "stream": "answers are read whole; remove it",
    }

    images: Text
    batch: int = Field(1, ge=1)
    seed: Annotated[bool | None, BeforeValidator(_seed)] = None
    negative: bool | None = None
