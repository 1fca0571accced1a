"""What files delivered of the pictures that the design asks for, prompt by prompt."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from stereotrope.measure.sentences import clean, quoted
from stereotrope.report.numbers import count
from stereotrope.tables import factors_of

MOST_LACKING = 1000
"""Conditions that ``run.json`` lists."""
_NAMED = 3
"""Conditions, and models, that a sentence names."""
_N = "\0n"
"""Column under a name that no factor has."""
_DO = "Estimates say nothing of those: add them to the files and run again, or take them out of the design"


class _Lack(NamedTuple):
    """What some models did not deliver.

    each: Pictures that are asked of a prompt; None where nothing says how many.
    came: How many came of each prompt, in the order of the design.
    """

    each: int | None
    came: tuple[int, ...]


def undelivered(prompts: pl.DataFrame, pictures: pl.DataFrame, asked: int | None) -> list[dict[str, Any]]:
    """Compare what files list with the design; one entry for the models that lack the same.

    Where the audit file says no ``images_per_prompt``, the number that more than half of a model's prompts
    have is what was asked; where none has so many, only prompts without any picture are told.

    prompts: Those of the design.
    pictures: ``generator, prompt_id``, and ``n_subjects`` where a row stands for several pictures.
    asked: Pictures of each prompt, where the audit file says so.
    """
    number = pl.col("n_subjects").sum() if "n_subjects" in pictures.columns else pl.len()
    by = pictures.group_by("generator", "prompt_id", maintain_order=True).agg(number.alias(_N))
    alike: dict[_Lack, list[str]] = {}
    for (model,), part in by.group_by("generator", maintain_order=True):
        found = dict(part.select("prompt_id", _N).iter_rows())
        came = tuple(found.get(one, 0) for one in prompts["prompt_id"])
        each = _usual(came) if asked is None else asked
        if min(came, default=1) < (each or 1):
            alike.setdefault(_Lack(each, came), []).append(str(model))
    return [_told(models, lack, prompts, asked is not None) for lack, models in alike.items()]


def _usual(came: Sequence[int]) -> int | None:
    """The number that more than half of the prompts with a picture have."""
    some = [n for n in came if n]
    most = max(set(some), key=some.count)
    return most if 2 * some.count(most) > len(some) > 2 else None


def _told(models: Sequence[str], lack: _Lack, prompts: pl.DataFrame, said: bool) -> dict[str, Any]:
    at = prompts.with_columns(pl.Series(_N, lack.came, dtype=pl.Int64))
    none, few = at.filter(pl.col(_N) == 0), at.filter(pl.col(_N) > 0, pl.col(_N) < (lack.each or 1))
    varying = [name for name in factors_of(prompts.columns) if prompts[name].n_unique() > 1]
    what = ", ".join([*_without(none, prompts, varying), *_fewer(few, varying, lack.each)])
    if lack.each is not None:
        asked, missing = lack.each * prompts.height, sum(max(0, lack.each - n) for n in lack.came)
        how = "images_per_prompt" if said else "as most prompts have"
        what = f"{missing:,} of {asked:,} asked pictures did not come ({lack.each:,} a prompt, {how}): {what}"
    more, each = len(models) - _NAMED, ", each" if len(models) > 1 else ""
    who = ", ".join(map(quoted, models[:_NAMED])) + (f" and {more} more" if more > 0 else "")
    rows = pl.concat([none, few]).head(MOST_LACKING).select("prompt_id", asked=lack.each, came=_N)
    sentence = f"{who}{each}: {what}. {_DO}."
    return {"generators": list(models), "sentence": sentence, "prompts": rows.to_dicts()}


def _without(none: pl.DataFrame, prompts: pl.DataFrame, varying: Sequence[str]) -> Iterator[str]:
    if none.height:
        named = _whole_levels(none, prompts, varying) or [_condition(row, varying) for row in none.to_dicts()]
        of = f"{none.height:,} of {count(prompts.height, 'prompt')}"
        yield f"{of} {'has' if none.height == 1 else 'have'} none ({_first(named)})"


def _whole_levels(none: pl.DataFrame, prompts: pl.DataFrame, varying: Sequence[str]) -> list[str]:
    """The levels of one factor that have no picture, where these are all prompts without one."""
    for factor in varying:
        levels = none[factor].unique(maintain_order=True)
        if prompts.filter(pl.col(factor).is_in(levels.implode(), nulls_equal=True)).height == none.height:
            return [f"{clean(factor)} {_level(one)}" for one in levels]
    return []


def _fewer(few: pl.DataFrame, varying: Sequence[str], each: int | None) -> Iterator[str]:
    if few.height:
        least = few.sort(_N, maintain_order=True).to_dicts()
        named = [f"{row[_N]:,} of {each:,} with {_condition(row, varying)}" for row in least]
        yield f"{count(few.height, 'prompt')} {'has' if few.height == 1 else 'have'} fewer ({_first(named)})"


def _condition(row: Mapping[str, Any], varying: Sequence[str]) -> str:
    """A prompt by its levels of the factors that vary, or by its text."""
    levels = [f"{clean(name)} {_level(row[name])}" for name in varying if row[name] is not None]
    return ", ".join(levels[:_NAMED]) or quoted(row["text"] or row["prompt_id"])


def _level(level: str | None) -> str:
    return "none" if level is None else quoted(level)


def _first(named: Sequence[str]) -> str:
    left = len(named) - _NAMED
    return "; ".join([*named[:_NAMED], *[f"{left:,} more"] * (left > 0)])
