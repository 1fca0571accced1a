"""The attributes of one kind of picture: names and value lists, and where they hold."""

from collections.abc import Mapping

from pydantic.dataclasses import dataclass

from stereotrope.annotate.label import Attributes

SEEN_IN_DISCOVERY = "seen_in_discovery"
"""Attribute of the pictures that an annotator's attributes were discovered on."""

Scope = tuple[tuple[str, str], ...]
"""Where a taxonomy holds: (factor, level) pairs in the order of the factors' names."""


def scope_of(levels: Mapping[str, str]) -> Scope:
    """Return the scope of a mapping factor → level.

    >>> scope_of({"object": "car", "generator": "sd35"})
    (('generator', 'sd35'), ('object', 'car'))
    """
    return tuple(sorted(levels.items()))


@dataclass(frozen=True)
class Taxonomy:
    """Closed attributes of the product and of the background.

    product, background: Attribute → its values.
    subject: What the product is, where it is known.
    found_by: Name of the annotator that proposed it; None where people wrote it.
    pictures: ``image_id`` of the pictures it was found on, so that scores can leave them out.
    """

    product: Mapping[str, tuple[str, ...]]
    background: Mapping[str, tuple[str, ...]]
    subject: str | None = None
    found_by: str | None = None
    pictures: tuple[str, ...] = ()

    @property
    def attributes(self) -> Attributes:
        """All of them, the product's first."""
        return {**self.product, **self.background}


def taxonomy_for(taxonomies: Mapping[Scope, Taxonomy], levels: Mapping[str, str]) -> Taxonomy | None:
    """Return the taxonomy that fits best: of those whose scope holds there, the one that names most factors.

    Of two that name as many, the first. A scope of ``object`` alone holds for every generator.

    >>> car = Taxonomy({"body": ("sedan", "SUV")}, {})
    >>> taxonomy_for({(("object", "car"),): car}, {"generator": "sd35", "object": "car"}) is car
    True
    """
    fitting = [scope for scope in taxonomies if set(scope) <= set(levels.items())]
    return taxonomies[max(fitting, key=len)] if fitting else None
