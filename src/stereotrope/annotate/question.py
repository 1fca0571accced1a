"""Attributes read by a chat model: closed ones from their list, open ones in its own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from stereotrope.annotate.asking import MAX_SIDE, ModelAnnotator, one_line
from stereotrope.annotate.attributes import FIXED_ATTRIBUTES, check_attributes
from stereotrope.annotate.discovery import Discoverer
from stereotrope.annotate.label import Attributes
from stereotrope.annotate.taxonomy import Scope, Taxonomy, taxonomy_for
from stereotrope.clients import ChatClient
from stereotrope.errors import UsageError

__all__ = ["QuestionAnnotator"]


class QuestionAnnotator(ModelAnnotator):
    """Asks a chat model for every attribute of a picture in one structured call.

    A closed attribute is answered with one value of its list or ``unclear``; an open one in at most 60
    characters. The options are offered in one of twelve orders, chosen by seed and picture. An answer
    outside the list is ``invalid`` with what was said, one that is left out ``invalid``, after one turn in
    which the model may repair it; a refusal is ``refused``. No value is ever put in for another.

    Parameters
    ----------
    client
        The model.
    name
        Name in the ``annotator`` column.
    attributes
        Attribute → value list, or None where it is open; the four of every object when None:
        ``product_colour``, ``text_presence``, ``background_colour``, ``background_text_presence``.
    subject
        What the product is, such as ``car``; named in the question.
    order_seed
        Seed of the order of options, part of the fingerprint.
    max_side
        Longest side in pixels at which a picture is sent.
    version
        Tells one deployment of a model from another; part of the fingerprint.
    discover
        Whether further attributes are to be found among the pictures by :attr:`discoverer`.
    taxonomies
        Attributes that were found or written before, by scope.

    Raises
    ------
    UsageError
        A name or value list cannot be used.
    """

    kind = "questions"

    def __init__(
        self,
        client: ChatClient,
        *,
        name: str,
        attributes: Attributes | None = None,
        subject: str | None = None,
        order_seed: int = 0,
        max_side: int = MAX_SIDE,
        version: str | None = None,
        discover: bool = False,
        taxonomies: Mapping[Scope, Taxonomy] | None = None,
    ) -> None:
        super().__init__(
            client,
            name=name,
            attributes=_checked(name, FIXED_ATTRIBUTES if attributes is None else attributes),
            subject=subject,
            order_seed=order_seed,
            max_side=max_side,
            version=version,
        )
        self.taxonomies: Mapping[Scope, Taxonomy] = dict(taxonomies or {})
        self.discoverer: Discoverer | None = (
            Discoverer(client, name=name, taken=tuple(self.attributes), seed=order_seed, version=version)
            if discover
            else None
        )

    def asking(self, attributes: Attributes, *, subject: str | None) -> Self:
        """Return this annotator for other attributes and another subject: same name, same model.

        Parameters
        ----------
        attributes
            Attribute → value list, or None where it is open.
        subject
            What the product is; None keeps the subject it has.

        Raises
        ------
        UsageError
            A name or value list cannot be used.
        """
        made = self._copy()
        made.attributes = _checked(self.name, attributes)
        made.subject = one_line(subject) or self.subject
        made.discoverer = None
        return made

    def taxonomy_in(self, levels: Mapping[str, str]) -> Taxonomy | None:
        """Return the taxonomy of its file that fits factor → level best, None where none does."""
        return taxonomy_for(self.taxonomies, levels)


def _checked(name: str, attributes: Attributes) -> Attributes:
    try:
        return check_attributes(attributes)
    except UsageError as error:
        raise UsageError(f"annotator {name!r}: attributes: {error}") from None
