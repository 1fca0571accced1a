"""A page opened in a browser, with everything it said and asked for."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
PATIENCE = 600_000  # milliseconds; how long a page takes on a busy machine proves nothing
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Visit:
    """An opened page with everything it said and asked for."""

    def __init__(self, browser: Any, index: Path, **context: Any) -> None:
        self.said: list[str] = []
        self.asked: list[str] = []
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.page.on("console", lambda m: self.said.append(f"{m.type}: {m.text}"))
        self.page.on("pageerror", lambda e: self.said.append(f"error: {e}"))
        self.page.on("request", lambda r: self.asked.append(r.url))
        self.page.goto(index.as_uri())

    def opened(self) -> Visit:
        """Open every line, and wait until what is behind them is drawn too."""
        self.page.evaluate("for (const line of document.querySelectorAll('details')) line.open = true")
        self.page.wait_for_selector(".chart:not(:has(> svg))", state="detached")
        return self

    def drawn(self) -> Visit:
        self.page.wait_for_selector("html[data-charts=drawn]", state="attached")
        return self
