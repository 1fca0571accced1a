"""A page that is one file: style within, nothing loaded, every text of others inert."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

import stereotrope
from stereotrope.report import escape

__all__ = ["render_document"]

_LONG_TEXT = 1200


def render_document(
    template: str, context: Mapping[str, Any], *, templates: Mapping[str, str], style: str = ""
) -> str:
    """Render a page without scripts in the report's style.

    Parameters
    ----------
    template
        Name of a template. It finds ``csp``, ``style`` and ``version`` beside its context, and the report's
        own ``parts.html.j2``.
    context
        What the template shows. The filter ``t`` writes a text of up to 300 characters, ``long`` of up to
        1200; text without either is escaped too.
    templates
        Templates by name; those of the report need not be given.
    style
        Rules after those of the report.

    Returns
    -------
    str
        The page. Its content security policy allows this style and pictures within the page, no more.
    """
    rules = f"{_asset('style.css')}{style}"
    digest = base64.b64encode(hashlib.sha256(rules.encode("utf-8")).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )

    def load(name: str) -> str:
        return templates.get(name) or _asset(f"templates/{name}")

    environment = _environment(load)
    return environment.get_template(template).render(
        **context, csp=Markup(policy), style=Markup(rules), version=stereotrope.__version__
    )


def _environment(load: Callable[[str], str]) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(load),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["t"] = escape.html
    environment.filters["long"] = lambda text: escape.html(text, _LONG_TEXT)
    return environment


@cache
def _asset(name: str) -> str:
    return files("stereotrope.report").joinpath(name).read_text(encoding="utf-8")
