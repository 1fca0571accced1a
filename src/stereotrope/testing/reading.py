"""What can be seen in a picture that this server did not draw, read as the offline annotators read it."""

import threading
from collections.abc import Mapping

from stereotrope.annotate import ColourAnnotator, Picture, TextAnnotator
from stereotrope.errors import PictureError


class Reader:
    """Colours by CIELAB and text by OCR: the four attributes of every object, one picture at a time.

    It looks at pixels only, so it can err, and sees nothing that these two annotators do not label. What a
    picture was seen to hold is kept by its SHA-256.
    """

    def __init__(self) -> None:
        self._annotators: tuple[ColourAnnotator, TextAnnotator] | None = None
        self._seen: dict[str, Mapping[str, str]] = {}
        self._lock = threading.Lock()

    def values(self, data: bytes, sha256: str) -> Mapping[str, str]:
        """Attribute → value of what is clearly seen; nothing where the bytes are no picture."""
        with self._lock:
            if sha256 not in self._seen:
                self._seen[sha256] = self._look(Picture(sha256, sha256, data))
            return self._seen[sha256]

    def _look(self, picture: Picture) -> dict[str, str]:
        if self._annotators is None:
            self._annotators = ColourAnnotator(), TextAnnotator()
            for annotator in self._annotators:
                annotator.setup()
        try:
            labels = [label for annotator in self._annotators for label in annotator.process(picture)]
        except PictureError:
            return {}
        return {label.attribute: label.value for label in labels if label.value is not None}
