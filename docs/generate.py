"""Write the pages of docs/reference that follow from the code; a test checks that they are fresh."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

os.environ.update(NO_COLOR="1", TERMINAL_WIDTH="100", COLUMNS="100", _TYPER_FORCE_DISABLE_TERMINAL="1")

import typer

from stereotrope import tables
from stereotrope.audit.file import AuditSpec, ReportSpec, TemplatesSpec, json_schema
from stereotrope.cli import app
from stereotrope.measure.registry import measures_page

FOLDER = Path(__file__).parent / "reference"


def commands() -> str:
    """Return the help of every command."""
    from typer.testing import CliRunner

    def help_of(*words: str) -> str:
        result = CliRunner().invoke(app, [*words, "--help"])
        return "\n".join(line.rstrip() for line in result.output.strip().splitlines())

    group = typer.main.get_command(app)
    parts = [
        "# Commands",
        "",
        "What `--help` prints. Exit codes: 0 done · 2 usage or audit-file error · 3 incomplete or",
        "insufficient evidence · 130 stopped, continues with the same command.",
        "",
    ]
    for words in [(), *((name,) for name in group.commands)]:
        title = " ".join(("stereotrope", *words))
        parts += [f"## {title}", "", "```text", help_of(*words), "```", ""]
    return "\n".join(parts)


def tables_page() -> str:
    """Return every table with its columns."""
    parts = [
        "# Tables",
        "",
        "Parquet files of a run folder, Polars frames in `st.open(run)`. Factors (`object`, `group` …) are string",
        "columns under their own names: in `prompts` after `prompt_id`, in `estimates` after `definition`.",
        "",
    ]
    for name in ("PROMPTS", "IMAGES", "LABELS", "ESTIMATES", "FINDINGS"):
        parts += [f"## {name.lower()}", "", "| column | type | meaning |", "|---|---|---|"]
        parts += [f"| `{c.name}` | {c.type} | {_cell(c.doc)} |" for c in getattr(tables, name)]
        parts += [""]
    return "\n".join(parts)


def audit_file() -> str:
    """Return every key of the audit file."""
    parts = [
        "# Audit file",
        "",
        "An audit is a YAML file. `stereotrope init objects` prints a commented one; `stereotrope schema` prints the JSON Schema",
        "([audit-file.schema.json](audit-file.schema.json)) that editors use for completion and checks. A mistake gets one",
        "message with file, line, rule, what was found and what to do.",
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
    return "\n".join(parts)


def schema() -> str:
    """Return the JSON Schema of the audit file."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _default(value: object) -> str:
    if value is None:
        return "—"
    return f"`{value}`" if isinstance(value, (int, float, str)) else "see below"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands,
    "tables.md": tables_page,
    "audit-file.md": audit_file,
    "audit-file.schema.json": schema,
    "measures.md": measures_page,
}


def main() -> None:
    """Write every page."""
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page().rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
