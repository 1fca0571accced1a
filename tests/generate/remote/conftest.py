from __future__ import annotations

from collections.abc import Iterator

import pytest

from stereotrope.testing import Loopback


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as server:
        yield server
