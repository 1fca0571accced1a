"""Making the generators and annotators that an audit file lists, and telling a mistake by its line."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from stereotrope import generate
from stereotrope.audit.file import AuditSpec
from stereotrope.clients import Account
from stereotrope.errors import InputError, UsageError
from stereotrope.inputs.options import shorten
from stereotrope.inputs.yaml import Source

_T = TypeVar("_T")


def generators_of(
    spec: AuditSpec, source: Source, account: Account
) -> tuple[tuple[generate.Generator, ...], list[str]]:
    """The models under audit, and the words that each is sent before every prompt.

    Raises AuditFileError: One cannot be made, or two are the same.
    """
    make = partial(generate.create, relative_to=source.base, account=account, counted=spec.counted)
    entries = [dict(item) if isinstance(item, Mapping) else item for item in spec.generators]
    prefixes = [_prefix(entry, source, index) for index, entry in enumerate(entries)]
    made = created(make, entries, source, "generators")
    _refuse_same_pictures(made, prefixes, source)
    return made, prefixes


def created(make: Callable[[Any], _T], items: Sequence[Any], source: Source, key: str) -> tuple[_T, ...]:
    """Make what a list of an audit file names, each under a name of its own.

    Raises AuditFileError: One cannot be made, or two have one name.
    """
    made: dict[str, _T] = {}
    for index, item in enumerate(items):
        try:
            one = make(item)
        except (UsageError, InputError) as error:
            raise source.error(str(error), key, index) from None
        name = str(one.name)  # type: ignore[attr-defined]
        if name in made:
            raise source.error(f"{key}: two have the name {name!r}; give one another `name:`", key, index)
        made[name] = one
    return tuple(made.values())


def _prefix(entry: Any, source: Source, index: int) -> str:
    """Take the words that a generator is sent before every prompt out of its entry."""
    given = entry.pop("prefix", "") if isinstance(entry, dict) else ""
    if isinstance(given, str) and given.isprintable():
        return " ".join(given.split())
    raise source.error(
        f"prefix must be words that are sent before every prompt, found {shorten(given)}; write "
        "prefix: a high-quality picture of",
        *("generators", index),
    )


def _refuse_same_pictures(
    generators: Sequence[generate.Generator], prefixes: Sequence[str], source: Source
) -> None:
    """Two entries with one fingerprint ask for the same work: each picture would be one of both."""
    first: dict[tuple[str, str], str] = {}
    for index, (generator, prefix) in enumerate(zip(generators, prefixes, strict=True)):
        other = first.setdefault((generator.fingerprint, prefix), generator.name)
        if other != generator.name:
            raise source.error(
                f"generators: {other!r} and {generator.name!r} are one model with the same parameters; "
                "remove one, give it other parameters, or tell two servers of a model apart by `version:`",
                "generators",
                index,
            )
