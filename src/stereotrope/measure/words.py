"""Words for the rows of measures, which stand in ``words.yaml`` beside the measures' code."""

import functools
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from yaml import YAMLError

from stereotrope.errors import PluginError, did_you_mean
from stereotrope.measure.contract import REGISTRY, measure_of_rows
from stereotrope.shipped import parsed

_WORDS = (
    "section", "title", "short", "abbreviation", "unit", "definition", "reads", "source", "scale", "sense",
    "undrawn", "beneath", "repeats", "left_out", "left_out_of_all", "axis", "axis_scale", "axis_unit",
    "definitions", "screen",
)  # fmt: skip
"""Words that a name of rows may have."""


def measure_words(names: Iterable[str] | None = None) -> dict[str, dict[str, Any]]:
    """Words for the rows of these names, or of all, in the order in which they are read.

    They stand in ``words.yaml`` beside the measures' code; a run stores those of what it measured. Rows go by
    the name that they carry in the column ``measure``. Of each: ``section`` of the report, ``title``,
    ``short`` name and its ``abbreviation``, ``unit``, ``definition``, ``reads`` (how to read the figure) and
    ``source``; ``scale`` where values are a ``rank`` or ``signed`` differences; ``sense``, what high means
    where the name says otherwise; ``undrawn``, why no chart would show more than that of another measure;
    ``beneath``, the name whose figure stands in the page with this one behind a line; ``left_out``, what
    ``n_excluded`` counts where that is no picture, and ``left_out_of_all`` in rows over all attributes;
    ``axis``, which of the three that a mitigation is judged by it measures (``stereotype``, ``variety``,
    ``fidelity``), ``axis_scale``, ``reversed`` where higher is less of it, and ``axis_unit``, ``share`` where
    it is a share of pictures, items or requests, which the margin of “alike” is for;
    ``definitions``, what differs under a definition other than the paper's; ``screen``, where it is a main
    score that the terminal prints: its ``title`` there, ``form`` (``ranking`` of the levels compared,
    ``beside`` each other, ``events``, shown where there were any and else as the sentence ``none``,
    ``kinds``, where definitions say what was measured; else a table), and the value that is ``neutral``,
    where that is no floor and not 0.
    """
    rooms = {
        info.function.__module__.rpartition(".")[0]: REGISTRY.origin(info.name) for info in REGISTRY.values()
    }
    every = {name: told for room, package in rooms.items() for name, told in _read(room, package).items()}
    if names is None:
        return every
    rows = set(names)
    used = [name for name in every if name in rows]
    chosen = {*used, *(every[name].get("beneath") for name in used)}
    return {name: told for name, told in every.items() if name in chosen}


@functools.cache
def _read(room: str, package: str) -> dict[str, dict[str, Any]]:
    """The words of a room, which comes with a package."""
    path = files(room).joinpath("words.yaml") if room else None
    if path is None or not path.is_file():
        return {}
    try:
        words: Any = parsed(path.read_text(encoding="utf-8")) or {}
        if not isinstance(words, dict) or not all(isinstance(told, dict) for told in words.values()):
            raise ValueError("it must map each name of rows to its words")
        for name, told in words.items():
            if strange := [key for key in told if key not in _WORDS]:
                hint = did_you_mean(str(strange[0]), _WORDS, otherwise=f"there are {', '.join(_WORDS)}")
                raise ValueError(f"{name}: no word {strange[0]!r}; {hint}")
            info = measure_of_rows(name)
            if info is None:
                known = [row for one in REGISTRY.values() for row in one.rows]
                raise ValueError(
                    f"no measure gives rows of {name!r}; {did_you_mean(name, known) or 'remove it'}"
                )
            if (other := REGISTRY.origin(info.name)) != package:
                raise ValueError(f"{name!r} is a measure of {other}, which has words for it")
    except (ValueError, YAMLError) as error:
        told = " ".join(str(error).split())
        raise PluginError(
            f"measures: words.yaml of {room}, of the package {package}, cannot be used ({told}); mend the "
            "package, or uninstall it"
        ) from error
    return words
