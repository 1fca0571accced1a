"""The package's calibrated generator as the painter of a server: pictures that any annotator can read."""

import hashlib
import threading

from stereotrope.generate import CalibratedGenerator, ImageRequest
from stereotrope.testing.images import Declined


class CalibratedPainter:
    """Draws what :class:`~stereotrope.generate.CalibratedGenerator` draws, whatever the model's name.

    The seed of a picture is the request's, or its number. What the planted truth declines is answered as
    moderation, and so is a prompt in which nothing can be drawn.

    generator: With its size and truth; pictures of 256 pixels where None.
    """

    def __init__(self, generator: CalibratedGenerator | None = None) -> None:
        self.generator = generator if generator is not None else CalibratedGenerator(size=256)
        self._values: dict[str, dict[str, str]] = {}
        self._lock = threading.Lock()

    def __call__(self, model: str, prompt: str, number: int, size: str | None = None) -> bytes:
        """Draw one picture and remember its values."""
        result = self.generator.process(ImageRequest("", "", self.generator.name, prompt, None, number))
        if result.data is None:
            raise Declined(result.reason)
        values = self.generator.values(prompt, number)
        with self._lock:
            self._values[hashlib.sha256(result.data).hexdigest()] = values
        return result.data

    def values_of(self, sha256: str) -> dict[str, str] | None:
        """Attribute → value of a picture that it has drawn, None of any other."""
        return self._values.get(sha256)
