"""A judge of sets of images: every item of a rubric, answered in one structured call."""

import asyncio
import copy
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import polars as pl
from pydantic import Field, field_validator

from stereotrope import pictures
from stereotrope.annotate.answers import inert
from stereotrope.annotate.asking import ChatAnnotator, ChatOptions, one_line
from stereotrope.annotate.label import Attributes, Label
from stereotrope.annotate.picture import Picture, Subject
from stereotrope.annotate.protocol import filled, permuted, question_wording
from stereotrope.annotate.questionnaire import MAX_SIDE_SENT, json_of
from stereotrope.annotate.registry import annotator
from stereotrope.clients import Answer, ChatClient, Expectation, Problem, picture_tokens
from stereotrope.errors import UsageError
from stereotrope.inputs.entries import Context
from stereotrope.inputs.lookup import Design
from stereotrope.inputs.options import Text, shorten, texts
from stereotrope.inputs.rubric import Rubric, RubricItem, rubric_named
from stereotrope.tables import fingerprint_of

Control = Literal["neutral", "blind", "painted"]
_YES, _NO = "yes", "no"
NEUTRAL_QUERY = "a photo of a person"
"""Shown for the query by a control that is ``neutral``."""
MOST_REPETITIONS = 12
LONGEST_REASON = 600
"""Characters that are kept of what a judge said of an item."""
_VERSION = 2
"""Of the way a rubric is put to a judge and its answer read."""
_KIND = "rubric"


class RubricJudge(ChatAnnotator):
    """Asks a chat model all items of a rubric that apply to a set of images, in one structured call.

    It is shown the query and the images of a set, and scores each item 1 or 0 with its reasoning and the
    numbers of the images that it means (Barve et al. 2026, Table 6). An answer that leaves an item out, has
    one twice, names an image that is not there, or scores 1 and names none gets one turn to be repaired; what
    is wrong then is ``invalid`` with the reason, item by item. A refusal makes every item ``refused``.

    **Labels.** Subject ``set``; an attribute an item, by its ``id``; ``value`` ``yes`` (score 1) or ``no``;
    ``rationale`` is “images 1, 3: reasoning”, numbers being places in the set from 1 on (``position`` + 1 in
    the table ``subjects``), or the reasoning alone where the score is 0. Each repetition is a set of its own,
    the same images in another order, with the same prompt and generator; its items come in another order too.
    Sets of the same images are repetitions of one look.

    client, name, max_side, version: As of :class:`~stereotrope.annotate.QuestionAnnotator`.
    rubric: What is asked.
    repetitions: How often each set is judged; orders never come twice.
    size: Images in a set.
    family: Factor that says of which family a prompt is; found by its levels when None.
    query: Factor that holds what is shown as the prompt, such as ``scenario``, so that a judge learns of no
        rewriting; the text of the prompt when None.
    control: ``neutral`` shows another query with the same images, ``blind`` the query without images,
        ``painted`` the images with an instruction painted into them. What it says checks the judge, and says
        nothing of the images.
    neutral: The query of the control ``neutral``.
    of: Name of the judge that it is a control of.
    order_seed: Chooses the orders, part of the fingerprint.

    Raises UsageError: Sets of this size have fewer orders than repetitions.
    """

    subject = "set"
    kind = _KIND

    def __init__(
        self,
        client: ChatClient,
        rubric: Rubric,
        *,
        name: str,
        repetitions: int = 3,
        size: int = 4,
        family: str | None = None,
        query: str | None = None,
        control: Control | None = None,
        neutral: str = NEUTRAL_QUERY,
        of: str | None = None,
        order_seed: int = 0,
        max_side: int = MAX_SIDE_SENT,
        version: str | None = None,
    ) -> None:
        super().__init__(client, name=name, version=version)
        if repetitions > math.factorial(min(size, MOST_REPETITIONS)):
            raise UsageError(
                f"annotator {name!r}: repetitions show the images of a set in different orders, and {size} "
                f"have {math.factorial(size)}, found {repetitions}; lower repetitions"
            )
        self.rubric, self.repetitions, self.size = rubric, repetitions, size
        self.family, self.query, self.control, self.neutral = family, query, control, neutral
        self.control_of = of if control is not None else None
        self.order_seed, self.max_side = order_seed, max_side
        self.items: tuple[RubricItem, ...] = rubric.items
        self.attributes: Attributes = self._attributes()
        self.tell_design({})
        self._shown_query: str | None = None

    def _attributes(self) -> Attributes:
        return dict.fromkeys((item.id for item in self.items), (_YES, _NO))

    @property
    def shows_prompt(self) -> bool:
        """Whether what it shows as the query is the text of the prompt."""
        return self.query is None and self.control != "neutral"

    @property
    def asked_by(self) -> tuple[str, ...]:
        """The factors of family and query."""
        return tuple(dict.fromkeys(name for name in (self._family, self.query) if name is not None))

    def _family_of_design(self) -> str | None:
        """The factor of families, found by its levels where none is named."""
        if self.family is not None or not self.rubric.families:
            return self.family
        found = [name for name in self._factors() if self._levels(name) & set(self.rubric.families)]
        return found[0] if len(found) == 1 else None

    def _factors(self) -> list[str]:
        return [name for name in self._design if name not in ("text", "prompt")]

    def _levels(self, factor: str) -> set[str]:
        return {str(level) for level in self._design.get(factor, ())}

    @property
    def fingerprint(self) -> str:
        """Model, parameters, wording, items, order seed, picture size and control."""
        parameters = {
            "model": dict(self._client.parameters),
            "version": self.version,
            "items": [[item.id, item.text] for item in self.items],
            "order": self.order_seed,
            "max_side": self.max_side,
            "control": self.neutral if self.control == "neutral" else self.control,
        }
        return fingerprint_of(_KIND, _VERSION, parameters, question_wording(_KIND).data)

    def tell_design(self, design: Design) -> None:
        """Know the factors and their levels."""
        self._design = design
        self._family = self._family_of_design()

    def require(self) -> None:
        """Refuse a design without the factors that it needs, or with a family that no item applies to.

        Raises UsageError: It is such a design.
        """
        factors = self._factors()
        for option, factor in (("family", self.family), ("query", self.query)):
            if factor is not None and factor not in factors:
                raise UsageError(
                    f"annotator {self.name!r}: {option}: no factor {shorten(factor)}; the prompts have "
                    f"{', '.join(factors) or 'none'}"
                )
        if self.rubric.families and self._family is None:
            listed = ", ".join(self.rubric.families)
            raise UsageError(
                f"annotator {self.name!r}: no one factor of the prompts has the families of the rubric "
                f"({listed}) as levels; name it: `family: {factors[0] if factors else 'family'}`, or write "
                "families of your own into a rubric"
            )
        for level in sorted(self._levels(self._family)) if self._family is not None else ():
            if not self.rubric.of(level):
                raise UsageError(
                    f"annotator {self.name!r}: no item of the rubric applies to the {self._family} "
                    f"{level!r}, but to {', '.join(self.rubric.families)}; add items for it, or leave its "
                    "prompts out"
                )

    def within(self, levels: Mapping[str, str]) -> Self:
        """Return it with the items of a family, and with the query that it shows."""
        made = copy.copy(self)
        if self._family is not None:
            made.items = self.rubric.of(levels.get(self._family))
            made.attributes = made._attributes()
        if self.query is not None:
            made._shown_query = levels.get(self.query)
        return made

    def sets(self, images: pl.DataFrame) -> list[tuple[str, ...]]:
        """Each set of images as often as it is judged, in another order every time.

        The orders of ``size`` repetitions are rotations, so that each image stands in each place once.
        """
        return [order for ids in super().sets(images) for order in self._orders(ids)]

    def _orders(self, ids: Sequence[str]) -> list[tuple[str, ...]]:
        digest = hashlib.sha256("\n".join([str(self.order_seed), *ids]).encode()).digest()
        rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
        orders: dict[tuple[str, ...], None] = {}
        while len(orders) < self.repetitions:
            drawn = [ids[i] for i in rng.permutation(len(ids))]
            orders |= {tuple(drawn[i:] + drawn[:i]): None for i in range(len(drawn))}
        return list(orders)[: self.repetitions]

    def key_of(self, subject: Subject) -> str:
        """Who is asked, with which query, and the images in their order."""
        shown = [[row["image_id"], row["sha256"]] for row in subject.images]
        query = self._query(subject.text)
        return hashlib.sha256(json.dumps([self.fingerprint, query, shown]).encode()).hexdigest()

    def _query(self, prompt: str | None) -> str | None:
        return self.neutral if self.control == "neutral" else one_line(self._shown_query or prompt)

    async def process(self, shown: Sequence[Picture]) -> list[Label]:
        """Judge one set.

        Raises ModelError, ModelUnusable, BudgetError, PictureError: As
            :meth:`stereotrope.annotate.QuestionAnnotator.process`.
        """
        blind = self.control == "blind"
        seen = [] if blind else [asyncio.to_thread(self._picture, one) for one in shown]
        items = self.ordered_items([one.image_id for one in shown])
        answer = await self._client.ask(
            self.text(items, len(shown), self._query(shown[0].prompt)),
            images=await asyncio.gather(*seen),
            schema=_schema(items, len(shown)),
            system=question_wording(_KIND).system,
            name=_KIND,
            check=partial(_problems, items=items),
            by_part=True,
        )
        return [_label(answer, item.id) for item in self.items]

    def _picture(self, shown: Picture) -> bytes:
        data = shown.plain(self.max_side)
        words = question_wording(_KIND).texts["painted"]
        return pictures.with_words(data, words) if self.control == "painted" else data

    def ordered_items(self, image_ids: Sequence[str]) -> list[RubricItem]:
        """The items in the order in which a set is asked them."""
        known = {item.id: item for item in self.items}
        place = "\n".join(image_ids)
        return [
            known[name] for name in permuted([*known], seed=self.order_seed, sha256=place, attribute=_KIND)
        ]

    def text(self, items: Sequence[RubricItem], count: int, query: str | None) -> str:
        """Return the question in words."""
        texts_of = question_wording(_KIND).texts
        opening = texts_of["opening" if query else "opening_without_query"]
        lines = [filled(texts_of["item"], id=json_of(item.id), text=item.text) for item in items]
        keys = json_of([item.id for item in items])
        return "\n".join(
            [
                filled(opening, count=str(count), query=json_of(query)),
                "",
                *lines,
                "",
                filled(texts_of["closing"], count=str(count), keys=keys),
            ]
        )

    def expect(self, n: int) -> Expectation:
        """Say what judging ``n`` sets takes: 30 to 90 tokens of an answer an item, of the family with most
        items."""
        families = self._levels(self._family) if self._family else {None}
        counts = [len(self.rubric.of(family)) for family in families] or [len(self.items)]
        most = max((self.rubric.of(family) for family in families), key=len, default=self.items)
        low, high = (0, 0) if self.control == "blind" else picture_tokens(self.max_side)
        asked = self.text(most, self.size, NEUTRAL_QUERY) + json_of(_schema(most, self.size))
        asked += question_wording(_KIND).system
        answered = (30 * min(counts), 90 * max(counts))
        return self.expected(n, asked, (self.size * low, self.size * high), answered)


def _schema(items: Sequence[RubricItem], count: int) -> dict[str, Any]:
    """JSON schema of the answer: reasoning before the score, so that it is not made up for it."""
    parts = {
        "reasoning": {"type": "string"},
        "images": {"type": "array", "items": {"type": "integer", "enum": list(range(1, count + 1))}},
        "score": {"type": "integer", "enum": [0, 1]},
    }
    one = {"type": "object", "properties": parts, "required": list(parts), "additionalProperties": False}
    return {
        "type": "object",
        "properties": {item.id: one for item in items},
        "required": [item.id for item in items],
        "additionalProperties": False,
    }


def _problems(content: Mapping[str, Any], *, items: Sequence[RubricItem]) -> list[Problem]:
    """What is wrong with items, whatever the shape of the others: a stereotype that no image shows."""
    return [
        Problem(
            (item.id, "images"), "the score is 1, and no image is named; name those that show it, or score 0"
        )
        for item in items
        if isinstance(said := content.get(item.id), Mapping)
        and said.get("score") == 1
        and said.get("images") == []
    ]


def _label(answer: Answer, name: str) -> Label:
    """The label of one item, judged on its own."""
    if answer.status == "refused":
        reason = answer.reason or "the model declined to answer"
        return Label(name, None, status="refused", rationale=inert(reason, LONGEST_REASON))
    if wrong := _wrong(answer, name):
        return Label(name, None, status="invalid", rationale=inert(wrong, LONGEST_REASON))
    said = answer.content[name]
    why = said["reasoning"]
    if said["score"] == 1:
        numbers = sorted({int(number) for number in said["images"]})
        why = f"{'images' if len(numbers) > 1 else 'image'} {', '.join(map(str, numbers))}: {why}"
    return Label(name, _YES if said["score"] == 1 else _NO, rationale=inert(why, LONGEST_REASON) or None)


def _wrong(answer: Answer, name: str) -> str | None:
    """Why an item has no answer, None where it has one."""
    if not isinstance(answer.content, Mapping):
        return answer.reason or "no answer that can be read"
    own = [one for one in answer.problems if one.path[:1] == (name,) and not one.is_further]
    if name not in answer.content:
        return "left out of the answer"
    # A part of an item given twice does not say of which; a further key does no harm.
    known = set(answer.content)
    of_all = [
        problem
        for problem in answer.problems
        if problem.path[:1] == ()
        or (problem.path[0] not in known and problem.message == "given more than once")
    ]
    return "; ".join(map(str, [*own, *of_all])) or None


class JudgeOptions(ChatOptions):
    """As of :class:`RubricJudge`; ``rubric`` is a file, a built-in name, or a list of them."""

    judge: Text
    rubric: Any = Field(examples=["[geocultural, occupational, adjectival]"])
    repetitions: int = Field(3, ge=1, le=MOST_REPETITIONS)
    size: int = Field(4, ge=1, le=16)
    family: Text | None = None
    query: Text | None = None
    control: Control | None = None
    neutral: Text = NEUTRAL_QUERY
    of: Text | None = None
    order_seed: int = Field(0, ge=0)
    max_tokens: int = Field(4000, ge=1)

    @field_validator("rubric")
    @classmethod
    def _rubric(cls, value: Any) -> list[str]:
        return list(texts(value if isinstance(value, list) else [value]))


@annotator(
    JudgeOptions,
    summary="sets of images, by the items of a rubric, by a chat model; repeated, with controls",
    example="{judge: openai:gpt-4o, rubric: [geocultural, occupational, adjectival]}",
)
def judge(options: JudgeOptions, context: Context) -> RubricJudge:
    """Read the rubric."""
    asking = options.asking(options.judge, context)
    if options.control is not None and options.name is None:
        asking["name"] = f"{asking['name']} ({options.control})"
    given = options.model_dump(
        include={"repetitions", "size", "family", "query", "control", "neutral", "order_seed"}
    )
    of = options.of or options.asking(options.judge, context)["client"].model
    return RubricJudge(rubric=rubric_named(options.rubric, context.folder), **asking, **given, of=of)
