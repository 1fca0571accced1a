"""Write the pages of docs/reference that follow from the code; a test checks that they are fresh."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer

from stereotrope import tables
from stereotrope.annotate import ANNOTATORS, palette
from stereotrope.audit.file import AuditSpec, ReportSpec, json_schema
from stereotrope.cli import app
from stereotrope.further_tables import TABLES
from stereotrope.generate import GENERATORS
from stereotrope.inputs import Entry
from stereotrope.inputs.rubric import RUBRICS, rubric_named
from stereotrope.measure import REGISTRY, MeasureInfo
from stereotrope.mitigate import STRATEGIES
from stereotrope.plugins import Registry
from stereotrope.suites.file import TemplatesSpec

FOLDER = Path(__file__).parent / "reference"

ENTRIES = FOLDER / "audit-file.entries.md"


def commands() -> str:
    """Return every command with its arguments and options."""
    group = typer.main.get_command(app)
    parts = [
        "# Commands",
        "",
        "Data goes to stdout, progress to stderr. Global options stand before the command. Exit codes:",
        "0 done · 2 usage or audit-file error · 3 incomplete or insufficient evidence · 4 the cap on costs",
        "is reached · 5 `show --fail-on` found what it names · 130 or 143 stopped, continues with the same",
        "command.",
        "",
        "## stereotrope",
        "",
        *_parameters(group),
    ]
    for name, command in _named(group):
        parts += [f"## stereotrope {name}", "", _plain(command.help or ""), "", *_parameters(command)]
    return "\n".join(parts)


def _named(group: typer.core.TyperGroup) -> Iterator[tuple[str, typer.core.TyperCommand]]:
    """Every command with its name; those of a group by both names."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if isinstance(command, typer.core.TyperGroup):
            yield from ((f"{name} {inner}", own) for inner, own in _named(command))
        else:
            yield name, command


def _parameters(command: typer.core.TyperCommand) -> list[str]:
    rows = []
    for parameter in command.params:
        names = ", ".join(f"`{o}`" for o in (*parameter.opts, *parameter.secondary_opts))
        if parameter.param_type_name == "argument":
            names = f"`{parameter.metavar or parameter.name.upper()}`"
        if "completion" not in names:
            rows.append(f"| {names} | {_cell(_plain(parameter.help or ''))} |")
    return ["| | |", "|---|---|", *rows, ""] if rows else []


def _plain(text: str) -> str:
    paragraphs = [
        " ".join(part.split()) for part in text.replace("[bold]", "`").replace("[/bold]", "`").split("\n\n")
    ]
    return "\n\n".join(paragraphs)


def tables_page() -> str:
    """Return every table with its columns."""
    parts = [
        "# Tables",
        "",
        "Parquet files of a run folder, Polars frames in `st.open(run)`. Factors (`object`, `group` …)",
        "are string columns under their own names: in `prompts` after `prompt_id`, in `estimates` after",
        "`definition`.",
        "",
    ]
    names = ("PROMPTS", "IMAGES", "LABELS", "EMBEDDINGS", "ESTIMATES", "FINDINGS", "REFERENCE")
    for name in (*names, "COMPARISONS", "ROBUSTNESS", "SUBJECTS"):
        parts += [f"## {name.lower()}", "", "| column | type | meaning |", "|---|---|---|"]
        parts += [f"| `{c.name}` | {c.type} | {_cell(c.doc)} |" for c in getattr(tables, name)]
        parts += [""]
    parts += ["Further tables, where a run has them; `run.table(name)` opens one:", ""]
    for name, table in TABLES.items():
        parts += [f"## {name}", "", f"{table.caption}.", "", "| column | type | meaning |", "|---|---|---|"]
        parts += [f"| `{c.name}` | {c.type} | {_cell(c.doc)} |" for c in table.columns]
        parts += [""]
    return "\n".join(parts)


def audit_file() -> str:
    """Return every key of the audit file."""
    parts = [
        "# Audit file",
        "",
        "An audit is a YAML file. `stereotrope init objects` prints a commented one; `stereotrope schema`",
        "prints the JSON Schema ([audit-file.schema.json](audit-file.schema.json)) that editors use for",
        "completion and checks. A mistake gets one message with file, line, rule, what was found and what",
        "to do. Paths are relative to the audit file.",
        "",
    ]
    for title, model in (("Keys", AuditSpec), ("report", ReportSpec), ("templates", TemplatesSpec)):
        parts += [f"## {title}", "", "| key | meaning | default |", "|---|---|---|"]
        for name, field in model.model_fields.items():
            default = (
                "required" if field.is_required() else _default(field.get_default(call_default_factory=True))
            )
            parts.append(f"| `{name}` | {_cell(field.description or 'see below')} | {default} |")
        parts += [""]
    return "\n".join(parts) + "\n" + ENTRIES.read_text(encoding="utf-8")


def entries(title: str, registry: Registry[Entry[Any]], where: str | None = None) -> str:
    """Return every entry of a registry with its keys and their defaults."""
    under = where or f"under `{registry.group}:` in an [audit file](audit-file.md)"
    rows = []
    for name, entry in registry.items():
        keys = ", ".join(
            f"`{key}`" if field.is_required() or field.default is None else f"`{key}: {_yaml(field.default)}`"
            for key, field in entry.options.model_fields.items()
            if key != name
        )
        rows.append(
            f"| `{_cell(entry.example)}` | {_cell(entry.summary)} | {keys} | {registry.origin(name)} |"
        )
    return "\n".join(
        [
            f"# {title}",
            "",
            f"What can be written {under}.",
            "Packages that are installed beside stereotrope can add to it.",
            "",
            "| entry | what it is | further keys | from |",
            "|---|---|---|---|",
            *rows,
        ]
    )


def measures_page() -> str:
    """The reference page of all measures, in Markdown."""
    parts = [
        "# Measures",
        "",
        "Every measure takes a tidy frame (Polars, pandas, PyArrow …) and returns a Polars frame of",
        "[estimates](tables.md). A number that cannot be given is null, and `undefined` says why.",
        "Whatever is drawn at random comes from `numpy.random.default_rng`, which `seed` feeds: the same",
        "frame and seed give the same numbers.",
        "What they are for and how they are misused: [objects](../explanation/objects-measures.md), "
        "[everyday](../explanation/everyday-measures.md),",
        "[shares](../explanation/shares.md), [stereotypes](../explanation/stereotypes.md).",
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
    body = re.sub(r"^(\w+(?:, \w+)+)\n((?:    .+\n?)+)", _apart, body, flags=re.MULTILINE)
    body = re.sub(r"^(\w[\w., ]*)\n    (?=\S)", r"\n**\1**\n    ", body, flags=re.MULTILINE)
    body = "\n".join(line.removeprefix("    ") for line in body.splitlines())
    if not example:
        return body
    return f"{body}\n### Examples\n\n```pycon\n{example.strip()}\n```"


def _apart(entry: re.Match[str]) -> str:
    """Parameters told together, one by one where semicolons part as many meanings."""
    names, meanings = entry[1].split(", "), " ".join(entry[2].split()).split("; ")
    if len(names) != len(meanings):
        return entry[0]
    told = zip(names, meanings, strict=True)
    return "".join(f"{name}\n    {said[:1].upper()}{said[1:].rstrip('.')}.\n" for name, said in told)


def schema() -> str:
    """Return the JSON Schema of the audit file."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _default(value: object) -> str:
    if value is None:
        return "—"
    return f"`{value}`" if isinstance(value, (int, float, str)) else "see below"


def _yaml(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def palette_page() -> str:
    """Return the anchors of the colour palette."""
    lines = [
        "# Colour palette",
        "",
        "The `colour` annotator gives a colour the name of its nearest anchor by CIEDE2000",
        "(D65, 2° observer, k_L = k_C = k_H = 1). `css` anchors are named colours of CSS Color",
        "Module Level 4 (W3C); `own` ones are ours, and so is the grouping under a name. This page",
        "is made from `annotate/palette.yaml` by `make docs`.",
        "",
        "| name | sRGB | L* | a* | b* | source |",
        "|---|---|---:|---:|---:|---|",
    ]
    known = palette.read_palette()
    for anchor, lab in zip(known.anchors, known.lab, strict=True):
        rgb = "#" + bytes(anchor.rgb).hex()
        cells = " | ".join(f"{v + 0.0:.1f}".replace("-0.0", "0.0") for v in lab)
        lines.append(f"| {anchor.name} | `{rgb}` | {cells} | {anchor.source} |")
    return "\n".join(lines) + "\n"


def rubrics_page() -> str:
    """Return every item of the rubrics that come with a package, by its id."""
    parts = [
        "# Rubrics",
        "",
        "Items of the rubrics that a judge takes by their name, `rubric: [occupational]`. The id of an item",
        "is the `attribute` of its labels in every table, and the column of a file of answers",
        "(`set_labels`), of people or of a judge elsewhere: [how to](../how-to/rubrics.md).",
        "",
    ]
    for name in RUBRICS:
        rubric = rubric_named([name])
        parts += [f"## {name}", "", "| id | families | question |", "|---|---|---|"]
        for item in rubric.items:
            families = ", ".join(item.families or ("all",))
            parts.append(f"| `{item.id}` | {families} | {_cell(item.text)} |")
        parts += [""]
    return "\n".join(parts)


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands,
    "tables.md": tables_page,
    "audit-file.md": audit_file,
    "audit-file.schema.json": schema,
    "measures.md": measures_page,
    "annotators.md": lambda: entries("Annotators", ANNOTATORS),
    "generators.md": lambda: entries("Generators", GENERATORS),
    "strategies.md": lambda: entries(
        "Strategies", STRATEGIES, "behind `--with` of [`stereotrope mitigate`](../how-to/mitigate.md)"
    ),
    "palette.md": palette_page,
    "rubrics.md": rubrics_page,
}


def main() -> None:
    """Write every page."""
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page().rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
