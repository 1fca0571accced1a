"""Words for measures, from ``words.yaml`` beside their code; a run stores those of what it measured.

Rows go by the name that they carry in the column ``measure``. Of each: ``section`` of the report, ``title``,
``short`` name and its ``abbreviation``, ``unit``, ``definition``, ``reads`` (how to read the figure) and
``source``; ``scale`` where values are a ``rank`` or ``signed`` differences; ``sense``, what high means where
the name says otherwise; ``undrawn``, why no chart would show more than that of another measure; ``beneath``,
the name whose figure stands in the page with this one behind a line; ``left_out``, what ``n_excluded`` counts
where that is no picture, and ``left_out_of_all`` in rows over all attributes; ``definitions``, what differs
under a definition other than the paper's; ``screen``, where it is a main score that the terminal prints: its
``title`` there, ``form`` (``ranking`` of the levels compared, ``beside`` each other, ``events``, shown where
there were any and else as the sentence ``none``, ``kinds``, where definitions say what was measured; else a
table), and the value that is ``neutral``, where that is no floor and not 0.
"""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from ruamel.yaml import YAML

from stereotrope.measure.contract import REGISTRY


def measure_words(names: Iterable[str] | None = None) -> dict[str, dict[str, Any]]:
    """Words for the rows of these names, or of all, in the order in which they are read."""
    rooms = dict.fromkeys(info.function.__module__.rpartition(".")[0] for info in REGISTRY.values())
    every = {name: told for room in rooms for name, told in _read(room).items()}
    if names is None:
        return every
    rows = set(names)
    used = [name for name in every if name in rows]
    chosen = {*used, *(every[name].get("beneath") for name in used)}
    return {name: told for name, told in every.items() if name in chosen}


@cache
def _read(package: str) -> dict[str, dict[str, Any]]:
    path = files(package).joinpath("words.yaml") if package else None
    if path is None or not path.is_file():
        return {}
    return dict(YAML(typ="safe").load(path.read_text(encoding="utf-8")))
