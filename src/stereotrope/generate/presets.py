"""Generation parameters of published audits, ready to be named in an audit file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from types import MappingProxyType
from typing import Any

from ruamel.yaml import YAML

from stereotrope.errors import UsageError, did_you_mean

__all__ = ["PRESETS", "Preset", "expand"]


@dataclass(frozen=True)
class Preset:
    """An entry for ``generators:`` with the parameters of a publication.

    Attributes
    ----------
    name
        As in ``{preset: NAME}``.
    summary
        What it is, in one line.
    source, says
        The publication and its words.
    spec
        What :func:`stereotrope.generate.create` is given.
    unsent
        What the publication names and the endpoint's documented inputs do not have; it is not sent.
    note
        Where the endpoint differs from what the publication says; None where nothing is known.
    """

    name: str
    summary: str
    source: str
    says: str
    spec: Mapping[str, Any]
    unsent: Mapping[str, Any] = field(default_factory=dict)
    note: str | None = None


def _load() -> Mapping[str, Preset]:
    text = resources.files("stereotrope.generate").joinpath("presets.yaml").read_text("utf-8")
    found = YAML(typ="safe", pure=True).load(text)["presets"]
    return MappingProxyType({name: Preset(name, **content) for name, content in found.items()})


PRESETS: Mapping[str, Preset] = _load()
"""Name → preset; each key of its ``spec`` can be overridden."""


def expand(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry that ``{preset: NAME, …}`` stands for: the preset's keys under the given ones.

    A key of the preset that is given as null is removed.

    Raises
    ------
    UsageError
        There is no such preset; the message names the nearest.
    """
    given = dict(options)
    name = given.pop("preset")
    if not isinstance(name, str) or name not in PRESETS:
        hint = did_you_mean(name, PRESETS, otherwise=f"there are {', '.join(PRESETS)}")
        raise UsageError(f"generator preset {name!r}: there is no such preset; {hint}")
    spec = PRESETS[name].spec
    return {k: v for k, v in {**spec, **given}.items() if v is not None or k not in spec}
