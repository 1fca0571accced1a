"""What annotators share that read pictures by rules, here and without a model server."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import create_model

from stereotrope.annotate.contract import Annotator
from stereotrope.annotate.label import Attributes
from stereotrope.annotate.registry import annotator
from stereotrope.errors import UsageError
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import Options, Texts


class OfflineAnnotator(Annotator):
    """An annotator of which an audit may take some attributes: ``{colour: [background_colour]}``.

    It has one name and fingerprint whatever is taken, so that nothing is looked at twice when another audit
    of the same run takes more; labels of other attributes are left out of the tables.

    attributes: Those to take; all when None, and only then what is derived from them.

    Raises UsageError: An attribute is not one of the annotator's.
    """

    version = 1
    quick = True
    concurrency = 2
    name: str
    attributes: Attributes

    def __init__(self, attributes: Sequence[str] | None = None) -> None:
        for attribute in attributes or ():
            if attribute not in self.attributes:
                known = ", ".join(self.attributes)
                raise UsageError(f"annotator {self.name!r}: labels no {attribute!r}; it labels {known}")
        if attributes is not None:
            self.attributes = {name: self.attributes[name] for name in attributes}
            self.derive = None


Offline = TypeVar("Offline", bound=OfflineAnnotator)


def offline(summary: str, *, whole: bool = False) -> Callable[[type[Offline]], type[Offline]]:
    """Return the decorator that registers a class as the entry of its name, with the attributes to take.

    ``whole`` is one whose labels belong together, so that an entry takes all of them.
    """

    def register(kind: type[Offline]) -> type[Offline]:
        fields: Any = {kind.name: (None if whole else Texts | None, None)}
        options = create_model(f"{kind.__name__}Options", __base__=Options, __doc__=kind.__doc__, **fields)

        def make(options: Options, context: Context) -> OfflineAnnotator:
            return kind(getattr(options, kind.name))

        make.__name__ = kind.name
        annotator(options, summary=summary, example=kind.name)(make)
        return kind

    return register
