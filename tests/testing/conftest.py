"""A server for each test, and connections to it."""

from __future__ import annotations

import pytest
from tests.testing.web import Http

from stereotrope.testing import Loopback


@pytest.fixture
def server():
    with Loopback() as running:
        yield running


@pytest.fixture
def http_to():
    """Connections that are closed after the test."""
    made = []

    def connect(server):
        made.append(Http(server))
        return made[-1]

    yield connect
    for each in made:
        each.connection.close()


@pytest.fixture
def web(server, http_to):
    return http_to(server)
