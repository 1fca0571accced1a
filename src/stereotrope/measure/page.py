"""The reference page of all measures, made from what they are registered with."""

import inspect
import re

from stereotrope.measure.contract import REGISTRY, MeasureInfo


def measures_page() -> str:
    """The reference page of all measures, in Markdown."""
    parts = [
        "# Measures",
        "",
        "Every measure takes a tidy frame (Polars, pandas, PyArrow …) and returns a Polars frame of",
        "[estimates](tables.md). A number that cannot be given is null, and `undefined` says why.",
        "What they are for and how they are misused: [objects](../explanation/objects-measures.md),",
        "[shares](../explanation/shares.md).",
        "",
        "| measure | suite | what | range | direction |",
        "|---|---|---|---|---|",
    ]
    for info in REGISTRY.values():
        link = f"[`{info.name}`](#{info.name})"
        parts.append(f"| {link} | {info.suite} | {info.summary} | {_range(info)} | {info.direction} |")
    for info in REGISTRY.values():
        named = f" Rows are named `{'`, `'.join(info.rows)}`." if info.also else ""
        if info.marks:
            columns = " and ".join(f"`{column}`" for column in info.marks)
            named = f" Rows bear the name of the measure that they are made from; {columns} says how."
        if info.bands:
            named += f" Bands: {_bands(info)}."
        parts += ["", f"## {info.name}", "", f"Reads {info.frame.words}. Source: {info.source}.{named}", ""]
        parts += ["```python", _signature(info), "```", "", _markdown(inspect.getdoc(info.function) or "")]
    return "\n".join(parts).rstrip() + "\n"


def _range(info: MeasureInfo) -> str:
    low, high = ("…" if bound is None else f"{bound:g}".replace("-", "−") for bound in info.bounds)
    return f"{low} to {high}"


def _bands(info: MeasureInfo) -> str:
    """``low up to 0.3, moderate up to 0.55 …``."""
    return ", ".join(f"{band.name} up to {band.most:g}" for band in info.bands)


def _signature(info: MeasureInfo) -> str:
    signature = inspect.signature(info.function)
    lines = []
    star = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            lines.append("    *,")
            star = True
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        lines.append(f"    {parameter.name}{default},")
    return "\n".join([f"{info.name}(", *lines, ")"])


def _markdown(docstring: str) -> str:
    """A numpydoc docstring as Markdown: sections as headings, roles as code, examples as code blocks."""
    text = re.sub(r":math:`([^`]*)`", r"$\1$", docstring)
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text)
    text = re.sub(r"``([^`]*)``", r"`\1`", text)
    text = re.sub(r"^([A-Z]\w+)\n-+$", r"### \1\n", text, flags=re.MULTILINE)
    body, _, example = text.partition("### Examples\n")
    body = re.sub(r"^(\w[\w., ]*)\n    (?=\S)", r"\n**\1**\n    ", body, flags=re.MULTILINE)
    body = "\n".join(line.removeprefix("    ") for line in body.splitlines())
    if not example:
        return body
    return f"{body}\n### Examples\n\n```pycon\n{example.strip()}\n```"
