"""Generation parameters of published audits, ready to be named in an audit file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pydantic import ConfigDict

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.generate.contract import Generator, create, generator
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import Options, Text
from stereotrope.shipped import shipped


@dataclass(frozen=True)
class Preset:
    """An entry for ``generators:`` with the parameters of a publication.

    name: As in ``{preset: NAME}``.
    summary: What it is, in one line.
    source, says: The publication and its words.
    spec: What :func:`stereotrope.generate.create` is given.
    unsent: What the publication names and the endpoint's documented inputs do not have; it is not sent.
    note: Where the endpoint differs from what the publication says; None where nothing is known.
    """

    name: str
    summary: str
    source: str
    says: str
    spec: Mapping[str, Any]
    unsent: Mapping[str, Any] = field(default_factory=dict)
    note: str | None = None


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {name: Preset(name, **facts) for name, facts in shipped("generate", "presets.yaml")["presets"].items()}
)
"""Name → preset; each key of its ``spec`` can be overridden."""


class PresetOptions(Options):
    """A preset, and keys that replace the preset's own; null removes one."""

    model_config = ConfigDict(extra="allow")

    preset: Text
    images: Text | None = None


@generator(
    PresetOptions,
    summary="asks a model with the parameters of a published audit",
    example="{preset: soda/gpt-image-1}",
)
def preset(options: PresetOptions, context: Context) -> Generator:
    """Make what the preset stands for."""
    given = options.model_dump(exclude_unset=True, exclude={"preset"})
    if options.preset not in PRESETS:
        hint = did_you_mean(options.preset, PRESETS, otherwise=f"there are {', '.join(PRESETS)}")
        raise UsageError(f"generator preset {options.preset!r}: there is no such preset; {hint}")
    spec = PRESETS[options.preset].spec
    merged = {k: v for k, v in {**spec, **given}.items() if v is not None or k not in spec}
    return create(merged, relative_to=context.folder, account=context.account)
