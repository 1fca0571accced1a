"""Replicate's predictions over plain HTTP: created, asked for until done, the output fetched.

Requests follow https://replicate.com/docs/reference/http and
https://replicate.com/docs/topics/predictions/create-a-prediction: an official model is asked at
``POST /models/OWNER/NAME/predictions``, a version of any other at ``POST /predictions`` with ``version``;
``Prefer: wait`` holds the answer back until it is done. The output is a URL or a data URL, alone or in a
list (https://replicate.com/docs/topics/predictions/output-files). What a model declines it says in words,
with the code E005 where the model is Replicate's own wrapper.
"""

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from stereotrope.clients import Account, ErrorReply, error_in, is_moderation, is_trouble, tells_error
from stereotrope.errors import ModelError, UsageError
from stereotrope.generate.remote.answer import EMPTY, ImageReply, Slot, as_mapping, from_url, reply
from stereotrope.generate.remote.generator import ImageModelOptions, RemoteGenerator, Send

_LONGEST_HELD = 60
"""Seconds that ``Prefer: wait`` can hold an answer, by the documentation."""
_FIRST_LOOK, _LONGEST_LOOK = 0.5, 5.0
_GONE = 404
_LOOKED_AT = 100_000
_NAME = re.compile(r"[A-Za-z0-9]+")
_VERSION = re.compile(r"[0-9a-f]{64}")
_MODEL = re.compile(r"[\w.-]+/[\w.-]+")
_ENDED = ("failed", "canceled", "aborted")
_WORKING = ("starting", "queued", "processing")


class ReplicateGenerator(RemoteGenerator):
    """A model on Replicate, ``OWNER/NAME`` or ``OWNER/NAME:VERSION``.

    Every parameter is an input of the model. The seed is sent as ``seed``, a negative prompt as
    ``negative_prompt`` where ``negative: true`` says that the model has that input. A ``version`` of 64
    hexadecimal digits is the one that is run. One call brings one picture.

    A prediction is created once: when asking for it fails, it is asked for again, not created again.
    """

    kind = "replicate"

    def __init__(self, options: ImageModelOptions, account: Account) -> None:
        super().__init__(options, account)
        model, _, version = self.model.partition(":")
        label = options.version or ""
        self._version = version or (label if _VERSION.fullmatch(label) else "")
        if not _MODEL.fullmatch(model) or (version and not _VERSION.fullmatch(version)):
            raise UsageError(
                f"generator {self.name!r}: a model on Replicate is OWNER/NAME or OWNER/NAME:VERSION with 64 "
                f"hexadecimal digits, found {self.model!r}; correct it"
            )
        self._path = "predictions" if self._version else f"models/{quote(model)}/predictions"

    def _body(self, text: str, negative: str | None, seed: int | None, count: int) -> dict[str, Any]:
        asked: dict[str, Any] = {"prompt": text, **self.parameters}
        if seed is not None:
            asked["seed"] = seed
        if negative:
            asked["negative_prompt"] = negative
        return {"input": asked, **({"version": self._version} if self._version else {})}

    def _sender(self, text: str, negative: str | None, seed: int | None, count: int) -> Send:
        body = self._body(text, negative, seed, count)
        running: list[str] = []

        async def send() -> ImageReply:
            if not running:
                held = max(1, min(_LONGEST_HELD, int(self.endpoint.timeout) - 1))
                headers = {"Prefer": f"wait={held}"}
                prediction = _prediction(await self._http.post(self._path, body, headers=headers))
                name = prediction.get("id")
                if not isinstance(name, str) or not _NAME.fullmatch(name):
                    raise ModelError("answered with a prediction without a name")
                running.append(name)
            else:
                prediction = await self._look(running)
            wait = _FIRST_LOOK
            while prediction.get("status") in _WORKING and not prediction.get("output"):
                await asyncio.sleep(min(wait, self.endpoint.longest_wait))
                wait = min(2 * wait, _LONGEST_LOOK)
                prediction = await self._look(running)
            why = _why(prediction)
            if why is not None and not is_moderation(why) and is_trouble(why):
                running.clear()
                raise ModelError(f"a prediction {prediction.get('status')}: {why}")
            return self.read(prediction)

        return send

    async def _look(self, running: list[str]) -> Mapping[str, Any]:
        # The address in `urls.get` is the server's word; the key goes to the configured address only.
        import httpx2  # noqa: PLC0415

        try:
            return _prediction(await self._http.get(f"predictions/{running[0]}"))
        except httpx2.HTTPStatusError as error:
            if error.response.status_code != _GONE:
                raise
            running.clear()
            raise ModelError("lost a prediction that it had begun") from None

    @staticmethod
    def read(answer: Any) -> ImageReply:
        """Read a prediction that is done: its picture, or why there is none.

        What a model declines is a refusal, and so is an empty place where a prediction succeeded: models
        leave out what their safety checker holds back. All else fails the item: it would fail again.
        """
        output, why = answer.get("output"), _why(answer)
        places = output if isinstance(output, list) else [output]
        picture = next((place for place in places if isinstance(place, str) and place), None)
        if picture is not None:
            slot = from_url(picture)
        elif why is not None:
            slot = Slot(refusal=why) if is_moderation(why) else Slot(failure=why)
        elif answer.get("data_removed"):
            slot = Slot(failure="its output was removed before it was fetched")
        elif output is not None and all(place is None or place == "" for place in places):
            slot = Slot(refusal=EMPTY)
        else:
            slot = Slot(failure="its output is neither a URL nor a list of URLs")
        return reply([slot])


def _prediction(answer: Any) -> Mapping[str, Any]:
    """Return a prediction; another answer is an error, or none of Replicate's."""
    prediction = as_mapping(answer)
    if prediction.get("status") in (*_WORKING, *_ENDED, "succeeded"):
        return prediction
    if tells_error(answer):
        raise ErrorReply(answer)
    raise ModelError(f"answered something else than a prediction: {json.dumps(answer)[:_LOOKED_AT]}")


def _why(prediction: Mapping[str, Any]) -> str | None:
    """Return why a prediction has failed, None where it has not."""
    error, status = prediction.get("error"), prediction.get("status")
    if not error and status not in _ENDED:
        return None
    return error if isinstance(error, str) and error else str(error_in(prediction)["message"]) or str(status)
