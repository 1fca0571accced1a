"""Entries of an audit file as the command line takes them."""

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from stereotrope.errors import UsageError


def entry_of(text: str, option: str, *, example: str) -> str | dict[str, Any]:
    """Read what stands behind an option: a name, ``provider:model``, or a YAML mapping.

    Raises UsageError: It begins like a mapping and is none; the message ends in the example.
    """
    if not text.lstrip().startswith("{"):
        return text
    hint = f"write {example}"
    try:
        spec = YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        problem = str(getattr(error, "problem", None) or error).partition(" with value ")[0]
        found = " ".join(problem.split())
        raise UsageError(f"{option}: is no YAML mapping ({found}); {hint}") from None
    except (RecursionError, ValueError):
        raise UsageError(f"{option}: is no YAML mapping that can be read; {hint}") from None
    if not isinstance(spec, dict):
        raise UsageError(f"{option}: must be a name or a YAML mapping; {hint}")
    return spec
