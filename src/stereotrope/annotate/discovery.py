"""Finding the attributes that vary among pictures of one kind."""

import asyncio
import copy
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from PIL import ImageColor
from pydantic import TypeAdapter

from stereotrope.annotate import palette
from stereotrope.annotate.answers import inert
from stereotrope.annotate.asking import VERSION, ChatAnnotator, one_line
from stereotrope.annotate.attributes import LONGEST_VALUE, check_attributes
from stereotrope.annotate.contract import Outcomes
from stereotrope.annotate.label import Attributes
from stereotrope.annotate.picture import Picture, Subject
from stereotrope.annotate.protocol import filled, question_wording
from stereotrope.annotate.taxonomy import (
    Scope,
    Taxonomy,
    read_taxonomies,
    taxonomy_for,
    taxonomy_scope,
    write_taxonomies,
)
from stereotrope.clients import Answer, ChatClient, Expectation, Problem, picture_tokens, redact
from stereotrope.errors import InputError, ModelError, UsageError
from stereotrope.folding import fold
from stereotrope.tables import fingerprint_of

PER_CONDITION = 2
"""Pictures of each condition in a set that attributes are discovered on (SODA, section 3.2.1)."""
SIDE = 512
"""Longest side in pixels of each picture shown: twenty of them travel in one request."""
N_PRODUCT, N_BACKGROUND = 3, 1
FEWEST, MOST = 3, 7
"""Values of an attribute (arXiv:2508.03483v3, section 3.2.1, and its released taxonomies)."""
_STORED = TypeAdapter(Taxonomy)
_SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LONGEST_NAME = 40
_PARTS = {"product_attributes": N_PRODUCT, "background_attributes": N_BACKGROUND}
_ATTRIBUTE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "values": {"type": "array", "items": {"type": "string"}}},
    "required": ["name", "values"],
    "additionalProperties": False,
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {part: {"type": "array", "items": _ATTRIBUTE} for part in _PARTS},
    "required": list(_PARTS),
    "additionalProperties": False,
}
"""Without counts: not every endpoint takes `minItems`. They are checked here."""


class Discoverer(ChatAnnotator):
    """Asks a chat model which attributes vary among the pictures of a set.

    It is asked what varies, never what tells groups apart: attributes chosen because they separate
    groups, and then tested on the same pictures, would inflate every score. It learns of no prompt, group
    or generator, and the pictures come in an order that the seed and their hashes decide. The answer
    must name three attributes of the product and one of the background, each with three to seven values
    that differ when folded; none of colour or text, which are asked of every object anyway.

    client, name, product, version: As of :class:`ChatAnnotator`; the name of the annotator it belongs to.
    taken: Names of attributes that are asked anyway.
    seed: Of the order of the pictures, part of the fingerprint.
    """

    subject = "set"
    stage = "discover"
    keeps = "taxonomies"

    def __init__(
        self,
        client: ChatClient,
        *,
        name: str,
        product: str | None = None,
        taken: Sequence[str] = (),
        seed: int = 0,
        version: str | None = None,
    ) -> None:
        super().__init__(client, name=name, product=product, version=version)
        self.attributes: Attributes = {}
        self.gives = (f"attributes of {name}",)
        self._levels: Mapping[str, str] = {}
        self.known: Mapping[Scope, Taxonomy] = {}
        self.taken = tuple(taken)
        self.seed = seed

    @property
    def fingerprint(self) -> str:
        """Model and chat parameters, wording, names that are taken, seed and picture size."""
        parameters = {
            "model": dict(self._client.parameters),
            "version": self.version,
            "taken": self.taken,
            "seed": self.seed,
            "side": SIDE,
            "limits": [N_PRODUCT, N_BACKGROUND, FEWEST, MOST],
        }
        return fingerprint_of("discovery", VERSION, parameters, question_wording("discovery").data)

    def sets(self, images: pl.DataFrame) -> list[tuple[str, ...]]:
        """Return the first pictures of each condition for every generator and object.

        Of the first phrasing and the first mitigation, as in the paper (SODA, section 3.2.1).
        """
        firsts = [
            pl.col(factor).is_null() | pl.col(factor).is_in(images[factor].drop_nulls().head(1).to_list())
            for factor in ("phrasing", "mitigation")
            if factor in images.columns
        ]
        usable = images.filter(pl.col("status") == "ok", *firsts)
        first = usable.group_by("generator", "prompt_id", maintain_order=True).head(PER_CONDITION)
        parts = [name for name in ("generator", "object") if name in images.columns]
        ordered = images.select("image_id").join(first, on="image_id", maintain_order="left")
        return [
            tuple(ids) for ids in ordered.group_by(parts, maintain_order=True).agg("image_id")["image_id"]
        ]

    def within(self, levels: Mapping[str, str]) -> Self:
        """Return it for one part of the design."""
        made = copy.copy(self)
        made._levels, made.product = levels, levels.get("object", self.product)
        return made

    def has(self, levels: Mapping[str, str]) -> bool:
        """Whether the attributes of a part stand in its file."""
        return taxonomy_for(self.known, levels) is not None

    def key_of(self, subject: Subject) -> str:
        """Who is asked, about what, and the pictures; no name of a generator."""
        shown = [[row["image_id"], row["sha256"]] for row in subject.images]
        return hashlib.sha256(json.dumps([self.fingerprint, self.product, shown]).encode()).hexdigest()

    def payload(self, result: Taxonomy) -> Mapping[str, Any]:
        """Return the attributes as JSON values."""
        return dict(_STORED.dump_python(result, mode="json"))

    def unreadable(self, reason: str) -> None:
        """Keep nothing: the others of the set may be shown with another picture."""

    def reopen(self, file: Path) -> None:
        """Read the attributes that were found before, or written."""
        self.known = dict(read_taxonomies(file)) if file.is_file() else {}

    def settle(self, outcomes: Outcomes, file: Path | None) -> None:
        """Take what was found for parts that its file lacks, and write it there."""
        new = {taxonomy_scope(levels): _STORED.validate_python(payload) for levels, payload in outcomes}
        self.known = {**self.known, **new}
        if new and file is not None:
            file.parent.mkdir(exist_ok=True)
            write_taxonomies(file, self.known)

    async def process(self, shown: Sequence[Picture]) -> Taxonomy:
        """Find the attributes of one set.

        Raises ModelError: The model declined, or its answer breaks the rules after one repair turn; the
            message says how.
        Raises BudgetError: The cap on what calls may cost is reached.
        Raises PictureError: A picture cannot be decoded.
        Raises InputError: There are fewer than two pictures: nothing can vary.
        """
        if len(shown) < 2:
            raise InputError(
                f"annotator {self.name!r}: attributes are sought among at least 2 pictures, found "
                f"{len(shown)} for {self._where()}; generate more, or write them into a file and "
                "name it as `taxonomy:`"
            )
        shuffled = self._shuffled(shown)
        images = await asyncio.gather(*(asyncio.to_thread(each.plain, SIDE) for each in shuffled))
        wording = question_wording("discovery")
        answer = await self._client.ask(
            self.text(self.product, len(shown)),
            images=images,
            schema=SCHEMA,
            system=wording.system,
            name="attributes",
            check=self.problems,
        )
        if answer.status != "ok":
            raise ModelError(self._failure(answer))
        found = {
            part: check_attributes(
                {one["name"]: [v.strip() for v in one["values"]] for one in answer.content[part]}
            )
            for part in _PARTS
        }
        return Taxonomy(
            product=found["product_attributes"],
            background=found["background_attributes"],
            subject=self.product,
            found_by=self.name,
            pictures=tuple(sorted(picture.image_id for picture in shown)),
        )

    def text(self, subject: str | None, count: int) -> str:
        """Return the question in words."""
        wording = question_wording("discovery")
        subject = one_line(subject)
        body = filled(wording.texts["body"], taken=json.dumps(self.taken, ensure_ascii=False))
        return f"{wording.opening(subject, count=str(count))}\n\n{body}"

    def problems(self, content: Any) -> list[Problem]:
        """Return what is wrong with an answer of the right shape, a sentence each."""
        found: list[Problem] = []
        names: list[str] = []
        for part, count in _PARTS.items():
            if len(content[part]) != count:
                found.append(Problem((part,), f"must have exactly {count}, found {len(content[part])}"))
            for index, attribute in enumerate(content[part]):
                at = (part, index)
                found += [Problem((*at, "name"), text) for text in self._of_name(attribute["name"], names)]
                found += [Problem((*at, "values"), text) for text in _of_values(attribute["values"])]
                names.append(attribute["name"])
        return found

    def expect(self, n: int, pictures: int = 20) -> Expectation:
        """Say what ``n`` samples of so many pictures each take."""
        asked = question_wording("discovery").system + self.text("thing", pictures) + json.dumps(SCHEMA)
        low, high = picture_tokens(SIDE)
        return self.expected(n, asked, (pictures * low, pictures * high), (80, 400))

    def _of_name(self, name: str, earlier: Sequence[str]) -> list[str]:
        words = set(name.split("_"))
        not_wanted = question_wording("discovery").texts["not_in_names"]
        if len(name) > _LONGEST_NAME or not _SNAKE.fullmatch(name):
            return [
                f"a name must be in snake_case, such as body_type, and at most {_LONGEST_NAME} characters, "
                f"found {_said(name)}"
            ]
        if name in earlier:
            return [f"{_said(name)} is there twice; names must differ"]
        if fold(name) in {fold(taken) for taken in self.taken}:
            return [f"{_said(name)} is asked already; name another attribute"]
        for kind in ("color", "text"):
            if words & set(not_wanted[kind]):
                return [f"{_said(name)} is an attribute of {kind}, which is asked already; name another"]
        return []

    def _shuffled(self, given: Sequence[Picture]) -> list[Picture]:
        ordered = sorted(given, key=lambda picture: (picture.sha256, picture.image_id))
        parts = "\n".join([str(self.seed), *(picture.sha256 for picture in ordered)])
        rng = np.random.default_rng(int.from_bytes(hashlib.sha256(parts.encode()).digest()[:8], "big"))
        return [ordered[i] for i in rng.permutation(len(ordered))]

    def _failure(self, answer: Answer) -> str:
        head = f"annotator {self.name!r}: no attributes found for {self._where()}"
        if answer.status == "refused":
            return f"{head}: the model declined: {redact(answer.reason or 'no reason given')}"
        told = "; ".join(map(str, answer.problems)) or answer.reason or "no answer"
        return (
            f"{head}: after one repair turn its answer still breaks the rules: {redact(told)}; "
            "run again, take another model, or write the attributes into a file and name it as `taxonomy:`"
        )

    def _where(self) -> str:
        return ", ".join(self._levels.values()) or self.product or "the sample"


def _of_values(values: Sequence[str]) -> list[str]:
    if not FEWEST <= len(values) <= MOST:
        return [f"must have between {FEWEST} and {MOST} values, found {len(values)}"]
    clean = [value.strip() for value in values]
    try:
        check_attributes({"values": clean})
    except UsageError as error:
        return [str(error).removeprefix("'values': ")]
    known = {*palette.read_palette().names, *ImageColor.colormap}
    if all({fold(value), fold(value).replace(" ", "")} & known for value in clean):
        return ["all values are colors, which are asked already; name another attribute"]
    return []


def _said(text: str) -> str:
    return json.dumps(inert(text, LONGEST_VALUE), ensure_ascii=False)
