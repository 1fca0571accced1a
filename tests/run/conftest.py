"""Pictures and folders for the tests of the run folder."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image


def png(number: int = 0, size: int = 16) -> bytes:
    """Return a small PNG that differs by number."""
    pixels = np.full((size, size, 3), [number % 256, number // 256 % 256, 7], dtype=np.uint8)
    sink = io.BytesIO()
    Image.fromarray(pixels).save(sink, "PNG")
    return sink.getvalue()


@pytest.fixture
def picture() -> bytes:
    return png()
