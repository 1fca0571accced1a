"""An annotator of which an audit takes some attributes only."""

from __future__ import annotations

from collections.abc import Sequence

from stereotrope.annotate.label import Attributes, Label, PictureAnnotator
from stereotrope.annotate.picture import Picture
from stereotrope.errors import UsageError

__all__ = ["Chosen"]


class Chosen:
    """Some attributes of an annotator: ``{colour: [background_colour]}`` in an audit file.

    It looks as the annotator looks and has its name and fingerprint, so that nothing is looked at twice
    when another audit of the same run takes more; labels of other attributes are left out of the tables.

    Raises
    ------
    UsageError
        An attribute is not one of the annotator's.
    """

    def __init__(self, annotator: PictureAnnotator, attributes: Sequence[str]) -> None:
        for attribute in attributes:
            if attribute not in annotator.attributes:
                raise UsageError(
                    f"annotator {annotator.name!r}: labels no {attribute!r}; it labels "
                    f"{', '.join(annotator.attributes)}"
                )
        self._annotator = annotator
        self.attributes: Attributes = {name: annotator.attributes[name] for name in attributes}
        self.name = annotator.name
        self.fingerprint = annotator.fingerprint
        self.concurrency = annotator.concurrency

    def setup(self) -> None:
        """Load what the annotator loads."""
        self._annotator.setup()

    def process(self, picture: Picture) -> list[Label]:
        """Label one picture, all attributes."""
        return self._annotator.process(picture)
