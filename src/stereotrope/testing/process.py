"""The loopback server as a process of its own, which outlives the client that a test kills."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode

from stereotrope.errors import UsageError

PATIENCE = 60.0
"""Seconds the process may take for one administrative answer."""


class LoopbackProcess:
    """A :class:`Loopback` in a process of its own; use it in a ``with`` block.

    It is asked and told over HTTP, under ``/_loopback/``, and ends with the test.

    *arguments: Of ``python -m stereotrope.testing``: ``"--latency", "0.5", "2"`` …
    environment: Its environment variables in addition to this process's.
    """

    def __init__(self, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        self._arguments, self._environment = arguments, environment or {}
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self) -> LoopbackProcess:
        """Start the process and wait until it listens; returns itself."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "stereotrope.testing", "--with-parent", *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **self._environment},
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            self.close()
            raise UsageError(
                f"loopback: the process did not start with {' '.join(self._arguments)!r}; see its error above"
            )
        return self

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def __enter__(self) -> LoopbackProcess:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def root(self) -> str:
        """The address without ``/v1``."""
        return self.url.removesuffix("/v1")

    def misbehave(self, kind: str, **options: Any) -> None:
        """As :meth:`Loopback.misbehave`."""
        self._ask("misbehave", {"kind": kind, **options})

    def behave(self) -> None:
        """As :meth:`Loopback.behave`."""
        self._ask("behave", {})

    def counts(self) -> dict[tuple[str, str | None, int], int]:
        """As :meth:`Loopback.counts`."""
        return {(kind, model, status): n for kind, model, status, n in self._ask("counts")}

    def most_in_a_minute(self, *, seconds: float = 60.0) -> int:
        """As :meth:`Loopback.most_in_a_minute`."""
        return int(self._ask(f"most_in_a_minute?{urlencode({'seconds': seconds})}"))

    def _ask(self, what: str, body: Mapping[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.root}/_loopback/{what}", data)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=PATIENCE) as answer:
                return json.load(answer)
        except HTTPError as error:
            with error:
                raise UsageError(json.load(error)["error"]["message"]) from None
