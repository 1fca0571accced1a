"""Options of an entry whose annotator asks a chat model."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from stereotrope.annotate.asking import MAX_SIDE
from stereotrope.clients import ChatClient
from stereotrope.inputs.entries import Context
from stereotrope.inputs.serving import ModelOptions

_OURS = ("messages", "model", "n", "stream", "stream_options", "tools")


class ChatOptions(ModelOptions):
    """As of :class:`~stereotrope.clients.ChatClient`; ``response_format: null`` sends none."""

    decided: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(_OURS, "the question decides it; remove it"),
        "response_format": "it stands beside the model; write it there",
    }

    temperature: float | None = 0.0
    max_tokens: int = Field(1000, ge=1)
    seed: int | None = Field(None, ge=0)
    logprobs: bool = False
    response_format: Annotated[
        Literal["json_schema", "json_object", "text"] | None,
        BeforeValidator(lambda given: "text" if given is None else given),
    ] = None
    max_side: int = Field(MAX_SIDE, ge=64)

    def asking(self, written: str, context: Context, default: str = "{model}") -> dict[str, Any]:
        """Return what every annotator that asks takes: client, name, picture size and version.

        ``written`` is the model as the entry names it, ``default`` the name where it has none.
        """
        served = self.served(written)
        client = ChatClient(
            served.endpoint,
            served.model,
            account=context.account,
            price=served.price,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=self.seed,
            logprobs=self.logprobs,
            extra=served.parameters,
            response_format=self.response_format,
        )
        name = self.name or default.format(model=served.model)
        return {"client": client, "name": name, "max_side": self.max_side, "version": self.version}
