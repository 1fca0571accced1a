"""Asking a model about one picture at a time: what every annotator that talks to a server shares."""

import asyncio
from typing import Any

from pydantic import Field

from stereotrope.annotate.answers import by_letter, labels_of, lettered_labels, schema_of
from stereotrope.annotate.contract import Annotator
from stereotrope.annotate.label import Attributes, Label
from stereotrope.annotate.picture import Picture
from stereotrope.annotate.protocol import question_wording
from stereotrope.annotate.questionnaire import MAX_SIDE_SENT, Questionnaire, json_of
from stereotrope.clients import Account, Answer, ChatClient, Endpoint, Expectation, picture_tokens
from stereotrope.inputs.entries import Context
from stereotrope.inputs.serving import ChatModelOptions
from stereotrope.tables import fingerprint_of

VERSION = 1
"""Of the way a question is put together and its answer read."""


class ChatAnnotator(Annotator):
    """An annotator that asks a chat model.

    client: The model.
    name: Name in the ``annotator`` column.
    product: What the pictures show, where the question names it.
    version: Tells one deployment of a model from another; part of the fingerprint.
    """

    def __init__(
        self, client: ChatClient, *, name: str, product: str | None = None, version: str | None = None
    ) -> None:
        self.name: str = name
        self.product = product
        self.version = version
        self._client = client

    @property
    def endpoint(self) -> Endpoint:
        """Where its model is reached."""
        return self._client.endpoint

    @property
    def concurrency(self) -> int:
        """As many as the endpoint may be asked at once."""
        return self.endpoint.concurrency

    async def close(self) -> None:
        """Let go of the connections of the running event loop."""
        await self._client.close()

    def expected(
        self, n: int, question: str, seen: tuple[int, int], answered: tuple[int, int]
    ) -> Expectation:
        """Say what asking ``n`` times takes; repair turns are not in it.

        seen, answered: Fewest and most tokens of the pictures of a question, and of its answer.
        """
        return self._client.expect(n, question, answered, seen)


class ModelAnnotator(ChatAnnotator, Questionnaire):
    """One question about each picture, answered as JSON by a chat model.

    It sees the picture and, where it was told so, what the product is or what was asked for. It never sees a
    group or a generator.
    """

    def __init__(
        self,
        client: ChatClient,
        *,
        name: str,
        order_seed: int = 0,
        max_side: int = MAX_SIDE_SENT,
        version: str | None = None,
    ) -> None:
        super().__init__(client, name=name, version=version)
        self.attributes = dict(self.attributes)
        self.order_seed = order_seed
        self.max_side = max_side

    @property
    def fingerprint(self) -> str:
        """Kind, model, parameters, wording, attributes, order seed, picture size, subject and variant."""
        wording = question_wording(self.kind)
        parameters = {"model": dict(self._client.parameters), "version": self.version, **self.asked_how}
        return fingerprint_of(self.kind, VERSION, parameters, wording.data)

    def mean_cost(self, account: Account) -> float | None:
        """What a call to its model has cost so far."""
        return account.mean(self.endpoint.provider, self._client.model, "chat")

    async def process(self, picture: Picture) -> list[Label]:
        """Label one picture.

        Raises ModelError: The server did not answer; the picture can be tried again later.
        Raises ModelUnusable: No request to it can succeed.
        Raises BudgetError: The cap on what calls may cost is reached.
        Raises PictureError: The picture cannot be decoded.
        """
        offered = self.offered(picture.sha256)
        answer = await self._asked(picture, offered)
        return lettered_labels(answer, offered) if self.letters else labels_of(answer, self.attributes)

    async def _asked(self, picture: Picture, offered: Attributes) -> Answer:
        """What the model answers about a picture, which a blind one is not shown."""
        return await self._client.ask(
            self.text(offered, prompt=picture.prompt),
            images=() if self.is_blind else (await asyncio.to_thread(picture.plain, self.max_side),),
            schema=self._schema(offered),
            system=question_wording(self.kind).system,
            name=self.kind,
        )

    def _schema(self, offered: Attributes) -> dict[str, Any]:
        return schema_of(
            {k: v and tuple(by_letter(v)) for k, v in offered.items()} if self.letters else offered
        )

    def expect(self, n: int) -> Expectation:
        """Say what asking about ``n`` pictures takes: calls, tokens, price and seconds.

        Tokens are a rule of thumb: :func:`picture_tokens`, one for 2.5 to 6 characters of text, and 8 to 30
        for an attribute that is answered.
        """
        offered = self.offered("")
        asked = question_wording(self.kind).system + self.text(offered) + json_of(self._schema(offered))
        return self.expected(n, asked, self.seen, (8 * len(offered), 30 * len(offered)))

    @property
    def seen(self) -> tuple[int, int]:
        """Fewest and most tokens that the picture of a question may count as."""
        return (0, 0) if self.is_blind else picture_tokens(self.max_side)


def one_line(text: str | None) -> str | None:
    """Return a text with single spaces and no line ends; None where nothing is left."""
    return " ".join(text.split()) or None if text else None


class ChatOptions(ChatModelOptions):
    """What an annotator that asks takes beside its model."""

    max_side: int = Field(MAX_SIDE_SENT, ge=64)

    def asking(self, written: str, context: Context, default: str = "{model}") -> dict[str, Any]:
        """Return what every annotator that asks takes: client, name, picture size and version.

        ``written`` is the model as the entry names it, ``default`` the name where it has none.
        """
        client = self.client(written, context.account)
        name = self.name or default.format(model=client.model)
        return {"client": client, "name": name, "max_side": self.max_side, "version": self.version}
