"""Attributes read by a chat model: closed ones from their list, open ones in its own words."""

import copy
from collections.abc import Collection, Mapping
from typing import ClassVar, Self

import polars as pl

from stereotrope.annotate.asking import ChatOptions, ModelAnnotator, one_line
from stereotrope.annotate.attributes import FIXED_ATTRIBUTES
from stereotrope.annotate.discovery import Discoverer
from stereotrope.annotate.label import Attributes, image_labels
from stereotrope.annotate.questionnaire import MAX_SIDE_SENT
from stereotrope.annotate.ready_questions import WantedOptions
from stereotrope.annotate.registry import annotator
from stereotrope.annotate.taxonomy import SEEN_IN_DISCOVERY, Scope, Taxonomy, read_taxonomies, taxonomy_for
from stereotrope.clients import ChatClient
from stereotrope.errors import UsageError
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import File, Text


class QuestionAnnotator(ModelAnnotator):
    """Asks a chat model for every attribute of a picture in one structured call.

    A closed attribute is answered with one value of its list or ``unclear``; an open one in at most 60
    characters. The options are offered in one of twelve orders, chosen by seed and picture. An answer
    outside the list is ``invalid`` with what was said, one that is left out ``invalid``, after one turn in
    which the model may repair it; a refusal is ``refused``. No value is ever put in for another.

    client: The model.
    name: Name in the ``annotator`` column.
    attributes: Attribute → value list, or None where it is open; the four of every object when None:
        ``product_colour``, ``text_presence``, ``background_colour``, ``background_text_presence``.
    subject: What the product is, such as ``car``; named in the question.
    order_seed: Seed of the order of options, part of the fingerprint.
    max_side: Longest side in pixels at which a picture is sent.
    version: Tells one deployment of a model from another; part of the fingerprint.
    regions: Attribute whose regions it is shown, cut out one by one, such as ``person`` of a detector; whole
        pictures when None.
    letters: Whether options stand behind letters, which stay while the options turn, ``unclear`` with them.
        The answer is a letter; ``rationale`` of a label keeps it, and what stood behind which.
    meanings, forced: Attribute → what it means, in the question; attributes asked without ``unclear``.
    discover: Whether further attributes are to be found among the pictures by :attr:`discoverer`.
    taxonomies: Attributes that were found or written before, by scope.

    Raises UsageError: A name or value list cannot be used.
    """

    kind = "questions"
    attributes: Attributes = FIXED_ATTRIBUTES
    variants = ("reversed", "blind")

    def __init__(
        self,
        client: ChatClient,
        *,
        name: str,
        attributes: Attributes | None = None,
        subject: str | None = None,
        order_seed: int = 0,
        max_side: int = MAX_SIDE_SENT,
        version: str | None = None,
        regions: str | None = None,
        letters: bool = False,
        meanings: Mapping[str, str] | None = None,
        forced: Collection[str] = (),
        discover: bool = False,
        taxonomies: Mapping[Scope, Taxonomy] | None = None,
    ) -> None:
        super().__init__(client, name=name, order_seed=order_seed, max_side=max_side, version=version)
        if regions is not None:
            self.subject, self.needs = "region", (regions,)
            self.remedies = {regions: f"`{{detect: MODEL, attribute: {regions}}}`"}
        if letters:
            self.letters, self.kind = True, "letters"
        self.meanings, self.forced = dict(meanings or {}), frozenset(forced)
        self.product = one_line(subject)
        if attributes is not None:
            self.attributes = self.checked(attributes)
        self._given = dict(taxonomies or {})
        self.discoverer: Discoverer | None = None
        if discover:
            self.discoverer = Discoverer(
                client,
                name=self.name,
                product=self.product,
                taken=tuple(self.attributes),
                seed=self.order_seed,
                version=self.version,
            )
            self.parts, self.needs = (self.discoverer,), self.discoverer.gives

    @property
    def discovers(self) -> bool:
        """Whether it has taxonomies, or will."""
        return self.discoverer is not None or bool(self._given)

    @property
    def taxonomies(self) -> Mapping[Scope, Taxonomy]:
        """Those of its file, or what was discovered."""
        return self._given if self.discoverer is None else self.discoverer.known

    def fingerprint_with(self, attributes: Attributes) -> str | None:
        """Return its fingerprint for other attributes; None where one has another list than here."""
        if any(attributes.get(name, values) != values for name, values in self.attributes.items()):
            return None
        return self.asking(attributes, subject=None).fingerprint

    def within(self, levels: Mapping[str, str]) -> Self | None:
        """Return it with the attributes that hold there; None where they are still to be discovered."""
        taxonomy = taxonomy_for(self.taxonomies, levels)
        if taxonomy is None and self.discoverer is not None:
            return None
        more = taxonomy.attributes if taxonomy is not None else {}
        return self.asking({**self.attributes, **more}, subject=levels.get("object"))

    def derive(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """Return labels that say which pictures its attributes were discovered on."""
        seen = {image_id for taxonomy in self.taxonomies.values() for image_id in taxonomy.pictures}
        usable = images.filter(pl.col("status") == "ok", pl.col("image_id").is_in(list(seen)))
        fixed = {"attribute": SEEN_IN_DISCOVERY, "value": "yes"}
        rows = usable.select(subject_id="image_id")
        return image_labels(rows, **fixed, annotator=self.name, derived_from=self.name)

    def asking(self, attributes: Attributes, *, subject: str | None) -> Self:
        """Return this annotator for other attributes and another subject: same name, same model.

        attributes: Attribute → value list, or None where it is open.
        subject: What the product is; None keeps the subject it has.

        Raises UsageError: A name or value list cannot be used.
        """
        made = copy.copy(self)
        made.attributes = self.checked(attributes)
        made.product = one_line(subject) or self.product
        made.discoverer, made.parts, made.needs = None, (), ()
        return made


class QuestionOptions(WantedOptions, ChatOptions):
    """As of :class:`QuestionAnnotator`; ``taxonomy`` is a file of attributes (YAML)."""

    slips: ClassVar[Mapping[str, str]] = {"on": "regions are named by `regions: person`."}

    questions: Text
    subject: Text | None = None
    letters: bool = False
    discover: bool = False
    taxonomy: File | None = None


@annotator(
    QuestionOptions,
    summary="attributes of your own choice, by a chat model",
    example="{questions: openai:gpt-4o}",
)
def questions(options: QuestionOptions, context: Context) -> QuestionAnnotator:
    """Ask for the attributes of every object, for those given, and for those of the file."""
    if options.discover and options.taxonomy is not None:
        raise UsageError(
            f"annotator {options.questions!r}: give `discover: true` or a `taxonomy:` file, not both; "
            "remove one"
        )
    if options.discover and options.regions is not None:
        raise UsageError(
            f"annotator {options.questions!r}: attributes are discovered on whole pictures; remove "
            "`discover:` or `regions:`"
        )
    return QuestionAnnotator(
        **options.asking(options.questions, context),
        **options.wanted(options.questions, given=options.taxonomy is not None),
        **options.model_dump(include={"subject", "order_seed", "regions", "letters"}),
        discover=options.discover,
        taxonomies=read_taxonomies(context.folder / options.taxonomy) if options.taxonomy else None,
    )
