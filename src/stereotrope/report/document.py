"""Pages that are one file: style and script within, nothing loaded, every text of others inert."""

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache, partial
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import jinja2
from markupsafe import Markup

from stereotrope import escape
from stereotrope.report.numbers import thousands
from stereotrope.version import __version__

_LONGEST = {"item": 500, "long": escape.SENTENCE, "audit": 20_000}
"""Filter → characters of a text of others that it keeps."""


def render_document(
    template: str,
    context: Mapping[str, Any],
    *,
    templates: Mapping[str, str] = MappingProxyType({}),
    style: str = "",
    script: str = "",
) -> str:
    """Render a page in the report's style.

    template: Name of a template. It finds ``csp``, ``style``, ``script`` and ``version`` beside its context,
        and the report's own ``parts.html.j2``.
    context: What the template shows. Every text is escaped; the filters ``t``, ``item``, ``long``,
        ``sentence`` (it keeps ``q < 0.001`` on one line) and ``audit`` also cut it.
    templates: Templates by name; those of the report need not be given.
    style: Rules after those of the report.
    script: The page's only script, of ours; without one no script runs.

    Returns: The page; it may load nothing but this style, this script and pictures within it.
    """
    rules = f"{asset('style.css')}{style}"
    policy = ["default-src 'none'", "img-src data:", f"style-src '{_digest(rules)}'"]
    policy += [f"script-src '{_digest(script)}'"] * bool(script)
    policy += ["base-uri 'none'", "form-action 'none'"]

    return (
        _environment(frozenset(templates.items()))
        .get_template(template)
        .render(
            **context,
            csp=Markup("; ".join(policy)),
            style=Markup(rules),
            script=Markup(script),
            version=__version__,
        )
    )


@cache
def _environment(templates: frozenset[tuple[str, str]]) -> jinja2.Environment:
    """Templates are compiled once a process, which takes as long as the rest of a small page."""
    given = dict(templates)

    def load(name: str) -> str:
        return given.get(name) or asset(f"templates/{name}")

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(load),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    environment.filters |= {name: partial(escape.html, longest=longest) for name, longest in _LONGEST.items()}
    environment.filters |= {"t": escape.html, "sentence": _sentence, "thousands": thousands}
    return environment


def _sentence(text: str) -> Markup:
    """A long text that keeps ``q < 0.001`` on one line."""
    return escape.html(re.sub(" ([<=]) ", "\u00a0\\1\u00a0", text), _LONGEST["long"])


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"


@cache
def asset(name: str) -> str:
    """A file of this room."""
    return files("stereotrope.report").joinpath(name).read_text(encoding="utf-8")
