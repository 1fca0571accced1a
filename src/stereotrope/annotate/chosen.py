"""An annotator of which an audit takes some attributes only."""

from collections.abc import Sequence

from stereotrope.annotate.contract import Annotator
from stereotrope.annotate.label import Attributes
from stereotrope.errors import UsageError


class Chosen(Annotator):
    """Some attributes of an annotator: ``{colour: [background_colour]}`` in an audit file.

    It looks as the annotator looks and has its name and fingerprint, so that nothing is looked at twice
    when another audit of the same run takes more; labels of other attributes are left out of the tables.

    Raises UsageError: An attribute is not one of the annotator's.
    """

    def __init__(self, annotator: Annotator, attributes: Sequence[str]) -> None:
        for attribute in attributes:
            if attribute not in annotator.attributes:
                raise UsageError(
                    f"annotator {annotator.name!r}: labels no {attribute!r}; it labels "
                    f"{', '.join(annotator.attributes)}"
                )
        self._annotator = annotator
        self.attributes: Attributes = {name: annotator.attributes[name] for name in attributes}
        self.name: str = annotator.name
        self.fingerprint: str = annotator.fingerprint
        self.process = annotator.process

    def setup(self) -> None:
        """Load what the annotator loads."""
        self._annotator.setup()

    @property
    def concurrency(self) -> int:
        """That of the annotator."""
        return self._annotator.concurrency


def chosen(annotator: Annotator, attributes: Sequence[str] | None) -> Annotator:
    """Return an annotator as it is, or with some of its attributes."""
    return annotator if attributes is None else Chosen(annotator, attributes)
