"""What there is: suites, measures, generators, annotators and strategies, one line each or a page."""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stereotrope.commands import Settings
from stereotrope.errors import UsageError, did_you_mean
from stereotrope.inputs.entries import Entry
from stereotrope.inputs.options import Options
from stereotrope.plugins import OURS, Registry
from stereotrope.shipped import shipped
from stereotrope.terminal import console


def print_suites(name: str | None, settings: Settings) -> None:
    """Print every suite in one line, or the data of one."""
    from stereotrope.suites import SUITES
    from stereotrope.suites.reading import load_suite

    if name is None:
        _print_list(((n, f"{load_suite(n)['summary']}{_from(SUITES, n)}") for n in SUITES), settings)
        return
    data = load_suite(name)
    out = console(settings)
    out.print(Text(data["summary"], style="bold"))
    out.print(Text(f"Source: {data['source']}"))
    for line in _design(data):
        out.print(Text(line))
    for key in ("annotators", "measures"):
        if key in data:
            out.print(Text(f"{key.capitalize()}: {', '.join(map(_spelled, data[key]))}"))
    out.print(Text(f"Audit file: stereotrope init {name} > audit.yaml"))


def _design(data: Mapping[str, Any]) -> Iterable[str]:
    """What a suite asks for: prompts as they are, or things, groups and the templates that join them."""
    listed = data.get("prompts", ())
    if isinstance(listed, Mapping) and "groups" in listed:
        listed = [{"name": name, "template": group["template"]} for name, group in listed["groups"].items()]
    for prompt in listed if isinstance(listed, list) else [listed]:
        yield ": ".join(map(str, prompt.values())) if isinstance(prompt, Mapping) else str(prompt)
    suffixes = data.get("known_mitigations") or {}
    told = {
        "Objects": data.get("objects"),
        **(data.get("dimensions") or {}),
        **(data.get("templates") or {}),
        "Phrasings": data.get("known_phrasings"),
        "Mitigations": [f"{name} ({suffix})" for name, suffix in suffixes.items() if suffix],
    }
    yield from (f"{k}: {v if isinstance(v, str) else ', '.join(v)}" for k, v in told.items() if v)


def print_measures(name: str | None, settings: Settings) -> None:
    """Print every measure in one line, or the page of one."""
    from stereotrope.measure import REGISTRY

    if name is None:
        _print_list(
            ((name, f"{REGISTRY[name].summary}{_from(REGISTRY, name)}") for name in REGISTRY), settings
        )
        return
    _require("measure", name, REGISTRY)
    entry = REGISTRY[name]
    out = console(settings)
    low, high = entry.bounds
    out.print(Text(_call(entry.name, entry.function), style="bold"))
    reach = "as the score" if low is None and high is None else f"{_end(low)} to {_end(high)}"
    out.print(Text(f"Suite: {entry.suite}. Range: {reach}; {entry.direction}."))
    out.print(Text(f"Source: {entry.source}{_from(REGISTRY, name)}\n"))
    out.print(Text(_plain(inspect.getdoc(entry.function) or "")))


def print_generators(name: str | None, settings: Settings) -> None:
    """Print the kinds of generators and the presets, or what one preset sends."""
    from stereotrope.generate import GENERATORS, PRESETS

    if name is None:
        _print_list(_entries(GENERATORS), settings)
        console(settings).print(Text("\nPresets, as {preset: NAME}:"))
        _print_list(((preset.name, preset.summary) for preset in PRESETS.values()), settings)
        return
    _require("generator or preset", name, [*GENERATORS, *PRESETS])
    out = console(settings)
    if name in GENERATORS:
        _print_entry(GENERATORS, name, out)
        return
    preset = PRESETS[name]
    out.print(Text(preset.summary, style="bold"))
    out.print(Text(f"Entry: {_spelled(preset.spec)}"))
    out.print(Text(f"Source: {preset.source}"))
    out.print(Text(f"It says: “{preset.says}”"))
    if preset.unsent:
        out.print(
            Text(f"Named there and not sent, since the endpoint has no such input: {_spelled(preset.unsent)}")
        )
    if preset.note:
        out.print(Text(preset.note))


def print_annotators(name: str | None, settings: Settings) -> None:
    """Print the annotators, or what can be written of one."""
    from stereotrope.annotate import ANNOTATORS

    if name is None:
        _print_list(_entries(ANNOTATORS), settings)
        return
    _require("annotator", name, ANNOTATORS)
    _print_entry(ANNOTATORS, name, console(settings))


def print_strategies(name: str | None, settings: Settings) -> None:
    """Print the strategies, or what can be written of one."""
    from stereotrope.mitigate import STRATEGIES

    if name is None:
        _print_list(_entries(STRATEGIES), settings)
        return
    _require("strategy", name, STRATEGIES)
    _print_entry(STRATEGIES, name, console(settings))


def _require(what: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        hint = did_you_mean(name, known, otherwise=f"there are {', '.join(known)}")
        raise UsageError(f"no {what} {name!r}; {hint}")


def _entries(registry: Registry[Entry[Any]]) -> Iterable[tuple[str, str]]:
    """What each entry is, how it is written where that is more than its name, and where it comes from."""
    for name, entry in registry.items():
        written = f": {entry.example}" if entry.example != name else ""
        yield name, f"{entry.summary}{written}{_from(registry, name)}"


def _print_entry(registry: Registry[Entry[Any]], name: str, out: Console) -> None:
    """Print what an entry is, how it is written, and what its keys mean."""
    entry = registry[name]
    out.print(Text(f"{name}: {entry.summary}{_from(registry, name)}", style="bold"))
    out.print(Text(f"Entry: {entry.example}"))
    keys = (
        key if field.is_required() or field.default is None else f"{key}: {_yaml(field.default)}"
        for key, field in entry.options.model_fields.items()
        if key != name
    )
    out.print(Text(f"Further keys: {', '.join(keys) or 'none'}\n"))
    for model in entry.options.__mro__[: entry.options.__mro__.index(Options)]:
        if model.__doc__:  # that of its base is not its own
            out.print(Text(f"{_plain(inspect.cleandoc(model.__doc__))}\n"))


def _print_list(rows: Iterable[tuple[str, str]], settings: Settings) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for name, summary in rows:
        table.add_row(Text(name, style="bold"), Text(summary))
    console(settings).print(table)


def _from(registry: Registry[Any], name: str) -> str:
    """Which package brings a plug-in, where that is not this one."""
    origin = registry.origin(name)
    return "" if origin == OURS else f" (from {origin})"


def _call(name: str, function: Callable[..., Any]) -> str:
    """A call with the defaults, without types: ``bds(labels, group='group', *, level=0.95)``."""
    signature = inspect.signature(function)
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return f"{name}{signature.replace(parameters=bare, return_annotation=signature.empty)}"


def _plain(text: str) -> str:
    """A docstring without reST roles and LaTeX where they have plain signs."""
    text = re.sub(r":math:`(.*?)`", lambda m: _formula(m.group(1)), text, flags=re.DOTALL)
    return re.sub(r":\w+:`~?(.*?)`", r"\1", text).replace("``", "")


def _formula(latex: str) -> str:
    for pattern, plain in shipped("cli", "latex.yaml"):
        latex = re.sub(pattern, plain, latex)
    return latex


def _spelled(measure: str | Mapping[str, Any]) -> str:
    """A measure of a suite as the audit file would have it: ``bds``, ``{average: bds, over: object}``."""
    if isinstance(measure, str):
        return measure
    return f"{{{', '.join(f'{key}: {_yaml(value)}' for key, value in measure.items())}}}"


def _yaml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else "null" if value is None else str(value)


def _end(value: float | None) -> str:
    return "no bound" if value is None else f"{value:g}"
