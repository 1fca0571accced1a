"""Options of an entry that asks a model: the entry's own, the endpoint's, and the model's parameters."""

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from stereotrope.clients import (
    ENDPOINT_KEYS,
    Account,
    ChatClient,
    Endpoint,
    Price,
    price_of,
    refuse_secrets,
    split_model,
)
from stereotrope.errors import UsageError
from stereotrope.inputs.options import Name, Options, Text, shorten

_NEAR = 0.8
"""Likeness (difflib's ratio) from which an unknown key is taken for a slip and not for a parameter."""

_DEVICE = re.compile(r"auto|cpu|cuda(:\d+)?")


def _device(value: str) -> str:
    if not _DEVICE.fullmatch(value):
        raise ValueError("must be auto, cpu, cuda or cuda:0 …")
    return value


Device = Annotated[Text, AfterValidator(_device)]
"""``cpu``, ``cuda``, ``cuda:1`` …, or ``auto``: the GPU where there is one."""


@dataclass(frozen=True)
class ServedModel:
    """A model, where it is reached, what it costs (None where unknown), and parameters that it is sent."""

    provider: str
    model: str
    endpoint: Endpoint
    price: Price | None
    parameters: Mapping[str, Any]


class ModelOptions(Options):
    """Keys that are no field are the endpoint's (:data:`~stereotrope.clients.ENDPOINT_KEYS`) or parameters.

    A parameter with the name of a field goes under ``parameters``. A key that is nearly a field's is
    refused, and so is one that looks like a secret, which is never repeated.
    """

    model_config = ConfigDict(extra="allow")
    decided: ClassVar[Mapping[str, str]] = {}
    """Parameters that decide what is asked or how it is answered → who does, and what to do."""

    name: Name | None = None
    version: Text | None = None
    price: Any = None
    parameters: dict[str, Any] | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_secrets(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, Mapping):
            refuse_secrets(str(info.context).split()[0], value)
        return value

    def served(self, written: str) -> ServedModel:
        """Return the model that an entry names as ``provider:model``.

        Raises UsageError: The provider or a key is unknown, or a value does not fit.
        """
        provider, model = split_model(written)
        endpoint, rest = Endpoint.from_options(provider, self.model_extra or {})
        for key in rest:
            self._refuse_slip(written, key)
        parameters = {**rest, **(self.parameters or {})}
        for key, value in parameters.items():
            if key in self.decided:
                raise UsageError(f"{written}: {key!r} cannot be set as a parameter: {self.decided[key]}")
            try:
                json.dumps(value, allow_nan=False)
            except (TypeError, ValueError):
                raise UsageError(
                    f"{written}: parameter {key!r} must be a JSON value (text, number, true, false, list or "
                    f"mapping), found {type(value).__name__}; put it in quotes"
                ) from None
        price = price_of(provider, model, endpoint) if self.price is None else Price.from_option(self.price)
        return ServedModel(provider, model, endpoint, price, parameters)

    def _refuse_slip(self, written: str, key: str) -> None:
        known = (*type(self).model_fields, *ENDPOINT_KEYS)
        near = difflib.get_close_matches(key.lower().replace("-", "_"), known, n=1, cutoff=_NEAR)
        hint = self.slips.get(key) or next((f"did you mean {name!r}?" for name in near), None)
        if hint is not None:
            raise UsageError(
                f"{written}: unknown key {shorten(key)}; {hint} A parameter of the model by this name goes "
                f"under `parameters: {{{key}: …}}`"
            )


_OURS = ("messages", "model", "n", "stream", "stream_options", "tools")


class ChatModelOptions(ModelOptions):
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

    def client(self, written: str, account: Account) -> ChatClient:
        """Return what asks the model that an entry names."""
        served = self.served(written)
        return ChatClient(
            served.endpoint,
            served.model,
            account=account,
            price=served.price,
            extra=served.parameters,
            **self.model_dump(include=_OF_CLIENT),
        )


_OF_CLIENT = {"temperature", "max_tokens", "seed", "logprobs", "response_format"}
