"""What strategies are told of a run: the pictures of each prompt, what was found in them, their scores."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import polars as pl

from stereotrope.audit.plan import Plan
from stereotrope.errors import UsageError, did_you_mean
from stereotrope.mitigate import Case
from stereotrope.run import Run
from stereotrope.tables import ALL_ATTRIBUTES, NOT_VALUES, QUALITY_ATTRIBUTES, factors_of, plain_scores

HOLDS, DOMINANT = 0.5, 0.75
"""Least share of looks that say yes to a question of yes and no, and of those that show one other value."""
_PLACE = ("generator", "prompt_id")
_YES, _NO = "yes", "no"


@dataclass(frozen=True)
class Target:
    """A measure, and what it is to come down to."""

    measure: str
    value: float

    @classmethod
    def read(cls, text: str) -> "Target":
        """Read ``ssi=0.1``.

        Raises UsageError: It is no name, equals sign and number.

        >>> Target.read("ssi=0.1")
        Target(measure='ssi', value=0.1)
        """
        name, _, number = text.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = float("nan")
        if not name.strip() or value != value:
            raise UsageError(
                f"--target must be a measure and a number, found {text!r}; write --target ssi=0.1"
            )
        return cls(name.strip(), value)

    def __str__(self) -> str:
        return f"{self.measure} at most {self.value:g}"


class DrawnPrompts:
    """The prompts of a run with what came of them.

    plan, run: The audit, and its run as it was measured.
    read: From the path of a picture in the run folder to its bytes.
    """

    def __init__(self, plan: Plan, run: Run, read: Callable[[str], bytes]) -> None:
        self._plan, self._run, self._read = plan, run, read

    def case(self, generator: str, query: str, prompt: Mapping[str, Any], n_pictures: int) -> Case:
        """What a model made of a prompt, with the first of its pictures that can be used."""
        rows = self._pictures.get((generator, prompt["prompt_id"]), [])[:n_pictures]
        return Case(
            query,
            prompt["text"],
            tuple(sha256 for sha256, _ in rows),
            tuple(partial(self._read, path) for _, path in rows),
            self._found.get((generator, prompt["prompt_id"]), ()),
        )

    def score(self, target: Target, generator: str, prompt: Mapping[str, Any]) -> float | None:
        """The score of a prompt: of the estimates that it belongs to, of the narrowest scope, the greatest.

        None where it is undefined.

        Raises UsageError: The run has no such measure.
        """
        scores = plain_scores(self._run.estimates)
        if target.measure not in set(scores["measure"]):
            known = sorted(set(scores["measure"]))
            hint = did_you_mean(target.measure, known, otherwise=f"there are {', '.join(known) or 'none'}")
            raise UsageError(f"--target: the run has no estimate of {target.measure!r}; {hint}")
        levels = {"generator": generator, **{name: prompt[name] for name in factors_of(prompt)}}
        own = [name for name in levels if name in scores.columns]
        fits = [pl.col(name).is_null() | (pl.col(name) == pl.lit(levels[name], pl.String)) for name in own]
        mine = scores.filter(pl.col("measure") == target.measure, *fits)
        narrow = mine.with_columns(pl.sum_horizontal(pl.col(name).is_not_null() for name in own).alias("_n"))
        narrowest = narrow.filter(pl.col("_n") == pl.col("_n").max())
        whole = narrowest.filter(attribute=ALL_ATTRIBUTES)
        found: Any = (whole if whole.height else narrowest)["value"].max()
        return None if found is None else float(found)

    @cached_property
    def _pictures(self) -> dict[tuple[str, str], list[tuple[str, str]]]:
        usable = self._run.images.filter(status="ok").select(*_PLACE, "sha256", "path")
        made: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for generator, prompt_id, sha256, path in usable.iter_rows():
            made.setdefault((generator, prompt_id), []).append((sha256, path))
        return made

    @cached_property
    def _found(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Items that hold and values that dominate in pictures and sets of each prompt, a sentence each."""
        several = {name for one in self._plan.annotators for name in one.several}
        out = [*QUALITY_ATTRIBUTES, *several]
        controls = [one.name for one in self._plan.annotators if one.control_of is not None]
        counted = (
            self._run.labels.filter(
                pl.col("subject_kind").is_in(["image", "set"]), ~pl.col("attribute").is_in(out), status="ok"
            )
            .filter(~pl.col("annotator").is_in(controls))
            .filter(pl.col("value").is_not_null(), ~pl.col("value").is_in(list(NOT_VALUES)))
            .join(self._places, on="subject_id")
            .group_by(*_PLACE, "annotator", "attribute", "subject_kind", "value", maintain_order=True)
            .agg(pl.len().alias("n"), pl.col("rationale").drop_nulls().first())
        )
        whole = [*_PLACE, "annotator", "attribute"]
        rows = counted.with_columns(pl.col("n").sum().over(whole).alias("of"))
        made: dict[tuple[str, str], dict[str, None]] = {}
        for row in rows.to_dicts():
            if self._tells(row):
                what = "pictures" if row["subject_kind"] == "image" else "looks at them all"
                why = f" ({row['rationale']})" if row["rationale"] else ""
                told = f"{row['attribute']}: {row['value']} in {row['n']} of {row['of']} {what}{why}"
                made.setdefault((row["generator"], row["prompt_id"]), {})[told] = None
        return {place: tuple(told) for place, told in made.items()}

    def _tells(self, row: Mapping[str, Any]) -> bool:
        """Whether a value says that something was found."""
        if set(self._plan.listed.get(row["attribute"]) or ()) == {_YES, _NO}:
            return bool(row["value"] == _YES and row["n"] >= HOLDS * row["of"])
        return bool(row["of"] > 1 and row["n"] >= DOMINANT * row["of"])

    @cached_property
    def _places(self) -> pl.DataFrame:
        """Generator and prompt of each picture and set."""
        images = self._run.images.select(*_PLACE, subject_id="image_id")
        first = self._run.subjects.filter(position=0, subject_kind="set").select("subject_id", "image_id")
        sets = first.join(images.rename({"subject_id": "image_id"}), on="image_id")
        return pl.concat([images, sets.select(images.columns)])
